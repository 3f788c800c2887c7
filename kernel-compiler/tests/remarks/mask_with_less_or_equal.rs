#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub unsafe fn k<const B: usize>(a: *const f16, b: *const f16, c: *mut f32, n: usize) {
    let (i, j) = (arange(B), arange(B));
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..n / B {
        let x = load(a.add(i.expand(1) * n + (j + k * B).expand(0))).mask(i.expand(1) <= n);  //~ not accessed by a block pointer: its mask is not made of `index < extent` for its rows and columns, joined by `&`: write it so, or take a tile of a view  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`
        let y = load(b.add((i + k * B).expand(1) * n + j.expand(0)));
        acc = dot(x, y, acc);
    }
    store(c.add(i.expand(1) * n + j.expand(0)), acc);
}
