//! `O = softmax(scale · Q Kᵀ) V` for every head of a batch: attention.
//!
//! A program has a block of queries of a head and goes through its keys and values block by block. It keeps the greatest score and the sum of
//! weights of each query so far, and scales down what it has when a greater score comes: the matrix of all scores never exists
//! ([FlashAttention, 2022](https://arxiv.org/abs/2205.14135)). The scores of a block are multiplied before the values of the last one, so that
//! tensor cores have work while weights are computed ([FlashAttention-3, 2024](https://arxiv.org/abs/2407.08608)). Weights are powers
//! of two, of scores times log2(e).

use kernel_macros::tile_module;

#[tile_module]
pub mod heads {
    /// The score of a key that does not count. A query with none above half of it sees no key.
    const NEVER: f32 = -3e38;

    fn scores<T, const BM: usize, const BN: usize, const D: usize>(q: Tile<T>, k: View<T, 3>, head: usize, at: usize) -> Tile<f32> {
        dot(q, trans(reshape(k.tile([head, at, 0], [1, BN, D]), [BN, D])), zeros::<f32>([BM, BN]))
    }

    fn values<T, const BN: usize, const D: usize>(v: View<T, 3>, head: usize, at: usize) -> Tile<T> {
        reshape(v.tile([head, at, 0], [1, BN, D]), [BN, D])
    }

    /// Scores of the keys from `at` on for the queries from `first` on, of those that there are and that the query may see.
    fn seen<const BM: usize, const BN: usize>(scores: Tile<f32>, (first, at): (usize, usize), (queries, keys): (usize, usize), causal: bool) -> Tile<f32> {
        let (row, col) = ((first + arange(BM)).expand(1), (at + arange(BN)).expand(0));
        where_((col < keys) & (!causal | (col + queries <= row + keys)), scores, NEVER)
    }

    /// The weights of a block, the factor for what was before, and the greatest scores and sums with it.
    fn weights(scores: Tile<f32>, x: f32, (top, all): (Tile<f32>, Tile<f32>)) -> (Tile<f32>, Tile<f32>, Tile<f32>, Tile<f32>) {
        let higher = maximum(top, max(scores, 1));
        let p = exp2(fma(scores, x, -(higher * x).expand(1)));
        let fade = exp2((top - higher) * x);
        (p, fade, higher, all * fade + sum(p, 1))
    }

    /// One block of queries, of a head.
    fn attend<T, const BM: usize, const BN: usize, const D: usize>(q: View<T, 3>, k: View<T, 3>, v: View<T, 3>, o: ViewMut<T, 3>, scale: f32, causal: bool, (head, block): (u32, u32)) {
        let (queries, keys) = (o.dim(1), k.dim(1));
        let first = block as usize * BM;
        let shared = (head / (q.dim(0) as u32 / k.dim(0) as u32)) as usize;
        let head = head as usize;
        let x = scale * 1.4426950408889634;
        // Keys that any query of the block sees, and blocks of them that all see as a whole.
        let last = if causal { min(keys, max(first + BM + keys, queries) - queries) } else { keys };
        let by_all = if causal { min(keys, max(first + 1 + keys, queries) - queries) } else { keys };
        let whole = by_all / BN * BN;

        let query = reshape(q.tile([head, first, 0], [1, BM, D]), [BM, D]);
        let mut s = scores::<BM, BN, D>(query, k, shared, 0);
        if whole < BN {
            s = seen::<BM, BN>(s, (first, 0), (queries, keys), causal);
        }
        let (now, _, mut top, mut all) = weights(s, x, (full([BM], NEVER), zeros::<f32>([BM])));
        let mut p = now.to::<T>();
        let mut acc = zeros::<f32>([BM, D]);
        for at in (BN..whole).step_by(BN) {
            let s = scores::<BM, BN, D>(query, k, shared, at);
            acc = dot(p, values::<BN, D>(v, shared, at - BN), acc);
            let (now, fade, higher, sums) = weights(s, x, (top, all));
            acc = acc * fade.expand(1);
            (p, top, all) = (now.to::<T>(), higher, sums);
        }
        for at in (max(whole, BN)..last).step_by(BN) {
            let s = scores::<BM, BN, D>(query, k, shared, at);
            acc = dot(p, values::<BN, D>(v, shared, at - BN), acc);
            let (now, fade, higher, sums) = weights(seen::<BM, BN>(s, (first, at), (queries, keys), causal), x, (top, all));
            acc = acc * fade.expand(1);
            (p, top, all) = (now.to::<T>(), higher, sums);
        }
        acc = dot(p, values::<BN, D>(v, shared, (max(cdiv(last, BN), 1) - 1) * BN), acc);
        // Who sees no key gets nothing.
        let any = (top > 0.5 * NEVER).expand(1);
        o.store([head, first, 0], reshape(where_(any, acc * (1.0 / all).expand(1), 0.0).to::<T>(), [1, BM, D]));
    }

