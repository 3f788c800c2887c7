//! Ranges of loops, and the options of loops.

use crate::stub;
use crate::value::Int;
use std::iter::{Rev, StepBy};
use std::marker::PhantomData;
use std::ops::{Range, RangeInclusive};

/// The range of a loop with a step, for the options that follow it. [`range`] has an example.
pub struct Steps<T>(PhantomData<T>);

impl<T> Iterator for Steps<T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        stub()
    }
}

impl<T> DoubleEndedIterator for Steps<T> {
    fn next_back(&mut self) -> Option<T> {
        stub()
    }
}

/// The numbers from `a` on, `step` apart, below `b`; with a negative step down to a number above `b`.
///
/// `a`, `b` and `step` are integers of one type. A step of 0 that is a constant is an error; one that is known only
/// when the kernel runs gives no number. Options may follow: [`stages`](Steps::stages), [`unroll`](Steps::unroll),
/// [`flatten`](Steps::flatten), [`warp_specialize`](Steps::warp_specialize).
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let mut total = zeros::<f32>([4]);
///     for start in range(0, x.len(), 4) {
///         total += load(x, start + arange(4));
///     }
///     store(y, 0, sum(total));
/// }
/// # }
/// let mut y = [0.0];
/// Runtime::cpu().launch(k(&[1.0; 10], &mut y))?;
/// assert_eq!(y, [10.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn range<T: Int>(a: T, b: T, step: T) -> Steps<T> {
    let _ = (a, b, step);
    stub()
}

/// A range whose loop is unrolled as a whole: `static_range(a..b)`, or `static_range(n)` from 0 on.
///
/// The ends are constants, and so is the loop's variable. There are at most 1024 iterations, without `break` and
/// `continue`.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let mut total = zeros::<f32>([2]);
///     for part in static_range(0..2) {
///         total += load(x, part * 2 + arange(2));
///     }
///     store(y, arange(2), total);
/// }
/// # }
/// let mut y = [0.0; 2];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
/// assert_eq!(y, [4.0, 6.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn static_range<T: Int>(ends: impl Ends<T>) -> Steps<T> {
    let _ = ends;
    stub()
}

/// `n` or `a..b`.
pub trait Ends<T> {}

impl<T: Int> Ends<T> for T {}
impl<T: Int> Ends<T> for Range<T> {}
impl<T: Int> Ends<T> for RangeInclusive<T> {}
impl<T: Int> Ends<T> for StepBy<Range<T>> {}
impl<T: Int, R: Ends<T>> Ends<T> for Rev<R> {}

/// Operations with another number of arguments.
pub mod overloads {
    use super::Steps;
    use crate::stub;
    use crate::value::Int;

    /// The numbers from `a` up to `b`: `range(a, b)` is `a..b`.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(grid = [1])]
    /// fn k(y: &mut [usize]) {
    ///     let mut total = 0usize;
    ///     for i in range(1, 5) {
    ///         total += i;
    ///     }
    ///     store(y, 0, total);
    /// }
    /// let mut y = [0];
    /// Runtime::cpu().launch(k(&mut y))?;
    /// assert_eq!(y, [10]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn range<T: Int>(a: T, b: T) -> Steps<T> {
        let _ = (a, b);
        stub()
    }

    /// A range from `a` up to `b`, whose loop is unrolled as a whole.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(grid = [1])]
    /// fn k(y: &mut [usize]) {
    ///     let mut total = 0usize;
    ///     for i in static_range(1, 5) {
    ///         total += i;
    ///     }
    ///     store(y, 0, total);
    /// }
    /// let mut y = [0];
    /// Runtime::cpu().launch(k(&mut y))?;
    /// assert_eq!(y, [10]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn static_range<T: Int>(a: T, b: T) -> Steps<T> {
        let _ = (a, b);
        stub()
    }
}

