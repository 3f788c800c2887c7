//! Aligned copies of operands: rows are contiguous and begin at multiples of 16 bytes, as TMA asks.

use super::plan::Copies;
use super::product::Operand;
use super::scratch_matrix::ScratchMatrix;
use crate::Executor;
use crate::check::disjoint;
use tilewright_core::{AsView, AsViewMut, Call, Element, SliceArg, ViewArg, ViewMutArg};
use tilewright_kernels::align_operand::copies as k;
use tilewright_runtime::{Error, Result};

/// The element types of [`align_operand`]: `u8`, `u16` and `u32`, which stand for any type of their size. The example
/// of [`align_operand`] has one of them. The trait is sealed.
/// ```compile_fail,E0277
/// struct Mine;
/// impl tilewright_ops::Bits for Mine {}
/// ```
pub trait Bits: CopyKernels {}

/// The kernels of an element type.
pub trait CopyKernels: Element {
    fn align_call<'a>(x: ViewArg<'a, Self, 2>, y: ViewMutArg<'a, Self, 2>, transpose: bool) -> Call<'a>;

    /// Two copies in one launch: each is from, to, and whether it is transposed.
    fn align_both_call<'a>(first: CopyArgs<'a, Self>, second: CopyArgs<'a, Self>) -> Call<'a>;
}

/// From, to, and whether the copy is transposed.
type CopyArgs<'a, B> = (ViewArg<'a, B, 2>, ViewMutArg<'a, B, 2>, bool);

macro_rules! bits { ($($t:ty),*) => { $(impl Bits for $t {}

impl CopyKernels for $t {
    fn align_call<'a>(x: ViewArg<'a, Self, 2>, y: ViewMutArg<'a, Self, 2>, transpose: bool) -> Call<'a> {
        if transpose { k::align_operand_transposed(x, y) } else { k::align_operand(x, y) }
    }

    fn align_both_call<'a>((x, y, of_x): CopyArgs<'a, Self>, (u, v, of_u): CopyArgs<'a, Self>) -> Call<'a> {
        match (of_x, of_u) {
            (false, false) => k::align_operands_nn(x, y, u, v),
            (false, true) => k::align_operands_nt(x, y, u, v),
            (true, false) => k::align_operands_tn(x, y, u, v),
            (true, true) => k::align_operands_tt(x, y, u, v),
        }
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
/// ops::align_operand(&rt, x.view([2, 3])?, y.view_mut([3, 2])?, true)?;
/// assert_eq!(y.to_vec()?, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn align_operand<'a, B: Bits>(
    on: &impl Executor,
    x: impl AsView<'a, B, 2>,
    y: impl AsViewMut<'a, B, 2>,
    transpose: bool,
) -> Result<()> {
    const WHAT: &str = "align_operand";
    let (x, y) = (x.as_view_arg(), y.as_view_mut_arg());
    shapes(WHAT, x.dims(), y.as_view().dims(), transpose)?;
    disjoint(WHAT, ("y", &y), ("x", &x))?;
    on.launch(B::align_call(x, y, transpose))
}

/// Two copies in one launch, each as [`align_operand`] makes one: from, to, and whether it is transposed.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime, ops};
///
/// let rt = Runtime::cpu();
/// let x = Buffer::from_slice(&rt, &[1u8, 2, 3, 4, 5, 6])?;
/// let (mut y, mut v) = (Buffer::<u8>::zeros(&rt, 6)?, Buffer::<u8>::zeros(&rt, 6)?);
/// let (two_rows, three_rows) = (x.view([2, 3])?, x.view([3, 2])?);
/// ops::align_operands(&rt, (two_rows, y.view_mut([3, 2])?, true), (three_rows, v.view_mut([3, 2])?, false))?;
/// assert_eq!((y.to_vec()?, v.to_vec()?), (vec![1, 4, 2, 5, 3, 6], vec![1, 2, 3, 4, 5, 6]));
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn align_operands<'a, B: Bits>(
    on: &impl Executor,
    first: (impl AsView<'a, B, 2>, impl AsViewMut<'a, B, 2>, bool),
    second: (impl AsView<'a, B, 2>, impl AsViewMut<'a, B, 2>, bool),
) -> Result<()> {
    const WHAT: &str = "align_operands";
    let (x, y) = (first.0.as_view_arg(), first.1.as_view_mut_arg());
    let (u, v) = (second.0.as_view_arg(), second.1.as_view_mut_arg());
    for (from, to, transpose) in [(&x, &y, first.2), (&u, &v, second.2)] {
        shapes(WHAT, from.dims(), to.as_view().dims(), transpose)?;
    }
    for (name, to) in [("y", &y), ("v", &v)] {
        disjoint(WHAT, (name, to), ("x", &x))?;
        disjoint(WHAT, (name, to), ("u", &u))?;
    }
    disjoint(WHAT, ("y", &y), ("v", &v.as_view()))?;
    on.launch(B::align_both_call((x, y, first.2), (u, v, second.2)))
}

/// Whether a copy has the extents of its source.
fn shapes(what: &'static str, [rows, cols]: [usize; 2], found: [usize; 2], transpose: bool) -> Result<()> {
    let wanted = if transpose { [cols, rows] } else { [rows, cols] };
    if found == wanted {
        return Ok(());
    }
    let why = format!("the result is {} x {}, a copy is {} x {}", found[0], found[1], wanted[0], wanted[1]);
    Err(Error::Shape { what, why })
}

/// A copy of an operand in scratch memory of the stream that uses it.
pub(super) struct AlignedOperand<B> {
    rows: ScratchMatrix<B>,
    transposed: bool,
}

impl<B: Bits> AlignedOperand<B> {
    /// Enqueues a copy of `from`, as large as B. The copy is transposed if `transposed` is true, for both layouts of
    /// `from`.
    pub fn new<T: Element>(on: &impl Executor, from: &Operand<T>, transposed: bool) -> Result<Self> {
        let mut copy = Self::allocate(on, from, transposed)?;
        let (x, y, flip) = copy.copy_args(from)?;
        on.launch(B::align_call(x, y, flip))?;
        Ok(copy)
    }

    /// The same of two operands, in one launch.
    fn both<T: Element>(on: &impl Executor, a: (&Operand<T>, bool), b: (&Operand<T>, bool)) -> Result<(Self, Self)> {
        let (mut x, mut y) = (Self::allocate(on, a.0, a.1)?, Self::allocate(on, b.0, b.1)?);
        on.launch(B::align_both_call(x.copy_args(a.0)?, y.copy_args(b.0)?))?;
        Ok((x, y))
    }

    /// Scratch memory for a copy.
    fn allocate<T: Element>(on: &impl Executor, from: &Operand<T>, transposed: bool) -> Result<Self> {
        let [rows, cols] = from.view.dims();
        let dims = if from.transposed != transposed { [cols, rows] } else { [rows, cols] };
        Ok(AlignedOperand { rows: ScratchMatrix::aligned(on, dims)?, transposed })
    }

    /// The source and the destination of a copy.
    fn copy_args<'b, T: Element>(&'b mut self, from: &Operand<'b, T>) -> Result<CopyArgs<'b, B>> {
        // SAFETY: the same memory, as integers of the same size: any bits are one.
        let bits: SliceArg<B> = unsafe { memory_of(from.view) };
        let x = bits.strided(from.view.dims(), from.view.strides())?;
        Ok((x, self.rows.view_mut()?, from.transposed != self.transposed))
    }

    pub fn operand<T: Element>(&self) -> Result<Operand<'_, T>> {
        let bits = self.rows.view()?;
        // SAFETY: holds copies of such elements, and is borrowed.
        let all: SliceArg<T> = unsafe { memory_of(bits) };
        let view = all.strided(bits.dims(), bits.strides())?;
        Ok(Operand { view, transposed: self.transposed })
    }
}

/// The memory that a view spans, borrowed as long as the view.
///
/// # Safety
/// Its bits are elements of U, which is of the same size.
pub(super) unsafe fn memory_of<'a, T: Element, U: Element, const R: usize>(v: ViewArg<'a, T, R>) -> SliceArg<'a, U> {
    // SAFETY: the memory that the view spans, borrowed as long; by the caller's contract its bits are elements of U.
    unsafe { SliceArg::from_raw(v.addr(), v.span(), v.device()) }
}

