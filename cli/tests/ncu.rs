//! `tile profile --ncu`, with a script in the place of `ncu` and a model of the CUDA driver. The tables are made by the
//! documented format of Nsight Compute 2025.3.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tilewright_model_driver::library;

/// Takes its options off, writes the rest to `arguments`, and acts by `FAKE_NCU`.
const NCU: &str = r#"#!/bin/sh
here=$(dirname "$0")
lacked=smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio
no_permission='ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters'
while [ $# -gt 0 ]; do
    case $1 in
        --csv) shift ;;
        --log-file) log=$2; shift 2 ;;
        --metrics) metrics=$2; shift 2 ;;
        --kernel-name) kernel=$2; shift 2 ;;
        --page | --print-units | --clock-control | --target-processes | --launch-count) shift 2 ;;
        *) break ;;
    esac
done
echo "$LC_ALL $TILE_AUTOTUNE $kernel: $*" >>"$here/arguments"
case $FAKE_NCU in
    counts) cp "$here/table.csv" "$log" ;;
    runs) cp "$here/table.csv" "$log"; "$@" ;;
    wrong) cp "$here/table.csv" "$log"; echo 'error: as the program says it' >&2; exit 1 ;;
    lacks)
        case $metrics in
            *_gmma_*) echo "==ERROR== Failed to find metric $lacked" >"$log"; exit 1 ;;
            *) cp "$here/table.csv" "$log" ;;
        esac ;;
    permission) echo "==ERROR== $no_permission" >"$log"; exit 1 ;;
    busy)
        echo '==PROF== Connected to process 7' >"$log"
        echo '==ERROR== Profiling failed because a driver resource was unavailable.' >>"$log"
        echo '==ERROR== The application returned an error code (9).' >>"$log"
        exit 9 ;;
    none) printf '==PROF== Connected to process 7\n==WARNING== No kernels were profiled.\n' >"$log" ;;
    garbage) echo 'what is this'; echo '{"a": 1}' >"$log" ;;
    cut) head -c 600 "$here/table.csv" >"$log" ;;
    killed) kill -9 $$ ;;
esac
"#;

/// A folder with the script and a table, and one with the driver.
struct Fake {
    folder: tempfile::TempDir,
    driver: PathBuf,
}

impl Fake {
    /// The first launch of the table has this name.
    fn new(name: &str, entry: &str) -> Fake {
        let folder = tempfile::tempdir().expect("a folder");
        let ncu = folder.path().join("ncu");
        fs::write(&ncu, NCU).expect("a script");
        fs::set_permissions(&ncu, fs::Permissions::from_mode(0o755)).expect("its mode");
        let table = include_str!("ncu/matmul.csv").replace("tf32_decompose__BLOCK1024_warps4__aligned", entry);
        // One launch of each of two kernels.
        fs::write(folder.path().join("table.csv"), table).expect("a table");
        Fake { folder, driver: library::as_libcuda(name) }
    }

    /// The stdout and stderr of `tile`, and its exit status.
    fn tile(&self, does: &str, args: &[&str]) -> (String, String, Option<i32>) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(self.folder.path().into()).chain(std::env::split_paths(&path)));
        let mut command = Command::new(env!("CARGO_BIN_EXE_tile"));
        command.args(args).env("PATH", path.expect("PATH")).env("FAKE_NCU", does);
        command.env("LD_LIBRARY_PATH", &self.driver).env("MODEL_DRIVER_COMPUTE", "90");
        ["TILE_BACKEND", "TILE_AUTOTUNE", "RUST_LOG"].iter().for_each(|v| _ = command.env_remove(v));
        let out = command.output().expect("tile");
        (String::from_utf8_lossy(&out.stdout).into(), String::from_utf8_lossy(&out.stderr).into(), out.status.code())
    }

    fn arguments(&self) -> String {
        fs::read_to_string(self.folder.path().join("arguments")).expect("ncu was started")
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.driver).ok();
    }
}

const RELU: [&str; 5] = ["profile", "relu", "--size", "1000", "--ncu"];

