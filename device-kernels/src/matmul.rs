//! `C = f(op(A) op(B))`, where `op` transposes or not and `f` leaves non-negative sums alone and multiplies negative ones
//! with `below`: 1 for a plain product, 0 for ReLU, any slope for a leaky one.
//!
//! Four kernels for each dtype, by what is transposed: n or t for A, then for B. The products of warpgroups take rows along
//! the depth alone for operands other than f16 and bf16: A as it is, B transposed. Every program stays
//! and takes one tile of `C` after another, in an order that keeps a group of rows of tiles in the L2 cache.

use kernel_macros::tile_module;

#[tile_module]
pub mod products {
    /// `[R, C]` of `v` at row `r` and column `c`; with T of 1, of its transpose.
    fn operand<E, const T: usize, const R: usize, const C: usize>(v: View<E, 2>, r: usize, c: usize) -> Tile<E> {
        if T == 1 { trans(v.tile([c, r], [C, R])) } else { v.tile([r, c], [R, C]) }
    }

    /// A tile of the product. P: 0 for the dtype's own arithmetic, 1 for operands rounded to tf32, 2 for f32 out of three
    /// products of tf32. Those have sums of their own, added up in f32: a tensor core cuts off what it adds to a large one.
    fn sums<A, E, const P: usize, const TA: usize, const TB: usize, const BM: usize, const BN: usize, const BK: usize>(
        a: View<E, 2>,
        b: View<E, 2>,
        r: usize,
        c: usize,
    ) -> Tile<A> {
        let depth = if TA == 1 { a.dim(0) } else { a.dim(1) };
        let mut acc = zeros::<A>([BM, BN]);
        for k in (0..depth).step_by(BK) {
            let x = operand::<TA, BM, BK>(a, r, k);
            let y = operand::<TB, BK, BN>(b, k, c);
            if P == 2 {
                acc += dot(x, y, zeros::<A>([BM, BN])).tf32x3();
            } else if P == 1 {
                acc = dot(x, y, acc).tf32();
            } else {
                acc = dot(x, y, acc);
            }
        }
        acc
    }

