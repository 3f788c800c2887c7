//! The limits of a kernel and its launch.

/// The maximum number of argument words of a kernel. A slice takes 2, a view of rank R takes 1 + 2 R, a pointer or a
/// scalar 1.
pub const MAX_ARGUMENT_WORDS: usize = 128;
/// The number of argument words up to which a call allocates nothing.
pub const INLINE_ARGUMENT_WORDS: usize = 40;
/// The greatest number of dimensions of a tile and of a view.
pub const MAX_RANK: usize = 5;
/// The maximum number of slices, views and pointers of a kernel.
pub const MAX_BUFFERS: usize = 32;
/// The greatest number of tensor maps of a kernel. The launcher passes them behind the argument words.
pub const MAX_TENSOR_MAPS: usize = 8;
/// The greatest number of dimensions of a tensor map.
pub const MAX_TENSOR_MAP_RANK: usize = 5;
/// The greatest shared memory of a thread block on sm_90, in bytes.
pub const MAX_SHARED_BYTES_SM90: usize = 227 << 10;
