//! Constants have their meaning in Rust: their types, their arithmetic, and the order of their definitions.

use crate::parameters::{error, program};

/// Both bodies, in a module with these items, are the same program.
#[track_caller]
fn same(items: &str, body: &str, wanted: &str) {
    assert_eq!(program(items, body), program("", wanted), "{body}");
}

/// The error of a body, in a module with these items, says this.
#[track_caller]
fn says(items: &str, body: &str, wanted: &str) {
    let e = error(&format!(
        "{items} #[tile_kernel(grid = [1])]
         fn k(x: &[f32], h: &[f16], y: &mut [f32], z: &mut [f32], n: usize, a: f32) {{ {body} }}"
    ));
    assert!(e.contains(wanted), "{body}: {e}");
}

#[test]
fn a_constant_of_a_module_has_its_type() {
    same(
        "const A: f32 = 0.1;",
        "store(y, 0, A.to::<f64>().to::<f32>());",
        "store(y, 0, 0.1f32.to::<f64>().to::<f32>());",
    );
    same("const M: u32 = 0xFFFF_FFFF;", "store(y, 0, M.to::<f32>());", "store(y, 0, 0xFFFF_FFFFu32.to::<f32>());");
    says("const H: f64 = 0.1;", "store(y, 0, H * load(x, 0));", "f64");
    says("", "let w: [f64; 2] = [0.1, 0.2]; store(y, 0, w[0]);", "expected f32");
}

/// A constant of the host is of no concern to kernels that do not name it.
#[test]
fn a_constant_of_the_host_may_have_any_type() {
    let items = "const NAME: &str = \"k\"; const NAMES: [&'static str; 1] = [\"k\"]; const WIDE: u128 = 1;";
    same(items, "store(y, 0, 1.0);", "store(y, 0, 1.0);");
}

#[test]
fn a_const_argument_takes_the_type_of_its_parameter() {
    let items = "fn f<const V: i64>() -> f32 { V.to::<f32>() }";
    same(items, "store(y, 0, f::<5>());", "store(y, 0, 5i64.to::<f32>());");
    says("fn f<const V: u8>() -> f32 { V.to::<f32>() }", "store(y, 0, f::<300>());", "300");
}

#[test]
fn a_type_argument_is_the_callers() {
    let items = "fn f<T, U>(v: T) -> U { v.to::<f64>().to::<T>().to::<U>() }
                 fn g<T, U>(v: T) -> U { f::<U, T>(v.to::<U>()).to::<U>() }";
    let wanted = "store(y, 0, load(h, 0).to::<f32>().to::<f64>().to::<f32>().to::<f16>().to::<f32>());";
    same(items, "store(y, 0, g::<f16, f32>(load(h, 0)));", wanted);
}

#[test]
fn a_literal_alone_says_the_type() {
    let items = "fn twice<T>(x: T) -> T { x + x } fn first<T>(p: &[T]) -> T { load(p, 0) }";
    same(items, "store(y, 0, twice(1.5));", "store(y, 0, 3.0);");
    same(items, "store(y, 0, twice(2).to::<f32>());", "store(y, 0, 4i32.to::<f32>());");
}

#[test]
fn arithmetic_of_constants() {
    for (constant, wanted) in [
        ("const C: u8 = 0xFFu8 << 4;", "0xF0u8"),
        ("const C: i32 = 1i32 << 31;", "(-2147483648i32)"),
        ("const C: f32 = max(0.5, 0.25);", "0.5f32"),
        ("const C: f32 = 5.5 % 2.0;", "1.5f32"),
        ("const C: i32 = !0;", "(-1i32)"),
        ("const C: i8 = -128i8;", "(-128i8)"),
        ("const C: usize = min(7, 9);", "7usize"),
    ] {
        let wanted = format!("store(y, 0, {wanted}.to::<f32>());");
        same("", &format!("{constant} store(y, 0, C.to::<f32>());"), &wanted);
    }
    says("", "store(y, 0, (300u8 as i32).to::<f32>());", "300 does not fit in u8");
    says("", "let v = -(-128i8); store(y, 0, v.to::<f32>());", "does not fit in i8");
    says("", "store(y, 0, 18446744073709551616.0i32);", "a literal with a fraction is no i32");
    says("", "store(y, 18446744073709551616, 0.0);", "larger than any integer type");
    says("", "for i in static_range(0..(1 << 63) * 4) { store(y, i, 0.0); }", "overflows");
    says("", "let t = MASKED && load(x, 0); store(y, 0, 1.0);", "MASKED");
    says("const MASKED: bool = true;", "let t = MASKED && load(x, 0); store(y, 0, 1.0);", "a condition is a bool");
}

#[test]
fn ranges_with_steps() {
    says("", "store(y, arange(8), arange((0..8).step_by(2)).to::<f32>());", "`arange` counts in steps of 1");
    says("", "for i in (0..12).step_by(2).step_by(3) { store(y, i, 0.0); }", "the range has a step");
    says("", "for i in 0u8..=255 { store(y, i.to::<usize>(), 0.0); }", "ends before 255, the greatest u8");
    same(
        "",
        "for i in 0u8..=254 { store(y, i.to::<usize>(), 0.0); }",
        "for i in 0u8..255 { store(y, i.to::<usize>(), 0.0); }",
    );
}

#[test]
fn an_axis_may_be_a_constant() {
    let tile = "let t = load(x, arange(4).expand(1) * 4 + arange(4).expand(0));";
    let items = "const AXIS: usize = 1;";
    let of = |axis: &str| format!("{tile} store(y, arange(4), max(t, {axis}));");
    same(items, &of("AXIS"), &of("1"));
}

/// The branch that leaves has no value, and the other one has.
#[test]
fn a_branch_that_leaves() {
    let wanted = "if n > 4 { } else { return; } let v = load(x, 0); store(y, 0, v);";
    same("", "let v = if n > 4 { load(x, 0) } else { return; }; store(y, 0, v);", wanted);
    let body = "for i in 0..n { let v = match n { 1 => { continue; } _ => load(x, i) }; store(y, i, v); }";
    let wanted = "for i in 0..n { if n == 1 { continue; } else { } let v = load(x, i); store(y, i, v); }";
    same("", body, wanted);
}

#[test]
fn the_right_side_of_an_assignment_comes_first() {
    let program = program("", "let mut v = 1.0; v += { v = 5.0; a }; store(y, 0, v);");
    assert!(program.contains("float 5.0") && !program.contains("float 1.0"), "{program}");
}

#[test]
fn constants_in_a_circle() {
    for items in ["const A: usize = B; const B: usize = A;", "const A: usize = A + 1;"] {
        says(items, "store(y, A, 0.0);", "is defined by itself");
        let e = error(&format!("{items} #[tile_kernel(grid = [A])] fn k(y: &mut [f32]) {{ store(y, 0, 0.0); }}"));
        assert!(e.contains("is defined by itself"), "{e}");
    }
}

#[test]
fn what_grows_without_end_is_refused() {
    says("", "let a = [[[0.0; 1024]; 1024]; 1024]; store(y, 0, 0.0);", "arrays of");
    let list = (1..=20).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let e = error(&format!(
        "#[tile_kernel(tune(A = [{list}], B = [{list}], C = [{list}], D = [{list}]), grid = [1])]
         fn k<const A: usize, const B: usize, const C: usize, const D: usize>(y: &mut [f32]) {{ store(y, 0, 0.0); }}"
    ));
    assert!(e.contains("configurations"), "{e}");
}
