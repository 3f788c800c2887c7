//! Broken programs, one or more for each rule. A test fails where its rule is gone.

mod accesses;
mod mbarriers;

use super::{verify, verify_cpu};
use crate::dtype::DType;
use crate::ir::{StmtId, Value, Var};
use crate::thread_ir::{
    BinaryOp, BufferPart, Const, ConstValue, Device, Expr, Generic, Local, Lowered, Name, Scratch, Stmt, ThreadIr, Ty,
    call, closure,
};

const THREADS: u32 = 384;
const CONSUMERS: u32 = 256;

/// A program of three warpgroups with 128 bytes of scratch memory.
fn program(body: Vec<ThreadIr>) -> Lowered {
    Lowered { body, threads: THREADS, shared_bytes: 1024, scratch_bytes: 128, ..Lowered::default() }
}

#[track_caller]
fn accepts(l: &Lowered) {
    assert_eq!(verify(l), Ok(()));
}

#[track_caller]
fn refuses(l: &Lowered, part_of_message: &str) {
    let message = verify(l).expect_err("a broken program");
    assert!(message.contains(part_of_message), "{message}");
}

#[track_caller]
fn refuses_body(body: Vec<ThreadIr>, part_of_message: &str) {
    refuses(&program(body), part_of_message);
}

fn define(v: u32, value: impl Into<Expr>) -> ThreadIr {
    Stmt::define(Value(v), Ty::U32, value).into()
}

fn when(cond: Expr, then: Vec<ThreadIr>) -> ThreadIr {
    ThreadIr::If { cond, then, other: vec![] }
}

fn tid() -> Expr {
    Name::Tid.into()
}

fn barrier() -> ThreadIr {
    ThreadIr::Barrier { site: 0 }
}

fn named(id: impl Into<Expr>, threads: u32) -> ThreadIr {
    call!(Device::GroupBarrier; id.into(), threads, 0).into()
}

fn word(name: Name, value: usize) -> Vec<Const> {
    vec![Const { name, value: ConstValue::Word(value) }]
}

// --- names ---

#[test]
fn a_name_is_defined_before_its_use() {
    accepts(&program(vec![define(0, 1), define(1, Value(0))]));
    refuses_body(vec![define(1, Value(0)), define(0, 1)], "`v0` is used, but not defined before");
    refuses_body(vec![define(0, Name::Map(0))], "`map0` is used");
    refuses_body(vec![when(Value(0).into(), vec![])], "`v0` is used");
    let reads_its_own = call!(Device::Each; closure([Local::R], Expr::from(Local::K)));
    refuses_body(vec![reads_its_own.into()], "`k` is used");
    let in_generic = call!(Device::CpAsyncWait; [Generic::Expr(Name::CircularBuffer(BufferPart::Stages, 0).into())]; 0);
    refuses_body(vec![in_generic.into()], "`STAGES0` is used");
}

#[test]
fn names_of_cpu_functions_follow_the_same_rules() {
    let word = Expr::from(Name::Words).element(0);
    assert_eq!(verify_cpu(&[define(0, word)]), Ok(()));
    let message = verify_cpu(&[define(1, Value(0))]).expect_err("a broken function");
    assert!(message.contains("`v0` is used"), "{message}");
    // The grid is not known to threads by that name.
    refuses_body(vec![define(0, Name::Grid)], "is used, but not defined before");
}

#[test]
fn a_name_ends_with_its_block() {
    for block in [
        when(true.into(), vec![define(0, 1)]),
        ThreadIr::Block { body: vec![define(0, 1)] },
        ThreadIr::Loop { body: vec![define(0, 1), ThreadIr::Break] },
    ] {
        refuses_body(vec![block, define(1, Value(0))], "`v0` is used");
    }
    let parameter = call!(Device::Each; closure([Local::R], Expr::from(Local::R)));
    refuses_body(vec![parameter.into(), define(0, Local::R)], "`r` is used");
}

