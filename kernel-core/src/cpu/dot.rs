//! Products of tiles.
//!
//! Every element of the result is its accumulator, to which the products are added in the order of `k`. Products of
//! 16-bit and 8-bit floats are exact; with those of `f32`, the product and the sum round once, as a fused multiply-add.

use super::panels::{Number, WIDTH};
use super::pool::Buffer;
use super::shape::Shape;
use super::tile::{Tile, each, fill};
use crate::scalar::{BF16, F8E4M3, F8E5M2, F16, Scalar};

/// What is done to operands of `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Ieee,
    /// They are rounded to 10 bits of fraction.
    Tf32,
    /// They are split in two such numbers; of the four products the least is left out. Where an operand is infinite, so
    /// is not the result, but NaN.
    Tf32x3,
}

/// An element of an operand.
pub trait Operand: Scalar {
    type Sum: Number;
    fn widen(self) -> Self::Sum;
}

macro_rules! operands {
    ($($t:ident $sum:ident |$x:ident| $widen:expr;)+) => { $(
        impl Operand for $t {
            type Sum = $sum;
            #[inline(always)]
            fn widen(self) -> $sum {
                let $x = self;
                $widen
            }
        }
    )+ };
}
operands! {
    f32 f32 |x| x;
    F16 f32 |x| x.to_f32();
    BF16 f32 |x| x.to_f32();
    F8E4M3 f32 |x| x.to_f32();
    F8E5M2 f32 |x| x.to_f32();
    i8 i32 |x| x as i32;
}

/// `acc + a·b` of `[M, K]`, `[K, N]` and `[M, N]`.
#[inline(always)]
pub fn dot<T: Operand>(a: &Tile<T>, b: &Tile<T>, acc: &Tile<T::Sum>, precision: Precision) -> Tile<T::Sum> {
    let (&[m, k], &[l, n]) = (a.shape(), b.shape()) else { panic!("a dot of tiles of another rank than 2") };
    assert!(k == l && k > 0 && acc.shape() == [m, n], "tiles that do not meet in a dot");
    let widen = |x: T| x.widen();
    let high = move |x: T| widen(x).tf32();
    let low = move |x: T| widen(x).minus(high(x)).tf32();
    match precision {
        Precision::Ieee => add_product(&rows(a, widen), &panels(b, widen), acc, k),
        Precision::Tf32 => add_product(&rows(a, high), &panels(b, high), acc, k),
        Precision::Tf32x3 => {
            let (a_high, b_high) = (rows(a, high), panels(b, high));
            // The small products have a sum of their own: added to the large one they would lose what they are for.
            let zero = each(&[m, n], |_| T::Sum::default());
            let small = add_product(&rows(a, low), &b_high, &zero, k);
            let small = add_product(&a_high, &panels(b, low), &small, k);
            let large = add_product(&a_high, &b_high, acc, k);
            // SAFETY: all have this shape.
            each(&[m, n], |i| unsafe { large.at(i).plus(small.at(i)) })
        }
    }
}

#[inline(always)]
fn rows<T: Copy, S: Copy>(a: &Tile<T>, f: impl Fn(T) -> S) -> Tile<S> {
    let from = a.as_slice();
    // SAFETY: `i` ranges over the elements.
    each(a.shape(), |i| f(unsafe { *from.get_unchecked(i) }))
}

/// As [`Number::multiply`] takes them; columns that are not there are 0.
#[inline(always)]
fn panels<T: Copy, S: Number>(b: &Tile<T>, f: impl Fn(T) -> S) -> Tile<S> {
    let (k, n) = (b.shape()[0], b.shape()[1]);
    let mut out = Buffer::new(k * n.next_multiple_of(WIDTH));
    for (p, panel) in out.uninit().chunks_exact_mut(k * WIDTH).enumerate() {
        for (row, out) in b.as_slice().chunks_exact(n).zip(panel.as_chunks_mut::<WIDTH>().0) {
            let row = &row[p * WIDTH..];
            match row.first_chunk::<WIDTH>() {
                Some(row) => fill(out, |j| f(row[j])),
                None => fill(out, |j| row.get(j).map_or(S::default(), |&x| f(x))),
            }
        }
    }
    let length = out.len();
    // SAFETY: every chunk of every panel has been filled.
    unsafe { Tile::new(Shape::new(&[length]), out) }
}

#[inline(never)]
fn add_product<S: Number>(a: &Tile<S>, b: &Tile<S>, acc: &Tile<S>, k: usize) -> Tile<S> {
    let (m, n) = (acc.shape()[0], acc.shape()[1]);
    let stride = n.next_multiple_of(WIDTH);
    let mut sums = Buffer::new(m * stride);
    for (row, out) in acc.as_slice().chunks_exact(n).zip(sums.uninit().chunks_exact_mut(stride)) {
        fill(out, |j| row.get(j).copied().unwrap_or_default());
    }
    let out = sums.uninit();
    // SAFETY: the loop has written all of it.
    let out = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len()) };
    S::multiply(a.as_slice(), b.as_slice(), out, k);
    if n == stride {
        // SAFETY: initialised, and `m * n` elements.
        unsafe { Tile::new(acc.extents(), sums) }
    } else {
        each(&[m, n], |i| out[i / n * stride + i % n])
    }
}
