//! Kernels that are `deterministic`: equal bits wherever arrays start and however many programs there are.

use tilewright::tuning::Source;
use tilewright::{Error, LaunchOptions, Runtime, tile_kernel};
use tilewright_core::{AsSlice, AsSliceMut};

/// The sum of each row and its running sums: the order of both follows the layout.
#[tile_kernel(deterministic, tune(BLOCK = [256], warps = [2]), grid = [rows], emulate = all)]
fn ordered<const BLOCK: usize>(x: &[f32], sums: &mut [f32], running: &mut [f32], rows: usize, cols: usize) {
    let r = program_id(0);
    let c = arange(BLOCK);
    let v = load(x, r * cols + c).mask(c < cols);
    store(sums, r, sum(v));
    store(running, r * cols + c, cumsum(v, 0)).mask(c < cols);
}

/// The same without the promise.
#[tile_kernel(tune(BLOCK = [256], warps = [2]), grid = [rows], emulate = all)]
fn unordered<const BLOCK: usize>(x: &[f32], sums: &mut [f32], running: &mut [f32], rows: usize, cols: usize) {
    let r = program_id(0);
    let c = arange(BLOCK);
    let v = load(x, r * cols + c).mask(c < cols);
    store(sums, r, sum(v));
    store(running, r * cols + c, cumsum(v, 0)).mask(c < cols);
}

const ROWS: usize = 3;
const COLS: usize = 200;

/// Floats whose sums round differently in almost any order.
fn numbers(n: usize) -> Vec<f32> {
    (0..n as u32).map(|i| (i.wrapping_mul(2654435761) >> 8) as f32 * 1e-3 - 7000.0).collect()
}

/// Bits of the sums, and of the running sums, of an array that begins `at` elements behind a multiple of 64 bytes.
fn bits(rt: &Runtime, ordered_kernel: bool, at: usize, rows: usize) -> [Vec<u32>; 2] {
    #[repr(align(64))]
    struct Aligned([f32; ROWS * COLS + 4]);
    let mut memory = Aligned([0.0; ROWS * COLS + 4]);
    let x = &mut memory.0[at..at + rows * COLS];
    x.copy_from_slice(&numbers(ROWS * COLS)[..rows * COLS]);
    let (mut sums, mut running) = (vec![0.0f32; rows], vec![0.0f32; rows * COLS]);
    let (x, s, r) = (x.as_slice_arg(), sums.as_slice_mut_arg(), running.as_slice_mut_arg());
    match ordered_kernel {
        true => rt.launch(ordered(x, s, r, rows, COLS)).unwrap(),
        false => rt.launch(unordered(x, s, r, rows, COLS)).unwrap(),
    }
    [sums, running].map(|v| v.iter().map(|x| x.to_bits()).collect())
}

#[test]
fn alignment_changes_no_bit() {
    let rt = Runtime::emulator(3);
    let aligned = bits(&rt, true, 0, ROWS);
    for at in 1..4 {
        assert_eq!(bits(&rt, true, at, ROWS), aligned, "{at}");
    }
    let one = bits(&rt, true, 0, 1);
    assert_eq!(
        (&one[0][..], &one[1][..]),
        (&aligned[0][..1], &aligned[1][..COLS]),
        "the number of rows changes no bit"
    );
    // Without the promise the code for arrays that are not aligned adds up in another order.
    assert_ne!(bits(&rt, false, 0, ROWS), bits(&rt, false, 1, ROWS));
}

#[test]
fn sums_are_right() {
    for rt in [Runtime::cpu(), Runtime::emulator(5)] {
        let sums = bits(&rt, true, 1, ROWS)[0].clone();
        for (r, bits) in sums.into_iter().enumerate() {
            let exact: f64 = numbers(ROWS * COLS)[r * COLS..][..COLS].iter().map(|&x| f64::from(x)).sum();
            assert!((f64::from(f32::from_bits(bits)) - exact).abs() < 0.5, "{r}: {bits:x} {exact}");
        }
    }
}

/// As many elements at a time as the caller's number of programs leaves to each; integers counted by atomics.
#[tile_kernel(deterministic, tune(BLOCK = [64], warps = [1]), grid = [programs], emulate = all)]
fn strided<const BLOCK: usize>(x: &[f32], y: &mut [f32], largest: &mut [i32], n: usize, programs: usize) {
    for start in range(program_id(0) * BLOCK, n, num_programs(0) * BLOCK) {
        let i = start + arange(BLOCK);
        let v = load(x, i).mask(i < n);
        store(y, i, v * (1.0 / (1.0 + abs(sum(v))))).mask(i < n);
        atomic_max(largest, 0, max(v.to::<i32>()));
    }
}

