//! Products of matrices, from the plainest kernel to one that keeps a fixed number of programs busy.
//!
//! Matrices are A (m by k), B (k by n) and C (m by n), with any strides. Elements of a tile beyond a matrix are loaded
//! as 0, which adds nothing to a sum.

use tilewright::tile_kernel;

// ANCHOR: matmul_rank_1
/// A column of A times a row of B, k times: no products of tiles. A program's rows of A are read once for every tile of
/// columns.
///
/// # Safety
/// The matrices are as said above; so in all kernels here.
#[tile_kernel(tune(BLOCK_SIZE_M = [16], BLOCK_SIZE_N = [16]), grid = [cdiv(n, BLOCK_SIZE_N), cdiv(m, BLOCK_SIZE_M)])]
pub unsafe fn matmul_rank_1<const BLOCK_SIZE_M: usize, const BLOCK_SIZE_N: usize>(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
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
    let pid_n = program_id(0);
    let pid_m = program_id(1);
    let offs_m = pid_m * BLOCK_SIZE_M + arange(BLOCK_SIZE_M);
    let offs_n = pid_n * BLOCK_SIZE_N + arange(BLOCK_SIZE_N);

    let mut a_ptrs = a.add(offs_m.expand(1) * stride_am);
    let mut b_ptrs = b.add(offs_n.expand(0) * stride_bn);

    let mut accumulator = zeros::<f32>([BLOCK_SIZE_M, BLOCK_SIZE_N]);
    for _ in 0..k {
        let a = load(a_ptrs).mask(offs_m.expand(1) < m);
        let b = load(b_ptrs).mask(offs_n.expand(0) < n);
        accumulator += a * b;
        a_ptrs += stride_ak;
        b_ptrs += stride_bk;
    }

    let c_ptrs = c.add(offs_m.expand(1) * stride_cm + offs_n.expand(0) * stride_cn);
    let c_mask = (offs_m.expand(1) < m) & (offs_n.expand(0) < n);
    store(c_ptrs, accumulator).mask(c_mask);
}
// ANCHOR_END: matmul_rank_1

// ANCHOR: matmul_blocked
/// The same by tiles: `dot` multiplies a tile of A and one of B, so that an element that was loaded is used many times.
///
/// # Safety
/// As [`matmul_rank_1`].
#[tile_kernel(
    tune(BLOCK_SIZE_M = [16], BLOCK_SIZE_N = [16], BLOCK_SIZE_K = [16]),
    grid = [cdiv(m, BLOCK_SIZE_M), cdiv(n, BLOCK_SIZE_N)]
)]
pub unsafe fn matmul_blocked<const BLOCK_SIZE_M: usize, const BLOCK_SIZE_N: usize, const BLOCK_SIZE_K: usize>(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
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
    let pid_m = program_id(0);
    let pid_n = program_id(1);
    let offs_m = pid_m * BLOCK_SIZE_M + arange(BLOCK_SIZE_M);
    let offs_n = pid_n * BLOCK_SIZE_N + arange(BLOCK_SIZE_N);
    let offs_k = arange(BLOCK_SIZE_K);

    let mut a_ptrs = a.add(offs_m.expand(1) * stride_am + offs_k.expand(0) * stride_ak);
    let mut b_ptrs = b.add(offs_k.expand(1) * stride_bk + offs_n.expand(0) * stride_bn);

    let mut accumulator = zeros::<f32>([BLOCK_SIZE_M, BLOCK_SIZE_N]);
    for start in range(0, k, BLOCK_SIZE_K) {
        let left = k - start;
        let a = load(a_ptrs).mask((offs_m.expand(1) < m) & (offs_k.expand(0) < left)).other(0.0);
        let b = load(b_ptrs).mask((offs_k.expand(1) < left) & (offs_n.expand(0) < n)).other(0.0);
        accumulator = dot(a, b, accumulator);
        a_ptrs += BLOCK_SIZE_K * stride_ak;
        b_ptrs += BLOCK_SIZE_K * stride_bk;
    }

    let c_ptrs = c.add(offs_m.expand(1) * stride_cm + offs_n.expand(0) * stride_cn);
    let c_mask = (offs_m.expand(1) < m) & (offs_n.expand(0) < n);
    store(c_ptrs, accumulator).mask(c_mask);
}
// ANCHOR_END: matmul_blocked

