//! Barriers: where threads must wait for each other, and nowhere else.

use tilewright_compiler::codegen::barriers::{cluster_barrier, insert, steps};
use tilewright_compiler::driver::lower;
use tilewright_compiler::ir::{Array, StmtId, Value};
use tilewright_compiler::plan::barriers::{Scope, Scopes, place};
use tilewright_compiler::thread_ir::{
    Access, AccessKind, Call, Device, Elements, Expr, Generic, Name, Scratch, Stmt, ThreadIr,
};
use tilewright_compiler::{MmaPath, Variant, Width};

/// An exchange that stores its buffer's offset in a value, and loads it into another.
fn scratch(name: u32, bytes: usize) -> ThreadIr {
    let offset = || Expr::Scratch(Scratch::Unplaced);
    let store = vec![Stmt::assign(Value(name), offset())];
    ThreadIr::Scratch { bytes, steps: vec![store, vec![Stmt::bind(Value(name), offset())]], at: StmtId(0), site: 0 }
}

/// An access to a parameter, by threads that have these elements.
fn access(param: usize, kind: AccessKind, element: u64) -> ThreadIr {
    masked(param, kind, element, None)
}

fn masked(param: usize, kind: AccessKind, element: u64, mask: Option<u32>) -> ThreadIr {
    let of = match kind {
        AccessKind::Read => Name::Arg(param),
        AccessKind::Write => Name::Map(param),
        AccessKind::Update => Name::Table(param),
        AccessKind::Clear => Name::Matrix(param),
    };
    let (stmts, array) = (vec![Stmt::Expr(Expr::from(of).element(element as usize))], Array::Param(param));
    let elements = Some(Elements { index: 0, threads: element, mask });
    ThreadIr::Access { stmts, access: Access { array, memory: array, kind, elements, at: StmtId(0), site: 0 } }
}

fn read(param: usize, element: u64) -> ThreadIr {
    access(param, AccessKind::Read, element)
}

fn write(param: usize, element: u64) -> ThreadIr {
    access(param, AccessKind::Write, element)
}

fn update(param: usize, element: u64) -> ThreadIr {
    access(param, AccessKind::Update, element)
}

fn clear(param: usize) -> ThreadIr {
    access(param, AccessKind::Clear, u64::MAX)
}

fn when(then: Vec<ThreadIr>) -> ThreadIr {
    ThreadIr::If { cond: true.into(), then, other: vec![] }
}

/// The scheduled program in one line; `|` is a barrier.
fn text(nodes: &[ThreadIr]) -> String {
    let each = nodes.iter().map(|n| match n {
        ThreadIr::Line(stmts) | ThreadIr::Access { stmts, .. } => stmts.iter().map(statement).collect(),
        ThreadIr::Barrier { .. } => "|".into(),
        ThreadIr::If { then, other, .. } if other.is_empty() => format!("if {{ {} }}", text(then)),
        ThreadIr::If { then, other, .. } => format!("if {{ {} }} else {{ {} }}", text(then), text(other)),
        ThreadIr::Loop { body } => format!("loop {{ {} }}", text(body)),
        n => format!("{n:?}").to_lowercase(),
    });
    each.collect::<Vec<_>>().join("; ")
}

fn statement(s: &Stmt) -> String {
    let letter = |v: &Value| (b'a' + v.0 as u8) as char;
    match s {
        Stmt::Assign(Name::Value(v), offset) => format!("{} store {offset}", letter(v)),
        Stmt::Let { name: Name::Value(v), value: Some(offset), .. } => format!("{} load {offset}", letter(v)),
        Stmt::Expr(Expr::Index(of, element)) => match **of {
            Expr::Name(Name::Arg(param)) => format!("read {param}[{element}]"),
            Expr::Name(Name::Map(param)) => format!("write {param}[{element}]"),
            Expr::Name(Name::Table(param)) => format!("update {param}[{element}]"),
            Expr::Name(Name::Matrix(param)) => format!("clear {param}"),
            _ => format!("{s}"),
        },
        s => format!("{s}"),
    }
}

/// The program with the barriers that are planned for it, and the end of its scratch buffers. In a cluster the threads
/// of all thread blocks access the same arrays.
fn schedule(nodes: Vec<ThreadIr>, before: usize, cluster: bool) -> (Vec<ThreadIr>, usize) {
    let access = if cluster { Scope::Cluster } else { Scope::Block };
    let barriers = place(&steps(&nodes), before, Scopes { exchange: Scope::Block, access, warpgroups: None });
    (insert(nodes, &barriers), barriers.end)
}

