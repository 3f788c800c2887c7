//! The plans that exist for a product on a device, with their predicted times.

use super::f32_3xtf32;
use super::plan::{Copies, Layout, MatmulPlan, Orientation, Problem, Variant};
use super::product::{GemmShape, Transpose};
use super::scratch_matrix::to_aligned;
use crate::decide::Limits;
use crate::planner::Candidate;
use crate::planner::cost::{self, Cost, Moved, Traffic, Work};
use crate::planner::device::{DeviceModel, Math};
use crate::planner::gemm::{GemmWork, Loads, Tile};
use crate::planner::offers::Offer;
use crate::planner::state::State;
use crate::tma::Tma;
use crate::{Executor, stream_k};
use std::sync::Arc;
use tilewright_core::{ConfigDesc, KernelDesc, VariantDesc, Width, f16};
use tilewright_runtime::{BackendKind, private};

/// The kernels that compute tiles of one element type.
pub(super) trait TileKernels {
    /// The kernel for an order of the operands under a scheduler, if there is one.
    fn desc(&self, order: Transpose, stream_k: bool) -> Option<&'static KernelDesc>;
    /// A kernel that is launched after this one under stream-K, and reads its result from scratch memory.
    fn after(&self) -> Option<(&'static KernelDesc, Traffic)> {
        None
    }
}

/// The device and options that predictions depend on, beside the problem.
pub(super) struct Target<'a, L: Executor> {
    pub on: &'a L,
    pub limits: Limits,
    model: Arc<DeviceModel>,
    pub num_sms: usize,
}

const ORDERS: [Transpose; 4] =
    [Transpose::NONE, Transpose::OF_B, Transpose { a: true, b: false }, Transpose { a: true, b: true }];

impl<'a, L: Executor> Target<'a, L> {
    pub fn new(on: &'a L, limits: Limits) -> Self {
        Target { on, limits, model: State::model_of(on.runtime()), num_sms: on.num_sms() }
    }

    /// Whether plans of an orientation are worth a prediction: a product of few columns may be faster as a product of
    /// few rows, and one into columns is one into rows.
    pub fn considers(&self, orientation: Orientation, p: &Problem) -> bool {
        const MAX_ROWS: usize = 512;
        let is_of_few_rows = p.shape.m <= MAX_ROWS && p.shape.m < p.shape.n;
        match orientation {
            Orientation::AsGiven => true,
            _ if self.limits.pin.is_some() || self.is_cpu() => false,
            Orientation::Transposed => is_of_few_rows || !p.c.transposed,
            Orientation::TransposedInScratch => is_of_few_rows && self.limits.scratch > 0,
        }
    }

    /// Whether configurations are predicted one by one. The emulated SM takes the first that was built for it.
    fn chooses_configurations(&self) -> bool {
        self.on.runtime().kind() == BackendKind::Cuda
    }

    pub fn is_cpu(&self) -> bool {
        self.on.runtime().kind() == BackendKind::Cpu
    }

    /// Whether a kernel may be taken: any, or the pinned one alone.
    pub fn allows(&self, desc: &KernelDesc) -> bool {
        self.limits.pin.is_none_or(|(k, _)| core::ptr::eq(k, desc))
    }

    /// Whether plans of stream-K are considered. The number of tiles says where it cuts sums, so batch-invariant calls
    /// have none.
    fn takes_stream_k(&self) -> bool {
        let pinned = self.limits.pin.is_some();
        !self.on.batch_invariant() && self.limits.scratch > 0 && (pinned || !self.is_cpu())
    }

    /// Whether the columns of a plan's result are the rows of a batch whose size the plan may not depend on. A grid has
    /// at most 65535 programs along its second dimension, where kernels without a scheduler have columns.
    pub fn columns_are_unbounded(&self, orientation: Orientation) -> bool {
        orientation != Orientation::AsGiven && self.on.batch_invariant()
    }

    /// Whether TMA serves some variant of a kernel here; the CPU runs every kernel.
    fn takes_tma(&self, desc: &KernelDesc) -> bool {
        self.is_cpu() || self.takes_maps(desc)
    }

    /// Whether tensor maps serve some variant of a kernel here, on a GPU or the emulated SM.
    fn takes_maps(&self, desc: &KernelDesc) -> bool {
        let mut variants = desc.configs.iter().flat_map(|c| c.variants);
        !self.is_cpu() && variants.any(|v| !v.maps.is_empty() && private::runs(self.on.runtime(), v))
    }

