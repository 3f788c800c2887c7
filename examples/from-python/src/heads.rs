use tilewright::tile_kernel;

/// `softmax(scale Q Kᵀ) V` of every head, written straight on: the scores of a block of keys, their weights, the values
/// they weigh. Sums so far are scaled whenever a greater score is found.
///
/// # Safety
/// `q` and `o` are `heads` matrices of `queries` rows, `k` and `v` of `keys` rows, one after the other, without gaps.
#[tile_kernel(
    kernel(attention_64, HEAD_DIM = 64),
    kernel(attention_128, HEAD_DIM = 128),
    tune(BLOCK_M = [128], BLOCK_N = [128, 64], warps = [8], arch = [90]),
    tune(BLOCK_M = [64], BLOCK_N = [128], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [attention_64]),
    tune(BLOCK_M = [64], BLOCK_N = [32], warps = [4], arch = [80]),
    grid = [cdiv(queries, BLOCK_M), heads],
)]
pub unsafe fn attention<const BLOCK_M: usize, const BLOCK_N: usize, const HEAD_DIM: usize>(
    q: *const f16,
    k: *const f16,
    v: *const f16,
    o: *mut f16,
    scale: f32,
    heads: usize,
    queries: usize,
    keys: usize,
) {
    let rows = program_id(0) * BLOCK_M + arange(BLOCK_M);
    let (columns, d) = (arange(BLOCK_N), arange(HEAD_DIM));
    let of_queries = program_id(1) * queries * HEAD_DIM;
    let of_keys = program_id(1) * keys * HEAD_DIM;
    let query = load(q.add(of_queries + rows.expand(1) * HEAD_DIM + d.expand(0))).mask(rows.expand(1) < queries);
    let mut k_ptrs = k.add(of_keys + columns.expand(1) * HEAD_DIM + d.expand(0));
    let mut v_ptrs = v.add(of_keys + columns.expand(1) * HEAD_DIM + d.expand(0));
    // Powers of two instead of exponentials: their logarithm goes into the scale.
    let scale = scale * 1.442695;
    let mut greatest = full([BLOCK_M], -1e30);
    let mut weights = zeros::<f32>([BLOCK_M]);
    let mut acc = zeros::<f32>([BLOCK_M, HEAD_DIM]);
    for start in range(0, keys, BLOCK_N) {
        let key = load(k_ptrs).mask((start + columns).expand(1) < keys);
        let scores = dot(query, trans(key), zeros::<f32>([BLOCK_M, BLOCK_N])) * scale;
        let scores = where_((start + columns).expand(0) < keys, scores, -1e30);
        let now = maximum(greatest, max(scores, 1));
        let p = exp2(scores - now.expand(1));
        let less = exp2(greatest - now);
        weights = weights * less + sum(p, 1);
        acc = acc * less.expand(1);
        let value = load(v_ptrs).mask((start + columns).expand(1) < keys);
        acc = dot(p.to::<f16>(), value, acc);
        greatest = now;
        k_ptrs += BLOCK_N * HEAD_DIM;
        v_ptrs += BLOCK_N * HEAD_DIM;
    }
    store(o.add(of_queries + rows.expand(1) * HEAD_DIM + d.expand(0)), (acc / weights.expand(1)).to::<f16>())
        .mask(rows.expand(1) < queries);
}
