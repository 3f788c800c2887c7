//! Two devices in one process, over the model of the driver: contexts, pools, streams, scratch, loaded code and tuning
//! results are each device's own.

use std::thread;
use tilewright_model_driver::{Entered, Model};
use tilewright_runtime::tuning::Autotune;
use tilewright_runtime::{Buffer, DeviceId, Driver, Error, Event, ExternalSlice, KernelDesc, Result, Runtime, Stream};

#[path = "../examples/hand_made/mod.rs"]
mod hand_made;

use hand_made::call;

/// A driver with two devices, on this thread.
struct Devices {
    model: Model,
    driver: Driver,
    kernel: &'static KernelDesc,
    _here: (Box<dyn core::any::Any>, Entered),
}

impl Devices {
    fn new(seed: u64) -> Devices {
        let model = Model::new(seed);
        model.add_device();
        let entered = model.enter();
        // SAFETY: the model's functions keep to the driver's contract.
        let driver = unsafe { Driver::from_symbols(|name| Model::symbol(name).unwrap_or(core::ptr::null())) };
        let driver = driver.expect("the model has all functions");
        let kernel = hand_made::add_one();
        model.register(kernel);
        Devices { model, driver, kernel, _here: (Box::new(driver.enter()), entered) }
    }

    fn runtimes(&self) -> [Runtime; 2] {
        [0, 1].map(|ordinal| {
            let rt = Runtime::cuda(ordinal).expect("the model has two devices");
            rt.set_cache_dir(None);
            rt.set_autotune(Autotune::Off);
            rt
        })
    }

    /// Nothing was reported, and nothing is left.
    fn are_clean(&self, what: &str) {
        let c = self.model.counts();
        let left = (c.blocks, c.streams, c.events, c.graphs, c.executables, c.pools, c.retained);
        assert_eq!((self.model.reports(), left), (vec![], (0, 0, 0, 0, 0, 0, 0)), "{what}");
    }
}

/// Buffers, launches on two streams, scratch, events and reads.
fn everything(rt: &Runtime, k: &'static KernelDesc) -> Result<()> {
    let s = Stream::new(rt)?;
    let (x, mut y, mut z) = (Buffer::from_slice(rt, &[1.0f32; 70])?, rt.zeros::<f32>(70)?, rt.zeros::<f32>(70)?);
    rt.launch_on(&s, call(k, &x, &mut y))?;
    let mut scratch = s.scratch::<f32>(70)?;
    rt.launch_on(&s, call(k, &y, &mut scratch))?;
    rt.launch_on(&s, call(k, &scratch, &mut z))?;
    drop((scratch, x));
    let (start, end) = (Event::new(rt)?, Event::new(rt)?);
    start.record(&s)?;
    end.record(rt.stream())?;
    s.wait(&end)?;
    assert_eq!((y.to_vec()?, z.to_vec()?), (vec![2.0; 70], vec![4.0; 70]));
    Ok(())
}

/// `cuMemsetD8Async` of nine bytes, as a library may call it.
fn fill(memory: &Buffer<u8>, stream: *mut core::ffi::c_void) {
    type Fill = unsafe extern "C" fn(u64, u8, usize, usize) -> u32;
    assert_eq!(memory.len(), 9);
    let symbol = Model::symbol("cuMemsetD8Async").expect("the model has it");
    // SAFETY: the signature is that of cuda.h.
    let fill = unsafe { core::mem::transmute::<*const core::ffi::c_void, Fill>(symbol) };
    // SAFETY: memory that lives. The model reports it where its device is another one than the stream's.
    assert_eq!(unsafe { fill(memory.addr(), 1, 9, stream as usize) }, 0);
}

/// The model itself: a runtime that mixed up its devices would be found, in captured work, too.
#[test]
fn the_model_sees_memory_of_the_other_device() {
    for captured in [false, true] {
        let devices = Devices::new(1);
        let [a, b] = devices.runtimes();
        let (there, s) = (b.zeros::<u8>(9).unwrap(), Stream::new(&a).unwrap());
        let enqueue = |s: &Stream| s.external_work(&[], |stream| fill(&there, stream));
        if captured {
            let graph = s.capture(|s| enqueue(s)).unwrap();
            assert_eq!(devices.model.reports(), Vec::<String>::new());
            // SAFETY: the memory lives until the work is done.
            unsafe { graph.replay(&s) }.unwrap();
        } else {
            enqueue(&s).unwrap();
        }
        s.synchronize().unwrap();
        let reports = devices.model.reports();
        assert!(reports.iter().any(|r| r.contains("on device 0, with memory of device 1")), "{reports:?}");
    }
}

