//! An operation of the suite: its problems, sizes and kernels.

use super::problem::{Problem, Setup};
use tilewright_core::{DType, KernelDesc, ParamKind};
use tilewright_runtime::{Error, Result, Runtime};

/// An operation of [`tilewright_ops`].
#[derive(Clone, Copy)]
pub struct Operation {
    /// Its name on the command line, that of its function.
    pub name: &'static str,
    /// A line about the operation.
    pub about: &'static str,
    /// The names of the numbers of a size, as in `rows`, `cols`.
    pub axes: &'static [&'static str],
    /// The element types that it takes.
    pub dtypes: &'static [DType],
    /// A size worth timing, also the demo's.
    pub large: &'static [u64],
    /// More sizes for benchmarks.
    pub bench: &'static [&'static [u64]],
    /// Names of the kernels it launches.
    pub kernels: &'static [&'static str],
    pub(super) make: Make,
}

pub(super) type Make = fn(&Runtime, &Setup) -> Result<Box<dyn Problem>>;

impl Operation {
    /// Data on the device. Errors: [`Error::Shape`] and [`Error::InvalidArgument`] for a size or dtype that
    /// is not this operation's,
    /// [`Error::OutOfMemory`], and the runtime's.
    pub fn prepare(&self, rt: &Runtime, setup: &Setup) -> Result<Box<dyn Problem>> {
        if setup.size.len() != self.axes.len() {
            let why =
                format!("a size is {} ({} numbers), not {:?}", self.axes.join(" x "), self.axes.len(), setup.size);
            return Err(Error::Shape { what: self.name, why });
        }
        if !self.dtypes.contains(&setup.dtype) {
            let known: Vec<_> = self.dtypes.iter().map(|d| d.name()).collect();
            let why = format!("no kernel for {}; there are {}", setup.dtype.name(), known.join(", "));
            return Err(Error::InvalidArgument { what: self.name, why });
        }
        // Ten arrays of this many elements would still be addressable.
        let limit = 1u64 << 40;
        // An operand of a product has all of its extents but one, as have those of attention.
        let mut extents = setup.size.clone();
        extents.sort_unstable();
        let of_one = &extents[usize::from(extents.len() > 2)..];
        if of_one.iter().try_fold(1u64, |a, &n| a.checked_mul(n.max(1))).is_none_or(|n| n > limit) {
            let why = format!("{:?} is more than 2^40 elements", setup.size);
            return Err(Error::InvalidArgument { what: self.name, why });
        }
        super::memory::check(self.axes, &setup.size, setup.dtype)?;
        (self.make)(rt, setup)
    }

    /// Whether another launch changes the result again, so that it can be checked after the first one alone. Of setups
    /// as [`Setup::plain`] makes them with the seed 1.
    pub fn in_place(&self) -> bool {
        ["reverse_array", "color_inversion", "embedding_backward"].contains(&self.name)
    }

    /// As `large`, for a CPU: extents are halved, the largest first, until it takes milliseconds.
    pub fn moderate(&self) -> Vec<u64> {
        let mut size = self.large.to_vec();
        while size.iter().product::<u64>() > 1 << 24 {
            if let Some(n) = size.iter_mut().max() {
                *n = n.div_ceil(2);
            }
        }
        size
    }

    /// The descriptors of its kernels for this dtype.
    pub fn descs(&self, dtype: DType) -> Vec<&'static KernelDesc> {
        // Operands of 8 bits may come widened, but not all of them.
        let narrowest = |d: &KernelDesc| {
            d.params.iter().filter(|p| !matches!(p.kind, ParamKind::Scalar)).map(|p| p.dtype).min_by_key(|d| d.size())
        };
        let of_dtype = |d: &&'static KernelDesc| match d.types {
            "" => self.dtypes.len() == 1 || narrowest(d) == Some(dtype),
            types => types == dtype.name(),
        };
        tilewright_kernels::all().into_iter().filter(|d| self.kernels.contains(&d.name)).filter(of_dtype).collect()
    }

    /// The sizes that the conformance suite runs.
    pub fn sizes(&self, scope: super::Scope) -> Vec<Vec<u64>> {
        super::sizes::of(self.name, scope)
    }
}
