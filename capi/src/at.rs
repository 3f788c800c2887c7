//! The runtime and the stream of an operation.

use crate::backend;
use crate::guard::Result;
use crate::handle::tile_handle;
use tilewright_ops::ExecOptions;
use tilewright_runtime::DeviceId;

/// Whose device, stream and mode a call has.
#[derive(Clone, Copy)]
pub(crate) enum At<'a> {
    /// The caller's context, and the settings of the calling thread.
    Thread,
    Handle(&'a tile_handle),
}

impl At<'_> {
    /// Runs an operation that touches `elements` elements there; none is a success.
    pub fn run(
        self,
        elements: usize,
        run: impl FnOnce(&ExecOptions, DeviceId) -> tilewright_runtime::Result<()>,
    ) -> Result<()> {
        if elements == 0 {
            return Ok(());
        }
        let (rt, stream, preparing) = match self {
            At::Thread => backend::of_thread()?,
            At::Handle(handle) => handle.parts(),
        };
        Ok(run(&ExecOptions::new(&rt).stream(&stream).preparing(preparing), rt.device().id)?)
    }
}
