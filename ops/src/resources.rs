//! The resources of a multiprocessor that entries take, read from their bundles once for each kernel, without loading
//! code.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use tilewright_core::KernelDesc;
use tilewright_core::bundle::Bundle;
use tilewright_runtime::tuning::BlockResources;
use tilewright_runtime::{BackendKind, Multiprocessor, Runtime};

/// The resources of one program of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resources {
    pub threads: u32,
    pub registers: u32,
    pub spill_bytes: u32,
    pub shared_bytes: u32,
}

/// By entry.
pub(crate) type OfEntries = HashMap<&'static str, Resources>;

/// Of the kernels that were asked for.
#[derive(Default)]
pub(crate) struct OfKernels(RwLock<HashMap<usize, Arc<OfEntries>>>);

impl OfKernels {
    /// The resources of the entries of a kernel on the GPU of a runtime, and nothing off the GPU; none of entries that
    /// were not assembled.
    pub fn of(&self, rt: &Runtime, desc: &'static KernelDesc) -> Option<Arc<OfEntries>> {
        let compute = rt.device().compute_capability.filter(|_| rt.kind() == BackendKind::Cuda)?;
        Some(self.of_entries(desc, compute))
    }

    fn of_entries(&self, desc: &'static KernelDesc, compute: (u32, u32)) -> Arc<OfEntries> {
        let (key, all) = (core::ptr::from_ref(desc) as usize, &self.0);
        if let Some(found) = all.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return found.clone();
        }
        let bundle = desc.bundle.and_then(|b| Bundle::parse(b).ok());
        let read = bundle.iter().flat_map(|b| b.entries()).filter_map(|e| {
            let usage = e.usage_for(compute)?;
            let (registers, spill_bytes) = (usage.registers, usage.spill_bytes);
            Some((e.name, Resources { threads: e.threads, registers, spill_bytes, shared_bytes: e.shared_bytes }))
        });
        let made = Arc::new(read.collect());
        all.write().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert(made).clone()
    }
}

impl Resources {
    /// Thread blocks that a multiprocessor has at a time.
    pub fn resident(&self, sm: &Multiprocessor) -> usize {
        let Resources { threads, registers, shared_bytes, .. } = *self;
        sm.occupancy(&BlockResources { threads, registers, shared_bytes }).blocks.max(1) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_share_registers_shared_memory_and_threads() {
        let of = |threads, registers, shared_bytes, sm: &Multiprocessor| {
            Resources { threads, registers, spill_bytes: 0, shared_bytes }.resident(sm)
        };
        let hopper = Runtime::cpu().device().multiprocessor; // that of an H200
        assert_eq!(of(256, 168, 0, &hopper), 1);
        assert_eq!(of(256, 128, 0, &hopper), 2);
        assert_eq!(of(128, 32, 0, &hopper), 16);
        assert_eq!(of(128, 64, 100 << 10, &hopper), 2);
        assert_eq!(of(1024, 255, 227 << 10, &hopper), 1, "at least one, or it would not be built");
        assert_eq!(of(32, 16, 0, &hopper), 32);
        let ada = Multiprocessor::of((8, 9)).expect("it is known");
        assert_eq!((of(128, 32, 0, &ada), of(32, 16, 0, &ada)), (12, 24));
        assert_eq!(of(u32::MAX, u32::MAX, u32::MAX, &hopper), 1, "a damaged bundle");
    }
}
