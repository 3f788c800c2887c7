use crate::backends::{close, everywhere, everywhere_of, integers, random, refused};
use tilewright_challenges as ops;

fn cross_entropy(logits: &[f32], labels: &[i32]) -> f64 {
    let columns = logits.len() / labels.len();
    let of = |(row, &label): (&[f32], &i32)| {
        let top = row.iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v.into()));
        let sum: f64 = row.iter().map(|&v| (f64::from(v) - top).exp()).sum();
        top + sum.ln() - f64::from(row[label as usize])
    };
    logits.chunks(columns).zip(labels).map(of).sum::<f64>() / labels.len() as f64
}

#[test]
fn cross_entropies() {
    let sizes = [(1, 1), (1, 5), (7, 64), (40, 1000), (3, 1025), (33, 65), (2, 9000)];
    everywhere_of(sizes, [(1, 1), (7, 64), (3, 1025), (40, 9)], |on, &(rows, columns)| {
        let logits = random(1, rows * columns, -50.0, 50.0);
        let labels = integers(2, rows, 0, columns as i32);
        let mut loss = [9.0];
        ops::softmax_cross_entropy(on, &logits, &labels, &mut loss).unwrap();
        close((rows, columns), &loss, &[cross_entropy(&logits, &labels)], 1e-6);
    });
}

#[test]
fn cross_entropies_of_no_numbers() {
    everywhere(|on| {
        let loss = |logits: &[f32], labels: &[i32]| {
            let mut loss = [9.0];
            ops::softmax_cross_entropy(on, logits, labels, &mut loss).unwrap();
            loss[0]
        };
        assert!(loss(&[], &[]).is_nan(), "the mean of nothing");
        for bad in [-1, 3, i32::MIN, i32::MAX] {
            assert!(loss(&[1.0, 2.0, 3.0, 1.0, 2.0, 3.0], &[0, bad]).is_nan(), "a label that is no column, {bad}");
        }
        assert!(loss(&[f32::NAN, 0.0], &[1]).is_nan());
        assert!(loss(&[f32::INFINITY, 0.0], &[1]).is_nan());
        assert!(loss(&[f32::NEG_INFINITY; 2], &[1]).is_nan());
        assert_eq!(loss(&[f32::NEG_INFINITY, 0.0], &[1]), 0.0);
        assert_eq!(loss(&[f32::NEG_INFINITY, 0.0], &[0]), f32::INFINITY);
        assert_eq!(loss(&[3e38, -3e38], &[0]), 0.0);
    });
}

fn surrogate(advantage: f64, ratio: f64, clip: f64) -> f64 {
    (ratio * advantage).min(ratio.clamp(1.0 - clip, 1.0 + clip) * advantage)
}

#[test]
fn ppo() {
    everywhere_of([1, 100, 5000, 70_001], [1, 5000], |on, &n| {
        let (a, new, old) = (random(1, n, -2.0, 2.0), random(2, n, -1.0, 0.0), random(3, n, -1.0, 0.0));
        let of = |i: usize| surrogate(a[i].into(), (f64::from(new[i]) - f64::from(old[i])).exp(), f64::from(0.2f32));
        let mut loss = [9.0];
        ops::ppo_clipped_surrogate_loss(on, &a, &new, &old, &mut loss, 0.2).unwrap();
        close(n, &loss, &[-(0..n).map(of).sum::<f64>() / n as f64], 1e-6);
    });
}

#[test]
fn dpo() {
    everywhere_of([1, 100, 5000, 70_001], [1, 3000], |on, &n| {
        let [a, b, c, d] = [1, 2, 3, 4].map(|seed| random(seed, n, -500.0, 500.0));
        let of = |i: usize| {
            let x = 0.125 * ((f64::from(a[i]) - f64::from(b[i])) - (f64::from(c[i]) - f64::from(d[i])));
            x.min(0.0) - (-x.abs()).exp().ln_1p()
        };
        let mut loss = [9.0];
        ops::dpo_sequence_loss(on, &a, &b, &c, &d, &mut loss, 0.125).unwrap();
        close(n, &loss, &[-(0..n).map(of).sum::<f64>() / n as f64], 2e-6);
    });
}

