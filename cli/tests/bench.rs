//! `tile bench`: measurements, files, comparisons, and messages for bad input.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// On the CPU, with few rounds.
fn bench(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tile"));
    command.args(["bench", "--backend", "cpu", "--reps", "6", "--warmup", "0"]).args(args);
    ["TILE_BACKEND", "RUST_LOG"].iter().for_each(|v| _ = command.env_remove(v));
    command.env("TILE_AUTOTUNE", "off");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn ok(args: &[&str]) -> String {
    let out = bench(args).output().expect("tile runs");
    assert!(out.status.success(), "{args:?}: {}\n{}{}", out.status, text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

/// One message on stderr, nothing on stdout.
fn message(out: &Output, status: i32) -> String {
    let said = text(&out.stderr);
    assert_eq!((out.status.code(), text(&out.stdout)), (Some(status), String::new()), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

/// Lengths, columns and square products, by one command each.
#[test]
fn operations_have_ranges_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    for (op, name, y, points, last) in [
        ("vector_add", "vector_add f32", "bandwidth", 11, vec![1 << 20]),
        ("softmax_rows", "softmax_rows f32, rows = 256", "bandwidth", 5, vec![256, 2304]),
        ("matmul", "matmul f16", "throughput", 4, vec![256, 256, 256]),
    ] {
        let out = folder.path().join(op);
        let printed = ok(&[op, "--out", out.to_str().expect("UTF-8")]);
        assert!(printed.contains(&format!("{name} on cpu\n")), "{printed}");
        let run = json(&out.join("bench.json"));
        let sweep = &run["sweeps"][0];
        assert_eq!((sweep["name"].as_str(), sweep["y"].as_str()), (Some(name), Some(y)));
        assert_eq!((run["complete"].as_bool(), sweep["tags"]["op"].as_str()), (Some(true), Some(op)));
        let all = sweep["points"].as_array().expect("points");
        let extents: Vec<u64> = serde_json::from_value(all[all.len() - 1]["extents"].clone()).expect("a size");
        assert_eq!((all.len(), extents), (points, last));
        for value in all.iter().flat_map(|p| p["values"].as_array().expect("values")) {
            let times = value["times_ms"].as_array().unwrap_or_else(|| panic!("measured: {value}"));
            assert_eq!(times.len(), 6);
        }
        assert_eq!(fs::read_to_string(out.join("bench.csv")).expect("CSV").lines().count(), 1 + printed_rows(&printed));
        let svgs = fs::read_dir(&out).expect("the folder").filter(|e| e.as_ref().is_ok_and(is_svg)).count();
        assert_eq!(svgs, 1);
        assert!(fs::read_to_string(out.join("bench.html")).expect("a page").contains("</html>"));
    }
}

fn is_svg(entry: &fs::DirEntry) -> bool {
    entry.path().extension().is_some_and(|e| e == "svg")
}

/// Rows of a table, without its title and its head.
fn printed_rows(printed: &str) -> usize {
    printed.lines().skip(2).take_while(|l| !l.is_empty()).count()
}

#[test]
fn sizes_ranges_dtypes_and_configurations() {
    let printed = ok(&["softmax_rows", "--over", "cols=64,100", "--size", "3x1"]);
    assert!(printed.contains("rows = 3") && printed.contains("3x64 ") && printed.contains("3x100 "), "{printed}");
    let printed = ok(&["gelu", "--size", "100", "--size", "7", "--dtype", "f16,bf16", "--y", "time"]);
    assert!(printed.contains("gelu f16 on cpu") && printed.contains("gelu bf16 on cpu"), "{printed}");
    let printed = ok(&["relu", "--size", "100", "--configs"]);
    assert!(printed.contains("relu[BLOCK=") && printed.contains("time / auto"), "{printed}");
}

#[test]
fn a_run_is_compared_with_an_earlier_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_string();
    ok(&["relu", "--over", "n=100,1000", "--out", &at("a")]);
    let saved = at("a/bench.json");
    let printed = ok(&["--from", &saved, "--against", &saved]);
    assert!(printed.ends_with("\n2 compared: 0 slower by more than 5 %, 0 broken, 0 faster\n"), "{printed}");
    // The earlier run as if it had been four times as fast at one point. The times are those of a machine that has
    // nothing else to do.
    let mut run = json(folder.path().join("a/bench.json").as_path());
    for (file, micros) in [(&saved, 8.0), (&at("fast.json"), 2.0)] {
        let times = run["sweeps"][0]["points"][0]["values"][0]["times_ms"].as_array_mut().expect("times");
        for (i, t) in times.iter_mut().enumerate() {
            *t = (micros * (1.0 + 0.01 * i as f64) / 1000.0).into();
        }
        fs::write(file, run.to_string()).expect("writes");
    }
    let out = bench(&["--from", &saved, "--against", &at("fast.json")]).output().expect("tile runs");
    assert_eq!(out.status.code(), Some(1));
    let printed = text(&out.stdout);
    let slower: Vec<&str> = printed.lines().filter(|l| l.starts_with("SLOWER")).collect();
    assert_eq!(slower.len(), 1, "{printed}");
    let words: Vec<&str> = slower[0].split_whitespace().take(5).collect();
    assert_eq!(words, ["SLOWER", "relu", "f32", "auto", "100"]);
    let wide = ok(&["--from", &saved, "--against", &at("fast.json"), "--tolerance", "900"]);
    assert!(wide.contains("0 slower by more than 900 %"), "{wide}");
    // A saved run is drawn again, with another y.
    ok(&["--from", &saved, "--out", &at("b"), "--y", "time"]);
    assert_eq!(json(folder.path().join("b/bench.json").as_path())["sweeps"][0]["y"], "time");
}

#[test]
fn peers_that_a_program_measures_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let peers = folder.path().join("it's peers.sh");
    let script = r#"grep -q '"relu f32"' "$1" && cat > "$2" <<'END'
{"format": "tilewright-peers", "version": 1, "device": "cpu", "source": "a test",
 "lines": [{"sweep": "relu f32", "name": "theirs", "points": [{"extents": [100], "times_ms": [0.5, 0.5, 0.5]}]}]}
END
"#;
    fs::write(&peers, script).expect("writes");
    let quoted = format!("'{}'", peers.to_str().expect("UTF-8").replace('\'', r"'\''"));
    let of = ["relu", "--over", "n=100,1000", "--peers-by"];
    let by = |command: &str| bench(&of).arg(command).output().expect("tile runs");
    let printed = by(&format!("sh {quoted}"));
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    assert!(text(&printed.stdout).contains("theirs"), "{}", text(&printed.stdout));
    // The run is shown where they are missing.
    let failed = by("false");
    assert_eq!(failed.status.code(), Some(1));
    let said = text(&failed.stderr);
    assert!(said.contains("it ends with exit status: 1") && text(&failed.stdout).contains("1000"), "{said}");
    let said = text(&by("true").stderr);
    assert!(said.contains("it has not written the file"), "{said}");
}

#[test]
fn peers_of_a_file_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("peers.json");
    let peers = serde_json::json!({
        "format": "tilewright-peers", "version": 1, "device": "cpu", "source": "a test",
        "lines": [{"sweep": "relu f32", "name": "torch", "points": [{"extents": [1000], "times_ms": [0.5, 0.6]}]}]
    });
    fs::write(&path, peers.to_string()).expect("writes");
    let printed = ok(&["relu", "--over", "n=100,1000", "--peers", path.to_str().expect("UTF-8")]);
    assert!(printed.lines().any(|l| l.starts_with("1000 ") && l.contains("torch (recorded)")), "{printed}");
}

/// Bad input is one message before anything is measured, and leaves nothing behind.
#[test]
fn bad_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_string();
    fs::write(at("cut.json"), "{").expect("writes");
    fs::write(at("file"), "").expect("writes");
    let refuse = |args: &[&str], status: i32, word: &str| {
        let out = bench(&[args, &["--out", &at("out")]].concat()).output().expect("tile runs");
        let said = message(&out, status);
        assert!(said.contains(word), "{args:?}: no `{word}` in: {said}");
        assert!(status == 2 || said.starts_with("error: ") && said.lines().count() == 1, "{said}");
        assert!(!folder.path().join("out").exists(), "{args:?}");
    };
    refuse(&["relu", "--over", "cols=5"], 1, "relu has no axis `cols`; it has n");
    refuse(&["relu", "--over", "n=5..5"], 2, "`5..5` has no values");
    refuse(&["relu", "--over", "n=0..=8"], 2, "has no end");
    refuse(&["relu", "--over", "5"], 2, "names no axis");
    refuse(&["relu", "--dtype", "f8"], 1, "relu has no f8; it has f32, f16, bf16");
    refuse(&["rellu"], 1, "there is no operation `rellu` (did you mean relu?)");
    refuse(&["relu", "--over", "n=5", "--size", "1", "--size", "2"], 1, "--over takes one --size");
    refuse(&["softmax_rows", "--over", "cols=5", "--size", "1"], 1, "a size is rows x cols");
    refuse(&["relu", "--y", "throughput"], 1, "has no operations at n = ");
    refuse(&["relu", "--y", "color"], 2, "color");
    refuse(&["relu", "--tolerance", "much"], 2, "`much` is not a percentage");
    refuse(&["relu", "--limit", "-1"], 2, "-1");
    refuse(&["relu", "--backend", "cuda:99"], 2, "--backend");
    refuse(&["relu", "--against", &at("none.json")], 1, "none.json: No such file");
    refuse(&["relu", "--against", &at("cut.json")], 1, "cut.json: EOF while parsing");
    refuse(&["relu", "--peers", &at("cut.json")], 1, "cut.json: EOF while parsing");
    refuse(&["--from", &at("none.json")], 1, "none.json: No such file");
    refuse(&["relu", "--from", &at("cut.json")], 2, "cannot be used with");
    let out = bench(&["relu", "--out", &at("file/below")]).output().expect("tile runs");
    let said = message(&out, 1);
    assert!(said.starts_with("error: creating the folder ") && said.lines().count() == 1, "{said}");
    let mut no_gpu = Command::new(env!("CARGO_BIN_EXE_tile"));
    let out = no_gpu.args(["bench", "relu", "--backend", "cuda:99", "--out", &at("out")]).output().expect("tile runs");
    assert_eq!(message(&out, 1).lines().count(), 1);
    assert!(!folder.path().join("out").exists());
    ok(&["relu", "--size", "100", "--out", &at("a")]);
    let few = bench(&["relu", "--against", &at("a/bench.json"), "--out", &at("out")]);
    let out = { few }.args(["--limit", "1"]).output().expect("tile runs");
    assert!(message(&out, 1).contains("no line in common"), "the sizes are others");
}

/// Points that are done are kept, and the page says that it is incomplete.
#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_its_points() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut command = bench(&["relu", "--over", "n=100000..=104000:+1", "--out", out.to_str().expect("UTF-8")]);
    // The machine may be busy: the first point may take a while.
    for seconds in [2, 8, 32] {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("tile starts");
        std::thread::sleep(std::time::Duration::from_secs(seconds));
        // SAFETY: a signal to a process that was started here, and that nobody has waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
        let done = child.wait_with_output().expect("tile ends");
        assert_eq!(done.status.code(), Some(1), "{}", text(&done.stderr));
        if text(&done.stderr).contains("stopped before the first point") {
            assert!(!out.join("bench.json").exists());
            continue;
        }
        assert!(text(&done.stdout).contains("\nincomplete: "), "{}", text(&done.stdout));
        let run = json(&out.join("bench.json"));
        let points = run["sweeps"][0]["points"].as_array().expect("points").len();
        assert!(run["complete"] == false && (1..4001).contains(&points), "{points}");
        assert!(fs::read_to_string(out.join("bench.html")).expect("a page").contains("class=\"incomplete\""));
        return;
    }
    panic!("no point was done in 32 seconds");
}
