//! Block pointers that advance now and then or by other steps, wrap around anywhere, or have two limits.

use super::same;
use tilewright::tile_kernel;
use tilewright::{Buffer, Runtime};
use tilewright_core::f16;
use tilewright_language_tests::matrix::{Matrix, values};
use tilewright_language_tests::run::{seeds, taken, with};
use tilewright_language_tests::{view, view_mut};

/// Steps that `continue` leaves out: pointers advance by those alone that it does not.
#[tile_kernel(tune(BM = [64], BN = [64], BK = [64], warps = [4]), grid = [1], emulate = all)]
unsafe fn left_out<const BM: usize, const BN: usize, const BK: usize>(
    a: *const f16,
    b: *const f16,
    c: *mut f32,
    m: usize,
    n: usize,
    k: usize,
    every: usize,
) {
    let (rows, columns, offs_k) = (arange(BM), arange(BN), arange(BK));
    let mut a_ptrs = a.add(rows.expand(1) * k + offs_k.expand(0));
    let mut b_ptrs = b.add(offs_k.expand(1) * n + columns.expand(0));
    let mut acc = zeros::<f32>([BM, BN]);
    for i in 0..cdiv(k, BK) {
        if i % every == 0 {
            continue;
        }
        let left = k - i * BK;
        let x = load(a_ptrs).mask((rows.expand(1) < m) & (offs_k.expand(0) < left));
        let y = load(b_ptrs).mask((offs_k.expand(1) < left) & (columns.expand(0) < n));
        acc = dot(x, y, acc);
        a_ptrs += BK;
        b_ptrs += BK * n;
    }
    store(c.add(rows.expand(1) * n + columns.expand(0)), acc).mask((rows.expand(1) < m) & (columns.expand(0) < n));
}

#[test]
fn pointers_stay_where_a_step_is_left_out() {
    let [m, n, k] = [64usize, 64, 256];
    let (a, b) = (values(m * k, 1, f16::from_f32), values(k * n, 2, f16::from_f32));
    for config in left_out::DESCS[0].configs {
        for every in [2usize, 3, 100] {
            let what = format!("{} every {every}", config.id);
            same(&what, None, config.id, |rt, _| {
                let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
                let z = Buffer::<f32>::zeros(rt, m * n).unwrap();
                // SAFETY: the matrices are as large as is said.
                let call = unsafe { left_out(x.raw(), y.raw(), z.raw(), m, n, k, every) };
                rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                z.to_vec().unwrap()
            });
        }
    }
}

/// One variable that two loops advance, one behind the other.
#[tile_kernel(tune(BM = [64], BN = [64], BK = [64], warps = [4]), grid = [1], emulate = all)]
unsafe fn two_loops<const BM: usize, const BN: usize, const BK: usize>(
    a: *const f16,
    b: *const f16,
    c: *mut f32,
    m: usize,
    n: usize,
    k: usize,
    half: usize,
) {
    let (rows, columns) = (arange(BM), arange(BN));
    let mut acc = zeros::<f32>([BM, BN]);
    let mut at = 0usize;
    for _ in range(0, half, BK) {
        let depth = at + arange(BK);
        let x = load(a.add(rows.expand(1) * k + depth.expand(0))).mask((rows.expand(1) < m) & (depth.expand(0) < k));
        let y =
            load(b.add(depth.expand(1) * n + columns.expand(0))).mask((depth.expand(1) < k) & (columns.expand(0) < n));
        acc = dot(x, y, acc);
        at += BK;
    }
    acc = acc * 2.0;
    for _ in range(half, k, BK) {
        let depth = at + arange(BK);
        let x = load(a.add(rows.expand(1) * k + depth.expand(0))).mask((rows.expand(1) < m) & (depth.expand(0) < k));
        let y =
            load(b.add(depth.expand(1) * n + columns.expand(0))).mask((depth.expand(1) < k) & (columns.expand(0) < n));
        acc = dot(x, y, acc);
        at += BK;
    }
    store(c.add(rows.expand(1) * n + columns.expand(0)), acc).mask((rows.expand(1) < m) & (columns.expand(0) < n));
}

