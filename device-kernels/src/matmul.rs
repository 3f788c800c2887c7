//! `C = f(op(A) op(B))`, where `op` transposes or not. `f` leaves sums that are not negative as they are and multiplies
//! negative ones by `negative_slope`: 1 for a plain product, 0 for ReLU, a slope for leaky ReLU.
//!
//! One main loop and one epilogue serve all element types and all orders of the operands. A configuration chooses the
//! [tile scheduler](crate::library::tile_scheduler).

use tilewright_macros::tile_module;

/// Products of two matrices, by each type, operand order and scheduler.
#[tile_module(use crate::library::tiles, use crate::library::partials, use crate::library::tile_scheduler)]
pub mod products {
    /// How operands are multiplied and summed.
    enum Math {
        /// f16 and bf16, summed in f32.
        Half,
        /// f32 operands, rounded to tf32, or cut off to it where TMA copies them.
        Tf32,
        /// Floats of 8 bits, summed in f32. Warpgroups sum in their 8-bit mode, which keeps some 14 bits.
        Float8,
        /// i8, summed in i32, which wraps. `f` is the identity or ReLU.
        Int8,
        /// Floats of 8 bits by f16. B is converted in registers, and read once.
        HalfByFloat8,
        /// i8 by f16: sums over a K of EXACT are exact in f32, and are summed in i32. B is converted in registers.
        HalfByInt8,
    }

    /// The longest K over which sums of products of bytes are exact in f32: they stay within 2^24.
    const EXACT: usize = 1024;

    /// The sums `[BM, BN]` of rows from `r` on and columns from `s` on, over K from `from` to `to`.
    fn main_loop<
        T,
        U,
        S,
        const MATH: Math,
        const TA: bool,
        const TB: bool,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const EVICT_FIRST_A: bool,
        const EVICT_FIRST_B: bool,
    >(
        a: View<T, 2>,
        b: View<U, 2>,
        (r, s): (usize, usize),
        (from, to): (usize, usize),
    ) -> Tile<S> {
        let mut acc = zeros::<S>([BM, BN]);
        if MATH == Math::HalfByInt8 {
            for first in range(from, to, EXACT) {
                let mut part = zeros::<f32>([BM, BN]);
                for k in range(first, min(first + EXACT, to), BK) {
                    let y = operand::<U, TB, BK, BN, EVICT_FIRST_B>(b, k, s).to::<T>();
                    part = dot(operand::<T, TA, BM, BK, EVICT_FIRST_A>(a, r, k), y, part);
                }
                acc += part.to::<S>();
            }
        } else if MATH == Math::HalfByFloat8 {
            for k in range(from, to, BK) {
                let y = operand::<U, TB, BK, BN, EVICT_FIRST_B>(b, k, s).to::<T>();
                acc = dot(operand::<T, TA, BM, BK, EVICT_FIRST_A>(a, r, k), y, acc);
            }
        } else {
            for k in range(from, to, BK) {
                let x = operand::<T, TA, BM, BK, EVICT_FIRST_A>(a, r, k);
                let y = operand::<U, TB, BK, BN, EVICT_FIRST_B>(b, k, s);
                acc = if MATH == Math::Tf32 { dot(x, y, acc).tf32() } else { dot(x, y, acc) };
            }
        }
        acc
    }

