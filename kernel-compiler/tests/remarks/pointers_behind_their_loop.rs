#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub unsafe fn k<const B: usize>(a: *const f16, b: *const f16, c: *mut f32, k: usize, n: usize) {
    let (rows, cols) = (arange(B), arange(64));
    let mut a_ptrs = a.add(rows.expand(1) * k + cols.expand(0));
    let mut acc = zeros::<f32>([B, B]);
    for s in 0..k / 64 {
        let at = s * 64 + cols;
        acc = dot(load(a_ptrs), load(b.add(at.expand(1) * n + rows.expand(0))), acc);
        a_ptrs += 64;
    }
    let at = k / 64 * 64 + cols;
    let left = load(a_ptrs).mask(at.expand(0) < k).other(0.0);  //~ not accessed by a block pointer: a loop has moved its pointers, and its mask is of other indices: compute the pointers anew behind the loop  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`  //~ not multiplied by wgmma: this operand is not copied ahead by cp.async: wgmma takes tiles that a `for` loop loads for its products
    acc = dot(left, load(b.add(at.expand(1) * n + rows.expand(0))).mask(at.expand(1) < k).other(0.0), acc);
    store(c.add(rows.expand(1) * n + rows.expand(0)), acc);
}
