//! The interface of a library of collectives to a [`World`](crate::World).

use crate::error::Result;
use core::fmt::Debug;
use tilewright_core::{DType, DeviceId, RawArg};
use tilewright_runtime::Stream;

/// How the values of all ranks become one, element by element.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime};
/// use tilewright_collectives::{Reduction, World};
///
/// let rt = Runtime::cpu();
/// let (world, mut x) = (World::alone(&rt), Buffer::from_slice(&rt, &[1.0f32, 2.0])?);
/// for reduction in [Reduction::Sum, Reduction::Product, Reduction::Min, Reduction::Max, Reduction::Average] {
///     world.all_reduce(rt.stream(), &mut x, reduction)?;
/// }
/// assert_eq!(x.to_vec()?, [1.0, 2.0]); // those of one rank
/// # Ok::<(), tilewright_collectives::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The sum. Sums of `f16` and `bf16` are computed in f32 and rounded after each addition.
    Sum,
    /// The product.
    Product,
    /// The least value. Which one it is beside a NaN depends on the library.
    Min,
    /// The greatest value; beside a NaN as [`Reduction::Min`].
    Max,
    /// The sum divided by the number of ranks. Floats are divided before they are added, integers after that, toward 0.
    Average,
}

/// Memory of a collective operation: elements of one type, contiguous. Its address and its length are checked.
///
/// # Examples
/// ```
/// use tilewright_collectives::Part;
/// use tilewright_core::{AsSlice, DType};
///
/// let data = [1.0f32, 2.0];
/// let part = Part::of(data.as_slice_arg());
/// assert_eq!((part.len(), part.dtype(), part.bytes()), (2, DType::F32, 8));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Part {
    addr: u64,
    len: usize,
    dtype: DType,
    device: DeviceId,
}

impl Part {
    /// The part that is a slice. [`Part`] has an example.
    pub fn of<T: tilewright_core::Element>(slice: tilewright_core::SliceArg<'_, T>) -> Part {
        Part { addr: slice.addr(), len: slice.len(), dtype: T::DTYPE, device: slice.device() }
    }

    /// The part that is a slice to be written. [`Part`] has an example of one to be read.
    pub fn of_mut<T: tilewright_core::Element>(slice: &tilewright_core::SliceMutArg<'_, T>) -> Part {
        Part { addr: slice.addr(), len: slice.len(), dtype: T::DTYPE, device: slice.device() }
    }

    /// The address of the first element on its device. [`Part`] has an example.
    pub fn addr(&self) -> u64 {
        self.addr
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements. [`Part`] has an example with some.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size in bytes.
    pub fn bytes(&self) -> usize {
        self.len * self.dtype.size()
    }

    pub(crate) fn overlaps(&self, other: &Part) -> bool {
        let end = |p: &Part| p.addr.saturating_add(p.bytes() as u64);
        !self.is_empty() && !other.is_empty() && self.addr < end(other) && other.addr < end(self)
    }

    pub(crate) fn raw(&self) -> RawArg<u8> {
        RawArg::within(self.addr, self.bytes(), self.device)
    }

    /// As many elements at another address.
    pub(crate) fn moved_to(&self, addr: u64) -> Part {
        Part { addr, ..*self }
    }

    /// Elements from `start` on.
    pub(crate) fn slice(&self, start: usize, len: usize) -> Part {
        Part { addr: self.addr + (start * self.dtype.size()) as u64, len, ..*self }
    }
}

/// A library of collectives, as one of the processes that were started together: the *rank* `rank` of `size`.
///
/// [`World`](crate::World) checks arguments, and calls this. Every rank makes the same calls in the same order. A call
/// for a GPU enqueues its work on the stream; for the CPU it returns when the work is done.
///
/// # Examples
/// A communicator of one rank, for which there is nothing to do:
/// ```
/// use tilewright::{Buffer, Runtime, Stream};
/// use tilewright_collectives::{Communicator, Part, Reduction, Result, World};
///
/// #[derive(Debug)]
/// struct Own;
///
/// // SAFETY: no call uses memory.
/// unsafe impl Communicator for Own {
///     fn name(&self) -> String {
///         "own".into()
///     }
///     fn rank(&self) -> usize {
///         0
///     }
///     fn size(&self) -> usize {
///         1
///     }
///     unsafe fn all_reduce(&self, _: &Stream, _: Part, _: Reduction) -> Result<()> {
///         Ok(())
///     }
///     # unsafe fn reduce_scatter(&self, _: &Stream, _: Part, _: Part, _: Reduction) -> Result<()> { Ok(()) }
///     # unsafe fn broadcast(&self, _: &Stream, _: Part, _: usize) -> Result<()> { Ok(()) }
///     # unsafe fn all_gather(&self, _: &Stream, _: Part, _: Part) -> Result<()> { Ok(()) }
///     # unsafe fn all_to_all(&self, _: &Stream, _: Part, _: Part) -> Result<()> { Ok(()) }
///     # unsafe fn send_receive(&self, _: &Stream, _: Option<(Part, usize)>, _: Option<(Part, usize)>) -> Result<()> {
///     #     Ok(())
///     # }
///     # fn barrier(&self, _: &Stream) -> Result<()> { Ok(()) }
///     # fn split(&self, _: u32) -> Result<Box<dyn Communicator>> { Ok(Box::new(Own)) }
///     // and the other operations
/// }
///
/// let rt = Runtime::cpu();
/// let (world, mut x) = (World::of(&rt, Box::new(Own)), Buffer::from_slice(&rt, &[1.0f32])?);
/// world.all_reduce(rt.stream(), &mut x, Reduction::Sum)?;
/// assert_eq!((world.name(), x.to_vec()?), ("own".to_string(), vec![1.0]));
/// # Ok::<(), tilewright_collectives::Error>(())
/// ```
///
/// # Safety
/// A call uses the memory of its parts alone, as its documentation says: work that it enqueues goes through
/// [`Stream::external_work`], and all other use ends before it returns. It writes values of the elements' type.
pub unsafe trait Communicator: Debug + Send + Sync {
    /// The library and its version.
    fn name(&self) -> String;

