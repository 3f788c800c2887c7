//! Matrices given by pointers, strides and masks: TMA copies their block pointers as it copies the tiles of views.

use tilewright::tile_kernel;
use tilewright::{Buffer, Runtime};
use tilewright_core::{Call, Element, RawArg, bf16, f16};
use tilewright_language_tests::matrix::{Matrix, near, values};
use tilewright_language_tests::run::{seeds, taken, with};
use tilewright_language_tests::{view, view_mut};

mod advanced;

/// WAY: 0 masks on every side; 1 rows and columns that wrap around; 2 a K of which nothing is left; 3 indices
/// computed anew for every step.
#[tile_kernel(
    tune(BM = [64], BN = [64], BK = [64], WAY = [0, 1, 2, 3], warps = [4]),
    tune(BM = [128], BN = [128], BK = [32], WAY = [0, 1], warps = [8]),
    tune(BM = [64], BN = [96, 192], BK = [64], WAY = [0, 3], warps = [4]),
    grid = [cdiv(m, BM) * cdiv(n, BN)],
    emulate = all,
)]
unsafe fn product<const BM: usize, const BN: usize, const BK: usize, const WAY: usize>(
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
    let pid = program_id(0);
    let (num_pid_m, num_pid_n) = (cdiv(m, BM), cdiv(n, BN));
    let num_pid_in_group = 2 * num_pid_n;
    let first_pid_m = pid / num_pid_in_group * 2;
    let group_size_m = min(num_pid_m - first_pid_m, 2);
    let pid_m = first_pid_m + pid % num_pid_in_group % group_size_m;
    let pid_n = pid % num_pid_in_group / group_size_m;
    let (rows, columns) = (pid_m * BM + arange(BM), pid_n * BN + arange(BN));
    let offs_k = arange(BK);
    let mut acc = zeros::<f32>([BM, BN]);
    let wrapped = WAY == 1;
    let (offs_am, offs_bn) = if wrapped { (rows % m, columns % n) } else { (rows, columns) };
    if WAY == 3 {
        for start in range(0, k, BK) {
            let depth = start + offs_k;
            let x = load(a.add(rows.expand(1) * stride_am).add(depth.expand(0) * stride_ak))
                .mask((depth.expand(0) < k) & (rows.expand(1) < m));
            let y = load(b.add(stride_bk * depth.expand(1) + stride_bn * columns.expand(0)))
                .mask((columns.expand(0) < n) & (depth.expand(1) < k));
            acc = dot(x, y, acc);
        }
    } else {
        let mut a_ptrs = a.add(offs_am.expand(1) * stride_am + offs_k.expand(0) * stride_ak);
        let mut b_ptrs = b.add(offs_k.expand(1) * stride_bk + offs_bn.expand(0) * stride_bn);
        for i in 0..cdiv(k, BK) {
            let left = k - i * BK;
            if WAY == 0 {
                let x = load(a_ptrs).mask((rows.expand(1) < m) & (offs_k.expand(0) < left)).other(0.0);
                let y = load(b_ptrs).mask((offs_k.expand(1) < left) & (columns.expand(0) < n)).other(0.0);
                acc = dot(x, y, acc);
            } else if WAY == 1 {
                let x = load(a_ptrs).mask(offs_k.expand(0) < left).other(0.0);
                let y = load(b_ptrs).mask(offs_k.expand(1) < left).other(0.0);
                acc = dot(x, y, acc);
            } else {
                let x = load(a_ptrs).mask(rows.expand(1) < m).other(0.0);
                let y = load(b_ptrs).mask(columns.expand(0) < n).other(0.0);
                acc = dot(x, y, acc);
            }
            a_ptrs += BK * stride_ak;
            b_ptrs += BK * stride_bk;
        }
    }
    let c_ptrs = c.add(rows.expand(1) * stride_cm + columns.expand(0) * stride_cn);
    store(c_ptrs, acc.to::<f16>()).mask((rows.expand(1) < m) & (columns.expand(0) < n));
}

