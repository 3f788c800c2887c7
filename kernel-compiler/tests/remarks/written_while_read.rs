#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, mut b: ViewMut<f16, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        acc = dot(a.tile([0, k * B], [B, B]), b.tile([k * B, 0], [B, B]), acc);  //~ not copied by TMA: the kernel writes the array that it loads from: write to another one  //~ not copied ahead by cp.async: the kernel writes the array that it loads from: write to another one  //~ not multiplied by wgmma: this operand is not copied ahead by cp.async: wgmma takes tiles that a `for` loop loads for its products
    }
    b.store([0, 0], acc.to::<f16>());
}
