use crate::backends::{close, everywhere, everywhere_of, integers, random, refused};
use tilewright_challenges as ops;

/// In f32, each square rounded: indices are to be equal.
fn nearest(points: &[f32]) -> Vec<i32> {
    let n = points.len() / 3;
    let of = |i: usize| {
        let mut best = (f32::INFINITY, 0);
        for j in (0..n).filter(|&j| j != i) {
            let [x, y, z] = [0, 1, 2].map(|k| points[3 * j + k] - points[3 * i + k]);
            let d = x * x + y * y + z * z;
            let d = if d.is_nan() { -1.0 } else { d };
            if d < best.0 {
                best = (d, j as i32);
            }
        }
        best.1
    };
    (0..n).map(of).collect()
}

#[test]
fn nearest_points() {
    everywhere_of([0, 1, 2, 17, 300, 1111], [0, 1, 2, 150], |on, &n| {
        let mut found = vec![9; n];
        let points = random(1, 3 * n, -10.0, 10.0);
        ops::nearest_neighbor(on, &points, &mut found).unwrap();
        assert_eq!(found, nearest(&points), "{n}");
        // Whole numbers of a small range: many distances are equal.
        let points: Vec<f32> = integers(2, 3 * n, 0, 5).into_iter().map(|v| v as f32).collect();
        ops::nearest_neighbor(on, &points, &mut found).unwrap();
        assert_eq!(found, nearest(&points), "{n}, with ties");
    });
}

#[test]
fn nearest_of_points_that_are_no_numbers() {
    everywhere(|on| {
        let mut points = random(3, 3 * 200, -1.0, 1.0);
        (points[3 * 150], points[3 * 20 + 1], points[3 * 7 + 2]) = (f32::INFINITY, f32::NAN, 3e38);
        let mut found = vec![9; 200];
        ops::nearest_neighbor(on, &points, &mut found).unwrap();
        assert_eq!(found, nearest(&points));
        assert_eq!((found[0], found[20]), (20, 0));
    });
}

fn step(agents: &[f32]) -> Vec<f64> {
    let all: Vec<[f64; 4]> = agents.chunks(4).map(|a| [a[0], a[1], a[2], a[3]].map(f64::from)).collect();
    let of = |(i, a): (usize, &[f64; 4])| {
        let near = |j: usize, b: &[f64; 4]| j != i && (b[0] - a[0]).powi(2) + (b[1] - a[1]).powi(2) < 25.0;
        let near: Vec<_> = all.iter().enumerate().filter(|(j, b)| near(*j, b)).map(|(_, b)| b).collect();
        let mean = |k: usize| match near.len() {
            0 => a[k],
            n => near.iter().map(|b| b[k]).sum::<f64>() / n as f64,
        };
        let (vx, vy) = (a[2] + 0.05 * (mean(2) - a[2]), a[3] + 0.05 * (mean(3) - a[3]));
        [a[0] + vx, a[1] + vy, vx, vy]
    };
    all.iter().enumerate().flat_map(of).collect()
}

#[test]
fn flocks() {
    everywhere_of([0, 1, 2, 18, 333], [0, 1, 140], |on, &n| {
        // Whole numbers: distances are exact, and some of them are 5.
        let agents: Vec<f32> = integers(1, 4 * n, -20, 20).into_iter().map(|v| v as f32).collect();
        let mut next = vec![9.0; 4 * n];
        ops::multi_agent_sim(on, &agents, &mut next).unwrap();
        close(n, &next, &step(&agents), 1e-6);
    });
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    everywhere(|on| {
        let (mut found, mut next) = ([9; 2], [9.0; 6]);
        refused(ops::nearest_neighbor(on, &[1.0; 7], &mut found), &found, 9);
        refused(ops::multi_agent_sim(on, &[1.0; 6], &mut next), &next, 9.0);
        refused(ops::multi_agent_sim(on, &[1.0; 8], &mut next), &next, 9.0);
    });
}