/// Slices, whose rows are as long as an argument says, of another type; a batch of matrices one after the other.
#[tile_kernel(
    types(T = [bf16, f16]),
    tune(BM = [64], BN = [128], BK = [64], warps = [4]),
    grid = [cdiv(m, BM), cdiv(n, BN)],
)]
fn slices<T: Float, const BM: usize, const BN: usize, const BK: usize>(
    a: &[T],
    b: &[T],
    c: &mut [f32],
    m: i32,
    n: i32,
    k: i32,
) {
    let (m, n, k) = (m.to::<usize>(), n.to::<usize>(), k.to::<usize>());
    let (rows, columns) = (program_id(0) * BM + arange(BM), program_id(1) * BN + arange(BN));
    let mut acc = zeros::<f32>([BM, BN]);
    for start in (0..k).step_by(BK) {
        let depth = start + arange(BK);
        let x = load(a, rows.expand(1) * k + depth.expand(0)).mask((rows.expand(1) < m) & (depth.expand(0) < k));
        let y = load(b, columns.expand(1) * k + depth.expand(0)).mask((columns.expand(1) < n) & (depth.expand(0) < k));
        acc = dot(x, trans(y), acc);
    }
    store(c, rows.expand(1) * n + columns.expand(0), acc).mask((rows.expand(1) < m) & (columns.expand(0) < n));
}

/// A batch: each left matrix begins at a multiple of a stride of its own, and the right one is the same for all. WAY
/// has accesses that are no block pointers: 1 rows below the first one, under a mask; 2 a mask of something else, too;
/// 3 a mask that begins one column late.
#[tile_kernel(
    tune(BM = [64], BN = [64], BK = [32], WAY = [0, 1, 2, 3], warps = [4]),
    grid = [cdiv(m, BM), cdiv(n, BN), batch],
    emulate = all,
)]
unsafe fn batches<const BM: usize, const BN: usize, const BK: usize, const WAY: usize>(
    a: *const f16,
    b: *const f16,
    c: *mut f32,
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    stride_a: usize,
    stride_c: usize,
) {
    let (rows, columns) = (program_id(0) * BM + arange(BM), program_id(1) * BN + arange(BN));
    let from = if WAY == 1 { rows - 1 } else { rows };
    let mut acc = zeros::<f32>([BM, BN]);
    for start in range(0, k, BK) {
        let depth = start + arange(BK);
        let a_ptrs = a.add(program_id(2) * stride_a + from.expand(1) * k + depth.expand(0));
        let b_ptrs = b.add(depth.expand(1) * n + columns.expand(0));
        let inside = (depth.expand(0) < k) & (from.expand(1) < m);
        let x = if WAY == 2 {
            load(a_ptrs).mask(inside & (depth.expand(0) != 5))
        } else if WAY == 3 {
            load(a_ptrs).mask((from.expand(1) < m) & (depth.expand(0) + 1 < k))
        } else {
            load(a_ptrs).mask(inside)
        };
        acc = dot(x, load(b_ptrs).mask((depth.expand(1) < k) & (columns.expand(0) < n)), acc);
    }
    store(c.add(program_id(2) * stride_c + rows.expand(1) * n + columns.expand(0)), acc)
        .mask((rows.expand(1) < m) & (columns.expand(0) < n));
}

