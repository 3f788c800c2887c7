//! Which variant of a configuration runs, by what TMA takes of its arguments.

use tilewright_core::{ConfigDesc, Element, KernelDesc, VariantDesc, ViewArg};

/// What TMA takes: the operands, and the result.
#[derive(Clone, Copy)]
pub(super) struct Tma {
    pub loads: bool,
    pub stores: bool,
}

impl Tma {
    /// The first variant of a configuration that takes such arguments and `runs`. `result` is the parameter that a kernel
    /// stores to.
    pub fn variant(
        self,
        kernel: &KernelDesc,
        config: &'static ConfigDesc,
        result: &str,
        runs: impl Fn(&VariantDesc) -> bool,
    ) -> Option<&'static VariantDesc> {
        let result = kernel.params.iter().position(|p| p.name == result);
        let taken = |v: &&VariantDesc| {
            let stores = v.maps.iter().any(|m| Some(m.param) == result);
            runs(v) && (v.maps.is_empty() || self.loads && (self.stores || !stores))
        };
        config.variants.iter().find(taken)
    }
}

/// Whether TMA copies tiles of the matrices of a batch.
pub(super) fn batch_takes_tma<T: Element>(v: ViewArg<T, 3>) -> bool {
    let [step, row, element] = v.strides();
    let size = size_of::<T>();
    let starts = v.addr() | step.wrapping_mul(size) as u64 | row.wrapping_mul(size) as u64;
    element == 1 && step > 0 && row > 0 && starts.is_multiple_of(16)
}
