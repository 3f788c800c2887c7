#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 3>, b: View<f16, 2>, mut c: ViewMut<f32, 3>) {
    let mut acc = zeros::<f32>([2, B, B]);
    for k in 0..a.dim(2) / 64 {
        let left = a.tile([0, 0, k * 64], [2, B, 64]) * 2.0.to::<f16>();
        let right = b.tile([k * 64, 0], [64, B]).expand(0).broadcast([2, 64, B]);  //~ not multiplied from registers: it is a computed right operand: threads write it to shared memory, between two barriers. A computed left operand stays in registers. It is one matrix for the whole batch, and is written once for each product: one product of all rows (`reshape`) writes it once
        acc = dot(left, right, acc);
    }
    c.store([0, 0, 0], acc);  //~ not stored by TMA: it is a batch of matrices, and TMA stores one: multiply one matrix in each program
}
