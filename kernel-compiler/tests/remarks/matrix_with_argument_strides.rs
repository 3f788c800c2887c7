#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub unsafe fn k<const B: usize>(x: *const f32, y: *mut f32, stride_m: usize, stride_n: usize) {
    let (rows, columns) = (arange(B), arange(B));
    let t = load(x.add(rows.expand(1) * stride_m + columns.expand(0) * stride_n));  //~ not vectorized where another dimension is contiguous: its strides are arguments, and vectors are for calls in which `stride_n` is 1: of a transposed matrix elements are moved one by one. Exchange its dimensions in the kernel for that matrix
    store(y.add(rows.expand(1) * B + columns.expand(0)), t * 2.0);
}
