//! The kernels of the book's guide, `docs/guide`. `tests/guide.rs` launches them.

use tilewright::{tile_kernel, tile_library, tile_module};

pub use gated::gate;
pub use rows::{leaky_rows, soft_rows};

/// `y = a x + y`.
#[tile_kernel(tune(BLOCK = [1024, 2048], warps = [4]), grid = [cdiv(y.len(), BLOCK)])]
pub fn axpy<const BLOCK: usize>(a: f32, x: &[f32], y: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(y, i, a * load(x, i) + load(y, i));
}

// ANCHOR: scale_rows
/// Row `i` of `y` is row `i` of `x`, multiplied by `scale[i]` in f32.
#[tile_kernel(
    types(T = [f32, f16, bf16]),
    tune(BLOCK = [256, 1024], warps = [4]),
    grid = [x.dim(0), cdiv(x.dim(1), BLOCK)],
)]
pub fn scale_rows<T: Float, const BLOCK: usize>(x: View<T, 2>, scale: &[f32], mut y: ViewMut<T, 2>) {
    let (row, column) = (program_id(0), program_id(1) * BLOCK);
    let t = x.tile([row, column], [1, BLOCK]).to::<f32>();
    y.store([row, column], (t * load(scale, row)).to::<T>());
}
// ANCHOR_END: scale_rows

// ANCHOR: shift
/// A mistake, for the emulated SM to find: a program loads the element that its neighbor stores.
#[tile_kernel(tune(BLOCK = [256], warps = [2]), grid = [cdiv(x.len(), BLOCK)])]
pub fn shift_in_place<const BLOCK: usize>(x: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(x, i, load(x, i + 1));
}
// ANCHOR_END: shift

// ANCHOR: assertions
/// `counts[k] += 1` for every `k` in `keys`.
#[tile_kernel(tune(BLOCK = [256], warps = [4]), grid = [cdiv(keys.len(), BLOCK)])]
pub fn histogram<const BLOCK: usize>(keys: &[u32], counts: &mut [u32]) {
    static_assert!(BLOCK % 32 == 0, "a block is whole warps");
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let k = load(keys, i);
    let mask = i < keys.len();
    device_assert!((k.to::<usize>() < counts.len()) | !mask, "a key is less than the number of counts");
    atomic_add(counts, k, 1).mask(mask).relaxed();
}
// ANCHOR_END: assertions

// ANCHOR: library
/// Items that several modules of kernels use.
#[tile_library]
pub mod activations {
    pub enum Activation {
        Relu,
        LeakyRelu,
    }

    fn activate<const ACTIVATION: Activation>(x: Tile<f32>) -> Tile<f32> {
        match ACTIVATION {
            Activation::Relu => maximum(x, 0.0),
            Activation::LeakyRelu => where_(x < 0.0, 0.01 * x, x),
        }
    }

    /// One loop over the rows of a program, for kernels that differ in the work on a row.
    fn each_row(rows: usize, row: impl Fn(usize)) {
        for i in range(program_id(0), rows, num_programs(0)) {
            row(i);
        }
    }
}

#[tile_module(use crate::guide::activations)]
mod rows {
    #[tile_kernel(
        kernel(leaky_rows, ACTIVATION = LeakyRelu),
        tune(BLOCK = [1024], warps = [4]),
        grid = [min(x.dim(0), num_sms() * 8)],
    )]
    pub fn activated<const ACTIVATION: Activation, const BLOCK: usize>(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
        each_row(x.dim(0), |i| {
            for j in range(0, x.dim(1), BLOCK) {
                y.store([i, j], activate::<ACTIVATION>(x.tile([i, j], [1, BLOCK])));
            }
        });
    }

    /// Softmax of rows of up to `BLOCK` elements.
    #[tile_kernel(tune(BLOCK = [1024], warps = [4]), grid = [min(x.dim(0), num_sms() * 8)])]
    pub fn soft_rows<const BLOCK: usize>(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
        each_row(x.dim(0), |i| {
            let t = x.tile([i, 0], [1, BLOCK]).other(f32::NEG_INFINITY);
            let e = exp(t - max(t, 1).expand(1));
            y.store([i, 0], e / sum(e, 1).expand(1));
        });
    }
}
// ANCHOR_END: library

// ANCHOR: other_crate
/// Kernels that use a library of another crate.
#[tile_module(use own_kernel::gates)]
pub mod gated {
    #[tile_kernel(tune(BLOCK = [1024], warps = [4]), grid = [cdiv(y.len(), BLOCK)])]
    pub fn gate<const BLOCK: usize>(gates: &[f32], values: &[f32], y: &mut [f32]) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        store(y, i, swiglu(load(gates, i), load(values, i)));
    }
}
// ANCHOR_END: other_crate

// ANCHOR: mean_of_rows
/// The mean of each row of at most BLOCK elements.
#[tile_kernel(
    deterministic,
    tune(BLOCK = [256, 4096], warps = [4]),
    requires = [cols <= BLOCK],
    grid = [y.len()],
    emulate = all,
)]
pub fn mean_of_rows<const BLOCK: usize>(x: &[f32], y: &mut [f32], cols: usize) {
    let c = arange(BLOCK);
    let v = load(x, program_id(0) * cols + c).mask(c < cols);
    store(y, program_id(0), sum(v) / cols.to::<f32>());
}
// ANCHOR_END: mean_of_rows
