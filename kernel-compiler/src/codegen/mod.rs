//! Code generation: tile IR and its [plan](crate::plan) become thread-level code, a small structured program. Then
//! [`barriers`] writes the barriers that are planned for its accesses and its exchanges between threads.
//!
//! A tile is an array of the registers of one thread. The plan says at which statements it is computed, in which
//! layouts, and how ([`tiles`](crate::plan::tiles)).

pub mod barriers;
mod cluster;
mod comparison;
mod context;
mod conversions;
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
use crate::ir::{Func, StmtId, print};
use crate::plan::Plan;
use crate::plan::barriers::{Barriers, Step};
use crate::plan::shared_memory::SharedMemory;
use crate::plan::tiles::CarriedOut;
use crate::plan::warp_specialized::PRODUCERS;
use crate::planted;
use crate::thread_ir::{Const, Lowered, Name, Stmt, ThreadIr, Ty};
use std::collections::{BTreeMap, HashMap};

/// A program whose shared memory has no places yet.
pub(crate) enum Program {
    Whole(Code),
    WarpSpecialized { producer: Code, consumer: Code },
}

/// The code of a role.
pub(crate) struct Code {
    /// The tables of constants, by line of the text.
    consts: Vec<Vec<Const>>,
    /// The statements before the body.
    prologue: Vec<Stmt>,
    body: Vec<ThreadIr>,
}

/// The code of a function with its plan. With `sites`, steps have the kernel's source line for the emulator.
pub(crate) fn generate(f: &Func, plan: &Plan, sites: bool) -> Program {
    let code = |role: Role| {
        let mut cx = Codegen {
            f,
            plan,
            role,
            sites,
            blocks: vec![vec![]],
            at: StmtId(0),
            memo: vec![HashMap::new()],
            carried_out: CarriedOut::default(),
            results: HashMap::new(),
            bases: vec![HashMap::new()],
            thread_layouts: vec![],
            tables: vec![],
            temporaries: 0,
            pending: vec![],
            advanced: BTreeMap::new(),
        };
        cx.begin_cluster();
        cx.body();
        let body = cx.blocks.pop().expect("the body");
        if planted::is_compared()
            && let Err(e) = plan.tiles.verify(&cx.carried_out, matches!(role, Role::Producer(_)))
        {
            panic!("code generation: {e}\n{plan}{}", print::print(f));
        }
        assert!(cx.pending.is_empty(), "results of atomics that no statement takes");
        let vars = cx.declare_vars();
        let layouts = cx
            .thread_layouts
            .iter()
            .enumerate()
            .map(|(i, l)| Stmt::define(Name::ThreadPart(i), Ty::U32, thread_part(&l.thread_bases())))
            .collect();
        Code { consts: cx.consts(), prologue: [layouts, vars].concat(), body }
    };
    match &plan.pipeline {
        None => Program::Whole(code(Role::Whole)),
        Some(p) => Program::WarpSpecialized { producer: code(Role::Producer(p)), consumer: code(Role::Consumer(p)) },
    }
}

impl Program {
    /// The code of each role, the consumers last.
    fn roles(&mut self) -> Vec<&mut Code> {
        match self {
            Program::Whole(code) => vec![code],
            Program::WarpSpecialized { producer, consumer } => vec![producer, consumer],
        }
    }

    /// The steps of each role that barriers order.
    pub(crate) fn steps(&mut self) -> Vec<Vec<Step>> {
        self.roles().into_iter().map(|code| barriers::steps(&code.body)).collect()
    }

    /// Writes the barriers of each role, and puts its scratch buffers in their places.
    pub(crate) fn insert(&mut self, barriers: &[Barriers]) {
        for (code, barriers) in self.roles().into_iter().zip(barriers) {
            code.body = barriers::insert(std::mem::take(&mut code.body), barriers);
        }
    }
}

/// The program with its shared memory.
pub(crate) fn assemble(f: &Func, plan: &Plan, program: Program, memory: &SharedMemory) -> Lowered {
    let of_buffer = |(i, at): (usize, &_)| buffer_consts(i, at);
    let buffers = memory.circular_buffers.iter().enumerate().map(of_buffer).collect();
    let threads = f.warps * 32;
    let (threads, consts, prologue, body) = match (program, &plan.pipeline) {
        (Program::WarpSpecialized { producer, consumer }, Some(p)) => {
            let nodes = |code: Code| code.prologue.into_iter().map(ThreadIr::from).chain(code.body).collect();
            let tables = consumer.consts;
            let consumer = Code { consts: vec![], ..consumer };
            let body = warp_specialize::specialize(f, plan, p, nodes(producer), nodes(consumer));
            (threads + PRODUCERS, [warp_specialize::consts(memory, buffers), tables].concat(), vec![], body)
        }
        (Program::Whole(code), _) => (threads, [buffers, code.consts].concat(), code.prologue, code.body),
        (Program::WarpSpecialized { .. }, None) => unreachable!("a role has a pipeline"),
    };
    let computed = plan.pipeline.iter().flat_map(|p| &p.written);
    Lowered {
        consts,
        prologue,
        body,
        shared_bytes: memory.bytes,
        scratch_bytes: memory.scratch_bytes,
        array_bytes: memory.array_bytes,
        matrices: computed.map(|w| w.tile.bytes()).collect(),
        threads,
        guards: plan.guards.clone(),
        maps: plan.maps.clone(),
        vectors: plan.accesses.has_vectors(),
        staging: plan.staged_stores.staging(),
        passes: if plan.pipeline.is_none() || plan.fused.is_empty() { vec![] } else { vec!["fused epilogue"] },
    }
}
