#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(pages: &mut [u32], a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        let page = load(pages, k) as usize;  //~ not copied by TMA: where or whether a tile is loaded depends on this value, which the producer cannot compute: it computes scalars of arguments, and of arrays that the kernel only reads
        acc = dot(a.tile([0, k * B], [B, B]), b.tile([page * B, 0], [B, B]), acc);  //~ not copied ahead by cp.async: its address depends on data of the same iteration, or on a variable that some iterations leave alone: compute it from the number of the iteration  //~ not multiplied by wgmma: this operand is not copied ahead by cp.async: wgmma takes tiles that a `for` loop loads for its products
    }
    store(pages, 0, 1);
    c.store([0, 0], acc);
}
