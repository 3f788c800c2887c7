//! Programs without products that are partitioned over a cluster: reductions over all CTAs, and effects of one CTA.

use tilewright::{AsSlice, AsSliceMut, tile_kernel};
use tilewright_language_tests::run::{backends, seeds, with};

/// Whole numbers: sums of them are exact in every order.
fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + i / 13) % 97) as f32 - 48.0).collect()
}

/// Softmax of rows, a row in a tile or tile by tile.
#[tile_kernel(
    tune(BLOCK = [1024], warps = [1, 4], ctas = [2, 8], arch = [90]),
    grid = [rows],
    emulate = all,
)]
fn softmax<const BLOCK: usize>(x: &[f32], y: &mut [f32], rows: usize, cols: usize) {
    let row = program_id(0) * cols;
    let c = arange(BLOCK);
    if cols <= BLOCK {
        let v = load(x, row + c).mask(c < cols).other(f32::NEG_INFINITY);
        let e = exp(v - max(v));
        store(y, row + c, e / sum(e)).mask(c < cols);
    } else {
        let mut m = f32::NEG_INFINITY;
        let mut s = 0.0;
        for start in (0..cols).step_by(BLOCK) {
            let v = load(x, row + start + c).mask(start + c < cols).other(f32::NEG_INFINITY);
            let higher = maximum(m, max(v));
            s = s * exp(m - higher) + sum(exp(v - higher));
            m = higher;
        }
        for start in (0..cols).step_by(BLOCK) {
            let e = exp(load(x, row + start + c).mask(start + c < cols) - m);
            store(y, row + start + c, e / s).mask(start + c < cols);
        }
    }
}

#[test]
fn rows_of_any_width() {
    let configs = softmax::DESCS[0].configs.iter().map(|c| c.id);
    for (rt, config) in seeds().iter().flat_map(|rt| configs.clone().map(move |c| (rt, c))) {
        for cols in [1, 37, 512, 1024, 3000] {
            let (rows, x) = (3, numbers(3 * cols));
            let mut y = vec![f32::NAN; rows * cols];
            let call = softmax(&x, &mut y, rows, cols);
            rt.launch_with(rt.stream(), call, &tilewright_language_tests::run::with(config)).expect(config);
            for (x, y) in x.chunks(cols).zip(y.chunks(cols)) {
                let most = x.iter().fold(f32::MIN, |m, &v| m.max(v));
                let total: f64 = x.iter().map(|&v| f64::from(v - most).exp()).sum();
                for (&x, &y) in x.iter().zip(y) {
                    let wanted = f64::from(x - most).exp() / total;
                    assert!((f64::from(y) - wanted).abs() <= 1e-6, "{config}, {cols} columns: {y} for {wanted}");
                }
            }
        }
    }
}

/// Mean and variance of columns, and the index of the first best one, of rows whose columns are partitioned.
#[tile_kernel(tune(warps = [2], ctas = [4], arch = [90]), grid = [1], emulate = all)]
fn statistics(x: &[f32], means: &mut [f32], squares: &mut [f32], firsts: &mut [i32], lasts: &mut [i32]) {
    let (r, c) = (arange(4), arange(256));
    let v = load(x, r.expand(1) * 256 + c.expand(0));
    // Count, mean and the sum of squared differences.
    let ones = full([4, 256], 1.0);
    let (_, mean, square) = reduce((ones, v, zeros::<f32>([4, 256])), 1, |(n, m, s), (k, o, t)| {
        let total = n + k;
        let d = o - m;
        (total, m + d * (k / total), s + t + d * d * (n * k / total))
    });
    store(means, r, mean);
    store(squares, r, square);
    store(firsts, r, argmax(v, 1));
    store(lasts, r, argmin(v, 1));
}