/// Block pointers that begin below their matrix, or where it is not sure that they do not: there is memory before a
/// pointer, where no mask is. By WAY: 0 elements and 2 rows before it; 1 lanes that are never loaded; 3 and 4 arguments
/// with signs; 5 a row that depends on a branch; 6 an offset of more rows than there can be.
#[tile_kernel(
    tune(BM = [64], BN = [64], BK = [64], WAY = [0, 1, 2, 3, 4, 5, 6], warps = [4], arch = [90]),
    grid = [cdiv(m, BM), cdiv(n, BN)],
    emulate = all,
)]
unsafe fn beginnings<const BM: usize, const BN: usize, const BK: usize, const WAY: usize>(
    a: *const f16,
    b: *const f16,
    c: *mut f32,
    m: usize,
    n: usize,
    k: usize,
    stride: usize,
    offset: usize,
    small: i16,
    shift: i32,
) {
    let (rows, columns) = (program_id(0) * BM + arange(BM), program_id(1) * BN + arange(BN));
    let mut acc = zeros::<f32>([BM, BN]);
    let mut a_ptrs = a.add(rows.expand(1) * stride + (arange(BK) - 8).expand(0));
    for start in range(0, k, BK) {
        let depth = start + arange(BK);
        let x = if WAY == 0 {
            load(a.add(rows.expand(1) * stride + depth.expand(0)).add(-8i32))
        } else if WAY == 1 {
            load(a_ptrs).mask((arange(BK) - 8).expand(0) < k - start)
        } else if WAY == 2 {
            load(a.add((rows + (-shift).to::<usize>()).expand(1) * stride + depth.expand(0))).mask(depth.expand(0) < k)
        } else if WAY == 3 {
            let from = small.to::<usize>() + rows;
            load(a.add(from.expand(1) * stride + depth.expand(0))).mask((from.expand(1) < m) & (depth.expand(0) < k))
        } else if WAY == 4 {
            load(a.add(((small.to::<usize>() * 8 + rows) % m).expand(1) * stride + depth.expand(0)))
                .mask(depth.expand(0) < k)
        } else if WAY == 5 {
            let mut from = program_id(0) * BM;
            if shift > 0 {
                from = from - 8;
            }
            load(a.add((from + arange(BM)).expand(1) * stride + depth.expand(0))).mask(depth.expand(0) < k)
        } else {
            load(a.add(offset + rows.expand(1) * stride + depth.expand(0))).mask(rows.expand(1) < m)
        };
        let y =
            load(b.add(depth.expand(1) * n + columns.expand(0))).mask((depth.expand(1) < k) & (columns.expand(0) < n));
        acc = dot(x, y, acc);
        a_ptrs += BK;
    }
    store(c.add(rows.expand(1) * n + columns.expand(0)), acc).mask((rows.expand(1) < m) & (columns.expand(0) < n));
}

/// On the CPU and on the emulated SM, by the variant that is expected.
fn same(what: &str, variant: Option<&str>, config: &'static str, run: impl Fn(&Runtime, &dyn Fn(&Call)) -> Vec<f32>) {
    let check = |call: &Call| {
        if let Some(v) = variant {
            assert_eq!(taken(call, config), v, "{what}");
        }
    };
    let wanted = run(&Runtime::cpu(), &check);
    assert!(wanted.iter().any(|x| *x != 0.0), "{what}");
    seeds().iter().for_each(|rt| near(what, &run(rt, &check), &wanted));
}

#[test]
fn through_pointers() {
    let masked = |way: i64| way == 0 || way == 3;
    // Extents, the padding of the rows of A, B and C, whether A and B are transposed, the variant where all is masked
    // and where rows and columns wrap around.
    let cases = [
        ([128, 128, 128], [0, 0, 0], [false, false], "tma", "tma"),
        ([128, 256, 64], [8, 16, 24], [false, true], "tma_nt", "tma_nt"),
        ([256, 128, 96], [8, 16, 24], [true, false], "tma_tn", "tma_tn"),
        ([128, 128, 72], [0, 0, 0], [true, true], "tma_tt", "tma_tt"),
        ([136, 200, 104], [0, 8, 0], [false, false], "tma", "wgmma_cp_async"),
        ([72, 40, 104], [0, 8, 8], [false, true], "tma_nt", "general"),
        ([128, 128, 128], [0, 0, 1], [false, false], "tma_general", "tma_general"),
        ([70, 50, 33], [0, 0, 0], [false, false], "general", "general"),
    ];
    for config in product::DESCS[0].configs {
        let way = config.consts.iter().find(|c| c.0 == "WAY").expect("it has one").1;
        for ([m, n, k], pad, transposed, all_masked, wraps) in cases {
            let what = format!("{} {m}x{n}x{k} {transposed:?}", config.id);
            // Elements read beside K are in the memory of the matrices, and not in the matrices.
            let deep: usize = if way == 2 { usize::next_multiple_of(k, 64) } else { k };
            let matrix = |rows: usize, columns: usize, t: bool, pad: usize| {
                if t { (columns * (rows + pad), 1, rows + pad) } else { (rows * (columns + pad), columns + pad, 1) }
            };
            let ((of_a, am, ak), (of_b, bk, bn)) =
                (matrix(m, deep, transposed[0], pad[0]), matrix(deep, n, transposed[1], pad[1]));
            let (a, b) = (values(of_a, 1, f16::from_f32), values(of_b, 2, f16::from_f32));
            let expected = match way {
                2 if k % 64 != 0 => None,
                w if masked(w) => Some(all_masked),
                _ => Some(wraps).filter(|_| way == 1),
            };
            same(&what, expected, config.id, |rt, check| {
                let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
                let ldc = n + pad[2];
                let z = Buffer::<f16>::zeros(rt, m * ldc).unwrap();
                // SAFETY: the matrices are as large as is said.
                let call = unsafe { product(x.raw(), y.raw(), z.raw(), m, n, k, am, ak, bk, bn, ldc, 1) };
                check(&call);
                rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                z.to_vec().unwrap().into_iter().map(f16::to_f32).collect()
            });
        }
    }
}

