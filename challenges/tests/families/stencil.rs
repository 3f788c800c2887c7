use crate::backends::{close, everywhere, everywhere_of, random, refused};
use tilewright_challenges::{self as ops, Pooling};

/// Cross-correlation with padding, of which the result begins `pad` before the input.
fn correlated(x: &[f32], n: [usize; 3], taps: &[f32], k: [usize; 3], out: [usize; 3], pad: [usize; 3]) -> Vec<f64> {
    let mut y = vec![];
    for d in 0..out[0] {
        for r in 0..out[1] {
            for c in 0..out[2] {
                let mut sum = 0.0;
                for i in 0..k[0] {
                    for j in 0..k[1] {
                        for l in 0..k[2] {
                            let at =
                                [(d + i, pad[0]), (r + j, pad[1]), (c + l, pad[2])].map(|(a, p)| a.wrapping_sub(p));
                            if (0..3).all(|axis| at[axis] < n[axis]) {
                                let v = x[(at[0] * n[1] + at[1]) * n[2] + at[2]];
                                sum += f64::from(v) * f64::from(taps[(i * k[1] + j) * k[2] + l]);
                            }
                        }
                    }
                }
                y.push(sum);
            }
        }
    }
    y
}

#[test]
fn convolutions() {
    let sizes = [
        ([1, 1, 1], [1, 1, 1]),
        ([1, 5, 7], [1, 2, 3]),
        ([1, 40, 300], [1, 15, 15]),
        ([1, 20, 20], [1, 20, 20]),
        ([6, 9, 11], [3, 4, 5]),
        ([4, 10, 140], [1, 5, 5]),
        ([3, 3, 3], [3, 1, 2]),
    ];
    let few = [([1, 1, 1], [1, 1, 1]), ([1, 12, 140], [1, 5, 3]), ([4, 5, 6], [2, 3, 4])];
    everywhere_of(sizes, few, |on, &(n, k)| {
        let (x, taps) = (random(1, n.iter().product(), -1.0, 1.0), random(2, k.iter().product(), -1.0, 1.0));
        let out = [0, 1, 2].map(|axis| n[axis] - k[axis] + 1);
        let mut y = vec![9.0; out.iter().product()];
        let wanted = correlated(&x, n, &taps, k, out, [0; 3]);
        ops::convolution_3d(on, &x, &taps, &mut y, n, k).unwrap();
        close((n, k), &y, &wanted, 3e-6);
        if n[0] == 1 {
            y.fill(9.0);
            ops::convolution_2d(on, &x, &taps, &mut y, [n[1], n[2]], [k[1], k[2]]).unwrap();
            close((n, k), &y, &wanted, 3e-6);
        }
    });
}

/// A tap of an element that is outside is no product with zero, and one of an element inside is.
#[test]
fn an_infinite_element_reaches_its_window_alone() {
    everywhere(|on| {
        let (mut x, mut y) = (vec![1.0; 30 * 30], vec![9.0; 28 * 28]);
        x[15 * 30 + 15] = f32::INFINITY;
        ops::convolution_2d(on, &x, &[1.0; 9], &mut y, [30, 30], [3, 3]).unwrap();
        for (i, v) in y.iter().enumerate() {
            let is_near = (13..=15).contains(&(i / 28)) && (13..=15).contains(&(i % 28));
            assert_eq!(*v, if is_near { f32::INFINITY } else { 9.0 }, "{i}");
        }
    });
}

#[test]
fn blurs() {
    let sizes = [
        ([0, 3], [1, 1]),
        ([1, 1], [3, 3]),
        ([5, 7], [3, 5]),
        ([30, 150], [7, 7]),
        ([4, 4], [11, 9]),
        ([9, 9], [4, 2]),
    ];
    everywhere_of(sizes, [([1, 1], [3, 3]), ([10, 140], [5, 5])], |on, &([r, c], [i, j])| {
        let (x, taps) = (random(1, r * c, -1.0, 1.0), random(2, i * j, -1.0, 1.0));
        let mut y = vec![9.0; r * c];
        ops::gaussian_blur(on, &x, &taps, &mut y, [r, c], [i, j]).unwrap();
        close(([r, c], [i, j]), &y, &correlated(&x, [1, r, c], &taps, [1, i, j], [1, r, c], [0, i / 2, j / 2]), 1e-6);
    });
}

