//! The table of Triton's and cuTile's names: it has all of them, and their replacements compile.

use crate::docs::{blocks, code_spans, mistakes, read};
use std::collections::BTreeSet;

const PAGE: &str = "docs/guide/names.md";

/// A row of the table of a section: the names, and the code beside them.
struct Row {
    names: Vec<String>,
    code: Vec<String>,
}

/// The rows of the section of this title.
fn rows(title: &str) -> Vec<Row> {
    let page = read(PAGE);
    let section = page.split("\n## ").find(|s| s.starts_with(title)).unwrap_or_else(|| panic!("no section {title}"));
    let rows = section.lines().filter(|l| l.starts_with("| `"));
    let row = |line: &str| {
        let (left, right) = line.split_once(" | ").expect("two columns");
        Row { names: code_spans(left).collect(), code: code_spans(right).filter(|c| is_code(c)).collect() }
    };
    rows.map(row).collect()
}

/// Whether it is statements: neither a name or a type alone, nor the sketch of an attribute.
fn is_code(text: &str) -> bool {
    let parses = syn::parse::Parser::parse_str(syn::Block::parse_within, text);
    match parses.as_deref() {
        Ok([syn::Stmt::Expr(syn::Expr::Path(_), None)]) | Err(_) => false,
        Ok(_) => !["(..)", "[..]"].iter().any(|sketch| text.contains(sketch)),
    }
}

#[test]
fn every_name_is_in_the_table() {
    for (title, names) in [
        ("`triton.language`", include_str!("names/triton.txt")),
        ("`libdevice`", include_str!("names/libdevice.txt")),
        ("`cuda.tile`", include_str!("names/cutile.txt")),
    ] {
        let wanted: BTreeSet<&str> = names.split_whitespace().collect();
        let rows = rows(title);
        let all: Vec<&str> = rows.iter().flat_map(|r| r.names.iter().map(String::as_str)).collect();
        let found: BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(found.len(), all.len(), "{title}: a name has two rows");
        assert_eq!(wanted, found, "{title}");
    }
}

#[test]
fn the_code_beside_the_names_compiles() {
    let page = read(PAGE);
    let kernel = blocks(&page).into_iter().find(|b| b.language == "rust").expect("the kernel around the code").text;
    let (mut checked, mut failed) = (0, vec![]);
    for row in ["`triton.language`", "`libdevice`", "`cuda.tile`"].into_iter().flat_map(rows) {
        for code in row.code {
            let end = if code.ends_with([';', '}']) { "" } else { ";" };
            let wrong = mistakes(&kernel.replace("// here", &format!("{code}{end}")));
            failed.extend(wrong.first().map(|why| format!("`{code}` beside {:?}: {why}", row.names)));
            checked += 1;
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(checked > 250, "{checked} pieces of code");
}
