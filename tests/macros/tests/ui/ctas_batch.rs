use tilewright::tile_kernel;

#[tile_kernel(tune(BM = [128], BN = [64], ctas = [2], arch = [90]), grid = [1])]
fn k<const BM: usize, const BN: usize>(a: View<f16, 3>, b: View<f16, 3>, mut c: ViewMut<f32, 3>) {
    let sums = dot(a.tile([0, 0, 0], [2, BM, 64]), b.tile([0, 0, 0], [2, 64, BN]), zeros::<f32>([2, BM, BN]));
    c.store([0, 0, 0], sums);
}

fn main() {}
