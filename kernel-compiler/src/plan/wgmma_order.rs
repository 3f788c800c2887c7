//! The order of products by `wgmma`: what each adds to, where a chain on the same accumulators begins and ends, where
//! the sums are waited for, and how the stages of operands are released.

use crate::ir::{Func, Op, Value};
use crate::plan::cp_async_pipeline::CpAsyncPipeline;
use crate::plan::product::{Operand, Product};
use crate::plan::warp_specialized::Pipeline;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// The accumulator of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulators {
    /// Zeros that are in no registers.
    Unset,
    /// A variable that starts as zeros in no registers: a flag says whether it has sums yet.
    Fresh,
    /// Sums in registers.
    Registers,
}

/// Where the sums of a product are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProductWait {
    /// With its instructions.
    AtOnce,
    /// Behind its instructions, once the threads have loaded A: the tensor cores compute meanwhile.
    BehindLoads,
    /// With the product that adds to its sums.
    InChain,
    /// Behind a later statement ([`WgmmaWaits`](super::warp_specialized::WgmmaWaits)).
    Later,
    /// In the next iteration of its loop.
    NextIteration,
}

/// The order of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductOrder {
    pub accumulators: Accumulators,
    /// Whether a fence for registers comes before it: it begins a chain, or has A in registers.
    pub fence: bool,
    /// Whether its instructions are committed: it ends a chain.
    pub commit: bool,
    pub wait: ProductWait,
}

/// The steps of a warpgroup's threads before one of them releases a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeforeRelease {
    /// A fence for the asynchronous proxy, and a barrier: they have loaded elements of the stage, which a later copy
    /// may overwrite.
    FenceAndBarrier,
    /// A barrier. Without it a stage could be released and filled again while some threads still wait for it. They
    /// would miss a phase.
    Barrier,
    /// Nothing: a product or a barrier has synchronized them.
    Nothing,
}

/// The release of a stage of an operand group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageRelease {
    pub before: BeforeRelease,
    /// Whether the stage of the previous iteration is released, and this one in the next iteration.
    pub deferred: bool,
}

/// The order of all products, and the releases by operand group.
#[derive(Debug, Default)]
pub struct WgmmaOrder {
    pub products: BTreeMap<Value, ProductOrder>,
    pub releases: Vec<StageRelease>,
}

/// The order of the products of a warp-specialized program, or of any other program.
pub fn plan(f: &Func, pipeline: Option<&Pipeline>, cp_async: &CpAsyncPipeline) -> WgmmaOrder {
    let Some(p) = pipeline else {
        let next = |d: Value| cp_async.buffers.values().any(|b| b.deferred_wait.is_some_and(|of| of.product == d));
        let order = |d: Value| match next(d) {
            true => ProductWait::NextIteration,
            false => ProductWait::AtOnce,
        };
        return WgmmaOrder { products: products(f, &cp_async.products, &Pipeline::default(), order), releases: vec![] };
    };
    let wait = |d: Value| match d {
        _ if p.deferred_waits.values().any(|l| l.of.product == d) => ProductWait::NextIteration,
        _ if p.chained.contains(&d) => ProductWait::InChain,
        _ if p.wgmma_waits.deferred.contains(&d) => ProductWait::Later,
        _ => ProductWait::AtOnce,
    };
    let products = products(f, &p.dots, p, wait);
    let releases = p.operand_groups.iter().enumerate().map(|(i, group)| {
        let in_flight = |d: &Value| products[d].wait != ProductWait::BehindLoads;
        let before = match () {
            _ if group.by_threads || group.fetched.iter().any(in_flight) => BeforeRelease::FenceAndBarrier,
            _ if !group.meets => BeforeRelease::Barrier,
            _ => BeforeRelease::Nothing,
        };
        StageRelease { before, deferred: p.deferred_waits.values().any(|l| l.operand_group == i) }
    });
    WgmmaOrder { releases: releases.collect(), products }
}

fn products(
    f: &Func,
    all: &HashMap<Value, Product>,
    p: &Pipeline,
    wait: impl Fn(Value) -> ProductWait,
) -> BTreeMap<Value, ProductOrder> {
    let of = |(&d, product): (&Value, &Product)| {
        let Op::Dot { a, acc, .. } = *f.op(d) else { unreachable!("a dot") };
        let accumulators = match f.op(acc) {
            _ if f.is_zeros(acc) => Accumulators::Unset,
            Op::ReadVar(var) if p.fresh.contains(var) => Accumulators::Fresh,
            _ => Accumulators::Registers,
        };
        let in_registers = product.a.through_registers(f.ty(a).dtype);
        let wait = match wait(d) {
            ProductWait::AtOnce if in_registers && !matches!(product.a, Operand::Registers) => ProductWait::BehindLoads,
            wait => wait,
        };
        let fence = !p.chained.contains(&acc) || in_registers;
        (d, ProductOrder { accumulators, fence, commit: !p.chained.contains(&d), wait })
    };
    all.iter().map(of).collect()
}

impl fmt::Display for ProductOrder {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self.accumulators {
            Accumulators::Unset => "overwrites its accumulators",
            Accumulators::Fresh => "overwrites its accumulators while they are zeros",
            Accumulators::Registers => "adds to its accumulators",
        })?;
        f.write_str(if self.fence { ", behind a fence" } else { "" })?;
        f.write_str(if self.commit { ", committed" } else { "" })?;
        f.write_str(match self.wait {
            ProductWait::AtOnce => ", waited for at once",
            ProductWait::BehindLoads => ", waited for behind the loads of A",
            ProductWait::InChain => ", goes on in the next product",
            ProductWait::Later => ", waited for later",
            ProductWait::NextIteration => ", waited for in the next iteration",
        })
    }
}

impl fmt::Display for StageRelease {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(if self.deferred { "one iteration later" } else { "at its last use" })?;
        f.write_str(match self.before {
            BeforeRelease::FenceAndBarrier => ", behind a proxy fence and a barrier of the warpgroup",
            BeforeRelease::Barrier => ", behind a barrier of the warpgroup",
            BeforeRelease::Nothing => "",
        })
    }
}

impl fmt::Display for WgmmaOrder {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.products.iter().try_for_each(|(d, order)| writeln!(f, "product {d:?}: {order}"))?;
        let releases = self.releases.iter().enumerate();
        releases.into_iter().try_for_each(|(i, r)| writeln!(f, "a stage of operand group {i} is released {r}"))
    }
}
