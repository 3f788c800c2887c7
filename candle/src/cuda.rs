//! Operations on tensors of a GPU, on candle's stream.

use crate::{Failure, Input, Operation, Output};
use candle_core::cuda::CudaStorageSlice;
use candle_core::cuda::cudarc::driver::{
    CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, SyncOnDrop, ValidAsZeroBits,
};
use candle_core::{CudaDevice, CudaStorage, DType, Error, Layout, Result, Shape};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use tilewright::ops::ExecOptions;
use tilewright::{DeviceId, Runtime, Stream};

/// Runs an operation on the stream of its first tensor's device.
pub fn forward<const N: usize, O: Operation<N>>(
    op: &O,
    inputs: [(&CudaStorage, &Layout); N],
) -> Result<(CudaStorage, Shape)> {
    let Some((first, _)) = inputs.first() else { candle_core::bail!("{} has no tensors", O::NAME) };
    let device = first.device.clone();
    let theirs = device.cuda_stream();
    // Cudarc's event of a tensor's last use is that of one stream.
    if inputs[1..].iter().any(|(storage, _)| storage.device.cuda_stream().cu_stream() != theirs.cu_stream()) {
        candle_core::bail!("{}: the tensors are on different streams of a GPU: use clones of one `Device`", O::NAME);
    }
    let (rt, stream) = queue(&theirs).map_err(|e| Failure::from(e).into_candle(O::NAME))?;
    // Work of other streams may not use the memory: candle's events are those of its stream.
    let at = match rt.device().id {
        DeviceId::Cuda { device, context } => DeviceId::CudaStream { device, context, stream: stream.as_raw() as u64 },
        other => other,
    };
    // Dropped after the launch: then the events of the tensors' uses are recorded.
    let mut uses = Vec::with_capacity(N + 1);
    let inputs = inputs.map(|(storage, layout)| {
        let (addr, dtype, used) = elements(&storage.slice, &theirs);
        uses.push(used);
        // SAFETY: the elements of the storage, which is borrowed. `theirs` waits for their last write, and work on
        // `stream` follows it (see `queue`). All inputs are of this stream, and so is the event of `used`: later
        // writes, and the release of the memory, wait for it or are enqueued on `theirs` behind it.
        unsafe { Input::new(O::NAME, layout, dtype, addr, at) }
    });
    let (dtype, shape) = op.output(&inputs)?;
    let mut slice = allocate(O::NAME, &device, dtype, shape.elem_count(), O::ACCUMULATES)?;
    if shape.elem_count() > 0 {
        let (addr, used) = elements_mut(&mut slice, &theirs);
        // SAFETY: the elements of the slice, which nothing else has. Its drop frees them in the order of `theirs`.
        let output = unsafe { Output::new(O::NAME, shape.dims(), dtype, addr, at) };
        let launched = op.launch(&ExecOptions::new(&rt).stream(&stream), inputs, output);
        drop(used);
        launched.map_err(|e| e.into_candle(O::NAME))?;
    }
    drop(uses);
    Ok((CudaStorage { slice, device }, shape))
}

/// Runtimes by the ordinal of their device, and streams by candle's, which are kept.
#[derive(Default)]
struct Queues {
    runtimes: HashMap<usize, Runtime>,
    streams: Vec<Kept>,
}

/// A stream of candle.
struct Kept {
    theirs: Arc<CudaStream>,
    ours: Stream,
    /// How many of its `Arc`s are here.
    count: usize,
}

/// The legacy default stream.
const LEGACY: usize = 1;
/// `CU_STREAM_PER_THREAD`, which `Device::new_cuda` takes.
const PER_THREAD: usize = 2;

/// The runtime and the stream whose work is ordered with that of candle's stream.
///
/// That is candle's stream itself, as of `Device::new_cuda_with_stream`. For a per-thread default stream it is the
/// legacy default stream: the driver lets the two wait for each other, in both directions.
fn queue(theirs: &Arc<CudaStream>) -> tilewright::Result<(Runtime, Stream)> {
    static QUEUES: LazyLock<Mutex<Queues>> = LazyLock::new(Mutex::default);
    let mut queues = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kept) = queues.streams.iter().find(|kept| Arc::ptr_eq(&kept.theirs, theirs)) {
        let stream = kept.ours.clone();
        let rt = queues.runtimes.get(&theirs.context().ordinal());
        return Ok((rt.expect("the runtime of a stream that was made").clone(), stream));
    }
    let ordinal = theirs.context().ordinal();
    let rt = match queues.runtimes.get(&ordinal) {
        Some(rt) => rt.clone(),
        // cudarc's context is the primary one of the device, as that of `Runtime::cuda`.
        None => queues.runtimes.entry(ordinal).or_insert(Runtime::cuda(ordinal as u32)?).clone(),
    };
    let is_default = matches!(theirs.cu_stream() as usize, 0 | LEGACY | PER_THREAD);
    let stream = if is_default { rt.stream().clone() } else { Stream::from_cudarc(&rt, theirs)? };
    // Streams that candle has dropped go.
    queues.streams.retain(|kept| Arc::strong_count(&kept.theirs) > kept.count);
    // A stream that was made of candle's holds it, too.
    let count = if is_default { 1 } else { 2 };
    queues.streams.push(Kept { theirs: theirs.clone(), ours: stream.clone(), count });
    Ok((rt, stream))
}

/// The address, the number of elements, the dtype, and a guard that records the use when it is dropped.
fn elements<'a>(slice: &'a CudaStorageSlice, on: &'a CudaStream) -> ((u64, usize), DType, SyncOnDrop<'a>) {
    macro_rules! each { ($($variant:ident)*) => { match slice { $(
        CudaStorageSlice::$variant(s) => {
            let (addr, used) = s.device_ptr(on);
            ((addr, s.len()), DType::$variant, used)
        }
    )* } } }
    each! { U8 U32 I16 I32 I64 BF16 F16 F32 F64 F8E4M3 F6E2M3 F6E3M2 F4 F8E8M0 }
}

fn elements_mut<'a>(slice: &'a mut CudaStorageSlice, on: &'a CudaStream) -> ((u64, usize), SyncOnDrop<'a>) {
    macro_rules! each { ($($variant:ident)*) => { match slice { $(
        CudaStorageSlice::$variant(s) => {
            let len = s.len();
            let (addr, used) = s.device_ptr_mut(on);
            ((addr, len), used)
        }
    )* } } }
    each! { U8 U32 I16 I32 I64 BF16 F16 F32 F64 F8E4M3 F6E2M3 F6E3M2 F4 F8E8M0 }
}

/// New memory of a result, of candle's stream.
fn allocate(op: &'static str, on: &CudaDevice, dtype: DType, len: usize, zeros: bool) -> Result<CudaStorageSlice> {
    macro_rules! each { ($($variant:ident)*) => { match dtype {
        $(DType::$variant => slice(on, len, zeros).map(CudaStorageSlice::$variant),)*
        _ => Err(Error::UnsupportedDTypeForOp(dtype, op).bt()),
    } } }
    each! { U8 U32 I16 I32 I64 BF16 F16 F32 F64 F8E4M3 }
}

fn slice<T: DeviceRepr + ValidAsZeroBits>(on: &CudaDevice, len: usize, zeros: bool) -> Result<CudaSlice<T>> {
    if zeros {
        return on.alloc_zeros(len);
    }
    // SAFETY: any bytes are a value of candle's types.
    unsafe { on.alloc(len) }
}