#[test]
fn a_name_is_defined_once_in_a_block() {
    accepts(&program(vec![ThreadIr::Block { body: vec![define(0, 2)] }, define(0, 1)]));
    refuses_body(vec![define(0, 1), define(0, 2)], "`v0` is defined twice in a block");
    refuses_body(vec![Stmt::define(Name::Tid, Ty::U32, 0).into()], "`tid` is defined, but stands for something");
    let consts = [word(Name::Staging, 512), word(Name::Staging, 512)].concat();
    refuses(&Lowered { consts: vec![consts], ..program(vec![]) }, "the constant `STAGING` is defined twice");
}

#[test]
fn values_are_not_hidden_by_an_inner_block() {
    refuses_body(vec![define(0, 1), when(true.into(), vec![define(0, 2)])], "`v0` is defined in a block and around it");
    refuses_body(vec![define(0, 1), ThreadIr::Block { body: vec![define(0, 2)] }], "in a block and around it");
    // Branches, and the roles of a program, have values of their own.
    let roles = ThreadIr::If { cond: true.into(), then: vec![define(0, 1)], other: vec![define(0, 2)] };
    accepts(&program(vec![roles]));
    // So does a block of copies for a later iteration.
    let ahead = Name::Ahead(Value(0));
    let copies = vec![define(0, ahead), define(1, 2)];
    let counter = ThreadIr::from(Stmt::variable(ahead, Some(Ty::U32), Some(0.into())));
    accepts(&program(vec![counter, define(0, 1), define(1, 1), ThreadIr::Block { body: copies }]));
    let temporary = || ThreadIr::from(Stmt::bind(Name::Temporary(0), 1));
    accepts(&program(vec![temporary(), when(true.into(), vec![temporary()])]));
}

#[test]
fn sums_keep_their_name_when_they_are_awaited() {
    let done = call!(Device::WgmmaDone; [Generic::Inferred, Generic::Inferred, 0u32, 8u32]; Value(0), 0);
    accepts(&program(vec![define(0, 1), Stmt::bind(Value(0), done.clone()).into()]));
    refuses_body(vec![define(0, 1), define(1, 1), Stmt::bind(Value(1), done).into()], "`v1` is defined twice");
}

#[test]
fn only_variables_are_assigned_to() {
    let var = Name::Var(Var(0));
    let assign = || ThreadIr::from(Stmt::assign(var, 1));
    accepts(&program(vec![Stmt::variable(var, Some(Ty::U32), None).into(), assign()]));
    refuses_body(vec![assign()], "`m0` is assigned to, but not defined");
    refuses_body(vec![Stmt::bind(var, 0).into(), assign()], "`m0` is assigned to, but is no variable");
    let update = Stmt::Update(BinaryOp::Add, var, 1.into());
    refuses_body(vec![Stmt::bind(var, 0).into(), update.into()], "is no variable");
}

#[test]
fn nothing_is_left_open() {
    refuses_body(vec![define(0, Expr::Register)], "for any register is used for none");
    refuses_body(vec![define(0, Expr::Scratch(Scratch::Unplaced))], "has no offset");
    let scratch = ThreadIr::Scratch { bytes: 8, steps: vec![], at: StmtId::NONE, site: 0 };
    refuses_body(vec![scratch], "a scratch buffer is left");
}

#[test]
fn jumps_stand_in_loops() {
    refuses_body(vec![ThreadIr::Break], "in no loop");
    refuses_body(vec![ThreadIr::Loop { body: vec![ThreadIr::Break] }, ThreadIr::Continue], "in no loop");
}

// --- barriers ---

