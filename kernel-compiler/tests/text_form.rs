//! The text form of the IR: printed text is parsed to the same function.

use crate::common::for_each_source;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tilewright_compiler::Stage;
use tilewright_compiler::diag::Diagnostics;
use tilewright_compiler::driver::{Observer, instance, lower, variants};
use tilewright_compiler::ir::parse::{ParseError, parse};
use tilewright_compiler::ir::{Func, print};
use tilewright_compiler::{Libraries, Source, Variant, module};

/// The function that a printed one is parsed to, which prints as the same text.
fn parsed(text: &str, of: &str) -> Func {
    let f = parse(text).unwrap_or_else(|e| panic!("{of}: {e}\n{text}"));
    let again = print::print(&f);
    assert!(again == text, "{of}: printed\n{text}\nand after it was parsed\n{again}");
    f
}

/// Parses the function after each pass of a variant.
struct Parses<'a> {
    of: &'a str,
    variant: Variant,
    functions: usize,
}

impl Observer for Parses<'_> {
    fn stage(&mut self, stage: Stage, text: &dyn Fn() -> String) {
        if matches!(stage, Stage::BlockPointers | Stage::Cluster | Stage::Tf32x3 | Stage::SwapAb | Stage::PipelineDots)
        {
            parsed(&text(), &format!("{} {} {}", self.of, self.variant.name(), stage.name()));
            self.functions += 1;
        }
    }
}

/// One of so many configurations of a kernel is lowered, and the first one of all types and instructions.
const LOWERED: usize = 8;

/// How many functions the kernels of a file had, over their instances, variants and passes.
fn round_trips(source: Source, libraries: &Libraries) -> usize {
    let d = Diagnostics::default();
    let mut functions = 0;
    for kernel in module::file(source, libraries).into_iter().filter_map(|k| k.parse(&d).ok()).flatten() {
        let mut seen = HashSet::new();
        for (n, i) in kernel.instances().into_iter().enumerate() {
            let Ok(f) = instance(&kernel, &i.choice, i.config, &d) else { continue };
            let of = format!("{} {:?}", kernel.name, i.config);
            let again = parsed(&print::print(&f), &of);
            functions += 1;
            // Most configurations of the same types and instructions differ in numbers.
            let is_first = seen.insert(format!("{:?} {:?}", i.choice, i.config.arch));
            if !is_first && n % LOWERED != 0 {
                continue;
            }
            for (variant, code) in variants(&f, i.config, false) {
                let mut observer = Parses { of: &of, variant, functions: 0 };
                let same = lower(&again, variant, false, &mut observer).map(|l| l.text());
                assert!(
                    same.as_ref().is_ok_and(|text| *text == code.text()),
                    "{of}: the parsed function has other code as `{}`",
                    variant.name()
                );
                functions += observer.functions;
            }
        }
    }
    functions
}

#[test]
fn every_kernel_is_printed_and_parsed_to_the_same_code() {
    let functions = AtomicUsize::new(0);
    for_each_source(|_, source, libraries| {
        functions.fetch_add(round_trips(source, libraries), Relaxed);
    });
    assert!(functions.load(Relaxed) > 2000, "{functions:?} functions were printed and parsed");
}

/// Every kind of statement, operation and option that there is.
const ALL: &str = "func warps=4 blocks_per_sm=2 stages=3 ctas=2 pdl=[x, view] {
  param x: slice f32  // w0, w1
  param y: slice mut i32  // w2, w3
  param view: view 2 f16  // w4, w5, w6, w7, w8
  param out: view mut 2 f32  // w9, w10, w11, w12, w13
  param p: ptr mut f32  // w14
  param n: scalar i32  // w15
  guard w5 % 16
  guard w8 == 1
  guard w15 in 0..=2147483647
  guard 2*w5*w7 <= w1
  var m0: f32[16, 8] acc
  var m1: u64 \"of the iteration before\"
  shared others: f32 512
  v0: u64 = program_id 0
  v1: u64 = num_programs 2
  v2: u64 = cluster_cta_rank
  v3: i32 = word 15
  v4: i32 = int -5
  v5: f32 = float -1e-30
  v6: f32 = float inf
  v7: f32 = float -inf
  v8: f32 = float NaN
  v9: bool = bool true
  v10: u64[16] = arange 0
  v11: u64[16, 1] = expand v10 axis 1
  v12: u64[16, 16] = broadcast v11
  v13: u64[256] = reshape v12
  v14: u64[16, 16] = permute v12 [1, 0]
  v15: bool[16, 16] = lt v12, v14
  v16: f16[16, 16] = load *view[v12] mask v15 evict_last block [w5/w7, w6/w8] at [v0, v1]
  v17: f32[256] = load x[v13] no_l1
  v18: f32[256] = splat v5
  v19: f32[256] = load x[v13] other v18 evict_first
  v20: f32[256] = fma v17, v18, v19
  v21: f32[256] = neg v20
  v22: f32 = reduce v21 axis 0 add
  v23: f32 = reduce v21 axis 0 |v24: f32, v25: f32| { v26: f32 = mul v24, v25; v27: f32 = sub v26, v24 } v27
  v28: i32 = argmin v21 axis 0
  v29: i32 = bitcast v23
  v30: f32 = cast v3
  v31: bool = lt v22, v30
  v32: f32 = select v31, v22, v30
  v33: f32[2, 256] = cluster_gather v21 by others repeats
  v40: u64[8] = arange 0
  v41: u64[1, 8] = expand v40 axis 0
  v42: u64[16, 8] = broadcast v41
  v43: f16[16, 8] = load *view[v42]
  v44: f32 = float 0.0
  v45: f32[16, 8] = splat v44
  v46: f32[16, 8] = dot v16, v43, v45
  v47: f32[16, 16] = cast v16
  v48: f32[16, 8] = cast v43
  v49: f32[16, 8] = dot v47, v48, v46 tf32
  v50: f32[16, 8] = dot v47, v48, v49 tf32x3
  m0 = v50
  m1 = v0
  for v51: u64 in v0..v1 step v1 stages=2 unroll=4 flatten warp_specialize=false {
    v52: f32[16, 8] = read m0
    v53: bool = eq v51, v0
    if v53 {
      continue
    } else {
      m0 = v45
    }
    if v53 {
      break
    }
  }
  loop {
    break
  }
  store *out[v42], v45 evict_first block [w10/w12, w11/w13] at [v0, v1]
  v54: bool[16, 8] = lt v42, v42
  v55: f32[16, 8] = atomic_add *p[v42], v45 mask v54 relaxed
  v56: i32 = atomic_cas y[v0], v4, v29
  v57: i32 = atomic_load y[v0]
  store y[v0], v28
  assert v9 \"it \\\"holds\\\"\"
  print v32 \"a\\nb // c\"
  return
}
";