#[test]
fn grpo() {
    let sizes = [[1, 1, 1], [2, 3, 5], [4, 16, 100], [3, 7, 3000], [1, 1500, 2]];
    everywhere_of(sizes, [[1, 1, 1], [2, 3, 5], [3, 7, 300]], |on, &[groups, members, tokens]| {
        let (rows, n) = (groups * members, groups * members * tokens);
        let rewards = random(1, rows, -3.0, 3.0);
        let [new, old, reference] = [2, 3, 4].map(|seed| random(seed, n, -1.0, 0.0));
        let (clip, beta) = (f64::from(0.2f32), f64::from(0.01f32));
        let advantage = |row: usize| {
            let group = &rewards[row / members * members..][..members];
            let mean = group.iter().map(|&v| f64::from(v)).sum::<f64>() / members as f64;
            let variance = group.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / members as f64;
            (f64::from(rewards[row]) - mean) / (variance.sqrt() + 1e-8)
        };
        let of = |i: usize| {
            let d = f64::from(reference[i]) - f64::from(new[i]);
            let ratio = (f64::from(new[i]) - f64::from(old[i])).exp();
            surrogate(advantage(i / tokens), ratio, clip) - beta * (d.exp() - d - 1.0)
        };
        let mut loss = [9.0];
        let extents = [groups, members, tokens];
        ops::grpo_surrogate_loss(on, &rewards, &new, &old, &reference, &mut loss, extents, 0.2, 0.01).unwrap();
        close(extents, &loss, &[-(0..n).map(of).sum::<f64>() / n as f64], 2e-6);
    });
}

/// The mean of equal rewards is rounded, which must not become an advantage.
#[test]
fn equal_rewards_are_no_advantage() {
    everywhere(|on| {
        let mut loss = [9.0];
        let zeros = [0.0; 14];
        ops::grpo_surrogate_loss(on, &[0.1; 7], &zeros, &zeros, &zeros, &mut loss, [1, 7, 2], 0.2, 0.01).unwrap();
        assert_eq!(loss[0].abs(), 0.0);
    });
}

#[test]
fn nothing_and_no_numbers() {
    everywhere(|on| {
        let mut loss = [9.0];
        ops::ppo_clipped_surrogate_loss(on, &[], &[], &[], &mut loss, 0.2).unwrap();
        assert!(loss[0].is_nan());
        ops::ppo_clipped_surrogate_loss(on, &[1.0, 1.0], &[0.0, f32::NAN], &[0.0, 0.0], &mut loss, 0.2).unwrap();
        assert!(loss[0].is_nan());
        ops::dpo_sequence_loss(on, &[f32::NAN], &[0.0], &[0.0], &[0.0], &mut loss, 0.1).unwrap();
        assert!(loss[0].is_nan());
        ops::dpo_sequence_loss(on, &[], &[], &[], &[], &mut loss, 0.1).unwrap();
        assert!(loss[0].is_nan());
        ops::grpo_surrogate_loss(on, &[], &[], &[], &[], &mut loss, [0, 3, 2], 0.2, 0.1).unwrap();
        assert!(loss[0].is_nan());
    });
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    everywhere(|on| {
        let (three, two, mut loss) = ([0.0; 3], [0.0; 2], [9.0]);
        refused(ops::softmax_cross_entropy(on, &three, &[0, 1], &mut loss), &loss, 9.0);
        refused(ops::softmax_cross_entropy(on, &three, &[], &mut loss), &loss, 9.0);
        refused(ops::ppo_clipped_surrogate_loss(on, &three, &two, &three, &mut loss, 0.2), &loss, 9.0);
        refused(ops::dpo_sequence_loss(on, &three, &three, &three, &two, &mut loss, 0.2), &loss, 9.0);
        let wrong = ops::grpo_surrogate_loss(on, &two, &three, &three, &three, &mut loss, [1, 2, 2], 0.2, 0.1);
        refused(wrong, &loss, 9.0);
    });
}
