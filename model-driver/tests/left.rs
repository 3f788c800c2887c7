//! Leftovers: work and memory of streams that are gone, of launches that have failed and of captures, and code for a
//! driver that refuses some.

use super::owners::Owned;
use super::{driver, driver_of_thread, enter, hand_made, hold_at, over, without_tuning};
use std::sync::mpsc::channel;
use std::time::Duration;
use tilewright_runtime::{Buffer, Error, Runtime, Stream};

/// Its owner destroys it after the last launch, and the buffers are dropped later.
#[test]
fn the_work_of_a_stream_that_is_gone_is_waited_for() {
    for seed in 0..20 {
        let (model, rt, k, _here) = over(seed);
        let owned = Owned::new(&rt, 1).unwrap();
        // SAFETY: the stream is destroyed after its names.
        let s = unsafe { Stream::from_raw(&rt, owned.raw()) }.unwrap();
        let (x, mut y) = (rt.zeros::<f32>(99).unwrap(), rt.zeros::<f32>(99).unwrap());
        rt.launch_on(&s, hand_made::call(k, &x, &mut y)).unwrap();
        drop(s);
        drop(owned);
        drop((x, y));
        let z = rt.zeros::<f32>(99).unwrap();
        assert_eq!(model.reports(), [""; 0], "seed {seed}");
        drop((z, rt));
        assert_eq!((model.reports(), model.counts().blocks), (vec![], 0), "seed {seed}");
    }
}

/// Many names of streams that are gone, in a program that frees nothing. When the device is done with most of their
/// work, events are used again and the default stream waits for none.
#[test]
fn what_streams_have_left_does_not_add_up() {
    for is_done in [false, true] {
        let (model, rt, k, _here) = over(1);
        let [first, second] = [1, 1].map(|flags| Owned::new(&rt, flags).unwrap());
        let (x, mut y) = (rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap());
        rt.synchronize().unwrap();
        let before = model.calls();
        for i in 0..1000 {
            let owned = if i % 2 == 0 || !is_done { &first } else { &second };
            // SAFETY: the stream is destroyed after its names.
            let s = unsafe { Stream::from_raw(&rt, owned.raw()) }.unwrap();
            rt.launch_on(&s, hand_made::call(k, &x, &mut y)).unwrap();
            if is_done {
                s.synchronize().unwrap();
            }
        }
        let counted = |name| model.calls().get(name).copied().unwrap_or(0) - before.get(name).copied().unwrap_or(0);
        let events = counted("cuEventCreate") - counted("cuEventDestroy_v2");
        assert!(events <= 100, "{events} events");
        if is_done {
            let calls = ["cuEventCreate", "cuEventRecord", "cuEventQuery", "cuStreamWaitEvent"].map(counted);
            println!("calls of 1000 drops: {calls:?} of created, recorded, queried and waited");
            // Each name of a stream waits for the allocations of the buffers, by an event of its own.
            assert_eq!([calls[0], calls[1], calls[3]], [1008, 2000, 1000]);
            assert!(model.calls().get("cuEventDestroy_v2").is_some_and(|&n| n <= 1000));
        }
        assert_eq!(model.reports(), [""; 0]);
        drop((first, second));
        drop((x, y, rt));
        assert_eq!((model.reports(), model.counts().events), (vec![], 0));
    }
}

#[test]
fn tuning_is_behind_the_work_on_its_scratch() {
    for seed in 0..20 {
        let (model, rt, k, _here) = over(seed);
        let (a, b) = (Stream::new(&rt).unwrap(), Stream::new(&rt).unwrap());
        let x = rt.zeros::<f32>(64).unwrap();
        let mut used = a.scratch::<f32>(64).unwrap();
        rt.launch_on(&a, hand_made::call(k, &x, &mut used)).unwrap();
        rt.tune(&b, hand_made::call(k, &x, &mut used)).unwrap();
        drop(used);
        rt.launch_on(&a, hand_made::call(k, &x, &mut a.scratch::<f32>(64).unwrap())).unwrap();
        assert_eq!(model.reports(), [""; 0], "seed {seed}");
    }
}

/// The thread that leases asks whether its stream is captured, makes room, and waits for its stream.
#[test]
fn a_lease_and_a_capture_of_its_stream_do_not_wait_for_each_other() {
    let (model, rt, k, _here) = over(3);
    let s = Stream::new(&rt).unwrap();
    let (x, mut y) = (rt.zeros::<f32>(64).unwrap(), rt.zeros::<f32>(64).unwrap());
    // As many blocks as are kept.
    drop((0..32).map(|_| s.scratch::<f32>(64).unwrap()).collect::<Vec<_>>());
    rt.launch_on(&s, hand_made::call(k, &x, &mut y)).unwrap();
    let (held, go_on) = hold_at(&model, "cuStreamGetCaptureInfo_v2");
    let (calls, (done, ended)) = (driver_of_thread(), channel());
    let (there, leased, all_done) = (model.clone(), s.clone(), done.clone());
    std::thread::spawn(move || {
        let _here = enter(&there, calls);
        drop(leased.scratch::<f32>(1 << 16));
        let _ = all_done.send(());
    });
    held.recv_timeout(Duration::from_secs(20)).expect("it asks for the capture");
    let (there, captured) = (model.clone(), s.clone());
    std::thread::spawn(move || {
        let _here = enter(&there, calls);
        drop(captured.capture(|_| Ok(())));
        let _ = done.send(());
    });
    std::thread::sleep(Duration::from_millis(100));
    let _ = go_on.send(());
    for _ in 0..2 {
        ended.recv_timeout(Duration::from_secs(20)).expect("neither waits for the other");
    }
    assert_eq!(model.reports(), [""; 0]);
}

