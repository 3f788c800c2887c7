//! Memory and streams of other libraries, and when they get them back.

use super::{driver, hand_made, over, without_tuning};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tilewright_model_driver::{Kind, Model};
use tilewright_runtime::dlpack::{DLDataType, DLDevice, DLManagedTensor, DLTensor, DlpackTensor};
use tilewright_runtime::{Buffer, Call, Error, KernelDesc, Runtime, Scratch, Stream};

type Deleter = Box<dyn FnOnce() + Send>;

/// Elements as a tensor of another library, which `delete` gives back.
pub fn tensor(rt: &Runtime, addr: u64, len: usize, delete: impl FnOnce() + Send + 'static) -> DlpackTensor {
    unsafe extern "C" fn give_back(t: *mut DLManagedTensor) {
        // SAFETY: made below, and given back once.
        unsafe {
            let t = Box::from_raw(t);
            drop(Box::from_raw(t.dl_tensor.shape));
            Box::from_raw(t.manager_ctx.cast::<Deleter>())();
        }
    }
    let delete: Deleter = Box::new(delete);
    let managed = DLManagedTensor {
        dl_tensor: DLTensor {
            data: addr as *mut _,
            device: DLDevice { device_type: 2, device_id: 0 },
            ndim: 1,
            dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
            shape: Box::into_raw(Box::new(len as i64)),
            strides: core::ptr::null_mut(),
            byte_offset: 0,
        },
        manager_ctx: Box::into_raw(Box::new(delete)).cast(),
        deleter: Some(give_back),
    };
    // SAFETY: a valid tensor, which is consumed once; the tests keep the buffer.
    unsafe { DlpackTensor::from_managed(rt, Box::into_raw(Box::new(managed))) }.unwrap()
}

#[test]
fn a_borrowed_tensor_is_returned_after_the_work() {
    let (model, rt, k, _here) = over(8);
    let x = Buffer::from_slice(&rt, &[1.0f32; 40]).unwrap();
    let mut y = rt.zeros::<f32>(40).unwrap();
    let s = Stream::new(&rt).unwrap();
    let seen = Arc::new(Mutex::new(None));
    let (there, other) = (seen.clone(), model.clone());
    let t = tensor(&rt, x.addr(), x.len(), move || *there.lock().unwrap() = Some(other.calls()["cuStreamSynchronize"]));
    s.wait_for(rt.stream()).unwrap();
    rt.launch_on(&s, hand_made::call(k, t.slice::<f32>().unwrap(), &mut y)).unwrap();
    let before = model.calls()["cuStreamSynchronize"];
    drop(t);
    assert!(seen.lock().unwrap().expect("the deleter ran") > before, "the host waited before");
    drop((x, y));
    assert_eq!(model.reports(), [""; 0]);
}

/// The owner frees the memory in the order of one stream, and a launch elsewhere would still use it.
#[test]
fn a_tensor_for_a_stream_is_for_no_other_one() {
    let (model, rt, k, _here) = over(11);
    let s = Stream::new(&rt).unwrap();
    let (mut addr, bytes, raw) = (0, 40 * size_of::<f32>(), s.as_raw() as usize);
    // SAFETY: room for the address; a context is current, and the stream lives.
    unsafe {
        assert_eq!(driver::allocate(&mut addr, bytes, raw as *mut _), 0);
        assert_eq!(driver::fill(addr, 0, bytes, raw as *mut _), 0);
    }
    // SAFETY: it is freed once, on a live stream.
    let t = tensor(&rt, addr, 40, move || assert_eq!(unsafe { driver::free(addr, raw as *mut _) }, 0));
    // SAFETY: the memory is freed on that stream.
    let t = unsafe { t.for_stream(&s) };
    let mut y = rt.zeros::<f32>(40).unwrap();
    for other in [rt.stream().clone(), Stream::new(&rt).unwrap()] {
        let refused = rt.launch_on(&other, hand_made::call(k, t.slice::<f32>().unwrap(), &mut y)).unwrap_err();
        assert!(matches!(refused, Error::StreamOfArgument { param: "x", .. }), "{refused}");
    }
    rt.launch_on(&s, hand_made::call(k, t.slice::<f32>().unwrap(), &mut y)).unwrap();
    let waits = || model.calls().get("cuStreamSynchronize").copied();
    let before = waits();
    drop(t);
    assert_eq!(waits(), before, "the host does not wait");
    drop((y, s));
    assert_eq!(model.reports(), [""; 0]);
}

