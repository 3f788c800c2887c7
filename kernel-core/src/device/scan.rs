//! Scans over the registers of a thread, the lanes of a warp and the warps of a program. Every step keeps the order of
//! its operands, so the operation need not be commutative.

use super::{Mem, each, hw, shuffle};

/// A value, or none, such as the prefix of the first element. If it is none, the value is arbitrary.
pub type Maybe<T> = (bool, T);

/// The values that lanes exchange: a tuple with a value for each tile of a scan.
pub trait WarpShuffle: Copy {
    /// The values of lane `lane % 32`. Every lane of the warp takes part.
    fn of_lane(self, lane: u32, site: u32) -> Self;
}

macro_rules! warp_shuffle {
    ($($t:ident $i:tt),+) => {
        impl<$($t: Mem),+> WarpShuffle for ($($t,)+) {
            #[inline(always)]
            fn of_lane(self, lane: u32, site: u32) -> Self {
                ($(shuffle(self.$i, lane, site),)+)
            }
        }
    };
}

warp_shuffle!(A 0);
warp_shuffle!(A 0, B 1);
warp_shuffle!(A 0, B 1, C 2);
warp_shuffle!(A 0, B 1, C 2, D 3);
warp_shuffle!(A 0, B 1, C 2, D 3, E 4);
warp_shuffle!(A 0, B 1, C 2, D 3, E 4, F 5);
warp_shuffle!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
warp_shuffle!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// `a` and then `b`.
#[inline(always)]
pub fn scan_then<T: Copy>(a: Maybe<T>, b: Maybe<T>, f: impl Fn(T, T) -> T) -> Maybe<T> {
    // Computed either way: a branch would diverge.
    let both = f(a.1, b.1);
    (
        a.0 | b.0,
        if a.0 & b.0 {
            both
        } else if a.0 {
            a.1
        } else {
            b.1
        },
    )
}

/// The totals of `LEN` items each, one after another.
#[inline(always)]
pub fn scan_totals<T: Copy, const N: usize, const LEN: usize>(
    item: impl Fn(usize) -> Maybe<T>,
    f: impl Fn(T, T) -> T,
) -> [Maybe<T>; N] {
    each(|g| {
        let mut total = item(g * LEN);
        let mut k = 1;
        while k < LEN {
            total = scan_then(total, item(g * LEN + k), &f);
            k += 1;
        }
        total
    })
}

/// The exclusive and the inclusive prefix of each of `N` items in groups of `LEN`: `before` of its group, combined with
/// the items of the group.
#[inline(always)]
pub fn scan_prefixes<T: Copy, const N: usize, const LEN: usize>(
    before: impl Fn(usize) -> Maybe<T>,
    item: impl Fn(usize) -> Maybe<T>,
    f: impl Fn(T, T) -> T,
) -> [(Maybe<T>, Maybe<T>); N] {
    let mut upto = before(0);
    each(|p| {
        let prefix = if p % LEN == 0 { before(p / LEN) } else { upto };
        upto = scan_then(prefix, item(p), &f);
        (prefix, upto)
    })
}

/// The exclusive prefix of each item over the lanes that differ in the bits of `MASK`, and the total of these lanes.
/// Without `TOTAL` the total is not computed. `SOME` says that every item is a value.
#[inline(always)]
pub fn scan_lanes<
    T: WarpShuffle,
    const N: usize,
    const MASK: u32,
    const REVERSE: bool,
    const SOME: bool,
    const TOTAL: bool,
>(
    item: impl Fn(usize) -> Maybe<T>,
    site: u32,
    f: impl Fn(T, T) -> T,
) -> [(Maybe<T>, Maybe<T>); N] {
    let lane = hw::thread() % super::WARP;
    let of_lane = |v: Maybe<T>, from: u32| (SOME || shuffle(v.0, from, site), v.1.of_lane(from, site));
    each(|r| {
        let mut upto = item(r);
        let (mut bits, mut below) = (MASK, 0);
        while bits != 0 {
            let bit = bits & bits.wrapping_neg();
            let (from, has) = if REVERSE {
                ((lane | bit) & !below, lane & bit == 0)
            } else {
                ((lane & !bit) | below, lane & bit != 0)
            };
            let other = of_lane(upto, from);
            let both = scan_then(other, upto, &f);
            upto = if has { both } else { upto };
            below |= bit;
            bits ^= bit;
        }
        let (at, others) = (lane & MASK, lane & !MASK);
        let (before, has, last) = if REVERSE {
            let last = if planted!("device-reverse-scan-total-of-the-first") { lane | MASK } else { others };
            (((lane | !MASK).wrapping_add(1) & MASK) | others, at != MASK, last)
        } else {
            ((at.wrapping_sub(1) & MASK) | others, at != 0, lane | MASK)
        };
        let prefix = of_lane(upto, if planted!("device-scan-includes-itself") { lane } else { before });
        ((prefix.0 & has, prefix.1), if TOTAL { of_lane(upto, last) } else { upto })
    })
}

/// The exclusive prefix of each of `N` items over the warps, and the total of all warps. Part `r + k * N` is item `r`
/// of warp `k` of `WARPS`; this one is warp `own`.
#[inline(always)]
pub fn scan_warps<T: Copy, const N: usize, const WARPS: usize, const REVERSE: bool>(
    part: impl Fn(usize) -> Maybe<T>,
    own: u32,
    f: impl Fn(T, T) -> T,
) -> [(Maybe<T>, Maybe<T>); N] {
    each(|r| {
        let mut prefix = (false, part(r).1);
        let mut total = prefix;
        let mut k = 0;
        while k < WARPS {
            let warp = if REVERSE { WARPS - 1 - k } else { k };
            if warp as u32 == own {
                prefix = total;
            }
            total = scan_then(total, part(r + warp * N), &f);
            k += 1;
        }
        (prefix, total)
    })
}
