//! The runtime over a model of the driver: work that is not ordered, memory that is not freed, and calls that a capture
//! does not allow.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tilewright_model_driver::{Kind, Model};
use tilewright_runtime::tuning::Autotune;
use tilewright_runtime::{AsSlice, AsSliceMut, Buffer, Driver, Event, Runtime, Stream};

#[path = "../../host/examples/hand_made/mod.rs"]
mod hand_made;

mod borrowed;
mod captured;
mod contexts;
mod driver;
mod events;
mod faults;
#[cfg(unix)]
mod forked;
mod interleaved;
mod left;
mod owners;
mod programs;
mod rules;
mod turns;
mod world;

thread_local!(static DRIVER: Cell<Option<Driver>> = const { Cell::new(None) });

/// The driver that `over` has made last on this thread, for others of its threads.
fn driver_of_thread() -> Driver {
    DRIVER.get().expect("`over` was called")
}

fn without_tuning(rt: Runtime) -> Runtime {
    rt.set_cache_dir(None);
    rt.set_autotune(Autotune::Off);
    rt
}

/// Makes this the calling thread's driver until the guard is dropped.
fn enter(model: &Model, driver: Driver) -> impl Drop + use<> {
    Both(Some(driver.enter()), Some(model.enter()))
}

/// A runtime over a new model, on this thread.
fn over(seed: u64) -> (Model, Runtime, &'static tilewright_runtime::KernelDesc, impl Drop) {
    let model = Model::new(seed);
    let here = model.enter();
    // SAFETY: the model's functions keep to the driver's contract.
    let driver = unsafe { Driver::from_symbols(|name| Model::symbol(name).unwrap_or(core::ptr::null())) };
    let driver = driver.expect("the model has all functions");
    DRIVER.set(Some(driver));
    let own = driver.enter();
    let kernel = hand_made::add_one();
    model.register(kernel);
    let rt = without_tuning(Runtime::cuda(0).expect("the model has a device"));
    (model, rt, kernel, Both(Some(own), Some(here)))
}

struct Both<A, B>(Option<A>, Option<B>);

impl<A, B> Drop for Both<A, B> {
    fn drop(&mut self) {
        self.0.take();
        self.1.take();
    }
}

fn call<'a>(
    k: &'static tilewright_runtime::KernelDesc,
    x: &'a Buffer<f32>,
    y: &'a mut Buffer<f32>,
) -> tilewright_runtime::Call<'a> {
    hand_made::call(k, x, y)
}

#[test]
fn a_kernel_runs() {
    for seed in 0..20 {
        let (model, rt, k, _here) = over(seed);
        let x = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0]).unwrap();
        let mut y = rt.zeros::<f32>(3).unwrap();
        rt.launch(call(k, &x, &mut y)).unwrap();
        assert_eq!(y.to_vec().unwrap(), [2.0, 3.0, 4.0]);
        drop((x, y, rt));
        assert_eq!((model.reports(), model.counts().blocks, model.counts().pools), (vec![], 0, 0));
    }
}

/// The model sees work that nothing orders, in every order that it was run in.
#[test]
fn the_model_finds_what_is_not_ordered() {
    let (model, rt, k, _here) = over(1);
    let (a, b) = (Stream::new(&rt).unwrap(), Stream::new(&rt).unwrap());
    let x = rt.zeros::<f32>(100).unwrap();
    let mut y = rt.zeros::<f32>(100).unwrap();
    a.wait_for(rt.stream()).unwrap();
    b.wait_for(rt.stream()).unwrap();
    rt.launch_on(&a, call(k, &x, &mut y)).unwrap();
    assert_eq!(model.reports(), [""; 0]);
    rt.launch_on(&b, call(k, &x, &mut y)).unwrap();
    let reports = model.reports();
    assert!(reports.len() == 1 && reports[0].contains("in no order with"), "{reports:?}");
}

#[test]
fn memory_used_before_a_capture_is_not_freed_in_it() {
    let (model, rt, k, _here) = over(2);
    let s = Stream::new(&rt).unwrap();
    let (x, mut y, mut z) = (rt.zeros::<f32>(99).unwrap(), rt.zeros::<f32>(99).unwrap(), rt.zeros::<f32>(99).unwrap());
    let (other, p) = (rt.zeros::<f32>(8).unwrap(), rt.zeros::<f32>(99).unwrap());
    s.wait_for(rt.stream()).unwrap();
    rt.launch_on(&s, call(k, &x, &mut y)).unwrap();
    let graph = s.capture(|s| {
        drop(other);
        rt.launch_on(s, call(k, &p, &mut z))
    });
    drop((graph.unwrap(), x, y, z));
    assert_eq!(model.reports(), [""; 0]);
}

