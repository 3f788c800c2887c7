//! Calls of the driver that a capture of the calling thread would refuse.

use super::api::Api;

/// Loading allocates, which a thread that captures must say it means.
pub(crate) struct Relaxed<'a> {
    api: &'a Api,
    mode: i32,
}

impl<'a> Relaxed<'a> {
    pub(crate) fn new(api: &'a Api) -> Self {
        let mut mode = 2; // relaxed
        // SAFETY: it exchanges a number that is the calling thread's.
        unsafe { (api.thread_exchange_capture_mode)(&mut mode) };
        Relaxed { api, mode }
    }
}

impl Drop for Relaxed<'_> {
    fn drop(&mut self) {
        // SAFETY: it exchanges a number that is the calling thread's.
        unsafe { (self.api.thread_exchange_capture_mode)(&mut self.mode) };
    }
}
