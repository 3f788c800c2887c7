#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub unsafe fn k<const B: usize>(a: *const f16, b: *const f16, c: *mut f32, n: usize, from: i32) {
    let (i, j) = (arange(B), arange(B));
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..n / B {
        let x = load(a.add(i.expand(1) * n + (j + ((from - 1) as usize + k * B)).expand(0)));  //~ not accessed by a block pointer: an index that no mask limits may be negative: cast signed numbers to `usize` once, or mask it  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`  //~ not copied ahead by cp.async: its elements are not contiguous and aligned to 4 bytes: load along rows that begin at multiples of 4 bytes  //~ not multiplied by wgmma: this operand is not copied ahead by cp.async: wgmma takes tiles that a `for` loop loads for its products  //~ not vectorized to 16 bytes: this copy through registers moves 2 bytes at a time: its index counts up over 64 elements from multiples of 1; offsets and strides that are multiples of 8 make it wider
        let y = load(b.add((i + k * B).expand(1) * n + j.expand(0)));
        acc = dot(x, y, acc);
    }
    store(c.add(i.expand(1) * n + j.expand(0)), acc);
}
