//! Operands in rows that tensor maps take: contiguous, and starting at multiples of 16 bytes.

use super::Launch;
use super::plan::Copies;
use super::product::{Operand, apart};
use super::scratch_matrix::ScratchMatrix;
use crate::error::{Error, Result};
use tilewright_core::{AsView, AsViewMut, Call, Element, SliceArg, ViewArg, ViewMutArg};
use tilewright_kernels::repack::copies as k;

/// Rows of a copy are a multiple of this many bytes: whole cache lines.
const PITCH_BYTES: usize = 128;

/// The element types of [`repack`]: `u8`, `u16` and `u32`, which stand for any type of their size.
pub trait Bits: Element {
    #[doc(hidden)]
    fn repack_call<'a>(x: ViewArg<'a, Self, 2>, y: ViewMutArg<'a, Self, 2>, transpose: bool) -> Call<'a>;
}

macro_rules! bits { ($($t:ty),*) => { $(impl Bits for $t {
    fn repack_call<'a>(x: ViewArg<'a, Self, 2>, y: ViewMutArg<'a, Self, 2>, transpose: bool) -> Call<'a> {
        if transpose { k::repack_transposed(x, y) } else { k::repack(x, y) }
    }
})* } }
bits!(u8, u16, u32);

/// `y = x`, or with `transpose` `y[c, r] = x[r, c]`, of matrices with any strides. Elements of another type are passed
/// as unsigned integers of their size.
///
/// Shapes: `x` is `rows x cols`; `y` is, too, or `cols x rows`.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime, ops};
///
/// let rt = Runtime::cpu();
/// let x = Buffer::from_slice(&rt, &[1u16, 2, 3, 4, 5, 6])?;
/// let mut y = Buffer::<u16>::zeros(&rt, 6)?;
/// ops::repack(&rt, x.view([2, 3])?, y.view_mut([3, 2])?, true)?;
/// assert_eq!(y.to_vec()?, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn repack<'a, B: Bits>(
    on: &impl Launch,
    x: impl AsView<'a, B, 2>,
    y: impl AsViewMut<'a, B, 2>,
    transpose: bool,
) -> Result<()> {
    const WHAT: &str = "repack";
    let (x, y) = (x.as_view_arg(), y.as_view_mut_arg());
    let ([rows, cols], found) = (x.dims(), y.as_view().dims());
    let wanted = if transpose { [cols, rows] } else { [rows, cols] };
    if found != wanted {
        let why = format!("y is {} x {}, a copy of x is {} x {}", found[0], found[1], wanted[0], wanted[1]);
        return Err(Error::Shape { what: WHAT, why });
    }
    apart(WHAT, ("y", &y), ("x", &x))?;
    on.launch(B::repack_call(x, y, transpose))
}

/// A copy of an operand in scratch memory of the stream that uses it.
pub(super) struct Packed<B> {
    rows: ScratchMatrix<B>,
    transposed: bool,
}

impl<B: Bits> Packed<B> {
    /// Enqueues a copy of `from`, as large as B, that is `transposed` or not, whatever `from` is.
    pub fn new<T: Element>(on: &impl Launch, from: &Operand<T>, transposed: bool) -> Result<Self> {
        let flip = from.transposed != transposed;
        let [rows, cols] = from.view.dims();
        let dims = if flip { [cols, rows] } else { [rows, cols] };
        let mut copy = ScratchMatrix::new(on, dims, PITCH_BYTES / size_of::<B>())?;
        // SAFETY: the same memory, as integers of the same size: any bits are one.
        let bits: SliceArg<B> = unsafe { memory_of(from.view) };
        let x = bits.strided(from.view.dims(), from.view.strides())?;
        on.launch(B::repack_call(x, copy.view_mut()?, flip))?;
        Ok(Packed { rows: copy, transposed })
    }

