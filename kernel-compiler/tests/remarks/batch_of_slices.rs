#[tile_kernel(tune(B = [2], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: &[f16], b: &[f16], mut c: ViewMut<f32, 3>, k: usize) {
    let z = arange(B).expand(1).expand(2);
    let (row, column) = (arange(64).expand(1).expand(0), arange(64).expand(0).expand(0));
    let mut acc = zeros::<f32>([B, 64, 64]);
    for at in (0..k).step_by(64) {
        acc = dot(load(a, (z * 64 + row) * k + at + column), load(b, (z * k + at + row) * 64 + column), acc);  //~ not multiplied by wgmma: a batch of products takes operands that TMA copies: take tiles of views  //~ not accessed by a block pointer: its tile has 3 dimensions, and index arithmetic makes block pointers of two: take a tile of a view  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`  //~ not accessed by a block pointer: its tile has 3 dimensions, and index arithmetic makes block pointers of two: take a tile of a view
    }
    c.store([0, 0, 0], acc);
}
