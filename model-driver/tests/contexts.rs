//! Contexts that share a device, and contexts that end.

use super::{call, driver, over, without_tuning};
use tilewright_model_driver::Model;
use tilewright_runtime::{Buffer, DeviceId, Error, Event, ExternalSlice, Runtime, Stream};

fn context_of(device_id: DeviceId) -> u64 {
    let DeviceId::Cuda { device: 0, context } = device_id else { panic!("{device_id:?}") };
    context
}

#[test]
fn a_buffer_is_taken_in_another_context_of_its_device() {
    let (model, primary, k, _here) = over(1);
    let (x, mut y) = (primary.zeros::<f32>(9).unwrap(), primary.zeros::<f32>(9).unwrap());
    let own = model.new_context();
    let other = Runtime::current().unwrap();
    let mut there = other.zeros::<f32>(9).unwrap();
    let (a, b) = (context_of(x.device()), context_of(there.device()));
    assert_ne!(a, b);
    let launches = || model.calls().get("cuLaunchKernel").copied().unwrap_or(0);
    let before = launches();
    let e = other.launch(call(k, &x, &mut there)).unwrap_err();
    assert!(matches!(e, Error::DeviceMismatch { param: "x", .. }), "{e}");
    let said = e.to_string();
    assert!(said.contains(&format!("(context {a})")) && said.contains(&format!("(context {b})")), "{said}");
    assert!(matches!(primary.launch(call(k, &there, &mut y)), Err(Error::DeviceMismatch { .. })));
    // Scratch and streams, too.
    let s = Stream::new(&other).unwrap();
    let scratch = s.scratch::<f32>(9).unwrap();
    assert!(matches!(primary.launch(super::hand_made::call(k, &scratch, &mut y)), Err(Error::DeviceMismatch { .. })));
    assert!(matches!(primary.launch_on(&s, call(k, &x, &mut y)), Err(Error::StreamMismatch { what: "stream" })));
    assert!(matches!(y.copy_from_buffer(&there), Err(Error::StreamMismatch { what: "buffer" })));
    assert_eq!(launches(), before);
    // Of one context two runtimes take it.
    Runtime::cuda(0).unwrap().launch(call(k, &x, &mut y)).unwrap();
    // SAFETY: nine elements of a buffer.
    let foreign = unsafe { ExternalSlice::from_raw(&primary, x.addr() as *const f32, 9) }.unwrap();
    primary.launch(super::hand_made::call(k, &foreign, &mut y)).unwrap();
    assert_eq!(y.to_vec().unwrap(), [1.0; 9]);
    drop((scratch, s, there, other));
    model.destroy_context(own);
}

/// How many pools there are: one for each runtime's context.
#[test]
fn runtimes_of_destroyed_contexts_are_kept() {
    let (model, primary, _, _here) = over(2);
    for _ in 0..5 {
        let own = model.new_context();
        let rt = Runtime::current().unwrap();
        assert!(rt.zeros::<f32>(3).unwrap().to_vec().is_ok());
        drop(rt);
        model.destroy_context(own);
        assert!(matches!(Runtime::current(), Err(Error::ContextDestroyed { .. })));
        assert!(model.counts().pools <= 2, "{:?}", model.counts());
    }
    drop(primary);
    let _own = model.new_context();
    let rt = Runtime::current().unwrap();
    assert_eq!(model.counts().pools, 1, "that of the context that lives");
    drop(rt);
}

#[test]
fn work_in_a_destroyed_context_names_no_cause() {
    let (model, _primary, k, _here) = over(3);
    let own = model.new_context();
    let rt = Runtime::current().unwrap();
    let (x, mut y) = (rt.zeros::<f32>(3).unwrap(), rt.zeros::<f32>(3).unwrap());
    model.destroy_context(own);
    for e in [
        rt.launch(call(k, &x, &mut y)).unwrap_err(),
        x.to_vec().unwrap_err(),
        rt.zeros::<f32>(3).unwrap_err(),
        Stream::new(&rt).map(|_| ()).unwrap_err(),
        rt.synchronize().unwrap_err(),
    ] {
        assert!(matches!(e, Error::ContextDestroyed { .. }) && !e.is_fatal(), "{e}");
        assert!(e.to_string().contains("make a new runtime"), "{e}");
    }
}