// ANCHOR: matmul_grouped
/// Programs that run at the same time share rows of A and columns of B in the L2 cache: tiles are taken in groups of
/// rows.
///
/// # Safety
/// As [`matmul_rank_1`].
#[tile_kernel(
    tune(BLOCK_SIZE_M = [64], BLOCK_SIZE_N = [64], BLOCK_SIZE_K = [32], GROUP_SIZE_M = [8]),
    grid = [cdiv(m, BLOCK_SIZE_M) * cdiv(n, BLOCK_SIZE_N)]
)]
pub unsafe fn matmul_grouped<
    const BLOCK_SIZE_M: usize,
    const BLOCK_SIZE_N: usize,
    const BLOCK_SIZE_K: usize,
    const GROUP_SIZE_M: usize,
>(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
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
    // The body of `swizzle2d`, written out.
    let pid = program_id(0);
    let num_pid_m = cdiv(m, BLOCK_SIZE_M);
    let num_pid_n = cdiv(n, BLOCK_SIZE_N);
    let num_pid_in_group = GROUP_SIZE_M * num_pid_n;
    let group_id = pid / num_pid_in_group;
    let first_pid_m = group_id * GROUP_SIZE_M;
    let group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M);
    let pid_m = first_pid_m + pid % num_pid_in_group % group_size_m;
    let pid_n = pid % num_pid_in_group / group_size_m;

    let offs_m = pid_m * BLOCK_SIZE_M + arange(BLOCK_SIZE_M);
    let offs_n = pid_n * BLOCK_SIZE_N + arange(BLOCK_SIZE_N);
    let offs_k = arange(BLOCK_SIZE_K);

    let mut a_ptrs = a.add(offs_m.expand(1) * stride_am + offs_k.expand(0) * stride_ak);
    let mut b_ptrs = b.add(offs_k.expand(1) * stride_bk + offs_n.expand(0) * stride_bn);

    let mut accumulator = zeros::<f32>([BLOCK_SIZE_M, BLOCK_SIZE_N]);
    for start in range(0, k, BLOCK_SIZE_K) {
        let left = k - start;
        let a = load(a_ptrs).mask((offs_m.expand(1) < m) & (offs_k.expand(0) < left)).other(0.0);
        let b = load(b_ptrs).mask((offs_k.expand(1) < left) & (offs_n.expand(0) < n)).other(0.0);
        accumulator = dot(a, b, accumulator);
        a_ptrs += BLOCK_SIZE_K * stride_ak;
        b_ptrs += BLOCK_SIZE_K * stride_bk;
    }

    let c_ptrs = c.add(offs_m.expand(1) * stride_cm + offs_n.expand(0) * stride_cn);
    let c_mask = (offs_m.expand(1) < m) & (offs_n.expand(0) < n);
    store(c_ptrs, accumulator).mask(c_mask);
}
// ANCHOR_END: matmul_grouped

// ANCHOR: matmul_persistent
/// As many programs as the device has multiprocessors, each with every num_programs-th tile of C. Rows and columns
/// beyond the matrix are replaced by the first: the results for them are not stored.
///
/// # Safety
/// As [`matmul_rank_1`].
#[tile_kernel(
    tune(BLOCK_SIZE_M = [64], BLOCK_SIZE_N = [64], BLOCK_SIZE_K = [32], GROUP_SIZE_M = [8]),
    grid = [min(num_sms(), cdiv(m, BLOCK_SIZE_M) * cdiv(n, BLOCK_SIZE_N))]
)]
pub unsafe fn matmul_persistent<
    const BLOCK_SIZE_M: usize,
    const BLOCK_SIZE_N: usize,
    const BLOCK_SIZE_K: usize,
    const GROUP_SIZE_M: usize,