/// Runs a product on its operands, some of them replaced by aligned copies.
pub(super) fn with_copies<T: Element, B: Bits>(
    on: &impl Executor,
    copies: Copies,
    (a, b): (Operand<T>, Operand<T>),
    run: impl FnOnce(Operand<T>, Operand<T>) -> Result<()>,
) -> Result<()> {
    let (x, y) = match (copies.a, copies.b) {
        (Some(of_a), Some(of_b)) => {
            let (x, y) = AlignedOperand::<B>::both(on, (&a, of_a), (&b, of_b))?;
            (Some(x), Some(y))
        }
        (of_a, of_b) => {
            let copied =
                |of: Option<bool>, o| of.map(|transposed| AlignedOperand::<B>::new(on, o, transposed)).transpose();
            (copied(of_a, &a)?, copied(of_b, &b)?)
        }
    };
    run(x.as_ref().map_or(Ok(a), AlignedOperand::operand)?, y.as_ref().map_or(Ok(b), AlignedOperand::operand)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_core::{AsSlice, f16};
    use tilewright_runtime::{Buffer, Runtime};

    #[test]
    fn copies_are_padded_and_turned() {
        let rt = Runtime::cpu();
        let data: Vec<f16> = (0..15).map(|i| f16::from_f32(i as f32)).collect();
        let view = data.as_slice().as_slice_arg().view([3, 5]).unwrap();
        let from = Operand::new(view, true);
        assert!(!from.tma_compatible());
        for transposed in [true, false] {
            let packed = AlignedOperand::<u16>::new(&rt, &from, transposed).unwrap();
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
