#[tile_kernel(tune(B = [4], warps = [4]), grid = [1])]
pub unsafe fn k<const B: usize>(a: *const f16, b: *const f16, mut c: ViewMut<f32, 3>, k: usize) {
    let z = arange(B).expand(1).expand(2);
    let (row, column) = (arange(64).expand(1).expand(0), arange(64).expand(0).expand(0));
    let mut acc = zeros::<f32>([B, 64, 64]);
    for at in (0..k).step_by(64) {
        acc = dot(load(a.add(z + (row * k + at + column) * B)), load(b.add(z + ((at + row) * 64 + column) * B)), acc);  //~ not multiplied by wgmma: a batch of products takes operands that TMA copies: take tiles of views  //~ not accessed by a block pointer: its tile has 3 dimensions, and index arithmetic makes block pointers of two: take a tile of a view  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`  //~ not copied ahead by cp.async: its contiguous elements are in several matrices of the batch: store each matrix by itself  //~ not vectorized to 16 bytes: this load reads 8 bytes at a time: its index counts up over 4 elements from multiples of 4; offsets and strides that are multiples of 8 make it wider  //~ not accessed by a block pointer: its tile has 3 dimensions, and index arithmetic makes block pointers of two: take a tile of a view  //~ not copied ahead by cp.async: its contiguous elements are in several matrices of the batch: store each matrix by itself  //~ not vectorized to 16 bytes: this load reads 8 bytes at a time: its index counts up over 4 elements from multiples of 4; offsets and strides that are multiples of 8 make it wider
    }
    c.store([0, 0, 0], acc);
}
