//! One fiber per thread of a program, on stacks that are kept for the next launch.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::overflow::Watch;

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
    /// The lowest address of each one's stack.
    lowest: Vec<usize>,
    stack_bytes: usize,
    watch: Watch,
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
        kernel: &'static str,
        threads: u32,
        stack_bytes: usize,
        body: impl Fn(u32, *const Suspend) + Copy + 'static,
    ) -> std::io::Result<Self> {
        let stack = || match POOL.with_borrow_mut(|p| if p.bytes == stack_bytes { p.free.pop() } else { None }) {
            Some(stack) => Ok(stack),
            None => DefaultStack::new(stack_bytes).inspect(in_small_pages),
        };
        let (mut fibers, mut lowest) = (Vec::with_capacity(threads as usize), Vec::with_capacity(threads as usize));
        for thread in 0..threads {
            let stack = stack()?;
            lowest.push(stack.limit().get());
            fibers.push(Coroutine::with_stack(stack, move |suspend: &Suspend, first| {
                let mut command = first;
                while command == Command::Run {
                    body(thread, suspend);
                    command = suspend.suspend(());
                }
            }));
        }
        Ok(Fibers { fibers, lowest, stack_bytes, watch: Watch::new(kernel, stack_bytes) })
    }

    /// Runs a thread until it suspends; its panic, if that is how it ended.
    #[inline]
    pub fn resume(&mut self, thread: u32) -> Result<(), Box<dyn Any + Send>> {
        let fiber = &mut self.fibers[thread as usize];
        self.watch.guard(self.lowest[thread as usize]);
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
                // SAFETY: the values on the stack leak; nothing outside refers to them.
                unsafe { fiber.force_reset() };
            } else {
                fiber.force_unwind();
            }
            recycle(fiber, self.stack_bytes);
        }
    }
}

/// Memory is taken page by page as a thread comes to use it: a stack may be large, and thousands of them cost address
/// space alone. Huge pages would give each thread at least 2 MiB.
fn in_small_pages(stack: &DefaultStack) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is the stack's own mapping; the advice changes nothing of its contents.
    unsafe {
        let (low, high) = (stack.limit().get(), stack.base().get());
        libc::madvise(low as *mut libc::c_void, high - low, libc::MADV_NOHUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = stack;
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
