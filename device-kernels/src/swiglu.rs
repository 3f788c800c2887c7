//! `y = silu(gate) * up` and its gradient, where `silu(x) = x / (1 + e^-x)`.

use tilewright_macros::{tile_library, tile_module};

pub use kernels::*;

#[tile_library]
mod logistic {
    /// `1 / (1 + e^-x)`.
    fn sigmoid(x: Tile<f32>) -> Tile<f32> {
        recip(1.0 + exp2(x * -1.442_695))
    }
}

/// An operation, and its gradients.
#[tile_module(use crate::swiglu::logistic)]
pub mod kernels {
    /// `y = silu(gate) * up`.
    #[tile_kernel(
        types(T = [f32, f16, bf16]),
        tune(BLOCK = [1024, 2048], warps = [4]),
        grid = [cdiv(y.len(), BLOCK)],
        alias(gate, y),
        alias(up, y),
    )]
    pub fn swiglu<T: Float, const BLOCK: usize>(gate: &[T], up: &[T], y: &mut [T]) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let (g, u) = (load(gate, i).to::<f32>(), load(up, i).to::<f32>());
        store(y, i, (g * sigmoid(g) * u).to::<T>());
    }

    /// The gradients of `gate` and `up`, where `dy` is that of `y`.
    #[tile_kernel(
        types(T = [f32, f16, bf16]),
        tune(BLOCK = [1024], warps = [4]),
        grid = [cdiv(dy.len(), BLOCK)],
    )]
    pub fn swiglu_gradient<T: Float, const BLOCK: usize>(
        gate: &[T],
        up: &[T],
        dy: &[T],
        d_gate: &mut [T],
        d_up: &mut [T],
    ) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let (g, u, d) = (load(gate, i).to::<f32>(), load(up, i).to::<f32>(), load(dy, i).to::<f32>());
        let s = sigmoid(g);
        // The derivative of silu is s + g s (1 - s).
        let silu = g * s;
        store(d_up, i, (d * silu).to::<T>());
        store(d_gate, i, (d * u * fma(silu, 1.0 - s, s)).to::<T>());
    }
}
