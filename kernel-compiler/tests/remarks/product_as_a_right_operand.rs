#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(x: View<f16, 2>, a: View<f16, 2>, b: View<f16, 2>, mut y: ViewMut<f32, 2>) {
    let left = x.tile([0, 0], [B, 64]);
    let mut acc = zeros::<f32>([B, 64]);
    let mut top = full([B], -1e30);
    for i in range(0, a.dim(0), 64) {
        let s = dot(trans(a.tile([i, 0], [64, 64])), b.tile([i, 0], [64, 64]), zeros::<f32>([64, 64]));
        acc = dot(left, s.to::<f16>(), acc);  //~ not pipelined: its right operand is computed from the product before it, not its left one: swap the operands, and transpose both  //~ not multiplied from registers: it is a computed right operand: threads write it to shared memory, between two barriers. A computed left operand stays in registers
        top = maximum(top, max(acc, 1));
    }
    y.store([0, 0], acc + top.expand(1));
}
