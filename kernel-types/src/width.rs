//! How wide accesses may be.

/// How wide the accesses of threads may be, by where rows of the arguments start.
///
/// ```
/// use tilewright_types::Width;
/// assert_eq!(Width::of(0x1000 | 36), Width::Words);
/// assert_eq!(Width::Vectors.bytes(), 16);
/// assert_eq!(Width::of(0x1000 | 24), Width::DoubleWords);
/// assert!(Width::Elements < Width::Words && Width::DoubleWords < Width::Vectors);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// Elements one by one, at any address.
    Elements,
    /// Words of 4 bytes, of elements that are smaller.
    Words,
    /// Double words of 8 bytes, of elements that are smaller.
    DoubleWords,
    /// Vectors of 16 bytes.
    Vectors,
}

impl Width {
    /// The widest accesses at multiples of these bytes. Addresses and strides of rows are combined by `|`.
    pub fn of(starts: u64) -> Width {
        let all = [Width::Vectors, Width::DoubleWords, Width::Words];
        all.into_iter().find(|w| starts.is_multiple_of(w.bytes() as u64)).unwrap_or(Width::Elements)
    }

    /// The alignment of addresses, in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Width::Elements => 1,
            Width::Words => 4,
            Width::DoubleWords => 8,
            Width::Vectors => 16,
        }
    }
}
