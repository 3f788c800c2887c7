//! The options of the emulated SM, and the name of a runtime that has them.
//!
//! Without the feature `emulator` there is no value of them, so that no runtime is an emulated one.

#[cfg(feature = "emulator")]
use crate::device::Device;
#[cfg(feature = "emulator")]
pub(crate) use tilewright_core::emulator::Options;

#[cfg(not(feature = "emulator"))]
pub(crate) enum Options {}

/// The options of `SEED` or `SEED:MULTIPROCESSORS`, or of nothing for the default ones.
#[cfg(feature = "emulator")]
pub(crate) fn parse(text: &str) -> Option<Options> {
    let mut options = Options::default();
    let (seed, num_sms) = text.split_once(':').map_or((text, None), |(seed, n)| (seed, Some(n)));
    if !text.is_empty() {
        options.seed = seed.parse().ok()?;
    }
    if let Some(n) = num_sms {
        options.num_sms = n.parse().ok().filter(|n: &u32| *n > 0)? as usize;
    }
    Some(options)
}

/// The name of a runtime with these options, of which [`Runtime::from_name`](crate::Runtime::from_name) makes the same.
#[cfg(feature = "emulator")]
pub(crate) fn name(options: &Options) -> String {
    let all = Options::default().num_sms == options.num_sms;
    let sms = if all { String::new() } else { format!(":{}", options.num_sms) };
    format!("emulator:{}{sms}", options.seed)
}

#[cfg(not(feature = "emulator"))]
pub(crate) fn name(options: &Options) -> String {
    match *options {}
}

/// The emulated device. Runs do not depend on the machine.
#[cfg(feature = "emulator")]
pub(crate) fn device(options: &Options) -> Device {
    Device { num_sms: options.num_sms, ..Device::host("emulator") }
}
