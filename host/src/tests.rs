//! The runtime end to end, without a GPU, on a hand-made kernel.

use crate::dlpack::{DLDataType, DLDevice, DLManagedTensor, DLTensor, DlpackTensor};
use crate::test_kernel::{COPY, EMULATED_IN_PART, copy_call, copy_of, raw_copy, temp_dir};
use crate::tuning::{Autotune, Outcome, Output, Source, Tunable, Version};
use crate::{Buffer, Error, Event, ExternalSlice, ExternalSliceMut, LaunchOptions, Runtime, Stream, cuda_status};
use std::time::Duration;
use tilewright_core::{AsSlice, AsSliceMut, Call, DType, DeviceId, SliceMutArg};

mod choices;

/// A CPU runtime that keeps no results on disk.
fn cpu() -> Runtime {
    let rt = Runtime::cpu();
    rt.set_cache_dir(None);
    rt.set_autotune(Autotune::On);
    rt
}

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32).collect()
}

#[test]
fn a_launch_on_host_memory_and_on_buffers() {
    let rt = cpu();
    for n in [0, 1, 15, 16, 17, 1000] {
        let x = ramp(n);
        let mut y = vec![-1.0f32; n];
        rt.launch(copy_of(&x, &mut y)).unwrap();
        assert_eq!(x, y);

        let (bx, mut by) = (Buffer::from_slice(&rt, &x).unwrap(), Buffer::<f32>::zeros(&rt, n).unwrap());
        rt.launch(copy_of(&bx, &mut by)).unwrap();
        assert_eq!(by.to_vec().unwrap(), x);
    }
}

#[test]
fn a_launcher_runs_again() {
    let rt = cpu();
    let x = ramp(100);
    let mut y = vec![0.0f32; 100];
    let mut l = rt.prepare(copy_of(&x, &mut y)).unwrap();
    assert_eq!((l.config(), l.grid()), (Some("BLOCK=16"), [7, 1, 1]));
    l.run().unwrap();
    l.run().unwrap();
    drop(l);
    assert_eq!(x, y);
    let empty: &[f32] = &[];
    let mut l = rt.prepare(copy_of(empty, &mut y)).unwrap();
    assert_eq!((l.config(), l.grid()), (None, [0; 3]));
    l.run().unwrap();
}

#[test]
fn several_threads_launch() {
    let rt = cpu();
    std::thread::scope(|s| {
        for t in 0..4 {
            let rt = &rt;
            s.spawn(move || {
                for n in 0..50 {
                    let x = ramp(n * t);
                    let mut y = rt.zeros::<f32>(n * t).unwrap();
                    rt.launch(copy_of(&x, &mut y)).unwrap();
                    assert_eq!(y.to_vec().unwrap(), x);
                }
            });
        }
    });
}

#[test]
fn errors_leave_outputs_alone() {
    let rt = cpu();
    let mut data = ramp(64);
    let at = data.as_mut_ptr() as u64;
    let alias = rt.launch(copy_call(at, 32, at + 4, 32, DeviceId::Host)).unwrap_err();
    assert_eq!(alias.to_string(), "copy: output `y` overlaps `x`: give the output memory of its own");
    let gpu = DeviceId::Cuda { device: 0, context: 1 };
    assert!(matches!(rt.launch(copy_call(at, 8, at + 128, 8, gpu)), Err(Error::DeviceMismatch { .. })));
    let other = LaunchOptions::new().config("BLOCK=17");
    let unknown = rt.launch_with(rt.stream(), copy_call(at, 8, at + 128, 8, DeviceId::Host), &other).unwrap_err();
    assert!(unknown.to_string().contains("BLOCK=16; BLOCK=64"), "{unknown}");
    // 2^40 programs of 16: no device runs that, and nothing is read.
    assert!(matches!(
        rt.launch(copy_call(1 << 20, 1 << 44, 1 << 50, 1 << 44, DeviceId::Host)),
        Err(Error::GridTooLarge { .. })
    ));
    assert_eq!(data, ramp(64));
}

