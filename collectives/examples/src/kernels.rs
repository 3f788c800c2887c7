//! A product of matrices, an activation with its gradient, the error of a prediction with its gradient, and a step of
//! gradient descent.

use tilewright::tile_kernel;

/// `y = x w`: of `[m, k]` and `[k, n]`, with any strides.
#[tile_kernel(
    tune(BM = [64], BN = [64], BK = [32], warps = [4]),
    grid = [cdiv(y.dim(0), BM), cdiv(y.dim(1), BN)],
)]
pub fn product<const BM: usize, const BN: usize, const BK: usize>(
    x: View<f32, 2>,
    w: View<f32, 2>,
    mut y: ViewMut<f32, 2>,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for k in (0..x.dim(1)).step_by(BK) {
        acc = dot(x.tile([i, k], [BM, BK]), w.tile([k, j], [BK, BN]), acc);
    }
    y.store([i, j], acc);
}

/// `y = max(x, 0)`.
#[tile_kernel(tune(BLOCK = [1024], warps = [4]), grid = [cdiv(y.len(), BLOCK)])]
pub fn relu<const BLOCK: usize>(x: &[f32], y: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(y, i, maximum(load(x, i), 0.0));
}

/// `dx = dy` where `y = max(x, 0)` is positive, else 0.
#[tile_kernel(tune(BLOCK = [1024], warps = [4]), grid = [cdiv(dx.len(), BLOCK)])]
pub fn relu_gradient<const BLOCK: usize>(y: &[f32], dy: &[f32], dx: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(dx, i, where_(load(y, i) > 0.0, load(dy, i), 0.0));
}

/// `dy = scale (y - t)`, and `loss[0]` is the sum of `scale / 2 (y - t)²`.
#[tile_kernel(tune(BLOCK = [1024], warps = [4]), grid = [1])]
pub fn squared_error<const BLOCK: usize>(y: &[f32], t: &[f32], scale: f32, dy: &mut [f32], loss: &mut [f32]) {
    let mut total = zeros::<f32>([BLOCK]);
    for start in (0..y.len()).step_by(BLOCK) {
        let i = start + arange(BLOCK);
        let difference = load(y, i) - load(t, i);
        store(dy, i, scale * difference);
        total += difference * difference;
    }
    store(loss, 0, 0.5 * scale * sum(total, 0));
}

/// `w -= rate g`.
#[tile_kernel(tune(BLOCK = [1024], warps = [4]), grid = [cdiv(w.len(), BLOCK)])]
pub fn descend<const BLOCK: usize>(rate: f32, g: &[f32], w: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(w, i, load(w, i) - rate * load(g, i));
}