    fn candidate(&self, plan: MatmulPlan, moved: Moved, kernel: Work) -> Candidate<MatmulPlan> {
        Candidate::new(plan, moved, kernel, &self.model, self.num_sms)
    }

    /// The configurations of a kernel that take such arguments.
    fn offers(&self, kernel: &'static KernelDesc, tma: Tma) -> Arc<[Offer]> {
        let (rt, state) = (self.on.runtime(), State::of(self.on.runtime()));
        let runs = |v: &VariantDesc| !self.chooses_configurations() || private::runs(rt, v);
        let make = || {
            let (resources, sm) = (state.resources.of(rt, kernel), &rt.device().multiprocessor);
            let offer = |config: &'static ConfigDesc| {
                let variant = tma.variant(kernel, config, RESULT, runs)?;
                let loads = if variant.maps.is_empty() { variant.width.into() } else { Loads::Tma };
                let resources = resources.as_ref().and_then(|all| Some((all.get(variant.entry)?, sm)));
                let factor = self.model.of_configuration(&cost::key(kernel.name, config.id, Some(loads)));
                let (stream_k, grid) = (stream_k::is_stream_k(config), stream_k::is_grid(config));
                Some(Offer { config, stream_k, grid, loads, tile: Tile::of(config, resources), factor })
            };
            kernel.configs.iter().filter_map(offer).collect()
        };
        if self.chooses_configurations() { state.offers.get(kernel, tma.bits(), &self.model, make) } else { make() }
    }

    /// Adds a plan for each configuration of a kernel that runs for these operands, in a workspace of this scheduler;
    /// `moved` by launches beside it. `width`: how wide accesses to all arguments may be. Off the GPU: the plan of
    /// the configuration with the shortest predicted time.
    pub fn add_configurations(
        &self,
        out: &mut Vec<Candidate<MatmulPlan>>,
        plan: MatmulPlan,
        work: &GemmWork,
        width: Width,
        moved: Moved,
    ) {
        if let Some((_, config)) = self.limits.pin {
            if !is_of_scheduler(config, work.stream_k) {
                return;
            }
            let plan = MatmulPlan { config: Some(config), ..plan };
            out.push(self.candidate(plan, moved, Work::Unknown));
            return;
        }
        if moved.scratch > self.limits.scratch {
            return;
        }
        let unbounded = self.columns_are_unbounded(plan.orientation);
        if unbounded && work.grid {
            return;
        }
        if self.is_cpu() {
            let of_scheduler = plan.kernel.configs.iter().filter(|c| is_of_scheduler(c, work.stream_k));
            let on_cpu = |config| {
                let plan = MatmulPlan { config: Some(config), ..plan };
                self.candidate(plan, moved, Work::GemmOnCpu(Tile::of(config, None), *work))
            };
            out.extend(of_scheduler.map(on_cpu).min_by(Candidate::by_time));
            return;
        }
        let tma = Tma { loads: work.tma && work.rows_of_c, stores: work.tma_store, width };
        let offers = self.offers(plan.kernel, tma);
        let taken = |o: &&Offer| o.stream_k == work.stream_k && !(unbounded && o.grid);
        let predicted = offers.iter().filter(taken).map(|o| {
            let work = GemmWork { grid: work.grid || o.grid, ..*work };
            let cost = Cost { moved, kernel: Work::Gemm(o.tile, work, o.loads), configuration: o.factor };
            Candidate::of_cost(MatmulPlan { config: Some(o.config), ..plan }, cost, &self.model, self.num_sms)
        });
        match self.chooses_configurations() {
            true => out.extend(predicted),
            // The plan for a GPU. The emulated SM has some of the instances, and takes the plan if it has its instance.
            false => {
                let shortest = predicted.min_by(Candidate::by_time);
                let runs = |v: &VariantDesc| private::runs(self.on.runtime(), v);
                let here = |c| tma.variant(plan.kernel, c, RESULT, runs).is_some();
                let mut of_scheduler = plan.kernel.configs.iter().filter(|c| is_of_scheduler(c, work.stream_k));
                let shortest = shortest.filter(|_| of_scheduler.any(here));
                out.extend(shortest.map(|c| Candidate { plan, ..c }));
            }
        }
    }
}

/// The parameter that kernels of products store to.
const RESULT: &str = "c";

