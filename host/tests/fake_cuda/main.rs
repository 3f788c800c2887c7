//! The CUDA side of the host without a GPU: `gpu_smoke` and `launch_overhead` over a driver that works on host memory
//! (`libcuda.c`). What a GPU does is not tested here; what is asked of the driver, and what is given back, is.
#![cfg(target_os = "linux")]
#![allow(clippy::duplicate_mod)] // both examples have the hand-made kernel

use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../../examples/gpu_smoke.rs"]
mod gpu_smoke;
#[path = "../../examples/launch_overhead.rs"]
#[allow(dead_code)]
mod launch_overhead;

/// The folder of the driver, built.
fn driver(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("tile-fake-cuda-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_cuda/libcuda.c");
    let library = dir.join("libcuda.so.1");
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-lpthread").status();
    assert!(built.expect("cc").success());
    dir
}

/// Runs the ignored tests below with it.
#[test]
fn with_a_fake_driver() {
    let dir = driver("tests");
    // One process per test: the driver is chosen when it is first asked for.
    for test in ["smoke", "overhead"] {
        let ran = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env("LD_LIBRARY_PATH", &dir)
            .env_remove("TILE_AUTOTUNE")
            .output()
            .expect("the test itself");
        let text = String::from_utf8_lossy(&ran.stdout);
        assert!(
            ran.status.success() && text.contains("1 passed"),
            "{test}: {text}\n{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    }
    std::fs::remove_dir_all(dir).expect("the folder");
}

/// What `tile` prints and says with this driver, and its exit status.
fn tile(dir: &Path, compute: &str, args: &[&str]) -> (String, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tile"));
    command.args(args).env("LD_LIBRARY_PATH", dir).env("FAKE_COMPUTE", compute).env("TILE_AUTOTUNE", "off");
    let out = command.env_remove("TILE_BACKEND").env_remove("RUST_LOG").output().expect("tile");
    (String::from_utf8_lossy(&out.stdout).into(), String::from_utf8_lossy(&out.stderr).into(), out.status.code())
}

/// This driver runs no real kernel: every case that launches one fails.
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
        without.contains("Fake GPU, sm_50")
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
            assert!(text.ends_with("auto takes: Fake GPU\n"), "{text}");
        }
    }
    std::fs::remove_dir_all(dir).expect("the folder");
}

#[test]
#[ignore = "needs the fake driver"]
fn smoke() {
    gpu_smoke::main().expect("all steps");
    // SAFETY: this is the fake driver, which has this function.
    let count = |what| unsafe {
        let count = cudarc::driver::sys::culib()
            .get::<unsafe extern "C" fn(i32) -> i64>(b"cuda_fake_count")
            .expect("the fake driver");
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
