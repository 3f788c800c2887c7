//! Names of values and variables, and their types.

use crate::dtype::{DType, in_message};
use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

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

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Type {
    pub dtype: DType,
    pub shape: Shape,
}

impl Type {
    pub fn scalar(dtype: DType) -> Type {
        Type { dtype, shape: Vec::new() }
    }

    pub fn tile(dtype: DType, shape: impl Into<Shape>) -> Type {
        Type { dtype, shape: shape.into() }
    }

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
