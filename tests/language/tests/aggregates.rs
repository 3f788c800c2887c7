//! Structs, tuples and arrays of tiles.

use tilewright::tile_module;
use tilewright_language_tests::everywhere::everywhere;

#[tile_module]
mod kernels {
    /// Sums of a softmax that reads its row once.
    struct Online<T> {
        best: T,
        total: T,
        blocks: usize,
    }

    /// Of numbers alone: rustc sees it.
    pub struct Shape {
        pub rows: usize,
    }

    fn start() -> Online<Tile<f32>> {
        Online { best: full([1], f32::NEG_INFINITY), total: zeros::<f32>([1]), blocks: 0 }
    }

    fn with(s: Online<Tile<f32>>, v: Tile<f32>) -> Online<Tile<f32>> {
        let Online { best, total, blocks } = s;
        let best_now = maximum(best, max(v));
        if blocks == 0 {
            return Online { best: best_now, total: full([1], sum(exp(v - max(v)))), blocks: 1 };
        }
        Online { best: best_now, total: total * exp(best - best_now) + sum(exp(v - best_now)), blocks: blocks + 1 }
    }

    #[tile_kernel(tune(BLOCK = [32, 64], warps = [1]), grid = [x.dim(0)], emulate = all)]
    pub fn log_sum_exp<const BLOCK: usize>(x: View<f32, 2>, y: &mut [f32]) {
        let row = program_id(0);
        let mut s = start();
        for c in (0..x.dim(1)).step_by(BLOCK) {
            s = with(s, x.tile([row, c], [1, BLOCK]).other(f32::NEG_INFINITY).reshape([BLOCK]));
        }
        s.blocks += 1;
        store(y, 2 * row + arange(1), s.best + log(s.total));
        store(y, 2 * row + 1, s.blocks as f32);
    }

    /// Several accumulators, which `static_range` names.
    #[tile_kernel(tune(PARTS = [1, 4], warps = [1]), grid = [1], emulate = all)]
    pub fn by_parts<const PARTS: usize>(x: &[f32], y: &mut [f32], n: usize) {
        let mut sums = [zeros::<f32>([32]); PARTS];
        let mut last = (0usize, [0.0f32; 2]);
        for i in range(0, n, 32 * PARTS) {
            for p in static_range(0..PARTS) {
                sums[p] += load(x, i + p * 32 + arange(32)).mask(i + p * 32 + arange(32) < n);
            }
            last.0 = i;
            last.1[1] = last.1[1] + 1.0;
            (last.1[0], last.0) = (last.1[1], last.0 + 1);
        }
        let mut all = sums[0];
        for p in static_range(1..sums.len()) {
            all += sums[p];
        }
        store(y, arange(32), all);
        store(y, 32, last.0 as f32);
        store(y, 33, last.1[0]);
    }
}
use kernels::{Shape, by_parts, log_sum_exp};

#[test]
fn a_struct_lives_across_a_loop() {
    let shape = Shape { rows: 3 };
    let x: Vec<f32> = (0..300).map(|i| ((i * 37) % 101) as f32 / 10.0 - 5.0).collect();
    everywhere(
        log_sum_exp::DESCS[0],
        |rt, options| {
            let mut y = vec![0.0f32; 6];
            let b = tilewright::Buffer::from_slice(rt, &x)?;
            rt.launch_with(rt.stream(), log_sum_exp(b.view([shape.rows, 100]).expect("300"), &mut y), options)?;
            Ok(y)
        },
        |y, title| {
            for row in 0..3 {
                let of = &x[row * 100..][..100];
                let wanted = of.iter().map(|v| f64::from(*v).exp()).sum::<f64>().ln();
                assert!((f64::from(y[2 * row]) - wanted).abs() < 1e-4, "{title}: {} {wanted}", y[2 * row]);
                assert_eq!(y[2 * row + 1], if title.contains("BLOCK=32") { 5.0 } else { 3.0 }, "{title}");
            }
        },
    );
}

#[test]
fn an_array_of_tiles_is_indexed_by_constants() {
    let x: Vec<f32> = (0..333).map(|i| (i % 17) as f32).collect();
    everywhere(
        by_parts::DESCS[0],
        |rt, options| {
            let mut y = vec![0.0f32; 34];
            rt.launch_with(rt.stream(), by_parts(&x, &mut y, 333usize), options)?;
            Ok(y)
        },
        |y, title| {
            for (lane, &found) in y[..32].iter().enumerate() {
                let wanted: f32 = x.iter().skip(lane).step_by(32).sum();
                assert_eq!(found, wanted, "{title}: {lane}");
            }
            let (rounds, step) = if title.contains("PARTS=1") { (11.0, 32.0) } else { (3.0, 128.0) };
            assert_eq!(y[32..], [(rounds - 1.0) * step + 1.0, rounds], "{title}");
        },
    );
}
