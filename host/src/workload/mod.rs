//! Workloads: the calls of a program whose speed depends on a choice, to be tuned before the program runs again.
//!
//! A process with `TILE_RECORD=FILE` appends them to a file, each once, as a JSON object in a line. `tile tune
//! --workload FILE` makes each call again with tensors of the same layout, and keeps the fastest plan or configuration
//! of each in the cache of tuning results.
//!
//! Calls are recorded where a choice is made: a product, say, the first time that a runtime has one of its shape, and
//! a launch of a kernel with several configurations. Nothing is recorded on the emulated SM. An `unsafe fn` kernel is
//! not recorded when it is launched alone: nobody could say that other tensors keep its contract.

mod recorded;
mod recorder;
mod tensor;

use crate::error::Result;
use crate::runtime::Runtime;
use crate::tuner::Report;
use recorded::invalid;
use tilewright_core::{BindError, Call, KernelDesc, ParamDesc, ParamKind};

pub use recorded::{Argument, Callee, Layout, RecordedCall, dtype};
pub(crate) use recorder::record;
pub use tensor::Tensor;

impl Runtime {
    /// Makes a recorded launch again with tensors of its layout, measures every configuration, and keeps the result.
    /// `kernels` are those among which it is looked up.
    ///
    /// Errors: [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a call of an operation, of no kernel among
    /// these, or with arguments that are not those of the kernel; [`Error::OutOfMemory`](crate::Error::OutOfMemory);
    /// those of [`Runtime::tune`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::workload::RecordedCall;
    /// use tilewright::{Runtime, tile_kernel};
    ///
    /// #[tile_kernel(tune(BLOCK = [64, 128], warps = [1]), grid = [cdiv(y.len(), BLOCK)])]
    /// fn ones<const BLOCK: usize>(y: &mut [f32]) {
    ///     store(y, program_id(0) * BLOCK + arange(BLOCK), 1.0);
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// rt.set_cache_dir(None);
    /// let call = r#"{"kernel":"ones","types":"","arguments":[{"dims":[1000],"strides":[1]}]}"#;
    /// let (_, report) = rt.tune_recorded(ones::DESCS, &RecordedCall::parse(call)?)?;
    /// assert_eq!(report.candidates.len(), 2);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn tune_recorded(
        &self,
        kernels: &[&'static KernelDesc],
        call: &RecordedCall,
    ) -> Result<(&'static KernelDesc, Report)> {
        let Callee::Kernel(name) = &call.callee else {
            return Err(invalid("it is of an operation: its library tunes it".into()));
        };
        let of_name = |k: &&&'static KernelDesc| k.name == name && k.types == call.types;
        let found = kernels.iter().find(of_name).copied();
        let desc = found.ok_or_else(|| invalid(format!("there is no kernel `{name}` of types `{}`", call.types)))?;
        if call.arguments.len() != desc.params.len() {
            let why = format!("{name} has {} parameters, and {} arguments", desc.params.len(), call.arguments.len());
            return Err(invalid(why));
        }
        if desc.is_unsafe {
            return Err(BindError::Unsafe { kernel: desc.name }.into());
        }
        // Others than `unsafe fn` have no pointers.
        let is_scalar = |p: &ParamDesc| matches!(p.kind, ParamKind::Scalar);
        let mut tensors = Vec::new();
        for (i, p) in desc.params.iter().enumerate().filter(|(_, p)| !is_scalar(p)) {
            tensors.push(Tensor::new(self, p.dtype, call.layout(i)?)?);
        }
        let (mut bound, mut tensors) = (Call::new(desc), tensors.iter_mut());
        for (i, p) in desc.params.iter().enumerate() {
            bound = match p.kind {
                ParamKind::Scalar => tensor::bind_scalar(bound, p.dtype, call.number(i)?)?,
                kind => tensors.next().expect("one for each of these parameters").bind(bound, kind)?,
            };
        }
        Ok((desc, self.tune(self.stream(), bound)?))
    }
}

#[cfg(test)]
mod tests;
