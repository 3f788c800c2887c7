//! Products of two matrices.

use super::multiply::{Typed, Views, Way};
use super::product::{GemmShape, Operand, Transpose, is_work};
use super::repack::with_copies;
use super::scratch_matrix::{ScratchMatrix, if_room};
use super::stream_k::{self, Workspace};
use super::wide::Wide;
use super::{Launch, Multiply, gemm, route, split};
use crate::error::{Error, Result};
use tilewright_core::{AsView, AsViewMut, DType, ViewArg, ViewMutArg, f16};

/// The arithmetic of a product of f32. Products of other types are exact but for the accumulation in f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// [`Precision::F32`].
    #[default]
    Default,
    /// As accurate as multiply-adds in f32. Where an operand is infinite, a sum may be NaN instead of infinite. An operand
    /// below 2^-126 may count as 0, and one that rounds to infinity in tf32 as infinite.
    F32,
    /// Operands are rounded to tf32: 10 bits of fraction. They may be cut off instead, and the greatest ones may be rounded to
    /// infinity. An operand below 2^-126 may count as 0.
    Tf32,
}

/// The function of each sum, applied in the same launch before the sum is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Epilogue {
    /// The sum itself.
    #[default]
    None,
    /// `max(sum, 0)`. A NaN stays a NaN.
    Relu,
    /// Negative sums are multiplied by this slope. Products of i8 have no such epilogue.
    LeakyRelu(f32),
}

impl Epilogue {
    /// The factor of negative sums.
    fn negative_slope(self) -> f32 {
        match self {
            Epilogue::None => 1.0,
            Epilogue::Relu => 0.0,
            Epilogue::LeakyRelu(slope) => slope,
        }
    }
}

/// `C = epilogue(op(A) op(B))`, or for f16 `C = alpha op(A) op(B) + beta C`, where `op` transposes what is given transposed.
///
/// Sums are accumulated in f32 (of i8 in i32, where they wrap) and rounded once. A sum of nothing is 0. An operand may have
/// any strides; contiguous rows are fast. Nothing is enqueued before [`Matmul::launch`].
///
/// Shapes: `op(A)` is `m x k`, `op(B)` `k x n`, `C` `m x n`. The result of i8 is i32, and that of 8-bit floats bf16.
///
/// Scratch memory may hold:
/// - copies of operands whose rows do not start at multiples of 16 bytes, or whose order tensor cores do not take,
/// - the decomposed operands of products of f32,
/// - partial sums of programs that share a tile, where tiles do not fill the device in whole waves,
/// - a result of few columns before it is transposed.
///
/// For some sizes the faster of several routes is measured once, where the tuner may measure.
///
/// # Examples
/// ```
/// use tilewright_runtime::ops::{Epilogue, Matmul};
/// use tilewright_runtime::{Buffer, Runtime};
///
/// let rt = Runtime::cpu();
/// let a = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0])?;
/// // The transpose of `[[1, 0], [-1, 1]]`.
/// let b = Buffer::from_slice(&rt, &[1.0f32, -1.0, 0.0, 1.0])?;
/// let mut c = Buffer::<f32>::zeros(&rt, 4)?;
/// Matmul::new(a.view([2, 2])?, b.view([2, 2])?, c.view_mut([2, 2])?)
///     .transpose_b()
///     .epilogue(Epilogue::Relu)
///     .launch(&rt)?;
/// assert_eq!(c.to_vec()?, [0.0, 2.0, 0.0, 4.0]);
/// # Ok::<(), tilewright_runtime::Error>(())
/// ```
///
/// Only products of f32 have a precision, and only products of f16 are scaled:
/// ```compile_fail,E0599
/// # use tilewright_runtime::{Buffer, Result, ops::{Matmul, Precision}};
/// fn of_bytes(a: &Buffer<i8>, c: &mut Buffer<i32>) -> Result<()> {
///     let product = Matmul::new(a.view([2, 2])?, a.view([2, 2])?, c.view_mut([2, 2])?);
///     product.precision(Precision::Tf32);
///     Ok(())
/// }
/// ```
#[must_use = "nothing is enqueued before `launch`"]
pub struct Matmul<'a, T: Multiply> {
    views: Views<'a, T, 2>,
    transpose: Transpose,
    precision: Precision,
    epilogue: Epilogue,
    /// `alpha` and `beta`, where either was set.
    scale: Option<(f32, f32)>,
}

