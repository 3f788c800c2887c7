//! Where a call runs: the device of its arrays, and the stream that the caller works on.

use crate::error::{argument_error, raise};
use crate::framework::Kind;
use core::ffi::c_void;
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::sync::{Mutex, OnceLock, PoisonError};
use tilewright_core::cpu::fork::PerProcess;
use tilewright_core::{Call, DeviceId};
use tilewright_runtime::dlpack::DLDevice;
use tilewright_runtime::{LaunchOptions, Result, Runtime, Stream, private};

/// A device and a stream of it.
///
/// # Examples
/// ```no_run
/// use pyo3::prelude::*;
/// use tilewright::tile_kernel;
/// use tilewright_python::{Array, Output};
///
/// #[tile_kernel(grid = [cdiv(y.len(), 1024)])]
/// fn copy(x: &[f32], y: &mut [f32]) {
///     let i = program_id(0) * 1024 + arange(1024);
///     store(y, i, load(x, i));
/// }
///
/// /// A copy of `x`, and the backend that made it. On a GPU the copy is done on return.
/// #[pyfunction]
/// fn copied(py: Python<'_>, x: Array) -> PyResult<(Py<PyAny>, String)> {
///     let (context, mut y) = (x.context(), Output::empty(py, &x, x.dims(), x.dtype())?);
///     context.run(py, |on| {
///         on.launch(copy(x.slice()?, y.slice_mut()?))?;
///         if on.is_host() { Ok(()) } else { on.stream().synchronize() }
///     })?;
///     Ok((y.into_object(py)?, context.runtime().name()))
/// }
/// # fn main() {}
/// ```
#[derive(Clone, Debug)]
pub struct ExecContext {
    rt: Runtime,
    pub(crate) stream: Stream,
}

/// A stream of another library, kept for its scratch memory.
struct Made {
    raw: usize,
    ordinal: u32,
    context: ExecContext,
    /// The other library's object.
    _keeps: Option<Py<PyAny>>,
}

thread_local! {
    /// The argument of `set_stream`.
    static STREAM: Cell<Option<usize>> = const { Cell::new(None) };
    static MADE: RefCell<Option<Made>> = const { RefCell::new(None) };
}

/// Puts the calling thread's later work on GPUs on a stream, the address of a ``CUstream`` or ``cudaStream_t`` that
/// lives until another one is set; 0 is the default stream. With ``None``, the default, it is the current stream of the
/// library that the arrays belong to. Returns what was set before.
#[pyfunction]
#[pyo3(signature = (stream, /))]
pub(crate) fn set_stream(stream: Option<usize>) -> Option<usize> {
    // The stream that was set may be destroyed from now on.
    MADE.take();
    STREAM.replace(stream)
}

/// Whether the calling thread has set a stream.
pub(crate) fn is_set() -> bool {
    STREAM.get().is_some()
}

/// The CPU backend; the emulated SM where `TILE_BACKEND` says so.
fn host() -> Result<Runtime> {
    static HOST: PerProcess<OnceLock<Runtime>> = PerProcess::new();
    let host = HOST.get_or_init(OnceLock::new);
    if let Some(rt) = host.get() {
        return Ok(rt.clone());
    }
    let name = std::env::var("TILE_BACKEND").unwrap_or_default();
    let rt = if name.starts_with("emulator") { Runtime::from_name(&name)? } else { Runtime::cpu() };
    // Another thread may have made one meanwhile.
    Ok(host.get_or_init(|| rt).clone())
}

/// A GPU. It has one runtime for all streams, which keeps its plans and what was measured.
fn gpu(ordinal: u32) -> Result<Runtime> {
    static MADE: PerProcess<Mutex<Vec<(u32, Runtime)>>> = PerProcess::new();
    let made = MADE.get_or_init(Mutex::default);
    let lock = || made.lock().unwrap_or_else(PoisonError::into_inner);
    let known = |made: &Vec<(u32, Runtime)>| made.iter().find(|(of, _)| *of == ordinal).map(|(_, rt)| rt.clone());
    // The end of a runtime, and the making of one, may run code of Python, which may come back here: no lock is held.
    let gone: Vec<_> = lock().extract_if(.., |(_, rt)| !private::is_alive(rt)).collect();
    drop(gone);
    if let Some(rt) = known(&lock()) {
        return Ok(rt);
    }
    let rt = Runtime::cuda(ordinal)?;
    let mut made = lock();
    // Another thread may have made one meanwhile.
    Ok(known(&made).unwrap_or_else(|| {
        made.push((ordinal, rt.clone()));
        rt
    }))
}

