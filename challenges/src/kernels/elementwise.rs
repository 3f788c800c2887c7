//! Each element by itself, or a fixed few of them.

use tilewright::{tile_kernel, tile_module};

pub use permuted::*;

#[tile_kernel(map)]
pub fn add(a: Tile<f32>, b: Tile<f32>) -> Tile<f32> {
    a + b
}

#[tile_kernel(map)]
pub fn logistic(x: Tile<f32>) -> Tile<f32> {
    sigmoid(x)
}

#[tile_kernel(map)]
pub fn silu(x: Tile<f32>) -> Tile<f32> {
    x * sigmoid(x)
}

#[tile_kernel(map)]
pub fn swiglu(gate: Tile<f32>, value: Tile<f32>) -> Tile<f32> {
    gate * sigmoid(gate) * value
}

#[tile_kernel(map)]
pub fn geglu(value: Tile<f32>, gate: Tile<f32>) -> Tile<f32> {
    value * (0.5 * gate * (1.0 + erf(gate * 0.707_106_77)))
}

#[tile_kernel(map)]
pub fn clip(x: Tile<f32>, lo: f32, hi: f32) -> Tile<f32> {
    clamp(x, lo, hi).propagate_nan()
}

/// `x` over the root of its mean square, of which `squares` has the sum.
#[tile_kernel(map)]
pub fn over_root_mean_square(x: Tile<f32>, squares: &[f32], n: f32, gamma: f32, beta: f32, eps: f32) -> Tile<f32> {
    x * rsqrt(load(squares, 0) / n + eps) * gamma + beta
}

#[tile_module]
pub mod permuted {
    #[tile_kernel(tune(BLOCK = [1024, 2048], warps = [4]), grid = [cdiv(a.len(), BLOCK)])]
    pub fn interleaved<const BLOCK: usize>(a: &[f32], b: &[f32], out: &mut [f32]) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        store(out, program_id(0) * (2 * BLOCK) + arange(2 * BLOCK), interleave(load(a, i), load(b, i)));
    }

    #[tile_kernel(tune(BLOCK = [1024, 512, 2048], warps = [4]), grid = [cdiv(gray.len(), BLOCK)])]
    pub fn grayscale<const BLOCK: usize>(rgb: &[f32], gray: &mut [f32]) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let (r, g, b) = (load(rgb, 3 * i), load(rgb, 3 * i + 1), load(rgb, 3 * i + 2));
        store(gray, i, 0.299 * r + 0.587 * g + 0.114 * b);
    }

    /// The halves of each row are the parts of complex numbers, which are rotated. `half` is half the columns.
    #[tile_kernel(
        tune(ROWS = [32], COLS = [64], warps = [4]),
        tune(ROWS = [8], COLS = [256], warps = [4]),
        grid = [cdiv(rows, ROWS) * cdiv(half, COLS)],
    )]
    pub fn rope<const ROWS: usize, const COLS: usize>(
        x: &[f32],
        cosines: &[f32],
        sines: &[f32],
        y: &mut [f32],
        rows: usize,
        half: usize,
    ) {
        let (row, col) = (program_id(0) / cdiv(half, COLS), program_id(0) % cdiv(half, COLS));
        let (r, c) = ((row * ROWS + arange(ROWS)).expand(1), (col * COLS + arange(COLS)).expand(0));
        let inside = (r < rows) & (c < half);
        let (i, j) = (r * (2 * half) + c, r * (2 * half) + half + c);
        let (a, b) = (load(x, i).mask(inside), load(x, j).mask(inside));
        let (sine, other) = (load(sines, i).mask(inside), load(sines, j).mask(inside));
        store(y, i, a * load(cosines, i).mask(inside) - b * sine).mask(inside);
        store(y, j, b * load(cosines, j).mask(inside) + a * other).mask(inside);
    }

    /// Squares of `side` rows and columns have a scale each. One that the edge cuts has one, too.
    #[tile_kernel(
        tune(ROWS = [32, 16], COLS = [128], warps = [4]),
        grid = [cdiv(rows, ROWS) * cdiv(cols, COLS)],
        alias(x, y),
    )]
    pub fn dequantized<const ROWS: usize, const COLS: usize>(
        x: &[f32],
        scales: &[f32],
        y: &mut [f32],
        rows: usize,
        cols: usize,
        side: usize,
    ) {
        let (row, col) = (program_id(0) / cdiv(cols, COLS) * ROWS, program_id(0) % cdiv(cols, COLS) * COLS);
        let (r, c) = ((row + arange(ROWS)).expand(1), (col + arange(COLS)).expand(0));
        let (inside, across) = ((r < rows) & (c < cols), cdiv(cols, side));
        let v = load(x, r * cols + c).mask(inside);
        if side % ROWS == 0 && side % COLS == 0 {
            store(y, r * cols + c, v * load(scales, row / side * across + col / side)).mask(inside);
        } else {
            store(y, r * cols + c, v * load(scales, r / side * across + c / side).mask(inside)).mask(inside);
        }
    }
}
