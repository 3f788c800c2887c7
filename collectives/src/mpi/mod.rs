//! Ranks on the CPU: MPI, whose library is loaded at run time.
//!
//! A call returns when its memory may be used again. So a program that computes meanwhile calls from another thread.

mod elements;
mod library;

use crate::communicator::{Communicator, Part, Reduction};
use crate::error::{Error, Result};
use crate::launcher::{Launcher, is_gpu};
use core::ffi::{c_char, c_int, c_void};
use library::{Abi, Functions, Handles, Mpich, OpenMpi, Status};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tilewright_core::DType;
use tilewright_runtime::{Runtime, Stream};

/// `MPI_THREAD_MULTIPLE`: any thread may call, at any time.
const MULTIPLE: c_int = 3;
/// The tag of all messages.
const TAG: c_int = 0;
/// Elements that a call takes, of operations that can be carried out in parts.
const CHUNK: usize = 1 << 30;

/// A library of MPI that is initialized.
#[derive(Debug)]
struct Mpi<A: Abi> {
    functions: Functions<A::Handle>,
    handles: Handles<A::Handle>,
    /// Operations on `f16` and `bf16`: sum, product, min and max of each.
    half: [[A::Handle; 4]; 2],
    version: String,
}

#[derive(Debug)]
enum Process {
    OpenMpi(Mpi<OpenMpi>),
    Mpich(Mpi<Mpich>),
}

/// MPI is initialized once in a process.
static PROCESS: OnceLock<Result<Process>> = OnceLock::new();
/// All ranks of the launcher have finished: the end of the process finalizes MPI, unless [`FAILED`].
static FINISHED: AtomicBool = AtomicBool::new(false);
/// A world has failed, or was dropped before it had finished. No other world resets it.
static FAILED: AtomicBool = AtomicBool::new(false);

fn process() -> Result<&'static Process> {
    PROCESS.get_or_init(initialize).as_ref().map_err(Error::clone)
}

fn initialize() -> Result<Process> {
    let missing = |why| Error::NoLibrary {
        library: "MPI",
        why,
        install: "apt-get install openmpi-bin",
        path: ", or set TILE_MPI to the path of libmpi.so",
    };
    let library = library::load().map_err(missing)?;
    if library::is_open_mpi(&library) {
        // SAFETY: Open MPI, by a variable that it alone has.
        unsafe { Mpi::of(library) }.map(Process::OpenMpi)
    } else {
        // SAFETY: named as a library of MPI. Every library other than Open MPI has the MPICH ABI.
        unsafe { Mpi::of(library) }.map(Process::Mpich)
    }
}

/// Finalizes MPI where every world has finished. `mpirun` ends the other ranks of a process that ends without that.
extern "C" fn at_exit() {
    if !FINISHED.load(Acquire) || FAILED.load(Acquire) {
        return;
    }
    match PROCESS.get() {
        Some(Ok(Process::OpenMpi(mpi))) => mpi.finalize(),
        Some(Ok(Process::Mpich(mpi))) => mpi.finalize(),
        _ => {}
    }
}

impl<A: Abi> Mpi<A> {
    /// Initializes MPI, unless the program has.
    ///
    /// # Safety
    /// The library is one of MPI, whose binary interface is `A`.
    unsafe fn of(library: libloading::os::unix::Library) -> Result<Mpi<A>> {
        let lacks = |why| Error::Unsupported { library: "MPI".into(), why };
        let handles = A::handles(&library).map_err(lacks)?;
        // SAFETY: the caller's contract.
        let functions = unsafe { Functions::<A::Handle>::of(library) }.map_err(lacks)?;
        let mut mpi = Mpi { half: [[handles.sum; 4]; 2], functions, handles, version: String::new() };
        let f = &mpi.functions;
        let (mut is_initialized, mut is_finalized) = (0, 0);
        // SAFETY: may be called at any time; room for the answer.
        mpi.check("MPI_Initialized", unsafe { (f.initialized)(&mut is_initialized) })?;
        // SAFETY: as above.
        mpi.check("MPI_Finalized", unsafe { (f.finalized)(&mut is_finalized) })?;
        if is_finalized != 0 {
            let why = "the program has finalized it: join the other ranks before MPI_Finalize".into();
            return Err(Error::Unsupported { library: "MPI".into(), why });
        }
        let mut provided = 0;
        if is_initialized != 0 {
            // SAFETY: MPI is initialized and not finalized; room for the answer.
            mpi.check("MPI_Query_thread", unsafe { (f.query_thread)(&mut provided) })?;
        } else {
            let none = core::ptr::null_mut();
            // SAFETY: the first call of this process; arguments may be null since MPI 2.
            let code = unsafe { (f.init_thread)(none, none.cast(), MULTIPLE, &mut provided) };
            mpi.check("MPI_Init_thread", code)?;
            // The library has registered its own exit function before. Exit functions run in reverse order, so this one
            // runs first.
            // SAFETY: a function without arguments, which does not unwind.
            unsafe { libc::atexit(at_exit) };
        }
        mpi.version = mpi.library_version();
        if provided < MULTIPLE {
            let why = "it was initialized for calls of one thread: initialize it with MPI_THREAD_MULTIPLE".into();
            return Err(Error::Unsupported { library: mpi.version, why });
        }
        for (of_type, made) in elements::half_functions().into_iter().zip(&mut mpi.half) {
            for (function, made) in of_type.into_iter().zip(made) {
                // SAFETY: a function of this signature, for operands in any order; room for the handle.
                let code = unsafe { (mpi.functions.op_create)(function, 1, made) };
                check(&mpi.functions, "MPI_Op_create", code)?;
            }
        }
        Ok(mpi)
    }

