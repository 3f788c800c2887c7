use crate::backends::{close, everywhere, everywhere_of, random, refused};
use std::cmp::Ordering;
use tilewright_challenges as ops;

#[test]
fn matrix_vector_products() {
    let sizes = [(0, 5), (3, 0), (1, 1), (7, 33), (100, 1000), (5, 4097), (2, 30_001)];
    everywhere_of(sizes, [(3, 0), (1, 1), (7, 33), (2, 1500)], |on, &(rows, columns)| {
        let (a, x) = (random(1, rows * columns, -1.0, 1.0), random(2, columns, -1.0, 1.0));
        let mut y = vec![9.0; rows];
        ops::matrix_vector_product(on, &a, &x, &mut y).unwrap();
        let of = |r: usize| (0..columns).map(|c| f64::from(a[r * columns + c]) * f64::from(x[c])).sum();
        close((rows, columns), &y, &(0..rows).map(of).collect::<Vec<f64>>(), 1e-6 * (columns as f64).sqrt().max(1.0));
    });
}

/// The order of `torch.topk`: NaN is the greatest, and of equals the first comes first.
fn descending(a: f32, b: f32) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => b.partial_cmp(&a).expect("numbers"),
    }
}

fn check_gating(on: &crate::backends::Backend, logits: &[f32], experts: usize, k: usize) {
    let rows = logits.len() / experts;
    let (mut weights, mut indices) = (vec![9.0; rows * k], vec![9; rows * k]);
    ops::moe_topk_gating(on, logits, &mut weights, &mut indices, experts, k).unwrap();
    let (mut wanted_weights, mut wanted) = (vec![], vec![]);
    for row in logits.chunks(experts) {
        let mut order: Vec<usize> = (0..experts).collect();
        order.sort_by(|&a, &b| descending(row[a], row[b]));
        order.truncate(k);
        let e: Vec<f64> = order.iter().map(|&i| (f64::from(row[i]) - f64::from(row[order[0]])).exp()).collect();
        wanted_weights.extend(e.iter().map(|v| v / e.iter().sum::<f64>()));
        wanted.extend(order.iter().map(|&i| i as i32));
    }
    assert_eq!(indices, wanted, "{rows} x {experts}, {k}");
    close((rows, experts, k), &weights, &wanted_weights, 1e-6);
}

#[test]
fn gating() {
    let sizes = [(1, 1, 1), (9, 8, 2), (33, 64, 3), (5, 65, 65), (3, 2100, 4), (2, 7, 0)];
    everywhere_of(sizes, [(1, 1, 1), (9, 8, 2), (2, 130, 3)], |on, &(rows, experts, k)| {
        check_gating(on, &random(1, rows * experts, -5.0, 5.0), experts, k);
    });
    everywhere(|on| ops::moe_topk_gating(on, &[], &mut [], &mut [], 4, 2).unwrap());
}

#[test]
fn gating_with_ties_zeros_infinities_and_nan() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    everywhere(|on| {
        check_gating(on, &[1.0, 1.0, 1.0, 1.0, -0.0, 0.0, -0.0, -1.0], 4, 4);
        check_gating(on, &[-inf, -inf, -inf, 2.0, 1.0, -inf], 3, 2);
        check_gating(on, &[inf, 1.0, 2.0, nan, 3.0, -nan], 3, 3);
        // Over several blocks.
        let mut row = vec![-inf; 3000];
        (row[2999], row[5], row[1500]) = (7.0, 7.0, 8.0);
        check_gating(on, &row, 3000, 5);
    });
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    everywhere(|on| {
        let (mut y, mut weights, mut indices) = ([9.0; 2], [9.0; 4], [9; 4]);
        refused(ops::matrix_vector_product(on, &[1.0; 5], &[1.0; 2], &mut y), &y, 9.0);
        refused(ops::moe_topk_gating(on, &[1.0; 6], &mut weights, &mut indices, 3, 4), &weights, 9.0);
        refused(ops::moe_topk_gating(on, &[1.0; 7], &mut weights, &mut indices, 3, 2), &indices, 9);
        refused(ops::moe_topk_gating(on, &[1.0; 9], &mut weights, &mut indices, 3, 2), &indices, 9);
    });
}
