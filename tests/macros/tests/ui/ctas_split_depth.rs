use tilewright::tile_kernel;

#[tile_kernel(tune(BM = [128], BN = [64], ctas = [2], arch = [90]), grid = [1, 1, 2])]
fn k<const BM: usize, const BN: usize>(a: View<f16, 2>, b: View<f16, 2>, partials: &mut [f32], done: &mut [u32]) {
    let k = program_id(2) * 64;
    let sums = dot(a.tile([0, k], [BM, 64]), b.tile([k, 0], [64, BN]), zeros::<f32>([BM, BN]));
    let at = arange(BM).expand(1) * BN + arange(BN).expand(0);
    atomic_add(partials, at, sums);
}

fn main() {}
