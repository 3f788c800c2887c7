//! Images: rows and columns that are not powers of two, with elements beyond their ends.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_module};
use tilewright_core::f16;
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::{near, values};

#[tile_module]
mod kernels {
    /// The position of a result's place in the source: the place before it, the next one, and how far behind the first.
    fn neighbors(place: Tile<u64>, to: usize, from: usize) -> (Tile<i64>, Tile<i64>, Tile<f32>) {
        let at = (place.to::<f32>() + 0.5) * (from as f32 / to as f32) - 0.5;
        let at = maximum(at, 0.0);
        let low = minimum(floor(at).to::<i64>(), from as i64 - 1);
        (low, minimum(low + 1, from as i64 - 1), at - low.to::<f32>())
    }

    /// Images of other extents, each element of four neighbors.
    #[tile_kernel(
        tune(H = [8], W = [16], warps = [1]),
        grid = [cdiv(y.dim(3), W), cdiv(y.dim(2), H), y.dim(0) * y.dim(1)],
        emulate = all,
    )]
    pub fn upsample_bilinear<const H: usize, const W: usize>(
        x: &[f32],
        mut y: ViewMut<f32, 4>,
        height: usize,
        width: usize,
    ) {
        let (n, channel) = (program_id(2) / y.dim(1), program_id(2) % y.dim(1));
        let (row, column) = (program_id(1) * H + arange(H), program_id(0) * W + arange(W));
        let (top, bottom, down) = neighbors(row, y.dim(2), height);
        let (left, right, across) = neighbors(column, y.dim(3), width);
        let plane = (program_id(2) * height * width) as i64;
        let at = |i: Tile<i64>, j: Tile<i64>| load(x, plane + i.expand(1) * width as i64 + j.expand(0));
        let (down, across) = (down.expand(1), across.expand(0));
        let above = at(top, left) * (1.0 - across) + at(top, right) * across;
        let below = at(bottom, left) * (1.0 - across) + at(bottom, right) * across;
        let t = above * (1.0 - down) + below * down;
        y.store([n, channel, row_of(H), program_id(0) * W], reshape(t, [1, 1, H, W]));
    }

    fn row_of(h: usize) -> usize {
        program_id(1) * h
    }

    /// A convolution of each channel by itself, with steps, padding, and elements that are left out in between.
    #[tile_kernel(
        tune(K = [3], H = [4], W = [8], warps = [1]),
        grid = [cdiv(y.dim(3), W), cdiv(y.dim(2), H), y.dim(0) * y.dim(1)],
        emulate = all,
    )]
    pub fn depthwise<const K: usize, const H: usize, const W: usize>(
        x: &[f16],
        weights: View<f16, 3>,
        bias: Option<&[f32]>,
        mut y: ViewMut<f16, 4>,
        height: i32,
        width: i32,
        step: i32,
        padding: i32,
        dilation: i32,
    ) {
        let (n, channel) = (program_id(2) / y.dim(1), program_id(2) % y.dim(1));
        let row = (program_id(1) * H + arange(H)).to::<i32>().expand(1) * step - padding;
        let column = (program_id(0) * W + arange(W)).to::<i32>().expand(0) * step - padding;
        let mut sums = full(
            [H, W],
            match bias {
                Some(bias) => load(bias, channel),
                None => 0.0,
            },
        );
        for i in static_range(0..K) {
            for j in static_range(0..K) {
                let (r, c) = (row + i as i32 * dilation, column + j as i32 * dilation);
                let is_in = (r >= 0) & (r < height) & (c >= 0) & (c < width);
                let at = (program_id(2) as i32 * height + r) * width + c;
                let w = sum(weights.tile([channel, i, j], [1, 1, 1]).to::<f32>());
                sums += w * load(x, at).mask(is_in).to::<f32>();
            }
        }
        y.store([n, channel, program_id(1) * H, program_id(0) * W], reshape(sums.to::<f16>(), [1, 1, H, W]));
    }

    /// Groups of channels are normalized, scaled by channel, and go through SiLU.
    #[tile_kernel(
        types(T = [f32, f16]),
        tune(C = [4], HW = [64], warps = [1]),
        requires = [x.dim(2) <= C],
        grid = [x.dim(1), x.dim(0)],
        emulate = all,
    )]
    pub fn group_norm_silu<T: Float, const C: usize, const HW: usize>(
        x: View<T, 4>,
        gamma: View<f32, 2>,
        beta: View<f32, 2>,
        mut y: ViewMut<T, 4>,
        epsilon: f32,
    ) {
        let (n, group) = (program_id(1), program_id(0));
        let count = (x.dim(2) * x.dim(3)) as f32;
        let tile = |at: usize| reshape(x.tile([n, group, 0, at], [1, 1, C, HW]), [C, HW]).to::<f32>();
        let mut total = 0.0f32;
        for at in (0..x.dim(3)).step_by(HW) {
            total += sum(tile(at));
        }
        let mean = total / count;
        let mut squares = 0.0f32;
        for at in (0..x.dim(3)).step_by(HW) {
            let is_in = (arange(C) < x.dim(2)).expand(1) & (at + arange(HW) < x.dim(3)).expand(0);
            let from = where_(is_in, tile(at) - mean, 0.0);
            squares += sum(from * from);
        }
        let scale = rsqrt(squares / count + epsilon);
        let (g, b) = (trans(gamma.tile([group, 0], [1, C])), trans(beta.tile([group, 0], [1, C])));
        for at in (0..x.dim(3)).step_by(HW) {
            let t = (tile(at) - mean) * scale * g + b;
            y.store([n, group, 0, at], reshape((t * sigmoid(t)).to::<T>(), [1, 1, C, HW]));
        }
    }
}

