#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<i8, 2>, b: View<i8, 2>, mut c: ViewMut<i32, 2>) {
    let mut acc = zeros::<i32>([B, B]);
    for k in 0..a.dim(1) / B {
        acc = dot(a.tile([0, k * B], [B, B]), b.tile([k * B, 0], [B, B]), acc);  //~ not multiplied by wgmma: B is MN-major, which wgmma takes only with 2-byte elements: store it K-major
    }
    c.store([0, 0], acc);
}
