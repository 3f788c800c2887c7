//! Products that do not fill the device in whole waves: programs share the tiles of the last one.

use super::matmul::Way;
use super::product::{Extents, Operand};
use super::{Launch, Multiply};
use crate::choose::Tunable;
use crate::error::{Error, Result};
use crate::scratch::Scratch;
use crate::tuner::measure::Output;
use device_kernels::matmul_shared::shared::*;
use kernel_core::{AsSliceMut, Element, KernelDesc, SliceMutArg, ViewMutArg};
use std::sync::OnceLock;

/// The largest tile of which one program is on a multiprocessor; of smaller ones more are, which take no more room together.
const TILE: [u64; 2] = [128, 256];
/// Programs on a multiprocessor, at most, and words of a tile.
const PER_SM: u64 = 4;
const WORDS: u64 = 4;
/// Rows for which there are tiles of fewer rows than other kernels have.
const FEW: u64 = 32;
/// Rows that are copied, where they lie across, in less time than tiles of more rows cost, if the other operand is as large as this.
const SOON_COPIED: u64 = 64;
const LEAST_OTHER: u64 = 1 << 23;
/// With more waves than this the last one matters little, and smaller products are done before others have begun to share.
const MOST_WAVES: u64 = 4;
const LEAST_PRODUCT: u64 = 1 << 24;

/// Whether A, where it lies across, is soon copied as rows.
pub(super) fn soon_copied(e: Extents) -> bool {
    e.m <= SOON_COPIED && e.n.saturating_mul(e.k) >= LEAST_OTHER
}

/// Whether a product is faster so.
pub(super) fn pays<T: Multiply>(on: &impl Launch, e: Extents, way: Way, (a, b): (Operand<T>, Operand<T>), c: &ViewMutArg<T::Product, 2>) -> Result<bool> {
    let Some(desc) = T::shared_desc(way) else { return Ok(false) };
    if let Some((kernel, _)) = on.pin() {
        return Ok(core::ptr::eq(kernel, desc));
    }
    if !on.runtime().0.takes_maps(desc) || !a.maps() || !b.maps() || c.as_view().strides()[1] != 1 {
        return Ok(false);
    }
    if e.m <= FEW {
        return Ok(true);
    }
    let tiles = e.m.div_ceil(TILE[0]).saturating_mul(e.n.div_ceil(TILE[1]));
    if tiles > MOST_WAVES * on.num_sms() || e.m.saturating_mul(e.n).saturating_mul(e.k) < LEAST_PRODUCT {
        return Ok(false);
    }
    let candidates = likely(tiles, on.num_sms(), e.k);
    // Choices are kept by their place in this list.
    let order = 1 << (u64::from(way.transpose.a) + 2 * u64::from(way.transpose.b) + 4 * u64::from(candidates[0] == SHARED));
    let op = Tunable { name: "matmul_way", types: T::DTYPE.name(), version: version(), sizes: &[e.m, e.n, e.k, order], candidates: &candidates };
    let out = c.as_view();
    let outputs = [Output { addr: out.addr(), bytes: out.span() * size_of::<T::Product>() as u64, dtype: T::Product::DTYPE, compare: false }];
    let chosen = on.runtime().choose_among(on.stream(), &op, &outputs, |candidate| {
        let c = again(c);
        match candidates[candidate] == SHARED {
            true => Room::new(on)?.multiply(on, way, (a, b), c, 1.0),
            false => on.launch(T::call(way, a.view, b.view, c, 1.0)),
        }
    })?;
    Ok(candidates[chosen] == SHARED)
}

/// The kernels whose programs share tiles.
const KERNELS: [&[&KernelDesc]; 6] =
    [matmul_shared_nn::DESCS, matmul_shared_nt::DESCS, matmul_shared_tn::DESCS, matmul_shared_tt::DESCS, matmul_shared_tf32_nn::DESCS, matmul_shared_tf32_nt::DESCS];

