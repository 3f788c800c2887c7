//! Device memory: blocks, their life, and who touched them.

use crate::clock::{Clock, Epoch};
use crate::report::Kind;
use crate::state::State;
use std::alloc::{Layout, alloc, dealloc};
use std::sync::Arc;

/// Host memory in the place of device memory.
pub(crate) struct Memory {
    pub base: u64,
    layout: Layout,
}

impl Memory {
    fn new(bytes: u64) -> Option<Arc<Memory>> {
        let layout = Layout::from_size_align(usize::try_from(bytes).ok()?, 256).ok()?;
        // SAFETY: the size is not zero: callers refuse empty allocations.
        let base = unsafe { alloc(layout) };
        if base.is_null() {
            return None;
        }
        // Memory that nothing has written holds NaNs.
        // SAFETY: so many bytes were just allocated.
        unsafe { base.write_bytes(0xFF, layout.size()) };
        Some(Arc::new(Memory { base: base as u64, layout }))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this layout was allocated at this address, and is released once.
        unsafe { dealloc(self.base as *mut u8, self.layout) };
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub start: u64,
    pub end: u64,
    pub write: bool,
}

struct Touched {
    access: Access,
    at: Epoch,
    what: String,
}

pub(crate) struct Block {
    pub memory: Arc<Memory>,
    pub end: u64,
    pub device: usize,
    /// The stream-ordered allocation; none where the host allocated it, or before a graph does.
    pub born: Option<Epoch>,
    /// For memory of a graph: whether a launch has allocated it.
    pub graph: bool,
    pub alive: bool,
    pub pooled: bool,
    pub freed: Option<(Epoch, String)>,
    /// The call that allocated it.
    pub made_by: &'static str,
    touched: Vec<Touched>,
}

/// Blocks that were freed and are still looked for.
const QUARANTINE: usize = 256;

impl State {
    /// `None` where the device is full.
    pub fn new_block(&mut self, bytes: u64, pooled: bool, graph: bool, made_by: &'static str) -> Option<u64> {
        if self.used.checked_add(bytes)? > self.capacity {
            return None;
        }
        let memory = Memory::new(bytes)?;
        self.used += bytes;
        let base = memory.base;
        let block = Block {
            memory,
            end: base + bytes,
            device: self.current_device(),
            born: None,
            graph,
            alive: !graph,
            pooled,
            freed: None,
            made_by,
            touched: Vec::new(),
        };
        self.blocks.insert(base, block);
        Some(base)
    }

    /// Takes back a block that its stream has refused.
    pub fn forget_block(&mut self, base: u64) {
        if let Some(block) = self.blocks.remove(&base) {
            self.used -= block.end - base;
        }
    }

    /// The block that holds an address.
    pub fn block_at(&mut self, addr: u64) -> Option<&mut Block> {
        self.blocks.range_mut(..=addr).next_back().map(|(_, b)| b).filter(|b| addr < b.end)
    }

    /// Notes the accesses of an operation, and reports each access that is not ordered with it.
    pub fn touch(&mut self, accesses: &[Access], at: Epoch, clock: &Clock, what: &str) {
        let mut found = Vec::new();
        for a in accesses.iter().filter(|a| a.start < a.end) {
            let mut memory = |text: String| found.push((Kind::Memory, format!("{what}: {text}")));
            let Some(block) = self.block_at(a.start) else {
                memory(format!("{:#x} is no memory of the device", a.start));
                continue;
            };
            if a.end > block.end {
                memory(format!("reaches {} bytes past the end of its memory", a.end - block.end));
            }
            if let Some(born) = block.born
                && !clock.knows(born)
            {
                memory("memory used before its allocation".into());
            }
            match &block.freed {
                Some((freed, by)) if clock.knows(*freed) => memory(format!("memory used after its free ({by})")),
                Some((_, by)) => memory(format!("memory used in no order with its free ({by})")),
                None if !block.alive => memory("memory of a graph used before its allocation".into()),
                None => {}
            }
            for t in &block.touched {
                let overlaps = t.access.start < a.end && a.start < t.access.end;
                if overlaps && (t.access.write || a.write) && t.at != at && !clock.knows(t.at) {
                    let how = |write| if write { "writes" } else { "reads" };
                    let (this, other) = (how(a.write), how(t.access.write));
                    found.push((Kind::Race, format!("{what} {this}, in no order with {} that {other}", t.what)));
                }
            }
            // Whoever is behind this access is behind those, too.
            let covered = |t: &Touched| {
                clock.knows(t.at) && a.start <= t.access.start && t.access.end <= a.end && (a.write || !t.access.write)
            };
            block.touched.retain(|t| !covered(t));
            block.touched.push(Touched { access: *a, at, what: what.into() });
        }
        found.into_iter().for_each(|(kind, text)| self.report(kind, text));
    }

    /// Ends a block's life by an operation. `false` where there is no such block.
    pub fn end_block(&mut self, base: u64, at: Epoch, clock: &Clock, what: &str) -> bool {
        let mut found = Vec::new();
        let Some(block) = self.blocks.get_mut(&base).filter(|b| b.freed.is_none()) else {
            self.report(Kind::Memory, format!("{what}: frees {base:#x}, which is not allocated"));
            return false;
        };
        if block.born.is_some_and(|born| !clock.knows(born)) {
            found.push(format!("{what}: memory freed before its allocation"));
        }
        for t in block.touched.iter().filter(|t| !clock.knows(t.at)) {
            found.push(format!("{what}: memory freed in no order with {}", t.what));
        }
        block.freed = Some((at, what.into()));
        self.used -= block.end - base;
        if !block.graph {
            self.quarantine.push_back(base);
            if self.quarantine.len() > QUARANTINE
                && let Some(old) = self.quarantine.pop_front()
            {
                self.blocks.remove(&old);
            }
        }
        found.into_iter().for_each(|text| self.report(Kind::Memory, text));
        true
    }

    /// A graph's launch allocates its block.
    pub fn begin_block(&mut self, base: u64, at: Epoch) {
        if let Some(block) = self.blocks.get_mut(&base) {
            if block.freed.take().is_some() {
                self.used += block.end - base;
            }
            block.born = Some(at);
            block.alive = true;
            block.touched.clear();
        }
    }
}
