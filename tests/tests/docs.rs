//! The documents agree with the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tilewright_compiler::diag::Diagnostics;
use tilewright_compiler::dtype::DType;
use tilewright_compiler::{BUILTINS, Configs};
use tilewright_conformance::OPERATIONS;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_path_buf()
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// A fenced block: line, language, text.
pub(crate) struct Block {
    pub line: usize,
    /// The words behind the fence, as in `rust,ignore`.
    pub info: String,
    pub language: String,
    pub text: String,
}

pub(crate) fn blocks(document: &str) -> Vec<Block> {
    let mut out = vec![];
    let mut open: Option<Block> = None;
    for (i, line) in document.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                open = Some(Block {
                    line: i + 2,
                    info: info.trim().into(),
                    language: info.split(',').next().unwrap_or("").trim().into(),
                    text: String::new(),
                })
            }
            (Some(_), Some(_)) => out.extend(open.take()),
            (None, Some(b)) => b.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    out
}

/// The pieces between backticks.
pub(crate) fn code_spans(line: &str) -> impl Iterator<Item = String> + '_ {
    line.split('`').skip(1).step_by(2).map(|s| s.replace("\\|", "|"))
}

pub(crate) fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect()
}

/// The names that a piece of code uses outside of all brackets: of `v.tile([o0], [E0])` they are `v` and `tile`.
fn outer_names(code: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut depth = 0;
    for c in code.chars() {
        match c {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth -= 1,
            c if depth == 0 && (c.is_alphanumeric() || c == '_') => {
                out.last_mut().expect("one").push(c);
                continue;
            }
            _ => {}
        }
        out.push(String::new());
    }
    out.retain(|w| w.len() > 1 && w.starts_with(|c: char| c.is_lowercase()));
    out
}

/// Options of operations, with a kernel that uses each.
const OPTIONS: [(&str, &str); 16] = [
    (
        "mask",
        "pub fn k(x: &[f32], y: &mut [f32], n: usize) { let i = arange(32); store(y, i, load(x, i).mask(i < n)).mask(i < n); }",
    ),
    (
        "other",
        "pub fn k(x: &[f32], y: &mut [f32], n: usize) { let i = arange(32); store(y, i, load(x, i).mask(i < n).other(1.0)); }",
    ),
    (
        "evict_first",
        "pub fn k(x: &[f32], y: &mut [f32]) { let i = arange(32); store(y, i, load(x, i).evict_first()).evict_first(); }",
    ),
    (
        "evict_last",
        "pub fn k(x: &[f32], y: &mut [f32]) { let i = arange(32); store(y, i, load(x, i).evict_last()).evict_last(); }",
    ),
    ("no_l1", "pub fn k(x: &[f32], y: &mut [f32]) { let i = arange(32); store(y, i, load(x, i).no_l1()); }"),
    (
        "unchecked",
        "pub unsafe fn k(x: &[f32], y: &mut [f32]) { let i = arange(32); store(y, i, load(x, i).unchecked()); }",
    ),
    ("relaxed", "pub fn k(y: &mut [u32]) { atomic_add(y, arange(32), 1).relaxed(); }"),
    (
        "tf32",
        "pub fn k(x: View<f32, 2>, mut y: ViewMut<f32, 2>) { let t = x.tile([0, 0], [16, 16]); y.store([0, 0], dot(t, t, 0.0).tf32()); }",
    ),
    (
        "tf32x3",
        "pub fn k(x: View<f32, 2>, mut y: ViewMut<f32, 2>) { let t = x.tile([0, 0], [16, 16]); y.store([0, 0], dot(t, t, 0.0).tf32x3()); }",
    ),
    (
        "bf16x3",
        "pub fn k(x: View<f32, 2>, mut y: ViewMut<f32, 2>) { let t = x.tile([0, 0], [16, 16]); y.store([0, 0], dot(t, t, 0.0).bf16x3()); }",
    ),
    (
        "bf16x6",
        "pub fn k(x: View<f32, 2>, mut y: ViewMut<f32, 2>) { let t = x.tile([0, 0], [16, 16]); y.store([0, 0], dot(t, t, 0.0).bf16x6()); }",
    ),
    (
        "weights",
        "pub fn k(x: &[u8], y: &mut [f32]) { let i = arange(32); store(y, i, histogram(load(x, i), 32).weights(2.0)); }",
    ),
    (
        "propagate_nan",
        "pub fn k(x: &[f32], y: &mut [f32]) { let i = arange(32); store(y, i, maximum(load(x, i), 0.0).propagate_nan()); }",
    ),
    (
        "reverse",
        "pub fn k(x: &[f32], y: &mut [f32]) { let i = arange(32); store(y, i, cumsum(load(x, i), 0).reverse()); }",
    ),
    (
        "exclusive",
        "pub fn k(x: &[f32], y: &mut [f32]) { let i = arange(32); store(y, i, cumsum(load(x, i), 0).exclusive(0.0)); }",
    ),
    (
        "descending",
        "pub fn k(x: &[f32], y: &mut [f32]) { let i = arange(32); store(y, i, sort(load(x, i), 0).descending()); }",
    ),
];