#[test]
fn pairs_and_indices_are_reduced() {
    let mut x = numbers(4 * 256);
    // The same best one in two blocks, one that only a NaN is beside, and nothing but NaN.
    (x[40], x[200], x[300], x[701]) = (99.0, 99.0, f32::NAN, -99.0);
    x[768..].fill(f32::NAN);
    for rt in backends() {
        let (mut means, mut squares) = (vec![0.0; 4], vec![0.0; 4]);
        let (mut firsts, mut lasts) = (vec![-1; 4], vec![-1; 4]);
        rt.launch(statistics(&x, &mut means, &mut squares, &mut firsts, &mut lasts)).unwrap();
        for (i, row) in x.chunks(256).enumerate() {
            let mean = row.iter().map(|&v| f64::from(v)).sum::<f64>() / 256.0;
            let square = row.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>();
            let near = |found: f32, wanted: f64| {
                found.is_nan() && wanted.is_nan() || (f64::from(found) - wanted).abs() <= 1e-4 * wanted.abs().max(1.0)
            };
            assert!(near(means[i], mean) && near(squares[i], square), "row {i}: {means:?} {squares:?}");
            let best = |better: fn(f32, f32) -> bool| {
                let mut found = 0;
                for (j, &v) in row.iter().enumerate() {
                    if better(v, row[found]) || row[found].is_nan() && !v.is_nan() {
                        found = j;
                    }
                }
                found as i32
            };
            assert_eq!((firsts[i], lasts[i]), (best(|a, b| a > b), best(|a, b| a < b)), "row {i}");
        }
    }
}

/// Rows of a tile whose columns are partitioned: several results of each reduction go from block to block.
#[tile_kernel(
    tune(ROWS = [1, 2, 8], BLOCK = [512], warps = [1, 4], ctas = [2, 4], arch = [90]),
    grid = [cdiv(rows, ROWS)],
    emulate = all,
)]
fn centered<const ROWS: usize, const BLOCK: usize>(
    x: &[f32],
    y: &mut [f32],
    places: &mut [i32],
    rows: usize,
    columns: usize,
) {
    let r = program_id(0) * ROWS + arange(ROWS);
    let c = arange(BLOCK).expand(0);
    let inside = (r < rows).expand(1) & (c < columns);
    let v = load(x, r.expand(1) * columns + c).mask(inside);
    let d = where_(inside, v - sum(v, 1).expand(1) / columns as f32, 0.0);
    let (_, squares) = reduce((d, d * d), 1, |(a, b), (c, d)| (a + c, b + d));
    store(places, r, argmax(where_(inside, v, f32::NEG_INFINITY), 1)).mask(r < rows);
    store(y, r.expand(1) * columns + c, d * rsqrt(squares / columns as f32).expand(1)).mask(inside);
}

#[test]
fn rows_of_a_tile_are_reduced_over_all_blocks() {
    let configs = centered::DESCS[0].configs.iter().map(|c| c.id);
    for (rt, config) in backends().iter().flat_map(|rt| configs.clone().map(move |c| (rt, c))) {
        for (rows, columns) in [(1, 512), (5, 300), (17, 37)] {
            let x = numbers(rows * columns);
            let (mut y, mut places) = (vec![f32::NAN; rows * columns], vec![-1; rows]);
            let call = centered(&x, &mut y, &mut places, rows, columns);
            rt.launch_with(rt.stream(), call, &with(config)).expect(config);
            for (i, (x, y)) in x.chunks(columns).zip(y.chunks(columns)).enumerate() {
                let mean = x.iter().map(|&v| f64::from(v)).sum::<f64>() / columns as f64;
                let square = x.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / columns as f64;
                for (&x, &y) in x.iter().zip(y) {
                    let wanted = (f64::from(x) - mean) / square.sqrt();
                    assert!((f64::from(y) - wanted).abs() <= 1e-5, "{config}, {rows} x {columns}: {y} for {wanted}");
                }
                let most = x.iter().copied().fold(f32::MIN, f32::max);
                assert_eq!(Some(places[i] as usize), x.iter().position(|&v| v == most), "{config}, row {i}");
            }
        }
    }
}

/// Work that is not partitioned is done once: a sum is stored, and added where others add. Elements are stored where
/// others load them, in an order of their own.
#[tile_kernel(tune(warps = [2], ctas = [2], arch = [90]), grid = [x.len() / 512], emulate = all)]
fn once(x: &mut [i32], sums: &mut [i32], total: &mut [i32], counts: &mut [u32], any: &mut [bool]) {
    let first = program_id(0) * 512;
    let i = arange(512);
    let v = load(x, first + i);
    let s = sum(v);
    store(sums, program_id(0), s);
    atomic_add(total, 0, s).relaxed();
    atomic_add(counts, (v as u32) % 8, 1u32);
    store(any, program_id(0), sum((v == 77) as i32) > 0);
    store(x, first + 511 - i, v + load(x, first + i));
    store(x, first + i, load(x, first + i) + s);
}

