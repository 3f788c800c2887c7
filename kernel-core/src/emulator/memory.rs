//! Global and shared memory of a launch, with their checks.

use super::access_kind::AccessKind;
use super::cluster::SharedAddress;
use super::epoch::Epoch;
use super::order::Order;
use super::report::{Kind, Options, Region};
use super::shadow::{Check, RaceKind, Shadow};
use super::undo::Undo;
use super::vector_clock::{Agent, Observer};

/// The failure of an access, before the machine adds the thread and the line.
pub struct Fault {
    pub kind: Kind,
    pub message: String,
    /// The access itself.
    pub access: String,
    /// The access that a race is with.
    pub earlier: Option<Earlier>,
}

/// An access that a later one is not ordered after, in words too.
pub struct Earlier {
    pub at: Epoch,
    pub access: String,
}

impl Fault {
    fn new(kind: Kind, message: String) -> Self {
        Fault { kind, message, access: String::new(), earlier: None }
    }

    /// An access to shared or global memory, `what`, that is not ordered after an earlier one.
    fn race(kind: Kind, what: &str, earlier: Epoch, wrote: bool, r: &Request<'_>) -> Self {
        let kind = if earlier.is_async() || r.now.is_async() { Kind::AsyncRace } else { kind };
        let (message, access) = match r.order.agent_of(earlier) {
            None => {
                let verb = verb_of(earlier, wrote);
                // Atomics of one size may come in any order.
                let of_two_sizes = earlier.is_atomic() && r.kind.is_atomic();
                let message = format!(
                    "{what} is not ordered with the {verb}{} by thread {} on line {}",
                    if of_two_sizes { " of another size" } else { "" },
                    r.order.cluster.name(earlier.thread()),
                    earlier.site()
                );
                (message, verb)
            }
            Some(agent) => {
                let doing = if wrote { "write" } else { "read" };
                let (name, wait) = match agent {
                    Agent::Load { bar } => {
                        ("tma load", format!("no wait on its mbarrier ({}) comes before", r.order.cluster.address(bar)))
                    }
                    Agent::StoreRead { .. } => {
                        ("tma store", "no tma_store_wait_read that covers it comes before".into())
                    }
                    Agent::StoreWrite { .. } => ("tma store", "nothing waits for its writes".into()),
                    Agent::Wgmma { .. } => ("wgmma", "no wgmma_wait that covers it comes before".into()),
                    Agent::Copy { .. } => ("cp_async", "no cp_async_wait that covers it comes before".into()),
                };
                let line = earlier.site();
                (format!("{what} while the {name} of line {line} may still {doing} there: {wait}"), name)
            }
        };
        let earlier = Earlier { at: earlier, access: access.into() };
        Fault { kind, message, access: what.into(), earlier: Some(earlier) }
    }

    /// An access by the asynchronous proxy to memory that a thread has accessed, without a fence in between.
    fn unfenced(what: &str, earlier: Epoch, wrote: bool, r: &Request<'_>, memory: Memory) -> Self {
        let verb = verb_of(earlier, wrote);
        let may = if r.kind.writes() { "come before" } else { "not see" };
        let why = match (memory, wrote) {
            (Memory::Global, _) => "TMA sees global memory as it was before the launch",
            (Memory::Shared, true) => "no proxy_fence by the thread that stored comes between",
            (Memory::Shared, false) => "no proxy_fence by the thread that loaded comes between",
        };
        Fault {
            kind: Kind::MissingProxyFence,
            message: format!("{what} may {may} the {verb} of line {}: {why}", earlier.site()),
            access: what.into(),
            earlier: Some(Earlier { at: earlier, access: verb.into() }),
        }
    }
}

/// The verb for a thread's access.
fn verb_of(earlier: Epoch, wrote: bool) -> &'static str {
    match (wrote, earlier.is_atomic()) {
        (_, true) => "atomic",
        (true, _) => "store",
        (false, _) => "load",
    }
}

#[derive(Clone, Copy)]
enum Memory {
    Global,
    Shared,
}