const WHAT: &str = "matmul";

impl<'a, T: Multiply> Matmul<'a, T> {
    /// The plain product `C = A B`.
    pub fn new(
        a: impl AsView<'a, T, 2>,
        b: impl AsView<'a, T, 2>,
        c: impl AsViewMut<'a, T::Product, 2>,
    ) -> Matmul<'a, T> {
        Matmul {
            views: Views { a: a.as_view_arg(), b: b.as_view_arg(), c: c.as_view_mut_arg() },
            transpose: Transpose::NONE,
            precision: Precision::Default,
            epilogue: Epilogue::None,
            scale: None,
        }
    }

    /// A is given transposed, as a `k x m` matrix.
    pub fn transpose_a(self) -> Self {
        let transpose = Transpose { a: true, ..self.transpose };
        self.transpose(transpose)
    }

    /// B is given transposed, as an `n x k` matrix.
    pub fn transpose_b(self) -> Self {
        let transpose = Transpose { b: true, ..self.transpose };
        self.transpose(transpose)
    }

    /// The operands that are given transposed.
    pub fn transpose(self, transpose: Transpose) -> Self {
        Matmul { transpose, ..self }
    }

    /// The function of each sum.
    pub fn epilogue(self, epilogue: Epilogue) -> Self {
        Matmul { epilogue, ..self }
    }

    /// Enqueues the product: on the default stream of a [`Runtime`](crate::Runtime), or where an [`On`](super::On) says.
    ///
    /// # Errors
    /// - [`Error::Shape`] where extents do not agree,
    /// - [`Error::Alias`] where `C` shares memory with an operand,
    /// - [`Error::InvalidArgument`] for [`Epilogue::LeakyRelu`] of i8, and for an epilogue of a scaled product,
    /// - those of a launch.
    ///
    /// The first three are returned before anything is written.
    pub fn launch(self, on: &impl Launch) -> Result<()> {
        let Matmul { views, transpose, precision, epilogue, scale } = self;
        let invalid = |why: &str| Err(Error::InvalidArgument { what: WHAT, why: why.into() });
        if T::DTYPE == DType::I8 && matches!(epilogue, Epilogue::LeakyRelu(_)) {
            return invalid(
                "leaky ReLU of integers is not supported, because a fraction of an integer is none: \
                 use f32, f16, bf16, f8e4m3 or f8e5m2",
            );
        }
        if scale.is_some() && epilogue != Epilogue::None {
            return invalid("a product with alpha or beta has no epilogue: apply the function in a launch of its own");
        }
        let e = GemmShape::of(WHAT, views.a.dims(), views.b.dims(), views.c.as_view().dims(), transpose)?;
        if !is_work(WHAT, e, &views.a, &views.b, &views.c)? {
            return Ok(());
        }
        let how = How { tf32: precision == Precision::Tf32, negative_slope: epilogue.negative_slope() };
        match (T::typed(views), scale) {
            (Typed::F16(v), Some(scale)) => {
                let flipped_if = |flip: bool, view: ViewArg<'a, f16, 2>| if flip { view.flipped() } else { view };
                gemm::scaled(on, e, (flipped_if(transpose.a, v.a), flipped_if(transpose.b, v.b)), v.c, scale)
            }
            (Typed::F32(v), _) => f32_product(on, Product::new(on, e, v, transpose, how)),
            (Typed::F16(v), None) => product(on, Product::new(on, e, v, transpose, how)),
            (Typed::Other(v), _) => product(on, Product::new(on, e, v, transpose, how)),
        }
    }
}

impl Matmul<'_, f32> {
    /// The arithmetic.
    pub fn precision(self, precision: Precision) -> Self {
        Matmul { precision, ..self }
    }
}

