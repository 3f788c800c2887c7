//! What the compiler says that it could not do well, at the kernel's own line: a file a cliff. `//~ remark` behind a
//! line is expected there, and no other. `cargo xtask bless` writes the remarks into the files.

use crate::common::bless;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tilewright_compiler::diag::Diagnostics;
use tilewright_compiler::{driver, module};

const MARK: &str = "  //~ ";

/// The remarks of the first configuration of a text's kernel, by line.
fn remarks(text: &str) -> BTreeMap<usize, Vec<String>> {
    let d = Diagnostics::default();
    let found = module::file(text, &Default::default()).into_iter().next().expect("a kernel");
    let kernel = found.parse(&d).map_err(|_| d.take()).expect("the kernel parses").swap_remove(0);
    let instance = &kernel.instances()[0];
    let f = driver::instance(&kernel, &instance.choice, instance.config, &d).map_err(|_| d.take()).expect("it infers");
    let mut out: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for m in driver::remarks(&f, instance.config) {
        let line = m.span.map_or(1, |s| s.start().line);
        out.entry(line).or_default().push(format!("not {}: {}", m.what, m.why));
    }
    out
}

/// The text without its remarks, and these by line.
fn expected(text: &str) -> (String, BTreeMap<usize, Vec<String>>) {
    let mut out: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut plain = String::new();
    for (i, line) in text.lines().enumerate() {
        let mut parts = line.split(MARK);
        plain += parts.next().expect("the line itself");
        plain.push('\n');
        let remarks: Vec<String> = parts.map(str::to_string).collect();
        if !remarks.is_empty() {
            out.insert(i + 1, remarks);
        }
    }
    (plain, out)
}

#[test]
fn remarks_are_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/remarks");
    let mut wrong = vec![];
    let mut count = 0;
    for file in fs::read_dir(&folder).expect("the folder of remarks") {
        let path = file.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a readable file");
        let (plain, expected) = expected(&text);
        let found = remarks(&plain);
        count += 1;
        if found == expected {
            continue;
        }
        if bless() {
            let line = |(i, line): (usize, &str)| {
                let remarks = found.get(&(i + 1)).into_iter().flatten();
                line.to_string() + &remarks.map(|r| format!("{MARK}{r}")).collect::<String>() + "\n"
            };
            fs::write(&path, plain.lines().enumerate().map(line).collect::<String>()).expect("a writable file");
        } else {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            wrong.push(format!("{name}: found {found:#?}, expected {expected:#?}"));
        }
    }
    assert!(count > 15, "{count} files of remarks");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
