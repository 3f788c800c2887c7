//! RMS normalization, as in the layers of a language model: every row is divided by the root of the mean of its
//! squares.

use tilewright::{Buffer, Error, Runtime};
use tilewright::{tile_kernel, tile_library};

// ANCHOR: kernels
tilewright::kernels!();
// ANCHOR_END: kernels

// ANCHOR: rms_norm
/// One program normalizes one row, in pieces of `BLOCK` columns; elements past the end of a row count as zero.
#[tile_kernel(tune(BLOCK = [1024, 4096], warps = [4]), grid = [x.dim(0)])]
pub fn rms_norm<const BLOCK: usize>(x: View<f32, 2>, mut y: ViewMut<f32, 2>, eps: f32) {
    let row = program_id(0);
    let columns = x.dim(1);
    let mut squares = zeros::<f32>([1, BLOCK]);
    for start in (0..columns).step_by(BLOCK) {
        let t = x.tile([row, start], [1, BLOCK]);
        squares = squares + t * t;
    }
    let scale = rsqrt(sum(squares) / columns as f32 + eps);
    for start in (0..columns).step_by(BLOCK) {
        y.store([row, start], x.tile([row, start], [1, BLOCK]) * scale);
    }
}

/// Normalizes the rows of a row-major matrix. Errors: [`Error::Shape`] where `x` is longer or shorter than these.
pub fn normalize(rt: &Runtime, x: &[f32], columns: usize) -> Result<Vec<f32>, Error> {
    let rows = x.len().checked_div(columns).unwrap_or(0);
    let x = Buffer::from_slice(rt, x)?;
    let mut y = Buffer::zeros(rt, x.len())?;
    rt.launch(rms_norm(x.view([rows, columns])?, y.view_mut([rows, columns])?, 1e-6))?;
    y.to_vec()
}
// ANCHOR_END: rms_norm

// ANCHOR: library
/// Functions for kernels of other crates: `#[tile_module(use own_kernel::gates)]`.
#[tile_library]
pub mod gates {
    /// SwiGLU: a value behind a gate.
    fn swiglu(gate: Tile<f32>, value: Tile<f32>) -> Tile<f32> {
        gate * sigmoid(gate) * value
    }
}
// ANCHOR_END: library
