//! The book, `docs/`: each page is in its contents, and no snippet is of code that nobody compiles.

use crate::docs::{blocks, code_spans, commands_exist, each_rust_file, links, read, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use tilewright_compiler::variant::Variant;
use tilewright_compiler::{Libraries, Stage, show};

/// Folders of code that the workspace compiles and tests.
const COMPILED: [&str; 9] = [
    "examples/src/",
    "examples/tests/",
    "examples/own-kernel/",
    "examples/from-python/",
    "examples/first-python/",
    "collectives/examples/src/",
    "tests/language/tests/",
    "kernel-compiler/src/explain/",
    "candle/examples/",
];
/// Documents whose snippets other tests compile.
const DOCUMENTS: [&str; 2] = ["README.md", "ARCHITECTURE.md"];

/// The pages, as paths from the root, without the contents.
pub(crate) fn pages() -> Vec<String> {
    let mut out = vec![];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") && !path.ends_with("docs/SUMMARY.md") {
                let of_root = path.strip_prefix(root()).expect("below the root");
                out.push(of_root.to_str().expect("a name in UTF-8").to_owned());
            }
        }
    }
    out.sort();
    out
}

/// An include of a page.
struct Include {
    page: String,
    line: usize,
    /// Whether it stands in a block of Rust.
    rust: bool,
    file: String,
    anchor: Option<String>,
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> String {
    let mut out = PathBuf::new();
    for c in path.components() {
        match c {
            Component::ParentDir => assert!(out.pop(), "{} leaves the repository", path.display()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out.to_str().expect("a name in UTF-8").to_owned()
}

fn includes() -> Vec<Include> {
    let mut out = vec![];
    for page in pages() {
        let text = read(&page);
        let blocks = blocks(&text);
        for (i, line) in text.lines().enumerate() {
            for rest in line.split("{{#").skip(1) {
                let inside = rest.split("}}").next().expect("what precedes the end");
                let (what, target) = inside.split_once(' ').unwrap_or((inside, ""));
                assert_eq!(what, "include", "{page}:{}: mdBook's `{what}` is not checked", i + 1);
                let mut parts = target.trim().split(':');
                let of_page = parts.next().expect("a path");
                let folder = Path::new(&page).parent().expect("a folder");
                let inside = |b: &crate::docs::Block| (b.line..b.line + b.text.lines().count()).contains(&(i + 1));
                let file = normal(&folder.join(of_page));
                let anchor = parts.next().map(str::to_owned);
                assert!(parts.next().is_none(), "{page}:{}: numbers of lines change: use an anchor", i + 1);
                let rust = blocks.iter().any(|b| b.language == "rust" && inside(b));
                out.push(Include { page: page.clone(), line: i + 1, rust, file, anchor });
            }
        }
    }
    out
}

/// The text between the marks of an anchor, without the marks of others.
fn anchored(text: &str, anchor: &str) -> Option<String> {
    let is = |line: &str, mark: &str| {
        line.split_once(mark).is_some_and(|(_, rest)| rest.split_whitespace().next() == Some(anchor))
    };
    let start = text.lines().position(|l| is(l, "ANCHOR:"))? + 1;
    let length = text.lines().skip(start).position(|l| is(l, "ANCHOR_END:"))?;
    let lines = text.lines().skip(start).take(length).filter(|l| !l.contains("ANCHOR"));
    Some(lines.flat_map(|l| [l, "\n"]).collect())
}

#[test]
fn anchors_are_found() {
    let text = "a\n// ANCHOR: one\nb\n// ANCHOR: two\nc\n// ANCHOR_END: two\nd\n// ANCHOR_END: one\n";
    assert_eq!(anchored(text, "one").as_deref(), Some("b\nc\nd\n"));
    assert_eq!(anchored(text, "two").as_deref(), Some("c\n"));
    assert_eq!(anchored(text, "thr"), None);
}

#[test]
fn includes_name_files_and_anchors() {
    let all = includes();
    assert!(all.len() > 30, "{} includes", all.len());
    for i in &all {
        let at = format!("{}:{}", i.page, i.line);
        let text = fs::read_to_string(root().join(&i.file)).unwrap_or_else(|e| panic!("{at}: {}: {e}", i.file));
        if let Some(anchor) = &i.anchor {
            let part = anchored(&text, anchor).unwrap_or_else(|| panic!("{at}: {} has no anchor {anchor}", i.file));
            assert!(!part.trim().is_empty(), "{at}: the anchor {anchor} is empty");
        }
        let compiled = COMPILED.iter().any(|folder| i.file.starts_with(folder));
        assert!(compiled || DOCUMENTS.contains(&i.file.as_str()), "{at}: nobody compiles {}", i.file);
        assert!(!i.rust || compiled && i.anchor.is_some(), "{at}: Rust is included by an anchor of compiled code");
    }
}

/// An anchor that no page shows is left over.
#[test]
fn anchors_are_used() {
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for i in includes() {
        used.entry(i.file).or_default().extend(i.anchor);
    }
    let mut unused = vec![];
    each_file(&root().join("examples"), &mut |path| {
        let file = path.strip_prefix(root()).expect("below the root").to_str().expect("a name in UTF-8").to_owned();
        let Ok(text) = fs::read_to_string(path) else { return };
        let anchors = text.lines().filter_map(|l| l.split_once("ANCHOR:")?.1.split_whitespace().next());
        let of_file = used.get(&file);
        let left = anchors.filter(|a| !of_file.is_some_and(|used| used.contains(*a)));
        unused.extend(left.map(|a| format!("{file}: {a}")));
    });
    assert!(unused.is_empty(), "no page includes {unused:#?}");
}

fn each_file(folder: &Path, f: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true if path.ends_with("target") => {}
            true => each_file(&path, f),
            false => f(&path),
        }
    }
}

#[test]
fn every_page_is_in_the_contents() {
    let contents = read("docs/SUMMARY.md");
    let linked: Vec<String> = links(&contents).iter().map(|target| normal(&Path::new("docs").join(target))).collect();
    let pages = pages();
    let missing: Vec<_> = pages.iter().filter(|p| !linked.contains(p)).collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
    let unknown: Vec<_> = linked.iter().filter(|p| !pages.contains(p)).collect();
    assert!(unknown.is_empty(), "docs/SUMMARY.md names pages that do not exist: {unknown:?}");
    let once: BTreeSet<&String> = linked.iter().collect();
    assert_eq!(once.len(), linked.len(), "docs/SUMMARY.md names a page twice");
}

/// Code for the host would be compiled by nobody: it is included from code that is.
#[test]
fn blocks_of_rust_are_kernels_or_included() {
    for page in pages() {
        for b in blocks(&read(&page)).iter().filter(|b| b.language == "rust") {
            let (included, written): (Vec<&str>, Vec<&str>) =
                b.text.lines().filter(|l| !l.trim().is_empty()).partition(|l| l.trim().starts_with("{{#include "));
            let at = format!("{page}:{}", b.line);
            match (included.is_empty(), written.is_empty()) {
                (false, true) => {}
                (true, false) => only_kernels(&b.text).unwrap_or_else(|why| panic!("the block at {at}: {why}")),
                _ => panic!("the block at {at} is empty, or includes one part of its code and writes another"),
            }
        }
    }
}

fn only_kernels(text: &str) -> Result<(), String> {
    let file = syn::parse_file(text).map_err(|e| e.to_string())?;
    for item in &file.items {
        let attributes = match item {
            syn::Item::Fn(f) => &f.attrs,
            syn::Item::Mod(m) => &m.attrs,
            _ => return Err("it has items that are no kernels: include them from compiled code".into()),
        };
        let of_kernels = |a: &syn::Attribute| {
            ["tile_kernel", "tile_module", "tile_library"].iter().any(|name| a.path().is_ident(name))
        };
        if !attributes.iter().any(of_kernels) {
            return Err("a function in it is no kernel: include it from compiled code".into());
        }
    }
    Ok(())
}

/// A block ```` ```text show FILE KERNEL STAGE VARIANT ```` is an excerpt of the compiler's own output: its lines come
/// there in this order, apart from `...`. A line that ends with ` ...` is the begin of one.
#[test]
fn excerpts_are_the_compilers_own() {
    let mut excerpts = 0;
    for page in pages() {
        for b in blocks(&read(&page)) {
            let words: Vec<&str> = b.info.split_whitespace().collect();
            let ["text", "show", file, kernel, stage, variant] = &words[..] else { continue };
            let at = format!("{page}:{}", b.line);
            let stage = Stage::ALL.into_iter().find(|s| s.name() == *stage).expect("a stage");
            let variant = Variant::all().find(|v| v.name() == *variant).expect("a variant");
            let text = show(&*read(file), &Libraries::default(), kernel, None, None, variant, stage);
            let text = text.unwrap_or_else(|e| panic!("{at}: {e}"));
            let mut rest = text.lines();
            for line in b.text.lines().map(str::trim).filter(|l| *l != "...") {
                let is = |l: &str| match line.strip_suffix(" ...") {
                    Some(begin) => l.trim().starts_with(begin),
                    None => l.trim() == line,
                };
                assert!(rest.any(is), "{at}: there is no line `{line}` then in\n{text}");
            }
            excerpts += 1;
        }
    }
    assert!(excerpts >= 5, "{excerpts} excerpts");
}

/// The compiler prints the remarks that its page quotes in one of its tests.
#[test]
fn quoted_remarks_exist() {
    let mut remarks = String::new();
    each_rust_file(&root().join("kernel-compiler/tests/remarks"), &mut |text| remarks.push_str(text));
    let page = read("docs/performance/compiler.md");
    let table = page.split_once("| remark | change |").expect("the table of remarks").1;
    let rows: Vec<&str> = table.lines().skip(2).take_while(|l| l.starts_with('|')).collect();
    assert!(rows.len() > 5, "{rows:?}");
    for quoted in rows.iter().filter_map(|row| code_spans(row).next()) {
        assert!(remarks.contains(&quoted), "no remark says `{quoted}`");
    }
}

/// A rendered book has nothing outside of `docs`. A link of an included text is one of the page.
#[test]
fn links_of_the_book_stay_in_it() {
    let pages = pages();
    let mut texts: Vec<(String, String)> = pages.iter().map(|page| (page.clone(), read(page))).collect();
    for i in includes().into_iter().filter(|i| DOCUMENTS.contains(&i.file.as_str())) {
        let text = read(&i.file);
        let part = i.anchor.and_then(|anchor| anchored(&text, &anchor));
        texts.push((i.page, part.unwrap_or(text)));
    }
    for (page, text) in &texts {
        for target in links(text) {
            let file = target.split('#').next().expect("a path");
            if target.contains("://") || file.is_empty() {
                continue;
            }
            let to = normal(&Path::new(page).parent().expect("a folder").join(file));
            let is_picture = to.starts_with("docs/pictures/") && root().join(&to).exists();
            assert!(is_picture || pages.contains(&to), "{page} links to {target}, which is no page");
        }
    }
}

#[test]
fn commands_of_the_book_exist() {
    let mut all = 0;
    for page in pages().iter().filter(|p| !p.starts_with("docs/lab/")) {
        let (of_xtask, of_tile) = commands_exist(page);
        all += of_xtask + of_tile;
    }
    assert!(all >= 10, "{all} commands");
}

/// Environment variables, and items with a path such as `Runtime::launch`, are in the code.
#[test]
fn names_of_the_book_exist() {
    let mut code = String::new();
    let dirs = [
        "host/src",
        "ops/src",
        "kernel-core/src",
        "kernel-build/src",
        "kernel-types/src",
        "tilewright/src",
        "capi/src",
        "bench/src",
        "python/src",
        "collectives/src",
        "candle/src",
    ];
    for dir in dirs {
        each_rust_file(&root().join(dir), &mut |text| code.push_str(text));
    }
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
    };
    let known = words(&code);
    let mut checked = 0;
    // The reference names items that its own examples define.
    for page in pages().iter().filter(|p| !p.starts_with("docs/lab/") && *p != "docs/language.md") {
        let mut code = false;
        for (i, line) in read(page).lines().enumerate() {
            code ^= line.starts_with("```");
            let spans = code_spans(line).filter(|_| !code && !line.starts_with("```"));
            for span in spans {
                let variables = words(&span).into_iter().filter(|w| w.starts_with("TILE_"));
                let path = span.split(['(', '{']).next().expect("what precedes the arguments");
                let of_path = path.contains("::") && path.starts_with(|c: char| c.is_ascii_uppercase());
                let items = path.split("::").filter(|_| of_path && !path.contains(['<', ' ', '/'])).map(str::to_owned);
                for name in variables.chain(items) {
                    assert!(known.contains(&name), "{page}:{}: `{span}`: nothing is called {name}", i + 1);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 40, "{checked} names");
}
