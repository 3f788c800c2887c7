//! Codes of errors and their pages: no code without a page, no page without a code, and every example does as it says.

use crate::common::{bless, files};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::fs;
use std::path::Path;
use syn::Item;
use tilewright_compiler::diag::Code;
use tilewright_compiler::explain::{find, groups, page};
use tilewright_compiler::{device_units, expand_kernel, expand_module, library};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn codes_are_in_order_and_unique() {
    let numbers: Vec<u16> = Code::ALL.iter().map(|c| c.number()).collect();
    assert!(numbers.windows(2).all(|n| n[0] < n[1]), "{numbers:?}");
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let pages: Vec<&str> = groups().iter().flat_map(|g| &g.pages).map(|p| p.code).collect();
    let codes: Vec<String> = Code::ALL.iter().map(Code::to_string).collect();
    assert_eq!(pages, codes);
    for g in groups() {
        let hundreds: Vec<&str> = g.pages.iter().map(|p| &p.code[..3]).collect();
        assert!(hundreds.windows(2).all(|h| h[0] == h[1]), "{}: {hundreds:?}", g.title);
    }
}

#[test]
fn examples_report_their_code_alone() {
    let mut wrong = vec![];
    for p in groups().into_iter().flat_map(|g| g.pages) {
        assert!(p.wrong().count() > 0 && p.right().count() > 0, "{} has a wrong and a right example", p.code);
        for text in p.wrong() {
            let found = messages(text);
            let codes: Vec<Option<String>> = found.iter().map(|m| Code::split(m).map(|(_, c)| c.to_string())).collect();
            if codes.is_empty() || codes.iter().any(|c| c.as_deref() != Some(p.code)) {
                wrong.push(format!("{}: the wrong example reports {found:?}", p.code));
            }
        }
        for text in p.right() {
            let found = messages(text);
            if !found.is_empty() {
                wrong.push(format!("{}: the right example reports {found:?}", p.code));
            }
            let kernels = text.matches("#[tile_kernel").count();
            let units = device_units(text, &Default::default(), Default::default()).len();
            if units < kernels {
                wrong.push(format!("{}: the right example has {kernels} kernels, {units} with code", p.code));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The lines of examples and of prose, as in all documents.
#[test]
fn lines_of_pages_end_at_120_columns() {
    for file in files(Path::new(&format!("{ROOT}/kernel-compiler/src/explain")), "md") {
        for (i, line) in fs::read_to_string(&file).expect("a page").lines().enumerate() {
            assert!(line.chars().count() <= 120, "{}:{}", file.display(), i + 1);
        }
    }
}

/// An error that syn makes carries no code: `diag.rs` alone turns one into a message.
#[test]
fn errors_are_made_with_a_code() {
    for file in files(Path::new(&format!("{ROOT}/kernel-compiler/src")), "rs") {
        let text = fs::read_to_string(&file).expect("a source");
        for way in ["syn::Error::new", "to_compile_error", "into_compile_error"] {
            assert!(file.ends_with("src/diag.rs") || !text.contains(way), "{}: {way}", file.display());
        }
    }
}

/// Messages of UI cases, which are the messages that users see, end with a code.
#[test]
fn messages_of_ui_cases_end_with_a_code() {
    let mut messages = 0;
    for file in files(Path::new(&format!("{ROOT}/tests/macros/tests/ui")), "stderr") {
        let text = fs::read_to_string(&file).expect("the expected output");
        for message in text.lines().filter_map(|l| l.strip_prefix("error: ")) {
            assert!(Code::split(message).is_some(), "{}: {message}", file.display());
            messages += 1;
        }
    }
    assert!(messages > 300, "{messages} messages");
}

#[test]
fn codes_are_found_by_their_number() {
    for text in ["T0501", "t0501", "0501", "501"] {
        assert_eq!(find(text), Ok(Code::ShapeMismatch));
    }
    let said = |text| find(text).expect_err("no code");
    assert_eq!(said("T0199"), "there is no code `T0199`; near it are T0117 and T0201: `tile explain` lists all");
    assert_eq!(said("99999999"), "there is no code `99999999`; near it is T1205: `tile explain` lists all");
    for text in ["", "T", "E0501", "-501", "shape"] {
        assert!(said(text).contains("is not a code"), "{}", said(text));
    }
}

#[test]
fn a_page_is_plain_text_of_80_columns() {
    for code in Code::ALL {
        let text = page(*code).text();
        assert!(text.starts_with(&format!("{code}: ")) && !text.contains("```"), "{text}");
        for label in ["\n\nWrong:\n\n    ", "\n\nRight:\n\n    "] {
            assert!(text.contains(label), "{text}");
        }
        let is_prose = |l: &&str| !l.starts_with("    ");
        assert!(text.lines().skip(1).filter(is_prose).all(|l| l.chars().count() <= 80), "{text}");
    }
}

/// The list in the book.
#[test]
fn the_book_lists_the_codes() {
    const BEGIN: &str = "<!-- `cargo xtask bless` writes the list. -->\n";
    const END: &str = "<!-- The end of the list. -->\n";
    let path = format!("{ROOT}/docs/messages.md");
    let book = fs::read_to_string(&path).expect("the page of the book");
    let (before, rest) = book.split_once(BEGIN).expect("the begin of the list");
    let (_, behind) = rest.split_once(END).expect("the end of the list");
    let mut list = String::new();
    for g in groups() {
        list += &format!("\n**{}**\n\n| code | error |\n| --- | --- |\n", g.title);
        g.pages.iter().for_each(|p| list += &format!("| {} | {} |\n", p.code, p.title));
    }
    let wanted = format!("{before}{BEGIN}{list}\n{END}{behind}");
    if bless() {
        fs::write(&path, &wanted).expect("the page of the book");
    } else {
        assert!(book == wanted, "docs/messages.md has another list: `cargo xtask bless --compiler` writes it");
    }
    for file in files(Path::new(&format!("{ROOT}/kernel-compiler/src/explain")), "md") {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(behind.contains(&format!("/explain/{name}}}}}")), "docs/messages.md does not include {name}");
    }
}

/// The messages of the macros of a file, in the order of its items.
fn messages(text: &str) -> Vec<String> {
    let file = match text.parse::<TokenStream>().map(syn::parse2::<syn::File>) {
        Ok(Ok(file)) => file,
        // A body that is no Rust: the macros see its tokens alone.
        _ => return of_tokens(text.parse().expect("tokens")),
    };
    let mut out = vec![];
    file.items.into_iter().for_each(|item| collect(expanded(item), &mut out));
    out
}

/// The messages of `#[tile_kernel(attr)] item`.
fn of_tokens(tokens: TokenStream) -> Vec<String> {
    let mut all = tokens.into_iter().skip(1);
    let Some(TokenTree::Group(attribute)) = all.next() else { panic!("an attribute comes first") };
    let Some(TokenTree::Group(attr)) = attribute.stream().into_iter().nth(1) else { panic!("it has arguments") };
    let mut out = vec![];
    collect(expand_kernel(attr.stream(), all.collect()), &mut out);
    out
}

/// The expansion of an item that one of our attributes is on.
fn expanded(mut item: Item) -> TokenStream {
    let attrs = match &mut item {
        Item::Fn(i) => &mut i.attrs,
        Item::Mod(i) => &mut i.attrs,
        _ => return TokenStream::new(),
    };
    let macros: [(&str, fn(TokenStream, TokenStream) -> TokenStream); 3] =
        [("tile_kernel", expand_kernel), ("tile_module", expand_module), ("tile_library", library::expand)];
    let position = |m: &str| attrs.iter().position(|a| a.path().is_ident(m));
    let Some((at, expand)) = macros.iter().find_map(|(m, expand)| Some((position(m)?, expand))) else {
        return TokenStream::new();
    };
    let arguments = match attrs.remove(at).meta {
        syn::Meta::List(list) => list.tokens,
        _ => TokenStream::new(),
    };
    expand(arguments, item.to_token_stream())
}

/// The texts of every `compile_error!` of an expansion.
fn collect(tokens: TokenStream, out: &mut Vec<String>) {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, t) in all.iter().enumerate() {
        match (t, all.get(i + 2)) {
            (TokenTree::Ident(name), Some(TokenTree::Group(body))) if name == "compile_error" => {
                out.push(syn::parse2::<syn::LitStr>(body.stream()).expect("a message").value());
            }
            (TokenTree::Group(g), _) => collect(g.stream(), out),
            _ => {}
        }
    }
}