/// One access by the current thread.
pub struct Request<'a> {
    pub order: &'a Order,
    pub kind: AccessKind,
    pub now: Epoch,
    pub by: &'a Observer,
    /// The name of an asynchronous step.
    pub name: Option<&'static str>,
    /// By the asynchronous proxy.
    pub proxy: bool,
    /// An atomic that acquires.
    pub acquires: bool,
    pub bytes: usize,
    /// The value of a store of a thread: races of equal values are benign.
    pub value: Option<u128>,
}

impl Request<'_> {
    fn verb(&self) -> &'static str {
        match self.kind {
            _ if self.name.is_some() => self.name.unwrap_or_default(),
            AccessKind::Read => "load",
            AccessKind::Write => "store",
            AccessKind::Atomic | AccessKind::AtomicLoad | AccessKind::AtomicStore => "atomic",
        }
    }

    /// The rules it is checked against, given the CTA of shared memory, since when memory has been used and, unless it
    /// always is, defined.
    fn check(&self, cta: Option<u32>, since: u64, written_since: Option<u64>) -> Check<'_> {
        Check {
            order: self.order,
            kind: self.kind,
            now: self.now,
            by: self.by,
            proxy: self.proxy,
            cta,
            // An atomic of a byte is one of the word around it.
            bytes: if self.bytes == 1 { 4 } else { self.bytes as u8 },
            acquires: self.acquires,
            since,
            written_since,
        }
    }
}

struct Span {
    start: u64,
    end: u64,
    /// None of memory that nobody writes.
    shadow: Option<Shadow>,
}

pub struct Global {
    /// Known regions, and the span that each lies in: regions that overlap share one.
    regions: Vec<(Region, usize)>,
    /// Regions of unknown extent: their names appear in reports.
    unbounded: Vec<Region>,
    spans: Vec<Span>,
    /// Whether addresses elsewhere may be read and written.
    elsewhere: (bool, bool),
    /// The region found last.
    last: usize,
    uninitialized: bool,
    forbid_same_value: bool,
    pub same_value_stores: u64,
    pub undo: Undo,
}

impl Global {
    /// With `undo`, overwritten bytes are kept.
    pub fn new(regions: &[Region], options: &Options, undo: bool) -> Self {
        let known = |r: &&Region| r.bytes != Region::UNKNOWN;
        let unknown = || regions.iter().filter(|r| !known(r));
        let mut bounds: Vec<(u64, u64)> =
            regions.iter().filter(known).map(|r| (r.start & !15, r.start + r.bytes)).collect();
        bounds.sort_unstable();
        bounds.dedup_by(|next, kept| {
            let joins = next.0 < kept.1 || next.0 == kept.0;
            if joins {
                kept.1 = kept.1.max(next.1);
            }
            joins
        });
        let span_of = |r: &Region| bounds.partition_point(|b| b.0 <= r.start) - 1;
        let is_constant = |span: usize| {
            regions.iter().filter(known).filter(|r| span_of(r) == span).all(|r| r.initialized && !r.mutable)
        };
        let shadow = |span: usize, bytes: u64| (!is_constant(span)).then(|| Shadow::new(bytes as usize, options.races));
        Global {
            regions: regions.iter().filter(known).map(|r| (r.clone(), span_of(r))).collect(),
            spans: (0..)
                .zip(&bounds)
                .map(|(i, &(start, end))| Span { start, end, shadow: shadow(i, end - start) })
                .collect(),
            unbounded: unknown().cloned().collect(),
            elsewhere: (unknown().next().is_some(), unknown().any(|r| r.mutable)),
            last: 0,
            uninitialized: options.uninitialized,
            forbid_same_value: options.forbid_same_value_stores,
            same_value_stores: 0,
            undo: Undo::new(undo.then_some(regions.len())),
        }
    }

