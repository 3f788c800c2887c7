//! Other owners of streams beside a random program: they keep to the contract of [`Stream::from_raw`], and to no more.

use super::{driver, hand_made};
use core::ffi::c_void;
use tilewright_runtime::{Buffer, KernelDesc, Result, Runtime, Stream};

const LEN: usize = 33;

/// A stream of another owner, who destroys it in any state.
pub struct Owned(usize);

impl Owned {
    /// `flags` as of `cuStreamCreate`.
    pub fn new(rt: &Runtime, flags: u32) -> core::result::Result<Owned, String> {
        // A context is current once the runtime was used on the thread.
        rt.synchronize().map_err(|e| e.to_string())?;
        let mut raw = core::ptr::null_mut();
        // SAFETY: room for the handle.
        match unsafe { driver::create_stream(&mut raw, flags) } {
            0 => Ok(Owned(raw as usize)),
            code => Err(format!("the other owner gets no stream: {code}")),
        }
    }

    pub fn raw(&self) -> *mut c_void {
        self.0 as *mut c_void
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and named by nobody any more. It destroys the stream where it gives an error, too.
        unsafe { driver::destroy_stream(self.raw()) };
    }
}

/// Buffers are used on a stream that is destroyed right after them, or scratch of the stream is.
pub fn brief(rt: &Runtime, k: &'static KernelDesc, scratch: bool) -> Result<()> {
    let Ok(owned) = Owned::new(rt, 1) else { return Ok(()) };
    // SAFETY: the stream is destroyed after its names, and all buffers that it uses are dropped before them.
    let s = unsafe { Stream::from_raw(rt, owned.raw()) }?;
    let x = rt.zeros::<f32>(LEN)?;
    if scratch {
        let mut y = s.scratch::<f32>(LEN)?;
        let done = rt.launch_on(&s, hand_made::call(k, &x, &mut y));
        drop(y);
        // SAFETY: it is only read.
        let zeros = unsafe { s.zeroed_scratch::<f32>(LEN) };
        drop(x);
        done.and(zeros.map(|_| ()))
    } else {
        let mut y: Buffer<f32> = rt.alloc(LEN)?;
        let done = rt.launch_on(&s, hand_made::call(k, &x, &mut y));
        drop((x, y));
        done
    }
}

/// A stream that waits for the default stream, and is captured as long as this value is.
pub struct Blocked(Owned);

impl Blocked {
    pub fn new(rt: &Runtime) -> Option<Blocked> {
        const RELAXED: i32 = 2;
        let stream = Owned::new(rt, 0).ok()?;
        // SAFETY: a live stream.
        (unsafe { driver::begin_capture(stream.raw(), RELAXED) } == 0).then(|| Blocked(stream))
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        let mut graph = 0;
        // SAFETY: the stream is captured since `new`; nobody has the graph.
        unsafe {
            // If it fails, there is no graph.
            if driver::end_capture(self.0.raw(), &mut graph) == 0 {
                driver::destroy_graph(graph);
            }
        }
    }
}
