use crate::backends::{close, everywhere, everywhere_of, integers, random, refused};
use tilewright_challenges::{self as ops, EmbeddingTables};

/// Values less their mean, over the root of the mean of squares and `eps`.
fn normalized(x: &[f64], eps: f64) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / x.len() as f64;
    x.iter().map(|v| (v - mean) / (variance + eps).sqrt()).collect()
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&v| v.into()).collect()
}

const EPS: f32 = 1e-5;

#[test]
fn rms_norm_of_a_vector() {
    everywhere_of([0, 1, 33, 4096, 100_003], [0, 1, 5001], |on, &n| {
        let (x, mut y) = (random(1, n, -3.0, 5.0), vec![9.0; n]);
        ops::rms_normalization(on, &x, &mut y, 1.5, 0.25, EPS).unwrap();
        let mean = x.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / n as f64;
        let of = |&v: &f32| f64::from(v) / (mean + f64::from(EPS)).sqrt() * 1.5 + 0.25;
        close(n, &y, &x.iter().map(of).collect::<Vec<_>>(), 2e-6);
    });
}

#[test]
fn batch_norm() {
    let sizes = [(0, 4), (1, 1), (3, 7), (65, 70), (200, 129), (3000, 5), (5, 600)];
    everywhere_of(sizes, [(1, 1), (65, 70), (300, 5)], |on, &(rows, columns)| {
        let x = random(1, rows * columns, -3.0, 7.0);
        let (gamma, beta) = (random(2, columns, -2.0, 2.0), random(3, columns, -2.0, 2.0));
        let mut y = vec![9.0; x.len()];
        ops::batch_normalization(on, &x, &gamma, &beta, &mut y, EPS).unwrap();
        let mut wanted = vec![0.0; x.len()];
        for c in 0..columns {
            let column: Vec<f64> = (0..rows).map(|r| x[r * columns + c].into()).collect();
            for (r, v) in normalized(&column, EPS.into()).into_iter().enumerate() {
                wanted[r * columns + c] = v * f64::from(gamma[c]) + f64::from(beta[c]);
            }
        }
        close((rows, columns), &y, &wanted, 5e-6);
    });
}

#[test]
fn group_norm() {
    // samples, channels, area, groups
    let sizes = [
        (0, 4, 4, 2),
        (1, 1, 1, 1),
        (2, 6, 5, 3),
        (3, 4, 49, 2),
        (1, 4, 2048, 2),
        (2, 2, 4096, 1),
        (1, 6, 4096, 2),
        (1, 32, 300, 2),
        (2, 8, 0, 2),
    ];
    let few = [(1, 1, 1, 1), (2, 6, 5, 3), (1, 4, 2048, 2), (1, 2, 4096, 1)];
    everywhere_of(sizes, few, |on, &(samples, channels, area, groups)| {
        let x = random(1, samples * channels * area, -9.0, 11.0);
        let (gamma, beta) = (random(2, channels, -2.0, 2.0), random(3, channels, -2.0, 2.0));
        let mut y = vec![9.0; x.len()];
        ops::group_normalization(on, &x, &gamma, &beta, &mut y, [samples, channels, area], groups, EPS).unwrap();
        let columns = channels / groups * area;
        let rows = x.chunks(columns.max(1)).enumerate().flat_map(|(r, row)| {
            let first = r % groups * (channels / groups);
            let (gamma, beta) = (&gamma, &beta);
            normalized(&wide(row), EPS.into()).into_iter().enumerate().map(move |(c, v)| {
                let channel = first + c / area;
                v * f64::from(gamma[channel]) + f64::from(beta[channel])
            })
        });
        close((samples, channels, area, groups), &y, &rows.collect::<Vec<_>>(), 5e-6);
    });
}