fn scheduled(nodes: Vec<ThreadIr>) -> (String, usize) {
    let (nodes, bytes) = schedule(nodes, 0, false);
    (text(&nodes), bytes)
}

#[test]
fn exchanges_lie_behind_shared_arrays() {
    let (nodes, bytes) = schedule(vec![scratch(0, 20), scratch(1, 64)], 400, false);
    assert_eq!(text(&nodes), "a store 400; |; a load 400; b store 432; |; b load 432");
    assert_eq!(bytes, 496);
}

/// Threads of other blocks reach the same arrays, but not the same scratch buffers. A barrier of the cluster is one of
/// the block as well.
#[test]
fn a_cluster_waits_for_all_its_blocks_between_accesses() {
    let nodes = vec![read(0, 1), write(0, 2), scratch(0, 20), cluster_barrier(0), scratch(0, 20), read(0, 3)];
    let (nodes, _) = schedule(nodes, 0, true);
    let wanted = "read 0[1]; d::cluster_sync(0);; write 0[2]; a store 0; |; a load 0; d::cluster_sync(0);; a store 32; |; a load 32; read 0[3]";
    assert_eq!(text(&nodes), wanted);
}

#[test]
fn a_load_of_other_lanes_waits_for_a_store_under_a_mask() {
    let (load, store) = (|mask| masked(0, AccessKind::Read, 1, mask), |mask| masked(0, AccessKind::Write, 1, mask));
    let barriers = |first: ThreadIr, second: ThreadIr| {
        let (nodes, _) = schedule(vec![first, second], 0, false);
        nodes.iter().filter(|n| matches!(n, ThreadIr::Barrier { .. })).count()
    };
    assert_eq!(barriers(load(Some(1)), store(Some(1))), 0);
    assert_eq!(barriers(store(None), load(Some(1))), 0);
    assert_eq!(barriers(store(Some(1)), load(None)), 1);
    assert_eq!(barriers(load(None), store(Some(1))), 1);
    assert_eq!(barriers(load(Some(2)), store(Some(1))), 1);
}

/// A store by way of shared memory, and a load into a shared array: only an access to the array itself counts.
#[test]
fn an_access_does_what_its_call_does_to_the_array() {
    let call = |function: Device, generics: Vec<Generic>| {
        Expr::Call(Call { function: function.into(), generics, args: vec![] })
    };
    let both = |first: Device, second: Device| {
        vec![Stmt::bind(Value(0), call(first, vec![])), Stmt::Expr(call(second, vec![]))]
    };
    let kind = |stmts: Vec<Stmt>, array: Array| match ThreadIr::access(stmts, [array; 2], None, 0) {
        ThreadIr::Access { access, .. } => access.kind,
        n => panic!("{n:?}"),
    };
    let (global, shared) = (Array::Param(0), Array::Shared(0));
    assert_eq!(kind(both(Device::SharedLoad, Device::Store), global), AccessKind::Write);
    assert_eq!(kind(both(Device::SharedLoad, Device::Store), shared), AccessKind::Read);
    assert_eq!(kind(both(Device::Load, Device::SharedStore), shared), AccessKind::Write);
    assert_eq!(kind(both(Device::Load, Device::SharedAtomicAdd), shared), AccessKind::Update);
    assert_eq!(kind(both(Device::Load, Device::SharedAtomicAdd), global), AccessKind::Read);
}

/// The access, of a parameter that may be the same memory as parameter 0.
fn in_place(n: ThreadIr) -> ThreadIr {
    let ThreadIr::Access { stmts, access } = n else { panic!("no access: {n:?}") };
    ThreadIr::Access { stmts, access: Access { memory: Array::Param(0), ..access } }
}

#[test]
fn a_store_waits_for_loads_of_what_may_be_the_same_memory() {
    let (t, _) = scheduled(vec![read(0, 1), in_place(write(1, 1)), in_place(write(1, 2)), read(0, 3)]);
    assert_eq!(t, "read 0[1]; write 1[1]; |; write 1[2]; read 0[3]");
    let (t, _) = scheduled(vec![read(0, 1), write(1, 2)]);
    assert_eq!(t, "read 0[1]; write 1[2]", "they are different memory");
    let (t, _) = scheduled(vec![ThreadIr::Loop { body: vec![read(0, 1), in_place(write(1, 1))] }]);
    assert_eq!(t, "loop { read 0[1]; |; write 1[1] }", "an earlier iteration may have loaded the element");
}

