#[tile_kernel(tune(B = [64], warps = [1]), grid = [1])]
pub unsafe fn k<const B: usize>(x: View<f32, 1>, mut y: ViewMut<f32, 1>) {
    let i = program_id(0) * B;
    let t = x.tile([i], [B]).unchecked();  //~ not unchecked: the ends of a view's tiles are always checked: access a slice or a pointer instead
    y.store([i], t).unchecked();  //~ not unchecked: the ends of a view's tiles are always checked: access a slice or a pointer instead
}
