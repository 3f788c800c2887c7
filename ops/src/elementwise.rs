//! Operations that treat each element by itself.

use super::{Executor, check};
use crate::by_type::by_type;
use tilewright_core::{AsSlice, AsSliceMut, Call, SliceArg, SliceMutArg, bf16, f16};
use tilewright_kernels as k;
use tilewright_runtime::{Error, Result};

by_type! {
    /// The element types of the element-wise operations: `f32`, `f16` and `bf16`. The trait is sealed.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Result, Runtime, f16, ops};
    ///
    /// /// The positive elements, of any type.
    /// fn positive<T: ops::Float>(rt: &Runtime, x: &Buffer<T>) -> Result<Vec<T>> {
    ///     let mut y = Buffer::<T>::zeros(rt, x.len())?;
    ///     ops::relu(rt, x, &mut y)?;
    ///     y.to_vec()
    /// }
    /// let rt = Runtime::cpu();
    /// let x = Buffer::from_slice(&rt, &[f16::ONE, f16::NEG_ONE])?;
    /// assert_eq!(positive(&rt, &x)?, [f16::ONE, f16::ZERO]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    /// Other crates cannot implement it:
    /// ```compile_fail,E0277
    /// struct Mine;
    /// impl tilewright_ops::Float for Mine {}
    /// ```
    pub trait Float: ElementwiseKernels<'a> for [f32, f16, bf16] {
        fn vector_add_call(a: SliceArg<'a, Self>, b: SliceArg<'a, Self>, c: SliceMutArg<'a, Self>) -> Call<'a> {
            k::vector_add::vector_add(a, b, c)
        }
        fn relu_call(x: SliceArg<'a, Self>, y: SliceMutArg<'a, Self>) -> Call<'a> {
            k::relu::relu(x, y)
        }
        fn leaky_relu_call(x: SliceArg<'a, Self>, y: SliceMutArg<'a, Self>, slope: f32) -> Call<'a> {
            k::leaky_relu::leaky_relu(x, y, slope)
        }
        fn gelu_call(x: SliceArg<'a, Self>, y: SliceMutArg<'a, Self>) -> Call<'a> {
            k::gelu::gelu(x, y)
        }
        fn dropout_call(
            x: SliceArg<'a, Self>,
            y: SliceMutArg<'a, Self>,
            dropped: u32,
            scale: f32,
            seed: u64,
        ) -> Call<'a> {
            k::dropout::dropout(x, y, dropped, scale, seed)
        }
        fn swiglu_call(gate: SliceArg<'a, Self>, up: SliceArg<'a, Self>, y: SliceMutArg<'a, Self>) -> Call<'a> {
            k::swiglu::swiglu(gate, up, y)
        }
        fn swiglu_gradient_call(
            gate: SliceArg<'a, Self>,
            up: SliceArg<'a, Self>,
            dy: SliceArg<'a, Self>,
            d_gate: SliceMutArg<'a, Self>,
            d_up: SliceMutArg<'a, Self>,
        ) -> Call<'a> {
            k::swiglu::swiglu_gradient(gate, up, dy, d_gate, d_up)
        }
    }
}

/// `c = a + b`. Half types are added in f32 and rounded once.
///
/// Shapes: `a`, `b`, `c` of equal length.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut c = [0.0f32; 2];
/// ops::vector_add(&Runtime::cpu(), &[1.0, 2.0], &[10.0, 20.0], &mut c)?;
/// assert_eq!(c, [11.0, 22.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn vector_add<'a, T: Float>(
    on: &impl Executor,
    a: impl AsSlice<'a, T>,
    b: impl AsSlice<'a, T>,
    c: impl AsSliceMut<'a, T>,
) -> Result<()> {
    let (a, b, c) = (a.as_slice_arg(), b.as_slice_arg(), c.as_slice_mut_arg());
    check::same_length("vector_add", &[("a", a.len()), ("b", b.len()), ("c", c.len())])?;
    on.launch(T::vector_add_call(a, b, c))
}

/// `y = max(x, 0)`; a NaN stays a NaN.
///
/// Shapes: `x`, `y` of equal length.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut y = [0.0f32; 2];
/// ops::relu(&Runtime::cpu(), &[1.5, -1.5], &mut y)?;
/// assert_eq!(y, [1.5, 0.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn relu<'a, T: Float>(on: &impl Executor, x: impl AsSlice<'a, T>, y: impl AsSliceMut<'a, T>) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    check::same_length("relu", &[("x", x.len()), ("y", y.len())])?;
    on.launch(T::relu_call(x, y))
}

/// `y = x` where `x >= 0`, else `slope * x`.
///
/// Shapes: `x`, `y` of equal length.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut y = [0.0f32; 2];
/// ops::leaky_relu(&Runtime::cpu(), &[1.5, -1.5], &mut y, 0.5)?;
/// assert_eq!(y, [1.5, -0.75]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn leaky_relu<'a, T: Float>(
    on: &impl Executor,
    x: impl AsSlice<'a, T>,
    y: impl AsSliceMut<'a, T>,
    slope: f32,
) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    check::same_length("leaky_relu", &[("x", x.len()), ("y", y.len())])?;
    on.launch(T::leaky_relu_call(x, y, slope))
}

/// GeLU in its tanh form.
///
/// Shapes: `x`, `y` of equal length.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut y = [9.0f32; 3];
/// ops::gelu(&Runtime::cpu(), &[0.0, 10.0, 1.0], &mut y)?;
/// assert_eq!(y[..2], [0.0, 10.0]);
/// assert!((y[2] - 0.8412).abs() < 1e-4);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn gelu<'a, T: Float>(on: &impl Executor, x: impl AsSlice<'a, T>, y: impl AsSliceMut<'a, T>) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    check::same_length("gelu", &[("x", x.len()), ("y", y.len())])?;
    on.launch(T::gelu_call(x, y))
}

