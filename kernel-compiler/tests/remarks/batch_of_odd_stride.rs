#[tile_kernel(tune(B = [64], warps = [4]), grid = [4])]
pub unsafe fn k<const B: usize>(a: *const f16, b: *const f16, c: *mut f32, n: usize) {
    let (i, j) = (arange(B), arange(B));
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..n / B {
        let x = load(a.add(program_id(0) * 1001 + i.expand(1) * n + (j + k * B).expand(0)));  //~ not accessed by a block pointer: a term of its index belongs to no dimension whose stride is a multiple of 16 bytes  //~ not copied by TMA: its address is no block pointer  //~ not copied ahead by cp.async: its elements are not contiguous and aligned to 4 bytes  //~ not multiplied by wgmma: an operand of it is not copied ahead by cp.async
        let y = load(b.add((i + k * B).expand(1) * n + j.expand(0)));
        acc = dot(x, y, acc);
    }
    store(c.add(i.expand(1) * n + j.expand(0)), acc);
}
