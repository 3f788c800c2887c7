//! Functions that are no Rust. `rustc` reports their syntax, once: here they become stubs, and the spellings of Python
//! among them are reported with the spelling that kernels have. So are comparisons under `&`, for which the proposal
//! of `rustc` is `&&`.

use crate::diag::{Code, Diagnostic, Diagnostics, Span, syn_error_to_tokens};
use crate::emit::host;
use crate::front::source::{KERNEL, LIBRARY, MODULE, default_facade};
use crate::front::{parse, suggest};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser};

/// Expands `#[tile_kernel(attr)] item`; `e` is why the item does not parse.
pub fn kernel(attr: TokenStream, item: TokenStream, e: syn::Error) -> TokenStream {
    let errors = python(&item);
    match function.parse2(item) {
        Ok(item) => {
            let facade = parse::facade_of(attr.clone()).unwrap_or_else(default_facade);
            let stubs = parse::names(attr, &item).into_iter().map(|name| host::stub_of_function(&item, &name, &facade));
            quote! { #errors #(#stubs)* }
        }
        Err(_) if !errors.is_empty() => errors,
        Err(_) => syn_error_to_tokens(e),
    }
}

/// The errors of a module, and the module with empty bodies where they do not parse.
pub fn module(item: TokenStream, e: syn::Error) -> (TokenStream, Option<TokenStream>) {
    let errors = python(&item);
    match emptied.parse2(item) {
        Ok(module) => (errors, Some(module)),
        Err(_) if !errors.is_empty() => (errors, None),
        Err(_) => (syn_error_to_tokens(e), None),
    }
}

/// A spelling of Python in a kernel. Its file does not parse as Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misspelling {
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// The spelling that kernels have, with the code of the message.
    pub message: String,
}

/// The first syntax error of a file, if it is a spelling of Python in a kernel or in a module of kernels.
pub fn misspelling(text: &str) -> Option<Misspelling> {
    let error = syn::parse_file(text).err()?.span().start();
    let d = Diagnostics::default();
    in_kernels(text.parse().ok()?, &d);
    let found = d.take().into_iter().find(|d| d.span.first.start() <= error && error < d.span.last.end())?;
    let start = found.span.first.start();
    Some(Misspelling { line: start.line, column: start.column + 1, message: found.to_string() })
}

/// Finds the spellings of Python below an attribute of the compiler.
fn in_kernels(tokens: TokenStream, d: &Diagnostics) {
    let names = |g: &proc_macro2::Group| {
        let is = |t| matches!(t, TokenTree::Ident(i) if [KERNEL, MODULE, LIBRARY].iter().any(|name| i == name));
        g.stream().into_iter().any(is)
    };
    let (mut kernel, mut after_hash) = (false, false);
    for t in tokens {
        if let TokenTree::Group(g) = &t {
            match g.delimiter() {
                Delimiter::Bracket if after_hash => kernel |= names(g),
                Delimiter::Brace if std::mem::take(&mut kernel) => find(g.stream(), d),
                Delimiter::Brace => in_kernels(g.stream(), d),
                _ => {}
            }
        }
        after_hash = matches!(&t, TokenTree::Punct(p) if p.as_char() == '#');
    }
}

/// A function without its body.
fn function(input: ParseStream) -> syn::Result<syn::ItemFn> {
    let (attrs, vis) = (input.call(syn::Attribute::parse_outer)?, input.parse()?);
    let sig = input.parse()?;
    let body;
    syn::braced!(body in input);
    body.parse::<TokenStream>()?;
    Ok(syn::ItemFn { attrs, vis, sig, block: syn::parse_quote!({}) })
}