fn of_slices<T: Element>(of: impl Fn(f32) -> T + Copy)
where
    (T,): slices::Types,
{
    for config in <(T,) as slices::Types>::DESC.configs {
        // The last slice is too short for its extents: the elements outside do not exist.
        for ([m, n, k], missing, variant) in [
            ([128, 128, 128], 0, "tma"),
            ([72, 40, 208], 0, "tma"),
            ([33, 17, 40], 0, "wgmma_cp_async"),
            ([128, 128, 64], 8, "wgmma_cp_async"),
        ] {
            let what = format!("{} {m}x{n}x{k}", config.id);
            let (a, b) = (values(m * k - missing, 1, of), values(n * k, 2, of));
            same(&what, (n % 4 == 0).then_some(variant), config.id, |rt, check| {
                let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
                let mut z = Buffer::<f32>::zeros(rt, m * n).unwrap();
                let call = slices::<T>(&x, &y, &mut z, m as i32, n as i32, k as i32);
                check(&call);
                rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                z.to_vec().unwrap()
            });
        }
    }
}

#[test]
fn through_slices() {
    of_slices(bf16::from_f32);
    of_slices(f16::from_f32);
}

#[test]
fn in_batches() {
    for config in batches::DESCS[0].configs {
        let block_pointer = config.consts.contains(&("WAY", 0)) || config.consts.contains(&("WAY", 1));
        for [batch, m, n, k] in [[3, 72, 96, 64], [2, 128, 64, 40]] {
            let what = format!("{} {batch}x{m}x{n}x{k}", config.id);
            let (stride_a, stride_c) = (m * k + 16, m * n + 8);
            let (a, b) = (values(batch * stride_a, 1, f16::from_f32), values(k * n, 2, f16::from_f32));
            same(&what, Some(if block_pointer { "tma" } else { "wgmma_cp_async" }), config.id, |rt, check| {
                let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
                let z = Buffer::<f32>::zeros(rt, batch * stride_c).unwrap();
                // SAFETY: the matrices are as large as is said.
                let call = unsafe { batches(x.raw(), y.raw(), z.raw(), batch, m, n, k, stride_a, stride_c) };
                check(&call);
                rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{what}: {e}"));
                z.to_vec().unwrap()
            });
        }
    }
}

#[test]
fn below_the_matrix() {
    let [m, n, k, stride] = [320, 64, 128, 192];
    let front = 16 * stride;
    let (a, b) = (values(front + (m + 64) * stride, 1, f16::from_f32), values(k * n, 2, f16::from_f32));
    for config in beginnings::DESCS[0].configs {
        same(config.id, None, config.id, |rt, _| {
            let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
            let z = Buffer::<f32>::zeros(rt, m * n).unwrap();
            let (raw, far) = (x.raw(), if config.consts.contains(&("WAY", 6)) { 1u64 << 31 } else { 0 });
            let from = RawArg::new((raw.addr() + 2 * front as u64).wrapping_sub(2 * far), raw.device());
            // SAFETY: 16 rows are before the ones that `from` and `far` point at, and 64 behind the last one.
            let call = unsafe { beginnings(from, y.raw(), z.raw(), m, n, k, stride, far, -8, 8) };
            rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{}: {e}", config.id));
            z.to_vec().unwrap()
        });
    }
}

