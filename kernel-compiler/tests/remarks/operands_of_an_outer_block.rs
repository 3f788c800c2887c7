#[tile_kernel(tune(B = [64], warps = [4], arch = [80]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>, n: usize) {
    let (x, y) = (a.tile([0, 0], [B, B]), b.tile([0, 0], [B, B]));
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..n {
        acc = dot(x, y, acc);  //~ not copied ahead by cp.async: no operand of the product is a tile that its loop loads: load one there
    }
    c.store([0, 0], acc);
}
