//! Ranks on GPUs: NCCL, whose library is loaded at run time.

mod library;
#[cfg(test)]
mod tests;

use crate::communicator::{Communicator, Part, Reduction};
use crate::error::{Error, Result};
use crate::launcher::{Kind, Launcher, is_gpu};
use crate::{mpi, rendezvous};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt::{Debug, Formatter};
use library::{Comm, Functions, UniqueId};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tilewright_core::{AsSlice, DType, RawArg};
use tilewright_runtime::{Buffer, Runtime, Stream};

/// `ncclInProgress`, which is no error.
const IN_PROGRESS: c_int = 7;
/// The first version with bf16 and averages.
const OLDEST: c_int = 21000;

fn functions() -> Result<&'static Functions> {
    static LOADED: OnceLock<Result<Functions>> = OnceLock::new();
    let load = || {
        let functions = library::load().map_err(|why| Error::NoLibrary {
            library: "NCCL",
            why,
            install: "pip install nvidia-nccl-cu12",
            path: ", or set TILE_NCCL to the path of libnccl.so.2",
        })?;
        let version = version(&functions);
        if version < OLDEST {
            let why =
                "it is older than NCCL 2.10, the first with averages: `pip install nvidia-nccl-cu12` gives a newer one";
            return Err(Error::Unsupported { library: name(version), why: why.into() });
        }
        Ok(functions)
    };
    LOADED.get_or_init(load).as_ref().map_err(Error::clone)
}

fn version(functions: &Functions) -> c_int {
    let mut version = 0;
    // SAFETY: room for the answer.
    unsafe { (functions.get_version)(&mut version) };
    version
}

fn name(version: c_int) -> String {
    // `NCCL_VERSION` of `nccl.h`: 2804 is 2.8.4, and 20908 is 2.9.8.
    let major = if version < 10000 { 1000 } else { 10000 };
    format!("NCCL {}.{}.{}", version / major, version % major / 100, version % 100)
}

/// A communicator, of which calls are made one after the other.
struct Handle(Comm);
// SAFETY: NCCL takes calls of one communicator from any thread, one at a time.
unsafe impl Send for Handle {}

/// A communicator of NCCL.
struct Ranks {
    nccl: &'static Functions,
    rt: Runtime,
    rank: usize,
    size: usize,
    /// None after the end, and after a failure.
    comm: Mutex<Option<Handle>>,
    /// Whether a graph may refer to the communicator: a call was captured.
    is_captured: AtomicBool,
    /// Reduced at barriers.
    token: Buffer<f32>,
    /// All ranks, of which `mpirun` waits for the end.
    is_of_mpi: bool,
}

impl Debug for Ranks {
    fn fmt(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        write!(f, "Nccl(rank {} of {})", self.rank, self.size)
    }
}

impl Ranks {
    /// The rank of an id, which all ranks have. Returns when all have called it.
    fn new(nccl: &'static Functions, rt: &Runtime, id: UniqueId, rank: usize, size: usize) -> Result<Ranks> {
        let token = Buffer::zeros(rt, 1)?;
        let mut comm = core::ptr::null_mut();
        // With the context of the runtime, whose device NCCL then uses.
        let code = rt.stream().external_work(&[], |_| {
            // SAFETY: room for the handle; the id is that of rank 0.
            unsafe { (nccl.init_rank)(&mut comm, size as c_int, id, rank as c_int) }
        })?;
        check(nccl, None, "ncclCommInitRank", code)?;
        Ok(Self::of(nccl, rt, comm, token, rank, size))
    }

