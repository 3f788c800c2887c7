//! Histograms, and counts of equal elements.

use crate::stub;
use crate::value::{Int, Tile, Value};

/// How many elements of a tile of rank 1 are 0, 1, .. up to `bins - 1`: a tile of shape `[bins]`.
///
/// Elements are of any integer type. Negative elements, and elements from `bins` on, do not count. `bins` is a
/// constant, any positive number. `.mask(m)` and `.weights(w)` may follow. The counters are in shared memory, 64 KB at
/// most.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[u8], y: &mut [i32]) {
///     store(y, arange(3), histogram(load(x, arange(6)), 3));
///     store(y, 3 + arange(3), histogram(load(x, arange(6)), 3).mask(arange(6) < 2));
/// }
/// # }
/// let mut y = [0; 6];
/// Runtime::cpu().launch(k(&[2, 0, 2, 2, 9, 0], &mut y))?;
/// assert_eq!(y, [2, 0, 3, 1, 0, 1]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn histogram<I: Int>(t: Tile<I>, bins: usize) -> Tile<i32> {
    let _ = (t, bins);
    stub()
}

/// For each element of a tile of rank 1, how many elements before it equal it: 0, 1, .. in the order of the indices.
///
/// Elements are of any integer type, and the result has their shape. Negative elements, and elements from `bins` on, do
/// not count, and have 0. `bins` is a constant. `.mask(m)` may follow: the elements that it leaves out do not count,
/// and have 0.
///
/// On a GPU each warp has 8 bytes for each bin in shared memory: 64 KB at most. A step of a radix sort is
/// `offset of the digit + cumcount(digit, BINS)`.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[u8], y: &mut [i32]) {
///     store(y, arange(6), cumcount(load(x, arange(6)), 3));
/// }
/// # }
/// let mut y = [9; 6];
/// Runtime::cpu().launch(k(&[2, 0, 2, 2, 9, 0], &mut y))?;
/// assert_eq!(y, [0, 0, 1, 2, 0, 1]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn cumcount<I: Int>(t: Tile<I>, bins: usize) -> Tile<i32> {
    let _ = (t, bins);
    stub()
}

/// The options of a histogram, beside `.mask(m)`.
pub trait HistogramOptions: Value {
    /// The sums of the weights of the elements instead of their number, in the type of the weights.
    ///
    /// `w` broadcasts to the shape of the elements. Its type is i32, u32, i64, u64, f32, f64, f16 or bf16. Integers
    /// wrap. f16 and bf16 are summed in f32 and rounded once. The order of the sums is open: on a GPU sums of floats
    /// may differ in their last bits from run to run.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[u8], w: &[f32], y: &mut [f32]) {
    ///     let i = arange(4);
    ///     store(y, arange(3), histogram(load(x, i), 3).weights(load(w, i)));
    /// }
    /// # }
    /// let mut y = [9.0; 3];
    /// Runtime::cpu().launch(k(&[2, 0, 2, 9], &[1.0, 2.0, 4.0, 8.0], &mut y))?;
    /// assert_eq!(y, [2.0, 0.0, 5.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn weights<W: Value>(self, w: W) -> Tile<W::Elem> {
        let _ = w;
        stub()
    }
}

impl HistogramOptions for Tile<i32> {}
