//! libtile.so from C and from Python, and its header.

use crate::docs::{blocks, read};
use crate::recorded::is_recorded;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

// Links the library in, so that cargo builds it before this test.
use tile as _;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_path_buf()
}

/// The folder with libtile.so: cargo puts a dependency's cdylib beside the test.
fn library_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("this test's path");
    let dir = exe.parent().expect("a folder").to_path_buf();
    assert!(dir.join("libtile.so").is_file(), "no libtile.so in {}", dir.display());
    dir
}

/// Runs a program against that library: cargo's own search path may hold an older one.
fn run(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut c = Command::new(program);
    c.env("LD_LIBRARY_PATH", library_dir()).env_remove("TILE_BACKEND").env_remove("RUST_LOG");
    c
}

fn succeeds(what: &str, out: Output) {
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    assert!(out.status.success(), "{what}: {}\n{}{}", out.status, text(&out.stdout), text(&out.stderr));
}

/// Whether the program is here; if not, `TILE_ALLOW_NO_GCC=1` or `TILE_ALLOW_NO_PYTHON3=1` goes on without its
/// tests.
fn has(program: &str, how: &str) -> bool {
    if Command::new(program).arg("--version").output().is_ok() {
        return true;
    }
    let variable = format!("TILE_ALLOW_NO_{}", program.to_uppercase());
    let allowed = std::env::var(&variable).is_ok_and(|v| v == "1");
    assert!(allowed, "there is no {program}: `{how}` gives it; {variable}=1 goes on without");
    eprintln!("skipped: there is no {program}: `{how}` gives it");
    false
}

fn has_gcc() -> bool {
    has("gcc", "apt-get install gcc libc6-dev")
}

/// A program that tests the functions of the C library, from this file of `tests/capi`.
fn c_program(source: &str, name: &str) -> PathBuf {
    let (dir, program) = (library_dir(), PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name));
    // `address` for AddressSanitizer: its runtime then comes first, for the library's allocations too.
    let sanitizer = std::env::var("TILE_C_SANITIZER").ok().map(|s| format!("-fsanitize={s}"));
    let out = Command::new("gcc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-O1"])
        .args(sanitizer)
        .arg("-I")
        .arg(root().join("capi/include"))
        .arg(root().join("tests/capi").join(source))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&dir)
        .arg("-ltile")
        .args(["-lm", "-lpthread"])
        .arg(format!("-Wl,-rpath,{}", dir.display()))
        .output()
        .expect("gcc is installed");
    succeeds("gcc", out);
    program
}

fn abi_program(name: &str) -> PathBuf {
    c_program("abi.c", name)
}

#[test]
fn c_argument_errors() {
    if !has_gcc() {
        return;
    }
    // On every machine: these are found before the search for a device.
    let program = abi_program("abi-errors");
    succeeds("abi errors", run(&program).arg("errors").output().expect("runs"));
    succeeds("abi errors, cpu", run(&program).arg("errors").env("TILE_BACKEND", "cpu").output().expect("runs"));
}

#[test]
fn c_without_a_device() {
    if !has_gcc() {
        return;
    }
    let out = run(abi_program("abi-no-device")).arg("no-device").env("CUDA_VISIBLE_DEVICES", "-1").output();
    succeeds("abi no-device", out.expect("runs"));
}

#[test]
fn c_results() {
    if !has_gcc() {
        return;
    }
    let out = run(abi_program("abi-results")).arg("results").env("TILE_BACKEND", "cpu").output();
    succeeds("abi results", out.expect("runs"));
}

#[test]
fn c_unknown_backend() {
    if !has_gcc() {
        return;
    }
    let out = run(abi_program("abi-unknown-backend")).arg("unknown-backend").env("TILE_BACKEND", "nonsense").output();
    succeeds("abi unknown-backend", out.expect("runs"));
}

/// On the CPU, in this mode of the program.
fn c_on_the_cpu(mode: &str) -> Option<Output> {
    c_on_threads(mode, "4")
}

fn c_on_threads(mode: &str, threads: &str) -> Option<Output> {
    if !has_gcc() {
        return None;
    }
    let mut command = run(abi_program(&format!("abi-{mode}")));
    command.arg(mode).env("TILE_BACKEND", "cpu").env("RAYON_NUM_THREADS", threads);
    Some(command.output().expect("runs"))
}

#[test]
fn c_calls_overflow_a_stack_of_16_kib() {
    if let Some(out) = c_on_the_cpu("small-stack") {
        succeeds("abi small-stack", out);
    }
}

#[test]
fn c_calls_panic_where_no_thread_can_be_started() {
    if let Some(out) = c_on_the_cpu("few-threads") {
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(said.contains("WARN") && said.contains("could not start more threads"), "{said}");
        succeeds("abi few-threads", out);
    }
}

#[test]
fn c_calls_abort_without_memory_for_tiles() {
    // A sanitizer's allocator has its address space from the beginning, so that a limit does not reach it.
    if std::env::var_os("TILE_C_SANITIZER").is_some() {
        return;
    }
    // One thread: another one would allocate its first bytes, which cannot fail, without memory.
    if let Some(out) = c_on_threads("no-memory", "1") {
        succeeds("abi no-memory", out);
    }
}

/// On one thread they fail in one order; on several also those of other threads fail.
#[test]
fn c_calls_abort_where_an_allocation_fails() {
    // A sanitizer has an allocator of its own.
    if std::env::var_os("TILE_C_SANITIZER").is_some() || !has_gcc() {
        return;
    }
    let program = c_program("allocations.c", "abi-allocations");
    for threads in ["1", "3"] {
        let out = run(&program).env("TILE_BACKEND", "cpu").env("RAYON_NUM_THREADS", threads).output();
        succeeds("allocations that fail", out.expect("runs"));
    }
}

