//! Arithmetic of integers: it wraps, divisions by zero give 0, shifts count modulo the width.

use super::{Number, everywhere, results, room};
use tilewright::tile_kernel;

#[tile_kernel(types(T = [i8, i16, i32, i64, u8, u16, u32, u64]), tune(warps = [2]), grid = [cdiv(a.len(), 64)])]
fn arithmetic<T: Int>(a: &[T], b: &[T], c: &[T], y: &mut [T], flags: &mut [bool]) {
    let i = program_id(0) * 64 + arange(64);
    let (o, set) = (program_id(0) * (18 * 64) + arange(64), program_id(0) * (6 * 64) + arange(64));
    let (a, b, c) = (load(a, i), load(b, i), load(c, i));
    store(y, o, (a + b));
    store(y, o + 1 * 64, (a - b));
    store(y, o + 2 * 64, (a * b));
    store(y, o + 3 * 64, (a / b));
    store(y, o + 4 * 64, (a % b));
    store(y, o + 5 * 64, (a & b));
    store(y, o + 6 * 64, (a | b));
    store(y, o + 7 * 64, (a ^ b));
    store(y, o + 8 * 64, (a << b));
    store(y, o + 9 * 64, (a >> b));
    store(y, o + 10 * 64, (!a));
    store(y, o + 11 * 64, abs(a));
    store(y, o + 12 * 64, maximum(a, b));
    store(y, o + 13 * 64, minimum(a, b));
    store(y, o + 14 * 64, clamp(a, b, c));
    store(y, o + 15 * 64, where_(a < b, c, a));
    store(y, o + 16 * 64, (a * b + c));
    store(y, o + 17 * 64, cdiv(a, b));
    store(flags, set, (a == b));
    store(flags, set + 1 * 64, (a != b));
    store(flags, set + 2 * 64, (a < b));
    store(flags, set + 3 * 64, (a <= b));
    store(flags, set + 4 * 64, (a > b));
    store(flags, set + 5 * 64, (a >= b));
}

/// Bits, and their counts.
#[tile_kernel(types(T = [i8, i16, i32, i64, u8, u16, u32, u64]), tune(warps = [2]), grid = [cdiv(a.len(), 64)])]
fn bits<T: Int>(a: &[T], b: &[T], y: &mut [T], counts: &mut [i32]) {
    let i = program_id(0) * 64 + arange(64);
    let (a, b) = (load(a, i), load(b, i));
    let o = program_id(0) * (2 * 64) + arange(64);
    store(y, o, brev(a));
    store(y, o + 1 * 64, mulhi(a, b));
    let o = program_id(0) * (3 * 64) + arange(64);
    store(counts, o, popc(a));
    store(counts, o + 1 * 64, clz(a));
    store(counts, o + 2 * 64, ffs(a));
}

#[tile_kernel(types(T = [i8, i16, i32, i64]), tune(BLOCK = [64], warps = [2]), grid = [cdiv(a.len(), BLOCK)])]
fn negated<T: Int, const BLOCK: usize>(a: &[T], y: &mut [T]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(y, i, -load(a, i));
}

/// The same of scalars, which are the same in the whole program.
#[tile_kernel(types(T = [i8, u16, i64, u64]), tune(warps = [1]), grid = [1])]
fn of_scalars<T: Int>(y: &mut [T], a: T, b: T, c: T) {
    store(y, 0, a + b);
    store(y, 1, a / b);
    store(y, 2, a % b);
    store(y, 3, a << b);
    store(y, 4, a >> b);
    store(y, 5, min(a, b));
    store(y, 6, max(a, b));
    store(y, 7, clamp(a, b, c));
    store(y, 8, if a < b && b < c || a == c { a } else { !a });
    store(y, 9, a - b * c);
}

trait Meaning: Number {
    /// Every number of 8 bits that is at an end, and some between.
    fn some() -> Vec<Self>;
    fn rows(a: Self, b: Self, c: Self) -> [Self; 18];
    fn negative(self) -> Self;
    /// By its digits: their reverse, the upper half of a product, and three counts.
    fn bits(a: Self, b: Self) -> ([Self; 2], [i32; 3]);
    fn of_scalars(a: Self, b: Self, c: Self) -> [Self; 10];
}

macro_rules! meanings { ($($t:ident $abs:ident)+) => { $(
    impl Meaning for $t {
        fn some() -> Vec<$t> {
            vec![0, 1, 2, 3, 7, 8, 9, 15, 31, 33, 64, 65, 100, $t::MAX, $t::MAX - 1, $t::MAX / 2, $t::MIN, $t::MIN + 1, $t::MIN / 2, 0 as $t - (($t::MIN != 0) as $t)]
        }
        fn rows(a: $t, b: $t, c: $t) -> [$t; 18] {
            let quotient = a.checked_div(b).unwrap_or(if b == 0 { 0 } else { a });
            let rest = a.checked_rem(b).unwrap_or(0);
            [
                a.wrapping_add(b), a.wrapping_sub(b), a.wrapping_mul(b), quotient, rest, a & b, a | b, a ^ b,
                a.wrapping_shl((b as u64 % $t::BITS as u64) as u32), a.wrapping_shr((b as u64 % $t::BITS as u64) as u32), !a, meanings!(@$abs a),
                a.max(b), a.min(b), a.max(b).min(c), if a < b { c } else { a }, a.wrapping_mul(b).wrapping_add(c), quotient.wrapping_add((rest != 0 && (a as i128 > 0) == (b as i128 > 0)) as $t),
            ]
        }
        fn negative(self) -> $t {
            self.wrapping_neg()
        }
        fn bits(a: $t, b: $t) -> ([$t; 2], [i32; 3]) {
            let digits = format!("{a:0w$b}", w = $t::BITS as usize);
            let reverse = u64::from_str_radix(&digits.chars().rev().collect::<String>(), 2).expect("digits") as $t;
            let upper = ((a as i128).wrapping_mul(b as i128) >> $t::BITS) as $t;
            let lowest = digits.rfind('1').map_or(0, |i| digits.len() - i);
            let highest = digits.find('1').unwrap_or(digits.len());
            ([reverse, upper], [digits.matches('1').count() as i32, highest as i32, lowest as i32])
        }
        fn of_scalars(a: $t, b: $t, c: $t) -> [$t; 10] {
            let r = $t::rows(a, b, c);
            [r[0], r[3], r[4], r[8], r[9], r[13], r[12], r[14], if a < b && b < c || a == c { a } else { !a }, a.wrapping_sub(b.wrapping_mul(c))]
        }
    }
)+ };
    (@signed $a:ident) => { $a.wrapping_abs() };
    (@unsigned $a:ident) => { $a };
}
meanings! { i8 signed i16 signed i32 signed i64 signed u8 unsigned u16 unsigned u32 unsigned u64 unsigned }

