//! `C = f(op(A) op(B))` of 16 and 8 bits and in tf32, with `op` and `f` as in `matmul`, and `C = alpha A B + beta C`, for results that do not fill the device in whole waves: as many waves of
//! tiles as there are go as in `matmul`, and each of the tiles that are left is shared by as many programs as there are for it, a part of
//! the depth each.
//!
//! Who has a part leaves its sums in a slot, and when all are there each adds up some rows ([shares](crate::library::shares)).
//!
//! `slots` has room for a tile of each program, `tickets` four zeros for each, which the kernel leaves as zeros.

use kernel_macros::tile_module;

#[tile_module(use crate::library::tiles, use crate::library::shares)]
pub mod shared {
    /// A depth over which sums of products of bytes are exact in f32: 2^24 at most.
    const EXACT: usize = 1024;

    /// Puts `[R, C]` of the sums, or the transpose of them with SWAP of 1, to row `r` and column `s`. KIND of 0: `f`, of which `scale` is the
    /// slope below 0. KIND of 1: the same of integers. KIND of 2: `scale` times the sums and `beta` times what is there.
    fn put<S, P, const KIND: usize, const SWAP: usize, const R: usize, const C: usize>(
        sums: Tile<S>,
        c: ViewMut<P, 2>,
        r: usize,
        s: usize,
        scale: f32,
        beta: f32,
    ) {
        if KIND == 2 && beta != 0.0 {
            let before = c.tile([r, s], [{ SWAP * C + (1 - SWAP) * R }, { SWAP * R + (1 - SWAP) * C }]);
            c.store([r, s], (beta * before.to::<f32>() + finished::<S, KIND, SWAP>(sums, scale)).to::<P>());
        } else {
            c.store([r, s], finished::<S, KIND, SWAP>(sums, scale).to::<P>());
        }
    }

    fn finished<S, const KIND: usize, const SWAP: usize>(sums: Tile<S>, scale: f32) -> Tile<S> {
        let done = if KIND == 2 {
            scale * sums
        } else if KIND == 1 {
            activated_integers(sums, scale)
        } else {
            activated(sums, scale)
        };
        if SWAP == 1 { trans(done) } else { done }
    }