    fn finalize(&self) {
        let mut is_finalized = 0;
        // SAFETY: may be called at any time after the start. All ranks have finished, and nothing is under way.
        unsafe {
            if (self.functions.finalized)(&mut is_finalized) == 0 && is_finalized == 0 {
                (self.functions.finalize)();
            }
        }
    }

    /// A duplicate of the communicator of all ranks, apart from other messages of the program. All ranks call it.
    fn duplicate(&self) -> Result<A::Handle> {
        let mut comm = self.handles.world;
        // SAFETY: MPI is initialized; room for the handle.
        self.check("MPI_Comm_dup", unsafe { (self.functions.comm_dup)(self.handles.world, &mut comm) })?;
        self.return_errors(comm)?;
        Ok(comm)
    }

    /// Errors of calls on a communicator of this crate are results, and do not end the process.
    fn return_errors(&self, comm: A::Handle) -> Result<()> {
        // SAFETY: a communicator of this library; its own handle.
        let code = unsafe { (self.functions.set_error_handler)(comm, self.handles.errors_return) };
        self.check("MPI_Comm_set_errhandler", code)
    }

    fn rank_and_size(&self, comm: A::Handle) -> Result<(usize, usize)> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: a communicator of this library; room for the answers.
        self.check("MPI_Comm_rank", unsafe { (self.functions.comm_rank)(comm, &mut rank) })?;
        // SAFETY: as above.
        self.check("MPI_Comm_size", unsafe { (self.functions.comm_size)(comm, &mut size) })?;
        Ok((rank as usize, size as usize))
    }

    fn library_version(&self) -> String {
        // `MPI_MAX_LIBRARY_VERSION_STRING` is 8192 at most.
        let text = text(1 << 14, |out, len| {
            // SAFETY: room for the longest text.
            unsafe { (self.functions.library_version)(out, len) };
        });
        // As in `Open MPI v4.1.4, package: ..` and `MPICH Version:  4.0.2`.
        let first = text.split([',', '\n', '\0']).next().unwrap_or("MPI");
        first.split_whitespace().filter(|word| *word != "Version:").collect::<Vec<_>>().join(" ")
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        check(&self.functions, call, code)
    }

    /// The type of an element that is sent, by its size.
    fn bits(&self, dtype: DType) -> A::Handle {
        self.handles.unsigned[dtype.size().trailing_zeros() as usize % 4]
    }

    /// The operation and the type of a reduction.
    fn reduction(&self, dtype: DType, reduction: Reduction) -> (A::Handle, A::Handle) {
        let (h, i) = (&self.handles, elements::index(reduction));
        let own = [h.sum, h.product, h.min, h.max][i];
        match dtype {
            DType::F32 => (own, h.f32),
            DType::F64 => (own, h.f64),
            // MPI has no such types: operations of our own take the elements, as unsigned integers of two bytes.
            DType::F16 => (self.half[0][i], h.unsigned[1]),
            DType::BF16 => (self.half[1][i], h.unsigned[1]),
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => {
                (own, h.signed[dtype.size().trailing_zeros() as usize % 4])
            }
            _ => (own, self.bits(dtype)),
        }
    }
}

fn check<H>(functions: &Functions<H>, call: &'static str, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    // `MPI_MAX_ERROR_STRING` is 1024 at most.
    let message = text(1 << 12, |out, len| {
        // SAFETY: room for the longest text.
        unsafe { (functions.error_string)(code, out, len) };
    });
    Err(Error::Call { library: "MPI", call, code, message })
}