#[test]
fn a_reset_primary_context_is_taken_for_the_new_one() {
    let (model, old, k, _here) = over(4);
    let x = old.zeros::<f32>(3).unwrap();
    model.reset_primary();
    let new = Runtime::cuda(0).unwrap();
    let mut y = new.zeros::<f32>(3).unwrap();
    assert_ne!(x.device(), y.device());
    assert!(matches!(new.launch(call(k, &x, &mut y)), Err(Error::DeviceMismatch { .. })));
    let x = Buffer::from_slice(&new, &[1.0f32; 3]).unwrap();
    new.launch(call(k, &x, &mut y)).unwrap();
    assert_eq!(y.to_vec().unwrap(), [2.0; 3]);
    // Without a current context, too, where the runtime was found before.
    drop((x, y, new));
    let set = Model::symbol("cuCtxSetCurrent").unwrap();
    // SAFETY: the signature is that of cuda.h.
    let set = unsafe { core::mem::transmute::<*const core::ffi::c_void, unsafe extern "C" fn(usize) -> u32>(set) };
    let current = || {
        // SAFETY: no context is a context.
        assert_eq!(unsafe { set(0) }, 0);
        Runtime::current().unwrap()
    };
    let first = context_of(current().device().id);
    assert_eq!(first, context_of(current().device().id));
    model.reset_primary();
    let second = current();
    assert_ne!(first, context_of(second.device().id));
    assert!(second.zeros::<f32>(3).unwrap().to_vec().is_ok());
}

/// As the documentation of `Runtime::current` says, and the header of the C library.
#[test]
fn a_thread_without_a_context_keeps_that_of_its_last_call() {
    let (model, primary, k, _here) = over(6);
    let own = model.new_context();
    let rt = without_tuning(Runtime::current().unwrap());
    let calls = super::driver_of_thread();
    let context = |rt: &Runtime| context_of(rt.device().id);
    std::thread::scope(|s| {
        s.spawn(|| {
            let _here = super::enter(&model, calls);
            for (with, current) in [(&rt, &rt), (&primary, &rt)] {
                let (x, mut y) = (with.zeros::<f32>(3).unwrap(), with.zeros::<f32>(3).unwrap());
                with.launch(call(k, &x, &mut y)).unwrap();
                assert_eq!(y.to_vec().unwrap(), [1.0; 3]);
                assert_eq!(context(&Runtime::current().unwrap()), context(current));
            }
        });
    });
    drop(rt);
    model.destroy_context(own);
}

/// Another library has made the primary context current before this one opens the device.
#[test]
fn a_primary_context_that_is_current_is_one_context() {
    for current_first in [true, false] {
        let (model, rt, k, _here) = over(5);
        drop(rt);
        let mut theirs = core::ptr::null_mut();
        // SAFETY: calls as cuda.h has them.
        unsafe {
            assert_eq!(driver::retain_context(&mut theirs, 0), 0);
            assert_eq!(driver::set_context(theirs), 0);
        }
        let first = without_tuning(if current_first { Runtime::current() } else { Runtime::cuda(0) }.unwrap());
        let second = without_tuning(if current_first { Runtime::cuda(0) } else { Runtime::current() }.unwrap());
        assert_eq!(first.device().id, second.device().id);
        for (a, b) in [(&first, &second), (&second, &first)] {
            let s = Stream::new(a).unwrap();
            let (x, mut y) = (b.zeros::<f32>(99).unwrap(), b.zeros::<f32>(99).unwrap());
            a.launch_on(&s, call(k, &x, &mut y)).unwrap();
            drop((x, y));
            assert_eq!(model.reports(), [""; 0]);
        }
        // It is kept as long as either runtime.
        drop(first);
        assert_eq!(second.zeros::<f32>(3).unwrap().to_vec().unwrap(), [0.0; 3]);
        drop(second);
        // The runtime that `Runtime::current` has made is kept for later calls, and so is the context.
        assert_eq!((model.counts().retained, model.counts().pools), (2, 1));
        // SAFETY: retained above.
        unsafe { driver::release_context(0) };
        assert_eq!(model.reports(), [""; 0]);
    }
}

