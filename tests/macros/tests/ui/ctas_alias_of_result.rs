use tilewright::tile_kernel;

#[tile_kernel(tune(BM = [128], BN = [64], BK = [64], ctas = [2], arch = [90]), grid = [1], alias(x, c))]
fn k<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    x: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
) {
    let sums = dot(a.tile([0, 0], [BM, BK]), b.tile([0, 0], [BK, BN]), zeros::<f32>([BM, BN]));
    c.store([0, 0], (sums + x.tile([0, 0], [1, BN]).to::<f32>()).to::<f16>());
}

fn main() {}
