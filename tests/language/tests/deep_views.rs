//! Views of rank 4 and 5 as parameters: extents, strides, clipping, and products of their tiles.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_kernel};
use tilewright_core::f16;
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::{exact, near, values};

/// Rows and heads change places, as `[batch, heads, rows, columns]` becomes `[batch, rows, heads, columns]`.
#[tile_kernel(
    tune(warps = [1, 4]),
    grid = [cdiv(x.dim(3), 16), cdiv(x.dim(2), 8), cdiv(x.dim(1), 4) * x.dim(0)],
    emulate = all,
)]
fn heads_inside(x: View<f32, 4>, mut y: ViewMut<f32, 4>, extents: &mut [u64]) {
    let heads = cdiv(x.dim(1), 4);
    let (b, h) = (program_id(2) / heads, program_id(2) % heads * 4);
    let t = x.tile([b, h, program_id(1) * 8, program_id(0) * 16], [1, 4, 8, 16]);
    y.store([b, program_id(1) * 8, h, program_id(0) * 16], permute(t, [0, 2, 1, 3]));
    let last = x.dim(3) * x.dim(2) * x.dim(1) * x.dim(0) + x.stride(0);
    store(extents, arange(1), last).mask(program_id(0) + program_id(1) + program_id(2) == 0);
}

#[tile_kernel(tune(warps = [2]), grid = [x.dim(0)], emulate = all)]
fn sums_of_five(x: View<f32, 5>, mut y: ViewMut<f32, 5>) {
    let i = program_id(0);
    let t = x.tile([i, 0, 0, 0, 0], [1, 2, 4, 4, 8]).other(100.0);
    y.store([i, 0, 0, 0, 0], sum(t, 4).expand(4) + 0.0 * x.tile([i, 0, 0, 0, 0], [1, 2, 4, 4, 8]));
}

/// Scores of attention for each batch and head.
#[tile_kernel(
    tune(BK = [64], warps = [4]),
    grid = [cdiv(c.dim(3), 64), cdiv(c.dim(2), 64), c.dim(1) * c.dim(0)],
    emulate = all,
)]
fn scores_of_heads<const BK: usize>(q: View<f16, 4>, k: View<f16, 4>, mut c: ViewMut<f32, 4>) {
    let (b, h) = (program_id(2) / c.dim(1), program_id(2) % c.dim(1));
    let (i, j) = (program_id(1) * 64, program_id(0) * 64);
    let mut sums = zeros::<f32>([64, 64]);
    for d in range(0, q.dim(3), BK) {
        let x = reshape(q.tile([b, h, i, d], [1, 1, 64, BK]), [64, BK]);
        let y = reshape(k.tile([b, h, j, d], [1, 1, 64, BK]), [64, BK]);
        sums = dot(x, trans(y), sums);
    }
    c.store([b, h, i, j], reshape(sums, [1, 1, 64, 64]));
}

#[test]
fn rows_and_heads_change_places() {
    let [b, h, m, n] = [2, 5, 11, 21];
    let x = values(b * h * m * n, 1, |v| v);
    let mut wanted = vec![0.0; x.len()];
    for (at, v) in x.iter().enumerate() {
        let (z, i, j, l) = (at / (h * m * n), at / (m * n) % h, at / n % m, at % n);
        wanted[((z * m + j) * h + i) * n + l] = *v;
    }
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let x = Buffer::from_slice(rt, &x)?;
        let (mut y, mut extents) = (Buffer::<f32>::zeros(rt, b * h * m * n)?, Buffer::<u64>::zeros(rt, 1)?);
        let call = heads_inside(x.view([b, h, m, n])?, y.view_mut([b, m, h, n])?, &mut extents);
        rt.launch_with(rt.stream(), call, options)?;
        Ok((y.to_vec()?, extents.to_vec()?))
    };
    everywhere(heads_inside::DESCS[0], run, |(y, extents), what| {
        exact(what, &y, &wanted);
        assert_eq!(extents, [(b * h * m * n + h * m * n) as u64], "{what}");
    });
}

#[test]
fn five_dimensions_with_strides() {
    // The dimensions lie in memory in another order: 0, 3, 1, 2, 4, and rows of 8 have 5 elements.
    let x = values(3 * 2 * 2 * 4 * 8, 1, |v| (v * 16.0).round());
    let (dims, strides) = ([3, 2, 4, 2, 5], [128, 32, 8, 64, 1]);
    let of = |[a, b, c, d]: [usize; 4]| (0..5).map(|e| x[a * 128 + b * 32 + c * 8 + d * 64 + e]).sum::<f32>();
    let wanted: Vec<f32> =
        (0..3 * 2 * 4 * 2 * 5).map(|at| of([at / 80, at / 40 % 2, at / 10 % 4, at / 5 % 2]) + 300.0).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let mut y = Buffer::<f32>::zeros(rt, 240)?;
        let x = Buffer::from_slice(rt, &x)?;
        let call = sums_of_five(x.slice(..)?.strided(dims, strides)?, y.view_mut(dims)?);
        rt.launch_with(rt.stream(), call, options)?;
        y.to_vec()
    };
    everywhere(sums_of_five::DESCS[0], run, |y, what| exact(what, &y, &wanted));
}

#[test]
fn products_of_heads() {
    for [b, h, m, n, d] in [[2, 2, 70, 90, 128], [1, 3, 64, 64, 36]] {
        let of = |v: f32| f16::from_f32((v * 4.0).round());
        let (q, k) = (values(b * h * m * d, 1, of), values(b * h * n * d, 2, of));
        let element = |at: usize| {
            let (z, i, j) = (at / (m * n), at / n % m, at % n);
            (0..d).map(|l| q[(z * m + i) * d + l].to_f32() * k[(z * n + j) * d + l].to_f32()).sum::<f32>()
        };
        let wanted: Vec<f32> = (0..b * h * m * n).map(element).collect();
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let (q, k) = (Buffer::from_slice(rt, &q)?, Buffer::from_slice(rt, &k)?);
            let mut c = Buffer::<f32>::zeros(rt, b * h * m * n)?;
            let call = scores_of_heads(q.view([b, h, m, d])?, k.view([b, h, n, d])?, c.view_mut([b, h, m, n])?);
            rt.launch_with(rt.stream(), call, options)?;
            c.to_vec()
        };
        everywhere(scores_of_heads::DESCS[0], run, |c, what| near(what, &c, &wanted));
    }
}
