//! Products along a K of many more tiles than a circular buffer has stages: every stage is filled and given back
//! several times, and numbers are whole, so that a tile that is late, or early, shows.

use tilewright::Runtime;
use tilewright::tile_kernel;
use tilewright_core::f16;
use tilewright_language_tests::matrix::{Matrix, exact};
use tilewright_language_tests::run::{compared, taken, with};
use tilewright_language_tests::{view, view_mut};

#[tile_kernel(
    tune(BM = [64], BN = [64, 96, 128], BK = [64], warps = [4], arch = [90]),
    tune(BM = [64], BN = [64], BK = [32], warps = [4], stages = [2, 3], arch = [90]),
    tune(BM = [128], BN = [128], BK = [64], warps = [8], stages = [2, 4], arch = [90]),
    tune(BM = [128], BN = [64], BK = [64], warps = [4], stages = [2], ctas = [2], arch = [90]),
    tune(BM = [32], BN = [32], BK = [32], warps = [4], stages = [2, 3], arch = [80]),
    grid = [1],
    emulate = all,
)]
fn deep<const BM: usize, const BN: usize, const BK: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    for i in range(0, c.dim(0), BM) {
        let mut acc = zeros::<f32>([BM, BN]);
        for at in range(0, a.dim(1), BK) {
            acc = dot(a.tile([i, at], [BM, BK]), b.tile([at, 0], [BK, BN]), acc);
        }
        c.store([i, 0], acc);
    }
}

#[test]
fn circular_buffers_wrap_around() {
    let whole = |x: f32| f16::from_f32((x * 4.0).round());
    for config in deep::DESCS[0].configs {
        let of = |name: &str| config.consts.iter().find(|c| c.0 == name).expect("a constant").1 as usize;
        // Some 30 steps: more than twice as many as the most stages that there can be.
        let [m, n, k] = [2 * of("BM"), of("BN"), 30 * of("BK") + 8];
        let (a, b) = (Matrix::new([m, k], k, 1, whole), Matrix::new([k, n], n, 2, whole));
        let run = |rt: &Runtime| {
            let mut c = Matrix::new([m, n], n, 3, |_| f32::NAN);
            let call = deep(view!(a), view!(b), view_mut!(c));
            assert_eq!(taken(&call, config.id) == "tma", config.id.contains("arch=90"), "{}", config.id);
            rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| c.data)
        };
        compared(config.id, run, |what, x, y| exact(what, x, y));
    }
}

/// An iteration takes tiles from two circular buffers. Those of its first product are copied first, and given back
/// between the two products, which add to the same sums.
#[tile_kernel(tune(stages = [1], warps = [4], arch = [90]), grid = [1])]
fn two_depths(a: View<f16, 2>, b: View<f16, 2>, u: View<f16, 2>, v: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let (mut acc, mut rows) = (zeros::<f32>([64, 64]), zeros::<f32>([64]));
    for at in range(0, a.dim(1), 32) {
        let (x, y) = (a.tile([0, at], [64, 32]), b.tile([at, 0], [32, 64]));
        rows += sum(x.to::<f32>(), 1);
        let (z, w) = (u.tile([0, 2 * at], [64, 64]), v.tile([2 * at, 0], [64, 64]));
        acc = dot(x, y, acc);
        acc = dot(z, w, acc);
    }
    c.store([0, 0], acc + rows.expand(1));
}

#[test]
fn buffers_are_given_back_between_products_that_add_to_the_same_sums() {
    let whole = |x: f32| f16::from_f32((x * 4.0).round());
    let (n, k) = (64, 320);
    let (a, b) = (Matrix::new([64, k], k, 1, whole), Matrix::new([k, n], n, 2, whole));
    let (u, v) = (Matrix::new([64, 2 * k], 2 * k, 3, whole), Matrix::new([2 * k, n], n, 4, whole));
    for config in two_depths::DESCS[0].configs {
        let run = |rt: &Runtime| {
            let mut c = Matrix::new([64, n], n, 5, |_| f32::NAN);
            let call = two_depths(view!(a), view!(b), view!(u), view!(v), view_mut!(c));
            assert_eq!(taken(&call, config.id), "tma", "{}", config.id);
            rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| c.data)
        };
        compared(config.id, run, |what, x, y| exact(what, x, y));
    }
}