/// The mistakes in the kernels of a text, which has one or more.
pub(crate) fn mistakes(text: &str) -> Vec<String> {
    let d = Diagnostics::default();
    let expected = text.matches("#[tile_kernel").count();
    let mut libraries = tilewright_compiler::Libraries::default();
    libraries.add(text);
    let found = tilewright_compiler::module::file(text, &libraries);
    let mut out = vec![];
    if found.is_empty() || found.len() != expected {
        out.push(format!("{expected} kernels written, {} found: the block is no Rust file", found.len()));
    }
    for f in found {
        let Ok(kernels) = f.parse(&d) else { continue };
        // Messages of both are in `d`.
        for (kernel, i) in kernels.iter().flat_map(|k| k.instances().into_iter().map(move |i| (k, i))) {
            let _ = tilewright_compiler::driver::instance(kernel, &i.choice, i.config, &d);
        }
        if d.is_empty() {
            let _ = tilewright_compiler::emit::device::units(&kernels, Configs::All, &d);
        }
    }
    out.extend(d.take().into_iter().map(|e| format!("line {} of the block: {}", e.span.first.start().line, e.message)));
    out
}

#[test]
fn every_operation_is_documented() {
    let language = read("docs/language.md");
    let spans: Vec<String> =
        language.lines().flat_map(code_spans).chain(blocks(&language).into_iter().map(|b| b.text)).collect();
    let documented: BTreeSet<&str> = spans.iter().flat_map(|s| words(s)).collect();
    let missing: Vec<_> = BUILTINS.iter().filter(|(name, _)| !documented.contains(name)).collect();
    assert!(missing.is_empty(), "not in docs/language.md: {missing:?}");
    let missing: Vec<_> = DType::ALL.iter().filter(|d| !documented.contains(d.name())).collect();
    assert!(missing.is_empty(), "not in docs/language.md: {missing:?}");
}

#[test]
fn every_documented_operation_exists() {
    const RUST: [&str; 7] = ["as", "break", "const", "continue", "fn", "mut", "unsafe"];
    let language = read("docs/language.md");
    let rows = language.lines().filter(|l| l.starts_with('|'));
    let names: BTreeSet<String> = rows.flat_map(code_spans).flat_map(|s| outer_names(&s)).collect();
    let libraries: Vec<String> =
        ["grid", "random"].iter().map(|l| read(&format!("kernel-compiler/libraries/{l}.rs"))).collect();
    let functions = libraries.iter().flat_map(|text| text.lines()).filter_map(|l| l.trim().strip_prefix("pub fn "));
    let of_libraries: BTreeSet<&str> = functions.filter_map(|f| f.split(['<', '(']).next()).collect();
    let known = |n: &str| {
        let is_operation = BUILTINS.iter().chain(&OPTIONS).any(|b| b.0 == n);
        RUST.contains(&n) || DType::parse(n).is_some() || is_operation || of_libraries.contains(n)
    };
    let unknown: Vec<_> = names.iter().filter(|n| !known(n)).collect();
    assert!(unknown.is_empty(), "docs/language.md names what there is not: {unknown:?}");
    assert!(names.len() > 60, "the tables were read: {names:?}");
}

