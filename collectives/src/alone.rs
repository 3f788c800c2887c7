//! One rank, without a library.

use crate::communicator::{Communicator, Part, Reduction};
use crate::error::Result;
use tilewright_runtime::{Runtime, Stream};

/// The only rank. Outputs are copies of inputs.
#[derive(Debug)]
pub(crate) struct Alone {
    pub rt: Runtime,
}

impl Alone {
    /// # Safety
    /// As of [`Communicator::all_reduce`].
    unsafe fn copy(&self, stream: &Stream, from: Part, to: Part) -> Result<()> {
        // SAFETY: the caller's contract: so many bytes on the device of the stream.
        Ok(unsafe { tilewright_runtime::private::copy_on(&self.rt, stream, from.raw(), to.raw()) }?)
    }
}

// SAFETY: copies go through the stream as launches do.
unsafe impl Communicator for Alone {
    fn name(&self) -> String {
        "one rank".into()
    }

    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    unsafe fn all_reduce(&self, stream: &Stream, data: Part, _: Reduction) -> Result<()> {
        Ok(stream.external_work(&[data.raw()], |_| ())?)
    }

    unsafe fn reduce_scatter(&self, stream: &Stream, from: Part, to: Part, _: Reduction) -> Result<()> {
        // SAFETY: the caller's contract.
        unsafe { self.copy(stream, from, to) }
    }

    unsafe fn broadcast(&self, stream: &Stream, data: Part, _: usize) -> Result<()> {
        Ok(stream.external_work(&[data.raw()], |_| ())?)
    }

    unsafe fn all_gather(&self, stream: &Stream, from: Part, to: Part) -> Result<()> {
        // SAFETY: the caller's contract.
        unsafe { self.copy(stream, from, to) }
    }

    unsafe fn all_to_all(&self, stream: &Stream, from: Part, to: Part) -> Result<()> {
        // SAFETY: the caller's contract.
        unsafe { self.copy(stream, from, to) }
    }

    unsafe fn send_receive(
        &self,
        stream: &Stream,
        send: Option<(Part, usize)>,
        receive: Option<(Part, usize)>,
    ) -> Result<()> {
        match (send, receive) {
            // SAFETY: the caller's contract.
            (Some((from, _)), Some((to, _))) => unsafe { self.copy(stream, from, to) },
            _ => Ok(()),
        }
    }

    fn barrier(&self, stream: &Stream) -> Result<()> {
        Ok(stream.synchronize()?)
    }

    fn split(&self, _: u32) -> Result<Box<dyn Communicator>> {
        Ok(Box::new(Alone { rt: self.rt.clone() }))
    }
}
