//! The limits of a kernel and its launch.

/// The maximum number of argument words of a kernel. A slice takes 2, a view of rank R takes 1 + 2 R, a pointer or a
/// scalar 1.
pub const MAX_ARGUMENT_WORDS: usize = 128;
/// The number of argument words up to which a call allocates nothing.
pub const INLINE_ARGUMENT_WORDS: usize = 40;
/// The maximum rank of a tile or a view.
pub const MAX_RANK: usize = 5;
/// The maximum number of slices, views and pointers of a kernel.
pub const MAX_BUFFERS: usize = 32;