    pub fn operand<T: Element>(&self) -> Result<Operand<'_, T>> {
        let bits = self.rows.view()?;
        // SAFETY: holds copies of such elements, and is borrowed.
        let all: SliceArg<T> = unsafe { memory_of(bits) };
        let view = all.strided(bits.dims(), bits.strides())?;
        Ok(Operand { view, transposed: self.transposed })
    }
}

/// What a view spans, borrowed as long as it is.
///
/// # Safety
/// Its bits are elements of U, which is of the same size.
pub(super) unsafe fn memory_of<'a, T: Element, U: Element, const R: usize>(v: ViewArg<'a, T, R>) -> SliceArg<'a, U> {
    // SAFETY: what the view spans, borrowed as long; by the caller's contract its bits are elements of U.
    unsafe { SliceArg::from_raw(v.addr(), v.span(), v.place()) }
}

/// Runs a product on its operands, or on copies of those that are to be copied.
pub(super) fn with_copies<T: Element, B: Bits>(
    on: &impl Launch,
    copies: Copies,
    (a, b): (Operand<T>, Operand<T>),
    run: impl FnOnce(Operand<T>, Operand<T>) -> Result<()>,
) -> Result<()> {
    let x = copies.a.map(|transposed| Packed::<B>::new(on, &a, transposed)).transpose()?;
    let y = copies.b.map(|transposed| Packed::<B>::new(on, &b, transposed)).transpose()?;
    run(x.as_ref().map_or(Ok(a), Packed::operand)?, y.as_ref().map_or(Ok(b), Packed::operand)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Runtime};
    use tilewright_core::{AsSlice, f16};

    #[test]
    fn copies_are_padded_and_turned() {
        let rt = Runtime::cpu();
        let data: Vec<f16> = (0..15).map(|i| f16::from_f32(i as f32)).collect();
        let view = data.as_slice().as_slice_arg().view([3, 5]).unwrap();
        let from = Operand::new(view, true);
        assert!(!from.tma_compatible());
        for transposed in [true, false] {
            let packed = Packed::<u16>::new(&rt, &from, transposed).unwrap();
            let o = packed.operand::<f16>().unwrap();
            assert!(o.tma_compatible() && o.transposed == transposed && o.view.strides() == [64, 1]);
            let [rows, cols] = o.view.dims();
            assert_eq!([rows, cols], if transposed { [3, 5] } else { [5, 3] });
            for r in 0..rows {
                for c in 0..cols {
                    let (i, j) = if transposed { (r, c) } else { (c, r) };
                    // SAFETY: an element of the copy, whose rows are 64 apart, on the host.
                    let found = unsafe { *(o.view.addr() as *const f16).add(r * 64 + c) };
                    assert_eq!(found.to_f32(), (5 * i + j) as f32);
                }
            }
        }
    }

    #[test]
    fn a_product_is_run_on_the_copies_that_are_made() {
        let rt = Runtime::cpu();
        let data = Buffer::<f16>::zeros(&rt, 32 * 37).unwrap();
        let operand = || Operand::new(data.slice(..).unwrap().strided([32, 32], [37, 1]).unwrap(), false);
        let is_copy = |o: &Operand<f16>| !(data.addr()..data.addr() + data.bytes() as u64).contains(&o.view.addr());
        for copies in [(None, None), (Some(false), None), (None, Some(true)), (Some(true), Some(false))]
            .map(|(a, b)| Copies { a, b })
        {
            let mut runs = 0;
            let run = |a: Operand<f16>, b: Operand<f16>| {
                for (o, copied) in [(a, copies.a), (b, copies.b)] {
                    assert!(
                        is_copy(&o) == copied.is_some()
                            && o.tma_compatible() == copied.is_some()
                            && o.transposed == copied.unwrap_or(false),
                        "{copies:?}"
                    );
                }
                runs += 1;
                Ok(())
            };
            with_copies::<f16, u16>(&rt, copies, (operand(), operand()), run).unwrap();
            assert_eq!(runs, 1);
        }
    }
}
