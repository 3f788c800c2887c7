//! The order of the compiler's stages: the only place that knows it.
//!
//! kernel → AST → IR → passes that every variant shares → for each [`Variant`]: passes of its own → axis info → layouts
//! → plan → thread-level code.

use crate::analysis::assume;
use crate::analysis::axis_info::Assume;
use crate::analysis::determinism;
use crate::codegen;
use crate::diag::{Code, Diagnostics, Result};
use crate::emit;
use crate::front::ast::{Arch, Choice, Config};
use crate::front::instance::Kernel;
use crate::front::print as print_ast;
use crate::front::{backward, infer};
use crate::ir::walk::{dots, loaded, walk};
use crate::ir::{Base, Func, Guard, Op, SharedArray, Stmt, StmtKind, Test, Value, print, verify};
use crate::layout::assign::assign;
use crate::missed::{Changed, Missed};
pub use crate::observer::Observer;
use crate::observer::{abandoned, attempt};
use crate::passes::{
    adjoint, block_pointers, cluster, copy_prop, dce, induction, pipeline_dots, swap_ab, tf32x3, wide_sums,
};
use crate::plan::cp_async_pipeline::{self, CpAsyncPipeline};
use crate::plan::operands::{self, Source, Sources};
use crate::plan::staged_store::{self, StagedStores};
use crate::plan::tile_forms::Facts;
use crate::plan::{
    self, Plan, access_elements, accesses, alias, atomic_results, barriers, collectives, demands, elementwise,
    epilogue, guards, mma_sync, one_warp, one_warp::OneWarpLoops, pdl, shared_memory, tma_pipeline, unroll, vectors,
    wgmma_cp_async, wgmma_order, written_operand,
};
use crate::planted;
use crate::stage::Stage;
use crate::thread_ir::{self, Lowered, ThreadIr, TraceEvent};
use crate::variant::{MmaPath, Transposed, Variant, Width};
use std::collections::HashMap;
use tilewright_types::TraceLayout;

/// The typed IR of one instance.
pub fn instance(k: &Kernel, choice: &Choice, config: &Config, d: &Diagnostics) -> Result<Func> {
    observed_instance(k, choice, config, d, &mut ())
}

pub(crate) fn observed_instance(
    k: &Kernel,
    choice: &Choice,
    config: &Config,
    d: &Diagnostics,
    observer: &mut dyn Observer,
) -> Result<Func> {
    observer.stage(Stage::Ast, &|| print_ast::kernel(&k.ast));
    let mut f = inferred(k, choice, config, d)?;
    if f.deterministic
        && let Err(e) = determinism::order_dependence(&f)
    {
        let message = format!("`{}` is `deterministic`, and here {}", k.name, e.why);
        return Err(d.error(e.code, e.span, message));
    }
    after(Stage::Ir, &mut f, observer);
    wide_sums::run(&mut f);
    after(Stage::WideSums, &mut f, observer);
    induction::run(&mut f);
    after(Stage::Induction, &mut f, observer);
    copy_prop::run(&mut f);
    after(Stage::CopyProp, &mut f, observer);
    dce::run(&mut f);
    after(Stage::Dce, &mut f, observer);
    if config.ctas > 1
        && let Err((code, m)) = can_be_partitioned(&f)
    {
        let message =
            format!("`{}` cannot be partitioned over {} thread blocks (`ctas`): {}", k.name, config.ctas, m.why);
        return Err(d.error(code, m.span.unwrap_or(k.ast.name.span()), message));
    }
    Ok(f)
}

/// The function of an instance. That of a backward kernel is derived from the forward function.
fn inferred(k: &Kernel, choice: &Choice, config: &Config, d: &Diagnostics) -> Result<Func> {
    let Some(of) = &k.ast.adjoint else { return infer::infer(&k.ast, choice, config, d) };
    let f = infer::infer(&of.forward, &backward::forward_choice(&k.ast, of, choice), config, d)?;
    let params = backward::function_params(&k.ast, of, choice, &f.params);
    adjoint::run(&f, &params).map_err(|refused| {
        let why = format!("`{}` has `backward`, and here {}", of.forward.name, refused.why);
        d.error(Code::NoAdjoint, refused.span, why)
    })
}

