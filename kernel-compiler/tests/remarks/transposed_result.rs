#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub unsafe fn k<const B: usize>(a: *const f16, b: *const f16, c: *mut f32, n: usize) {
    let (i, j) = (arange(B), arange(B));
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..n / B {
        let x = load(a.add(i.expand(1) * n + (j + k * B).expand(0)));
        let y = load(b.add((i + k * B).expand(1) * n + j.expand(0)));
        acc = dot(x, y, acc);
    }
    store(c.add(i.expand(1) + j.expand(0) * n), acc);  //~ not accessed by a block pointer: the stride of its columns is not 1, and a tensor map stores contiguous rows: store to a row-major array
}
