use tilewright::tile_kernel;

/// C = A B of matrices with any strides; C's columns are neighbors. One program makes one tile of C, in groups of
/// `GROUP` rows of tiles, which share columns of B in the L2 cache. Elements of a tile beyond a matrix are loaded as 0
/// and not stored.
///
/// # Safety
/// The matrices are `m` by `k`, `k` by `n` and `m` by `n`.
// ANCHOR: attribute
#[tile_kernel(
    tune(BLOCK_M = [128], BLOCK_N = [256], BLOCK_K = [64], GROUP = [8, 16], warps = [8], arch = [90]),
    tune(BLOCK_M = [128], BLOCK_N = [128], BLOCK_K = [64], GROUP = [8], warps = [4, 8], arch = [90]),
    tune(BLOCK_M = [64], BLOCK_N = [128, 64], BLOCK_K = [64], GROUP = [8], warps = [4], arch = [90]),
    tune(BLOCK_M = [128], BLOCK_N = [128], BLOCK_K = [32], GROUP = [8], warps = [8], stages = [3], arch = [80]),
    tune(BLOCK_M = [64], BLOCK_N = [64], BLOCK_K = [32], GROUP = [8], warps = [4], stages = [3], arch = [80]),
    grid = [cdiv(m, BLOCK_M) * cdiv(n, BLOCK_N)],
)]
// ANCHOR_END: attribute
pub unsafe fn matmul<const BLOCK_M: usize, const BLOCK_N: usize, const BLOCK_K: usize, const GROUP: usize>(
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
) {
    let (pid_m, pid_n) = swizzle2d(program_id(0), (cdiv(m, BLOCK_M), cdiv(n, BLOCK_N)), GROUP);
    let rows = pid_m * BLOCK_M + arange(BLOCK_M);
    let columns = pid_n * BLOCK_N + arange(BLOCK_N);
    let depth = arange(BLOCK_K);
    let mut a_ptrs = a.add(rows.expand(1) * stride_am + depth.expand(0) * stride_ak);
    let mut b_ptrs = b.add(depth.expand(1) * stride_bk + columns.expand(0) * stride_bn);
    let mut acc = zeros::<f32>([BLOCK_M, BLOCK_N]);
    for start in range(0, k, BLOCK_K) {
        let x = load(a_ptrs).mask((rows.expand(1) < m) & (start + depth.expand(0) < k));
        let y = load(b_ptrs).mask((start + depth.expand(1) < k) & (columns.expand(0) < n));
        acc = dot(x, y, acc);
        a_ptrs += BLOCK_K * stride_ak;
        b_ptrs += BLOCK_K * stride_bk;
    }
    store(c.add(rows.expand(1) * stride_cm + columns.expand(0)), acc.to::<f16>())
        .mask((rows.expand(1) < m) & (columns.expand(0) < n));
}
