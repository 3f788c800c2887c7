//! `O = softmax(scale · Q Kᵀ) V` for every head of a batch: attention.
//!
//! A program has a block of queries of a head and goes through its keys and values block by block. It keeps the greatest score and the sum of
//! weights of each query so far, and scales down what it has when a greater score comes: the matrix of all scores never exists
//! ([FlashAttention, 2022](https://arxiv.org/abs/2205.14135)). The scores of a block are multiplied before the values of the last one, so that
//! tensor cores have work while weights are computed ([FlashAttention-3, 2024](https://arxiv.org/abs/2407.08608)). Weights are powers
//! of two, of scores times log2(e).

use tilewright_macros::tile_module;

#[tile_module(use crate::library::tiles, use crate::library::partials)]
pub mod heads {
    /// The score of a key that does not count. A query with none above half of it sees no key.
    const NEVER: f32 = -3e38;

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

    /// How many keys a query, or each of several, sees.
    fn sight<Q>(query: Q, (queries, keys): (usize, usize), causal: bool) -> Q {
        let more = if causal { keys + 1 } else { keys + queries };
        minimum(maximum(query + more, queries) - queries, keys)
    }

    /// Scores of the keys from `at` on, of those that each query sees.
    fn seen<const BN: usize>(scores: Tile<f32>, sights: Tile<usize>, at: usize) -> Tile<f32> {
        where_((at + arange(BN)).expand(0) < sights.expand(1), scores, NEVER)
    }

    /// The weights of a block, the factor for what was before, and the greatest scores and sums with it.
    fn weights(
        scores: Tile<f32>,
        x: f32,
        (top, all): (Tile<f32>, Tile<f32>),
    ) -> (Tile<f32>, Tile<f32>, Tile<f32>, Tile<f32>) {
        let higher = maximum(top, max(scores, 1));
        let p = exp2(fma(scores, x, -(higher * x).expand(1)));
        let fade = exp2((top - higher) * x);
        (p, fade, higher, all * fade + sum(p, 1))
    }

    /// The keys from `begin` up to `end` for a block of queries, of which all see those up to `whole`, a number of blocks: values times weights, the greatest
    /// scores, and sums of weights.
    fn scan<T, const BM: usize, const BN: usize, const D: usize>(
        query: Tile<T>,
        sights: Tile<usize>,
        k: View<T, 3>,
        v: View<T, 3>,
        shared: usize,
        x: f32,
        (begin, whole, end): (usize, usize, usize),
    ) -> (Tile<f32>, Tile<f32>, Tile<f32>) {
        let mut s = scores::<T, BM, BN, D>(query, k, shared, begin);
        if whole < begin + BN {
            s = seen::<BN>(s, sights, begin);
        }
        let (now, _, mut top, mut all) = weights(s, x, (full([BM], NEVER), zeros::<f32>([BM])));
        let mut p = now.to::<T>();
        let mut acc = zeros::<f32>([BM, D]);
        for at in (begin + BN..whole).step_by(BN) {
            let s = scores::<T, BM, BN, D>(query, k, shared, at);
            acc = dot(p, block_of::<T, BN, D>(v, shared, at - BN), acc);
            let (now, fade, higher, sums) = weights(s, x, (top, all));
            acc = acc * fade.expand(1);
            (p, top, all) = (now.to::<T>(), higher, sums);
        }
        for at in (max(whole, begin + BN)..end).step_by(BN) {
            let s = scores::<T, BM, BN, D>(query, k, shared, at);
            acc = dot(p, block_of::<T, BN, D>(v, shared, at - BN), acc);
            let (now, fade, higher, sums) = weights(seen::<BN>(s, sights, at), x, (top, all));
            acc = acc * fade.expand(1);
            (p, top, all) = (now.to::<T>(), higher, sums);
        }
        acc = dot(p, block_of::<T, BN, D>(v, shared, (max(cdiv(end, BN), 1) - 1) * BN), acc);
        (acc, top, all)
    }

    /// Whether a query sees a key. The maximum of a number and NaN is the number, so scores that are all NaN leave no trace in
    /// `top`; the sum of their weights is NaN then, and of a query that sees no key it never is.
    fn any(top: Tile<f32>, all: Tile<f32>) -> Tile<bool> {
        (top > 0.5 * NEVER) | (all != all)
    }

