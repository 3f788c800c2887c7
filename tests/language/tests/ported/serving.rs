//! Steps of model servers between products: drafts that are checked, penalties, pages, adapters, masks of bits.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_module};
use tilewright_core::f16;
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::{exact, near, values};

#[tile_module(use tilewright::random)]
mod kernels {
    /// Tokens of a draft are kept while the target's share is large enough; the first rejected one is drawn anew from
    /// the target's surplus.
    #[tile_kernel(
        tune(TOKENS = [64], warps = [2]),
        requires = [target.dim(1) <= TOKENS],
        grid = [ends.len()],
        emulate = all,
    )]
    pub fn check_drafts<const TOKENS: usize>(
        drafts: &[i32],
        ends: &[i32],
        draft: Option<View<f32, 2>>,
        target: View<f32, 2>,
        chances: &[f32],
        mut out: ViewMut<i32, 2>,
        seed: u64,
    ) {
        let request = program_id(0);
        let begin = if request == 0 { 0 } else { load(ends, request - 1) as usize };
        let end = load(ends, request) as usize;
        let column = arange(TOKENS).expand(0);
        let mut is_rejected = false;
        for at in begin..end {
            let token = load(drafts, at);
            let q = target.tile([at, 0], [1, TOKENS]);
            let is_it = column == token as usize;
            let share = sum(where_(is_it, q, 0.0));
            let (of_draft, rest) = match draft {
                Some(draft) => {
                    let p = draft.tile([at, 0], [1, TOKENS]);
                    (sum(where_(is_it, p, 0.0)), maximum(q - p, 0.0))
                }
                None => (1.0, where_(is_it, 0.0, q)),
            };
            let mut chosen = token;
            if load(chances, at) * of_draft > share {
                is_rejected = true;
                // The largest of the shares divided by exponential numbers is a draw.
                let u = rand(seed, (at * TOKENS + arange(TOKENS)).to::<u32>()).expand(0);
                let noise = -log(maximum(1.0 - u, 1e-7));
                let key = where_(rest > 0.0, rest / noise, -1.0);
                chosen = sum(argmax(key, 1)) as i32;
            }
            let place = (at - begin).to::<usize>();
            out.store([request, place], full([1, 1], chosen));
            if is_rejected {
                break;
            }
        }
    }

    /// Penalties for generated tokens, and for tokens of the prompt, whose tokens are counted in the same launch.
    #[tile_kernel(
        tune(TOKENS = [128], BLOCK = [32], warps = [2]),
        requires = [logits.dim(1) <= TOKENS],
        grid = [logits.dim(0)],
        emulate = all,
    )]
    pub fn penalties<const TOKENS: usize, const BLOCK: usize>(
        mut logits: ViewMut<f32, 2>,
        prompt: View<i32, 2>,
        said: View<i32, 2>,
        repetition: &[f32],
        frequency: &[f32],
        presence: &[f32],
    ) {
        let row = program_id(0);
        let count = |tokens: View<i32, 2>| {
            let mut counts = zeros::<i32>([TOKENS]);
            for start in (0..tokens.dim(1)).step_by(BLOCK) {
                let t = reshape(tokens.tile([row, start], [1, BLOCK]).other(-1), [BLOCK]);
                counts += histogram(t, TOKENS);
            }
            counts
        };
        let (in_prompt, in_said) = (count(prompt), count(said));
        let mut x = reshape(logits.tile([row, 0], [1, TOKENS]), [TOKENS]);
        let by = where_((in_prompt > 0) | (in_said > 0), load(repetition, row), 1.0);
        x = where_(x > 0.0, x / by, x * by);
        x -= load(frequency, row) * in_said.to::<f32>();
        x = where_(in_said > 0, x - load(presence, row), x);
        logits.store([row, 0], reshape(x, [1, TOKENS]));
    }

    /// The pages of each request side by side, as a list for a kernel of attention.
    #[tile_kernel(tune(BLOCK = [32], warps = [1]), grid = [requests.len()], emulate = all)]
    pub unsafe fn list_of_pages<const BLOCK: usize>(
        table: *const i32,
        stride: usize,
        requests: &[i32],
        lengths: &[i32],
        begins: &[i32],
        list: &mut [i32],
    ) {
        let program = program_id(0);
        let row = table.add(load(requests, program) as usize * stride);
        let (n, begin) = (load(lengths, program) as usize, load(begins, program) as usize);
        let mut start = 0usize;
        loop {
            if start >= n {
                break;
            }
            let i = start + arange(BLOCK);
            store(list, begin + i, load(row.add(i)).mask(i < n)).mask(i < n);
            start += BLOCK;
        }
    }

    /// Adapters of low rank: each token has one, or none, at an address of a table.
    #[tile_kernel(
        tune(RANK = [8], BLOCK = [32], warps = [1]),
        grid = [cdiv(y.dim(1), BLOCK), adapters.len()],
        emulate = all,
    )]
    pub unsafe fn low_rank<const RANK: usize, const BLOCK: usize>(
        x: View<f32, 2>,
        downs: &[u64],
        ups: &[u64],
        adapters: &[i32],
        mut y: ViewMut<f32, 2>,
        scale: f32,
    ) {
        let token = program_id(1);
        let adapter = load(adapters, token);
        if adapter >= 0 {
            let (depth, columns) = (x.dim(1), y.dim(1));
            let down = view(load(downs, adapter) as *const f32, [RANK, depth], [depth, 1]);
            let up = view(load(ups, adapter) as *const f32, [columns, RANK], [RANK, 1]);
            let mut inner = zeros::<f32>([RANK]);
            for k in (0..depth).step_by(BLOCK) {
                inner += sum(down.tile([0, k], [RANK, BLOCK]) * x.tile([token, k], [1, BLOCK]), 1);
            }
            let j = program_id(0) * BLOCK;
            let out = sum(up.tile([j, 0], [BLOCK, RANK]) * inner.expand(0), 1);
            y.store([token, j], y.tile([token, j], [1, BLOCK]) + scale * out.expand(0));
        }
    }

    /// Which experts each token has, as bits, and how many tokens each expert has.
    #[tile_kernel(
        tune(ROWS = [16], EXPERTS = [64], K = [4], warps = [2]),
        requires = [logits.dim(1) == EXPERTS],
        grid = [cdiv(logits.dim(0), ROWS)],
        emulate = all,
    )]
    pub fn expert_bits<const ROWS: usize, const EXPERTS: usize, const K: usize>(
        logits: View<f16, 2>,
        mut bits: ViewMut<u32, 2>,
        mut shares: ViewMut<f16, 2>,
        counts: &mut [i32],
    ) {
        let row = program_id(0) * ROWS;
        let x = logits.tile([row, 0], [ROWS, EXPERTS]).other(f16::NEG_INFINITY).to::<f32>();
        let numbers = broadcast(arange(EXPERTS).to::<u32>().expand(0), [ROWS, EXPERTS]);
        // Ascending numbers of experts: the shares go with them.
        let (best, chosen) = topk((x, numbers), K, 1);
        let (chosen, best) = sort((chosen, best), 1);
        let e = exp(best - max(best, 1).expand(1));
        shares.store([row, 0], (e / sum(e, 1).expand(1)).to::<f16>());
        let word = arange(EXPERTS / 32).to::<u32>().expand(0).expand(2);
        let (which, bit) = (chosen.expand(1) >> 5, 1u32 << (chosen.expand(1) & 31));
        let words = reduce(where_(which == word, bit, 0), 2, |a, b| a | b);
        bits.store([row, 0], words);
        let is_in = (row + arange(ROWS)).expand(1) < logits.dim(0);
        let used = broadcast(is_in, [ROWS, K]);
        let n = histogram(reshape(chosen, [ROWS * K]), EXPERTS).mask(reshape(used, [ROWS * K]));
        atomic_add(counts, arange(EXPERTS), n).mask(n > 0).relaxed();
    }
}

