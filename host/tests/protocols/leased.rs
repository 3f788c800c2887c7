//! Scratch memory: its leases, and the contents that a launch finds in it.

use crate::beside;
use crate::blocks::{Block, Blocks};
use crate::leases::{Leases, Used};
use loom::sync::atomic::AtomicBool;
use loom::thread;
use std::any::Any;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

const BYTES: u64 = 256;

struct Stream {
    blocks: Blocks,
    leased: AtomicBool,
}

/// A context treats its memory as `Scratch` and `Borrowed` do. State outside of the protocols has locks of `std`, at
/// which loom does not switch threads.
struct Context {
    leases: Leases,
    allocated: AtomicU64,
    /// The memory of all leases.
    held: Mutex<BTreeSet<u64>>,
    /// Blocks of launches that its stream does not wait for.
    lost: Mutex<BTreeSet<u64>>,
}

struct Scratch {
    context: Arc<Context>,
    stream: Arc<Stream>,
    ptr: u64,
}

impl Stream {
    fn new() -> Arc<Stream> {
        Arc::new(Stream { blocks: Blocks::new(), leased: AtomicBool::new(false) })
    }

    fn lease(self: &Arc<Self>, context: &Arc<Context>) -> Scratch {
        let ptr = self.blocks.reuse(BYTES, false).unwrap_or_else(|| {
            self.trim(context, BYTES);
            let ptr = context.allocated.fetch_add(1, Relaxed) * BYTES;
            let block = Block { ptr, bytes: BYTES, zeroed: false, leased: true, defined: false, host: None };
            self.blocks.add(block);
            ptr
        });
        self.hold(context, ptr, None)
    }

    /// Scratch of a capture is not kept.
    fn lease_in(self: &Arc<Self>, context: &Arc<Context>, capture: u64) -> Scratch {
        let ptr = context.allocated.fetch_add(1, Relaxed) * BYTES;
        self.hold(context, ptr, Some(capture))
    }

    fn hold(self: &Arc<Self>, context: &Arc<Context>, ptr: u64, capture: Option<u64>) -> Scratch {
        assert!(context.held.lock().unwrap().insert(ptr), "the memory of a lease is leased again");
        assert!(!context.lost.lock().unwrap().contains(&ptr), "memory is leased in no order with its last use");
        let owner: Arc<dyn Any + Send + Sync> = self.clone();
        context.leases.begin(ptr..ptr + BYTES, Arc::downgrade(&owner), &self.leased, capture);
        Scratch { context: context.clone(), stream: self.clone(), ptr }
    }

    fn trim(&self, context: &Context, coming: u64) {
        self.blocks.trim(coming, |ptr| {
            assert!(!context.held.lock().unwrap().contains(&ptr), "the memory of a lease is freed");
        });
    }
}

impl Context {
    fn new() -> Arc<Context> {
        let (held, lost) = (Mutex::default(), Mutex::default());
        Arc::new(Context { leases: Leases::new(), allocated: AtomicU64::new(0), held, lost })
    }

    /// A launch. Its stream waits for that of the scratch, which waits for the launch unless the driver refuses.
    fn launch(&self, on: &Stream, scratch: &Scratch, refused: bool) {
        let used = match self.leases.are_of_one(&on.leased) {
            true => vec![],
            false => self.leases.find(|l| l.addresses.contains(&scratch.ptr).then_some(l.owner.as_ptr())),
        };
        let owner = Arc::as_ptr(&scratch.stream);
        if !std::ptr::eq(on, owner) {
            assert!(
                used.len() == 1 && std::ptr::addr_eq(used[0], owner),
                "a launch does not find whose scratch it uses"
            );
        }
        if refused {
            self.lost.lock().unwrap().insert(scratch.ptr);
            self.leases.lose_order(scratch.ptr);
        }
    }

    fn drop_stream(&self, s: &Stream) {
        self.leases.leave(&s.leased);
        s.blocks.take();
    }