/// Whether the program of a function can be partitioned over a cluster.
fn can_be_partitioned(f: &Func) -> std::result::Result<(), (Code, Missed)> {
    if dots(f, &f.body).next().is_none() {
        let variant = Variant { width: Width::Vectors, mma: MmaPath::MmaSync };
        return transform(f, variant, &mut ()).map(drop);
    }
    let of_product = |m| (Code::ClusterProduct, m);
    let as_written = Transposed::default();
    let variant = Variant { width: Width::Vectors, mma: MmaPath::WgmmaTma(as_written) };
    let f = with_block_pointers(f, as_written, &mut ()).map_err(of_product)?;
    let transformed = transform(&f, variant, &mut ())?;
    let swapped = transformed.swapped.map_err(of_product)?;
    let of_each = |m: Missed| of_product(Missed { why: why!("in each of them, {}", m.why), ..m });
    tma_pipeline::plan(swapped.as_ref().unwrap_or(&transformed.as_written), &[]).map(drop).map_err(of_each)
}

/// Numbers the statements, verifies the function in debug builds, and shows it.
fn after(stage: Stage, f: &mut Func, observer: &mut dyn Observer) {
    f.number();
    let verify = if stage == Stage::Ir { verify::verify_inferred } else { verify::verify };
    if planted::is_verified()
        && let Err(e) = verify(f)
    {
        panic!("after {}: {e}\n{}", stage.name(), print::print(f));
    }
    let f = &*f;
    observer.stage(stage, &|| print::print(f));
}

/// The products of a function as `wgmma` computes them.
pub fn by_warpgroups(f: &Func, variant: Variant) -> swap_ab::Products {
    match variant.mma {
        MmaPath::MmaSync => HashMap::new(),
        MmaPath::WgmmaCpAsync => {
            let axis_info = assume::analyze(f, variant.assume());
            dots(f, &f.body).map(|d| (d, wgmma_cp_async::product(f, &axis_info, d).map(|_| 0))).collect()
        }
        MmaPath::WgmmaTma(_) => {
            let cost = |d: Value, s: Sources| match (s.b, f.op(d)) {
                (Source::Computed, &Op::Dot { b, .. }) => operands::writing_cost(f, b),
                _ => 0,
            };
            dots(f, &f.body).map(|d| (d, operands::of_product(f, d).map(|s| cost(d, s)))).collect()
        }
    }
}

/// The function with the block pointers that are found in it.
fn with_block_pointers(
    f: &Func,
    transposed: Transposed,
    observer: &mut dyn Observer,
) -> std::result::Result<Func, Missed> {
    let (mut f, mut missed) = (f.clone(), vec![]);
    let changed = block_pointers::run(&mut f, transposed, &mut missed);
    if changed.is_ok() {
        block_pointers::columns::run(&mut f, &mut missed);
    }
    missed.into_iter().for_each(|m| observer.missed(m));
    changed?;
    after(Stage::BlockPointers, &mut f, observer);
    Ok(f)
}

/// A function as a variant has it.
struct Transformed {
    /// With the operands of products as they are written.
    as_written: Func,
    /// With operands swapped, if any are.
    swapped: std::result::Result<Option<Func>, Missed>,
}

/// The function as a variant has it, before dots are pipelined. Variants that copy by TMA take one with block pointers.
/// An error has the rule of the language that a function does not keep.
fn transform(
    f: &Func,
    variant: Variant,
    observer: &mut dyn Observer,
) -> std::result::Result<Transformed, (Code, Missed)> {
    let tma = matches!(variant.mma, MmaPath::WgmmaTma(_));
    let mut f = f.clone();
    if let Some(dot) = dots(&f, &f.body).next().filter(|_| f.ctas > 1 && !tma) {
        let why = why!("clusters support products only when TMA loads the operands");
        return Err((Code::ClusterProduct, Missed::new("partitioned over a cluster", why).at(f.span(dot))));
    }
    if f.ctas > 1 || tma {
        cluster::checked(&mut f)?;
        after(Stage::Cluster, &mut f, observer);
    }
    if tma {
        tf32x3::run(&mut f);
        after(Stage::Tf32x3, &mut f, observer);
    }
    if variant.mma == MmaPath::MmaSync {
        return Ok(Transformed { as_written: f, swapped: Ok(None) });
    }
    let mut swapped = f.clone();
    let changed = swap_ab::run(&mut swapped, |f| by_warpgroups(f, variant));
    after(Stage::SwapAb, &mut swapped, observer);
    Ok(Transformed { as_written: f, swapped: changed.map(|c| (c == Changed::Yes).then_some(swapped)) })
}