    /// Checks an access. An access that passes may be executed.
    #[inline]
    pub fn check(&mut self, addr: u64, r: &Request<'_>) -> Result<(), Fault> {
        if !addr.is_multiple_of(r.bytes as u64) {
            return Err(Fault::new(
                Kind::Misaligned,
                format!("{} of {} bytes at {}", r.verb(), r.bytes, self.describe(addr)),
            ));
        }
        let Some(region) = self.find(addr, r)? else {
            if r.kind.writes() {
                // SAFETY: by the contract of the launch these bytes can be read.
                unsafe { self.undo.keep_elsewhere(addr, r.bytes) };
            }
            return Ok(());
        };
        let (region, span) = &self.regions[region];
        let span = &mut self.spans[*span];
        let Some(shadow) = &mut span.shadow else { return Ok(()) };
        let written_since = (!region.initialized && self.uninitialized).then_some(1);
        let check = r.check(None, 1, written_since);
        let (forbid, benign) = (self.forbid_same_value, &mut self.same_value_stores);
        let tolerate = || {
            // SAFETY: `find` has found all of the bytes in a region, which is memory that the launch may read.
            let same = !forbid && unsafe { r.value == Some(read(addr as *const u8, r.bytes)) };
            *benign += same as u64;
            same
        };
        match shadow.access((addr - span.start) as usize, r.bytes, &check, tolerate) {
            Ok(()) => {
                if r.kind.writes() {
                    // SAFETY: the region is memory that the launch may read.
                    unsafe { self.undo.keep(self.last, region, addr, r.bytes) };
                }
                Ok(())
            }
            Err(race) => Err(self.fault(race, addr, r)),
        }
    }

    /// The number of the region; nothing where addresses are not checked.
    #[inline]
    fn find(&mut self, addr: u64, r: &Request<'_>) -> Result<Option<usize>, Fault> {
        let writes = r.kind.writes();
        let holds =
            |g: &Region| addr >= g.start && addr - g.start < g.bytes && g.bytes - (addr - g.start) >= r.bytes as u64;
        if let Some((g, _)) = self.regions.get(self.last)
            && holds(g)
            && (g.mutable || !writes)
        {
            return Ok(Some(self.last));
        }
        if let Some(i) = self.regions.iter().position(|(g, _)| holds(g) && (g.mutable || !writes)) {
            self.last = i;
            return Ok(Some(i));
        }
        let read_only = self.regions.iter().any(|(g, _)| holds(g));
        if !read_only && (if writes { self.elsewhere.1 } else { self.elsewhere.0 }) && !self.overlaps(addr, r.bytes) {
            return Ok(None);
        }
        let kind = if read_only { Kind::ReadOnly } else { Kind::GlobalOutOfBounds };
        Err(Fault::new(kind, format!("{} of {} bytes at {}", r.verb(), r.bytes, self.describe(addr))))
    }

    /// Whether memory at this address may be read before the previous launch has ended.
    pub fn is_pdl(&self, addr: u64) -> bool {
        let here = |g: &&Region| addr >= g.start && addr - g.start < g.bytes;
        let mut at = self.regions.iter().map(|(g, _)| g).filter(here).peekable();
        at.peek().is_some() && at.all(|g| g.pdl)
    }

    fn overlaps(&self, addr: u64, bytes: usize) -> bool {
        self.spans.iter().any(|s| addr < s.end && s.start < addr + bytes as u64)
    }

    fn fault(&self, race: RaceKind, addr: u64, r: &Request<'_>) -> Fault {
        let what = format!("{} of {} bytes at {}", r.verb(), r.bytes, self.describe(addr));
        match race {
            RaceKind::Uninitialized => Fault::new(Kind::GlobalUninitialized, what),
            RaceKind::Unordered { earlier, wrote } => Fault::race(Kind::GlobalRace, &what, earlier, wrote, r),
            RaceKind::Unfenced { earlier, wrote } => Fault::unfenced(&what, earlier, wrote, r, Memory::Global),
        }
    }

    /// An address as an element of the nearest parameter, and how many elements that has: `` `x[61]` (61 elements) ``.
    pub fn describe(&self, addr: u64) -> String {
        let distance = |g: &Region| match g.bytes {
            Region::UNKNOWN => g.start.abs_diff(addr),
            bytes => g.start.saturating_sub(addr).max(addr.saturating_sub(g.start + bytes.max(1) - 1)),
        };
        let known = self.regions.iter().map(|(g, _)| g);
        let Some(g) = known.chain(&self.unbounded).min_by_key(|g| distance(g)) else {
            return "an address outside every parameter".into();
        };
        let (bytes, element) = (i128::from(addr) - i128::from(g.start), i128::from(g.element.max(1)));
        let inside = match bytes.rem_euclid(element) {
            0 => String::new(),
            byte => format!("byte {byte} of "),
        };
        let extent = match g.bytes {
            Region::UNKNOWN => String::new(),
            bytes => format!(" ({} elements)", i128::from(bytes) / element),
        };
        format!("{inside}`{}[{}]`{extent}", g.name, bytes.div_euclid(element))
    }
}

