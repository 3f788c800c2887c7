//! Every reason that the sources hold is in a recorded output: a remark, a file test of a pass, or an error of
//! `tests/macros`. `why!` alone makes a reason, so that reading the sources finds all of them. A reason that no kernel
//! can have is an invariant, and stands in the sources as one.

use crate::common::files;
use proc_macro2::{TokenStream, TokenTree};
use std::fs;
use std::path::Path;

/// The text of a reason as it is in the sources: literal parts around values.
struct Template {
    place: String,
    parts: Vec<String>,
}

/// The templates of a file.
fn templates(file: &str, text: &str, out: &mut Vec<Template>) {
    assert!(file.ends_with("missed.rs") || !text.contains("Why::"), "{file}: `why!` makes reasons");
    let tokens: TokenStream = text.parse().unwrap_or_else(|e| panic!("{file}: {e}"));
    in_tokens(file, tokens, out);
}

/// The templates in tokens, but for those of `mod tests`.
fn in_tokens(file: &str, tokens: TokenStream, out: &mut Vec<Template>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_named = |t: Option<&TokenTree>, name: &str| matches!(t, Some(TokenTree::Ident(i)) if *i == name);
    for (i, t) in tokens.iter().enumerate() {
        if let TokenTree::Group(g) = t
            && !is_named(i.checked_sub(1).and_then(|i| tokens.get(i)), "tests")
        {
            in_tokens(file, g.stream(), out);
        }
    }
    for three in tokens.windows(3) {
        if let [TokenTree::Ident(name), TokenTree::Punct(bang), TokenTree::Group(g)] = three
            && *name == "why"
            && bang.as_char() == '!'
        {
            let place = format!("{file}:{}", name.span().start().line);
            let text = g.stream().into_iter().next().expect("a text").to_string();
            let text: syn::LitStr = syn::parse_str(&text).unwrap_or_else(|e| panic!("{place}: no literal text: {e}"));
            let parts = literal_parts(&text.value());
            assert!(parts.iter().any(|p| p.len() > 8), "{place}: the reason is a value alone");
            out.push(Template { parts, place });
        }
    }
}

/// The parts of a text of `format!` between its values.
fn literal_parts(text: &str) -> Vec<String> {
    let behind_values = text.split('{').skip(1).map(|t| t.split_once('}').expect("the end of a value").1);
    text.split('{').take(1).chain(behind_values).map(str::to_string).collect()
}

impl Template {
    /// Whether a recorded text has the parts in their order.
    fn is_in(&self, recorded: &str) -> bool {
        let behind = |rest: &str, part: &String| rest.find(part.as_str()).map(|at| at + part.len());
        self.parts.iter().try_fold(recorded, |rest, part| behind(rest, part).map(|at| &rest[at..])).is_some()
    }
}

#[test]
fn every_reason_is_recorded() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &Path| fs::read_to_string(path).expect("a readable file");
    let mut all = vec![];
    for path in files(&package.join("src"), "rs") {
        templates(&path.strip_prefix(package).expect("a file below").to_string_lossy(), &read(&path), &mut all);
    }
    assert!(all.len() > 70, "{} reasons", all.len());
    let recorded: Vec<String> = [("tests/remarks", "rs"), ("filetests", "tir"), ("../tests/macros/tests/ui", "stderr")]
        .iter()
        .flat_map(|(folder, extension)| files(&package.join(folder), extension))
        .flat_map(|path| read(&path).lines().flat_map(|l| l.split("//~")).map(str::to_string).collect::<Vec<_>>())
        .collect();
    let missing = all.iter().filter(|t| !recorded.iter().any(|text| t.is_in(text)));
    let missing: Vec<String> = missing.map(|t| format!("{}: {}", t.place, t.parts.join("{}"))).collect();
    assert!(missing.is_empty(), "no recorded output has these reasons:\n{}", missing.join("\n"));
}