#[test]
fn all_threads_come_to_a_barrier_of_all() {
    accepts(&program(vec![define(0, 1), when(Value(0).into(), vec![barrier()])]));
    for cond in [tid().equals(0), tid().less(32), tid().not_less(CONSUMERS), call!(Device::Opaque; tid().equals(0))] {
        refuses_body(vec![when(cond.clone(), vec![barrier()])], "a barrier counts all 384 threads");
        let in_else = ThreadIr::If { cond: cond.clone(), then: vec![], other: vec![barrier()] };
        refuses_body(vec![in_else], "a barrier counts all 384 threads");
        let call = Stmt::Expr(call!(Device::Barrier; 0));
        refuses_body(vec![Stmt::If { cond, then: vec![call] }.into()], "a barrier counts all 384 threads");
    }
}

#[test]
fn what_is_made_of_the_threads_number_parts_threads() {
    let of_thread = [
        Stmt::define(Value(0), Ty::U32, tid() & 1),
        Stmt::define(Name::Temporary(0), Ty::U32, tid() & 1),
        Stmt::define(Name::Temporary(0), Ty::U32, call!(Device::ShuffleXor; 0, 1, 0)),
    ];
    for s in of_thread {
        let Stmt::Let { name, .. } = s else { unreachable!("a definition") };
        let cond = Expr::from(name).equals(0);
        refuses_body(vec![s.into(), when(cond, vec![barrier()])], "a barrier counts all 384 threads");
    }
    // A scalar of the kernel is the same for all threads, whatever it was reduced from.
    let part = ThreadIr::from(Stmt::define(Name::Temporary(0), Ty::U32, tid()));
    let cond = Expr::from(Value(0)).equals(0);
    accepts(&program(vec![part, define(0, Name::Temporary(0)), when(cond, vec![barrier()])]));
}

#[test]
fn a_role_has_barriers_of_its_own_threads() {
    let roles = |producer: Vec<ThreadIr>, consumer: Vec<ThreadIr>| {
        vec![ThreadIr::If { cond: tid().not_less(CONSUMERS), then: producer, other: consumer }]
    };
    accepts(&program(roles(vec![named(1, THREADS - CONSUMERS)], vec![named(2, CONSUMERS)])));
    refuses_body(roles(vec![], vec![named(1, THREADS)]), "a barrier counts 384 threads");
    refuses_body(roles(vec![named(1, CONSUMERS)], vec![]), "a barrier counts 256 threads");
    refuses_body(roles(vec![], vec![barrier()]), "a barrier counts all 384 threads");
    let lane = when(tid().equals(0), vec![named(1, CONSUMERS)]);
    refuses_body(roles(vec![], vec![lane]), "a barrier counts 256 threads");
}

#[test]
fn whole_warpgroups_come_to_theirs() {
    let of_warpgroup = || named(Expr::from(2) + (Name::Tid >> 7).group(), 128);
    accepts(&program(vec![ThreadIr::If { cond: tid().not_less(256), then: vec![], other: vec![of_warpgroup()] }]));
    refuses_body(vec![when(tid().not_less(320), vec![of_warpgroup()])], "a barrier counts 128 threads");
    refuses_body(vec![when(tid().less(128), vec![of_warpgroup()])], "a barrier counts 128 threads");
    refuses_body(vec![named(Expr::from(2) + (Name::Tid >> 6).group(), 64)], "a barrier counts 64 threads");
}

#[test]
fn threads_of_a_cluster_meet_together_or_as_they_leave() {
    let sync = || ThreadIr::from(call!(Device::ClusterSync; 0));
    let in_role = |nodes: Vec<ThreadIr>| vec![when(tid().not_less(CONSUMERS), nodes)];
    accepts(&program(vec![sync()]));
    accepts(&program(in_role(vec![sync(), ThreadIr::Return])));
    refuses_body(in_role(vec![sync()]), "a barrier counts all threads of a cluster");
    refuses_body(vec![when(tid().less(7), vec![sync(), ThreadIr::Return])], "all threads of a cluster");
}

#[test]
fn a_barrier_is_a_statement() {
    let inner = call!(Device::Each; closure([Local::R], call!(Device::Barrier; 0)));
    refuses_body(vec![inner.into()], "a barrier is part of an expression");
}