#[test]
fn a_second_loop_goes_on_where_the_first_one_has_ended() {
    let [m, n, k] = [64usize, 64, 256];
    let (a, b) = (values(m * k, 1, f16::from_f32), values(k * n, 2, f16::from_f32));
    for config in two_loops::DESCS[0].configs {
        for half in [0usize, 64, 128, 256] {
            let what = format!("{} {half}", config.id);
            same(&what, None, config.id, |rt, _| {
                let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
                let z = Buffer::<f32>::zeros(rt, m * n).unwrap();
                // SAFETY: the matrices are as large as is said.
                let call = unsafe { two_loops(x.raw(), y.raw(), z.raw(), m, n, k, half) };
                rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                z.to_vec().unwrap()
            });
        }
    }
}

/// Rows that wrap around in the middle of a tile.
#[tile_kernel(tune(BM = [64], BN = [64], BK = [64], warps = [4]), grid = [cdiv(m, BM)], emulate = all)]
unsafe fn wraps_inside<const BM: usize, const BN: usize, const BK: usize>(
    a: *const f16,
    b: *const f16,
    c: *mut f32,
    m: usize,
    n: usize,
    k: usize,
) {
    let rows = (program_id(0) * BM + 8 + arange(BM)) % m;
    let (to, columns) = (program_id(0) * BM + arange(BM), arange(BN));
    let mut acc = zeros::<f32>([BM, BN]);
    for start in range(0, k, BK) {
        let depth = start + arange(BK);
        let x = load(a.add(rows.expand(1) * k + depth.expand(0))).mask(depth.expand(0) < k);
        let y =
            load(b.add(depth.expand(1) * n + columns.expand(0))).mask((depth.expand(1) < k) & (columns.expand(0) < n));
        acc = dot(x, y, acc);
    }
    store(c.add(to.expand(1) * n + columns.expand(0)), acc).mask((to.expand(1) < m) & (columns.expand(0) < n));
}

#[test]
fn rows_wrap_around_anywhere() {
    let [m, n, k] = [128usize, 64, 128];
    let (a, b) = (values(m * k, 1, f16::from_f32), values(k * n, 2, f16::from_f32));
    for config in wraps_inside::DESCS[0].configs {
        same(config.id, None, config.id, |rt, _| {
            let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
            let z = Buffer::<f32>::zeros(rt, m * n).unwrap();
            // SAFETY: the matrices are as large as is said.
            let call = unsafe { wraps_inside(x.raw(), y.raw(), z.raw(), m, n, k) };
            rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{}: {e}", config.id));
            z.to_vec().unwrap()
        });
    }
}

/// A dimension with two limits; the first one or the second one may be the lower one.
#[tile_kernel(tune(BM = [64], BN = [64], BK = [64], warps = [4]), grid = [1], emulate = all)]
unsafe fn two_limits<const BM: usize, const BN: usize, const BK: usize>(
    a: *const f16,
    b: *const f16,
    c: *mut f32,
    m: usize,
    n: usize,
    k: usize,
    seen: usize,
) {
    let (rows, columns) = (arange(BM), arange(BN));
    let mut acc = zeros::<f32>([BM, BN]);
    for start in range(0, k, BK) {
        let depth = start + arange(BK);
        let inside = (rows.expand(1) < seen) & (rows.expand(1) < m) & (depth.expand(0) < k);
        let x = load(a.add(rows.expand(1) * k + depth.expand(0))).mask(inside);
        let y =
            load(b.add(depth.expand(1) * n + columns.expand(0))).mask((depth.expand(1) < k) & (columns.expand(0) < n));
        acc = dot(x, y, acc);
    }
    store(c.add(rows.expand(1) * n + columns.expand(0)), acc);
}

#[test]
fn the_lower_one_of_two_limits_counts() {
    let [n, k] = [64usize, 128];
    let (a, b) = (values(64 * k, 1, f16::from_f32), values(k * n, 2, f16::from_f32));
    for config in two_limits::DESCS[0].configs {
        for [m, seen] in [[64usize, 40usize], [40, 64], [64, 64]] {
            let what = format!("{} {m} {seen}", config.id);
            same(&what, None, config.id, |rt, _| {
                let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
                let z = Buffer::<f32>::zeros(rt, 64 * n).unwrap();
                // SAFETY: the matrices are as large as is said.
                let call = unsafe { two_limits(x.raw(), y.raw(), z.raw(), m, n, k, seen) };
                rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                z.to_vec().unwrap()
            });
        }
    }
}

