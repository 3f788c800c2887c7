//! `O = softmax(scale · Q Kᵀ) V` for every head of a batch: attention.
//!
//! A program has a block of queries of one head, and loops over blocks of their keys and values. For each query it
//! keeps the greatest score so far (`m_i`) and the sum of weights (`l_i`). A greater score rescales the accumulator by
//! `alpha`. The matrix of scores is never stored ([FlashAttention, 2022](https://arxiv.org/abs/2205.14135)). The scores
//! of a block are multiplied before the values of the previous block, so that tensor cores work while weights are
//! computed ([FlashAttention-3, 2024](https://arxiv.org/abs/2407.08608)). Weights are powers of two of scores times
//! log2(e).

use tilewright_macros::tile_module;

/// Attention of heads, and split-KV attention.
#[tile_module(use crate::library::tiles, use crate::library::partials)]
pub mod heads {
    /// The score of a masked key. A query whose greatest score is below half of it sees no key.
    const MASKED_SCORE: f32 = -3e38;

    fn block_of<T, const N: usize, const D: usize>(x: View<T, 3>, head: usize, at: usize) -> Tile<T> {
        reshape(x.tile([head, at, 0], [1, N, D]), [N, D])
    }

    fn scores<T, const BM: usize, const BN: usize, const D: usize>(
        q: Tile<T>,
        k: View<T, 3>,
        head: usize,
        at: usize,
    ) -> Tile<f32> {
        dot(q, trans(block_of::<T, BN, D>(k, head, at)), zeros::<f32>([BM, BN]))
    }

    /// The number of keys that a query sees; of a tile of queries, that of each.
    fn visible_keys<Q>(query: Q, (queries, keys): (usize, usize), causal: bool) -> Q {
        let more = if causal { keys + 1 } else { keys + queries };
        minimum(maximum(query + more, queries) - queries, keys)
    }

    /// The scores of the keys from `at` on. Keys that a query does not see are masked.
    fn masked<const BN: usize>(scores: Tile<f32>, visible: Tile<usize>, at: usize) -> Tile<f32> {
        where_((at + arange(BN)).expand(0) < visible.expand(1), scores, MASKED_SCORE)
    }

    /// The weights of a block, `alpha`, and the new `m_i` and `l_i`.
    fn weights(
        scores: Tile<f32>,
        x: f32,
        (m_i, l_i): (Tile<f32>, Tile<f32>),
    ) -> (Tile<f32>, Tile<f32>, Tile<f32>, Tile<f32>) {
        let m_new = maximum(m_i, max(scores, 1));
        let p = exp2(fma(scores, x, -(m_new * x).expand(1)));
        let alpha = exp2((m_i - m_new) * x);
        (p, alpha, m_new, l_i * alpha + sum(p, 1))
    }

    /// The inner loop over the keys from `begin` to `end`: the accumulator, `m_i` and `l_i` of a block of queries. All
    /// queries see the keys up to `whole`, which is a multiple of BN.
    fn inner_loop<T, const BM: usize, const BN: usize, const D: usize>(
        query: Tile<T>,
        visible: Tile<usize>,
        k: View<T, 3>,
        v: View<T, 3>,
        shared: usize,
        x: f32,
        (begin, whole, end): (usize, usize, usize),
    ) -> (Tile<f32>, Tile<f32>, Tile<f32>) {
        let mut s = scores::<T, BM, BN, D>(query, k, shared, begin);
        if whole < begin + BN {
            s = masked::<BN>(s, visible, begin);
        }
        let (now, _, mut m_i, mut l_i) = weights(s, x, (full([BM], MASKED_SCORE), zeros::<f32>([BM])));
        let mut p = now.to::<T>();
        let mut acc = zeros::<f32>([BM, D]);
        for at in (begin + BN..whole).step_by(BN) {
            let s = scores::<T, BM, BN, D>(query, k, shared, at);
            acc = dot(p, block_of::<T, BN, D>(v, shared, at - BN), acc);
            let (now, alpha, m_new, l_new) = weights(s, x, (m_i, l_i));
            acc = acc * alpha.expand(1);
            (p, m_i, l_i) = (now.to::<T>(), m_new, l_new);
        }
        for at in (max(whole, begin + BN)..end).step_by(BN) {
            let s = scores::<T, BM, BN, D>(query, k, shared, at);
            acc = dot(p, block_of::<T, BN, D>(v, shared, at - BN), acc);
            let (now, alpha, m_new, l_new) = weights(masked::<BN>(s, visible, at), x, (m_i, l_i));
            acc = acc * alpha.expand(1);
            (p, m_i, l_i) = (now.to::<T>(), m_new, l_new);
        }
        acc = dot(p, block_of::<T, BN, D>(v, shared, (max(cdiv(end, BN), 1) - 1) * BN), acc);
        (acc, m_i, l_i)
    }

