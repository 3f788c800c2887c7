//! The common part of matrix products: their arguments, checked and brought into the form that kernels take.

use crate::check::disjoint;
pub use crate::planner::shape::GemmShape;
use tilewright_core::{Element, ViewArg, ViewMutArg, Width};
use tilewright_runtime::private;
use tilewright_runtime::{Error, Result};

/// The operands that are given transposed: the product is `op(A) op(B)`.
///
/// # Examples
/// ```
/// use tilewright::ops::{Matmul, Transpose};
/// use tilewright::{Buffer, Runtime};
///
/// let rt = Runtime::cpu();
/// let a = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let mut c = Buffer::<f32>::zeros(&rt, 4)?;
/// Matmul::new(a.view([2, 2])?, a.view([2, 2])?, c.view_mut([2, 2])?)
///     .transpose(Transpose { a: false, b: true })
///     .launch(&rt)?;
/// assert_eq!(c.to_vec()?, [5.0, 11.0, 11.0, 25.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transpose {
    /// A is `k x m` in memory.
    pub a: bool,
    /// B is `n x k` in memory.
    pub b: bool,
}

impl Transpose {
    /// Neither operand.
    pub const NONE: Transpose = Transpose { a: false, b: false };
    /// Both operands have K contiguous, which every type has a kernel for.
    pub(super) const OF_B: Transpose = Transpose { a: false, b: true };
}

impl GemmShape {
    pub fn of(what: &'static str, a: [usize; 2], b: [usize; 2], c: [usize; 2], t: Transpose) -> Result<GemmShape> {
        let (a, b) = (flipped_if(t.a, a), flipped_if(t.b, b));
        let text = |[r, c]: [usize; 2]| format!("{r} x {c}");
        if a[1] != b[0] {
            let why = format!(
                "op(A) is {} and op(B) is {}: as many columns of the one as rows of the other are needed",
                text(a),
                text(b)
            );
            return Err(Error::Shape { what, why });
        }
        if c != [a[0], b[1]] {
            return Err(Error::Shape { what, why: format!("C is {}, the product is {}", text(c), text([a[0], b[1]])) });
        }
        Ok(GemmShape { m: c[0], n: c[1], k: a[1] })
    }

    /// Of the transpose of the product.
    pub fn transposed(self) -> GemmShape {
        GemmShape { m: self.n, n: self.m, k: self.k }
    }
}

fn flipped_if(flip: bool, [x, y]: [usize; 2]) -> [usize; 2] {
    if flip { [y, x] } else { [x, y] }
}

/// Whether a product has elements. An error where it shares memory with an operand.
pub(super) fn is_work<T, U, const R: usize>(
    what: &'static str,
    e: GemmShape,
    a: &ViewArg<T, R>,
    b: &ViewArg<T, R>,
    c: &ViewMutArg<U, R>,
) -> Result<bool> {
    disjoint(what, ("c", c), ("a", a))?;
    disjoint(what, ("c", c), ("b", b))?;
    Ok(e.m > 0 && e.n > 0)
}

/// An operand, and whether it is to be transposed. If columns are contiguous instead of rows, `view` is the transpose.
#[derive(Clone, Copy)]
pub struct Operand<'a, T> {
    pub view: ViewArg<'a, T, 2>,
    pub transposed: bool,
}

impl<'a, T: Element> Operand<'a, T> {
    pub fn new(view: ViewArg<'a, T, 2>, transposed: bool) -> Self {
        match view.strides() {
            [1, s] if s != 1 => Operand { view: view.flipped(), transposed: !transposed },
            _ => Operand { view, transposed },
        }
    }

    /// Of the transpose of the product.
    pub fn transpose(self) -> Self {
        Operand { transposed: !self.transposed, ..self }
    }

    /// The same matrix given transposed or not, by its strides.
    pub fn as_transposed(self, transposed: bool) -> Self {
        if self.transposed == transposed { self } else { Operand { view: self.view.flipped(), transposed } }
    }