#[test]
fn one_block_does_what_is_not_shared_out() {
    let before: Vec<i32> = (0..2048).map(|i| (i * 37) % 75).collect();
    for rt in backends() {
        let (mut x, mut sums, mut total) = (before.clone(), vec![0; 4], vec![1000]);
        let (mut counts, mut any) = (vec![0u32; 8], vec![true; 4]);
        x[1500] = 77;
        let given = x.clone();
        rt.launch(once(&mut x, &mut sums, &mut total, &mut counts, &mut any)).unwrap();
        let wanted: Vec<i32> = given.chunks(512).map(|b| b.iter().sum()).collect();
        assert_eq!(sums, wanted);
        assert_eq!(total[0], 1000 + wanted.iter().sum::<i32>());
        assert!((0..8).all(|k| counts[k] as usize == given.iter().filter(|&&v| v as usize % 8 == k).count()));
        assert_eq!(any, [false, false, true, false]);
        let wanted = given.chunks(512).zip(&wanted).flat_map(|(b, s)| b.iter().rev().map(move |v| 2 * v + s));
        assert!(x.iter().copied().eq(wanted), "each block mirrored");
    }
}

/// A loop of reductions, of types of all sizes, and of columns whose number is no power of two.
#[tile_kernel(tune(warps = [1], ctas = [2], arch = [90]), grid = [1], emulate = all)]
fn sizes(a: &[u8], b: &[f16], c: &[f64], y: &mut [f64], n: usize) {
    let i = arange(96);
    let mut at = 0;
    while at < n {
        store(y, at, max(load(a, at * 96 + i)) as f64);
        store(y, n + at, sum(load(b, at * 96 + i).to::<f32>()).to::<f16>().to::<f64>());
        store(y, 2 * n + at, min(load(c, at * 96 + i)) + max(load(b, at * 96 + i)).to::<f64>());
        at += 1;
    }
}

#[test]
fn elements_of_any_size_again_and_again() {
    use tilewright::f16;
    let n = 5;
    let x = numbers(n * 96);
    let a: Vec<u8> = x.iter().map(|v| (v + 50.0) as u8).collect();
    let (b, c): (Vec<f16>, Vec<f64>) =
        (x.iter().map(|&v| f16::from_f32(v)).collect(), x.iter().map(|&v| f64::from(v) / 3.0).collect());
    for rt in backends() {
        let mut y = vec![f64::NAN; 3 * n];
        rt.launch(sizes(&a, &b, &c, &mut y, n)).unwrap();
        for (i, row) in x.chunks(96).enumerate() {
            let (least, most) = (row.iter().copied().fold(99.0, f32::min), row.iter().copied().fold(-99.0, f32::max));
            assert_eq!(y[i], f64::from(most + 50.0));
            assert_eq!(y[n + i], f64::from(f16::from_f32(row.iter().sum()).to_f32()));
            assert_eq!(y[2 * n + i], f64::from(least) / 3.0 + f64::from(most));
        }
    }
}

/// One reduction an iteration: the next parts come after the last ones were loaded.
#[tile_kernel(tune(warps = [1], ctas = [2], arch = [90]), grid = [1], emulate = all)]
fn rounds(x: &[i32], y: &mut [i32]) {
    for at in 0..y.len() {
        store(y, at, sum(load(x, at * 64 + arange(64))));
    }
}

#[test]
fn iterations_exchange_one_after_another() {
    let x: Vec<i32> = (0..8 * 64).map(|i| i * i % 101).collect();
    for rt in backends() {
        let mut y = vec![0; 8];
        rt.launch(rounds(&x, &mut y)).unwrap();
        assert!(x.chunks(64).map(|row| row.iter().sum::<i32>()).eq(y));
    }
}

/// A sum of one block's own between a store and a load of another block's stores.
#[tile_kernel(tune(warps = [2], ctas = [2], arch = [90]), grid = [1], emulate = all)]
fn between(x: &mut [i32], w: &[i32], y: &mut [i32]) {
    let i = arange(512);
    store(x, 511 - i, i.to::<i32>());
    let t = sum(load(w, arange(96)));
    store(y, i, load(x, i) + t);
    store(y, 512, t);
}