/// Scaled products. With a `beta` of 0 the elements of `C` do not count, and with a `k` of 0 `alpha` does not. As in torch,
/// `C` is 0 where both are 0. Otherwise `alpha` multiplies every sum, and a NaN in A or B makes a NaN in `C`.
///
/// One kernel multiplies by rows of both operands. Others are copied first where products are large, or read by their
/// strides.
impl Matmul<'_, f16> {
    /// The factor of `op(A) op(B)`, 1 unless it is set.
    pub fn alpha(self, alpha: f32) -> Self {
        let (_, beta) = self.scale.unwrap_or((1.0, 0.0));
        Matmul { scale: Some((alpha, beta)), ..self }
    }

    /// The factor of the old elements of `C`, 0 unless it is set.
    pub fn beta(self, beta: f32) -> Self {
        let (alpha, _) = self.scale.unwrap_or((1.0, 0.0));
        Matmul { scale: Some((alpha, beta)), ..self }
    }
}

/// The arithmetic of a product.
#[derive(Clone, Copy)]
struct How {
    tf32: bool,
    negative_slope: f32,
}

/// A product of checked operands.
struct Product<'a, T: Multiply> {
    e: GemmShape,
    a: Operand<'a, T>,
    b: Operand<'a, T>,
    c: ViewMutArg<'a, T::Product, 2>,
    how: How,
}

impl<'a, T: Multiply> Product<'a, T> {
    fn new(on: &impl Launch, e: GemmShape, views: Views<'a, T, 2>, transpose: Transpose, how: How) -> Self {
        let (a, b) = (Operand::new(views.a, transpose.a), Operand::new(views.b, transpose.b));
        match route::is_row_of_transpose(on, e) {
            true => Product {
                e: e.turned(),
                a: b.transpose().turned(false),
                b: a.transpose(),
                c: views.c.flipped().regular(),
                how,
            },
            false => Product { e, a, b, c: views.c, how },
        }
    }

    /// Whether elements of a row of the result are neighbours, as tensor maps need them.
    fn c_in_rows(&self) -> bool {
        self.c.as_view().strides()[1] == 1
    }
}

/// A product of f32, which has routes of its own.
fn f32_product(on: &impl Launch, p: Product<f32>) -> Result<()> {
    let Product { e, a, b, c, how } = p;
    if !how.tf32
        && route::has_few_columns(on, e, &a)
        && let Some(mut turned) = if_room(ScratchMatrix::new(on, [e.n, e.m], 1))?
    {
        let rows = turned.view_mut()?;
        split_or_product(on, Product { e: e.turned(), a: b.transpose(), b: a.transpose(), c: rows, how })?;
        return split::turn(on, turned.view()?, c);
    }
    split_or_product(on, Product { e, a, b, c, how })
}

/// A product of f32 out of decomposed operands, or like those of other types.
fn split_or_product(on: &impl Launch, p: Product<f32>) -> Result<()> {
    match route::split_of(on, p.e, &p.b, p.c_in_rows(), p.how.tf32) {
        Some(way) => split::multiply(on, p.e, way, (p.a, p.b), p.c, p.how.negative_slope),
        None => product(on, p),
    }
}

/// A product by one kernel, of operands that are copied first, if they should be.
fn product<T: Multiply>(on: &impl Launch, p: Product<T>) -> Result<()> {
    if let Some(kernel) = route::wide(on, p.e, 0, &p.b, p.c_in_rows())
        && let Some(wide) = Wide::of(on, kernel, &p.a, 0)?
    {
        return wide.multiply(on, &p.b, p.c, p.how.negative_slope);
    }
    let Product { e, a, b, c, how } = p;
    with_copies::<T, T::Bits>(on, route::copies_of_product(on, e, (&a, &b), how.tf32), (a, b), |a, b| {
        tiles(on, Product { e, a, b, c, how })
    })
}

