//! A recorded call, as a line of a workload.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use tilewright_core::{Call, DType, ParamDesc, ParamKind, ViewArg, ViewMutArg};

/// A call with the layout of its tensors, without their elements.
///
/// # Examples
/// ```
/// use tilewright::workload::{Argument, Callee, Layout, RecordedCall};
///
/// let line = r#"{"kernel":"relu","types":"f16","arguments":[{"dims":[99],"strides":[1],"offset":2},7]}"#;
/// let call = RecordedCall::parse(line)?;
/// assert_eq!(call.callee, Callee::Kernel("relu".into()));
/// let x = Layout { dims: vec![99], strides: vec![1], offset: 2 };
/// assert_eq!(call.arguments, [Argument::Tensor(x), Argument::Number(7)]);
/// assert_eq!(call.to_string(), line);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RecordedCall {
    /// The operation or the kernel.
    #[serde(flatten)]
    pub callee: Callee,
    /// The element types, as in `f16`; empty where there is one.
    pub types: String,
    /// A kernel's in the order of its parameters. Those of an operation are its own affair.
    pub arguments: Vec<Argument>,
}

/// The operation or the kernel of a recorded call. [`RecordedCall`] has an example.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Callee {
    /// An operation, which has several plans.
    Operation(String),
    /// A kernel, which has several configurations.
    Kernel(String),
}

/// An argument of a recorded call. [`RecordedCall`] has an example.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    /// A number: the bits of a scalar, or an extent.
    Number(u64),
    /// An array or a view.
    Tensor(Layout),
}

/// The layout of a tensor. [`RecordedCall`] has an example.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Layout {
    /// Extents.
    pub dims: Vec<usize>,
    /// Strides in elements.
    pub strides: Vec<usize>,
    /// Bytes from the last multiple of 256 to the first element: kernels for vectors and for TMA need multiples.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: usize,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

pub(super) const ALIGNMENT: u64 = 256;

impl Layout {
    fn of(addr: u64, dims: &[usize], strides: &[usize]) -> Layout {
        Layout { dims: dims.to_vec(), strides: strides.to_vec(), offset: (addr % ALIGNMENT) as usize }
    }
}

impl<T, const R: usize> From<&ViewArg<'_, T, R>> for Argument {
    fn from(v: &ViewArg<T, R>) -> Argument {
        Argument::Tensor(Layout::of(v.addr(), &v.dims(), &v.strides()))
    }
}

impl<T, const R: usize> From<&ViewMutArg<'_, T, R>> for Argument {
    fn from(v: &ViewMutArg<T, R>) -> Argument {
        (&v.as_view()).into()
    }
}

impl From<usize> for Argument {
    fn from(n: usize) -> Argument {
        Argument::Number(n as u64)
    }
}

impl From<bool> for Argument {
    fn from(set: bool) -> Argument {
        Argument::Number(set.into())
    }
}

impl RecordedCall {
    /// Of an operation.
    pub fn of_operation(operation: &str, types: &str, arguments: Vec<Argument>) -> RecordedCall {
        RecordedCall { callee: Callee::Operation(operation.into()), types: types.into(), arguments }
    }

    /// Of a launch; none of an `unsafe fn` kernel.
    pub(crate) fn of_launch(call: &Call) -> Option<RecordedCall> {
        let (desc, words) = (call.desc(), call.words());
        let argument = |p: &ParamDesc| {
            let word = |i: usize| words[p.first_word + i];
            let sizes = |from: usize, n: usize| (from..from + n).map(|i| word(i) as usize).collect::<Vec<_>>();
            match p.kind {
                ParamKind::Slice | ParamKind::SliceMut => {
                    Some(Argument::Tensor(Layout::of(word(0), &sizes(1, 1), &[1])))
                }
                ParamKind::View { rank } | ParamKind::ViewMut { rank } => {
                    Some(Argument::Tensor(Layout::of(word(0), &sizes(1, rank), &sizes(1 + rank, rank))))
                }
                ParamKind::Scalar => Some(Argument::Number(word(0))),
                _ => None,
            }
        };
        if desc.is_unsafe {
            return None;
        }
        let arguments = desc.params.iter().map(argument).collect::<Option<_>>()?;
        Some(RecordedCall { callee: Callee::Kernel(desc.name.into()), types: desc.types.into(), arguments })
    }

    /// A line of a workload. Errors: [`Error::InvalidArgument`].
    pub fn parse(line: &str) -> Result<RecordedCall> {
        serde_json::from_str(line).map_err(|e| invalid(format!("`{line}`: {e}")))
    }

    /// The layout of the tensor among the arguments at this index. Errors: [`Error::InvalidArgument`].
    pub fn layout(&self, index: usize) -> Result<&Layout> {
        match self.arguments.get(index) {
            Some(Argument::Tensor(layout)) => Ok(layout),
            _ => Err(invalid(format!("argument {index} is no tensor"))),
        }
    }

    /// The number among the arguments at this index. Errors: [`Error::InvalidArgument`].
    pub fn number(&self, index: usize) -> Result<u64> {
        match self.arguments.get(index) {
            Some(Argument::Number(n)) => Ok(*n),
            _ => Err(invalid(format!("argument {index} is no number"))),
        }
    }
}

impl core::fmt::Display for RecordedCall {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| core::fmt::Error)?)
    }
}

pub(super) fn invalid(why: String) -> Error {
    Error::InvalidArgument { what: "recorded call", why }
}

/// The dtype of this name, as in [`RecordedCall::types`]. Errors: [`Error::InvalidArgument`].
///
/// # Examples
/// ```
/// use tilewright::{DType, workload};
///
/// assert_eq!(workload::dtype("bf16")?, DType::BF16);
/// assert!(workload::dtype("f7").is_err());
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn dtype(name: &str) -> Result<DType> {
    DType::parse(name).ok_or_else(|| invalid(format!("`{name}` is no element type: {}", DType::NAMES)))
}
