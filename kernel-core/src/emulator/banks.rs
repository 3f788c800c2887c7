//! Bank conflicts of shared memory.
//!
//! The lanes of a warp run one after another here, so the accesses that hardware would issue as one instruction are
//! collected first: same line, same call of that line in each lane, same register.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use super::report::SharedSite;

/// The most instructions of one warp between two barriers. Later ones are not counted.
const MAX_INSTRUCTIONS: usize = 1 << 16;
const BANKS: u32 = 32;

/// An access within its call, as lanes agree on it.
#[derive(Clone, Copy)]
pub struct Access {
    /// The index of the line and direction in `sites`.
    slot: u16,
    /// How many calls of that line this thread made before.
    call: u32,
    pub site: u32,
}

struct Instruction {
    key: (u16, u32, u32),
    lanes: u32,
    bytes: u8,
    offsets: [u32; 32],
}

#[derive(Default)]
struct Warp {
    instructions: Vec<Instruction>,
    index: HashMap<(u16, u32, u32), usize>,
    /// The index at which each lane expects its next access. Lanes that run in step find it at once.
    next: [usize; 32],
}

pub struct Banks {
    enabled: bool,
    threads: usize,
    warps: Vec<Warp>,
    sites: Vec<SharedSite>,
    /// By line and direction, its index in `sites` plus one.
    slots: Vec<u16>,
    /// Calls so far, by slot and thread.
    calls: Vec<u32>,
}

impl Banks {
    pub fn new(threads: u32, enabled: bool) -> Self {
        Banks {
            enabled,
            threads: threads as usize,
            warps: (0..threads.div_ceil(32)).map(|_| Warp::default()).collect(),
            sites: Vec::new(),
            slots: Vec::new(),
            calls: Vec::new(),
        }
    }

    pub fn begin_program(&mut self) {
        self.calls.fill(0);
    }

    /// A thread begins a shared-memory instruction on its registers.
    #[inline]
    pub fn begin(&mut self, thread: u32, write: bool, site: u32) -> Access {
        if !self.enabled {
            return Access { slot: 0, call: 0, site };
        }
        let index = (site as usize).min(0xffff) * 2 + write as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, 0);
        }
        if self.slots[index] == 0 {
            self.sites.push(SharedSite { site, write, ..SharedSite::default() });
            self.slots[index] = self.sites.len() as u16;
            self.calls.resize(self.sites.len() * self.threads, 0);
        }
        let slot = self.slots[index] - 1;
        let calls = &mut self.calls[slot as usize * self.threads + thread as usize];
        *calls += 1;
        Access { slot, call: *calls, site }
    }

    #[inline]
    pub fn access(&mut self, thread: u32, a: Access, register: usize, off: u32, bytes: usize) {
        if !self.enabled {
            return;
        }
        let warp = &mut self.warps[thread as usize / 32];
        let lane = thread as usize % 32;
        let key = (a.slot, a.call, register as u32);
        let expected = warp.next[lane];
        let at = match warp.instructions.get(expected) {
            Some(i) if i.key == key => expected,
            // The first lane to come here, or one that went another way before.
            _ => match warp.index.entry(key) {
                Entry::Occupied(at) => *at.get(),
                Entry::Vacant(_) if warp.instructions.len() == MAX_INSTRUCTIONS => return,
                Entry::Vacant(new) => {
                    warp.instructions.push(Instruction { key, lanes: 0, bytes: bytes as u8, offsets: [0; 32] });
                    *new.insert(warp.instructions.len() - 1)
                }
            },
        };
        let i = &mut warp.instructions[at];
        i.lanes |= 1 << lane;
        i.bytes = i.bytes.max(bytes as u8);
        i.offsets[lane] = off;
        warp.next[lane] = at + 1;
    }

    /// Counts the accesses of the warps of these threads since the last call: all lanes have come to a barrier or to
    /// the end.
    pub fn flush(&mut self, threads: Range<u32>) {
        for warp in &mut self.warps[threads.start as usize / 32..threads.end.div_ceil(32) as usize] {
            for i in warp.instructions.drain(..) {
                let (wavefronts, ideal) = i.wavefronts();
                let site = &mut self.sites[i.key.0 as usize];
                site.instructions += 1;
                site.wavefronts += wavefronts as u64;
                site.ideal += ideal as u64;
                site.conflicting += (wavefronts > ideal) as u64;
                site.worst = site.worst.max(wavefronts / ideal);
            }
            warp.index.clear();
            warp.next = [0; 32];
        }
    }

    pub fn into_sites(mut self) -> Vec<SharedSite> {
        self.sites.sort_by_key(|s| (s.site, s.write));
        self.sites
    }
}

impl Instruction {
    /// The wavefronts of the access, and the minimum for its width. Words that lanes share count once. Wide accesses
    /// are issued for halves (8 bytes) or quarters (16 bytes) of the warp.
    fn wavefronts(&self) -> (u32, u32) {
        let lanes_at_once = (128 / (self.bytes as usize).max(4)).min(32);
        let words_per_lane = (self.bytes as u32).div_ceil(4);
        let (mut wavefronts, mut ideal) = (0, 0);
        for group in (0..32).step_by(lanes_at_once) {
            let mut per_bank = [0u32; BANKS as usize];
            let mut seen: [u32; 32] = [0; 32];
            let mut words = 0;
            for lane in (group..group + lanes_at_once).filter(|lane| self.lanes >> lane & 1 == 1) {
                for w in 0..words_per_lane {
                    let word = self.offsets[lane] / 4 + w;
                    if !seen[..words].contains(&word) {
                        seen[words] = word;
                        words += 1;
                        per_bank[(word % BANKS) as usize] += 1;
                    }
                }
            }
            let passes = per_bank.into_iter().max().unwrap_or(0);
            wavefronts += passes;
            ideal += passes.min(1);
        }
        (wavefronts, ideal)
    }
}
