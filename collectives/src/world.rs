//! The processes that were started together, as the functions that a program calls.

use crate::alone::Alone;
use crate::communicator::{Communicator, Part, Reduction};
use crate::error::{Error, Result};
use crate::launcher::{Launcher, Library};
use crate::{mpi, nccl};
use tilewright_core::{AsSlice, AsSliceMut, DType, Element, bf16, f16};
use tilewright_runtime::{BackendKind, Runtime, Stream};

/// An element type of reductions. NCCL and MPI both reduce numbers of this type.
///
/// # Examples
/// ```
/// use tilewright_collectives::Number;
///
/// fn bytes<T: Number>() -> usize {
///     size_of::<T>()
/// }
/// assert_eq!((bytes::<f32>(), bytes::<u8>(), bytes::<tilewright::bf16>()), (4, 1, 2));
/// ```
pub trait Number: Element + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers { ($($t:ty),*) => { $(
    impl Number for $t {}
    impl sealed::Sealed for $t {}
)* } }
numbers! { f32, f64, f16, bf16, i8, u8, i32, u32, i64, u64, isize, usize }

/// The processes that were started together. Each has a rank from 0 on and the same number of ranks, and works on the
/// device of its runtime.
///
/// Every rank makes the same calls in the same order, with the same lengths, types and reductions. Ranks do not compare
/// them. If a rank differs, the results are undefined: ranks wait, fail, or get wrong data. NCCL and MPI call it
/// undefined behavior.
///
/// On a GPU a call enqueues its work on the stream, and returns. So it is ordered with the launches on that stream, and
/// runs beside those on others, which [`Stream::wait_for`] and [`Event`](tilewright_runtime::Event) order. A buffer may
/// be dropped at any time: its memory is freed behind the work. On the CPU a call returns when the work is done.
///
/// Drop every [`Graph`](tilewright_runtime::Graph) that holds a collective before the world is finished: NCCL waits
/// until these graphs are gone. A world that is dropped without [`World::finish`] does not wait: its communicator stays
/// until the process ends.
///
/// A world that is dropped and was not given to [`World::finish`] has failed: MPI is not finalized, so that `mpirun`
/// ends the other ranks, which would wait for this one. This holds for each world of [`World::split`], too.
///
/// # Examples
/// ```
/// use tilewright::Buffer;
/// use tilewright_collectives::{Reduction, World, runtime};
///
/// let rt = runtime()?; // that of this rank: with several GPUs each rank of a machine has its own
/// let world = World::from_env(&rt)?; // one rank, unless `mpirun` or `torchrun` has started this process
/// let mut x = Buffer::from_slice(&rt, &[1.0f32, 2.0])?;
/// world.all_reduce(rt.stream(), &mut x, Reduction::Sum)?;
/// assert_eq!(x.to_vec()?, [1.0, 2.0].map(|v| v * world.size() as f32));
/// world.finish()?;
/// # Ok::<(), tilewright_collectives::Error>(())
/// ```
#[derive(Debug)]
pub struct World {
    rt: Runtime,
    ranks: Box<dyn Communicator>,
}

impl World {
    /// The processes that `mpirun` or `torchrun` has started with this one, and one rank where neither has. Ranks on
    /// GPUs use NCCL, ranks on the CPU use MPI, and one rank alone needs no library. `TILE_COLLECTIVES` overrides:
    /// `nccl`, `mpi` or `alone`.
    ///
    /// It returns when all ranks have called it. Errors: [`Error::Environment`], [`Error::NoLibrary`],
    /// [`Error::Rendezvous`], those of the library.
    pub fn from_env(rt: &Runtime) -> Result<World> {
        let launcher = Launcher::from_env()?;
        let named = Library::from_env()?;
        let library = named.unwrap_or(match rt.kind() {
            _ if launcher.size == 1 => Library::None,
            BackendKind::Cuda => Library::Nccl,
            _ => Library::Mpi,
        });
        let ranks: Box<dyn Communicator> = match library {
            Library::None if launcher.size > 1 => {
                let why = format!("TILE_COLLECTIVES=alone, and {} ranks were started: leave it out", launcher.size);
                return Err(Error::Environment { why });
            }
            Library::None => Box::new(Alone { rt: rt.clone() }),
            Library::Nccl => nccl::world(rt, &launcher)?,
            Library::Mpi => mpi::world(rt, &launcher)?,
        };
        tracing::debug!(library = ranks.name(), rank = ranks.rank(), size = ranks.size(), "joined the other ranks");
        Ok(World { rt: rt.clone(), ranks })
    }

