//! The functions that `tilewright-ops`, `tilewright-python` and `tilewright-collectives` take beyond the public
//! interface. It may change in every version. All of it but a copy is safe: every launch checks its arguments.

use crate::error::Result;
use crate::runtime::{BackendKind, Runtime};
use crate::stream::Stream;
use crate::tuner::measure::Output;
use crate::tuner::{Report, Source};
use crate::workload::{self, RecordedCall};
use std::path::PathBuf;
use tilewright_core::{Call, RawArg, VariantDesc};

/// The libraries of `tile debug`.
#[cfg(feature = "emulator")]
pub use crate::debug::{DebugLibrary, set_debugger};
/// The traced code of `tile profile --trace`.
pub use crate::trace::{TracedLaunch, Tracer, set_tracer};
/// The key of a result. The planner files its plans beside the results of kernels, in the tuner's files.
pub use crate::tuner::file::File;
/// Sizes rounded as the tuner rounds them: the planner's results have the same buckets.
pub use crate::tuner::key::extent_bucket;
/// Strides told apart as the tuner tells them apart: they change how long TMA takes.
pub use crate::tuner::key::in_sectors;
/// The label of a result in the tuner's files.
pub use crate::tuner::key::kernel_label;
/// A device's name in file names: its model lies beside its tuning results.
pub use crate::tuner::store::device_name;

/// Whether the device can run a variant. The planner predicts the variant that a launch will take; variants are the
/// compiler's, and have no place in the public interface.
pub fn runs(rt: &Runtime, variant: &VariantDesc) -> bool {
    rt.0.runs(variant)
}

/// Whether the device of a runtime can still be used: its context has not been destroyed.
pub fn is_alive(rt: &Runtime) -> bool {
    rt.cuda_context().is_none_or(|c| c.is_alive())
}

/// The configuration that a kernel runs in where nothing is measured: the first that takes the arguments. None on the
/// emulated SM, which has the first one that was built for it.
pub fn first_config(rt: &Runtime, call: &Call) -> Option<&'static str> {
    let desc = call.desc();
    let first = || desc.configs.get(rt.0.first_that_takes(desc, call.words())).map(|c| c.id);
    (rt.kind() != BackendKind::Emulator).then(first).flatten()
}

/// Whether a launch now would measure what nothing is known of. It depends on the backend, and is no setting.
pub fn would_tune(rt: &Runtime) -> bool {
    rt.would_tune()
}

/// The folder of tuning results, where the planner keeps its models: none where nothing is kept, or where the process
/// was forked while another thread set it. [`Runtime::cache_dir`] gives the default folder.
pub fn results_dir(rt: &Runtime) -> Option<PathBuf> {
    rt.0.tuner.dir()
}

/// The measured or shipped result for exactly this key. The planner prefers it to its prediction.
pub fn known(rt: &Runtime, file: &File) -> Option<(String, Source)> {
    rt.0.tuner.known(file)
}

/// The best guess where nothing is known of exactly this key: the planner compares it with its prediction.
pub fn guess(rt: &Runtime, file: &File) -> Option<(String, Source)> {
    rt.0.tuner.guess(file)
}

/// Appends a call of an operation to the file of `TILE_RECORD`, if there is one: the planner decides on it now.
pub fn record(call: impl FnOnce() -> RecordedCall) {
    workload::record(|| Some(call()));
}

/// Measures candidates, whose runs `run` enqueues on `stream`, and keeps the result. It is the tuner's search, among
/// plans, whose number is not known beforehand; [`Runtime::select_among`] is the public form. Once the budget is spent,
/// later candidates are left out.
///
/// The stream is not capturing: measuring allocates and waits. Outputs are as before afterwards. Errors: as
/// [`Runtime::select_among`], and [`Error::Tuning`](crate::Error::Tuning) where no candidate runs.
pub fn measure(
    rt: &Runtime,
    stream: &Stream,
    file: &File,
    candidates: Vec<&str>,
    outputs: &[Output<'_>],
    run: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Report> {
    rt.search_among(stream, file, candidates, outputs, run)
}

/// Copies `from` to `to`, which is as long, on a stream of the runtime, in the order of its launches. Errors: as of
/// [`Stream::external_work`].
///
/// # Safety
/// Both are memory of the extent that they name, as of a launch on the stream, and do not overlap.
pub unsafe fn copy_on(rt: &Runtime, stream: &Stream, from: RawArg<u8>, to: RawArg<u8>) -> Result<()> {
    let bytes = from.extent().unwrap_or(0).min(to.extent().unwrap_or(0));
    stream.external_work(&[from, to], |raw| match rt.cuda_context() {
        Some(cuda) => cuda.copy(to.addr(), from.addr(), bytes as u64, raw.cast()),
        None => {
            // SAFETY: the caller's contract, for memory of the host.
            unsafe { core::ptr::copy_nonoverlapping(from.addr() as *const u8, to.addr() as *mut u8, bytes) };
            Ok(())
        }
    })?
}
