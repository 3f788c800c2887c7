//! Forks of the process. A forked child has one thread, and every lock that another thread held stays locked in it.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// Grows by at least one in each forked child.
static GENERATION: AtomicU64 = AtomicU64::new(0);
static REGISTERED: AtomicBool = AtomicBool::new(false);

thread_local!(static SURVIVED: Cell<bool> = const { Cell::new(false) });

/// A number that differs between a process and the children that it forks later.
#[inline]
pub fn generation() -> u64 {
    if !REGISTERED.load(Ordering::Acquire) {
        register();
    }
    GENERATION.load(Ordering::Relaxed)
}

/// Whether the calling thread is the only one that a fork has left in a child. There, a wait for the parent's other
/// threads never ends.
pub fn survived() -> bool {
    generation();
    SURVIVED.get()
}

/// Two threads may register at the same time: a child then counts twice, which is as good as once.
#[cold]
fn register() {
    #[cfg(unix)]
    {
        extern "C" fn in_child() {
            GENERATION.fetch_add(1, Ordering::Relaxed);
            SURVIVED.set(true);
        }
        // SAFETY: the handler touches an atomic and a thread-local that needs no destructor. The C library removes it
        // when this library is unloaded. Without memory for it the next call tries again.
        if unsafe { libc::pthread_atfork(None, None, Some(in_child)) } != 0 {
            return;
        }
    }
    REGISTERED.store(true, Ordering::Release);
}

/// A value that every process makes for itself: a forked child makes another one, because the parent's may be locked,
/// or may belong to threads that the child does not have. The inherited value stays allocated in the child and is not
/// dropped there.
pub struct PerProcess<T> {
    slot: AtomicPtr<Slot<T>>,
    owns: PhantomData<OnceLock<T>>,
}

struct Slot<T> {
    generation: u64,
    value: OnceLock<T>,
}

impl<T> PerProcess<T> {
    /// No value yet.
    pub const fn new() -> Self {
        PerProcess { slot: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
    }

    /// This process's value, made where it is not there yet. Threads that ask meanwhile wait for the first one.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.current().value.get_or_init(make)
    }

    /// This process's value, where it was made.
    pub fn get(&self) -> Option<&T> {
        self.current().value.get()
    }

    fn current(&self) -> &Slot<T> {
        let now = generation();
        let mut seen = self.slot.load(Ordering::Acquire);
        loop {
            // SAFETY: null, or from `Box::into_raw` below. A slot that was published is freed in `drop` alone.
            if let Some(slot) = unsafe { seen.as_ref() }
                && slot.generation == now
            {
                return slot;
            }
            let new = Box::into_raw(Box::new(Slot { generation: now, value: OnceLock::new() }));
            match self.slot.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: published just now; as above.
                Ok(_) => return unsafe { &*new },
                Err(other) => {
                    // SAFETY: made above, and never published.
                    drop(unsafe { Box::from_raw(new) });
                    seen = other;
                }
            }
        }
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let slot = *self.slot.get_mut();
        // SAFETY: null, or a published slot, to which no reference is left. One of another generation is a parent's.
        unsafe {
            if slot.as_ref().is_some_and(|s| s.generation == generation()) {
                drop(Box::from_raw(slot));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn a_value_is_made_once_and_dropped_once() {
        static DROPPED: AtomicU32 = AtomicU32::new(0);
        struct Counts(u32);
        impl Drop for Counts {
            fn drop(&mut self) {
                DROPPED.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (value, made) = (PerProcess::new(), AtomicU32::new(0));
        assert!(value.get().is_none());
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| assert_eq!(value.get_or_init(|| Counts(made.fetch_add(1, Ordering::Relaxed))).0, 0));
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 1);
        drop(value);
        assert_eq!(DROPPED.load(Ordering::Relaxed), 1);
    }
}
