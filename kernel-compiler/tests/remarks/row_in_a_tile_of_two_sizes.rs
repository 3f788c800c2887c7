#[tile_kernel(tune(BLOCK = [256, 1024], warps = [1]), grid = [x.dim(0)], requires = [x.dim(1) <= BLOCK])]
pub fn k<const BLOCK: usize>(x: View<f32, 2>, y: &mut [f32]) {
    store(y, program_id(0), sum(x.tile([program_id(0), 0], [1, BLOCK])));
}
