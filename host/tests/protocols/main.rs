//! The lock protocols of the runtime under every interleaving of a few threads.
//!
//! A protocol's calls to the driver are counters here.

/// The replacements of the primitives of `std` in the protocols.
mod sync {
    pub use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
    pub use loom::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub use loom::thread::{self, ThreadId};
}
/// Host memory, which no stream has here.
mod memory {
    pub struct Memory;
}
#[allow(dead_code)]
#[path = "../../src/blocks.rs"]
mod blocks;
#[path = "../../src/captures.rs"]
mod captures;
#[allow(dead_code)]
#[path = "../../src/joins.rs"]
mod joins;
#[allow(dead_code)]
#[path = "../../src/leases.rs"]
mod leases;
#[path = "../../src/marks.rs"]
mod marks;
#[allow(dead_code)]
#[path = "../../src/owners.rs"]
mod owners;

mod captured;
mod joined;
mod leased;
mod marked;
mod stream;

/// Two threads beside each other. If they share atomics, a test runs with either of them in the new thread: loom
/// remembers the last access alone, so that a load by the thread that stores next hides the other's load from it.
fn beside(swapped: bool, one: impl FnOnce() + 'static, two: impl FnOnce() + 'static) {
    let (one, two): (Box<dyn FnOnce()>, Box<dyn FnOnce()>) = (Box::new(one), Box::new(two));
    let (there, here) = if swapped { (two, one) } else { (one, two) };
    let other = loom::thread::spawn(there);
    here();
    other.join().unwrap();
}