#[test]
fn threads_leave_together() {
    let jump = |jump: ThreadIr| vec![ThreadIr::Loop { body: vec![when(tid().equals(0), vec![jump]), barrier()] }];
    refuses_body(jump(ThreadIr::Break), "leave it, or its iteration, alone");
    refuses_body(jump(ThreadIr::Continue), "leave it, or its iteration, alone");
    refuses_body(vec![when(tid().less(7), vec![ThreadIr::Return])], "some threads leave the program alone");
}

// --- shared memory ---

fn at(offset: usize, bytes: usize) -> Expr {
    closure([Local::Ignored], Expr::Scratch(Scratch::Placed { offset, bytes }))
}

fn store(offset: usize, bytes: usize) -> ThreadIr {
    call!(Device::SharedStore; [DType::U32, 1u32, 1u32]; at(offset, bytes), 0).into()
}

fn load(offset: usize, bytes: usize) -> ThreadIr {
    call!(Device::SharedLoad; [DType::U32, 1u32, 1u32]; at(offset, bytes), 0).into()
}

#[test]
fn exchanges_stay_within_their_bytes() {
    accepts(&program(vec![store(64, 64), barrier(), load(64, 64)]));
    refuses_body(vec![store(96, 64)], "is beyond the 128 of scratch memory");
}

#[test]
fn accesses_stay_within_their_buffer() {
    let table = Const { name: Name::Table(0), value: ConstValue::Table(Ty::U32, vec![0, 512]) };
    let at = |offset: Expr| {
        let at = Expr::Scratch(Scratch::Placed { offset: 0, bytes: 1024 }) + offset;
        let store = call!(Device::SharedStore; [DType::U16, 2u32, 1u32]; closure([Local::R], at), 0);
        Lowered { consts: vec![vec![table.clone()]], scratch_bytes: 1024, ..program(vec![store.into()]) }
    };
    let of_thread = |mask: u32| ((Name::Tid & mask).group() << 1).group();
    let by_register = || Expr::from(Name::Table(0)).element(Local::R);
    accepts(&at((of_thread(255) ^ by_register()).group()));
    // A bit that goes to two places.
    accepts(&at(((Name::Tid >> 7 & 1).group() * 768) ^ of_thread(127)));
    refuses(&at((Name::Tid >> 7 & 3).group() * 768), "reaches its byte");
    refuses(&at((of_thread(255) + by_register()).group() + 2), "reaches its byte 1025");
    refuses(&at((of_thread(511) ^ by_register()).group() + 512), "reaches its byte");
    refuses(&at(tid() * 4), "reaches its byte 1533");
    refuses(&at(Expr::from(Value(0))), "`v0` is used");
    refuses(&at(call!(Device::ClusterRank;)), "has no bound");
}

#[test]
fn an_exchange_is_awaited_before_it_is_loaded() {
    refuses_body(vec![store(0, 64), load(0, 64)], "loaded from before all threads have stored");
    refuses_body(vec![barrier(), load(0, 64)], "loaded from before all threads have stored");
    // On one of two ways here there was no store.
    let sometimes = vec![define(0, 1), when(Value(0).into(), vec![store(0, 64)]), barrier(), load(0, 64)];
    accepts(&program(vec![store(0, 64), barrier(), load(0, 64), barrier(), store(0, 64), barrier(), load(0, 64)]));
    let without = vec![define(0, 1), when(Value(0).into(), vec![store(0, 64), barrier()]), load(0, 64)];
    refuses_body(without, "loaded from before all threads have stored");
    accepts(&program(sometimes));
    // A warpgroup's barrier does not count the others.
    let of_warpgroup = named(Expr::from(2) + (Name::Tid >> 7).group(), 128);
    refuses_body(vec![store(0, 64), of_warpgroup, load(0, 64)], "loaded from before all threads have stored");
    accepts(&program(vec![store(0, 64), named(1, THREADS), load(0, 64)]));
}