/// `y = x / (1 - p)` where an element is kept, else 0: each is dropped with probability `p`, which is from 0 to 1 and
/// rounded to a multiple of 2^-24. Half types are computed in f32 and rounded once.
///
/// Which elements are kept depends on the seed and the place of an element alone. So the gradient of `x` is the dropout
/// of the gradient of `y` with the same seed and probability. Element `i` is kept where the upper 24 bits of its random
/// integer are at least `p * 2^24`. The integers are those of Philox 4x32-10 with the seed as key: four for each
/// counter, which is `i / 4`. An element that is not kept becomes 0, even if it was NaN.
///
/// Shapes: `x`, `y` of equal length.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let (x, mut y, mut again) = ([3.0f32; 1000], [9.0f32; 1000], [9.0f32; 1000]);
/// ops::dropout(&Runtime::cpu(), &x, &mut y, 0.25, 7)?;
/// assert!(y.iter().all(|&v| v == 0.0 || v == 4.0));
/// assert!((200..300).contains(&y.iter().filter(|&&v| v == 0.0).count()));
/// ops::dropout(&Runtime::cpu(), &x, &mut again, 0.25, 7)?;
/// assert_eq!(y, again);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn dropout<'a, T: Float>(
    on: &impl Executor,
    x: impl AsSlice<'a, T>,
    y: impl AsSliceMut<'a, T>,
    p: f32,
    seed: u64,
) -> Result<()> {
    const WHAT: &str = "dropout";
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    check::same_length(WHAT, &[("x", x.len()), ("y", y.len())])?;
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::InvalidArgument { what: WHAT, why: format!("p is {p}: a probability is from 0 to 1") });
    }
    let dropped = (p * (1 << 24) as f32).round() as u32;
    // If no element is kept, no element is scaled.
    let scale = if p < 1.0 { 1.0 / (1.0 - p) } else { 0.0 };
    on.launch(T::dropout_call(x, y, dropped, scale, seed))
}

/// `y = gate / (1 + e^-gate) * up`, the gated activation of transformers. 16-bit types are computed in f32 and rounded
/// once.
///
/// Shapes: `gate`, `up`, `y` of equal length. `y` may be the memory of `gate`.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut y = [9.0f32; 3];
/// ops::swiglu(&Runtime::cpu(), &[0.0, 100.0, 1.0], &[3.0, 2.0, 10.0], &mut y)?;
/// assert_eq!(y[..2], [0.0, 200.0]);
/// assert!((y[2] - 7.310_586).abs() < 1e-5);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn swiglu<'a, T: Float>(
    on: &impl Executor,
    gate: impl AsSlice<'a, T>,
    up: impl AsSlice<'a, T>,
    y: impl AsSliceMut<'a, T>,
) -> Result<()> {
    let (gate, up, y) = (gate.as_slice_arg(), up.as_slice_arg(), y.as_slice_mut_arg());
    check::same_length("swiglu", &[("gate", gate.len()), ("up", up.len()), ("y", y.len())])?;
    on.launch(T::swiglu_call(gate, up, y))
}

/// The gradients of [`swiglu`]: `d_gate` of `gate` and `d_up` of `up`, where `dy` is that of `y`.
///
/// Shapes: all of equal length.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let (mut d_gate, mut d_up) = ([9.0f32; 2], [9.0f32; 2]);
/// ops::swiglu_backward(&Runtime::cpu(), &[0.0, 100.0], &[3.0, 2.0], &[2.0, 1.0], &mut d_gate, &mut d_up)?;
/// assert_eq!((d_gate, d_up), ([3.0, 2.0], [0.0, 100.0]));
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn swiglu_backward<'a, T: Float>(
    on: &impl Executor,
    gate: impl AsSlice<'a, T>,
    up: impl AsSlice<'a, T>,
    dy: impl AsSlice<'a, T>,
    d_gate: impl AsSliceMut<'a, T>,
    d_up: impl AsSliceMut<'a, T>,
) -> Result<()> {
    const WHAT: &str = "swiglu_backward";
    let (gate, up, dy) = (gate.as_slice_arg(), up.as_slice_arg(), dy.as_slice_arg());
    let (d_gate, d_up) = (d_gate.as_slice_mut_arg(), d_up.as_slice_mut_arg());
    check::same_length(WHAT, &[("gate", gate.len()), ("up", up.len()), ("dy", dy.len())])?;
    check::same_length(WHAT, &[("gate", gate.len()), ("d_gate", d_gate.len()), ("d_up", d_up.len())])?;
    on.launch(T::swiglu_gradient_call(gate, up, dy, d_gate, d_up))
}

/// `b = a`.
///
/// Shapes: `a`, `b` of equal length.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut b = [0.0f32; 2];
/// ops::matrix_copy(&Runtime::cpu(), &[1.0, 2.0], &mut b)?;
/// assert_eq!(b, [1.0, 2.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn matrix_copy<'a>(on: &impl Executor, a: impl AsSlice<'a, f32>, b: impl AsSliceMut<'a, f32>) -> Result<()> {
    let (a, b) = (a.as_slice_arg(), b.as_slice_mut_arg());
    check::same_length("matrix_copy", &[("a", a.len()), ("b", b.len())])?;
    on.launch(k::matrix_copy::matrix_copy(a, b))
}
