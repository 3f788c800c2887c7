//! The limits of a kernel and its launch.

/// The greatest number of argument words of a kernel. A slice takes 2, a view of rank R takes 1 + 2 R, a pointer or a
/// scalar 1.
pub const MAX_ARGUMENT_WORDS: usize = 128;
/// The number of argument words up to which a call allocates nothing.
pub const INLINE_ARGUMENT_WORDS: usize = 40;
/// The greatest number of dimensions of a tile. Views have three at most.
pub const MAX_RANK: usize = 5;
/// The greatest number of slices, views and pointers of a kernel.
pub const MAX_BUFFERS: usize = 32;