/// More than any machine has.
#[test]
fn a_tile_without_memory_is_an_assertion() {
    use tilewright_core::{ConfigDesc, CpuCode, KernelDesc, KernelParts, cpu};
    unsafe fn huge(_: &cpu::Program, _: &[u64]) {
        cpu::each(&[1 << 46], |_| 0f32);
    }
    static CONFIG: &[ConfigDesc] = &[ConfigDesc { cpu: CpuCode::alone(huge), ..COPY.parts().configs[0] }];
    // SAFETY: the function touches no argument.
    static HUGE: KernelDesc =
        unsafe { KernelDesc::new(KernelParts { name: "huge", configs: CONFIG, ..*COPY.parts() }) };
    let rt = cpu();
    let (x, mut y) = (ramp(100), vec![0.0f32; 100]);
    let call = Call::new(&HUGE).slice(x.as_slice_arg()).slice_mut(y.as_mut_slice().as_slice_mut_arg());
    let e = rt.launch(call).unwrap_err();
    assert!(matches!(e, Error::OutOfMemory { device: DeviceId::Host, bytes: 0x1_0000_0000_0000, .. }), "{e}");
    rt.launch(copy_call(x.as_ptr() as u64, 100, y.as_mut_ptr() as u64, 100, DeviceId::Host)).unwrap();
    assert_eq!(y, x);
}

#[test]
fn a_configuration_whose_grid_is_too_large_is_not_taken() {
    use crate::test_kernel::UPWARDS;
    use tilewright_core::{AsSlice, AsSliceMut};
    let rt = cpu();
    // The last two are of one size to the tuner, which knows a plan for the last.
    for (n, taken) in [(16, "UPWARDS"), (16 * 65536, "BLOCK=16"), (16 * 65535, "UPWARDS"), (16 * 65535 + 1, "BLOCK=16")]
    {
        let (x, mut y) = (ramp(n), vec![0.0f32; n]);
        let call = || Call::new(&UPWARDS).slice(x.as_slice().as_slice_arg());
        let mut l = rt.prepare(call().slice_mut(y.as_mut_slice().as_slice_mut_arg())).unwrap();
        assert_eq!(l.config(), Some(taken), "{n}");
        l.run().unwrap();
        drop(l);
        assert_eq!(y, x);
        let named = LaunchOptions::new().config("UPWARDS");
        let forced = rt.prepare_with(rt.stream(), call().slice_mut(y.as_mut_slice().as_slice_mut_arg()), &named);
        assert_eq!(forced.is_ok(), taken == "UPWARDS");
        assert!(matches!(forced.map(|_| ()), Ok(()) | Err(Error::GridTooLarge { kernel: "upwards", .. })));
    }
}

#[test]
fn a_failed_assertion_is_an_error_and_the_runtime_goes_on() {
    let rt = cpu();
    let (bad, mut y) = ([1.0f32, -1.0], [0.0f32; 2]);
    let e = rt.launch(copy_of(&bad[..], &mut y[..])).unwrap_err();
    assert!(
        matches!(&e, Error::Assert { kernel: "copy", message } if message.contains("no negative numbers") && message.contains('7')),
        "{e}"
    );
    rt.launch(copy_of(&[1.0, 2.0][..], &mut y[..])).unwrap();
    assert_eq!(y, [1.0, 2.0]);
}

#[test]
fn arrays_and_what_is_borrowed_to_be_written_may_be_read() {
    let rt = cpu();
    let mut y = [0.0f32; 3];
    rt.launch(copy_of(&[1.0, 2.0, 3.0], &mut y)).unwrap();
    assert_eq!(y, [1.0, 2.0, 3.0]);
    let mut b = Buffer::from_slice(&rt, &[4.0f32, 5.0, 6.0, 7.0]).unwrap();
    let (head, tail) = b.split_at_mut(2).unwrap();
    rt.launch(copy_of(&head, tail)).unwrap();
    assert_eq!(b.to_vec().unwrap(), [4.0, 5.0, 4.0, 5.0]);
}