/// The function with pipelined dots, if there are any.
fn with_pipelined_dots(f: &Func, variant: Variant, observer: &mut dyn Observer) -> Option<Func> {
    if !matches!(variant.mma, MmaPath::WgmmaTma(_)) {
        return None;
    }
    let (mut f, mut missed) = (f.clone(), vec![]);
    let changed = pipeline_dots::run(&mut f, &mut missed);
    missed.into_iter().for_each(|m| observer.missed(m));
    after(Stage::PipelineDots, &mut f, observer);
    (changed == Changed::Yes).then_some(f)
}

/// Decides everything that code generation carries out.
fn plan(f: &Func, variant: Variant, observer: &mut dyn Observer) -> std::result::Result<Plan, Missed> {
    let tma = matches!(variant.mma, MmaPath::WgmmaTma(_));
    let fused = if tma { epilogue::fused(f) } else { vec![] };
    let vectors = variant.width == Width::Vectors;
    let copied_ahead: &[_] = if vectors { &fused } else { &[] };
    let pipeline = if tma { Some(tma_pipeline::plan(f, copied_ahead)?) } else { None };
    if let Some(tile) = epilogue::crowded(f, &fused).filter(|_| !vectors) {
        let why = why!("without vectors its addresses take too many registers: take smaller tiles, or more warps");
        return Err(Missed::new("copied by TMA", why).at(f.span(tile)));
    }
    let axis_info = assume::analyze(f, variant.assume());
    observer.stage(Stage::AxisInfo, &|| print::annotated(f, |v| axis_info.note(f, v)));
    let products = match (&pipeline, variant.mma) {
        (Some(p), _) => p.dots.clone(),
        (None, MmaPath::WgmmaCpAsync) => wgmma_cp_async::products(f, &axis_info)?,
        (None, _) => HashMap::new(),
    };
    let one_warp = if pipeline.is_none() { one_warp::loops(f) } else { OneWarpLoops::default() };
    // Layouts fix the order of sums, so that those of vectors serve all variants.
    let of_vectors = (f.deterministic && variant.mma == MmaPath::MmaSync)
        .then(|| assume::analyze(f, Assume::Multiples(Width::Vectors)));
    let layouts = assign(f, of_vectors.as_ref().unwrap_or(&axis_info), &products, &one_warp);
    let one_warp = layouts.held_by_one_warp(f, one_warp);
    observer.stage(Stage::Layout, &|| {
        print::annotated(f, |v| match f.ty(v).is_scalar() {
            true => String::new(),
            false if layouts.is_cheap(v) => "anywhere".into(),
            false => format!("{:?}", layouts.of(v)),
        })
    });
    let mut missed = vec![];
    let cp_async = match &pipeline {
        Some(p) => {
            missed.extend(epilogue::missed(f, &fused, p));
            missed.extend(written_operand::missed(f, p));
            missed.extend(staged_store::missed(f, &axis_info, &layouts));
            CpAsyncPipeline::default()
        }
        None => cp_async_pipeline::plan(f, &axis_info, &layouts, products, &mut missed)
            // The remarks found so far explain the error.
            .inspect_err(|_| missed.drain(..).for_each(|m| observer.missed(m)))?,
    };
    if vectors {
        let tma = pipeline.iter().flat_map(|p| p.loads.keys()).copied().collect();
        missed.extend(vectors::missed(f, &axis_info, &tma, &cp_async.tiles));
    }
    missed.extend(alias::missed(f));
    missed.into_iter().for_each(|m| observer.missed(m));
    let mut maps = pipeline.iter().flat_map(|p| p.maps.clone()).collect();
    let staged_stores = match &pipeline {
        Some(p) => staged_store::plan(f, &axis_info, &layouts, &fused, p, vectors, &mut maps)?,
        None => StagedStores::default(),
    };
    let by_wgmma = pipeline.is_some() || cp_async.by_wgmma();
    let given = accesses::Given { f, axis_info: &axis_info, layouts: &layouts, by_wgmma };
    let products = pipeline.as_ref().map_or(&cp_async.products, |p| &p.dots);
    let warp_products = mma_sync::plan(f, products, &cp_async);
    mma_sync::missed(f, &warp_products).into_iter().for_each(|m| observer.missed(m));
    let wgmma = wgmma_order::plan(f, pipeline.as_ref(), &cp_async);
    let accesses = accesses::plan(&given, &fused, &staged_stores, pipeline.as_ref());
    let loops = unroll::plan(f);
    let (elementwise, collectives) = (elementwise::plan(f, &layouts), collectives::plan(f, &layouts));
    let facts = Facts {
        f,
        axis_info: &axis_info,
        assignment: &layouts,
        elementwise: &elementwise,
        pipeline: pipeline.as_ref(),
    };
    let (tiles, one_warp) = demands::plan(&demands::Given {
        facts,
        fused: &fused,
        cp_async: &cp_async,
        wgmma: &wgmma,
        warp_products: &warp_products,
        one_warp: &one_warp,
        loops: &loops,
        staged_stores: &staged_stores,
        accesses: &accesses,
        collectives: &collectives,
    });
    let plan = Plan {
        loops,
        atomics: atomic_results::plan(f),
        barriers: barriers::Scopes::new(f, pipeline.is_some()),
        guards: guards::plan(f, &axis_info, &maps),
        pdl_wait: pdl::wait(f, pipeline.is_some()),
        wgmma,
        warp_products,
        elements: access_elements::plan(f, &fused, &staged_stores, &accesses),
        accesses,
        elementwise,
        collectives,
        tiles,
        known_words: axis_info.known_words(),
        layouts,
        fused,
        pipeline,
        cp_async,
        one_warp,
        maps,
        staged_stores,
    };
    observer.stage(Stage::Plan, &|| plan.to_string());
    observer.planned(f, &plan);
    Ok(plan)
}

