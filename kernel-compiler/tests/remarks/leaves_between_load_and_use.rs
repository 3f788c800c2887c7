#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>, last: usize) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        let x = a.tile([0, k * B], [B, B]);  //~ not copied by TMA: `break`, `continue` or `return` may come between the load and its last use: load behind it  //~ not multiplied by wgmma: this operand is not copied ahead by cp.async: wgmma takes tiles that a `for` loop loads for its products
        if k == last { break; }
        acc = dot(x, b.tile([k * B, 0], [B, B]), acc);  //~ not copied ahead by cp.async: the loop around the product has an inner loop, a jump or an atomic: move that out of it
    }
    c.store([0, 0], acc);
}
