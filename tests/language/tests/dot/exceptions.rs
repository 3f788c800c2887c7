//! Products that the usual plan of their copies does not fit.

use tilewright::Runtime;
use tilewright::tile_kernel;
use tilewright_core::{Element, f8e4m3, f8e5m2, f16};
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::{Matrix, exact, near, values};
use tilewright_language_tests::run::seeds;
use tilewright_language_tests::{view, view_mut};

/// The results of `run` on the CPU and on the emulated SM.
fn alike(what: &str, run: impl Fn(&Runtime) -> Vec<f16>) -> Vec<f32> {
    let floats = |rt: &Runtime| run(rt).iter().map(|x| x.to_f32()).collect::<Vec<f32>>();
    let wanted = floats(&Runtime::cpu());
    seeds().iter().for_each(|rt| near(what, &floats(rt), &wanted));
    wanted
}

/// `cp.async` leaves zeros where a mask says no.
#[tile_kernel(tune(warps = [1], arch = [80]), grid = [1])]
fn ones_beyond_the_depth(a: &[f16], b: &[f16], c: &mut [f16], k: usize) {
    let (row, col) = (arange(16).expand(1), arange(16).expand(0));
    let mut acc = zeros::<f32>([16, 16]);
    for at in (0..k).step_by(16) {
        let (across, down) = ((at + arange(16)).expand(0), (at + arange(16)).expand(1));
        let x = load(a, row * k + across).mask(across < k).other(1.0.to::<f16>());
        let y = load(b, down * 16 + col).mask(down < k).other(1.0.to::<f16>());
        acc = dot(x, y, acc);
    }
    store(c, row * 16 + col, acc.to::<f16>());
}

#[test]
fn masked_elements_of_an_operand_are_what_other_says() {
    let (a, b) = (vec![f16::from_f32(2.0); 16 * 24], vec![f16::from_f32(0.5); 24 * 16]);
    let found = alike("masked as ones", |rt| {
        let mut c = vec![f16::ZERO; 256];
        rt.launch(ones_beyond_the_depth(&a[..], &b[..], &mut c[..], 24)).expect("it runs");
        c
    });
    // 24 products of 1 and, beyond K, eight more.
    assert_eq!(found, [32.0; 256]);
}

/// A mask with a condition of its own beside the extents: one row counts as zeros.
#[tile_kernel(tune(warps = [4], arch = [90]), grid = [1])]
fn without_a_row(a: &[f16], b: &[f16], c: &mut [f16], m: usize, k: usize, left_out: usize) {
    let (row, col) = (arange(64).expand(1), arange(64).expand(0));
    let mut acc = zeros::<f32>([64, 64]);
    for at in (0..k).step_by(64) {
        let (across, down) = ((at + arange(64)).expand(0), (at + arange(64)).expand(1));
        let x = load(a, row * k + across).mask((row < m) & (across < k) & (row != left_out));
        let y = load(b, down * 64 + col).mask((down < k) & (col < 64));
        acc = dot(x, y, acc);
    }
    store(c, row * 64 + col, acc.to::<f16>()).mask((row < m) & (col < 64));
}

#[test]
fn a_mask_may_ask_for_more_than_extents() {
    let whole = |x: f32| f16::from_f32((x * 4.0).round());
    let (m, k) = (64usize, 136usize);
    let (a, b) = (values(m * k, 1, whole), values(k * 64, 2, whole));
    for left_out in [0usize, 37, 64] {
        let found = alike("without a row", |rt| {
            let mut c = vec![f16::from_f32(1.0); m * 64];
            rt.launch(without_a_row(&a[..], &b[..], &mut c[..], m, k, left_out)).expect("it runs");
            c
        });
        assert!(found.chunks(64).enumerate().all(|(i, row)| (i == left_out) == row.iter().all(|x| *x == 0.0)));
    }
}

