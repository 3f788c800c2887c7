//! The attribute: `types(..)`, `tune(..)`, `grid = [..]`, `emulate = [..]`, `early = [..]`.

use crate::ast::*;
use crate::diag::{Diagnostics, Reported, Result};
use crate::dtype::DType;
use proc_macro2::{Ident, Span, TokenStream};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Token, bracketed, parenthesized};

pub struct Attr {
    pub types: Vec<TypeParam>,
    pub configs: Vec<Config>,
    pub grid: Vec<Expr>,
    pub emulate: Option<Vec<usize>>,
    pub early: Option<Vec<Ident>>,
}

/// An instance costs build time: a product of long lists is a mistake.
const MAX_CONFIGS: usize = 64;
const WARPS: [i128; 6] = [1, 2, 4, 8, 16, 32];

enum Item {
    Types(Vec<(Ident, Vec<Ident>)>),
    Tune(Span, Vec<(Ident, Vec<syn::LitInt>)>),
    Grid(Span, Vec<syn::Expr>),
    Emulate(Vec<syn::LitInt>),
    Early(Vec<Ident>),
}

fn lists<T: Parse>(input: ParseStream) -> syn::Result<Vec<(Ident, Vec<T>)>> {
    let entries = Punctuated::<(Ident, Vec<T>), Token![,]>::parse_terminated_with(input, |e| {
        let name = e.parse::<Ident>()?;
        e.parse::<Token![=]>()?;
        let list;
        bracketed!(list in e);
        Ok((name, Punctuated::<T, Token![,]>::parse_terminated(&list)?.into_iter().collect()))
    })?;
    Ok(entries.into_iter().collect())
}

impl Parse for Item {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let key: Ident = input.parse()?;
        let list;
        match key.to_string().as_str() {
            "types" => {
                parenthesized!(list in input);
                Ok(Item::Types(lists(&list)?))
            }
            "tune" => {
                parenthesized!(list in input);
                Ok(Item::Tune(key.span(), lists(&list)?))
            }
            "grid" => {
                input.parse::<Token![=]>()?;
                bracketed!(list in input);
                Ok(Item::Grid(key.span(), Punctuated::<syn::Expr, Token![,]>::parse_terminated(&list)?.into_iter().collect()))
            }
            "emulate" => {
                input.parse::<Token![=]>()?;
                bracketed!(list in input);
                Ok(Item::Emulate(Punctuated::<syn::LitInt, Token![,]>::parse_terminated(&list)?.into_iter().collect()))
            }
            "early" => {
                input.parse::<Token![=]>()?;
                bracketed!(list in input);
                Ok(Item::Early(Punctuated::<Ident, Token![,]>::parse_terminated(&list)?.into_iter().collect()))
            }
            other => Err(syn::Error::new(key.span(), format!("unknown setting `{other}`: #[tile_kernel] takes types(..), tune(..), grid = [..], emulate = [..] and early = [..]"))),
        }
    }
}

pub fn parse(attr: TokenStream, kernel: &Ident, types: &[Ident], consts: &[Ident], d: &Diagnostics) -> Result<Attr> {
    let items = syn::parse::Parser::parse2(Punctuated::<Item, Token![,]>::parse_terminated, attr).map_err(|e| d.syn(e))?;
    let mut out = Attr { types: vec![], configs: vec![], grid: vec![], emulate: None, early: None };
    for item in items {
        match item {
            Item::Types(list) => {
                for (name, dtypes) in list {
                    out.types.push(type_param(name, dtypes, types, d)?);
                }
            }
            Item::Tune(span, list) => tune(span, list, consts, &mut out.configs, d)?,
            Item::Grid(span, exprs) => {
                if !(1..=3).contains(&exprs.len()) {
                    return Err(d.error(span, "a grid has one to three extents: grid = [x], [x, y] or [x, y, z]"));
                }
                out.grid = exprs.iter().map(|e| super::body::expr(e, d)).collect::<Result<_>>()?;
            }
            Item::Early(list) => out.early = Some(list),
            Item::Emulate(list) => out.emulate = Some(list.iter().map(|l| l.base10_parse().map_err(|e| d.syn(e))).collect::<Result<_>>()?),
        }
    }
    if let Some(t) = types.iter().find(|t| !out.types.iter().any(|p| p.name == **t)) {
        return Err(d.error(t.span(), format!("type parameter `{t}` has no list of types: add types({t} = [f32, ..]) to the attribute")));
    }
    // Bound in the order in which the function declares them.
    out.types.sort_by_key(|p| types.iter().position(|t| *t == p.name));
    if out.configs.is_empty() {
        if let Some(c) = consts.first() {
            return Err(d.error(c.span(), format!("const `{c}` has no values: add tune({c} = [..]) to the attribute")));
        }
        out.configs.push(Config { consts: vec![], warps: 4, blocks_per_sm: 0, stages: 0, ctas: 1, arch: 0 });
    }
    if out.grid.is_empty() {
        return Err(d.error(kernel.span(), "no grid: add grid = [cdiv(x.len(), BLOCK)] or the like to the attribute"));
    }
    Ok(out)
}

