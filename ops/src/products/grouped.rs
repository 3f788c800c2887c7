//! Products of groups of rows, each group with a matrix of its own.

use super::Multiply;
use super::plan::math_of;
use super::product::GemmShape;
use crate::decide::Limits;
use crate::kernel_plan::{self, KernelPlan};
use crate::planner::cost::Work;
use crate::planner::gemm::{GemmWork, Loads, Tile};
use crate::planner::{Candidate, Question};
use crate::tma::{Tma, batch_takes_tma, width_of_batch};
use crate::{Executor, check, decide};
use tilewright_core::cpu::fork::PerProcess;
use tilewright_core::{
    AsSlice, AsSliceMut, AsView, Call, Element, KernelDesc, SliceArg, SliceMutArg, VariantDesc, ViewArg, Width, bf16,
    f16,
};
use tilewright_kernels::grouped_matmul::groups as k;
use tilewright_runtime::tuning::Version;
use tilewright_runtime::{BackendKind, Error, Result, private};

const WHAT: &str = "grouped_matmul";

/// The element types of [`grouped_matmul`]: f16 and bf16. The example of [`grouped_matmul`] has one of them. The trait
/// is sealed.
/// ```compile_fail,E0277
/// struct Mine;
/// impl tilewright_ops::GroupMultiply for Mine {}
/// ```
pub trait GroupMultiply: Multiply<Product = Self> + GroupKernels {}

/// The kernels of groups of an element type.
pub trait GroupKernels: Element {
    /// For matrices, and for their transposes.
    fn group_descs() -> [&'static KernelDesc; 2];
    fn group_call<'a>(
        transposed: bool,
        a: ViewArg<'a, Self, 2>,
        b: ViewArg<'a, Self, 3>,
        ends: SliceArg<'a, i32>,
        c: SliceMutArg<'a, Self>,
    ) -> Call<'a>;
}

macro_rules! types { ($($t:ty),*) => { $(impl GroupMultiply for $t {}

impl GroupKernels for $t {
    fn group_descs() -> [&'static KernelDesc; 2] {
        [<($t,) as k::grouped_matmul_nn::Types>::DESC, <($t,) as k::grouped_matmul_nt::Types>::DESC]
    }
    fn group_call<'a>(
        transposed: bool,
        a: ViewArg<'a, Self, 2>,
        b: ViewArg<'a, Self, 3>,
        ends: SliceArg<'a, i32>,
        c: SliceMutArg<'a, Self>,
    ) -> Call<'a> {
        if transposed { k::grouped_matmul_nt(a, b, ends, c) } else { k::grouped_matmul_nn(a, b, ends, c) }
    }
})* } }
types!(f16, bf16);

/// `C[r] = A[r] B[g]` for the rows `r` of every group `g`, in one launch: the products of a mixture of experts, whose
/// rows are in the order of their experts. Sums are accumulated in f32 and rounded once.
///
/// Group `g` has the rows from the end of the group before to `ends[g]`, which is read on the device. A group may have
/// no rows. Ends beyond the rows of A stand for the last row, and an end below an earlier one makes a group without
/// rows. Rows behind the last end are left as they are.
///
/// Shapes: `a` is `m x k`, `b` is `groups x k x n` with any strides, `ends` has an element for each group, and `c` is
/// `m x n`, row after row. Errors: [`Error::Shape`] for other shapes, [`Error::Alias`] where `c` shares memory with an
/// operand, and those of a launch.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime, f16, ops};
///
/// let rt = Runtime::cpu();
/// let of = |v: &[f32]| v.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>();
/// // Three rows of one element. The first is of group 0, the others of group 2.
/// let a = Buffer::from_slice(&rt, &of(&[1.0, 2.0, 3.0]))?;
/// let b = Buffer::from_slice(&rt, &of(&[10.0, 100.0, 1000.0]))?;
/// let mut c = Buffer::<f16>::zeros(&rt, 3)?;
/// ops::grouped_matmul(&rt, a.view([3, 1])?, b.view([3, 1, 1])?, &[1, 1, 3], &mut c)?;
/// assert_eq!(c.to_vec()?, of(&[10.0, 2000.0, 3000.0]));
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn grouped_matmul<'a, T: GroupMultiply>(
    on: &impl Executor,
    a: impl AsView<'a, T, 2>,
    b: impl AsView<'a, T, 3>,
    ends: impl AsSlice<'a, i32>,
    c: impl AsSliceMut<'a, T>,
) -> Result<()> {
    let (a, b, ends, c) = (a.as_view_arg().regular(), b.as_view_arg(), ends.as_slice_arg(), c.as_slice_mut_arg());
    let ([m, depth], [groups, rows, n]) = (a.dims(), b.dims());
    if depth != rows {
        let why = format!("A has {depth} columns and matrices of B have {rows} rows: they must be equal");
        return Err(Error::Shape { what: WHAT, why });
    }
    check::length(WHAT, "ends", ends.len(), groups, &format!("{groups} matrices of B"))?;
    let area = check::area(WHAT, m, n)?;
    check::length(WHAT, "c", c.len(), area, &format!("a {m} x {n} matrix"))?;
    let mut c = c.view([m, n])?;
    check::disjoint(WHAT, ("c", &c), ("a", &a))?;
    check::disjoint(WHAT, ("c", &c), ("b", &b))?;
    if area == 0 || groups == 0 {
        return Ok(());
    }
    let of = Groups::of([m, n, depth, groups], a, b);
    let (transposed, b) = (of.transposed, if of.transposed { of_columns(b)? } else { b });
    let question = Question {
        op: WHAT,
        types: T::DTYPE.name(),
        version: version(),
        sizes: [decide::batch_size(on, m), n, depth, groups],
        layout: of.tma.bits() << 1 | u64::from(transposed),
    };
    let candidates = |limits: Limits| of.plans::<T>(on, limits);
    decide::run(on, &question, &c, candidates, |plan: &KernelPlan| {
        let out = c.as_view();
        // SAFETY: one launch has it at a time.
        let c = unsafe { SliceMutArg::from_raw(out.addr(), area, out.device()) };
        on.launch_as(T::group_call(transposed, a, b, ends, c), plan.options())
    })
}

