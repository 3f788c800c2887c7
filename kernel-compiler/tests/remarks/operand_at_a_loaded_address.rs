#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub unsafe fn k<const B: usize>(tables: &[u64], b: *const f16, c: *mut f32, n: usize) {
    let (i, j) = (arange(B), arange(B));
    let a = load(tables, program_id(0)) as *const f16;
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..n / B {
        let x = load(a.add(i.expand(1) * n + (j + k * B).expand(0)));  //~ not accessed by a block pointer: its array is no parameter, and a tensor map describes one: pass the array to the kernel  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`  //~ not copied ahead by cp.async: nothing tells that its address is aligned: `address / 16 * 16` does  //~ not multiplied by wgmma: this operand is not copied ahead by cp.async: wgmma takes tiles that a `for` loop loads for its products
        let y = load(b.add((i + k * B).expand(1) * n + j.expand(0)));
        acc = dot(x, y, acc);
    }
    store(c.add(i.expand(1) * n + j.expand(0)), acc);
}