#[test]
fn a_cleared_array_waits_and_is_waited_for() {
    let (t, _) = scheduled(vec![clear(0), write(0, 1), write(0, 2), read(0, 1)]);
    assert_eq!(t, "clear 0; |; write 0[1]; write 0[2]; |; read 0[1]");
    let (t, _) = scheduled(vec![ThreadIr::Loop { body: vec![clear(0), write(0, 1)] }]);
    assert_eq!(t, "loop { |; clear 0; |; write 0[1] }");
}

#[test]
fn exchanges_in_straight_code_have_bytes_of_their_own() {
    let (t, bytes) = scheduled(vec![scratch(0, 20), scratch(1, 64)]);
    assert_eq!(t, "a store 0; |; a load 0; b store 32; |; b load 32");
    assert_eq!(bytes, 96);
}

#[test]
fn large_exchanges_share_bytes_and_wait() {
    let (t, bytes) = scheduled(vec![scratch(0, 12 << 10), scratch(1, 8 << 10)]);
    assert_eq!(t, "a store 0; |; a load 0; |; b store 0; |; b load 0");
    assert_eq!(bytes, 12 << 10);
}

#[test]
fn a_loop_uses_its_bytes_again() {
    let (t, _) = scheduled(vec![ThreadIr::Loop { body: vec![scratch(0, 16)] }]);
    assert_eq!(t, "loop { |; a store 0; |; a load 0 }");
}

#[test]
fn two_exchanges_in_a_loop_wait_for_each_other() {
    let (t, _) = scheduled(vec![ThreadIr::Loop { body: vec![scratch(0, 16), scratch(1, 16)] }]);
    assert_eq!(t, "loop { a store 0; |; a load 0; b store 16; |; b load 16 }");
}

#[test]
fn a_conditional_exchange_in_a_loop_cannot_be_relied_on() {
    let (t, _) = scheduled(vec![ThreadIr::Loop { body: vec![scratch(0, 16), when(vec![scratch(1, 16)])] }]);
    assert_eq!(t, "loop { |; a store 0; |; a load 0; if { b store 16; |; b load 16 } }");
}

#[test]
fn a_loop_that_is_left_at_once_needs_nothing() {
    let (t, _) = scheduled(vec![ThreadIr::Loop { body: vec![scratch(0, 16), ThreadIr::Break] }]);
    assert_eq!(t, "loop { a store 0; |; a load 0; break }");
}

#[test]
fn updates_wait_for_all_but_updates() {
    let (t, _) =
        scheduled(vec![update(0, 0), update(0, 1), write(0, 1), update(0, 2), read(0, 3), update(0, 3), update(1, 0)]);
    assert_eq!(t, "update 0[0]; update 0[1]; |; write 0[1]; |; update 0[2]; |; read 0[3]; update 0[3]; update 1[0]");
}

#[test]
fn reads_after_writes_of_other_elements_wait() {
    assert_eq!(scheduled(vec![write(0, 1), read(0, 2)]).0, "write 0[1]; |; read 0[2]");
    assert_eq!(scheduled(vec![read(0, 1), write(0, 2)]).0, "read 0[1]; |; write 0[2]");
}

#[test]
fn what_one_thread_orders_by_itself_does_not_wait() {
    assert_eq!(scheduled(vec![read(0, 1), write(0, 1)]).0, "read 0[1]; write 0[1]");
    assert_eq!(scheduled(vec![read(0, 1), write(1, 2)]).0, "read 0[1]; write 1[2]");
    assert_eq!(scheduled(vec![write(0, 1), write(0, 2)]).0, "write 0[1]; write 0[2]");
}

#[test]
fn the_barrier_of_an_exchange_also_orders_accesses() {
    let (t, _) = scheduled(vec![write(0, 1), scratch(0, 16), read(0, 2)]);
    assert_eq!(t, "write 0[1]; a store 0; |; a load 0; read 0[2]");
}

#[test]
fn one_barrier_serves_all_that_came_before() {
    let (t, _) = scheduled(vec![write(0, 1), write(1, 1), read(0, 2), read(1, 2)]);
    assert_eq!(t, "write 0[1]; write 1[1]; |; read 0[2]; read 1[2]");
}

#[test]
fn the_next_round_of_a_loop_reaches_other_elements() {
    let (t, _) = scheduled(vec![ThreadIr::Loop { body: vec![read(0, 1), write(0, 1)] }]);
    assert_eq!(t, "loop { |; read 0[1]; write 0[1] }");
}

