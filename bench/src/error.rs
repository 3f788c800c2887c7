//! Errors of declaring, measuring, reading and writing.

use std::io;
use std::path::{Path, PathBuf};

/// The result of this crate's functions. [`Error`] has an example.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of a benchmark as a whole. A line that fails at one point is an [`Outcome`](crate::Outcome) instead.
///
/// # Examples
/// ```
/// use tilewright_bench::{Axis, Error, Settings, Sweep, measure};
///
/// let empty = Sweep::new("nothing", Axis::log("n", []));
/// let rt = tilewright::Runtime::cpu();
/// let refused = measure(&rt, "example", &[empty], &Settings::default(), &mut |_| {});
/// assert!(matches!(refused, Err(Error::Sweep { sweep, why }) if sweep == "nothing" && why.contains("no values")));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The runtime's own.
    #[error(transparent)]
    Runtime(#[from] tilewright_runtime::Error),
    /// A sweep is declared in a way that cannot be measured.
    #[error("the sweep `{sweep}` {why}")]
    Sweep {
        /// Its name.
        sweep: String,
        /// The rest of the sentence.
        why: String,
    },
    /// The runtime is an emulated SM.
    #[error("the time of the emulated SM says nothing about a GPU's: use --backend cuda or cpu")]
    Emulator,
    /// A file or folder cannot be read or written.
    #[error("{doing} {}: {source}", .path.display())]
    File {
        /// As in `reading`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file has wrong contents.
    #[error("{}: {why}", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The mistake, with its line and column if it is in JSON.
        why: String,
    },
    /// Two runs cannot be compared.
    #[error("the runs cannot be compared: {0}")]
    Incomparable(String),
    /// An option does not go with another, or with the runtime.
    #[error("{0}")]
    Option(String),
    /// A figure cannot be drawn.
    #[error("drawing {0}")]
    Drawing(String),
}

impl Error {
    pub(crate) fn file(doing: &'static str, path: &Path, source: io::Error) -> Error {
        Error::File { doing, path: path.into(), source }
    }

    pub(crate) fn content(path: &Path, why: impl ToString) -> Error {
        Error::Content { path: path.into(), why: why.to_string() }
    }
}
