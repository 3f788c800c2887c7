//! Epilogues that load: tiles joined with accumulators come by pieces, and by copies where tensor maps take their view.

use tilewright::tile_kernel;
use tilewright::{Buffer, LaunchOptions, Runtime};
use tilewright_core::{Element, f16};
use tilewright_language_tests::matrix::{Matrix, values};
use tilewright_language_tests::{view, view_mut};

/// `c = max(x·(a b) + old · other + bias, 0)`.
#[tile_kernel(
    types(T = [f16]),
    tune(BM = [64], BN = [64], BK = [64], warps = [4], arch = [90]),
    tune(BM = [128], BN = [128], BK = [32], warps = [4], arch = [90]),
    tune(BM = [64], BN = [128], BK = [64], warps = [8], arch = [90]),
    tune(BM = [128], BN = [64], BK = [64], warps = [8], arch = [90]),
    tune(BM = [32], BN = [32], BK = [32], warps = [4], arch = [80]),
    tune(BM = [128], BN = [192], BK = [64], warps = [8], stages = [2], arch = [90]),
    grid = [2],
    emulate = all,
)]
fn joined<T: Float, const BM: usize, const BN: usize, const BK: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    old: View<T, 2>,
    other: View<T, 2>,
    bias: &[f32],
    mut c: ViewMut<T, 2>,
    x: f32,
) {
    let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
    for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
        let (i, j) = swizzle2d(t, tiles, 2);
        let mut acc = zeros::<f32>([BM, BN]);
        for k in (0..a.dim(1)).step_by(BK) {
            acc = dot(a.tile([i * BM, k], [BM, BK]), b.tile([k, j * BN], [BK, BN]), acc);
        }
        let row = load(bias, j * BN + arange(BN)).expand(0);
        let before =
            old.tile([i * BM, j * BN], [BM, BN]).to::<f32>() * other.tile([i * BM, j * BN], [BM, BN]).to::<f32>();
        c.store([i * BM, j * BN], maximum(x * acc + before + row, 0.0).to::<T>());
    }
}

fn check<T: Element>(of: impl Fn(f32) -> T + Copy, to: impl Fn(T) -> f32)
where
    (T,): joined::Types,
{
    for config in <(T,) as joined::Types>::DESC.configs {
        for ([m, n, k], pad) in
            [([64, 64, 64], 0), ([200, 136, 72], 0), ([320, 264, 64], 8), ([130, 72, 0], 0), ([65, 33, 40], 7)]
        {
            let a = Matrix::new([m, k], k + pad, 1, of);
            let b = Matrix::new([k, n], n + pad, 2, of);
            let (old, other) = (Matrix::new([m, n], n + pad, 4, of), Matrix::new([m, n], n + pad, 5, of));
            let bias = values(n, 6, |x| x);
            let run = |rt: &Runtime| {
                let mut c = Matrix::new([m, n], n + pad, 3, of);
                let call = joined::<T>(view!(a), view!(b), view!(old), view!(other), &bias[..], view_mut!(c), 0.5);
                rt.launch_with(rt.stream(), call, &LaunchOptions::new().config(config.id)).map(|()| c.data)
            };
            let wanted = run(&Runtime::cpu()).expect("the CPU runs it");
            for seed in [7, 8] {
                let found = match run(&Runtime::emulator(seed)) {
                    Err(tilewright::Error::CannotLaunch { why, .. }) => {
                        assert!(config.id.contains("arch=90") && (pad % 8 != 0 || k == 0), "{}: {why}", config.id);
                        continue;
                    }
                    r => r.unwrap_or_else(|e| panic!("{} {m} {n} {k} {pad}: {e}", config.id)),
                };
                for (i, (&x, &y)) in found.iter().zip(&wanted).enumerate() {
                    let (x, y) = (to(x), to(y));
                    assert!(
                        (x - y).abs() <= 0.02 * y.abs().max(1.0),
                        "{} {m} {n} {k} {pad}: element {i} is {x}, not {y}",
                        config.id
                    );
                }
            }
        }
    }
}

