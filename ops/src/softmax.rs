//! Softmax, and its gradient.

use super::decide::Limits;
use super::kernel_plan::{self, KernelPlan};
use super::{Executor, check, decide};
use crate::by_type::by_type;
use crate::planner::Question;
use crate::planner::cost::Work;
use crate::planner::rows::RowsWork;
use tilewright_core::cpu::fork::PerProcess;
use tilewright_core::{
    AsSlice, AsSliceMut, Call, ConfigDesc, KernelDesc, SliceArg, SliceMutArg, VariantDesc, Width, bf16, f16,
};
use tilewright_kernels::softmax_1d::{softmax_1d_apply, softmax_1d_partial};
use tilewright_kernels::softmax_rows as k;
use tilewright_runtime::tuning::Version;
use tilewright_runtime::{Result, private};

by_type! {
    /// The element types of [`softmax_rows`]: `f32`, `f16` and `bf16`. The trait is sealed.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Result, Runtime, bf16, ops};
    ///
    /// /// The shares of each row of `columns` elements.
    /// fn shares<T: ops::Softmax>(rt: &Runtime, x: &Buffer<T>, columns: usize) -> Result<Vec<T>> {
    ///     let mut y = Buffer::<T>::zeros(rt, x.len())?;
    ///     ops::softmax_rows(rt, x, &mut y, x.len() / columns, columns)?;
    ///     y.to_vec()
    /// }
    /// let rt = Runtime::cpu();
    /// let x = Buffer::from_slice(&rt, &[bf16::ONE; 4])?;
    /// assert_eq!(shares(&rt, &x, 2)?, [bf16::from_f32(0.5); 4]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    /// Other crates cannot implement it:
    /// ```compile_fail,E0277
    /// struct Mine;
    /// impl tilewright_ops::Softmax for Mine {}
    /// ```
    pub trait Softmax: SoftmaxKernels<'a> for [f32, f16, bf16] {
        // For a row in a tile, several rows in a tile, and rows wider than a tile.
        fn descs() -> [&'static KernelDesc; 3] {
            [
                <(Self,) as k::softmax_row::Types>::DESC,
                <(Self,) as k::softmax_rows_packed::Types>::DESC,
                <(Self,) as k::softmax_rows_wide::Types>::DESC,
            ]
        }
        fn call(
            kernel: &KernelDesc,
            x: SliceArg<'a, Self>,
            y: SliceMutArg<'a, Self>,
            rows: usize,
            cols: usize,
        ) -> Call<'a> {
            let [_, packed, wide] = Self::descs();
            if kernel.name == packed.name {
                k::softmax_rows_packed(x, y, rows, cols)
            } else if kernel.name == wide.name {
                k::softmax_rows_wide(x, y, rows, cols)
            } else {
                k::softmax_row(x, y, rows, cols)
            }
        }
        fn gradient(
            y: SliceArg<'a, Self>,
            dy: SliceArg<'a, Self>,
            dx: SliceMutArg<'a, Self>,
            rows: usize,
            cols: usize,
        ) -> Call<'a> {
            k::softmax_gradient(y, dy, dx, rows, cols)
        }
    }
}

/// Softmax over a whole array of any length.
///
/// Two launches, of which the second begins while the first ends. Two floats of scratch for each program of the first.
///
/// A result below 2^-126 is 0. If `x` has a NaN or an infinity, or nothing but minus infinity, every result is NaN.
///
/// Shapes: `x`, `y` of equal length.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut y = [0.0f32; 4];
/// ops::softmax_1d(&Runtime::cpu(), &[3.0; 4], &mut y)?;
/// assert_eq!(y, [0.25; 4]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn softmax_1d<'a>(on: &impl Executor, x: impl AsSlice<'a, f32>, y: impl AsSliceMut<'a, f32>) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    check::same_length("softmax_1d", &[("x", x.len()), ("y", y.len())])?;
    if x.is_empty() {
        return Ok(());
    }
    // A pair is two loads in every program of the second launch: as many programs as keep the device busy, no more.
    let pairs = x.len().div_ceil(4096).clamp(1, 4 * on.num_sms());
    let mut maxima = on.stream().scratch::<f32>(pairs)?;
    let mut sums = on.stream().scratch::<f32>(pairs)?;
    on.launch(softmax_1d_partial(x, &mut maxima, &mut sums))?;
    // SAFETY: the launch in front reads `x` and writes maxima and sums, which this one reads after its wait, as it
    // stores after it.
    unsafe { on.launch_pdl(softmax_1d_apply(x, &maxima, &sums, y)) }
}

