//! Products that do not fill the device in whole waves: programs share the tiles of the last one.

use super::Launch;
use super::product::{Extents, Operand, Transpose};
use super::route::{self, Sharing};
use super::scratch_matrix::if_room;
use crate::choose::Tunable;
use crate::error::Result;
use crate::scratch::Scratch;
use crate::tuner::measure::Output;
use core::marker::PhantomData;
use device_kernels::matmul_shared::shared::*;
#[cfg(test)]
use kernel_core::ConfigDesc;
use kernel_core::cpu::fork::PerProcess;
use kernel_core::{AsSliceMut, Element, KernelDesc, SliceMutArg, ViewMutArg};

/// The largest tile of which one program is on a multiprocessor; of smaller ones more are, which take no more room together.
pub(super) const TILE: [u64; 2] = [128, 256];
/// Programs on a multiprocessor, at most, and words of a tile.
const PER_SM: u64 = 4;
const WORDS: u64 = 4;
/// A kernel whose programs share tiles, and what its choice over the one with whole tiles is filed under.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    pub desc: &'static KernelDesc,
    /// A kernel that is launched beside this one alone.
    pub beside: Option<&'static KernelDesc>,
    pub name: &'static str,
    pub transpose: Transpose,
}

/// `C` by the one of two ways that is faster: `whole`, or where tensor maps take the operands `shared`, to which it hands scratch memory for
/// the sums of programs and zeros for who has begun, has come and is done, and which fails without memory before it launches anything. S is the type of sums.
/// Which one is measured, where it is not clear.
pub(super) fn multiply<T: Element, P: Element, S: Element>(
    on: &impl Launch,
    e: Extents,
    kernel: Shared,
    (a, b): (Operand<T>, Operand<T>),
    c: ViewMutArg<P, 2>,
    whole: impl Fn(ViewMutArg<P, 2>) -> Result<()>,
    shared: impl Fn(SliceMutArg<S>, SliceMutArg<u64>, ViewMutArg<P, 2>) -> Result<()>,
) -> Result<()> {
    let taken = a.maps() && b.maps() && c.as_view().strides()[1] == 1;
    let by_sharing = |room: &mut Room<S>, c: ViewMutArg<P, 2>| {
        let (slots, tickets) = room.parts();
        shared(slots, tickets, c)
    };
    let shares = match route::sharing(on, e, kernel.desc, kernel.beside, taken) {
        Sharing::Never => false,
        Sharing::Always => true,
        Sharing::Measured { likely } => {
            // The likely one first: it is taken where nothing was measured.
            let candidates = if likely { [SHARED, WHOLE] } else { [WHOLE, SHARED] };
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
                bytes: out.span() * size_of::<P>() as u64,
                dtype: P::DTYPE,
                tf32: false,
                compare: false,
                borrow: PhantomData,
            }];
            let chosen = on.choose_among(&op, &outputs, |candidate| {
                // SAFETY: one launch has it at a time, and nobody but the candidates during the choice.
                let c = unsafe { again(&c) };
                match candidates[candidate] == SHARED {
                    true => by_sharing(&mut Room::new(on)?, c),
                    false => whole(c),
                }
            })?;
            candidates[chosen] == SHARED
        }
    };
    if !shares {
        return whole(c);
    }
    // SAFETY: one launch has it at a time: `whole` comes where this one was not enqueued.
    match if_room(Room::new(on).and_then(|mut room| by_sharing(&mut room, unsafe { again(&c) })))? {
        Some(()) => Ok(()),
        None => whole(c),
    }
}

/// A number of what else a choice depends on, in a bucket of its own: choices are kept by their place in the list of candidates.
fn order(transpose: Transpose, likely: bool, in_sectors: bool) -> u64 {
    1 << (u64::from(transpose.a) + 2 * u64::from(transpose.b) + 4 * u64::from(likely) + 8 * u64::from(!in_sectors))
}

