//! Stream-K: products whose tiles do not fill the device in whole waves. Programs share the tiles of the last wave.

use super::Launch;
use super::product::{GemmShape, Operand, Transpose};
use super::route::{self, Schedule};
use super::scratch_matrix::if_room;
use crate::choose::Tunable;
use crate::error::{Error, Result};
use crate::scratch::Scratch;
use crate::tuner::measure::Output;
use core::marker::PhantomData;
use tilewright_core::cpu::fork::PerProcess;
use tilewright_core::{AsSliceMut, ConfigDesc, Element, KernelDesc, SliceMutArg, ViewMutArg};

/// The largest tile of which one program is on a multiprocessor; of smaller ones more are, which take no more room together.
pub(super) const TILE: [usize; 2] = [128, 256];
/// Programs on a multiprocessor, at most.
const PER_SM: usize = 4;
/// Semaphores of a task of the library `partials`.
const WORDS: usize = 3;

/// A kernel that has configurations with either tile scheduler, and the name of its choice between them.
#[derive(Clone, Copy)]
pub(super) struct Kernel {
    pub desc: &'static KernelDesc,
    /// A kernel that is launched after this one, and only under stream-K.
    pub after: Option<&'static KernelDesc>,
    pub name: &'static str,
    pub transpose: Transpose,
}

/// Whether a configuration takes a [`Workspace`].
pub(super) fn is_stream_k(config: &ConfigDesc) -> bool {
    config.name_of("SCHEDULER") == Some("StreamK")
}

/// Launches a product with the faster tile scheduler. `launch` gets a workspace, which is empty for a data-parallel
/// launch, and fails without memory before it enqueues anything. Where the faster one is not clear it is measured.
pub(super) fn multiply<T: Element, P: Element, S: Element>(
    on: &impl Launch,
    e: GemmShape,
    kernel: Kernel,
    (a, b): (Operand<T>, Operand<T>),
    c: ViewMutArg<P, 2>,
    launch: impl Fn(&mut Workspace<S>, ViewMutArg<P, 2>) -> Result<()>,
) -> Result<()> {
    let taken = a.tma_compatible() && b.tma_compatible() && c.as_view().strides()[1] == 1;
    let stream_k = match route::schedule(on, e, kernel.desc, kernel.after, taken) {
        Schedule::DataParallel => false,
        Schedule::StreamK => true,
        Schedule::Measured { stream_k: likely } => {
            // The likely one first: it is taken where nothing was measured.
            let candidates = if likely { [STREAM_K, DATA_PARALLEL] } else { [DATA_PARALLEL, STREAM_K] };
            let order = order(kernel.transpose, likely, a.in_sectors() && b.in_sectors());
            let op = Tunable {
                name: kernel.name,
                types: T::DTYPE.name(),
                version: version(),
                sizes: &[e.m, e.n, e.k, order],
                candidates: &candidates,
            };
            let out = c.as_view();
            let outputs = [Output {
                addr: out.addr(),
                place: out.place(),
                bytes: (out.span() * size_of::<P>()) as u64,
                dtype: P::DTYPE,
                tf32: false,
                compare: false,
                borrow: PhantomData,
            }];
            let chosen = on.choose_among(&op, &outputs, |candidate| {
                // SAFETY: one launch has it at a time, and nobody but the candidates during the choice.
                let c = unsafe { again(&c) };
                match candidates[candidate] == STREAM_K {
                    true => launch(&mut Workspace::new(on)?, c),
                    false => launch(&mut Workspace::none(on)?, c),
                }
            })?;
            candidates[chosen] == STREAM_K
        }
    };
    if stream_k {
        // SAFETY: one launch has it at a time: the data-parallel one comes where this one was not enqueued.
        let run = Workspace::new(on).and_then(|mut workspace| launch(&mut workspace, unsafe { again(&c) }));
        if if_room(run)?.is_some() {
            return Ok(());
        }
    }
    launch(&mut Workspace::none(on)?, c)
}

/// A number of what else a choice depends on, in a bucket of its own: choices are kept by their place in the list of candidates.
fn order(transpose: Transpose, likely: bool, in_sectors: bool) -> usize {
    1 << (u64::from(transpose.a) + 2 * u64::from(transpose.b) + 4 * u64::from(likely) + 8 * u64::from(!in_sectors))
}

const STREAM_K: &str = "stream_k";
const DATA_PARALLEL: &str = "data_parallel";
#[cfg(test)]
pub(super) const CANDIDATES: [&str; 2] = [DATA_PARALLEL, STREAM_K];
/// The choice between them is filed under these names, by operation.
pub(super) const MATMUL: &str = "matmul_scheduler";
pub(super) const GEMM: &str = "gemm_scheduler";
pub(super) const SCALED_PRODUCT: &str = "scaled_product_scheduler";
pub(super) const QUANTISED: &str = "matmul_int8_scheduler";

