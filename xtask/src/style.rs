//! `cargo xtask style`: checks of the texts of the repository, which build nothing. Replaced words do not come back,
//! spelling is American, lines end at 120 columns, and a Rust file has fewer than 600 lines.

mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use crate::command;
use words::{REPLACED, SPELLING};

/// The names of sources, documents and recorded results end so.
const EXTENSIONS: [&str; 12] = ["rs", "md", "json", "py", "pyi", "h", "c", "toml", "tir", "snap", "stderr", "svg"];
/// The columns of a line of a document or of a comment.
const COLUMNS: usize = 120;
/// A word of this length has a line of its own.
const LONG_WORD: usize = 100;
/// The lines of a Rust file, which is read in one sitting.
const LINES: usize = 600;

pub fn run() -> Result<ExitCode> {
    let mut texts = vec![];
    find(&command::root(), &mut texts)?;
    ensure!(texts.len() > 500, "only {} texts below {}", texts.len(), command::root().display());
    let mut wrong = 0;
    for path in &texts {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let name = path.strip_prefix(command::root()).unwrap_or(path);
        for Finding { line, what } in findings(path, &text) {
            println!("{}:{line}: {what}", name.display());
            wrong += 1;
        }
    }
    println!("{} texts: {wrong} findings", texts.len());
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The texts below a folder, without build products. The list of replaced words is not among them.
fn find(folder: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                find(&path, out)?;
            }
        } else if has_extension(&path, &EXTENSIONS) && !path.ends_with("xtask/src/style/words.rs") {
            out.push(path);
        }
    }
    Ok(())
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x))
}

#[derive(Debug, PartialEq)]
struct Finding {
    line: usize,
    what: String,
}

fn findings(path: &Path, text: &str) -> Vec<Finding> {
    let mut out = replaced_words(text);
    if has_extension(path, &["md"]) {
        // The row of a table is one line. Blocks of code are broken, too.
        let long = text.lines().enumerate().filter(|(_, line)| !line.starts_with('|') && is_long(line));
        out.extend(long.map(|(i, _)| too_long("a line", i)));
    }
    if has_extension(path, &["rs"]) {
        out.extend(long_comments(text));
        let lines = text.lines().count();
        if lines >= LINES {
            out.push(Finding { line: lines, what: format!("a file has fewer than {LINES} lines") });
        }
    }
    out
}

fn replaced_words(text: &str) -> Vec<Finding> {
    let mut out = vec![];
    for (i, line) in text.lines().enumerate() {
        for word in line.split(|c: char| !c.is_alphanumeric() && c != '_') {
            if let Some((_, other)) = REPLACED.iter().chain(&SPELLING).find(|(w, _)| *w == word) {
                out.push(Finding { line: i + 1, what: format!("`{word}` is `{other}`") });
            }
        }
    }
    out
}

/// Comments of Rust, without the code of documentation tests.
fn long_comments(text: &str) -> Vec<Finding> {
    let (mut out, mut code) = (vec![], false);
    for (i, line) in text.lines().enumerate() {
        let comment = line.trim_start();
        let of_docs = comment.strip_prefix("///").or_else(|| comment.strip_prefix("//!"));
        // A block of code ends with its comment at the latest.
        code = of_docs.is_some_and(|text| code ^ text.trim_start().starts_with("```"));
        if comment.starts_with("//") && !code && is_long(line) {
            out.push(too_long("a comment", i));
        }
    }
    out
}

/// Whether a line is too long and can be broken: it has no word that fills it.
fn is_long(line: &str) -> bool {
    line.chars().count() > COLUMNS && line.split_whitespace().all(|w| w.chars().count() < LONG_WORD)
}

fn too_long(what: &str, index: usize) -> Finding {
    Finding { line: index + 1, what: format!("{what} ends at {COLUMNS} columns") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(path: &str, text: &str) -> Vec<(usize, String)> {
        findings(Path::new(path), text).into_iter().map(|f| (f.line, f.what)).collect()
    }

    #[test]
    fn long_lines_of_documents_and_comments() {
        let long = "word ".repeat(25);
        let line = (1, "a line ends at 120 columns".to_string());
        assert_eq!(whats("a.md", &long), [line]);
        assert_eq!(whats("a.md", &format!("| {long}")), []);
        assert_eq!(whats("a.md", &"x".repeat(130)), []);
        let comment = [(2, "a comment ends at 120 columns".to_string())];
        assert_eq!(whats("a.rs", &format!("//! Short.\n    // {long}")), comment);
        assert_eq!(whats("a.rs", &format!("/// ```\n/// {long}\n/// ```")), []);
        assert_eq!(whats("a.rs", &format!("/// ```\n// {long}")), comment);
        assert_eq!(whats("a.rs", &format!("let {long};")), []);
    }

    #[test]
    fn words_and_lengths() {
        let ((own, field), (british, american)) = (REPLACED[0], SPELLING[0]);
        assert_eq!(whats("a.json", &format!("a {own}.\n")), [(1, format!("`{own}` is `{field}`"))]);
        assert_eq!(whats("a.toml", &format!("\n{british}")), [(2, format!("`{british}` is `{american}`"))]);
        assert_eq!(whats("a.toml", &format!("{british}x _{own}")), []);
        assert_eq!(whats("a.rs", &"\n".repeat(599)), []);
        assert_eq!(whats("a.rs", &"\n".repeat(600)), [(600, "a file has fewer than 600 lines".to_string())]);
    }
}
