//! Code generation: tile IR and its [plan](crate::plan) become thread-level code, a small structured program. Then
//! [`barriers`] allocates shared memory for its exchanges between threads, and places barriers.
//!
//! A tile is an array of the registers of one thread. Values that have a layout are computed where the kernel defines
//! them. Cheap values are computed at their uses, in the layout of each use.

mod affine;
pub mod barriers;
mod cluster;
mod comparison;
mod context;
mod cp_async;
mod cumcount;
mod deferred_wait;
mod dot;
mod elementwise;
mod epilogue;
mod gmem;
mod histogram;
mod indices;
mod one_warp;
mod parts;
mod pdl;
pub(crate) mod pieces;
mod predicates;
mod reduce;
mod results;
mod role;
mod scan;
mod shared;
mod sort;
mod staged_store;
mod statements;
mod unroll;
mod warp_specialize;
mod wgmma_waits;

use crate::codegen::context::Codegen;
use crate::codegen::pieces::thread_part;
use crate::codegen::role::Role;
use crate::codegen::warp_specialize::buffer_consts;
use crate::ir::walk::uses;
use crate::ir::{Func, SharedArray};
use crate::missed::Missed;
use crate::plan::epilogue::stored_positions;
use crate::plan::warp_specialized::PRODUCERS;
use crate::plan::{Plan, shared_memory};
use crate::thread_ir::{Lowered, Name, Node, Stmt, Ty};
use std::collections::{BTreeSet, HashMap};
use tilewright_types::limits::MAX_SHARED_BYTES_SM90;

/// The code of a function with its plan. With `sites`, steps have the kernel's source line for the emulator.
pub(crate) fn generate(f: &Func, plan: &Plan, sites: bool) -> Result<Lowered, Missed> {
    let lower = |role: Role| {
        let mut cx = Codegen {
            f,
            plan,
            in_one_warp: false,
            role,
            sites,
            blocks: vec![vec![]],
            memo: vec![HashMap::new()],
            results: HashMap::new(),
            affine_memo: vec![HashMap::new()],
            comparisons: HashMap::new(),
            thread_layouts: vec![],
            positions: stored_positions(f, &plan.fused),
            tables: vec![],
            temporaries: 0,
            uses: uses(f),
            pending: vec![],
            deferred_wait: None,
            advanced: BTreeSet::new(),
        };
        cx.begin_cluster();
        cx.body();
        let body = cx.blocks.pop().expect("the body");
        let vars = cx.declare_vars();
        let layouts = cx
            .thread_layouts
            .iter()
            .enumerate()
            .map(|(i, l)| Stmt::define(Name::ThreadPart(i), Ty::U32, thread_part(&l.thread_bases())))
            .collect();
        let array_bytes = SharedArray::places(&f.shared).1;
        let (body, scratch_bytes) = barriers::schedule(body, array_bytes, f.ctas > 1 && plan.pipeline.is_none());
        let (buffers, shared_bytes) = plan.cp_async.places(f, scratch_bytes);
        let buffers = buffers.into_iter().map(|r| buffer_consts(r.buffer, r.start, r.bytes, r.stages)).collect();
        Lowered {
            consts: [buffers, cx.consts()].concat(),
            prologue: [layouts, vars].concat(),
            body,
            shared_bytes,
            scratch_bytes,
            array_bytes,
            matrices: vec![],
            threads: f.warps * 32,
            guards: plan.guards.clone(),
            maps: plan.maps.clone(),
            vectors: plan.accesses.has_vectors(),
            staging: plan.staged_stores.staging(),
            passes: if cx.fused().is_empty() { vec![] } else { vec!["fused epilogue"] },
        }
    };
    let Some(p) = &plan.pipeline else {
        let whole = lower(Role::Whole);
        // Code for warps alone needs less.
        if plan.cp_async.by_wgmma() && whole.shared_bytes > MAX_SHARED_BYTES_SM90 {
            return Err(Missed::new(
                "multiplied by wgmma",
                "its stages and scratch buffers take more shared memory than there is",
            ));
        }
        return Ok(whole);
    };
    let lines = |l: &mut Lowered| {
        std::mem::take(&mut l.prologue)
            .into_iter()
            .map(Node::from)
            .chain(std::mem::take(&mut l.body))
            .collect::<Vec<_>>()
    };
    let (mut producer, mut out) = (lower(Role::Producer(p)), lower(Role::Consumer(p)));
    let (produce, consume) = (lines(&mut producer), lines(&mut out));
    let memory = shared_memory::places(f, p, out.shared_bytes, out.staging)?;
    let (consts, body) = warp_specialize::specialize(f, p, produce, consume, &out.maps, &memory);
    Ok(Lowered {
        consts: [consts, out.consts].concat(),
        body,
        shared_bytes: memory.bytes,
        matrices: p.written.iter().map(|w| w.tile.bytes()).collect(),
        threads: f.warps * 32 + PRODUCERS,
        ..out
    })
}
