//! A product of matrices of f16, summed in f32, with an activation before it is stored: the sums are still in
//! registers.
//!
//! Matrices are as in [`matmul`](crate::matmul).

use tilewright::{tile_kernel, tile_module};

// ANCHOR: matmul_relu
/// With a ReLU. All of every tile is there, so that nothing is masked.
///
/// # Safety
/// The matrices are as said above; extents are multiples of the blocks.
#[tile_kernel(
    tune(BLOCK_M = [128], BLOCK_N = [128], BLOCK_K = [32], warps = [8]),
    grid = [cdiv(m, BLOCK_M), cdiv(n, BLOCK_N)]
)]
pub unsafe fn matmul_relu<const BLOCK_M: usize, const BLOCK_N: usize, const BLOCK_K: usize>(
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
    let pid_m = program_id(0);
    let pid_n = program_id(1);
    let offs_m = pid_m * BLOCK_M + arange(BLOCK_M);
    let offs_n = pid_n * BLOCK_N + arange(BLOCK_N);
    let offs_k = arange(BLOCK_K);
    let mut a_ptrs = a.add(offs_m.expand(1) * stride_am + offs_k.expand(0) * stride_ak);
    let mut b_ptrs = b.add(offs_k.expand(1) * stride_bk + offs_n.expand(0) * stride_bn);

    let mut accumulator = zeros::<f32>([BLOCK_M, BLOCK_N]);
    for _ in range(0, k, BLOCK_K) {
        let a = load(a_ptrs);
        let b = load(b_ptrs);
        accumulator = dot(a, b, accumulator);
        a_ptrs += BLOCK_K * stride_ak;
        b_ptrs += BLOCK_K * stride_bk;
    }
    accumulator = maximum(accumulator, 0.0);

    let c_ptrs = c.add(offs_m.expand(1) * stride_cm + offs_n.expand(0) * stride_cn);
    store(c_ptrs, accumulator.to::<f16>());
}
// ANCHOR_END: matmul_relu

pub use activated::matmul_leaky_relu;

// ANCHOR: activated
#[tile_module]
mod activated {
    fn leaky_relu(x: Tile<f32>) -> Tile<f32> {
        where_(x >= 0.0, x, 0.01 * x)
    }

    /// f16 in and out, sums in f32, an activation as a function beside the kernel. Rows and columns beyond the matrix
    /// wrap around to some that are there.
    ///
    /// # Safety
    /// The matrices are as said above.
    #[tile_kernel(
        tune(BLOCK_SIZE_M = [64], BLOCK_SIZE_N = [64], BLOCK_SIZE_K = [32], GROUP_SIZE_M = [8], stages = [4]),
        grid = [cdiv(m, BLOCK_SIZE_M) * cdiv(n, BLOCK_SIZE_N)]
    )]
    pub unsafe fn matmul_leaky_relu<
        const BLOCK_SIZE_M: usize,
        const BLOCK_SIZE_N: usize,
        const BLOCK_SIZE_K: usize,
        const GROUP_SIZE_M: usize,
    >(
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
        let num_pid_m = cdiv(m, BLOCK_SIZE_M);
        let num_pid_n = cdiv(n, BLOCK_SIZE_N);
        let (pid_m, pid_n) = swizzle2d(program_id(0), (num_pid_m, num_pid_n), GROUP_SIZE_M);

        let offs_am = (pid_m * BLOCK_SIZE_M + arange(BLOCK_SIZE_M)) % m;
        let offs_bn = (pid_n * BLOCK_SIZE_N + arange(BLOCK_SIZE_N)) % n;
        let offs_k = arange(BLOCK_SIZE_K);
        let mut a_ptrs = a.add(offs_am.expand(1) * stride_am + offs_k.expand(0) * stride_ak);
        let mut b_ptrs = b.add(offs_k.expand(1) * stride_bk + offs_bn.expand(0) * stride_bn);

        let mut accumulator = zeros::<f32>([BLOCK_SIZE_M, BLOCK_SIZE_N]);
        for i in 0..cdiv(k, BLOCK_SIZE_K) {
            let a = load(a_ptrs).mask(offs_k.expand(0) < k - i * BLOCK_SIZE_K).other(0.0);
            let b = load(b_ptrs).mask(offs_k.expand(1) < k - i * BLOCK_SIZE_K).other(0.0);
            accumulator = dot(a, b, accumulator);
            a_ptrs += BLOCK_SIZE_K * stride_ak;
            b_ptrs += BLOCK_SIZE_K * stride_bk;
        }
        let c_tile = leaky_relu(accumulator).to::<f16>();

        let offs_cm = pid_m * BLOCK_SIZE_M + arange(BLOCK_SIZE_M);
        let offs_cn = pid_n * BLOCK_SIZE_N + arange(BLOCK_SIZE_N);
        let c_ptrs = c.add(stride_cm * offs_cm.expand(1) + stride_cn * offs_cn.expand(0));
        let c_mask = (offs_cm.expand(1) < m) & (offs_cn.expand(0) < n);
        store(c_ptrs, c_tile).mask(c_mask);
    }
}
// ANCHOR_END: activated
