#[tile_kernel(tune(B = [512], warps = [16]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, 64]);
    for k in 0..a.dim(1) / 16 {
        acc = dot(a.tile([0, k * 16], [B, 16]), b.tile([k * 16, 0], [16, 64]), acc);  //~ not copied by TMA: a tile of 512 rows is larger than a box of 256: take smaller tiles
    }
    c.store([0, 0], acc);
}
