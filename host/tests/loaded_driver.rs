//! The CUDA side of the host without a GPU: `gpu_smoke` and `launch_overhead` load the model of the driver as
//! `libcuda.so.1`. The tests look at calls of the driver and at frees, not at the work of a GPU.
#![cfg(target_os = "linux")]
#![allow(clippy::duplicate_mod)] // both examples have the hand-made kernel

use core::ffi::{CStr, c_char, c_int, c_long};
use std::process::Command;
use tilewright_model_driver::library;
use tilewright_runtime::KernelDesc;

#[path = "../examples/gpu_smoke.rs"]
mod gpu_smoke;
#[path = "../examples/launch_overhead.rs"]
#[allow(dead_code)]
mod launch_overhead;

/// Runs the ignored tests below with it.
#[test]
fn the_examples_run_over_the_model() {
    let dir = library::as_libcuda("tests");
    // One process per test: the driver is chosen when it is first asked for.
    for (test, seed) in [("smoke", "1"), ("smoke", "2"), ("overhead", "3")] {
        let ran = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env("LD_LIBRARY_PATH", &dir)
            .env("MODEL_DRIVER_SEED", seed)
            .env_remove("TILE_AUTOTUNE")
            .output()
            .expect("the test itself");
        let text = String::from_utf8_lossy(&ran.stdout);
        assert!(
            ran.status.success() && text.contains("1 passed"),
            "{test}, seed {seed}: {text}\n{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    }
    std::fs::remove_dir_all(dir).expect("the folder");
}

/// A function of the model that is not the driver's.
fn of_model<T: Copy>(name: &str) -> T {
    // SAFETY: the library is the model, which is loaded already, and whose function of this name the caller knows. It
    // stays loaded.
    unsafe {
        let model = libloading::Library::new("libcuda.so.1").expect("the model");
        let f = *model.get::<T>(name).expect("a function of the model");
        std::mem::forget(model);
        f
    }
}

/// Makes the hand-made kernels known to the model.
fn register() {
    let register = of_model::<unsafe extern "C" fn(&'static KernelDesc)>("model_driver_register");
    for desc in [gpu_smoke::hand_made::add_pdl(), gpu_smoke::hand_made::boxes::add_boxes()] {
        // SAFETY: the library was built with this test, of the same crates. The kernels do not panic.
        unsafe { register(desc) };
    }
}

/// Fails where the model has found something.
fn no_reports() {
    let reports = of_model::<unsafe extern "C" fn() -> *const c_char>("model_driver_reports");
    // SAFETY: a string that stays until the next call.
    assert_eq!(unsafe { CStr::from_ptr(reports()) }, c"");
}

#[test]
#[ignore = "needs the model as libcuda.so.1"]
fn smoke() {
    register();
    gpu_smoke::main().expect("all steps");
    let calls = of_model::<unsafe extern "C" fn(*const c_char) -> c_long>("model_driver_calls");
    // One more is captured.
    // SAFETY: the name ends with a null.
    assert_eq!(unsafe { calls(c"cuLaunchKernelEx".as_ptr()) }, gpu_smoke::EARLY_LAUNCHES as c_long + 1);
    let count = of_model::<unsafe extern "C" fn(c_int) -> c_long>("model_driver_count");
    let names = ["blocks", "streams", "events", "graphs", "instantiated graphs"];
    for (i, name) in names.iter().enumerate() {
        // SAFETY: it takes any number.
        assert_eq!(unsafe { count(i as c_int) }, 0, "{name}");
    }
    no_reports();
}

#[test]
#[ignore = "needs the model as libcuda.so.1"]
fn overhead() {
    register();
    launch_overhead::main().expect("all ways");
    no_reports();
}
