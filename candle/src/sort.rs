//! Sorts of the last dimension.

use crate::{Input, LaunchResult, Operation, Output, TensorElement, check, derive_custom_op, kernels};
use candle_core::{D, DType, Error, Result, Shape, Tensor};
use tilewright::kernel::{AsSlice, AsSliceMut, Call, SliceArg, SliceMutArg};
use tilewright::ops::{ExecOptions, Executor};
use tilewright::{bf16, f16};

/// The indices that sort the last dimension, of any width, as of `Tensor::arg_sort_last_dim`, whose rows have 8192
/// elements at most on a GPU.
///
/// `x` is f32, f16, bf16, u32, i32 or u8, and the result u32. Equal elements keep their order, -0 and 0 are equal, and
/// NaN counts as the greatest number. Strided tensors are copied first. Rows of more than 4096 elements take scratch
/// memory of 16 bytes for each element.
///
/// # Errors
/// Candle's, for another dtype, a tensor without dimensions, and rows of 2^32 - 1 elements or more.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[[2.0f32, -1.0, f32::NAN, 0.5]], &Device::Cpu)?;
/// assert_eq!(tilewright_candle::arg_sort_last_dim(&x, true)?.to_vec2::<u32>()?, [[1, 3, 0, 2]]);
/// assert_eq!(tilewright_candle::arg_sort_last_dim(&x, false)?.to_vec2::<u32>()?, [[2, 0, 3, 1]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn arg_sort_last_dim(x: &Tensor, asc: bool) -> Result<Tensor> {
    check::has_rows(x)?;
    x.contiguous()?.apply_op1_no_bwd(&ArgSort { descending: !asc })
}

/// The sorted last dimension and the indices that sort it, as of `Tensor::sort_last_dim`. The sorted tensor has a
/// gradient.
///
/// # Errors
/// As [`arg_sort_last_dim`].
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[2.0f32, -1.0, 0.5], &Device::Cpu)?;
/// let (sorted, indices) = tilewright_candle::sort_last_dim(&x, true)?;
/// assert_eq!((sorted.to_vec1::<f32>()?, indices.to_vec1::<u32>()?), (vec![-1.0, 0.5, 2.0], vec![1, 2, 0]));
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn sort_last_dim(x: &Tensor, asc: bool) -> Result<(Tensor, Tensor)> {
    let indices = arg_sort_last_dim(x, asc)?;
    let x = x.contiguous()?;
    // Candle gathers no i32 on a GPU.
    let sorted = match x.dtype() {
        DType::I32 => x.to_dtype(DType::I64)?.gather(&indices, D::Minus1)?.to_dtype(DType::I32)?,
        _ => x.gather(&indices, D::Minus1)?,
    };
    Ok((sorted, indices))
}

struct ArgSort {
    descending: bool,
}

/// Runs code for the type `T` of a dtype that is sorted. Errors: `UnsupportedDTypeForOp`.
macro_rules! for_sorted {
    ($dtype:expr, $t:ident => $body:expr) => {
        for_sorted!(@each $dtype, $t => $body; F32 f32, F16 f16, BF16 bf16, U32 u32, I32 i32, U8 u8)
    };
    (@each $dtype:expr, $t:ident => $body:expr; $($variant:ident $ty:ty),+) => {
        match $dtype {
            $(DType::$variant => {
                #[allow(dead_code, reason = "one of the callers asks for the dtype alone")]
                type $t = $ty;
                $body
            })+
            other => Err(Error::UnsupportedDTypeForOp(other, ArgSort::NAME).bt())?,
        }
    };
}

/// The most elements of a row that one program sorts.
const BLOCK: usize = 4096;

impl Operation<1> for ArgSort {
    const NAME: &'static str = "arg-sort";

    fn output(&self, [x]: &[Input<'_>; 1]) -> Result<(DType, Shape)> {
        let (_, columns) = check::rows(x)?;
        if columns >= u32::MAX as usize {
            candle_core::bail!("arg-sort: rows of {columns} elements: u32 counts fewer than 2^32 - 1");
        }
        for_sorted!(x.dtype(), T => Ok((DType::U32, x.shape().clone())))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [x]: [Input<'a>; 1], y: Output<'a>) -> LaunchResult {
        for_sorted!(x.dtype(), T => self.run::<T>(on, x, y))
    }
}
derive_custom_op!(ArgSort, x);

impl ArgSort {
    fn run<'a, T: Sort>(&self, on: &ExecOptions<'_>, x: Input<'a>, y: Output<'a>) -> LaunchResult {
        /// The rows of a launch: a GPU has no more programs along y.
        const ROWS: usize = 65535;
        let (rows, columns) = check::rows(&x)?;
        if columns <= BLOCK {
            return Ok(on.launch(T::few(x.slice()?, y.slice()?, [rows, columns], self.descending))?);
        }
        let parts: Vec<usize> = (0..rows).step_by(ROWS).map(|first| ROWS.min(rows - first) * columns).collect();
        for (i, y) in y.split::<u32>(&parts)?.into_iter().enumerate() {
            let x = x.part::<T>(i * ROWS * columns, y.len())?;
            let rows = y.len() / columns;
            self.sort_rows::<T>(on, x, y, rows, columns)?;
        }
        Ok(())
    }

    /// Sorts blocks, and merges them until a row is one run.
    fn sort_rows<T: Sort>(
        &self,
        on: &ExecOptions<'_>,
        x: SliceArg<'_, T>,
        y: SliceMutArg<'_, u32>,
        rows: usize,
        columns: usize,
    ) -> LaunchResult {
        let (mut keys, mut others) = (on.stream().scratch::<u64>(x.len())?, on.stream().scratch::<u64>(x.len())?);
        on.launch(T::blocks(x, (&mut keys).as_slice_mut_arg(), [rows, columns], self.descending))?;
        let mut run = BLOCK;
        // A search of `run` keys.
        let steps = |run: usize| run.ilog2() as usize + 1;
        while 2 * run < columns {
            on.launch(kernels::merge_runs((&keys).as_slice_arg(), &mut others, rows, columns, run, steps(run)))?;
            core::mem::swap(&mut keys, &mut others);
            run *= 2;
        }
        let keys = (&keys).as_slice_arg();
        Ok(on.launch(kernels::merge_last_runs(keys, y, rows, columns, run, steps(run)))?)
    }
}

/// The element types that are sorted, and their kernels for matrices of these extents.
trait Sort: TensorElement {
    fn few<'a>(x: SliceArg<'a, Self>, y: SliceMutArg<'a, u32>, dims: [usize; 2], back: bool) -> Call<'a>;

    fn blocks<'a>(x: SliceArg<'a, Self>, y: SliceMutArg<'a, u64>, dims: [usize; 2], back: bool) -> Call<'a>;
}

macro_rules! sort { ($($t:ty)*) => { $(
    impl Sort for $t {
        fn few<'a>(x: SliceArg<'a, $t>, y: SliceMutArg<'a, u32>, dims: [usize; 2], back: bool) -> Call<'a> {
            kernels::argsort_few::<$t>(x, y, dims[0], dims[1], back)
        }

        fn blocks<'a>(x: SliceArg<'a, $t>, y: SliceMutArg<'a, u64>, dims: [usize; 2], back: bool) -> Call<'a> {
            kernels::sort_blocks::<$t>(x, y, dims[0], dims[1], back)
        }
    }
)* } }
sort! { f32 f16 bf16 u32 i32 u8 }
