//! Optional parameters: a kernel is built for each combination of given parameters.

use crate::parameters::{grids, kernels, program, programs};
use tilewright_compiler::diag::Diagnostics;
use tilewright_compiler::emit::{choice_id, grid, host};
use tilewright_compiler::front::instance::Kernel;
use tilewright_compiler::{HostOptions, ir};

fn kernel(attr: &str, params: &str, body: &str) -> Kernel {
    let text = format!("#[tile_kernel({attr})] fn k<T>({params}) {{ {body} }}");
    kernels("", &text).remove(0)
}

const BOTH: &str = "types(T = [f32, f16]), grid = [cdiv(x.len(), 64)]";

/// A parameter that is left out has no argument words and no code.
#[test]
fn an_absent_parameter_leaves_no_code() {
    let add = |params: &str, body: &str| {
        let k = kernel(BOTH, params, &format!("let i = arange(64); {body} store(y, i, v);"));
        programs(&k)
    };
    let optional = add(
        "x: &[T], bias: Option<&[T]>, y: &mut [T]",
        "let mut v = load(x, i); if let Some(bias) = bias { v = v + load(bias, i); }",
    );
    let without = add("x: &[T], y: &mut [T]", "let mut v = load(x, i);");
    let with = add("x: &[T], bias: &[T], y: &mut [T]", "let mut v = load(x, i); v = v + load(bias, i);");
    assert_eq!(optional.len(), 4);
    assert_eq!([&optional[0], &optional[2]], [&without[0], &without[1]]);
    assert_eq!([&optional[1], &optional[3]], [&with[0], &with[1]]);
    let names: Vec<String> = kernel(BOTH, "x: &[T], a: Option<f32>, b: Option<View<T, 2>>", "")
        .instances()
        .iter()
        .map(|i| choice_id(&i.choice))
        .collect();
    assert_eq!(names[..4], ["f32", "f32,a", "f32,b", "f32,a,b"]);
}

/// Names, patterns and `is_some` in every place that takes a constant.
#[test]
fn presence_chooses_as_constants_do() {
    let k = |body: &str| {
        let params = "a: Option<f32>, x: Option<&[f32]>, y: &mut [f32]";
        programs(&kernels("", &format!("{ITEMS} #[tile_kernel(grid = [1])] fn k({params}) {{ {body} }}")).remove(0))
    };
    const ITEMS: &str = "
        fn scale(a: Option<f32>, v: f32) -> f32 { match a { Some(a) => a * v, None => v } }
        fn first<T>(x: Option<&[T]>) -> T { if let Some(x) = x { load(x, 0) } else { T::MAX } }";
    let branches = k("if a.is_some() && x.is_none() { store(y, 0, 1.0); }
         else if a.is_none() { store(y, 0, 2.0); }
         else { store(y, 0, 3.0); }");
    let plain = |body: &str| k(&format!("store(y, 0, {body});"));
    assert_eq!(branches[0], plain("2.0")[0]);
    assert_eq!(branches[1], plain("1.0")[1]);
    assert_eq!(branches[2], plain("2.0")[2]);
    assert_eq!(branches[3], plain("3.0")[3]);
    let extents = k("store(y, arange(if a.is_some() { 4 } else { 8 }), 1.0);");
    assert_eq!(extents[1], k("store(y, arange(4), 1.0);")[1]);
    assert_eq!(extents[2], k("store(y, arange(8), 1.0);")[2]);
    // Helpers take them, and values that are there or not.
    let handed = k("store(y, 0, scale(a, 4.0)); store(y, 1, scale(None, 5.0)); store(y, 2, scale(Some(2.0), 6.0));");
    assert_eq!(handed[0], k("store(y, 0, 4.0); store(y, 1, 5.0); store(y, 2, 2.0f32 * 6.0);")[0]);
    assert!(handed[1].contains("mul"), "{}", handed[1]);
    let inferred = k("if x.is_some() { store(y, 0, first(x)); }");
    assert!(inferred[2].contains("load") && !inferred[0].contains("load"), "{}", inferred[2]);
}

#[test]
fn a_grid_and_conditions_ask_what_is_there() {
    let attr = |grid: &str, requires: &str| {
        let text = format!(
            "#[tile_kernel(grid = [{grid}], requires = [{requires}])]
             fn k(x: &[f32], n: Option<usize>, bias: Option<&[f32]>, y: &mut [f32]) {{ store(y, 0, 1.0); }}"
        );
        kernels("", &text).remove(0)
    };
    let k = attr("if let Some(b) = bias { b.len() } else { match n { Some(n) => n, None => x.len() } }", "x.len() > 0");
    // The argument words of `x` are 0 and 1; then come those of the given parameters.
    let word = |n: usize| format!("[g.words[{n}], 1u64, 1u64]");
    let n = "[(g.words[2] as u64 as u64), 1u64, 1u64]".to_string();
    assert_eq!(grids(&k), [word(1), n, word(3), word(4)]);
    let k = attr(
        "if n.is_some() { 2 } else { 3 }",
        "bias.is_none() || if let Some(b) = bias { b.len() >= x.len() } else { true }",
    );
    assert_eq!(grids(&k)[..2], ["[3u64, 1u64, 1u64]", "[2u64, 1u64, 1u64]"]);
    let d = Diagnostics::default();
    let conditions: Vec<_> = k
        .instances()
        .iter()
        .map(|i| grid::condition(&k, &i.choice, i.config, &d).expect("no mistake").map(|(code, _)| code))
        .collect();
    let asked = |word: usize| Some(format!("(g.words[{word}] >= g.words[1])"));
    assert_eq!(conditions, [None, None, asked(3), asked(4)]);
}

/// The typed function takes an `Option`, and finds the descriptor of the given parameters.
#[test]
fn a_call_takes_the_descriptor_of_its_arguments() {
    let k = kernels(
        "",
        "#[tile_kernel(grid = [1])]
         fn k(n: Option<usize>, x: Option<&[f32]>, y: &mut [f32]) { store(y, 0, 1.0); }",
    )
    .remove(0);
    let d = Diagnostics::default();
    let expanded =
        host::expand(&[k], &HostOptions { check_only: true, ..Default::default() }, &d).expect("no mistakes");
    let text = expanded[0].to_string().replace(' ', "");
    for wanted in [
        "PRESENT[usize::from(n.is_some())<<0usize|usize::from(x.is_some())<<1usize]",
        "n:::core::option::Option<usize>,x:::core::option::Option<impl",
        "constPRESENT:&'static[&'static__k::KernelDesc]=&[DESC_0,DESC_1,DESC_2,DESC_3]",
        r#"types:"n,x""#,
    ] {
        assert!(text.replace("&DESC_", "DESC_").contains(wanted), "{wanted}\n{text}");
    }
}

/// `Option` values exist while the kernel is compiled, and leave nothing in its IR.
#[test]
fn options_are_values() {
    let picked = program(
        "",
        "let o = if n > 1 { 1.0 } else { a }; let (p, q) = (Some(o), None); store(y, 0, match p { Some(v) => v, _ => 0.0 }); if q.is_some() { store(y, 1, 1.0); }",
    );
    let plain = program("", "let o = if n > 1 { 1.0 } else { a }; store(y, 0, o);");
    assert_eq!(picked, plain);
    assert!(ir::parse::parse(&picked).is_ok());
}
