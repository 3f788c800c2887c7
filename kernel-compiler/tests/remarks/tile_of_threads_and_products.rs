#[tile_kernel(tune(B = [64], warps = [4], arch = [80]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        let x = a.tile([0, k * B], [B, B]);
        acc = dot(x, x + x, acc);  //~ not copied ahead by cp.async: no operand of the product is a load of this loop
    }
    c.store([0, 0], acc);
}