/// The device of a runtime in DLPack's numbers.
pub(crate) fn dlpack_device(rt: &Runtime) -> DLDevice {
    match rt.device().id {
        DeviceId::Cuda { device, .. } | DeviceId::CudaStream { device, .. } => {
            DLDevice { device_type: 2, device_id: device as i32 }
        }
        DeviceId::Host | DeviceId::Unknown => DLDevice { device_type: 1, device_id: 0 },
    }
}

/// A stream of another library, to put work before it or behind it. For the default stream of a thread it is the legacy
/// default stream: each of them waits for the work that the other one was given before.
///
/// # Safety
/// The stream is alive as long as the result.
pub(crate) unsafe fn stream_of_library(rt: &Runtime, raw: usize) -> Result<Stream> {
    const LEGACY: usize = 1;
    const PER_THREAD: usize = 2;
    let raw = if raw == PER_THREAD { LEGACY } else { raw };
    // SAFETY: the caller's contract.
    unsafe { Stream::from_raw(rt, raw as *mut c_void) }
}

impl ExecContext {
    /// The context of an array on a device.
    pub(crate) fn of(py: Python<'_>, device: DLDevice, kind: Kind) -> PyResult<ExecContext> {
        const CPU: i32 = 1;
        const CUDA: i32 = 2;
        const PINNED: i32 = 3;
        const MANAGED: i32 = 13;
        match device.device_type {
            CPU | PINNED => {
                let rt = host().map_err(|e| raise(py, e))?;
                let stream = rt.stream().clone();
                Ok(ExecContext { rt, stream })
            }
            CUDA | MANAGED => ExecContext::on_gpu(py, device, kind),
            other => {
                let why = format!("the array is on a device of DLPack's type {other}");
                Err(argument_error(py, why + ": 1, the CPU, and 2, CUDA, are known"))
            }
        }
    }

    /// Whether work of both is in one order.
    pub(crate) fn is_same(&self, other: &ExecContext) -> bool {
        self.rt.device().id == other.rt.device().id && self.stream.as_raw() == other.stream.as_raw()
    }

    fn on_gpu(py: Python<'_>, device: DLDevice, kind: Kind) -> PyResult<ExecContext> {
        let ordinal = u32::try_from(device.device_id);
        let ordinal = ordinal.map_err(|_| argument_error(py, "its device number is negative"))?;
        let (raw, keeps) = match STREAM.get() {
            Some(raw) => (raw, None),
            None => kind.current_stream(py, device)?.unwrap_or_default(),
        };
        let known = |made: &Option<Made>| {
            made.as_ref().filter(|m| (m.raw, m.ordinal) == (raw, ordinal)).map(|m| m.context.clone())
        };
        if let Some(context) = MADE.with_borrow(known) {
            return Ok(context);
        }
        let rt = gpu(ordinal).map_err(|e| raise(py, e))?;
        // SAFETY: the caller of `set_stream` keeps the stream until it sets another one. A stream that a library owns
        // lives as long as its object, which is kept beside it, or as the library, as PyTorch's do. The caller keeps
        // one that a library wraps and does not own (SECURITY.md).
        let stream = unsafe { Stream::from_raw(&rt, raw as *mut c_void) }.map_err(|e| raise(py, e))?;
        let context = ExecContext { rt, stream };
        let before = MADE.replace(Some(Made { raw, ordinal, context: context.clone(), _keeps: keeps }));
        // Its drop may run code of Python, which may come back here.
        drop(before);
        Ok(context)
    }

    /// The runtime of the device. A launch with an array goes to [`ExecContext::stream`], as
    /// [`Runtime::launch_on`] and the operations' `ExecOptions::stream` put it there: arrays of PyTorch and of CuPy are
    /// an error on any other stream.
    pub fn runtime(&self) -> &Runtime {
        &self.rt
    }

    /// The stream that launches go to.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether it is the memory of the host.
    pub fn is_host(&self) -> bool {
        self.rt.device().id == DeviceId::Host
    }

    /// Enqueues a call of a kernel. On the CPU it is done on return.
    pub fn launch(&self, call: Call<'_>) -> Result<()> {
        self.rt.launch_with(&self.stream, call, &LaunchOptions::new())
    }

    /// Runs `body` without Python's lock. Its error becomes an exception.
    pub fn run<R: Send>(&self, py: Python<'_>, body: impl FnOnce(&ExecContext) -> Result<R> + Send) -> PyResult<R> {
        py.detach(|| body(self)).map_err(|e| raise(py, e))
    }

    /// The stream as DLPack's protocol numbers it: what a producer has to order its work before.
    pub(crate) fn dlpack_stream(&self) -> Option<usize> {
        if self.is_host() {
            return None;
        }
        const LEGACY: usize = 1;
        Some((self.stream.as_raw() as usize).max(LEGACY))
    }
}