/// Work of a library is in the order of its stream, also where the caller panics after it was enqueued.
#[test]
fn external_work_before_a_panic_counts() {
    for seed in 0..20 {
        let devices = Devices::new(seed);
        let [a, b] = devices.runtimes();
        let (memory, s) = (a.zeros::<u8>(9).unwrap(), Stream::new(&a).unwrap());
        let enqueue = |stream| {
            fill(&memory, stream);
            std::panic::resume_unwind(Box::new("the library's check"))
        };
        let work = std::panic::AssertUnwindSafe(|| s.external_work::<()>(&[memory.raw()], enqueue));
        assert!(std::panic::catch_unwind(work).is_err());
        drop(memory);
        drop(a.zeros::<u8>(9).unwrap());
        drop((s, a, b));
        devices.are_clean("after a panic");
    }
}

#[test]
fn each_device_has_its_own_memory_and_code() {
    for seed in 0..20 {
        let devices = Devices::new(seed);
        let [a, b] = devices.runtimes();
        let of = |rt: &Runtime| match rt.device().id {
            DeviceId::Cuda { device, context } => (device, context),
            other => panic!("{other:?}"),
        };
        assert_eq!((of(&a).0, of(&b).0, a.name(), b.name()), (0, 1, "cuda:0".into(), "cuda:1".into()));
        assert_ne!(of(&a).1, of(&b).1);
        // In turns: the context of a call stays current on this thread.
        for _ in 0..3 {
            everything(&a, devices.kernel).unwrap();
            everything(&b, devices.kernel).unwrap();
        }
        // Each runtime has a pool, and a code that was loaded for its device.
        assert_eq!((devices.model.counts().pools, devices.model.counts().retained), (2, 2));
        drop(a);
        assert_eq!((devices.model.counts().pools, devices.model.counts().retained), (1, 1));
        everything(&b, devices.kernel).unwrap();
        drop(b);
        devices.are_clean("after both");
    }
}

#[test]
fn memory_and_streams_of_the_other_device_are_refused() {
    let devices = Devices::new(1);
    let ([a, b], k) = (devices.runtimes(), devices.kernel);
    let (x, mut y) = (a.zeros::<f32>(9).unwrap(), b.zeros::<f32>(9).unwrap());
    let e = b.launch(call(k, &x, &mut y)).unwrap_err();
    assert!(matches!(e, Error::DeviceMismatch { param: "x", .. }), "{e}");
    assert!(e.to_string().contains("lives on CUDA device 0"), "{e}");
    assert!(matches!(y.copy_from_buffer(&x), Err(Error::StreamMismatch { what: "buffer" })));
    let s = Stream::new(&a).unwrap();
    assert!(matches!(b.launch_on(&s, call(k, &x, &mut y)), Err(Error::DeviceMismatch { .. })));
    let mut there = b.zeros::<f32>(9).unwrap();
    assert!(matches!(b.launch_on(&s, call(k, &y, &mut there)), Err(Error::StreamMismatch { what: "stream" })));
    assert!(matches!(y.to_vec_on(&s), Err(Error::StreamMismatch { what: "stream" })));
    let scratch = s.scratch::<f32>(9).unwrap();
    assert!(matches!(b.launch(call(k, &scratch, &mut y)), Err(Error::DeviceMismatch { .. })));
    // SAFETY: it is refused.
    let foreign = unsafe { ExternalSlice::from_raw(&b, x.addr() as *const f32, 9) };
    assert!(matches!(foreign, Err(Error::ExternalMemory { .. })));
    // SAFETY: a stream that lives.
    let foreign = unsafe { Stream::from_raw(&b, s.as_raw()) };
    assert!(matches!(foreign, Err(Error::StreamMismatch { what: "stream" })));
    let nothing = s.external_work(&[whole(&y)], |_| panic!("it is not called"));
    assert!(matches!(nothing, Err(Error::StreamMismatch { what: "buffer" })));
    assert!(matches!(Runtime::cuda(2), Err(Error::NoDevice { ordinal: 2, count: 2 })));
    drop((foreign, scratch, s, x, y, there, a, b));
    devices.are_clean("nothing was enqueued");
}