/// Sums in another order differ by the rounding of f16.
fn near(what: &str, found: &[f16], wanted: &[f16]) {
    for (i, (x, y)) in found.iter().zip(wanted).enumerate() {
        let near = (x.to_f32() - y.to_f32()).abs() <= 0.02 * y.to_f32().abs().max(1.0);
        assert!(near, "{what}: element {i} is {x}, not {y}");
    }
}

#[test]
fn tiles_joined_with_products() {
    check(f16::from_f32, f16::to_f32);
}

/// Rows that data names. The producer loads the numbers of the rows.
#[tile_kernel(tune(BM = [64], BN = [64], BK = [64], warps = [4], arch = [90]), grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)])]
fn named<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    old: View<f16, 2>,
    rows: &[u32],
    mut c: ViewMut<f16, 2>,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for k in (0..a.dim(1)).step_by(BK) {
        acc = dot(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]), acc);
    }
    let row = load(rows, program_id(0)) as usize;
    c.store([i, j], (acc + old.tile([row, j], [BM, BN]).to::<f32>()).to::<f16>());
}

/// The same, where the kernel writes the numbers: threads load the tile.
#[tile_kernel(tune(BM = [64], BN = [64], BK = [64], warps = [4], arch = [90]), grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)])]
fn named_once<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    old: View<f16, 2>,
    rows: &mut [u32],
    mut c: ViewMut<f16, 2>,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for k in (0..a.dim(1)).step_by(BK) {
        acc = dot(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]), acc);
    }
    let at = program_id(0) * num_programs(1) + program_id(1);
    let row = load(rows, at) as usize;
    store(rows, at, 1000);
    c.store([i, j], (acc + old.tile([row, j], [BM, BN]).to::<f32>()).to::<f16>());
}

#[test]
fn tiles_that_data_names() {
    let [m, n, k] = [128, 72, 72];
    let (a, b, old) = (
        Matrix::new([m, k], k, 1, f16::from_f32),
        Matrix::new([k, n], n, 2, f16::from_f32),
        Matrix::new([m, n], n, 4, f16::from_f32),
    );
    let rows = [64u32, 3];
    assert!(
        named::DESCS[0].configs[0].variants.iter().any(|v| v.only == Some("sm_90a")),
        "products go by warpgroups all the same"
    );
    let run = |rt: &Runtime| {
        let mut c = Matrix::new([m, n], n, 3, f16::from_f32);
        rt.launch(named(view!(a), view!(b), view!(old), &rows[..], view_mut!(c))).expect("it runs");
        c.data
    };
    let named = run(&Runtime::cpu());
    near("named", &run(&Runtime::emulator(7)), &named);
    for rt in [Runtime::cpu(), Runtime::emulator(7)] {
        let mut c = Matrix::new([m, n], n, 3, f16::from_f32);
        // A number for each of two tiles of columns.
        let mut numbers = [rows[0], rows[0], rows[1], rows[1]];
        rt.launch(named_once(view!(a), view!(b), view!(old), &mut numbers[..], view_mut!(c))).expect("it runs");
        near("named once", &c.data, &named);
        assert_eq!(numbers, [1000; 4]);
    }
}

/// Rows of 64 bytes, which are not stored by boxes.
#[tile_kernel(tune(BM = [64], BN = [32], BK = [64], warps = [4], arch = [90]), grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)])]
fn narrow<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    old: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for k in (0..a.dim(1)).step_by(BK) {
        acc = dot(a.tile([i, k], [BM, BK]), trans(b.tile([j, k], [BN, BK])), acc);
    }
    c.store([i, j], (acc + old.tile([i, j], [BM, BN]).to::<f32>()).to::<f16>());
}

#[test]
fn narrow_tiles_joined_with_products() {
    let [m, n, k] = [72, 40, 72];
    let (a, b, old) = (
        Matrix::new([m, k], k, 1, f16::from_f32),
        Matrix::new([n, k], k, 2, f16::from_f32),
        Matrix::new([m, n], n, 4, f16::from_f32),
    );
    let run = |rt: &Runtime| {
        let mut c = Matrix::new([m, n], n, 3, f16::from_f32);
        rt.launch(narrow(view!(a), view!(b), view!(old), view_mut!(c))).expect("it runs");
        c.data
    };
    near("narrow", &run(&Runtime::emulator(7)), &run(&Runtime::cpu()));
}