#[test]
fn names_in_code() {
    assert_eq!(outer_names("v.tile([o0, o1], [E0, E1]).nothing::<T>(exp(x))"), ["tile", "nothing"]);
    assert_eq!(outer_names("exp exp2 fma(a, b, c)"), ["exp", "exp2", "fma"]);
}

#[test]
fn every_option_exists() {
    for (name, kernel) in OPTIONS {
        let wrong = mistakes(&format!("#[tile_kernel(grid = [1])]\n{kernel}"));
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
    assert!(!mistakes("#[tile_kernel(grid = [1])] pub fn k(x: &mut [f32]) { store(x, 0, 1.0).nothing(); }").is_empty());
}

#[test]
fn kernels_in_documents_compile() {
    let mut kernels = 0;
    let of_the_book = crate::book::pages();
    for path in ["README.md", "ARCHITECTURE.md"].into_iter().chain(of_the_book.iter().map(String::as_str)) {
        for b in blocks(&read(path)).iter().filter(|b| b.language == "rust" && b.text.contains("#[tile_kernel")) {
            let wrong = mistakes(&b.text);
            assert!(wrong.is_empty(), "the block at {path}:{}: {wrong:#?}", b.line);
            kernels += 1;
        }
    }
    assert!(kernels >= 2, "{kernels} blocks with kernels");
}

/// The commands of a document, without comments.
fn commands(document: &str) -> Vec<Vec<String>> {
    let fenced = blocks(document)
        .into_iter()
        .filter(|b| b.language == "sh")
        .flat_map(|b| b.text.replace("\\\n", " ").lines().map(str::to_owned).collect::<Vec<_>>());
    let inline = document.lines().flat_map(code_spans).collect::<Vec<_>>();
    let lines = fenced.chain(inline).map(|l| l.split(" #").next().unwrap_or("").to_owned());
    lines
        .filter(|l| l.split_whitespace().next() == Some("cargo"))
        .map(|l| shlex::split(&l).unwrap_or_else(|| panic!("`{l}` has a quotation mark too many")))
        .collect()
}

#[test]
fn commands_of_the_readme_exist() {
    assert!(read(".cargo/config.toml").contains("xtask ="));
    let (of_xtask, of_tile) = commands_exist("README.md");
    assert!(of_xtask >= 2 && of_tile >= 1, "{of_xtask} of xtask, {of_tile} of tile");
}

/// Checks the commands of a document. Returns how many of `cargo xtask` and of `tile` there are.
pub(crate) fn commands_exist(path: &str) -> (usize, usize) {
    let xtask = read("xtask/src/main.rs");
    let (mut of_xtask, mut of_tile) = (0, 0);
    for c in commands(&read(path)) {
        let words: Vec<&str> = c.iter().map(String::as_str).collect();
        match &words[..] {
            ["cargo", "xtask", command, ..] => {
                assert!(xtask.contains(&format!("Some(\"{command}\")")), "no `cargo xtask {command}`");
                of_xtask += 1;
            }
            ["cargo", "run", "--release", "--bin", "tile", "--", command, args @ ..] => {
                tile_command(command, args);
                of_tile += 1;
            }
            ["cargo", "build", "--release", "-p", package] => {
                let dir = package.strip_prefix("tilewright-").expect("a package of the workspace");
                assert!(
                    read(&format!("{dir}/Cargo.toml")).contains(&format!("name = \"{package}\"")),
                    "no package {package}"
                );
            }
            ["cargo", "run", "--release", "-p", package, "--example", name, ..] => {
                let dir = package.strip_prefix("tilewright-").expect("a package of the workspace");
                let example = [format!("{dir}/examples/{name}.rs"), format!("kernel-{dir}/examples/{name}.rs")];
                assert!(example.iter().any(|e| root().join(e).exists()), "{path}: no example {name} in {package}");
            }
            ["cargo", toolchain, "check", ..] if toolchain.starts_with('+') => {}
            // A name, and no command.
            ["cargo", "xtask"] => {}
            // The steps a reader knows from elsewhere.
            ["cargo", "bench" | "build" | "run" | "test", ..] | ["cargo", "new" | "install", _] => {}
            other => panic!("{path}: is `{}` a command? This test does not know it", other.join(" ")),
        }
    }
    (of_xtask, of_tile)
}

fn tile_command(command: &str, args: &[&str]) {
    let mut name = command.to_owned();
    name[..1].make_ascii_uppercase();
    assert!(read("cli/src/main.rs").contains(&format!(" {name}({command}::Args)")), "no `tile {command}`");
    let text = read(&format!("cli/src/{command}.rs"))
        + &read("cli/src/choose.rs")
        + &read("cli/src/benches.rs")
        + &read("bench/src/command.rs");
    let mut before = "";
    // Behind `--` are arguments for Cargo.
    for &a in args.iter().take_while(|a| **a != "--") {
        match (before, a.strip_prefix("--")) {
            (_, Some(option)) => assert!(
                [format!(" {}: ", option.replace('-', "_")), format!("long = \"{option}\"")]
                    .iter()
                    .any(|o| text.contains(o)),
                "`tile {command}` has no --{option}"
            ),
            // A kernel of another package.
            ("", None) if args.contains(&"--crate") => {}
            // The name of a package.
            ("", None) if command == "new" => {}
            ("", None) if command == "explain" => {
                tilewright_compiler::explain::find(a).expect("the code of a message");
            }
            ("", None) => assert!(
                OPERATIONS.iter().any(|o| o.name == a) || tilewright_kernels::all().iter().any(|k| k.name == a),
                "no operation {a}"
            ),
            ("--stage", None) => assert!(
                ["ptx", "sass"].contains(&a) || tilewright_compiler::Stage::ALL.iter().any(|s| s.name() == a),
                "no stage {a}"
            ),
            _ => {}
        }
        before = if a.starts_with("--") { a } else { "" };
    }
}

#[test]
fn settings_exist() {
    let mut code = String::new();
    for dir in ["host/src", "kernel-build/src", "capi/src", "collectives/src"] {
        each_rust_file(&root().join(dir), &mut |text| code.push_str(text));
    }
    let settings = read("docs/settings.md");
    let named: BTreeSet<String> =
        settings.lines().filter(|l| l.starts_with("| `TILE_")).filter_map(|l| code_spans(l).next()).collect();
    assert!(named.len() >= 5, "{named:?}");
    for n in named {
        assert!(code.contains(&format!("\"{n}\"")), "nothing reads {n}");
    }
}

pub(crate) fn each_rust_file(dir: &Path, f: &mut impl FnMut(&str)) {
    for e in fs::read_dir(dir).expect("a folder") {
        let path = e.expect("an entry").path();
        if path.is_dir() {
            each_rust_file(&path, f);
        } else if path.extension().is_some_and(|x| x == "rs") {
            f(&fs::read_to_string(&path).expect("text"));
        }
    }
}

/// The targets of a document's links, outside of code.
pub(crate) fn links(document: &str) -> Vec<String> {
    let (mut out, mut code) = (vec![], false);
    for line in document.lines() {
        code ^= line.starts_with("```");
        let text: String = line.split('`').step_by(2).filter(|_| !code).collect();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        out.extend(targets.map(str::to_owned));
    }
    out
}

#[test]
fn links_lead_somewhere() {
    for document in documents() {
        let folder = document.parent().expect("a folder");
        let text = fs::read_to_string(&document).expect("a text");
        for target in links(&text) {
            if !target.contains("://") {
                let path = folder.join(target.split('#').next().unwrap_or(&target));
                assert!(path.exists(), "{} points to {target}", document.display());
            }
        }
    }
}

/// Every document of the repository.
fn documents() -> Vec<PathBuf> {
    let of = |folder: &str| fs::read_dir(root().join(folder)).expect("a folder").map(|e| e.expect("an entry").path());
    let others = [".", "docs", "host/defaults", "cli/template", "examples/first"].into_iter().flat_map(of);
    let others = others.filter(|p| p.extension().is_some_and(|e| e == "md"));
    let of_the_book = crate::book::pages().into_iter().map(|p| root().join(p));
    let all: BTreeSet<PathBuf> = others.chain(of_the_book).collect();
    all.into_iter().collect()
}
