//! Calls of a workload that are operations, made again.
//!
//! A recorded call has the arguments that its operation puts into [`Question::recorded`](crate::planner::Question), in
//! the same order.

use super::{ExecOptions, TuningLog};
use tilewright_core::{DType, DeviceId, KernelDesc, bf16, f8e4m3, f8e5m2, f16};
use tilewright_runtime::tuning::Report;
use tilewright_runtime::workload::{Callee, RecordedCall, Tensor, dtype};
use tilewright_runtime::{Buffer, Error, Result, Runtime};

/// Makes a recorded call of an operation again, with tensors of its layout, and returns the kernels that were tuned.
/// Plans are measured, and the result is kept, as [`Runtime::set_autotune`] says.
///
/// Errors: [`Error::InvalidArgument`] for a call of a kernel, of an unknown operation, or with arguments that are not
/// those of the operation; [`Error::Unsupported`] where the family of the operation was not compiled; those of the
/// operation.
///
/// # Examples
/// ```
/// use tilewright::workload::RecordedCall;
/// use tilewright::{Runtime, ops, tuning::Autotune};
///
/// let rt = Runtime::cpu();
/// rt.set_cache_dir(None);
/// rt.set_autotune(Autotune::Force);
/// let x = r#"{"dims":[7,300],"strides":[300,1]}"#;
/// let line = format!(r#"{{"operation":"softmax_rows","types":"f32","arguments":[{x},{x}]}}"#);
/// ops::tune_recorded(&rt, &RecordedCall::parse(&line)?)?;
/// assert!(rt.export_defaults().contains("softmax_rows[f32]"));
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn tune_recorded(rt: &Runtime, call: &RecordedCall) -> Result<Vec<(&'static KernelDesc, Report)>> {
    let Callee::Operation(operation) = &call.callee else {
        return Err(invalid("it is of a kernel: `Runtime::tune_recorded` tunes it".into()));
    };
    let log = TuningLog::default();
    let again = Again { rt, on: ExecOptions::new(rt).tuning(&log), call };
    match operation.as_str() {
        #[cfg(feature = "attention")]
        "attention" => again.attention(),
        #[cfg(feature = "softmax")]
        "softmax_rows" => again.softmax_rows(),
        #[cfg(feature = "products")]
        "matmul" => again.matmul(),
        #[cfg(feature = "products")]
        "gemm" => again.gemm(1.0),
        #[cfg(feature = "products")]
        "scaled_product" => again.gemm(0.0),
        #[cfg(feature = "products")]
        "matmul_int8" => again.matmul_int8(),
        #[cfg(feature = "products")]
        "batched_matmul" => again.batched_matmul(),
        #[cfg(feature = "products")]
        "grouped_matmul" => again.grouped_matmul(),
        other => Err(invalid(format!("there is no operation `{other}` with several plans in this build"))),
    }?;
    rt.synchronize()?;
    Ok(log.into_inner())
}

fn invalid(why: String) -> Error {
    Error::InvalidArgument { what: "recorded call", why }
}

/// A call that is made again.
struct Again<'a> {
    rt: &'a Runtime,
    on: ExecOptions<'a>,
    call: &'a RecordedCall,
}

/// Calls a generic method with the type of the call's name, one of a list.
macro_rules! by_name { ($self:ident.$method:ident: $($dtype:ident => $t:ty),*) => {
    match dtype(&$self.call.types)? {
        $(DType::$dtype => $self.$method::<$t>(),)*
        other => Err(invalid(format!("the operation does not take {}", other.name()))),
    }
} }

impl Again<'_> {
    fn tensor(&self, dtype: DType, index: usize) -> Result<Tensor> {
        Tensor::new(self.rt, dtype, self.call.layout(index)?)
    }

    fn flag(&self, index: usize) -> Result<bool> {
        Ok(self.call.number(index)? != 0)
    }
}

#[cfg(feature = "attention")]
impl Again<'_> {
    fn attention(&self) -> Result<()> {
        by_name!(self.attention_of: F16 => f16, BF16 => bf16)
    }

    fn attention_of<T: super::Attend>(&self) -> Result<()> {
        let [q, k, v] = [self.tensor(T::DTYPE, 0)?, self.tensor(T::DTYPE, 1)?, self.tensor(T::DTYPE, 2)?];
        let mut o = self.tensor(T::DTYPE, 3)?;
        let attention = super::Attention::new(q.view::<T, 3>()?, k.view()?, v.view()?, o.view_mut()?);
        let attention = if self.flag(4)? { attention.causal() } else { attention };
        attention.launch(&self.on)
    }
}

#[cfg(feature = "softmax")]
impl Again<'_> {
    fn softmax_rows(&self) -> Result<()> {
        by_name!(self.softmax_rows_of: F32 => f32, F16 => f16, BF16 => bf16)
    }

    fn softmax_rows_of<T: super::Softmax>(&self) -> Result<()> {
        let (x, mut y) = (self.tensor(T::DTYPE, 0)?, self.tensor(T::DTYPE, 1)?);
        let [rows, cols] = x.view::<T, 2>()?.dims();
        super::softmax_rows(&self.on, x.slice::<T>()?, y.slice_mut::<T>()?, rows, cols)
    }
}

