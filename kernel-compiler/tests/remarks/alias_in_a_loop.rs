#[tile_kernel(tune(B = [64], warps = [1]), grid = [1], alias(x, y))]
pub fn k<const B: usize>(x: &[f32], y: &mut [f32]) {
    for s in (0..y.len()).step_by(B) {
        let i = s + arange(B);
        store(y, i, load(x, i) * 2.0);  //~ not stored without a barrier: its loop also loads from an `alias` of the array, so that all threads meet in each iteration, also where a thread loads and stores the same element: load before the loop, where the tiles fit
    }
}
