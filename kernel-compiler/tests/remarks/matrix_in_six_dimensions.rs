#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub unsafe fn k<const B: usize>(a: *const f16, b: *const f16, c: *mut f32, n: usize, s: usize, t: usize, u: usize) {
    let (i, j) = (arange(B), arange(B));
    let first = program_id(0) * s + program_id(1) * t + program_id(2) * u;
    let mut acc = zeros::<f32>([B, B]);
    for l in 0..n {
        let x = load(a.add(first + l * s * t + i.expand(1) * n + j.expand(0)));  //~ not accessed by a block pointer: its index has 6 dimensions with strides of their own, and a tensor map 5 at most: merge dimensions that are contiguous  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`
        let y = load(b.add((i + l * B).expand(1) * n + j.expand(0)));
        acc = dot(x, y, acc);
    }
    store(c.add(i.expand(1) * n + j.expand(0)), acc);
}
