//! The functions of this crate are the operations of the kernel compiler, and their examples are kernels.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tilewright_compiler::diag::Diagnostics;
use tilewright_compiler::{BUILTINS, Libraries, OPTIONS, driver, module};

/// Operations that the standard library documents: `x.len()` is that of slices, `step_by` and `rev` are those of
/// ranges.
const OF_STD: [&str; 3] = ["len", "step_by", "rev"];

/// Functions that are no operations: for grids, for the expansion, and the stub of a result.
const OTHERS: [&str; 5] = ["num_sms", "compare", "cast", "to_pointer", "stub"];

/// A documented function, method or macro.
struct Item {
    name: String,
    /// The file and line, for messages.
    place: String,
    doc: Vec<String>,
}

impl Item {
    /// The kernel of its example, with the attribute: all up to the end of the first function.
    fn example(&self) -> Option<String> {
        let lines: Vec<&str> = self.doc.iter().map(|l| l.strip_prefix(' ').unwrap_or(l)).collect();
        let begin = lines.iter().position(|l| l.starts_with("#[tile_kernel("))?;
        let end = begin + lines[begin..].iter().position(|l| *l == "}")?;
        Some(lines[begin..=end].join("\n"))
    }
}

/// The name that a line declares. Lists of macros name functions alone in a line.
fn declared(line: &str) -> Option<&str> {
    let rest = ["pub const fn ", "pub fn ", "fn ", "macro_rules! "].iter().find_map(|p| line.strip_prefix(p));
    let name = rest.unwrap_or(line);
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    (end > 0 && (rest.is_some() || end == line.len())).then(|| &name[..end])
}

/// All documented functions, methods and macros of the sources, in any order.
fn items() -> Vec<Item> {
    let mut out = vec![];
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("the sources") {
        let path = entry.expect("an entry").path();
        let (mut doc, mut is_exported) = (vec![], false);
        for (i, line) in fs::read_to_string(&path).expect("a source").lines().map(str::trim).enumerate() {
            if let Some(text) = line.strip_prefix("///") {
                doc.push(text.to_string());
            } else if line.starts_with("#[") {
                is_exported |= line == "#[macro_export]";
            } else {
                let (doc, is_exported) = (std::mem::take(&mut doc), std::mem::take(&mut is_exported));
                let place = format!("{}:{}", path.display(), i + 1);
                let named = declared(line)
                    .filter(|name| !doc.is_empty() && !name.starts_with("__"))
                    .filter(|_| is_exported || !line.starts_with("macro_rules!"));
                out.extend(named.map(|name| Item { name: name.into(), place, doc }));
            }
        }
    }
    out
}

#[test]
fn every_operation_is_documented_with_an_example() {
    let items = items();
    let bare = items.iter().filter(|i| i.example().is_none() && !OTHERS.contains(&i.name.as_str()));
    let bare: Vec<_> = bare.map(|i| format!("{} at {}", i.name, i.place)).collect();
    assert_eq!(bare, [""; 0], "functions without an example");
    let documented: BTreeSet<&str> = items.iter().map(|i| i.name.as_str()).collect();
    let missing = BUILTINS.iter().map(|(n, _)| *n).filter(|n| !OF_STD.contains(n) && !documented.contains(*n));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0], "operations without a function here, or without an example");
}

#[test]
fn every_function_is_an_operation() {
    let is_known = |name: &str| BUILTINS.iter().any(|(n, _)| *n == name);
    let items = items();
    let unknown = items.iter().filter(|i| {
        let name = i.name.as_str();
        !is_known(name) && !OPTIONS.contains(&name) && !OTHERS.contains(&name)
    });
    let unknown: Vec<_> = unknown.map(|i| format!("{} at {}", i.name, i.place)).collect();
    assert_eq!(unknown, [""; 0], "functions that the compiler does not know");
    let missing: Vec<_> = OPTIONS.iter().filter(|o| !items.iter().any(|i| i.name == **o)).collect();
    assert_eq!(missing, [&""; 0], "options without a function here");
}

/// Documentation tests run the examples on the CPU; here each is compiled for the GPU, too.
#[test]
fn every_example_is_a_kernel() {
    let mut count = 0;
    for item in items() {
        let Some(text) = item.example() else { continue };
        let d = Diagnostics::default();
        let found = module::file(&text, &Libraries::default()).pop().expect("a function");
        if let Ok(kernels) = found.parse(&d) {
            for k in &kernels {
                k.instances().iter().for_each(|i| drop(driver::instance(k, &i.choice, i.config, &d)));
            }
        }
        let mistakes: Vec<String> = d.take().into_iter().map(|e| e.message).collect();
        assert_eq!(mistakes, [""; 0], "the example of {} at {}:\n{text}", item.name, item.place);
        count += 1;
    }
    assert!(count > BUILTINS.len(), "{count} examples were found");
}
