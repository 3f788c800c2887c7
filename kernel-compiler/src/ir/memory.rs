//! Places in memory, and the guards of a launch.

use crate::ir::value::Value;
use std::fmt;

/// Where a memory operation goes.
#[derive(Clone, Debug)]
pub enum Address {
    /// Element `index` of a slice: outside it nothing is touched.
    Slice { param: usize, index: Value },
    /// Element `index` from a raw pointer.
    Raw { param: usize, index: Value },
}

impl Address {
    pub fn param(&self) -> usize {
        match self {
            Address::Slice { param, .. } | Address::Raw { param, .. } => *param,
        }
    }

    pub fn index(&self) -> Value {
        *self.index_ref()
    }

    pub fn index_ref(&self) -> &Value {
        match self {
            Address::Slice { index, .. } | Address::Raw { index, .. } => index,
        }
    }

    pub fn index_mut(&mut self) -> &mut Value {
        match self {
            Address::Slice { index, .. } | Address::Raw { index, .. } => index,
        }
    }
}

/// A part of an array in memory as it stands: of what lies outside, zeros are loaded, and nothing is stored. Its last
/// dimensions are those of the tile; in dimensions of the array before them it is at one index.
#[derive(Clone, Debug)]
pub struct BlockPointer {
    pub dims: Vec<Dim>,
    /// Where it begins, in each of them.
    pub at: Vec<Value>,
}

/// Of an array in memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Dim {
    pub extent: Number,
    /// In elements; of the last dimension it is 1.
    pub stride: Number,
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?}/{:?}", self.extent, self.stride)
    }
}

/// A number that the launcher knows: a constant times some slots.
pub type Number = tilewright_types::Number<Vec<usize>>;
/// The launcher's check of a number before it takes a variant.
pub type Guard = tilewright_types::Guard<Vec<usize>>;
pub use tilewright_types::Test;

/// Cache hint; the numbers are the device library's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Hint {
    #[default]
    None = 0,
    Streaming = 1,
    Keep = 2,
    NoL1 = 3,
}