/// The product tile by tile.
fn tiles<T: Multiply>(on: &impl Launch, p: Product<T>) -> Result<()> {
    let Product { e, a, b, c, how: How { tf32, negative_slope } } = p;
    let given = Way { transpose: a.order(&b), tf32 };
    let (a, b) = if route::has_order::<T>(on, given) { (a, b) } else { (a.turned(false), b.turned(true)) };
    let way = Way { transpose: a.order(&b), tf32 };
    let launch = |workspace: &mut Workspace<T::Sum>, c: ViewMutArg<T::Product, 2>| {
        on.launch(T::call(way, a.view, b.view, workspace.parts(), c, negative_slope))
    };
    if !T::has_stream_k(way) {
        return launch(&mut Workspace::none(on)?, c);
    }
    let kernel = stream_k::Kernel { desc: T::desc(way), after: None, name: stream_k::MATMUL, transpose: way.transpose };
    stream_k::multiply(on, e, kernel, (a, b), c, launch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Runtime};

    /// `m x k` and `k x n` small integers, and the transposes of both.
    fn operands(rt: &Runtime, [m, n, k]: [usize; 3]) -> [Buffer<f16>; 4] {
        let (a, b) = (|i: usize, l: usize| (i * 3 + l) % 5, |l: usize, j: usize| (l + j * 2) % 4);
        let made = |rows: usize, columns: usize, at: &dyn Fn(usize, usize) -> usize| {
            let all: Vec<f16> =
                (0..rows * columns).map(|e| f16::from_f32(at(e / columns, e % columns) as f32 - 1.0)).collect();
            Buffer::from_slice(rt, &all).unwrap()
        };
        [made(m, k, &a), made(k, n, &b), made(k, m, &|l, i| a(i, l)), made(n, k, &|j, l| b(l, j))]
    }

    #[test]
    fn scaled_products_take_transposed_operands() {
        let rt = Runtime::cpu();
        let [m, n, k] = [5, 7, 11];
        let [a, b, a_transposed, b_transposed] = operands(&rt, [m, n, k]);
        let multiplied = |turn_a: bool, turn_b: bool, alpha: f32, beta: f32| {
            let mut c = Buffer::from_slice(&rt, &vec![f16::from_f32(3.0); m * n]).unwrap();
            let a = if turn_a { a_transposed.view([k, m]) } else { a.view([m, k]) }.unwrap();
            let b = if turn_b { b_transposed.view([n, k]) } else { b.view([k, n]) }.unwrap();
            Matmul::new(a, b, c.view_mut([m, n]).unwrap())
                .transpose(Transpose { a: turn_a, b: turn_b })
                .alpha(alpha)
                .beta(beta)
                .launch(&rt)
                .unwrap();
            c.to_vec().unwrap().into_iter().map(f16::to_f32).collect::<Vec<_>>()
        };
        let plain = multiplied(false, false, 1.0, 0.0);
        for (turn_a, turn_b) in [(false, false), (true, false), (false, true), (true, true)] {
            let found = multiplied(turn_a, turn_b, 2.0, -1.0);
            assert_eq!(found, plain.iter().map(|sum| 2.0 * sum - 3.0).collect::<Vec<_>>(), "{turn_a} {turn_b}");
        }
    }

    #[test]
    fn combinations_without_a_kernel_write_nothing() {
        let rt = Runtime::cpu();
        let a = Buffer::from_slice(&rt, &[f16::ONE; 4]).unwrap();
        let mut c = Buffer::from_slice(&rt, &[f16::ONE; 4]).unwrap();
        let refused = Matmul::new(a.view([2, 2]).unwrap(), a.view([2, 2]).unwrap(), c.view_mut([2, 2]).unwrap())
            .beta(2.0)
            .epilogue(Epilogue::Relu)
            .launch(&rt);
        assert!(matches!(refused, Err(Error::InvalidArgument { what: "matmul", .. })), "{refused:?}");
        assert_eq!(c.to_vec().unwrap(), [f16::ONE; 4]);
        let (a, mut c) = (Buffer::from_slice(&rt, &[1i8; 4]).unwrap(), Buffer::from_slice(&rt, &[7i32; 4]).unwrap());
        let refused = Matmul::new(a.view([2, 2]).unwrap(), a.view([2, 2]).unwrap(), c.view_mut([2, 2]).unwrap())
            .epilogue(Epilogue::LeakyRelu(0.5))
            .launch(&rt);
        assert!(matches!(refused, Err(Error::InvalidArgument { what: "matmul", .. })), "{refused:?}");
        assert_eq!(c.to_vec().unwrap(), [7; 4]);
    }
}