#[test]
fn without_a_driver_cuda_is_an_error_that_names_the_cause() {
    if cuda_status().is_ok() {
        return;
    }
    let e = Runtime::cuda(0).unwrap_err();
    assert!(matches!(e, Error::NoCuda { .. }), "{e}");
    let text = e.to_string();
    assert!(text.contains("libcuda.so.1 was not found") || text.contains("driver"), "{text}");
    assert!(text.contains("TILE_BACKEND=cpu"), "{text}");
    assert!(Runtime::current().is_err());
    assert_eq!(Runtime::from_name("auto").unwrap().device().name, "cpu");
    assert_eq!(Runtime::for_kernels(&[&COPY]).device().name, "cpu");
    assert!(Runtime::from_name("cuda").is_err());
}

#[test]
fn backends_by_name() {
    assert_eq!(Runtime::from_name("cpu").unwrap().device().id, DeviceId::Host);
    assert_eq!(Runtime::from_name("emulator:7").unwrap().device().name, "emulator");
    assert_eq!(
        ["emulator", "emulator:7", "emulator:7:132"].map(|name| Runtime::from_name(name).unwrap().device().num_sms),
        [4, 4, 132]
    );
    for name in ["cpu", "emulator:0", "emulator:7", "emulator:7:132"] {
        assert_eq!(Runtime::from_name(name).unwrap().name(), name);
    }
    for bad in ["gpu", "", "cpu:1", "cuda:x", "emulator:-1", "emulator:1:0", "emulator:1:", "auto:0"] {
        assert!(matches!(Runtime::from_name(bad), Err(Error::UnknownBackend { .. })), "{bad}");
    }
}

#[test]
fn the_emulator_needs_emulated_code() {
    let rt = Runtime::emulator(1);
    let mut y = [0.0f32; 2];
    let e = rt.launch(copy_of(&[1.0, 2.0][..], &mut y[..])).unwrap_err();
    assert!(matches!(e, Error::NotEmulated { kernel: "copy", emulated: None, .. }), "{e}");
}

/// The configuration that a message names runs these arguments.
#[test]
fn a_configuration_that_was_not_emulated_names_one_that_was() {
    let rt = Runtime::emulator_with(tilewright_core::emulator::Options { max_programs: 8, ..Default::default() });
    let run = |from: usize, n: usize, config: &'static str| {
        let (x, mut y) = (Buffer::from_slice(&rt, &[0.0f32; 1025]).unwrap(), Buffer::zeros(&rt, n).unwrap());
        let call = Call::new(&EMULATED_IN_PART).slice::<f32>(x.slice(from..from + n).expect("it is inside"));
        let call = call.slice_mut::<f32>((&mut y).as_slice_mut_arg());
        rt.launch_with(rt.stream(), call, &LaunchOptions::new().config(config))
    };
    run(0, 128, "BLOCK=64").expect("2 programs of 64");
    let error = run(0, 128, "BLOCK=16").expect_err("it was not emulated");
    assert!(matches!(error, Error::NotEmulated { config: "BLOCK=16", emulated: Some("BLOCK=64"), .. }), "{error}");
    assert!(error.to_string().contains("choose configuration BLOCK=64"), "{error}");
    // Another variant of the configuration would take them.
    run(0, 128, "BLOCK=64,both").expect("an aligned address");
    let error = run(1, 128, "BLOCK=64,both").expect_err("the general variant was not emulated");
    assert!(matches!(error, Error::NotEmulated { config: "BLOCK=64,both", emulated: None, .. }), "{error}");
    // The other configurations take no unaligned address, and no more than 8 programs.
    for (from, n) in [(1, 128), (0, 1024)] {
        let error = run(from, n, "BLOCK=16").expect_err("it was not emulated");
        assert!(matches!(error, Error::NotEmulated { config: "BLOCK=16", emulated: None, .. }), "{error}");
    }
}

