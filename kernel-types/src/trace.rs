//! The array that the marks of a traced launch go to: the compiler declares it, the device writes it, and
//! `tile profile --trace` reads it.

/// The name of the array in the code of a traced entry.
pub const TRACE_SYMBOL: &str = "tile_trace";

/// The extents of the array `tile_trace` of an entry. The array consists of records of 16 bytes, two words each.
///
/// Each traced warp has a slot of `capacity` records. The first three are its head:
/// - `clock64` and `globaltimer` at its begin,
/// - the same at its end, zeros if it has not ended,
/// - the number of its multiprocessor, plus 2^32, and the number of its marks at its end, with the ones that had no
///   room.
///
/// Then come its marks: `clock64`, then the mark in the low half of a word and its value in the high half. A mark of
/// zero is none. Behind the slots each listed thread block has three records, as in a head without a number of marks.
///
/// # Examples
/// ```
/// use tilewright_types::TraceLayout;
///
/// let layout = TraceLayout { blocks: 2, warps: 12, capacity: 1024, listed: 132 };
/// assert_eq!(layout.marks(), 1021);
/// assert_eq!(layout.bytes(), (2 * 12 * 1024 + 132 * 3) * 16);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceLayout {
    /// Thread blocks whose warps have slots, from the first block of the grid on.
    pub blocks: u32,
    /// Warps of a thread block.
    pub warps: u32,
    /// Records of a slot, 4 or more.
    pub capacity: u32,
    /// Thread blocks whose begin and end are recorded, from the first block of the grid on.
    pub listed: u32,
}

impl TraceLayout {
    /// Bytes of a record.
    pub const RECORD: usize = 16;
    /// Records of a head.
    pub const HEAD: usize = 3;

    /// The most marks that a warp keeps.
    pub fn marks(&self) -> usize {
        (self.capacity as usize).saturating_sub(Self::HEAD)
    }

    /// The first record of a slot.
    pub fn slot(&self, block: usize, warp: usize) -> usize {
        (block * self.warps as usize + warp) * self.capacity as usize
    }

    /// The first record of a listed block.
    pub fn listed_block(&self, block: usize) -> usize {
        self.slot(self.blocks as usize, 0) + block * Self::HEAD
    }

    /// Bytes of the array.
    pub fn bytes(&self) -> usize {
        self.listed_block(self.listed as usize) * Self::RECORD
    }
}

/// The phase of an event that a mark stands for. The mark is the number of the event, from 1 on, times 4, plus this.
///
/// # Examples
/// ```
/// use tilewright_types::TracePhase;
///
/// let mark = TracePhase::End.mark(7);
/// assert_eq!(TracePhase::of(mark), Some((7, TracePhase::End)));
/// assert_eq!(TracePhase::of(0), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracePhase {
    /// The event begins.
    Begin,
    /// The event that began last ends.
    End,
    /// The event takes no time.
    Instant,
}

impl TracePhase {
    const ALL: [TracePhase; 3] = [TracePhase::Begin, TracePhase::End, TracePhase::Instant];

    /// The mark of an event.
    pub fn mark(self, event: u32) -> u32 {
        event << 2 | (self as u32 + 1)
    }

    /// The event of a mark and its phase; `None` of a number that is no mark.
    pub fn of(mark: u32) -> Option<(u32, TracePhase)> {
        let phase = Self::ALL.get((mark & 3).checked_sub(1)? as usize)?;
        (mark >> 2 > 0).then_some((mark >> 2, *phase))
    }
}
