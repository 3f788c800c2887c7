//! Kernels: the CPU functions of descriptors, under the names of their entries.

use crate::Code;
use crate::memory::Access;
use crate::ptx::Signature;
use crate::report::Kind;
use crate::state::{State, Task, Work};
use crate::tensor_map::{Map, Words};
use core::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tilewright_core::bundle::Bundle;
use tilewright_core::{ConfigDesc, KernelDesc, ParamKind, VariantDesc, cpu};

/// An entry that a program has made known.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    pub name: &'static str,
    desc: &'static KernelDesc,
    config: &'static ConfigDesc,
    variant: &'static VariantDesc,
    ctas: u32,
    threads: u32,
    shared: u32,
}

/// An entry of a loaded library.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub kernel: Kernel,
    pub signature: Signature,
    /// The dynamic shared memory beyond 48 KiB that a launch may ask for.
    pub opted_in: u32,
}

/// One launch, with its arguments.
#[derive(Clone)]
pub(crate) struct Run {
    config: &'static ConfigDesc,
    grid: [u64; 3],
    words: Vec<u64>,
}

impl Run {
    /// `false` where an assertion failed.
    pub fn go(&self) -> bool {
        // SAFETY: the words are those of this kernel, and the accesses were found to be the device's memory.
        let run = || unsafe { cpu::launch(self.config.cpu, self.grid, &self.words) };
        catch_unwind(AssertUnwindSafe(run)).is_ok()
    }
}

impl Kernel {
    fn words(&self) -> usize {
        self.desc.params.last().map_or(0, |p| p.first_word + p.kind.words())
    }

    /// Bytes of each parameter that a launch passes.
    fn passed(&self) -> Vec<usize> {
        let maps = self.variant.maps.iter().map(|_| size_of::<Words>());
        core::iter::repeat_n(size_of::<u64>(), self.words()).chain(maps).collect()
    }

    /// The parameters that the kernel reads before it waits for the launch in front. It is known of kernels that were
    /// built for the emulated SM, too; others are taken to touch nothing before they wait.
    fn pdl_params(&self) -> &'static [u8] {
        let mut variants = self.desc.configs.iter().flat_map(|c| c.variants);
        variants.find_map(|v| v.emulated.as_ref()?.pdl).unwrap_or_default()
    }
}