    fn of(nccl: &'static Functions, rt: &Runtime, comm: Comm, token: Buffer<f32>, rank: usize, size: usize) -> Ranks {
        let (comm, is_captured) = (Mutex::new(Some(Handle(comm))), AtomicBool::new(false));
        Ranks { nccl, rt: rt.clone(), rank, size, comm, is_captured, token, is_of_mpi: false }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Handle>> {
        self.comm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enqueues work that uses this memory. After an error the communicator is ended, so that other ranks do not wait.
    fn enqueue(
        &self,
        stream: &Stream,
        memory: &[RawArg<u8>],
        call: &'static str,
        enqueue: impl FnOnce(Comm, *mut c_void) -> c_int,
    ) -> Result<()> {
        let mut comm = self.lock();
        let Some(Handle(raw)) = *comm else {
            let why = "an earlier call has failed or ended the communicator".into();
            return Err(Error::Unsupported { library: self.name(), why });
        };
        let is_captured = stream.is_capturing();
        let code = stream.external_work(memory, |stream| enqueue(raw, stream))?;
        // Another thread may have begun the capture meanwhile.
        if is_captured || stream.is_capturing() {
            self.is_captured.store(true, Relaxed);
        }
        let mut later = 0;
        let done = check(self.nccl, Some(raw), call, code).and_then(|()| {
            // Errors that other ranks and the network have reported since the previous calls.
            // SAFETY: a live communicator; room for the answer.
            let code = unsafe { (self.nccl.async_error)(raw, &mut later) };
            let code = if later == IN_PROGRESS { code } else { code.max(later) };
            check(self.nccl, Some(raw), call, code)
        });
        if done.is_err() {
            self.abort(comm.take());
        }
        done
    }

    /// Calls `ncclCommDestroy` or `ncclCommAbort`. Errors, after which nothing has ended: the context is gone, or the
    /// process is forked.
    fn end(&self, comm: Comm, end: unsafe extern "C" fn(Comm) -> c_int) -> Result<c_int> {
        // SAFETY: a live communicator, which nobody uses after this.
        Ok(self.rt.stream().external_work(&[], |_| unsafe { end(comm) })?)
    }

    /// Ends the communicator after a failure. After captured calls it stays until the process ends: NCCL would wait
    /// until every graph with such a call is gone, and this process may keep one.
    fn abort(&self, comm: Option<Handle>) {
        let Some(Handle(comm)) = comm else { return };
        mpi::failed();
        if !self.is_captured.load(Relaxed) {
            // After an error nothing can be ended any more.
            let _ = self.end(comm, self.nccl.abort);
        }
    }

    fn asks_for_rank(&self) -> Result<(usize, usize)> {
        let (mut rank, mut size) = (0, 0);
        self.enqueue(self.rt.stream(), &[], "ncclCommUserRank", |comm, _| {
            // SAFETY: a live communicator; room for the answers.
            unsafe { (self.nccl.comm_rank)(comm, &mut rank).max((self.nccl.comm_size)(comm, &mut size)) }
        })?;
        Ok((rank as usize, size as usize))
    }

    /// Sends and receives at once.
    ///
    /// # Safety
    /// As of [`Communicator::all_reduce`].
    unsafe fn exchange(&self, stream: &Stream, sent: &[(Part, usize)], received: &[(Part, usize)]) -> Result<()> {
        let memory: Vec<_> = sent.iter().chain(received).map(|(part, _)| part.raw()).collect();
        let f = self.nccl;
        self.enqueue(stream, &memory, "ncclGroupEnd", |comm, stream| {
            // SAFETY: no arguments.
            let mut code = unsafe { (f.group_start)() };
            for &(part, rank) in sent {
                // SAFETY: the caller's contract.
                let sent = unsafe { (f.send)(pointer(part), part.bytes(), UINT8, rank as c_int, comm, stream) };
                code = code.max(sent);
            }
            for &(part, rank) in received {
                // SAFETY: the caller's contract.
                let received = unsafe { (f.receive)(pointer(part), part.bytes(), UINT8, rank as c_int, comm, stream) };
                code = code.max(received);
            }
            // SAFETY: no arguments. A group ends after a failure, too.
            code.max(unsafe { (f.group_end)() })
        })
    }
}

const UINT8: c_int = 1;

fn pointer(part: Part) -> *mut c_void {
    part.addr() as *mut c_void
}

/// The number of an element type in `nccl.h`. Errors: [`Error::ElementType`] for others.
fn number_type(operation: &'static str, dtype: DType) -> Result<c_int> {
    Ok(match dtype {
        DType::I8 => 0,
        DType::U8 => UINT8,
        DType::I32 => 2,
        DType::U32 => 3,
        DType::I64 => 4,
        DType::U64 => 5,
        DType::F16 => 6,
        DType::F32 => 7,
        DType::F64 => 8,
        DType::BF16 => 9,
        _ => return Err(Error::ElementType { operation, element: dtype }),
    })
}

fn number_op(reduction: Reduction) -> c_int {
    match reduction {
        Reduction::Sum => 0,
        Reduction::Product => 1,
        Reduction::Max => 2,
        Reduction::Min => 3,
        Reduction::Average => 4,
    }
}

fn check(nccl: &Functions, comm: Option<Comm>, call: &'static str, code: c_int) -> Result<()> {
    if code == 0 || code == IN_PROGRESS {
        return Ok(());
    }
    // SAFETY: NCCL's text, which ends with a null.
    let text = |p: *const c_char| (!p.is_null()).then(|| unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned());
    // SAFETY: takes any number.
    let mut message = text(unsafe { (nccl.error_string)(code) }).unwrap_or_default();
    // SAFETY: a live communicator, or none: the last error of the process.
    let last = nccl.last_error.and_then(|f| text(unsafe { f(comm.unwrap_or(core::ptr::null_mut())) }));
    if let Some(last) = last.filter(|l| !l.is_empty()) {
        message = format!("{message}: {last}");
    }
    Err(Error::Call { library: "NCCL", call, code, message })
}

// SAFETY: work is put on the stream as external work, with all of its memory. Received elements are no `bool`s.
unsafe impl Communicator for Ranks {
    fn name(&self) -> String {
        name(version(self.nccl))
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    unsafe fn all_reduce(&self, stream: &Stream, data: Part, reduction: Reduction) -> Result<()> {
        let (element, op) = (number_type("all_reduce", data.dtype())?, number_op(reduction));
        self.enqueue(stream, &[data.raw()], "ncclAllReduce", |comm, stream| {
            let f = self.nccl.all_reduce;
            // SAFETY: the caller's contract; in place.
            unsafe { f(pointer(data), pointer(data), data.len(), element, op, comm, stream) }
        })
    }

    unsafe fn reduce_scatter(&self, stream: &Stream, from: Part, to: Part, reduction: Reduction) -> Result<()> {
        let (element, op) = (number_type("reduce_scatter", to.dtype())?, number_op(reduction));
        self.enqueue(stream, &[from.raw(), to.raw()], "ncclReduceScatter", |comm, stream| {
            let f = self.nccl.reduce_scatter;
            // SAFETY: the caller's contract: `from` has `size` times as many elements.
            unsafe { f(pointer(from), pointer(to), to.len(), element, op, comm, stream) }
        })
    }

    unsafe fn broadcast(&self, stream: &Stream, data: Part, root: usize) -> Result<()> {
        self.enqueue(stream, &[data.raw()], "ncclBroadcast", |comm, stream| {
            let f = self.nccl.broadcast;
            // SAFETY: the caller's contract; in place.
            unsafe { f(pointer(data), pointer(data), data.bytes(), UINT8, root as c_int, comm, stream) }
        })
    }

    unsafe fn all_gather(&self, stream: &Stream, from: Part, to: Part) -> Result<()> {
        self.enqueue(stream, &[from.raw(), to.raw()], "ncclAllGather", |comm, stream| {
            let f = self.nccl.all_gather;
            // SAFETY: the caller's contract: `to` has `size` times as many elements.
            unsafe { f(pointer(from), pointer(to), from.bytes(), UINT8, comm, stream) }
        })
    }

    unsafe fn all_to_all(&self, stream: &Stream, from: Part, to: Part) -> Result<()> {
        let n = from.len() / self.size;
        let parts = |of: Part| (0..self.size).map(|i| (of.slice(i * n, n), i)).collect::<Vec<_>>();
        // SAFETY: the caller's contract: both have `size` parts.
        unsafe { self.exchange(stream, &parts(from), &parts(to)) }
    }

    unsafe fn send_receive(
        &self,
        stream: &Stream,
        send: Option<(Part, usize)>,
        receive: Option<(Part, usize)>,
    ) -> Result<()> {
        // SAFETY: the caller's contract.
        unsafe { self.exchange(stream, send.as_slice(), receive.as_slice()) }
    }

    fn barrier(&self, stream: &Stream) -> Result<()> {
        let token = Part::of((&self.token).as_slice_arg());
        // SAFETY: own memory, of which only the sum of zeros is made: several barriers may be under way at once.
        unsafe { self.all_reduce(stream, token, Reduction::Sum) }?;
        Ok(stream.synchronize()?)
    }

    fn split(&self, color: u32) -> Result<Box<dyn Communicator>> {
        let Some(split) = self.nccl.split else {
            let why = "it is older than NCCL 2.18, the first that splits communicators".into();
            return Err(Error::Unsupported { library: self.name(), why });
        };
        // Before the split: an error after it would lose the communicator.
        let token = Buffer::zeros(&self.rt, 1)?;
        let mut made = core::ptr::null_mut();
        self.enqueue(self.rt.stream(), &[], "ncclCommSplit", |comm, _| {
            // SAFETY: room for the handle. Without a configuration it is that of this communicator.
            unsafe { split(comm, color as c_int, self.rank as c_int, &mut made, core::ptr::null_mut()) }
        })?;
        let mut ranks = Ranks::of(self.nccl, &self.rt, made, token, 0, 0);
        (ranks.rank, ranks.size) = ranks.asks_for_rank()?;
        Ok(Box::new(ranks))
    }

    fn finish(&self) -> Result<()> {
        let mut comm = self.lock();
        if let Some(Handle(raw)) = *comm {
            // After an error the communicator is still here, and the drop ends it.
            let code = self.end(raw, self.nccl.destroy)?;
            *comm = None;
            check(self.nccl, None, "ncclCommDestroy", code).inspect_err(|_| mpi::failed())?;
        }
        if self.is_of_mpi {
            mpi::finish();
        }
        Ok(())
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        // Other ranks may never make the calls for which this one's work waits.
        let comm = self.lock().take();
        self.abort(comm);
    }
}

/// All ranks that a launcher has started.
pub(crate) fn world(rt: &Runtime, launcher: &Launcher) -> Result<Box<dyn Communicator>> {
    if !is_gpu(rt) {
        let why = "NCCL sends memory of GPUs, and the runtime is none: leave TILE_COLLECTIVES=nccl out".into();
        return Err(Error::Environment { why });
    }
    let nccl = functions()?;
    let mut id = UniqueId([0; 128]);
    if launcher.rank == 0 {
        // SAFETY: room for the id.
        let code = unsafe { (nccl.get_unique_id)(&mut id) };
        check(nccl, None, "ncclGetUniqueId", code)?;
    }
    match &launcher.kind {
        _ if launcher.size == 1 => {}
        Kind::Torchrun(meeting) => rendezvous::hand_out(meeting, launcher.rank, launcher.size, &mut id.0)?,
        Kind::Mpirun => mpi::hand_out(launcher, &mut id.0)?,
        Kind::None => {}
    }
    let mut ranks = Ranks::new(nccl, rt, id, launcher.rank, launcher.size)?;
    ranks.is_of_mpi = launcher.size > 1 && launcher.kind == Kind::Mpirun;
    Ok(Box::new(ranks))
}
