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

/// What the launcher knows: a constant times some slots.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number {
    pub times: u64,
    pub slots: Vec<usize>,
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let constant = (self.times != 1 || self.slots.is_empty()).then(|| self.times.to_string());
        let factors: Vec<String> = constant.into_iter().chain(self.slots.iter().map(|s| format!("s{s}"))).collect();
        f.write_str(&factors.join("·"))
    }
}

impl Number {
    pub fn slot(slot: usize) -> Number {
        Number { times: 1, slots: vec![slot] }
    }

    pub fn constant(n: u64) -> Number {
        Number { times: n, slots: vec![] }
    }

    /// None where the constant overflows.
    pub fn times(&self, o: &Number) -> Option<Number> {
        let mut slots = [self.slots.as_slice(), &o.slots].concat();
        slots.sort_unstable();
        Some(Number { times: self.times.checked_mul(o.times)?, slots })
    }

    /// The slot that it is.
    pub fn as_slot(&self) -> Option<usize> {
        if let (1, &[slot]) = (self.times, &self.slots[..]) { Some(slot) } else { None }
    }
}

/// The launcher's check of a number before it takes a variant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guard {
    pub of: Number,
    pub test: Test,
}

impl Guard {
    pub fn slot(slot: usize, test: Test) -> Guard {
        Guard { of: Number::slot(slot), test }
    }
}

/// As `tilewright_core::Test`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    Multiple(u64),
    Equal(u64),
    Within(u64, u64),
    /// At most what is in a slot.
    AtMost(usize),
}

/// Cache hint; the numbers are the device library's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Hint {
    #[default]
    None = 0,
    Streaming = 1,
    Keep = 2,
    NoL1 = 3,
}
