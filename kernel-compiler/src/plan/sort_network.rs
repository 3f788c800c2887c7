//! The bitonic network of a sort along an axis, as a list of its steps.
//!
//! Elements whose indices differ in one bit are compared. The bit belongs to registers, lanes or warps: the partner is
//! in another register, in another lane of the warp, or in another warp, by way of shared memory. Where only the first
//! `k` elements are kept, runs of `k` elements are sorted, and of two adjacent runs the first `k` elements are kept.

use crate::dtype::DType;
use crate::layout::linear::Bit;

/// A step of a network: all pairs of elements whose indices differ in a bit are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortStep {
    pub bit: Bit,
    pub keeps: Kept,
    /// The registers of a thread before the step.
    pub registers: usize,
    /// For partners in other warps the bytes of the scratch buffer of each tile. Tiles are exchanged one after another,
    /// so that each may use all of the scratch memory.
    pub exchanges: Vec<usize>,
}

/// The elements that a step keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Both, in ascending or descending order: the bit `direction` of the index selects it. Without such a bit all runs
    /// get the order of the result.
    Both { direction: Option<Bit> },
    /// The first one: the bit is then removed from the index.
    First,
}

impl SortStep {
    /// The registers of a thread after the step.
    pub fn registers_after(&self) -> usize {
        match (self.keeps, self.bit) {
            (Kept::First, Bit::Register(_)) => self.registers / 2,
            _ => self.registers,
        }
    }
}

/// The network of tiles of these types, with the meaning of each bit of the index, the lowest first, in so many
/// registers of a thread. It keeps the first `2^kept` elements.
pub fn network(bits: &[Bit], registers: usize, kept: usize, types: &[DType], threads: usize) -> Vec<SortStep> {
    let mut cx = Network { bits: bits.to_vec(), registers, types, threads, steps: vec![] };
    for stage in 0..kept {
        cx.merge(stage, stage + 1);
    }
    // Of two adjacent runs in opposite orders, the first elements form a bitonic run.
    while cx.bits.len() > kept {
        cx.first_of_both(kept);
        if kept > 0 {
            cx.merge(kept - 1, kept);
        }
    }
    cx.steps
}

struct Network<'a> {
    bits: Vec<Bit>,
    registers: usize,
    types: &'a [DType],
    threads: usize,
    steps: Vec<SortStep>,
}

impl Network<'_> {
    /// Sorts runs of `2 << last` elements whose halves have opposite orders. Bit `direction` of the index selects the
    /// order.
    fn merge(&mut self, last: usize, direction: usize) {
        let direction = self.bits.get(direction).copied();
        (0..=last).rev().for_each(|i| self.step(self.bits[i], Kept::Both { direction }));
    }

    /// Keeps the first of each two elements whose indices differ in a bit. The bit is then removed.
    fn first_of_both(&mut self, at: usize) {
        let bit = self.bits.remove(at);
        self.step(bit, Kept::First);
        if let Bit::Register(i) = bit {
            self.registers /= 2;
            for b in &mut self.bits {
                if let Bit::Register(place) = b
                    && *place > i
                {
                    *place -= 1;
                }
            }
        }
    }

    fn step(&mut self, bit: Bit, keeps: Kept) {
        let exchanges = match bit {
            Bit::Warp(_) => self.types.iter().map(|t| self.registers * self.threads * t.size()).collect(),
            Bit::Register(_) | Bit::Lane(_) => vec![],
        };
        self.steps.push(SortStep { bit, keeps, registers: self.registers, exchanges });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight elements in two registers, two lanes and two warps, with their indices in a second tile.
    #[test]
    fn all_elements_take_all_steps_of_a_bitonic_network() {
        let bits = [Bit::Register(0), Bit::Lane(0), Bit::Warp(0)];
        let steps = network(&bits, 2, 3, &[DType::F32, DType::I64], 64);
        let compared: Vec<Bit> = steps.iter().map(|step| step.bit).collect();
        let [r, l, w] = bits;
        assert_eq!(compared, [r, l, r, w, l, r]);
        for step in &steps {
            let exchanges: &[usize] = if step.bit == w { &[2 * 64 * 4, 2 * 64 * 8] } else { &[] };
            assert_eq!((step.registers, step.registers_after(), &step.exchanges[..]), (2, 2, exchanges));
        }
        assert_eq!(steps[5].keeps, Kept::Both { direction: None });
        assert_eq!(steps[0].keeps, Kept::Both { direction: Some(l) });
    }

    /// Of eight elements the first two: each step that keeps the first of two elements removes a bit of the index.
    #[test]
    fn what_is_not_kept_takes_no_registers() {
        let bits = [Bit::Lane(0), Bit::Register(0), Bit::Register(1)];
        let steps = network(&bits, 4, 1, &[DType::F32], 64);
        let removed: Vec<Bit> = steps.iter().filter(|s| s.keeps == Kept::First).map(|s| s.bit).collect();
        assert_eq!(removed, [Bit::Register(0), Bit::Register(0)]);
        let registers: Vec<usize> = steps.iter().map(|s| s.registers).collect();
        assert_eq!(registers, [4, 4, 2, 2, 1]);
        assert_eq!(steps.iter().map(SortStep::registers_after).collect::<Vec<_>>(), [4, 2, 2, 1, 1]);
    }
}
