//! Products of groups of rows, each group with a matrix of its own.

use super::Multiply;
use super::align_operand::memory_of;
use super::plan::math_of;
use super::product::{GemmShape, Operand};
use crate::by_type::by_type;
use crate::decide::Limits;
use crate::kernel_plan::{self, KernelPlan};
use crate::planner::cost::Work;
use crate::planner::gemm::{GemmWork, Loads, Tile};
use crate::planner::{Candidate, Question};
use crate::tma::{Tma, batch_takes_tma, width_of_batch};
use crate::{Executor, check, decide};
use tilewright_core::cpu::fork::PerProcess;
use tilewright_core::{
    AsSlice, AsSliceMut, AsView, Call, Element, KernelDesc, SliceArg, SliceMutArg, VariantDesc, ViewArg, bf16, f16,
};
use tilewright_kernels::grouped_matmul::groups as k;
use tilewright_runtime::tuning::Version;
use tilewright_runtime::{BackendKind, Error, Result, private};

const WHAT: &str = "grouped_matmul";

by_type! {
    /// The element types of [`grouped_matmul`]: f16 and bf16. The example of [`grouped_matmul`] has one of them. The
    /// trait is sealed.
    /// ```compile_fail,E0277
    /// struct Mine;
    /// impl tilewright_ops::GroupMultiply for Mine {}
    /// ```
    pub trait GroupMultiply: GroupKernels<'a> [Multiply<Product = Self>] for [f16, bf16] {
        // For matrices, and for their transposes.
        fn group_descs() -> [&'static KernelDesc; 2] {
            [<(Self,) as k::grouped_matmul_nn::Types>::DESC, <(Self,) as k::grouped_matmul_nt::Types>::DESC]
        }
        fn group_call(
            transposed: bool,
            a: ViewArg<'a, Self, 2>,
            b: ViewArg<'a, Self, 3>,
            ends: SliceArg<'a, i32>,
            c: SliceMutArg<'a, Self>,
        ) -> Call<'a> {
            if transposed { k::grouped_matmul_nt(a, b, ends, c) } else { k::grouped_matmul_nn(a, b, ends, c) }
        }
    }
}

/// `C[r] = A[r] B[g]` for the rows `r` of every group `g`, in one launch: the products of a mixture of experts, whose
/// rows are in the order of their experts. Sums are accumulated in f32 and rounded once.
///
/// Group `g` has the rows from the end of the group before to `ends[g]`, which is read on the device. A group may have
/// no rows. Ends beyond the rows of A stand for the last row, and an end below an earlier one makes a group without
/// rows. Rows behind the last end are left as they are.
///
/// Shapes: `a` is `m x k`, `b` is `groups x k x n` with any strides, `ends` has an element for each group, and `c` is
/// `m x n`, row after row. Errors: [`Error::Shape`] for other shapes, [`Error::Alias`] where `c` shares memory with an
/// operand or with `ends`, [`Error::InvalidArgument`] for sizes beyond the address space, and those of a launch.
///
/// `ends` must not change while a launch reads it: warps of a program that read other ends wait for each other without
/// end.
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
    let (a, b, ends, c) = (a.as_view_arg(), b.as_view_arg(), ends.as_slice_arg(), c.as_slice_mut_arg());
    // The stride of a single row counts where results may not depend on the number of rows, as for `Views::of`.
    let a = if on.batch_invariant() { a } else { a.regular() };
    let ([m, k], [groups, rows, n]) = (a.dims(), b.dims());
    if k != rows {
        let why = format!("A has {k} columns and matrices of B have {rows} rows: they must be equal");
        return Err(Error::Shape { what: WHAT, why });
    }
    check::length(WHAT, "ends", ends.len(), groups, &format!("{groups} matrices of B"))?;
    let area = check::area(WHAT, m, n)?;
    check::length(WHAT, "c", c.len(), area, &format!("a {m} x {n} matrix"))?;
    let c = c.view([m, n])?;
    check::disjoint(WHAT, ("c", &c), ("a", &a))?;
    check::disjoint(WHAT, ("c", &c), ("b", &b))?;
    check::disjoint(WHAT, ("c", &c), ("ends", &ends.view([groups])?))?;
    if area == 0 || groups == 0 {
        return Ok(());
    }
    let [_, of_rows, of_columns] = b.strides();
    let transposed = of_columns != 1 && of_rows == 1;
    let as_given = b;
    let b = if transposed { transposes(b)? } else { b };
    let of = Groups::of([m, n, k, groups], transposed, a, b, c.as_view());
    let question = Question {
        op: WHAT,
        types: T::DTYPE.name(),
        version: version(),
        sizes: [decide::batch_size(on, m), n, k, groups],
        layout: of.tma.bits() << 2 | u64::from(of.in_sectors) << 1 | u64::from(transposed),
        recorded: &|| vec![(&a).into(), (&as_given).into()],
    };
    let candidates = |limits: Limits| of.plans::<T>(on, limits);
    decide::run(on, &question, &c, candidates, |plan: &KernelPlan| {
        let out = c.as_view();
        // SAFETY: one launch has it at a time.
        let c = unsafe { SliceMutArg::from_raw(out.addr(), area, out.device()) };
        on.launch_as(T::group_call(transposed, a, b, ends, c), plan.options())
    })
}

