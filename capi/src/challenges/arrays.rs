//! The common part of challenge operations: their arrays, their runtime and their stream.

use crate::at::At;
use crate::guard::{Failure, Result};
use crate::memory::{Array, int};
use core::ffi::c_int;
use core::ops::Range;
use tilewright_challenges::Queue;
use tilewright_core::{Call, DeviceId, Element, SliceArg, SliceMutArg};
use tilewright_ops::{ExecOptions, Executor};
use tilewright_runtime::Stream;

/// The device and the stream of a call.
pub(super) struct CallOptions<'a>(&'a ExecOptions<'a>);

impl<'a> CallOptions<'a> {
    /// For an operation of the library.
    pub fn options(&self) -> &'a ExecOptions<'a> {
        self.0
    }
}

impl Queue for CallOptions<'_> {
    fn stream(&self) -> &Stream {
        Executor::stream(self.0)
    }

    fn num_sms(&self) -> usize {
        Executor::num_sms(self.0)
    }

    fn launch(&self, call: Call<'_>) -> tilewright_runtime::Result<()> {
        Executor::launch(self.0, call)
    }
}

/// An argument: its name, its address, and how many elements it has.
pub(super) type Input<'a, T> = (&'a str, *const T, usize);
pub(super) type Output<'a, T> = (&'a str, *mut T, usize);

/// Runs an operation there. Its outputs have so many elements; without any nothing is done.
pub(super) fn run(
    elements: usize,
    run: impl FnOnce(&CallOptions, DeviceId) -> tilewright_runtime::Result<()>,
) -> Result<()> {
    At::Thread.run(elements, |on, device| run(&CallOptions(on), device))
}

/// Runs an operation of inputs of one type and an output that overlaps none of them; with `in_place` it may be one of
/// them.
///
/// # Safety
/// As of [`Array::new`].
pub(super) unsafe fn operate<T: Element, U: Element, const I: usize>(
    inputs: [Input<T>; I],
    (name, output, len): Output<U>,
    in_place: bool,
    operation: impl FnOnce(&CallOptions, [SliceArg<T>; I], SliceMutArg<U>) -> tilewright_runtime::Result<()>,
) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    let mut arrays = Vec::with_capacity(I);
    for (name, input, n) in inputs {
        // SAFETY: the caller's contract.
        arrays.push((
            unsafe { Array::new(name, input, n) }?,
            in_place && input.cast() == output.cast_const() && n == len,
        ));
    }
    // SAFETY: the caller's contract.
    let y = unsafe { Array::new(name, output.cast_const(), len) }?;
    for (x, is_output) in &arrays {
        if !is_output {
            y.apart(x)?;
        }
    }
    run(len, |on, device| {
        let inputs = core::array::from_fn(|i| arrays[i].0.input(device));
        operation(on, inputs, y.output(device))
    })
}

/// Of nothing a sum has a value, where there is a place for it.
pub(super) fn one<T>(elements: usize, output: *mut T) -> usize {
    usize::from(elements > 0 || !output.is_null())
}

/// The places from `start` to `end`, that one included, of `n`.
pub(super) fn inclusive(
    (name, start): (&str, c_int),
    (end_name, end): (&str, c_int),
    n: usize,
) -> Result<Range<usize>> {
    let (first, end) = (int(name, start)?, i64::from(end) + 1);
    match usize::try_from(end) {
        Ok(end) if first <= end && end <= n => Ok(first..end),
        _ => Err(Failure::argument(format!(
            "{name} is {start} and {end_name} is {}: these are no places of {n}, in this order",
            end - 1
        ))),
    }
}
