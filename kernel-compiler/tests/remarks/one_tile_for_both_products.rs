#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(x: View<f16, 2>, a: View<f16, 2>, b: View<f16, 2>, mut y: ViewMut<f32, 2>) {
    let left = x.tile([0, 0], [B, 64]);
    let mut acc = zeros::<f32>([B, 64]);
    for i in range(0, a.dim(0), 64) {
        let tile = a.tile([i, 0], [64, 64]);
        let s = dot(left, trans(tile), zeros::<f32>([B, 64]));
        acc = dot(s.to::<f16>(), tile, acc);  //~ not pipelined: its right operand is no tile that is loaded in the loop for it alone: load it there, once more where the first product takes it too
    }
    y.store([0, 0], acc);
}