#[test]
fn poolings() {
    let of = |side, stride, padding| Pooling { side, stride, padding };
    let sizes = [
        ([1, 1, 1], of(1, 1, 0)),
        ([0, 8, 8], of(2, 2, 0)),
        ([3, 7, 9], of(3, 2, 1)),
        ([2, 40, 300], of(3, 2, 1)),
        ([1, 10, 10], of(2, 5, 1)),
        ([2, 9, 9], of(9, 1, 4)),
        ([1, 30, 70], of(5, 3, 0)),
    ];
    let few = [([1, 1, 1], of(1, 1, 0)), ([2, 20, 150], of(3, 2, 1)), ([1, 10, 10], of(2, 5, 1))];
    everywhere_of(sizes, few, |on, &([planes, rows, columns], pooling)| {
        let mut x = random(1, planes * rows * columns, -1.0, 1.0);
        if let Some(last) = x.last_mut() {
            *last = f32::NAN;
        }
        let (h, w) = (pooling.outputs(rows).unwrap(), pooling.outputs(columns).unwrap());
        let mut y = vec![9.0; planes * h * w];
        ops::max_pooling_2d(on, &x, &mut y, [planes, rows, columns], pooling).unwrap();
        let value = |i: usize| {
            let (plane, r, c) = (i / (h * w), i / w % h, i % w);
            let mut highest = f32::NEG_INFINITY;
            for j in 0..pooling.side {
                for k in 0..pooling.side {
                    let row = (r * pooling.stride + j).wrapping_sub(pooling.padding);
                    let column = (c * pooling.stride + k).wrapping_sub(pooling.padding);
                    if row < rows && column < columns {
                        let v = x[(plane * rows + row) * columns + column];
                        highest = if highest.is_nan() || v <= highest { highest } else { v };
                    }
                }
            }
            f64::from(highest)
        };
        close(([planes, rows, columns], pooling), &y, &(0..y.len()).map(value).collect::<Vec<_>>(), 0.0);
    });
}

#[test]
fn jacobi() {
    let sizes = [[0, 5], [1, 1], [1, 9], [9, 1], [2, 2], [3, 3], [17, 300], [40, 513]];
    everywhere_of(sizes, [[1, 9], [9, 1], [3, 3], [10, 270]], |on, &[rows, columns]| {
        let x = random(1, rows * columns, -9.0, 9.0);
        let mut y = vec![9.0; x.len()];
        ops::jacobi_stencil_2d(on, &x, &mut y, [rows, columns]).unwrap();
        let value = |i: usize| {
            let (r, c) = (i / columns, i % columns);
            if r == 0 || r + 1 == rows || c == 0 || c + 1 == columns {
                return x[i].into();
            }
            [i - columns, i + columns, i - 1, i + 1].iter().map(|&j| f64::from(x[j])).sum::<f64>() / 4.0
        };
        close([rows, columns], &y, &(0..x.len()).map(value).collect::<Vec<_>>(), 1e-6);
    });
}

#[test]
fn causal_convolutions() {
    // batch, steps, channels, taps
    let sizes =
        [[0, 4, 4, 2], [1, 1, 1, 1], [2, 5, 3, 4], [1, 50, 140, 7], [3, 17, 300, 4], [2, 3, 5, 9], [1, 4, 4, 0]];
    everywhere_of(sizes, [[1, 1, 1, 1], [2, 20, 140, 4], [1, 3, 5, 9]], |on, &[batch, steps, channels, count]| {
        let x = random(1, batch * steps * channels, -1.0, 1.0);
        let (taps, bias) = (random(2, channels * count, -1.0, 1.0), random(3, channels, -1.0, 1.0));
        let mut y = vec![9.0; x.len()];
        ops::causal_depthwise_conv1d(on, &x, &taps, &bias, &mut y, [batch, steps, channels], count).unwrap();
        let value = |i: usize| {
            let (t, d) = (i / channels % steps, i % channels);
            let sum: f64 =
                (0..count.min(t + 1)).map(|k| f64::from(x[i - k * channels]) * f64::from(taps[d * count + k])).sum();
            sum + f64::from(bias[d])
        };
        close([batch, steps, channels, count], &y, &(0..x.len()).map(value).collect::<Vec<_>>(), 1e-6);
    });
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    everywhere(|on| {
        let (six, four, mut y) = ([1.0; 6], [1.0; 4], [9.0; 2]);
        refused(ops::convolution_2d(on, &six, &four, &mut y, [2, 3], [3, 1]), &y, 9.0);
        refused(ops::convolution_2d(on, &six, &[], &mut y, [2, 3], [0, 1]), &y, 9.0);
        refused(ops::convolution_3d(on, &six, &four, &mut y, [2, 2, 2], [1, 2, 2]), &y, 9.0);
        refused(ops::gaussian_blur(on, &six, &four, &mut y, [2, 3], [2, 2]), &y, 9.0);
        refused(ops::jacobi_stencil_2d(on, &six, &mut y, [2, 3]), &y, 9.0);
        refused(ops::causal_depthwise_conv1d(on, &six, &four, &[1.0; 3], &mut y, [1, 2, 3], 1), &y, 9.0);
        for (side, stride, padding) in [(4, 1, 0), (0, 1, 0), (1, 0, 0), (2, 1, 2), (1, 1, usize::MAX)] {
            let pooling = Pooling { side, stride, padding };
            refused(ops::max_pooling_2d(on, &six, &mut y, [1, 2, 3], pooling), &y, 9.0);
        }
    });
}