/// The transposes of a batch of matrices.
fn transposes<'a, T: Element>(b: ViewArg<'a, T, 3>) -> Result<ViewArg<'a, T, 3>> {
    let ([groups, rows, columns], [step, row, element]) = (b.dims(), b.strides());
    // SAFETY: the same elements.
    let all: SliceArg<'a, T> = unsafe { memory_of(b) };
    Ok(all.strided([groups, columns, rows], [step, element, row])?)
}

/// The properties of groups that their plans depend on.
struct Groups {
    shape: GemmShape,
    groups: usize,
    /// B has the transposes of its matrices.
    transposed: bool,
    tma: Tma,
    /// Rows of A and B begin at multiples of a sector of the L2 cache.
    in_sectors: bool,
}

impl Groups {
    fn of<T: Element>(
        [m, n, k, groups]: [usize; 4],
        transposed: bool,
        a: ViewArg<T, 2>,
        b: ViewArg<T, 3>,
        c: ViewArg<T, 2>,
    ) -> Groups {
        let (a, c) = (Operand { view: a, transposed: false }, Operand { view: c, transposed: false });
        // No kernel stores by a tensor map.
        let loads = a.tma_compatible() && batch_takes_tma(b);
        let tma = Tma { loads, stores: false, width: a.width().min(width_of_batch(b)).min(c.width()) };
        let in_sectors = a.in_sectors() && private::in_sectors(b.strides()[1] as u64, size_of::<T>());
        Groups { shape: GemmShape { m, n, k }, groups, transposed, tma, in_sectors }
    }