/// Whether a configuration is of stream-K, or of another scheduler.
fn is_of_scheduler(config: &ConfigDesc, stream_k: bool) -> bool {
    stream_k::is_stream_k(config) == stream_k
}

impl<L: Executor> Target<'_, L> {
    /// Plans that compute tiles, for each order of the operands that a kernel has, with the copies that it takes.
    /// `front`: a copy that each of them has in front, if any.
    pub fn tiles(
        &self,
        out: &mut Vec<Candidate<MatmulPlan>>,
        p: &Problem,
        orientation: Orientation,
        kernels: &impl TileKernels,
        front: Traffic,
    ) {
        let GemmShape { m, n, k } = p.shape;
        for order in ORDERS {
            let must = (p.a.transposed != order.a, p.b.transposed != order.b);
            for copy in [(false, false), (true, false), (false, true), (true, true)] {
                // A kernel of strides reads an operand in any order, by general loads.
                let copies = Copies { a: copy.0.then_some(order.a), b: copy.1.then_some(order.b) };
                // A copy of rows that TMA takes already, in their own order, wins nothing.
                if copy.0 && !must.0 && p.a.tma || copy.1 && !must.1 && p.b.tma {
                    continue;
                }
                let strided = must.0 && !copy.0 || must.1 && !copy.1;
                if strided && (order != Transpose::OF_B || copy.0 || copy.1) {
                    continue;
                }
                let (a, b) = (
                    if copy.0 { Layout::copied(order.a) } else { p.a },
                    if copy.1 { Layout::copied(order.b) } else { p.b },
                );
                // TMA takes no K of 0.
                let tma = a.tma && b.tma && !strided && k > 0;
                let may_copy = tma && self.limits.scratch > 0 && (!self.is_cpu() || self.limits.pin.is_some());
                if (copy.0 || copy.1) && !may_copy {
                    continue;
                }
                let of_a = copies.a.map(|transposed| copy_of([m, k], transposed, p.bytes[0]));
                let of_b = copies.b.map(|transposed| copy_of([k, n], transposed, p.bytes[0]));
                // One launch copies both.
                let copied = of_a.unwrap_or_default().and(of_b.unwrap_or_default());
                for stream_k in [false, true] {
                    if stream_k && !self.takes_stream_k() {
                        continue;
                    }
                    let Some(kernel) = kernels.desc(order, stream_k) else { continue };
                    let pinned_after = stream_k
                        && self
                            .limits
                            .pin
                            .is_some_and(|(k, _)| kernels.after().is_some_and(|(d, _)| core::ptr::eq(k, d)));
                    if (copy.0 || copy.1) && !self.takes_tma(kernel) || !(self.allows(kernel) || pinned_after) {
                        continue;
                    }
                    let work = GemmWork {
                        tma,
                        strided: usize::from(must.0 && !copy.0) + usize::from(must.1 && !copy.1),
                        stream_k,
                        ..p.work(a, b)
                    };
                    let none = Traffic::default();
                    let after = kernels.after().filter(|_| stream_k).map_or(none, |(_, traffic)| traffic);
                    let moved = Moved::of([front, copied, after], [none; 2], none);
                    let plan =
                        MatmulPlan { orientation, variant: Variant::Tiles { copies, stream_k }, kernel, config: None };
                    if pinned_after {
                        out.push(self.candidate(plan, Moved::default(), Work::Unknown));
                    } else {
                        let width = if strided { Width::Elements } else { p.width(a, b) };
                        self.add_configurations(out, plan, &work, width, moved);
                    }
                }
            }
        }
    }

    /// Plans of f32 by 3xTF32. `transposed`: a result that is transposed behind, if any.
    pub fn tf32x3(
        &self,
        out: &mut Vec<Candidate<MatmulPlan>>,
        p: &Problem,
        orientation: Orientation,
        transposed: Traffic,
    ) {
        // TMA takes no K of 0.
        if self.limits.scratch == 0 || p.shape.k == 0 && !self.is_cpu() {
            return;
        }
        let GemmShape { m, n, k } = p.shape;
        let pinned = self.limits.pin.map(|(kernel, _)| kernel);
        let kernel = f32_3xtf32::desc(p.b.transposed);
        let rows_of_c = !p.c.transposed || self.is_cpu();
        if self.allows(kernel)
            && n <= f32_3xtf32::MAX_COLUMNS
            && self.takes_tma(kernel)
            && (if pinned.is_some() { p.b.tma } else { !self.is_cpu() })
            && rows_of_c
        {
            let copy_b = !p.b.tma && !self.is_cpu();
            let none = Traffic::default();
            let copied = if copy_b { copy_of([k, n], p.b.transposed, size_of::<f32>()) } else { none };
            let moved = Moved::of([copied, none, none], [decomposition_of([m, k]), none], transposed);
            let splits = match pinned {
                Some(_) => vec![PINNED_SPLITS],
                None if self.on.batch_invariant() => vec![1],
                None => split_counts(self.num_sms, p.shape),
            };
            for splits in splits {
                let b = if copy_b { Layout::copied(p.b.transposed) } else { p.b };
                let work = GemmWork {
                    math: Math::Tf32x3,
                    tma: true,
                    rows_of_c: true,
                    grid: true,
                    splits,
                    ..p.work(Layout::copied(false), b)
                };
                let variant = Variant::Tf32x3 { splits, copy_b };
                let plan = MatmulPlan { orientation, variant, kernel, config: None };
                self.add_configurations(out, plan, &work, p.c.width, moved);
            }
        }
        let kernel = f32_3xtf32::presplit_desc();
        let pinned_part = pinned.is_some_and(|k| ["tf32_decompose", "tf32_decompose_transposed"].contains(&k.name));
        let may = if pinned.is_some() { self.allows(kernel) || pinned_part } else { !self.is_cpu() };
        if may && self.takes_tma(kernel) {
            let plan = MatmulPlan { orientation, variant: Variant::DecomposedTf32x3, kernel, config: None };
            if pinned_part {
                out.push(self.candidate(plan, Moved::default(), Work::Unknown));
                return;
            }
            let work = GemmWork { math: Math::DecomposedTf32x3, ..p.work(Layout::copied(false), Layout::copied(true)) };
            let decomposed = [decomposition_of([m, k]), decomposition_of([n, k])];
            let moved = Moved::of([Traffic::default(); 3], decomposed, transposed);
            self.add_configurations(out, plan, &work, p.c.width, moved);
        }
    }

    /// Plans of few rows of A as f16 and a B of 8 bits. `ones`: rows of ones below A. `after`: a launch that reads the
    /// result from scratch memory, if any.
    pub fn mixed_input(
        &self,
        out: &mut Vec<Candidate<MatmulPlan>>,
        p: &Problem,
        kernel: &'static KernelDesc,
        ones: usize,
        after: Traffic,
    ) {
        const MAX_ROWS: usize = 128;
        if self.limits.scratch == 0 || self.on.batch_invariant() {
            return;
        }
        let pinned = self.limits.pin.is_some();
        let pinned_upcast = self.limits.pin.is_some_and(|(k, _)| k.name == "upcast_to_f16");
        let taken = !p.b.transposed && p.b.tma && p.c.tma && p.shape.k > 0 && self.takes_maps(kernel);
        let may = match pinned {
            true => self.allows(kernel) || pinned_upcast && (taken || self.is_cpu()),
            false => taken && p.shape.m + ones <= MAX_ROWS,
        };
        if !may {
            return;
        }
        let plan = MatmulPlan { orientation: Orientation::AsGiven, variant: Variant::MixedInput, kernel, config: None };
        if pinned_upcast {
            out.push(self.candidate(plan, Moved::default(), Work::Unknown));
            return;
        }
        let shape = GemmShape { m: p.shape.m + ones, ..p.shape };
        let work = GemmWork {
            shape,
            math: Math::MixedInput,
            rows_of_c: true,
            stream_k: true,
            ..p.work(Layout::copied(false), p.b)
        };
        // The conversion of B is part of the steps of the kernel: `Math::MixedInput` has a rate of its own, which is
        // fitted to measured times. So are the bytes of A, which are two for an element here and one for the terms.
        let read = p.shape.m.saturating_mul(p.shape.k);
        let converted = to_aligned(read, [shape.m, shape.k], size_of::<f16>(), 1);
        let none = Traffic::default();
        let moved = Moved::of([none, none, after], [converted, none], none);
        self.add_configurations(out, plan, &work, p.width(p.b, p.b), moved);
    }

    /// Plans of batches by one kernel. `copyable`: the operands that may be copied first.
    pub fn batches(
        &self,
        out: &mut Vec<Candidate<MatmulPlan>>,
        p: &Problem,
        batch: usize,
        copyable: (bool, bool),
        kernel: &'static KernelDesc,
    ) {
        if !self.allows(kernel) {
            return;
        }
        let GemmShape { m, n, k } = p.shape;
        for copy in [(false, false), (true, false), (false, true), (true, true)] {
            if copy.0 && (p.a.tma || !copyable.0) || copy.1 && (p.b.tma || !copyable.1) {
                continue;
            }
            let (a, b) =
                (if copy.0 { Layout::copied(false) } else { p.a }, if copy.1 { Layout::copied(false) } else { p.b });
            let tma = a.tma && b.tma && k > 0;
            let may_copy = tma && self.limits.scratch > 0 && self.limits.pin.is_none() && !self.is_cpu();
            if (copy.0 || copy.1) && !(may_copy && self.takes_tma(kernel)) {
                continue;
            }
            // Operands that all matrices share are not copied.
            let none = Traffic::default();
            let of = |copy: bool, [rows, cols]: [usize; 2]| {
                if copy { copy_of([rows.saturating_mul(batch), cols], false, p.bytes[0]) } else { none }
            };
            let moved = Moved::of([of(copy.0, [m, k]), of(copy.1, [k, n]), none], [none; 2], none);
            let copies = Copies { a: copy.0.then_some(false), b: copy.1.then_some(false) };
            for stream_k in [false, true] {
                if stream_k && !self.takes_stream_k() {
                    continue;
                }
                let work = GemmWork { batch, tma, stream_k, ..p.work(a, b) };
                let variant = Variant::Tiles { copies, stream_k };
                let plan = MatmulPlan { orientation: Orientation::AsGiven, variant, kernel, config: None };
                self.add_configurations(out, plan, &work, p.width(a, b), moved);
            }
        }
    }

    /// Plans of batches of f32 by 3xTF32. `shares_a`: all matrices have one A, which is decomposed once.
    pub fn decomposed_batches(
        &self,
        out: &mut Vec<Candidate<MatmulPlan>>,
        p: &Problem,
        batch: usize,
        shares_a: bool,
        kernel: &'static KernelDesc,
    ) {
        let pinned = self.limits.pin.is_some();
        let taken = if pinned { p.b.tma } else { !self.is_cpu() && p.shape.k > 0 };
        if !self.allows(kernel) || self.limits.scratch == 0 || !self.takes_tma(kernel) || !taken {
            return;
        }
        let GemmShape { m, n, k } = p.shape;
        let copy_b = !p.b.tma && !self.is_cpu();
        let none = Traffic::default();
        let copied = if copy_b { copy_of([k.saturating_mul(batch), n], false, size_of::<f32>()) } else { none };
        let b = if copy_b { Layout::copied(false) } else { p.b };
        let work =
            GemmWork { batch, math: Math::Tf32x3, tma: true, rows_of_c: true, ..p.work(Layout::copied(false), b) };
        let variant = Variant::Tf32x3 { splits: 1, copy_b };
        let plan = MatmulPlan { orientation: Orientation::AsGiven, variant, kernel, config: None };
        let rows = if shares_a { m } else { m.saturating_mul(batch) };
        let moved = Moved::of([copied, none, none], [decomposition_of([rows, k]), none], none);
        self.add_configurations(out, plan, &work, p.c.width, moved);
    }
}

