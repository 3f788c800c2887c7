//! Arrays in shared memory.

use crate::stub;
use crate::value::Element;

/// An array of `n` zeros in the shared memory of the program: `let mut s = shared_array::<f32>(256);`.
///
/// `load`, `store` and atomics take it as they take a slice, at any index: a load outside of it gives `other` (0), a
/// store outside is dropped. A later load sees the stored values of all threads. `n` is a constant. The arrays of a
/// kernel have 64 KB in all.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], to: &[i32], y: &mut [f32]) {
///     let i = arange(4);
///     let mut s = shared_array::<f32>(4);
///     store(s, load(to, i), load(x, i));
///     atomic_add(s, 0, 10.0);
///     store(y, i, load(s, 3 - i));
/// }
/// # }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &[1, 0, 3, 9], &mut y))?;
/// assert_eq!(y, [3.0, 0.0, 1.0, 12.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn shared_array<T: Element>(n: usize) -> &'static mut [T] {
    let _ = n;
    stub()
}
