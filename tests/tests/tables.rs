//! Tables of the documents that `tile bench --markdown` makes of recorded runs: `cargo xtask bless` makes them anew.

use std::fs;

use crate::pictures::root;
use crate::recorded::is_recorded;
use tilewright_bench::Report;

/// The file of a run in the line before its table.
fn recorded_run(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- ")?.strip_suffix(" --markdown -->")?.split("--from ").nth(1)
}

/// A table and its record are the same.
#[test]
fn tables_are_of_recorded_runs() {
    let path = root().join("BENCHMARKS.md");
    let text = fs::read_to_string(&path).expect("BENCHMARKS.md");
    let (mut made, mut lines, mut tables) = (String::new(), text.lines().peekable(), 0);
    while let Some(line) = lines.next() {
        made += &format!("{line}\n");
        let Some(run) = recorded_run(line) else { continue };
        while lines.next_if(|l| l.starts_with('|')).is_some() {}
        made += &Report::load(&root().join(run)).unwrap_or_else(|e| panic!("{e}")).markdown();
        tables += 1;
    }
    assert!(tables > 0, "BENCHMARKS.md has no table of a recorded run");
    is_recorded(&path, &made);
}

/// README shows some of the rows.
#[test]
fn rows_of_the_readme_are_rows_of_the_benchmarks() {
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let (readme, benchmarks) = (read("README.md"), read("BENCHMARKS.md"));
    let table = readme.lines().skip_while(|l| !l.starts_with("| operation | size |")).skip(2);
    let rows: Vec<_> = table.take_while(|l| l.starts_with('|')).collect();
    assert!(!rows.is_empty(), "README.md has no table of results");
    for row in rows {
        assert!(benchmarks.lines().any(|l| l == row), "BENCHMARKS.md has no row `{row}`");
    }
}