#[test]
fn a_barrier_of_one_block_orders_nothing_between_blocks() {
    for rt in backends() {
        let (mut x, w, mut y) = (vec![0; 512], vec![2; 96], vec![0; 513]);
        rt.launch(between(&mut x, &w, &mut y)).unwrap();
        assert!(y.iter().copied().eq((0..512).map(|i| 511 - i + 192).chain([192])));
    }
}

/// Rows that are partitioned where the columns are scanned.
#[tile_kernel(tune(warps = [1], ctas = [4], arch = [90]), grid = [1], emulate = all)]
fn scanned(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
    y.store([0, 0], cumsum(x.tile([0, 0], [8, 64]), 1));
}

#[test]
fn another_dimension_is_shared_out() {
    let x = numbers(8 * 64);
    for rt in backends() {
        let mut y = vec![f32::NAN; 8 * 64];
        let (from, to) = (x.as_slice_arg().view([8, 64]).unwrap(), y.as_slice_mut_arg().view([8, 64]).unwrap());
        rt.launch(scanned(from, to)).unwrap();
        for (x, y) in x.chunks(64).zip(y.chunks(64)) {
            let mut s = 0.0;
            assert!(x.iter().zip(y).all(|(v, y)| {
                s += v;
                s == *y
            }));
        }
    }
}

/// The places of the best elements of one row, whose parts lie in different CTAs.
#[tile_kernel(tune(warps = [1, 2], ctas = [2, 4], arch = [90]), grid = [1], emulate = all)]
fn places_of_the_best(x: &[f32], y: &mut [i32]) {
    let v = load(x, arange(256));
    store(y, 0, argmax(v));
    store(y, 1, argmin(v));
}

#[test]
fn an_index_counts_from_the_first_part() {
    for config in places_of_the_best::DESCS[0].configs {
        for at in [0, 63, 64, 130, 200, 255] {
            let mut x = numbers(256);
            (x[at], x[255 - at]) = (99.0, -99.0);
            for rt in backends() {
                let mut y = [-1; 2];
                rt.launch_with(rt.stream(), places_of_the_best(&x, &mut y), &with(config.id))
                    .unwrap_or_else(|e| panic!("{} {at}: {e}", config.id));
                assert_eq!(y, [at as i32, 255 - at as i32], "{} on {}", config.id, rt.name());
            }
        }
    }
}

/// Elements of the longest tile are counted and gathered, so that those of another tile are shared out.
#[tile_kernel(tune(warps = [2], ctas = [2, 4], arch = [90]), grid = [1], emulate = all)]
fn counted(x: &[i32], counts: &mut [i32], gathered: &mut [i32], y: &mut [i32]) {
    let t = load(x, arange(512));
    store(counts, arange(16), histogram(t, 16));
    let v = load(x, arange(64));
    store(gathered, arange(32), gather(load(x, arange(512)), load(x, arange(32)) * 29, 0));
    store(y, arange(64), v + v);
}

#[test]
fn elements_that_are_counted_or_gathered_are_not_shared_out() {
    let x: Vec<i32> = (0..512).map(|i| (i * i + i / 7) % 17).collect();
    let wanted_counts: Vec<i32> = (0..16).map(|bin| x.iter().filter(|v| **v == bin).count() as i32).collect();
    let wanted_gathered: Vec<i32> = x[..32].iter().map(|v| x[*v as usize * 29]).collect();
    let twice: Vec<i32> = x[..64].iter().map(|v| 2 * v).collect();
    for config in counted::DESCS[0].configs {
        for rt in backends() {
            let (mut counts, mut gathered, mut y) = (vec![-1; 16], vec![-1; 32], vec![-1; 64]);
            rt.launch_with(rt.stream(), counted(&x, &mut counts, &mut gathered, &mut y), &with(config.id))
                .unwrap_or_else(|e| panic!("{}: {e}", config.id));
            let what = format!("{} on {}", config.id, rt.name());
            assert_eq!(
                (counts, gathered, y),
                (wanted_counts.clone(), wanted_gathered.clone(), twice.clone()),
                "{what}"
            );
        }
    }
}