/// The kernels whose programs share tiles.
const KERNELS: [&[&KernelDesc]; 10] = [
    matmul_shared_nn::DESCS,
    matmul_shared_nt::DESCS,
    matmul_shared_tn::DESCS,
    matmul_shared_tt::DESCS,
    matmul_shared_tf32_nn::DESCS,
    matmul_shared_tf32_nt::DESCS,
    matmul_shared_tf32_tt::DESCS,
    matmul_shared_i8::DESCS,
    matmul_shared_f8::DESCS,
    gemm_shared::DESCS,
];

const SHARED: &str = "shared";
const WHOLE: &str = "whole";
#[cfg(test)]
pub(super) const CANDIDATES: [&str; 2] = [WHOLE, SHARED];
/// What the choice between them is filed under, by operation.
pub(super) const MATMUL: &str = "matmul_way";
pub(super) const GEMM: &str = "gemm_way";
pub(super) const SCALED_PRODUCT: &str = "scaled_product_way";
pub(super) const QUANTISED: &str = "matmul_int8_way";

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

/// Changes with any of the kernels.
fn version() -> &'static str {
    static VERSION: PerProcess<String> = PerProcess::new();
    VERSION.get_or_init(|| {
        use device_kernels::matmul::products::*;
        use device_kernels::matmul_f32::f32_products::{matmul_tf32, matmul_tf32_nn, matmul_tf32_tt};
        use device_kernels::{gemm::scaled::*, matmul_8bit::bytes::*, matmul_int8::quantised::*};
        let halves = [matmul_nn::DESCS, matmul_nt::DESCS, matmul_tn::DESCS, matmul_tt::DESCS];
        let others = [
            matmul_tf32::DESCS,
            matmul_tf32_nn::DESCS,
            matmul_tf32_tt::DESCS,
            matmul_i8::DESCS,
            matmul_f8::DESCS,
            gemm::DESCS,
            scaled_product::DESCS,
            matmul_int8::DESCS,
            quantise::DESCS,
        ];
        Tunable::version_of(&[&halves[..], &others, &KERNELS].concat())
    })
}

/// For the sums of programs, and zeros for who has begun, has come and is done.
pub(super) struct Room<S> {
    slots: Scratch<S>,
    tickets: Scratch<u64>,
}

impl<S: Element> Room<S> {
    pub fn new(on: &impl Launch) -> Result<Self> {
        let num_sms = on.num_sms();
        let slots = on.stream().scratch((num_sms * TILE[0] * TILE[1]) as usize)?;
        Ok(Room { slots, tickets: on.stream().zeroed_scratch((num_sms * PER_SM * WORDS) as usize)? })
    }

    /// Whether it is enough for PER_SM programs on a multiprocessor, each with so many sums.
    #[cfg(test)]
    pub fn holds(config: &ConfigDesc, sums: u64) -> bool {
        let programs = const_of(config, "PER_SM");
        programs <= PER_SM && programs * sums <= TILE[0] * TILE[1]
    }

    pub fn parts(&mut self) -> (SliceMutArg<'_, S>, SliceMutArg<'_, u64>) {
        ((&mut self.slots).as_slice_mut_arg(), (&mut self.tickets).as_slice_mut_arg())
    }
}

/// A const of a configuration that has it.
#[cfg(test)]
pub(super) fn const_of(config: &ConfigDesc, name: &str) -> u64 {
    config.consts.iter().find(|(n, _)| *n == name).expect("it has one").1 as u64
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
            .map(|(a, b, likely, in_sectors)| extent_bucket(order(Transpose { a, b }, likely, in_sectors)))
            .collect();
        assert_eq!(buckets.len(), 16);
        // The one that results are shipped under.
        assert_eq!(order(Transpose::NONE, false, true), 1);
    }

    #[test]
    fn there_is_room_for_all_programs() {
        let wide = [matmul_wide_i8::DESCS, matmul_wide_f8::DESCS];
        for config in KERNELS.iter().chain(&wide).flat_map(|d| d.iter()).flat_map(|d| d.configs) {
            assert!(Room::<f32>::holds(config, const_of(config, "BM") * const_of(config, "BN")), "{}", config.id);
        }
    }
}
