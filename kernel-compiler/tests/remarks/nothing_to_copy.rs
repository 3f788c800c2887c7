#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: &[f16], b: &[f16], mut c: ViewMut<f32, 2>) {
    let at = arange(B).expand(1) * B + arange(B).expand(0);
    let x = load(a, at) * 2.0.to::<f16>();  //~ not multiplied by wgmma: an operand is computed, which wgmma takes only where TMA copies: load it as it is multiplied, or take tiles of views
    let y = load(b, at) * 2.0.to::<f16>();
    c.store([0, 0], dot(x, y, zeros::<f32>([B, B])));  //~ not copied by TMA: no product has an operand that is a tile of a view, or that is computed from one: take tiles of views
}