#[test]
fn the_number_of_programs_changes_no_bit() {
    let x = numbers(500);
    for rt in [Runtime::cpu(), Runtime::emulator(2)] {
        let run = |programs: usize| {
            let (mut y, mut largest) = (vec![0.0f32; 500], [i32::MIN]);
            rt.launch(strided(x.as_slice_arg(), y.as_slice_mut_arg(), largest.as_slice_mut_arg(), 500, programs))
                .unwrap();
            (y.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), largest)
        };
        let wanted = run(1);
        assert_eq!(wanted.1[0], x.iter().map(|v| *v as i32).max().unwrap());
        for programs in [2, 3, 8, 20] {
            assert_eq!(run(programs), wanted, "{programs}");
        }
    }
}

/// Elements change in place, of a slice whose index is written out twice and of a view. A shared array has the values
/// of its iteration.
#[tile_kernel(deterministic, tune(BLOCK = [64], warps = [1]), grid = [programs], emulate = all)]
fn in_place<const BLOCK: usize>(y: &mut [f32], v: ViewMut<f32, 2>, n: usize, programs: usize) {
    let mut kept = shared_array::<f32>(BLOCK);
    for start in range(program_id(0) * BLOCK, n, num_programs(0) * BLOCK) {
        store(kept, arange(BLOCK), abs(load(y, start + arange(BLOCK))));
        store(y, start + arange(BLOCK), 2.0 * load(y, start + arange(BLOCK)) + load(kept, arange(BLOCK)));
        v.store([0, start], v.tile([0, start], [1, BLOCK]) + 1.0);
    }
}

#[test]
fn elements_of_an_iteration_change_in_place() {
    for rt in [Runtime::cpu(), Runtime::emulator(2)] {
        let run = |programs: usize| {
            let (mut y, mut v) = (numbers(512), numbers(512));
            let view = <&mut [f32]>::as_slice_mut_arg(&mut v).view([1, 512]).unwrap();
            rt.launch(in_place(y.as_slice_mut_arg(), view, 512, programs)).unwrap();
            (y, v)
        };
        let wanted = run(1);
        let x = numbers(512);
        assert!(wanted.1.iter().zip(&x).all(|(v, x)| *v == x + 1.0));
        assert!(wanted.0.iter().zip(&x).all(|(y, x)| *y == 2.0 * x + x.abs()));
        assert_eq!(run(3), wanted);
    }
}

/// Wide rows take the second configuration, for any measurements.
#[tile_kernel(
    deterministic,
    tune(BLOCK = [64, 256], warps = [1]),
    requires = [cols <= BLOCK],
    grid = [rows],
    emulate = all
)]
fn by_width<const BLOCK: usize>(x: &[f32], sums: &mut [f32], rows: usize, cols: usize) {
    let c = arange(BLOCK);
    store(sums, program_id(0), sum(load(x, program_id(0) * cols + c).mask(c < cols)));
}

#[test]
fn the_first_configuration_that_takes_the_arguments_runs() {
    let x = vec![1.0f32; 2 * 300];
    for rt in [Runtime::cpu(), Runtime::emulator(2)] {
        rt.set_cache_dir(None);
        rt.set_autotune(tilewright::tuning::Autotune::Force);
        for (cols, config) in [(64, "BLOCK=64,warps=1"), (65, "BLOCK=256,warps=1"), (3, "BLOCK=64,warps=1")] {
            let mut sums = [0.0f32; 2];
            let (x, s) = (x.as_slice_arg(), sums.as_slice_mut_arg());
            assert_eq!(rt.configuration(&by_width(x, s, 2, cols)).unwrap(), (config, Source::Default));
            rt.launch(by_width(x, sums.as_slice_mut_arg(), 2, cols)).unwrap();
            assert_eq!(sums, [cols as f32; 2]);
        }
        let mut sums = [0.0f32; 2];
        let e = rt.launch(by_width(x.as_slice_arg(), sums.as_slice_mut_arg(), 2, 257)).unwrap_err();
        assert!(matches!(e, Error::CannotLaunch { .. }) && e.to_string().contains("cols <= BLOCK"), "{e}");
        let e = rt.tune(rt.stream(), by_width(x.as_slice_arg(), sums.as_slice_mut_arg(), 2, 3)).unwrap_err();
        assert!(e.to_string().contains("is `deterministic`"), "{e}");
        // The caller may choose.
        let options = LaunchOptions::new().config("BLOCK=256,warps=1");
        rt.launch_with(rt.stream(), by_width(x.as_slice_arg(), sums.as_slice_mut_arg(), 2, 3), &options).unwrap();
    }
}
