#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: &[f32], b: &[f32], mut c: ViewMut<f32, 2>, k: usize) {
    let (row, column) = (arange(B).expand(1), arange(B).expand(0));
    let mut acc = zeros::<f32>([B, B]);
    for at in (0..k).step_by(B) {
        acc = dot(load(a, row * k + at + column), load(b, (row + at) * B + column), acc).tf32x3();  //~ not copied by TMA: no product has an operand that is a tile of a view, or that is computed from one: take tiles of views  //~ not multiplied by wgmma: `.tf32x3()` uses wgmma only where TMA copies the operands: take tiles of views  //~ not accessed by a block pointer: a slice's rows and columns are not both limited by its mask: use a view, or mask both  //~ not accessed by a block pointer: a slice's rows and columns are not both limited by its mask: use a view, or mask both
    }
    c.store([0, 0], acc);
}