/// The text that `write` writes with its length, up to `room` bytes.
fn text(room: usize, write: impl FnOnce(*mut c_char, *mut c_int)) -> String {
    let (mut text, mut len) = (vec![0u8; room], 0);
    write(text.as_mut_ptr().cast(), &mut len);
    text.truncate(usize::try_from(len).unwrap_or(0));
    String::from_utf8_lossy(&text).trim_end_matches('\0').to_string()
}

/// A communicator of MPI.
#[derive(Debug)]
struct Ranks<A: Abi> {
    mpi: &'static Mpi<A>,
    comm: A::Handle,
    rank: usize,
    size: usize,
    /// All ranks of the launcher.
    is_whole: bool,
    /// Whether [`Communicator::finish`] was called.
    done: AtomicBool,
    /// Collective calls of one communicator come one after the other.
    turn: Mutex<()>,
}

impl<A: Abi> Ranks<A> {
    fn of(mpi: &'static Mpi<A>, comm: A::Handle) -> Result<Ranks<A>> {
        let (rank, size) = mpi.rank_and_size(comm)?;
        Ok(Ranks { mpi, comm, rank, size, is_whole: false, done: AtomicBool::new(false), turn: Mutex::new(()) })
    }

    fn world(mpi: &'static Mpi<A>) -> Result<Ranks<A>> {
        let mut ranks = Self::of(mpi, mpi.duplicate()?)?;
        ranks.is_whole = true;
        Ok(ranks)
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        self.mpi.check(call, code)
    }

    /// Errors: [`Error::Length`] where another number of elements came.
    fn came(&self, status: &Status, part: Part) -> Result<()> {
        let mut count = 0;
        // SAFETY: a status that a receiving call has written; room for the answer.
        let code = unsafe { (self.mpi.functions.get_count)(status, self.mpi.bits(part.dtype()), &mut count) };
        self.check("MPI_Get_count", code)?;
        if count as usize == part.len() {
            return Ok(());
        }
        let why = format!("{count} elements came for {}: send and receive the same number", part.len());
        Err(Error::Length { operation: "receive", why })
    }
}

/// The parts of at most [`CHUNK`] elements.
fn chunks(part: Part) -> impl Iterator<Item = Part> {
    (0..part.len()).step_by(CHUNK).map(move |start| part.slice(start, CHUNK.min(part.len() - start)))
}

fn pointer(part: Part) -> *mut c_void {
    part.addr() as *mut c_void
}

/// The number of elements as MPI takes it. Errors: [`Error::TooLong`].
fn count(operation: &'static str, len: usize) -> Result<c_int> {
    c_int::try_from(len).map_err(|_| Error::TooLong { operation, len, max: c_int::MAX as usize })
}

fn rank_of(rank: usize) -> c_int {
    // A rank of a communicator, whose size is an `int`.
    rank as c_int
}