/// A tensor that could not be given back before goes with its context, whose runtime is forgotten by a later call.
#[test]
fn a_deleter_calls_the_library_while_a_runtime_is_forgotten() {
    let (model, _primary, k, _here) = over(9);
    let own = model.new_context();
    let rt = without_tuning(Runtime::current().unwrap());
    let (x, mut y) = (rt.zeros::<f32>(40).unwrap(), rt.zeros::<f32>(40).unwrap());
    let (calls, deleted) = (super::driver_of_thread(), Arc::new(AtomicUsize::new(0)));
    let (there, counted) = (model.clone(), deleted.clone());
    let t = tensor(&rt, x.addr(), x.len(), move || {
        let _here = super::enter(&there, calls);
        let _ = Runtime::current();
        let _ = Runtime::cuda(0);
        counted.fetch_add(1, Release);
    });
    let s = Stream::new(&rt).unwrap();
    rt.launch_on(&s, hand_made::call(k, t.slice::<f32>().unwrap(), &mut y)).unwrap();
    model.fail(Some("cuEventRecord"), 0, 2);
    drop(t);
    assert!(model.fail_no_more());
    assert_eq!(deleted.load(Acquire), 0, "the wait has failed");
    drop((x, y, s, rt));
    model.destroy_context(own);
    // A thread that waits for its own lock does not end.
    let ((done, ended), there) = (channel(), model.clone());
    std::thread::spawn(move || {
        let _here = super::enter(&there, calls);
        let _ = Runtime::current();
        let _ = done.send(());
    });
    ended.recv_timeout(Duration::from_secs(20)).expect("the call ends");
    assert_eq!(deleted.load(Acquire), 1);
}

/// Nine elements that another library allocates, and frees on a stream of its own.
pub fn allocated_by_others(rt: &Runtime) -> DlpackTensor {
    let (mut addr, bytes) = (0, 9 * size_of::<f32>());
    // SAFETY: room for the address; a context is current.
    unsafe {
        assert_eq!(driver::allocate(&mut addr, bytes, core::ptr::null_mut()), 0);
        assert_eq!(driver::fill(addr, 0, bytes, core::ptr::null_mut()), 0);
    }
    // SAFETY: it is freed once, on a live stream.
    let delete = move || unsafe {
        let mut own = core::ptr::null_mut();
        assert_eq!((driver::create_stream(&mut own, 1), driver::free(addr, own)), (0, 0));
        assert_eq!(driver::destroy_stream(own), 0);
    };
    tensor(rt, addr, 9, delete)
}

/// A stream of another library on which a kernel was launched behind the default stream's work, and its handle.
///
/// # Safety
/// As of [`Stream::from_raw`]: the handle is destroyed after the stream is dropped.
pub unsafe fn launched_on_theirs(rt: &Runtime, call: Call) -> (Stream, *mut core::ffi::c_void) {
    let mut theirs = core::ptr::null_mut();
    // SAFETY: room for the handle.
    assert_eq!(unsafe { driver::create_stream(&mut theirs, 1) }, 0);
    // SAFETY: the caller's contract.
    let s = unsafe { Stream::from_raw(rt, theirs) }.unwrap();
    s.wait_for(rt.stream()).unwrap();
    rt.launch_on(&s, call).unwrap();
    (s, theirs)
}

/// A stream of another library, and one that blocks the default stream while it is captured.
struct Foreign {
    theirs: *mut core::ffi::c_void,
    blocking: *mut core::ffi::c_void,
    graph: usize,
}