/// The transpose of a product of few rows: instructions take 64 rows, so these are columns.
#[tile_kernel(
    tune(BM = [16], BN = [64], BK = [64], warps = [4], arch = [90]),
    tune(BM = [16], BN = [64], BK = [32], warps = [4], arch = [80]),
    grid = [cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn store_transposed_product<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
) {
    let j = program_id(0) * BN;
    let mut acc = zeros::<f32>([BN, BM]);
    for k in (0..a.dim(1)).step_by(BK) {
        acc = dot(trans(b.tile([k, j], [BK, BN]).evict_first()), trans(a.tile([0, k], [BM, BK]).evict_last()), acc);
    }
    c.store([0, j], trans(maximum(acc, 0.0)).to::<f16>());
}

#[test]
fn transposed_products() {
    for config in store_transposed_product::DESCS[0].configs {
        for [m, n, k] in [[16, 64, 64], [5, 200, 136], [1, 8, 8]] {
            let (a, b) = (Matrix::new([m, k], k, 1, f16::from_f32), Matrix::new([k, n], n, 2, f16::from_f32));
            let run = |rt: &Runtime| {
                let mut c = Matrix::new([m, n], n, 3, f16::from_f32);
                rt.launch_with(
                    rt.stream(),
                    store_transposed_product(view!(a), view!(b), view_mut!(c)),
                    &LaunchOptions::new().config(config.id),
                )
                .unwrap_or_else(|e| panic!("{}: {e}", config.id));
                c.data
            };
            near(config.id, &run(&Runtime::emulator(7)), &run(&Runtime::cpu()));
        }
    }
}

/// One result by tensor maps, then another that the program reads as well and so stores by threads, from the same
/// shared memory.
#[tile_kernel(tune(BM = [64], BN = [128], BK = [64], warps = [4], arch = [90]), grid = [1])]
fn two_results<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
    mut d: ViewMut<f16, 2>,
) {
    for i in range(program_id(0), cdiv(c.dim(0), BM), num_programs(0)) {
        let mut acc = zeros::<f32>([BM, BN]);
        for k in (0..a.dim(1)).step_by(BK) {
            acc = dot(a.tile([i * BM, k], [BM, BK]), b.tile([k, 0], [BK, BN]), acc);
        }
        c.store([i * BM, 0], acc.to::<f16>());
        d.store([i * BM, 0], (acc + d.tile([i * BM, 0], [BM, BN]).to::<f32>()).to::<f16>());
    }
}

/// As [`joined`], by a program that announces its tiles, so that threads store them: a copy by maps might be late.
#[tile_kernel(tune(BM = [64], BN = [128], BK = [64], warps = [4], arch = [90]), grid = [1])]
fn announced<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    old: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
    done: &mut [u32],
) {
    for i in range(program_id(0), cdiv(c.dim(0), BM), num_programs(0)) {
        let mut acc = zeros::<f32>([BM, BN]);
        for k in (0..a.dim(1)).step_by(BK) {
            acc = dot(a.tile([i * BM, k], [BM, BK]), b.tile([k, 0], [BK, BN]), acc);
        }
        c.store([i * BM, 0], (acc + old.tile([i * BM, 0], [BM, BN]).to::<f32>()).to::<f16>());
        atomic_add(done, 0, 1);
    }
}

#[test]
fn stores_by_maps_and_by_threads_share_memory() {
    let [m, n, k] = [256, 128, 128];
    let (a, b) = (Matrix::new([m, k], k, 1, f16::from_f32), Matrix::new([k, n], n, 2, f16::from_f32));
    let run = |rt: &Runtime| {
        let (mut c, mut d) = (Matrix::new([m, n], n, 3, f16::from_f32), Matrix::new([m, n], n, 4, f16::from_f32));
        rt.launch(two_results(view!(a), view!(b), view_mut!(c), view_mut!(d))).expect("it runs");
        let (old, mut e, mut done) =
            (Matrix::new([m, n], n, 5, f16::from_f32), Matrix::new([m, n], n, 6, f16::from_f32), [0u32]);
        rt.launch(announced(view!(a), view!(b), view!(old), view_mut!(e), &mut done[..])).expect("it runs");
        assert_eq!(done, [m as u32 / 64]);
        [c.data, d.data, e.data].concat()
    };
    let wanted = run(&Runtime::cpu());
    for seed in 1..6 {
        near(&format!("seed {seed}"), &run(&Runtime::emulator(seed)), &wanted);
    }
}

