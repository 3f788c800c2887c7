//! The `tile` command: its output, and its messages for bad input.

use std::process::{Command, Output};

/// A package with a kernel.
const OWN_KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/own-kernel");

/// The command, independent of the environment of the tests.
fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tile"));
    command.args(args);
    ["TILE_BACKEND", "TILE_AUTOTUNE", "RUST_LOG"].iter().for_each(|v| _ = command.env_remove(v));
    command
}

fn tile(args: &[&str]) -> Output {
    command(args).output().expect("tile runs")
}

fn ok(args: &[&str]) -> String {
    let out = tile(args);
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    assert!(out.status.success(), "tile {args:?}: {}\n{}{}", out.status, text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

/// Exit status, and a word of the message.
fn fails(args: &[&str], status: i32, word: &str) {
    let out = tile(args);
    let message = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(status), "tile {args:?}: {message}");
    assert!(message.contains(word), "tile {args:?}: no `{word}` in: {message}");
    assert!(!message.contains("panicked"), "tile {args:?}: {message}");
}

#[test]
fn bad_input() {
    fails(&["dance"], 2, "dance");
    fails(&["run"], 2, "OP");
    fails(
        &["run", "sofmax"],
        1,
        "there is no operation `sofmax` (did you mean softmax_1d or softmax_rows or softmax_rows_backward?)",
    );
    fails(&["run", "gelu", "--size", "many"], 2, "not a number");
    fails(&["run", "gelu", "--size", "-1"], 2, "-1");
    fails(&["run", "gelu", "--size", "3x4", "--backend", "cpu"], 1, "a size is n");
    fails(&["run", "gelu", "--size", "18446744073709551615", "--backend", "cpu"], 1, "2^40");
    fails(&["run", "gelu", "--dtype", "f8"], 1, "it has f32, f16, bf16");
    fails(&["run", "gelu", "--config", "BLOCK=7"], 1, "it has");
    fails(&["run", "gelu", "--backend", "tpu"], 1, "is not a backend");
    fails(&["run", "gelu", "--backend", "emulator:x"], 1, "is not a backend");
    fails(
        &["check", "--op", "nothing", "--backend", "cpu"],
        1,
        "there is no operation `nothing`: `tile list` shows all",
    );
    fails(&["check", "--seed", "x"], 2, "seed");
    fails(&["check", "--seed", "5..5"], 2, "`5..5` has no seed");
    fails(&["check", "--seed", "0..0"], 2, "`0..0` has no seed");
    fails(&["check", "--seed", "5..=4"], 2, "`5..=4` has no seed");
    fails(&["check", "--seed", "1..x"], 2, "`x` is not a seed");
    fails(&["bench", "--size", "5"], 2, "required");
    fails(&["bench", "gelu", "--reps", "0"], 2, "--reps");
    fails(&["bench", "gelu", "--backend", "emulator"], 1, "emulated SM");
    fails(&["show", "gelu", "--stage", "soul"], 2, "ast");
    fails(&["show", "nothing", "--stage", "ast"], 1, "there is no");
    fails(&["tune", "nothing"], 1, "there is no");
}

/// As on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_a_panic() {
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["list", "--usage"],
        &["doctor"],
        &["--help"],
        &["--version"],
        &["show", "gelu", "--stage", "ir"],
        &["run", "gelu", "--size", "100", "--backend", "cpu"],
        &["check", "--op", "relu", "--backend", "cpu"],
        &["tune", "relu", "--size", "100", "--backend", "cpu"],
        &["bench", "relu", "--size", "100", "--reps", "1", "--backend", "cpu"],
    ] {
        let out = command(args).stdout(full()).output().expect("tile runs");
        let message = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "tile {args:?}: {message}");
        assert!(message.contains("error: the output cannot be written: No space left"), "tile {args:?}: {message}");
        assert!(!message.contains("panicked"), "tile {args:?}: {message}");
    }
    let out = command(&["run", "sofmax"]).stderr(full()).output().expect("tile runs");
    assert_eq!(out.status.code(), Some(1), "a message that cannot be written");
}

