//! The emulated SM: runs lowered, thread-level code on the host, one fiber per thread, and reports what is wrong with it.

pub(crate) mod step;
