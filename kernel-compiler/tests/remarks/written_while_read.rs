#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, mut b: ViewMut<f16, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        acc = dot(a.tile([0, k * B], [B, B]), b.tile([k * B, 0], [B, B]), acc);  //~ not copied by TMA: the kernel writes the array that it loads from  //~ not copied ahead by cp.async: the kernel writes the array that it loads from  //~ not multiplied by wgmma: an operand of it is not copied ahead by cp.async
    }
    b.store([0, 0], acc.to::<f16>());
}
