//! The CUDA side of the host without a GPU: `gpu_smoke`, `launch_overhead` and the `tile` command load the model of the
//! driver as `libcuda.so.1`. What a GPU does is not tested here; what is asked of the driver, and what is given back, is.
#![cfg(target_os = "linux")]
#![allow(clippy::duplicate_mod)] // both examples have the hand-made kernel

use core::ffi::{CStr, c_char, c_int, c_long};
use std::path::{Path, PathBuf};
use std::process::Command;
use tilewright_runtime::KernelDesc;

#[path = "../examples/gpu_smoke.rs"]
mod gpu_smoke;
#[path = "../examples/launch_overhead.rs"]
#[allow(dead_code)]
mod launch_overhead;

// Links the library in, so that cargo builds it before this test.
use tilewright_model_driver as _;

/// A folder with the model by the name of the driver's library.
fn driver(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("tile-model-driver-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    // Cargo puts a dependency's dynamic library beside the test.
    let exe = std::env::current_exe().expect("this test's path");
    let built = exe.with_file_name("libtilewright_model_driver.so");
    std::fs::copy(&built, dir.join("libcuda.so.1")).expect("the model is built as a library");
    dir
}

/// Runs the ignored tests below with it.
#[test]
fn the_examples_run_over_the_model() {
    let dir = driver("tests");
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

/// What `tile` prints and says with this driver, and its exit status.
fn tile(dir: &Path, compute: &str, args: &[&str]) -> (String, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tile"));
    command.args(args).env("LD_LIBRARY_PATH", dir).env("MODEL_DRIVER_COMPUTE", compute);
    // The driver finds no kernel: every case that launches one fails.
    command.env("MODEL_DRIVER_REFUSE", "cuLibraryGetKernel").env("TILE_AUTOTUNE", "off");
    let out = command.env_remove("TILE_BACKEND").env_remove("RUST_LOG").output().expect("tile");
    (String::from_utf8_lossy(&out.stdout).into(), String::from_utf8_lossy(&out.stderr).into(), out.status.code())
}

#[test]
fn what_failed_can_be_run_again() {
    let dir = driver("again");
    let (text, _, status) = tile(&dir, "90", &["check", "--op", "relu", "--backend", "cuda", "--seed", "7"]);
    assert!(text.ends_with("again: tile check --op relu --backend cuda:0 --seed 7\n") && status == Some(1), "{text}");
    let (json, ..) = tile(&dir, "90", &["check", "--op", "relu", "--backend", "cuda", "--all", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["again"], serde_json::json!(["tile check --op relu --backend cuda:0 --seed 1 --all"]));
    let (_, message, status) = tile(
        &dir,
        "90",
        &["run", "relu", "--size", "100", "--seed", "3", "--config", "BLOCK=2048,warps=4", "--backend", "cuda"],
    );
    let wanted =
        "again: tile run relu --size 100 --dtype f32 --config 'relu[BLOCK=2048,warps=4]' --seed 3 --backend cuda:0\n";
    assert!(message.ends_with(wanted) && status == Some(1), "{message}");
    std::fs::remove_dir_all(dir).expect("the folder");
}

/// No build has code for 5.0; the kernels that are for Hopper alone are not missed on 8.0.
#[test]
fn auto_takes_a_gpu_that_there_is_code_for() {
    let dir = driver("auto");
    let takes = |compute: &str| tile(&dir, compute, &["doctor"]).0;
    let without = takes("50");
    assert!(
        without.contains("Model GPU, sm_50")
            && without.contains("no code for it")
            && without.ends_with("auto takes: cpu\n"),
        "{without}"
    );
    let (text, said, status) = tile(&dir, "50", &["run", "relu", "--size", "1000"]);
    assert!(text.contains("on cpu") && status == Some(0), "{text}");
    assert!(said.contains("no code for this GPU in this build: using the CPU"), "{said}");
    let (_, message, status) = tile(&dir, "50", &["run", "relu", "--size", "1000", "--backend", "cuda"]);
    assert!(!message.is_empty() && status == Some(1), "what was named is not replaced");
    // As the build has it by default.
    if without.contains("sm_80 and sm_90a") {
        for compute in ["80", "90"] {
            let text = takes(compute);
            assert!(text.ends_with("auto takes: Model GPU\n"), "{text}");
        }
    }
    std::fs::remove_dir_all(dir).expect("the folder");
}

/// A function of the model that is not the driver's.
fn of_model<T: Copy>(name: &str) -> T {
    // SAFETY: the library is the model, whose function of this name the caller knows.
    unsafe { *cudarc::driver::sys::culib().get::<T>(name.as_bytes()).expect("the model") }
}

/// Makes the hand-made kernels known to the model.
fn register() {
    let register = of_model::<unsafe extern "C" fn(&'static KernelDesc)>("model_driver_register");
    for desc in [gpu_smoke::hand_made::add_early(), gpu_smoke::hand_made::boxes::add_boxes()] {
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