#[test]
fn ways_that_end_bring_nothing() {
    let (t, _) = scheduled(vec![when(vec![write(0, 1)]), read(0, 2)]);
    assert_eq!(t, "if { write 0[1] }; |; read 0[2]");
    let (t, _) = scheduled(vec![when(vec![write(0, 1), ThreadIr::Return]), read(0, 2)]);
    assert_eq!(t, "if { write 0[1]; return }; read 0[2]");
}

/// Barriers in the lowered code of a kernel over `x: &[f32]`, `y: &mut [f32]`.
fn barriers(body: &str) -> usize {
    let f = crate::common::kernel("f32", body);
    let counts = [Width::Vectors, Width::Elements].map(|width| {
        lower(&f, Variant { width, mma: MmaPath::MmaSync }, false, &mut ())
            .expect("for any kernel")
            .text()
            .matches("d::barrier(")
            .count()
    });
    assert_eq!(counts[0], counts[1], "both variants");
    counts[0]
}

#[test]
fn barriers_of_whole_kernels() {
    let cases = [
        ("elementwise", 0, "let i = arange(256); store(y, i, load(x, i) * 2.0);"),
        ("elementwise in place", 0, "let i = arange(256); store(y, i, load(y, i) * 2.0);"),
        ("reversed in place", 1, "let i = arange(256); store(y, 255 - i, load(y, i));"),
        (
            "two places, read first",
            1,
            "let i = arange(256); let (a, b) = (load(y, i), load(y, 511 - i)); store(y, 511 - i, a); store(y, i, b);",
        ),
        (
            "written, read elsewhere, written again",
            2,
            "let i = arange(256); store(y, i, load(x, i)); store(y, i + 512, load(y, 255 - i));",
        ),
        ("sum", 1, "store(y, 0, sum(load(x, arange(256))));"),
        ("sum of a sum", 2, "let v = load(x, arange(256)); store(y, arange(256), v / sum(v * sum(v)));"),
        (
            "sum in a loop",
            2,
            "let mut s = 0.0; for i in 0..n { s += sum(load(x, i * 256 + arange(256))); } store(y, 0, s);",
        ),
        (
            "read in a loop, written after it",
            1,
            "let mut s = zeros::<f32>([256]); for i in 0..n { s += load(y, i * 256 + arange(256)); } store(y, arange(256), s);",
        ),
        (
            "sum after a loop",
            1,
            "let mut s = zeros::<f32>([256]); for i in 0..n { s += load(x, i * 256 + arange(256)); } store(y, 0, sum(s));",
        ),
    ];
    for (name, expected, body) in cases {
        assert_eq!(barriers(body), expected, "{name}");
    }
}

#[test]
fn one_warp_reduces_without_shared_memory() {
    let f = crate::common::func(
        "#[tile_kernel(tune(warps = [1]), grid = [1])] pub fn k(x: &[f32], y: &mut [f32]) { store(y, 0, sum(load(x, arange(256)))); }",
    );
    let lowered =
        lower(&f, Variant { width: Width::Vectors, mma: MmaPath::MmaSync }, false, &mut ()).expect("for any kernel");
    assert_eq!((lowered.shared_bytes, lowered.text().matches("d::barrier(").count()), (0, 0));
    assert_eq!(lowered.text().matches("d::shuffle_xor(").count(), 5);
}

/// An exchange within each warp: a buffer of one step has no barrier, and orders nothing.
#[test]
fn a_scratch_buffer_of_one_step_is_no_barrier() {
    let of_warp = |name: u32| {
        let step = vec![Stmt::assign(Value(name), Expr::Scratch(Scratch::Unplaced))];
        ThreadIr::Scratch { bytes: 64, steps: vec![step], at: StmtId(0), site: 0 }
    };
    let barriers = |nodes: Vec<ThreadIr>| text(&schedule(nodes, 0, false).0).matches('|').count();
    // The exchange of the next iteration waits for the loads of this one.
    let looped = |body: Vec<ThreadIr>| vec![ThreadIr::Loop { body }];
    assert_eq!(barriers(looped(vec![scratch(0, 64)])), 2);
    assert_eq!(barriers(looped(vec![scratch(0, 64), of_warp(1)])), 2);
    assert_eq!(barriers(vec![write(0, 1), of_warp(1), read(0, 2)]), 1);
    assert_eq!(barriers(vec![of_warp(1)]), 0);
}
