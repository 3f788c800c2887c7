#[tile_kernel(tune(B = [64], warps = [4], arch = [80]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        let x = a.tile([0, k * B], [B, B]);  //~ not copied ahead by cp.async: threads take elements of its tile too: load the tile once more for them
        acc = dot(x, x + x, acc);
    }
    c.store([0, 0], acc);
}