    /// The sums of values divided by the sums of weights; zeros for a query that sees no key, NaN where a score is NaN.
    fn averages<T>(acc: Tile<f32>, top: Tile<f32>, all: Tile<f32>) -> Tile<T> {
        where_(any(top, all).expand(1), acc * (1.0 / all).expand(1), 0.0).to::<T>()
    }

    /// One block of queries, of a head.
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
        // Keys that any query of the block sees, and blocks of them that all see as a whole.
        let last = sight(first + BM - 1, (queries, keys), causal);
        let whole = sight(first, (queries, keys), causal) / BN * BN;
        let query = block_of::<T, BM, D>(q, head, first);
        let sights = sight(first + arange(BM), (queries, keys), causal);
        let (acc, top, all) =
            scan::<T, BM, BN, D>(query, sights, k, v, shared, scale * 1.4426950408889634, (0usize, whole, last));
        o.store([head, first, 0], reshape(averages::<T>(acc, top, all), [1, BM, D]));
    }

    /// STAY of 0 is for a program for each block of queries, those with the most keys first. Otherwise so many programs a multiprocessor stay,
    /// and each takes one block after another. If causal it takes one that sees few keys with one that sees many, so that all have the same work;
    /// but where that would be more rounds it takes single ones, those with the most keys first.
    #[tile_kernel(
        /// Heads of up to 64 elements.
        kernel(attention_64, D = 64),
        /// Heads of up to 128 elements.
        kernel(attention_128, D = 128),
        types(T = [f16, bf16]),
        tune(BM = [64], BN = [128], STAY = [0, 2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [attention_64]),
        tune(BM = [64], BN = [32], STAY = [0], warps = [4], arch = [80], kernels = [attention_64]),
        tune(BM = [128], BN = [128], STAY = [1], warps = [8], arch = [90], kernels = [attention_128]),
        tune(BM = [128], BN = [32], STAY = [0], warps = [8], arch = [80], kernels = [attention_128]),
        tune(BM = [64], BN = [16], STAY = [0], warps = [8], arch = [80], kernels = [attention_128]),
        grid = [if STAY == 0 { cdiv(o.dim(1), BM) * o.dim(0) } else { min(cdiv(o.dim(1), BM) * o.dim(0), num_sms() * STAY) }],
    )]
    pub fn attention<T: Float, const BM: usize, const BN: usize, const D: usize, const STAY: usize>(
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

    /// Rows from `h` on of what all parts have left in their workspace: as `scan` gives them for all keys. In no slot but those of parts, nor beyond the rows that are
    /// filled, is anything to be read.
    fn together<const BM: usize, const D: usize, const H: usize>(
        workspace: &mut [f32],
        base: usize,
        h: usize,
        filled: usize,
        parts: usize,
        x: f32,
    ) -> (Tile<f32>, Tile<f32>, Tile<f32>) {
        let size = BM * (D + 2);
        // As many as there may be parts.
        let (row, of) = (h + arange(H), arange(64));
        let place = base + of.expand(0) * size + BM * D + row.expand(1);
        let there = (of < parts).expand(0) & (row < filled).expand(1);
        let tops = load(workspace, place).mask(there).other(NEVER).unchecked();
        let top = max(tops, 1);
        let all = sum(load(workspace, place + BM).mask(there).unchecked() * exp2((tops - top.expand(1)) * x), 1);
        // Of several parts at a time, for the loads take long.
        let mut acc = zeros::<f32>([{ 8 / H }, H, D]);
        for r in range(0, parts, { 8 / H }).unroll(4) {
            let of = r + arange({ 8 / H });
            let there = (of < parts).expand(1) & (row < filled).expand(0);
            let place = base + of.expand(1) * size;
            let tops = load(workspace, place + BM * D + row.expand(0)).mask(there).other(NEVER).unchecked();
            let sums = load(workspace, (place + row.expand(0) * D).expand(2) + arange(D).expand(0).expand(0))
                .mask(there.expand(2))
                .unchecked();
            acc += sums * exp2((tops - top.expand(0)) * x).expand(2);
        }
        (sum(acc, 0), top, all)
    }

    /// The same for few queries: as many programs as the device has room for share the keys of a block of them, a part each, of which each
    /// leaves its sums in a slot, and add these up ([partial sums](crate::library::partials)).
    ///
    /// Rows of `q` and `o` are `queries` of a head, or of several that share keys, one after another.
    ///
    /// # Safety
    /// `workspace` has room for BM rows of D + 2 elements of PER_SM programs for each multiprocessor, and `semaphores` four zeros, which the kernel leaves as zeros.
    #[tile_kernel(
        /// Heads of up to 64 elements.
        kernel(attention_few_64, D = 64),
        /// Heads of up to 128 elements.
        kernel(attention_few_128, D = 128),
        types(T = [f16, bf16]),
        tune(BM = [64], BN = [128], PER_SM = [2], H = [1, 4], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [attention_few_64]),
        tune(BM = [64], BN = [32], PER_SM = [2], H = [4], warps = [4], blocks_per_sm = [2], arch = [80], kernels = [attention_few_64]),
        tune(BM = [64], BN = [64], PER_SM = [2], H = [2, 4], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [attention_few_128]),
        tune(BM = [64], BN = [128], PER_SM = [1], H = [1], warps = [4], arch = [90], kernels = [attention_few_128]),
        tune(BM = [64], BN = [32], PER_SM = [2], H = [4], warps = [8], arch = [80], kernels = [attention_few_128]),
        tune(BM = [128], BN = [32], PER_SM = [1], H = [4], warps = [8], arch = [80], kernels = [attention_few_128]),
        tune(BM = [64], BN = [16], PER_SM = [2], H = [4], warps = [8], arch = [80], kernels = [attention_few_128]),
        grid = [cdiv(o.dim(1), BM) * o.dim(0) * max(1, min(min(num_sms() * PER_SM / (cdiv(o.dim(1), BM) * o.dim(0)), cdiv(k.dim(1), BN)), 64))],
    )]
    pub unsafe fn attention_few<
        T: Float,
        const BM: usize,
        const BN: usize,
        const D: usize,
        const PER_SM: usize,
        const H: usize,
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
        // Who shares a block comes one after another; who has the same keys is next to each other.
        let (block, part, head) = (me % blocks, me / blocks % most, me / blocks / most);
        let first = block as usize * BM;
        let filled = min(BM, rows - first);
        let x = scale * 1.4426950408889634;
        // Queries of the block: neighbours, or all of them.
        let from = first % queries;
        let (low, high) = if from + filled <= queries { (from, from + filled - 1) } else { (0usize, queries - 1) };
        let last = sight(high, (queries, keys), causal);
        let steps = max(cdiv(last, BN), 1) as u32;
        let deep = cdiv(steps, most);
        let parts = cdiv(steps, deep);
        if part < parts {
            let word = (head * blocks + block) * WORDS;
            let mut began = 0u64;
            if parts > 1 {
                began = begin_part(semaphores, word);
            }
            let (begin, end) = ((part * deep) as usize * BN, min((part * deep + deep) as usize * BN, last));
            let whole = min(sight(low, (queries, keys), causal) / BN * BN, end);
            let query = block_of::<T, BM, D>(q, head as usize, first);
            let sights = sight((first + arange(BM)) % queries, (queries, keys), causal);
            let shared = (head / (heads / k.dim(0) as u32)) as usize;
            let (acc, top, all) = scan::<T, BM, BN, D>(query, sights, k, v, shared, x, (begin, whole, end));
            if parts == 1 {
                o.store([head as usize, first, 0], reshape(averages::<T>(acc, top, all), [1, BM, D]));
            } else {
                // Values of all rows, greatest scores, sums of weights.
                let size = BM * (D + 2);
                let base = ((head * blocks + block) * most) as usize * size;
                let mine = base + part as usize * size;
                let row = arange(BM);
                // Who sees none of these keys has anything for sums; where all scores are NaN, NaN.
                let any = any(top, all);
                store(workspace, matrix::<BM, D>(mine), where_(any.expand(1), acc, 0.0))
                    .mask((row < filled).expand(1))
                    .unchecked();
                store(workspace, mine + BM * D + row, top).mask(row < filled).unchecked();
                store(workspace, mine + BM * (D + 1) + row, where_(any, all, 0.0)).mask(row < filled).unchecked();
                end_part(semaphores, word, parts, began, |p| {
                    for h in range(p as usize * H, filled, parts as usize * H) {
                        let (acc, top, all) = together::<BM, D, H>(workspace, base, h, filled, parts as usize, x);
                        o.store([head as usize, first + h, 0], reshape(averages::<T>(acc, top, all), [1, H, D]));
                    }
                });
            }
        }
    }
}
