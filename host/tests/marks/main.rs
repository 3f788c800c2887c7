//! The lock protocol of stream marks under every interleaving of a few threads.
//!
//! A stream is a number of enqueued pieces of work. The default stream's wait covers what was enqueued when it was
//! made.

/// What `marks.rs` has in the place of the primitives of `std`.
mod sync {
    pub use loom::sync::Mutex;
    pub use loom::sync::atomic::AtomicU64;
}
#[path = "../../src/marks.rs"]
mod marks;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use loom::thread;
use marks::Marks;

struct Stream {
    marks: Marks,
    /// Pieces of work on the stream, and of those how many the default stream waits for.
    work: AtomicU64,
    waited: AtomicU64,
    /// Those that an event is behind.
    noted: AtomicU64,
    /// The driver refuses the next wait.
    refuses: AtomicBool,
    gone: AtomicBool,
}

impl Stream {
    fn new() -> Arc<Stream> {
        Arc::new(Stream {
            marks: Marks::new(),
            work: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            noted: AtomicU64::new(0),
            refuses: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        })
    }

    fn launch(&self) {
        self.work.fetch_add(1, SeqCst);
        self.marks.mark();
    }

    fn join(&self) -> Result<(), ()> {
        self.marks.join(|| {
            assert!(!self.gone.load(SeqCst), "a wait names a stream that is destroyed");
            if self.refuses.swap(false, SeqCst) {
                return Err(());
            }
            let work = self.work.load(SeqCst);
            self.waited.fetch_max(work, SeqCst);
            Ok(())
        })
    }

    fn note(&self) -> Result<(), ()> {
        self.marks.note(|| {
            assert!(!self.gone.load(SeqCst), "an event names a stream that is destroyed");
            if self.refuses.swap(false, SeqCst) {
                return Err(());
            }
            self.noted.fetch_max(self.work.load(SeqCst), SeqCst);
            Ok(())
        })
    }

    /// A free of memory that `work` pieces of work may use.
    fn free_after(&self, work: u64) {
        if self.join().is_ok() {
            let waited = self.waited.load(SeqCst);
            assert!(waited >= work, "freed behind {waited} of {work} pieces of work");
        }
    }
}

#[test]
fn two_threads_that_free_both_wait_for_the_work() {
    loom::model(|| {
        let s = Stream::new();
        s.launch();
        let there = s.clone();
        let other = thread::spawn(move || there.free_after(1));
        s.free_after(1);
        other.join().unwrap();
    });
}

#[test]
fn a_thread_that_launches_meanwhile_is_waited_for_by_its_own_free() {
    loom::model(|| {
        let s = Stream::new();
        s.launch();
        let there = s.clone();
        let other = thread::spawn(move || {
            there.launch();
            there.free_after(2);
        });
        s.free_after(1);
        other.join().unwrap();
        s.free_after(2);
    });
}

#[test]
fn work_counts_as_waited_for_only_where_the_wait_was_enqueued() {
    loom::model(|| {
        let s = Stream::new();
        s.launch();
        s.refuses.store(true, SeqCst);
        let there = s.clone();
        let other = thread::spawn(move || there.free_after(1));
        s.free_after(1);
        other.join().unwrap();
        s.free_after(1);
    });
}

#[test]
fn a_stream_that_has_left_is_not_named() {
    loom::model(|| {
        let s = Stream::new();
        s.launch();
        let there = s.clone();
        let other = thread::spawn(move || {
            let _ = there.join();
        });
        s.free_after(1);
        s.marks.leave();
        s.gone.store(true, SeqCst);
        s.marks.mark();
        s.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn work_is_noted_or_waited_for() {
    for refused in [false, true] {
        loom::model(move || {
            let s = Stream::new();
            s.launch();
            s.refuses.store(refused, SeqCst);
            let there = s.clone();
            let other = thread::spawn(move || {
                there.launch();
                let _ = there.join();
            });
            if s.note().is_ok() {
                let known = s.noted.load(SeqCst).max(s.waited.load(SeqCst));
                assert!(known >= 1, "the stream's first work is in no event");
            }
            other.join().unwrap();
            s.note().unwrap();
            assert_eq!(s.noted.load(SeqCst).max(s.waited.load(SeqCst)), 2);
        });
    }
}

#[test]
fn a_stream_that_has_left_is_not_noted() {
    loom::model(|| {
        let s = Stream::new();
        s.launch();
        let there = s.clone();
        let other = thread::spawn(move || there.note().unwrap());
        s.marks.leave();
        s.gone.store(true, SeqCst);
        other.join().unwrap();
    });
}