/// Buffers are allocated on the default stream, for which a stream made before does not wait by itself.
#[test]
fn a_buffer_is_not_used_before_its_allocation() {
    let (model, rt, k, _here) = over(9);
    let s = Stream::new(&rt).unwrap();
    let (x, mut y) = (rt.zeros::<f32>(99).unwrap(), rt.alloc::<f32>(99).unwrap());
    rt.launch_on(&s, call(k, &x, &mut y)).unwrap();
    let z = rt.alloc::<f32>(99).unwrap();
    z.to_vec_on(&s).unwrap();
    let mut w = rt.alloc::<f32>(99).unwrap();
    // Captured work runs after allocations that were made before the replay.
    let mut made = None;
    let work = |s: &Stream| rt.launch_on(s, call(k, made.insert(rt.alloc::<f32>(99)?), &mut w));
    let graph = s.capture(work).unwrap();
    let t = Stream::new(&rt).unwrap();
    // SAFETY: the buffers are alive.
    unsafe { graph.replay(&s).and_then(|()| graph.replay(&t)) }.unwrap();
    assert_eq!(model.reports_of(Kind::Memory), [""; 0]);
}

/// A stream that was made for a capture may end before the capture does.
#[test]
fn a_stream_that_is_dropped_in_its_capture_does_not_break_it() {
    let (model, rt, k, _here) = over(13);
    let a = Stream::new(&rt).unwrap();
    let (x, mut y, mut z) = (rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap());
    let b = Stream::new(&rt).unwrap();
    let graph = a.capture(|a| {
        b.wait_for(a)?;
        rt.launch_on(&b, call(k, &x, &mut y))?;
        a.wait_for(&b)?;
        drop(b);
        rt.launch_on(a, call(k, &y, &mut z))
    });
    let graph = graph.unwrap();
    a.wait_for(rt.stream()).unwrap();
    // SAFETY: the buffers are alive.
    unsafe { graph.replay(&a) }.unwrap();
    assert_eq!(z.to_vec_on(&a).unwrap(), [2.0; 9]);
    drop((graph, x, y, z, a));
    assert_eq!(model.reports(), [""; 0]);
    drop(rt);
    assert_eq!((model.counts().streams, model.counts().blocks), (0, 0));
}

/// A stream that has joined a capture can be neither waited for nor synchronized.
#[test]
fn a_stream_that_is_dropped_in_a_capture_is_waited_for_later() {
    for of_others in [false, true] {
        let (model, rt, k, _here) = over(12);
        let (a, b) = (Stream::new(&rt).unwrap(), Stream::new(&rt).unwrap());
        let (x, mut y, w) = (rt.zeros::<f32>(99).unwrap(), rt.zeros::<f32>(99).unwrap(), rt.zeros::<f32>(99).unwrap());
        rt.launch_on(&b, call(k, &x, &mut y)).unwrap();
        let scratch = b.scratch::<f32>(8).unwrap();
        drop(scratch);
        let graph = a.capture(|a| {
            b.wait_for(a)?;
            drop((b, x));
            Ok(())
        });
        drop(graph);
        if of_others {
            Stream::new(&rt).unwrap();
        }
        drop((y, w, a));
        assert_eq!(model.reports(), [""; 0]);
        drop(rt);
        assert_eq!(model.reports(), [""; 0]);
        let counts = model.counts();
        assert_eq!((counts.blocks, counts.streams, counts.pools), (0, 0, 0));
    }
}

/// The tuner's copies of outputs are work on the stream as launches are.
#[test]
fn memory_is_not_freed_under_the_tuner_that_fails() {
    for nth in 0..120 {
        let (model, rt, k, _here) = over(nth);
        let s = Stream::new(&rt).unwrap();
        let (x, mut y) = (rt.zeros::<f32>(99).unwrap(), rt.zeros::<f32>(99).unwrap());
        model.fail(None, nth, 2);
        let tuned = rt.tune(&s, call(k, &x, &mut y));
        model.fail_no_more();
        drop((tuned, x, y));
        assert_eq!(model.reports_of(Kind::Memory), [""; 0], "call {nth}");
    }
}

