#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f32, 2>, b: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / 32 {
        let left = trans(a.tile([k * 32, 0], [32, B])) * 2.0;
        let right = b.tile([k * 32, 0], [32, B]) * 3.0;  //~ not multiplied from registers: it is a computed right operand: threads write it to shared memory, between two barriers. A computed left operand stays in registers. Threads write one element of 4 bytes at a time, since it is MN-major: a K-major array is written by vectors
        acc = dot(left, right, acc).tf32();
    }
    c.store([0, 0], acc);
}
