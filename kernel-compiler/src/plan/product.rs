//! The operands of a product by `wgmma`, with their places.

use crate::dtype::DType;
use crate::ir::{Value, Var};
use crate::mma::fragments::Side;
use crate::mma::wgmma::WgmmaTiling;
use crate::plan::major::{MnMajor, mn_major};

/// The place of an operand of a product. `k_major`: the contiguous dimension is K.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// TMA copies it to a buffer of an operand group.
    Buffer { operand_group: usize, buffer: usize, k_major: bool },
    /// All threads copy the tile of a load by `cp.async`.
    Copied { load: Value, k_major: bool },
    /// Computed, and passed to the instructions in registers. This is for A alone.
    Registers,
    /// Computed, and written to a matrix in shared memory.
    Written { matrix: usize, k_major: bool },
}

impl Operand {
    /// Whether threads pass it in registers, where it is an A of these elements.
    pub fn through_registers(&self, dtype: DType) -> bool {
        let loaded = || mn_major(Side::A, dtype.size()) == Some(MnMajor::Registers);
        matches!(self, Operand::Registers) || self.is_mn_major() && loaded()
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

/// A product by `wgmma`.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub tiling: WgmmaTiling,
    pub a: Operand,
    pub b: Operand,
}

impl Product {
    /// Whether the warpgroup computes any operand, so that the product must have ended before the next operand is
    /// computed.
    pub fn is_computed(&self) -> bool {
        self.a.is_computed() || self.b.is_computed()
    }
}

/// A product that is in flight from one iteration of a loop to the next, and the variable of its accumulators.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    pub product: Value,
    pub var: Var,
}