#[test]
fn a_scratch_buffer_is_updated_between_barriers() {
    let update = |offset: usize, bytes: usize| {
        ThreadIr::from(call!(Device::SharedAtomicAdd; [DType::U32, 1u32]; at(offset, bytes), 0))
    };
    let zeroed = || vec![store(0, 64), barrier()];
    accepts(&program([zeroed(), vec![update(0, 64), barrier(), load(0, 64)]].concat()));
    refuses_body(vec![store(0, 64), update(0, 64)], "updated before all threads have stored");
    refuses_body([zeroed(), vec![update(0, 64), load(0, 64)]].concat(), "loaded from before all threads have stored");
    refuses_body([zeroed(), vec![load(0, 64), update(0, 64)]].concat(), "while other threads may still load");
    refuses_body([zeroed(), vec![update(96, 64)]].concat(), "is beyond the 128 of scratch memory");
}

#[test]
fn the_words_of_counts_lie_in_their_buffer() {
    let counts = |bits: u32, limit: u32, bytes: usize| {
        let buffer = Expr::Scratch(Scratch::Placed { offset: 0, bytes });
        let bin = closure([Local::R], tid() & limit);
        let all = closure([Local::R], Expr::from(true));
        let call = call!(Device::CumcountInWarp; [1u32, bits, 32u32]; buffer, bin, all, 0);
        Lowered { scratch_bytes: bytes, shared_bytes: 4096, ..program(vec![call.into()]) }
    };
    // Two words for each of 4 bins and 12 warps.
    accepts(&counts(2, 3, 384));
    refuses(&counts(2, 3, 380), "reaches its byte 383");
    refuses(&counts(2, 7, 384), "has no bound");
    let buffer = || Expr::Scratch(Scratch::Placed { offset: 0, bytes: 64 });
    let sums = |warps: u32| call!(Device::CumcountOfWarps; [warps, 2u32, THREADS]; buffer(), 0);
    accepts(&program(vec![store(0, 64), barrier(), sums(2).into(), barrier(), load(0, 64)]));
    refuses_body(vec![store(0, 64), barrier(), sums(3).into()], "reaches its byte 95");
    refuses_body(vec![store(0, 64), sums(2).into()], "updated before all threads have stored");
}

#[test]
fn an_exchange_is_loaded_before_its_bytes_are_used_again() {
    let first = || vec![store(0, 64), barrier(), load(0, 64)];
    accepts(&program([first(), vec![store(64, 64), barrier(), load(64, 64)]].concat()));
    refuses_body([first(), vec![store(32, 64)]].concat(), "while other threads may still load");
    refuses_body(vec![ThreadIr::Loop { body: first() }], "while other threads may still load");
    accepts(&program(vec![ThreadIr::Loop { body: [vec![barrier()], first()].concat() }]));
    accepts(&program(vec![ThreadIr::Loop { body: [first(), vec![ThreadIr::Break]].concat() }]));
    let round =
        [first(), vec![define(0, 1), when(Value(0).into(), vec![ThreadIr::Continue]), ThreadIr::Break]].concat();
    refuses_body(vec![ThreadIr::Loop { body: round }], "while other threads may still load");
}

#[test]
fn two_exchanges_do_not_overwrite_each_other() {
    refuses_body(vec![store(0, 64), store(32, 64)], "stored to by two scratch buffers at once");
    let overwritten = vec![store(0, 64), barrier(), store(32, 64), barrier(), load(0, 64)];
    refuses_body(overwritten, "loaded from before all threads have stored");
}

#[test]
fn buffers_are_stored_to_or_loaded_from() {
    refuses_body(
        vec![define(0, Expr::Scratch(Scratch::Placed { offset: 0, bytes: 4 }))],
        "neither stored to nor loaded",
    );
    let two =
        Expr::Scratch(Scratch::Placed { offset: 0, bytes: 4 }) + Expr::Scratch(Scratch::Placed { offset: 4, bytes: 4 });
    let both = call!(Device::SharedStore; [DType::U32, 1u32, 1u32]; closure([Local::R], two), 0);
    refuses_body(vec![both.into()], "two scratch buffers at once");
}

