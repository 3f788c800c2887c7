#[tile_kernel(tune(B = [1024], warps = [4]), grid = [cdiv(y.len(), B)])]
pub fn k<const B: usize>(x: &[f32], at: &[u32], y: &mut [f32]) {
    let i = program_id(0) * B + arange(B);
    store(y, i, load(x, load(at, i)));  //~ not vectorized to 16 bytes: this load reads 1 element of 4 bytes at a time: no dimension of its index is known to count up by 1, as `start + arange(BLOCK)` does
}
