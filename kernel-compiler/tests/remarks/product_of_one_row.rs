#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f32, 2>, b: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([1, B]);
    for k in 0..a.dim(1) / 16 {
        acc = dot(a.tile([0, k * 16], [1, 16]), b.tile([k * 16, 0], [16, B]), acc);  //~ not multiplied by wgmma: f32 is multiplied by FMAs; `.tf32()` lets tensor cores round it  //~ not copied ahead by cp.async: its tile is a single row or column: take several rows and columns
    }
    c.store([0, 0], acc);
}
