//! The CUDA side of the host without a GPU: `gpu_smoke` and `launch_overhead` over a driver that works on host memory
//! (`libcuda.c`). What a GPU does is not tested here; what is asked of the driver, and what is given back, is.
#![cfg(target_os = "linux")]
#![allow(clippy::duplicate_mod)] // both examples have the hand-made kernel

use std::path::Path;
use std::process::Command;

#[path = "../../examples/gpu_smoke.rs"]
mod gpu_smoke;
#[path = "../../examples/launch_overhead.rs"]
#[allow(dead_code)]
mod launch_overhead;

/// Builds the driver and runs the ignored tests below with it.
#[test]
fn with_a_fake_driver() {
    let dir = std::env::temp_dir().join(format!("tile-fake-cuda-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_cuda/libcuda.c");
    let library = dir.join("libcuda.so.1");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-lpthread").status();
    assert!(built.expect("cc").success());
    // One process per test: the driver is chosen when it is first asked for.
    for test in ["smoke", "overhead"] {
        let ran = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env("LD_LIBRARY_PATH", &dir)
            .env_remove("TILE_AUTOTUNE")
            .output()
            .expect("the test itself");
        let text = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && text.contains("1 passed"), "{test}: {text}\n{}", String::from_utf8_lossy(&ran.stderr));
    }
    std::fs::remove_dir_all(dir).expect("the folder");
}

#[test]
#[ignore = "needs the fake driver"]
fn smoke() {
    gpu_smoke::main().expect("all steps");
    // SAFETY: this is the fake driver, which has this function.
    let count = |what| unsafe {
        let count = cudarc::driver::sys::culib().get::<unsafe extern "C" fn(i32) -> i64>(b"cuda_fake_count").expect("the fake driver");
        count(what)
    };
    assert_eq!(count(0), 1, "blocks: the one that the graph has allocated");
    // One more is captured.
    assert_eq!(count(6), gpu_smoke::EARLY_LAUNCHES as i64 + 1, "launches that may begin early");
    let names = ["streams", "events", "graphs", "instantiated graphs", "calls on unknown memory"];
    for (i, name) in names.iter().enumerate() {
        assert_eq!(count(i as i32 + 1), 0, "{name}");
    }
}

#[test]
#[ignore = "needs the fake driver"]
fn overhead() {
    launch_overhead::main().expect("all ways");
}
