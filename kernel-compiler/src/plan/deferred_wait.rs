//! The products of an iteration are waited for in the next one, so that the tensor cores begin the next product before
//! this one ends. The stages of their operands are released in the next iteration, too. This is for a warpgroup alone
//! on its multiprocessor: several warpgroups overlap each other's waits, and need the stage.

use super::product::InFlight;
use super::warp_specialized::{DeferredWait, Pipeline};
use crate::ir::walk::{uses, walk};
use crate::ir::{Func, Op, Stmt, StmtId, StmtKind, Value};
use std::collections::{HashMap, HashSet};

/// The loops whose iterations do nothing with the accumulators but multiply.
pub fn find(f: &Func, p: &Pipeline) -> HashMap<StmtId, DeferredWait> {
    if f.warps > 4 || f.blocks_per_sm > 1 {
        return HashMap::new();
    }
    let uses = uses(f);
    let loops = walk(&f.body).filter_map(|s| {
        if let StmtKind::For { body, options, .. } = &s.kind { Some((s, body, options)) } else { None }
    });
    loops
        .filter(|(.., options)| options.unroll <= 1)
        .filter_map(|(s, body, _)| Some((s.id, of_loop(f, p, &uses, body)?)))
        .collect()
}

fn of_loop(f: &Func, p: &Pipeline, uses: &[u32], body: &[Stmt]) -> Option<DeferredWait> {
    let straight = body.iter().all(|s| matches!(&s.kind, StmtKind::Let(_) | StmtKind::Assign(..)));
    let mut released = body.iter().filter_map(|s| p.release.get(&s.id).map(|c| (s, c)));
    let (Some((last, operand_groups)), None) = (released.next(), released.next()) else { return None };
    let StmtKind::Let(product) = &last.kind else { return None };
    let [operand_group] = operand_groups[..] else { return None };
    // With one stage the producer would wait for the release of the operands that it is to replace: a deadlock.
    let stages = p.circular_buffer_of(operand_group).stages;
    let buffers = if stages == 0 { f.stages } else { stages };
    let c = &p.operand_groups[operand_group];
    if !straight
        || buffers == 1 && !planted!("deferred-wait-with-one-buffer")
        || c.by_threads
        || !c.fetched.is_empty()
        || !p.dots.contains_key(product)
    {
        return None;
    }
    let dots: Vec<Value> = body
        .iter()
        .filter_map(|s| if let StmtKind::Let(v) = &s.kind { p.dots.contains_key(v).then_some(*v) } else { None })
        .collect();
    // Operands that an iteration computes must not be in use when the next iteration computes its own.
    if dots.iter().any(|d| p.dots[d].is_computed()) {
        return None;
    }
    let chain = dots.windows(2).all(|w| accumulator(f, w[1]) == w[0] && p.chained.contains(&w[0]))
        && dots.last() == Some(product);
    let of = in_flight(f, uses, body, &dots)?;
    chain.then_some(DeferredWait { of, operand_group })
}

fn accumulator(f: &Func, dot: Value) -> Value {
    if let Op::Dot { acc, .. } = f.op(dot) { *acc } else { unreachable!("a dot") }
}

/// The last product of an iteration whose products form one chain, if the iteration uses their sums for nothing else.
pub fn in_flight(f: &Func, uses: &[u32], body: &[Stmt], dots: &[Value]) -> Option<InFlight> {
    let (first, product) = (accumulator(f, *dots.first()?), *dots.last()?);
    let Op::ReadVar(var) = *f.op(first) else { return None };
    // Nothing else in an iteration uses the accumulators of a product in flight.
    let mut flying: HashSet<Value> = dots.iter().copied().collect();
    flying.insert(first);
    let alone = flying.iter().all(|v| uses[v.0 as usize] == 1);
    let kept = body.iter().all(|s| match &s.kind {
        StmtKind::Assign(to, v) => (*to == var) == (*v == product) && (*v == product || !flying.contains(v)),
        StmtKind::Let(v) => flying.contains(v) || !matches!(f.op(*v), Op::ReadVar(from) if *from == var),
        _ => false,
    });
    let assigned = body.iter().any(|s| matches!(&s.kind, StmtKind::Assign(to, _) if *to == var));
    (alone && kept && assigned).then_some(InFlight { product, var })
}