    /// Whether a query sees a key. The maximum of a number and NaN is the number, so scores that are all NaN do not
    /// change `m_i`. Their `l_i` is NaN, which that of a query without keys never is.
    fn sees_a_key(m_i: Tile<f32>, l_i: Tile<f32>) -> Tile<bool> {
        (m_i > 0.5 * MASKED_SCORE) | (l_i != l_i)
    }

    /// The accumulator divided by `l_i`: zeros for a query that sees no key, NaN where a score is NaN.
    fn averages<T>(acc: Tile<f32>, m_i: Tile<f32>, l_i: Tile<f32>) -> Tile<T> {
        where_(sees_a_key(m_i, l_i).expand(1), acc * (1.0 / l_i).expand(1), 0.0).to::<T>()
    }

    /// One block of queries of a head.
    fn attend<T, const BM: usize, const BN: usize, const D: usize>(
        q: View<T, 3>,
        k: View<T, 3>,
        v: View<T, 3>,
        o: ViewMut<T, 3>,
        scale: f32,
        causal: bool,
        (head, block): (u32, u32),
    ) {
        let (queries, keys) = (o.dim(1), k.dim(1));
        let first = block as usize * BM;
        let shared = (head / (q.dim(0) as u32 / k.dim(0) as u32)) as usize;
        let head = head as usize;
        // Some query of the block sees the keys up to `last`, and all queries see those up to `whole`.
        let last = visible_keys(first + BM - 1, (queries, keys), causal);
        let whole = visible_keys(first, (queries, keys), causal) / BN * BN;
        let query = block_of::<T, BM, D>(q, head, first);
        let visible = visible_keys(first + arange(BM), (queries, keys), causal);
        let (acc, m_i, l_i) =
            inner_loop::<T, BM, BN, D>(query, visible, k, v, shared, scale * 1.4426950408889634, (0usize, whole, last));
        o.store([head, first, 0], reshape(averages::<T>(acc, m_i, l_i), [1, BM, D]));
    }

