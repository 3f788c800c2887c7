#[tile_kernel(tune(B = [1024], warps = [4]), grid = [cdiv(y.len(), B)])]
pub fn k<const B: usize>(x: &[f32], y: &mut [f32]) {
    let i = program_id(0) * B + arange(B);
    store(y, i, load(x, i + 2));  //~ not vectorized to 16 bytes: this load reads 8 bytes at a time: its index counts up over 1024 elements from multiples of 2; offsets and strides that are multiples of 4 make it wider
}
