//! Kernels in place: an array that is written is one that is read.

use tilewright::{Error, Runtime, tile_kernel};
use tilewright_core::{AsSlice, AsSliceMut, Call, SliceArg, SliceMutArg, ViewArg, ViewMutArg, f16};
use tilewright_language_tests::run::seeds;

/// Of a tile with fewer elements than threads, several threads load an element that one of them stores.
#[tile_kernel(tune(warps = [1, 4]), grid = [2], alias(x, y), emulate = all)]
fn few_elements(x: &[f32], y: &mut [f32]) {
    let i = program_id(0) * 32 + arange(32);
    let v = load(x, i);
    store(y, i, v + sum(v));
}

/// The first loop loads all that the second one stores, in tiles of another width.
#[tile_kernel(tune(warps = [4]), grid = [1], alias(x, y), emulate = all)]
fn two_passes(x: &[f32], y: &mut [f32]) {
    let mut total = zeros::<f32>([128]);
    for k in range(0, 1024, 128) {
        total = total + load(x, k + arange(128));
    }
    for k in range(0, 1024, 256) {
        let i = k + arange(256);
        store(y, i, load(x, i) + sum(total));
    }
}

/// The elements are reversed within a program, so that a thread stores elements that another one has loaded.
#[tile_kernel(tune(warps = [4]), grid = [2], alias(x, y), emulate = all)]
fn reverse_elements(x: &[f32], y: &mut [f32]) {
    let i = program_id(0) * 512 + arange(512);
    store(y, i, flip(load(x, i), 0));
}

/// Of a view, whose elements two indices reach: the strides are those of two arguments.
#[tile_kernel(tune(warps = [4]), grid = [2], alias(x, y), emulate = all)]
fn scaled(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
    let row = program_id(0) * 16;
    let v = x.tile([row, 0], [16, 64]);
    y.store([row, 0], v * 2.0 + sum(v, 1).expand(1));
}

/// A product that is added to the matrix in place. The sums come to the threads that store them by shuffles.
#[tile_kernel(tune(warps = [4], arch = [80]), grid = [1], alias(old, c), emulate = all)]
fn added(a: View<f16, 2>, b: View<f16, 2>, old: View<f16, 2>, mut c: ViewMut<f16, 2>) {
    let sums = dot(a.tile([0, 0], [64, 16]), b.tile([0, 0], [16, 16]), zeros::<f32>([64, 16]));
    c.store([0, 0], (sums + old.tile([0, 0], [64, 16]).to::<f32>()).to::<f16>());
}

#[tile_kernel(grid = [1])]
fn without_alias(x: &[f32], y: &mut [f32]) {
    store(y, arange(4), load(x, arange(4)));
}

/// The same memory, to read and to write.
fn both(y: &mut [f32]) -> (SliceArg<'static, f32>, SliceMutArg<'_, f32>) {
    let out = y.as_slice_mut_arg();
    // SAFETY: the memory outlives the launch, and a launch takes both only for a kernel with an `alias` of them.
    (unsafe { SliceArg::from_raw(out.addr(), out.len(), out.device()) }, out)
}

fn in_place(what: &str, n: usize, call: impl for<'a> Fn(SliceArg<'a, f32>, SliceMutArg<'a, f32>) -> Call<'a>) {
    let run = |rt: &Runtime| {
        let mut data: Vec<f32> = (0..n).map(|i| (i % 23) as f32).collect();
        let (x, y) = both(&mut data);
        rt.launch(call(x, y)).unwrap_or_else(|e| panic!("{what}: {e}"));
        data
    };
    let wanted = run(&Runtime::cpu());
    seeds().iter().for_each(|rt| assert_eq!(run(rt), wanted, "{what}"));
}

#[test]
fn a_store_comes_after_the_loads_of_other_threads() {
    in_place("few elements", 64, |x, y| few_elements(x, y));
    in_place("two passes", 1024, |x, y| two_passes(x, y));
    in_place("reverse_elements", 1024, |x, y| reverse_elements(x, y));
}

#[test]
fn a_view_is_written_in_place() {
    in_place("scaled", 32 * 64, |_, y| {
        let y = y.view([32, 64]).expect("it fits");
        // SAFETY: each program loads the rows that it stores then.
        scaled(unsafe { y.aliased() }, y)
    });
}

#[test]
fn a_product_is_added_in_place() {
    let whole = |i: usize| f16::from_f32((i % 5) as f32 - 2.0);
    let (a, b): (Vec<f16>, Vec<f16>) = ((0..64 * 16).map(whole).collect(), (3..16 * 16 + 3).map(whole).collect());
    let run = |rt: &Runtime| {
        let mut c: Vec<f16> = (1..64 * 16 + 1).map(whole).collect();
        let (a, b) =
            (a.as_slice_arg().view([64, 16]).expect("it fits"), b.as_slice_arg().view([16, 16]).expect("it fits"));
        let c_arg = c.as_slice_mut_arg().view([64, 16]).expect("it fits");
        // SAFETY: the program loads the elements that it stores then.
        let old = unsafe { c_arg.aliased() };
        rt.launch(added(a, b, old, c_arg)).expect("it runs");
        c
    };
    let wanted = run(&Runtime::cpu());
    seeds().iter().for_each(|rt| assert_eq!(run(rt), wanted));
}

