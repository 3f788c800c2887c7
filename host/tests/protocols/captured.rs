//! Captures of a stream beside calls that must stay out of them.

use crate::beside;
use crate::captures::Captures;
use loom::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::Arc;

/// A stream, and whether it is captured.
struct Stream {
    captures: Captures,
    captured: AtomicBool,
}

impl Stream {
    fn new() -> Arc<Stream> {
        Arc::new(Stream { captures: Captures::new(), captured: AtomicBool::new(false) })
    }

    fn begin(&self) -> Option<()> {
        self.captures.begin(|| assert!(!self.captured.swap(true, SeqCst), "two captures of one stream"))
    }

    fn end(&self) {
        self.captures.end(|| assert!(self.captured.swap(false, SeqCst), "no capture to end"));
    }

    /// A capture that ends at once.
    fn capture(&self) -> Option<()> {
        self.begin()?;
        self.end();
        Some(())
    }

    /// The driver's answer.
    fn is_captured(&self) -> bool {
        self.captured.load(SeqCst)
    }

    fn not_captured(&self) -> Result<(), ()> {
        if self.is_captured() { Err(()) } else { Ok(()) }
    }
}

#[test]
fn a_call_that_holds_captures_stays_out_of_them() {
    for swapped in [false, true] {
        loom::model(move || {
            let s = Stream::new();
            let (one, two) = (Arc::clone(&s), Arc::clone(&s));
            let capture = move || one.capture().expect("nobody keeps captures out");
            let copy = move || {
                let _hold = two.captures.hold();
                let before = two.is_captured();
                // Where the copy is enqueued after the question, the answer still holds.
                assert_eq!(two.is_captured(), before);
            };
            beside(swapped, capture, copy);
        });
    }
}

/// A launch holds nothing: it asks afterwards whether it may be a part of a capture.
#[test]
fn a_launch_in_a_capture_is_noticed() {
    for swapped in [false, true] {
        loom::model(move || {
            let s = Stream::new();
            let (one, two) = (Arc::clone(&s), Arc::clone(&s));
            let capture = move || one.capture().expect("nobody keeps captures out");
            let launch = move || {
                let (begun, captured) = (two.captures.begun(), two.is_captured());
                // The launch itself.
                let became_a_node = two.is_captured();
                let noticed = captured || two.captures.may_have_begun(begun);
                assert!(noticed || !became_a_node);
            };
            beside(swapped, capture, launch);
        });
    }
}

#[test]
fn captures_of_other_threads_are_kept_out_between_calls() {
    for swapped in [false, true] {
        loom::model(move || {
            let s = Stream::new();
            let (one, two) = (Arc::clone(&s), Arc::clone(&s));
            let capture = move || {
                one.capture();
            };
            let tune = move || {
                let Ok(kept_out) = two.captures.keep_out(|| two.not_captured()) else { return };
                // Two calls, neither of which holds captures.
                assert!(!two.is_captured());
                assert!(!two.is_captured());
                // A capture of the thread itself may begin.
                two.capture().expect("its own");
                drop(kept_out);
            };
            beside(swapped, capture, tune);
            assert!(s.begin().is_some(), "nobody keeps captures out any more");
        });
    }
}

/// Each thread that keeps captures out does so until its own result is dropped.
#[test]
fn two_threads_keep_captures_out() {
    loom::model(|| {
        let s = Stream::new();
        let (one, two) = (Arc::clone(&s), Arc::clone(&s));
        let other = loom::thread::spawn(move || {
            drop(two.captures.keep_out(|| two.not_captured()).expect("no capture"));
        });
        let kept_out = one.captures.keep_out(|| one.not_captured()).expect("no capture");
        other.join().unwrap();
        one.capture().expect("its own: the other thread keeps out no more");
        let third = Arc::clone(&s);
        let begins = loom::thread::spawn(move || third.begin().is_some());
        assert!(!begins.join().unwrap(), "this thread still keeps captures out");
        drop(kept_out);
        assert!(s.begin().is_some(), "nobody keeps captures out any more");
    });
}
