//! A kernel of as many arrays and words as there may be.

use tilewright::tile_kernel;
use tilewright_core::{AsSlice, AsSliceMut, MAX_ARGUMENT_WORDS, MAX_BUFFERS};
use tilewright_language_tests::everywhere::everywhere;

/// 32 views of 3 words each, and 32 scalars: the last array is stored by the last words.
#[tile_kernel(tune(BLOCK = [64], warps = [2]), grid = [cdiv(y0.dim(0), BLOCK)])]
fn widest<const BLOCK: usize>(
    x0: View<f32, 1>,
    x1: View<f32, 1>,
    x2: View<f32, 1>,
    x3: View<f32, 1>,
    x4: View<f32, 1>,
    x5: View<f32, 1>,
    x6: View<f32, 1>,
    x7: View<f32, 1>,
    x8: View<f32, 1>,
    x9: View<f32, 1>,
    x10: View<f32, 1>,
    x11: View<f32, 1>,
    x12: View<f32, 1>,
    x13: View<f32, 1>,
    x14: View<f32, 1>,
    x15: View<f32, 1>,
    mut y0: ViewMut<f32, 1>,
    mut y1: ViewMut<f32, 1>,
    mut y2: ViewMut<f32, 1>,
    mut y3: ViewMut<f32, 1>,
    mut y4: ViewMut<f32, 1>,
    mut y5: ViewMut<f32, 1>,
    mut y6: ViewMut<f32, 1>,
    mut y7: ViewMut<f32, 1>,
    mut y8: ViewMut<f32, 1>,
    mut y9: ViewMut<f32, 1>,
    mut y10: ViewMut<f32, 1>,
    mut y11: ViewMut<f32, 1>,
    mut y12: ViewMut<f32, 1>,
    mut y13: ViewMut<f32, 1>,
    mut y14: ViewMut<f32, 1>,
    mut y15: ViewMut<f32, 1>,
    a0: f32,
    a1: f32,
    a2: f32,
    a3: f32,
    a4: f32,
    a5: f32,
    a6: f32,
    a7: f32,
    a8: f32,
    a9: f32,
    a10: f32,
    a11: f32,
    a12: f32,
    a13: f32,
    a14: f32,
    a15: f32,
    a16: f32,
    a17: f32,
    a18: f32,
    a19: f32,
    a20: f32,
    a21: f32,
    a22: f32,
    a23: f32,
    a24: f32,
    a25: f32,
    a26: f32,
    a27: f32,
    a28: f32,
    a29: f32,
    a30: f32,
    a31: f32,
) {
    let i = program_id(0) * BLOCK;
    y0.store([i], a0 * x0.tile([i], [BLOCK]) + a16);
    y1.store([i], a1 * x1.tile([i], [BLOCK]) + a17);
    y2.store([i], a2 * x2.tile([i], [BLOCK]) + a18);
    y3.store([i], a3 * x3.tile([i], [BLOCK]) + a19);
    y4.store([i], a4 * x4.tile([i], [BLOCK]) + a20);
    y5.store([i], a5 * x5.tile([i], [BLOCK]) + a21);
    y6.store([i], a6 * x6.tile([i], [BLOCK]) + a22);
    y7.store([i], a7 * x7.tile([i], [BLOCK]) + a23);
    y8.store([i], a8 * x8.tile([i], [BLOCK]) + a24);
    y9.store([i], a9 * x9.tile([i], [BLOCK]) + a25);
    y10.store([i], a10 * x10.tile([i], [BLOCK]) + a26);
    y11.store([i], a11 * x11.tile([i], [BLOCK]) + a27);
    y12.store([i], a12 * x12.tile([i], [BLOCK]) + a28);
    y13.store([i], a13 * x13.tile([i], [BLOCK]) + a29);
    y14.store([i], a14 * x14.tile([i], [BLOCK]) + a30);
    y15.store([i], a15 * x15.tile([i], [BLOCK]) + a31);
}

#[test]
fn a_kernel_of_all_words() {
    let params = || widest::DESCS[0].params.iter().map(|p| p.kind.words());
    assert_eq!((params().filter(|&n| n > 1).count(), params().sum::<usize>()), (MAX_BUFFERS, MAX_ARGUMENT_WORDS));
    let n = 100;
    let x: Vec<Vec<f32>> = (0..16).map(|k| (0..n).map(|i| (i * (k + 1)) as f32).collect()).collect();
    let a: Vec<f32> = (0..32).map(|k| k as f32 / 2.0).collect();
    everywhere(
        widest::DESCS[0],
        |rt, options| {
            let mut y = vec![vec![0.0f32; n]; 16];
            let of = |k: usize| x[k].as_slice().as_slice_arg().strided([n], [1]).expect("fits");
            let mut out = y.iter_mut().map(|y| y.as_mut_slice().as_slice_mut_arg().strided([n], [1]).expect("fits"));
            let mut next = || out.next().expect("16 of them");
            let call = widest(
                of(0),
                of(1),
                of(2),
                of(3),
                of(4),
                of(5),
                of(6),
                of(7),
                of(8),
                of(9),
                of(10),
                of(11),
                of(12),
                of(13),
                of(14),
                of(15),
                next(),
                next(),
                next(),
                next(),
                next(),
                next(),
                next(),
                next(),
                next(),
                next(),
                next(),
                next(),
                next(),
                next(),
                next(),
                next(),
                a[0],
                a[1],
                a[2],
                a[3],
                a[4],
                a[5],
                a[6],
                a[7],
                a[8],
                a[9],
                a[10],
                a[11],
                a[12],
                a[13],
                a[14],
                a[15],
                a[16],
                a[17],
                a[18],
                a[19],
                a[20],
                a[21],
                a[22],
                a[23],
                a[24],
                a[25],
                a[26],
                a[27],
                a[28],
                a[29],
                a[30],
                a[31],
            );
            rt.launch_with(rt.stream(), call, options)?;
            Ok(y)
        },
        |y, title| {
            for k in 0..16 {
                let wanted: Vec<f32> = x[k].iter().map(|x| a[k] * x + a[16 + k]).collect();
                assert_eq!(y[k], wanted, "{title}: array {k}");
            }
        },
    );
}
