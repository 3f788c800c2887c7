#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(x: View<f16, 2>, a: View<f16, 2>, b: View<f16, 2>, mut y: ViewMut<f32, 2>) {
    let left = x.tile([0, 0], [B, 64]);
    let mut acc = zeros::<f32>([B, 256]);
    for i in range(0, a.dim(0), 128) {
        let s = dot(left, trans(a.tile([i, 0], [128, 64])), zeros::<f32>([B, 128]));
        acc = dot(s.to::<f16>(), b.tile([i, 0], [128, 256]), acc);  //~ not pipelined: both products and the tile between them would take 224 registers of a thread, of 176 at most: take smaller tiles or more warps
    }
    y.store([0, 0], acc);
}