#[test]
fn what_constants_name_lies_apart_within_the_programs_bytes() {
    let circular_buffer = |i: usize, start: usize, bytes: usize| {
        let of = |of: BufferPart, n: usize| word(Name::CircularBuffer(of, i), n);
        [of(BufferPart::Start, start), of(BufferPart::Bytes, bytes), of(BufferPart::Stages, 2)].concat()
    };
    let with = |consts: Vec<Vec<Const>>| Lowered { consts, staging: 256, ..program(vec![]) };
    accepts(&with(vec![word(Name::Staging, 128), circular_buffer(0, 384, 64), circular_buffer(1, 512, 256)]));
    // One after another, loops use the same bytes.
    accepts(&with(vec![circular_buffer(0, 384, 64), circular_buffer(1, 384, 256)]));
    refuses(&with(vec![circular_buffer(0, 384, 64), circular_buffer(1, 448, 256)]), "`BUFFER1` and `BUFFER0` overlap");
    refuses(&with(vec![circular_buffer(0, 384, 512)]), "`BUFFER0` ends at 1408, beyond 1024 shared bytes");
    refuses(&with(vec![word(Name::Staging, 64)]), "`STAGING` and the scratch memory overlap");
    refuses(&with(vec![word(Name::Matrix(0), 300)]), "`MATRIX0` has no size");
    let with_matrix = |at: usize, bytes: usize| Lowered {
        matrices: vec![bytes],
        ..with(vec![word(Name::Staging, 128), word(Name::Matrix(0), at)])
    };
    accepts(&with_matrix(384, 640));
    refuses(&with_matrix(300, 8), "overlap in shared memory");
    refuses(&with_matrix(384, 641), "`MATRIX0` ends at 1025, beyond 1024 shared bytes");
    let full = [circular_buffer(0, 384, 64), word(Name::CircularBuffer(BufferPart::Full, 0), 500)].concat();
    refuses(&with(vec![full]), "overlap in shared memory");
    refuses(&Lowered { scratch_bytes: 2048, ..program(vec![]) }, "the scratch memory ends at 2048");
    refuses(&with(vec![word(Name::CircularBuffer(BufferPart::Full, 0), 500)]), "the constant `STAGES0` is not defined");
}

// --- matrices, staging buffers and stages of `cp.async` ---

/// A program with a matrix of 256 bytes, 128 bytes of staging and two stages of 64 bytes.
fn regions(body: Vec<ThreadIr>) -> Lowered {
    let of_buffer = [(BufferPart::Start, 512), (BufferPart::Bytes, 64), (BufferPart::Stages, 2)];
    let of_buffer = of_buffer.map(|(of, n)| word(Name::CircularBuffer(of, 0), n)).concat();
    let consts = vec![word(Name::Staging, 128), word(Name::Matrix(0), 256), of_buffer];
    let read = Stmt::variable(Name::CircularBuffer(BufferPart::Read, 0), Some(Ty::U32), Some(512.into()));
    Lowered { consts, staging: 128, matrices: vec![256], prologue: vec![read], ..program(body) }
}

fn store_at(at: Expr) -> ThreadIr {
    call!(Device::SharedStore; [DType::U32, 1u32, 1u32]; closure([Local::R], at), 0).into()
}

fn fence() -> ThreadIr {
    call!(Device::ProxyFence; 0).into()
}