#[test]
fn embedding() {
    // rows, columns, tokens, positions
    let sizes = [(0, 4, 3, 3), (1, 1, 1, 1), (9, 7, 20, 5), (6, 768, 11, 13), (3, 5000, 4, 2)];
    everywhere_of(sizes, [(1, 1, 1, 1), (9, 7, 20, 5), (2, 1100, 3, 3)], |on, &(rows, columns, tokens, positions)| {
        let (token_table, position_table) =
            (random(1, tokens * columns, -1.0, 1.0), random(2, positions * columns, -1.0, 1.0));
        let (gamma, beta) = (random(3, columns, -2.0, 2.0), random(4, columns, -2.0, 2.0));
        // Some are in no table.
        let (ids, places) = (
            integers(5, rows, -1, tokens as i32 + 1),
            integers(6, if rows % 3 == 0 { rows / 3 } else { rows }, 0, positions as i32),
        );
        let mut y = vec![9.0; rows * columns];
        let tables = EmbeddingTables { tokens: &token_table, positions: &position_table, gamma: &gamma, beta: &beta };
        ops::token_embedding_layer(on, &ids, &places, tables, &mut y, EPS).unwrap();
        let mut wanted = vec![];
        for (&id, &place) in ids.iter().zip(places.iter().cycle()) {
            let sums = (0..columns).map(|c| {
                let token = if (0..tokens as i32).contains(&id) { token_table[id as usize * columns + c] } else { 0.0 };
                f64::from(token) + f64::from(position_table[place as usize * columns + c])
            });
            let sums: Vec<f64> = sums.collect();
            let of = |(c, v): (usize, f64)| v * f64::from(gamma[c]) + f64::from(beta[c]);
            wanted.extend(normalized(&sums, EPS.into()).into_iter().enumerate().map(of));
        }
        close((rows, columns), &y, &wanted, 5e-6);
    });
}

/// The mean of squares less the square of the mean would be off by a thousandth and more.
#[test]
fn a_mean_that_is_large_beside_the_deviation() {
    everywhere_of([(2, 700), (1, 4500)], [(1, 700)], |on, &(rows, columns)| {
        let x = random(1, rows * columns, 990.0, 1010.0);
        let wanted: Vec<f64> = x.chunks(columns).flat_map(|row| normalized(&wide(row), EPS.into())).collect();
        let (ones, zeros, mut y) = (vec![1.0; columns], vec![0.0; columns], vec![9.0; x.len()]);
        ops::group_normalization(on, &x, &[1.0], &[0.0], &mut y, [rows, 1, columns], 1, EPS).unwrap();
        close(("group norm", rows, columns), &y, &wanted, 4e-5);
        let transposed: Vec<f32> = (0..x.len()).map(|i| x[i % rows * columns + i / rows]).collect();
        ops::batch_normalization(on, &transposed, &ones[..rows], &zeros[..rows], &mut y, EPS).unwrap();
        let wanted: Vec<f64> = (0..x.len()).map(|i| wanted[i % rows * columns + i / rows]).collect();
        close(("batch norm", columns, rows), &y, &wanted, 4e-5);
    });
}

#[test]
fn a_row_of_equals_and_one_with_nan() {
    everywhere(|on| {
        let mut x = vec![7.25; 3 * 1500];
        x[1500] = f32::NAN;
        let mut y = vec![9.0; x.len()];
        ops::group_normalization(on, &x, &[1.0], &[0.5], &mut y, [3, 1, 1500], 1, EPS).unwrap();
        assert!(y[..1500].iter().chain(&y[3000..]).all(|v| *v == 0.5), "{:?}", &y[..4]);
        assert!(y[1500..3000].iter().all(|v| v.is_nan()));
    });
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    everywhere(|on| {
        let (six, three, two, mut y) = ([1.0; 6], [1.0; 3], [1.0; 2], [9.0; 6]);
        refused(ops::rms_normalization(on, &three, &mut y, 1.0, 0.0, EPS), &y, 9.0);
        refused(ops::batch_normalization(on, &six, &three, &two, &mut y, EPS), &y, 9.0);
        refused(ops::group_normalization(on, &six, &three, &three, &mut y, [1, 3, 2], 2, EPS), &y, 9.0);
        refused(ops::group_normalization(on, &six, &three, &three, &mut y, [1, 3, 2], 0, EPS), &y, 9.0);
        let tables = EmbeddingTables { tokens: &six, positions: &two, gamma: &three, beta: &three };
        refused(ops::token_embedding_layer(on, &[0, 1], &[0, 0], tables, &mut y, EPS), &y, 9.0);
        let tables = EmbeddingTables { tokens: &six, positions: &three, gamma: &three, beta: &three };
        refused(ops::token_embedding_layer(on, &[0, 1], &[0; 3], tables, &mut y, EPS), &y, 9.0);
        refused(ops::token_embedding_layer(on, &[0, 1], &[], tables, &mut y, EPS), &y, 9.0);
    });
}
