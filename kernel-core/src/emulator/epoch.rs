//! The number of an access: when it was, by whom, and on which line.

/// The most threads that the machine tells apart. Hardware takes more.
pub const MAX_CLUSTER_THREADS: u32 = 4096;

/// An access: its time, its thread and its line. Zero is no access.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Epoch(u64);

const SITE_BITS: u32 = 16;
const THREAD_BITS: u32 = 14;
const ATOMIC: u64 = 1 << (SITE_BITS + THREAD_BITS);
/// The first number that is not a thread's but an asynchronous agent's.
pub const ASYNC: u32 = MAX_CLUSTER_THREADS;
/// The first that does not fit.
pub const ACTORS: u32 = 1 << THREAD_BITS;

impl Epoch {
    pub const NEVER: Epoch = Epoch(0);

    #[inline]
    pub fn new(time: u64, atomic: bool, thread: u32, site: u32) -> Self {
        let atomic = if atomic { ATOMIC } else { 0 };
        let site = site.min((1 << SITE_BITS) - 1) as u64;
        Epoch(time << (SITE_BITS + THREAD_BITS + 1) | atomic | (thread as u64) << SITE_BITS | site)
    }

    #[inline]
    pub fn time(self) -> u64 {
        self.0 >> (SITE_BITS + THREAD_BITS + 1)
    }

    #[inline]
    pub fn is_atomic(self) -> bool {
        self.0 & ATOMIC != 0
    }

    #[inline]
    pub fn thread(self) -> u32 {
        (self.0 >> SITE_BITS) as u32 & ((1 << THREAD_BITS) - 1)
    }

    /// Agents count as warps of their own.
    #[inline]
    pub fn warp(self) -> u32 {
        if self.is_async() { self.thread() } else { self.thread() / 32 }
    }

    #[inline]
    pub fn is_async(self) -> bool {
        self.thread() >= ASYNC
    }

    pub fn site(self) -> u32 {
        self.0 as u32 & ((1 << SITE_BITS) - 1)
    }
}
