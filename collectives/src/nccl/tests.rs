//! Ranks of NCCL over the model of the driver: a library whose work is copies of the model, of one rank that is told to
//! be two. The model reports memory that is used in no order, before its allocation or after its release.

use super::*;
use crate::World;
use std::cell::{Cell, RefCell};
use tilewright_model_driver::{Kind as Report, Model};
use tilewright_runtime::{AsSliceMut, Driver, Event, Graph};

thread_local! {
    /// The calls of this thread, in their order.
    static CALLS: RefCell<Vec<&'static str>> = const { RefCell::new(vec![]) };
    /// The code of the next call.
    static CODE: Cell<c_int> = const { Cell::new(0) };
    static LATER: Cell<c_int> = const { Cell::new(0) };
    /// Captured calls of the communicators.
    static CAPTURED: Cell<usize> = const { Cell::new(0) };
    /// The model of this thread, which counts graphs.
    static MODEL: RefCell<Option<Model>> = const { RefCell::new(None) };
}

fn called(name: &'static str) -> c_int {
    CALLS.with_borrow_mut(|all| all.push(name));
    CODE.take()
}

fn calls() -> Vec<&'static str> {
    CALLS.take()
}

/// Counts a call on a stream that is captured.
fn count_captured(stream: *mut c_void) {
    type IsCapturing = unsafe extern "C" fn(usize, *mut c_int) -> u32;
    let symbol = Model::symbol("cuStreamIsCapturing").expect("the model has it");
    // SAFETY: the signature is that of `cuda.h`.
    let f = unsafe { core::mem::transmute::<*const c_void, IsCapturing>(symbol) };
    let mut status = 0;
    // SAFETY: a stream of the model; room for the answer.
    assert_eq!(unsafe { f(stream as usize, &mut status) }, 0);
    CAPTURED.set(CAPTURED.get() + usize::from(status != 0));
}

/// NCCL waits at the end of a communicator until no graph refers to it. The stub says so, and returns.
fn ended(name: &'static str, waits: &'static str) -> c_int {
    let graphs = MODEL.with_borrow(|model| model.as_ref().map_or(0, |model| model.counts().executables));
    called(if CAPTURED.get() > 0 && graphs > 0 { waits } else { name })
}

/// Copies on a stream of the model, as work of NCCL uses memory.
///
/// # Safety
/// As of the driver's function.
unsafe fn copy(from: *const c_void, to: *mut c_void, bytes: usize, stream: *mut c_void) {
    type Copy = unsafe extern "C" fn(u64, u64, usize, usize) -> u32;
    let symbol = Model::symbol("cuMemcpyDtoDAsync_v2").expect("the model has it");
    // SAFETY: the signature is that of `cuda.h`.
    let f = unsafe { core::mem::transmute::<*const c_void, Copy>(symbol) };
    // SAFETY: the caller's contract.
    assert_eq!(unsafe { f(to as u64, from as u64, bytes, stream as usize) }, 0);
}

