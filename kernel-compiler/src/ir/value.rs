//! Names of values and variables, and their types.

use crate::dtype::{DType, in_message};
use std::fmt;

/// The name of a value, which is its index in [`Func::values`](crate::ir::Func::values). The text form is `v0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// The name of a variable, which is its index in [`Func::vars`](crate::ir::Func::vars). The text form is `m0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(pub u32);

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "m{}", self.0)
    }
}

/// Elements of a tile as it lies in registers and in shared memory: extents are rounded up to powers of two.
pub(crate) fn padded_elements(shape: &[usize]) -> usize {
    shape.iter().map(|e| e.next_power_of_two()).product()
}

/// Elements of a tile that a thread may have; it has 255 registers in all.
pub(crate) const MAX_REGISTERS: usize = 256;

/// Extents of a tile; empty for a scalar.
pub type Shape = Vec<usize>;

/// The type of a value or of a variable.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Type {
    /// The element type.
    pub dtype: DType,
    /// The extents, which need not be powers of two.
    pub shape: Shape,
}

impl Type {
    /// The type of a scalar.
    pub fn scalar(dtype: DType) -> Type {
        Type { dtype, shape: Vec::new() }
    }

    /// The type of a tile with these extents.
    pub fn tile(dtype: DType, shape: impl Into<Shape>) -> Type {
        Type { dtype, shape: shape.into() }
    }

    /// Whether it has no dimensions.
    pub fn is_scalar(&self) -> bool {
        self.shape.is_empty()
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(in_message(self.dtype))?;
        if self.is_scalar() { Ok(()) } else { write!(f, "{:?}", self.shape) }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