/// Tiles of a view under a mask of their own.
#[tile_kernel(tune(warps = [4], arch = [90]), grid = [1])]
fn masked_tiles_of_views(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f16, 2>, from: usize) {
    let mut acc = zeros::<f32>([64, 64]);
    for at in (0..a.dim(1)).step_by(64) {
        let x = a.tile([0, at], [64, 64]).mask((at + arange(64) >= from).expand(0));
        acc = dot(x, b.tile([at, 0], [64, 64]), acc);
    }
    c.store([0, 0], acc.to::<f16>());
}

#[test]
fn a_tile_of_a_view_may_have_a_mask() {
    let whole = |x: f32| f16::from_f32((x * 4.0).round());
    let (a, b) = (Matrix::new([64, 136], 136, 1, whole), Matrix::new([136, 64], 64, 2, whole));
    for from in [0usize, 5, 70, 136] {
        let found = alike("masked tiles of views", |rt| {
            let mut c = Matrix::new([64, 64], 64, 3, whole);
            rt.launch(masked_tiles_of_views(view!(a), view!(b), view_mut!(c), from)).expect("it runs");
            c.data
        });
        let product = |i: usize, j: usize, l: usize| a.data[i * 136 + l].to_f32() * b.data[l * 64 + j].to_f32();
        let wanted: Vec<f32> = (0..4096).map(|e| (from..136).map(|l| product(e / 64, e % 64, l)).sum()).collect();
        exact("masked tiles of views", &found, &wanted);
    }
}

/// Floats of 8 bits with NaN among them.
#[tile_kernel(types(T = [f8e4m3, f8e5m2]), tune(warps = [1], arch = [80]), grid = [1])]
fn of_bytes<T: Float>(a: &[T], b: &[T], c: &mut [f32]) {
    let (i, depth) = (arange(16), arange(32));
    let x = load(a, i.expand(1) * 32 + depth.expand(0));
    let y = load(b, depth.expand(1) + i.expand(0) * 32);
    store(c, i.expand(1) * 16 + i.expand(0), dot(x, y, zeros::<f32>([16, 16])));
}

fn bytes_with_nan<T: Element>(of: impl Fn(f32) -> T, to: impl Fn(T) -> f32)
where
    (T,): of_bytes::Types,
{
    let numbers = |by: usize| (0..16 * 32).map(|i| of((i * by % 5) as f32 - 2.0)).collect::<Vec<T>>();
    let (mut a, mut b) = (numbers(7), numbers(11));
    (a[3 * 32 + 7], a[5 * 32 + 30], b[9 * 32 + 12]) = (of(f32::NAN), of(-f32::NAN), of(f32::NAN));
    let product = |e: usize, l: usize| to(a[e / 16 * 32 + l]) * to(b[e % 16 * 32 + l]);
    let wanted: Vec<f32> = (0..256).map(|e| (0..32).map(|l| product(e, l)).sum()).collect();
    assert_eq!(wanted.iter().filter(|x| x.is_nan()).count(), 2 * 16 + 14);
    everywhere(
        <(T,) as of_bytes::Types>::DESC,
        |rt, options| {
            let mut c = vec![0.0f32; 256];
            rt.launch_with(rt.stream(), of_bytes::<T>(&a, &b, &mut c), options).map(|()| c)
        },
        |c, title| exact(title, &c, &wanted),
    );
}

#[test]
fn bytes_that_are_no_numbers() {
    bytes_with_nan(f8e4m3::from_f32, f8e4m3::to_f32);
    bytes_with_nan(f8e5m2::from_f32, f8e5m2::to_f32);
}

/// Each iteration multiplies the result that the previous one has stored.
#[tile_kernel(tune(warps = [2], arch = [80]), grid = [1])]
fn powers(a: &[f16], c: &mut [f16], n: usize) {
    let at = arange(32).expand(1) * 32 + arange(32).expand(0);
    for _ in 0..n {
        let x = load(c, at);
        let y = load(a, at);
        let product = dot(x, y, zeros::<f32>([32, 32]));
        store(c, at, product.to::<f16>());
    }
}

