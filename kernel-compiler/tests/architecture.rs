//! What ARCHITECTURE.md says: the dumps of "The trip of a matmul" are the compiler's own, and code generation decides
//! nothing.

use std::path::Path;
use tilewright_compiler::Libraries;
use tilewright_compiler::Stage;
use tilewright_compiler::show;
use tilewright_compiler::variant::Variant;

const DOCUMENT: &str = include_str!("../../ARCHITECTURE.md");

/// The fenced blocks of the section: the rest of the fence line after its first word, and the lines.
fn blocks() -> Vec<(&'static str, Vec<&'static str>)> {
    let section = DOCUMENT.split_once("\n## The trip of a matmul\n").expect("the section").1;
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let mut out: Vec<(&str, Vec<&str>)> = vec![];
    let mut inside = false;
    for line in section.lines() {
        match line.strip_prefix("```") {
            Some(fence) if !inside => {
                inside = true;
                out.push((fence, vec![]));
            }
            Some(_) => inside = false,
            None if inside => out.last_mut().expect("a block").1.push(line),
            None => {}
        }
    }
    out
}

/// Each excerpt's lines, apart from `...`, come in the stage's text in this order. A line that ends with ` ...` is the
/// begin of one. With `TILE_TRIP=DIR` the whole texts are written there.
#[test]
fn the_trip_of_a_matmul_is_what_the_compiler_does() {
    let blocks = blocks();
    let (_, kernel) = blocks.iter().find(|(fence, _)| fence.starts_with("rust")).expect("the kernel");
    let source = kernel.join("\n");
    let mut checked = 0;
    for (fence, lines) in &blocks {
        let Some(name) = fence.strip_prefix("text stage=") else { continue };
        let stage = Stage::ALL.into_iter().find(|s| s.name() == name).expect("a stage's name");
        let tma = Variant::of_entry("matmul__tma").expect("a variant");
        let text = show(source.as_str(), &Libraries::default(), "matmul", None, None, tma, stage).expect("the stage");
        if let Ok(dir) = std::env::var("TILE_TRIP") {
            std::fs::write(format!("{dir}/{name}.txt"), &text).expect("the file");
        }
        let mut rest = text.lines();
        for line in lines.iter().map(|l| l.trim()).filter(|l| *l != "...") {
            let is = |l: &str| match line.strip_suffix(" ...") {
                Some(begin) => l.trim().starts_with(begin),
                None => l.trim() == line,
            };
            assert!(rest.any(is), "stage {name} has no line `{line}` there:\n{text}");
        }
        checked += 1;
    }
    assert!(checked == 4, "{checked} stages are shown");
}

/// Code generation looks up plans: it analyzes no function, chooses no layout, makes no plan, and misses nothing.
#[test]
fn code_generation_decides_nothing() {
    let deciding = [
        ("analysis::", "facts about a function are for plans"),
        ("axis_info", "facts about a function are for plans"),
        ("passes::", "passes come before plans"),
        ("missed::", "a plan says what it misses"),
        ("layout::assign", "layouts are assigned before plans"),
        ("layouts.any(", "a plan has the layout in which a tile is taken"),
        ("::plan(", "the driver makes plans"),
        ("WgmmaTiling::new", "a plan has the tiling of a product"),
        ("Layout::blocked", "a plan has the layout"),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/codegen");
    let mut found = vec![];
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a source file");
        files += 1;
        for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim_start().starts_with("//")) {
            for (what, why) in deciding.iter().filter(|(what, _)| line.contains(what)) {
                found.push(format!("{}:{}: `{what}`: {why}", path.display(), i + 1));
            }
        }
    }
    assert!(files > 30, "{files} files were found");
    assert!(found.is_empty(), "code generation decides:\n{}", found.join("\n"));
}