/// Up to 16 bytes, little-endian.
///
/// # Safety
/// They can be read.
#[inline]
pub unsafe fn read(p: *const u8, bytes: usize) -> u128 {
    let mut v = [0; 16];
    // SAFETY: the caller lets `bytes` be read, and `v` has room for the 16 that the range takes at most.
    unsafe { p.copy_to_nonoverlapping(v[..bytes].as_mut_ptr(), bytes) };
    u128::from_le_bytes(v)
}

/// Writes the low bytes of `v`, up to 16, little-endian.
///
/// # Safety
/// They can be written.
#[inline]
pub unsafe fn write(p: *mut u8, bytes: usize, v: u128) {
    let v = v.to_le_bytes();
    // SAFETY: the caller lets `bytes` be written, and `v` has the 16 that the range takes at most.
    unsafe { p.copy_from_nonoverlapping(v[..bytes].as_ptr(), bytes) };
}

/// The dynamic shared memory of a CTA, of one program at a time. A later program finds its contents, as on hardware.
pub struct Shared {
    cta: u32,
    data: Vec<u128>,
    bytes: usize,
    shadow: Shadow,
    uninitialized: bool,
    forbid_same_value: bool,
    pub same_value_stores: u64,
}

impl Shared {
    pub fn new(cta: u32, bytes: u32, options: &Options) -> Self {
        let words = (bytes as usize).div_ceil(16);
        Shared {
            cta,
            data: vec![u128::from_ne_bytes([0xa5; 16]); words],
            bytes: bytes as usize,
            shadow: Shadow::new(words * 16, options.races),
            uninitialized: options.uninitialized,
            forbid_same_value: options.forbid_same_value_stores,
            same_value_stores: 0,
        }
    }

    /// The last write to some bytes other than `initial`.
    pub fn overwritten(&self, off: u32, bytes: u32, initial: Epoch) -> Option<Epoch> {
        (off..off + bytes).map(|at| self.shadow.written(at as usize)).find(|&s| s != initial)
    }

    /// Checks an access; where to carry it out.
    #[inline]
    pub fn check(&mut self, off: u32, r: &Request<'_>, program_start: u64) -> Result<*mut u8, Fault> {
        let at = off as usize;
        let place = SharedAddress { cta: self.cta, off };
        let what = || format!("{} of {} bytes at {}", r.verb(), r.bytes, r.order.cluster.address(place));
        if at + r.bytes > self.bytes {
            return Err(Fault::new(Kind::SharedOutOfBounds, format!("{} of {}", what(), self.bytes)));
        }
        if !at.is_multiple_of(r.bytes) {
            return Err(Fault::new(Kind::Misaligned, what()));
        }
        // SAFETY: `at + r.bytes` is at most `self.bytes`, which `data` has, by the check above.
        let place = unsafe { self.data.as_mut_ptr().cast::<u8>().add(at) };
        let written_since = self.uninitialized.then_some(program_start);
        let check = r.check(Some(self.cta), program_start, written_since);
        let (forbid, benign) = (self.forbid_same_value, &mut self.same_value_stores);
        let tolerate = || {
            // SAFETY: `place` has `r.bytes` bytes in `data`, which nothing else borrows.
            let same = !forbid && unsafe { r.value == Some(read(place, r.bytes)) };
            *benign += same as u64;
            same
        };
        match self.shadow.access(at, r.bytes, &check, tolerate) {
            Ok(()) => Ok(place),
            Err(RaceKind::Uninitialized) => Err(Fault::new(Kind::SharedUninitialized, what())),
            Err(RaceKind::Unordered { earlier, wrote }) => {
                Err(Fault::race(Kind::SharedRace, &what(), earlier, wrote, r))
            }
            Err(RaceKind::Unfenced { earlier, wrote }) => {
                Err(Fault::unfenced(&what(), earlier, wrote, r, Memory::Shared))
            }
        }
    }
}