    /// Sums are `[R, C]`, or the transpose of that with SWAP of 1: of so few rows that B is read once, and its transpose, of A's type, is the left
    /// operand, of which instructions take 64 rows at least. HOW of 1: operands are rounded to tf32; of 2: sums of bytes are made in f32, EXACT of
    /// the depth at a time. H rows are added up at a time. A part of the depth has LEAST steps or more.
    fn product<
        E,
        F,
        S,
        P,
        const KIND: usize,
        const TA: usize,
        const TB: usize,
        const SWAP: usize,
        const HOW: usize,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const R: usize,
        const C: usize,
        const H: usize,
        const LEAST: usize,
    >(
        a: View<E, 2>,
        b: View<F, 2>,
        slots: &mut [S],
        tickets: &mut [u64],
        c: ViewMut<P, 2>,
        scale: f32,
        beta: f32,
    ) {
        let depth = if TA == 1 { a.dim(0) } else { a.dim(1) };
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        // In 32 bits, of which there are half as many registers: callers see to it that there are no more tiles and steps.
        let (all, steps) = ((tiles.0 * tiles.1) as u32, max(cdiv(depth, BK), 1) as u32);
        let (me, programs) = (program_id(0) as u32, num_programs(0) as u32);
        let waves = all / programs;
        let rest = max(all - waves * programs, 1);
        let deep = cdiv(steps, clamp(min(programs / rest, steps / LEAST as u32), 1, MOST));
        let parts = cdiv(steps, deep);
        let part = me / rest;
        let word = me % rest * WORDS;
        let more = if all > waves * programs && part < parts { 1u32 } else { 0u32 };
        if more == 1 && parts > 1 {
            enter(tickets, word);
        }
        for item in range(0, waves + more, 1) {
            let whole = item < waves;
            let tile = item * programs + if whole { me } else { me % rest };
            let begin = if whole { 0u32 } else { part * deep };
            let end = if whole { steps } else { min(part * deep + deep, steps) };
            let (i, j) = swizzle2d(tile as usize, tiles, 8);
            let (r, s) = (i * BM, j * BN);
            let mut sums = zeros::<S>([R, C]);
            let (from, to) = (begin as usize * BK, min(end as usize * BK, depth));
            if HOW == 2 {
                for first in range(from, to, EXACT) {
                    let mut part = zeros::<f32>([R, C]);
                    for k in range(first, min(first + EXACT, to), BK) {
                        part = dot(
                            operand::<F, { 1 - TB }, BN, BK, 1>(b, s, k).to::<E>(),
                            operand::<E, { 1 - TA }, BK, BM, 0>(a, k, r),
                            part,
                        );
                    }
                    sums += part.to::<S>();
                }
            } else {
                for k in range(from, to, BK) {
                    if SWAP == 1 {
                        let (x, y) = (
                            operand::<F, { 1 - TB }, BN, BK, 1>(b, s, k).to::<E>(),
                            operand::<E, { 1 - TA }, BK, BM, 0>(a, k, r),
                        );
                        sums = if HOW == 1 { dot(x, y, sums).tf32() } else { dot(x, y, sums) };
                    } else {
                        let (x, y) = (operand::<E, TA, BM, BK, 0>(a, r, k), operand::<F, TB, BK, BN, 0>(b, k, s));
                        sums = if HOW == 1 { dot(x, y, sums).tf32() } else { dot(x, y, sums) };
                    }
                }
            }
            if end - begin == steps {
                put::<S, P, KIND, SWAP, R, C>(sums, c, r, s, scale, beta);
            } else {
                let slot = (me % rest * parts) as usize * (R * C);
                store(slots, matrix::<R, C>(slot + part as usize * (R * C)), sums).unchecked();
                share(tickets, word, part, parts, |p| {
                    let rows = min(R, if SWAP == 1 { c.dim(1) - s } else { c.dim(0) - r });
                    for h in range(p as usize * H, rows, parts as usize * H) {
                        let mut sum = load(slots, matrix::<H, C>(slot + h * C)).unchecked();
                        for q in range(1, parts, 1).unroll(4) {
                            sum += load(slots, matrix::<H, C>(slot + q as usize * (R * C) + h * C)).unchecked();
                        }
                        if SWAP == 1 {
                            put::<S, P, KIND, SWAP, H, C>(sum, c, r, s + h, scale, beta);
                        } else {
                            put::<S, P, KIND, SWAP, H, C>(sum, c, r + h, s, scale, beta);
                        }
                    }
                });
            }
        }
    }

