#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub unsafe fn k<const B: usize>(a: *const f16, b: *const f16, c: *mut f32, n: usize, rows: usize) {
    let (i, j) = (arange(B), arange(B));
    let row = (i + 3) % rows;
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..n / B {
        let x = load(a.add(row.expand(1) * n + (j + k * B).expand(0)));  //~ not accessed by a block pointer: its index is not `row * stride + column` of two ranges (`arange`), scalars and arguments in 64 bits: write it so, or take a tile of a view  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`
        let y = load(b.add((i + k * B).expand(1) * n + j.expand(0)));
        acc = dot(x, y, acc);
    }
    store(c.add(i.expand(1) * n + j.expand(0)), acc);
}