fn emptied(input: ParseStream) -> syn::Result<TokenStream> {
    let (attrs, vis): (_, syn::Visibility) = (input.call(syn::Attribute::parse_outer)?, input.parse()?);
    input.parse::<syn::Token![mod]>()?;
    let (ident, body): (syn::Ident, _);
    ident = input.parse()?;
    syn::braced!(body in input);
    let mut items = vec![];
    while !body.is_empty() {
        let item = match body.fork().parse::<syn::Item>() {
            Ok(_) => body.parse::<syn::Item>()?.into_token_stream(),
            Err(_) => function(&body)?.into_token_stream(),
        };
        items.push(item);
    }
    Ok(quote! { #(#attrs)* #vis mod #ident { #(#items)* } })
}

/// The errors for spellings of Python.
fn python(tokens: &TokenStream) -> TokenStream {
    let d = Diagnostics::default();
    find(tokens.clone(), &d);
    d.take().iter().map(Diagnostic::to_tokens).collect()
}

fn find(tokens: TokenStream, d: &Diagnostics) {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    chained(&all, d);
    let is_punct = |t: Option<&TokenTree>, c: char| matches!(t, Some(TokenTree::Punct(p)) if p.as_char() == c);
    for (i, t) in all.iter().enumerate() {
        let before = i.checked_sub(1).map(|before| &all[before]);
        match t {
            TokenTree::Group(g) => {
                let operand = before.is_some_and(is_operand);
                match subscript(g.stream()).filter(|_| operand && g.delimiter() == Delimiter::Bracket) {
                    Some(why) => drop(d.error(Code::Subscript, g.span(), why)),
                    None => find(g.stream(), d),
                }
            }
            TokenTree::Ident(name) if is_punct(before, '.') => match name.to_string().as_str() {
                "where" => drop(d.error(
                    Code::PythonWord,
                    name.span(),
                    "`where` is a keyword of Rust: write `where_(c, a, b)`",
                )),
                "constexpr" => {
                    let why = "a constant is a const parameter of the kernel: `fn k<const BLOCK: usize>(..)`";
                    d.error(Code::PythonWord, name.span(), why);
                }
                _ => {}
            },
            _ => {}
        }
    }
}

/// Finds `a < b & c < d`: `&`, `|` and `^` bind tighter than comparisons, which Rust does not chain.
fn chained(tokens: &[TokenTree], d: &Diagnostics) {
    let operators = operators(tokens);
    let is_comparison = |o: &str| matches!(o, "<" | "<=" | ">" | ">=" | "==" | "!=");
    for three in operators.windows(3) {
        let [(first, a), (_, between), (last, b)] = three else { continue };
        if is_comparison(a) && is_comparison(b) && matches!(&**between, "&" | "|" | "^") {
            let span = Span { first: tokens[*first].span(), last: tokens[last + b.len() - 1].span() };
            let why = format!(
                "`{between}` binds tighter than `{a}`: put each comparison in parentheses, as in `(i < m) {between} (j < n)`"
            );
            d.error(Code::ChainedComparison, span, why);
        }
    }
}

/// The operators between operands that decide how comparisons and `&` group, with the places of their first tokens, and
/// the separators of expressions. Arithmetic binds tighter than all of them.
fn operators(tokens: &[TokenTree]) -> Vec<(usize, String)> {
    let mut out = vec![];
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let first = at;
        at += 1;
        let TokenTree::Punct(p) = token else { continue };
        let mut spelled = String::from(p.as_char());
        let mut joint = p.spacing() == Spacing::Joint;
        while let Some(TokenTree::Punct(next)) = tokens.get(at).filter(|_| joint) {
            spelled.push(next.as_char());
            joint = next.spacing() == Spacing::Joint;
            at += 1;
        }
        let is_between = first > 0 && ends_operand(&tokens[first - 1]);
        match &*spelled {
            "+" | "-" | "*" | "/" | "%" | "." | "!" | "<<" | ">>" => {}
            // A reference.
            "&" if !is_between => {}
            "::<" => {
                at += tokens[at..]
                    .iter()
                    .position(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == '>'))
                    .map_or(0, |end| end + 1)
            }
            _ => out.push((first, spelled)),
        }
    }
    out
}

/// Whether an operator may follow.
fn ends_operand(t: &TokenTree) -> bool {
    match t {
        TokenTree::Literal(_) => true,
        TokenTree::Group(g) => g.delimiter() != Delimiter::Brace,
        TokenTree::Ident(_) => is_operand(t),
        TokenTree::Punct(_) => false,
    }
}

/// Whether brackets behind a token index it.
fn is_operand(t: &TokenTree) -> bool {
    match t {
        TokenTree::Ident(_) => syn::parse2::<syn::Ident>(t.to_token_stream()).is_ok(),
        TokenTree::Group(g) => g.delimiter() != Delimiter::Brace,
        _ => false,
    }
}