unsafe extern "C" fn version(out: *mut c_int) -> c_int {
    // SAFETY: the caller gives room.
    unsafe { out.write(22703) };
    0
}
unsafe extern "C" fn unique_id(_: *mut UniqueId) -> c_int {
    called("id")
}
unsafe extern "C" fn init(out: *mut Comm, _: c_int, id: UniqueId, _: c_int) -> c_int {
    assert_eq!(id.0, [3; 128], "the id is passed by value");
    // SAFETY: the caller gives room.
    unsafe { out.write(core::ptr::without_provenance_mut(16)) };
    called("init")
}
unsafe extern "C" fn destroy(_: Comm) -> c_int {
    ended("destroy", "destroy waits for a graph")
}
unsafe extern "C" fn abort(_: Comm) -> c_int {
    ended("abort", "abort waits for a graph")
}
unsafe extern "C" fn async_error(_: Comm, out: *mut c_int) -> c_int {
    // SAFETY: the caller gives room.
    unsafe { out.write(LATER.take()) };
    0
}
unsafe extern "C" fn one(_: Comm, out: *mut c_int) -> c_int {
    // SAFETY: the caller gives room.
    unsafe { out.write(1) };
    0
}
unsafe extern "C" fn error_string(_: c_int) -> *const c_char {
    c"unhandled cuda error".as_ptr()
}
unsafe extern "C" fn last_error(_: Comm) -> *const c_char {
    c"a rank has left".as_ptr()
}
unsafe extern "C" fn reduce(
    from: *const c_void,
    to: *mut c_void,
    n: usize,
    element: c_int,
    _: c_int,
    _: Comm,
    stream: *mut c_void,
) -> c_int {
    // Of f32 and of bytes, whose broadcasts have the same signature.
    let bytes = if element == 7 { 4 * n } else { n };
    // SAFETY: so many elements.
    unsafe { copy(from, to, bytes, stream) };
    count_captured(stream);
    called("reduce")
}
unsafe extern "C" fn gather(
    from: *const c_void,
    to: *mut c_void,
    n: usize,
    _: c_int,
    _: Comm,
    stream: *mut c_void,
) -> c_int {
    // SAFETY: as many bytes of each rank, of which there are two.
    unsafe {
        copy(from, to, n, stream);
        copy(from, to.byte_add(n), n, stream);
    }
    called("gather")
}
unsafe extern "C" fn send(_: *const c_void, _: usize, _: c_int, rank: c_int, _: Comm, _: *mut c_void) -> c_int {
    called(if rank == 0 { "send to 0" } else { "send to 1" })
}
unsafe extern "C" fn receive(to: *mut c_void, n: usize, _: c_int, rank: c_int, _: Comm, stream: *mut c_void) -> c_int {
    // SAFETY: as many bytes.
    unsafe { copy(to, to, n, stream) };
    called(if rank == 0 { "receive from 0" } else { "receive from 1" })
}
unsafe extern "C" fn start() -> c_int {
    called("start")
}
unsafe extern "C" fn group_end() -> c_int {
    called("end")
}
unsafe extern "C" fn split(_: Comm, _: c_int, _: c_int, out: *mut Comm, _: *mut c_void) -> c_int {
    // SAFETY: the caller gives room.
    unsafe { out.write(core::ptr::without_provenance_mut(32)) };
    called("split")
}

static STUB: Functions = Functions {
    get_version: version,
    get_unique_id: unique_id,
    init_rank: init,
    destroy,
    abort,
    async_error,
    comm_rank: one,
    comm_size: one,
    error_string,
    all_reduce: reduce,
    reduce_scatter: reduce,
    broadcast: reduce,
    all_gather: gather,
    send,
    receive,
    group_start: start,
    group_end,
    last_error: Some(last_error),
    split: Some(split),
    _library: None,
};

/// Rank 1 of 2 over a new model, on this thread.
fn over(seed: u64) -> (Model, Runtime, World, impl Drop) {
    struct Both(Option<Box<dyn core::any::Any>>, Option<tilewright_model_driver::Entered>);
    impl Drop for Both {
        fn drop(&mut self) {
            MODEL.take();
            CAPTURED.set(0);
            self.0.take();
            self.1.take();
        }
    }
    let model = Model::new(seed);
    let here = model.enter();
    MODEL.set(Some(model.clone()));
    // SAFETY: the model's functions keep to the driver's contract.
    let driver = unsafe { Driver::from_symbols(|name| Model::symbol(name).unwrap_or(core::ptr::null())) };
    let own = driver.expect("the model has all functions").enter();
    let rt = Runtime::cuda(0).expect("a device");
    rt.set_cache_dir(None);
    let world = World::of(&rt, Box::new(Ranks::new(&STUB, &rt, UniqueId([3; 128]), 1, 2).unwrap()));
    (model, rt, world, Both(Some(Box::new(own)), Some(here)))
}

#[test]
fn work_is_in_the_order_of_its_stream() {
    for seed in 0..20 {
        let (model, rt, world, _here) = over(seed);
        assert_eq!((world.name(), world.rank(), world.size()), ("NCCL 2.27.3".to_string(), 1, 2));
        let beside = Stream::new(&rt).unwrap();
        let x = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0]).unwrap();
        // Allocated behind the stream: the work waits for the allocation, and for the zeros.
        let mut all = rt.zeros::<f32>(6).unwrap();
        world.all_gather(&beside, &x, &mut all).unwrap();
        world.all_reduce(&beside, &mut all, Reduction::Sum).unwrap();
        // Freed behind the work that uses it.
        drop(x);
        let mut other = rt.zeros::<f32>(6).unwrap();
        other.copy_from_buffer(&all).unwrap();
        world.broadcast(rt.stream(), &mut other, 1).unwrap();
        assert_eq!(other.to_vec().unwrap(), [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
        world.barrier(&beside).unwrap();
        drop((all, other, beside));
        world.finish().unwrap();
        drop(rt);
        assert_eq!((model.reports(), model.counts().blocks), (vec![], 0), "seed {seed}");
        assert_eq!(calls(), ["init", "gather", "reduce", "reduce", "reduce", "reduce", "destroy"]);
    }
}

