#[tile_kernel(tune(B = [2], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: &[f16], b: &[f16], mut c: ViewMut<f32, 3>, k: usize) {
    let z = arange(B).expand(1).expand(2);
    let (row, column) = (arange(64).expand(1).expand(0), arange(64).expand(0).expand(0));
    let mut acc = zeros::<f32>([B, 64, 64]);
    for at in (0..k).step_by(64) {
        acc = dot(load(a, (z * 64 + row) * k + at + column), load(b, (z * k + at + row) * 64 + column), acc);  //~ not multiplied by wgmma: products of a batch (rank 3) are of tiles that TMA copies  //~ not accessed by a block pointer: its tile has not two dimensions  //~ not copied by TMA: its address is no block pointer  //~ not accessed by a block pointer: its tile has not two dimensions
    }
    c.store([0, 0, 0], acc);
}