const SHARED: &str = "shared";
const WHOLE: &str = "whole";

/// The likely one first: it is taken where nothing was measured.
fn likely(tiles: u64, num_sms: u64, depth: u64) -> [&'static str; 2] {
    const LEAST_DEPTH: u64 = 1024;
    if 2 * tiles <= num_sms && depth >= LEAST_DEPTH { [SHARED, WHOLE] } else { [WHOLE, SHARED] }
}

/// The result once more, for one more measured run.
fn again<'b, T: Element>(c: &'b ViewMutArg<'_, T, 2>) -> ViewMutArg<'b, T, 2> {
    let seen = c.as_view();
    // SAFETY: the same borrow, for a launch that is enqueued before the next one is made.
    let all = unsafe { SliceMutArg::from_raw(seen.addr(), seen.span(), seen.place()) };
    all.strided(seen.dims(), seen.strides()).expect("the same memory")
}

/// Changes with any of the kernels.
fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        use device_kernels::matmul::products::*;
        use device_kernels::matmul_f32::f32_products::{matmul_tf32, matmul_tf32_nn};
        let whole = [matmul_nn::DESCS, matmul_nt::DESCS, matmul_tn::DESCS, matmul_tt::DESCS, matmul_tf32::DESCS, matmul_tf32_nn::DESCS];
        Tunable::version_of(&[whole, KERNELS].concat())
    })
}

/// Scratch memory for the sums of programs, and zeros for who has begun, has come and is done.
pub(super) struct Room {
    slots: Scratch<f32>,
    tickets: Scratch<u64>,
}

impl Room {
    fn new(on: &impl Launch) -> Result<Room> {
        let num_sms = on.num_sms();
        let slots = on.stream().scratch((num_sms * TILE[0] * TILE[1]) as usize)?;
        Ok(Room { slots, tickets: on.stream().zeroed_scratch((num_sms * PER_SM * WORDS) as usize)? })
    }

    /// None where there is no memory: it is only slower without.
    pub fn of(on: &impl Launch) -> Result<Option<Room>> {
        match Room::new(on) {
            Err(Error::OutOfMemory { .. }) => Ok(None),
            room => room.map(Some),
        }
    }

    pub fn multiply<T: Multiply>(mut self, on: &impl Launch, way: Way, (a, b): (Operand<T>, Operand<T>), c: ViewMutArg<T::Product, 2>, below: f32) -> Result<()> {
        on.launch(T::shared_call(way, a.view, b.view, (&mut self.slots).as_slice_mut_arg(), (&mut self.tickets).as_slice_mut_arg(), c, below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_likely() {
        assert_eq!(likely(1, 132, 65536), [SHARED, WHOLE]);
        assert_eq!(likely(1, 132, 256), [WHOLE, SHARED], "a short depth is done before anybody could help");
        assert_eq!(likely(128, 132, 4096), [WHOLE, SHARED], "one wave");
    }

    #[test]
    fn there_is_room_for_all_programs() {
        for config in KERNELS.iter().flat_map(|d| d.iter()).flat_map(|d| d.configs) {
            let of = |name: &str| config.id.split(',').find_map(|c| c.strip_prefix(name)?.strip_prefix('=')?.parse::<u64>().ok()).expect("it has one");
            assert!(of("PER_SM") <= PER_SM && of("BM") * of("BN") * of("PER_SM") <= TILE[0] * TILE[1], "{}", config.id);
        }
    }

    #[test]
    fn few_rows_are_copied_where_much_is_read_beside_them() {
        let of = |m, n, k| soon_copied(Extents { m, n, k });
        assert!(of(64, 4096, 4096) && of(2, 14336, 4096));
        assert!(!of(64, 1024, 4096) && !of(65, 4096, 4096) && !of(64, 64, 65536));
        assert!(of(1, u64::MAX, u64::MAX), "nothing overflows");
    }
}
