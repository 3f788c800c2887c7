//! The model itself: each of its rules finds the defect that it is for, and nothing in a program without the defect.

use super::{call, driver, driver_of_thread, enter, hand_made, over};
use core::ffi::c_void;
use tilewright_model_driver::{Kind, Model};
use tilewright_runtime::tilewright_core::bundle::Bundle;
use tilewright_runtime::{KernelDesc, LaunchOptions, Pdl, Runtime, Stream};

/// The model's findings for a program on a thread of its own, after a wait of this one.
fn on_another_thread(told: bool) -> Vec<String> {
    let (model, rt, k, _here) = over(20);
    let (s, t) = (Stream::new(&rt).unwrap(), Stream::new(&rt).unwrap());
    let (x, mut y) = (rt.zeros::<f32>(40).unwrap(), rt.zeros::<f32>(40).unwrap());
    let begin = model.hand_over();
    rt.launch_on(&s, call(k, &x, &mut y)).unwrap();
    s.synchronize().unwrap();
    let waited = model.hand_over();
    let driver = driver_of_thread();
    std::thread::scope(|scope| {
        let (model, rt, x, y) = (&model, &rt, &x, &mut y);
        scope.spawn(move || {
            let _here = enter(model, driver);
            model.accept(if told { &waited } else { &begin });
            rt.launch_on(&t, call(k, x, y)).unwrap();
        });
    });
    model.reports()
}

#[test]
fn threads_are_in_no_order_until_one_is_told() {
    assert_eq!(on_another_thread(true), [""; 0]);
    let found = on_another_thread(false);
    assert!(found.len() == 1 && found[0].contains("in no order with"), "{found:?}");
}

/// `b = a + 1`, and then `d = c + 1` by a kernel that begins early.
fn pdl(kernel: &'static KernelDesc, chained: bool, captured: bool) -> Model {
    let (model, rt, k, _here) = over(21);
    model.register(kernel);
    let s = Stream::new(&rt).unwrap();
    let (a, mut b) = (rt.zeros::<f32>(40).unwrap(), rt.zeros::<f32>(40).unwrap());
    let (c, mut d) = (rt.zeros::<f32>(40).unwrap(), rt.zeros::<f32>(40).unwrap());
    s.wait_for(rt.stream()).unwrap();
    // SAFETY: not kept where the launches are chained, which the model finds. Its memory is that of the test.
    let options = LaunchOptions::new().pdl(unsafe { Pdl::allowed() });
    // The first launch loads the code.
    rt.launch_on(&s, call(kernel, &c, &mut d)).unwrap();
    s.synchronize().unwrap();
    let mut both = |s: &Stream| {
        rt.launch_on(s, call(k, &a, &mut b))?;
        rt.launch_with(s, call(kernel, if chained { &b } else { &c }, &mut d), &options)
    };
    if captured {
        let graph = s.capture(both).unwrap();
        // SAFETY: the buffers are alive.
        unsafe { graph.replay(&s) }.unwrap();
        s.synchronize().unwrap();
    } else {
        both(&s).unwrap();
    }
    assert!(model.calls().get("cuLaunchKernelEx").is_some_and(|n| *n == 1), "one launch begins early");
    model
}

#[test]
fn an_early_launch_reads_before_the_one_in_front_has_ended() {
    for captured in [false, true] {
        let kernel = hand_made::add_pdl_reading();
        assert_eq!(pdl(kernel, false, captured).reports(), [""; 0]);
        let found = pdl(kernel, true, captured).reports_of(Kind::Race);
        assert!(found.len() == 1 && found[0].contains("before it waits"), "{found:?}");
        // The reads of a kernel after its wait are in order.
        assert_eq!(pdl(hand_made::add_pdl(), true, captured).reports(), [""; 0]);
    }
}

#[test]
fn an_early_launch_of_code_that_does_not_wait_is_found() {
    let found = pdl(hand_made::add_pdl_without_waiting(), false, false).reports_of(Kind::Call);
    assert!(found.len() == 1 && found[0].contains("does not wait"), "{found:?}");
}

#[test]
fn code_with_other_parameters_than_its_descriptor_is_found() {
    let (model, rt, _, _here) = over(22);
    let kernel = hand_made::add_with_other_parameters();
    let (x, mut y) = (rt.zeros::<f32>(40).unwrap(), rt.zeros::<f32>(40).unwrap());
    assert!(rt.launch(call(kernel, &x, &mut y)).is_err());
    let found = model.reports_of(Kind::Call);
    assert!(found.len() == 1 && found[0].contains("[8, 8, 8] bytes, its descriptor of [8, 8, 8, 8]"), "{found:?}");
}

