//! Rows of each operand start at multiples of 16, 8 or 4 bytes, or anywhere. Copies are as wide as the rows of all
//! arguments allow.

use std::cell::RefCell;
use std::collections::BTreeSet;
use tilewright::tile_kernel;
use tilewright_core::{AsSlice, AsSliceMut, Element, ViewArg, f16};
use tilewright_language_tests::matrix::{exact, values};
use tilewright_language_tests::run::{compared, taken, with};

#[tile_kernel(
    types(T = [f16, f32]),
    tune(BM = [32], BN = [32], BK = [32], warps = [4], stages = [2, 3], arch = [80]),
    tune(BM = [16], BN = [64], BK = [16], warps = [2], arch = [80]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn of_any_rows<T: Float, const BM: usize, const BN: usize, const BK: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    mut c: ViewMut<f32, 2>,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for k in range(0, a.dim(1), BK) {
        acc = dot(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]), acc);
    }
    c.store([i, j], acc);
}

/// Elements beyond the end of a row, and before the first row.
const PLACES: [(usize, usize); 7] = [(0, 0), (8, 8), (4, 0), (8, 4), (2, 0), (8, 2), (1, 1)];

fn rows<T: Element>(data: &[T], dims: [usize; 2], (gap, start): (usize, usize)) -> ViewArg<'_, T, 2> {
    data[start..].as_slice_arg().strided(dims, [dims[1] + gap, 1]).expect("fits")
}

fn of_type<T: Element>(of: impl Fn(f32) -> T + Copy)
where
    (T,): of_any_rows::Types,
{
    // Whole numbers, whose sums are exact in any order. The result's rows are odd.
    let whole = |x: f32| of((x * 8.0).round());
    let (m, k) = (33, 80);
    let variants = RefCell::new(BTreeSet::new());
    for n in [40, 41] {
        let (a, b): (Vec<T>, Vec<T>) = (values(m * (k + 8) + 8, 1, whole), values(k * (n + 8) + 8, 2, whole));
        for config in <(T,) as of_any_rows::Types>::DESC.configs {
            for (i, of_a) in PLACES.into_iter().enumerate() {
                // The same rows of both, and the widest or others.
                let other = if n == 40 { 0 } else { i + 3 };
                for of_b in [i, other].map(|i| PLACES[i % PLACES.len()]) {
                    let run = |rt: &tilewright::Runtime| {
                        let mut c = vec![9.0f32; m * n];
                        let result = c.as_mut_slice().as_slice_mut_arg().view([m, n]).expect("fits");
                        let call = of_any_rows::<T>(rows(&a, [m, k], of_a), rows(&b, [k, n], of_b), result);
                        variants.borrow_mut().insert(taken(&call, config.id));
                        rt.launch_with(rt.stream(), call, &with(config.id)).map(|()| c)
                    };
                    let what = format!("{} {n} columns, rows {of_a:?} and {of_b:?}", config.id);
                    compared(&what, run, |what, x, y| exact(what, x, y));
                }
            }
        }
    }
    let all = ["aligned", "aligned_4", "aligned_8", "general"];
    let all = all.iter().filter(|v| size_of::<T>() < 4 || **v != "aligned_4");
    assert!(variants.into_inner().iter().eq(all));
}

#[test]
fn copies_are_as_wide_as_all_rows_allow() {
    of_type(f16::from_f32);
    of_type(|x| x);
}
