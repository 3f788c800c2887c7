//! The stack that a call runs on: the thread's, or one of this library's where the thread has too little left.

use corosensei::stack::DefaultStack;
use std::cell::{Cell, RefCell};
use std::io;

/// The least stack that a call runs on: kernels on the CPU keep arrays there, and the driver may compile.
const MIN_STACK_BYTES: usize = 1 << 20;
/// The size of a stack that this library makes. Its pages are mapped as they are touched.
const STACK_BYTES: usize = 8 << 20;

thread_local! {
    /// The begin and the end of the thread's stack; zeros until the first query.
    static BOUNDS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static STACK: RefCell<Option<DefaultStack>> = const { RefCell::new(None) };
}

/// Runs `f`, which does not panic. Errors: there is no memory for a stack; `f` was not run then.
pub(crate) fn with_room<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    if left().is_some_and(|bytes| bytes >= MIN_STACK_BYTES) {
        return Ok(f());
    }
    let kept = STACK.try_with(|s| s.borrow_mut().take()).ok().flatten();
    let mut stack = kept.map_or_else(|| DefaultStack::new(STACK_BYTES), Ok).map_err(|e| no_stack(&e))?;
    let result = corosensei::on_stack(&mut stack, f);
    let _ = STACK.try_with(|s| *s.borrow_mut() = Some(stack));
    Ok(result)
}

#[cold]
fn no_stack(e: &io::Error) -> String {
    let has = left().map_or("an unknown rest of its stack".into(), |bytes| format!("{bytes} bytes of stack"));
    format!(
        "the calling thread has {has} left, a call needs {MIN_STACK_BYTES}, and a stack of {STACK_BYTES} bytes cannot be mapped ({e}): \
         give the thread a larger stack, or free memory"
    )
}

/// Bytes between here and the end of the thread's stack; `None` where the thread is on another one, as coroutines are,
/// or where it cannot be told.
fn left() -> Option<usize> {
    let (start, end) = match BOUNDS.try_with(Cell::get).ok()? {
        (0, 0) => {
            let bounds = bounds()?;
            let _ = BOUNDS.try_with(|b| b.set(bounds));
            bounds
        }
        known => known,
    };
    let here = 0u8;
    let here = core::hint::black_box(&raw const here) as usize;
    (start..end).contains(&here).then(|| here - start)
}

#[cfg(target_os = "linux")]
fn bounds() -> Option<(usize, usize)> {
    let mut attributes = core::mem::MaybeUninit::uninit();
    let (mut start, mut size) = (core::ptr::null_mut(), 0);
    // SAFETY: the attributes are those of the calling thread, initialized by the first call and destroyed by the last.
    let found = unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let found = libc::pthread_attr_getstack(attributes.as_ptr(), &mut start, &mut size) == 0;
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        found
    };
    found.then_some((start as usize, start as usize + size))
}

#[cfg(not(target_os = "linux"))]
fn bounds() -> Option<(usize, usize)> {
    None
}
