//! Events in captures, and work on the default stream beside them.

use super::{call, over};
use core::ffi::c_void;
use tilewright_model_driver::Model;
use tilewright_runtime::{Error, Event, Stream};

/// Errors that come before the driver is asked.
fn refused<T>(result: tilewright_runtime::Result<T>) {
    let e = result.map(|_| ()).expect_err("it breaks a capture");
    assert!(matches!(e, Error::Unsupported { .. }), "{e}");
}

#[test]
fn a_question_to_a_captured_event_breaks_the_capture() {
    let (model, rt, k, _here) = over(1);
    let (s, other) = (Stream::new(&rt).unwrap(), Stream::new(&rt).unwrap());
    let (x, mut y) = (rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap());
    let (event, before, idle) = (Event::new(&rt).unwrap(), Event::new(&rt).unwrap(), Event::new(&rt).unwrap());
    s.wait_for(rt.stream()).unwrap();
    before.record(&s).unwrap();
    let graph = s.capture(|s| {
        event.record(s)?;
        refused(event.synchronize());
        refused(event.is_done());
        refused(event.since(&before));
        refused(before.since(&event));
        refused(rt.stream().wait(&event));
        refused(rt.stream().wait_for(s));
        // Outside of the capture.
        refused(s.wait(&before));
        refused(s.wait_for(&other));
        before.synchronize()?;
        // Another stream joins the capture and comes back.
        other.wait(&event)?;
        rt.launch_on(&other, call(k, &x, &mut y))?;
        event.record(&other)?;
        s.wait(&event)
    });
    let graph = graph.unwrap();
    // It marks no work that runs until it is recorded again.
    refused(event.synchronize());
    refused(event.is_done());
    refused(s.capture(|s| s.wait(&event)));
    // SAFETY: the buffers are alive, and nothing else uses them.
    unsafe { graph.replay(&s) }.unwrap();
    event.record(&s).unwrap();
    event.synchronize().unwrap();
    assert!(event.is_done().unwrap() && event.since(&before).is_ok());
    s.capture(|s| {
        refused(s.wait(&event));
        // Never recorded: nothing is waited for. The runtime does not know that, and refuses it.
        refused(s.wait(&idle));
        Ok(())
    })
    .unwrap();
    assert_eq!(y.to_vec().unwrap(), [1.0; 9]);
    assert_eq!(model.reports(), [""; 0]);
}

#[test]
fn a_wait_for_another_capture_breaks_both() {
    let (model, rt, k, _here) = over(2);
    let (a, b) = (Stream::new(&rt).unwrap(), Stream::new(&rt).unwrap());
    let (x, mut y, mut z) = (rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap());
    let event = Event::new(&rt).unwrap();
    let outer = a.capture(|a| {
        event.record(a)?;
        let inner = b.capture(|b| {
            refused(b.wait(&event));
            refused(b.wait_for(a));
            refused(a.wait_for(b));
            rt.launch_on(b, call(k, &x, &mut z))
        });
        inner.expect("it is not broken");
        rt.launch_on(a, call(k, &x, &mut y))
    });
    outer.expect("it is not broken");
    assert_eq!(model.reports(), [""; 0]);
}

/// A stream that waits for the default stream, as `cuStreamCreate` makes it without a flag, is captured by its owner.
#[test]
fn work_on_the_default_stream_breaks_a_capture_of_a_blocking_stream() {
    let symbol = |name| Model::symbol(name).expect("a function of the model");
    // SAFETY: the signatures are those of cuda.h.
    let (create, begin, end) = unsafe {
        (
            core::mem::transmute::<*const c_void, unsafe extern "C" fn(*mut usize, u32) -> u32>(symbol(
                "cuStreamCreate",
            )),
            core::mem::transmute::<*const c_void, unsafe extern "C" fn(usize, i32) -> u32>(symbol(
                "cuStreamBeginCapture_v2",
            )),
            core::mem::transmute::<*const c_void, unsafe extern "C" fn(usize, *mut usize) -> u32>(symbol(
                "cuStreamEndCapture",
            )),
        )
    };
    for mode in 0..3 {
        let (model, rt, k, _here) = over(3);
        let s = Stream::new(&rt).unwrap();
        let (x, mut y, mut z) = (rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap());
        let (event, done) = (Event::new(&rt).unwrap(), Event::new(&rt).unwrap());
        done.record(&s).unwrap();
        rt.launch(call(k, &x, &mut y)).unwrap();
        let graph = s.capture(|s| rt.launch_on(s, call(k, &x, &mut z))).unwrap();
        let mut blocking = 0;
        // SAFETY: calls as cuda.h has them, on handles of the model.
        unsafe {
            rt.synchronize().unwrap();
            assert_eq!((create(&mut blocking, 0), begin(blocking, mode)), (0, 0));
            refused(rt.launch(call(k, &x, &mut y)));
            refused(graph.replay(rt.stream()));
            refused(y.fill_zero());
            refused(y.copy_from_buffer(&x));
            refused(y.copy_from(&[0.0; 9]));
            refused(y.to_vec());
            refused(rt.zeros::<f32>(4));
            refused(rt.synchronize());
            refused(rt.stream().is_done());
            refused(event.record(rt.stream()));
            refused(rt.stream().wait(&done));
            refused(rt.stream().wait_for(&s));
            refused(s.wait_for(rt.stream()));
            refused(Stream::new(&rt));
            drop(z);
            let mut graph = 0;
            assert_eq!(end(blocking, &mut graph), 0, "mode {mode}");
        }
        assert_eq!(y.to_vec().unwrap(), [1.0; 9]);
        assert_eq!(model.reports(), [""; 0]);
    }
}
