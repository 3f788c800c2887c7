#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: &[f16], mut c: ViewMut<f32, 2>) {
    let at = arange(B).expand(1) * B + arange(B).expand(0);
    let mut right = shared_array::<f16>(4096);
    store(right, at, load(b, at));  //~ not accessed by a block pointer: its array is no parameter, and a tensor map describes one: pass the array to the kernel
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        acc = dot(a.tile([0, k * B], [B, B]), load(right, at), acc);  //~ not copied by TMA: all warps reach the shared arrays of the kernel, so that none copies alone: leave `shared_array` out  //~ not accessed by a block pointer: its array is no parameter, and a tensor map describes one: pass the array to the kernel  //~ not copied ahead by cp.async: the kernel writes the array that it loads from: write to another one  //~ not multiplied by wgmma: this operand is not copied ahead by cp.async: wgmma takes tiles that a `for` loop loads for its products
    }
    c.store([0, 0], acc);
}
