//! One fiber per thread of a program, on stacks that are kept for the next launch.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Go on; after a program's end: run the next program.
    Run,
    Leave,
}

pub type Suspend = Yielder<Command, ()>;
type Fiber = Coroutine<Command, (), (), DefaultStack>;

/// The threads of a launch. Between programs each waits for the next one.
pub struct Fibers {
    fibers: Vec<Fiber>,
    stack_bytes: usize,
}

/// Stacks of one size, for the launches of one host thread.
#[derive(Default)]
struct Pool {
    bytes: usize,
    free: Vec<DefaultStack>,
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

impl Fibers {
    /// `body(thread, suspend)` runs one program's part of a thread; it is told first how to suspend.
    pub fn new(
        threads: u32,
        stack_bytes: usize,
        body: impl Fn(u32, *const Suspend) + Copy + 'static,
    ) -> std::io::Result<Self> {
        let stack = || match POOL.with_borrow_mut(|p| if p.bytes == stack_bytes { p.free.pop() } else { None }) {
            Some(stack) => Ok(stack),
            None => DefaultStack::new(stack_bytes),
        };
        let mut fibers = Vec::with_capacity(threads as usize);
        for thread in 0..threads {
            fibers.push(Coroutine::with_stack(stack()?, move |suspend: &Suspend, first| {
                let mut command = first;
                while command == Command::Run {
                    body(thread, suspend);
                    command = suspend.suspend(());
                }
            }));
        }
        Ok(Fibers { fibers, stack_bytes })
    }

    /// Runs a thread until it suspends; its panic, if that is how it ended.
    #[inline]
    pub fn resume(&mut self, thread: u32) -> Result<(), Box<dyn Any + Send>> {
        let fiber = &mut self.fibers[thread as usize];
        catch_unwind(AssertUnwindSafe(|| {
            fiber.resume(Command::Run);
        }))
    }

    /// Ends threads that all wait for a next program.
    pub fn finish(mut self) {
        for mut fiber in self.fibers.drain(..) {
            if !fiber.started() || fiber.resume(Command::Leave) == CoroutineResult::Return(()) {
                recycle(fiber, self.stack_bytes);
            }
        }
    }
}

/// Threads of a launch that failed are anywhere in their code: their stacks are unwound, or dropped as they are where
/// panics abort.
impl Drop for Fibers {
    fn drop(&mut self) {
        for mut fiber in self.fibers.drain(..) {
            if cfg!(panic = "abort") {
                // SAFETY: what is on the stack leaks; nothing outside refers to it.
                unsafe { fiber.force_reset() };
            } else {
                fiber.force_unwind();
            }
            recycle(fiber, self.stack_bytes);
        }
    }
}

fn recycle(fiber: Fiber, stack_bytes: usize) {
    if !fiber.done() {
        return;
    }
    POOL.with_borrow_mut(|p| {
        if p.bytes != stack_bytes {
            *p = Pool { bytes: stack_bytes, free: Vec::new() };
        }
        p.free.push(fiber.into_stack());
    });
}
