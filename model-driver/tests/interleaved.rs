//! Calls of other threads between two calls into the driver of one function.

use super::borrowed::{allocated_by_others, failing, launched_on_theirs};
use super::{driver, enter, hand_made, hold_at, over};
use std::sync::mpsc::channel;
use std::time::Duration;
use tilewright_model_driver::{Kind, Model};
use tilewright_runtime::Stream;

/// Runs `one` on another thread, and `two` here while that thread is held before its next call of a function.
fn between(model: &Model, call: &'static str, one: impl FnOnce() + Send, two: impl FnOnce()) {
    let (held, go_on) = hold_at(model, call);
    let calls = super::driver_of_thread();
    std::thread::scope(|scope| {
        let there = model.clone();
        scope.spawn(move || {
            let _here = enter(&there, calls);
            one();
        });
        held.recv_timeout(Duration::from_secs(30)).expect("the call is never made");
        two();
        let _ = go_on.send(());
    });
    model.before_calls(|_| ());
}

/// A graph's memory is mapped while the graph runs. Scratch that a stream keeps is used outside of it, too.
#[test]
fn scratch_that_is_leased_while_a_capture_begins_is_not_of_its_graph() {
    let (model, rt, k, _here) = over(21);
    let s = Stream::new(&rt).unwrap();
    let (x, mut y) = (rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap());
    let (held, go_on) = hold_at(&model, "cuMemAllocFromPoolAsync");
    let (calls, (leased, is_leased)) = (super::driver_of_thread(), channel());
    let graph = std::thread::scope(|scope| {
        let (there, s) = (model.clone(), &s);
        scope.spawn(move || {
            let _here = enter(&there, calls);
            drop(s.scratch::<f32>(9).unwrap());
            leased.send(()).unwrap();
        });
        held.recv_timeout(Duration::from_secs(30)).expect("the call is never made");
        // The capture may wait for the lease: then the other thread goes on after its time.
        s.capture(|_| {
            let _ = go_on.send(());
            is_leased.recv().unwrap();
            Ok(())
        })
    });
    drop(graph.unwrap());
    model.before_calls(|_| ());
    let mut scratch = s.scratch::<f32>(9).unwrap();
    rt.launch_on(&s, hand_made::call(k, &x, &mut scratch)).unwrap();
    rt.launch_on(&s, hand_made::call(k, &scratch, &mut y)).unwrap();
    drop(scratch);
    assert_eq!(y.to_vec().unwrap(), [2.0; 9]);
    drop((x, y, s, rt));
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

/// The same where another library captures its own stream: the lease fails, and no memory of the graph is kept.
#[test]
fn scratch_is_not_leased_while_a_capture_of_another_library_begins() {
    let (model, rt, k, _here) = over(22);
    let (x, mut y) = (rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap());
    let (mut theirs, mut graph) = (core::ptr::null_mut(), 0);
    // SAFETY: calls as cuda.h has them; the stream is destroyed after all who name it.
    unsafe {
        assert_eq!(driver::create_stream(&mut theirs, 1), 0);
        let s = Stream::from_raw(&rt, theirs).unwrap();
        let leased = || assert!(s.scratch::<f32>(9).is_err());
        let begun = theirs as usize;
        between(&model, "cuMemAllocFromPoolAsync", leased, || {
            assert_eq!(driver::begin_capture(begun as *mut _, 2), 0);
        });
        assert_eq!((driver::end_capture(theirs, &mut graph), driver::destroy_graph(graph)), (0, 0));
        let mut scratch = s.scratch::<f32>(9).unwrap();
        rt.launch_on(&s, hand_made::call(k, &x, &mut scratch)).unwrap();
        rt.launch_on(&s, hand_made::call(k, &scratch, &mut y)).unwrap();
        drop(scratch);
        assert_eq!(y.to_vec().unwrap(), [2.0; 9]);
        drop((x, y, s));
        assert_eq!(driver::destroy_stream(theirs), 0);
    }
    drop(rt);
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

/// Scratch that is leased before a capture and used in it is the graph's.
#[test]
fn scratch_that_a_graph_uses_is_not_leased_again() {
    let (model, rt, k, _here) = over(23);
    let (s, t) = (Stream::new(&rt).unwrap(), Stream::new(&rt).unwrap());
    let x = rt.zeros::<f32>(9).unwrap();
    let mut scratch = s.scratch::<f32>(9).unwrap();
    let graph = s.capture(|s| rt.launch_on(s, hand_made::call(k, &x, &mut scratch))).unwrap();
    drop(scratch);
    let mut again = s.scratch::<f32>(9).unwrap();
    // SAFETY: the array is alive, and the graph has scratch of its own.
    unsafe { graph.replay(&t) }.unwrap();
    rt.launch_on(&s, hand_made::call(k, &x, &mut again)).unwrap();
    drop((again, graph, x, s, t, rt));
    assert_eq!((model.reports_of(Kind::Memory), model.reports_of(Kind::Race)), (vec![], vec![]));
}

/// A stream that has waited for an allocation has not waited for the zeros that are put behind it.
#[test]
fn a_buffer_is_not_used_before_its_zeros() {
    let (model, rt, k, _here) = over(24);
    let s = Stream::new(&rt).unwrap();
    let (x, mut y) = (rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap());
    let zeroed = || {
        let mut z = rt.zeros::<f32>(9).unwrap();
        rt.launch_on(&s, hand_made::call(k, &x, &mut z)).unwrap();
        assert_eq!(z.to_vec_on(&s).unwrap(), [1.0; 9]);
    };
    between(&model, "cuMemsetD8Async", zeroed, || rt.launch_on(&s, hand_made::call(k, &x, &mut y)).unwrap());
    assert_eq!(model.reports(), [""; 0]);
}

/// The work of another library's stream is not noted by an event that its capture records.
#[test]
fn an_event_of_a_capture_does_not_stay() {
    let (model, rt, k, _here) = over(25);
    let [x, mut y, other] = [(); 3].map(|()| rt.zeros::<f32>(9).unwrap());
    let mut blocking = core::ptr::null_mut();
    // SAFETY: calls as cuda.h has them; the streams are destroyed after all who name them.
    unsafe {
        let (s, theirs) = launched_on_theirs(&rt, hand_made::call(k, &x, &mut y));
        assert_eq!(driver::create_stream(&mut blocking, 0), 0);
        // The default stream cannot wait, so that the work is noted.
        assert_eq!(driver::begin_capture(blocking, 2), 0);
        let begun = theirs as usize;
        between(&model, "cuEventRecord", || drop(other), || assert_eq!(driver::begin_capture(begun as *mut _, 2), 0));
        for stream in [theirs, blocking] {
            let mut graph = 0;
            assert_eq!((driver::end_capture(stream, &mut graph), driver::destroy_graph(graph)), (0, 0));
        }
        assert_eq!(y.to_vec().unwrap(), [1.0; 9]);
        drop((x, y, s));
        assert_eq!((driver::destroy_stream(theirs), driver::destroy_stream(blocking)), (0, 0));
    }
    drop(rt);
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

/// One thread waits to give tensors back, and another one leaves the stream that uses them.
#[test]
fn a_tensor_stays_while_a_foreign_stream_that_uses_it_is_left() {
    let (model, rt, k, _here) = over(26);
    let [x, mut y, mut z] = [(); 3].map(|()| rt.zeros::<f32>(9).unwrap());
    // The first stream that is waited for.
    let first = Stream::new(&rt).unwrap();
    rt.launch_on(&first, hand_made::call(k, &x, &mut z)).unwrap();
    let [t, u] = [(); 2].map(|()| allocated_by_others(&rt));
    // SAFETY: calls as cuda.h has them; the stream is destroyed after all who name it.
    unsafe {
        let (s, theirs) = launched_on_theirs(&rt, hand_made::call(k, t.slice::<f32>().unwrap(), &mut y));
        let fails = failing(&model, &["cuEventRecord"]);
        drop(t);
        drop(fails);
        // The wait of the second fails, too, and the stream is left meanwhile.
        let left = || {
            drop(s);
            model.fail(Some("cuEventRecord"), 0, 2);
        };
        between(&model, "cuEventRecord", || drop(u), left);
        assert!(model.fail_no_more(), "the wait has failed");
        assert_eq!(driver::destroy_stream(theirs), 0);
    }
    // It frees the memory that could not be freed before.
    drop((x, y, z, first, rt));
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

/// Another thread begins a capture before a copy to the host is enqueued, and ends it before the copy is waited for:
/// the copy would be a node of the graph, and nothing would have been read.
#[test]
fn a_copy_to_the_host_is_of_no_capture() {
    let (model, rt, _, _here) = over(27);
    let s = Stream::new(&rt).unwrap();
    let x = rt.from_slice(&[3f32; 9]).unwrap();
    let (enqueues, goes_on) = hold_at(&model, "cuMemcpyDtoHAsync_v2");
    let (calls, (read, is_read)) = (super::driver_of_thread(), channel());
    let graph = std::thread::scope(|scope| {
        let (there, s, x) = (model.clone(), &s, &x);
        scope.spawn(move || {
            let _here = enter(&there, calls);
            let values = x.to_vec_on(s);
            read.send((values, there.hand_over())).unwrap();
        });
        enqueues.recv_timeout(Duration::from_secs(30)).expect("nothing is copied");
        // The capture may wait for the copy: then the other thread goes on after its time.
        s.capture(|_| {
            let (waits, _goes_on) = hold_at(&model, "cuStreamSynchronize");
            let _ = goes_on.send(());
            let _ = waits.recv_timeout(Duration::from_millis(300));
            Ok(())
        })
    });
    drop(graph.unwrap());
    model.before_calls(|_| ());
    let (values, end) = is_read.recv().unwrap();
    model.accept(&end);
    assert_eq!(values.unwrap(), [3.0; 9]);
    drop((x, s, rt));
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

/// A graph would copy the saved outputs on each replay, whose memory is freed after the search.
#[test]
fn a_stream_is_not_captured_while_another_thread_tunes_on_it() {
    let (model, rt, k, _here) = over(28);
    let s = Stream::new(&rt).unwrap();
    let (x, mut y) = (rt.zeros::<f32>(9).unwrap(), rt.from_slice(&[5f32; 9]).unwrap());
    let mut graph = None;
    let tuned = || drop(rt.tune(&s, hand_made::call(k, &x, &mut y)).unwrap());
    between(&model, "cuMemcpyDtoDAsync_v2", tuned, || graph = Some(s.capture(|_| Ok(()))));
    let refused = graph.unwrap().err().expect("a capture began").to_string();
    assert!(refused.contains("another thread tunes"), "{refused}");
    assert_eq!(y.to_vec().unwrap(), [5.0; 9]);
    s.capture(|_| Ok(())).unwrap();
    drop((x, y, s, rt));
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}