#[cfg(feature = "products")]
impl Again<'_> {
    fn matmul(&self) -> Result<()> {
        use super::Precision;
        match dtype(&self.call.types)? {
            DType::F32 => {
                let precision = if self.flag(5)? { Precision::Tf32 } else { Precision::F32 };
                self.matmul_of::<f32>(|m| m.precision(precision))
            }
            DType::F16 => self.matmul_of::<f16>(|m| m),
            DType::BF16 => self.matmul_of::<bf16>(|m| m),
            DType::I8 => self.matmul_of::<i8>(|m| m),
            DType::F8E4M3 => self.matmul_of::<f8e4m3>(|m| m),
            DType::F8E5M2 => self.matmul_of::<f8e5m2>(|m| m),
            other => Err(invalid(format!("the operation does not take {}", other.name()))),
        }
    }

    fn matmul_of<T: super::Multiply>(
        &self,
        with: impl for<'a> FnOnce(super::Matmul<'a, T>) -> super::Matmul<'a, T>,
    ) -> Result<()> {
        use tilewright_core::Element;
        let (a, b) = (self.tensor(T::DTYPE, 0)?, self.tensor(T::DTYPE, 2)?);
        let mut c = self.tensor(<T::Product as Element>::DTYPE, 4)?;
        let transpose = super::Transpose { a: self.flag(1)?, b: self.flag(3)? };
        with(super::Matmul::new(a.view::<T, 2>()?, b.view()?, c.view_mut()?).transpose(transpose)).launch(&self.on)
    }

    fn gemm(&self, beta: f32) -> Result<()> {
        let (a, b) = (self.tensor(DType::F16, 0)?, self.tensor(DType::F16, 1)?);
        let mut c = self.tensor(DType::F16, 2)?;
        let product = super::Matmul::new(a.view::<f16, 2>()?, b.view()?, c.view_mut()?);
        product.alpha(0.5).beta(beta).launch(&self.on)
    }

    fn matmul_int8(&self) -> Result<()> {
        let (a, b) = (self.tensor(DType::I8, 0)?, self.tensor(DType::I8, 1)?);
        let mut c = self.tensor(DType::I8, 3)?;
        let b = if self.flag(2)? { b.view()?.flipped() } else { b.view()? };
        let zero_a = i8::from(self.flag(4)?);
        let q = super::Quantization { scale_a: 0.1, scale_b: 0.1, scale_c: 1.0, zero_a, zero_b: 0, zero_c: 0 };
        super::matmul_int8(&self.on, a.view()?, b, c.view_mut()?, &q)
    }

    fn batched_matmul(&self) -> Result<()> {
        by_name!(self.batched_matmul_of: F32 => f32, F16 => f16, BF16 => bf16)
    }

    fn batched_matmul_of<T: super::BatchMultiply>(&self) -> Result<()> {
        let (a, b) = (self.tensor(T::DTYPE, 0)?, self.tensor(T::DTYPE, 1)?);
        let mut c = self.tensor(T::DTYPE, 2)?;
        super::BatchedMatmul::new(a.view::<T, 3>()?, b.view()?, c.view_mut()?).launch(&self.on)
    }

    fn grouped_matmul(&self) -> Result<()> {
        by_name!(self.grouped_matmul_of: F16 => f16, BF16 => bf16)
    }

    /// Groups of as many rows each.
    fn grouped_matmul_of<T: super::GroupMultiply>(&self) -> Result<()> {
        let (a, b) = (self.tensor(T::DTYPE, 0)?, self.tensor(T::DTYPE, 1)?);
        let (a, b) = (a.view::<T, 2>()?, b.view::<T, 3>()?);
        let ([rows, _], [groups, _, columns]) = (a.dims(), b.dims());
        let end = |g: usize| i32::try_from(rows as u128 * (g as u128 + 1) / groups as u128);
        // A file may say any number of groups without elements.
        let bytes = 4 * u64::from(u32::try_from(groups).map_err(|_| invalid(format!("{groups} groups are too many")))?);
        let mut ends: Vec<i32> = Vec::new();
        let short = |_| Error::OutOfMemory { device: DeviceId::Host, bytes, free: None };
        ends.try_reserve_exact(groups).map_err(short)?;
        for g in 0..groups {
            ends.push(end(g).map_err(|_| invalid(format!("{rows} rows are too many")))?);
        }
        let ends = Buffer::from_slice(self.rt, &ends)?;
        let mut c = Buffer::<T>::zeros(self.rt, super::check::area("grouped_matmul", rows, columns)?)?;
        super::grouped_matmul(&self.on, a, b, &ends, &mut c)
    }
}
