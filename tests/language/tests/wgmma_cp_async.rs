//! Products in loops without warp specialization, whose operands are pointers and slices: `wgmma` takes them from tiles
//! that all threads copy by `cp.async`.

use tilewright::tile_kernel;
use tilewright::{Buffer, Runtime};
use tilewright_core::{f8e4m3, f16};
use tilewright_language_tests::matrix::{near, values};
use tilewright_language_tests::run::{seeds, taken, with};

/// With pointers that move along, as one writes it in Triton. WAY: 0 masks on every side; 1 rows and columns that wrap
/// around; 2 two products an iteration, the second with the tiles that the first one has just multiplied.
#[tile_kernel(
    tune(BM = [64], BN = [64], BK = [64], WAY = [0, 1, 2], warps = [4]),
    tune(BM = [128], BN = [128], BK = [32], WAY = [0], warps = [8], stages = [2, 5]),
    tune(BM = [64], BN = [128], BK = [16], WAY = [1], warps = [8]),
    tune(BM = [64], BN = [96], BK = [32], WAY = [0, 1, 2], warps = [4]),
    grid = [cdiv(m, BM) * cdiv(n, BN)],
    emulate = all,
)]
unsafe fn pointers<const BM: usize, const BN: usize, const BK: usize, const WAY: usize>(
    a: *const f16,
    b: *const f16,
    c: *mut f16,
    m: usize,
    n: usize,
    k: usize,
    stride_am: usize,
    stride_ak: usize,
    stride_bk: usize,
    stride_bn: usize,
    stride_cm: usize,
    stride_cn: usize,
) {
    let (pid_m, pid_n) = swizzle2d(program_id(0), (cdiv(m, BM), cdiv(n, BN)), 4);
    let (rows, columns) = (pid_m * BM + arange(BM), pid_n * BN + arange(BN));
    let offs_k = arange(BK);
    let mut acc = zeros::<f32>([BM, BN]);
    if WAY == 1 {
        let mut a_ptrs = a.add((rows % m).expand(1) * stride_am + offs_k.expand(0) * stride_ak);
        let mut b_ptrs = b.add(offs_k.expand(1) * stride_bk + (columns % n).expand(0) * stride_bn);
        for i in (0..cdiv(k, BK)).warp_specialize(false) {
            let x = load(a_ptrs).mask(offs_k.expand(0) < k - i * BK).other(0.0);
            let y = load(b_ptrs).mask(offs_k.expand(1) < k - i * BK).other(0.0);
            acc = dot(x, y, acc);
            a_ptrs += BK * stride_ak;
            b_ptrs += BK * stride_bk;
        }
    } else {
        let mut a_ptrs = a.add(rows.expand(1) * stride_am + offs_k.expand(0) * stride_ak);
        let mut b_ptrs = b.add(offs_k.expand(1) * stride_bk + columns.expand(0) * stride_bn);
        for start in (0..k).step_by(BK).warp_specialize(false) {
            let left = k - start;
            let x = load(a_ptrs).mask((rows.expand(1) < m) & (offs_k.expand(0) < left)).other(0.0);
            let y = load(b_ptrs).mask((offs_k.expand(1) < left) & (columns.expand(0) < n)).other(0.0);
            acc = dot(x, y, acc);
            if WAY == 2 {
                acc = dot(x, y, acc * 0.5);
            }
            a_ptrs += BK * stride_ak;
            b_ptrs += BK * stride_bk;
        }
    }
    let c_ptrs = c.add(rows.expand(1) * stride_cm + columns.expand(0) * stride_cn);
    store(c_ptrs, acc.to::<f16>()).mask((rows.expand(1) < m) & (columns.expand(0) < n));
}

/// Of slices, whose ends need no masks; B is K-major, and its numbers are bytes or halves.
#[tile_kernel(
    types(T = [f8e4m3, f16]),
    tune(BM = [64], BN = [64], BK = [64], warps = [4]),
    tune(BM = [128], BN = [32], BK = [128], warps = [8]),
    grid = [cdiv(m, BM), cdiv(n, BN)],
    emulate = all,
)]
fn slices<T: Float, const BM: usize, const BN: usize, const BK: usize>(
    a: &[T],
    b: &[T],
    c: &mut [f32],
    m: usize,
    n: usize,
    k: usize,
) {
    let (rows, columns) = (program_id(0) * BM + arange(BM), program_id(1) * BN + arange(BN));
    let mut acc = zeros::<f32>([BM, BN]);
    for start in (0..k).step_by(BK).warp_specialize(false) {
        let depth = start + arange(BK);
        let x = load(a, rows.expand(1) * k + depth.expand(0)).mask(broadcast(depth.expand(0), [BM, BK]) < k);
        let y = load(b, columns.expand(1) * k + depth.expand(0)).mask(broadcast(depth.expand(0), [BN, BK]) < k);
        acc = dot(x, trans(y), acc);
    }
    store(c, rows.expand(1) * n + columns.expand(0), acc).mask((rows.expand(1) < m) & (columns.expand(0) < n));
}

