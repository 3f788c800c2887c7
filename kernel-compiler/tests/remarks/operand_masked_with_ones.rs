#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        acc = dot(a.tile([0, k * B], [B, B]).other(1.0), b.tile([k * B, 0], [B, B]), acc);  //~ not accessed by a block pointer: its masked elements are no zeros, and TMA fills what lies beyond an array with zeros: leave `.other(..)` out  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`  //~ not copied ahead by cp.async: its masked elements are no zeros, which cp.async writes for them: leave `.other(..)` out  //~ not multiplied by wgmma: this operand is not copied ahead by cp.async: wgmma takes tiles that a `for` loop loads for its products
    }
    c.store([0, 0], acc);
}
