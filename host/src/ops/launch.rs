//! Where an operation's launches go.

use super::samples::Samples;
use crate::choose::Tunable;
use crate::error::Result;
use crate::launch::{LaunchOptions, Pdl};
use crate::runtime::Runtime;
use crate::stream::Stream;
use crate::tuner::Report;
use crate::tuner::measure::Output;
use std::cell::RefCell;
use tilewright_core::{Call, ConfigDesc, KernelDesc};

/// A kernel and one of its configurations.
pub type Pin = (&'static KernelDesc, &'static ConfigDesc);

/// The kernels that were tuned on the way, and what was found.
pub type Tuned = RefCell<Vec<(&'static KernelDesc, Report)>>;

/// Where to run: a [`Runtime`], on its default stream, or an [`On`].
///
/// # Safety
/// Operations size scratch memory of unchecked kernels by what this says: `runtime`, `stream` and `num_sms` give the same
/// each time, the stream is the runtime's, and `num_sms` is that of its device unless nothing is launched.
///
/// Safe code cannot claim so:
/// ```compile_fail,E0200
/// struct Few(tilewright_runtime::Runtime);
/// impl tilewright_runtime::ops::Launch for Few {
///     fn runtime(&self) -> &tilewright_runtime::Runtime { &self.0 }
///     fn num_sms(&self) -> usize { 1 }
/// }
/// ```
pub unsafe trait Launch {
    fn runtime(&self) -> &Runtime;

    fn stream(&self) -> &Stream {
        self.runtime().stream()
    }

    /// The configuration to take for one of the kernels, instead of the tuner's.
    fn pin(&self) -> Option<Pin> {
        None
    }

    /// Whether an element-wise output may be the very memory of an input.
    fn in_place(&self) -> bool {
        false
    }

    /// Multiprocessors of the device.
    fn num_sms(&self) -> usize {
        self.runtime().device().num_sms as usize
    }

    /// Where to put reports: every kernel is then tuned on its first launch here.
    fn tuned(&self) -> Option<&Tuned> {
        None
    }

    /// Where to put the times of plans: an operation that has several runs all of them.
    fn samples(&self) -> Option<&Samples> {
        None
    }

    /// Whether operations load their code and get their scratch memory, and enqueue nothing.
    fn preparing(&self) -> bool {
        false
    }

    /// Enqueues one call.
    fn launch(&self, call: Call<'_>) -> Result<()> {
        self.launch_as(call, LaunchOptions { allow_exact_alias: self.in_place(), ..Default::default() })
    }

    /// The same, where it may begin before the launch in front of it has ended.
    ///
    /// # Safety
    /// As of [`Pdl::allowed`].
    #[doc(hidden)]
    unsafe fn launch_early(&self, call: Call<'_>) -> Result<()> {
        // SAFETY: the caller's contract.
        let pdl = unsafe { Pdl::allowed() };
        self.launch_as(call, LaunchOptions { allow_exact_alias: self.in_place(), pdl, ..Default::default() })
    }

    /// The same, with all that can be said but the configuration, which is the pinned one.
    #[doc(hidden)]
    fn launch_as(&self, mut call: Call<'_>, mut options: LaunchOptions) -> Result<()> {
        let desc = call.desc();
        let pinned = self.pin().filter(|(k, _)| core::ptr::eq(*k, desc)).map(|(_, c)| c.id);
        let config = pinned.or(options.config);
        if self.preparing() {
            return self.runtime().load(self.stream(), &call, &LaunchOptions { config, ..options });
        }
        if let Some(tuned) = self.tuned()
            && config.is_none()
            && !tuned.borrow().iter().any(|(k, _)| core::ptr::eq(*k, desc))
        {
            let report = self.runtime().tune(self.stream(), call.reborrow())?;
            tuned.borrow_mut().push((desc, report));
            options.pdl = Pdl::default();
        }
        self.runtime().launch_with(self.stream(), call, &LaunchOptions { config, ..options })
    }

    /// [`Runtime::choose_among`] on this stream; while preparing the candidate that a capture would take.
    #[doc(hidden)]
    fn choose_among(&self, op: &Tunable, outputs: &[Output], run: impl FnMut(usize) -> Result<()>) -> Result<usize> {
        self.runtime().choose_or_measure(self.stream(), op, outputs, !self.preparing(), run)
    }
}

// SAFETY: all of it is the runtime's own.
unsafe impl Launch for Runtime {
    fn runtime(&self) -> &Runtime {
        self
    }
}

/// A runtime and more to say: a stream, a pinned configuration.
#[derive(Clone, Copy, Debug)]
pub struct On<'a> {
    rt: &'a Runtime,
    stream: &'a Stream,
    pin: Option<Pin>,
    in_place: bool,
    tuned: Option<&'a Tuned>,
    samples: Option<&'a Samples>,
    preparing: bool,
}

impl<'a> On<'a> {
    /// The runtime's default stream.
    pub fn new(rt: &'a Runtime) -> Self {
        On { rt, stream: rt.stream(), pin: None, in_place: false, tuned: None, samples: None, preparing: false }
    }

    /// A stream of that runtime.
    pub fn stream(self, stream: &'a Stream) -> Self {
        On { stream, ..self }
    }

    /// Takes this configuration wherever the operation launches this kernel; an operation that has several kernels for
    /// one job takes this one.
    pub fn pin(self, pin: Option<Pin>) -> Self {
        On { pin, ..self }
    }

    /// Lets the output of an element-wise operation be one of its inputs, as callers with raw pointers may have it.
    pub fn in_place(self) -> Self {
        On { in_place: true, ..self }
    }

    /// Measures the configurations of every kernel that is launched, once for each, and keeps the reports.
    pub fn tuning(self, reports: &'a Tuned) -> Self {
        On { tuned: Some(reports), ..self }
    }

    /// Runs all plans of an operation that has several, and keeps their times. Nothing is decided by them.
    pub fn sampling(self, samples: &'a Samples) -> Self {
        On { samples: Some(samples), ..self }
    }

    /// With `true` operations are prepared: arguments are checked, code is loaded, scratch memory is allocated on the
    /// stream, and nothing is enqueued or measured. Outputs are not written. An operation that was prepared loads
    /// nothing in a capture of the same arguments.
    pub fn preparing(self, on: bool) -> Self {
        On { preparing: on, ..self }
    }
}

// SAFETY: all of it is the runtime's own, or a stream that every launch compares with the runtime.
unsafe impl Launch for On<'_> {
    fn runtime(&self) -> &Runtime {
        self.rt
    }

    fn stream(&self) -> &Stream {
        self.stream
    }

    fn pin(&self) -> Option<Pin> {
        self.pin
    }

    fn in_place(&self) -> bool {
        self.in_place
    }

    fn tuned(&self) -> Option<&Tuned> {
        self.tuned
    }

    fn samples(&self) -> Option<&Samples> {
        self.samples
    }

    fn preparing(&self) -> bool {
        self.preparing
    }
}

/// A configuration whose operands tensor maps copy, of those that the emulator has.
#[cfg(test)]
pub(super) fn emulated_with_maps(desc: &'static KernelDesc) -> Pin {
    let config = desc.configs.iter().find(|c| c.variants.iter().any(|v| v.emulated.is_some() && !v.maps.is_empty()));
    (desc, config.expect("one is emulated"))
}