#[test]
fn buffers() {
    let rt = cpu();
    let mut b = Buffer::from_slice(&rt, &[1i32, 2, 3, 4, 5, 6]).unwrap();
    assert_eq!((b.len(), b.bytes(), b.device(), b.addr() % 64), (6, 24, DeviceId::Host, 0));
    assert_eq!(b.as_host(), Some(&[1, 2, 3, 4, 5, 6][..]));
    assert_eq!(b.slice(2..4).unwrap().addr(), b.addr() + 8);
    assert!(b.slice(4..7).is_err());
    assert!(b.slice(..=usize::MAX).is_err());
    assert_eq!(b.view([2, 3]).unwrap().dims(), [2, 3]);
    assert!(matches!(b.view([2, 2]), Err(Error::View(_))));
    let (head, tail) = b.split_at_mut(2).unwrap();
    assert_eq!((head.len(), tail.len()), (2, 4));
    assert!(b.copy_from(&[1, 2]).is_err());
    let mut c = rt.zeros::<i32>(6).unwrap();
    c.copy_from_buffer(&b).unwrap();
    assert_eq!(c.to_vec().unwrap(), [1, 2, 3, 4, 5, 6]);
    c.fill_zero().unwrap();
    let mut out = [9; 6];
    c.copy_to(&mut out).unwrap();
    assert_eq!(out, [0; 6]);
    assert!(rt.alloc::<u64>(0).unwrap().to_vec().unwrap().is_empty());
    assert!(matches!(rt.alloc::<u64>(usize::MAX / 4), Err(Error::TooLarge { .. })));
    assert!(matches!(rt.alloc::<u8>(isize::MAX as usize - 4096), Err(Error::OutOfMemory { .. })));
    assert_eq!(format!("{:?}", rt.zeros::<bool>(3).unwrap()), "Buffer<bool>[3; Host]");
}

#[test]
fn streams_and_events_off_the_gpu() {
    let rt = cpu();
    let s = Stream::new(&rt).unwrap();
    let (a, b) = (Event::new(&rt).unwrap(), Event::new(&rt).unwrap());
    assert!(b.since(&a).is_err(), "not recorded");
    a.record(&s).unwrap();
    std::thread::sleep(Duration::from_millis(2));
    b.record(&s).unwrap();
    assert!(b.since(&a).unwrap() >= Duration::from_millis(2));
    s.wait(&b).unwrap();
    s.wait_for(rt.stream()).unwrap();
    assert!(s.is_done().unwrap() && !s.is_capturing());
    assert!(matches!(s.capture(|_| Ok(())), Err(Error::Unsupported { .. })));
    // SAFETY: null is a stream.
    assert!(unsafe { Stream::from_raw(&rt, core::ptr::null_mut()) }.is_err());
}

#[test]
fn foreign_memory() {
    let rt = cpu();
    let (x, mut y) = (ramp(5), vec![0.0f32; 5]);
    // SAFETY: the vector has 5 elements, and nobody writes them meanwhile.
    let fx = unsafe { ExternalSlice::from_raw(&rt, x.as_ptr(), 5) }.unwrap();
    // SAFETY: the vector has 5 elements, and nobody else uses them meanwhile.
    let mut fy = unsafe { ExternalSliceMut::from_raw(&rt, y.as_mut_ptr(), 5) }.unwrap();
    rt.launch(copy_of(&fx, &mut fy)).unwrap();
    assert_eq!(x, y);
    let p = x.as_ptr();
    // SAFETY: nothing is read through what is made of these; most are refused.
    unsafe {
        assert!(ExternalSlice::from_raw(&rt, core::ptr::null::<f32>(), 1).is_err());
        assert!(ExternalSlice::from_raw(&rt, core::ptr::null::<f32>(), 0).is_ok());
        assert!(ExternalSlice::from_raw(&rt, p.wrapping_byte_add(1), 1).is_err());
        assert!(ExternalSlice::from_raw(&rt, p, usize::MAX).is_err());
    }
}