/// Holds the thread that makes the next call of this name until it may go on. The first end hears that it is held.
fn hold_at(model: &Model, call: &'static str) -> (Receiver<()>, Sender<()>) {
    let ((reached, held), (go_on, gone)) = (channel(), channel());
    let (first, gone) = (Mutex::new(Some(reached)), Mutex::new(gone));
    model.before_calls(move |name| {
        // The lock is not held while the thread is: another one may make the same call.
        let reached = if name == call { first.lock().unwrap().take() } else { None };
        if let Some(reached) = reached {
            reached.send(()).unwrap();
            // If the other thread waits for this one, it cannot say when it is done.
            let _ = gone.lock().unwrap().recv_timeout(Duration::from_millis(300));
        }
    });
    (held, go_on)
}

/// One thread is held between the mark that it takes and the wait that it enqueues, while another one frees.
#[test]
fn two_threads_free_what_a_stream_uses() {
    let (model, rt, k, _here) = over(3);
    let s = Stream::new(&rt).unwrap();
    let (x, mut y, other) = (rt.zeros::<f32>(99).unwrap(), rt.zeros::<f32>(99).unwrap(), rt.zeros::<f32>(9).unwrap());
    s.wait_for(rt.stream()).unwrap();
    rt.launch_on(&s, call(k, &x, &mut y)).unwrap();
    let (held, go_on) = hold_at(&model, "cuEventRecord");
    std::thread::scope(|scope| {
        let there = model.clone();
        scope.spawn(move || {
            let _model = there.enter();
            drop(other);
        });
        held.recv().unwrap();
        drop((x, y));
        let _ = go_on.send(());
    });
    assert_eq!(model.reports(), [""; 0]);
}

/// Memory that could not be ordered stays until it can be.
#[test]
fn memory_is_not_freed_where_the_order_fails() {
    for name in ["cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"] {
        let (model, rt, k, _here) = over(4);
        let s = Stream::new(&rt).unwrap();
        let (x, mut y) = (rt.zeros::<f32>(99).unwrap(), rt.zeros::<f32>(99).unwrap());
        s.wait_for(rt.stream()).unwrap();
        rt.launch_on(&s, call(k, &x, &mut y)).unwrap();
        model.fail(Some(name), 0, 2);
        drop(x);
        assert!(model.fail_no_more(), "{name} was called");
        drop((y, s));
        drop(rt);
        assert_eq!((model.reports(), model.counts().blocks), (vec![], 0), "{name}");
    }
}

