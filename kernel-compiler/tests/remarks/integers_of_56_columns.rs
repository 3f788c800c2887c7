#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<i8, 2>, b: View<i8, 2>, mut c: ViewMut<i32, 2>) {
    let mut acc = zeros::<i32>([B, 56]);
    for k in 0..a.dim(1) / 64 {
        acc = dot(a.tile([0, k * 64], [B, 64]), trans(b.tile([0, k * 64], [56, 64])), acc);  //~ not multiplied by wgmma: wgmma multiplies integers of 8, 24 or a multiple of 16 columns, not of 56: take another tile  //~ not multiplied without padding: its tile [64, 56] is computed as one of [64, 64]: take powers of two, or, where wgmma multiplies it, 64 rows for each four warps and a multiple of 8 columns  //~ not copied ahead by cp.async: its extents [56, 64] are no powers of two: take some that are
    }
    c.store([0, 0], acc);
}