/// A kernel's function, as a program loads it that uses the driver alone.
fn function(kernel: &KernelDesc, entry: &core::ffi::CStr, target: &str) -> usize {
    let bundle = Bundle::parse(kernel.bundle.unwrap()).unwrap();
    let image = bundle.image_of(bundle.entry(entry.to_str().unwrap()).unwrap(), target).unwrap();
    let ptx = format!("{}\0", image.ptx().unwrap());
    let (mut module, mut function) = (0, 0);
    // SAFETY: the text and the name end with a null, and there is room for the handles.
    unsafe {
        assert_eq!(driver::load(&mut module, ptx.as_ptr().cast()), 0);
        assert_eq!(driver::function(&mut function, module, entry.as_ptr()), 0);
    }
    function
}

#[test]
fn a_launch_with_too_few_parameters_is_found() {
    let (model, rt, k, _here) = over(23);
    rt.synchronize().unwrap();
    let mut word = 0u64;
    let mut params =
        [(&raw mut word).cast::<c_void>(), core::ptr::null_mut(), core::ptr::null_mut(), core::ptr::null_mut()];
    // SAFETY: as many pointers as the kernel has parameters, each null or to a word.
    let code = unsafe {
        let f = function(k, c"add_64", "sm_75");
        driver::launch(f, 1, 1, 1, 64, 1, 1, 0, core::ptr::null_mut(), params.as_mut_ptr(), core::ptr::null_mut())
    };
    assert_eq!((code, model.reports_of(Kind::Call)), (1, vec!["add_64: launched with 1 parameters of 4".into()]));
}

/// A strided matrix, copied by a tensor map.
#[test]
fn a_tensor_map_is_compared_with_its_array() {
    let (model, rt, _, _here) = over(24);
    let boxes = hand_made::boxes::add_boxes();
    model.register(boxes);
    let (rows, cols, pitch) = (21usize, 35usize, 40usize);
    let data: Vec<f32> = (0..rows * pitch).map(|i| i as f32).collect();
    let x = rt.from_slice(&data).unwrap();
    let mut y = rt.zeros::<f32>(rows * cols).unwrap();
    let view = || x.slice(..).unwrap().strided([rows, cols], [pitch, 1]).unwrap();
    rt.launch(hand_made::boxes::call(boxes, view(), &mut y)).unwrap();
    let want: Vec<f32> = (0..rows * cols).map(|i| data[i / cols * pitch + i % cols] + 1.0).collect();
    assert_eq!(y.to_vec().unwrap(), want);
    assert_eq!(model.reports(), [""; 0]);
    assert!(model.calls()["cuTensorMapEncodeTiled"] > 0);
    // The same by hand, with a map of no array.
    #[repr(align(64))]
    struct Map([u64; 16]);
    let mut map = Map([0; 16]);
    let mut words = [x.addr(), rows as u64, cols as u64, pitch as u64, 1, y.addr(), (rows * cols) as u64].map(Box::new);
    let mut params: Vec<*mut c_void> = words.iter_mut().map(|w| (&raw mut **w).cast()).collect();
    params.push((&raw mut map.0).cast());
    // SAFETY: a pointer to each of the kernel's parameters.
    let code = unsafe {
        let f = function(boxes, c"add_boxes", "sm_90a");
        driver::launch(f, 2, 3, 1, 256, 1, 1, 0, core::ptr::null_mut(), params.as_mut_ptr(), core::ptr::null_mut())
    };
    let found = model.reports_of(Kind::Call);
    assert!(code == 0 && found.len() == 1 && found[0].contains("tensor map of `x` is None, not"), "{code}: {found:?}");
}

#[test]
fn what_is_left_when_a_context_ends_is_found() {
    let (model, rt, ..) = over(25);
    let _here = enter(&model, driver_of_thread());
    let (mut context, mut addr, mut stream) = (core::ptr::null_mut(), 0, core::ptr::null_mut());
    drop(rt);
    assert_eq!(model.reports(), [""; 0]);
    // SAFETY: handles of the model, and room for them.
    unsafe {
        driver::retain_context(&mut context, 0);
        driver::set_context(context);
        driver::allocate(&mut addr, 40, core::ptr::null_mut());
        driver::create_stream(&mut stream, 1);
        driver::release_context(0);
    }
    let found = model.reports_of(Kind::Leak);
    assert!(found.len() == 2 && found[0].contains("40 bytes") && found[1].contains("1 streams"), "{found:?}");
}

/// Whoever asks for the device again gets it as it was left.
#[test]
fn older_devices_take_no_tensor_maps() {
    let (model, rt, ..) = over(26);
    let _here = enter(&model, driver_of_thread());
    drop(rt);
    model.set_compute(8, 0);
    let rt = Runtime::cuda(0).unwrap();
    let boxes = hand_made::boxes::add_boxes();
    model.register(boxes);
    let x = rt.zeros::<f32>(64).unwrap();
    let mut y = rt.zeros::<f32>(64).unwrap();
    let refused = rt.launch(hand_made::boxes::call(boxes, x.view([8, 8]).unwrap(), &mut y));
    assert!(refused.unwrap_err().to_string().contains("sm_90a"));
    assert_eq!(model.calls().get("cuTensorMapEncodeTiled"), None);
}
