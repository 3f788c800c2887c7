//! Products along a depth of many more tiles than a circular buffer has stages: every stage is filled and given back
//! several times, and numbers are whole, so that a tile that is late, or early, shows.

use kernel_core::f16;
use kernel_macros::tile_kernel;
use tile_host::Runtime;
use tile_language_tests::matrix::Matrix;
use tile_language_tests::run::{seeds, taken, with};
use tile_language_tests::{view, view_mut};

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
            rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{}: {e}", config.id));
            c.data
        };
        let wanted = run(&Runtime::cpu());
        seeds().iter().for_each(|rt| assert!(run(rt) == wanted, "{}", config.id));
    }
}
