#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: &[i8], b: &[i8], mut c: ViewMut<i32, 2>, n: usize) {
    let (i, j) = (arange(B), arange(B));
    let mut acc = zeros::<i32>([B, B]);
    for k in 0..n / B {
        let x = load(a, i.expand(1) + (j + k * B).expand(0) * n);  //~ not accessed by a block pointer: a slice's rows and columns are not both limited by its mask: use a view, or mask both  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`  //~ not multiplied by wgmma: A is MN-major, which wgmma takes only with 2-byte elements: store it K-major
        let y = load(b, (i + k * B).expand(1) + j.expand(0) * n);  //~ not accessed by a block pointer: a slice's rows and columns are not both limited by its mask: use a view, or mask both
        acc = dot(x, y, acc);
    }
    c.store([0, 0], acc);
}