#[test]
fn one_rank_copies_on_the_stream() {
    for seed in 0..20 {
        let (model, rt, two, _here) = over(seed);
        let (world, beside) = (World::alone(&rt), Stream::new(&rt).unwrap());
        let (x, mut y) = (rt.from_slice(&[1.0f32, 2.0]).unwrap(), rt.zeros::<f32>(2).unwrap());
        world.all_gather(&beside, &x, &mut y).unwrap();
        drop(x);
        world.all_reduce(&beside, &mut y, Reduction::Sum).unwrap();
        assert_eq!(y.to_vec().unwrap(), [1.0, 2.0]);
        assert!(world.broadcast(Runtime::cpu().stream(), &mut y, 0).is_err());
        drop((y, beside, world, two, rt));
        assert_eq!((model.reports(), model.counts().blocks), (vec![], 0), "seed {seed}");
    }
    calls();
}

/// The test itself: work that the runtime does not know of is found.
#[test]
fn the_model_sees_work_of_others() {
    let (model, rt, world, _here) = over(1);
    let (beside, x) = (Stream::new(&rt).unwrap(), rt.zeros::<f32>(2).unwrap());
    let mut y = rt.zeros::<f32>(2).unwrap();
    let addresses = (x.addr() as *const c_void, (&mut y).as_slice_mut_arg().addr() as *mut c_void);
    // SAFETY: two buffers of eight bytes, which are freed too early for the model.
    rt.stream().external_work(&[], |_| unsafe { copy(addresses.0, addresses.1, 8, beside.as_raw()) }).unwrap();
    drop((x, y));
    model.finish();
    assert!(!model.reports_of(Report::Memory).is_empty());
    drop(world);
}