#[test]
fn drafts_are_checked() {
    let (ends, n) = ([3, 3, 7, 8], 50);
    let all = 8;
    let rows = |seed| {
        let x = values(all * n, seed, |v| (2.0 * v).exp());
        let sums: Vec<f32> = x.chunks(n).map(|row| row.iter().sum()).collect();
        (0..all * n).map(|at| x[at] / sums[at / n]).collect::<Vec<f32>>()
    };
    let (p, q) = (rows(1), rows(2));
    let drafts: Vec<i32> = (0..all).map(|i| (i * 13 % n) as i32).collect();
    let chances: Vec<f32> = (0..all).map(|i| if i % 3 == 2 { 0.999 } else { 0.2 }).collect();
    for with_draft in [false, true] {
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let (p, q) = (Buffer::from_slice(rt, &p)?, Buffer::from_slice(rt, &q)?);
            let (drafts, of_ends) = (Buffer::from_slice(rt, &drafts)?, Buffer::from_slice(rt, &ends)?);
            let (chances, mut out) = (Buffer::from_slice(rt, &chances)?, Buffer::from_slice(rt, &[-1i32; 4 * 5])?);
            let draft = if with_draft { Some(p.view([all, n])?) } else { None };
            let (target, found) = (q.view([all, n])?, out.view_mut([4, 5])?);
            rt.launch_with(
                rt.stream(),
                kernels::check_drafts(&drafts, &of_ends, draft, target, &chances, found, 3),
                options,
            )?;
            out.to_vec()
        };
        everywhere(kernels::check_drafts::DESCS[usize::from(with_draft)], run, |out, what| {
            for (request, &end) in ends.iter().enumerate() {
                let begin = if request == 0 { 0 } else { ends[request - 1] as usize };
                let mut place = 0;
                for at in begin..end as usize {
                    let token = drafts[at] as usize;
                    let of_draft = if with_draft { p[at * n + token] } else { 1.0 };
                    let found = out[request * 5 + place];
                    place += 1;
                    if chances[at] * of_draft > q[at * n + token] {
                        let more = q[at * n + found as usize] - p[at * n + found as usize];
                        assert!(if with_draft { more > 0.0 } else { found as usize != token }, "{what}: {at}");
                        break;
                    }
                    assert_eq!(found as usize, token, "{what}: {at}");
                }
                assert!(out[request * 5 + place..(request + 1) * 5].iter().all(|&t| t == -1), "{what}: {request}");
            }
        });
    }
}