/// Softmax of every row of a row-major, contiguous matrix of any width.
///
/// Three kernels do it: several rows in a tile, one row in a tile, and rows wider than a tile. The planner predicts
/// which one is fastest, or measures the best few once for each size (see [`tilewright_runtime::tuning::Autotune`]).
///
/// 16-bit types are computed in f32 and rounded once. A result below 2^-126 is 0. If a row has a NaN or an infinity, or
/// nothing but minus infinity, all its results are NaN.
///
/// Shapes: `x` and `y` are `rows * cols`.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let x = [3.0f32, 3.0, 0.0, -200.0];
/// let mut y = [0.0f32; 4];
/// ops::softmax_rows(&Runtime::cpu(), &x, &mut y, 2, 2)?;
/// assert_eq!(y, [0.5, 0.5, 1.0, 0.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn softmax_rows<'a, T: Softmax>(
    on: &impl Executor,
    x: impl AsSlice<'a, T>,
    y: impl AsSliceMut<'a, T>,
    rows: usize,
    cols: usize,
) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    let area = check::area(WHAT, rows, cols)?;
    check::length(WHAT, "x", x.len(), area, &format!("a {rows} x {cols} matrix"))?;
    check::length(WHAT, "y", y.len(), area, &format!("a {rows} x {cols} matrix"))?;
    if area == 0 {
        return Ok(());
    }
    let (of_x, y) = (x.view([rows, cols])?, y.view([rows, cols])?);
    let planned_rows = decide::batch_size(on, rows);
    let width = Width::of(x.addr() | y.as_view().addr() | cols.wrapping_mul(size_of::<T>()) as u64);
    let question = Question {
        op: WHAT,
        types: T::DTYPE.name(),
        version: version(),
        sizes: [planned_rows, cols, 0, 0],
        layout: width as u64,
        recorded: &|| vec![(&of_x).into(), (&y).into()],
    };
    let (num_sms, kernels) = (on.num_sms(), T::descs());
    let candidates = |limits: Limits| {
        kernel_plan::plans(on, limits, &kernels, |kernel, config, fits| {
            let runs = |v: &&VariantDesc| v.width <= width && private::runs(on.runtime(), v);
            let variant = config.variants.iter().find(runs);
            let taken = variant.map_or(width, |v| v.width);
            let rows = RowsOf { rows: planned_rows, cols, size: size_of::<T>(), width: taken };
            work(kernel, config, num_sms, rows, variant.and_then(fits)).map(Work::Rows)
        })
    };
    decide::run(on, &question, &y, candidates, |plan: &KernelPlan| {
        let out = y.as_view();
        // SAFETY: one launch has it at a time.
        let y = unsafe { SliceMutArg::from_raw(out.addr(), area, out.device()) };
        on.launch_as(T::call(plan.kernel, x, y, rows, cols), plan.options())
    })
}

