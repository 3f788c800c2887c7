//! The waits of a free: for all streams of a context, and for the work that dropped streams have left.

use crate::joins::Joins;
use crate::owners::Owners;
use crate::stream::Stream;
use loom::sync::atomic::{AtomicU64, Ordering::SeqCst};
use loom::thread;
use std::sync::Arc;

/// As of the runtime.
enum Left {
    Stream(Arc<Stream>),
    /// An event behind the stream's work.
    Work(Arc<Stream>, u64),
}

/// Memory that so many pieces of a stream's work use.
struct Memory(Arc<Stream>, u64);

/// A context treats its streams as `Cuda` and `CudaStream` do.
struct Context {
    joins: Joins<Arc<Stream>, Left, Memory>,
    owners: Owners<Memory>,
    freed: AtomicU64,
    /// The amount of finished work that streams have left.
    ended: AtomicU64,
}

impl Context {
    fn new() -> Arc<Context> {
        Arc::new(Context {
            joins: Joins::new(),
            owners: Owners::new(),
            freed: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        })
    }

    fn stream(&self) -> Arc<Stream> {
        let s = Stream::new();
        self.joins.add(s.clone());
        s
    }

    fn end(&self, left: Left) {
        self.ended.fetch_add(1, SeqCst);
        if let Left::Stream(s) = left {
            s.marks.leave();
            self.joins.remove(|other| Arc::ptr_eq(other, &s));
            s.destroy();
        }
    }

    fn join(&self) -> Result<(), ()> {
        let wait = |left: &[Left], streams: &[Arc<Stream>]| {
            left.iter().try_for_each(|l| match l {
                Left::Stream(_) => Ok(()),
                Left::Work(s, event) => s.wait(*event),
            })?;
            streams.iter().try_for_each(|s| s.join())
        };
        self.joins.join(wait, |l| self.end(l))
    }

    fn release(&self, memory: Memory) {
        let join = || {
            let joined = self.join().is_ok();
            if !joined {
                self.note();
            }
            joined
        };
        self.joins.release(memory, join, |Memory(s, work)| {
            s.free(*work);
            self.freed.fetch_add(1, SeqCst);
            true
        });
    }

    fn note(&self) {
        self.joins.streams().iter().for_each(|s| {
            let _ = s.note(|event| self.joins.leave(Left::Work(s.clone(), event)));
        });
    }

    /// A tensor of another library is dropped.
    fn give_back(&self, memory: Memory) {
        for Memory(s, work) in self.owners.release(Some(memory), || self.join(), || self.note()).unwrap_or_default() {
            s.free(work);
            self.freed.fetch_add(1, SeqCst);
        }
    }

    /// A stream of the library's own is dropped.
    fn drop_own(&self, s: Arc<Stream>) {
        match s.join() {
            Ok(()) => self.end(Left::Stream(s)),
            Err(()) => self.joins.leave(Left::Stream(s)),
        }
    }

    /// A stream that another owner destroys at once is dropped.
    fn drop_foreign(&self, s: &Arc<Stream>) {
        if s.note(|event| self.joins.leave(Left::Work(s.clone(), event))).is_err()
            && (self.joins.has_waiting() || self.owners.are_waiting())
        {
            self.joins.take_waiting();
            self.owners.forget();
        }
        self.end(Left::Stream(s.clone()));
    }
}

/// One has taken the work that is left, and the others find none.
#[test]
fn threads_are_behind_what_a_stream_has_left() {
    loom::model(|| {
        let context = Context::new();
        let s = Stream::new();
        s.launch();
        s.destroy();
        context.joins.leave(Left::Work(s.clone(), 1));
        let others = [(); 2].map(|()| {
            let (c, there) = (context.clone(), s.clone());
            thread::spawn(move || {
                c.join().unwrap();
                there.free(1);
            })
        });
        context.release(Memory(s, 1));
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(context.freed.load(SeqCst), 1);
    });
}

#[test]
fn what_is_left_stays_where_a_wait_fails() {
    for first in [false, true] {
        loom::model(move || {
            let context = Context::new();
            let (gone, s) = (Stream::new(), context.stream());
            gone.launch();
            gone.destroy();
            s.launch();
            context.joins.leave(Left::Work(gone.clone(), 1));
            context.joins.leave(Left::Stream(s.clone()));
            gone.refuse(first);
            s.refuse(!first);
            let (c, there) = (context.clone(), s.clone());
            let other = thread::spawn(move || c.release(Memory(there, 1)));
            context.release(Memory(gone.clone(), 1));
            other.join().unwrap();
            context.release(Memory(s, 1));
            assert_eq!(context.freed.load(SeqCst), 3);
            assert!(context.ended.load(SeqCst) >= 2, "what a stream has left is lost");
        });
    }
}