#[test]
fn sends_and_receives_are_one_group() {
    let (_model, rt, world, _here) = over(2);
    let (x, mut y) = (rt.zeros::<f32>(4).unwrap(), rt.zeros::<f32>(4).unwrap());
    world.all_to_all(rt.stream(), &x, &mut y).unwrap();
    world.send_receive(rt.stream(), &x, 0, &mut y, 0).unwrap();
    world.send(rt.stream(), &x, 0).unwrap();
    world.receive(rt.stream(), &mut y, 0).unwrap();
    let group = |calls: &[&'static str]| [&["start"], calls, &["end"]].concat();
    let wanted = [
        vec!["init"],
        group(&["send to 0", "send to 1", "receive from 0", "receive from 1"]),
        group(&["send to 0", "receive from 0"]),
        group(&["send to 0"]),
        group(&["receive from 0"]),
    ];
    assert_eq!(calls(), wanted.concat());
}

#[test]
fn a_failure_ends_the_communicator() {
    let (_model, rt, world, _here) = over(3);
    let mut x = rt.zeros::<f32>(4).unwrap();
    calls();
    CODE.set(1);
    let e = world.all_reduce(rt.stream(), &mut x, Reduction::Max).unwrap_err();
    assert!(matches!(e, Error::Call { library: "NCCL", call: "ncclAllReduce", code: 1, .. }), "{e}");
    assert!(e.to_string().contains("unhandled cuda error: a rank has left (code 1)"), "{e}");
    let e = world.all_reduce(rt.stream(), &mut x, Reduction::Max).unwrap_err();
    assert!(matches!(e, Error::Unsupported { .. }), "{e}");
    drop(world);
    assert_eq!(calls(), ["reduce", "abort"], "it is ended once, and nothing is enqueued after that");
    // An error that another rank has reported meanwhile.
    let (_model, rt, world, _here) = over(4);
    LATER.set(6);
    let mut x = rt.zeros::<f32>(4).unwrap();
    assert!(matches!(world.all_reduce(rt.stream(), &mut x, Reduction::Sum), Err(Error::Call { code: 6, .. })));
}

#[test]
fn a_world_that_is_dropped_is_aborted() {
    let (_model, rt, world, _here) = over(5);
    let half = world.split(1).unwrap();
    assert_eq!((half.rank(), half.size()), (1, 1));
    drop((half, world));
    assert_eq!(calls(), ["init", "split", "abort", "abort"]);
    drop(rt);
}

#[test]
fn memory_of_others_is_refused() {
    let (model, rt, world, _here) = over(6);
    let mut there = [0.0f32; 4];
    let mismatch = |e: Result<()>| matches!(e, Err(Error::Runtime(tilewright_runtime::Error::StreamMismatch { .. })));
    assert!(mismatch(world.all_reduce(rt.stream(), &mut there[..], Reduction::Sum)));
    let mut x = rt.zeros::<f32>(4).unwrap();
    assert!(mismatch(world.all_reduce(Runtime::cpu().stream(), &mut x, Reduction::Sum)));
    let context = model.new_context();
    let other = Runtime::current().unwrap();
    let mut theirs = other.zeros::<f32>(4).unwrap();
    assert!(mismatch(world.all_reduce(rt.stream(), &mut theirs, Reduction::Sum)));
    assert!(mismatch(world.all_reduce(other.stream(), &mut x, Reduction::Sum)));
    drop((theirs, other));
    model.destroy_context(context);
    calls();
}

/// A captured call runs when the graph does.
#[test]
fn calls_are_captured() {
    let (model, rt, world, _here) = over(7);
    let stream = Stream::new(&rt).unwrap();
    let mut x = Buffer::from_slice(&rt, &[1.0f32, 2.0]).unwrap();
    let graph = stream.capture(|s| {
        let reduced = world.all_reduce(s, &mut x, Reduction::Sum);
        assert!(reduced.is_ok(), "{reduced:?}");
        Ok(())
    });
    let graph = graph.unwrap();
    stream.wait_for(rt.stream()).unwrap();
    // SAFETY: the buffer is alive, and nothing else uses it.
    unsafe { graph.replay(&stream) }.unwrap();
    let end = Event::new(&rt).unwrap();
    end.record(&stream).unwrap();
    end.synchronize().unwrap();
    assert_eq!((x.to_vec_on(&stream).unwrap(), model.reports()), (vec![1.0, 2.0], vec![]));
    drop((graph, x, stream, world, rt));
}

/// A graph of one call.
fn graph_of(world: &World, x: &mut Buffer<f32>) -> Graph {
    let stream = Stream::new(world.runtime()).unwrap();
    let graph = stream.capture(|s| {
        world.all_reduce(s, &mut *x, Reduction::Sum).unwrap();
        Ok(())
    });
    assert_eq!((calls().pop(), CAPTURED.get()), (Some("reduce"), 1));
    graph.unwrap()
}

#[test]
fn graphs_are_dropped_before_the_world_is_finished() {
    let (_model, rt, world, _here) = over(8);
    let mut x = rt.zeros::<f32>(2).unwrap();
    drop(graph_of(&world, &mut x));
    world.finish().unwrap();
    assert_eq!(calls(), ["reduce", "destroy"], "the first call is of the barrier");
}

/// The test itself: the stub finds the other order.
#[test]
fn the_stub_sees_graphs_that_outlive_their_world() {
    let (_model, rt, world, _here) = over(9);
    let mut x = rt.zeros::<f32>(2).unwrap();
    let graph = graph_of(&world, &mut x);
    world.finish().unwrap();
    assert_eq!(calls(), ["reduce", "destroy waits for a graph"]);
    drop(graph);
}

#[test]
fn a_drop_with_a_graph_does_not_wait_for_it() {
    let (_model, rt, world, _here) = over(10);
    let mut x = rt.zeros::<f32>(2).unwrap();
    let graph = graph_of(&world, &mut x);
    drop(world);
    assert!(calls().is_empty(), "the communicator stays until the process ends");
    drop(graph);
}

#[test]
fn a_failure_with_a_graph_does_not_wait_for_it() {
    let (_model, rt, world, _here) = over(11);
    let mut x = rt.zeros::<f32>(2).unwrap();
    let graph = graph_of(&world, &mut x);
    CODE.set(1);
    assert!(matches!(world.all_reduce(rt.stream(), &mut x, Reduction::Sum), Err(Error::Call { code: 1, .. })));
    let e = world.finish().unwrap_err();
    assert!(matches!(e, Error::Unsupported { .. }), "{e}");
    assert_eq!(calls(), ["reduce"]);
    drop(graph);
}

#[test]
fn versions_are_named() {
    let names = [2406, 2804, 20908, 21000, 22703].map(name);
    assert_eq!(names, ["NCCL 2.4.6", "NCCL 2.8.4", "NCCL 2.9.8", "NCCL 2.10.0", "NCCL 2.27.3"]);
}
