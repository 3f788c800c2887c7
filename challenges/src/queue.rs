//! The runtime and the stream of operations.

use tilewright::{Call, Result, Runtime, Scratch, Stream};

/// The target of an operation: a [`Runtime`], on its default stream, or a runtime and a stream of it, `(&Runtime,
/// &Stream)`.
///
/// # Examples
/// Code that counts its launches:
/// ```
/// use std::cell::Cell;
/// use tilewright::{Call, Result, Runtime, Stream};
/// use tilewright_challenges::{Queue, silu};
///
/// struct Counting(Runtime, Cell<u32>);
///
/// impl Queue for Counting {
///     fn stream(&self) -> &Stream {
///         self.0.stream()
///     }
///     fn num_sms(&self) -> usize {
///         self.0.num_sms()
///     }
///     fn launch(&self, call: Call<'_>) -> Result<()> {
///         self.1.set(self.1.get() + 1);
///         self.0.launch(call)
///     }
/// }
///
/// let queue = Counting(Runtime::cpu(), Cell::new(0));
/// silu(&queue, &[0.0f32], &mut [9.0])?;
/// assert_eq!(queue.1.get(), 1);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub trait Queue {
    /// The stream that launches go to.
    fn stream(&self) -> &Stream;

    /// Multiprocessors of the device.
    fn num_sms(&self) -> usize;

    /// Enqueues one call.
    fn launch(&self, call: Call<'_>) -> Result<()>;
}

impl Queue for Runtime {
    fn stream(&self) -> &Stream {
        Runtime::stream(self)
    }

    fn num_sms(&self) -> usize {
        self.device().num_sms
    }

    fn launch(&self, call: Call<'_>) -> Result<()> {
        Runtime::launch(self, call)
    }
}

impl Queue for (&Runtime, &Stream) {
    fn stream(&self) -> &Stream {
        self.1
    }

    fn num_sms(&self) -> usize {
        self.0.device().num_sms
    }

    fn launch(&self, call: Call<'_>) -> Result<()> {
        self.0.launch_on(self.1, call)
    }
}

/// The workspace of a reduction or a scan over all programs: a word for each program, and the counter of programs that
/// have begun.
pub(crate) struct Workspace {
    pub words: Scratch<u64>,
    pub counter: Scratch<u32>,
}

impl Workspace {
    /// No kernel here starts more programs on a multiprocessor.
    const PER_SM: usize = 16;

    pub fn new(on: &impl Queue) -> Result<Workspace> {
        Self::of_words(on, Self::PER_SM * on.num_sms().max(1))
    }

    /// For programs that look back.
    pub fn of_words(on: &impl Queue, words: usize) -> Result<Workspace> {
        let stream = on.stream();
        // SAFETY: the programs of our kernels that take these put them back, the last one to arrive or to look back.
        Ok(unsafe { Workspace { words: stream.zeroed_scratch(words)?, counter: stream.zeroed_scratch(1)? } })
    }
}
