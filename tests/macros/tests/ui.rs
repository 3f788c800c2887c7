//! Mistakes in kernels: one message each, at the user's token.
//!
//! Messages come from the compiler, so `tests/ui` is checked in this process: each file is expanded, and the errors are
//! printed as rustc prints them. `tests/ui_rustc` has the few cases that take rustc itself. `TILE_BLESS` rewrites the
//! expected output of both.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, renderer::DecorStyle};
use proc_macro2::{LineColumn, TokenStream, TokenTree};
use quote::ToTokens;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use syn::Item;

#[test]
fn messages() {
    compare("tests/ui", |path| {
        let text = fs::read_to_string(path).expect("a case");
        render(path, &text, &errors(&text))
    });
}

#[test]
fn messages_from_rustc() {
    compare("tests/ui_rustc", from_rustc);
}

/// Compares the messages for each case of a folder with the file beside it.
fn compare(folder: &str, said: impl Fn(&Path) -> String) {
    let overwrite = std::env::var_os("TILE_BLESS").is_some();
    let mut wrong = vec![];
    let files = cases(folder);
    assert!(!files.is_empty());
    for path in &files {
        let found = said(path);
        let wanted_path = path.with_extension("stderr");
        if overwrite {
            fs::write(&wanted_path, &found).expect("the expected output");
        }
        let wanted = fs::read_to_string(&wanted_path).unwrap_or_default();
        if found != wanted {
            wrong.push(format!("== {}\n-- expected\n{wanted}-- found\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{} of {} messages differ:\n{}", wrong.len(), files.len(), wrong.join("\n"));
}

/// The errors of rustc for a file that uses the facade of this test's own build.
fn from_rustc(path: &Path) -> String {
    let this = std::env::current_exe().expect("the path of this test");
    let libraries = this.parent().expect("a folder");
    let cargo = std::env::var_os("CARGO").expect("cargo runs this test");
    let file = format!("tests/ui_rustc/{}", path.file_name().expect("a file").to_string_lossy());
    let out = Command::new(Path::new(&cargo).with_file_name("rustc"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["--edition=2024", "--emit=metadata", "--out-dir", env!("CARGO_TARGET_TMPDIR")])
        .args(["--extern", &format!("tilewright={}", facade(libraries).display())])
        .arg(format!("-Ldependency={}", libraries.display()))
        .arg(file)
        .output()
        .expect("rustc runs");
    let said = String::from_utf8(out.stderr).expect("text");
    assert!(!out.status.success(), "{} has no mistake", path.display());
    let end = said.find("error: aborting due to").unwrap_or(said.len());
    said[..end].trim_end().to_string() + "\n"
}

/// The library of the facade that was built last.
fn facade(folder: &Path) -> PathBuf {
    let name = |p: &Path| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("libtilewright_without_ops-"));
    let files = fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path());
    let built = files.filter(|p| name(p) && p.extension().is_some_and(|e| e == "rlib"));
    built.max_by_key(|p| fs::metadata(p).and_then(|m| m.modified()).ok()).expect("the facade was built for this test")
}

fn cases(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).expect("the folder of the cases");
    let mut files: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "rs"));
    files.sort();
    files
}

struct Mistake {
    message: String,
    start: LineColumn,
    end: LineColumn,
    /// Whether this is one span that was joined. A macro on stable cannot join spans: rustc shows the first token.
    joined: bool,
}

/// The errors that rustc would report for the macros of a file, in its order.
fn errors(text: &str) -> Vec<Mistake> {
    let tokens: TokenStream = text.parse().expect("tokens");
    let file: syn::File = syn::parse2(tokens.clone()).unwrap_or_else(|e| panic!("the case is no Rust file: {e}"));
    let mut out = vec![];
    file.items.into_iter().for_each(|item| collect(expand(item), &mut out));
    out.iter_mut().filter(|e| e.joined).for_each(|e| e.end = first_token(&tokens, e.start).unwrap_or(e.end));
    out
}

/// The end of the token that starts at a place.
fn first_token(tokens: &TokenStream, start: LineColumn) -> Option<LineColumn> {
    let of = |t: TokenTree| match t {
        t if t.span().start() == start => Some(t.span().end()),
        TokenTree::Group(g) => first_token(&g.stream(), start),
        _ => None,
    };
    tokens.clone().into_iter().find_map(of)
}

/// The expansion of an item that one of our attributes is on; nothing for other items.
fn expand(mut item: Item) -> TokenStream {
    let attrs = match &mut item {
        Item::Fn(i) => &mut i.attrs,
        Item::Mod(i) => &mut i.attrs,
        Item::Struct(i) => &mut i.attrs,
        Item::Impl(i) => &mut i.attrs,
        _ => return TokenStream::new(),
    };
    let macros: [(&str, fn(TokenStream, TokenStream) -> TokenStream); 3] = [
        ("tile_kernel", tilewright_compiler::expand_kernel),
        ("tile_module", tilewright_compiler::expand_module),
        ("tile_library", tilewright_compiler::library::expand),
    ];
    let name = |a: &syn::Attribute| a.path().segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
    let found = attrs.iter().position(|a| macros.iter().any(|(m, _)| name(a) == *m));
    let Some(at) = found else { return TokenStream::new() };
    let attr = attrs.remove(at);
    let arguments = match &attr.meta {
        syn::Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    };
    let (_, expand) = macros.into_iter().find(|(m, _)| name(&attr) == *m).expect("found above");
    expand(arguments, item.to_token_stream())
}

/// Every `::core::compile_error! { "message" }` of an expansion.
fn collect(tokens: TokenStream, out: &mut Vec<Mistake>) {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, t) in all.iter().enumerate() {
        match t {
            TokenTree::Ident(name) if name == "compile_error" => {
                // `::core::` in front: five tokens.
                let first = i.checked_sub(5).map_or(t, |first| &all[first]);
                let Some(TokenTree::Group(body)) = all.get(i + 2) else { panic!("`compile_error!` has no body") };
                let message: syn::LitStr = syn::parse2(body.stream()).expect("a message");
                let (start, end) = (first.span().start(), body.span().end());
                let joined = first.span().start() == body.span().start() && first.span().end() == end;
                out.push(Mistake { message: message.value(), start, end, joined });
            }
            TokenTree::Group(g) => collect(g.stream(), out),
            _ => {}
        }
    }
}

/// As rustc prints it.
fn render(path: &Path, text: &str, errors: &[Mistake]) -> String {
    let name = format!("tests/ui/{}", path.file_name().expect("a file").to_string_lossy());
    let renderer = Renderer::plain().decor_style(DecorStyle::Ascii);
    let one = |e: &Mistake| {
        let at = range(text, e);
        let source = Snippet::source(text).path(&name).annotation(AnnotationKind::Primary.span(at));
        renderer.render(&[Group::with_title(Level::ERROR.primary_title(&e.message)).element(source)]).to_string() + "\n"
    };
    errors.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn range(text: &str, e: &Mistake) -> Range<usize> {
    let offset = |at: LineColumn| {
        let line: usize = text.split_inclusive('\n').take(at.line - 1).map(str::len).sum();
        line + text[line..].chars().take(at.column).map(char::len_utf8).sum::<usize>()
    };
    offset(e.start)..offset(e.end)
}