#[test]
fn through_pointers() {
    // Extents, the length of a row of A and of B, and which variant that is for.
    let cases = [
        ([128, 128, 128], [128, 128], "wgmma_cp_async"),
        ([136, 200, 104], [104, 200], "wgmma_cp_async"),
        ([72, 40, 100], [104, 48], "wgmma_cp_async"),
        ([8, 8, 3], [8, 8], "wgmma_cp_async"),
        ([70, 50, 33], [33, 50], "general"),
    ];
    for config in pointers::DESCS[0].configs {
        for ([m, n, k], [lda, ldb], variant) in cases {
            if config.consts.contains(&("WAY", 1)) && n % 8 != 0 {
                continue;
            }
            let what = format!("{} {m}x{n}x{k}", config.id);
            let (a, b) = (values(m * lda, 1, f16::from_f32), values(k * ldb, 2, f16::from_f32));
            let run = |rt: &Runtime| -> Vec<f32> {
                let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
                let ldc = n.next_multiple_of(8);
                let z = Buffer::<f16>::zeros(rt, m * ldc).unwrap();
                // SAFETY: the matrices are as large as is said.
                let call = unsafe { pointers(x.raw(), y.raw(), z.raw(), m, n, k, lda, 1, ldb, 1, ldc, 1) };
                // Circular buffers of copies are of powers of two.
                let variant = if config.consts.contains(&("BN", 96)) && variant == "wgmma_cp_async" {
                    "aligned"
                } else {
                    variant
                };
                assert_eq!(taken(&call, config.id), variant, "{what}");
                rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                z.to_vec().unwrap().into_iter().map(f16::to_f32).collect()
            };
            let wanted = run(&Runtime::cpu());
            assert!(wanted.iter().any(|x| *x != 0.0), "{what}");
            seeds().iter().for_each(|rt| near(&what, &run(rt), &wanted));
        }
    }
}

fn of_slices<T: tilewright_core::Element>(of: impl Fn(f32) -> T + Copy)
where
    (T,): slices::Types,
{
    for config in <(T,) as slices::Types>::DESC.configs {
        for ([m, n, k], variant) in
            [([128, 64, 128], "wgmma_cp_async"), ([80, 48, 208], "wgmma_cp_async"), ([33, 17, 40], "general")]
        {
            let what = format!("{} {m}x{n}x{k}", config.id);
            let (a, b) = (values(m * k, 1, of), values(n * k, 2, of));
            let run = |rt: &Runtime| {
                let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
                let mut z = Buffer::<f32>::zeros(rt, m * n).unwrap();
                let call = slices::<T>(&x, &y, &mut z, m as u64, n as u64, k as u64);
                if variant == "wgmma_cp_async" {
                    assert_eq!(taken(&call, config.id), variant, "{what}");
                }
                rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                z.to_vec().unwrap()
            };
            let wanted = run(&Runtime::cpu());
            seeds().iter().for_each(|rt| near(&what, &run(rt), &wanted));
        }
    }
}

#[test]
fn through_slices() {
    of_slices(f16::from_f32);
    of_slices(f8e4m3::from_f32);
}

/// A is M-major, and masks leave out a number of the depth or a column, so that no load is a block of a matrix. WAY:
/// 0 B is N-major; 1 K-major.
#[tile_kernel(
    tune(BM = [64], BN = [64], BK = [64], WAY = [0, 1], warps = [4]),
    tune(BM = [64], BN = [64], BK = [64], WAY = [0], warps = [8]),
    grid = [cdiv(m, BM), cdiv(n, BN)],
    emulate = all,
)]
fn columns_first<const BM: usize, const BN: usize, const BK: usize, const WAY: usize>(
    a: &[f16],
    b: &[f16],
    c: &mut [f32],
    m: usize,
    n: usize,
    k: usize,
    without: usize,
) {
    let (rows, columns) = (program_id(0) * BM + arange(BM), program_id(1) * BN + arange(BN));
    let mut acc = zeros::<f32>([BM, BN]);
    for start in (0..k).step_by(BK).warp_specialize(false) {
        let depth = start + arange(BK);
        let kept = (depth < k) & (depth != without);
        let x = load(a, depth.expand(0) * m + rows.expand(1)).mask(broadcast(kept.expand(0), [BM, BK]));
        let y = if WAY == 1 {
            load(b, columns.expand(0) * k + depth.expand(1)).mask(broadcast((columns != without).expand(0), [BK, BN]))
        } else {
            load(b, depth.expand(1) * n + columns.expand(0)).mask(broadcast(kept.expand(1), [BK, BN]))
        };
        acc = dot(x, y, acc);
    }
    store(c, rows.expand(1) * n + columns.expand(0), acc).mask((rows.expand(1) < m) & (columns.expand(0) < n));
}

#[test]
fn tiles_whose_columns_are_contiguous() {
    for config in columns_first::DESCS[0].configs {
        for ([m, n, k], is_aligned) in [([128, 64, 192], true), ([72, 40, 104], true), ([33, 17, 40], false)] {
            let what = format!("{} {m}x{n}x{k}", config.id);
            let (a, b) = (values(m * k, 1, f16::from_f32), values(n * k, 2, f16::from_f32));
            let run = |rt: &Runtime| {
                let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
                let mut z = Buffer::<f32>::zeros(rt, m * n).unwrap();
                let call = columns_first(&x, &y, &mut z, m, n, k, 5);
                // An instruction takes whole rows of a swizzled tile: with two warpgroups side by side each would take
                // half of those of B.
                let is_cut = config.id.contains("warps=8");
                if is_aligned && !is_cut {
                    assert_eq!(taken(&call, config.id), "wgmma_cp_async", "{what}");
                }
                rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                z.to_vec().unwrap()
            };
            let wanted = run(&Runtime::cpu());
            assert!(wanted.iter().any(|x| *x != 0.0), "{what}");
            seeds().iter().for_each(|rt| near(&what, &run(rt), &wanted));
        }
    }
}