/// Compiles one instance for one variant. With `sites`, steps carry the kernel's source line for the emulator.
pub fn lower(
    f: &Func,
    variant: Variant,
    sites: bool,
    observer: &mut dyn Observer,
) -> std::result::Result<Lowered, Missed> {
    match variant.mma {
        MmaPath::WgmmaTma(t) => lower_found(&with_block_pointers(f, t, observer)?, variant, sites, observer),
        _ => lower_found(f, variant, sites, observer),
    }
}

/// The code of the CPU function of an instance.
pub fn cpu(f: &Func, observer: &mut dyn Observer) -> Vec<ThreadIr> {
    let plan = plan::cpu::plan(f, &assume::analyze(f, Assume::Nothing));
    observer.stage(Stage::CpuPlan, &|| plan.to_string());
    let body = emit::cpu::body(f, &plan);
    observer.stage(Stage::Cpu, &|| thread_ir::print::body(&body));
    body
}

/// As [`lower`], with marks for a timeline of the warps, and their events. `layout` has the blocks and the capacity.
/// The warps of a block are those of the program.
pub fn lower_traced(
    f: &Func,
    variant: Variant,
    layout: TraceLayout,
) -> std::result::Result<(Lowered, TraceLayout, Vec<TraceEvent>), Missed> {
    let mut lowered = lower(f, variant, true, &mut ())?;
    let layout = TraceLayout { warps: lowered.threads / 32, ..layout };
    let params: Vec<String> = f.params.iter().map(|p| p.name.clone()).collect();
    let events = thread_ir::trace::insert(&mut lowered, &params, &layout);
    verified("marks are inserted", &lowered);
    Ok((lowered, layout, events))
}

