//! The options of accesses.

use crate::stub;
use crate::value::{Condition, Of, Value};

/// The result of a store, for the options that follow it.
pub struct Stored(());

impl Stored {
    /// Elements for which `m` does not hold are not stored.
    ///
    /// `m` broadcasts to the shape of the index. There is one mask: conditions are joined by `&`.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(y: &mut [f32], n: usize) {
    ///     store(y, arange(4), 1.0).mask(arange(4) < n);
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&mut y, 2))?;
    /// assert_eq!(y, [1.0, 1.0, 0.0, 0.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn mask(self, m: impl Condition) -> Stored {
        let _ = m;
        stub()
    }

    /// Evict first: no program reads the result soon.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(4), load(x, arange(4))).evict_first();
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn evict_first(self) -> Stored {
        stub()
    }

    /// Evict last: all programs read the result.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(4), load(x, arange(4))).evict_last();
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn evict_last(self) -> Stored {
        stub()
    }

    /// The access bypasses the L1 cache.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(4), load(x, arange(4))).no_l1();
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn no_l1(self) -> Stored {
        stub()
    }

    /// Of an atomic store: it does not order other accesses.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(y: &mut [u32]) {
    ///     atomic_store(y, 0, 7).relaxed();
    /// }
    /// # }
    /// let mut y = [0];
    /// Runtime::cpu().launch(k(&mut y))?;
    /// assert_eq!(y, [7]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn relaxed(self) -> Stored {
        stub()
    }

    /// In an `unsafe fn` kernel: no check of the bounds, for which the caller of the kernel vouches.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// unsafe fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(4), load(x, arange(4))).unchecked();
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// // SAFETY: both arrays have 4 elements.
    /// Runtime::cpu().launch(unsafe { k(&[1.0, 2.0, 3.0, 4.0], &mut y) })?;
    /// assert_eq!(y, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn unchecked(self) -> Stored {
        stub()
    }
}

/// The options of a load, of a tile of a view, of an atomic, or of an extremum, which follow it.
pub trait Options: Value {
    /// Of `maximum`, `minimum`, `clamp`, `max` and `min`: the result is NaN where an operand is NaN.
    ///
    /// Without it, of a number and NaN the number is taken. Of integers it is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), maximum(load(x, arange(2)), 0.0).propagate_nan());
    /// }
    /// # }
    /// let mut y = [9.0; 2];
    /// Runtime::cpu().launch(k(&[-1.0, f32::NAN], &mut y))?;
    /// assert!(y[0] == 0.0 && y[1].is_nan());
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn propagate_nan(self) -> Self {
        stub()
    }

    /// Elements for which `m` does not hold are not accessed; loaded they are 0, or the value of
    /// [`other`](Options::other).
    ///
    /// `m` broadcasts to the shape of the index. There is one mask: conditions are joined by `&`.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32], n: usize) {
    ///     store(y, arange(4), load(x, arange(4)).mask(arange(4) < n));
    /// }
    /// # }
    /// let mut y = [9.0; 4];
    /// Runtime::cpu().launch(k(&[5.0; 4], &mut y, 2))?;
    /// assert_eq!(y, [5.0, 5.0, 0.0, 0.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn mask(self, m: impl Condition) -> Self {
        let _ = m;
        stub()
    }

    /// The value that masked elements, and those outside of the array, are loaded as; 0 without it.
    ///
    /// `v` has the type of the elements and broadcasts to the shape of the index.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, 0, min(load(x, arange(4)).other(f32::INFINITY)));
    /// }
    /// # }
    /// let mut y = [0.0];
    /// Runtime::cpu().launch(k(&[3.0, 2.0], &mut y))?; // the other two elements are infinite
    /// assert_eq!(y, [2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn other(self, v: impl Of<Self::Elem>) -> Self {
        let _ = v;
        stub()
    }

    /// Evict first: no other program reads these elements.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(4), load(x, arange(4)).evict_first());
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn evict_first(self) -> Self {
        stub()
    }

    /// Evict last: all programs read these elements.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(4), load(x, arange(4)).evict_last());
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn evict_last(self) -> Self {
        stub()
    }

    /// The access bypasses the L1 cache.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(4), load(x, arange(4)).no_l1());
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn no_l1(self) -> Self {
        stub()
    }

    /// Of an atomic: it does not order other accesses.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [4])]
    /// fn k(count: &mut [u32]) {
    ///     atomic_add(count, program_id(0) / 2, 1).relaxed();
    /// }
    /// # }
    /// let mut count = [0; 2];
    /// Runtime::cpu().launch(k(&mut count))?;
    /// assert_eq!(count, [2, 2]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn relaxed(self) -> Self {
        stub()
    }

    /// In an `unsafe fn` kernel: no check of the bounds, for which the caller of the kernel vouches.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// unsafe fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(4), load(x, arange(4)).unchecked());
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// // SAFETY: both arrays have 4 elements.
    /// Runtime::cpu().launch(unsafe { k(&[1.0, 2.0, 3.0, 4.0], &mut y) })?;
    /// assert_eq!(y, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn unchecked(self) -> Self {
        stub()
    }
}

impl<V: Value> Options for V {}
