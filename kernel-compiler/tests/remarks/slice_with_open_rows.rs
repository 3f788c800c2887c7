#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: &[f16], b: &[f16], c: &mut [f32], n: usize) {
    let (i, j) = (arange(B), arange(B));
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..n / B {
        let columns = j + k * B;
        let x = load(a, i.expand(1) * n + columns.expand(0)).mask(columns.expand(0) < n);  //~ not accessed by a block pointer: a slice's rows and columns are not both limited by its mask: use a view, or mask both  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`
        let y = load(b, (i + k * B).expand(1) * n + j.expand(0)).mask(j.expand(0) < n);  //~ not accessed by a block pointer: a slice's rows and columns are not both limited by its mask: use a view, or mask both
        acc = dot(x, y, acc);
    }
    store(c, i.expand(1) * n + j.expand(0), acc);  //~ not accessed by a block pointer: a slice's rows and columns are not both limited by its mask: use a view, or mask both
}