#[test]
fn penalties_of_what_was_said() {
    let [m, n, prompts, saids] = [5, 100, 40, 70];
    let x = values(m * n, 1, |v| v * 3.0);
    let tokens = |count: usize, by: usize| {
        (0..m * count).map(|i| if i % 6 == 5 { n as i32 + 100 } else { (i * i * by % n) as i32 }).collect::<Vec<_>>()
    };
    let (prompt, said) = (tokens(prompts, 3), tokens(saids, 7));
    let [r, f, p] = [4, 5, 6].map(|seed| values(m, seed, |v| v + 1.5));
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (mut x, prompt) = (Buffer::from_slice(rt, &x)?, Buffer::from_slice(rt, &prompt)?);
        let said = Buffer::from_slice(rt, &said)?;
        let (r, f, p) = (Buffer::from_slice(rt, &r)?, Buffer::from_slice(rt, &f)?, Buffer::from_slice(rt, &p)?);
        let (prompt, said) = (prompt.view([m, prompts])?, said.view([m, saids])?);
        let call = kernels::penalties(x.view_mut([m, n])?, prompt, said, &r, &f, &p);
        rt.launch_with(rt.stream(), call, options)?;
        x.to_vec()
    };
    let of = |at: usize| {
        let (i, j) = (at / n, at % n);
        let count = |x: &[i32], k: usize| x[i * k..][..k].iter().filter(|&&t| t == j as i32).count();
        let (a, b) = (count(&prompt, prompts), count(&said, saids));
        let by = if a + b > 0 { r[i] } else { 1.0 };
        let v = if x[at] > 0.0 { x[at] / by } else { x[at] * by };
        v - f[i] * b as f32 - if b > 0 { p[i] } else { 0.0 }
    };
    let wanted: Vec<f32> = (0..m * n).map(of).collect();
    everywhere(kernels::penalties::DESCS[0], run, |y, what| near(what, &y, &wanted));
}

#[test]
fn pages_side_by_side() {
    let (rows, stride) = (6, 100);
    let table: Vec<i32> = (0..rows * stride).map(|i| i * 3).collect();
    let (requests, lengths) = ([4i32, 0, 5], [70i32, 0, 33]);
    let begins = [0i32, 70, 70];
    let wanted: Vec<i32> =
        [(4, 70), (5, 33)].iter().flat_map(|&(r, n)| (0..n).map(move |i| (r * stride + i) * 3)).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (table, requests) = (Buffer::from_slice(rt, &table)?, Buffer::from_slice(rt, &requests)?);
        let (lengths, begins) = (Buffer::from_slice(rt, &lengths)?, Buffer::from_slice(rt, &begins)?);
        let mut list = Buffer::from_slice(rt, &[-1i32; 103])?;
        let stride = stride as usize;
        // SAFETY: the requests are rows of the table, whose rows are as long as the lengths say.
        let call = unsafe { kernels::list_of_pages(table.raw(), stride, &requests, &lengths, &begins, &mut list) };
        rt.launch_with(rt.stream(), call, options)?;
        list.to_vec()
    };
    everywhere(kernels::list_of_pages::DESCS[0], run, |list, what| assert_eq!(list, wanted, "{what}"));
}

