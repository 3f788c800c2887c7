//! Conversions of tiles between layouts: within a thread, by shuffles, or through shared memory.

use crate::dtype::DType;
use crate::layout::linear::{self, Conversion, Layout, Shared};
use std::fmt;

/// How a tile gets from one layout to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TileConversion {
    /// Each element by itself.
    Elements(Conversion),
    /// Two neighboring elements of 16 bits at a time, since shuffles move 32 bits. `pairs`: those of a thread before
    /// the conversion.
    Pairs { pairs: usize, by: Conversion },
}

impl TileConversion {
    /// The cheapest conversion of elements of this type.
    pub fn plan(from: &Layout, to: &Layout, dtype: DType) -> TileConversion {
        if dtype.size() == 2
            && from != to
            && let (Some(from), Some(to)) = (from.pairs(), to.pairs())
        {
            let by = linear::plan(&from, &to, DType::U32.size());
            return TileConversion::Pairs { pairs: from.regs(), by };
        }
        let but_lanes = |l: &Layout| (l.reg_bases().to_vec(), l.warp_bases().to_vec());
        if planted!("conversion-between-lanes-left-out") && but_lanes(from) == but_lanes(to) {
            return TileConversion::Elements(Conversion::Identity);
        }
        TileConversion::Elements(linear::plan(from, to, dtype.size()))
    }

    /// Whether it goes through shared memory.
    pub fn is_through_shared(&self) -> bool {
        let (TileConversion::Elements(by) | TileConversion::Pairs { by, .. }) = self;
        matches!(by, Conversion::Shared(_))
    }
}

/// The tiles of a scratch buffer, one behind another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedTiles {
    pub count: usize,
    /// The distance between two tiles in bytes.
    pub stride: usize,
    /// The bytes of all.
    pub bytes: usize,
}

impl SharedTiles {
    /// Of tiles that are converted alike.
    pub fn new(s: &Shared, count: usize) -> SharedTiles {
        let stride = if planted!("exchange-of-several-tiles-in-one") { 0 } else { s.bytes.next_multiple_of(16) };
        SharedTiles { count, stride, bytes: count * stride }
    }
}

/// A number of things.
pub fn counted(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

impl fmt::Display for TileConversion {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            TileConversion::Elements(by) => write!(f, "{by}"),
            TileConversion::Pairs { by, .. } => write!(f, "{by}, in pairs of 16 bits"),
        }
    }
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Conversion::Identity => f.write_str("as it is"),
            Conversion::Registers(_) => f.write_str("between registers"),
            Conversion::Shuffle(s) => write!(f, "by {}", counted(s.shuffles(), "shuffle")),
            Conversion::Shared(s) => {
                let (stores, loads) = (counted(s.store.vec, "element"), counted(s.load.vec, "element"));
                write!(f, "through {} bytes of shared memory, stores of {stores}, loads of {loads}", s.bytes)
            }
        }
    }
}