#[test]
fn c_prepared_calls_write() {
    if let Some(out) = c_on_the_cpu("prepare") {
        succeeds("abi prepare", out);
    }
}

#[test]
fn c_warnings() {
    if !has_gcc() {
        return;
    }
    let out = run(abi_program("abi-warnings"))
        .arg("results")
        .env("TILE_BACKEND", "cpu")
        .env("TILE_AUTOTUNE", "banana")
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.lines().filter(|l| l.contains("WARN") && l.contains("banana")).count() == 1, "{said}");
    succeeds("abi results", out);
}

#[test]
fn python_ctypes() {
    if !has("python3", "apt-get install python3") {
        return;
    }
    let out = Command::new("python3")
        .arg(root().join("tests/capi/abi.py"))
        .arg(library_dir().join("libtile.so"))
        .env("TILE_BACKEND", "cpu")
        .output();
    succeeds("abi.py", out.expect("python3 is installed"));
}

#[test]
fn python_children_hang_after_a_fork() {
    if !has("python3", "apt-get install python3") {
        return;
    }
    let out = Command::new("python3")
        .arg(root().join("tests/capi/fork.py"))
        .arg(library_dir().join("libtile.so"))
        .env("TILE_BACKEND", "cpu")
        .env("RAYON_NUM_THREADS", "4")
        .output();
    succeeds("fork.py", out.expect("python3 is installed"));
}

/// The headers, with their settings and the files that declare their functions, in the header's order.
const HEADERS: [(&str, &str, &[&str]); 2] = [
    (
        "tile.h",
        "cbindgen.toml",
        &[
            "codes.rs",
            "version.rs",
            "guard.rs",
            "thread.rs",
            "handle.rs",
            "general.rs",
            "matmul.rs",
            "batched.rs",
            "grouped.rs",
            "attention.rs",
            "handle_operations.rs",
            "norms.rs",
            "losses.rs",
            "softmax.rs",
            "embeddings.rs",
        ],
    ),
    ("tile_challenges.h", "cbindgen-challenges.toml", &["challenges/mod.rs"]),
];

/// `TILE_BLESS=1` rewrites the headers.
#[test]
fn headers_are_current() {
    let capi = root().join("capi");
    for (name, config, sources) in HEADERS {
        let config = cbindgen::Config::from_file(capi.join(config)).expect(config);
        let builder = cbindgen::Builder::new().with_config(config);
        let builder = sources.iter().fold(builder, |b, file| b.with_src(capi.join("src").join(file)));
        let mut text = Vec::new();
        builder.generate().expect("the header").write(&mut text);
        is_recorded(&capi.join("include").join(name), &String::from_utf8(text).expect("text"));
    }
}

/// Every function that the library exports, by its sources, is in a header.
#[test]
fn headers_are_complete() {
    fn exported(folder: &Path, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                exported(&path, out);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source file");
            let functions = text.split("extern \"C\" fn ").skip(1).filter_map(|f| f.split_once('('));
            out.extend(functions.map(|(name, _)| name.to_string()));
        }
    }
    let (capi, mut names) = (root().join("capi"), Vec::new());
    exported(&capi.join("src"), &mut names);
    let text: String = HEADERS
        .iter()
        .map(|(name, ..)| std::fs::read_to_string(capi.join("include").join(name)).expect("a header"))
        .collect();
    names.retain(|name| !text.contains(&format!("{name}(")));
    assert_eq!(names, [""; 0], "add their files to `HEADERS`");
}

#[test]
fn headers_stand_alone() {
    if !has_gcc() {
        return;
    }
    for (name, ..) in HEADERS {
        let source = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.c"));
        let text = format!("#include \"{name}\"\nint main(void) {{ return TILE_OK; }}\n");
        std::fs::write(&source, text).expect("writes");
        for language in [["-std=c99", "-xc"], ["-std=c++11", "-xc++"]] {
            let out = Command::new("gcc")
                .args(language)
                .args(["-pedantic", "-Wall", "-Werror", "-fsyntax-only", "-I"])
                .arg(root().join("capi/include"))
                .arg(&source)
                .output();
            succeeds(&format!("{name} alone, {}", language[0]), out.expect("gcc is installed"));
        }
    }
}

/// The C of the book, in a function whose parameters are its free variables.
#[test]
fn snippets_of_the_book_compile() {
    if !has_gcc() {
        return;
    }
    const PARAMETERS: &str = "void *stream, const void *a, const void *b, void *c, size_t n";
    let mut compiled = 0;
    for page in crate::book::pages() {
        for b in blocks(&read(&page)).iter().filter(|b| b.language == "c") {
            let (includes, statements): (Vec<&str>, Vec<&str>) =
                b.text.lines().partition(|l| l.starts_with("#include"));
            let (includes, statements) = (includes.join("\n"), statements.join("\n"));
            let text =
                format!("{includes}\nvoid snippet({PARAMETERS});\nvoid snippet({PARAMETERS}) {{\n{statements}\n}}\n");
            let source = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("snippet{compiled}.c"));
            std::fs::write(&source, text).expect("writes");
            let out = Command::new("gcc")
                .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"])
                .arg(root().join("capi/include"))
                .arg(&source)
                .output();
            succeeds(&format!("{page}:{}", b.line), out.expect("gcc is installed"));
            compiled += 1;
        }
    }
    assert!(compiled > 0, "no page has C");
}