/// The result once more, for one more measured run.
///
/// # Safety
/// One launch has it at a time: it is enqueued before the next one is made.
unsafe fn again<'b, T: Element>(c: &'b ViewMutArg<'_, T, 2>) -> ViewMutArg<'b, T, 2> {
    let seen = c.as_view();
    // SAFETY: the same borrow, which one launch has at a time by the caller's contract.
    let all = unsafe { SliceMutArg::from_raw(seen.addr(), seen.span(), seen.place()) };
    all.strided(seen.dims(), seen.strides()).expect("the same memory")
}

/// The kernels that have configurations of either scheduler, or are launched beside one.
const KERNELS: [&[&KernelDesc]; 13] = {
    use tilewright_kernels::gemm::scaled::{gemm, scaled_product};
    use tilewright_kernels::matmul::products::*;
    use tilewright_kernels::matmul_int8::quantised::{matmul_int8, quantise};
    [
        matmul_nn::DESCS,
        matmul_nt::DESCS,
        matmul_tn::DESCS,
        matmul_tt::DESCS,
        matmul_tf32::DESCS,
        matmul_tf32_nn::DESCS,
        matmul_tf32_tt::DESCS,
        matmul_i8::DESCS,
        matmul_f8::DESCS,
        gemm::DESCS,
        scaled_product::DESCS,
        matmul_int8::DESCS,
        quantise::DESCS,
    ]
};

/// Changes with any of the kernels.
fn version() -> &'static str {
    static VERSION: PerProcess<String> = PerProcess::new();
    VERSION.get_or_init(|| Tunable::version_of(&KERNELS))
}

/// Scratch memory of programs that share output tiles.
pub(super) struct Workspace<S> {
    /// Partial sums: an output tile for each program, or for each part of one.
    sums: Scratch<S>,
    /// Zeros: under stream-K WORDS for each program.
    semaphores: Scratch<u64>,
}

impl<S: Element> Workspace<S> {
    pub fn new(on: &impl Launch) -> Result<Self> {
        let num_sms = on.num_sms();
        let sums = on.stream().scratch(num_sms * TILE[0] * TILE[1])?;
        Ok(Workspace { sums, semaphores: on.stream().zeroed_scratch(num_sms * PER_SM * WORDS)? })
    }

    /// For a data-parallel launch.
    pub fn none(on: &impl Launch) -> Result<Self> {
        Ok(Workspace { sums: on.stream().scratch(0)?, semaphores: on.stream().scratch(0)? })
    }

    /// Of so many sums and semaphores, for split-K. Errors: [`Error::TooLarge`] where there is no such number.
    pub fn of(on: &impl Launch, sums: Option<usize>, semaphores: Option<usize>) -> Result<Self> {
        let too_large = || Error::TooLarge { len: usize::MAX, size: size_of::<S>() };
        let len = |n: Option<usize>| n.ok_or_else(too_large);
        let sums = on.stream().scratch(len(sums)?)?;
        Ok(Workspace { sums, semaphores: on.stream().zeroed_scratch(len(semaphores)?)? })
    }

    pub fn is_none(&self) -> bool {
        self.sums.is_empty()
    }

    /// Whether it is enough for PER_SM programs on a multiprocessor, each with so many sums.
    #[cfg(test)]
    pub fn holds(config: &ConfigDesc, sums: usize) -> bool {
        let programs = const_of(config, "PER_SM");
        programs <= PER_SM && programs * sums <= TILE[0] * TILE[1]
    }

    pub fn parts(&mut self) -> (SliceMutArg<'_, S>, SliceMutArg<'_, u64>) {
        ((&mut self.sums).as_slice_mut_arg(), (&mut self.semaphores).as_slice_mut_arg())
    }
}

/// A const of a configuration that has it.
#[cfg(test)]
pub(super) fn const_of(config: &ConfigDesc, name: &str) -> usize {
    config.consts.iter().find(|(n, _)| *n == name).expect("it has one").1 as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuner::key::extent_bucket;
    use std::collections::HashSet;

    #[test]
    fn choices_are_kept_apart() {
        let flags = |i: u32| (i & 1 == 1, i & 2 == 2, i & 4 == 4, i & 8 == 0);
        let buckets: HashSet<u8> = (0..16)
            .map(flags)
            .map(|(a, b, likely, in_sectors)| extent_bucket(order(Transpose { a, b }, likely, in_sectors) as u64))
            .collect();
        assert_eq!(buckets.len(), 16);
        // The one that results are shipped under.
        assert_eq!(order(Transpose::NONE, false, true), 1);
    }

    #[test]
    fn there_is_room_for_all_programs() {
        use tilewright_kernels::matmul::products::{matmul_f16_f8, matmul_f16_i8};
        let mixed = [matmul_f16_i8::DESCS, matmul_f16_f8::DESCS];
        let descs = KERNELS.iter().chain(&mixed).flat_map(|d| d.iter());
        let configs: Vec<_> = descs.flat_map(|d| d.configs).filter(|c| is_stream_k(c)).collect();
        assert!(configs.len() > 100, "{}", configs.len());
        for config in configs {
            let sums = const_of(config, "BM") * const_of(config, "BN");
            assert!(Workspace::<f32>::holds(config, sums), "{}", config.id);
        }
    }
}
