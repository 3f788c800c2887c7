#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / 64 {
        let left = a.tile([0, k * 64], [B, 64]) * 2.0.to::<f16>();
        let right = b.tile([k * 64, 0], [64, B]) * 3.0.to::<f16>();  //~ not multiplied from registers: it is a computed right operand: threads write it to shared memory, between two barriers. A computed left operand stays in registers
        acc = dot(left, right, acc);
    }
    c.store([0, 0], acc);
}
