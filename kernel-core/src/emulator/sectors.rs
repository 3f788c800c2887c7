//! The sectors of global memory that the instructions of a warp touch, by the lines of the kernel.
//!
//! The lanes of a warp run one after another here. The accesses that hardware would issue as one instruction are those
//! of one line that each lane makes as its n-th.

use std::collections::{BTreeSet, HashMap};

use super::report::GlobalSite;

/// Bytes of a sector: global memory is read and written by whole ones.
const SECTOR: u64 = 32;
/// The most instructions of one program. Later ones are not counted.
const MAX_INSTRUCTIONS: usize = 1 << 18;

#[derive(Default)]
pub struct Sectors {
    enabled: bool,
    sites: HashMap<(u32, bool), GlobalSite>,
    /// The accesses of a thread so far, by line and direction.
    calls: HashMap<(u32, bool, u32), u32>,
    /// By warp, line, direction and number: addresses and bytes.
    instructions: HashMap<(u32, u32, bool, u32), Vec<(u64, u32)>>,
}

impl Sectors {
    pub fn new(enabled: bool) -> Self {
        Sectors { enabled, ..Sectors::default() }
    }

    #[inline]
    pub fn access(&mut self, thread: u32, write: bool, addr: u64, bytes: usize, site: u32) {
        if self.enabled {
            self.count(thread, write, addr, bytes, site);
        }
    }

    fn count(&mut self, thread: u32, write: bool, addr: u64, bytes: usize, site: u32) {
        let call = self.calls.entry((site, write, thread)).or_default();
        *call += 1;
        let key = (thread / 32, site, write, *call);
        if self.instructions.len() < MAX_INSTRUCTIONS || self.instructions.contains_key(&key) {
            self.instructions.entry(key).or_default().push((addr, bytes as u32));
        }
    }

    /// The end of a program.
    pub fn flush(&mut self) {
        for ((_, site, write, _), lanes) in self.instructions.drain() {
            let mut sectors = BTreeSet::new();
            let mut spans: Vec<(u64, u64)> = lanes.iter().map(|&(addr, n)| (addr, addr + u64::from(n))).collect();
            spans.sort_unstable();
            let (mut bytes, mut end) = (0, 0);
            for (from, to) in spans {
                sectors.extend(from / SECTOR..=(to - 1) / SECTOR);
                bytes += to.saturating_sub(from.max(end));
                end = end.max(to);
            }
            let of =
                self.sites.entry((site, write)).or_insert_with(|| GlobalSite { site, write, ..Default::default() });
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