/// A result that the program reads as well and announces: threads store it, in rounds of some rows. The last tile has
/// fewer rows.
#[tile_kernel(tune(BM = [64], BN = [128], BK = [64], warps = [4], arch = [90]), grid = [1])]
fn announced_in_place<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut d: ViewMut<f16, 2>,
    done: &mut [u32],
) {
    for i in range(program_id(0), cdiv(d.dim(0), BM), num_programs(0)) {
        let mut acc = zeros::<f32>([BM, BN]);
        for k in (0..a.dim(1)).step_by(BK) {
            acc = dot(a.tile([i * BM, k], [BM, BK]), b.tile([k, 0], [BK, BN]), acc);
        }
        d.store([i * BM, 0], (acc + d.tile([i * BM, 0], [BM, BN]).to::<f32>()).to::<f16>());
        atomic_add(done, 0, 1);
    }
}

#[test]
fn tiles_that_threads_store_in_rounds_end_with_the_rows() {
    let [m, n, k] = [256, 128, 128];
    for rows in [232, 201, 256, 3] {
        let (a, b) = (Matrix::new([rows, k], k, 1, f16::from_f32), Matrix::new([k, n], n, 2, f16::from_f32));
        let run = |rt: &Runtime| {
            // The memory behind the rows belongs to the same array.
            let (mut d, mut done) = (Matrix::new([m, n], n, 4, f16::from_f32), [0u32]);
            d.dims[0] = rows;
            rt.launch(announced_in_place(view!(a), view!(b), view_mut!(d), &mut done[..])).expect("it runs");
            assert_eq!(done, [rows.div_ceil(64) as u32]);
            d.data
        };
        let wanted = run(&Runtime::cpu());
        let found = run(&Runtime::emulator(7));
        near(&format!("{rows} rows"), &found[..rows * n], &wanted[..rows * n]);
        assert_eq!(found[rows * n..], wanted[rows * n..], "{rows} rows: the memory behind them");
    }
}

/// Two results, of which the last one has the narrower rows. While they are stored, the next operands are copied.
#[tile_kernel(
    tune(BM = [64], BN = [128], FEW = [32], BK = [64], warps = [4], arch = [90]),
    tune(BM = [64], BN = [32], FEW = [128], BK = [64], warps = [4], arch = [90]),
    tune(BM = [128], BN = [128], FEW = [32], BK = [64], warps = [8], arch = [90]),
    tune(BM = [128], BN = [32], FEW = [128], BK = [64], warps = [8], arch = [90]),
    grid = [1],
    emulate = all,
)]
fn two_widths<const BM: usize, const BN: usize, const FEW: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
    mut d: ViewMut<f16, 2>,
) {
    for i in range(program_id(0), cdiv(c.dim(0), BM), num_programs(0)) {
        let mut wide = zeros::<f32>([BM, BN]);
        let mut few = zeros::<f32>([BM, FEW]);
        for k in (0..a.dim(1)).step_by(BK) {
            let left = a.tile([i * BM, k], [BM, BK]);
            wide = dot(left, b.tile([k, 0], [BK, BN]), wide);
            few = dot(left, b.tile([k, BN], [BK, FEW]), few);
        }
        c.store([i * BM, 0], wide.to::<f16>());
        d.store([i * BM, 0], few.to::<f16>());
    }
}

#[test]
fn results_of_two_widths_have_room_for_both() {
    let [m, n, k] = [256, 160, 128];
    let (a, b) = (Matrix::new([m, k], k, 1, f16::from_f32), Matrix::new([k, n], n, 2, f16::from_f32));
    for (config, first) in two_widths::DESCS[0].configs.iter().zip([128, 32, 128, 32]) {
        let run = |rt: &Runtime| {
            let [mut c, mut d] = [first, n - first].map(|n| Matrix::new([m, n], n, 3, f16::from_f32));
            let call = two_widths(view!(a), view!(b), view_mut!(c), view_mut!(d));
            rt.launch_with(rt.stream(), call, &LaunchOptions::new().config(config.id)).expect("it runs");
            [c.data, d.data].concat()
        };
        let wanted = run(&Runtime::cpu());
        for seed in 1..6 {
            near(&format!("{}, seed {seed}", config.id), &run(&Runtime::emulator(seed)), &wanted);
        }
    }
}

