//! The lock protocols of the runtime under every interleaving of a few threads.
//!
//! What a protocol calls on the driver is here a number that is counted.

/// What the protocols have in the place of the primitives of `std`.
mod sync {
    pub use loom::sync::atomic::AtomicU64;
    pub use loom::sync::{Mutex, MutexGuard};
}
// What the end of a context takes has no other thread.
#[allow(dead_code)]
#[path = "../../src/joins.rs"]
mod joins;
#[path = "../../src/marks.rs"]
mod marks;

mod joined;
mod marked;
mod stream;
