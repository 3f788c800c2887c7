//! The errors of candle and of tilewright in one type.

use candle_core::Error;
use tilewright::ViewError;

/// Why an operation has not run: an error of candle or of tilewright. `?` converts both.
///
/// # Examples
/// ```
/// use tilewright_candle::{Failure, LaunchResult};
///
/// fn launch() -> LaunchResult {
///     Err(candle_core::Error::RequiresContiguous { op: "softmax" })?
/// }
/// assert!(matches!(launch(), Err(Failure::Candle(candle_core::Error::RequiresContiguous { .. }))));
/// ```
#[derive(Debug)]
pub enum Failure {
    /// An error of candle.
    Candle(Error),
    /// An error of tilewright.
    Tilewright(tilewright::Error),
}

/// The result of a launch. [`Failure`] has an example.
pub type LaunchResult<T = ()> = Result<T, Failure>;

impl Failure {
    /// The error that candle's functions return for the operation `op`.
    ///
    /// An error of tilewright becomes [`Error::WrappedContext`], whose `wrapped` is the [`tilewright::Error`].
    ///
    /// # Examples
    /// ```
    /// use candle_core::Error;
    /// use tilewright_candle::Failure;
    ///
    /// let failure = Failure::from(tilewright::Error::NoEmulator);
    /// assert!(matches!(failure.into_candle("softmax"), Error::WrappedContext { .. }));
    /// ```
    pub fn into_candle(self, op: &'static str) -> Error {
        match self {
            Failure::Candle(e) => e,
            Failure::Tilewright(e) => Error::WrappedContext { wrapped: Box::new(e), context: op.into() },
        }
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        Failure::Candle(e)
    }
}

impl From<tilewright::Error> for Failure {
    fn from(e: tilewright::Error) -> Self {
        Failure::Tilewright(e)
    }
}

impl From<ViewError> for Failure {
    fn from(e: ViewError) -> Self {
        Failure::Tilewright(e.into())
    }
}
