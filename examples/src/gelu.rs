//! GeLU with tanh written out in exponentials.

use tilewright::tile_kernel;

// ANCHOR: gelu_plain
/// The formula as it is usually first written. For |x| above 7 or so the exponential overflows and the quotient is
/// NaN (infinity by infinity); `tilewright_kernels::gelu` shows the form that holds everywhere.
///
/// # Safety
/// `x` and `y` address `num_elements` elements each.
#[tile_kernel(tune(BLOCK_SIZE = [1024]), grid = [cdiv(num_elements, BLOCK_SIZE)])]
pub unsafe fn gelu_plain<const BLOCK_SIZE: usize>(x: *const f32, y: *mut f32, num_elements: usize) {
    let pid = program_id(0);
    let start = pid * BLOCK_SIZE;
    let offsets = start + arange(BLOCK_SIZE);
    let mask = offsets < num_elements;
    let v = load(x.add(offsets)).mask(mask);
    let a = 0.797_884_56 * (v + 0.044_715 * v * v * v);
    let e = exp(2.0 * a);
    let tanh_a = (e - 1.0) / (e + 1.0);
    store(y.add(offsets), 0.5 * v * (1.0 + tanh_a)).mask(mask);
}
// ANCHOR_END: gelu_plain