fn type_param(name: Ident, dtypes: Vec<Ident>, types: &[Ident], d: &Diagnostics) -> Result<TypeParam> {
    if !types.contains(&name) {
        return Err(d.error(name.span(), format!("the kernel has no type parameter `{name}`")));
    }
    if dtypes.is_empty() {
        return Err(d.error(name.span(), format!("no types for `{name}`")));
    }
    let types = dtypes.iter().map(|t| DType::parse(&t.to_string()).ok_or_else(|| d.error(t.span(), format!("unknown element type `{t}`: one of {}", DType::NAMES)))).collect::<Result<_>>()?;
    Ok(TypeParam { name, types })
}

/// Appends the product of the lists.
fn tune(span: Span, list: Vec<(Ident, Vec<syn::LitInt>)>, consts: &[Ident], out: &mut Vec<Config>, d: &Diagnostics) -> Result<()> {
    let mut product = vec![Config { consts: vec![], warps: 4, blocks_per_sm: 0, stages: 0, ctas: 1, arch: 0 }];
    for (name, values) in &list {
        let is_setting = name == "warps" || name == "blocks_per_sm" || name == "stages" || name == "ctas" || name == "arch";
        if !is_setting && !consts.contains(name) {
            return Err(d.error(name.span(), format!("nothing to tune is called `{name}`: tune takes the kernel's const parameters, `warps`, `blocks_per_sm`, `stages`, `ctas` and `arch`")));
        }
        if values.is_empty() {
            return Err(d.error(name.span(), format!("no values for `{name}`")));
        }
        let mut next = vec![];
        for config in &product {
            for v in values {
                let n: i128 = v.base10_parse().map_err(|e| d.syn(e))?;
                if name == "warps" && !WARPS.contains(&n) {
                    return Err(d.error(v.span(), "warps is 1, 2, 4, 8, 16 or 32"));
                }
                if name == "blocks_per_sm" && !(1..=32).contains(&n) {
                    return Err(d.error(v.span(), "blocks_per_sm is 1 to 32"));
                }
                if name == "stages" && !(1..=16).contains(&n) {
                    return Err(d.error(v.span(), "stages is 1 to 16"));
                }
                if name == "ctas" && ![1, 2, 4, 8].contains(&n) {
                    return Err(d.error(v.span(), "ctas is 1, 2, 4 or 8: the thread blocks of a cluster"));
                }
                if name == "arch" && ![75, 80, 90].contains(&n) {
                    return Err(d.error(v.span(), "arch is 75, 80 or 90: the first compute capability whose instructions the configuration is for"));
                }
                let mut c = config.clone();
                match name.to_string().as_str() {
                    "warps" => c.warps = n as u32,
                    "blocks_per_sm" => c.blocks_per_sm = n as u32,
                    "stages" => c.stages = n as u32,
                    "ctas" => c.ctas = n as u32,
                    "arch" => c.arch = n as u32,
                    n_ => c.consts.push((n_.to_string(), n)),
                }
                next.push(c);
            }
        }
        product = next;
    }
    if let Some(c) = consts.iter().find(|c| !list.iter().any(|(n, _)| n == *c)) {
        return Err(missing_const(c, span, d));
    }
    if let Some((name, _)) = list.iter().find(|(n, _)| n == "ctas" && product.iter().any(|c| c.ctas > 1 && c.arch != 90)) {
        return Err(d.error(name.span(), "clusters of thread blocks are for compute capability 9.0: add arch = [90] to this tune(..)"));
    }
    for mut c in product {
        c.consts.sort_by_key(|(n, _)| consts.iter().position(|c| c == n));
        if !out.contains(&c) {
            out.push(c);
        }
    }
    if out.len() > MAX_CONFIGS {
        return Err(d.error(span.span(), format!("{} configurations: at most {MAX_CONFIGS}; split the product into several tune(..)", out.len())));
    }
    Ok(())
}

fn missing_const(c: &Ident, span: Span, d: &Diagnostics) -> Reported {
    d.error(span, format!("this tune(..) gives no value for const `{c}`"))
}
