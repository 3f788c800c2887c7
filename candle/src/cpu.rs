//! Operations on tensors of the host.

use crate::{Failure, Input, Operation, Output};
use candle_core::{CpuStorage, DType, Error, Layout, Result, Shape};
use std::alloc::{self, alloc_zeroed};
use std::sync::OnceLock;
use tilewright::ops::ExecOptions;
use tilewright::{DeviceId, Runtime};

/// The runtime of all tensors of the host.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(Runtime::cpu)
}

/// Runs an operation. The inputs are read where they are.
pub fn forward<const N: usize, O: Operation<N>>(
    op: &O,
    inputs: [(&CpuStorage, &Layout); N],
) -> Result<(CpuStorage, Shape)> {
    let inputs = inputs.map(|(storage, layout)| {
        let (addr, dtype) = elements(storage);
        // SAFETY: the elements of the storage, which is borrowed. A launch on the CPU is done when it returns.
        unsafe { Input::new(O::NAME, layout, dtype, addr, DeviceId::Host) }
    });
    let (dtype, shape) = op.output(&inputs)?;
    let mut storage = zeros(O::NAME, dtype, shape.elem_count())?;
    if shape.elem_count() > 0 {
        let addr = elements_mut(&mut storage);
        // SAFETY: the elements of the storage, which nothing else has.
        let output = unsafe { Output::new(O::NAME, shape.dims(), dtype, addr, DeviceId::Host) };
        let launched = op.launch(&ExecOptions::new(runtime()), inputs, output);
        launched.map_err(|e| e.into_candle(O::NAME))?;
    }
    Ok((storage, shape))
}

macro_rules! each_storage {
    ($storage:expr, $v:ident => $body:expr) => {
        match $storage {
            CpuStorage::U8($v) => ($body, DType::U8),
            CpuStorage::U32($v) => ($body, DType::U32),
            CpuStorage::I16($v) => ($body, DType::I16),
            CpuStorage::I32($v) => ($body, DType::I32),
            CpuStorage::I64($v) => ($body, DType::I64),
            CpuStorage::BF16($v) => ($body, DType::BF16),
            CpuStorage::F16($v) => ($body, DType::F16),
            CpuStorage::F32($v) => ($body, DType::F32),
            CpuStorage::F64($v) => ($body, DType::F64),
            CpuStorage::F8E4M3($v) => ($body, DType::F8E4M3),
            CpuStorage::F6E2M3($v) => ($body, DType::F6E2M3),
            CpuStorage::F6E3M2($v) => ($body, DType::F6E3M2),
            CpuStorage::F4($v) => ($body, DType::F4),
            CpuStorage::F8E8M0($v) => ($body, DType::F8E8M0),
        }
    };
}

/// The address and the number of elements, and the dtype.
fn elements(storage: &CpuStorage) -> ((u64, usize), DType) {
    each_storage!(storage, v => (v.as_ptr() as u64, v.len()))
}

fn elements_mut(storage: &mut CpuStorage) -> (u64, usize) {
    each_storage!(storage, v => (v.as_mut_ptr() as u64, v.len())).0
}

/// New memory of a result.
fn zeros(op: &'static str, dtype: DType, len: usize) -> Result<CpuStorage> {
    // SAFETY: the types of candle's elements, integers and floats, for which zero bytes are a value.
    let storage = unsafe {
        match dtype {
            DType::U8 => zeroed(len).map(CpuStorage::U8),
            DType::U32 => zeroed(len).map(CpuStorage::U32),
            DType::I16 => zeroed(len).map(CpuStorage::I16),
            DType::I32 => zeroed(len).map(CpuStorage::I32),
            DType::I64 => zeroed(len).map(CpuStorage::I64),
            DType::BF16 => zeroed(len).map(CpuStorage::BF16),
            DType::F16 => zeroed(len).map(CpuStorage::F16),
            DType::F32 => zeroed(len).map(CpuStorage::F32),
            DType::F64 => zeroed(len).map(CpuStorage::F64),
            DType::F8E4M3 => zeroed(len).map(CpuStorage::F8E4M3),
            _ => return Err(Error::UnsupportedDTypeForOp(dtype, op).bt()),
        }
    };
    storage.map_err(|e| Failure::from(e).into_candle(op))
}

/// As `vec![0; len]`, from the allocator's zeroed memory, and with an error where there is none.
///
/// # Safety
/// Zero bytes are a value of `T`.
unsafe fn zeroed<T: Copy>(len: usize) -> std::result::Result<Vec<T>, tilewright::Error> {
    let bytes = len.saturating_mul(size_of::<T>());
    if bytes == 0 {
        return Ok(Vec::new());
    }
    let too_much = || tilewright::Error::OutOfMemory { device: DeviceId::Host, bytes: bytes as u64, free: None };
    let layout = alloc::Layout::array::<T>(len).map_err(|_| too_much())?;
    // SAFETY: the layout has bytes.
    let data = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if data.is_null() {
        return Err(too_much());
    }
    // SAFETY: the global allocator has given the memory of `len` elements, which are initialized: zero is a value.
    Ok(unsafe { Vec::from_raw_parts(data, len, len) })
}
