//! Hover, completion and go to definition in the body of a kernel, in a rust-analyzer. `cargo xtask test` runs it where
//! there is one: rust-analyzer builds the packages that the fixture depends on first.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tilewright_editor_tests::{Position, Server, version};

const FIXTURE: &str = include_str!("../fixture.rs");

/// Its build may take long.
const PATIENCE: Duration = Duration::from_secs(1800);

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Writes the package that rust-analyzer opens, and returns its folder. It has the locked versions of the workspace.
fn package() -> Result<PathBuf> {
    let (workspace, dir) = (workspace(), workspace().join("target/editor/fixture"));
    fs::create_dir_all(dir.join("src"))?;
    let tilewright = workspace.join("tilewright");
    let manifest = format!(
        "[package]\nname = \"fixture\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         tilewright = {{ path = {tilewright:?}, default-features = false, features = [\"runtime\"] }}\n"
    );
    fs::write(dir.join("Cargo.toml"), manifest)?;
    fs::copy(workspace.join("Cargo.lock"), dir.join("Cargo.lock"))?;
    fs::write(dir.join("src/lib.rs"), FIXTURE)?;
    Ok(dir)
}

struct Editor {
    server: Server,
    file: PathBuf,
}

impl Editor {
    fn hover(&mut self, text: &str, offset: usize) -> Result<String> {
        let at = Position::of(FIXTURE, text, offset)?;
        let result = self.server.ask("textDocument/hover", &self.file, at)?;
        let value = result["contents"]["value"].as_str();
        Ok(value.with_context(|| format!("no hover at `{text}`: {result}"))?.to_string())
    }

    /// The file and the line that a name is defined in.
    fn definition(&mut self, text: &str, offset: usize) -> Result<(String, String)> {
        let at = Position::of(FIXTURE, text, offset)?;
        let result = self.server.ask("textDocument/definition", &self.file, at)?;
        let first = result.as_array().and_then(|l| l.first()).unwrap_or(&result);
        let uri = first["targetUri"].as_str().or(first["uri"].as_str());
        let uri = uri.with_context(|| format!("no definition of `{text}`: {result}"))?;
        let range =
            if first["targetSelectionRange"].is_null() { &first["range"] } else { &first["targetSelectionRange"] };
        let line = range["start"]["line"].as_u64().context("a line")?;
        let path = uri.strip_prefix("file://").context("a file")?;
        let source = fs::read_to_string(path)?;
        let line = source.lines().nth(line as usize).context("the line is in the file")?;
        Ok((path.to_string(), line.trim().to_string()))
    }

    /// The names that are offered after `typed`, written at the end of the first kernel.
    fn offered(&mut self, typed: &str) -> Result<String> {
        let text = FIXTURE.replace("// here", typed);
        self.server.open(&self.file, &text)?;
        let result =
            self.server.ask("textDocument/completion", &self.file, Position::of(&text, typed, typed.len())?)?;
        self.server.open(&self.file, FIXTURE)?;
        let items = result["items"].as_array().or(result.as_array());
        let items = items.with_context(|| format!("no completions: {result}"))?;
        let names = items.iter().filter_map(|i| i["label"].as_str()?.split(['(', '!', ' ', '…']).next());
        Ok(format!(" {} ", names.take(100).collect::<Vec<_>>().join(" ")))
    }
}

/// The defect of an answer, if it has one.
fn wrong(answer: Result<String>, text: &str, part: &str) -> Option<String> {
    match answer {
        Ok(all) if all.contains(part) => None,
        Ok(all) => Some(format!("`{text}`: `{part}` is missing in:\n{all}")),
        Err(e) => Some(format!("`{text}`: {e}")),
    }
}

/// The names of the fixture that are hovered over, and a part of their hover.
const HOVERS: [(&str, &str); 17] = [
    // The documentation of three operations, with an example.
    ("load(x, i)", "The elements of the slice"),
    ("load(x, i)", "let i = program_id(0) * 4 + arange(4);"),
    ("dot(a.tile", "of tiles `[M, K]`, `[K, N]` and `[M, N]`"),
    ("program_id(0) * BLOCK", "The number of this program along"),
    // That of methods, and of a helper in a library.
    ("to::<f32>()", "Each element as a `U`"),
    ("mask(inside)", "Elements for which `m` does not hold"),
    ("leaky(acc", "Negative elements times the slope."),
    // The types of variables.
    ("i = program_id", "Tile<usize>"),
    ("v = load", "Tile<f32>"),
    ("total = sum", "Tile<f32>"),
    ("acc = zeros", "Tile<f32>"),
    ("at = program_id", "Tile<usize>"),
    ("inside = at", "Tile<bool>"),
    ("pointers = p.add", "Tile<PtrMut<f32>>"),
    ("old = load", "Tile<f32>"),
    // A kernel where it is called, and its call.
    ("plus_one(x, y)", "Every element plus one."),
    ("call = plus_one", "Call<"),
];

/// Names, and the files and lines that they are defined in.
const DEFINITIONS: [(&str, &str, &str); 7] = [
    ("load(x, i)", "lang/src/memory.rs", "pub fn load<"),
    ("dot(a.tile", "lang/src/product.rs", "pub fn dot<"),
    ("program_id(0) * BLOCK", "lang/src/programs.rs", "pub fn program_id("),
    ("cdiv(x.len()", "lang/src/programs.rs", "pub fn cdiv<"),
    ("leaky(acc", "fixture/src/lib.rs", "fn leaky("),
    ("plus_one(x, y)", "fixture/src/lib.rs", "pub fn plus_one<"),
    ("acc, 0.1", "fixture/src/lib.rs", "let mut acc ="),
];

/// The text typed at the end of the first kernel, and a name that is offered there.
const COMPLETIONS: [(&str, &str); 6] = [
    ("let w = lo", "load"),
    ("let w = dot", "dot"),
    ("let w = progr", "program_id"),
    ("let w = v.exp", "expand"),
    ("let w = load(x, i).ma", "mask"),
    ("let w = tot", "total"),
];

#[test]
#[ignore = "builds the fixture's dependencies: cargo xtask test editor"]
fn kernels_in_rust_analyzer() -> Result<()> {
    let Some(version) = version() else {
        eprintln!("\n*** SKIPPED: no rust-analyzer runs here. `rustup component add rust-analyzer` gives it. ***\n");
        return Ok(());
    };
    println!("{version}");
    let dir = package()?;
    let file = dir.join("src/lib.rs");
    let server = Server::start(&dir, &workspace().join("target/editor"), PATIENCE)?;
    let mut editor = Editor { server, file: file.clone() };
    editor.server.open(&file, FIXTURE)?;
    let mut failures = vec![];
    for (text, part) in HOVERS {
        failures.extend(wrong(editor.hover(text, 0), text, part));
    }
    for (text, module, line) in DEFINITIONS {
        let found = editor.definition(text, 0).map(|(path, line)| format!("{path}: {line}"));
        failures.extend(wrong(found, text, &format!("{module}: {line}")));
    }
    for (typed, name) in COMPLETIONS {
        failures.extend(wrong(editor.offered(typed), typed, &format!(" {name} ")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(())
}
