use tilewright::tile_kernel;

#[tile_kernel(tune(BM = [20], BN = [64], ctas = [8], arch = [90]), grid = [1])]
fn k<const BM: usize, const BN: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    c.store([0, 0], dot(a.tile([0, 0], [BM, 64]), b.tile([0, 0], [64, BN]), zeros::<f32>([BM, BN])));
}

fn main() {}
