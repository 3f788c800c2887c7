//! Products of tensor cores on dense matrices, and the layouts of operands in the registers of a warp.

use crate::device::Mem;
use crate::scalar::{BF16, F8E4M3, F8E5M2, F16};

/// Elements of the operands; accumulators are `i32` for `I8`, else `f32`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    F16,
    BF16,
    Tf32,
    I8,
    E4M3,
    E5M2,
}

impl Operand {
    pub fn of<A: Mem>() -> Self {
        match A::NAME {
            "f16" => Operand::F16,
            "bf16" => Operand::BF16,
            "f32" => Operand::Tf32,
            "i8" => Operand::I8,
            "f8e4m3" => Operand::E4M3,
            "f8e5m2" => Operand::E5M2,
            other => panic!("tensor cores take no {other} here"),
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            Operand::F16 | Operand::BF16 => 2,
            Operand::Tf32 => 4,
            Operand::I8 | Operand::E4M3 | Operand::E5M2 => 1,
        }
    }

    /// Elements in 16 bytes.
    pub fn per_chunk(self) -> usize {
        16 / self.bytes()
    }

    /// Element `i` of some bytes.
    pub fn element(self, bytes: u128, i: usize) -> u32 {
        let bits = self.bytes() * 8;
        (bytes >> (i * bits)) as u32 & (u32::MAX >> (32 - bits))
    }

    fn float(self, bits: u32) -> f32 {
        match self {
            Operand::F16 => F16(bits as u16).to_f32(),
            Operand::BF16 => BF16(bits as u16).to_f32(),
            Operand::E4M3 => F8E4M3(bits as u8).to_f32(),
            Operand::E5M2 => F8E5M2(bits as u8).to_f32(),
            // 8 bits of exponent and 10 of fraction; the rest is not looked at.
            _ => f32::from_bits(bits & !0x1fff),
        }
    }
}

/// `c += a * b` for matrices of bits, row by row: `a` has `k` columns, `b` and `c` have `n`.
pub fn multiply(kind: Operand, n: usize, k: usize, a: &[u32], b: &[u32], c: &mut [u32]) {
    if kind == Operand::I8 {
        let wide = |m: &[u32]| -> Vec<i32> { m.iter().map(|&x| x as u8 as i8 as i32).collect() };
        let mut sums: Vec<i32> = c.iter().map(|&x| x as i32).collect();
        rows(n, k, &wide(a), &wide(b), &mut sums, |sum, x, y| sum.wrapping_add(x.wrapping_mul(y)));
        c.iter_mut().zip(sums).for_each(|(c, sum)| *c = sum as u32);
    } else {
        let wide = |m: &[u32]| -> Vec<f32> { m.iter().map(|&x| kind.float(x)).collect() };
        let mut sums: Vec<f32> = c.iter().map(|&x| f32::from_bits(x)).collect();
        rows(n, k, &wide(a), &wide(b), &mut sums, |sum, x, y| sum + x * y);
        c.iter_mut().zip(sums).for_each(|(c, sum)| *c = sum.to_bits());
    }
}

fn rows<T: Copy>(n: usize, k: usize, a: &[T], b: &[T], c: &mut [T], step: impl Fn(T, T, T) -> T) {
    for (a, c) in a.chunks(k).zip(c.chunks_mut(n)) {
        for (&x, b) in a.iter().zip(b.chunks(n)) {
            for (c, &y) in c.iter_mut().zip(b) {
                *c = step(*c, x, y);
            }
        }
    }
}

/// Row and first column of register `r` of a lane, in 16 rows of the left operand: 4 bytes of one row.
pub fn a_place(kind: Operand, lane: usize, r: usize) -> (usize, usize) {
    let per_word = kind.per_chunk() / 4;
    (lane / 4 + 8 * (r % 2), per_word * (lane % 4) + kind.per_chunk() * (r / 2))
}

/// First row and column of register `r` of a lane, in 8 columns of the right operand: 4 bytes of one column.
pub fn b_place(kind: Operand, lane: usize, r: usize) -> (usize, usize) {
    (kind.per_chunk() / 4 * (lane % 4) + kind.per_chunk() * r, lane / 4)
}

/// Row and column of accumulator `i` of a lane, in 16 rows.
pub fn d_place(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (lane % 4) + i % 2)
}

/// Writes the fragments of a warp into 16 rows of a dense left operand.
pub fn scatter_a(kind: Operand, lane: usize, a: [u32; 4], k: usize, rows: &mut [u32]) {
    for (r, word) in a.into_iter().enumerate() {
        let (row, first) = a_place(kind, lane, r);
        for e in 0..kind.per_chunk() / 4 {
            rows[row * k + first + e] = kind.element(word as u128, e);
        }
    }
}