#[test]
fn streams_of_two_contexts_wait_for_each_other() {
    for seed in 0..20 {
        let (model, primary, k, _here) = over(seed);
        let (x, mut y) = (primary.zeros::<f32>(9).unwrap(), primary.zeros::<f32>(9).unwrap());
        let s = Stream::new(&primary).unwrap();
        let own = model.new_context();
        let other = Runtime::current().unwrap();
        let many: Vec<_> = (0..20).map(|_| other.zeros::<f32>(9).unwrap()).collect();
        // The buffers of one context say nothing of those of the other.
        s.wait_for(other.stream()).unwrap();
        let mut z = primary.zeros::<f32>(9).unwrap();
        primary.launch_on(&s, call(k, &x, &mut z)).unwrap();
        assert_eq!(model.reports(), [""; 0]);
        // Of the default streams, too, whichever context is current, and by events.
        primary.launch(call(k, &x, &mut y)).unwrap();
        let launched = Event::new(&primary).unwrap();
        launched.record(primary.stream()).unwrap();
        if seed % 2 == 0 {
            other.stream().wait_for(primary.stream()).unwrap();
        } else {
            other.stream().wait(&launched).unwrap();
        }
        other.synchronize().unwrap();
        assert!(launched.is_done().unwrap(), "seed {seed}");
        // Memory of a capture in one context is not waited for in the other: a replay would not keep its memory.
        let (captured, there) = (Stream::new(&primary).unwrap(), Stream::new(&other).unwrap());
        let graph = captured.capture(|captured| {
            let refused = there.wait_for(captured);
            assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
            primary.launch_on(captured, call(k, &x, &mut y))
        });
        drop((graph.unwrap(), captured, there));
        assert!(matches!(x.to_vec_on(other.stream()), Err(Error::StreamMismatch { what: "stream" })));
        // An event marks streams of its own context.
        assert!(matches!(launched.record(other.stream()), Err(Error::StreamMismatch { what: "stream" })));
        drop((many, other));
        model.destroy_context(own);
        assert_eq!(model.reports(), [""; 0]);
    }
}

/// Each thread has another queue of this name, and a stream may go from thread to thread.
#[test]
fn the_default_stream_of_a_thread_is_refused() {
    let (_model, rt, _, _here) = over(6);
    // SAFETY: refused before it is used.
    let refused = unsafe { Stream::from_raw(&rt, 2 as *mut core::ffi::c_void) };
    assert!(matches!(refused, Err(Error::InvalidArgument { what: "stream", .. })));
}

/// A context that the driver cannot be asked about is no other one.
#[test]
fn a_context_that_cannot_be_asked_for_stays_the_same() {
    let (model, rt, k, _here) = over(22);
    let (x, mut y) = (rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap());
    model.fail(Some("cuCtxGetId"), 0, 2);
    let _ = Runtime::cuda(0);
    model.fail_no_more();
    let again = Runtime::cuda(0).unwrap();
    let s = Stream::new(&again).unwrap();
    again.launch_on(&s, call(k, &x, &mut y)).unwrap();
    // Freed behind the work of the stream, which the other runtime knows, too.
    drop((x, y));
    assert_eq!(model.reports(), [""; 0]);
}

/// Handles of a context that its owner has destroyed are not passed to the driver any more.
#[test]
fn handles_of_a_destroyed_context_are_let_go() {
    let (model, _primary, k, _here) = over(23);
    let own = model.new_context();
    let rt = super::without_tuning(Runtime::current().unwrap());
    let (x, mut y) = (rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap());
    let (s, event) = (Stream::new(&rt).unwrap(), tilewright_runtime::Event::new(&rt).unwrap());
    event.record(&s).unwrap();
    let mut theirs = core::ptr::null_mut();
    // SAFETY: the stream ends with its context.
    let foreign = unsafe {
        assert_eq!(super::driver::create_stream(&mut theirs, 1), 0);
        Stream::from_raw(&rt, theirs).unwrap()
    };
    for s in [&s, &foreign] {
        let mut scratch = s.scratch::<f32>(9).unwrap();
        rt.launch_on(s, call(k, &x, &mut y)).unwrap();
        rt.launch_on(s, super::hand_made::call(k, &x, &mut scratch)).unwrap();
        rt.stream().wait_for(s).unwrap();
    }
    let graph = s.capture(|s| rt.launch_on(s, call(k, &x, &mut y))).unwrap();
    model.destroy_context(own);
    // Another context may have its address; here it is another one.
    let _other = model.new_context();
    drop((graph, event, s, foreign, x, y, rt));
    drop(Runtime::current().unwrap());
    assert_eq!(model.reports(), [""; 0]);
}