    /// Whether tensor maps can copy its tiles: rows that are contiguous and start at multiples of 16 bytes.
    pub fn tma_compatible(&self) -> bool {
        let (size, [row, element], [rows, cols]) = (size_of::<T>(), self.view.strides(), self.view.dims());
        let starts = self.view.addr() | row.wrapping_mul(size) as u64;
        let fits = |n: usize| (1..=i32::MAX as usize).contains(&n);
        element == 1
            && row > 0
            && starts.is_multiple_of(16)
            && fits(rows)
            && fits(cols)
            && row.saturating_mul(size) < 1 << 39
    }

    /// How wide accesses to its rows may be.
    pub fn width(&self) -> Width {
        let [row, element] = self.view.strides();
        let starts = self.view.addr() | row.wrapping_mul(size_of::<T>()) as u64;
        if element == 1 { Width::of(starts) } else { Width::Elements }
    }

    /// Which of both are transposed, where this is the left one.
    pub fn order(&self, right: &Self) -> Transpose {
        Transpose { a: self.transposed, b: right.transposed }
    }

    /// Whether TMA asks for its rows by whole sectors of the L2 cache.
    pub fn in_sectors(&self) -> bool {
        private::in_sectors(self.view.strides()[0] as u64, size_of::<T>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_core::AsSlice;

    #[test]
    fn extents_and_their_errors() {
        let of = |a, b, c, ta, tb| GemmShape::of("matmul", a, b, c, Transpose { a: ta, b: tb });
        let e = GemmShape { m: 2, n: 3, k: 5 };
        assert_eq!(of([2, 5], [5, 3], [2, 3], false, false).unwrap(), e);
        assert_eq!(of([5, 2], [3, 5], [2, 3], true, true).unwrap(), e);
        let wrong = of([2, 5], [3, 5], [2, 3], false, false).unwrap_err().to_string();
        assert!(wrong.contains("op(A) is 2 x 5 and op(B) is 3 x 5"), "{wrong}");
        let wrong = of([2, 5], [5, 3], [3, 2], false, false).unwrap_err().to_string();
        assert!(wrong.contains("C is 3 x 2, the product is 2 x 3"), "{wrong}");
    }

    #[test]
    fn one_row_has_any_stride() {
        let data = [0f32; 640];
        let all = data.as_slice().as_slice_arg();
        let of = |dims, strides| {
            let o = Operand::new(all.strided(dims, strides).unwrap().regular(), false);
            (o.view.dims(), o.view.strides(), o.transposed)
        };
        assert_eq!(of([1, 300], [7, 1]), ([1, 300], [384, 1], false));
        assert_eq!(of([300, 1], [1, 1]), ([1, 300], [384, 1], true));
        assert_eq!(of([300, 1], [1, 9]), ([1, 300], [384, 1], true));
        // Elements that lie apart stay a column of rows.
        assert_eq!([of([300, 1], [2, 1]), of([1, 300], [1, 2])], [([300, 1], [2, 1], false), ([300, 1], [2, 1], true)]);
        assert_eq!(of([1, 1], [5, 6]), ([1, 1], [128, 1], false));
    }

    #[test]
    fn columns_in_memory_are_rows_of_the_transpose() {
        let data = [0f32; 24];
        let all = data.as_slice().as_slice_arg();
        let rows = Operand::new(all.strided([4, 6], [6, 1]).unwrap(), false);
        assert_eq!((rows.view.dims(), rows.transposed), ([4, 6], false));
        let columns = Operand::new(all.strided([4, 6], [1, 4]).unwrap(), false);
        assert_eq!((columns.view.dims(), columns.view.strides(), columns.transposed), ([6, 4], [4, 1], true));
        let none = Operand::new(all.strided([4, 0], [1, 4]).unwrap(), true);
        assert_eq!((none.view.dims(), none.transposed), ([0, 4], false));
        assert!(!Operand::new(all.strided([2, 3], [8, 2]).unwrap(), false).tma_compatible());
        let row = |stride| Operand::new(all.strided([2, 3], [stride, 1]).unwrap(), false);
        assert!(row(8).in_sectors() && !row(12).in_sectors());
    }
}