/// The same batch as one of transposes: the last two dimensions exchanged.
fn of_columns<'a, T: Element>(b: ViewArg<'a, T, 3>) -> Result<ViewArg<'a, T, 3>> {
    let ([groups, rows, columns], [step, row, element]) = (b.dims(), b.strides());
    // SAFETY: the same elements.
    let all: SliceArg<'a, T> = unsafe { super::align_operand::memory_of(b) };
    Ok(all.strided([groups, columns, rows], [step, element, row])?)
}

/// What decides about the plans of groups.
struct Groups {
    shape: GemmShape,
    groups: usize,
    /// B has matrices whose columns are contiguous.
    transposed: bool,
    tma: Tma,
}

impl Groups {
    fn of<T: Element>([m, n, k, groups]: [usize; 4], a: ViewArg<T, 2>, b: ViewArg<T, 3>) -> Groups {
        let bytes = |stride: usize| stride.wrapping_mul(size_of::<T>()) as u64;
        let ([row, element], [step, of_rows, of_columns]) = (a.strides(), b.strides());
        let transposed = of_columns != 1 && of_rows == 1;
        let width = |inner: usize, outer: u64| if inner == 1 { Width::of(outer) } else { Width::Elements };
        let of_a = width(element, a.addr() | bytes(row));
        let of_b = match transposed {
            true => Width::of(b.addr() | bytes(step) | bytes(of_columns)),
            false => width_of_batch(b),
        };
        let in_maps = |stride: usize| stride > 0;
        let b_takes_tma = if transposed {
            of_b == Width::Vectors && in_maps(step) && in_maps(of_columns)
        } else {
            batch_takes_tma(b)
        };
        let loads = of_a == Width::Vectors && in_maps(row) && b_takes_tma;
        // Wide stores need rows of C at such multiples.
        let of_c = Width::of(bytes(n));
        let tma = Tma { loads, stores: loads, width: of_a.min(of_b).min(of_c) };
        Groups { shape: GemmShape { m, n, k }, groups, transposed, tma }
    }

    fn plans<T: GroupMultiply>(&self, on: &impl Executor, limits: Limits) -> Vec<Candidate<KernelPlan>> {
        let desc = T::group_descs()[usize::from(self.transposed)];
        let rt = on.runtime();
        let m = decide::batch_size(on, self.shape.m);
        let runs = |v: &VariantDesc| rt.kind() != BackendKind::Cuda || private::runs(rt, v);
        kernel_plan::plans(on, limits, &[desc], |kernel, config, _| {
            let variant = self.tma.variant(kernel, config, "c", runs)?;
            let loads = if variant.maps.is_empty() { variant.width.into() } else { Loads::Tma };
            let rows = config.value_of("BM").map_or(1, |v| v as usize).max(1);
            // The lengths of groups are known on the device alone: they are taken for equal.
            let tiles = m.div_ceil(self.groups).div_ceil(rows).saturating_mul(self.groups.min(m));
            let work = GemmWork {
                shape: GemmShape { m: tiles.saturating_mul(rows), ..self.shape },
                batch: 1,
                math: math_of::<T>(false),
                bytes: [size_of::<T>(); 2],
                tma: self.tma.loads,
                in_sectors: true,
                tma_store: false,
                rows_of_c: true,
                grid: false,
                depth_first: (true, self.transposed),
                strided: 0,
                stream_k: false,
                splits: 1,
            };
            let tile = Tile::of(config, None);
            Some(if rt.kind() == BackendKind::Cpu {
                Work::GemmOnCpu(tile, work)
            } else {
                Work::Gemm(tile, work, loads)
            })
        })
    }
}

/// Changes with any of the kernels.
fn version() -> &'static Version {
    static VERSION: PerProcess<Version> = PerProcess::new();
    VERSION.get_or_init(|| Version::of_kernels(&[k::grouped_matmul_nn::DESCS, k::grouped_matmul_nt::DESCS]))
}