/// An event is used again once its work is done. Until then a free waits for it.
#[test]
fn an_event_is_taken_when_its_work_is_done() {
    for of_all in [false, true] {
        loom::model(move || {
            let context = Context::new();
            let s = Stream::new();
            s.launch();
            s.destroy();
            context.joins.leave(Left::Work(s.clone(), 1));
            let device = s.clone();
            let device = thread::spawn(move || device.finish());
            let c = context.clone();
            let other = thread::spawn(move || {
                let is_done = |left: &Left| matches!(left, Left::Work(s, event) if s.is_done(*event));
                match of_all {
                    true => drop(c.joins.take_all_done(is_done)),
                    false => drop(c.joins.take_done(|_| true, is_done)),
                }
            });
            context.release(Memory(s, 1));
            device.join().unwrap();
            other.join().unwrap();
            assert_eq!((context.freed.load(SeqCst), context.joins.left()), (1, 0));
        });
    }
}

/// The other thread has looked for streams before this one was there.
#[test]
fn a_stream_that_is_left_at_once_is_waited_for() {
    loom::model(|| {
        let context = Context::new();
        let c = context.clone();
        let other = thread::spawn(move || {
            let _ = c.join();
        });
        let s = context.stream();
        s.launch();
        s.refuse(true);
        context.drop_own(s.clone());
        context.release(Memory(s, 1));
        other.join().unwrap();
        assert_eq!(context.freed.load(SeqCst), 1);
    });
}

#[test]
fn a_stream_that_is_dropped_meanwhile_is_waited_for_and_not_named() {
    for refused in [false, true] {
        loom::model(move || {
            let context = Context::new();
            let s = context.stream();
            s.launch();
            s.refuse(refused);
            let (c, there) = (context.clone(), s.clone());
            let other = thread::spawn(move || c.release(Memory(there, 1)));
            let c = context.clone();
            let third = thread::spawn(move || {
                let _ = c.join();
            });
            context.drop_own(s.clone());
            other.join().unwrap();
            third.join().unwrap();
            context.release(Memory(s, 1));
            assert_eq!(context.freed.load(SeqCst), 2);
        });
    }
}

/// Memory that one thread is to free is freed by the other, whose wait may be older than the last use.
#[test]
fn memory_is_freed_by_a_wait_behind_its_last_use() {
    for refused in [false, true] {
        loom::model(move || {
            let context = Context::new();
            let s = context.stream();
            s.launch();
            s.refuse(refused);
            let (c, there) = (context.clone(), s.clone());
            let other = thread::spawn(move || {
                there.launch();
                c.release(Memory(there, 2));
            });
            context.release(Memory(s.clone(), 1));
            other.join().unwrap();
            context.release(Memory(s, 2));
            assert_eq!(context.freed.load(SeqCst), 3);
        });
    }
}

/// The stream is gone when the default stream can wait.
#[test]
fn the_work_of_a_foreign_stream_outlives_it() {
    loom::model(|| {
        let context = Context::new();
        let s = context.stream();
        s.launch();
        s.refuse(true);
        let c = context.clone();
        let other = thread::spawn(move || {
            let _ = c.join();
        });
        context.release(Memory(s.clone(), 1));
        context.drop_foreign(&s);
        context.release(Memory(s, 1));
        other.join().unwrap();
        assert_eq!(context.freed.load(SeqCst), 2);
    });
}

/// Memory is freed after the stream that uses it is gone, or while it goes.
#[test]
fn a_foreign_stream_that_is_dropped_is_waited_for() {
    for is_dropped_before in [false, true] {
        loom::model(move || {
            let context = Context::new();
            let s = context.stream();
            s.launch();
            let (c, there) = (context.clone(), s.clone());
            let drops = move || c.drop_foreign(&there);
            if is_dropped_before {
                drops();
                context.release(Memory(s, 1));
            } else {
                let other = thread::spawn(drops);
                context.release(Memory(s, 1));
                other.join().unwrap();
            }
            context.release(Memory(Stream::new(), 0));
            assert_eq!(context.freed.load(SeqCst), 2);
        });
    }
}

/// A thread gives tensors back whose wait fails, while another one leaves the stream that uses them. Its work is noted,
/// or they are never given back.
#[test]
fn tensors_stay_where_a_stream_that_uses_them_is_left() {
    for swapped in [false, true] {
        for first_refuses in [false, true] {
            loom::model(move || {
                let context = Context::new();
                let (first, s) = (context.stream(), context.stream());
                first.launch();
                s.launch();
                first.refuse(true);
                s.refuse(first_refuses);
                context.give_back(Memory(s.clone(), 1));
                assert_eq!(context.freed.load(SeqCst), 0, "the wait has failed");
                first.refuse(true);
                let (c, d, there) = (context.clone(), context.clone(), s.clone());
                let gives_back = move || c.give_back(Memory(first.clone(), 1));
                crate::beside(swapped, gives_back, move || d.drop_foreign(&there));
                context.give_back(Memory(Stream::new(), 0));
            });
        }
    }
}