/// A copy of a matrix whose elements have so many bytes; its rows are columns where the copy is `transposed`.
pub(super) fn copy_of([rows, cols]: [usize; 2], transposed: bool, size: usize) -> Traffic {
    let read = rows.saturating_mul(cols).saturating_mul(size);
    to_aligned(read, if transposed { [cols, rows] } else { [rows, cols] }, size, 1)
}

/// A decomposition of a matrix of f32 into two parts.
fn decomposition_of(dims: [usize; 2]) -> Traffic {
    to_aligned(dims[0].saturating_mul(dims[1]).saturating_mul(size_of::<f32>()), dims, size_of::<f32>(), 2)
}

/// Programs of a pinned kernel that share a tile: their last part is not as long as the others, for most K.
pub(super) const PINNED_SPLITS: usize = 3;

/// Numbers of programs that share a tile of a product: 1, 2, 4 and so on, as long as each has some of K and
/// partial sums have a bounded size.
fn split_counts(num_sms: usize, shape: GemmShape) -> Vec<usize> {
    const MIN_DEPTH: usize = 128;
    const MAX_SPLITS: usize = 32;
    const MAX_SUMS: usize = 1 << 26;
    let most = (shape.k / MIN_DEPTH).clamp(1, MAX_SPLITS);
    let area = shape.m.saturating_mul(shape.n);
    // More programs than fill the device twice over only add partial sums.
    let tiles = shape.m.div_ceil(128).saturating_mul(shape.n.div_ceil(128)).max(1);
    let fit = |splits: &usize| {
        *splits == 1
            || *splits <= most
                && splits.saturating_mul(area) <= MAX_SUMS
                && tiles.saturating_mul(splits / 2) < 8 * num_sms
    };
    [1, 2, 3, 4, 6, 8, 12, 16, 24, 32].into_iter().filter(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_kernels::matmul_f32::f32_products::batched_matmul_f32_3xtf32;
    use tilewright_runtime::Runtime;

    /// A kernel of operands as they are.
    struct Kernels(&'static KernelDesc);

    impl TileKernels for Kernels {
        fn desc(&self, order: Transpose, stream_k: bool) -> Option<&'static KernelDesc> {
            (order == Transpose::NONE && !stream_k).then_some(self.0)
        }
    }

    fn problem([m, n, k]: [usize; 3], math: Math, bytes: usize) -> Problem {
        let (rows, columns) = (Layout::copied(false), Layout::TRANSPOSE_OF_ROWS);
        let shape = GemmShape { m, n, k };
        Problem { shape, a: rows, b: rows, c: rows, c_transposed: columns, math, bytes: [bytes; 2] }
    }

    /// The launches beside a pinned kernel: the CPU, too, makes copies for one.
    fn moved(
        kernel: &'static KernelDesc,
        plans: impl Fn(&Target<Runtime>, &mut Vec<Candidate<MatmulPlan>>),
    ) -> Vec<Moved> {
        let rt = Runtime::cpu();
        let config = kernel.configs.iter().find(|c| is_of_scheduler(c, false)).unwrap_or(&kernel.configs[0]);
        let mut out = vec![];
        plans(&Target::new(&rt, Limits { scratch: 1 << 30, pin: Some((kernel, config)) }), &mut out);
        out.into_iter().map(|c| c.cost.moved).collect()
    }

    #[test]
    fn copies_count_with_the_gaps_between_their_rows() {
        let unaligned = Layout { tma: false, width: Width::Elements, ..Layout::copied(false) };
        let [m, n, k] = [1000, 3, 5];
        let p = Problem { a: unaligned, b: unaligned, ..problem([m, n, k], Math::Half, 2) };
        let kernel = <(f16,) as tilewright_kernels::matmul::products::matmul_nn::Types>::DESC;
        let found = moved(kernel, |target, out| {
            target.tiles(out, &p, Orientation::AsGiven, &Kernels(kernel), Traffic::default());
        });
        // One element or more of a row take a cache line.
        let scratch = (m + k) * 128;
        let copied = [0, 2 * (m * k + k * n) + scratch, 0];
        assert!(found.contains(&Moved { copied, scratch, ..Moved::default() }), "{found:?}");
        // A column that becomes a row: 4000 bytes in 32 cache lines.
        assert_eq!(copy_of([m, 1], true, 4), Traffic { bytes: 4000 + 4096, scratch: 4096 });
    }

    #[test]
    fn an_operand_of_all_matrices_is_decomposed_once() {
        let p = problem([20, 64, 30], Math::F32, 4);
        let kernel = batched_matmul_f32_3xtf32::DESCS[0];
        let of = |shares_a: bool| moved(kernel, |target, out| target.decomposed_batches(out, &p, 7, shares_a, kernel));
        let decomposed = |rows: usize| {
            let scratch = 2 * rows * 128;
            Moved { decomposed: [rows * 30 * 4 + scratch, 0], scratch, ..Moved::default() }
        };
        assert_eq!((of(false), of(true)), (vec![decomposed(7 * 20)], vec![decomposed(20)]));
    }

    #[test]
    fn mixed_input_counts_rows_of_ones_and_the_launch_behind() {
        let p = problem([6, 48, 100], Math::Byte, 1);
        let kernel = tilewright_kernels::matmul::products::matmul_f16_i8::DESCS[0];
        let after = Traffic { bytes: 50, scratch: 40 };
        let found = moved(kernel, |target, out| target.mixed_input(out, &p, kernel, 2, after));
        let scratch = 8 * 256;
        let wanted = Moved { copied: [0, 0, 50], decomposed: [600 + scratch, 0], transposed: 0, scratch: scratch + 40 };
        assert_eq!(found, [wanted]);
    }
}