    /// One rank, without a library.
    ///
    /// # Examples
    /// ```
    /// use tilewright::Runtime;
    /// use tilewright_collectives::World;
    ///
    /// let world = World::alone(&Runtime::cpu());
    /// assert_eq!((world.rank(), world.size(), world.name()), (0, 1, "one rank".to_string()));
    /// ```
    pub fn alone(rt: &Runtime) -> World {
        World { rt: rt.clone(), ranks: Box::new(Alone { rt: rt.clone() }) }
    }

    /// The ranks of another library, on the device of `rt`. [`Communicator`] has an example.
    pub fn of(rt: &Runtime, ranks: Box<dyn Communicator>) -> World {
        World { rt: rt.clone(), ranks }
    }

    /// This process, from 0 on. [`World::alone`] has an example.
    pub fn rank(&self) -> usize {
        self.ranks.rank()
    }

    /// How many processes there are.
    pub fn size(&self) -> usize {
        self.ranks.size()
    }

    /// The library that sends, with its version.
    pub fn name(&self) -> String {
        self.ranks.name()
    }

    /// The runtime whose memory is sent. [`World`] has an example.
    pub fn runtime(&self) -> &Runtime {
        &self.rt
    }

    /// Replaces `data` on all ranks by the reduction of the `data` of all. Errors: those of the memory and the stream,
    /// and the library's.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    /// use tilewright_collectives::{Reduction, World};
    ///
    /// let rt = Runtime::cpu();
    /// let (world, mut x) = (World::alone(&rt), Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0])?);
    /// world.all_reduce(rt.stream(), &mut x, Reduction::Average)?;
    /// world.all_reduce(rt.stream(), x.slice_mut(..2)?, Reduction::Sum)?; // a part of it
    /// assert_eq!(x.to_vec()?, [1.0, 2.0, 3.0]);
    /// # Ok::<(), tilewright_collectives::Error>(())
    /// ```
    pub fn all_reduce<'a, T: Number>(
        &self,
        stream: &Stream,
        data: impl AsSliceMut<'a, T>,
        reduction: Reduction,
    ) -> Result<()> {
        let [data] = self.checked("all_reduce", stream, &[Part::of_mut(&data.as_slice_mut_arg())])?;
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: memory that a launch on this stream would take, borrowed mutably.
        unsafe { self.ranks.all_reduce(stream, data, reduction) }
    }

    /// Writes to `to` this rank's part of the reduction of all ranks' `from`: elements `rank * n..(rank + 1) * n`, for
    /// `n` elements of `to`. Errors: [`Error::Length`] unless `from` has `size * n`; as [`World::all_reduce`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    /// use tilewright_collectives::{Reduction, World};
    ///
    /// let rt = Runtime::cpu();
    /// let (world, x) = (World::alone(&rt), Buffer::from_slice(&rt, &[1.0f32, 2.0])?);
    /// let mut y = Buffer::<f32>::zeros(&rt, 2)?;
    /// world.reduce_scatter(rt.stream(), &x, &mut y, Reduction::Sum)?;
    /// assert_eq!(y.to_vec()?, [1.0, 2.0]);
    /// # Ok::<(), tilewright_collectives::Error>(())
    /// ```
    pub fn reduce_scatter<'a, 'b, T: Number>(
        &self,
        stream: &Stream,
        from: impl AsSlice<'a, T>,
        to: impl AsSliceMut<'b, T>,
        reduction: Reduction,
    ) -> Result<()> {
        let [from, to] = self.checked_pair("reduce_scatter", stream, from, to)?;
        let size = self.size();
        if to.len().checked_mul(size) != Some(from.len()) {
            let (whole, part) = (from.len(), to.len());
            let why = match whole % size {
                0 => format!("{whole} elements for {} have parts of {}, not {part}", ranks(size), whole / size),
                _ => format!("{whole} elements have no {size} equal parts: pass {} more", size - whole % size),
            };
            return Err(Error::Length { operation: "reduce_scatter", why });
        }
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: memory that a launch on this stream would take, of lengths that fit together. `to` is borrowed
        // mutably.
        unsafe { self.ranks.reduce_scatter(stream, from, to, reduction) }
    }

    /// Replaces `data` on all ranks by that of the rank `root`. Errors: [`Error::NoRank`], [`Error::ElementType`]; as
    /// [`World::all_reduce`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    /// use tilewright_collectives::{Error, World};
    ///
    /// let rt = Runtime::cpu();
    /// let (world, mut weights) = (World::alone(&rt), Buffer::from_slice(&rt, &[1.0f32, 2.0])?);
    /// world.broadcast(rt.stream(), &mut weights, 0)?;
    /// assert_eq!(weights.to_vec()?, [1.0, 2.0]);
    /// let e = world.broadcast(rt.stream(), &mut weights, 1).unwrap_err();
    /// assert!(matches!(e, Error::NoRank { rank: 1, size: 1, .. }));
    /// # Ok::<(), tilewright_collectives::Error>(())
    /// ```
    pub fn broadcast<'a, T: Element>(&self, stream: &Stream, data: impl AsSliceMut<'a, T>, root: usize) -> Result<()> {
        let [data] = self.checked("broadcast", stream, &[Part::of_mut(&data.as_slice_mut_arg())])?;
        self.known("broadcast", root)?;
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: memory that a launch on this stream would take, borrowed mutably.
        unsafe { self.ranks.broadcast(stream, data, root) }
    }

    /// Writes the `from` of all ranks to `to`, in the order of the ranks. Errors: [`Error::Length`] unless `to` has
    /// `size` times the elements of `from`; [`Error::ElementType`]; as [`World::all_reduce`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    /// use tilewright_collectives::World;
    ///
    /// let rt = Runtime::cpu();
    /// let (world, x) = (World::alone(&rt), Buffer::from_slice(&rt, &[1.0f32, 2.0])?);
    /// let mut all = Buffer::<f32>::zeros(&rt, world.size() * x.len())?;
    /// world.all_gather(rt.stream(), &x, &mut all)?;
    /// assert_eq!(all.to_vec()?, [1.0, 2.0]);
    /// # Ok::<(), tilewright_collectives::Error>(())
    /// ```
    pub fn all_gather<'a, 'b, T: Element>(
        &self,
        stream: &Stream,
        from: impl AsSlice<'a, T>,
        to: impl AsSliceMut<'b, T>,
    ) -> Result<()> {
        let [from, to] = self.checked_pair("all_gather", stream, from, to)?;
        if from.len().checked_mul(self.size()) != Some(to.len()) {
            let (part, whole, size) = (from.len(), to.len(), self.size());
            let wanted = part.saturating_mul(size);
            let why = format!("{part} elements of {} go to {whole}: pass an output of {wanted} elements", ranks(size));
            return Err(Error::Length { operation: "all_gather", why });
        }
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: memory that a launch on this stream would take, of lengths that fit together. `to` is borrowed
        // mutably.
        unsafe { self.ranks.all_gather(stream, from, to) }
    }

    /// Part `i` of `to` is the part of rank `i` that is for this rank: each rank sends its part `j` to rank `j`.
    /// Errors: [`Error::Length`] unless both have the same number of elements, a multiple of the number of ranks;
    /// [`Error::ElementType`]; as [`World::all_reduce`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    /// use tilewright_collectives::World;
    ///
    /// let rt = Runtime::cpu();
    /// let (world, x) = (World::alone(&rt), Buffer::from_slice(&rt, &[1i32, 2, 3])?);
    /// let mut y = Buffer::<i32>::zeros(&rt, 3)?;
    /// world.all_to_all(rt.stream(), &x, &mut y)?;
    /// assert_eq!(y.to_vec()?, [1, 2, 3]);
    /// # Ok::<(), tilewright_collectives::Error>(())
    /// ```
    pub fn all_to_all<'a, 'b, T: Element>(
        &self,
        stream: &Stream,
        from: impl AsSlice<'a, T>,
        to: impl AsSliceMut<'b, T>,
    ) -> Result<()> {
        let [from, to] = self.checked_pair("all_to_all", stream, from, to)?;
        let (sent, size) = (from.len(), self.size());
        if sent != to.len() || sent % size != 0 {
            let received = to.len();
            let why = format!("{sent} elements to {received}: pass the same number, in {size} equal parts");
            return Err(Error::Length { operation: "all_to_all", why });
        }
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: memory that a launch on this stream would take, of lengths that fit together. `to` is borrowed
        // mutably.
        unsafe { self.ranks.all_to_all(stream, from, to) }
    }

    /// Sends `from` to the rank `rank`, which calls [`World::receive`]. Two ranks that send to each other use
    /// [`World::send_receive`]. Errors: [`Error::NoRank`], [`Error::Itself`], [`Error::ElementType`]; as
    /// [`World::all_reduce`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::Runtime;
    /// use tilewright_collectives::{Error, World};
    ///
    /// /// Rank 0 sends to all others.
    /// fn from_the_first(world: &World, x: &mut [f32]) -> Result<(), Error> {
    ///     let rt = world.runtime();
    ///     match world.rank() {
    ///         0 => (1..world.size()).try_for_each(|other| world.send(rt.stream(), &*x, other)),
    ///         _ => world.receive(rt.stream(), x, 0),
    ///     }
    /// }
    /// let world = World::alone(&Runtime::cpu());
    /// from_the_first(&world, &mut [1.0, 2.0])?;
    /// assert!(matches!(world.send(world.runtime().stream(), &[1.0f32], 0), Err(Error::Itself { .. })));
    /// # Ok::<(), tilewright_collectives::Error>(())
    /// ```
    pub fn send<'a, T: Element>(&self, stream: &Stream, from: impl AsSlice<'a, T>, rank: usize) -> Result<()> {
        let [from] = self.checked("send", stream, &[Part::of(from.as_slice_arg())])?;
        self.other("send", rank)?;
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: memory that a launch on this stream would take.
        unsafe { self.ranks.send_receive(stream, Some((from, rank)), None) }
    }

    /// Receives from the rank `rank` into `to`, which has as many elements as the rank sends. Errors: as
    /// [`World::send`]. The example of [`World::send`] receives.
    pub fn receive<'a, T: Element>(&self, stream: &Stream, to: impl AsSliceMut<'a, T>, rank: usize) -> Result<()> {
        let [to] = self.checked("receive", stream, &[Part::of_mut(&to.as_slice_mut_arg())])?;
        self.other("receive", rank)?;
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: memory that a launch on this stream would take, borrowed mutably.
        unsafe { self.ranks.send_receive(stream, None, Some((to, rank))) }
    }

    /// Sends `from` to the rank `to_rank` and receives from the rank `from_rank` into `to`, at once. Errors: as
    /// [`World::send`]; [`Error::Itself`] where one of the two ranks alone is this process.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    /// use tilewright_collectives::World;
    ///
    /// let rt = Runtime::cpu();
    /// let (world, x) = (World::alone(&rt), Buffer::from_slice(&rt, &[1.0f32, 2.0])?);
    /// let mut y = Buffer::<f32>::zeros(&rt, 2)?;
    /// let next = (world.rank() + 1) % world.size();
    /// let before = (world.rank() + world.size() - 1) % world.size();
    /// world.send_receive(rt.stream(), &x, next, &mut y, before)?;
    /// assert_eq!(y.to_vec()?, [1.0, 2.0]);
    /// # Ok::<(), tilewright_collectives::Error>(())
    /// ```
    pub fn send_receive<'a, 'b, T: Element>(
        &self,
        stream: &Stream,
        from: impl AsSlice<'a, T>,
        to_rank: usize,
        to: impl AsSliceMut<'b, T>,
        from_rank: usize,
    ) -> Result<()> {
        let [from, to] = self.checked_pair("send_receive", stream, from, to)?;
        self.known("send_receive", to_rank)?;
        self.known("send_receive", from_rank)?;
        let is_itself = to_rank == self.rank();
        if is_itself != (from_rank == self.rank()) {
            return Err(Error::Itself { operation: "send_receive", rank: self.rank() });
        }
        if is_itself && from.len() != to.len() {
            let why = format!("{} elements to {}: pass the same number", from.len(), to.len());
            return Err(Error::Length { operation: "send_receive", why });
        }
        let send = (!from.is_empty()).then_some((from, to_rank));
        let receive = (!to.is_empty()).then_some((to, from_rank));
        // SAFETY: memory that a launch on this stream would take. `to` is borrowed mutably.
        unsafe { self.ranks.send_receive(stream, send, receive) }
    }

    /// Returns when all ranks have called it, and the work on the stream is done. Errors: those of the work, and the
    /// library's.
    ///
    /// # Examples
    /// ```
    /// use tilewright::Runtime;
    /// use tilewright_collectives::World;
    ///
    /// let world = World::alone(&Runtime::cpu());
    /// world.barrier(world.runtime().stream())?;
    /// # Ok::<(), tilewright_collectives::Error>(())
    /// ```
    pub fn barrier(&self, stream: &Stream) -> Result<()> {
        self.ranks.barrier(stream)
    }

    /// The ranks that pass the same color, in the order of their ranks here: for tensor parallelism within a machine
    /// and data parallelism between machines. All ranks call it. On GPUs, calls of several worlds come in one order on
    /// all ranks, as NCCL demands. Errors: [`Error::Color`], the library's.
    ///
    /// # Examples
    /// ```
    /// use tilewright::Runtime;
    /// use tilewright_collectives::World;
    ///
    /// let world = World::alone(&Runtime::cpu());
    /// let rank = world.rank() as u32;
    /// let (tensor_parallel, data_parallel) = (world.split(rank / 2)?, world.split(rank % 2)?);
    /// assert_eq!((tensor_parallel.size(), data_parallel.size()), (1, 1));
    /// # Ok::<(), tilewright_collectives::Error>(())
    /// ```
    pub fn split(&self, color: u32) -> Result<World> {
        if color > i32::MAX as u32 {
            return Err(Error::Color { color });
        }
        Ok(World { rt: self.rt.clone(), ranks: self.ranks.split(color)? })
    }

    /// Ends the work of all ranks, which wait for each other: a program calls it at its end, and where it has failed it
    /// does not. Drop every [`Graph`](tilewright_runtime::Graph) that holds a collective before: NCCL waits until these
    /// graphs are gone, and this call does not return. Errors: those of the work, and the library's. [`World`] has an
    /// example.
    pub fn finish(self) -> Result<()> {
        self.ranks.barrier(self.rt.stream())?;
        self.ranks.finish()
    }

    /// [`World::checked`] of memory that is read and memory that is written.
    fn checked_pair<'a, 'b, T: Element>(
        &self,
        operation: &'static str,
        stream: &Stream,
        from: impl AsSlice<'a, T>,
        to: impl AsSliceMut<'b, T>,
    ) -> Result<[Part; 2]> {
        self.checked(operation, stream, &[Part::of(from.as_slice_arg()), Part::of_mut(&to.as_slice_mut_arg())])
    }

    /// Errors for memory of another device, for types that are not sent, and for memory that is shared.
    fn checked<const N: usize>(
        &self,
        operation: &'static str,
        stream: &Stream,
        parts: &[Part; N],
    ) -> Result<[Part; N]> {
        for part in parts {
            if part.dtype() == DType::Bool {
                return Err(Error::ElementType { operation, element: part.dtype() });
            }
            if !part.raw().device().takes_work(self.rt.device().id, stream.as_raw() as u64) {
                return Err(tilewright_runtime::Error::StreamMismatch { what: "buffer" }.into());
            }
        }
        match &parts[..] {
            [first, second] if first.overlaps(second) => Err(Error::Overlap { operation }),
            _ => Ok(*parts),
        }
    }

    fn known(&self, operation: &'static str, rank: usize) -> Result<()> {
        let size = self.size();
        if rank < size { Ok(()) } else { Err(Error::NoRank { operation, rank, size }) }
    }

    fn other(&self, operation: &'static str, rank: usize) -> Result<()> {
        self.known(operation, rank)?;
        if rank == self.rank() { Err(Error::Itself { operation, rank }) } else { Ok(()) }
    }
}

fn ranks(size: usize) -> String {
    if size == 1 { "1 rank".into() } else { format!("{size} ranks") }
}
