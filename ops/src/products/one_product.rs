//! Batches that are one product: all matrices have one B, and the rows of A and of C follow each other.

use super::Multiply;
use super::align_operand::memory_of;
use super::multiply::Views;
use tilewright_core::{Element, SliceMutArg, ViewArg, ViewMutArg};

/// All rows of A, and the B of all matrices: none where the batch is not one product.
pub(super) fn operands<'a, T: Multiply>(v: &Views<'a, T, 3>) -> Option<(ViewArg<'a, T, 2>, ViewArg<'a, T, 2>)> {
    let count = v.a.dims()[0];
    // If all matrices share A, too, no stride leads to the rows of the next one.
    let has_one_b = v.b.strides()[0] == 0 && v.a.strides()[0] > 0;
    v.c.as_view().stacked(count).filter(|_| has_one_b)?;
    Some((first(v.a.stacked(count)?)?, first(v.b)?))
}

/// All rows of the result. Panics where [`operands`] has none.
pub(super) fn result<'a, T: Element>(c: ViewMutArg<'a, T, 3>) -> ViewMutArg<'a, T, 2> {
    let count = c.as_view().dims()[0];
    let stacked = c.stacked(count).expect("rows that follow each other");
    let seen = stacked.as_view();
    let ([_, rows, cols], [_, row, element]) = (seen.dims(), seen.strides());
    // SAFETY: the memory that the result borrows, which nobody else has: the result was moved here.
    let all: SliceMutArg<'a, T> = unsafe { SliceMutArg::from_raw(seen.addr(), seen.span(), seen.device()) };
    all.strided([rows, cols], [row, element]).expect("the same elements")
}

/// The first matrix of a batch.
fn first<'a, T: Element>(v: ViewArg<'a, T, 3>) -> Option<ViewArg<'a, T, 2>> {
    let ([_, rows, cols], [_, row, element]) = (v.dims(), v.strides());
    // SAFETY: the same elements.
    unsafe { memory_of(v) }.strided([rows, cols], [row, element]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_core::{AsSlice, AsSliceMut};

    #[test]
    fn rows_that_follow_each_other_are_those_of_one_matrix() {
        let ([m, n, k], count) = ([5, 4, 7], 3);
        let (x, mut y) = ([0f32; 400], [0f32; 400]);
        let mut found = |m: usize, a: [usize; 3], b: [usize; 3], c: [usize; 3]| {
            let of = |dims: [usize; 3], strides| x.as_slice().as_slice_arg().strided(dims, strides).unwrap();
            let c = y.as_mut_slice().as_slice_mut_arg().strided([count, m, n], c).unwrap();
            let batch = Views { a: of([count, m, k], a), b: of([count, k, n], b), c };
            let (a, b) = operands(&batch)?;
            let c = result(batch.c);
            let c = c.as_view();
            assert_eq!((a.dims(), b.dims(), c.dims()), ([count * m, k], [k, n], [count * m, n]));
            Some((a.strides(), b.strides(), c.strides()))
        };
        let (a, b, c) = ([m * k, k, 1], [0, n, 1], [m * n, n, 1]);
        assert_eq!(found(m, a, b, c), Some(([k, 1], [n, 1], [n, 1])));
        // B by columns, and rows with gaps.
        assert_eq!(found(m, a, [0, 1, k], c), Some(([k, 1], [1, k], [n, 1])));
        assert_eq!(found(m, [m * 9, 9, 1], b, [m * 8, 8, 1]), Some(([9, 1], [n, 1], [8, 1])));
        // No stride leads away from a single row.
        assert_eq!(found(1, [8, 77, 1], b, [6, 66, 1]), Some(([8, 1], [n, 1], [6, 1])));
        // Several B, gaps between matrices of A or C, one A, and matrices by columns.
        for (a, b, c) in [
            (a, [k * n, n, 1], c),
            ([m * k + 1, k, 1], b, c),
            (a, b, [m * n + 1, n, 1]),
            ([0, k, 1], b, c),
            ([m * k, 1, m], b, c),
            (a, b, [m * n, 1, m]),
        ] {
            assert_eq!(found(m, a, b, c), None, "{a:?} {b:?} {c:?}");
        }
    }
}