#[test]
fn dlpack_tensors() {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static DELETED: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn deleter(_: *mut DLManagedTensor) {
        DELETED.fetch_add(1, Relaxed);
    }
    let mut data = ramp(12);
    let (mut shape, mut strides) = ([3i64, 4], [4i64, 1]);
    let mut tensor = DLManagedTensor {
        dl_tensor: DLTensor {
            data: data.as_mut_ptr().cast(),
            device: DLDevice { device_type: 1, device_id: 0 },
            ndim: 2,
            dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        },
        manager_ctx: core::ptr::null_mut(),
        deleter: Some(deleter),
    };
    let mut take = |change: &dyn Fn(&mut DLTensor)| {
        let original = tensor.dl_tensor;
        change(&mut tensor.dl_tensor);
        // SAFETY: a tensor of this test's memory, whose deleter frees nothing; one taken before is gone.
        let t = unsafe { DlpackTensor::from_managed(&cpu(), &mut tensor) };
        tensor.dl_tensor = original;
        t
    };
    {
        let mut t = take(&|_| ()).unwrap();
        assert_eq!((t.dtype(), t.dims(), t.device()), (DType::F32, &[3, 4][..], DeviceId::Host));
        assert_eq!(t.slice::<f32>().unwrap().len(), 12);
        assert_eq!(t.view::<f32, 2>().unwrap().dims(), [3, 4]);
        assert!(t.view_mut::<f32, 2>().is_ok() && t.slice_mut::<f32>().is_ok());
        assert!(t.slice::<i32>().is_err() && t.view::<f32, 3>().is_err());
    }
    // SAFETY: the tensor has two strides.
    let transposed =
        |t: &mut DLTensor| unsafe { core::slice::from_raw_parts_mut(t.strides, 2) }.copy_from_slice(&[1, 3]);
    let t = take(&transposed).unwrap();
    assert!(t.slice::<f32>().unwrap_err().to_string().contains("strided"));
    assert_eq!(t.view::<f32, 2>().unwrap().span(), 12);
    drop(t);
    assert!(take(&|t| t.strides = core::ptr::null_mut()).unwrap().slice::<f32>().is_ok());
    assert!(take(&|t| t.dtype.lanes = 4).is_err());
    assert!(take(&|t| t.device.device_type = 10).is_err());
    assert!(take(&|t| t.byte_offset = 2).is_err());
    assert!(take(&|t| t.data = core::ptr::null_mut()).is_err());
    assert!(take(&|t| t.ndim = -1).is_err());
    assert!(take(&|t| t.device = DLDevice { device_type: 2, device_id: 3 }).is_err());
    assert_eq!(DELETED.load(Relaxed), 9, "released once each, on errors too");
    // SAFETY: null is refused.
    assert!(unsafe { DlpackTensor::from_managed(&cpu(), core::ptr::null_mut()) }.is_err());
}

/// Extents whose product overflows 64 bits, of a tensor without elements or with strides of 0.
#[test]
fn extents_of_a_dlpack_tensor_that_do_not_multiply_are_no_overflow() {
    for (shape, strides) in [([1i64 << 40, 1 << 40, 0], [0i64, 0, 0]), ([1 << 40, 1 << 40, 1], [0, 0, 0])] {
        let (mut shape, mut strides, mut data) = (shape, strides, [1f32]);
        let mut tensor = DLManagedTensor {
            dl_tensor: DLTensor {
                data: data.as_mut_ptr().cast(),
                device: DLDevice { device_type: 1, device_id: 0 },
                ndim: 3,
                dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
                shape: shape.as_mut_ptr(),
                strides: strides.as_mut_ptr(),
                byte_offset: 0,
            },
            manager_ctx: core::ptr::null_mut(),
            deleter: None,
        };
        // SAFETY: a tensor of this test's memory, which has one element where the extents ask for any.
        let t = unsafe { DlpackTensor::from_managed(&cpu(), &mut tensor) }.unwrap();
        let empty = shape.contains(&0);
        assert_eq!(t.slice::<f32>().map(|s| s.len()).ok(), empty.then_some(0));
    }
}

