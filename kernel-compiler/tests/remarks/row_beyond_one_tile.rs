#[tile_kernel(tune(BLOCK = [64], warps = [1]), grid = [x.dim(0)])]
pub fn k<const BLOCK: usize>(x: View<f32, 2>, y: &mut [f32]) {
    store(y, program_id(0), sum(x.tile([program_id(0), 0], [1, BLOCK])));  //~ not refused where it is larger than its tile: one tile of 64 is all that is taken of `x.dim(1)`: of a larger one the rest is left out without a word. `requires = [x.dim(1) <= 64]`, with the constant's name, refuses such a call, or takes another configuration
}