    fn plans<T: GroupMultiply>(&self, on: &impl Executor, limits: Limits) -> Vec<Candidate<KernelPlan>> {
        let desc = T::group_descs()[usize::from(self.transposed)];
        let rt = on.runtime();
        let m = decide::batch_size(on, self.shape.m);
        let runs = |v: &VariantDesc| rt.kind() != BackendKind::Cuda || private::runs(rt, v);
        kernel_plan::plans(on, limits, &[desc], |kernel, config, _| {
            let variant = self.tma.variant(kernel, config, "c", runs)?;
            let loads = if variant.maps.is_empty() { variant.width.into() } else { Loads::Tma };
            // The lengths of groups are known on the device alone: they are taken for equal.
            let work = GemmWork {
                shape: GemmShape { m: m.div_ceil(self.groups), ..self.shape },
                batch: self.groups.min(m),
                math: math_of::<T>(false),
                bytes: [size_of::<T>(); 2],
                tma: self.tma.loads,
                in_sectors: self.in_sectors,
                tma_store: false,
                rows_of_c: true,
                grid: false,
                k_major: (true, self.transposed),
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

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_runtime::{Buffer, Runtime};

    /// Small integers, so that every sum is exact.
    fn small(i: usize) -> f16 {
        f16::from_f32(((i * 7 + i / 5) % 5) as f32 - 2.0)
    }

    /// C of rows `[m, k]` by `groups` matrices whose elements lie by these strides.
    fn multiplied(rt: &Runtime, [m, n, k]: [usize; 3], ends: &[i32], strides: [usize; 3]) {
        let groups = ends.len();
        let span = 1 + [groups, k, n].iter().zip(strides).map(|(d, s)| (d - 1) * s).sum::<usize>();
        let (x, y): (Vec<f16>, Vec<f16>) = ((0..m * k).map(small).collect(), (0..span).map(|i| small(i + 3)).collect());
        let (a, b, e) = (Buffer::from_slice(rt, &x), Buffer::from_slice(rt, &y), Buffer::from_slice(rt, ends));
        let (a, b, e) = (a.unwrap(), b.unwrap(), e.unwrap());
        let mut c = Buffer::from_slice(rt, &vec![f16::from_f32(99.0); m * n]).unwrap();
        let of_groups = b.slice(..).unwrap().strided([groups, k, n], strides).unwrap();
        grouped_matmul(rt, a.view([m, k]).unwrap(), of_groups, &e, &mut c).unwrap();
        let (mut begin, mut wanted) = (0, vec![99.0; m * n]);
        for (g, &end) in ends.iter().enumerate() {
            let end = (end.max(0) as usize).clamp(begin, m);
            for (r, j) in (begin..end).flat_map(|r| (0..n).map(move |j| (r, j))) {
                let of =
                    |l: usize| x[r * k + l].to_f32() * y[g * strides[0] + l * strides[1] + j * strides[2]].to_f32();
                wanted[r * n + j] = (0..k).map(of).sum();
            }
            begin = end;
        }
        let found: Vec<f32> = c.to_vec().unwrap().into_iter().map(f16::to_f32).collect();
        assert_eq!(found, wanted, "{m} {n} {k} {ends:?} {strides:?} on {rt:?}");
    }

    #[test]
    fn any_ends_and_any_strides() {
        for rt in [Runtime::cpu(), Runtime::emulator(5)] {
            for [m, n, k] in [[1, 1, 1], [70, 40, 24], [5, 72, 16]] {
                let size = m as i32;
                let all = [
                    vec![size],
                    vec![0, size / 2, size],
                    vec![i32::MIN, size / 3, i32::MIN, i32::MAX],
                    vec![size - 1, -1, 0],
                    vec![0, 0],
                ];
                for ends in all {
                    // Rows, columns, one matrix for all groups, gaps between rows, and an odd step between matrices.
                    let strides = [
                        [k * n, n, 1],
                        [k * n, 1, k],
                        [0, n, 1],
                        [0, 1, k],
                        [k * (n + 8), n + 8, 1],
                        [k * n + 1, 1, k],
                    ];
                    strides.into_iter().for_each(|s| multiplied(&rt, [m, n, k], &ends, s));
                }
            }
        }
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let rt = &Runtime::cpu();
        let (x, ends) = ([f16::ONE; 12], [1, 3]);
        let view = |dims: [usize; 3]| x.as_slice().as_slice_arg().view(dims).unwrap();
        let rows = x[..6].as_slice_arg().view([3, 2]).unwrap();
        let run = |b, ends: &[i32], c: &mut [f16]| grouped_matmul(rt, rows, b, ends, c).unwrap_err().to_string();
        let of_two = [2, 2, 3];
        for (b, ends, len, told) in [
            ([2, 3, 2], &ends[..], 6, "must be equal"),
            (of_two, &ends[..1], 9, "ends"),
            (of_two, &ends[..], 8, "3 x 3"),
        ] {
            let error = run(view(b), ends, &mut vec![f16::ONE; len]);
            assert!(error.contains(told), "{error}");
        }
    }
}
