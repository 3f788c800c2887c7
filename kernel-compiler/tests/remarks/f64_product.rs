#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f64, 2>, b: View<f64, 2>, mut c: ViewMut<f64, 2>) {
    let mut acc = zeros::<f64>([B, B]);
    for k in 0..a.dim(1) / 16 {
        acc = dot(a.tile([0, k * 16], [B, 16]), b.tile([k * 16, 0], [16, B]), acc);  //~ not multiplied by wgmma: wgmma has no instruction for f64: multiply f32 with `.tf32()`, or smaller types  //~ not copied ahead by cp.async: its elements have more than 4 bytes: multiply smaller ones  //~ not copied ahead by cp.async: its elements have more than 4 bytes: multiply smaller ones
    }
    c.store([0, 0], acc);
}