#[tile_kernel(tune(warps = [4], arch = [90]), grid = [1])]
fn powers_of_views(a: View<f16, 2>, mut c: ViewMut<f16, 2>, n: usize) {
    for _ in 0..n {
        let product = dot(c.tile([0, 0], [64, 64]), a.tile([0, 0], [64, 64]), zeros::<f32>([64, 64]));
        c.store([0, 0], product.to::<f16>());
    }
}

#[test]
fn an_operand_that_the_loop_stores_is_not_copied_ahead() {
    let a = values(32 * 32, 1, |x| f16::from_f32(x / 2.0));
    alike("powers", |rt| {
        let mut c = values(32 * 32, 2, f16::from_f32);
        rt.launch(powers(&a[..], &mut c[..], 4)).expect("it runs");
        c
    });
}

#[test]
fn an_operand_that_the_loop_stores_to_a_view_is_not_copied_by_tma() {
    let a = Matrix::new([64, 64], 64, 1, |x| f16::from_f32(x / 2.0));
    alike("powers of views", |rt| {
        let mut c = Matrix::new([64, 64], 64, 2, f16::from_f32);
        rt.launch(powers_of_views(view!(a), view_mut!(c), 4)).expect("it runs");
        c.data
    });
}

/// A loop that does not begin at 0 moves pointers along K.
#[tile_kernel(tune(warps = [4], arch = [90]), grid = [cdiv(m, 64)])]
unsafe fn without_the_first_step(
    a: *const f16,
    b: *const f16,
    c: *mut f16,
    m: usize,
    n: usize,
    k: usize,
    stride_a: usize,
    stride_b: usize,
    stride_c: usize,
) {
    let (rows, columns, depth) = (program_id(0) * 64 + arange(64), arange(64), arange(64));
    let mut x_at = a.add(rows.expand(1) * stride_a + (64 + depth).expand(0));
    let mut y_at = b.add((64 + depth).expand(1) * stride_b + columns.expand(0));
    let mut acc = zeros::<f32>([64, 64]);
    for _ in 1..k / 64 {
        let x = load(x_at).mask(rows.expand(1) < m);
        let y = load(y_at).mask(columns.expand(0) < n);
        acc = dot(x, y, acc);
        x_at += 64;
        y_at += 64 * stride_b;
    }
    let at = c.add(rows.expand(1) * stride_c + columns.expand(0));
    store(at, acc.to::<f16>()).mask((rows.expand(1) < m) & (columns.expand(0) < n));
}

#[test]
fn a_loop_that_begins_later_takes_the_tiles_that_it_says() {
    let (m, n, k) = (72, 56, 192);
    let (a, b) = (values(m * k, 1, f16::from_f32), values(k * n, 2, f16::from_f32));
    alike("without the first step", |rt| {
        let mut c = vec![f16::ZERO; m * n];
        let (a, b) = (rt.from_slice(&a).expect("room"), rt.from_slice(&b).expect("room"));
        let out = rt.from_slice(&c).expect("room");
        // SAFETY: the masks keep to the matrices, whose extents and strides these are.
        let call = unsafe { without_the_first_step(a.raw(), b.raw(), out.raw(), m, n, k, k, n, n) };
        rt.launch(call).expect("it runs");
        c.copy_from_slice(&out.to_vec().expect("it ends"));
        c
    });
}

/// Tensor maps clip stores at 16 bytes.
#[tile_kernel(tune(warps = [4], arch = [90]), grid = [cdiv(c.dim(1), 64)])]
fn columns_of_any_number(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f16, 2>) {
    let j = program_id(0) * 64;
    let product = dot(a.tile([0, 0], [64, 64]), b.tile([0, j], [64, 64]), zeros::<f32>([64, 64]));
    c.store([0, j], product.to::<f16>());
}

#[test]
fn rows_that_end_within_16_bytes_are_stored_up_to_there() {
    for n in [60, 64, 100] {
        let stride = 104;
        let (a, b) = (Matrix::new([64, 64], 64, 1, f16::from_f32), Matrix::new([64, n], stride, 2, f16::from_f32));
        alike("columns of any number", |rt| {
            let mut c = Matrix::new([64, n], stride, 3, f16::from_f32);
            rt.launch(columns_of_any_number(view!(a), view!(b), view_mut!(c))).expect("it runs");
            c.data
        });
    }
}