    /// STAY of 0 is for a program for each block of queries, those with the most keys first. Otherwise so many programs a multiprocessor stay,
    /// and each takes one block after another. If causal it takes one that sees few keys with one that sees many, so that all have the same work;
    /// but where that would be more rounds it takes single ones, those with the most keys first.
    #[tile_kernel(
        /// Heads of up to 64 elements.
        kernel(attention_64, D = 64, emulate = [0, 1, 2]),
        /// Heads of up to 128 elements.
        kernel(attention_128, D = 128, emulate = [1, 2]),
        types(T = [f16, bf16]),
        tune(BM = [64], BN = [128], STAY = [0, 2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [attention_64]),
        tune(BM = [64], BN = [32], STAY = [0], warps = [4], arch = [80], kernels = [attention_64]),
        tune(BM = [128], BN = [128], STAY = [1], warps = [8], arch = [90], kernels = [attention_128]),
        tune(BM = [128], BN = [32], STAY = [0], warps = [8], arch = [80], kernels = [attention_128]),
        tune(BM = [64], BN = [16], STAY = [0], warps = [8], arch = [80], kernels = [attention_128]),
        grid = [if STAY == 0 { cdiv(o.dim(1), BM) * o.dim(0) } else { min(cdiv(o.dim(1), BM) * o.dim(0), num_sms() * STAY) }],
    )]
    pub fn attention<T: Float, const BM: usize, const BN: usize, const D: usize, const STAY: usize>(q: View<T, 3>, k: View<T, 3>, v: View<T, 3>, mut o: ViewMut<T, 3>, scale: f32, causal: bool) {
        // In 32 bits: divisions of 64 take long, and registers.
        let (heads, blocks, me, programs) = (o.dim(0) as u32, cdiv(o.dim(1), BM) as u32, program_id(0) as u32, num_programs(0) as u32);
        if STAY == 0 {
            let (head, block) = (me / blocks, me % blocks);
            attend::<T, BM, BN, D>(q, k, v, o, scale, causal, (head, if causal { blocks - 1 - block } else { block }));
        } else {
            let halves = cdiv(blocks, 2);
            let pairs = causal & (2 * cdiv(heads * halves, programs) <= cdiv(heads * blocks, programs));
            let (shares, single) = (if pairs { halves } else { blocks }, causal & !pairs);
            let row = if single { heads } else { shares };
            for t in range(me, heads * shares, programs) {
                let (i, j) = (t / row, t % row);
                let (head, first) = if single { (j, blocks - 1 - i) } else { (i, j) };
                // One of a pair has as many blocks after it as the other one has before it.
                let (end, step) = if pairs { (blocks - first, max(blocks - 2 * first, 2) - 1) } else { (first + 1, 1) };
                for block in range(first, end, step) {
                    attend::<T, BM, BN, D>(q, k, v, o, scale, causal, (head, block));
                }
            }
        }
    }
}
