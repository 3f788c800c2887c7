//! The variant of a configuration that runs, by the arguments that TMA can load or store.

use tilewright_core::{ConfigDesc, Element, KernelDesc, VariantDesc, ViewArg, Width};

/// Whether TMA loads the operands, and whether it stores the result.
#[derive(Clone, Copy)]
pub(super) struct Tma {
    pub loads: bool,
    pub stores: bool,
    /// How wide accesses may be of variants without TMA.
    pub width: Width,
}

impl Tma {
    /// A number that tells them apart.
    pub fn bits(self) -> u64 {
        (self.width as u64) << 2 | u64::from(self.loads) << 1 | u64::from(self.stores)
    }

    /// The first variant of a configuration that takes such arguments and `runs`. `result` is the parameter that a
    /// kernel stores to.
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
            let takes_maps = self.loads && (self.stores || !stores);
            runs(v) && if v.maps.is_empty() { v.width <= self.width } else { takes_maps }
        };
        config.variants.iter().find(taken)
    }
}

/// Whether TMA copies tiles of the matrices of a batch.
pub(super) fn batch_takes_tma<T: Element>(v: ViewArg<T, 3>) -> bool {
    let [step, row, _] = v.strides();
    step > 0 && row > 0 && width_of_batch(v) == Width::Vectors
}

/// How wide accesses to the rows of a batch may be.
pub(super) fn width_of_batch<T: Element>(v: ViewArg<T, 3>) -> Width {
    let [step, row, element] = v.strides();
    let bytes = |stride: usize| stride.wrapping_mul(size_of::<T>()) as u64;
    if element == 1 { Width::of(v.addr() | bytes(step) | bytes(row)) } else { Width::Elements }
}
