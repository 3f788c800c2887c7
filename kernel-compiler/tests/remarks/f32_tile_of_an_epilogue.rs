#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, x: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / 64 {
        acc = dot(a.tile([0, k * 64], [B, 64]), b.tile([k * 64, 0], [64, B]), acc);
    }
    let x = x.tile([0, 0], [B, B]);  //~ not copied by TMA: its elements have 4 bytes, and the stored ones 4: the buffer of a store holds both where both have 2
    c.store([0, 0], acc + x);
}