fn arithmetic_of<T: Meaning + Ord>()
where
    (T,): arithmetic::Types,
{
    let some = T::some();
    let (a, b): (Vec<T>, Vec<T>) = some.iter().flat_map(|&x| some.iter().map(move |&y| (x, y))).unzip();
    let n = a.len();
    let c: Vec<T> = (0..n).map(|i| some[i * 7 % some.len()]).collect();
    everywhere(
        <(T,) as arithmetic::Types>::DESC,
        |rt, options| {
            let (mut y, mut set) = (vec![T::default(); room(18, n)], vec![false; room(6, n)]);
            rt.launch_with(rt.stream(), arithmetic::<T>(&a, &b, &c, &mut y, &mut set), options)
                .map(|()| (results(&y, 18, n), results(&set, 6, n)))
        },
        |(y, set), title| {
            for (i, ((&a, &b), &c)) in a.iter().zip(&b).zip(&c).enumerate() {
                for (row, wanted) in T::rows(a, b, c).into_iter().enumerate() {
                    assert_eq!(y[row * n + i], wanted, "{title}: row {row} of {a:?}, {b:?} and {c:?}");
                }
                let found: Vec<bool> = (0..6).map(|row| set[row * n + i]).collect();
                assert_eq!(found, [a == b, a != b, a < b, a <= b, a > b, a >= b], "{title}: {a:?} and {b:?}");
            }
        },
    );
}

#[test]
fn arithmetic_of_integers() {
    arithmetic_of::<i8>();
    arithmetic_of::<i16>();
    arithmetic_of::<i32>();
    arithmetic_of::<i64>();
    arithmetic_of::<u8>();
    arithmetic_of::<u16>();
    arithmetic_of::<u32>();
    arithmetic_of::<u64>();
}

fn bits_of<T: Meaning>()
where
    (T,): bits::Types,
{
    let some = T::some();
    let (a, b): (Vec<T>, Vec<T>) = some.iter().flat_map(|&x| some.iter().map(move |&y| (x, y))).unzip();
    let n = a.len();
    everywhere(
        <(T,) as bits::Types>::DESC,
        |rt, options| {
            let (mut y, mut counts) = (vec![T::default(); room(2, n)], vec![0; room(3, n)]);
            rt.launch_with(rt.stream(), bits::<T>(&a, &b, &mut y, &mut counts), options)
                .map(|()| (results(&y, 2, n), results(&counts, 3, n)))
        },
        |(y, counts), title| {
            for (i, (&a, &b)) in a.iter().zip(&b).enumerate() {
                let found = ([y[i], y[n + i]], [counts[i], counts[n + i], counts[2 * n + i]]);
                assert_eq!(found, T::bits(a, b), "{title}: {a:?} and {b:?}");
            }
        },
    );
}

#[test]
fn bits_of_integers() {
    bits_of::<i8>();
    bits_of::<i16>();
    bits_of::<i32>();
    bits_of::<i64>();
    bits_of::<u8>();
    bits_of::<u16>();
    bits_of::<u32>();
    bits_of::<u64>();
}

fn negated_of<T: Meaning>()
where
    (T,): negated::Types,
{
    let a = T::some();
    let wanted: Vec<T> = a.iter().map(|x| x.negative()).collect();
    everywhere(
        <(T,) as negated::Types>::DESC,
        |rt, options| {
            let mut y = vec![T::default(); a.len()];
            rt.launch_with(rt.stream(), negated::<T>(&a, &mut y), options).map(|()| y)
        },
        |y, title| assert_eq!(y, wanted, "{title}"),
    );
}

#[test]
fn negative_integers() {
    negated_of::<i8>();
    negated_of::<i16>();
    negated_of::<i32>();
    negated_of::<i64>();
}

fn scalars_of<T: Meaning>()
where
    (T,): of_scalars::Types,
{
    let some = T::some();
    for (i, &a) in some.iter().enumerate() {
        let (b, c) = (some[i * 3 % some.len()], some[i * 7 % some.len()]);
        everywhere(
            <(T,) as of_scalars::Types>::DESC,
            |rt, options| {
                let mut y = vec![T::default(); 10];
                rt.launch_with(rt.stream(), of_scalars::<T>(&mut y, a, b, c), options).map(|()| y)
            },
            |y, title| assert_eq!(y, T::of_scalars(a, b, c), "{title}: {a:?}, {b:?}, {c:?}"),
        );
    }
}

#[test]
fn arithmetic_of_scalars() {
    scalars_of::<i8>();
    scalars_of::<u16>();
    scalars_of::<i64>();
    scalars_of::<u64>();
}
