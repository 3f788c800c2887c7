#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub unsafe fn k<const B: usize>(a: *const f16, b: *const f16, c: *mut f32, n: usize) {
    let (i, j) = (arange(B), arange(B));
    let mut acc = zeros::<f32>([B, B]);
    let mut x = a.add(i.expand(1) * n + j.expand(0));
    let mut k = 0;
    while k < n {
        acc = dot(load(x), load(b.add((i + k).expand(1) * n + j.expand(0))), acc);
        x = x.add(B);
        k += B;
    }
    store(c.add(i.expand(1) * n + j.expand(0)), acc);
}
