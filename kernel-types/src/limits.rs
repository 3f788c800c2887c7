//! The sizes that a kernel and its launch stay within.

/// Argument words of a kernel. A slice takes 2, a view of rank R takes 1 + 2 R, a pointer or a scalar 1.
pub const MAX_SLOTS: usize = 40;
/// Slices, views and pointers of a kernel.
pub const MAX_BUFFERS: usize = 12;