impl<T> Steps<T> {
    /// Buffers for tiles that a loop's loads copy ahead: 1 to 16. Without it the configuration's `stages` say how many,
    /// or the compiler chooses.
    ///
    /// The results of the loop stay the same. Another number than 1 to 16, or a variable one, is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    ///     let mut acc = zeros::<f32>([16, 16]);
    ///     for k in range(0, a.dim(1), 16).stages(3) {
    ///         acc = dot(a.tile([0, k], [16, 16]), b.tile([k, 0], [16, 16]), acc);
    ///     }
    ///     c.store([0, 0], acc);
    /// }
    /// # }
    /// let rt = Runtime::cpu();
    /// let a = Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0].map(f16::from_f32))?;
    /// let mut c = Buffer::<f32>::zeros(&rt, 4)?;
    /// rt.launch(k(a.view([2, 2])?, a.view([2, 2])?, c.view_mut([2, 2])?))?;
    /// assert_eq!(c.to_vec()?, [7.0, 10.0, 15.0, 22.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn stages(self, n: usize) -> Steps<T> {
        let _ = n;
        stub()
    }

    /// The loop's body is laid out `n` times.
    ///
    /// The results of the loop stay the same. `n` is a constant of at least 1.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let mut total = zeros::<f32>([4]);
    ///     for start in range(0, x.len(), 4).unroll(2) {
    ///         total += load(x, start + arange(4));
    ///     }
    ///     store(y, 0, sum(total));
    /// }
    /// # }
    /// let mut y = [0.0];
    /// Runtime::cpu().launch(k(&[1.0; 10], &mut y))?;
    /// assert_eq!(y, [10.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn unroll(self, n: usize) -> Steps<T> {
        let _ = n;
        stub()
    }

    /// One pipeline of copies through this loop and the loops in it.
    ///
    /// The results of the loop stay the same. A warp-specialized program copies ahead over the ends of loops without
    /// it.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: View<f32, 2>, y: &mut [f32]) {
    ///     let mut total = zeros::<f32>([1, 2]);
    ///     for row in range(0, x.dim(0), 1).flatten() {
    ///         for column in range(0, x.dim(1), 2) {
    ///             total += x.tile([row, column], [1, 2]);
    ///         }
    ///     }
    ///     store(y, 0, sum(total));
    /// }
    /// # }
    /// let rt = Runtime::cpu();
    /// let x = Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let mut y = [0.0];
    /// rt.launch(k(x.view([2, 3])?, &mut y))?;
    /// assert_eq!(y, [21.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn flatten(self) -> Steps<T> {
        stub()
    }

    /// Whether some warps copy and the others compute. `false` keeps a loop from it: all warps copy then.
    ///
    /// The results of the loop stay the same. It takes `true` or `false`.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    ///     let mut acc = zeros::<f32>([16, 16]);
    ///     for k in range(0, a.dim(1), 16).warp_specialize(false) {
    ///         acc = dot(a.tile([0, k], [16, 16]), b.tile([k, 0], [16, 16]), acc);
    ///     }
    ///     c.store([0, 0], acc);
    /// }
    /// # }
    /// let rt = Runtime::cpu();
    /// let a = Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0].map(f16::from_f32))?;
    /// let mut c = Buffer::<f32>::zeros(&rt, 4)?;
    /// rt.launch(k(a.view([2, 2])?, a.view([2, 2])?, c.view_mut([2, 2])?))?;
    /// assert_eq!(c.to_vec()?, [7.0, 10.0, 15.0, 22.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn warp_specialize(self, enabled: bool) -> Steps<T> {
        let _ = enabled;
        stub()
    }
}

/// The options of a loop over `a..b` or `(a..b).step_by(s)`.
pub trait Schedule<T>: Sized {
    /// As [`Steps::stages`].
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let mut total = zeros::<f32>([4]);
    ///     for start in (0..x.len()).step_by(4).stages(2) {
    ///         total += load(x, start + arange(4));
    ///     }
    ///     store(y, 0, sum(total));
    /// }
    /// # }
    /// let mut y = [0.0];
    /// Runtime::cpu().launch(k(&[1.0; 10], &mut y))?;
    /// assert_eq!(y, [10.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn stages(self, n: usize) -> Steps<T> {
        let _ = n;
        stub()
    }

    /// As [`Steps::unroll`].
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let mut total = zeros::<f32>([4]);
    ///     for start in (0..x.len()).step_by(4).unroll(2) {
    ///         total += load(x, start + arange(4));
    ///     }
    ///     store(y, 0, sum(total));
    /// }
    /// # }
    /// let mut y = [0.0];
    /// Runtime::cpu().launch(k(&[1.0; 10], &mut y))?;
    /// assert_eq!(y, [10.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn unroll(self, n: usize) -> Steps<T> {
        let _ = n;
        stub()
    }

    /// As [`Steps::warp_specialize`].
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let mut total = zeros::<f32>([4]);
    ///     for start in (0..x.len()).step_by(4).warp_specialize(false) {
    ///         total += load(x, start + arange(4));
    ///     }
    ///     store(y, 0, sum(total));
    /// }
    /// # }
    /// let mut y = [0.0];
    /// Runtime::cpu().launch(k(&[1.0; 10], &mut y))?;
    /// assert_eq!(y, [10.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn warp_specialize(self, enabled: bool) -> Steps<T> {
        let _ = enabled;
        stub()
    }
}

impl<T: Int> Schedule<T> for Range<T> {}
impl<T: Int> Schedule<T> for RangeInclusive<T> {}
impl<T: Int> Schedule<T> for StepBy<Range<T>> {}
impl<T: Int, R: Schedule<T>> Schedule<T> for Rev<R> {}
