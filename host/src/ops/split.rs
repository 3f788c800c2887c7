//! Products of f32 on tensor cores: operands are split in two tf32 numbers each first.

use super::Launch;
use super::product::Extents;
use crate::error::{Error, Result};
use crate::scratch::Scratch;
use device_kernels::matmul_f32::f32_products as k;
use kernel_core::{AsSlice, AsSliceMut, ViewArg, ViewMutArg};

/// Less is not worth two launches more: the product of all extents, and rows and columns that use an operand again.
const LEAST_PRODUCT: u64 = 1 << 27;
const LEAST_REUSE: u64 = 128;
/// Rows of the parts are a multiple of this: whole cache lines of f32.
const PITCH: u64 = 32;

/// Whether a product is faster so, and the kernels for it run here.
pub(super) fn pays(on: &impl Launch, e: Extents) -> bool {
    const KERNELS: [&str; 3] = ["matmul_f32_parts", "split", "split_transposed"];
    if let Some((kernel, _)) = on.pin() {
        return KERNELS.contains(&kernel.name);
    }
    let large = e.m.saturating_mul(e.n).saturating_mul(e.k) >= LEAST_PRODUCT && e.m.min(e.n) >= LEAST_REUSE;
    large && on.runtime().0.takes_maps(k::matmul_f32_parts::DESCS[0])
}

/// `f(A Bᵀ)` of `[m, k]` and `[n, k]`, of any strides.
pub(super) fn multiply(on: &impl Launch, a: ViewArg<f32, 2>, b: ViewArg<f32, 2>, c: ViewMutArg<f32, 2>, below: f32) -> Result<()> {
    let (a, b) = (Parts::of(on, a)?, Parts::of(on, b)?);
    on.launch(k::matmul_f32_parts(a.high()?, a.low()?, b.high()?, b.low()?, c, below))
}

/// The two parts of an operand, in scratch memory.
struct Parts {
    high: Scratch<f32>,
    low: Scratch<f32>,
    dims: [u64; 2],
    pitch: u64,
}

impl Parts {
    fn of(on: &impl Launch, x: ViewArg<f32, 2>) -> Result<Parts> {
        let dims = x.dims();
        let pitch = dims[1].next_multiple_of(PITCH);
        let too_large = || Error::TooLarge { len: dims[0].saturating_mul(pitch), size: size_of::<f32>() };
        let len = dims[0].checked_mul(pitch).and_then(|n| usize::try_from(n).ok()).ok_or_else(too_large)?;
        let (mut high, mut low) = (on.stream().scratch::<f32>(len)?, on.stream().scratch::<f32>(len)?);
        let strided = |s| AsSliceMut::as_slice_mut_arg(s).strided(dims, [pitch, 1]).ok_or_else(too_large);
        let (h, l) = (strided(&mut high)?, strided(&mut low)?);
        // Columns in memory are read as rows of the transpose.
        on.launch(if x.strides()[1] == 1 { k::split(x, h, l) } else { k::split_transposed(x.flipped(), h, l) })?;
        Ok(Parts { high, low, dims, pitch })
    }

    fn high(&self) -> Result<ViewArg<'_, f32, 2>> {
        self.view(&self.high)
    }

    fn low(&self) -> Result<ViewArg<'_, f32, 2>> {
        self.view(&self.low)
    }

    fn view<'a>(&self, part: &'a Scratch<f32>) -> Result<ViewArg<'a, f32, 2>> {
        let all = part.as_slice_arg();
        all.strided(self.dims, [self.pitch, 1]).ok_or(Error::TooLarge { len: all.len(), size: size_of::<f32>() })
    }
}