    /// Of 16 bits.
    ///
    /// # Safety
    /// `slots` and `tickets` are as large as [above](self) it says.
    #[tile_kernel(
        /// A B.
        kernel(matmul_shared_nn, TA = 0, TB = 0),
        /// A Bᵀ.
        kernel(matmul_shared_nt, TA = 0, TB = 1),
        /// Aᵀ B.
        kernel(matmul_shared_tn, TA = 1, TB = 0),
        /// Aᵀ Bᵀ.
        kernel(matmul_shared_tt, TA = 1, TB = 1),
        types(T = [f16, bf16]),
        tune(BM = [128], BN = [256], BK = [64], H = [8], SWAP = [0], LEAST = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [64], H = [8], SWAP = [0], LEAST = [4, 8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [64], BN = [256], BK = [64], H = [8], SWAP = [0], LEAST = [6], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [64], BN = [128], BK = [64], H = [8], SWAP = [0], LEAST = [4], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [64], BN = [64], BK = [128], H = [16], SWAP = [0], LEAST = [2], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [32], BN = [128], BK = [64], H = [32], SWAP = [1], LEAST = [4], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [32], BN = [64], BK = [128], H = [16], SWAP = [1], LEAST = [2], PER_SM = [1], warps = [4], arch = [90]),
        tune(BM = [16], BN = [128], BK = [64], H = [32], SWAP = [1], LEAST = [4, 128], PER_SM = [1], warps = [4], arch = [90]),
        tune(BM = [16], BN = [64], BK = [128], H = [32], SWAP = [1], LEAST = [2, 64], PER_SM = [1], warps = [4], arch = [90]),
        tune(BM = [64], BN = [64], BK = [32], H = [16], SWAP = [0], LEAST = [8], PER_SM = [4], warps = [4], arch = [80]),
        tune(BM = [16], BN = [64], BK = [64], H = [16], SWAP = [1], LEAST = [8], PER_SM = [4], warps = [4], arch = [80], kernels = [matmul_shared_nn, matmul_shared_nt]),
        tune(BM = [128], BN = [192], BK = [64], H = [8], SWAP = [0], LEAST = [8], PER_SM = [1], warps = [8], arch = [90]),
        grid = [min(num_sms() * PER_SM, max(1, cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN) * cdiv(if TA == 1 { a.dim(0) } else { a.dim(1) }, BK * LEAST)))],
    )]
    pub unsafe fn matmul_shared<
        T: Float,
        const TA: usize,
        const TB: usize,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const H: usize,
        const SWAP: usize,
        const LEAST: usize,
        const PER_SM: usize,
    >(
        a: View<T, 2>,
        b: View<T, 2>,
        slots: &mut [f32],
        tickets: &mut [u64],
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        product::<
            T,
            T,
            f32,
            T,
            0,
            TA,
            TB,
            SWAP,
            0,
            BM,
            BN,
            BK,
            { SWAP * BN + (1 - SWAP) * BM },
            { SWAP * BM + (1 - SWAP) * BN },
            H,
            LEAST,
        >(a, b, slots, tickets, c, below, 0.0);
    }

    /// Of f32 rounded to tf32; what lies across goes to warpgroups by way of registers, where only a left operand may.
    ///
    /// # Safety
    /// `slots` and `tickets` are as large as [above](self) it says.
    #[tile_kernel(
        /// A B.
        kernel(matmul_shared_tf32_nn, TA = 0, TB = 0, SWAP = 1),
        /// A Bᵀ.
        kernel(matmul_shared_tf32_nt, TA = 0, TB = 1, SWAP = 1),
        /// Aᵀ Bᵀ.
        kernel(matmul_shared_tf32_tt, TA = 1, TB = 1, SWAP = 0),
        tune(BM = [128], BN = [128], BK = [32], H = [8], LEAST = [12], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [64], BN = [64], BK = [64], H = [16], LEAST = [4], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [32], BN = [128], BK = [32], H = [32], LEAST = [8], PER_SM = [1], warps = [8], arch = [90], kernels = [matmul_shared_tf32_nn, matmul_shared_tf32_nt]),
        tune(BM = [32], BN = [64], BK = [64], H = [16], LEAST = [4], PER_SM = [1], warps = [4], arch = [90], kernels = [matmul_shared_tf32_nn, matmul_shared_tf32_nt]),
        tune(BM = [16], BN = [128], BK = [32], H = [32], LEAST = [8], PER_SM = [1], warps = [8], arch = [90], kernels = [matmul_shared_tf32_nn, matmul_shared_tf32_nt]),
        tune(BM = [16], BN = [64], BK = [64], H = [32], LEAST = [4], PER_SM = [1], warps = [4], arch = [90], kernels = [matmul_shared_tf32_nn, matmul_shared_tf32_nt]),
        tune(BM = [64], BN = [64], BK = [32], H = [16], LEAST = [8], PER_SM = [2], warps = [4], arch = [80]),
        grid = [min(num_sms() * PER_SM, max(1, cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN) * cdiv(if TA == 1 { a.dim(0) } else { a.dim(1) }, BK * LEAST)))],
    )]
    pub unsafe fn matmul_shared_tf32<
        const TA: usize,
        const TB: usize,
        const SWAP: usize,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const H: usize,
        const LEAST: usize,
        const PER_SM: usize,
    >(
        a: View<f32, 2>,
        b: View<f32, 2>,
        slots: &mut [f32],
        tickets: &mut [u64],
        mut c: ViewMut<f32, 2>,
        below: f32,
    ) {
        product::<
            f32,
            f32,
            f32,
            f32,
            0,
            TA,
            TB,
            SWAP,
            1,
            BM,
            BN,
            BK,
            { SWAP * BN + (1 - SWAP) * BM },
            { SWAP * BM + (1 - SWAP) * BN },
            H,
            LEAST,
        >(a, b, slots, tickets, c, below, 0.0);
    }

    /// `C = alpha A B + beta C`. With a `beta` of 0 what `C` held does not count.
    ///
    /// # Safety
    /// `slots` and `tickets` are as large as [above](self) it says.
    #[tile_kernel(
        tune(BM = [128], BN = [128], BK = [64], H = [8], SWAP = [0], LEAST = [4, 8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [64], BN = [128], BK = [64], H = [8], SWAP = [0], LEAST = [4], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [64], BN = [64], BK = [128], H = [16], SWAP = [0], LEAST = [2], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [32], BN = [128], BK = [64], H = [32], SWAP = [1], LEAST = [4], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [32], BN = [64], BK = [128], H = [16], SWAP = [1], LEAST = [2], PER_SM = [1], warps = [4], arch = [90]),
        tune(BM = [16], BN = [128], BK = [64], H = [32], SWAP = [1], LEAST = [4, 128], PER_SM = [1], warps = [4], arch = [90]),
        tune(BM = [16], BN = [64], BK = [128], H = [32], SWAP = [1], LEAST = [2, 64], PER_SM = [1], warps = [4], arch = [90]),
        tune(BM = [128], BN = [192], BK = [64], H = [8], SWAP = [0], LEAST = [8], PER_SM = [1], warps = [8], arch = [90]),
        grid = [min(num_sms() * PER_SM, max(1, cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN) * cdiv(a.dim(1), BK * LEAST)))],
    )]
    pub unsafe fn gemm_shared<
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const H: usize,
        const SWAP: usize,
        const LEAST: usize,
        const PER_SM: usize,
    >(
        a: View<f16, 2>,
        b: View<f16, 2>,
        slots: &mut [f32],
        tickets: &mut [u64],
        mut c: ViewMut<f16, 2>,
        alpha: f32,
        beta: f32,
    ) {
        product::<
            f16,
            f16,
            f32,
            f16,
            2,
            0,
            0,
            SWAP,
            0,
            BM,
            BN,
            BK,
            { SWAP * BN + (1 - SWAP) * BM },
            { SWAP * BM + (1 - SWAP) * BN },
            H,
            LEAST,
        >(a, b, slots, tickets, c, alpha, beta);
    }

    /// A Bᵀ of 8 bits.
    ///
    /// # Safety
    /// `slots` and `tickets` are as large as [above](self) it says.
    #[tile_kernel(
        /// Of i8 into i32, which wraps.
        kernel(matmul_shared_i8, T = i8, S = i32, P = i32, KIND = 1),
        /// Of 8-bit floats into bf16.
        kernel(matmul_shared_f8, T = [f8e4m3, f8e5m2], S = f32, P = bf16, KIND = 0),
        tune(BM = [128], BN = [256], BK = [128], H = [8], SWAP = [0], LEAST = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [128], H = [8], SWAP = [0], LEAST = [4, 8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [64], BN = [128], BK = [128], H = [8], SWAP = [0], LEAST = [4], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [64], BN = [64], BK = [256], H = [16], SWAP = [0], LEAST = [2], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [32], BN = [64], BK = [256], H = [16], SWAP = [1], LEAST = [2], PER_SM = [1], warps = [4], arch = [90]),
        tune(BM = [16], BN = [128], BK = [128], H = [32], SWAP = [1], LEAST = [4, 128], PER_SM = [1], warps = [4], arch = [90]),
        tune(BM = [16], BN = [64], BK = [256], H = [32], SWAP = [1], LEAST = [2, 64], PER_SM = [1], warps = [4], arch = [90]),
        tune(BM = [128], BN = [192], BK = [128], H = [8], SWAP = [0], LEAST = [8], PER_SM = [1], warps = [8], arch = [90]),
        grid = [min(num_sms() * PER_SM, max(1, cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN) * cdiv(a.dim(1), BK * LEAST)))],
    )]
    pub unsafe fn matmul_shared_8bit<
        T,
        S,
        P,
        const KIND: usize,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const H: usize,
        const SWAP: usize,
        const LEAST: usize,
        const PER_SM: usize,
    >(
        a: View<T, 2>,
        b: View<T, 2>,
        slots: &mut [S],
        tickets: &mut [u64],
        mut c: ViewMut<P, 2>,
        below: f32,
    ) {
        product::<
            T,
            T,
            S,
            P,
            KIND,
            0,
            1,
            SWAP,
            0,
            BM,
            BN,
            BK,
            { SWAP * BN + (1 - SWAP) * BM },
            { SWAP * BM + (1 - SWAP) * BN },
            H,
            LEAST,
        >(a, b, slots, tickets, c, below, 0.0);
    }

    /// `y = x` as f16; the rows that `y` has more are of ones.
    #[tile_kernel(types(T = [i8, f8e4m3, f8e5m2]), tune(ROWS = [8], COLS = [256], warps = [4]), grid = [cdiv(y.dim(1), COLS), cdiv(y.dim(0), ROWS)])]
    pub fn widen<T, const ROWS: usize, const COLS: usize>(x: View<T, 2>, mut y: ViewMut<f16, 2>) {
        let (r, c) = (program_id(1) * ROWS, program_id(0) * COLS);
        let ones = (r + arange(ROWS).expand(1)) >= x.dim(0);
        y.store([r, c], where_(ones, 1.0, x.tile([r, c], [ROWS, COLS]).to::<f16>()));
    }

    /// A B of few rows and of 8 bits, of which A comes as f16: B is read once, as it lies.
    ///
    /// # Safety
    /// `slots` and `tickets` are as large as [above](self) it says.
    #[tile_kernel(
        /// Of i8 into i32, which wraps.
        kernel(matmul_wide_i8, T = i8, S = i32, P = i32, KIND = 1, HOW = 2),
        /// Of 8-bit floats into bf16.
        kernel(matmul_wide_f8, T = [f8e4m3, f8e5m2], S = f32, P = bf16, KIND = 0, HOW = 0),
        tune(BM = [16], BN = [64], BK = [128], H = [32], LEAST = [4, 64], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [16], BN = [128], BK = [128], H = [32], LEAST = [4, 64], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [32], BN = [128], BK = [128], H = [32], LEAST = [4, 64], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [64, 128], BN = [128], BK = [64], H = [16], LEAST = [8, 128], PER_SM = [1], warps = [8], arch = [90]),
        grid = [min(num_sms() * PER_SM, max(1, cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN) * cdiv(a.dim(1), BK * LEAST)))],
    )]
    pub unsafe fn matmul_wide<
        T,
        S,
        P,
        const KIND: usize,
        const HOW: usize,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const H: usize,
        const LEAST: usize,
        const PER_SM: usize,
    >(
        a: View<f16, 2>,
        b: View<T, 2>,
        slots: &mut [S],
        tickets: &mut [u64],
        mut c: ViewMut<P, 2>,
        below: f32,
    ) {
        product::<f16, T, S, P, KIND, 0, 0, 1, HOW, BM, BN, BK, BN, BM, H, LEAST>(a, b, slots, tickets, c, below, 0.0);
    }
}
