//! The `tile` command with a model of the CUDA driver in the place of `libcuda.so.1`.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;
use tilewright_model_driver::library;

/// The stdout and stderr of `tile` with this driver, and its exit status.
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
    let dir = library::as_libcuda("again");
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
    let dir = library::as_libcuda("auto");
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

/// The driver finds no kernel. The line fails and is not timed, the copy beside it runs between the driver's events.
#[test]
fn a_line_that_fails_on_a_gpu_is_shown() {
    let dir = library::as_libcuda("bench");
    let args = ["bench", "relu", "--size", "100000", "--reps", "6", "--backend", "cuda"];
    let (text, said, status) = tile(&dir, "90", &args);
    assert_eq!(status, Some(1), "{text}{said}");
    let failed = text.lines().find(|l| l.starts_with("100000  auto")).expect("a row of the line");
    assert!(failed.contains("failed: relu: the compiled kernel cannot be used"), "{text}");
    let (json, ..) = tile(&dir, "90", &[&args[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let values = &json["sweeps"][0]["points"][0]["values"];
    assert_eq!((values[0]["outcome"].as_str(), values[1]["outcome"].as_str()), (Some("failed"), Some("measured")));
    assert_eq!((json["device"]["name"].as_str(), json["device"]["arch"].as_str()), (Some("Model GPU"), Some("sm_90")));
    let rules = json["rules"].as_array().expect("rules");
    assert!(rules.iter().any(|r| r.as_str().is_some_and(|r| r.contains("The L2 cache is flushed"))), "{rules:?}");
    std::fs::remove_dir_all(dir).expect("the folder");
}