    /// With PERSISTENT of 0, each program computes one block of queries; blocks with the most keys come first.
    /// Otherwise each multiprocessor has PERSISTENT programs, which loop over blocks. Causal blocks are computed in
    /// pairs of one with few keys and one with many, so that all programs have the same work. Where pairs take more
    /// rounds, single blocks are computed, those with the most keys first.
    #[tile_kernel(
        /// Heads of up to 64 elements.
        kernel(attention_64, D = 64),
        /// Heads of up to 128 elements.
        kernel(attention_128, D = 128),
        types(T = [f16, bf16]),
        tune(BM = [64], BN = [128], PERSISTENT = [0, 2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [attention_64]),
        tune(BM = [64], BN = [32], PERSISTENT = [0], warps = [4], arch = [80], kernels = [attention_64]),
        tune(BM = [128], BN = [128], PERSISTENT = [1], warps = [8], arch = [90], kernels = [attention_128]),
        tune(BM = [128], BN = [32], PERSISTENT = [0], warps = [8], arch = [80], kernels = [attention_128]),
        tune(BM = [64], BN = [16], PERSISTENT = [0], warps = [8], arch = [80], kernels = [attention_128]),
        tune(BM = [16, 128], BN = [128], PERSISTENT = [0], arch = [cpu]),
        grid = [if PERSISTENT == 0 { cdiv(o.dim(1), BM) * o.dim(0) } else { min(cdiv(o.dim(1), BM) * o.dim(0), num_sms() * PERSISTENT) }],
    )]
    pub fn attention<T: Float, const BM: usize, const BN: usize, const D: usize, const PERSISTENT: usize>(
        q: View<T, 3>,
        k: View<T, 3>,
        v: View<T, 3>,
        mut o: ViewMut<T, 3>,
        scale: f32,
        causal: bool,
    ) {
        // In 32 bits: divisions of 64 take long, and registers.
        let (heads, blocks, me, programs) =
            (o.dim(0) as u32, cdiv(o.dim(1), BM) as u32, program_id(0) as u32, num_programs(0) as u32);
        if PERSISTENT == 0 {
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

    /// Combines the partial results of all programs for REDUCE_ROWS rows from `h` on: the result of [`inner_loop`] over
    /// all keys. Only the first `filled` rows of a part are initialized.
    fn combine<const BM: usize, const D: usize, const REDUCE_ROWS: usize>(
        workspace: &mut [f32],
        base: usize,
        h: usize,
        filled: usize,
        partials: usize,
        x: f32,
    ) -> (Tile<f32>, Tile<f32>, Tile<f32>) {
        let size = BM * (D + 2);
        // There are 64 partials at most.
        let (row, of) = (h + arange(REDUCE_ROWS), arange(64));
        let offset = base + of.expand(0) * size + BM * D + row.expand(1);
        let there = (of < partials).expand(0) & (row < filled).expand(1);
        let maxima = load(workspace, offset).mask(there).other(MASKED_SCORE).unchecked();
        let m_i = max(maxima, 1);
        let l_i = sum(load(workspace, offset + BM).mask(there).unchecked() * exp2((maxima - m_i.expand(1)) * x), 1);
        // Several partials at a time, which hides the latency of loads.
        let mut acc = zeros::<f32>([{ 8 / REDUCE_ROWS }, REDUCE_ROWS, D]);
        for r in range(0, partials, { 8 / REDUCE_ROWS }).unroll(4) {
            let of = r + arange({ 8 / REDUCE_ROWS });
            let there = (of < partials).expand(1) & (row < filled).expand(0);
            let offset = base + of.expand(1) * size;
            let maxima = load(workspace, offset + BM * D + row.expand(0)).mask(there).other(MASKED_SCORE).unchecked();
            let sums = load(workspace, (offset + row.expand(0) * D).expand(2) + arange(D).expand(0).expand(0))
                .mask(there.expand(2))
                .unchecked();
            acc += sums * exp2((maxima - m_i.expand(0)) * x).expand(2);
        }
        (sum(acc, 0), m_i, l_i)
    }

    /// Split-KV decoding, for few queries: several programs share a block of queries. Each computes a part of the keys
    /// and stores its partial results, which the programs combine ([`partials`](crate::library::partials)).
    ///
    /// The rows of `q` and `o` are the `queries` of a head, or of several heads that share keys, one after another.
    ///
    /// # Safety
    /// `workspace` has BM rows of D + 2 elements for each of PER_SM programs on every multiprocessor. `semaphores` has
    /// WORDS zeros for each block of queries of each head, where programs share it, and holds zeros again after the
    /// launch.
    #[tile_kernel(
        /// Heads of up to 64 elements.
        kernel(attention_split_kv_64, D = 64),
        /// Heads of up to 128 elements.
        kernel(attention_split_kv_128, D = 128),
        types(T = [f16, bf16]),
        tune(BM = [64], BN = [128], PER_SM = [2], REDUCE_ROWS = [1, 4], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [attention_split_kv_64]),
        tune(BM = [64], BN = [32], PER_SM = [2], REDUCE_ROWS = [4], warps = [4], blocks_per_sm = [2], arch = [80], kernels = [attention_split_kv_64]),
        tune(BM = [64], BN = [64], PER_SM = [2], REDUCE_ROWS = [2, 4], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [attention_split_kv_128]),
        tune(BM = [64], BN = [128], PER_SM = [1], REDUCE_ROWS = [1], warps = [4], arch = [90], kernels = [attention_split_kv_128]),
        tune(BM = [64], BN = [32], PER_SM = [2], REDUCE_ROWS = [4], warps = [8], arch = [80], kernels = [attention_split_kv_128]),
        tune(BM = [128], BN = [32], PER_SM = [1], REDUCE_ROWS = [4], warps = [8], arch = [80], kernels = [attention_split_kv_128]),
        tune(BM = [64], BN = [16], PER_SM = [2], REDUCE_ROWS = [4], warps = [8], arch = [80], kernels = [attention_split_kv_128]),
        grid = [cdiv(o.dim(1), BM) * o.dim(0) * max(1, min(min(num_sms() * PER_SM / (cdiv(o.dim(1), BM) * o.dim(0)), cdiv(k.dim(1), BN)), 64))],
    )]
    pub unsafe fn attention_split_kv<
        T: Float,
        const BM: usize,
        const BN: usize,
        const D: usize,
        const PER_SM: usize,
        const REDUCE_ROWS: usize,
    >(
        q: View<T, 3>,
        k: View<T, 3>,
        v: View<T, 3>,
        workspace: &mut [f32],
        semaphores: &mut [u64],
        mut o: ViewMut<T, 3>,
        queries: usize,
        scale: f32,
        causal: bool,
    ) {
        let (rows, keys) = (o.dim(1), k.dim(1));
        let (heads, blocks, me) = (o.dim(0) as u32, cdiv(rows, BM) as u32, program_id(0) as u32);
        let most = num_programs(0) as u32 / (heads * blocks);
        // Programs with the same keys are neighbors.
        let (block, part, head) = (me % blocks, me / blocks % most, me / blocks / most);
        let first = block as usize * BM;
        let filled = min(BM, rows - first);
        let x = scale * 1.4426950408889634;
        // Queries of the block: neighbors, or all of them.
        let from = first % queries;
        let (low, high) = if from + filled <= queries { (from, from + filled - 1) } else { (0usize, queries - 1) };
        let last = visible_keys(high, (queries, keys), causal);
        let steps = max(cdiv(last, BN), 1) as u32;
        let deep = cdiv(steps, most);
        let partials = cdiv(steps, deep);
        if part < partials {
            let word = (head * blocks + block) * WORDS;
            let mut began = 0u64;
            if partials > 1 {
                began = begin_partial(semaphores, word);
            }
            let (begin, end) = ((part * deep) as usize * BN, min((part * deep + deep) as usize * BN, last));
            let whole = min(visible_keys(low, (queries, keys), causal) / BN * BN, end);
            let query = block_of::<T, BM, D>(q, head as usize, first);
            let visible = visible_keys((first + arange(BM)) % queries, (queries, keys), causal);
            let shared = (head / (heads / k.dim(0) as u32)) as usize;
            let (acc, m_i, l_i) = inner_loop::<T, BM, BN, D>(query, visible, k, v, shared, x, (begin, whole, end));
            if partials == 1 {
                o.store([head as usize, first, 0], reshape(averages::<T>(acc, m_i, l_i), [1, BM, D]));
            } else {
                // A part is the accumulator of all rows, then `m_i`, then `l_i`.
                let size = BM * (D + 2);
                let base = ((head * blocks + block) * most) as usize * size;
                let mine = base + part as usize * size;
                let row = arange(BM);
                // The sums of a query that sees none of these keys are undefined.
                let sees = sees_a_key(m_i, l_i);
                store(workspace, matrix::<BM, D>(mine), where_(sees.expand(1), acc, 0.0))
                    .mask((row < filled).expand(1))
                    .unchecked();
                store(workspace, mine + BM * D + row, m_i).mask(row < filled).unchecked();
                store(workspace, mine + BM * (D + 1) + row, where_(sees, l_i, 0.0)).mask(row < filled).unchecked();
                end_partial(semaphores, word, partials, began, |p| {
                    for h in range(p as usize * REDUCE_ROWS, filled, partials as usize * REDUCE_ROWS) {
                        let (acc, m_i, l_i) =
                            combine::<BM, D, REDUCE_ROWS>(workspace, base, h, filled, partials as usize, x);
                        o.store(
                            [head as usize, first + h, 0],
                            reshape(averages::<T>(acc, m_i, l_i), [1, REDUCE_ROWS, D]),
                        );
                    }
                });
            }
        }
    }
}
