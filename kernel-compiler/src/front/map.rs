//! `#[tile_kernel(map)]`: a function of elements as a kernel of arrays. It is rewritten before anything else is done.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote_spanned;

/// The setting of the attribute.
pub const MAP: &str = "map";

/// The parameter that the kernel has for the result.
const OUT: &str = "out";

/// A kernel: its attribute, its signature and its body with the braces.
pub struct Parts {
    pub attr: TokenStream,
    pub sig: syn::Signature,
    pub body: TokenStream,
    /// A parameter that the function itself calls `out`, which is a mistake.
    pub taken: Option<Ident>,
}

/// A kernel's function before it is parsed.
pub struct Rewritten {
    pub attr: TokenStream,
    pub item: syn::ItemFn,
    /// As [`Parts::taken`].
    pub taken: Option<Ident>,
}

/// The kernel of `#[tile_kernel(map, ..)] fn f(x: Tile<T>, a: f32) -> Tile<U> body`. It takes `x` as `&[T]`, `a` as it
/// is and, last, `out` as `&mut [U]`. `None` is a function that is a kernel already, one without such a result, one
/// with a parameter that is `mut`, and an attribute with a `grid` or `requires` of its own.
pub fn kernel(attr: &TokenStream, sig: &syn::Signature, body: &TokenStream) -> Option<Parts> {
    let settings = settings(attr);
    let is_map = |s: &[TokenTree]| matches!(s, [TokenTree::Ident(i)] if i == MAP);
    let has = |name: &str| settings.iter().any(|s| matches!(s.first(), Some(TokenTree::Ident(i)) if i == name));
    if !settings.iter().any(|s| is_map(s)) || has("grid") || has("requires") {
        return None;
    }
    let syn::ReturnType::Type(_, result) = &sig.output else { return None };
    let (result, span) = (element(result)?, sig.ident.span());

    let mut sig = sig.clone();
    sig.output = syn::ReturnType::Default;
    let (mut elements, mut taken) = (vec![], None);
    for input in &mut sig.inputs {
        let syn::FnArg::Typed(p) = input else { return None };
        let syn::Pat::Ident(name) = &*p.pat else { return None };
        if name.mutability.is_some() {
            return None;
        }
        if name.ident == OUT {
            taken = Some(name.ident.clone());
        }
        let Some(of) = element(&p.ty) else { continue };
        elements.push((name.ident.clone(), p.ty.clone()));
        *p.ty = syn::parse2(quote_spanned!(span=> &[#of])).ok()?;
    }
    let out = Ident::new(OUT, span);
    sig.inputs.push(syn::parse2(quote_spanned!(span=> #out: &mut [#result])).ok()?);

    if !has("tune") {
        sig.generics.params.push(syn::parse2(quote_spanned!(span=> const BLOCK: usize)).ok()?);
    }
    let tune = (!has("tune")).then(|| quote_spanned!(span=> tune(BLOCK = [1024, 2048, 4096], warps = [4]),));
    let rest = settings.iter().filter(|s| !is_map(s)).map(|s| s.iter().cloned().collect::<TokenStream>());
    let names: Vec<&Ident> = elements.iter().map(|(name, _)| name).collect();
    // Each element depends on the elements at its index alone.
    let same = elements.iter().filter(|(_, ty)| element(ty) == Some(result)).map(|(name, _)| name);
    let types = elements.iter().map(|(_, ty)| ty);
    let attr = quote_spanned! { span=>
        #(#rest,)* #tune #(alias(#same, #out),)* requires = [#(#names.len() == #out.len()),*], grid = [cdiv(#out.len(), BLOCK)]
    };
    // The closure comes first: it sees no names but the function's own and `out`.
    let body = quote_spanned! { span=> {
        let __of = |#(#names: #types),*| #body;
        let __at = program_id(0) * BLOCK + arange(BLOCK);
        store(#out, __at, __of(#(load(#names, __at)),*));
    } };
    Some(Parts { attr, sig, body, taken })
}

/// [`kernel`] of a whole function.
pub fn rewritten(attr: TokenStream, item: syn::ItemFn) -> Rewritten {
    let block = &item.block;
    let parts = kernel(&attr, &item.sig, &quote_spanned!(item.sig.ident.span()=> #block));
    match parts.and_then(|p| Some((syn::parse2(p.body).ok()?, p.attr, p.sig, p.taken))) {
        Some((block, attr, sig, taken)) => Rewritten { attr, item: syn::ItemFn { sig, block, ..item }, taken },
        None => Rewritten { attr, item, taken: None },
    }
}

/// The message for a parameter that has the name of the result.
pub fn name_is_taken() -> String {
    format!("`{OUT}` is the name of the result of a function with `{MAP}`: give this parameter another name")
}

/// The settings of an attribute, separated by commas.
fn settings(attr: &TokenStream) -> Vec<Vec<TokenTree>> {
    let mut out = vec![vec![]];
    for tree in attr.clone() {
        match &tree {
            TokenTree::Punct(p) if p.as_char() == ',' => out.push(vec![]),
            _ => out.last_mut().expect("one at least").push(tree),
        }
    }
    out.retain(|s| !s.is_empty());
    out
}

/// `T` of `Tile<T>`
fn element(ty: &syn::Type) -> Option<&syn::Type> {
    let syn::Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|s| s.ident == "Tile")?;
    let syn::PathArguments::AngleBracketed(of) = &last.arguments else { return None };
    match of.args.first() {
        Some(syn::GenericArgument::Type(t)) if of.args.len() == 1 => Some(t),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

    fn of(attr: &str, function: &str) -> (String, String) {
        let Rewritten { attr, item, .. } = rewritten(attr.parse().unwrap(), syn::parse_str(function).unwrap());
        (tokens(&attr.to_string()), tokens(&item.to_token_stream().to_string()))
    }

    /// Without spaces, which depend on where tokens come from.
    fn tokens(text: &str) -> String {
        text.split_whitespace().collect()
    }

    #[test]
    fn elements_become_arrays_and_scalars_stay() {
        let (attr, item) = of("map", "pub fn scale(x: Tile<f32>, a: f32) -> Tile<f32> { a * x }");
        assert_eq!(
            attr,
            tokens(
                "tune(BLOCK = [1024, 2048, 4096], warps = [4]), alias(x, out), requires = [x.len() == out.len()],
                 grid = [cdiv(out.len(), BLOCK)]"
            )
        );
        assert_eq!(
            item,
            tokens(
                "pub fn scale<const BLOCK: usize>(x: &[f32], a: f32, out: &mut [f32]) {
                    let __of = |x: Tile<f32>| { a * x };
                    let __at = program_id(0) * BLOCK + arange(BLOCK);
                    store(out, __at, __of(load(x, __at)));
                }"
            )
        );
    }

    #[test]
    fn a_tune_of_its_own_and_types_stay() {
        let function = "fn to<T: Float, const BLOCK: usize>(x: Tile<T>) -> Tile<f32> { x.to::<f32>() }";
        let (attr, item) = of("map, types(T = [f16, bf16]), tune(BLOCK = [64])", function);
        assert!(attr.starts_with(&tokens("types(T = [f16, bf16]), tune(BLOCK = [64]), requires")), "{attr}");
        assert!(item.contains(&tokens("fn to<T: Float, const BLOCK: usize>(x: &[T], out: &mut [f32])")), "{item}");
    }

    #[test]
    fn what_is_no_function_of_elements_is_left_alone() {
        for (attr, function) in [
            ("grid = [1]", "fn k(y: &mut [f32]) { store(y, 0, 1.0); }"),
            ("map", "fn k(x: Tile<f32>) {}"),
            ("map", "fn k(x: Tile<f32>) -> f32 { sum(x) }"),
            ("map, grid = [1]", "fn k(x: Tile<f32>) -> Tile<f32> { x }"),
        ] {
            assert_eq!(of(attr, function), (tokens(attr), tokens(function)), "{function}");
        }
    }
}
