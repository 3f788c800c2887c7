//! How much scratch memory an operation may take to be faster.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes, of a runtime.
pub(crate) struct ScratchLimit(AtomicUsize);

const MIB: usize = 1 << 20;

/// 1 GiB or a tenth of so many bytes of device memory, whichever is less; 1 GiB where the memory is not known.
fn usual(memory: usize) -> usize {
    if memory == 0 { 1024 * MIB } else { (memory / 10).min(1024 * MIB) }
}

impl ScratchLimit {
    /// From `TILE_SCRATCH_MIB`; without it, and, with a warning, where it is no number, the usual limit of a device
    /// with so many bytes of memory.
    pub fn from_env(memory: usize) -> ScratchLimit {
        let usual = usual(memory);
        let set = std::env::var("TILE_SCRATCH_MIB").ok().and_then(|v| {
            let parsed = v.trim().parse::<usize>().ok();
            if parsed.is_none() {
                tracing::warn!(TILE_SCRATCH_MIB = v, "no number: taking {}", usual / MIB);
            }
            parsed
        });
        ScratchLimit(AtomicUsize::new(set.map_or(usual, |mib| mib.saturating_mul(MIB))))
    }

    pub fn get(&self) -> usize {
        self.0.load(Relaxed)
    }

    pub fn set(&self, bytes: usize) {
        self.0.store(bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_memory_or_a_gib() {
        assert_eq!((usual(0), usual(80 << 30), usual(8000 * MIB)), (1024 * MIB, 1024 * MIB, 800 * MIB));
    }
}