/// The arguments of a launch call.
pub(crate) struct Asked {
    pub function: usize,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub stream: usize,
    /// Whether it may begin before the launch in front has ended.
    pub programmatic: bool,
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
                    variant,
                    ctas: meta.as_ref().map_or(1, |m| m.ctas),
                    threads: meta.as_ref().map_or(0, |m| m.threads),
                    shared: meta.as_ref().map_or(0, |m| m.shared_bytes),
                };
                self.known.insert(variant.entry, kernel);
            }
        }
    }

    /// Puts a launch on its stream.
    ///
    /// # Safety
    /// `params` points to as many pointers as the entry has parameters, each null or to as many bytes as the parameter
    /// has.
    pub unsafe fn launch(&mut self, asked: &Asked, params: *const *const c_void) -> Result<(), Code> {
        let function = self.kernel_of(asked.function, asked.stream)?;
        let Loaded { kernel, signature, opted_in } = self.kernels.get(&function).ok_or(400u32)?.clone();
        let name = kernel.name;
        let ([x, y, z], block) = (asked.grid, asked.block);
        let threads = block.iter().try_fold(1u32, |n, b| n.checked_mul(*b)).unwrap_or(u32::MAX);
        let in_limits = x <= i32::MAX as u32 && y <= 65535 && z <= 65535;
        if [x, y, z].contains(&0) || block.contains(&0) || threads > 1024 || !in_limits {
            return Err(1);
        }
        if asked.shared > opted_in.max(48 << 10) {
            return Err(1);
        }
        if kernel.threads != 0 && (threads != kernel.threads || asked.shared < kernel.shared) {
            let shared = asked.shared;
            self.report(
                Kind::Call,
                format!("{name}: launched with {threads} threads and {shared} bytes of shared memory"),
            );
        }
        if !x.is_multiple_of(kernel.ctas.max(1)) {
            self.report(Kind::Call, format!("{name}: {x} thread blocks are no whole clusters of {}", kernel.ctas));
        }
        if signature.params != kernel.passed() {
            let (has, gets) = (&signature.params, kernel.passed());
            self.report(
                Kind::Call,
                format!("{name}: its code has parameters of {has:?} bytes, its descriptor of {gets:?}"),
            );
            return Err(1);
        }
        let count = signature.params.len();
        // SAFETY: the caller's contract. A null in place of the array or of an element of it is not read through.
        let pointers: Vec<*const c_void> =
            (0..count).map_while(|i| (!params.is_null()).then(|| unsafe { *params.add(i) })).collect();
        if pointers.len() < count || pointers.iter().any(|p| p.is_null()) {
            let given = pointers.iter().take_while(|p| !p.is_null()).count();
            self.report(Kind::Call, format!("{name}: launched with {given} parameters of {count}"));
            return Err(1);
        }
        let (in_words, maps) = pointers.split_at(kernel.words());
        // SAFETY: each of these points to a parameter of eight bytes.
        let words: Vec<u64> = in_words.iter().map(|p| unsafe { p.cast::<u64>().read_unaligned() }).collect();
        for (p, map) in maps.iter().zip(kernel.variant.maps) {
            // SAFETY: each of these points to a parameter of 128 bytes.
            let given = Map::read(&unsafe { p.cast::<Words>().read_unaligned() });
            let wanted = Map::wanted(kernel.desc, map, &words);
            if !(*p as usize).is_multiple_of(64) {
                self.report(Kind::Call, format!("{name}: a tensor map is not aligned to 64 bytes"));
            }
            if given.as_ref() != Some(&wanted) {
                let of = kernel.desc.params[map.param].name;
                self.report(Kind::Call, format!("{name}: the tensor map of `{of}` is {given:?}, not {wanted:?}"));
            }
        }
        let accesses = self.accesses(&kernel, &words);
        let pdl_accesses = asked.programmatic.then(|| {
            let reads =
                kernel.pdl_params().iter().map(|&i| Access { write: false, ..self.access(&kernel, i.into(), &words) });
            reads.collect()
        });
        if asked.programmatic && !signature.waits {
            self.report(
                Kind::Call,
                format!("{name}: launched with programmatic dependent launch, and its code does not wait"),
            );
        }
        let grid = [x / kernel.ctas.max(1), y, z].map(u64::from);
        let work = Work::Launch(Run { config: kernel.config, grid, words });
        self.put(asked.stream, Task { work, accesses, pdl_accesses, what: name.into() })
    }

    /// The memory that a launch reads and writes, by its parameters.
    fn accesses(&mut self, kernel: &Kernel, words: &[u64]) -> Vec<Access> {
        let params = kernel.desc.params.iter().enumerate();
        let arrays: Vec<usize> = params.filter(|(_, p)| p.kind != ParamKind::Scalar).map(|(i, _)| i).collect();
        arrays.into_iter().map(|i| self.access(kernel, i, words)).collect()
    }

    /// The memory that a launch accesses through one parameter. Through a raw pointer: to the end of its allocation.
    fn access(&mut self, kernel: &Kernel, param: usize, words: &[u64]) -> Access {
        let p = &kernel.desc.params[param];
        let (start, size) = (words[p.first_word], p.dtype.size() as u64);
        let elements = match p.kind {
            ParamKind::Scalar => 0,
            ParamKind::Slice | ParamKind::SliceMut => words[p.first_word + 1],
            ParamKind::View { rank } | ParamKind::ViewMut { rank } => {
                let dims = &words[p.first_word + 1..][..rank];
                let strides = &words[p.first_word + 1 + rank..][..rank];
                let last = dims.iter().zip(strides).map(|(d, s)| d.saturating_sub(1) * s).sum::<u64>();
                if dims.contains(&0) { 0 } else { last + 1 }
            }
            ParamKind::Ptr | ParamKind::PtrMut => {
                let end = self.block_at(start).map_or(start, |b| b.end);
                (end - start) / size
            }
        };
        Access { start, end: start.saturating_add(elements * size), write: p.kind.is_mut() }
    }
}
