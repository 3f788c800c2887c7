//! Kernels that may begin before the launch in front has ended: their reads until they wait for it.

use tilewright::Runtime;
use tilewright::tile_kernel;
use tilewright_core::f16;
use tilewright_language_tests::matrix::{Matrix, near};
use tilewright_language_tests::run::{backends, seeds};
use tilewright_language_tests::{view, view_mut};

/// `x` may be read at once; `y` only after the wait, although it is only read as well.
#[tile_kernel(tune(warps = [2]), grid = [2], pdl = [x])]
fn pdl_sum(x: &[f32], y: &[f32], z: &mut [f32]) {
    let i = program_id(0) * 128 + arange(128);
    let first = load(x, i);
    let second = load(y, i);
    store(z, i, first + second);
}

#[test]
fn what_is_not_declared_early_is_read_after_the_wait() {
    let (x, y) = (vec![1.0f32; 200], vec![2.0f32; 200]);
    for rt in backends() {
        let mut z = vec![0.0f32; 200];
        rt.launch(pdl_sum(&x, &y, &mut z)).expect("it waits where it must");
        assert_eq!(z, [3.0; 200]);
    }
}

/// Each role of a warp-specialized program waits: the copying one, too.
#[tile_kernel(tune(BM = [64], BN = [64], BK = [64], warps = [4], arch = [90]), grid = [1], pdl = [b])]
fn pdl_product<const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
) {
    let acc = dot(a.tile([0, 0], [BM, BK]), b.tile([0, 0], [BK, BN]), zeros::<f32>([BM, BN]));
    c.store([0, 0], acc.to::<f16>());
}

#[test]
fn the_roles_of_a_specialized_program_wait() {
    let (a, b) = (Matrix::new([64, 64], 64, 1, f16::from_f32), Matrix::new([64, 64], 64, 2, f16::from_f32));
    let run = |rt: &Runtime| {
        let mut c = Matrix::new([64, 64], 64, 3, f16::from_f32);
        rt.launch(pdl_product(view!(a), view!(b), view_mut!(c))).expect("it waits where it must");
        c.data.iter().map(|x| x.to_f32()).collect::<Vec<f32>>()
    };
    let wanted = run(&Runtime::cpu());
    seeds().iter().for_each(|rt| near("pdl product", &run(rt), &wanted));
}
