//! What loops run over, and how they are carried out.

use crate::stub;
use crate::value::Int;
use std::iter::StepBy;
use std::marker::PhantomData;
use std::ops::Range;

/// A range of a loop with a step.
pub struct Steps<T>(PhantomData<T>);

impl<T> Iterator for Steps<T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        stub()
    }
}

/// The numbers from `a` on, `step` apart, below `b`.
///
/// `a`, `b` and `step` are integers of one type. With a step of less than 1 the loop does not end. How the loop is carried
/// out may follow: [`stages`](Steps::stages), [`unroll`](Steps::unroll), [`flatten`](Steps::flatten),
/// [`warp_specialise`](Steps::warp_specialise).
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     let mut total = zeros::<f32>([256]);
///     for start in range(0, x.len(), 256) {
///         total += load(x, start + arange(256));
///     }
///     store(y, 0, sum(total));
/// }
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
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     let mut total = zeros::<f32>([64]);
///     for part in static_range(0..4) {
///         total += load(x, part * 64 + arange(64));
///     }
///     store(y, arange(64), total);
/// }
/// ```
pub fn static_range<T: Int>(ends: impl Ends<T>) -> Steps<T> {
    let _ = ends;
    stub()
}

/// `n` or `a..b`.
pub trait Ends<T> {}

impl<T: Int> Ends<T> for T {}
impl<T: Int> Ends<T> for Range<T> {}

/// Operations with another number of arguments.
pub mod overloads {
    use super::*;

    /// The numbers from `a` up to `b`: `range(a, b)` is `a..b`.
    pub fn range<T: Int>(a: T, b: T) -> Steps<T> {
        let _ = (a, b);
        stub()
    }

    /// A range from `a` up to `b`, whose loop is unrolled as a whole.
    pub fn static_range<T: Int>(a: T, b: T) -> Steps<T> {
        let _ = (a, b);
        stub()
    }
}

impl<T> Steps<T> {
    /// Buffers for tiles that a loop's loads copy ahead: 1 to 16. Without it the configuration's `stages` say how many, or
    /// the compiler chooses.
    ///
    /// It changes nothing that the loop means. Another number than 1 to 16, or a variable one, is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    ///     let mut acc = zeros::<f32>([64, 64]);
    ///     for k in range(0, a.dim(1), 32).stages(3) {
    ///         acc = dot(a.tile([0, k], [64, 32]), b.tile([k, 0], [32, 64]), acc);
    ///     }
    ///     c.store([0, 0], acc);
    /// }
    /// ```
    pub fn stages(self, n: usize) -> Steps<T> {
        let _ = n;
        stub()
    }

    /// The loop's body is laid out `n` times.
    ///
    /// It changes nothing that the loop means. `n` is a constant of at least 1.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let mut total = zeros::<f32>([256]);
    ///     for start in range(0, x.len(), 256).unroll(4) {
    ///         total += load(x, start + arange(256));
    ///     }
    ///     store(y, 0, sum(total));
    /// }
    /// ```
    pub fn unroll(self, n: usize) -> Steps<T> {
        let _ = n;
        stub()
    }

    /// One pipeline of copies through this loop and the loops in it.
    ///
    /// It changes nothing that the loop means. A warp-specialized program copies ahead over the ends of loops without it.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: View<f32, 2>, y: &mut [f32]) {
    ///     let mut total = zeros::<f32>([1, 64]);
    ///     for row in range(0, x.dim(0), 1).flatten() {
    ///         for column in range(0, x.dim(1), 64) {
    ///             total += x.tile([row, column], [1, 64]);
    ///         }
    ///     }
    ///     store(y, 0, sum(total));
    /// }
    /// ```
    pub fn flatten(self) -> Steps<T> {
        stub()
    }

    /// Whether some warps copy and the others compute. `false` keeps a loop from it: all warps copy then.
    ///
    /// It changes nothing that the loop means. It takes `true` or `false`.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    ///     let mut acc = zeros::<f32>([64, 64]);
    ///     for k in range(0, a.dim(1), 32).warp_specialise(false) {
    ///         acc = dot(a.tile([0, k], [64, 32]), b.tile([k, 0], [32, 64]), acc);
    ///     }
    ///     c.store([0, 0], acc);
    /// }
    /// ```
    pub fn warp_specialise(self, enabled: bool) -> Steps<T> {
        let _ = enabled;
        stub()
    }
}

/// How a loop over `a..b` or `(a..b).step_by(s)` is carried out.
pub trait Schedule<T>: Sized {
    /// As [`Steps::stages`].
    fn stages(self, n: usize) -> Steps<T> {
        let _ = n;
        stub()
    }

    /// As [`Steps::unroll`].
    fn unroll(self, n: usize) -> Steps<T> {
        let _ = n;
        stub()
    }

    /// As [`Steps::warp_specialise`].
    fn warp_specialise(self, enabled: bool) -> Steps<T> {
        let _ = enabled;
        stub()
    }
}

impl<T: Int> Schedule<T> for Range<T> {}
impl<T: Int> Schedule<T> for StepBy<Range<T>> {}
