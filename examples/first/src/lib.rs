//! Tile kernels, and functions that launch them.

use tilewright::{Buffer, Error, Runtime, tile_kernel};

/// `z = a x + y`. One program computes a block of `BLOCK` elements.
#[tile_kernel(tune(BLOCK = [1024, 4096], warps = [4]), grid = [cdiv(z.len(), BLOCK)])]
pub fn axpy<const BLOCK: usize>(a: f32, x: &[f32], y: &[f32], z: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(z, i, a * load(x, i) + load(y, i));
}

/// `a x + y` of two arrays on the host.
///
/// # Errors
/// [`Error`] where memory is short or the kernel cannot be launched.
pub fn scaled_sum(rt: &Runtime, a: f32, x: &[f32], y: &[f32]) -> Result<Vec<f32>, Error> {
    let (x, y) = (Buffer::from_slice(rt, x)?, Buffer::from_slice(rt, y)?);
    let mut z = Buffer::zeros(rt, x.len())?;
    rt.launch(axpy(a, &x, &y, &mut z))?;
    z.to_vec()
}
