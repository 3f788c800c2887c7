//! Missed optimizations that the compiler reports at the kernel's own line: a file for each. `//~ remark` behind a line
//! is expected there, and no other. `cargo xtask bless` writes the remarks into the files.

use crate::common::bless;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tilewright_compiler::diag::Diagnostics;
use tilewright_compiler::remarks::Remark;
use tilewright_compiler::{driver, module};

const MARK: &str = "  //~ ";

/// The remarks on a text's kernel, by line. Kernels of products are of one tile, and remarks about that are left out.
fn remarks(text: &str) -> BTreeMap<usize, Vec<String>> {
    let d = Diagnostics::default();
    let found = module::file(text, &Default::default()).into_iter().next().expect("a kernel");
    let kernel = found.parse(&d).map_err(|_| d.take()).expect("the kernel parses").swap_remove(0);
    for i in kernel.instances() {
        driver::instance(&kernel, &i.choice, i.config, &d).map_err(|_| d.take()).expect("it infers");
    }
    let mut out: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let all = tilewright_compiler::remarks::of_file(text, &Default::default());
    for r in all.into_iter().filter(|r| !(is_of_single_tile(r) && text.contains("dot("))) {
        let (line, _) = r.place.expect("a line of the kernel");
        out.entry(line).or_default().push(format!("not {}: {}", r.what, r.why));
    }
    out
}

fn is_of_single_tile(r: &Remark) -> bool {
    r.what.starts_with("refused")
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

/// The single tiles of a kernel without `requires`.
fn single(requires: &str, params: &str, body: &str) -> Vec<String> {
    let text = format!(
        "#[tile_kernel(tune(BLOCK = [64], warps = [1]), grid = [1] {requires})]
         fn k<const BLOCK: usize>({params}, y: &mut [f32]) {{ {body} }}"
    );
    let all = tilewright_compiler::remarks::of_file(&text, &Default::default());
    all.iter()
        .filter(|r| is_of_single_tile(r))
        .map(|r| r.why.split(':').next().expect("the first half").to_string())
        .collect()
}

#[test]
fn a_single_tile_of_a_row_asks_for_a_condition() {
    let row = "let t = x.tile([program_id(0), 0], [1, BLOCK]).other(-1.0); store(y, program_id(0), sum(t));";
    let of = |n: &str| format!("one tile of 64 is all that is taken of `{n}`");
    assert_eq!(single("", "x: View<f32, 2>", row), [of("x.dim(1)")]);
    assert!(single(", requires = [x.dim(1) <= BLOCK]", "x: View<f32, 2>", row).is_empty());
    let masked = "let c = arange(0, BLOCK); store(y, 0, sum(load(x, c).mask(c < n)));";
    assert_eq!(single("", "x: &[f32], n: usize", masked), [of("n")]);
    // More tiles, or programs, for the elements after the first tile.
    let looped = "let mut t = zeros::<f32>([BLOCK]); for s in (0..n).step_by(BLOCK) { let c = s + arange(BLOCK); t += load(x, c).mask(c < n); } store(y, 0, sum(t));";
    assert!(single("", "x: &[f32], n: usize", looped).is_empty());
    let blocks = "let c = program_id(0) * BLOCK + arange(BLOCK); store(y, c, load(x, c)).mask(c < n);";
    assert!(single("", "x: &[f32], n: usize", blocks).is_empty());
}
