//! An operation of candle that is a kernel of its own: `cargo run -p tilewright-candle --example operation`.

// ANCHOR: kernel
use candle_core::{Device, Result, Tensor, Var};
use tilewright::tile_kernel;
use tilewright_candle::custom_op;

/// y = max(x + bias, 0)².
#[tile_kernel(types(T = [f32, f16, bf16]), grid = [cdiv(x.dim(0), 16), cdiv(x.dim(1), 64)])]
pub fn squared_relu<T: Float>(x: View<T, 2>, bias: View<T, 2>, mut y: ViewMut<T, 2>) {
    let at = [program_id(0) * 16, program_id(1) * 64];
    let t = maximum(x.tile(at, [16, 64]).to::<f32>() + bias.tile(at, [16, 64]).to::<f32>(), 0.0);
    y.store(at, (t * t).to::<T>());
}

/// dx = 2 · sqrt(y) · dy.
#[tile_kernel(types(T = [f32, f16, bf16]), grid = [cdiv(dx.len(), 1024)])]
pub fn squared_relu_gradient<T: Float>(y: &[T], dy: &[T], dx: &mut [T]) {
    let i = program_id(0) * 1024 + arange(1024);
    store(dx, i, (2.0 * sqrt(load(y, i).to::<f32>()) * load(dy, i).to::<f32>()).to::<T>());
}
// ANCHOR_END: kernel

// ANCHOR: operation
custom_op! {
    /// `max(x + bias, 0)²`. The caller broadcasts the bias, without a copy.
    pub struct SquaredRelu;
    types T in [f32, f16, bf16];
    fn(self, x: View<T, 2>, bias: View<T, 2>) -> y: ViewMut<T, 2> = x.same_shape(bias)?;
    launch squared_relu(x, bias, y);
    bwd(dy) { x: SquaredReluGradient => (y, dy), bias: SquaredReluGradient => (y, dy) }
}

custom_op! {
    struct SquaredReluGradient;
    types T in [f32, f16, bf16];
    fn(self, y: &[T], dy: &[T]) -> dx: &mut [T] = y.same_shape(dy)?;
    launch squared_relu_gradient(y, dy, dx);
}
// ANCHOR_END: operation

// ANCHOR: main
pub fn main() -> Result<()> {
    let device = Device::Cpu; // or, with the feature `cuda`, Device::new_cuda_with_stream(0)?
    let x = Var::new(&[[1.0f32, -2.0], [3.0, 0.5]], &device)?;
    let bias = Var::new(&[1.0f32, 0.0], &device)?;
    let y = x.apply_op2(&bias.broadcast_as((2, 2))?, SquaredRelu)?;
    assert_eq!(y.to_vec2::<f32>()?, [[4.0, 0.0], [16.0, 0.25]]);

    let gradients = y.sum_all()?.backward()?;
    let of = |x: &Tensor| gradients.get(x).cloned().expect("a gradient");
    assert_eq!(of(&x).to_vec2::<f32>()?, [[4.0, 0.0], [8.0, 1.0]]);
    assert_eq!(of(&bias).to_vec1::<f32>()?, [12.0, 1.0]);
    println!("{y}");
    Ok(())
}
// ANCHOR_END: main