fn whole(y: &Buffer<f32>) -> tilewright_runtime::RawArg<u8> {
    tilewright_runtime::RawArg::within(y.addr(), y.bytes(), y.device())
}

/// A stream of one device waits for one of the other, and an event of one is waited for by the other.
#[test]
fn streams_of_two_devices_wait_for_each_other() {
    for seed in 0..20 {
        let devices = Devices::new(seed);
        let ([a, b], k) = (devices.runtimes(), devices.kernel);
        let (s, t) = (Stream::new(&a).unwrap(), Stream::new(&b).unwrap());
        let (x, mut y) = (a.from_slice(&[1.0f32; 9]).unwrap(), a.zeros::<f32>(9).unwrap());
        let (v, mut w) = (b.from_slice(&[2.0f32; 9]).unwrap(), b.zeros::<f32>(9).unwrap());
        a.launch_on(&s, call(k, &x, &mut y)).unwrap();
        t.wait_for(&s).unwrap();
        b.launch_on(&t, call(k, &v, &mut w)).unwrap();
        let done = Event::new(&b).unwrap();
        done.record(&t).unwrap();
        a.stream().wait(&done).unwrap();
        b.stream().wait_for(a.stream()).unwrap();
        // An event is recorded on streams of its own device alone.
        assert!(matches!(done.record(&s), Err(Error::StreamMismatch { what: "stream" })));
        drop((x, v, s, t));
        assert_eq!((y.to_vec().unwrap(), w.to_vec().unwrap()), (vec![2.0; 9], vec![3.0; 9]));
        drop((y, w, done, a, b));
        devices.are_clean("after waits");
    }
}

#[test]
fn settings_and_results_are_each_devices_own() {
    let devices = Devices::new(3);
    let ([a, b], k) = (devices.runtimes(), devices.kernel);
    a.set_autotune(Autotune::On);
    a.set_scratch_limit(5 << 20);
    assert_eq!((a.autotune(), b.autotune()), (Autotune::On, Autotune::Off));
    assert_ne!(b.scratch_limit(), 5 << 20);
    let (x, mut y) = (a.zeros::<f32>(99).unwrap(), a.zeros::<f32>(99).unwrap());
    a.tune(a.stream(), call(k, &x, &mut y)).unwrap();
    let known = |rt: &Runtime| rt.export_defaults().contains(k.name);
    assert!(known(&a) && !known(&b), "{}", b.export_defaults());
    assert_eq!(devices.model.reports(), [""; 0]);
}

/// A thread for each device, and one that works on both.
#[test]
fn threads_work_on_both_devices() {
    for seed in 0..5 {
        let devices = Devices::new(seed);
        let ([a, b], k) = (devices.runtimes(), devices.kernel);
        let (model, driver) = (&devices.model, devices.driver);
        thread::scope(|scope| {
            for of_thread in [vec![&a], vec![&b], vec![&b, &a]] {
                scope.spawn(move || {
                    let _here = (driver.enter(), model.enter());
                    for rt in (0..4).flat_map(|_| &of_thread) {
                        everything(rt, k).unwrap();
                    }
                });
            }
        });
        drop((a, b));
        devices.are_clean("after threads");
    }
}

/// Each call of the driver fails once, with work on both devices. The other device goes on.
#[test]
fn a_failure_on_one_device_leaves_the_other() {
    for nth in 0.. {
        let devices = Devices::new(nth);
        let ([a, b], k) = (devices.runtimes(), devices.kernel);
        devices.model.fail(None, nth, 2);
        let (first, second) = (everything(&a, k), everything(&b, k));
        let came = devices.model.fail_no_more();
        assert!(first.is_ok() || second.is_ok(), "call {nth}: {first:?}, {second:?}");
        everything(&a, k).and_then(|()| everything(&b, k)).unwrap_or_else(|e| panic!("after call {nth}: {e}"));
        drop((a, b));
        devices.are_clean(&format!("call {nth}: {first:?}, {second:?}"));
        if !came {
            assert!(nth > 20);
            return;
        }
    }
}