>(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
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
    let start_pid = program_id(0);
    let num_pid_m = cdiv(m, BLOCK_SIZE_M);
    let num_pid_n = cdiv(n, BLOCK_SIZE_N);
    let k_tiles = cdiv(k, BLOCK_SIZE_K);
    let num_tiles = num_pid_m * num_pid_n;

    for tile_id in range(start_pid, num_tiles, num_programs(0)) {
        let (pid_m, pid_n) = swizzle2d(tile_id, (num_pid_m, num_pid_n), GROUP_SIZE_M);
        let offs_m = pid_m * BLOCK_SIZE_M + arange(BLOCK_SIZE_M);
        let offs_n = pid_n * BLOCK_SIZE_N + arange(BLOCK_SIZE_N);
        let offs_am = where_(offs_m < m, offs_m, 0);
        let offs_bn = where_(offs_n < n, offs_n, 0);

        let mut accumulator = zeros::<f32>([BLOCK_SIZE_M, BLOCK_SIZE_N]);
        for ki in 0..k_tiles {
            let offs_k = ki * BLOCK_SIZE_K + arange(BLOCK_SIZE_K);
            let a_ptrs = a.add(offs_am.expand(1) * stride_am + offs_k.expand(0) * stride_ak);
            let b_ptrs = b.add(offs_k.expand(1) * stride_bk + offs_bn.expand(0) * stride_bn);
            let a = load(a_ptrs).mask(offs_k.expand(0) < k).other(0.0);
            let b = load(b_ptrs).mask(offs_k.expand(1) < k).other(0.0);
            accumulator = dot(a, b, accumulator);
        }

        let c_ptrs = c.add(offs_m.expand(1) * stride_cm + offs_n.expand(0) * stride_cn);
        let c_mask = (offs_m.expand(1) < m) & (offs_n.expand(0) < n);
        store(c_ptrs, accumulator).mask(c_mask);
    }
}
// ANCHOR_END: matmul_persistent

// ANCHOR: matmul_views
/// Views know the matrices' extents and strides: no pointers, no masks. f16 in and out, sums in f32, as warpgroups
/// multiply. If addresses and strides are multiples of 16 bytes the first configuration runs on the devices it is for,
/// and the hardware copies whole tiles for it; elsewhere, and for other rows, threads load the same tiles for the
/// second.
#[tile_kernel(
    tune(BLOCK_SIZE_M = [64], BLOCK_SIZE_N = [64], BLOCK_SIZE_K = [64], arch = [90]),
    tune(BLOCK_SIZE_M = [64], BLOCK_SIZE_N = [64], BLOCK_SIZE_K = [32], arch = [80]),
    grid = [cdiv(c.dim(0), BLOCK_SIZE_M) * cdiv(c.dim(1), BLOCK_SIZE_N)],
)]
pub fn matmul_views<const BLOCK_SIZE_M: usize, const BLOCK_SIZE_N: usize, const BLOCK_SIZE_K: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
) {
    let pid = program_id(0);
    let num_pid_m = cdiv(c.dim(0), BLOCK_SIZE_M);
    let pid_m = pid % num_pid_m;
    let pid_n = pid / num_pid_m;
    let offs_am = pid_m * BLOCK_SIZE_M;
    let offs_bn = pid_n * BLOCK_SIZE_N;

    let mut accumulator = zeros::<f32>([BLOCK_SIZE_M, BLOCK_SIZE_N]);
    for offs_k in range(0, a.dim(1), BLOCK_SIZE_K) {
        let a = a.tile([offs_am, offs_k], [BLOCK_SIZE_M, BLOCK_SIZE_K]);
        let b = b.tile([offs_k, offs_bn], [BLOCK_SIZE_K, BLOCK_SIZE_N]);
        accumulator = dot(a, b, accumulator);
    }
    c.store([offs_am, offs_bn], accumulator.to::<f16>());
}
// ANCHOR_END: matmul_views
