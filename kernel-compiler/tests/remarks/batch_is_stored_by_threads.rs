#[tile_kernel(tune(B = [2], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 3>, b: View<f16, 3>, mut c: ViewMut<f32, 3>) {
    let mut acc = zeros::<f32>([B, 64, 64]);
    for at in (0..a.dim(2)).step_by(64) {
        acc = dot(a.tile([0, 0, at], [B, 64, 64]), b.tile([0, at, 0], [B, 64, 64]), acc);
    }
    c.store([0, 0, 0], acc);  //~ not stored by TMA: it is a batch of matrices, and TMA stores one: multiply one matrix in each program
}