#[test]
fn an_operation_is_launched_once_under_ncu() {
    // An entry of this build, if it has code for the GPU.
    let built = Command::new(env!("CARGO_BIN_EXE_tile")).args(["profile", "relu"]).output().expect("tile");
    let built = String::from_utf8_lossy(&built.stdout).into_owned();
    let row: Vec<&str> = built.lines().nth(2).unwrap_or_default().split_whitespace().collect();
    let entry = row.first().copied().unwrap_or("relu__f32__BLOCK1__general");
    let fake = Fake::new("ncu-counts", entry);
    let (text, said, status) = fake.tile("counts", &RELU);
    assert_eq!((status, &*said), (Some(0), ""), "{text}");
    assert!(text.starts_with(&format!("relu f32 1000\n\n{entry}, grid (4096, 1, 1)\n")), "{text}");
    assert!(text.contains("\nmatmul__f32__BM128_BN256_BK32_warps8__tma, grid (132, 1, 1)\n"), "{text}");
    let of_row = |name: &str| text.lines().find(|l| l.starts_with(name)).expect("a row").split_whitespace();
    let registers: Vec<&str> = of_row("registers of a thread").skip(4).collect();
    match row.get(2) {
        Some(compiled) => assert_eq!(registers, [*compiled, "40"], "{text}"),
        None => assert_eq!(registers, ["40"], "{text}"),
    }
    let first = text.split("\nstall reason").nth(1).and_then(|t| t.lines().nth(1)).expect("a reason");
    assert!(first.starts_with("long_scoreboard") && first.contains("24.90"), "{text}");
    let arguments = fake.arguments();
    assert!(arguments.starts_with("C off : /") && arguments.lines().count() == 1, "{arguments}");
    let run = " run relu --size 1000 --dtype f32 --backend cuda --unchecked\n";
    assert!(arguments.ends_with(run), "{arguments}");
    let config = ["--dtype", "f16", "--config", "relu[BLOCK=2048,warps=4]", "--backend", "cuda:0"];
    let (_, said, status) = fake.tile("counts", &[&RELU[..], &config].concat());
    assert_eq!((status, &*said), (Some(0), ""));
    let run = "--size 1000 --dtype f16 --backend cuda:0 --unchecked --config relu[BLOCK=2048,warps=4]\n";
    assert!(fake.arguments().ends_with(run), "{}", fake.arguments());
}