impl Foreign {
    /// Uses two arrays on the stream, and drops them and its name here while the default stream cannot wait for it.
    fn use_and_drop(rt: &Runtime, k: &'static KernelDesc, x: Buffer<f32>, mut y: Buffer<f32>) -> Foreign {
        let (mut blocking, mut graph) = (core::ptr::null_mut(), 0);
        // SAFETY: calls as cuda.h has them; the streams are destroyed after all who name them.
        unsafe {
            let (s, theirs) = launched_on_theirs(rt, hand_made::call(k, &x, &mut y));
            assert_eq!(driver::create_stream(&mut blocking, 0), 0);
            assert_eq!(driver::begin_capture(blocking, 2), 0);
            drop((x, y));
            drop(s);
            assert_eq!(driver::end_capture(blocking, &mut graph), 0);
            Foreign { theirs, blocking, graph }
        }
    }

    fn destroy(self) {
        // SAFETY: nobody names them any more.
        unsafe {
            let streams = (driver::destroy_stream(self.theirs), driver::destroy_stream(self.blocking));
            assert_eq!((streams, driver::destroy_graph(self.graph)), ((0, 0), 0));
        }
    }
}

/// Their work was not ordered before the default stream, which could not wait.
#[test]
fn an_array_outlives_a_foreign_stream_that_uses_it() {
    for seed in 0..8 {
        let (model, rt, k, _here) = over(seed);
        let [x, y, other] = [(); 3].map(|()| rt.zeros::<f32>(9).unwrap());
        let foreign = Foreign::use_and_drop(&rt, k, x, y);
        drop(other);
        assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
        foreign.destroy();
        drop(rt);
        assert_eq!((model.reports(), model.counts().events), (vec![], 0));
    }
}

/// The default stream is captured where a stream is that waits for it, as `cuStreamCreate` makes it without a flag.
#[test]
fn scratch_of_a_foreign_stream_is_freed_after_a_capture() {
    for destroyed in [false, true] {
        let (model, rt, k, _here) = over(10);
        let (x, mut y) = (rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap());
        let (mut theirs, mut blocking, mut graph) = (core::ptr::null_mut(), core::ptr::null_mut(), 0);
        // SAFETY: calls as cuda.h has them; the stream is destroyed after all who name it.
        unsafe {
            assert_eq!(driver::create_stream(&mut theirs, 1), 0);
            let s = Stream::from_raw(&rt, theirs).unwrap();
            s.wait_for(rt.stream()).unwrap();
            let mut scratch = s.scratch::<f32>(9).unwrap();
            rt.launch_on(&s, hand_made::call(k, &x, &mut scratch)).unwrap();
            rt.launch_on(&s, hand_made::call(k, &scratch, &mut y)).unwrap();
            drop(scratch);
            rt.stream().wait_for(&s).unwrap();
            assert_eq!(driver::create_stream(&mut blocking, 0), 0);
            assert_eq!(driver::begin_capture(blocking, 2), 0);
            let blocks = model.counts().blocks;
            drop(s);
            assert_eq!(model.counts().blocks, blocks, "the default stream cannot wait");
            if destroyed {
                assert_eq!(driver::destroy_stream(theirs), 0);
            }
            assert_eq!(driver::end_capture(blocking, &mut graph), 0);
            assert_eq!((driver::destroy_graph(graph), driver::destroy_stream(blocking)), (0, 0));
            assert_eq!(y.to_vec().unwrap(), [2.0; 9]);
            drop(y);
            assert_eq!(model.counts().blocks, blocks - 2, "the array's and the scratch");
            if !destroyed {
                assert_eq!(driver::destroy_stream(theirs), 0);
            }
        }
        drop((x, rt));
        assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
    }
}

