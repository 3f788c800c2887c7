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
    /// On a GPU they are split in two such numbers, and of the four products the least is left out. Here they stay as
    /// they are.
    Tf32x3,
}

/// An element of an operand.
pub trait Operand: Scalar {
    /// The type of the sums.
    type Sum: Number;
    /// The value in the type of the sums. Exact.
    fn widen(self) -> Self::Sum;
    /// The same elements, where they have the type of the sums.
    fn as_sums(x: &[Self]) -> Option<&[Self::Sum]>;
}

macro_rules! operands {
    ($($t:ident $sum:ident |$x:ident| $widen:expr, $sums:expr;)+) => { $(
        impl Operand for $t {
            type Sum = $sum;
            #[inline(always)]
            fn widen(self) -> $sum {
                let $x = self;
                $widen
            }
            #[inline(always)]
            fn as_sums(x: &[$t]) -> Option<&[$sum]> {
                $sums(x)
            }
        }
    )+ };
}
operands! {
    f32 f32 |x| x, Some;
    f64 f64 |x| x, Some;
    F16 f32 |x| x.to_f32(), |_| None;
    BF16 f32 |x| x.to_f32(), |_| None;
    F8E4M3 f32 |x| x.to_f32(), |_| None;
    F8E5M2 f32 |x| x.to_f32(), |_| None;
    i8 i32 |x| x as i32, |_| None;
}

/// `acc + a·b` of `[M, K]`, `[K, N]` and `[M, N]`, or so for each index of a dimension before these. Compiled once for
/// each type of operand, not into every kernel.
#[inline(never)]
pub fn dot<T: Operand>(a: &Tile<T>, b: &Tile<T>, mut acc: Tile<T::Sum>, precision: Precision) -> Tile<T::Sum> {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if super::is_supported() {
        #[target_feature(enable = "avx2,fma")]
        fn vectorized<T: Operand>(a: &Tile<T>, b: &Tile<T>, acc: &mut Tile<T::Sum>, precision: Precision) {
            add_products(a, b, acc, precision);
        }
        // SAFETY: the processor has the features that the function needs.
        unsafe { vectorized(a, b, &mut acc, precision) };
        return acc;
    }
    add_products(a, b, &mut acc, precision);
    acc
}

#[inline(always)]
fn add_products<T: Operand>(a: &Tile<T>, b: &Tile<T>, acc: &mut Tile<T::Sum>, precision: Precision) {
    let [m, n, k] = match (a.shape(), b.shape(), acc.shape()) {
        (&[m, k], &[l, n], &[i, j]) if k == l && [m, n] == [i, j] => [m, n, k],
        (&[batch, m, k], &[of_b, l, n], &[of_acc, i, j])
            if k == l && [m, n] == [i, j] && [of_b, of_acc] == [batch; 2] =>
        {
            [m, n, k]
        }
        (a, b, acc) => panic!("tiles of {a:?} and {b:?} do not meet in a dot of {acc:?}"),
    };
    assert!(k > 0, "an empty sum");
    if m * n == 0 {
        return;
    }
    let operands = a.as_slice().chunks_exact(m * k).zip(b.as_slice().chunks_exact(k * n));
    for ((a, b), acc) in operands.zip(acc.as_mut_slice().chunks_exact_mut(m * n)) {
        add_product([m, n, k], a, b, acc, precision);
    }
}

/// Adds the product of one matrix each.
#[inline(always)]
fn add_product<T: Operand>(extents: [usize; 3], a: &[T], b: &[T], acc: &mut [T::Sum], precision: Precision) {
    match (precision, T::as_sums(a), T::as_sums(b)) {
        (Precision::Ieee | Precision::Tf32x3, Some(a), Some(b)) => multiply(a, b, acc, extents),
        (Precision::Tf32, ..) => {
            let tf32 = |x: T| x.widen().tf32();
            let (a, b) = (widened(a, tf32), widened(b, tf32));
            multiply(a.as_slice(), b.as_slice(), acc, extents);
        }
        _ => {
            let (a, b) = (widened(a, T::widen), widened(b, T::widen));
            multiply(a.as_slice(), b.as_slice(), acc, extents);
        }
    }
}

/// All elements at once: loops over the few columns of a panel are not vectorized.
#[inline(always)]
fn widened<T: Copy, S: Copy>(x: &[T], f: impl Fn(T) -> S) -> Tile<S> {
    // SAFETY: `i` is less than the one extent, which is the number of elements.
    each(&[x.len()], |i| f(unsafe { *x.get_unchecked(i) }))
}

/// As [`Number::multiply`] takes them; columns that are not there are 0.
#[inline(always)]
fn panels<S: Number>(b: &[S], n: usize) -> Tile<S> {
    let k = b.len() / n;
    let mut out = Buffer::new(k * n.next_multiple_of(WIDTH));
    for (p, panel) in out.uninit().chunks_exact_mut(k * WIDTH).enumerate() {
        for (row, out) in b.chunks_exact(n).zip(panel.as_chunks_mut::<WIDTH>().0) {
            let row = &row[p * WIDTH..];
            match row.first_chunk::<WIDTH>() {
                Some(row) => fill(out, |j| row[j]),
                None => fill(out, |j| row.get(j).copied().unwrap_or_default()),
            }
        }
    }
    let length = out.len();
    // SAFETY: every chunk of every panel has been filled: `out` is whole panels of `k` chunks, and `b` has `k` rows.
    unsafe { Tile::new(Shape::new(&[length]), out) }
}

/// Adds the product of `[m, k]` and `[k, n]`.
#[inline(always)]
fn multiply<S: Number>(a: &[S], b: &[S], acc: &mut [S], [m, n, k]: [usize; 3]) {
    let stride = n.next_multiple_of(WIDTH);
    let b = panels(b, n);
    let b = b.as_slice();
    if n == stride {
        return S::multiply(a, b, acc, k);
    }
    let at = |i: usize| (i % stride < n).then(|| i / stride * n + i % stride);
    let mut sums = each(&[m, stride], |i| at(i).map_or(S::default(), |i| acc[i]));
    S::multiply(a, b, sums.as_mut_slice(), k);
    for (row, sums) in acc.chunks_exact_mut(n).zip(sums.as_slice().chunks_exact(stride)) {
        row.copy_from_slice(&sums[..n]);
    }
}
