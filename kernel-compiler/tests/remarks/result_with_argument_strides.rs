#[tile_kernel(tune(B = [64], warps = [4], arch = [90]), grid = [1])]
pub unsafe fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, c: *mut f32, m: usize, n: usize, stride_cm: usize, stride_cn: usize) {
    let (rows, columns) = (arange(B), arange(B));
    let mut acc = zeros::<f32>([B, B]);
    for k in (0..a.dim(1)).step_by(64) {
        acc = dot(a.tile([0, k], [B, 64]), b.tile([k, 0], [64, B]), acc);
    }
    let at = rows.expand(1) * stride_cm + columns.expand(0) * stride_cn;
    store(c.add(at), acc).mask((rows.expand(1) < m) & (columns.expand(0) < n));  //~ not stored by TMA where its columns are contiguous: its strides are arguments, and a call gets this code if `stride_cn` is 1: of a result whose rows are 1 apart, compute the transpose, the product of the transposed operands in the other order
}
