//! Mixtures of experts: the tokens of each expert side by side.

use tilewright::{Error, LaunchOptions, Runtime, tile_module};
use tilewright_language_tests::everywhere::everywhere;

#[tile_module]
mod kernels {
    /// The first place of each expert's tokens. Each expert has a multiple of `block` places. The last number is that
    /// of all places.
    #[tile_kernel(tune(EXPERTS = [8, 64], BLOCK = [128], warps = [1, 4]), grid = [1], emulate = all)]
    pub fn places<const EXPERTS: usize, const BLOCK: usize>(experts: &[i32], begins: &mut [i32], block: i32) {
        let mut counts = zeros::<i32>([EXPERTS]);
        for start in (0..experts.len()).step_by(BLOCK) {
            let i = start + arange(BLOCK);
            counts += histogram(load(experts, i), EXPERTS).mask(i < experts.len());
        }
        let padded = (counts + block - 1) / block * block;
        store(begins, arange(EXPERTS), cumsum(padded, 0).exclusive(0));
        store(begins, EXPERTS, sum(padded));
    }

    /// The tokens at their places. `next` holds the first free place of each expert.
    #[tile_kernel(tune(BLOCK = [64], warps = [2]), grid = [cdiv(experts.len(), BLOCK)], emulate = all)]
    pub fn align<const BLOCK: usize>(experts: &[i32], next: &mut [i32], tokens: &mut [i32]) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let mask = i < experts.len();
        let place = atomic_add(next, load(experts, i), 1).mask(mask).relaxed();
        store(tokens, place, i.to::<i32>()).mask(mask);
    }

    /// The `K` best experts of each token with their weights: a softmax over the chosen ones.
    #[tile_kernel(
        tune(ROWS = [4], EXPERTS = [16], K = [2, 4], warps = [1, 2]),
        requires = [logits.dim(1) == EXPERTS],
        grid = [cdiv(logits.dim(0), ROWS)],
        emulate = all,
    )]
    pub fn route<const ROWS: usize, const EXPERTS: usize, const K: usize>(
        logits: View<f32, 2>,
        mut weights: ViewMut<f32, 2>,
        mut experts: ViewMut<i32, 2>,
    ) {
        let row = program_id(0) * ROWS;
        let x = logits.tile([row, 0], [ROWS, EXPERTS]);
        let numbers = broadcast(arange(EXPERTS).to::<i32>().expand(0), [ROWS, EXPERTS]);
        let (best, chosen) = topk((x, numbers), K, 1);
        let e = exp(best - max(best, 1).expand(1));
        weights.store([row, 0], e / sum(e, 1).expand(1));
        experts.store([row, 0], chosen);
    }
}

fn chosen(n: usize, experts: usize) -> Vec<i32> {
    (0..n).map(|i| ((i * i * 7 + i / 3) % experts) as i32).collect()
}

#[test]
fn tokens_of_each_expert_are_side_by_side() {
    let block = 16;
    let run = |experts: usize, rt: &Runtime, options: &LaunchOptions| -> Result<_, Error> {
        let of = chosen(500, experts);
        let mut begins = vec![0; experts + 1];
        rt.launch_with(rt.stream(), kernels::places(&of, &mut begins, block), options)?;
        let (mut next, mut tokens) = (begins.clone(), vec![-1; begins[experts] as usize]);
        rt.launch(kernels::align(&of, &mut next, &mut tokens))?;
        Ok((experts, of, begins, next, tokens))
    };
    let of_config = |options: &LaunchOptions| if options.get_config().expect("one").contains("=8,") { 8 } else { 64 };
    everywhere(
        kernels::places::DESCS[0],
        |rt, options| run(of_config(options), rt, options),
        |(experts, of, begins, next, tokens), what| {
            for e in 0..experts {
                let mut wanted: Vec<i32> = (0..500).filter(|&i| of[i as usize] == e as i32).collect();
                let (first, end) = (begins[e] as usize, next[e] as usize);
                assert_eq!(begins[e + 1], begins[e] + (wanted.len() as i32 + block - 1) / block * block, "{what}: {e}");
                let mut found = tokens[first..end].to_vec();
                found.sort_unstable();
                wanted.sort_unstable();
                assert_eq!(found, wanted, "{what}: expert {e}");
                assert!(tokens[end..begins[e + 1] as usize].iter().all(|&t| t == -1), "{what}: padding of {e}");
            }
        },
    );
}

#[test]
fn the_best_experts() {
    let (rows, experts) = (9, 16);
    let x: Vec<f32> = (0..rows * experts).map(|i| ((i * 29 + i / 16) % 47) as f32 / 8.0).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let k = if options.get_config().expect("one").contains("K=2") { 2 } else { 4 };
        let x = tilewright::Buffer::from_slice(rt, &x)?;
        let mut weights = tilewright::Buffer::<f32>::zeros(rt, rows * k)?;
        let mut chosen = tilewright::Buffer::<i32>::zeros(rt, rows * k)?;
        let call = kernels::route(x.view([rows, experts])?, weights.view_mut([rows, k])?, chosen.view_mut([rows, k])?);
        rt.launch_with(rt.stream(), call, options)?;
        Ok((k, weights.to_vec()?, chosen.to_vec()?))
    };
    everywhere(kernels::route::DESCS[0], run, |(k, weights, chosen), what| {
        for row in 0..rows {
            let x = &x[row * experts..][..experts];
            let mut order: Vec<usize> = (0..experts).collect();
            order.sort_by(|&i, &j| x[j].total_cmp(&x[i]));
            let sum: f32 = order[..k].iter().map(|&i| (x[i] - x[order[0]]).exp()).sum();
            for (place, &i) in order[..k].iter().enumerate() {
                assert_eq!(x[chosen[row * k + place] as usize], x[i], "{what}: row {row}, place {place}");
                let wanted = (x[i] - x[order[0]]).exp() / sum;
                assert!((weights[row * k + place] - wanted).abs() < 1e-6, "{what}: row {row}, place {place}");
            }
        }
    });
}
