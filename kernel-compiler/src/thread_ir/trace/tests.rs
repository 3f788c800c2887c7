use crate::diag::Diagnostics;
use crate::driver::lower_traced;
use crate::front::library::Libraries;
use crate::front::module;
use crate::thread_ir::expr::{Expr, Stmt};
use crate::thread_ir::function::{Device, Function};
use crate::thread_ir::node::{Lowered, ThreadIr};
use crate::thread_ir::trace::of_event;
use crate::thread_ir::verify;
use crate::variant::{MmaPath, Transposed, Variant, Width};
use tilewright_types::{TraceLayout, TracePhase};

/// Loops that end in the middle, iterations that end early, and a program that ends in a loop, polling too.
const JUMPS: &str = "#[tile_kernel(tune(warps = [4]), grid = [1])]
    pub fn jumps(a: View<f16, 2>, b: View<f16, 2>, flags: &mut [u32], mut y: ViewMut<f32, 2>, n: usize) {
        for j in 0..n {
            let mut s = zeros::<f32>([64, 64]);
            for i in range(0, a.dim(1), 64) {
                s = dot(a.tile([j, i], [64, 64]), b.tile([i, 0], [64, 64]), s);
            }
            if j == 3 { continue; }
            loop {
                if atomic_load(flags, j) == 1 { break; }
                if j == 4 { return; }
            }
            y.store([j, 0], s);
            if j == 5 { break; }
            if j == 7 { return; }
        }
    }";

fn traced(variant: Variant) -> Lowered {
    let d = Diagnostics::default();
    // A producer cannot poll: whether it copies must not depend on what other programs do.
    let text = if variant.mma == MmaPath::MmaSync { JUMPS.into() } else { JUMPS.replace("if j == 4 { return; }", "") };
    let kernel = module::file(&*text, &Libraries::default()).remove(0).parse(&d).expect("it parses").remove(0);
    let i = kernel.instances().remove(0);
    let f = crate::driver::instance(&kernel, &i.choice, i.config, &d).expect("it infers");
    let layout = TraceLayout { blocks: 4, warps: 0, capacity: 256, listed: 16 };
    lower_traced(&f, variant, layout).expect("the variant").0
}

/// Whether a statement begins or ends an event, or ends the warp.
fn is_end_or_begin(s: &Stmt) -> bool {
    let (Stmt::Assign(_, Expr::Call(c)) | Stmt::Expr(Expr::Call(c))) = s else { return false };
    let ends_warp = c.function == Function::Device(Device::TraceEnd);
    ends_warp || of_event(c).is_some_and(|(_, phase)| phase != TracePhase::Instant)
}

fn kept(stmts: &[Stmt], left_out: usize, n: &mut usize) -> Vec<Stmt> {
    let keep = |s: &&Stmt| {
        let counts = is_end_or_begin(s);
        *n += usize::from(counts);
        !counts || *n - 1 != left_out
    };
    stmts.iter().filter(keep).cloned().collect()
}

/// Nodes without the mark of a number, counted on in `n`.
fn without(nodes: &[ThreadIr], left_out: usize, n: &mut usize) -> Vec<ThreadIr> {
    let mut out = vec![];
    for node in nodes {
        out.push(match node {
            ThreadIr::Line(stmts) => ThreadIr::Line(kept(stmts, left_out, n)),
            ThreadIr::Access { stmts, access } => {
                ThreadIr::Access { stmts: kept(stmts, left_out, n), access: access.clone() }
            }
            ThreadIr::If { cond, then, other } => {
                let then = without(then, left_out, n);
                ThreadIr::If { cond: cond.clone(), then, other: without(other, left_out, n) }
            }
            ThreadIr::Loop { body } => ThreadIr::Loop { body: without(body, left_out, n) },
            ThreadIr::Block { body } => ThreadIr::Block { body: without(body, left_out, n) },
            other => other.clone(),
        });
    }
    out
}

/// A planted defect: a program without one of its marks is not valid.
#[test]
fn a_missing_mark_is_found() {
    let tma = MmaPath::WgmmaTma(Transposed::default());
    for mma in [tma, MmaPath::MmaSync] {
        let mut lowered = traced(Variant { width: Width::Vectors, mma });
        let (whole, mut count) = (lowered.body.clone(), 0);
        without(&whole, usize::MAX, &mut count);
        assert!(count > 30, "{count} marks");
        for left_out in 0..count {
            lowered.body = without(&whole, left_out, &mut 0);
            assert!(verify::verify(&lowered).is_err(), "nobody misses mark {left_out} of {count}:\n{}", lowered.text());
        }
        lowered.body = whole;
        assert_eq!(verify::verify(&lowered), Ok(()));
    }
}

/// Marks that end another event than the one that began last.
#[test]
fn events_that_do_not_nest_are_found() {
    let mut lowered = traced(Variant { width: Width::Vectors, mma: MmaPath::MmaSync });
    let of = |event: u32, phase: TracePhase| -> ThreadIr {
        let mark = super::call!(Device::Trace; [256u32]; crate::thread_ir::Name::Trace, phase.mark(event), 0);
        Stmt::assign(crate::thread_ir::Name::Trace, mark).into()
    };
    let nested = [(1, TracePhase::Begin), (2, TracePhase::Begin), (2, TracePhase::End), (1, TracePhase::End)];
    let whole = lowered.body.clone();
    let mut with = |marks: &[(u32, TracePhase)]| {
        lowered.body = marks.iter().map(|(event, phase)| of(*event, *phase)).chain(whole.clone()).collect();
        verify::verify(&lowered)
    };
    assert_eq!(with(&nested), Ok(()));
    let crossed = [nested[0], nested[1], nested[3], nested[2]];
    assert!(with(&crossed).expect_err("they cross").contains("event 1 ends where Some(2) has begun"));
}