#[test]
fn adapters_of_low_rank() {
    let [tokens, depth, columns, rank] = [5, 70, 50, 8];
    let x = values(tokens * depth, 1, |v| v);
    let y = values(tokens * columns, 2, |v| v);
    let adapters = [1, -1, 0, 1, 2];
    let downs: Vec<Vec<f32>> = (0..3).map(|a| values(rank * depth, 10 + a, |v| v)).collect();
    let ups: Vec<Vec<f32>> = (0..3).map(|a| values(columns * rank, 20 + a, |v| v)).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let buffers = |all: &[Vec<f32>]| all.iter().map(|a| Buffer::from_slice(rt, a)).collect::<Result<Vec<_>, _>>();
        let (downs, ups) = (buffers(&downs)?, buffers(&ups)?);
        let table =
            |all: &[Buffer<f32>]| all.iter().map(|b| b.slice(..).map(|s| s.addr())).collect::<Result<Vec<_>, _>>();
        let (down, up) = (Buffer::from_slice(rt, &table(&downs)?)?, Buffer::from_slice(rt, &table(&ups)?)?);
        let (x, mut y) = (Buffer::from_slice(rt, &x)?, Buffer::from_slice(rt, &y)?);
        let adapters = Buffer::from_slice(rt, &adapters)?;
        let (x, out) = (x.view([tokens, depth])?, y.view_mut([tokens, columns])?);
        // SAFETY: the addresses are those of matrices of these extents, which live on.
        let call = unsafe { kernels::low_rank(x, &down, &up, &adapters, out, 0.5) };
        rt.launch_with(rt.stream(), call, options)?;
        y.to_vec()
    };
    let of = |at: usize| {
        let (i, j) = (at / columns, at % columns);
        let Ok(adapter) = usize::try_from(adapters[i]) else { return y[at] };
        let inner = |r: usize| (0..depth).map(|k| downs[adapter][r * depth + k] * x[i * depth + k]).sum::<f32>();
        y[at] + 0.5 * (0..rank).map(|r| ups[adapter][j * rank + r] * inner(r)).sum::<f32>()
    };
    let wanted: Vec<f32> = (0..tokens * columns).map(of).collect();
    everywhere(kernels::low_rank::DESCS[0], run, |y, what| near(what, &y, &wanted));
}

#[test]
fn bits_of_experts() {
    let (m, experts, k) = (37, 64, 4);
    // Every number of a row once.
    let x: Vec<f16> = (0..m * experts)
        .map(|at| f16::from_f32(((at % experts * 37 + at / experts * 11) % experts) as f32 / 8.0))
        .collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let x = Buffer::from_slice(rt, &x)?;
        let (mut bits, mut shares) = (Buffer::<u32>::zeros(rt, m * 2)?, Buffer::<f16>::zeros(rt, m * k)?);
        let mut counts = Buffer::<i32>::zeros(rt, experts)?;
        let (a, b) = (bits.view_mut([m, 2])?, shares.view_mut([m, k])?);
        rt.launch_with(rt.stream(), kernels::expert_bits(x.view([m, experts])?, a, b, &mut counts), options)?;
        Ok((bits.to_vec()?, shares.to_vec()?, counts.to_vec()?))
    };
    everywhere(kernels::expert_bits::DESCS[0], run, |(bits, shares, counts), what| {
        let mut all = vec![0; experts];
        for i in 0..m {
            let row: Vec<f32> = x[i * experts..][..experts].iter().map(|v| v.to_f32()).collect();
            let mut order: Vec<usize> = (0..experts).collect();
            order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
            let mut chosen = order[..k].to_vec();
            chosen.sort_unstable();
            chosen.iter().for_each(|&e| all[e] += 1);
            let wanted =
                [0, 1].map(|w| chosen.iter().filter(|&&e| e / 32 == w).map(|&e| 1u32 << (e % 32)).sum::<u32>());
            exact(what, &bits[i * 2..][..2], &wanted);
            let total: f32 = chosen.iter().map(|&e| row[e].exp()).sum();
            let of: Vec<f32> = shares[i * k..][..k].iter().map(|v| v.to_f32()).collect();
            near(what, &of, &chosen.iter().map(|&e| row[e].exp() / total).collect::<Vec<_>>());
        }
        assert_eq!(counts, all, "{what}");
    });
}