#[test]
fn threads_stay_within_what_constants_name() {
    let of_thread = |mask: u32| (Name::Tid & mask).group() * 4;
    accepts(&regions(vec![store_at(Name::Matrix(0) + of_thread(63))]));
    refuses(&regions(vec![store_at(Name::Matrix(0) + of_thread(127))]), "`MATRIX0` ends at 512");
    accepts(&regions(vec![store_at(Name::Staging + of_thread(31))]));
    refuses(&regions(vec![store_at(Name::Staging + of_thread(31) + 4)]), "byte 259, and `STAGING` ends at 256");
    let matrices = |at: Expr| regions(vec![call!(Device::Stmatrix; at, 0, 0).into()]);
    accepts(&matrices(Name::Staging + 112));
    refuses(&matrices(Name::Staging + 116), "reaches byte 259, and `STAGING` ends at 256");
    let stage = || Name::CircularBuffer(BufferPart::Read, 0);
    accepts(&regions(vec![store_at(stage() + of_thread(15))]));
    refuses(&regions(vec![store_at(stage() + of_thread(31))]), "reaches byte 127, and `read0` ends at 64");
    // The producer's threads come behind those that store.
    let of_warpgroup = |groups: u32| Name::Staging + (Name::Tid >> 7).group() * 64 + groups;
    let roles =
        |at: Expr| vec![ThreadIr::If { cond: tid().not_less(CONSUMERS), then: vec![], other: vec![store_at(at)] }];
    accepts(&regions(roles(of_warpgroup(60))));
    refuses(&regions(roles(of_warpgroup(64))), "`STAGING` ends at 256");
}

#[test]
fn a_matrix_is_stored_fenced_awaited_and_multiplied() {
    let store = || store_at(Name::Matrix(0) + 0);
    let multiply =
        || ThreadIr::from(call!(Device::Wgmma; [DType::F16]; closure([Local::M, Local::K], Name::Matrix(0))));
    let once = || vec![barrier(), store(), fence(), barrier(), multiply()];
    accepts(&regions(once()));
    accepts(&regions(vec![ThreadIr::Loop { body: once() }]));
    let before = "matrix 0 is multiplied before all threads have stored it, with a proxy fence";
    refuses(&regions(vec![store(), barrier(), multiply()]), before);
    refuses(&regions(vec![store(), fence(), multiply()]), before);
    refuses(&regions(vec![store(), barrier(), fence(), multiply()]), before);
    refuses(&regions(vec![multiply()]), before);
    let again = "matrix 0 is stored to while other threads may still multiply it";
    refuses(&regions([once(), once()[1..].to_vec()].concat()), again);
    refuses(&regions(vec![ThreadIr::Loop { body: once()[1..].to_vec() }]), again);
    // A warpgroup's barrier does not count the others.
    let of_warpgroup = named(Expr::from(2) + (Name::Tid >> 7).group(), 128);
    refuses(&regions(vec![store(), fence(), of_warpgroup, multiply()]), before);
}

#[test]
fn scratch_buffers_come_behind_the_shared_arrays() {
    let with = |offset: usize| Lowered { array_bytes: 64, ..program(vec![store(offset, 32)]) };
    accepts(&with(64));
    refuses(&with(32), "overlaps the shared arrays");
}

#[test]
fn a_chunk_is_stored_fenced_awaited_and_copied() {
    let chunk = |n: u32| Name::Staging + (Name::Tid >> 7).group() * 32 + n;
    let of_warpgroup = || named(Expr::from(2) + (Name::Tid >> 7).group(), 128);
    let store = |n: u32| ThreadIr::from(call!(Device::Stmatrix; chunk(n), 0, 0));
    let copy = |n: u32| ThreadIr::from(call!(Device::TmaStore; [0u32, Generic::Inferred]; chunk(n), 0, 0, true, 0));
    let read = |later: u32| ThreadIr::from(call!(Device::TmaStoreWaitRead; [later]; 0));
    let put = |n: u32, later: u32| vec![read(later), of_warpgroup(), store(n), fence(), of_warpgroup(), copy(n)];
    let two = |later: u32| [put(0, later), put(16, later), put(0, later), put(16, later)].concat();
    // The last copy may be in flight while its neighbor is stored to.
    accepts(&regions(two(1)));
    accepts(&regions(vec![ThreadIr::Loop { body: two(0) }]));
    let overwritten = "the staging chunk at 0 is stored to while it may still be read";
    refuses(&regions(two(2)), overwritten);
    refuses(&regions(vec![ThreadIr::Loop { body: put(0, 1) }]), overwritten);
    // One thread waits: the others learn it at a barrier.
    refuses(&regions([put(0, 0), vec![read(0), store(0)]].concat()), overwritten);
    let before = "TMA copies the staging chunk at 0 before it is stored and fenced";
    refuses(&regions(vec![store(0), of_warpgroup(), copy(0)]), before);
    refuses(&regions(vec![store(0), fence(), copy(0)]), before);
    let load = || ThreadIr::from(call!(Device::SharedLoad; [DType::U32, 1u32, 1u32]; closure([Local::R], chunk(0)), 0));
    accepts(&regions(vec![store(0), of_warpgroup(), load(), of_warpgroup(), store(0)]));
    refuses(&regions(vec![store(0), load()]), "is loaded before all threads have stored to it");
    refuses(&regions(vec![store(0), of_warpgroup(), load(), store(0)]), overwritten);
}

