//! Values that a product and other operations take, and products that are loaded again.

use tilewright::tile_kernel;
use tilewright_language_tests::everywhere::{everywhere, same};
use tilewright_language_tests::matrix::Matrix;
use tilewright_language_tests::{view, view_mut};

/// A variable is an operand of the product that it is assigned, and its accumulator.
#[tile_kernel(tune(N = [16], warps = [1]), grid = [1], emulate = all)]
fn powers<const N: usize>(a: View<f32, 2>, mut c: ViewMut<f32, 2>, n: usize) {
    let mut x = a.tile([0, 0], [N, N]);
    for _ in range(0, n, 1) {
        x = dot(a.tile([0, 0], [N, N]), x, x);
    }
    c.store([0, 0], x);
}

#[test]
fn an_accumulator_is_an_operand() {
    let a = Matrix::new([16, 16], 16, 1, |x| (x * 4.0).round());
    let product = |x: &[f32]| -> Vec<f32> {
        let of = |i: usize| (0..16).map(|k| a.data[i / 16 * 16 + k] * x[k * 16 + i % 16]).sum::<f32>() + x[i];
        (0..256).map(of).collect()
    };
    let wanted = product(&product(&a.data));
    everywhere(
        powers::DESCS[0],
        |rt, options| {
            let mut c = Matrix::new([16, 16], 16, 2, |x| x);
            let call = powers(view!(a), view_mut!(c), 2);
            rt.launch_with(rt.stream(), call, options).map(|()| c.data)
        },
        |c, title| same(&c, &wanted, title),
    );
}

/// One value is the accumulator of a product, the `other` of a load, and a part of an index.
#[tile_kernel(tune(N = [16], warps = [1]), grid = [1], emulate = all)]
fn splats<const N: usize>(a: View<f32, 2>, x: &[f32], y: &mut [f32], first: usize) {
    let zero = zeros::<f32>([N, N]);
    let sums = dot(a.tile([0, 0], [N, N]), a.tile([0, 0], [N, N]), zero);
    let begin = full([1, N], first);
    let most = max(begin);
    let (rows, columns) = (arange(N).expand(1), arange(N).expand(0));
    let index = rows * N + columns + begin;
    let t = load(x, index).mask(columns < 5).other(zero);
    store(y, index - most, t + sums);
}

#[test]
fn splats_are_tiles_and_scalars() {
    let a = Matrix::new([16, 16], 16, 1, |x| (x * 4.0).round());
    let x: Vec<f32> = (0..300).map(|i| i as f32).collect();
    let of = |i: usize| {
        let sum: f32 = (0..16).map(|k| a.data[i / 16 * 16 + k] * a.data[k * 16 + i % 16]).sum();
        sum + if i % 16 < 5 { x[i + 7] } else { 0.0 }
    };
    let wanted: Vec<f32> = (0..256).map(of).collect();
    everywhere(
        splats::DESCS[0],
        |rt, options| {
            let mut y = vec![0.0f32; 256];
            rt.launch_with(rt.stream(), splats(view!(a), &x, &mut y, 7), options).map(|()| y)
        },
        |y, title| same(&y, &wanted, title),
    );
}

/// Threads store a product in the layout of its instruction, and load it by the same index in that of memory.
#[tile_kernel(tune(N = [16], warps = [1, 4]), grid = [1], emulate = all)]
fn loaded_again<const N: usize>(a: View<f32, 2>, y: &mut [f32], z: &mut [f32]) {
    let at = arange(N).expand(1) * N + arange(N).expand(0);
    let t = a.tile([0, 0], [N, N]);
    store(y, at, dot(t, t, zeros::<f32>([N, N])));
    store(z, at, load(y, at) * 2.0);
}

#[test]
fn a_stored_product_is_loaded_by_other_threads() {
    let a = Matrix::new([16, 16], 16, 1, |x| (x * 4.0).round());
    let of = |i: usize| (0..16).map(|k| a.data[i / 16 * 16 + k] * a.data[k * 16 + i % 16]).sum::<f32>();
    let product: Vec<f32> = (0..256).map(of).collect();
    let doubled: Vec<f32> = product.iter().map(|x| x * 2.0).collect();
    everywhere(
        loaded_again::DESCS[0],
        |rt, options| {
            let (mut y, mut z) = (vec![0.0f32; 256], vec![0.0f32; 256]);
            rt.launch_with(rt.stream(), loaded_again(view!(a), &mut y, &mut z), options).map(|()| (y, z))
        },
        |(y, z), title| {
            same(&y, &product, title);
            same(&z, &doubled, title);
        },
    );
}
