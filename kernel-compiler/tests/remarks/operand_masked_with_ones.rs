#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        acc = dot(a.tile([0, k * B], [B, B]).other(1.0), b.tile([k * B, 0], [B, B]), acc);  //~ not accessed by a block pointer: its masked elements are no zeros, and TMA fills what lies beyond an array with zeros: leave `.other(..)` out  //~ not copied by TMA: its address is no block pointer  //~ not copied ahead by cp.async: masked elements are not zero (`.other(..)`)  //~ not multiplied by wgmma: an operand of it is not copied ahead by cp.async
    }
    c.store([0, 0], acc);
}
