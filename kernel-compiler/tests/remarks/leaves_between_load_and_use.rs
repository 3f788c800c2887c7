#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>, last: usize) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        let x = a.tile([0, k * B], [B, B]);  //~ not copied by TMA: `break`, `continue` or `return` may come between the load and its last use  //~ not multiplied by wgmma: an operand of it is not copied ahead by cp.async
        if k == last { break; }
        acc = dot(x, b.tile([k * B, 0], [B, B]), acc);  //~ not copied ahead by cp.async: the loop around the product has an inner loop, a jump or an atomic
    }
    c.store([0, 0], acc);
}