/// Tiles that begin beyond 2^31 rows and columns, where there is nothing: of pointers and of views, loaded and stored.
#[tile_kernel(tune(BM = [64], BN = [64], BK = [64], warps = [4], arch = [90]), grid = [1])]
unsafe fn far<const BM: usize, const BN: usize, const BK: usize>(
    a: *const f16,
    b: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
    mut d: ViewMut<f16, 2>,
    m: usize,
    k: usize,
    stride: usize,
    from: usize,
) {
    let (rows, columns) = (arange(BM), arange(BK));
    let mut acc = zeros::<f32>([BM, BN]);
    for at in range(0, k, BK) {
        let depth = at + columns;
        let x =
            load(a.add(rows.expand(1) * stride + depth.expand(0))).mask((rows.expand(1) < m) & (depth.expand(0) < k));
        acc = dot(x, b.tile([at, 0], [BK, BN]), acc);
        let lower = from + rows;
        let y =
            load(a.add(lower.expand(1) * stride + depth.expand(0))).mask((lower.expand(1) < m) & (depth.expand(0) < k));
        acc = dot(y, b.tile([at, 0], [BK, BN]), acc);
        acc = dot(x, b.tile([at, from], [BK, BN]), acc);
        acc = dot(x, b.tile([at + from, 0], [BK, BN]), acc);
    }
    c.store([0, 0], acc.to::<f16>());
    d.store([from, 0], acc.to::<f16>());
    d.store([0, from], acc.to::<f16>());
}

#[test]
fn beyond_what_a_coordinate_holds() {
    let [m, n, k] = [64usize, 64, 128];
    let whole = |x: f32| f16::from_f32((x * 4.0).round());
    let (a, b) = (values(m * k, 1, whole), Matrix::new([k, n], n, 2, whole));
    for from in
        [1u64 << 20, 1 << 31, (1 << 31) + 64, (1 << 32) - 64, 1 << 32, (1 << 32) + 8, 1 << 33, 1 << 40, (1 << 62) + 32]
    {
        let run = |rt: &Runtime| {
            let x = Buffer::from_slice(rt, &a).unwrap();
            let [mut c, mut d] = [3, 4].map(|seed| Matrix::new([m, n], n, seed, whole));
            // SAFETY: the matrix is as large as is said.
            let call = unsafe { far(x.raw(), view!(b), view_mut!(c), view_mut!(d), m, k, k, from) };
            assert_eq!(taken(&call, "BM=64,BN=64,BK=64,warps=4,arch=90"), "tma", "{from}");
            rt.launch(call).unwrap_or_else(|e| panic!("{from}: {e}"));
            [c.data, d.data]
        };
        let wanted = run(&Runtime::cpu());
        assert!(wanted[0].iter().any(|x| x.to_f32() != 0.0));
        seeds().iter().for_each(|rt| assert!(run(rt) == wanted, "{from}"));
    }
}

/// Rows so far apart that the last of them is beyond 64 bits.
#[tile_kernel(tune(BM = [64], BN = [64], BK = [64], warps = [4]), grid = [1])]
fn far_apart<const BM: usize, const BN: usize, const BK: usize>(
    a: &[f16],
    b: View<f16, 2>,
    c: &mut [f32],
    m: usize,
    k: usize,
    stride: usize,
) {
    let mut acc = zeros::<f32>([BM, BN]);
    for at in range(0, k, BK) {
        let (rows, depth) = (arange(BM), at + arange(BK));
        let x = load(a, rows.expand(1) * stride + depth.expand(0)).mask((rows.expand(1) < m) & (depth.expand(0) < k));
        acc = dot(x, b.tile([at, 0], [BK, BN]), acc);
    }
    store(c, arange(BM).expand(1) * BN + arange(BN).expand(0), acc);
}

#[test]
fn a_guard_is_not_fooled_by_products_that_wrap_around() {
    let [n, k] = [64usize, 128];
    let whole = |x: f32| f16::from_f32((x * 4.0).round());
    let (a, b) = (values(64 * k, 1, whole), Matrix::new([k, n], n, 2, whole));
    // Rows times stride is 2^64, or a little more, in all but the first.
    for (m, stride, copied) in [
        (64u64, k as u64, true),
        (1 << 30, 1 << 34, false),
        (1 << 28, (1 << 36) + 8, false),
        ((1 << 30) + 1, 1 << 34, false),
    ] {
        let run = |rt: &Runtime| {
            let mut c = vec![f32::NAN; 64 * n];
            let call = far_apart(&a[..], view!(b), &mut c[..], m, k, stride);
            assert_eq!(taken(&call, "BM=64,BN=64,BK=64,warps=4").starts_with("tma"), copied, "{m} {stride}");
            rt.launch(call).unwrap_or_else(|e| panic!("{m} {stride}: {e}"));
            c
        };
        let wanted = run(&Runtime::cpu());
        assert!(wanted.iter().any(|x| *x != 0.0));
        seeds().iter().for_each(|rt| assert!(run(rt) == wanted, "{m} {stride}"));
    }
}