/// The gradient of [`softmax_rows`]: `dx = y * (dy - sum of dy * y)` of every row, where `dy` is the gradient of `y`.
/// 16-bit types are computed in f32 and rounded once.
///
/// Shapes: `y`, `dy` and `dx` are `rows * cols`. `dx` may be the memory of `dy`.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut dx = [9.0f32; 2];
/// ops::softmax_rows_backward(&Runtime::cpu(), &[0.25, 0.75], &[4.0, 0.0], &mut dx, 1, 2)?;
/// assert_eq!(dx, [0.75, -0.75]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn softmax_rows_backward<'a, T: Softmax>(
    on: &impl Executor,
    y: impl AsSlice<'a, T>,
    dy: impl AsSlice<'a, T>,
    dx: impl AsSliceMut<'a, T>,
    rows: usize,
    cols: usize,
) -> Result<()> {
    const WHAT: &str = "softmax_rows_backward";
    let (y, dy, dx) = (y.as_slice_arg(), dy.as_slice_arg(), dx.as_slice_mut_arg());
    let area = check::area(WHAT, rows, cols)?;
    check::length(WHAT, "y", y.len(), area, &format!("a {rows} x {cols} matrix"))?;
    check::same_length(WHAT, &[("y", y.len()), ("dy", dy.len()), ("dx", dx.len())])?;
    if area == 0 {
        return Ok(());
    }
    on.launch(T::gradient(y, dy, dx, rows, cols))
}

const WHAT: &str = "softmax_rows";

/// A matrix.
#[derive(Clone, Copy)]
struct RowsOf {
    rows: usize,
    cols: usize,
    /// Bytes of an element.
    size: usize,
    /// How wide accesses are.
    width: Width,
}

/// The work of a configuration of a kernel for these rows; nothing if it does not take them. `fits`: programs that a
/// multiprocessor has room for, if that is known.
fn work(
    kernel: &KernelDesc,
    config: &ConfigDesc,
    num_sms: usize,
    RowsOf { rows, cols, size, width }: RowsOf,
    fits: Option<usize>,
) -> Option<RowsWork> {
    /// Of a multiprocessor, where nothing is known of registers.
    const MAX_THREADS: usize = 2048;
    const MAX_PROGRAMS: usize = 16;
    let bytes = rows.saturating_mul(cols).saturating_mul(2 * size);
    let get = |name: &str| config.value_of(name).map_or(1, |v| v as usize);
    let several_rows = kernel.name == "softmax_rows_packed";
    if several_rows && cols > get("BLOCK") {
        return None;
    }
    // A row that is wider than a tile is read twice.
    let passes = |width: usize| if cols <= width { 1 } else { 2 * cols.div_ceil(width) };
    let (programs, tiles, tile, readings, rows_of_tile) = match kernel.name {
        "softmax_rows_packed" => {
            let groups = rows.div_ceil(get("ROWS"));
            let programs = groups.min(num_sms * get("PER_SM"));
            let tiles = groups.div_ceil(programs.max(1));
            (programs, tiles, get("ROWS") * get("BLOCK"), 1, get("ROWS"))
        }
        "softmax_rows_wide" => {
            let tile = get("ROWS") * get("LANES");
            (rows, 2 * cols.div_ceil(tile), tile, 2, 1)
        }
        _ => {
            // Each thread block of a cluster has its part of every tile.
            let (ctas, passes) = (config.ctas.max(1) as usize, passes(get("BLOCK")));
            (rows.saturating_mul(ctas), passes, get("BLOCK") / ctas, passes.min(2), 1)
        }
    };
    // A row of a packed tile is reduced within as many lanes as its vectors of 16 bytes take.
    let lanes = if several_rows { (get("BLOCK") * size / 16).clamp(1, 32) } else { 32 };
    let warps = if several_rows { config.warps as f32 } else { 1.0 };
    let exchanges = rows_of_tile as f32 * lanes.ilog2() as f32 / warps;
    let threads = config.warps as usize * 32;
    let resident = fits.unwrap_or_else(|| (MAX_THREADS / threads).clamp(1, MAX_PROGRAMS));
    let loads = width.into();
    Some(RowsWork { programs, threads, resident, tiles, tile, bytes, size, readings, several_rows, exchanges, loads })
}

/// Changes with any of the kernels.
fn version() -> &'static Version {
    static VERSION: PerProcess<Version> = PerProcess::new();
    VERSION.get_or_init(|| {
        Version::of_kernels(&[k::softmax_row::DESCS, k::softmax_rows_packed::DESCS, k::softmax_rows_wide::DESCS])
    })
}