    /// This process, from 0 on.
    fn rank(&self) -> usize;

    /// How many processes there are.
    fn size(&self) -> usize;

    /// Replaces `data` by the reduction of the `data` of all ranks.
    ///
    /// # Safety
    /// As of all calls here: the parts are memory of the stream's device that lives until a launch on the stream, in
    /// the place of this call, would be done with it. Nothing else uses the written memory meanwhile. Types and lengths
    /// fit together as [`World`](crate::World) checks them.
    unsafe fn all_reduce(&self, stream: &Stream, data: Part, reduction: Reduction) -> Result<()>;

    /// Writes to `to` the part of this rank of the reduction of all ranks' `from`, which has `size` times its elements.
    ///
    /// # Safety
    /// As [`Communicator::all_reduce`].
    unsafe fn reduce_scatter(&self, stream: &Stream, from: Part, to: Part, reduction: Reduction) -> Result<()>;

    /// Replaces `data` by that of the rank `root`.
    ///
    /// # Safety
    /// As [`Communicator::all_reduce`].
    unsafe fn broadcast(&self, stream: &Stream, data: Part, root: usize) -> Result<()>;

    /// Writes the `from` of all ranks to `to`, one behind the other.
    ///
    /// # Safety
    /// As [`Communicator::all_reduce`].
    unsafe fn all_gather(&self, stream: &Stream, from: Part, to: Part) -> Result<()>;

    /// Writes to part `i` of `to` the part of rank `i` that is for this one. Both have `size` parts.
    ///
    /// # Safety
    /// As [`Communicator::all_reduce`].
    unsafe fn all_to_all(&self, stream: &Stream, from: Part, to: Part) -> Result<()>;

    /// Sends a part to a rank, receives one from a rank, or both at once.
    ///
    /// # Safety
    /// As [`Communicator::all_reduce`].
    unsafe fn send_receive(
        &self,
        stream: &Stream,
        send: Option<(Part, usize)>,
        receive: Option<(Part, usize)>,
    ) -> Result<()>;

    /// Returns when all ranks have called it and the work on the stream is done.
    fn barrier(&self, stream: &Stream) -> Result<()>;

    /// The communicator of the ranks that pass the same color, in the order of their ranks here.
    fn split(&self, color: u32) -> Result<Box<dyn Communicator>>;

    /// All ranks end here. Called once, and nothing else after it.
    fn finish(&self) -> Result<()> {
        Ok(())
    }
}
