//! Kernels of a row: softmax, layer norm, cross entropy.

use tilewright::{Runtime, tile_kernel};
use tilewright_language_tests::differences::{between, gradients};
use tilewright_language_tests::{launch, rows, rows_mut};

#[tile_kernel(backward, tune(BLOCK = [64], warps = [2]), requires = [x.dim(1) <= BLOCK], grid = [y.dim(0)])]
fn softmax<const BLOCK: usize>(x: View<f64, 2>, mut y: ViewMut<f64, 2>) {
    let row = program_id(0);
    let t = x.tile([row, 0], [1, BLOCK]).other(f64::NEG_INFINITY);
    let e = exp(t - max(t, 1).expand(1));
    y.store([row, 0], e / sum(e, 1).expand(1));
}

#[test]
fn softmax_of_a_row() {
    gradients(
        &[between(-2.0, 2.0, 3 * 50, 11)],
        &[3 * 50],
        &|rt, x, y| launch!(rt, softmax(rows!(x[0], 50), rows_mut!(y[0], 50))),
        &|rt, x, g, dy| launch!(rt, softmax_backward(rows!(x[0], 50), rows_mut!(g[0], 50), rows!(dy[0], 50))),
    );
}

/// The gradient of a view has strides of its own.
#[test]
fn gradients_in_wider_rows() {
    let (x, dy) = (between(-2.0, 2.0, 150, 11), between(-1.0, 1.0, 150, 12));
    for rt in [Runtime::cpu(), Runtime::emulator(5)] {
        let (mut dense, mut wide) = (vec![0.0; 150], vec![0.0; 3 * 80]);
        launch!(rt, softmax_backward(rows!(x, 50), rows_mut!(dense, 50), rows!(dy, 50))).expect("it runs");
        let view = {
            use tilewright_core::AsSliceMut;
            wide.as_mut_slice().as_slice_mut_arg().strided([3, 50], [80, 1]).expect("fits")
        };
        launch!(rt, softmax_backward(rows!(x, 50), view, rows!(dy, 50))).expect("it runs");
        for (row, dense) in dense.chunks(50).enumerate() {
            assert_eq!(wide[row * 80..][..50], *dense);
            assert_eq!(wide[row * 80 + 50..][..30], [0.0; 30]);
        }
        assert!(dense.iter().any(|g| g.abs() > 1e-3));
    }
}

#[tile_kernel(backward(x, w, b), tune(BLOCK = [64], warps = [2]), grid = [x.dim(0)])]
fn layer_norm<const BLOCK: usize>(x: View<f64, 2>, w: &[f64], b: &[f64], mut y: ViewMut<f64, 2>) {
    let (row, n) = (program_id(0), x.dim(1));
    let i = arange(BLOCK);
    let t = sum(x.tile([row, 0], [1, BLOCK]), 0);
    let count = n as f64;
    let mean = sum(t) / count;
    let d = where_(i < n, t - mean, 0.0);
    let r = rsqrt(sum(d * d) / count + 1e-5);
    y.store([row, 0], (d * r * load(w, i) + load(b, i)).expand(0));
}

#[test]
fn layer_norm_with_weight_and_bias() {
    let n = 40;
    gradients(
        &[between(-2.0, 2.0, 4 * n, 13), between(0.5, 1.5, n, 14), between(-1.0, 1.0, n, 15)],
        &[4 * n],
        &|rt, x, y| launch!(rt, layer_norm(rows!(x[0], n), &x[1][..], &x[2][..], rows_mut!(y[0], n))),
        &|rt, x, g, dy| {
            let [gx, gw, gb] = g else { unreachable!() };
            launch!(
                rt,
                layer_norm_backward(
                    rows!(x[0], n),
                    rows_mut!(gx, n),
                    &x[1][..],
                    &mut gw[..],
                    &x[2][..],
                    &mut gb[..],
                    rows!(dy[0], n)
                )
            )
        },
    );
}

#[tile_kernel(backward, tune(BLOCK = [64], warps = [2]), grid = [loss.len()])]
fn cross_entropy<const BLOCK: usize>(logits: View<f64, 2>, labels: &[i32], loss: &mut [f64]) {
    let row = program_id(0);
    let t = sum(logits.tile([row, 0], [1, BLOCK]), 0);
    let t = where_(arange(BLOCK) < logits.dim(1), t, f64::NEG_INFINITY);
    let top = max(t);
    let chosen = sum(where_(arange(BLOCK) as i32 == load(labels, row), t, 0.0));
    store(loss, row, log(sum(exp(t - top))) + top - chosen);
}

