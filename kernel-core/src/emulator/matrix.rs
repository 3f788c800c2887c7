//! Steps of tensor cores that a warp takes: products of fragments, and loads of fragments.

use super::access_kind::AccessKind;
use super::machine::{Machine, State};
use super::product::{Operand, b_place, d_place, multiply, scatter_a};

impl Machine {
    /// The current lane comes with its fragments; whether it must wait. Its operand `d` becomes the result.
    pub fn mma(&mut self, kind: Operand, site: u32) -> bool {
        let Some(lanes) = self.meet(State::AtMatrix { name: "mma", site }, 32) else { return true };
        let (n, k) = (8, 2 * kind.per_chunk());
        let (mut a, mut b, mut d) = (vec![0; 16 * k], vec![0; k * n], vec![0; 16 * n]);
        let first = lanes.start as usize;
        for lane in 0..32 {
            let from = &self.tensor.operands[first + lane];
            scatter_a(kind, lane, from.a, k, &mut a);
            for (r, word) in from.b.into_iter().enumerate() {
                let (row, column) = b_place(kind, lane, r);
                for e in 0..kind.per_chunk() / 4 {
                    b[(row + e) * n + column] = kind.element(word as u128, e);
                }
            }
            for (i, &x) in from.d.iter().enumerate() {
                let (row, column) = d_place(lane, i);
                d[row * n + column] = x;
            }
        }
        multiply(kind, n, k, &a, &b, &mut d);
        for lane in 0..32 {
            self.tensor.operands[first + lane].d = std::array::from_fn(|i| {
                let (row, column) = d_place(lane, i);
                d[row * n + column]
            });
        }
        self.report.warp_steps += 1;
        self.leave(lanes);
        false
    }

    /// The current lane reads its row of a matrix; whether it may.
    pub fn read_row(&mut self, off: u32, site: u32) -> bool {
        let call = self.banks.begin(self.current, false, site);
        self.report.shared_loads += 1;
        self.banks.access(self.current, call, 0, off, 16);
        let Some(place) = self.shared(AccessKind::Read, off, 16, 0, site) else { return false };
        // SAFETY: the machine gives the place of 16 bytes in the CTA's shared memory.
        self.tensor.operands[self.current as usize].row = unsafe { super::memory::read(place, 16) };
        true
    }

    /// The current lane comes with its row; whether it must wait. Its operand `d` becomes the result.
    pub fn ldmatrix(&mut self, transposed: bool, site: u32) -> bool {
        let Some(lanes) = self.meet(State::AtMatrix { name: "ldmatrix", site }, 32) else { return true };
        let first = lanes.start as usize;
        for lane in 0..32 {
            let (row, column) = (lane / 4, 2 * (lane % 4));
            self.tensor.operands[first + lane].d = std::array::from_fn(|matrix| {
                let at = |row: usize, column: usize| {
                    let row = self.tensor.operands[first + 8 * matrix + row].row;
                    (row >> (16 * column)) as u32 & 0xffff
                };
                let [low, high] = if transposed {
                    [at(column, row), at(column + 1, row)]
                } else {
                    [at(row, column), at(row, column + 1)]
                };
                low | high << 16
            });
        }
        self.report.warp_steps += 1;
        self.leave(lanes);
        false
    }

    /// The current lane comes with its words of four matrices; gives whether it must wait. Its operand `row` becomes
    /// the row that it stores.
    pub fn stmatrix(&mut self, site: u32) -> bool {
        let Some(lanes) = self.meet(State::AtMatrix { name: "stmatrix", site }, 32) else { return true };
        let first = lanes.start as usize;
        for lane in 0..32 {
            let (matrix, row) = (lane / 8, lane % 8);
            let word = |quarter: usize| self.tensor.operands[first + 4 * row + quarter].d[matrix] as u128;
            self.tensor.operands[first + lane].row = (0..4).map(|quarter| word(quarter) << (32 * quarter)).sum();
        }
        self.report.warp_steps += 1;
        self.leave(lanes);
        false
    }
}