/// The hidden option is one that `run` has.
#[test]
fn what_runs_under_ncu_runs_without_it() {
    let args = ["run", "relu", "--size", "1000", "--dtype", "f32", "--backend", "cpu", "--unchecked"];
    let out = Command::new(env!("CARGO_BIN_EXE_tile")).args(args).output().expect("tile");
    assert!(out.status.success() && out.stdout.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn metrics_that_a_gpu_lacks_are_left_out() {
    let fake = Fake::new("ncu-lacks", "relu__f32__a__general");
    let (text, said, status) = fake.tile("lacks", &RELU);
    assert_eq!((status, &*said), (Some(0), ""), "{text}");
    assert_eq!(fake.arguments().lines().count(), 2);
}

#[test]
fn what_goes_wrong_is_one_message() {
    let fake = Fake::new("ncu-wrong", "relu__f32__a__general");
    let fails = |does: &str, args: &[&str], words: &[&str]| {
        let (text, said, status) = fake.tile(does, args);
        assert_eq!((status, &*text), (Some(1), ""), "{does}: {said}");
        assert!(said.starts_with("error: ") && !said.contains("panicked"), "{does}: {said}");
        words.iter().for_each(|word| assert!(said.contains(word), "{does}: no `{word}` in: {said}"));
        said
    };
    let said = fails("permission", &RELU, &["ERR_NVGPUCTRPERM", "NVreg_RestrictProfilingToAdminUsers=0", "--cap-add"]);
    assert_eq!(said.lines().count(), 1, "{said}");
    fails("busy", &RELU, &["ncu: Profiling failed because a driver resource was unavailable.\n"]);
    fails("none", &RELU, &["relu of 1000 launches nothing"]);
    fails("garbage", &RELU, &["ncu printed no table", "    what is this"]);
    fails("cut", &RELU, &["the table of ncu is not understood"]);
    fails("killed", &RELU, &["ncu was ended by signal 9"]);
    fails("counts", &[&RELU[..], &["--backend", "cpu"]].concat(), &["write `--backend cuda` in place of `cpu`"]);
    fails("counts", &["profile", "rellu", "--ncu"], &["did you mean relu?"]);
    // The counters are shown, and then the program's output.
    let (text, said, status) = fake.tile("wrong", &RELU);
    assert!(status == Some(1) && text.contains("registers of a thread"), "{text}");
    assert!(said.contains("the command under ncu failed:\nerror: as the program says it"), "{said}");
    for args in [&["--lines"][..], &["--sms", "4"], &["--arch", "8.0"], &["--", "test"]] {
        assert_eq!(fake.tile("counts", &[&RELU[..], args].concat()).2, Some(2), "{args:?}");
    }
}

#[test]
fn ncu_that_is_not_here_is_named() {
    if ["/opt/nvidia/nsight-compute", "/usr/local/cuda/bin/ncu"].iter().any(|p| Path::new(p).exists()) {
        return;
    }
    let driver = library::as_libcuda("ncu-none");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tile"));
    ["TILE_BACKEND", "CUDA_HOME", "CUDA_PATH"].iter().for_each(|v| _ = command.env_remove(v));
    let none = std::env::temp_dir().join("tile-cli-no-ncu");
    command.args(RELU).env("PATH", &none).env("TILE_CACHE_DIR", &none).env("LD_LIBRARY_PATH", &driver);
    let out = command.output().expect("tile");
    fs::remove_dir_all(driver).expect("the folder");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(1) && said.contains("`apt-get install cuda-nsight-compute-13-0`"), "{said}");
}

#[test]
fn without_a_gpu_nothing_is_started() {
    let none = Command::new(env!("CARGO_BIN_EXE_tile")).args(["doctor", "--json"]).output().expect("tile");
    let findings: serde_json::Value = serde_json::from_slice(&none.stdout).expect("JSON");
    let driver = findings.as_array().expect("a list").iter().find(|f| f["what"] == "NVIDIA driver");
    if driver.expect("looked at")["ok"] == true {
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_tile"));
    let out = command.args(RELU).env_remove("TILE_BACKEND").output().expect("tile");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(1) && said.contains("ncu counts on a GPU, and there is none: "), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// Cargo runs the tests of a package under ncu, and nothing else. The package has a kernel that nothing compiles.
#[test]
fn what_cargo_runs_is_under_ncu() {
    let fake = Fake::new("ncu-cargo", "axpy__BLOCK1024_warps4__general");
    let package = fake.folder.path().join("a package");
    let write = |file: &str, text: &str| {
        let path = package.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    write(
        "Cargo.toml",
        "[package]\nname = \"p\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[lib]\ndoctest = false\n[workspace]\n",
    );
    write(
        "src/lib.rs",
        "#[cfg(any())]\n#[tile_kernel(grid = [1])]\nfn axpy(y: &mut [f32]) { store(y, 0, 1.0); }\n\
         #[test]\nfn launches() {}\n#[test]\nfn fails() { panic!(\"{:?}\", std::env::var(\"TILE_BACKEND\")) }\n",
    );
    let folder = package.to_str().expect("UTF-8");
    let profile =
        |does: &str, rest: &[&str]| fake.tile(does, &[&["profile", "--crate", folder, "axpy", "--ncu"], rest].concat());
    let (text, said, status) = profile("runs", &["--", "test", "launches"]);
    assert_eq!(status, Some(0), "{text}{said}");
    assert!(text.contains("test launches ... ok") && !text.contains("test fails"), "{text}");
    assert!(text.contains("\naxpy__BLOCK1024_warps4__general, grid (4096, 1, 1)\n"), "{text}");
    assert!(!text.contains("matmul__"), "of the kernel alone: {text}");
    let arguments = fake.arguments();
    assert!(arguments.starts_with("C off regex:^axpy__: /") && arguments.ends_with(" launches\n"), "{arguments}");
    // A test that fails is told by Cargo.
    let (text, said, status) = profile("runs", &[]);
    assert!(
        status == Some(1) && text.contains("test fails ... FAILED") && text.contains("Ok(\"cuda\")"),
        "{text}{said}"
    );
    let (_, said, status) = profile("none", &[]);
    assert!(status == Some(1) && said.contains("nothing launched axpy in this configuration on a GPU"), "{said}");
    let (_, said, status) = profile("permission", &[]);
    assert!(status == Some(1) && said.contains("error: ncu may not read the counters"), "{said}");
    let (_, said, status) = profile("killed", &[]);
    assert!(status == Some(1) && said.contains("SIGKILL"), "{said}");
    // Cargo that runs no program.
    let (_, said, status) = profile("runs", &["--", "build"]);
    assert!(status == Some(1) && said.contains("nothing launched axpy"), "{said}");
    let (_, said, status) = fake.tile("runs", &["profile", "--crate", folder, "axpyy", "--ncu"]);
    assert!(status == Some(1) && said.contains("it has: axpy"), "{said}");
}