#[test]
fn images_of_other_extents() {
    let [n, c, h, w] = [2, 3, 7, 10];
    let x = values(n * c * h * w, 1, |v| v);
    for [height, width] in [[15, 33], [5, 6]] {
        let along = |place: usize, to: usize, from: usize| {
            let at = ((place as f32 + 0.5) * (from as f32 / to as f32) - 0.5).max(0.0);
            let low = (at.floor() as usize).min(from - 1);
            (low, (low + 1).min(from - 1), at - low as f32)
        };
        let of = |at: usize| {
            let plane = &x[at / (height * width) * h * w..];
            let (top, bottom, down) = along(at / width % height, height, h);
            let (left, right, across) = along(at % width, width, w);
            let row = |i: usize| plane[i * w + left] * (1.0 - across) + plane[i * w + right] * across;
            row(top) * (1.0 - down) + row(bottom) * down
        };
        let wanted: Vec<f32> = (0..n * c * height * width).map(of).collect();
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let (x, mut y) = (Buffer::from_slice(rt, &x)?, Buffer::<f32>::zeros(rt, wanted.len())?);
            let call = kernels::upsample_bilinear(&x, y.view_mut([n, c, height, width])?, h, w);
            rt.launch_with(rt.stream(), call, options)?;
            y.to_vec()
        };
        everywhere(kernels::upsample_bilinear::DESCS[0], run, |y, what| near(what, &y, &wanted));
    }
}

#[test]
fn convolutions_of_channels() {
    let [n, c, h, w, k] = [2, 3, 13, 11, 3];
    let of = |v: f32| f16::from_f32(v);
    let (x, weights, bias) = (values(n * c * h * w, 1, of), values(c * k * k, 2, of), values(c, 3, |v| v));
    for ([step, padding, dilation], with_bias) in [([1, 1, 1], false), ([2, 2, 2], true)] {
        let extent = |e: usize| (e + 2 * padding - dilation * (k - 1) - 1) / step + 1;
        let (height, width) = (extent(h), extent(w));
        let element = |at: usize| {
            let (plane, i, j) = (at / (height * width), at / width % height, at % width);
            let of = |a: usize| {
                let (r, s) = (i * step + a / k * dilation, j * step + a % k * dilation);
                let (r, s) = (r.checked_sub(padding), s.checked_sub(padding));
                match (r.filter(|r| *r < h), s.filter(|s| *s < w)) {
                    (Some(r), Some(s)) => x[(plane * h + r) * w + s].to_f32() * weights[plane % c * k * k + a].to_f32(),
                    _ => 0.0,
                }
            };
            (0..k * k).map(of).sum::<f32>() + if with_bias { bias[plane % c] } else { 0.0 }
        };
        let wanted: Vec<f32> = (0..n * c * height * width).map(element).collect();
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let (x, weights) = (Buffer::from_slice(rt, &x)?, Buffer::from_slice(rt, &weights)?);
            let (bias, mut y) = (Buffer::from_slice(rt, &bias)?, Buffer::<f16>::zeros(rt, wanted.len())?);
            let [step, padding, dilation] = [step, padding, dilation].map(|v| v as i32);
            let (weights, out) = (weights.view([c, k, k])?, y.view_mut([n, c, height, width])?);
            let bias = with_bias.then_some(&bias);
            let call = kernels::depthwise(&x, weights, bias, out, h as i32, w as i32, step, padding, dilation);
            rt.launch_with(rt.stream(), call, options)?;
            y.to_vec()
        };
        everywhere(kernels::depthwise::DESCS[usize::from(with_bias)], run, |y, what| {
            near(what, &y.iter().map(|v| v.to_f32()).collect::<Vec<_>>(), &wanted);
        });
    }
}

#[test]
fn groups_of_channels_are_normalized() {
    let [n, groups, c, hw] = [2, 3, 3, 150];
    let (gamma, beta) = (values(groups * c, 2, |v| v + 1.0), values(groups * c, 3, |v| v));
    macro_rules! check {
        ($t:ident $at:literal, $of:expr, $to:expr) => {
            let x = values(n * groups * c * hw, 1, |v| $of(v * 2.0 + 1.0));
            let numbers: Vec<f32> = x.iter().map(|&v| $to(v)).collect();
            let run = |rt: &Runtime, options: &LaunchOptions| {
                let (x, mut y) = (Buffer::from_slice(rt, &x)?, Buffer::<$t>::zeros(rt, x.len())?);
                let (gamma, beta) = (Buffer::from_slice(rt, &gamma)?, Buffer::from_slice(rt, &beta)?);
                let dims = [n, groups, c, hw];
                let (g, b) = (gamma.view([groups, c])?, beta.view([groups, c])?);
                let call = kernels::group_norm_silu::<$t>(x.view(dims)?, g, b, y.view_mut(dims)?, 1e-5);
                rt.launch_with(rt.stream(), call, options)?;
                y.to_vec()
            };
            let mut wanted = vec![];
            for (i, all) in numbers.chunks(c * hw).enumerate() {
                let mean = all.iter().sum::<f32>() / all.len() as f32;
                let squares = all.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / all.len() as f32;
                wanted.extend(all.iter().enumerate().map(|(at, v)| {
                    let channel = i % groups * c + at / hw;
                    let t = (v - mean) / (squares + 1e-5).sqrt() * gamma[channel] + beta[channel];
                    t / (1.0 + (-t).exp())
                }));
            }
            everywhere(kernels::group_norm_silu::DESCS[$at], run, |y, what| {
                near(what, &y.iter().map(|&v| $to(v)).collect::<Vec<_>>(), &wanted);
            });
        };
    }
    check!(f32 0, |v: f32| v, |v: f32| v);
    check!(f16 1, f16::from_f32, f16::to_f32);
}