/// However many threads there are.
#[test]
fn the_largest_tiles_that_give_each_thread_programs() {
    let rt = cpu();
    let threads = rt.device().num_sms;
    let chosen = |n: usize| rt.configuration(&copy_of(&ramp(n), &mut vec![0.0; n])).unwrap();
    assert_eq!(chosen(threads * 8 * 64), ("BLOCK=64", Source::Default));
    assert_eq!(chosen((threads * 8 - 1) * 64), ("BLOCK=16", Source::Default), "too few programs of 64");
    assert_eq!(chosen(1), ("BLOCK=16", Source::Default), "the first where none has enough");
}

#[test]
fn tuning_on_the_cpu_when_forced() {
    let dir = temp_dir("force");
    let rt = cpu();
    rt.set_cache_dir(Some(dir.clone()));
    let x = ramp(1 << 12);
    let mut y = vec![7.0f32; 1 << 12];
    assert_eq!(rt.configuration(&copy_of(&x, &mut y)).unwrap().1, Source::Default);
    rt.launch(copy_of(&x, &mut y)).unwrap();
    assert_eq!(rt.configuration(&copy_of(&x, &mut y)).unwrap().1, Source::Default, "on does not tune on the CPU");

    rt.set_autotune(Autotune::Force);
    y.fill(7.0);
    rt.launch(copy_of(&x, &mut y)).unwrap();
    assert_eq!(x, y);
    let (tuned, source) = rt.configuration(&copy_of(&x, &mut y)).unwrap();
    assert_eq!(source, Source::Tuned);
    assert_ne!(tuned, "BLOCK=64,wrong");

    // A new runtime finds it on disk, for sizes in the same bucket alone.
    let again = cpu();
    again.set_cache_dir(Some(dir.clone()));
    again.set_autotune(Autotune::Off);
    assert_eq!(again.configuration(&copy_of(&x, &mut y)).unwrap(), (tuned, Source::Cached));
    assert_eq!(again.configuration(&copy_of(&x[..100], &mut y)).unwrap().1, Source::Default);
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_report_tells_of_every_configuration_and_outputs_are_restored() {
    let rt = cpu();
    let x = ramp(1 << 10);
    let mut y = vec![7.0f32; 1 << 10];
    let report = rt.tune(rt.stream(), copy_of(&x, &mut y)).unwrap();
    assert_eq!(report.candidates.len(), 3);
    assert!(matches!(&report.candidates[2].outcome, Outcome::Wrong(why) if why.contains("instead of 0")), "{report:?}");
    assert!(report.winner < 2);
    assert_eq!(y, [7.0; 1 << 10]);
    // The result holds, and a named configuration comes before it.
    let l = rt.prepare(copy_of(&x, &mut y)).unwrap();
    assert_eq!(l.config(), Some(report.candidates[report.winner].id.as_str()));
    drop(l);
    let named = LaunchOptions::new().config("BLOCK=64");
    assert_eq!(rt.prepare_with(rt.stream(), copy_of(&x, &mut y), &named).unwrap().config(), Some("BLOCK=64"));
}

#[test]
fn what_raw_pointers_write_is_tuned_where_their_extent_is_known() {
    use tilewright_core::RawArg;
    let rt = cpu();
    let x = ramp(1 << 10);
    let mut y = vec![7.0f32; 1 << 10];
    // SAFETY: `y` has as many elements as `x`.
    let call = |y| unsafe { raw_copy(&x, y) };
    let all = RawArg::within(y.as_mut_ptr() as u64, 4 << 10, DeviceId::Host);
    let report = rt.tune(rt.stream(), call(all)).unwrap();
    assert!(matches!(&report.candidates[2].outcome, Outcome::Wrong(why) if why.contains("instead of 0")), "{report:?}");
    assert_eq!(y, [7.0; 1 << 10], "restored");
    let unknown = rt.tune(rt.stream(), call(RawArg::from(y.as_mut_ptr())));
    assert!(matches!(&unknown, Err(Error::Tuning { why, .. }) if why.contains("RawArg::within")), "{unknown:?}");
}

/// A configuration that is tried leaves what it has written there: nothing knows where that is.
#[test]
fn what_computed_addresses_write_is_not_tuned() {
    use tilewright_core::{KernelDesc, KernelParts, Pointees};
    // SAFETY: the functions are those of `COPY`, which takes the same arguments.
    static WRITES: KernelDesc = unsafe {
        KernelDesc::new(KernelParts { name: "writes", is_unsafe: true, pointees: Pointees::Written, ..*COPY.parts() })
    };
    let rt = cpu();
    rt.set_autotune(Autotune::Force);
    let x = ramp(100);
    let mut y = vec![7.0f32; 100];
    fn call<'a>(x: &'a [f32], y: &'a mut [f32]) -> Call<'a> {
        // SAFETY: the functions write to their arguments alone.
        unsafe { Call::new_unsafe(&WRITES) }.slice(x.as_slice_arg()).slice_mut(y.as_slice_mut_arg())
    }
    let tuned = rt.tune(rt.stream(), call(&x, &mut y));
    assert!(
        matches!(&tuned, Err(Error::Tuning { why, .. }) if why.contains("addresses that it computes")),
        "{tuned:?}"
    );
    rt.launch(call(&x, &mut y)).unwrap();
    let (_, source) = rt.configuration(&call(&x, &mut y)).unwrap();
    assert_eq!((y, source), (x, Source::Default));
}

#[test]
fn operations_of_several_launches_choose_a_candidate() {
    let rt = cpu();
    let mut y = rt.zeros::<i32>(1).unwrap();
    let at = y.addr() as *mut i32;
    let version = Version::from("1");
    let op = |sizes: &'static [usize]| Tunable {
        name: "test_op",
        types: "",
        version: &version,
        sizes,
        candidates: &["slow", "fast", "wrong"],
    };
    let runs = std::cell::Cell::new(0);
    let run = |i: usize| {
        runs.set(runs.get() + 1);
        std::thread::sleep(Duration::from_micros([900, 100, 1][i]));
        // SAFETY: the one element of `y`, which nobody else uses while a candidate runs.
        unsafe { *at += if i == 2 { 5 } else { 3 } };
        Ok(())
    };
    fn outputs(y: &mut Buffer<i32>) -> [Output<'_>; 1] {
        // SAFETY: the candidates alone use it during a choice.
        [unsafe { Output::new(&y.as_slice_mut_arg()) }]
    }
    assert_eq!(rt.select_among(rt.stream(), &op(&[1000]), &outputs(&mut y), run).unwrap(), 0, "not on the CPU");
    assert_eq!(runs.get(), 0);
    rt.set_autotune(Autotune::Force);
    assert_eq!(rt.select_among(rt.stream(), &op(&[1000]), &outputs(&mut y), run).unwrap(), 1);
    assert_eq!(y.to_vec().unwrap(), [0], "restored");
    let before = runs.get();
    assert_eq!(rt.select_among(rt.stream(), &op(&[900]), &outputs(&mut y), run).unwrap(), 1, "the same bucket");
    assert_eq!(runs.get(), before);
    let others = Tunable { candidates: &["wrong"], ..op(&[1000]) };
    assert_eq!(rt.select_among(rt.stream(), &others, &outputs(&mut y), run).unwrap(), 0, "it has one candidate");
    let fail = |_| Err(Error::Shape { what: "test_op", why: "no".into() });
    assert!(matches!(rt.select_among(rt.stream(), &op(&[1 << 20]), &outputs(&mut y), fail), Err(Error::Shape { .. })));
}