/// Block pointers that overlap, or that leave columns out between them: they begin at a variable that grows by another
/// step than the loop's.
#[tile_kernel(tune(HOP = [32, 64, 96], BK = [64], warps = [4]), grid = [1], emulate = all)]
unsafe fn windows<const HOP: usize, const BK: usize>(
    a: *const f16,
    b: *const f16,
    c: *mut f32,
    m: usize,
    n: usize,
    k: usize,
    width: usize,
) {
    let (rows, columns) = (arange(64), arange(64));
    let mut acc = zeros::<f32>([64, 64]);
    let mut from = 0usize;
    for start in range(0, k, BK) {
        let (across, depth) = (from + arange(BK), start + arange(BK));
        let inside = (rows.expand(1) < m) & (across.expand(0) < width);
        let x = load(a.add(rows.expand(1) * width + across.expand(0))).mask(inside);
        let y =
            load(b.add(depth.expand(1) * n + columns.expand(0))).mask((depth.expand(1) < k) & (columns.expand(0) < n));
        acc = dot(x, y, acc);
        from += HOP;
    }
    store(c.add(rows.expand(1) * n + columns.expand(0)), acc).mask((rows.expand(1) < m) & (columns.expand(0) < n));
}

#[test]
fn windows_advance_by_steps_of_their_own() {
    let [m, n, k, width] = [64usize, 64, 192, 248];
    let (a, b) = (values(m * width, 1, f16::from_f32), values(k * n, 2, f16::from_f32));
    for config in windows::DESCS[0].configs {
        same(config.id, None, config.id, |rt, _| {
            let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
            let z = Buffer::<f32>::zeros(rt, m * n).unwrap();
            // SAFETY: the matrices are as large as is said.
            let call = unsafe { windows(x.raw(), y.raw(), z.raw(), m, n, k, width) };
            rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{}: {e}", config.id));
            z.to_vec().unwrap()
        });
    }
}

/// Operands whose columns begin between multiples of 16 bytes, which TMA does not copy: by an argument, by a number
/// that is known, and before the array.
#[tile_kernel(tune(WAY = [0, 1, 2, 3], warps = [4]), grid = [1], emulate = all)]
fn any_column<const WAY: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>, from: usize) {
    let mut acc = zeros::<f32>([64, 64]);
    for k in range(0, a.dim(1), 64) {
        let at = if WAY == 0 {
            k + from
        } else if WAY == 1 {
            k + 4
        } else if WAY == 2 {
            k - 4 * (program_id(0) + 1)
        } else {
            k * 2 + from * 8
        };
        acc = dot(a.tile([0, at], [64, 64]), b.tile([k, from], [64, 64]), acc);
    }
    c.store([0, 0], acc);
}

#[test]
fn columns_between_multiples_of_16_bytes() {
    let whole = |x: f32| f16::from_f32((x * 4.0).round());
    let (a, b) = (Matrix::new([64, 200], 208, 1, whole), Matrix::new([200, 90], 96, 2, whole));
    for config in any_column::DESCS[0].configs {
        for from in [0, 1, 4, 8, 16, 20] {
            let what = format!("{} from {from}", config.id);
            let run = |rt: &Runtime| {
                let mut c = Matrix::new([64, 64], 64, 3, |x| x);
                let call = any_column(view!(a), view!(b), view_mut!(c), from);
                // A launch decides where an argument does, and the code where a number is known.
                let by_tma = matches!(config.id.split(',').next(), Some("WAY=0" | "WAY=3")) && from % 8 == 0;
                assert_eq!(taken(&call, config.id).starts_with("tma"), by_tma, "{what}: {}", taken(&call, config.id));
                rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                c.data
            };
            let wanted = run(&Runtime::cpu());
            assert!(wanted.iter().any(|x| *x != 0.0));
            seeds().iter().for_each(|rt| assert!(run(rt) == wanted, "{what}"));
        }
    }
}