#[test]
fn list_has_everything() {
    let json: serde_json::Value = serde_json::from_str(&ok(&["list", "--json"])).expect("JSON");
    let names: Vec<_> = json.as_array().expect("a list").iter().map(|o| o["name"].as_str().expect("a name")).collect();
    assert_eq!(names.len(), tilewright_conformance::OPERATIONS.len());
    assert!(json[0]["kernels"][0]["configs"][0].as_str().is_some_and(|c| c.contains("BLOCK=")));
    assert!(ok(&["list"]).contains("softmax_rows"));
}

#[test]
fn run_and_check() {
    assert!(ok(&["run", "softmax_rows", "--size", "7x781", "--backend", "cpu"]).contains("largest error"));
    let text =
        ok(&["run", "gelu", "--size", "1000", "--dtype", "bf16", "--config", "BLOCK=2048,warps=4", "--backend", "cpu"]);
    assert!(text.contains("gelu bf16 1000"), "{text}");
    let json = ok(&["check", "--op", "reverse_array", "--backend", "cpu", "--json", "--seed", "3"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((json["failed"].as_u64(), json["seed"].as_u64()), (Some(0), Some(3)));
    assert_eq!(json["rows"][0]["op"], "reverse_array");
    assert!(ok(&["check", "--op", "relu", "--backend", "emulator"]).contains("0 failed"));
}

#[test]
fn the_seed_orders_the_threads_of_the_emulator() {
    for (backend, order) in [("emulator", "emulator:5"), ("emulator:0", "emulator:0"), ("emulator:9", "emulator:9")] {
        let json = ok(&["check", "--op", "reverse_array", "--backend", backend, "--json", "--seed", "5"]);
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!((json["backend"].as_str(), json["seed"].as_u64()), (Some(order), Some(5)));
        assert_eq!(json["again"], serde_json::json!([]), "nothing failed");
    }
}

#[test]
fn every_seed_of_a_range_is_run_once() {
    for (range, seeds) in [("3..5", vec![3, 4]), ("3..=5", vec![3, 4, 5]), ("4", vec![4])] {
        let json = ok(&["check", "--op", "reverse_array", "--backend", "emulator", "--json", "--seed", range]);
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let of = |name: &str| json[name].as_u64();
        assert_eq!((of("seed"), of("last_seed")), (seeds.first().copied(), seeds.last().copied()));
        let mut found: Vec<u64> =
            json["rows"].as_array().expect("rows").iter().map(|r| r["seed"].as_u64().expect("a seed")).collect();
        found.dedup();
        assert_eq!(found, seeds, "{range}");
    }
    let text = ok(&["check", "--op", "reverse_array", "--backend", "cpu", "--seed", "1..3"]);
    assert!(text.contains("seed 1\n") && text.contains("seed 2\n") && text.contains("seeds 1 to 2"), "{text}");
}

#[test]
fn bench_and_doctor() {
    let json =
        ok(&["bench", "vector_add", "--size", "10000", "--dtype", "f16", "--reps", "2", "--backend", "cpu", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let value = &json["sweeps"][0]["points"][0]["values"][0];
    assert!(value["median_ms"].as_f64().is_some_and(|t| t > 0.0), "{value}");
    assert!(ok(&["doctor"]).contains("toolchain"));
}

#[test]
fn explain_has_a_page_for_each_code() {
    let list = ok(&["explain"]);
    let codes: Vec<&str> = list.lines().filter_map(|l| l.strip_prefix("  ")?.split("  ").next()).collect();
    assert!(codes.len() > 100 && codes.is_sorted(), "{list}");
    assert!(list.starts_with("Attributes, modules and libraries\n  T0101  Unknown setting\n"), "{list}");
    assert!(!list.contains("\n\n\n") && list.contains("\n\nShapes\n  T0501  "), "{list}");
    let page = ok(&["explain", "T0501"]);
    assert!(page.starts_with("T0501: Shapes that do not match\n\n") && page.contains("\nRight:\n\n    #["), "{page}");
    for same in ["t0501", "0501", "501"] {
        assert_eq!(ok(&["explain", same]), page);
    }
    fails(&["explain", "T0199"], 1, "there is no code `T0199`; near it are T0117 and T0201: `tile explain` lists all");
    fails(&["explain", "shapes"], 1, "`shapes` is not a code");
    fails(&["explain", "T0501", "T0502"], 2, "T0502");
}

#[test]
fn show_has_every_stage() {
    let help = ok(&["show", "--help"]);
    for stage in tilewright_compiler::Stage::ALL.map(|s| s.name()) {
        // This variant comes by every stage.
        assert!(ok(&["show", "matmul", "--dtype", "f16", "--variant", "tma", "--stage", stage]).len() > 100, "{stage}");
        assert!(help.contains(stage), "{stage} is not in the help:\n{help}");
    }
    assert!(help.contains("ptx") && help.contains("sass"), "{help}");
    fails(&["show", "gelu", "--stage", "cluster"], 1, "has no stage `cluster`");
    fails(&["show", "gelu", "--stage", "layout", "--variant", "tma"], 1, "the kernel has no variant `tma`");
}

#[test]
fn show_takes_a_package_of_kernels() {
    fn show<'a>(rest: &[&'a str]) -> Vec<&'a str> {
        [&["show", "--crate", OWN_KERNEL], rest].concat()
    }
    let of_products = ["block_pointers", "cluster", "tf32x3", "swap_ab", "pipeline_dots"];
    let stages = tilewright_compiler::Stage::ALL.into_iter().map(|s| s.name()).filter(|s| !of_products.contains(s));
    // A small kernel has little to plan.
    for stage in stages.filter(|s| !["plan", "shared_memory"].contains(s)) {
        assert!(ok(&show(&["rms_norm", "--stage", stage])).len() > 100, "{stage}");
    }
    ok(&show(&["rms_norm", "--why"]));
    fails(&show(&["nothing"]), 1, "it has: rms_norm");
    fails(&show(&["rms_norm", "--config", "BLOCK=7"]), 1, "there are:");
    fails(&show(&["rms_norm", "--variant", "none"]), 1, "no variant `none`");
    let empty = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    fails(&["show", "--crate", empty, "rms_norm"], 1, "has no src or examples");
}

#[cfg(unix)]
#[test]
fn doctor_names_a_cache_that_others_may_write() {
    use std::os::unix::fs::PermissionsExt;
    let dir = std::env::temp_dir().join(format!("tile-doctor-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).expect("its mode");
    let out = command(&["doctor"]).env("TILE_CACHE_DIR", &dir).output().expect("tile runs");
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    std::fs::remove_dir_all(&dir).expect("the folder");
    assert!(said.contains("missing caches") && said.contains("It is not used"), "{said}");
}

/// The stages work if `doctor` finds their tools; else a message names the missing ones.
#[test]
fn show_has_what_is_compiled() {
    let findings: serde_json::Value = serde_json::from_str(&ok(&["doctor", "--json"])).expect("JSON");
    let there = |what: &str| {
        let one = findings.as_array().expect("a list").iter().find(|f| f["what"] == what);
        one.expect("looked at")["ok"].as_bool().expect("found or not")
    };
    if !there("compiled kernels") {
        return fails(&["show", "gelu", "--stage", "ptx"], 1, "tile doctor");
    }
    let entries =
        |args: &[&str]| ok(&[&["show", "gelu", "--stage", "ptx"], args].concat()).matches("// gelu__").count();
    assert_eq!((entries(&[]), entries(&["--general"]), entries(&["--variant", "general"])), (2, 1, 1));
    assert!(ok(&["show", "gelu", "--stage", "ptx", "--general"]).contains("__general"));
    fails(
        &["show", "gelu", "--stage", "ptx", "--variant", "tma"],
        1,
        "gelu has no variant `tma` of this configuration",
    );
    let of_package = tile(&["show", "--crate", OWN_KERNEL, "rms_norm", "--stage", "ptx"]);
    // It may not have been built.
    if of_package.status.success() {
        assert!(String::from_utf8_lossy(&of_package.stdout).contains(".entry rms_norm"));
    }
    if there("disassembler") && there("ptxas") {
        assert!(ok(&["show", "gelu", "--stage", "sass"]).contains("EXIT"));
    }
    // With nothing in PATH and an empty cache folder.
    let none = std::env::temp_dir().join("tile-cli-no-tools");
    let mut sass = command(&["show", "gelu", "--stage", "sass"]);
    sass.env("PATH", &none).env("TILE_CACHE_DIR", &none).env("CUDA_HOME", &none).env_remove("CUDA_PATH");
    if !std::path::Path::new("/usr/local/cuda/bin").exists() {
        let message = String::from_utf8_lossy(&sass.output().expect("tile runs").stderr).into_owned();
        assert!(message.contains("cargo xtask setup"), "{message}");
    }
}

#[test]
fn warnings_are_seen() {
    let dir = std::env::temp_dir().join(format!("tile-cli-warnings-{}", std::process::id()));
    let file = dir.join("tune/cpu/relu-f32.json");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("writes");
    std::fs::write(&file, "{ damaged").expect("writes");
    let run = |variable: &str, value: &str| {
        let mut relu = command(&["run", "relu", "--size", "1000", "--backend", "cpu"]);
        let out = relu.env("TILE_CACHE_DIR", &dir).env(variable, value).output().expect("tile runs");
        assert!(out.status.success());
        String::from_utf8_lossy(&out.stderr).into_owned()
    };
    let said = run("RUST_LOG", "");
    assert!(said.lines().count() == 1 && said.contains("WARN") && said.contains(&file.display().to_string()), "{said}");
    assert_eq!(run("RUST_LOG", "error"), "");
    std::fs::remove_dir_all(&dir).expect("the folder");
    let said = run("TILE_AUTOTUNE", "banana");
    assert!(said.lines().count() == 1 && said.contains("WARN") && said.contains("banana"), "{said}");
    assert_eq!(run("TILE_AUTOTUNE", "off"), "");
}

/// More than any machine has: nothing is allocated, and nothing is printed but the message.
#[test]
fn too_much_memory_is_an_error() {
    for (op, size) in
        [("gelu", "99999999999"), ("matmul", "1000000x1000000x1000000"), ("softmax_rows", "1000000x1000000")]
    {
        let out = tile(&["run", op, "--size", size, "--backend", "cpu"]);
        let message = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!((out.status.code(), out.stdout.as_slice()), (Some(1), &b""[..]), "{op}: {message}");
        assert!(
            message.starts_with("error: out of memory on the host") && message.lines().count() == 1,
            "{op}: {message}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_the_command_quietly() {
    use std::os::unix::process::ExitStatusExt;
    for args in [
        &["list", "--json"][..],
        &["show", "matmul", "--stage", "rust"],
        &["check", "--op", "relu", "--backend", "cpu"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let out = command(args).stdout(writer).output().expect("tile runs");
        let message = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.signal() == Some(13) && message.is_empty(), "tile {args:?}: {}: {message}", out.status);
    }
}

#[test]
fn the_backend_of_the_environment() {
    let run = |backend: &str, args: &[&str]| command(args).env("TILE_BACKEND", backend).output().expect("tile runs");
    let text = |out: &Output| String::from_utf8_lossy(&out.stdout).into_owned();
    let relu = ["run", "relu", "--size", "100"];
    assert!(text(&run("emulator:3", &relu)).contains("on emulator"));
    assert!(
        text(&run("emulator:3", &["run", "relu", "--size", "100", "--backend", "cpu"])).contains("on cpu"),
        "what is said comes first"
    );
    assert!(text(&run("emulator:3", &["doctor"])).ends_with("emulator:3 takes: emulator\n"));
    assert!(run("", &relu).status.success() && text(&run("", &["doctor"])).contains("\nauto takes: "));
    let asked = run("tpu", &["doctor"]);
    assert!(asked.status.code() == Some(1) && text(&asked).contains("`tpu` is not a backend"), "{}", text(&asked));
    let wrong = run("tpu", &relu);
    assert!(
        wrong.status.code() == Some(1) && String::from_utf8_lossy(&wrong.stderr).contains("`tpu` is not a backend")
    );
    assert!(ok(&["run", "--help"]).contains("TILE_BACKEND"));
}

#[test]
fn tune_prints_rows() {
    let dir = std::env::temp_dir().join(format!("tile-cli-tune-{}", std::process::id()));
    let out = command(&["tune", "relu", "--backend", "cpu", "--size", "1000", "--check"])
        .env("TILE_CACHE_DIR", &dir)
        .output()
        .expect("tile runs");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    for dtype in ["f32", "f16", "bf16"] {
        let rows: Vec<_> =
            text.lines().filter(|l| l.starts_with(&format!("relu<{dtype}> ")) && l.contains("BLOCK=")).collect();
        assert_eq!(rows.iter().filter(|r| r.ends_with("chosen")).count(), 1, "{text}");
        assert!(dir.join(format!("tune/cpu/relu-{dtype}.json")).is_file());
    }
    std::fs::remove_dir_all(dir).expect("the folder");
}

#[test]
fn a_workload_is_recorded_and_tuned() {
    let dir = std::env::temp_dir().join(format!("tile-cli-workload-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let file = dir.join("calls.jsonl");
    let run = |args: &[&str]| {
        let mut command = command(args);
        command.env("TILE_CACHE_DIR", &dir).env("TILE_BACKEND", "cpu");
        command
    };
    let recorded = |args: &[&str]| {
        let out = run(args).env("TILE_RECORD", &file).output().expect("tile runs");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    };
    recorded(&["run", "relu", "--size", "1000"]);
    recorded(&["run", "softmax_rows", "--size", "7x300"]);
    for size in ["5x4x9", "5x4x9", "1x4x9"] {
        recorded(&["run", "matmul_nt", "--dtype", "f16", "--size", size]);
    }
    let text = std::fs::read_to_string(&file).expect("calls");
    let count = |name: &str| text.lines().filter(|l| l.contains(&format!("\"{name}\""))).count();
    assert_eq!((count("relu"), count("softmax_rows"), count("matmul")), (1, 1, 3), "{text}");

    let out = run(&["tune", "--workload"]).arg(&file).output().expect("tile runs");
    let rows = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{rows}{}", String::from_utf8_lossy(&out.stderr));
    assert!(rows.lines().any(|l| l.starts_with("relu<f32>") && l.contains("1000") && l.ends_with("chosen")), "{rows}");
    for kernel in ["relu-f32", "softmax_rows-f32", "matmul-f16"] {
        assert!(dir.join(format!("tune/cpu/{kernel}.json")).is_file(), "{kernel}");
    }

    // A call of a program's own kernel is told, and the others are tuned.
    let own = "{\"kernel\":\"axpy\",\"types\":\"\",\"arguments\":[]}\n";
    std::fs::write(&file, format!("{own}{text}")).expect("a file");
    let out = run(&["tune", "--workload"]).arg(&file).output().expect("tile runs");
    let rows = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(1), "{rows}");
    assert!(
        rows.contains("1 of ") && rows.contains("there is no kernel `axpy`") && rows.contains("relu<f32>"),
        "{rows}"
    );
    // Groups without elements cost a file nothing.
    let many = r#"{"operation":"grouped_matmul","types":"f16","arguments":[{"dims":[0,0],"strides":[1,1]},
        {"dims":[1099511627776,0,8],"strides":[1,1,1]}]}"#;
    std::fs::write(&file, many.replace('\n', "")).expect("a file");
    let out = run(&["tune", "--workload"]).arg(&file).output().expect("tile runs");
    let rows = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.code() == Some(1) && rows.contains("1099511627776 groups are too many"), "{rows}");
    std::fs::write(&file, "[]").expect("a file");
    let out = run(&["tune", "--workload"]).arg(&file).output().expect("tile runs");
    assert!(String::from_utf8_lossy(&out.stderr).contains("calls.jsonl:1"));
    std::fs::remove_dir_all(dir).expect("the folder");
    fails(&["tune", "relu", "--workload", "x"], 2, "cannot be used with");
    fails(&["tune"], 2, "OP");
}
