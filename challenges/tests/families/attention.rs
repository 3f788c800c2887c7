use crate::backends::{close, everywhere, everywhere_of, integers, random, refused};
use tilewright_challenges::{self as ops, Int8Cache};

#[test]
fn attention_over_int8() {
    let sizes =
        [[0, 3, 4], [1, 1, 1], [2, 0, 5], [3, 7, 16], [2, 700, 64], [1, 300, 200], [5, 1000, 33], [1, 40, 1024]];
    everywhere_of(sizes, [[1, 1, 1], [2, 0, 5], [3, 150, 40], [1, 20, 200]], |on, &[heads, positions, dim]| {
        let n = heads * positions * dim;
        let bytes = |seed| integers(seed, n, -128, 128).into_iter().map(|v| v as i8).collect::<Vec<_>>();
        let (keys, values, q) = (bytes(1), bytes(2), random(3, heads * dim, -3.0, 3.0));
        let (key_scales, value_scales) =
            (random(4, heads * positions, 0.001, 0.05), random(5, heads * positions, 0.001, 0.05));
        let mut y = vec![9.0; q.len()];
        let cache = Int8Cache { keys: &keys, values: &values, key_scales: &key_scales, value_scales: &value_scales };
        ops::int8_kv_cache_attention(on, &q, cache, &mut y, [heads, positions, dim]).unwrap();
        let mut wanted = vec![0.0; q.len()];
        for h in 0..heads {
            let at = |p: usize, d: usize| (h * positions + p) * dim + d;
            let score = |p: usize| {
                let sum: f64 = (0..dim).map(|d| f64::from(q[h * dim + d]) * f64::from(keys[at(p, d)])).sum();
                sum * f64::from(key_scales[h * positions + p]) / (dim as f64).sqrt()
            };
            let scores: Vec<f64> = (0..positions).map(score).collect();
            let top = scores.iter().fold(f64::NEG_INFINITY, |m, v| m.max(*v));
            let total: f64 = scores.iter().map(|s| (s - top).exp()).sum();
            for d in 0..dim {
                wanted[h * dim + d] = (0..positions)
                    .map(|p| {
                        let weight = (scores[p] - top).exp() / total;
                        weight * f64::from(values[at(p, d)]) * f64::from(value_scales[h * positions + p])
                    })
                    .sum();
            }
        }
        close([heads, positions, dim], &y, &wanted, 1e-5);
    });
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    everywhere(|on| {
        let (bytes, floats, mut y) = ([1i8; 8], [1.0f32; 4], [9.0; 2]);
        let cache = Int8Cache { keys: &bytes, values: &bytes, key_scales: &floats, value_scales: &floats };
        refused(ops::int8_kv_cache_attention(on, &[1.0; 2], cache, &mut y, [1, 3, 2]), &y, 9.0);
        refused(ops::int8_kv_cache_attention(on, &[1.0; 3], cache, &mut y, [1, 4, 2]), &y, 9.0);
        refused(ops::int8_kv_cache_attention(on, &[1.0; 2], cache, &mut y, [1, 4, 2000]), &y, 9.0);
    });
}