// SAFETY: calls are MPI's blocking ones: memory is used until they return, and received elements are no `bool`s.
unsafe impl<A: Abi> Communicator for Ranks<A> {
    fn name(&self) -> String {
        self.mpi.version.clone()
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    unsafe fn all_reduce(&self, stream: &Stream, data: Part, reduction: Reduction) -> Result<()> {
        let (op, element) = self.mpi.reduction(data.dtype(), reduction);
        let (averages, is_float) = (reduction == Reduction::Average, elements::is_float(data.dtype()));
        stream.external_work(&[data.raw()], |_| {
            let _turn = self.turn();
            if averages && is_float {
                // SAFETY: the caller's contract: memory of the host.
                unsafe { elements::divide(data, self.size) };
            }
            for part in chunks(data) {
                let n = count("all_reduce", part.len())?;
                // SAFETY: the caller's contract; the call returns when it is done with the memory.
                let code =
                    unsafe { (self.mpi.functions.all_reduce)(A::IN_PLACE, pointer(part), n, element, op, self.comm) };
                self.check("MPI_Allreduce", code)?;
            }
            if averages && !is_float {
                // SAFETY: as above.
                unsafe { elements::divide(data, self.size) };
            }
            Ok(())
        })?
    }

    unsafe fn reduce_scatter(&self, stream: &Stream, from: Part, to: Part, reduction: Reduction) -> Result<()> {
        // Open MPI computes the total of all ranks in an `int`.
        count("reduce_scatter", from.len())?;
        let n = count("reduce_scatter", to.len())?;
        let (op, element) = self.mpi.reduction(to.dtype(), reduction);
        let (averages, is_float) = (reduction == Reduction::Average, elements::is_float(to.dtype()));
        stream.external_work(&[from.raw(), to.raw()], |_| {
            let _turn = self.turn();
            // With the alignment of every element.
            let mut divided = Vec::new();
            let from = match averages && is_float {
                true => {
                    divided.resize(from.bytes().div_ceil(8), 0u64);
                    let copy = from.moved_to(divided.as_mut_ptr() as u64);
                    // SAFETY: the caller's contract, and a vector of as many bytes, which is not used elsewhere.
                    unsafe {
                        core::ptr::copy_nonoverlapping(pointer(from).cast::<u8>(), pointer(copy).cast(), from.bytes());
                        elements::divide(copy, self.size);
                    }
                    copy
                }
                false => from,
            };
            let f = self.mpi.functions.reduce_scatter_block;
            // SAFETY: the caller's contract, or the copy, which lives until the call returns.
            self.check("MPI_Reduce_scatter_block", unsafe {
                f(pointer(from), pointer(to), n, element, op, self.comm)
            })?;
            if averages && !is_float {
                // SAFETY: as above.
                unsafe { elements::divide(to, self.size) };
            }
            Ok(())
        })?
    }

    unsafe fn broadcast(&self, stream: &Stream, data: Part, root: usize) -> Result<()> {
        let element = self.mpi.bits(data.dtype());
        stream.external_work(&[data.raw()], |_| {
            let _turn = self.turn();
            chunks(data).try_for_each(|part| {
                let n = count("broadcast", part.len())?;
                let f = self.mpi.functions.broadcast;
                // SAFETY: the caller's contract; the call returns when it is done with the memory.
                self.check("MPI_Bcast", unsafe { f(pointer(part), n, element, rank_of(root), self.comm) })
            })
        })?
    }

    unsafe fn all_gather(&self, stream: &Stream, from: Part, to: Part) -> Result<()> {
        // The total of all ranks, as of `reduce_scatter`.
        count("all_gather", to.len())?;
        let (n, element) = (count("all_gather", from.len())?, self.mpi.bits(from.dtype()));
        stream.external_work(&[from.raw(), to.raw()], |_| {
            let _turn = self.turn();
            let f = self.mpi.functions.all_gather;
            // SAFETY: the caller's contract: `to` has `size` times as many elements.
            self.check("MPI_Allgather", unsafe { f(pointer(from), n, element, pointer(to), n, element, self.comm) })
        })?
    }

    unsafe fn all_to_all(&self, stream: &Stream, from: Part, to: Part) -> Result<()> {
        // The total of all ranks, as of `reduce_scatter`.
        count("all_to_all", from.len())?;
        let (n, element) = (count("all_to_all", from.len() / self.size)?, self.mpi.bits(from.dtype()));
        stream.external_work(&[from.raw(), to.raw()], |_| {
            let _turn = self.turn();
            let f = self.mpi.functions.all_to_all;
            // SAFETY: the caller's contract: both have `size` parts of `n` elements.
            self.check("MPI_Alltoall", unsafe { f(pointer(from), n, element, pointer(to), n, element, self.comm) })
        })?
    }

    unsafe fn send_receive(
        &self,
        stream: &Stream,
        send: Option<(Part, usize)>,
        receive: Option<(Part, usize)>,
    ) -> Result<()> {
        let memory: Vec<_> = [send, receive].into_iter().flatten().map(|(part, _)| part.raw()).collect();
        let f = &self.mpi.functions;
        // Not one after the other: a receiving rank may wait for a message that this one sends on another thread.
        stream.external_work(&memory, |_| match (send, receive) {
            (Some((from, to_rank)), Some((to, from_rank))) => {
                let (n, m) = (count("send_receive", from.len())?, count("send_receive", to.len())?);
                let (sent, received) = (self.mpi.bits(from.dtype()), self.mpi.bits(to.dtype()));
                let mut status = Status([0; 64]);
                // SAFETY: the caller's contract, and room for a status.
                let code = unsafe {
                    (f.send_receive)(
                        pointer(from),
                        n,
                        sent,
                        rank_of(to_rank),
                        TAG,
                        pointer(to),
                        m,
                        received,
                        rank_of(from_rank),
                        TAG,
                        self.comm,
                        &mut status,
                    )
                };
                self.check("MPI_Sendrecv", code)?;
                self.came(&status, to)
            }
            // One message each: a send may meet the receive of a `send_receive`.
            (Some((from, rank)), None) => {
                let (n, element) = (count("send", from.len())?, self.mpi.bits(from.dtype()));
                // SAFETY: the caller's contract.
                self.check("MPI_Send", unsafe { (f.send)(pointer(from), n, element, rank_of(rank), TAG, self.comm) })
            }
            (None, Some((to, rank))) => {
                let (n, element) = (count("receive", to.len())?, self.mpi.bits(to.dtype()));
                let mut status = Status([0; 64]);
                // SAFETY: the caller's contract, and room for a status.
                let code = unsafe { (f.receive)(pointer(to), n, element, rank_of(rank), TAG, self.comm, &mut status) };
                self.check("MPI_Recv", code)?;
                self.came(&status, to)
            }
            (None, None) => Ok(()),
        })?
    }

    fn barrier(&self, stream: &Stream) -> Result<()> {
        stream.synchronize()?;
        let _turn = self.turn();
        // SAFETY: a communicator of this library.
        self.check("MPI_Barrier", unsafe { (self.mpi.functions.barrier)(self.comm) })
    }

    /// The communicator stays until MPI is finalized: freeing it is a collective call, and a drop is none.
    fn split(&self, color: u32) -> Result<Box<dyn Communicator>> {
        let _turn = self.turn();
        let mut comm = self.comm;
        // SAFETY: a communicator of this library; room for the handle.
        let code = unsafe { (self.mpi.functions.comm_split)(self.comm, color as c_int, rank_of(self.rank), &mut comm) };
        self.check("MPI_Comm_split", code)?;
        self.mpi.return_errors(comm)?;
        Ok(Box::new(Ranks::of(self.mpi, comm)?))
    }

    fn finish(&self) -> Result<()> {
        self.done.store(true, Release);
        if self.is_whole {
            finish();
        }
        Ok(())
    }
}

impl<A: Abi> Drop for Ranks<A> {
    fn drop(&mut self) {
        // Other ranks may wait for this one in a call that it never makes.
        if !self.done.load(Acquire) {
            failed();
        }
    }
}

/// All ranks that `mpirun` has started.
pub(crate) fn world(rt: &Runtime, launcher: &Launcher) -> Result<Box<dyn Communicator>> {
    if is_gpu(rt) {
        let why = "MPI sends memory of the host, and the runtime is a GPU: leave TILE_COLLECTIVES=mpi out".into();
        return Err(Error::Environment { why });
    }
    if launcher.size > 1 && !launcher.is_of_mpi() {
        let why = format!("ranks on the CPU use MPI: start them with `mpirun -n {}`, not with torchrun", launcher.size);
        return Err(Error::Environment { why });
    }
    let ranks: Box<dyn Communicator> = match process()? {
        Process::OpenMpi(mpi) => Box::new(Ranks::world(mpi)?),
        Process::Mpich(mpi) => Box::new(Ranks::world(mpi)?),
    };
    as_launched(launcher, &ranks.name(), ranks.rank(), ranks.size())?;
    Ok(ranks)
}

/// Errors: [`Error::Environment`] where MPI gives this process another rank or size than the launcher does.
fn as_launched(launcher: &Launcher, library: &str, rank: usize, size: usize) -> Result<()> {
    if (rank, size) == (launcher.rank, launcher.size) {
        return Ok(());
    }
    let why = format!(
        "the launcher says rank {} of {}, and {library} rank {rank} of {size}: start the ranks with the mpirun of that \
         library",
        launcher.rank, launcher.size
    );
    Err(Error::Environment { why })
}

/// Hands bytes of rank 0 to all ranks. Errors: as of [`world`].
pub(crate) fn hand_out(launcher: &Launcher, bytes: &mut [u8]) -> Result<()> {
    fn by<A: Abi>(mpi: &Mpi<A>, launcher: &Launcher, bytes: &mut [u8]) -> Result<()> {
        let n = count("broadcast", bytes.len())?;
        let comm = mpi.duplicate()?;
        let (rank, size) = mpi.rank_and_size(comm)?;
        as_launched(launcher, &mpi.version, rank, size)?;
        let f = mpi.functions.broadcast;
        // SAFETY: bytes that are borrowed mutably, and a communicator of all ranks.
        mpi.check("MPI_Bcast", unsafe { f(bytes.as_mut_ptr().cast(), n, mpi.handles.unsigned[0], 0, comm) })
    }
    match process()? {
        Process::OpenMpi(mpi) => by(mpi, launcher, bytes),
        Process::Mpich(mpi) => by(mpi, launcher, bytes),
    }
}

/// All ranks of the launcher have finished: the end of the process finalizes MPI, if it was used and no world has
/// failed.
pub(crate) fn finish() {
    FINISHED.store(true, Release);
}

/// A world was dropped before it had finished, or a call has failed: `mpirun` ends the other ranks, which may wait for
/// this one.
pub(crate) fn failed() {
    FAILED.store(true, Release);
}
