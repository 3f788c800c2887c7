//! Folds over registers.

use super::each;
use core::mem::MaybeUninit;

/// Combines `f(0), f(1), .., f(K - 1)` pairwise, neighbors first halves apart: short dependency chains and little
/// rounding. `K` is a power of two, of 1024 at most.
///
/// Other numbers do not compile:
/// ```compile_fail,E0080
/// let nothing: u32 = tilewright_core::device::fold::<u32, 0>(|k| k as u32, |a, b| a + b);
/// ```
/// ```compile_fail,E0080
/// let sum: u32 = tilewright_core::device::fold::<u32, 3>(|k| k as u32, |a, b| a + b);
/// ```
#[inline(always)]
pub fn fold<T: Copy, const K: usize>(f: impl FnMut(usize) -> T, combine: impl Fn(T, T) -> T) -> T {
    const { assert!(K.is_power_of_two() && K <= 1024, "a power of two is folded, of 1024 at most") };
    let mut x: [MaybeUninit<T>; K] = each({
        let mut f = f;
        move |k| MaybeUninit::new(f(k))
    });
    // Written out: a loop whose step is halved is not reliably unrolled.
    macro_rules! halve {
        ($($n:literal)*) => { $(
            if K >= 2 * $n {
                let mut k = 0;
                while k < $n {
                    // SAFETY: the elements below 2 * $n <= K are initialized.
                    unsafe {
                        let (a, b) = (x.as_ptr().add(k).read().assume_init(), x.as_ptr().add(k + $n).read().assume_init());
                        x.as_mut_ptr().add(k).write(MaybeUninit::new(combine(a, b)));
                    }
                    k += 1;
                }
            }
        )* };
    }
    halve!(512 256 128 64 32 16 8 4 2 1);
    // SAFETY: K is at least 1.
    unsafe { x.as_ptr().read().assume_init() }
}

/// Whether `f` holds for every one of `0..K`.
#[inline(always)]
pub fn all<const K: usize>(f: impl Fn(usize) -> bool) -> bool {
    let mut all = true;
    let mut k = 0;
    while k < K {
        all &= f(k);
        k += 1;
    }
    all
}

/// How many indices from `start` on are below `end`, or the most a `u32` can say.
#[inline(always)]
pub fn limit(end: u64, start: u64) -> u32 {
    if start >= end {
        0
    } else if end - start > u32::MAX as u64 && !planted!("device-limit-wraps") {
        u32::MAX
    } else {
        (end - start) as u32 + planted!("device-limit-one-more") as u32
    }
}