/// A tile of sums that begins before the array: rows and columns below zero are left out, and no others.
#[tile_kernel(types(T = [f16, f32]), tune(BM = [64], BN = [64], BK = [64], warps = [4]), grid = [1], emulate = all)]
fn from_below<T: Float, const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<T, 2>,
    up: usize,
    left: usize,
) {
    let acc = dot(a.tile([0, 0], [BM, BK]), b.tile([0, 0], [BK, BN]), zeros::<f32>([BM, BN]));
    c.store([program_id(0) - up, program_id(0) - left], acc.to::<T>());
}

#[test]
fn tiles_that_begin_before_the_array() {
    fn check<T: Element + PartialEq>(of: fn(f32) -> T)
    where
        (T,): from_below::Types,
    {
        let whole = |x: f32| f16::from_f32((x * 4.0).round());
        let (a, b) = (Matrix::new([64, 64], 64, 1, whole), Matrix::new([64, 64], 64, 2, whole));
        let desc = <(T,) as from_below::Types>::DESC;
        // Rows of the result that TMA stores, and such that threads store by vectors and by elements.
        for pad in [0, 16 / size_of::<T>(), 1] {
            for (up, left) in [(0, 0), (8, 0), (0, 8), (3, 0), (0, 3), (17, 24), (63, 63), (64, 0), (0, 1usize << 40)] {
                let what = format!("{} {pad} {up} {left}", desc.types);
                let run = |rt: &Runtime| {
                    let mut c = Matrix::new([90, 80], 80 + pad, 3, of);
                    let call = from_below::<T>(view!(a), view!(b), view_mut!(c), up, left);
                    rt.launch_with(rt.stream(), call, &with(desc.configs[0].id))
                        .unwrap_or_else(|e| panic!("{what}: {e}"));
                    c.data
                };
                let wanted = run(&Runtime::cpu());
                seeds().iter().for_each(|rt| assert!(run(rt) == wanted, "{what}"));
            }
        }
    }
    check(f16::from_f32);
    check(|x| x);
}

/// Whole rows of sums, from an argument on, or so many before the array.
#[tile_kernel(
    tune(BEFORE = [false, true], BM = [64], BN = [64], BK = [64], warps = [4]),
    grid = [1],
    emulate = all,
)]
fn rows_from<const BEFORE: bool, const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
    row: usize,
) {
    let acc = dot(a.tile([0, 0], [BM, BK]), b.tile([0, 0], [BK, BN]), zeros::<f32>([BM, BN]));
    if BEFORE {
        c.store([program_id(0) - row, 0], acc.to::<f16>());
    } else {
        c.store([row, 0], acc.to::<f16>());
    }
}

fn rows_are_stored(config: &'static str, variant: Option<&str>, rows: &[u64]) {
    let whole = |x: f32| f16::from_f32((x * 4.0).round());
    let (a, b) = (Matrix::new([64, 64], 64, 1, whole), Matrix::new([64, 64], 64, 2, whole));
    for &row in rows {
        let run = |rt: &Runtime| {
            let mut c = Matrix::new([90, 64], 64, 3, whole);
            let call = rows_from(view!(a), view!(b), view_mut!(c), row);
            assert!(variant.is_none_or(|v| taken(&call, config) == v), "{row}");
            rt.launch_with(rt.stream(), call, &with(config)).unwrap_or_else(|e| panic!("{row}: {e}"));
            c.data
        };
        let wanted = run(&Runtime::cpu());
        seeds().iter().for_each(|rt| assert!(run(rt) == wanted, "{row}"));
    }
}

#[test]
fn tiles_that_begin_far_away() {
    let rows = [0, 30, 89, 90, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 63, u64::MAX - 100];
    rows_are_stored("BEFORE=false,BM=64,BN=64,BK=64,warps=4", Some("tma"), &rows);
}

#[test]
fn rows_that_begin_before_the_array() {
    rows_are_stored("BEFORE=true,BM=64,BN=64,BK=64,warps=4", None, &[0, 1, 40, 64]);
}
