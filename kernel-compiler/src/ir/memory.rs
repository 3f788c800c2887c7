//! Places in memory, and the guards of a launch.

use crate::dtype::DType;
use crate::ir::value::Value;
use std::fmt;

/// Where a memory operation goes: an element of something.
#[derive(Clone, Debug)]
pub struct Address {
    pub base: Base,
    pub index: Value,
}

#[derive(Clone, Copy, Debug)]
pub enum Base {
    /// A slice: outside it nothing is touched.
    Slice(usize),
    /// A parameter without bounds.
    Raw(usize),
    /// A [shared array](SharedArray): outside it nothing is touched.
    Shared(usize),
    /// An address that the kernel computes, such as one that it loads: a scalar, or a tile of the index's shape.
    Pointer { address: Value, dtype: DType, mutable: bool },
}

/// An array in the shared memory of the program, as long as the program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedArray {
    pub name: String,
    pub dtype: DType,
    pub len: usize,
}

impl SharedArray {
    /// The bytes that it takes: the next one begins aligned for all accesses.
    pub fn bytes(&self) -> usize {
        (self.len * self.dtype.size()).next_multiple_of(16)
    }

    /// Where each one begins in the shared memory of the program, and where all of them end.
    pub fn places(arrays: &[SharedArray]) -> (Vec<usize>, usize) {
        let (mut begins, mut end) = (vec![], 0);
        for a in arrays {
            begins.push(end);
            end += a.bytes();
        }
        (begins, end)
    }
}

/// The array that an element is in. Elements of different arrays are different elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Array {
    Param(usize),
    /// A shared array.
    Shared(usize),
    /// All that computed addresses lead to, by `*mut` or by `*const`: the kernel does not write the latter.
    Pointees {
        mutable: bool,
    },
}

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Array::Param(param) => write!(f, "parameter {param}"),
            Array::Shared(array) => write!(f, "shared array {array}"),
            Array::Pointees { mutable } => {
                write!(f, "memory behind `*{}` pointers", if *mutable { "mut" } else { "const" })
            }
        }
    }
}

impl Base {
    /// The address that the kernel computes, if that is where it begins.
    pub(crate) fn address(self) -> Option<Value> {
        if let Base::Pointer { address, .. } = self { Some(address) } else { None }
    }
}

impl Address {
    pub fn array(&self) -> Array {
        match self.base {
            Base::Slice(param) | Base::Raw(param) => Array::Param(param),
            Base::Shared(array) => Array::Shared(array),
            Base::Pointer { mutable, .. } => Array::Pointees { mutable },
        }
    }

    pub fn param(&self) -> Option<usize> {
        match self.base {
            Base::Slice(param) | Base::Raw(param) => Some(param),
            Base::Shared(_) | Base::Pointer { .. } => None,
        }
    }

    /// The address that the kernel computes, and the index.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &Value> {
        let address = if let Base::Pointer { address, .. } = &self.base { Some(address) } else { None };
        address.into_iter().chain([&self.index])
    }

    /// The same, to be replaced.
    pub(crate) fn operands_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let address = if let Base::Pointer { address, .. } = &mut self.base { Some(address) } else { None };
        address.into_iter().chain([&mut self.index])
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

/// A number that the launcher knows: a constant times some argument words.
pub type Number = tilewright_types::Number<Vec<usize>>;
/// The launcher's check of a number before it takes a variant.
pub type Guard = tilewright_types::Guard<Vec<usize>>;
pub use tilewright_types::Test;

/// Cache hint; the numbers are the device library's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Hint {
    #[default]
    None = 0,
    EvictFirst = 1,
    EvictLast = 2,
    NoL1 = 3,
}
