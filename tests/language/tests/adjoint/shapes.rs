//! Shapes, parts, reductions, scans, gathers.

use tilewright::tile_kernel;
use tilewright_language_tests::differences::{between, gradients};
use tilewright_language_tests::{launch, rows, rows_mut};

#[tile_kernel(backward, tune(N = [16], warps = [1]), grid = [1])]
fn scans<const N: usize>(x: View<f64, 2>, first: &[f64], mut y: ViewMut<f64, 3>) {
    let t = x.tile([0, 0], [N, 8]);
    y.store([0, 0, 0], cumsum(t, 0).expand(0));
    y.store([1, 0, 0], (t * cumsum(t, 1).reverse()).expand(0));
    y.store([2, 0, 0], cumsum(t, 1).exclusive(load(first, 0)).expand(0));
    y.store([3, 0, 0], cumsum(t, 0).reverse().exclusive(0.0).expand(0));
}

#[test]
fn scans_of_sums() {
    gradients(
        &[between(-1.0, 1.0, 16 * 8, 41), vec![0.75]],
        &[4 * 16 * 8],
        &|rt, x, y| {
            use tilewright_core::AsSliceMut;
            let y = y[0].as_mut_slice().as_slice_mut_arg().strided([4, 16, 8], [128, 8, 1]).expect("fits");
            launch!(rt, scans(rows!(x[0], 8), &x[1][..], y))
        },
        &|rt, x, g, dy| {
            use tilewright_core::AsSlice;
            let [gx, gf] = g else { unreachable!() };
            let dy = dy[0].as_slice().as_slice_arg().strided([4, 16, 8], [128, 8, 1]).expect("fits");
            launch!(rt, scans_backward(rows!(x[0], 8), rows_mut!(gx, 8), &x[1][..], &mut gf[..], dy))
        },
    );
}

#[tile_kernel(backward, tune(N = [16], warps = [1]), grid = [1])]
fn shapes<const N: usize>(x: View<f64, 2>, y: &mut [f64]) {
    let t = x.tile([0, 0], [N, 8]);
    let i = arange(N * 8);
    let flat = reshape(t, [N * 8]);
    store(y, i, flat * reshape(trans(t), [N * 8]));
    let (even, odd) = split(reshape(t, [N, 4, 2]));
    let pair = join(odd * odd, even);
    store(y, i + N * 8, reshape(pair, [N * 8]));
    let part = slice(t, 1, 4..8);
    let both = cat(part * part, exp(part), 1);
    store(y, i + 2 * N * 8, reshape(both, [N * 8]));
    let flipped = flip(flat, 0);
    store(y, i + 3 * N * 8, flipped * sum(flat));
    let rows = max(t, 1) + min(t, 1) * sum(t, 1);
    store(y, 4 * N * 8 + arange(N), rows);
    let spread = broadcast(rows.expand(1), [N, 8]) * t;
    store(y, 5 * N * 8 + arange(N), sum(spread, 1));
}

#[test]
fn shapes_and_parts() {
    gradients(
        &[between(-1.0, 1.0, 16 * 8, 42)],
        &[6 * 16 * 8],
        &|rt, x, y| launch!(rt, shapes(rows!(x[0], 8), &mut y[0][..])),
        &|rt, x, g, dy| launch!(rt, shapes_backward(rows!(x[0], 8), rows_mut!(g[0], 8), &dy[0][..])),
    );
}

#[tile_kernel(backward(x), tune(N = [32], warps = [1]), grid = [1])]
fn gathers<const N: usize>(x: &[f64], index: &[i32], y: &mut [f64]) {
    let i = arange(N);
    let (t, at) = (load(x, i), load(index, i));
    let chosen = gather(t * t, at, 0);
    let counted = histogram(at, N).weights(exp(t)).mask(at < 9);
    store(y, i, chosen);
    store(y, i + N, counted);
}

#[test]
fn gathers_and_weights() {
    // Some places are none.
    let index: Vec<i32> = (0..32).map(|i| i * 5 % 40 - 3).collect();
    gradients(
        &[between(-1.0, 1.0, 32, 43)],
        &[64],
        &|rt, x, y| launch!(rt, gathers(&x[0][..], &index[..], &mut y[0][..])),
        &|rt, x, g, dy| launch!(rt, gathers_backward(&x[0][..], &mut g[0][..], &index[..], &dy[0][..])),
    );
}