/// Safe code may pass scratch of one stream to a launch on another one.
#[test]
fn scratch_that_another_stream_uses_is_not_freed_under_it() {
    let (model, rt, k, _here) = over(6);
    let (a, b) = (Stream::new(&rt).unwrap(), Stream::new(&rt).unwrap());
    let x = rt.zeros::<f32>(64).unwrap();
    let mut used = a.scratch::<f32>(64).unwrap();
    a.wait_for(rt.stream()).unwrap();
    b.wait_for(&a).unwrap();
    let call = tilewright_runtime::Call::new(k).slice((&x).as_slice_arg()).slice_mut((&mut used).as_slice_mut_arg());
    rt.launch_on(&b, call).unwrap();
    drop(used);
    // More blocks than are kept, and too large to take the place of the first.
    let others: Vec<_> = (0..40).map(|_| a.scratch::<f32>(1 << 20).unwrap()).collect();
    drop((others, x, a, b, rt));
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

/// Neither stream waits for the other by the caller's doing.
#[test]
fn scratch_is_in_order_on_another_stream() {
    let (model, rt, k, _here) = over(7);
    let (a, b) = (Stream::new(&rt).unwrap(), Stream::new(&rt).unwrap());
    let (x, mut y, mut z) = (rt.zeros::<f32>(64).unwrap(), rt.zeros::<f32>(64).unwrap(), rt.zeros::<f32>(64).unwrap());
    for fails in [false, true] {
        let mut first = a.scratch::<f32>(64).unwrap();
        rt.launch_on(&b, hand_made::call(k, &x, &mut first)).unwrap();
        if fails {
            // The wait of `b` for `a` is enqueued, and the wait of `a` for `b` is not.
            model.fail(Some("cuStreamWaitEvent"), 1, 1);
        }
        rt.launch_on(&b, hand_made::call(k, &first, &mut y)).unwrap();
        assert!(model.fail_no_more());
        drop(first);
        // It has the same block, unless that could not be ordered.
        let mut second = a.scratch::<f32>(64).unwrap();
        rt.launch_on(&a, hand_made::call(k, &x, &mut second)).unwrap();
        rt.launch_on(&a, hand_made::call(k, &second, &mut z)).unwrap();
        assert_eq!(model.reports(), [""; 0], "{fails}");
    }
    // A launcher that was prepared before, too.
    // SAFETY: it is only read.
    let scratch = unsafe { a.zeroed_scratch::<f32>(64) }.unwrap();
    let mut launcher = rt.prepare_with(&b, hand_made::call(k, &scratch, &mut y), &Default::default()).unwrap();
    launcher.run().and_then(|()| launcher.run()).unwrap();
    drop(launcher);
    drop(scratch);
    rt.launch_on(&a, hand_made::call(k, &x, &mut a.scratch::<f32>(64).unwrap())).unwrap();
    assert_eq!((y.to_vec().unwrap()[0], z.to_vec().unwrap()[0]), (1.0, 2.0));
    drop((x, y, z, a, b, rt));
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

#[test]
fn scratch_of_a_capture_is_used_in_it_alone() {
    let (model, rt, k, _here) = over(8);
    let (s, t) = (Stream::new(&rt).unwrap(), Stream::new(&rt).unwrap());
    let (x, mut y) = (rt.zeros::<f32>(64).unwrap(), rt.zeros::<f32>(64).unwrap());
    let (mut old, mut kept) = (t.scratch::<f32>(64).unwrap(), None);
    let graph = s.capture(|s| {
        // A launch on another stream becomes a part of the capture.
        let mut scratch = s.scratch::<f32>(64)?;
        rt.launch_on(&t, hand_made::call(k, &x, &mut scratch))?;
        rt.launch_on(s, hand_made::call(k, &scratch, &mut y))
    });
    let graph = graph.unwrap();
    for _ in 0..2 {
        // SAFETY: the buffers are alive, and nothing else uses them.
        unsafe { graph.replay(&s) }.unwrap();
    }
    assert_eq!(y.to_vec().unwrap(), [2.0; 64]);
    let late = s.capture(|s| {
        // The work of `t` runs outside of the capture.
        let refused = rt.launch_on(s, hand_made::call(k, &x, &mut old));
        assert!(matches!(refused, Err(tilewright_runtime::Error::Unsupported { .. })));
        let scratch = kept.insert(s.scratch::<f32>(64)?);
        rt.launch_on(s, hand_made::call(k, &x, scratch))
    });
    let mut kept = kept.unwrap();
    for stream in [&s, &t] {
        let refused = rt.launch_on(stream, hand_made::call(k, &x, &mut kept));
        assert!(matches!(refused, Err(tilewright_runtime::Error::Unsupported { .. })));
    }
    // Each replay would allocate it once more.
    let late = late.err();
    assert!(matches!(late, Some(tilewright_runtime::Error::Unsupported { .. })), "{late:?}");
    drop((graph, kept, old, x, y, s, t, rt));
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

#[test]
fn scratch_that_nothing_uses_is_freed_after_its_allocation() {
    let (model, rt, _, _here) = over(6);
    let s = Stream::new(&rt).unwrap();
    drop(s.scratch::<f32>(64).unwrap());
    drop((s, rt));
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

/// Another thread waits for the stream after the allocation of a block, and before its zeros.
#[test]
fn scratch_is_freed_behind_its_zeros() {
    let (model, rt, _, _here) = over(14);
    let (s, other) = (Stream::new(&rt).unwrap(), rt.zeros::<f32>(9).unwrap());
    let (held, go_on) = hold_at(&model, "cuMemsetD8Async");
    let calls = driver_of_thread();
    std::thread::scope(|scope| {
        let (there, s) = (model.clone(), &s);
        scope.spawn(move || {
            let _here = enter(&there, calls);
            // SAFETY: it is not used.
            drop(unsafe { s.zeroed_scratch::<f32>(64) }.unwrap());
        });
        held.recv().unwrap();
        drop(other);
        let _ = go_on.send(());
    });
    drop((s, rt));
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

#[test]
fn reads_and_writes_wait_for_other_streams() {
    let (model, rt, k, _here) = over(5);
    let s = Stream::new(&rt).unwrap();
    let (mut x, mut y) = (Buffer::from_slice(&rt, &[1.0f32; 50]).unwrap(), rt.zeros::<f32>(50).unwrap());
    s.wait_for(rt.stream()).unwrap();
    rt.launch_on(&s, call(k, &x, &mut y)).unwrap();
    assert_eq!(y.to_vec().unwrap(), [2.0; 50]);
    rt.launch_on(&s, call(k, &x, &mut y)).unwrap();
    x.copy_from(&[3.0; 50]).unwrap();
    y.fill_zero().unwrap();
    assert_eq!(model.reports(), [""; 0]);
}

/// Other streams of the program are captured in these modes: nothing that the runtime does may break that.
#[test]
fn nothing_breaks_a_capture() {
    for mode in 0..3 {
        let (model, rt, k, _here) = over(6);
        let mine = Stream::new(&rt).unwrap();
        // SAFETY: `mine` outlives it.
        let s = unsafe { Stream::from_raw(&rt, mine.as_raw()) }.unwrap();
        // SAFETY: the owner destroys it when nothing was put there; it is not used.
        let old = unsafe { Stream::from_raw(&rt, Stream::new(&rt).unwrap().as_raw()) };
        drop(old);
        let (x, mut y) = (rt.zeros::<f32>(50).unwrap(), rt.zeros::<f32>(50).unwrap());
        drop(s.scratch::<f32>(100).unwrap());
        // SAFETY: a stream of the model.
        assert_eq!(unsafe { driver::begin_capture(mine.as_raw(), mode) }, 0);
        rt.launch_on(&s, call(k, &x, &mut y)).unwrap();
        let mut scratch = s.scratch::<f32>(50).unwrap();
        rt.launch_on(&s, hand_made::call(k, &x, &mut scratch)).unwrap();
        drop(scratch);
        drop(rt.zeros::<f32>(10).unwrap());
        assert!(x.to_vec_on(&s).is_err() && s.synchronize().is_err() && s.is_done().is_err());
        drop(s);
        let again = Runtime::cuda(0).unwrap();
        drop(Buffer::from_slice(&again, &[1.0f32]).unwrap());
        let mut graph = 0;
        // SAFETY: a stream of the model, and room for the graph.
        assert_eq!(unsafe { driver::end_capture(mine.as_raw(), &mut graph) }, 0, "mode {mode}");
        assert_eq!(model.reports(), [""; 0]);
    }
}

/// Buffers, launches, streams, scratch, events and a graph.
fn everything(rt: &Runtime, k: &'static tilewright_runtime::KernelDesc) -> tilewright_runtime::Result<()> {
    let s = Stream::new(rt)?;
    let (x, mut y, mut z) = (Buffer::from_slice(rt, &[1.0f32; 70])?, rt.zeros::<f32>(70)?, rt.zeros::<f32>(70)?);
    s.wait_for(rt.stream())?;
    rt.launch_on(&s, call(k, &x, &mut y))?;
    // SAFETY: it is not used.
    drop(unsafe { s.zeroed_scratch::<f32>(70) }?);
    let mut scratch = s.scratch::<f32>(70)?;
    rt.launch_on(&s, hand_made::call(k, &y, &mut scratch))?;
    rt.launch_on(&s, hand_made::call(k, &scratch, &mut z))?;
    drop(scratch);
    let (start, end) = (Event::new(rt)?, Event::new(rt)?);
    start.record(&s)?;
    end.record(&s)?;
    end.since(&start)?;
    let graph = s.capture(|s| {
        let mut scratch = s.scratch::<f32>(70)?;
        rt.launch_on(s, hand_made::call(k, &x, &mut scratch))?;
        rt.launch_on(s, hand_made::call(k, &scratch, &mut y))
    })?;
    for _ in 0..2 {
        // SAFETY: the buffers are alive, and nothing else uses them.
        unsafe { graph.replay(&s) }?;
    }
    assert_eq!((y.to_vec()?, z.to_vec()?), (vec![3.0; 70], vec![4.0; 70]));
    Ok(())
}

/// Each call of the driver fails once. The error is typed, nothing stays, and the same work succeeds afterwards.
#[test]
fn every_driver_call_fails_once() {
    let mut failed = 0;
    for nth in 0.. {
        let (model, rt, k, _here) = over(nth);
        model.fail(None, nth, 2);
        let result = everything(&rt, k);
        let came = model.fail_no_more();
        failed += u32::from(result.is_err());
        assert!(came || result.is_ok());
        everything(&rt, k).unwrap_or_else(|e| panic!("after a failure of call {nth}: {e}"));
        drop(rt);
        let c = model.counts();
        let left = (c.blocks, c.streams, c.events, c.graphs, c.executables, c.pools);
        assert_eq!((model.reports(), left), (vec![], (0, 0, 0, 0, 0, 0)), "call {nth}, {result:?}");
        if !came {
            assert!(failed > 20, "{failed} of {nth} calls failed");
            return;
        }
    }
}