    /// All of `C`: O, accumulated in f32.
    fn product<O, E, const P: usize, const TA: usize, const TB: usize, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize>(
        a: View<E, 2>,
        b: View<E, 2>,
        c: ViewMut<O, 2>,
        below: f32,
    ) {
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
            let (i, j) = swizzle2d(t, tiles, GROUP);
            let acc = sums::<f32, P, TA, TB, BM, BN, BK>(a, b, i * BM, j * BN);
            // Zero times an infinity is no zero.
            let act = if below == 0.0 {
                where_(acc < 0.0, 0.0, acc)
            } else if below == 1.0 {
                acc
            } else {
                where_(acc < 0.0, below * acc, acc)
            };
            c.store([i * BM, j * BN], act.to::<O>());
        }
    }

    /// As `product`, of integers; `below` is 0 or 1.
    fn int_product<const TA: usize, const TB: usize, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize>(
        a: View<i8, 2>,
        b: View<i8, 2>,
        c: ViewMut<i32, 2>,
        below: f32,
    ) {
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
            let (i, j) = swizzle2d(t, tiles, GROUP);
            let acc = sums::<i32, 0, TA, TB, BM, BN, BK>(a, b, i * BM, j * BN);
            let least = if below == 0.0 { 0 } else { i32::MIN };
            c.store([i * BM, j * BN], maximum(acc, least));
        }
    }

    /// A B of f16 and bf16, accumulated in f32.
    #[tile_kernel(
        types(T = [f16, bf16]),
        tune(BM = [128], BN = [256, 128], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [32], GROUP = [8], PER_SM = [2], warps = [8], arch = [80]),
        tune(BM = [64], BN = [64], BK = [32], GROUP = [8], PER_SM = [4], warps = [4], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
        emulate = [0, 3],
    )]
    pub fn matmul_nn<T: Float, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        product::<T, 0, 0, 0, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// A Bᵀ of f16 and bf16, accumulated in f32.
    #[tile_kernel(
        types(T = [f16, bf16]),
        tune(BM = [128], BN = [256, 128], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [32], GROUP = [8], PER_SM = [2], warps = [8], arch = [80]),
        tune(BM = [64], BN = [64], BK = [32], GROUP = [8], PER_SM = [4], warps = [4], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
        emulate = [0, 3],
    )]
    pub fn matmul_nt<T: Float, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        product::<T, 0, 0, 1, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// Aᵀ B of f16 and bf16, accumulated in f32.
    #[tile_kernel(
        types(T = [f16, bf16]),
        tune(BM = [128], BN = [256, 128], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [32], GROUP = [8], PER_SM = [2], warps = [8], arch = [80]),
        tune(BM = [64], BN = [64], BK = [32], GROUP = [8], PER_SM = [4], warps = [4], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
        emulate = [0, 3],
    )]
    pub fn matmul_tn<T: Float, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        product::<T, 0, 1, 0, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// Aᵀ Bᵀ of f16 and bf16, accumulated in f32.
    #[tile_kernel(
        types(T = [f16, bf16]),
        tune(BM = [128], BN = [256, 128], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [32], GROUP = [8], PER_SM = [2], warps = [8], arch = [80]),
        tune(BM = [64], BN = [64], BK = [32], GROUP = [8], PER_SM = [4], warps = [4], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
        emulate = [0, 3],
    )]
    pub fn matmul_tt<T: Float, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        product::<T, 0, 1, 1, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// A B of f32, in its own arithmetic or, with X3 of 1, as accurately out of products of tf32, which
    /// make NaN of an infinite operand.
    #[tile_kernel(
        types(T = [f32]),
        tune(BM = [128], BN = [128], BK = [16], X3 = [0], GROUP = [8], PER_SM = [2], warps = [8], arch = [80]),
        tune(BM = [128], BN = [128], BK = [32], X3 = [1], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
        emulate = [0, 1],
    )]
    pub fn matmul_f32_nn<T: Float, const BM: usize, const BN: usize, const BK: usize, const X3: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        product::<T, { 2 * X3 }, 0, 0, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// A Bᵀ of f32, in its own arithmetic or, with X3 of 1, as accurately out of products of tf32, which
    /// make NaN of an infinite operand.
    #[tile_kernel(
        types(T = [f32]),
        tune(BM = [128], BN = [128], BK = [16], X3 = [0], GROUP = [8], PER_SM = [2], warps = [8], arch = [80]),
        tune(BM = [128], BN = [128], BK = [32], X3 = [1], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
        emulate = [0, 1],
    )]
    pub fn matmul_f32_nt<T: Float, const BM: usize, const BN: usize, const BK: usize, const X3: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        product::<T, { 2 * X3 }, 0, 1, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// Aᵀ B of f32, in its own arithmetic or, with X3 of 1, as accurately out of products of tf32, which
    /// make NaN of an infinite operand.
    #[tile_kernel(
        types(T = [f32]),
        tune(BM = [128], BN = [128], BK = [16], X3 = [0], GROUP = [8], PER_SM = [2], warps = [8], arch = [80]),
        tune(BM = [128], BN = [128], BK = [32], X3 = [1], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
        emulate = [0, 1],
    )]
    pub fn matmul_f32_tn<T: Float, const BM: usize, const BN: usize, const BK: usize, const X3: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        product::<T, { 2 * X3 }, 1, 0, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// Aᵀ Bᵀ of f32, in its own arithmetic or, with X3 of 1, as accurately out of products of tf32, which
    /// make NaN of an infinite operand.
    #[tile_kernel(
        types(T = [f32]),
        tune(BM = [128], BN = [128], BK = [16], X3 = [0], GROUP = [8], PER_SM = [2], warps = [8], arch = [80]),
        tune(BM = [128], BN = [128], BK = [32], X3 = [1], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
        emulate = [0, 1],
    )]
    pub fn matmul_f32_tt<T: Float, const BM: usize, const BN: usize, const BK: usize, const X3: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        product::<T, { 2 * X3 }, 1, 1, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// A B of f32 whose operands are rounded to tf32.
    #[tile_kernel(
        types(T = [f32]),
        tune(BM = [128], BN = [128], BK = [32], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_tf32_nn<T: Float, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        product::<T, 1, 0, 0, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// A Bᵀ of f32 whose operands are rounded to tf32.
    #[tile_kernel(
        types(T = [f32]),
        tune(BM = [128], BN = [128], BK = [32], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [32], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
        emulate = [0, 1],
    )]
    pub fn matmul_tf32_nt<T: Float, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        product::<T, 1, 0, 1, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// Aᵀ B of f32 whose operands are rounded to tf32.
    #[tile_kernel(
        types(T = [f32]),
        tune(BM = [128], BN = [128], BK = [32], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_tf32_tn<T: Float, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        product::<T, 1, 1, 0, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// Aᵀ Bᵀ of f32 whose operands are rounded to tf32.
    #[tile_kernel(
        types(T = [f32]),
        tune(BM = [128], BN = [128], BK = [32], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_tf32_tt<T: Float, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        product::<T, 1, 1, 1, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// A B of i8 into i32, which wraps.
    #[tile_kernel(
        types(T = [i8]),
        tune(BM = [128], BN = [128], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_i8_nn<T: Int, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<i32, 2>,
        below: f32,
    ) {
        int_product::<0, 0, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// A Bᵀ of i8 into i32, which wraps.
    #[tile_kernel(
        types(T = [i8]),
        tune(BM = [128], BN = [128], BK = [128], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
        emulate = [0, 1],
    )]
    pub fn matmul_i8_nt<T: Int, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<i32, 2>,
        below: f32,
    ) {
        int_product::<0, 1, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// Aᵀ B of i8 into i32, which wraps.
    #[tile_kernel(
        types(T = [i8]),
        tune(BM = [128], BN = [128], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_i8_tn<T: Int, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<i32, 2>,
        below: f32,
    ) {
        int_product::<1, 0, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// Aᵀ Bᵀ of i8 into i32, which wraps.
    #[tile_kernel(
        types(T = [i8]),
        tune(BM = [128], BN = [128], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_i8_tt<T: Int, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<i32, 2>,
        below: f32,
    ) {
        int_product::<1, 1, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// A B of f8e4m3 into bf16, accumulated in f32.
    #[tile_kernel(
        types(T = [f8e4m3]),
        tune(BM = [64], BN = [64], BK = [64], GROUP = [8], PER_SM = [2], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_f8_nn<T: Float, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<bf16, 2>,
        below: f32,
    ) {
        product::<bf16, 0, 0, 0, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// A Bᵀ of f8e4m3 into bf16, accumulated in f32.
    #[tile_kernel(
        types(T = [f8e4m3]),
        tune(BM = [128], BN = [128], BK = [128], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [64], BN = [64], BK = [64], GROUP = [8], PER_SM = [2], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
        emulate = [0, 1],
    )]
    pub fn matmul_f8_nt<T: Float, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<bf16, 2>,
        below: f32,
    ) {
        product::<bf16, 0, 0, 1, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// Aᵀ B of f8e4m3 into bf16, accumulated in f32.
    #[tile_kernel(
        types(T = [f8e4m3]),
        tune(BM = [64], BN = [64], BK = [64], GROUP = [8], PER_SM = [2], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_f8_tn<T: Float, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<bf16, 2>,
        below: f32,
    ) {
        product::<bf16, 0, 1, 0, BM, BN, BK, GROUP>(a, b, c, below);
    }

    /// Aᵀ Bᵀ of f8e4m3 into bf16, accumulated in f32.
    #[tile_kernel(
        types(T = [f8e4m3]),
        tune(BM = [64], BN = [64], BK = [64], GROUP = [8], PER_SM = [2], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_f8_tt<T: Float, const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<bf16, 2>,
        below: f32,
    ) {
        product::<bf16, 0, 1, 1, BM, BN, BK, GROUP>(a, b, c, below);
    }
}
