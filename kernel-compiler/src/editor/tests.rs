use super::*;

/// Tokens of Rust, as text without spaces.
fn text(tokens: TokenStream) -> String {
    tokens.to_string().split_whitespace().collect()
}

fn tokens(rust: &str) -> TokenStream {
    rust.parse().expect("tokens")
}

fn expanded(attr: &str, item: &str) -> String {
    text(kernel(tokens(attr), tokens(item)))
}

#[track_caller]
fn contains(all: &str, part: &str) {
    let part: String = part.split_whitespace().collect();
    assert!(all.contains(&part), "`{part}` is missing in\n{all}");
}

#[test]
fn a_kernel_is_a_typed_function_and_its_own_body() {
    let out = expanded(
        "types(T = [f16, f32]), tune(N = [64]), grid = [cdiv(x.len(), N)]",
        "/// Doubles.
         pub fn twice<T: Float, const N: usize>(x: &[T], y: &mut [T], n: usize, v: View<f16, 2>) {
             store(y, arange(N), load(x, arange(N)) + load(x, arange(N)));
         }",
    );
    contains(&out, "pub fn twice<'__a, T: ::tilewright::__private::Element>");
    contains(&out, "x: impl ::tilewright::__private::AsSlice<'__a, T>");
    contains(&out, "n: impl ::tilewright::__private::AsSize");
    contains(&out, "v: impl ::tilewright::__private::AsView<'__a, ::tilewright::__private::f16, 2>");
    contains(&out, "use ::tilewright::__private::lang::*;");
    contains(&out, "let _ = [cdiv(x.len(), N)];");
    contains(&out, "{ store(y, arange(N), load(x, arange(N)) + load(x, arange(N))); }");
    assert!(!out.contains("lowered") && !out.contains("KernelParts"), "{out}");
}

#[test]
fn operations_of_tiles_have_types() {
    let out = expanded(
        "grid = [1]",
        "unsafe fn k(p: *const f32, q: *mut f32, x: &[f32], n: usize) {
             let m = arange(64) < n;
             store(q.add(arange(64)), load(p.add(arange(64))).mask(m));
             let s = sum(load(x, 0), 1) + max(load(x, 0)) + load(x, 0).min(1);
             let b = bitcast::<u32>(s) as u64;
             for i in range(0, n) {}
         }",
    );
    let lang = "::tilewright::__private::lang";
    for part in [
        &format!("p: {lang}::Ptr<f32>"),
        &format!("q: {lang}::PtrMut<f32>"),
        &format!("let m = {lang}::operators::compare(arange(64), n);"),
        &format!("{lang}::overloads::store(q.add(arange(64)), {lang}::overloads::load(p.add(arange(64))).mask(m));"),
        &format!("{lang}::overloads::sum(load(x, 0), 1) + max(load(x, 0)) + {lang}::overloads::min(load(x, 0), 1)"),
        &format!("{lang}::operators::cast::<u64, _>(bitcast::<u32, _>(s))"),
        &format!("for i in {lang}::overloads::range(0, n) {{}}"),
    ] {
        contains(&out, part);
    }
}

#[test]
fn an_optional_parameter_takes_an_option() {
    let out = expanded(
        "grid = [if let Some(n) = n { n } else { 1 }]",
        "unsafe fn k(x: Option<&[f32]>, n: Option<usize>, p: Option<*const f16>, y: &mut [f32]) {
             if let Some(x) = x { store(y, 0, load(x, 0).to(y.dtype())); }
         }",
    );
    let (core, option) = ("::tilewright::__private", "::core::option::Option");
    for part in [
        &format!("x: {option}<impl {core}::AsSlice<'__a, f32>>, n: {option}<usize>"),
        &format!("p: {option}<impl ::core::convert::Into<{core}::RawArg<{core}::f16>>>"),
        &format!("p: {option}<{core}::lang::Ptr<f16>>"),
        &format!("store(y, 0, {core}::lang::overloads::to(load(x, 0), y.dtype()));"),
        "let _ = [if let Some(n) = n { n } else { 1 }];",
    ] {
        contains(&out, part);
    }
}

