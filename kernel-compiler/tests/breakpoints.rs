//! Breakpoints: their places, the values that they show, and the mistakes of a command line.

use tilewright_compiler::debug::{code, statement_line, statement_lines};
use tilewright_compiler::{Breakpoint, Libraries, Variant};

const SUMS: &str = r#"
#[tile_kernel(tune(BLOCK = [64], warps = [2]), grid = [cdiv(y.len(), BLOCK)])]
fn sums<const BLOCK: usize>(x: &[f32], y: &mut [f32], n: usize) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let mut acc = zeros::<f32>([BLOCK]);
    for k in 0..n {
        let v = load(x, i * n + k);
        acc = acc + v;
    }
    acc = if n > 7 { acc * 3.0 } else { acc };
    let (low, high) = (acc * 0.5, acc * 2.0);
    if n > 3 {
        store(y, i, low);
    } else {
        store(y, i, high);
    }
}
"#;

fn at(line: usize, names: &[&str]) -> Result<String, String> {
    let names = names.iter().map(|n| n.to_string()).collect();
    let general = Variant::all().find(|v| v.name() == "general").expect("it is there");
    let made = code(SUMS, &Libraries::default(), "sums", None, None, Some(general), &[Breakpoint { line, names }])?;
    Ok(made.text)
}

/// The names that code shows, in order.
fn shown(code: &str) -> Vec<&str> {
    code.split("d::watch(c\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn statements_begin_on_lines() {
    let lines = statement_lines(SUMS, &Libraries::default(), "sums").expect("a kernel");
    assert_eq!(lines, [4, 5, 6, 7, 8, 10, 11, 12, 13, 15]);
}

#[test]
fn a_breakpoint_is_at_the_first_line_of_its_statement() {
    let text = "#[tile_kernel(grid = [1])]\nfn k(y: &mut [f32]) {\n    let v = exp(\n        1.0,\n    );\n    store(y, 0, v);\n}";
    let line = |n| statement_line(text, &Libraries::default(), "k", n).expect("a kernel");
    assert_eq!([2, 3, 4, 5, 6, 7].map(line), [None, Some(3), Some(3), Some(3), Some(6), None]);
    // Two on one statement are no contradiction.
    let two = [3, 5].map(|line| Breakpoint { line, names: vec![] });
    let made = code(text, &Libraries::default(), "k", None, None, None, &two).expect("it compiles");
    assert!(made.left_out.is_empty() && shown(&made.text).starts_with(&["v", "v"]), "{}", made.text);
}

#[test]
fn a_line_shows_what_it_defines_or_else_mentions() {
    for (line, wanted) in [
        (4, &["i"][..]),
        (5, &["acc"]),
        (6, &["k"]),
        (7, &["v"]),
        (8, &["acc"]),
        (10, &["acc"]),
        (11, &["low", "high"]),
        (12, &["n"]),
        (13, &["i", "low"]),
    ] {
        let text = at(line, &[]).expect("it compiles");
        assert_eq!(shown(&text), wanted, "line {line}");
    }
}

#[test]
fn chosen_names_are_those_that_are_in_reach() {
    assert_eq!(shown(&at(8, &["v", "k", "n"]).expect("it compiles")), ["v", "k", "n"]);
    for (line, name, word) in [
        (8, "w", "there is no variable `w` on line 8"),
        (12, "v", "there is no variable `v` on line 12"),
        (8, "x", "a breakpoint shows tiles and scalars"),
    ] {
        let said = at(line, &[name]).expect_err("a mistake");
        assert!(said.contains(word), "{said}");
    }
    let said = at(9, &[]).expect_err("the end of a loop");
    assert!(said.contains("no statement on line 9, but on 4, 5, 6"), "{said}");
}

#[test]
fn a_tile_is_handed_over_with_its_layout() {
    let text = at(8, &[]).expect("it compiles");
    // Two warps: the highest bit of the thread's number is the warp.
    assert!(text.contains(r#"d::watch(c"acc", &[64], &[], &[1, 2, 4, 8, 16, 32], r, "#), "{text}");
    assert!(text.contains(", 8)"), "the line: {text}");
    assert!(text.contains("name: \"sums__BLOCK64_warps2__general\""), "{text}");
}

const HELPER: &str = r#"
#[tile_module]
mod kernels {
    fn twice<T: Float>(x: Tile<T>) -> Tile<T> {
        let y = x + x;
        y
    }

    #[tile_kernel(tune(BLOCK = [64], warps = [2]), grid = [cdiv(y.len(), BLOCK)])]
    fn doubled<const BLOCK: usize>(x: &[f32], y: &mut [f32]) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        store(y, i, twice(load(x, i)));
    }
}
"#;

#[test]
fn helpers_of_the_file_have_lines_too() {
    let at = Breakpoint { line: 5, names: vec![] };
    let text = code(HELPER, &Libraries::default(), "doubled", None, None, None, &[at]).expect("it compiles");
    assert!(shown(&text.text).iter().all(|n| *n == "y") && !shown(&text.text).is_empty(), "{text:?}");
}
