#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, 64]);
    for k in 0..a.dim(1) / 64 {
        acc = dot(a.tile([0, k * 64 + 4], [B, 64]), b.tile([k * 64, 0], [64, 64]), acc);  //~ not accessed by a block pointer: it begins at a column that is not known to be a multiple of 16 bytes, and TMA copies no other tile: compute its column as a multiple of a constant, or from arguments alone  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`  //~ not vectorized to 16 bytes: this copy by cp.async moves 8 bytes at a time: its index counts up over 64 elements from multiples of 4; offsets and strides that are multiples of 8 make it wider
    }
    c.store([0, 0], acc);
}
