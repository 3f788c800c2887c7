//! Tensor maps as the driver encodes them.

use super::api::code;
use super::context::Context;
use crate::error::{Error, Result};
use crate::tensor_map::{Geometry, malformed};
use tilewright_core::{ConfigDesc, DType, KernelDesc, MAX_TENSOR_MAP_RANK, MAX_TENSOR_MAPS, MapDesc};

/// `CUtensorMap`: opaque, a kernel parameter by value.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct TensorMap([u64; 16]);

const NO_INTERLEAVE: u32 = 0;
const FILL_ZERO: u32 = 0;
const L2_128B: u32 = 2;
const L2_256B: u32 = 3;

fn data_type(d: DType) -> u32 {
    match d {
        DType::F8E4M3 | DType::F8E5M2 | DType::U8 | DType::I8 | DType::Bool => 0,
        DType::U16 | DType::I16 => 1,
        DType::U32 => 2,
        DType::I32 => 3,
        DType::U64 => 4,
        DType::I64 => 5,
        DType::F16 => 6,
        DType::F32 => 7,
        DType::F64 => 8,
        DType::BF16 => 9,
    }
}

/// Encodes the maps of an entry for these arguments; none costs nothing.
#[inline]
pub(crate) fn encode(
    context: &Context,
    desc: &'static KernelDesc,
    config: &ConfigDesc,
    maps: &[MapDesc],
    words: &[u64],
) -> Result<Box<[TensorMap]>> {
    if maps.is_empty() {
        return Ok(Box::default());
    }
    if maps.len() > MAX_TENSOR_MAPS {
        return Err(malformed(desc));
    }
    let one = |m| {
        Geometry::of(desc, m, words).ok_or_else(|| malformed(desc)).and_then(|g| encode_one(context, desc, config, &g))
    };
    maps.iter().map(one).collect()
}

fn encode_one(context: &Context, desc: &'static KernelDesc, config: &ConfigDesc, g: &Geometry) -> Result<TensorMap> {
    let mut map = TensorMap([0; 16]);
    let swizzle = match g.swizzle {
        0 => 0,
        32 => 1,
        64 => 2,
        128 => 3,
        _ => return Err(malformed(desc)),
    };
    // A miss brings in two neighboring lines where a row has them.
    let row = g.dims[0] * g.dtype.size() as u64;
    let promotion = if row >= 256 && g.starts_at_lines() { L2_256B } else { L2_128B };
    let steps = [1u32; MAX_TENSOR_MAP_RANK];
    // SAFETY: the map is aligned and of its size, the arrays are as long as the rank says.
    let done = unsafe {
        (context.api.tensor_map_encode_tiled)(
            (&raw mut map).cast(),
            data_type(g.dtype),
            g.rank as u32,
            g.base as *mut _,
            g.dims.as_ptr(),
            g.strides.as_ptr(),
            g.extents.as_ptr(),
            steps.as_ptr(),
            NO_INTERLEAVE,
            swizzle,
            promotion,
            FILL_ZERO,
        )
    };
    match done {
        code::SUCCESS => Ok(map),
        code::INVALID_VALUE => Err(Error::CannotLaunch {
            kernel: desc.name,
            config: super::module::config_id(desc, config),
            device: context.info.name.clone(),
            why: format!(
                "the driver takes no tensor map of `{}` (extents {:?}, strides {:?} bytes)",
                g.name,
                &g.dims[..g.rank],
                &g.strides[..g.rank - 1]
            ),
        }),
        e => Err(context.api.error("encoding a tensor map", e)),
    }
}

const _: () = assert!(size_of::<TensorMap>() == 128 && align_of::<TensorMap>() == 64);