#[test]
fn cross_entropy_of_rows() {
    let (n, labels) = (45, [3i32, 44, 0]);
    gradients(
        &[between(-2.0, 2.0, 3 * n, 16)],
        &[3],
        &|rt, x, y| launch!(rt, cross_entropy(rows!(x[0], n), &labels[..], &mut y[0][..])),
        &|rt, x, g, dy| {
            launch!(rt, cross_entropy_backward(rows!(x[0], n), rows_mut!(g[0], n), &labels[..], &dy[0][..]))
        },
    );
}

/// Rows of a table, some of them twice.
#[tile_kernel(backward, tune(BLOCK = [16], warps = [1]), grid = [ids.len()])]
fn embedding<const BLOCK: usize>(ids: &[u32], table: &[f64], scale: f64, y: &mut [f64]) {
    let (row, i) = (program_id(0), arange(BLOCK));
    let at = load(ids, row) as usize * BLOCK;
    store(y, row * BLOCK + i, load(table, at + i) * scale);
}

#[test]
fn rows_of_a_table() {
    let ids = [2u32, 0, 2, 3, 1];
    gradients(
        &[between(-1.0, 1.0, 4 * 16, 17)],
        &[5 * 16],
        &|rt, x, y| launch!(rt, embedding(&ids[..], &x[0][..], 1.5, &mut y[0][..])),
        &|rt, x, g, dy| launch!(rt, embedding_backward(&ids[..], &x[0][..], &mut g[0][..], 1.5, &dy[0][..])),
    );
}

/// Additions of floats to an output: programs share its elements.
#[tile_kernel(backward, tune(BLOCK = [32], warps = [1]), grid = [cdiv(x.len(), BLOCK)])]
fn scattered<const BLOCK: usize>(x: &[f64], bins: &[u32], y: &mut [f64]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = load(x, i);
    atomic_add(y, load(bins, i), v * v).mask(i < x.len()).relaxed();
}

#[test]
fn additions_to_an_output() {
    let bins: Vec<u32> = (0..70u32).map(|i| i * 7 % 5).collect();
    gradients(
        &[between(-1.0, 1.0, 70, 18)],
        &[5],
        &|rt, x, y| launch!(rt, scattered(&x[0][..], &bins[..], &mut y[0][..])),
        &|rt, x, g, dy| launch!(rt, scattered_backward(&x[0][..], &mut g[0][..], &bins[..], &dy[0][..])),
    );
}

/// The example of the book.
#[tile_kernel(
    backward(x, w),
    tune(BLOCK = [256, 1024], warps = [4]),
    requires = [x.dim(1) <= BLOCK],
    grid = [x.dim(0)],
)]
fn rms_norm<const BLOCK: usize>(x: View<f32, 2>, w: &[f32], mut y: ViewMut<f32, 2>) {
    let (row, i) = (program_id(0), arange(BLOCK));
    let t = sum(x.tile([row, 0], [1, BLOCK]), 0);
    let r = rsqrt(sum(t * t) / x.dim(1) as f32 + 1e-5);
    y.store([row, 0], (t * r * load(w, i)).expand(0));
}

#[test]
fn the_example_of_the_book() {
    let (m, n) = (3, 70);
    let floats = |seed: u64, n: usize| between(-1.0, 1.0, n, seed).into_iter().map(|x| x as f32).collect::<Vec<_>>();
    let (x, w, dy) = (floats(19, m * n), floats(20, n), floats(21, m * n));
    let (mut wanted_x, mut wanted_w) = (vec![0.0f32; m * n], vec![0.0f32; n]);
    for row in 0..m {
        let at = row * n..(row + 1) * n;
        let (x, dy, wanted_x) = (&x[at.clone()], &dy[at.clone()], &mut wanted_x[at]);
        let r = (x.iter().map(|x| x * x).sum::<f32>() / n as f32 + 1e-5).sqrt().recip();
        let dot: f32 = (0..n).map(|k| dy[k] * w[k] * x[k]).sum();
        for k in 0..n {
            wanted_x[k] = r * dy[k] * w[k] - r * r * r * dot * x[k] / n as f32;
            wanted_w[k] += dy[k] * x[k] * r;
        }
    }
    let near = |x: &[f32], y: &[f32]| x.iter().zip(y).all(|(x, y)| (x - y).abs() < 1e-5);
    for rt in [Runtime::cpu(), Runtime::emulator(5)] {
        let (mut gx, mut gw) = (vec![0.0; m * n], vec![0.0; n]);
        launch!(rt, rms_norm_backward(rows!(x, n), rows_mut!(gx, n), &w[..], &mut gw[..], rows!(dy, n)))
            .expect("it runs");
        assert!(near(&gx, &wanted_x) && near(&gw, &wanted_w));
    }
}