/// The tuner would read and write the memory of a device, or of another one, as this one's.
#[test]
fn an_output_that_lives_elsewhere_is_not_measured() {
    let rt = cpu();
    rt.set_autotune(Autotune::Force);
    let version = Version::from("1");
    let op = Tunable { name: "elsewhere", types: "", version: &version, sizes: &[7], candidates: &["one", "other"] };
    // SAFETY: an address of a device, which the host cannot follow.
    let there = unsafe { SliceMutArg::<f32>::from_raw(0x1000, 16, DeviceId::Cuda { device: 0, context: 1 }) };
    // SAFETY: nobody uses it.
    let outputs = [unsafe { Output::new(&there) }];
    let chosen = rt.select_among(rt.stream(), &op, &outputs, |_| Ok(()));
    assert!(matches!(chosen, Err(Error::StreamMismatch { what: "output" })), "{chosen:?}");
}

/// Whatever a tensor of another framework says, importing it gives a tensor whose slices and views lie in its memory,
/// or an error.
#[test]
fn hostile_dlpack_tensors_are_imported_within_their_memory_or_refused() {
    use crate::dlpack::DLManagedTensorVersioned;
    const ELEMENTS: usize = 64;
    let rt = cpu();
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/dlpack");
    tilewright_hostile_inputs::attack(std::path::Path::new(corpus), |bytes| {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes.get(at + i).copied().unwrap_or(0)));
        let mut data = [0u64; ELEMENTS];
        let (mut shape, mut strides) =
            ([0, 1, 2, 3].map(|i| word(26 + 8 * i) as i64), [0, 1, 2, 3].map(|i| word(58 + 8 * i) as i64));
        let flags = word(24) as u8;
        let t = DLTensor {
            data: if flags & 4 != 0 { core::ptr::null_mut() } else { data.as_mut_ptr().cast() },
            device: DLDevice { device_type: word(0) as i32, device_id: word(4) as i32 },
            // A rank beyond the arrays breaks the contract of the import.
            ndim: (word(8) as i32).min(4),
            dtype: DLDataType { code: word(12) as u8, bits: word(13) as u8, lanes: word(14) as u16 },
            shape: shape.as_mut_ptr(),
            strides: if flags & 1 != 0 { strides.as_mut_ptr() } else { core::ptr::null_mut() },
            byte_offset: word(16),
        };
        let mut old = DLManagedTensor { dl_tensor: t, manager_ctx: core::ptr::null_mut(), deleter: None };
        let mut new = DLManagedTensorVersioned {
            major: (word(25) as u8).into(),
            minor: 0,
            manager_ctx: core::ptr::null_mut(),
            deleter: None,
            flags: (flags >> 1 & 1).into(),
            dl_tensor: t,
        };
        // SAFETY: a tensor of this test's arrays. What it claims of its memory is not read or written below.
        let both = unsafe { [DlpackTensor::from_managed(&rt, &mut old), DlpackTensor::from_versioned(&rt, &mut new)] };
        for mut t in both.into_iter().flatten() {
            // The bytes that the tensor itself claims, from its extents and strides: no view reaches beyond them.
            let (dims, strides) = (t.dims().to_vec(), t.strides().to_vec());
            let last = dims.iter().zip(&strides).map(|(&d, &s)| (d as u128).saturating_sub(1) * s as u128);
            let span = if dims.contains(&0) { 0 } else { last.sum::<u128>() + 1 };
            let within = |len: usize| assert!(len as u128 <= span, "{len} elements of {span}");
            let _ = t.slice::<f32>().map(|s| within(s.len()));
            let _ = t.slice_mut::<f32>().map(|s| within(s.len()));
            let _ = t.slice::<u8>().map(|s| within(s.len()));
            let _ = t.view::<f32, 2>().map(|v| within(v.span()));
            let _ = t.view_mut::<f32, 3>().map(|v| within(v.as_view().span()));
            let _ = t.view::<u8, 1>().map(|v| within(v.span()));
        }
    });
}
