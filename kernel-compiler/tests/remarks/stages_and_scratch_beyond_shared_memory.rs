#[tile_kernel(tune(B = [128], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: &[f16], b: &[f16], mut c: ViewMut<f32, 2>, n: usize) {
    let i = arange(B);
    let mut acc = zeros::<f32>([B, B]);
    for k in (0..n / B).stages(3) {
        let x = load(a, i.expand(1) * n + (i + k * B).expand(0));  //~ not accessed by a block pointer: a slice's rows and columns are not both limited by its mask: use a view, or mask both  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`
        let y = load(b, (i + k * B).expand(1) * B + i.expand(0));  //~ not accessed by a block pointer: a slice's rows and columns are not both limited by its mask: use a view, or mask both
        acc = dot(x, y, acc);  //~ not multiplied by wgmma: its stages and scratch buffers take 262144 bytes of shared memory, of 232448 at most: take smaller tiles, or fewer stages
    }
    c.store([0, 0], sort(acc, 0));
}
