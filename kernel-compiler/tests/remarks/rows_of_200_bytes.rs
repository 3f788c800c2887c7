#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub unsafe fn k<const B: usize>(a: *const f16, b: *const f16, c: *mut f32, n: usize) {
    let (i, j) = (arange(B), arange(B));
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..n / B {
        let x = load(a.add(i.expand(1) * 100 + (j + k * B).expand(0)));  //~ not accessed by a block pointer: the stride from row to row is no multiple of 16 bytes, or no product of arguments and constants: pad the rows, or pass their stride  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`  //~ not vectorized to 16 bytes: this copy by cp.async moves 8 bytes at a time: its index counts up over 64 elements from multiples of 4; offsets and strides that are multiples of 8 make it wider
        let y = load(b.add((i + k * B).expand(1) * n + j.expand(0)));
        acc = dot(x, y, acc);
    }
    store(c.add(i.expand(1) * n + j.expand(0)), acc);
}
