//! Names in tokens.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;

/// The tokens with some names replaced, but for those behind `::`.
pub fn with_names(tokens: TokenStream, replace: &dyn Fn(&Ident) -> Option<TokenStream>) -> TokenStream {
    let mut in_path = false;
    let each = tokens.into_iter().map(|t| {
        let was_in_path = std::mem::replace(&mut in_path, matches!(&t, TokenTree::Punct(p) if p.as_char() == ':'));
        match t {
            TokenTree::Ident(i) if !was_in_path => replace(&i).unwrap_or_else(|| i.to_token_stream()),
            TokenTree::Group(g) => {
                let mut new = Group::new(g.delimiter(), with_names(g.stream(), replace));
                new.set_span(g.span());
                TokenTree::from(new).into()
            }
            other => other.into(),
        }
    });
    each.collect()
}