    /// # Safety
    /// Under `StreamK`, `workspace` and `semaphores` are as large as
    /// [`stream_k`](crate::library::tile_scheduler) says.
    #[tile_kernel(
        /// A B of f16 and bf16.
        kernel(matmul_nn, MATH = Half, T = [f16, bf16], U = T, S = f32, P = T, TA = false, TB = false),
        /// A Bᵀ of f16 and bf16.
        kernel(matmul_nt, MATH = Half, T = [f16, bf16], U = T, S = f32, P = T, TA = false, TB = true),
        /// Aᵀ B of f16 and bf16.
        kernel(matmul_tn, MATH = Half, T = [f16, bf16], U = T, S = f32, P = T, TA = true, TB = false),
        /// Aᵀ Bᵀ of f16 and bf16.
        kernel(matmul_tt, MATH = Half, T = [f16, bf16], U = T, S = f32, P = T, TA = true, TB = true),
        /// A Bᵀ of f32 in tf32.
        kernel(matmul_tf32, MATH = Tf32, T = f32, U = T, S = f32, P = T, TA = false, TB = true),
        /// A B of f32 in tf32.
        kernel(matmul_tf32_nn, MATH = Tf32, T = f32, U = T, S = f32, P = T, TA = false, TB = false),
        /// Aᵀ Bᵀ of f32 in tf32.
        kernel(matmul_tf32_tt, MATH = Tf32, T = f32, U = T, S = f32, P = T, TA = true, TB = true),
        /// Aᵀ B of f32, by tensor cores after rounding to tf32.
        kernel(matmul_tf32_tn, MATH = Tf32, T = f32, U = T, S = f32, P = T, TA = true, TB = false),
        /// A Bᵀ of i8 into i32.
        kernel(matmul_i8, MATH = Int8, T = i8, U = T, S = i32, P = i32, TA = false, TB = true),
        /// A Bᵀ of floats of 8 bits into bf16.
        kernel(matmul_f8, MATH = Float8, T = [f8e4m3, f8e5m2], U = T, S = f32, P = bf16, TA = false, TB = true),
        /// A B of few rows of f16 and of i8, into i32.
        kernel(matmul_f16_i8, MATH = HalfByInt8, T = f16, U = i8, S = i32, P = i32, TA = false, TB = false),
        /// A B of few rows of f16 and of floats of 8 bits, into bf16.
        kernel(matmul_f16_f8, MATH = HalfByFloat8, T = f16, U = [f8e4m3, f8e5m2], S = f32, P = bf16, TA = false, TB = false),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [128], BN = [256], BK = [64], GROUP = [8, 16], warps = [8], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [128], BN = [128], BK = [64], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [64], BN = [128], BK = [64], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Grid], BM = [64], BN = [128], BK = [64], warps = [4], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [128], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [128], EVICT_FIRST_B = [true], warps = [4], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [128], EVICT_FIRST_A = [true], warps = [4], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [128], BN = [128], BK = [32], PER_SM = [2], warps = [8], arch = [80]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [32], PER_SM = [4], warps = [4], arch = [80], kernels = [matmul_nn, matmul_nt]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [256], BN = [256], BK = [64], GROUP = [4], warps = [8], ctas = [2], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Grid], BM = [128], BN = [256], BK = [64], warps = [8], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Grid, Persistent], BM = [128], BN = [192], BK = [64], warps = [8], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [256], BN = [192], BK = [64], GROUP = [4], warps = [8], ctas = [2], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [128], BN = [128, 192], BK = [64], GROUP = [4], warps = [4], ctas = [2], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [128], BN = [160, 224], BK = [64], warps = [8], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [256], BN = [224], BK = [64], GROUP = [4], warps = [8], ctas = [2], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [256], BN = [128, 192], BK = [64], GROUP = [4], warps = [4], ctas = [4], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [Persistent], BM = [32], BN = [32], BK = [128], PER_SM = [4], warps = [4], arch = [80]),
        tune(MATH = [Half], SCHEDULER = [StreamK], BM = [128], BN = [256], BK = [64], MIN_K_STEPS = [8], warps = [8], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [StreamK], BM = [128], BN = [128], BK = [64], MIN_K_STEPS = [4, 8], warps = [8], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [StreamK], BM = [64], BN = [256], BK = [64], MIN_K_STEPS = [6], warps = [8], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [StreamK], BM = [64], BN = [128], BK = [64], MIN_K_STEPS = [4], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [StreamK], BM = [64], BN = [64], BK = [128], REDUCE = [16], MIN_K_STEPS = [2], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [StreamK], BM = [32], BN = [128], BK = [64], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [4], warps = [8], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [StreamK], BM = [32], BN = [64], BK = [128], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [16], MIN_K_STEPS = [2], warps = [4], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [StreamK], BM = [16], BN = [128], BK = [64], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [4, 128], warps = [4], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [StreamK], BM = [16], BN = [64], BK = [128], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [2, 64], warps = [4], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [StreamK], BM = [64], BN = [16, 32], BK = [128], EVICT_FIRST_A = [true], REDUCE = [32], MIN_K_STEPS = [2], warps = [4], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [StreamK], BM = [128], BN = [192], BK = [64], MIN_K_STEPS = [8], warps = [8], arch = [90]),
        tune(MATH = [Half], SCHEDULER = [StreamK], BM = [32], BN = [32], BK = [64], MIN_K_STEPS = [4], PER_SM = [3], warps = [4], blocks_per_sm = [3], arch = [80]),
        tune(MATH = [Half], SCHEDULER = [StreamK], BM = [64], BN = [64], BK = [32], MIN_K_STEPS = [8], PER_SM = [4], warps = [4], arch = [80], kernels = [matmul_nn, matmul_nt]),
        tune(MATH = [Half], SCHEDULER = [Grid], BM = [32], BN = [32], BK = [16, 32, 64], warps = [4], arch = [80]),
        tune(MATH = [Half], SCHEDULER = [Grid], BM = [64], BN = [64], BK = [16], warps = [4], arch = [80]),
        tune(MATH = [Tf32], SCHEDULER = [Persistent], BM = [128], BN = [256], BK = [32], warps = [8], arch = [90], kernels = [matmul_tf32, matmul_tf32_tt]),
        tune(MATH = [Tf32], SCHEDULER = [Persistent], BM = [128], BN = [128], BK = [32], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [matmul_tf32, matmul_tf32_tt]),
        tune(MATH = [Tf32], SCHEDULER = [Persistent], BM = [128], BN = [128], BK = [32], warps = [8], arch = [80], kernels = [matmul_tf32, matmul_tf32_tt]),
        tune(MATH = [Tf32], SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [32], PER_SM = [2], warps = [4], arch = [80], kernels = [matmul_tf32, matmul_tf32_tt]),
        tune(MATH = [Tf32], SCHEDULER = [Persistent], BM = [128], BN = [192], BK = [32], warps = [8], arch = [90], kernels = [matmul_tf32, matmul_tf32_tt]),
        tune(MATH = [Tf32], SCHEDULER = [Persistent], BM = [64], BN = [128], BK = [32], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [matmul_tf32_tt]),
        tune(MATH = [Tf32], SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [64], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [matmul_tf32_tt]),
        tune(MATH = [Tf32], SCHEDULER = [Persistent], BM = [256], BN = [128], BK = [32], warps = [8], arch = [90], kernels = [matmul_tf32_nn]),
        tune(MATH = [Tf32], SCHEDULER = [Persistent], BM = [128], BN = [64], BK = [32], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [matmul_tf32_nn]),
        tune(MATH = [Tf32], SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [64], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [matmul_tf32_nn]),
        tune(MATH = [Tf32], SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [32], PER_SM = [2], warps = [4], arch = [80], kernels = [matmul_tf32_nn]),
        tune(MATH = [Tf32], SCHEDULER = [Persistent], BM = [192], BN = [128], BK = [32], warps = [8], arch = [90], kernels = [matmul_tf32_nn]),
        tune(MATH = [Tf32], SCHEDULER = [StreamK], BM = [128], BN = [128], BK = [32], EVICT_FIRST_B = [true], BY_COLUMNS = [true], MIN_K_STEPS = [12], warps = [8], arch = [90], kernels = [matmul_tf32_nn]),
        tune(MATH = [Tf32], SCHEDULER = [StreamK], BM = [128], BN = [128], BK = [32], EVICT_FIRST_B = [true], MIN_K_STEPS = [12], warps = [8], arch = [90], kernels = [matmul_tf32]),
        tune(MATH = [Tf32], SCHEDULER = [StreamK], BM = [128], BN = [128], BK = [32], MIN_K_STEPS = [12], warps = [8], arch = [90], kernels = [matmul_tf32_tt]),
        tune(MATH = [Tf32], SCHEDULER = [StreamK], BM = [64], BN = [64], BK = [64], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [16], MIN_K_STEPS = [4], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [matmul_tf32_nn]),
        tune(MATH = [Tf32], SCHEDULER = [StreamK], BM = [64], BN = [64], BK = [64], EVICT_FIRST_B = [true], REDUCE = [16], MIN_K_STEPS = [4], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [matmul_tf32]),
        tune(MATH = [Tf32], SCHEDULER = [StreamK], BM = [64], BN = [64], BK = [64], REDUCE = [16], MIN_K_STEPS = [4], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [matmul_tf32_tt]),
        tune(MATH = [Tf32], SCHEDULER = [StreamK], BM = [32], BN = [128], BK = [32], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [8], warps = [8], arch = [90], kernels = [matmul_tf32_nn, matmul_tf32]),
        tune(MATH = [Tf32], SCHEDULER = [StreamK], BM = [32], BN = [64], BK = [64], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [16], MIN_K_STEPS = [4], warps = [4], arch = [90], kernels = [matmul_tf32_nn, matmul_tf32]),
        tune(MATH = [Tf32], SCHEDULER = [StreamK], BM = [16], BN = [128], BK = [32], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [8], warps = [8], arch = [90], kernels = [matmul_tf32_nn, matmul_tf32]),
        tune(MATH = [Tf32], SCHEDULER = [StreamK], BM = [16], BN = [64], BK = [64], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [4], warps = [4], arch = [90], kernels = [matmul_tf32_nn, matmul_tf32]),
        tune(MATH = [Tf32], SCHEDULER = [StreamK], BM = [64], BN = [16, 32], BK = [64], EVICT_FIRST_A = [true], REDUCE = [32], MIN_K_STEPS = [4], warps = [4], arch = [90], kernels = [matmul_tf32, matmul_tf32_tt]),
        tune(MATH = [Tf32], SCHEDULER = [Persistent], BM = [32], BN = [32], BK = [32], PER_SM = [4], warps = [4], arch = [80]),
        tune(MATH = [Tf32], SCHEDULER = [StreamK], BM = [32], BN = [32], BK = [32], MIN_K_STEPS = [4], PER_SM = [4], warps = [4], blocks_per_sm = [4], arch = [80]),
        tune(MATH = [Tf32], SCHEDULER = [StreamK], BM = [128], BN = [16], BK = [32], MIN_K_STEPS = [4], PER_SM = [4], warps = [4], blocks_per_sm = [4], arch = [80], kernels = [matmul_tf32_tn]),
        tune(MATH = [Tf32], SCHEDULER = [Grid], BM = [32], BN = [32], BK = [16], warps = [4], arch = [80]),
        tune(MATH = [Tf32], SCHEDULER = [Grid], BM = [64], BN = [64], BK = [8, 16], warps = [4], arch = [80]),
        tune(MATH = [Int8, Float8], SCHEDULER = [Persistent], BM = [128], BN = [256], BK = [128], warps = [8], arch = [90]),
        tune(MATH = [Int8], SCHEDULER = [Persistent], BM = [128], BN = [128], BK = [64], warps = [8], arch = [80]),
        tune(MATH = [Float8], SCHEDULER = [Persistent], BM = [128], BN = [64], BK = [64], warps = [8], arch = [80]),
        tune(MATH = [Int8, Float8], SCHEDULER = [Persistent], BM = [32], BN = [32], BK = [64], PER_SM = [4], warps = [4], arch = [80]),
        tune(MATH = [Int8], SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [64], PER_SM = [4], warps = [4], arch = [80]),
        tune(MATH = [Int8, Float8], SCHEDULER = [Persistent], BM = [64], BN = [128, 64], BK = [128], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [Persistent], BM = [128], BN = [192], BK = [128], warps = [8], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [Persistent], BM = [256], BN = [256, 224, 192], BK = [128], GROUP = [4], warps = [8], ctas = [2], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [Persistent], BM = [128], BN = [160, 224], BK = [128], warps = [8], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [Persistent], BM = [256], BN = [128, 192], BK = [128], GROUP = [4], warps = [4], ctas = [4], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [StreamK], BM = [128], BN = [256], BK = [128], MIN_K_STEPS = [8], warps = [8], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [StreamK], BM = [128], BN = [128], BK = [128], MIN_K_STEPS = [4, 8], warps = [8], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [StreamK], BM = [64], BN = [128], BK = [128], MIN_K_STEPS = [4], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [StreamK], BM = [64], BN = [64], BK = [256], REDUCE = [16], MIN_K_STEPS = [2], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [StreamK], BM = [32], BN = [64], BK = [256], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [16], MIN_K_STEPS = [2], warps = [4], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [StreamK], BM = [16], BN = [128], BK = [128], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [4, 128], warps = [4], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [StreamK], BM = [16], BN = [64], BK = [256], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [2, 64], warps = [4], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [StreamK], BM = [64], BN = [16, 32], BK = [256], EVICT_FIRST_A = [true], REDUCE = [32], MIN_K_STEPS = [2], warps = [4], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [StreamK], BM = [128], BN = [192], BK = [128], MIN_K_STEPS = [8], warps = [8], arch = [90]),
        tune(MATH = [Int8, Float8], SCHEDULER = [Grid], BM = [32], BN = [32], BK = [32, 64], warps = [4], arch = [80]),
        tune(MATH = [Int8], SCHEDULER = [Grid], BM = [64], BN = [64], BK = [32], warps = [4], arch = [80]),
        tune(MATH = [Half, Tf32, Int8, Float8], SCHEDULER = [Grid], BM = [256], BN = [256], BK = [256], arch = [cpu]),
        tune(MATH = [Half, Tf32, Int8, Float8], SCHEDULER = [Grid], BM = [64, 128], BN = [128], BK = [256], arch = [cpu]),
        tune(MATH = [HalfByInt8, HalfByFloat8], SCHEDULER = [StreamK], BM = [16], BN = [64], BK = [128], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [4, 64], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(MATH = [HalfByInt8, HalfByFloat8], SCHEDULER = [StreamK], BM = [16], BN = [128], BK = [128], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [4, 64], warps = [8], arch = [90]),
        tune(MATH = [HalfByInt8, HalfByFloat8], SCHEDULER = [StreamK], BM = [32], BN = [128], BK = [128], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [4, 64], warps = [8], arch = [90]),
        tune(MATH = [HalfByInt8, HalfByFloat8], SCHEDULER = [StreamK], BM = [64, 128], BN = [128], BK = [64], EVICT_FIRST_B = [true], BY_COLUMNS = [true], REDUCE = [16], MIN_K_STEPS = [8, 128], warps = [8], arch = [90]),
        requires = [
            if SCHEDULER == Scheduler::StreamK {
                workspace.len() >= num_sms() * PER_SM * BM * BN
            } else {
                workspace.len() == 0
            },
        ],
        grid = [
            if SCHEDULER == Scheduler::Grid {
                cdiv(c.dim(0), BM)
            } else if SCHEDULER == Scheduler::Persistent {
                min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)
            } else {
                min(num_sms() * PER_SM, max(1, cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN) * cdiv(if TA { a.dim(0) } else { a.dim(1) }, BK * MIN_K_STEPS)))
            },
            if SCHEDULER == Scheduler::Grid { cdiv(c.dim(1), BN) } else { 1 },
        ],
    )]
    pub unsafe fn matmul<
        T,
        U,
        S,
        P,
        const MATH: Math,
        const TA: bool,
        const TB: bool,
        const SCHEDULER: Scheduler,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const GROUP: usize = 8,
        const PER_SM: usize = 1,
        const EVICT_FIRST_A: bool = false,
        const EVICT_FIRST_B: bool = false,
        const BY_COLUMNS: bool = false,
        const REDUCE: usize = 8,
        const MIN_K_STEPS: usize = 1,
    >(
        a: View<T, 2>,
        b: View<U, 2>,
        workspace: &mut [S],
        semaphores: &mut [u64],
        mut c: ViewMut<P, 2>,
        negative_slope: f32,
    ) {
        let k = if TA { a.dim(0) } else { a.dim(1) };
        let sums_of = |i: usize, j: usize, from: usize, to: usize| {
            main_loop::<T, U, S, MATH, TA, TB, BM, BN, BK, EVICT_FIRST_A, EVICT_FIRST_B>(
                a,
                b,
                (i * BM, j * BN),
                (from, to),
            )
        };
        let epilogue = |sums: Tile<S>, r: usize, s: usize| {
            if MATH == Math::Int8 || MATH == Math::HalfByInt8 {
                c.store([r, s], activated_integers(sums, negative_slope).to::<P>());
            } else {
                c.store([r, s], activated(sums, negative_slope).to::<P>());
            }
        };
        output_tiles::<S, SCHEDULER, BM, BN, BK, GROUP, BY_COLUMNS, REDUCE, MIN_K_STEPS>(
            (c.dim(0), c.dim(1), k),
            workspace,
            semaphores,
            sums_of,
            epilogue,
        );
    }
}