#[test]
fn every_operation_and_option_is_printed_and_parsed() {
    parsed(ALL, "all");
}

fn error(text: &str) -> ParseError {
    parse(text).expect_err(text)
}

#[test]
fn mistakes_are_told_with_their_place_and_what_is_expected() {
    let in_function = |line: &str| error(&format!("func warps=1 {{\n  param x: slice f32\n  {line}\n}}\n")).to_string();
    let cases = [
        ("v0 = int 1", "line 3, column 6: expected `:`, found `=`"),
        ("v0: f23 = int 1", "line 3, column 7: expected an element type, as `f32`, found `f23`"),
        ("v0: u64[4 = int 1", "line 3, column 13: expected `,`, found `=`"),
        ("v0: u64 = itn 1", "line 3, column 13: no operation is called `itn`"),
        ("v0: u64 = int one", "line 3, column 17: expected an integer, found `one`"),
        ("v0: u64 = word -1", "line 3, column 18: expected an argument word, found `-1`"),
        ("v0: u64 = int 1 2", "line 3, column 19: expected the end of the line, found `2`"),
        ("v0: f32 = load y[v1]", "line 3, column 18: no parameter is called `y`"),
        ("v0: f32 = load x[m1]", "line 3, column 20: expected a value, as in `v0`, found `m1`"),
        (
            "v0: f32 = reduce v1 axis 0 exp",
            "line 3, column 30: expected an operation of two operands, or a closure, found `exp`",
        ),
        ("v9999999: u64 = int 1", "line 3, column 3: expected a value, as in `v0`, found `v9999999`"),
        ("sotre x[v0], v1", "line 3, column 3: expected a statement or `}`, found `sotre`"),
        ("for v0: u64 in v1..v2 step v3 fast=1 {", "line 3, column 33: no option `fast` of a loop"),
        ("print v0 \"a", "line 3, column 12: this string does not end on its line"),
        ("v0: u64 = int 1 ?", "line 3, column 19: `?` begins no token"),
        ("if v0 {", "line 4, column 2: expected a statement or `}`, found the end of the text"),
        ("v0: u64 = int 1 loc(0)", "line 3, column 23: lines are numbered from 1 to 1048576, found 0"),
        ("var m1: f32 a", "line 3, column 7: this variable is m0: they are numbered in order"),
        // Text that can be parsed, and breaks a rule.
        ("v0: u64 = int 1\n  v1: u64 = add v0, v2", "line 4, column 3: v2 is not defined here"),
    ];
    for (line, message) in cases {
        assert_eq!(in_function(line), message, "{line}");
    }
    assert_eq!(error("").to_string(), "line 1, column 1: expected `func`, found the end of the text");
    assert_eq!(error("func {\n}").to_string(), "line 1, column 7: the function does not say its `warps`");
    assert_eq!(error("func warps=1 {\n}\n}").to_string(), "line 3, column 1: expected the end of the text, found `}`");
    let deep = format!("func warps=1 {{\n{}", "loop {\n".repeat(10_000));
    assert!(error(&deep).to_string().contains("nested more than 100 deep"));
}

#[test]
fn numbers_of_values_may_have_gaps() {
    let f = parse("func warps=1 {\n  v7: u64 = program_id 0\n  print v7 \"\"\n}\n").expect("it is valid");
    assert_eq!(f.values.len(), 8);
    assert_eq!(print::print(&f), "func warps=1 {\n  v7: u64 = program_id 0\n  print v7 \"\"\n}\n");
}

#[test]
fn lines_of_the_source_are_kept() {
    let text = "func warps=1 {
  param x: slice mut u64  // w0, w1
  v0: u64 = program_id 0 loc(12)
  for v1: u64 in v0..v0 step v0 loc(3) {
    assert v2 \"\" loc(7)
  }
  store x[v0], v0 loc(100)
}
";
    let text = text.replace("v2", "v3").replace("  for", "  v3: bool = bool true loc(1)\n  for");
    let f = parse(&text).expect("it is valid");
    assert_eq!(f.values[0].span.start().line, 12);
    assert_eq!(print::located(&f), text);
    assert!(!print::print(&f).contains("loc"));
}
