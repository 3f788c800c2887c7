//! Where the operands of a product of warpgroups are.

use crate::dtype::DType;
use crate::ir::{Value, Var};
use crate::mma::wgmma::WgmmaTiling;

/// Where an operand of a product is. `k_major`: its contiguous dimension is the one that is summed over.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// TMA copies it to a buffer of an operand group.
    Buffer { operand_group: usize, buffer: usize, k_major: bool },
    /// All threads copy a load's tile by `cp.async`.
    Copied { load: Value, k_major: bool },
    /// Computed, in the registers of the instructions: A alone.
    Registers,
    /// Computed, and written to a matrix in shared memory.
    Written { matrix: usize, k_major: bool },
}

impl Operand {
    /// `wgmma` takes MN-major operands from shared memory only where elements have two bytes. Others, of A, go through
    /// registers.
    pub fn through_registers(&self, dtype: DType) -> bool {
        matches!(self, Operand::Registers) || self.is_mn_major() && dtype.size() == 4
    }

    /// Whether it is MN-major in shared memory.
    pub fn is_mn_major(&self) -> bool {
        match self {
            Operand::Registers => false,
            Operand::Buffer { k_major, .. } | Operand::Copied { k_major, .. } | Operand::Written { k_major, .. } => {
                !k_major
            }
        }
    }

    fn is_computed(&self) -> bool {
        matches!(self, Operand::Registers | Operand::Written { .. })
    }
}

/// A product that warpgroups make.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub tiling: WgmmaTiling,
    pub a: Operand,
    pub b: Operand,
}

impl Product {
    /// Whether the warpgroup computes any operand itself, so that the product must be done before the next one is
    /// computed.
    pub fn is_computed(&self) -> bool {
        self.a.is_computed() || self.b.is_computed()
    }
}

/// A product that goes on from one iteration of a loop to the next, and the variable of its accumulators.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    pub product: Value,
    pub var: Var,
}
