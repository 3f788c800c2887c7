//! A stream: a number of enqueued pieces of work. An event is the number of pieces that were enqueued when it was made.

use crate::marks::Marks;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::Arc;

pub struct Stream {
    pub marks: Marks,
    /// Pieces of work on the stream, and of those how many the default stream waits for.
    work: AtomicU64,
    waited: AtomicU64,
    /// The pieces that the device has done.
    done: AtomicU64,
    /// The driver refuses the next call.
    refuses: AtomicBool,
    gone: AtomicBool,
}

impl Stream {
    pub fn new() -> Arc<Stream> {
        Arc::new(Stream {
            marks: Marks::new(),
            work: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            done: AtomicU64::new(0),
            refuses: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        })
    }

    pub fn launch(&self) {
        self.work.fetch_add(1, SeqCst);
        self.marks.mark();
    }

    pub fn refuse(&self, refused: bool) {
        self.refuses.store(refused, SeqCst);
    }

    /// An event behind the work.
    fn event(&self) -> u64 {
        assert!(!self.gone.load(SeqCst), "an event names a stream that is destroyed");
        self.work.load(SeqCst)
    }

    /// A call of the driver.
    fn call(&self) -> Result<(), ()> {
        if self.refuses.swap(false, SeqCst) { Err(()) } else { Ok(()) }
    }

    /// The default stream waits for an event.
    pub fn wait(&self, event: u64) -> Result<(), ()> {
        self.call()?;
        self.waited.fetch_max(event, SeqCst);
        Ok(())
    }

    pub fn join(&self) -> Result<(), ()> {
        self.marks.join(|| self.wait(self.event()))
    }

    pub fn waited(&self) -> u64 {
        self.waited.load(SeqCst)
    }

    pub fn note(&self, keep: impl FnOnce(u64)) -> Result<(), ()> {
        self.marks.note(|| {
            let event = self.event();
            self.call()?;
            keep(event);
            Ok(())
        })
    }

    /// The device does all work that there is.
    pub fn finish(&self) {
        self.done.store(self.work.load(SeqCst), SeqCst);
    }

    /// Whether the device has done the work before an event.
    pub fn is_done(&self, event: u64) -> bool {
        self.done.load(SeqCst) >= event
    }

    /// Memory is freed that `work` pieces of work may use.
    pub fn free(&self, work: u64) {
        let waited = self.waited().max(self.done.load(SeqCst));
        assert!(waited >= work, "freed behind {waited} of {work} pieces of work");
    }

    /// From here on no call may name it.
    pub fn destroy(&self) {
        self.gone.store(true, SeqCst);
    }
}
