//! One error type. Each message names the remedy.

use tilewright_core::DType;

/// The result of a collective operation.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime};
/// use tilewright_collectives::{Reduction, Result, World};
///
/// fn total(world: &World, x: &mut Buffer<f32>) -> Result<Vec<f32>> {
///     world.all_reduce(world.runtime().stream(), &mut *x, Reduction::Sum)?;
///     Ok(x.to_vec()?)
/// }
/// let rt = Runtime::cpu();
/// let mut x = Buffer::from_slice(&rt, &[1.0f32, 2.0])?;
/// assert_eq!(total(&World::alone(&rt), &mut x)?, [1.0, 2.0]);
/// # Ok::<(), tilewright_collectives::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a collective operation.
///
/// Unless the variant says otherwise, the call has sent and written nothing. More variants may be added.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime};
/// use tilewright_collectives::{Error, World};
///
/// let rt = Runtime::cpu();
/// let (world, x) = (World::alone(&rt), Buffer::from_slice(&rt, &[1.0f32, 2.0])?);
/// let mut y = Buffer::<f32>::zeros(&rt, 3)?;
/// let e = world.all_gather(rt.stream(), &x, &mut y).unwrap_err();
/// assert!(matches!(e, Error::Length { .. }));
/// assert_eq!(e.to_string(), "all_gather: 2 elements of 1 rank go to 3: pass an output of 2 elements");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the runtime: memory of another device, a stream of another runtime, the driver's.
    #[error(transparent)]
    Runtime(#[from] tilewright_runtime::Error),

    /// The library is not here, or it lacks a function.
    #[error("no {library} here: {why}. Install it with `{install}`{path}")]
    NoLibrary {
        /// `NCCL` or `MPI`.
        library: &'static str,
        /// The names that were tried, and the loader's message.
        why: String,
        /// The command that installs it.
        install: &'static str,
        /// The variable that names a file, as a part of the message.
        path: &'static str,
    },

    /// The environment does not say which rank this process is, or has impossible values.
    #[error("the environment of this process: {why}")]
    Environment {
        /// The variable, and its values.
        why: String,
    },

    /// The processes did not find each other.
    #[error("rank {rank} of {size} at {address}: {why}")]
    Rendezvous {
        /// This process.
        rank: usize,
        /// How many processes there are.
        size: usize,
        /// The address of the rendezvous.
        address: String,
        /// The failure, or the number of processes that came.
        why: String,
    },

    /// The lengths of input and output do not fit together. Of a receive on MPI: another number of elements came, and
    /// they are written.
    #[error("{operation}: {why}")]
    Length {
        /// The operation.
        operation: &'static str,
        /// The lengths, and the one to pass.
        why: String,
    },

    /// There is no such rank.
    #[error("{operation}: there is no rank {rank}: ranks are 0..{size}")]
    NoRank {
        /// The operation.
        operation: &'static str,
        /// The rank as it was passed.
        rank: usize,
        /// How many ranks there are.
        size: usize,
    },

    /// A color that is no non-negative 32-bit number.
    #[error("split: the color {color} is not below 2147483648: pass a smaller one")]
    Color {
        /// The color as it was passed.
        color: u32,
    },

    /// A rank waits for itself.
    #[error("{operation}: rank {rank} is this process, which would wait for itself: use send_receive with it twice")]
    Itself {
        /// The operation.
        operation: &'static str,
        /// This process.
        rank: usize,
    },

    /// Elements of this type are not sent: a rank that sends bytes to `bool` could make a value that is none.
    #[error("{operation}: elements of {} are not sent: pass them as u8", .element.name())]
    ElementType {
        /// The operation.
        operation: &'static str,
        /// The type.
        element: DType,
    },

    /// Input and output share memory.
    #[error("{operation}: the output shares memory with the input: pass other memory")]
    Overlap {
        /// The operation.
        operation: &'static str,
    },

    /// The library takes fewer elements in one call.
    #[error("{operation}: {len} elements are more than the {max} that MPI takes in one call: pass parts of them")]
    TooLong {
        /// The operation.
        operation: &'static str,
        /// Elements of the longer argument.
        len: usize,
        /// The limit.
        max: usize,
    },

    /// The library is too old, lacks a needed function, or is in a state that does not allow the call.
    #[error("{library}: {why}")]
    Unsupported {
        /// The library with its version.
        library: String,
        /// The missing function or the state, with the remedy if there is one.
        why: String,
    },

    /// A call of the library failed. Other ranks may have sent and received. The communicator cannot be used any more,
    /// and the process ends: its launcher then ends the others.
    #[error("{call} of {library} failed: {message} (code {code}). End the process: its launcher ends the other ranks")]
    Call {
        /// `NCCL` or `MPI`.
        library: &'static str,
        /// The function.
        call: &'static str,
        /// Its result.
        code: i32,
        /// The library's message.
        message: String,
    },
}

/// The loader's message, which is the cause of its error.
pub(crate) fn of_loader(e: &libloading::Error) -> String {
    std::error::Error::source(e).map_or_else(|| e.to_string(), |cause| cause.to_string())
}