/// One thread is held after it has taken the work that such a stream has left, before it enqueues the wait for it.
#[test]
fn two_threads_wait_for_a_foreign_stream_that_is_gone() {
    let (model, rt, k, _here) = over(11);
    let [x, y, other, mut read] = [(); 4].map(|()| rt.zeros::<f32>(9).unwrap());
    let foreign = Foreign::use_and_drop(&rt, k, x, y);
    let (held, go_on) = super::hold_at(&model, "cuStreamWaitEvent");
    let calls = super::driver_of_thread();
    std::thread::scope(|scope| {
        let (there, read) = (model.clone(), &mut read);
        scope.spawn(move || {
            let _here = super::enter(&there, calls);
            read.copy_from(&[1.0; 9]).unwrap();
        });
        held.recv().unwrap();
        drop(other);
        let _ = go_on.send(());
    });
    assert_eq!(model.reports(), [""; 0]);
    drop(read);
    foreign.destroy();
    drop(rt);
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

/// The free of an array cannot ask for the context, and the stream is gone at the next free.
#[test]
fn an_array_whose_free_fails_outlives_a_foreign_stream_that_uses_it() {
    for name in ["cuCtxGetCurrent", "cuEventRecord"] {
        let (model, rt, k, _here) = over(12);
        let [x, mut y, other] = [(); 3].map(|()| rt.zeros::<f32>(9).unwrap());
        // SAFETY: a call as cuda.h has it; the stream is destroyed after all who name it.
        unsafe {
            let (s, theirs) = launched_on_theirs(&rt, hand_made::call(k, &x, &mut y));
            for array in [x, y] {
                model.fail(Some(name), 0, 2);
                drop(array);
                assert!(model.fail_no_more(), "{name} was called");
            }
            drop(s);
            assert_eq!(driver::destroy_stream(theirs), 0);
        }
        drop((other, rt));
        assert_eq!((model.reports(), model.counts().blocks), (vec![], 0), "{name}");
    }
}

/// Uses scratch of a foreign stream, which is destroyed after `give_back` has dropped the scratch. Then all is freed.
fn scratch_of_theirs(seed: u64, what: &str, give_back: impl FnOnce(&Model, Scratch<f32>)) {
    let (model, rt, k, _here) = over(seed);
    let (x, mut theirs) = (rt.zeros::<f32>(9).unwrap(), core::ptr::null_mut());
    // SAFETY: calls as cuda.h has them; the stream is destroyed after all who name it.
    unsafe {
        assert_eq!(driver::create_stream(&mut theirs, 1), 0);
        let s = Stream::from_raw(&rt, theirs).unwrap();
        let mut scratch = s.scratch::<f32>(9).unwrap();
        rt.launch_on(&s, hand_made::call(k, &x, &mut scratch)).unwrap();
        give_back(&model, scratch);
        rt.stream().wait_for(&s).unwrap();
        drop(s);
        assert_eq!(driver::destroy_stream(theirs), 0);
    }
    drop((x, rt));
    let counts = model.counts();
    assert_eq!((model.reports(), counts.blocks, counts.events), (vec![], 0, 0), "{what}");
}

/// If the use of scratch cannot be noted, the host waits for it.
#[test]
fn scratch_of_a_foreign_stream_is_freed_where_its_use_is_not_noted() {
    for name in ["cuEventCreate", "cuEventRecord"] {
        scratch_of_theirs(13, name, |model, scratch| {
            model.fail(Some(name), 0, 2);
            drop(scratch);
            assert!(model.fail_no_more(), "{name} was called");
        });
    }
}

/// Each call of these names fails until the result is dropped.
pub fn failing(model: &Model, names: &'static [&'static str]) -> impl Drop + use<> {
    struct Failing(Model);
    impl Drop for Failing {
        fn drop(&mut self) {
            self.0.before_calls(|_| ());
            self.0.fail_no_more();
        }
    }
    let there = model.clone();
    model.before_calls(move |name| {
        if names.contains(&name) {
            there.fail(Some(name), 0, 2);
        }
    });
    Failing(model.clone())
}

/// As above, and the work of the stream can be noted only when its name is dropped, or not even then.
#[test]
fn an_array_stays_where_no_call_orders_its_free() {
    for stays in [false, true] {
        let (model, rt, k, _here) = over(14);
        let [x, mut y, other] = [(); 3].map(|()| rt.zeros::<f32>(9).unwrap());
        // SAFETY: a call as cuda.h has it; the stream is destroyed after all who name it.
        unsafe {
            let (s, theirs) = launched_on_theirs(&rt, hand_made::call(k, &x, &mut y));
            let fails = failing(&model, &["cuEventRecord", "cuStreamSynchronize"]);
            drop((x, y));
            if stays {
                drop(s);
                drop(fails);
            } else {
                drop(fails);
                drop(s);
            }
            assert_eq!(driver::destroy_stream(theirs), 0);
        }
        drop((other, rt));
        assert_eq!((model.reports_of(Kind::Memory), model.counts().blocks), (vec![], if stays { 2 } else { 0 }));
    }
}