/// rust-analyzer expands while a user writes.
#[test]
fn what_is_no_rust_yet_stays() {
    let out = expanded("grid = [1]", "fn k(x: &[f32]) { let v = load(x, ); v. }");
    contains(&out, "{ let v = load(x, ); v. }");
    contains(&out, "fn k<'__a,>");
    assert_eq!(expanded("grid =", "struct S;"), "structS;", "what is no function stays");
}

#[test]
fn a_kernel_of_a_name_has_the_types_that_it_is_given() {
    let out = expanded(
        "kernel(of_halves, T = f16, U = T), kernel(of_two, T = [f16, bf16], U = f32), grid = [1]",
        "pub fn k<T: Float, U: Float>(x: &[T], y: &mut [U]) {}",
    );
    let core = "::tilewright::__private";
    contains(&out, "pub fn of_halves<'__a,>");
    contains(&out, &format!("pub fn of_two<'__a, T: {core}::Element>(x: impl {core}::AsSlice<'__a, T>"));
    contains(&out, &format!("y: impl {core}::AsSliceMut<'__a, f32>"));
    assert!(!out.contains("pubfnk"), "{out}");
}

#[test]
fn modules_see_the_items_of_their_libraries() {
    let library_ = text(library(
        quote! {},
        tokens(
            "pub mod l { const A: f32 = 1.0; enum E { X } struct S { a: Tile<f32> } fn half<T>(x: Tile<T>) -> Tile<T> { x } }",
        ),
    ));
    for part in [
        "pub(crate) const A",
        "pub(crate) enum E",
        "pub(crate) struct S { pub(crate) a: Tile<f32> }",
        "pub(crate) fn half<T: ::tilewright::__private::lang::Num>",
    ] {
        contains(&library_, part);
    }
    let user =
        "mod m { fn one() -> f32 { 1.0 } #[tile_kernel(grid = [1])] fn k(y: &mut [f32]) { store(y, 0, one()); } }";
    let out = text(module(tokens("use crate::a::l, use self::b, use c, crate = ::other"), tokens(user)));
    for part in [
        "use ::other::__private::lang::*; use crate::a::l::*; use super::b::*; use super::c::*;",
        "fn one() -> f32 { 1.0 }",
        "{ store(y, 0, one()); }",
        "-> ::other::__private::Call<'__a>",
    ] {
        contains(&out, part);
    }
    assert!(!out.contains("tile_kernel") && !out.contains("tilewright"), "{out}");
}

#[test]
fn a_function_of_elements_takes_slices() {
    let out = expanded("map", "pub fn scale(x: Tile<f32>, a: f32) -> Tile<f32> { a * x }");
    contains(&out, "x: impl ::tilewright::__private::AsSlice<'__a, f32>, a: f32");
    contains(&out, "out: impl ::tilewright::__private::AsSliceMut<'__a, f32>");
    contains(&out, "{ a * x }");
}

#[test]
fn a_backward_kernel_is_a_typed_function_of_its_own() {
    let out = expanded(
        "backward(x, p), grid = [1]",
        "unsafe fn k(x: &[f32], w: Option<View<f16, 2>>, n: &[i32], p: *const f32, y: ViewMut<f32, 1>) {}",
    );
    contains(&out, "unsafe fn k<'__a, >(x: impl ::tilewright::__private::AsSlice<'__a, f32>, w:");
    contains(&out, "unsafe fn k_backward<'__a, >(x: impl ::tilewright::__private::AsSlice<'__a, f32>, x_grad:");
    contains(&out, "x_grad: impl ::tilewright::__private::AsSliceMut<'__a, f32>, w: ::core::option::Option<impl");
    contains(&out, "n: impl ::tilewright::__private::AsSlice<'__a, i32>, p: impl");
    contains(&out, "p_grad: impl ::core::convert::Into<::tilewright::__private::RawArg<f32>>");
    contains(&out, "y_grad: impl ::tilewright::__private::AsView<'__a, f32, 1>");
    assert!(!out.contains("w_grad") && !out.contains("n_grad"), "{out}");
}
