//! The sectors of global memory that the instructions of a warp touch, by the lines of the kernel.
//!
//! The lanes of a warp run one after another here. The accesses that hardware would issue as one instruction are those
//! of the same line, the same call of that line in each lane, the same register and the same width. A lane whose mask
//! is off makes the call and no access.

use std::collections::{BTreeSet, HashMap};

use super::report::GlobalSite;

/// Bytes of a sector: global memory is read and written by whole ones.
const SECTOR: u64 = 32;
/// The most instructions of one program. Of later ones the number of accesses is known alone.
const MAX_INSTRUCTIONS: usize = 1 << 18;

#[derive(Default)]
pub struct Sectors {
    enabled: bool,
    sites: HashMap<(u32, bool), GlobalSite>,
    /// The calls of a thread so far, by line and direction.
    calls: HashMap<(u32, bool, u32), u32>,
    instructions: HashMap<Instruction, Vec<u64>>,
}

/// A load or a store of a tile, as the lanes of a warp agree on it.
#[derive(Clone, Copy)]
pub struct GlobalCall {
    pub site: u32,
    /// How many calls of that line this thread made before, where sectors are counted.
    number: u32,
}

/// An instruction of a warp.
#[derive(PartialEq, Eq, Hash)]
struct Instruction {
    warp: u32,
    site: u32,
    write: bool,
    call: u32,
    register: usize,
    /// Of each lane.
    bytes: usize,
}

impl Sectors {
    pub fn new(enabled: bool) -> Self {
        Sectors { enabled, ..Sectors::default() }
    }

    /// A thread begins a load or a store.
    #[inline]
    pub fn begin(&mut self, thread: u32, write: bool, site: u32) -> GlobalCall {
        let mut number = 0;
        if self.enabled {
            let calls = self.calls.entry((site, write, thread)).or_default();
            (number, *calls) = (*calls, *calls + 1);
        }
        GlobalCall { site, number }
    }

    #[inline]
    pub fn access(&mut self, thread: u32, write: bool, addr: u64, bytes: usize, call: GlobalCall, register: usize) {
        if self.enabled {
            let GlobalCall { site, number } = call;
            self.count(addr, Instruction { warp: thread / 32, site, write, call: number, register, bytes });
        }
    }

    fn count(&mut self, addr: u64, i: Instruction) {
        if self.instructions.len() < MAX_INSTRUCTIONS || self.instructions.contains_key(&i) {
            self.instructions.entry(i).or_default().push(addr);
        } else {
            self.site(i.site, i.write).left_out += 1;
        }
    }

    fn site(&mut self, site: u32, write: bool) -> &mut GlobalSite {
        self.sites.entry((site, write)).or_insert_with(|| GlobalSite { site, write, ..Default::default() })
    }

    /// The end of a program.
    pub fn flush(&mut self) {
        for (Instruction { site, write, bytes: of_lane, .. }, mut lanes) in std::mem::take(&mut self.instructions) {
            let mut sectors = BTreeSet::new();
            lanes.sort_unstable();
            let (mut bytes, mut end) = (0, 0);
            for from in lanes {
                let to = from + of_lane as u64;
                sectors.extend(from / SECTOR..=(to - 1) / SECTOR);
                bytes += to.saturating_sub(from.max(end));
                end = end.max(to);
            }
            let of = self.site(site, write);
            of.instructions += 1;
            of.bytes += bytes;
            of.sectors += sectors.len() as u64;
            of.ideal += bytes.div_ceil(SECTOR);
        }
        self.calls.clear();
    }

    pub fn into_sites(self) -> Vec<GlobalSite> {
        let mut all: Vec<GlobalSite> = self.sites.into_values().collect();
        all.sort_by_key(|s| (s.site, s.write));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_that_are_not_counted_are_told() {
        let mut sectors = Sectors::new(true);
        for i in 0..MAX_INSTRUCTIONS as u64 + 3 {
            let call = sectors.begin(0, false, 7);
            sectors.access(0, false, 64 * i, 4, call, 0);
        }
        sectors.flush();
        let [site] = sectors.into_sites()[..] else { panic!("one line") };
        assert_eq!((site.instructions, site.sectors), (MAX_INSTRUCTIONS as u64, MAX_INSTRUCTIONS as u64));
        assert_eq!(site.left_out, 3);
        let report = super::super::Report { global_sites: vec![site], ..Default::default() };
        let text = super::super::by_line(&report, "");
        assert!(text.ends_with("; 3 more accesses of lanes are not counted: profile a smaller size\n"), "{text}");
    }
}