/// The replacement of `[:, None]`, if that, or a list of indices, is in brackets.
fn subscript(tokens: TokenStream) -> Option<String> {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |t: &TokenTree, c: char| matches!(t, TokenTree::Punct(p) if p.as_char() == c);
    let parts: Vec<&[TokenTree]> = all.split(|t| is(t, ',')).collect();
    let is_path = |i: usize| [i.wrapping_sub(1), i + 1].iter().any(|&n| all.get(n).is_some_and(|t| is(t, ':')));
    let is_slice = (0..all.len()).any(|i| is(&all[i], ':') && !is_path(i));
    if !is_slice && parts.len() < 2 {
        return None;
    }
    let is_new = |part: &&[TokenTree]| matches!(part, [TokenTree::Ident(name)] if name == "None");
    let axes = parts.iter().enumerate().filter(|(_, part)| is_new(part));
    let cure: String = axes.map(|(axis, _)| format!(".expand({axis})")).collect();
    if cure.is_empty() {
        return Some(suggest::INDEX.into());
    }
    let spelled = |part: &&[TokenTree]| part.iter().map(|t| t.to_string()).collect::<String>();
    let written = parts.iter().map(spelled).collect::<Vec<_>>().join(", ");
    Some(format!("tiles are not indexed: write `{cure}` instead of `[{written}]`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(body: &str) -> Vec<String> {
        let d = Diagnostics::default();
        find(body.parse().expect("tokens"), &d);
        d.take().into_iter().map(|e| e.message).collect()
    }

    #[test]
    fn subscripts_of_python_have_a_cure() {
        let expand = |cure: &str, of: &str| vec![format!("tiles are not indexed: write `{cure}` instead of `[{of}]`")];
        assert_eq!(messages("let o = i[:, None] * 4;"), expand(".expand(1)", ":, None"));
        assert_eq!(messages("f(arange(8)[None, :])"), expand(".expand(0)", "None, :"));
        assert_eq!(messages("{ (i + j)[None, :, None] }"), expand(".expand(0).expand(2)", "None, :, None"));
        assert_eq!(messages("x[1:5] + y[i, j]"), [suggest::INDEX; 2]);
        assert_eq!(messages("tl.where(c, a, b)"), ["`where` is a keyword of Rust: write `where_(c, a, b)`"]);
    }

    #[test]
    fn files_that_python_keeps_from_being_rust() {
        let file = |body: &str| {
            let text = format!("mod m {{\n#[tile_kernel(grid = [1])]\nfn k(y: &mut [f32]) {{\n    {body}\n}}\n}}\n");
            misspelling(&text).map(|m| (m.line, m.column, m.message))
        };
        let expand =
            |cure: &str, of: &str| format!("tiles are not indexed: write `{cure}` instead of `[{of}]` [T0208]");
        assert_eq!(file("let o = i[:, None];"), Some((4, 14, expand(".expand(1)", ":, None"))));
        assert_eq!(file("let (a, o) = (x, i[None, :] * 4);"), Some((4, 23, expand(".expand(0)", "None, :"))));
        let chained = file("let m = i < 3 & j < 4;").expect("a mistake");
        assert!((chained.0, chained.1) == (4, 15) && chained.2.ends_with("[T0212]"), "{chained:?}");
        // Other mistakes, and files that parse, are for the macro.
        assert_eq!(file("let i = ; let o = i[:, None];"), None);
        assert_eq!(file("let o = i.expand(1);"), None);
        assert_eq!(misspelling("fn f() { x[1:2] } #[tile_kernel(grid = [1])] fn k() {}"), None);
    }

    #[test]
    fn comparisons_under_an_operator_have_a_cure() {
        let cure = |a: &str, o: &str| {
            let cure = format!("put each comparison in parentheses, as in `(i < m) {o} (j < n)`");
            vec![format!("`{o}` binds tighter than `{a}`: {cure}")]
        };
        assert_eq!(messages("let m = i < n & j < n;"), cure("<", "&"));
        assert_eq!(messages("load(x, i).mask(i + 1 >= n | x.len() != 2 * j)"), cure(">=", "|"));
        assert_eq!(messages("f(a[0] == 1 ^ b(2) == 3)"), cure("==", "^"));
        for body in [
            "(i < n) & (j < n)",
            "i < n && j < n",
            "i < n & j",
            "f(i < n, &j, k < n)",
            "let a: Vec<&T> = b; let c = d < e;",
            "zeros::<bool>([M]) & a < b",
            "i < n; &j; k < n",
            "match a < b { true => c & d, _ => e < f }",
        ] {
            assert_eq!(messages(body), [""; 0], "{body}");
        }
    }

    #[test]
    fn arrays_are_no_subscripts() {
        for body in ["zeros::<f32>([M, N])", "v.tile([i, j], [M, N])", "return [a, b]", "let [a, b] = x;", "x[E::A]"] {
            assert_eq!(messages(body), [""; 0], "{body}");
        }
    }

    /// The function stays there for its callers.
    #[test]
    fn a_function_that_does_not_parse_is_a_stub() {
        let item: TokenStream = "pub fn k(x: &[f32], y: &mut [f32]) { let i = ; }".parse().expect("tokens");
        let out = crate::expand_kernel(quote! { grid = [1] }, item.clone()).to_string();
        assert!(out.contains("pub fn k") && !out.contains("compile_error"), "{out}");
        let out =
            crate::expand_module(quote! {}, quote! { mod m { const A: usize = 1; #[tile_kernel(grid = [1])] #item } });
        let out = out.to_string();
        assert!(out.contains("const A") && out.contains("pub fn k") && !out.contains("compile_error"), "{out}");
    }
}