/// The first launch writes to the scratch that the second one is to clear.
#[test]
fn scratch_is_zero_again_after_a_launch_has_failed() {
    let (model, rt, k, _here) = over(4);
    let s = Stream::new(&rt).unwrap();
    let (x, mut y) = (rt.zeros::<f32>(64).unwrap(), rt.zeros::<f32>(64).unwrap());
    // SAFETY: a launch that fails need not leave zeros.
    let mut dirty = unsafe { s.zeroed_scratch::<f32>(64) }.unwrap();
    let first = dirty.raw().addr();
    rt.launch_on(&s, hand_made::call(k, &x, &mut dirty)).unwrap();
    model.fail(Some("cuLaunchKernel"), 0, 1);
    rt.launch_on(&s, hand_made::call(k, &x, &mut dirty)).unwrap_err();
    assert!(model.fail_no_more());
    drop(dirty);
    // SAFETY: it is only read.
    let again = unsafe { s.zeroed_scratch::<f32>(64) }.unwrap();
    assert_eq!(again.raw().addr(), first);
    rt.launch_on(&s, hand_made::call(k, &again, &mut y)).unwrap();
    assert_eq!(y.to_vec_on(&s).unwrap(), [1.0; 64]);
    assert_eq!(model.reports(), [""; 0]);
}

/// Of another context: its kernels have nothing to do with this one's memory.
#[test]
fn scratch_of_one_context_does_not_care_about_the_launches_of_another() {
    let (model, primary, k, _here) = over(8);
    let _own = model.new_context();
    let rt = without_tuning(Runtime::current().unwrap());
    let s = Stream::new(&rt).unwrap();
    let x = primary.zeros::<f32>(64).unwrap();
    let mut y = primary.zeros::<f32>(64).unwrap();
    let fills = || model.calls()["cuMemsetD8Async"];
    for (is_across, cleared) in [(false, 0), (true, 1)] {
        // SAFETY: no launch writes it.
        let mut kept = unsafe { s.zeroed_scratch::<f32>(64) }.unwrap();
        let before = fills();
        if is_across {
            primary.launch(hand_made::call(k, &x, &mut kept)).unwrap_err();
        } else {
            model.fail(Some("cuLaunchKernel"), 0, 1);
            primary.launch(hand_made::call(k, &x, &mut y)).unwrap_err();
            assert!(model.fail_no_more());
        }
        drop(kept);
        assert_eq!(fills() - before, cleared, "the other context is given this one's memory: {is_across}");
    }
    assert_eq!(model.reports(), [""; 0]);
}

/// It could not be freed while a stream that has used it was captured.
#[test]
fn memory_that_waits_is_there_for_an_allocation() {
    const LEN: usize = 1 << 16;
    let (model, rt, k, _here) = over(5);
    let s = Stream::new(&rt).unwrap();
    let (x, mut y): (Buffer<f32>, Buffer<f32>) = (rt.zeros(LEN).unwrap(), rt.zeros(64).unwrap());
    rt.launch_on(&s, hand_made::call(k, x.slice(..64).unwrap(), &mut y)).unwrap();
    let mut graph = 0;
    // SAFETY: a live stream; nobody has the graph.
    unsafe {
        assert_eq!(driver::begin_capture(s.as_raw(), 2), 0);
        drop(x);
        assert_eq!(driver::end_capture(s.as_raw(), &mut graph), 0);
        driver::destroy_graph(graph);
    }
    model.set_capacity((LEN * size_of::<f32>() + 4096) as u64);
    drop(rt.alloc::<f32>(LEN).expect("the memory is free to go"));
    assert_eq!(model.reports(), [""; 0]);
}

const UNSUPPORTED_PTX_VERSION: u32 = 222;

/// The driver is too old for the PTX of the newest target that the device runs. It says so when it is given the PTX, or
/// when it is asked for the kernel.
#[test]
fn code_for_an_older_target_is_left_to_an_older_driver() {
    for refuses in ["cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetAttribute", "cuKernelGetFunction"] {
        let (model, rt, _, _here) = over(6);
        let k = hand_made::add_for_two();
        model.register(k);
        let (x, mut y) = (rt.zeros::<f32>(64).unwrap(), rt.zeros::<f32>(64).unwrap());
        model.fail(Some(refuses), 0, UNSUPPORTED_PTX_VERSION);
        rt.launch(hand_made::call(k, &x, &mut y)).unwrap();
        assert!(model.fail_no_more());
        assert_eq!(y.to_vec().unwrap(), [1.0; 64]);
        assert_eq!((model.calls()["cuLibraryLoadData"], model.counts().libraries), (2, 1), "{refuses}");
    }
}

/// Neither target's code loads, for two reasons.
#[test]
fn the_errors_of_all_targets_are_reported() {
    const INVALID_PTX: u32 = 218;
    let (model, rt, _, _here) = over(7);
    let k = hand_made::add_for_two();
    model.register(k);
    let (x, mut y) = (rt.zeros::<f32>(64).unwrap(), rt.zeros::<f32>(64).unwrap());
    model.fail(Some("cuLibraryLoadData"), 0, UNSUPPORTED_PTX_VERSION);
    model.refuse("cuLibraryGetKernel", INVALID_PTX);
    let e = rt.launch(hand_made::call(k, &x, &mut y)).unwrap_err();
    assert!(matches!(e, Error::DriverTooOld { .. }), "{e}");
    let text = e.to_string();
    let [first, later] = ["support for this version of PTX", "does not load either: "].map(|t| text.find(t));
    assert!(first.is_some() && first < later, "{text}");
    assert_eq!(model.counts().libraries, 0);
}