/// Compiles a function for one variant, with block pointers where the variant wants them.
fn lower_found(
    f: &Func,
    variant: Variant,
    sites: bool,
    observer: &mut dyn Observer,
) -> std::result::Result<Lowered, Missed> {
    let Transformed { as_written: f, swapped } = transform(f, variant, observer).map_err(|(_, missed)| missed)?;
    let swapped = swapped.unwrap_or_else(|missed| {
        observer.missed(missed);
        None
    });
    let Some(swapped) = swapped else {
        return planned(&f, variant, sites, observer);
    };
    match attempt(observer, |o| planned(&swapped, variant, sites, o)) {
        Ok(mut lowered) => {
            lowered.passes.push("swapped operands");
            Ok(lowered)
        }
        Err(missed) => {
            observer.stage(Stage::SwapAb, &|| print::print(&f));
            let lowered = planned(&f, variant, sites, observer).map_err(|_| missed.clone())?;
            observer.missed(abandoned("multiplied with its operands swapped", missed));
            Ok(lowered)
        }
    }
}

/// Plans a function and generates its code, with pipelined dots where they can be planned.
fn planned(
    f: &Func,
    variant: Variant,
    sites: bool,
    observer: &mut dyn Observer,
) -> std::result::Result<Lowered, Missed> {
    let Some(pipelined) = with_pipelined_dots(f, variant, observer) else {
        return generate(f, variant, sites, observer);
    };
    match attempt(observer, |o| generate(&pipelined, variant, sites, o)) {
        Ok(mut lowered) => {
            lowered.passes.push("pipelined dots");
            Ok(lowered)
        }
        Err(missed) => {
            observer.stage(Stage::PipelineDots, &|| print::print(f));
            let lowered = generate(f, variant, sites, observer)?;
            observer.missed(abandoned("pipelined", missed));
            Ok(lowered)
        }
    }
}

fn generate(
    f: &Func,
    variant: Variant,
    sites: bool,
    observer: &mut dyn Observer,
) -> std::result::Result<Lowered, Missed> {
    let plan = plan(f, variant, observer)?;
    let mut program = codegen::generate(f, &plan, sites);
    let barriers = barriers::plan(&program.steps(), SharedArray::places(&f.shared).1, plan.barriers);
    observer
        .stage(Stage::Plan, &|| barriers.iter().fold(plan.to_string(), |text, of_role| text + &of_role.to_string()));
    program.insert(&barriers);
    let scratch_bytes = barriers.last().expect("a role").end;
    let memory = shared_memory::allocate(f, &plan, scratch_bytes)?;
    observer.stage(Stage::SharedMemory, &|| memory.to_string());
    let lowered = codegen::assemble(f, &plan, program, &memory);
    verified("code generation", &lowered);
    observer.stage(Stage::ThreadIr, &|| thread_ir::dump::dump(&lowered));
    observer.stage(Stage::Rust, &|| lowered.text());
    Ok(lowered)
}

/// Verifies a program in debug builds.
fn verified(after: &str, lowered: &Lowered) {
    if planted::is_verified()
        && let Err(e) = thread_ir::verify::verify(lowered)
    {
        panic!("after {after}: {e}\n{}", lowered.text());
    }
}

