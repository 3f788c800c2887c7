//! Operations of all programs of a grid together, in one launch: a library of the tile language,
//! `#[tile_module(use tilewright::grid)]`.
//!
//! Programs begin in any order, and one that has begun goes on until it ends. So a program waits for programs that have
//! begun before it, and for no others: [`begin_order`] says which these are. A kernel takes two arrays of zeros, which
//! hold zeros again after the launch, so that one pair serves all launches of a stream:
//! - `counter`, one `u32`
//! - `words` of `u64`: a word for each program, two for values of 64 bits and for pairs
//!
//! A launch that fails, by an assertion for example, leaves other values in them: set them to zero before the next one,
//! which would wait for ever. A kernel uses `words` for one look-back or one reduction.
//!
//! Kernels call these functions. Here they are for documentation and for editors.
//!
//! # Examples
//! The sums of an array up to each element, which is read once:
//! ```standalone_crate
//! use tilewright::{Error, Runtime, tile_module};
//!
//! #[tile_module(use tilewright::grid)]
//! pub mod kernels {
//!     #[tile_kernel(
//!         tune(BLOCK = [1024]),
//!         requires = [words.len() >= cdiv(x.len(), BLOCK)],
//!         grid = [cdiv(x.len(), BLOCK)],
//!     )]
//!     pub fn sums<const BLOCK: usize>(x: &[i32], y: &mut [i32], words: &mut [u64], counter: &mut [u32]) {
//!         let order = begin_order(counter);
//!         let i = order * BLOCK + arange(BLOCK);
//!         let t = load(x, i);
//!         look_back(words, order, sum(t), 0, |a, b| a + b, |before| store(y, i, before + cumsum(t, 0)));
//!     }
//! }
//!
//! fn main() -> Result<(), Error> {
//!     let (x, mut y) = (vec![1; 10_000], vec![0; 10_000]);
//!     let (mut words, mut counter) = (vec![0; 10], vec![0]);
//!     Runtime::cpu().launch(kernels::sums(&x, &mut y, &mut words, &mut counter))?;
//!     assert!(y.iter().copied().eq(1..=10_000));
//!     assert!(words.iter().all(|&w| w == 0) && counter == [0]);
//!     Ok(())
//! }
//! ```

/// The result of a function of the library, which only a kernel has.
#[track_caller]
fn stub<T>() -> T {
    panic!("a function of the tile language: only a kernel in a #[tile_module(use tilewright::grid)] can call it")
}

/// The start index of the program, from 0 in the order in which programs start. The first call of a kernel.
///
/// A program that looks back takes its part of the work by this index, not by `program_id(0)`.
/// The [module](self) has an example.
pub fn begin_order(counter: &mut [u32]) -> usize {
    let _ = counter;
    stub()
}

/// Decoupled look-back: calls `done` with `first` combined with the totals of all programs before `order`, in their
/// order.
///
/// `combine` is associative and need not be commutative; its first argument comes first. How values are grouped is
/// open, so that sums of floats may differ in their last bits from launch to launch. Values have 32 or 64 bits. Each
/// program of the grid calls it once. `words` has a word for each program, two for values of 64 bits. The
/// [module](self) has an example.
pub fn look_back<T>(
    words: &mut [u64],
    order: usize,
    total: T,
    first: T,
    combine: impl Fn(T, T) -> T,
    done: impl Fn(T),
) {
    let _ = (words, order, total, first, combine, done);
    stub()
}

/// [`look_back`] of pairs of 32-bit values, as a linear recurrence has them. `words` has two words for each program.
/// The [module](self) has an example of [`look_back`].
pub fn look_back_pair<A, B>(
    words: &mut [u64],
    order: usize,
    total: (A, B),
    first: (A, B),
    combine: impl Fn((A, B), (A, B)) -> (A, B),
    done: impl Fn((A, B)),
) {
    let _ = (words, order, total, first, combine, done);
    stub()
}

/// Calls `done` with the combination of all programs' totals, in the program that began last.
///
/// `combine` is associative and commutative, and gives `v` of `first` and `v`. The totals are combined by their
/// programs' places in the grid, so the result does not depend on the order in which programs run. Values have 32 bits.
/// Each program of the grid calls it once. `words` has a word for each program.
///
/// # Examples
/// The largest element of an array:
/// ```standalone_crate
/// use tilewright::{Error, Runtime, tile_module};
///
/// #[tile_module(use tilewright::grid)]
/// pub mod kernels {
///     #[tile_kernel(
///         tune(BLOCK = [1024]),
///         requires = [words.len() >= cdiv(x.len(), BLOCK)],
///         grid = [cdiv(x.len(), BLOCK)],
///     )]
///     pub fn largest<const BLOCK: usize>(x: &[i32], y: &mut [i32], words: &mut [u64], counter: &mut [u32]) {
///         let order = begin_order(counter);
///         let t = load(x, order * BLOCK + arange(BLOCK));
///         reduce_programs(words, order, max(t), 0, |a, b| max(a, b), |total| store(y, 0, total));
///     }
/// }
///
/// fn main() -> Result<(), Error> {
///     let (x, mut y) = (Vec::from_iter(0..10_000), [0]);
///     let (mut words, mut counter) = (vec![0; 10], vec![0]);
///     Runtime::cpu().launch(kernels::largest(&x, &mut y, &mut words, &mut counter))?;
///     assert_eq!(y, [9_999]);
///     Ok(())
/// }
/// ```
pub fn reduce_programs<T>(
    words: &mut [u64],
    order: usize,
    total: T,
    first: T,
    combine: impl Fn(T, T) -> T,
    done: impl Fn(T),
) {
    let _ = (words, order, total, first, combine, done);
    stub()
}