/// The epilogue of a tile loads the elements of another store of the same iteration.
#[tile_kernel(tune(warps = [4], arch = [90]), grid = [1])]
fn stored_twice(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f16, 2>) {
    for j in (0..b.dim(1)).step_by(64) {
        let (x, y) = (a.tile([0, 0], [64, 64]), b.tile([0, j], [64, 64]));
        let acc = dot(x, y, zeros::<f32>([64, 64]));
        c.store([0, j], acc.to::<f16>());
        let (x, y) = (a.tile([64, 0], [64, 64]), b.tile([0, j], [64, 64]));
        let acc = dot(x, y, zeros::<f32>([64, 64]));
        let before = c.tile([0, j], [64, 64]).to::<f32>();
        c.store([64, j], (acc + before).to::<f16>());
    }
}

#[test]
fn a_tile_that_the_kernel_stores_is_not_copied_ahead_for_its_epilogue() {
    let (a, b) = (Matrix::new([128, 64], 64, 1, f16::from_f32), Matrix::new([64, 256], 256, 2, f16::from_f32));
    alike("stored twice", |rt| {
        let mut c = Matrix::new([128, 256], 256, 3, f16::from_f32);
        rt.launch(stored_twice(view!(a), view!(b), view_mut!(c))).expect("it runs");
        c.data
    });
}

/// The epilogue's store writes columns of the tile that the epilogue loads: the whole tile is loaded before.
#[tile_kernel(tune(warps = [4], arch = [90]), grid = [1])]
fn stored_beside(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f16, 2>) {
    for j in (0..b.dim(1)).step_by(128) {
        let acc = dot(a.tile([0, 0], [64, 64]), b.tile([0, j], [64, 128]), zeros::<f32>([64, 128]));
        let before = c.tile([0, j], [64, 128]).to::<f32>();
        c.store([0, j + 16], (acc + before).to::<f16>());
    }
}

#[test]
fn a_tile_that_its_own_store_writes_is_loaded_as_a_whole() {
    let (a, b) = (Matrix::new([64, 64], 64, 1, f16::from_f32), Matrix::new([64, 256], 256, 2, f16::from_f32));
    alike("stored beside", |rt| {
        let mut c = Matrix::new([64, 272], 272, 3, f16::from_f32);
        rt.launch(stored_beside(view!(a), view!(b), view_mut!(c))).expect("it runs");
        c.data
    });
}

/// Nothing masks the loads: the address of a copy for an iteration past the last one is outside.
#[tile_kernel(tune(warps = [1], arch = [80]), grid = [1])]
unsafe fn whole_tiles(a: *const f16, b: *const f16, c: *mut f16, k: usize) {
    let (row, col) = (arange(16).expand(1), arange(16).expand(0));
    let mut acc = zeros::<f32>([16, 16]);
    for at in (0..k).step_by(16) {
        let x = load(a.add(row * k + (at + arange(16)).expand(0)));
        let y = load(b.add((at + arange(16)).expand(1) * 16 + col));
        acc = dot(x, y, acc);
    }
    store(c.add(row * 16 + col), acc.to::<f16>());
}

#[test]
fn nothing_is_copied_for_iterations_that_there_are_not() {
    for k in [16, 32, 80] {
        let (a, b) = (values(16 * k, 1, f16::from_f32), values(k * 16, 2, f16::from_f32));
        alike("whole tiles", |rt| {
            let (a, b) = (rt.from_slice(&a).expect("room"), rt.from_slice(&b).expect("room"));
            let c = rt.from_slice(&[f16::ZERO; 256]).expect("room");
            // SAFETY: `k` is a multiple of the BK of a tile, and the buffers have all tiles.
            rt.launch(unsafe { whole_tiles(a.raw(), b.raw(), c.raw(), k) }).expect("it runs");
            c.to_vec().expect("it ends")
        });
    }
}