    fn has_leases(&self) -> bool {
        !self.leases.are_of_one(&AtomicBool::new(false))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let ordered = self.context.leases.end(self.ptr) == Used::InOrder;
        self.context.held.lock().unwrap().remove(&self.ptr);
        match ordered {
            true => self.stream.blocks.give_back(self.ptr, false),
            false => self.stream.blocks.give_up(self.ptr),
        }
    }
}

/// Two threads contend for a block that is free.
#[test]
fn memory_has_one_lease() {
    for free in [false, true] {
        loom::model(move || {
            let (context, a, b) = (Context::new(), Stream::new(), Stream::new());
            if free {
                drop(a.lease(&context));
            }
            let (c, there) = (context.clone(), a.clone());
            let other = thread::spawn(move || drop(there.lease(&c)));
            let scratch = a.lease(&context);
            context.launch(&b, &scratch, false);
            drop(scratch);
            other.join().unwrap();
            // However many threads begin at once, the stream counts once.
            assert!(context.has_leases());
            context.drop_stream(&a);
            assert!(!context.has_leases());
        });
    }
}

#[test]
fn memory_of_a_lease_is_not_freed() {
    loom::model(|| {
        let (context, a) = (Context::new(), Stream::new());
        drop([a.lease(&context), a.lease(&context)]);
        let (c, there) = (context.clone(), a.clone());
        let other = thread::spawn(move || {
            there.trim(&c, u64::MAX);
            drop(there.lease(&c));
        });
        drop(a.lease(&context));
        drop(a.lease(&context));
        other.join().unwrap();
    });
}

#[test]
fn memory_is_not_leased_where_its_order_is_lost() {
    loom::model(|| {
        let (context, a, b) = (Context::new(), Stream::new(), Stream::new());
        let kept = a.lease(&context);
        let (c, there) = (context.clone(), (a.clone(), b.clone()));
        let other = thread::spawn(move || {
            let scratch = there.0.lease(&c);
            c.launch(&there.1, &scratch, true);
            drop(scratch);
            drop(there.0.lease(&c));
        });
        drop(kept);
        let again = a.lease(&context);
        context.launch(&b, &again, false);
        other.join().unwrap();
    });
}

/// The stream of the launch leases for the first time meanwhile.
#[test]
fn a_launch_finds_the_scratch_of_another_stream() {
    for (swapped, capture) in [(false, None), (true, None), (false, Some(1)), (true, Some(1))] {
        loom::model(move || {
            let (context, a, b) = (Context::new(), Stream::new(), Stream::new());
            let scratch = match capture {
                None => a.lease(&context),
                Some(capture) => a.lease_in(&context, capture),
            };
            let (c, there) = (context.clone(), b.clone());
            beside(swapped, move || drop(there.lease(&c)), move || context.launch(&b, &scratch, false));
        });
    }
}

/// Others lease, also in captures, and are dropped.
#[test]
fn a_launch_finds_scratch_while_other_streams_are_dropped() {
    for (swapped, leased) in [(false, false), (true, false), (false, true), (true, true)] {
        loom::model(move || {
            let (context, a, b) = (Context::new(), Stream::new(), Stream::new());
            let scratch = Arc::new(a.lease(&context));
            if leased {
                drop(b.lease(&context));
            }
            let c = context.clone();
            let come_and_go = move || {
                let (leases, captures, neither) = (Stream::new(), Stream::new(), Stream::new());
                drop((leases.lease(&c), captures.lease_in(&c, 1)));
                [leases, captures, neither].iter().for_each(|s| c.drop_stream(s));
            };
            let (c, there, used) = (context.clone(), b.clone(), scratch.clone());
            beside(swapped, come_and_go, move || c.launch(&there, &used, false));
            context.launch(&b, &scratch, false);
            drop(scratch);
            [a, b].iter().for_each(|s| context.drop_stream(s));
            assert!(!context.has_leases());
        });
    }
}
