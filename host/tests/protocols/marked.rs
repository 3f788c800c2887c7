//! The marks of one stream.

use crate::stream::Stream;
use loom::sync::atomic::{AtomicU64, Ordering::SeqCst};
use loom::thread;
use std::sync::Arc;

/// A free of memory that `work` pieces of work may use.
fn free_after(s: &Stream, work: u64) {
    if s.join().is_ok() {
        s.free(work);
    }
}

#[test]
fn two_threads_that_free_both_wait_for_the_work() {
    loom::model(|| {
        let s = Stream::new();
        s.launch();
        let there = s.clone();
        let other = thread::spawn(move || free_after(&there, 1));
        free_after(&s, 1);
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
            free_after(&there, 2);
        });
        free_after(&s, 1);
        other.join().unwrap();
        free_after(&s, 2);
    });
}

#[test]
fn work_counts_as_waited_for_only_where_the_wait_was_enqueued() {
    loom::model(|| {
        let s = Stream::new();
        s.launch();
        s.refuse(true);
        let there = s.clone();
        let other = thread::spawn(move || free_after(&there, 1));
        free_after(&s, 1);
        other.join().unwrap();
        free_after(&s, 1);
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
        free_after(&s, 1);
        s.marks.leave();
        s.destroy();
        s.marks.mark();
        s.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn work_is_noted_or_waited_for() {
    for refused in [false, true] {
        loom::model(move || {
            let (s, noted) = (Stream::new(), Arc::new(AtomicU64::new(0)));
            s.launch();
            s.refuse(refused);
            let there = s.clone();
            let other = thread::spawn(move || {
                there.launch();
                let _ = there.join();
            });
            let note = || {
                s.note(|work| {
                    noted.fetch_max(work, SeqCst);
                })
            };
            if note().is_ok() {
                let known = noted.load(SeqCst).max(s.waited());
                assert!(known >= 1, "the stream's first work is in no event");
            }
            other.join().unwrap();
            note().unwrap();
            assert_eq!(noted.load(SeqCst).max(s.waited()), 2);
        });
    }
}

#[test]
fn a_stream_that_has_left_is_not_noted() {
    loom::model(|| {
        let s = Stream::new();
        s.launch();
        let there = s.clone();
        let other = thread::spawn(move || there.note(|_| ()).unwrap());
        s.marks.leave();
        s.destroy();
        other.join().unwrap();
    });
}