/// A tensor whose work could not be noted goes back where its context is gone: no kernel runs there.
#[test]
fn a_tensor_of_a_destroyed_context_is_given_back_behind_a_foreign_stream() {
    let (model, _primary, k, _here) = over(15);
    let own = model.new_context();
    let rt = without_tuning(Runtime::current().unwrap());
    let (x, mut y) = (rt.zeros::<f32>(9).unwrap(), rt.zeros::<f32>(9).unwrap());
    let deleted = Arc::new(AtomicUsize::new(0));
    let counted = deleted.clone();
    let t = tensor(&rt, x.addr(), x.len(), move || {
        counted.fetch_add(1, Release);
    });
    // SAFETY: the stream ends with its context, behind all who use its handle.
    let (s, _theirs) = unsafe { launched_on_theirs(&rt, hand_made::call(k, t.slice::<f32>().unwrap(), &mut y)) };
    let fails = failing(&model, &["cuEventRecord"]);
    drop(t);
    drop(fails);
    assert_eq!(deleted.load(Acquire), 0, "the wait has failed");
    model.destroy_context(own);
    drop((s, x, y, rt));
    // The next runtime lets that of the destroyed context go.
    let _other = model.new_context();
    drop(Runtime::current().unwrap());
    assert_eq!(deleted.load(Acquire), 1);
}

/// A question of the driver that fails does not say that a context is gone.
#[test]
fn an_array_outlives_a_foreign_stream_where_the_context_cannot_be_asked_for() {
    let (model, rt, k, _here) = over(16);
    let [x, mut y, other] = [(); 3].map(|()| rt.zeros::<f32>(9).unwrap());
    // SAFETY: calls as cuda.h has them; the streams are destroyed after all who name them.
    unsafe {
        let (s, theirs) = launched_on_theirs(&rt, hand_made::call(k, &x, &mut y));
        let (mut blocking, mut graph) = (core::ptr::null_mut(), 0);
        assert_eq!((driver::create_stream(&mut blocking, 0), driver::begin_capture(blocking, 2)), (0, 0));
        let fails = failing(&model, &["cuCtxGetId"]);
        drop((x, y));
        drop(s);
        drop(fails);
        assert_eq!((driver::destroy_stream(theirs), driver::end_capture(blocking, &mut graph)), (0, 0));
        assert_eq!((driver::destroy_graph(graph), driver::destroy_stream(blocking)), (0, 0));
    }
    drop((other, rt));
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

/// The same at the end of the context: a tensor is given back behind the work that uses it.
#[test]
fn a_tensor_outlives_its_work_where_the_context_cannot_be_asked_for() {
    let (model, rt, k, _here) = over(17);
    let mut y = rt.zeros::<f32>(9).unwrap();
    let t = allocated_by_others(&rt);
    rt.launch(hand_made::call(k, t.slice::<f32>().unwrap(), &mut y)).unwrap();
    let (mut blocking, mut graph) = (core::ptr::null_mut(), 0);
    // SAFETY: calls as cuda.h has them.
    unsafe {
        assert_eq!((driver::create_stream(&mut blocking, 0), driver::begin_capture(blocking, 2)), (0, 0));
        drop(t);
        assert_eq!((driver::end_capture(blocking, &mut graph), driver::destroy_graph(graph)), (0, 0));
        assert_eq!(driver::destroy_stream(blocking), 0);
    }
    let fails = failing(&model, &["cuCtxGetId"]);
    drop((y, rt));
    drop(fails);
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

/// Scratch whose use could not be noted is freed where it can be when its stream is left.
#[test]
fn scratch_is_freed_where_its_use_is_noted_late() {
    scratch_of_theirs(18, "noted late", |model, scratch| {
        let fails = failing(model, &["cuEventRecord", "cuStreamSynchronize"]);
        drop(scratch);
        drop(fails);
    });
}
