//! Hover, completion and go to definition in the body of a kernel, in a rust-analyzer. `cargo xtask test --long` runs it:
//! rust-analyzer builds the packages that the fixture depends on first.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
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

    /// What is offered after `typed`, written at the end of the first kernel.
    fn completions(&mut self, typed: &str) -> Result<Vec<Value>> {
        let text = FIXTURE.replace("// here", typed);
        self.server.open(&self.file, &text)?;
        let at = Position::of(&text, typed, typed.len())?;
        let result = self.server.ask("textDocument/completion", &self.file, at)?;
        self.server.open(&self.file, FIXTURE)?;
        let items = result["items"].as_array().or(result.as_array());
        Ok(items.with_context(|| format!("no completions of `{typed}`: {result}"))?.clone())
    }

    fn offers(&mut self, typed: &str, name: &str) -> Result<()> {
        let offered = self.completions(typed)?;
        let is_it = |i: &Value| i["label"].as_str().is_some_and(|l| l.split(['(', '!', ' ', '…']).next() == Some(name));
        let labels: Vec<_> = offered.iter().map(|i| i["label"].to_string()).take(40).collect();
        ensure!(offered.iter().any(is_it), "`{typed}` is not completed to `{name}`, but to {}", labels.join(", "));
        Ok(())
    }
}

fn contains(text: &str, part: &str) -> Result<()> {
    ensure!(text.contains(part), "`{part}` is missing in:\n{text}");
    Ok(())
}

#[test]
#[ignore = "builds the fixture's dependencies: cargo xtask test --long"]
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

    // The documentation of three operations, with shapes and an example.
    contains(&editor.hover("load(x, i)", 1)?, "The elements of the slice")?;
    contains(&editor.hover("load(x, i)", 1)?, "```")?;
    contains(&editor.hover("dot(a.tile", 1)?, "of tiles `[M, K]`, `[K, N]` and `[M, N]`")?;
    contains(&editor.hover("program_id(0) * BLOCK", 1)?, "The number of this program along")?;
    // Those of methods, and of operations in the attribute's grid.
    contains(&editor.hover("to::<f32>()", 1)?, "Each element as a `U`")?;
    // Types of variables.
    contains(&editor.hover("i = program_id", 0)?, "Tile<usize>")?;
    contains(&editor.hover("v = load", 0)?, "Tile<f32>")?;
    contains(&editor.hover("total = sum", 0)?, "Tile<f32>")?;
    contains(&editor.hover("acc = zeros", 0)?, "Tile<f32>")?;
    contains(&editor.hover("inside = at", 0)?, "Tile<bool>")?;
    contains(&editor.hover("pointers = p.add", 0)?, "Tile<PtrMut<f32>>")?;
    contains(&editor.hover("old = load", 0)?, "Tile<f32>")?;
    // A kernel has its own documentation where it is called.
    contains(&editor.hover("plus_one(x, y)", 0)?, "Every element plus one.")?;

    for (text, module, line) in [
        ("load(x, i)", "lang/src/memory.rs", "pub fn load<"),
        ("dot(a.tile", "lang/src/product.rs", "pub fn dot<"),
        ("program_id(0) * BLOCK", "lang/src/programs.rs", "pub fn program_id("),
        ("leaky(acc", "fixture/src/lib.rs", "fn leaky("),
        ("plus_one(x, y)", "fixture/src/lib.rs", "pub fn plus_one<"),
        ("acc, 0.1", "fixture/src/lib.rs", "let mut acc ="),
    ] {
        let (path, found) = editor.definition(text, 0)?;
        ensure!(path.ends_with(module) && found.starts_with(line), "`{text}` is defined at {path}: {found}");
    }

    for (typed, name) in [
        ("let w = lo", "load"),
        ("let w = do", "dot"),
        ("let w = progr", "program_id"),
        ("let w = v.exp", "expand"),
        ("let w = load(x, i).ma", "mask"),
        ("let w = tot", "total"),
    ] {
        editor.offers(typed, name)?;
    }
    Ok(())
}
