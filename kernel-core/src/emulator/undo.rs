//! The bytes of global memory that a launch has overwritten, so that it can begin again.

use super::report::Region;

/// Blocks of this many bytes of a region are kept as a whole.
const BLOCK: u64 = 1024;
/// Entries of `elsewhere`.
const LAST: usize = 4096;

#[derive(Default)]
pub struct Undo {
    on: bool,
    /// Of each region: a bit for each block that is kept.
    blocks: Vec<Vec<u64>>,
    /// The memory outside of known regions that was kept last, by the last bits of the address: the address divided by
    /// 16, and a bit for each of these bytes. Bytes whose entry was replaced may be kept again.
    elsewhere: Vec<(u64, u16)>,
    /// In the order in which they were kept: addresses, and places in `bytes`.
    kept: Vec<(u64, std::ops::Range<usize>)>,
    bytes: Vec<u8>,
}

impl Undo {
    /// Of so many regions; nothing is kept without them.
    pub fn new(regions: Option<usize>) -> Self {
        Undo { on: regions.is_some(), blocks: vec![Vec::new(); regions.unwrap_or(0)], ..Undo::default() }
    }

    /// Keeps the block of a region that is about to be written, up to 16 aligned bytes.
    ///
    /// # Safety
    /// The region can be read.
    #[inline]
    pub unsafe fn keep(&mut self, number: usize, region: &Region, addr: u64, bytes: usize) {
        if !self.on {
            return;
        }
        let (first, last) = ((addr - region.start) / BLOCK, (addr + bytes as u64 - 1 - region.start) / BLOCK);
        for block in first..=last {
            let is_kept = |word: &u64| word >> (block % 64) & 1 == 1;
            if !self.blocks[number].get(block as usize / 64).is_some_and(is_kept) {
                // SAFETY: the caller's contract.
                unsafe { self.keep_block(number, region, block) };
            }
        }
    }

    #[cold]
    unsafe fn keep_block(&mut self, number: usize, region: &Region, block: u64) {
        let words = &mut self.blocks[number];
        if words.is_empty() {
            words.resize(region.bytes.div_ceil(64 * BLOCK) as usize, 0);
        }
        words[block as usize / 64] |= 1 << (block % 64);
        let from = block * BLOCK;
        // SAFETY: the block, as far as it lies in the region, which can be read by the caller's contract.
        unsafe { self.copy(region.start + from, BLOCK.min(region.bytes - from) as usize) };
    }

    /// Keeps up to 16 aligned bytes outside of known regions.
    ///
    /// # Safety
    /// They can be read.
    pub unsafe fn keep_elsewhere(&mut self, addr: u64, bytes: usize) {
        if !self.on {
            return;
        }
        if self.elsewhere.is_empty() {
            self.elsewhere.resize(LAST, (0, 0));
        }
        let (group, mask) = (addr / 16, (((1u32 << bytes) - 1) << (addr % 16)) as u16);
        let last = &mut self.elsewhere[group as usize % LAST];
        if last.0 != group {
            *last = (group, 0);
        }
        if last.1 & mask != mask {
            last.1 |= mask;
            // SAFETY: the caller's contract.
            unsafe { self.copy(addr, bytes) };
        }
    }

    unsafe fn copy(&mut self, addr: u64, bytes: usize) {
        let from = self.bytes.len();
        self.bytes.resize(from + bytes, 0);
        // SAFETY: the caller lets the bytes be read, and `self.bytes` has room for them.
        unsafe { (addr as *const u8).copy_to_nonoverlapping(self.bytes[from..].as_mut_ptr(), bytes) };
        self.kept.push((addr, from..from + bytes));
    }

    /// Gives all memory the contents that it had when the launch began.
    ///
    /// # Safety
    /// The kept bytes can be written.
    pub unsafe fn undo(&mut self) {
        // If regions overlap, the first kept bytes are the oldest.
        for (addr, range) in self.kept.drain(..).rev() {
            let bytes = &self.bytes[range];
            // SAFETY: the caller lets these bytes be written.
            unsafe { (addr as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    }
}