/// The lower triangle of a sum with another tile; above it the numbers of the columns, which each thread computes from
/// its own number.
#[tile_kernel(
    tune(BM = [64], BN = [64], BK = [64], warps = [4], arch = [90]),
    tune(BM = [128], BN = [128], BK = [32], warps = [4], arch = [90]),
    tune(BM = [128], BN = [128], BK = [64], warps = [8], arch = [90]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn lower_triangle<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    old: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for k in (0..a.dim(1)).step_by(BK) {
        acc = dot(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]), acc);
    }
    let (rows, cols) = ((i + arange(BM)).expand(1), (j + arange(BN)).expand(0));
    let sum = acc + old.tile([i, j], [BM, BN]).to::<f32>();
    c.store([i, j], where_(cols <= rows, sum, broadcast((cols % 64).to::<f32>(), [BM, BN])).to::<f16>());
}

#[test]
fn pieces_of_a_store_have_the_elements_of_their_own_places() {
    for config in lower_triangle::DESCS[0].configs {
        for [m, n, k] in [[128, 128, 64], [200, 136, 72]] {
            let (a, b, old) = (
                Matrix::new([m, k], k, 1, f16::from_f32),
                Matrix::new([k, n], n, 2, f16::from_f32),
                Matrix::new([m, n], n, 4, f16::from_f32),
            );
            let run = |rt: &Runtime| {
                let mut c = Matrix::new([m, n], n, 3, f16::from_f32);
                let call = lower_triangle(view!(a), view!(b), view!(old), view_mut!(c));
                rt.launch_with(rt.stream(), call, &LaunchOptions::new().config(config.id))
                    .unwrap_or_else(|e| panic!("{}: {e}", config.id));
                c.data
            };
            near(config.id, &run(&Runtime::emulator(7)), &run(&Runtime::cpu()));
        }
    }
}

/// Rows whose distance is a product of a number and several arguments. The program reads its results again, so that
/// threads store them.
#[tile_kernel(tune(BM = [64], BN = [64], BK = [64], warps = [4], arch = [90]), grid = [cdiv(m, BM)], emulate = all)]
unsafe fn rows_apart<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    d: *mut f16,
    m: usize,
    p: usize,
    q: usize,
) {
    let i = program_id(0) * BM;
    let mut acc = zeros::<f32>([BM, BN]);
    for k in (0..a.dim(1)).step_by(BK) {
        acc = dot(a.tile([i, k], [BM, BK]), b.tile([k, 0], [BK, BN]), acc);
    }
    let (rows, cols) = ((i + arange(BM)).expand(1), arange(BN).expand(0));
    let at = rows * (8 * p * q) + cols;
    let mask = (rows < m) & (cols < 8 * p);
    let old = load(d.add(at)).mask(mask).to::<f32>();
    store(d.add(at), (acc + old).to::<f16>()).mask(mask);
}

#[test]
fn the_distance_of_rows_is_a_product_of_arguments() {
    for ([m, k], [p, q]) in [([64, 64], [8, 1]), ([200, 72], [7, 1]), ([70, 64], [5, 2]), ([70, 64], [1, 3])] {
        let n = 8 * p;
        let (a, b) = (Matrix::new([m, k], k, 1, f16::from_f32), Matrix::new([k, n], n, 2, f16::from_f32));
        let run = |rt: &Runtime| {
            let d = Buffer::from_slice(rt, &values(m * n * q, 3, f16::from_f32)).unwrap();
            // SAFETY: the rows are as many and as far apart as is said.
            let call = unsafe { rows_apart(view!(a), view!(b), d.raw(), m, p, q) };
            rt.launch(call).expect("it runs");
            d.to_vec().unwrap()
        };
        near(&format!("{m} rows, {p} by {q}"), &run(&Runtime::emulator(7)), &run(&Runtime::cpu()));
    }
}