/// The variants of an instance, the best first: by `wgmma`, where it can take the operands of all products, and by
/// `mma.sync`. Each has one form with guards for alignment, if these gain anything, and one without. Between the two
/// `mma.sync` may have forms for narrower accesses. None for a configuration of the CPU.
pub fn variants(func: &Func, config: &Config, sites: bool) -> Vec<(Variant, Lowered)> {
    if config.arch == Arch::Cpu {
        return vec![];
    }
    let lowered = |f: &Func, mma: MmaPath, width: Width| {
        let v = Variant { width, mma };
        let lowered = lower_found(f, v, sites, &mut ()).ok();
        let checks = width != Width::Elements;
        lowered.map(|l| (v, l)).filter(|(_, l)| !checks || l.vectors || l.maps.iter().any(|m| m.stores))
    };
    let pair = |f: &Func, mma: MmaPath| -> Vec<_> {
        [Width::Vectors, Width::Elements].into_iter().filter_map(|width| lowered(f, mma, width)).collect()
    };
    let mut out = vec![];
    if config.arch.has_wgmma() && dots(func, &func.body).next().is_some() {
        let [as_written, transposed @ ..] = Transposed::ALL;
        let found = with_block_pointers(func, as_written, &mut ()).ok();
        out.extend(found.iter().flat_map(|f| pair(f, MmaPath::WgmmaTma(as_written))));
        out.extend(transposed.into_iter().filter_map(|t| {
            let found = with_block_pointers(func, t, &mut ()).ok()?;
            lowered(&found, MmaPath::WgmmaTma(t), Width::Vectors)
        }));
        // Products may take tiles of views alone. Views that TMA does not take are for other configurations. Block
        // pointers that are found in index arithmetic may need guards that a call does not pass.
        let asks_no_more = found.is_none_or(|f| f.guards.len() == func.guards.len());
        let of_views = !out.is_empty()
            && asks_no_more
            && dots(func, &func.body)
                .all(|d| operands_of(func, d).all(|l| matches!(func.op(l), Op::Load { block_pointer: Some(_), .. })));
        if !of_views {
            out.extend(pair(func, MmaPath::WgmmaCpAsync));
        }
    }
    if config.arch != Arch::Capability(90) || out.is_empty() {
        let widest = lowered(func, MmaPath::MmaSync, Width::Vectors);
        let between = widths_between(func, widest.as_ref().map(|(_, l)| l));
        out.extend(widest);
        out.extend(between.into_iter().filter_map(|width| lowered(func, MmaPath::MmaSync, width)));
        out.extend(lowered(func, MmaPath::MmaSync, Width::Elements));
    }
    out
}

/// The widths between vectors and elements that an instance has forms for: of products both, as far as elements are
/// smaller; of other instances one, where rows start at addresses that depend on sizes and strides. `widest`: its form
/// with vectors, if there is one.
fn widths_between(f: &Func, widest: Option<&Lowered>) -> Vec<Width> {
    let is_smaller = |width: Width| move |v: Value| f.ty(v).dtype.size() < width.bytes();
    if dots(f, &f.body).next().is_some() {
        // `cp.async` copies double words and words, and no smaller elements.
        let gains = |width: &Width| dots(f, &f.body).any(|d| operands_of(f, d).any(is_smaller(*width)));
        return [Width::DoubleWords, Width::Words].into_iter().filter(gains).collect();
    }
    if !widest.is_some_and(|l| asks_of_rows(f, l)) {
        return vec![];
    }
    // Rows of 16 bits take up to 13 % longer by words than by double words, and up to three times as long by
    // elements (H200: norms and softmax of 252 to 33332 columns).
    [Width::Words, Width::DoubleWords].into_iter().find(|&width| loads(f).any(is_smaller(width))).into_iter().collect()
}

/// Whether a variant asks for multiples of sizes or strides, and not of addresses alone: its rows start where these
/// say.
fn asks_of_rows(f: &Func, lowered: &Lowered) -> bool {
    let of_size = |g: &Guard| g.of.as_word().is_some_and(|word| !f.is_address(word));
    lowered.guards.iter().any(|g| matches!(g.test, Test::Multiple(_)) && of_size(g))
}

/// The loads of tiles from global memory.
fn loads(f: &Func) -> impl Iterator<Item = Value> {
    let is_load = |s: &Stmt| match &s.kind {
        StmtKind::Let(v) => {
            let Op::Load { ptr, .. } = f.op(*v) else { return None };
            (!f.ty(*v).is_scalar() && !matches!(ptr.base, Base::Shared(_))).then_some(*v)
        }
        _ => None,
    };
    walk(&f.body).filter_map(is_load)
}

/// The loads that the operands of a product are, or are computed from.
fn operands_of(f: &Func, d: Value) -> impl Iterator<Item = Value> {
    let Op::Dot { a, b, .. } = *f.op(d) else { unreachable!("a dot") };
    [a, b].into_iter().flat_map(|v| loaded(f, v))
}
