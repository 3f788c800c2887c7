//! Attention of one query over pages of keys and values, in parts that are merged, and the cache that it reads.

use tilewright::{Buffer, Error, LaunchOptions, Runtime, tile_module};
use tilewright_core::f16;
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::values;

#[tile_module]
mod kernels {
    /// New keys at their slots of the cache; a slot below 0 is left out.
    #[tile_kernel(types(T = [f16]), tune(D = [32], warps = [1]), grid = [slots.len()], emulate = all)]
    pub fn cache<T: Float, const D: usize>(keys: View<T, 2>, slots: &[i64], cache: &mut [T]) {
        let slot = load(slots, program_id(0));
        if slot < 0 {
            return;
        }
        let row = reshape(keys.tile([program_id(0), 0], [1, D]), [D]);
        store(cache, slot as usize * D + arange(D), row);
    }

    /// A sequence's query over a part of its pages: sums that are not divided yet, the greatest score, and the weights'
    /// sum.
    #[tile_kernel(
        types(T = [f16]),
        tune(D = [32], PAGE = [16], PARTS = [1, 3], warps = [1, 2]),
        grid = [lengths.len(), PARTS],
        emulate = all,
    )]
    pub fn paged_parts<T: Float, const D: usize, const PAGE: usize, const PARTS: usize>(
        query: View<T, 2>,
        keys: &[T],
        values: &[T],
        pages: View<i32, 2>,
        lengths: &[u32],
        sums: &mut [f32],
        bests: &mut [f32],
        weights: &mut [f32],
        scale: f32,
    ) {
        let (s, part) = (program_id(0), program_id(1));
        let length = load(lengths, s) as usize;
        let q = query.tile([s, 0], [1, D]).to::<f32>() * scale;
        let (mut best, mut weight, mut out) = (f32::NEG_INFINITY, 0.0f32, zeros::<f32>([D]));
        let each = cdiv(cdiv(length, PAGE), PARTS);
        for p in range(part * each, min((part + 1) * each, cdiv(length, PAGE)), 1) {
            let page = sum(pages.tile([s, p], [1, 1])) as usize;
            let i = (page * PAGE + arange(PAGE)).expand(1) * D + arange(D).expand(0);
            let there = p * PAGE + arange(PAGE) < length;
            let scores = sum(load(keys, i).to::<f32>() * q, 1);
            let scores = where_(there, scores, f32::NEG_INFINITY);
            let higher = max(best, max(scores));
            let w = exp(scores - higher);
            let shrink = exp(best - higher);
            let v = where_(there.expand(1), load(values, i).to::<f32>(), 0.0);
            out = out * shrink + sum(w.expand(1) * v, 0);
            weight = weight * shrink + sum(w);
            best = higher;
        }
        let at = s * PARTS + part;
        store(sums, at * D + arange(D), out);
        store(bests, at, best);
        store(weights, at, weight);
    }

    /// The parts of a sequence as one.
    #[tile_kernel(types(T = [f16]), tune(D = [32], PARTS = [1, 3], warps = [1]), grid = [y.dim(0)], emulate = all)]
    pub fn merge<T: Float, const D: usize, const PARTS: usize>(
        sums: &[f32],
        bests: &[f32],
        weights: &[f32],
        mut y: ViewMut<T, 2>,
    ) {
        let s = program_id(0);
        let part = arange(4);
        let there = part < PARTS;
        let best = load(bests, s * PARTS + part).mask(there).other(f32::NEG_INFINITY);
        let factor = exp(best - max(best));
        let weight = sum(factor * load(weights, s * PARTS + part).mask(there));
        let i = (s * PARTS + part).expand(1) * D + arange(D).expand(0);
        let all = sum(factor.expand(1) * load(sums, i).mask(there.expand(1)), 0);
        y.store([s, 0], (all / weight).to(y.dtype()).expand(0));
    }
}

#[test]
fn attention_over_pages() {
    const D: usize = 32;
    let lengths = [1u32, 16, 45, 100];
    let pages: Vec<i32> = (0..4 * 7).map(|i| (i * 11 + 5) % 28).collect();
    let of = |x: f32| f16::from_f32(x);
    let query = values(4 * D, 1, of);
    let (keys, items) = (values(28 * 16 * D, 2, of), values(28 * 16 * D, 3, of));
    let run = |rt: &Runtime, options: &LaunchOptions| -> Result<_, Error> {
        let config = options.get_config().expect("one");
        let parts = if config.contains("PARTS=1") { 1 } else { 3 };
        let (q, table) = (Buffer::from_slice(rt, &query)?, Buffer::from_slice(rt, &pages)?);
        let (mut sums, mut bests, mut weights) = (vec![0.0; 4 * parts * D], vec![0.0; 4 * parts], vec![0.0; 4 * parts]);
        let call = kernels::paged_parts(
            q.view([4, D])?,
            &keys,
            &items,
            table.view([4, 7])?,
            &lengths,
            &mut sums,
            &mut bests,
            &mut weights,
            0.25,
        );
        rt.launch_with(rt.stream(), call, options)?;
        let mut y = Buffer::<f16>::zeros(rt, 4 * D)?;
        let merge =
            LaunchOptions::new().config(if parts == 1 { "D=32,PARTS=1,warps=1" } else { "D=32,PARTS=3,warps=1" });
        rt.launch_with(rt.stream(), kernels::merge(&sums, &bests, &weights, y.view_mut([4, D])?), &merge)?;
        y.to_vec()
    };
    everywhere(kernels::paged_parts::DESCS[0], run, |y, what| {
        for s in 0..4 {
            let row = |i: usize| (pages[s * 7 + i / 16] as usize * 16 + i % 16) * D;
            let score =
                |i: usize| (0..D).map(|d| 0.25 * query[s * D + d].to_f32() * keys[row(i) + d].to_f32()).sum::<f32>();
            let scores: Vec<f32> = (0..lengths[s] as usize).map(score).collect();
            let best = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let total: f32 = scores.iter().map(|v| (v - best).exp()).sum();
            for d in 0..D {
                let weighted = scores.iter().enumerate().map(|(i, v)| (v - best).exp() * items[row(i) + d].to_f32());
                let wanted = weighted.sum::<f32>() / total;
                let found = y[s * D + d].to_f32();
                assert!((found - wanted).abs() < 2e-3, "{what}: sequence {s}, {d}: {found} for {wanted}");
            }
        }
    });
}

#[test]
fn keys_go_to_their_slots() {
    const D: usize = 32;
    let keys = values(3 * D, 1, f16::from_f32);
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let mut cache = vec![f16::ONE; 5 * D];
        let k = Buffer::from_slice(rt, &keys)?;
        rt.launch_with(rt.stream(), kernels::cache(k.view([3, D])?, &[4, -1, 0], &mut cache), options)?;
        Ok(cache)
    };
    everywhere(kernels::cache::DESCS[0], run, |cache, what| {
        let rest = vec![f16::ONE; 3 * D];
        assert_eq!(cache, [&keys[2 * D..], &rest, &keys[..D]].concat(), "{what}");
    });
}
