//! The product of a warp's fragments by instructions that are smaller. Of these fragments lane `4·g + t` has
//! - of A the words `t` and `t + 4` of K of rows `g` and `g + 8`:
//!   `[(g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)]`
//! - of B the same of column `g`
//! - of the accumulators rows `g` and `g + 8` of columns `2·t` and `2·t + 1`, row by row
//!
//! The fragments of the smaller instructions are parts of these.

/// By steps of all rows and half of K.
#[inline(always)]
pub fn by_depth<D: Copy>(
    d: [D; 4],
    a: [u32; 4],
    b: [u32; 2],
    step: impl Fn([D; 4], [u32; 2], u32) -> [D; 4],
) -> [D; 4] {
    step(step(d, [a[0], a[1]], b[0]), [a[2], a[3]], b[1])
}

/// By steps of half the rows and half of K.
#[inline(always)]
pub fn by_quarters<D: Copy>(d: [D; 4], a: [u32; 4], b: [u32; 2], step: impl Fn([D; 2], u32, u32) -> [D; 2]) -> [D; 4] {
    let (upper, lower) = (step([d[0], d[1]], a[0], b[0]), step([d[2], d[3]], a[1], b[0]));
    let (upper, lower) = (step(upper, a[2], b[1]), step(lower, a[3], b[1]));
    [upper[0], upper[1], lower[0], lower[1]]
}
