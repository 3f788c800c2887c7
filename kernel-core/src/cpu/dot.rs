//! Products of tiles.
//!
//! Every element of the result is its accumulator, to which the products are added in the order of `k`. Products of
//! 16-bit and 8-bit floats are exact; with those of `f32` and `f64`, the product and the sum round once, as a fused
//! multiply-add.

use super::panels::{Number, WIDTH};
use super::pool::Buffer;
use super::shape::Shape;
use super::tile::{Tile, each, fill};
use crate::scalar::{BF16, F8E4M3, F8E5M2, F16, Scalar};

/// The precision of products of `f32`: how operands are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// They stay as they are.
    Ieee,
    /// They are rounded to 10 bits of fraction.
    Tf32,
    /// They are split in two such numbers; of the four products the least is left out. Where an operand is infinite, so
    /// is not the result, but NaN.
    Tf32x3,
}

/// An element of an operand.
pub trait Operand: Scalar {
    /// The type of the sums.
    type Sum: Number;
    /// The value in the type of the sums. Exact.
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
    f64 f64 |x| x;
    F16 f32 |x| x.to_f32();
    BF16 f32 |x| x.to_f32();
    F8E4M3 f32 |x| x.to_f32();
    F8E5M2 f32 |x| x.to_f32();
    i8 i32 |x| x as i32;
}

/// `acc + a·b` of `[M, K]`, `[K, N]` and `[M, N]`, or so for each index of a dimension before these. Compiled once for
/// each type of operand, not into every kernel.
#[inline(never)]
pub fn dot<T: Operand>(a: &Tile<T>, b: &Tile<T>, acc: &Tile<T::Sum>, precision: Precision) -> Tile<T::Sum> {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if super::is_supported() {
        #[target_feature(enable = "avx2,fma")]
        fn vectorized<T: Operand>(a: &Tile<T>, b: &Tile<T>, acc: &Tile<T::Sum>, precision: Precision) -> Tile<T::Sum> {
            products(a, b, acc, precision)
        }
        // SAFETY: the processor has the features that the function needs.
        return unsafe { vectorized(a, b, acc, precision) };
    }
    products(a, b, acc, precision)
}

#[inline(always)]
fn products<T: Operand>(a: &Tile<T>, b: &Tile<T>, acc: &Tile<T::Sum>, precision: Precision) -> Tile<T::Sum> {
    match (a.shape(), b.shape(), acc.shape()) {
        (&[m, k], &[l, n], &[i, j]) => {
            assert!(k == l && k > 0 && [m, n] == [i, j], "tiles that do not meet in a dot");
            product([m, n, k], a.as_slice(), b.as_slice(), acc.as_slice(), precision)
        }
        (&[batch, m, k], &[of_b, l, n], &[of_acc, i, j]) => {
            assert!(
                k == l && k > 0 && [m, n] == [i, j] && [of_b, of_acc] == [batch; 2],
                "batches that do not meet in a dot"
            );
            let mut out = Buffer::new(batch * m * n);
            let parts = a
                .as_slice()
                .chunks_exact(m * k)
                .zip(b.as_slice().chunks_exact(k * n))
                .zip(acc.as_slice().chunks_exact(m * n));
            for (((a, b), acc), out) in parts.zip(out.uninit().chunks_exact_mut(m * n)) {
                let part = product([m, n, k], a, b, acc, precision);
                fill(out, |i| part.as_slice()[i]);
            }
            // SAFETY: `batch` parts of `m * n` elements were filled: that many products go into each operand, whose
            // shapes are asserted above.
            unsafe { Tile::new(acc.extents(), out) }
        }
        _ => panic!("a dot of tiles of another rank than 2 or 3"),
    }
}

/// The product of one matrix each, as a tile `[m, n]`.
#[inline(always)]
fn product<T: Operand>([m, n, k]: [usize; 3], a: &[T], b: &[T], acc: &[T::Sum], precision: Precision) -> Tile<T::Sum> {
    let widen = |x: T| x.widen();
    let high = move |x: T| widen(x).tf32();
    let low = move |x: T| widen(x).minus(high(x)).tf32();
    match precision {
        Precision::Ieee => add_product(&rows(a, widen), &panels(b, n, widen), acc, [m, n, k]),
        Precision::Tf32 => add_product(&rows(a, high), &panels(b, n, high), acc, [m, n, k]),
        Precision::Tf32x3 => {
            let (a_high, b_high) = (rows(a, high), panels(b, n, high));
            // The small products have a sum of their own. Added to the large sum they would be rounded away.
            let zero = each(&[m, n], |_| T::Sum::default());
            let small = add_product(&rows(a, low), &b_high, zero.as_slice(), [m, n, k]);
            let small = add_product(&a_high, &panels(b, n, low), small.as_slice(), [m, n, k]);
            let large = add_product(&a_high, &b_high, acc, [m, n, k]);
            let (large, small) = (large.as_slice(), small.as_slice());
            each(&[m, n], |i| large[i].plus(small[i]))
        }
    }
}

#[inline(always)]
fn rows<T: Copy, S: Copy>(a: &[T], f: impl Fn(T) -> S) -> Tile<S> {
    // SAFETY: `i` is less than the one extent, which is the number of elements.
    each(&[a.len()], |i| f(unsafe { *a.get_unchecked(i) }))
}

/// As [`Number::multiply`] takes them; columns that are not there are 0.
#[inline(always)]
fn panels<T: Copy, S: Number>(b: &[T], n: usize, f: impl Fn(T) -> S) -> Tile<S> {
    let k = b.len() / n;
    let mut out = Buffer::new(k * n.next_multiple_of(WIDTH));
    for (p, panel) in out.uninit().chunks_exact_mut(k * WIDTH).enumerate() {
        for (row, out) in b.chunks_exact(n).zip(panel.as_chunks_mut::<WIDTH>().0) {
            let row = &row[p * WIDTH..];
            match row.first_chunk::<WIDTH>() {
                Some(row) => fill(out, |j| f(row[j])),
                None => fill(out, |j| row.get(j).map_or(S::default(), |&x| f(x))),
            }
        }
    }
    let length = out.len();
    // SAFETY: every chunk of every panel has been filled: `out` is whole panels of `k` chunks, and `b` has `k` rows.
    unsafe { Tile::new(Shape::new(&[length]), out) }
}

#[inline(never)]
fn add_product<S: Number>(a: &Tile<S>, b: &Tile<S>, acc: &[S], [m, n, k]: [usize; 3]) -> Tile<S> {
    let stride = n.next_multiple_of(WIDTH);
    let mut sums = Buffer::new(m * stride);
    for (row, out) in acc.chunks_exact(n).zip(sums.uninit().chunks_exact_mut(stride)) {
        fill(out, |j| row.get(j).copied().unwrap_or_default());
    }
    let out = sums.uninit();
    // SAFETY: the loop has written all of it: `m` rows of `stride` elements, as `acc` has `m` rows of `n`.
    let out = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len()) };
    S::multiply(a.as_slice(), b.as_slice(), out, k);
    if n == stride {
        // SAFETY: initialized, and `m * n` elements.
        unsafe { Tile::new(Shape::new(&[m, n]), sums) }
    } else {
        each(&[m, n], |i| out[i / n * stride + i % n])
    }
}
