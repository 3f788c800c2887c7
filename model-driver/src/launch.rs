//! Kernels: the CPU functions of descriptors, under the names of their entries.

use crate::memory::Access;
use crate::state::State;
use kernel_core::bundle::Bundle;
use kernel_core::{ConfigDesc, KernelDesc, ParamKind, cpu};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    pub name: &'static str,
    desc: &'static KernelDesc,
    config: &'static ConfigDesc,
    pub maps: usize,
    pub ctas: u32,
    pub threads: u32,
    pub shared: u32,
    /// What the launch may ask for beyond 48 KiB.
    pub opted_in: u32,
}

/// One launch, with its arguments.
#[derive(Clone)]
pub(crate) struct Run {
    config: &'static ConfigDesc,
    grid: [u64; 3],
    slots: Vec<u64>,
}

impl Run {
    /// `false` where an assertion failed.
    pub fn go(&self) -> bool {
        // SAFETY: the words are those of this kernel, and the accesses were found to be the device's memory.
        let run = || unsafe { cpu::launch(self.config.cpu, self.grid, &self.slots) };
        catch_unwind(AssertUnwindSafe(run)).is_ok()
    }
}

impl Kernel {
    pub fn slots(&self) -> usize {
        self.desc.params.last().map_or(0, |p| p.slot + p.kind.slots())
    }

    pub fn run(&self, grid: [u64; 3], slots: Vec<u64>) -> Run {
        Run { config: self.config, grid: [grid[0] / u64::from(self.ctas.max(1)), grid[1], grid[2]], slots }
    }
}

impl State {
    pub fn register(&mut self, desc: &'static KernelDesc) {
        let bundle = desc.bundle.and_then(|b| Bundle::parse(b).ok());
        for config in desc.configs {
            for variant in config.variants {
                let meta = bundle.as_ref().and_then(|b| b.entry(variant.entry).ok());
                let kernel = Kernel {
                    name: variant.entry,
                    desc,
                    config,
                    maps: variant.maps.len(),
                    ctas: meta.as_ref().map_or(1, |m| m.ctas),
                    threads: meta.as_ref().map_or(0, |m| m.threads),
                    shared: meta.as_ref().map_or(0, |m| m.shared_bytes),
                    opted_in: 0,
                };
                self.known.insert(variant.entry, kernel);
            }
        }
    }

    /// What a launch reads and writes, by its parameters. Through a raw pointer: to the end of its memory.
    pub fn accesses(&mut self, kernel: &Kernel, slots: &[u64]) -> Vec<Access> {
        let mut all = Vec::new();
        for p in kernel.desc.params {
            let (start, size) = (slots[p.slot], p.dtype.size() as u64);
            let elements = match p.kind {
                ParamKind::Scalar => continue,
                ParamKind::Slice | ParamKind::SliceMut => slots[p.slot + 1],
                ParamKind::View { rank } | ParamKind::ViewMut { rank } => {
                    let dims = &slots[p.slot + 1..][..rank];
                    let strides = &slots[p.slot + 1 + rank..][..rank];
                    let last = dims.iter().zip(strides).map(|(d, s)| d.saturating_sub(1) * s).sum::<u64>();
                    if dims.contains(&0) { 0 } else { last + 1 }
                }
                ParamKind::Ptr | ParamKind::PtrMut => {
                    let end = self.block_at(start).map_or(start, |b| b.end);
                    (end - start) / size
                }
            };
            all.push(Access { start, end: start.saturating_add(elements * size), write: p.kind.is_mut() });
        }
        all
    }
}
