//! Products of fragments by smaller steps, against those of the whole step. The smaller ones are written here from the
//! fragment layouts in the PTX manual, element by element.

use super::*;
use crate::device::hw::{self as h, composed};
use crate::device::{self as d, Mem};
use crate::scalar::{BF16, F16};

/// Words of whole numbers of few bits, so that every order of sums gives the same; of i8 all of them.
fn words<T: Mem>(len: usize, salt: usize) -> Vec<u32> {
    let number = |i: usize| ((i + salt) as u32).wrapping_mul(0x9e37_79b9) >> 11;
    let small = |i: usize| (number(i) % 15) as f32 - 7.0;
    let element = |i: usize| match T::NAME {
        "f16" => F16::from_f32(small(i)).0 as u32,
        "bf16" => BF16::from_f32(small(i)).0 as u32,
        "f32" => small(i).to_bits(),
        _ => number(i) & 0xff,
    };
    let per = 4 / T::BYTES;
    (0..len).map(|w| (0..per).fold(0, |word, e| word | element(w * per + e) << (e * 8 * T::BYTES))).collect()
}

/// Word `r` of the current lane's `N`.
unsafe fn own<const N: usize>(p: u64) -> [u32; N] {
    let at = p + d::thread() as u64 * 4 * N as u64;
    d::load::<u32, N, 1, false, false>(|r| at + r as u64 * 4, true, |_| true, |_| 0, 0, 1)
}

unsafe fn put<const N: usize>(p: u64, words: [u32; N]) {
    let at = p + d::thread() as u64 * 4 * N as u64;
    d::store::<u32, N, 1, false, false>(|r| at + r as u64 * 4, true, |_| true, |r| words[r], 0, 2);
}

/// Element `e` of a lane's word.
fn take<T: Mem>(word: u32, lane: u32, e: u32) -> T {
    T::from_bits64((h::shuffle(word, lane, 3) >> (e * 8 * T::BYTES as u32)) as u64)
}

/// Row `g` of A and column `c` of B, over as much of K as four lanes' words hold.
fn sum<T: Mem, S: Copy>(start: S, a: u32, b: u32, c: u32, step: impl Fn(S, T, T) -> S) -> S {
    let (g, per) = (d::thread() % 32 / 4, 4 / T::BYTES as u32);
    let term = |s, k: u32| step(s, take(a, g * 4 + k / per, k % per), take(b, c * 4 + k / per, k % per));
    (0..4 * per).fold(start, term)
}

fn m16n8k8(d: [f32; 4], a: [u32; 2], b: u32) -> [f32; 4] {
    let column = d::thread() % 4 * 2;
    d::each(|i| sum::<F16, f32>(d[i], a[i / 2], b, column + i as u32 % 2, |s, x, y| s + x.to_f32() * y.to_f32()))
}

fn m8n8k16(d: [i32; 2], a: u32, b: u32) -> [i32; 2] {
    let column = d::thread() % 4 * 2;
    d::each(|i| sum::<i8, i32>(d[i], a, b, column + i as u32, |s, x, y| s.wrapping_add(x as i32 * y as i32)))
}

/// A block by the whole step, then by the others; twice, so that sums are added to.
unsafe fn block<T: Mem, D: Mem>(s: &[u64], other: impl Fn([D; 4], [u32; 4], [u32; 2]) -> [D; 4]) {
    let (a, b) = (own(s[0]), own(s[1]));
    let (mut whole, mut parts) = ([D::ZERO; 4], [D::ZERO; 4]);
    for _ in 0..2 {
        (whole, parts) = (h::mma::<T, D>(whole, a, b, 4), other(parts, a, b));
    }
    put(s[2], whole.map(|x| x.to_bits64() as u32));
    put(s[3], parts.map(|x| x.to_bits64() as u32));
}

unsafe fn depth(s: &[u64]) {
    block::<F16, f32>(s, |d, a, b| composed::by_depth(d, a, b, m16n8k8));
}

unsafe fn quarters(s: &[u64]) {
    block::<i8, i32>(s, |d, a, b| composed::by_quarters(d, a, b, m8n8k16));
}

const ROWS: usize = 2;
const COLUMNS: usize = 3;
const SUMS: usize = 4 * ROWS * COLUMNS;

/// Several blocks at once, an odd number of columns' among them.
unsafe fn lanes<T: Mem>(s: &[u64]) {
    let (a, b): ([u32; 8], [u32; 8]) = (own(s[0]), own(s[1]));
    let (a, b): ([[u32; 4]; ROWS], [[u32; 4]; 2]) =
        (d::each(|m| d::each(|r| a[4 * m + r])), d::each(|p| d::each(|r| b[4 * p + r])));
    let (mut whole, mut parts) = ([0f32; SUMS], [0f32; SUMS]);
    for _ in 0..2 {
        for i in 0..ROWS * COLUMNS {
            let (m, n) = (i / COLUMNS, i % COLUMNS);
            let sums = h::mma::<T, f32>(
                d::each(|r| whole[4 * i + r]),
                a[m],
                [b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]],
                5,
            );
            whole[4 * i..4 * i + 4].copy_from_slice(&sums);
        }
        parts = d::by_lanes::<T, f32, SUMS, ROWS, COLUMNS, 2>(parts, a, b, 6);
    }
    put(s[2], whole.map(f32::to_bits));
    put(s[3], parts.map(f32::to_bits));
}

fn check<T: Mem, const A: usize, const B: usize, const D: usize>(run: Run) {
    let (a, b) = (words::<T>(32 * A, 0), words::<T>(32 * B, 1));
    let (mut whole, mut parts) = (vec![0u32; 32 * D], vec![0u32; 32 * D]);
    program(32, 0).read(&a).read(&b).write(&mut whole).write(&mut parts).passes(run);
    assert!(whole.iter().any(|&x| x != 0));
    assert_eq!(parts, whole);
}

#[test]
fn halves_of_the_depth() {
    check::<F16, 4, 2, 4>(depth);
}

#[test]
fn quarters_of_rows_and_depth() {
    check::<i8, 4, 2, 4>(quarters);
}

#[test]
fn words_of_other_lanes() {
    check::<BF16, 8, 8, SUMS>(lanes::<BF16>);
    check::<f32, 8, 8, SUMS>(lanes::<f32>);
}