/// Another overlap, and every overlap in a kernel without an `alias`, is an error.
#[test]
fn other_overlaps_are_errors() {
    let (rt, mut data) = (Runtime::cpu(), vec![1.0f32; 1040]);
    let (x, y) = both(&mut data[..4]);
    assert!(matches!(rt.launch(without_alias(x, y)), Err(Error::Alias { .. })));
    let x = both(&mut data[..1024]).0;
    assert!(matches!(rt.launch(reverse_elements(x, both(&mut data[1..1025]).1)), Err(Error::Alias { .. })));
    assert!(matches!(rt.launch(reverse_elements(x, both(&mut data[..1020]).1)), Err(Error::Alias { .. })));
    assert_eq!(data, [1.0; 1040]);
}

/// A warpgroup loads the rows that the next one stores: TMA would store them before they are loaded.
#[tile_kernel(tune(warps = [8], arch = [90]), grid = [1], alias(old, c), emulate = all)]
fn rows_below_added(a: View<f16, 2>, b: View<f16, 2>, old: View<f16, 2>, mut c: ViewMut<f16, 2>) {
    let sums = dot(a.tile([0, 0], [128, 64]), b.tile([0, 0], [64, 64]), zeros::<f32>([128, 64]));
    c.store([0, 0], (sums + old.tile([64, 0], [128, 64]).to::<f32>()).to::<f16>());
}

/// The store begins 32 columns behind a tile that is added, and 16 behind another one. The tiles have so many
/// registers that pieces of them would be loaded between those of the store, if these did not overwrite them.
#[tile_kernel(tune(warps = [4], arch = [90]), grid = [1], alias(old, c), emulate = all)]
fn added_elsewhere(a: View<f16, 2>, b: View<f16, 2>, old: View<f16, 2>, mut c: ViewMut<f16, 2>) {
    let sums = dot(a.tile([0, 0], [64, 64]), b.tile([0, 0], [64, 256]), zeros::<f32>([64, 256]));
    let near = old.tile([0, 16], [64, 256]).to::<f32>();
    let far = old.tile([0, 0], [64, 256]).to::<f32>();
    c.store([0, 32], (sums + near + far).to::<f16>());
}

/// Runs a product of `rows` rows and `columns` columns on a matrix in place, by every path.
fn product_in_place(
    what: &str,
    [rows, columns]: [usize; 2],
    matrix: [usize; 2],
    call: impl for<'a> Fn([ViewArg<'a, f16, 2>; 3], ViewMutArg<'a, f16, 2>) -> Call<'a>,
) {
    let whole = |i: usize| f16::from_f32((i % 5) as f32 - 2.0);
    let (a, b): (Vec<f16>, Vec<f16>) =
        ((0..rows * 64).map(whole).collect(), (3..64 * columns + 3).map(whole).collect());
    let run = |rt: &Runtime| {
        let mut c: Vec<f16> = (1..matrix[0] * matrix[1] + 1).map(whole).collect();
        let (a, b) = (a.as_slice_arg().view([rows, 64]), b.as_slice_arg().view([64, columns]));
        let c_arg = c.as_slice_mut_arg().view(matrix).expect("it fits");
        // SAFETY: the program loads elements before it stores them.
        let old = unsafe { c_arg.aliased() };
        rt.launch(call([a.expect("it fits"), b.expect("it fits"), old], c_arg)).expect("it runs");
        c
    };
    let wanted = run(&Runtime::cpu());
    (1..17).for_each(|seed| assert_eq!(run(&Runtime::emulator(seed)), wanted, "{what}, seed {seed}"));
}

#[test]
fn stores_by_tma_keep_the_order() {
    product_in_place("rows below", [128, 64], [192, 64], |[a, b, old], c| rows_below_added(a, b, old, c));
}

#[test]
fn epilogues_by_pieces_keep_the_order() {
    // TMA takes rows that are multiples of 16 bytes apart.
    for columns in [288, 289] {
        product_in_place("elsewhere", [64, 256], [64, columns], |[a, b, old], c| added_elsewhere(a, b, old, c));
    }
}

/// Other threads of the program have stored the tile that is added.
#[tile_kernel(tune(warps = [4], arch = [90]), grid = [1], emulate = all)]
fn stored_before(a: View<f16, 2>, b: View<f16, 2>, mut d: ViewMut<f16, 2>, mut c: ViewMut<f16, 2>) {
    d.store([0, 0], b.tile([0, 0], [64, 256]));
    let sums = dot(a.tile([0, 0], [64, 64]), b.tile([0, 0], [64, 256]), zeros::<f32>([64, 256]));
    c.store([0, 0], (sums + d.tile([0, 16], [64, 256]).to::<f32>()).to::<f16>());
}

#[test]
fn an_epilogue_loads_what_the_program_has_stored() {
    let whole = |i: usize| f16::from_f32((i % 5) as f32 - 2.0);
    let a: Vec<f16> = (0..64 * 64).map(whole).collect();
    let b: Vec<f16> = (3..64 * 256 + 3).map(whole).collect();
    let run = |rt: &Runtime| {
        let (mut d, mut c) = (vec![f16::ZERO; 64 * 272], vec![f16::ZERO; 64 * 256]);
        let (a, b) = (a.as_slice_arg().view([64, 64]), b.as_slice_arg().view([64, 256]));
        let (d, c_arg) = (d.as_slice_mut_arg().view([64, 272]), c.as_slice_mut_arg().view([64, 256]));
        let call =
            stored_before(a.expect("it fits"), b.expect("it fits"), d.expect("it fits"), c_arg.expect("it fits"));
        rt.launch(call).expect("it runs");
        c
    };
    let wanted = run(&Runtime::cpu());
    (1..9).for_each(|seed| assert_eq!(run(&Runtime::emulator(seed)), wanted, "seed {seed}"));
}