#[test]
fn a_stage_is_awaited_before_it_is_read_and_read_before_it_is_filled() {
    let at = |part: BufferPart| Name::CircularBuffer(part, 0);
    let variable =
        |part: BufferPart| ThreadIr::from(Stmt::variable(at(part), Some(Ty::U32), Some(at(BufferPart::Start).into())));
    let place = |part: BufferPart| closure([Local::R], at(part) + 0);
    let fill =
        || ThreadIr::from(call!(Device::CopyAhead; [DType::U32, 1u32, 1u32, false]; place(BufferPart::Write), 0));
    let by_registers =
        || ThreadIr::from(call!(Device::SharedStore; [DType::U32, 1u32, 1u32]; place(BufferPart::Write), 0));
    let read = || ThreadIr::from(call!(Device::SharedLoad; [DType::U32, 1u32, 1u32]; place(BufferPart::Read), 0));
    let wait = || ThreadIr::from(call!(Device::CpAsyncWait; [0u32]; 0));
    let next = |part: BufferPart| {
        let end = at(BufferPart::Start) + at(BufferPart::Stages) * at(BufferPart::Bytes);
        let wrap = Stmt::If {
            cond: Expr::from(at(part)).equals(end),
            then: vec![Stmt::assign(at(part), at(BufferPart::Start))],
        };
        ThreadIr::Line(vec![Stmt::Update(BinaryOp::Add, at(part), at(BufferPart::Bytes).into()), wrap])
    };
    let program = |first: Vec<ThreadIr>, iteration: Vec<ThreadIr>| {
        let begin = vec![variable(BufferPart::Write), variable(BufferPart::Read)];
        let iteration = [iteration, vec![next(BufferPart::Read), next(BufferPart::Write)]].concat();
        let body = [begin, first, vec![ThreadIr::Loop { body: iteration }]].concat();
        Lowered { prologue: vec![], ..regions(body) }
    };
    accepts(&program(vec![fill()], vec![wait(), barrier(), fill(), read()]));
    accepts(&program(vec![by_registers()], vec![barrier(), read(), by_registers()]));
    let early = "a stage of buffer 0 is read before the copies of all threads have arrived";
    refuses(&program(vec![fill()], vec![barrier(), fill(), read()]), early);
    refuses(&program(vec![fill()], vec![barrier(), wait(), read()]), early);
    refuses(&program(vec![by_registers()], vec![read(), barrier(), by_registers()]), early);
    let overwritten = "a stage of buffer 0 is filled while other threads may still read it";
    refuses(&program(vec![fill()], vec![fill(), wait(), barrier(), read()]), overwritten);
    // A warpgroup's barrier does not count the others.
    let of_warpgroup = || named(Expr::from(2) + (Name::Tid >> 7).group(), 128);
    refuses(&program(vec![fill()], vec![wait(), of_warpgroup(), read()]), early);
}
