//! Places in memory, and the guards of a launch.

use crate::dtype::DType;
use crate::ir::value::Value;
use std::fmt;

/// The address of a memory operation: an element of a base.
#[derive(Clone, Debug)]
pub struct Address {
    /// The array, or the pointer, that the index counts from.
    pub base: Base,
    /// Integers, in elements.
    pub index: Value,
}

/// The beginning of the memory that an index counts from.
#[derive(Clone, Copy, Debug)]
pub enum Base {
    /// A parameter that is a slice. Elements outside it are not accessed.
    Slice(usize),
    /// A parameter without checks of bounds: a view, a pointer, or a slice under `unchecked`.
    Raw(usize),
    /// A [shared array](SharedArray). Elements outside it are not accessed.
    Shared(usize),
    /// An address that the kernel computes, such as one that it loads.
    Pointer {
        /// A `u64`, or a tile of them in the shape of the index.
        address: Value,
        /// The element type behind the pointer.
        dtype: DType,
        /// Whether the pointer is `*mut`: a `*const` may only be read.
        mutable: bool,
    },
}

/// An array in the shared memory of the program, as long as the program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedArray {
    /// The name of its variable in the kernel.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// The number of elements.
    pub len: usize,
}

impl SharedArray {
    /// The bytes that it takes: the next one begins aligned for all accesses.
    pub fn bytes(&self) -> usize {
        (self.len * self.dtype.size()).next_multiple_of(16)
    }

    /// The offset of each array in the shared memory of the program, and the end of all.
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
    /// The memory of a parameter, by its index in [`Func::params`](crate::ir::Func::params).
    Param(usize),
    /// A shared array.
    Shared(usize),
    /// All that computed addresses lead to, by `*mut` or by `*const`: the kernel does not write the latter.
    Pointees {
        /// Whether the pointers are `*mut`.
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
    /// Whether elements outside it are not accessed.
    pub(crate) fn is_bounded(self) -> bool {
        match self {
            Base::Slice(_) | Base::Shared(_) => true,
            Base::Raw(_) | Base::Pointer { .. } => false,
        }
    }

    /// The address that the kernel computes, if that is where it begins.
    pub(crate) fn address(self) -> Option<Value> {
        if let Base::Pointer { address, .. } = self { Some(address) } else { None }
    }
}

impl Address {
    /// The array that its elements are in.
    pub fn array(&self) -> Array {
        match self.base {
            Base::Slice(param) | Base::Raw(param) => Array::Param(param),
            Base::Shared(array) => Array::Shared(array),
            Base::Pointer { mutable, .. } => Array::Pointees { mutable },
        }
    }

    /// The parameter that its elements are in; none for shared arrays and computed addresses.
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

/// A box of an array in memory. Elements outside of the array are loaded as zeros, and stores to them are dropped. The
/// last dimensions of the array are those of the tile. In earlier dimensions the box is at one index.
#[derive(Clone, Debug)]
pub struct BlockPointer {
    /// The dimensions of the array, the slowest first.
    pub dims: Vec<Dim>,
    /// Its first index in each of them.
    pub at: Vec<Value>,
}

/// A dimension of an array in memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Dim {
    /// The number of elements along the dimension.
    pub extent: Number,
    /// In elements; of the last dimension it is 1.
    pub stride: Number,
}

impl Dim {
    /// The greatest extent that a tensor map describes: coordinates beyond it are those of no element. A dimension that
    /// nothing limits has it.
    pub(crate) const UNLIMITED: u64 = (1 << 31) - 128;

    /// The extent where a mask limits the dimension, if any does.
    pub fn extent_of(limit: Option<Number>) -> Number {
        limit.unwrap_or(Number::constant(Dim::UNLIMITED))
    }

    /// Whether elements beyond the extent are left out.
    pub fn is_limited(&self) -> bool {
        self.extent != Number::constant(Dim::UNLIMITED)
    }
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

/// The cache policy of a load or a store. The numbers are those of the device library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Hint {
    /// The policy of the hardware.
    #[default]
    None = 0,
    /// The line leaves the L2 cache before others: its data is used once.
    EvictFirst = 1,
    /// The line stays in the L2 cache longer than others: its data is used again.
    EvictLast = 2,
    /// The access allocates no line in the L1 cache.
    NoL1 = 3,
}
