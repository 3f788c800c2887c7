//! How many launches have failed, for each device: memory that a launch was to leave zero may not be zero then.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use tilewright_core::{BufferUse, DeviceId};

/// The failed launches of a device: of the host, or of a CUDA context.
pub(crate) struct Failures {
    device: DeviceId,
    count: AtomicU64,
}

static ON_HOST: Failures = Failures::new(DeviceId::Host);
/// Launches that were given memory, or a stream, of another device than that of their runtime.
static ACROSS: AtomicU64 = AtomicU64::new(0);

impl Failures {
    pub(crate) const fn new(device: DeviceId) -> Failures {
        Failures { device, count: AtomicU64::new(0) }
    }

    pub(crate) fn on_host() -> &'static Failures {
        &ON_HOST
    }

    /// A number that changes with each launch that fails and may have been given memory of this device.
    pub(crate) fn count(&self) -> u64 {
        // Both only grow: the sum stays where both do.
        self.count.load(Acquire).wrapping_add(ACROSS.load(Acquire))
    }

    /// To be called once for a launch on this device that has failed, with the failures of its stream's device and its
    /// arguments. Memory that it, or a launch before it, was to leave zero may not be zero.
    pub(crate) fn add(&self, stream: &Failures, buffers: &[BufferUse]) {
        let is_across = stream.device != self.device || buffers.iter().any(|b| !self.has(b.device));
        let counter = if is_across { &ACROSS } else { &self.count };
        counter.fetch_add(1, AcqRel);
    }

    /// Whether memory is of this device, on whatever stream. A caller vouches for a raw address.
    fn has(&self, memory: DeviceId) -> bool {
        match memory {
            DeviceId::Unknown => true,
            DeviceId::CudaStream { device, context, .. } => self.device == (DeviceId::Cuda { device, context }),
            other => self.device == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_counts_once_for_the_devices_that_it_names() {
        let [own, other] = [3, 4].map(|context| Failures::new(DeviceId::Cuda { device: 0, context }));
        let of_stream = |context| DeviceId::CudaStream { device: 0, context, stream: 0x10 };
        assert!(own.has(own.device) && own.has(of_stream(3)) && own.has(DeviceId::Unknown));
        assert!(!own.has(DeviceId::Host) && !own.has(of_stream(4)) && !ON_HOST.has(own.device));
        own.add(&own, &[]);
        assert_eq!((own.count.load(Acquire), other.count.load(Acquire)), (1, 0));
        let before = [&own, &other, &ON_HOST].map(Failures::count);
        own.add(&other, &[]);
        let after = [&own, &other, &ON_HOST].map(Failures::count);
        assert!(before.iter().zip(after).all(|(before, after)| *before < after), "{before:?} {after:?}");
    }
}
