//! The attribute: `kernel(..)`, `types(..)`, `tune(..)`, `grid = [..]`, `emulate = all`, `early = [..]`.

use crate::diag::{Diagnostics, Reported, Result};
use crate::dtype::DType;
use crate::front::ast::{Config, Expr, TypeParam};
use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Token, bracketed, parenthesized};

pub struct Attr {
    /// What the function is written for; none: for one kernel of its own name.
    pub kernels: Vec<Named>,
    /// Of the parameters that no kernel(..) gives.
    pub types: Vec<TypeParam>,
    pub tunes: Vec<Tuned>,
    pub grid: Vec<Expr>,
    /// Every configuration is emulated.
    pub emulate_all: bool,
    pub early: Option<Vec<Ident>>,
}

/// `kernel(name, C = 1, T = f16, U = [f16, bf16])`: a kernel with some of the function's parameters given.
pub struct Named {
    pub docs: Vec<syn::Attribute>,
    pub name: Ident,
    pub consts: Vec<(Ident, syn::LitInt)>,
    pub types: Vec<(Ident, Vec<Ident>)>,
}

impl Named {
    pub fn gives(&self, name: &Ident) -> bool {
        self.given().any(|n| n == name)
    }

    fn given(&self) -> impl Iterator<Item = &Ident> {
        self.consts.iter().map(|(n, _)| n).chain(self.types.iter().map(|(n, _)| n))
    }
}

/// The configurations of a `tune(..)`.
pub struct Tuned {
    span: Span,
    configs: Vec<Config>,
    /// The kernels that they are for; none: all.
    kernels: Option<Vec<Ident>>,
}

/// `tune(C = [1, 2], warps = [4], kernels = [name])`
struct Tune {
    span: Span,
    lists: Vec<(Ident, Vec<syn::LitInt>)>,
    kernels: Option<Vec<Ident>>,
}

/// An instance costs build time: a product of long lists is a mistake.
const MAX_CONFIGS: usize = 64;
const DEFAULT: Config = Config { consts: vec![], warps: 4, blocks_per_sm: 0, stages: 0, ctas: 1, arch: 0 };
const WARPS: [i128; 6] = [1, 2, 4, 8, 16, 32];

enum Item {
    Kernel(Named),
    Types(Vec<(Ident, Vec<Ident>)>),
    Tune(Tune),
    Grid(Span, Vec<syn::Expr>),
    EmulateAll,
    Early(Vec<Ident>),
}

fn lists(input: ParseStream) -> syn::Result<Vec<(Ident, Vec<Ident>)>> {
    let entries = Punctuated::<_, Token![,]>::parse_terminated_with(input, |e| {
        let name = e.parse()?;
        e.parse::<Token![=]>()?;
        Ok((name, bracketed_list(e)?))
    })?;
    Ok(entries.into_iter().collect())
}

/// What is in the parentheses of `tune(..)`.
fn tune(span: Span, input: ParseStream) -> syn::Result<Tune> {
    let mut out = Tune { span, lists: vec![], kernels: None };
    while !input.is_empty() {
        let name: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        if out.lists.iter().any(|(n, _)| *n == name) || name == "kernels" && out.kernels.is_some() {
            return Err(syn::Error::new(name.span(), format!("`{name}` has values already")));
        }
        match name == "kernels" {
            true => out.kernels = Some(bracketed_list(input)?),
            false => out.lists.push((name, bracketed_list(input)?)),
        }
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(out)
}

/// What is in brackets: `[a, b]`.
fn bracketed_list<T: Parse>(input: ParseStream) -> syn::Result<Vec<T>> {
    let list;
    bracketed!(list in input);
    Ok(Punctuated::<T, Token![,]>::parse_terminated(&list)?.into_iter().collect())
}

/// What is in the parentheses of `kernel(..)`.
fn named(docs: Vec<syn::Attribute>, input: ParseStream) -> syn::Result<Named> {
    let mut out = Named { docs, name: input.parse()?, consts: vec![], types: vec![] };
    while input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
        let name: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        if out.gives(&name) {
            return Err(syn::Error::new(name.span(), format!("`{name}` is given twice")));
        } else if input.peek(syn::LitInt) {
            out.consts.push((name, input.parse()?));
        } else if input.peek(syn::token::Bracket) {
            out.types.push((name, bracketed_list(input)?));
        } else if input.peek(Ident::peek_any) {
            out.types.push((name, vec![input.parse()?]));
        } else {
            return Err(input
                .error("a const parameter is given an integer, a type parameter an element type or a list of them"));
        }
    }
    Ok(out)
}

impl Parse for Item {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let docs = input.call(syn::Attribute::parse_outer)?;
        let key: Ident = input.parse()?;
        if let Some(a) = docs.iter().find(|a| key != "kernel" || !a.path().is_ident("doc")) {
            return Err(syn::Error::new(a.span(), "only documentation goes here, of a kernel(..)"));
        }
        let list;
        match key.to_string().as_str() {
            "kernel" => {
                parenthesized!(list in input);
                Ok(Item::Kernel(named(docs, &list)?))
            }
            "types" => {
                parenthesized!(list in input);
                Ok(Item::Types(lists(&list)?))
            }
            "tune" => {
                parenthesized!(list in input);
                Ok(Item::Tune(tune(key.span(), &list)?))
            }
            "grid" => {
                input.parse::<Token![=]>()?;
                Ok(Item::Grid(key.span(), bracketed_list(input)?))
            }
            "emulate" => {
                input.parse::<Token![=]>()?;
                let at = input.span();
                match input.call(Ident::parse_any) {
                    Ok(which) if which == "all" => Ok(Item::EmulateAll),
                    _ => Err(syn::Error::new(
                        at,
                        "emulate takes `all`: without it configurations are chosen that have every feature of the kernel's code",
                    )),
                }
            }
            "early" => {
                input.parse::<Token![=]>()?;
                Ok(Item::Early(bracketed_list(input)?))
            }
            other => Err(syn::Error::new(
                key.span(),
                format!(
                    "unknown setting `{other}`: #[tile_kernel] takes kernel(..), types(..), tune(..), grid = [..], emulate = all and early = [..]"
                ),
            )),
        }
    }
}

fn items(attr: TokenStream) -> syn::Result<(Vec<Named>, Vec<Item>)> {
    let (mut kernels, mut rest) = (vec![], vec![]);
    for item in syn::parse::Parser::parse2(Punctuated::<Item, Token![,]>::parse_terminated, attr)? {
        match item {
            Item::Kernel(k) => kernels.push(k),
            other => rest.push(other),
        }
    }
    Ok((kernels, rest))
}

/// The kernels that an attribute names, right or wrong.
pub fn kernels(attr: TokenStream) -> Vec<Named> {
    items(attr).map_or(vec![], |(kernels, _)| kernels)
}

/// `types` and `consts` are the function's parameters.
pub fn parse(attr: TokenStream, function: &Ident, types: &[Ident], consts: &[Ident], d: &Diagnostics) -> Result<Attr> {
    let (kernels, items) = items(attr).map_err(|e| d.syn(e))?;
    check(&kernels, types, consts, d)?;
    let left = |names: &[Ident]| -> Vec<Ident> {
        names.iter().filter(|n| !kernels.first().is_some_and(|k| k.gives(n))).cloned().collect()
    };
    let (types, consts) = (&left(types)[..], &left(consts)[..]);
    let mut out = Attr { kernels, types: vec![], tunes: vec![], grid: vec![], emulate_all: false, early: None };
    for item in items {
        match item {
            Item::Kernel(_) => unreachable!("kernels are set apart"),
            Item::Types(list) => {
                for (name, dtypes) in list {
                    not_given(&out.kernels, &name, d)?;
                    if !types.contains(&name) {
                        return Err(d.error(name.span(), format!("the kernel has no type parameter `{name}`")));
                    }
                    out.types.push(type_param(&name, &dtypes, d)?);
                }
            }
            Item::Tune(t) => {
                t.lists.iter().try_for_each(|(name, _)| not_given(&out.kernels, name, d))?;
                if let Some(k) = t.kernels.iter().flatten().find(|k| !out.kernels.iter().any(|n| n.name == **k)) {
                    return Err(d.error(k.span(), format!("no kernel(..) of this function is called `{k}`")));
                }
                out.tunes.push(product(t, consts, d)?);
            }
            Item::Grid(span, exprs) => {
                if !(1..=3).contains(&exprs.len()) {
                    return Err(d.error(span, "a grid has one to three extents: grid = [x], [x, y] or [x, y, z]"));
                }
                out.grid = exprs.iter().map(|e| super::body::expr(e, d)).collect::<Result<_>>()?;
            }
            Item::Early(list) => out.early = Some(list),
            Item::EmulateAll => out.emulate_all = true,
        }
    }
    if let Some(t) = types.iter().find(|t| !out.types.iter().any(|p| p.name == **t)) {
        return Err(d.error(
            t.span(),
            format!("type parameter `{t}` has no list of types: add types({t} = [f32, ..]) to the attribute"),
        ));
    }
    if let Some(c) = consts.first().filter(|_| out.tunes.is_empty()) {
        return Err(d.error(c.span(), format!("const `{c}` has no values: add tune({c} = [..]) to the attribute")));
    }
    if out.grid.is_empty() {
        return Err(d.error(function.span(), "no grid: add grid = [cdiv(x.len(), BLOCK)] or the like to the attribute"));
    }
    Ok(out)
}

/// Kernels of one function have names of their own and the same parameters left.
fn check(kernels: &[Named], types: &[Ident], consts: &[Ident], d: &Diagnostics) -> Result<()> {
    for (i, k) in kernels.iter().enumerate() {
        if kernels[..i].iter().any(|other| other.name == k.name) {
            return Err(d.error(k.name.span(), format!("there are two kernels `{}`", k.name)));
        }
        if let Some(n) = k.given().find(|n| !consts.contains(n) && !types.contains(n)) {
            return Err(d.error(n.span(), format!("the function has no type or const parameter `{n}`")));
        }
        if let Some((n, _)) = k.consts.iter().find(|(n, _)| !consts.contains(n)) {
            return Err(
                d.error(n.span(), format!("`{n}` is a type parameter: give it an element type, or a list of them"))
            );
        }
        if let Some((n, _)) = k.types.iter().find(|(n, _)| !types.contains(n)) {
            return Err(d.error(n.span(), format!("`{n}` is a const parameter: give it an integer")));
        }
        if let Some((_, v)) = k.consts.iter().find(|(_, v)| !["", "usize"].contains(&v.suffix())) {
            return Err(d.error(v.span(), "a const parameter of a kernel is a `usize`"));
        }
        if let Some(n) = kernels.iter().flat_map(Named::given).find(|n| !k.gives(n)) {
            return Err(d.error(k.name.span(), format!("`{}` is not given `{n}`, as another kernel(..) is: all kernels of a function are given the same parameters", k.name)));
        }
    }
    Ok(())
}

fn not_given(kernels: &[Named], name: &Ident, d: &Diagnostics) -> Result<()> {
    match kernels.iter().any(|k| k.gives(name)) {
        true => Err(d.error(name.span(), format!("`{name}` is given by kernel(..) already"))),
        false => Ok(()),
    }
}

pub fn type_param(name: &Ident, dtypes: &[Ident], d: &Diagnostics) -> Result<TypeParam> {
    if dtypes.is_empty() {
        return Err(d.error(name.span(), format!("no types for `{name}`")));
    }
    if let Some((_, t)) = dtypes.iter().enumerate().find(|(i, t)| dtypes[..*i].contains(t)) {
        return Err(d.error(t.span(), format!("`{t}` is in the list of `{name}` already")));
    }
    let types = dtypes
        .iter()
        .map(|t| {
            DType::parse(&t.to_string())
                .ok_or_else(|| d.error(t.span(), format!("unknown element type `{t}`: one of {}", DType::NAMES)))
        })
        .collect::<Result<_>>()?;
    Ok(TypeParam { name: name.clone(), types })
}

impl Attr {
    /// All configurations of a kernel.
    pub fn configs(&self, kernel: &Ident, d: &Diagnostics) -> Result<Vec<Config>> {
        let mut out = vec![];
        for t in self.tunes.iter().filter(|t| t.kernels.as_ref().is_none_or(|k| k.contains(kernel))) {
            for c in &t.configs {
                if !out.contains(c) {
                    out.push(c.clone());
                }
            }
            if out.len() > MAX_CONFIGS {
                return Err(d.error(
                    t.span,
                    format!(
                        "{} configurations: at most {MAX_CONFIGS}; split the product into several tune(..)",
                        out.len()
                    ),
                ));
            }
        }
        if out.is_empty() {
            if !self.tunes.is_empty() {
                return Err(d.error(kernel.span(), format!("no tune(..) is for `{kernel}`")));
            }
            out.push(DEFAULT);
        }
        Ok(out)
    }
}

/// The product of the lists.
fn product(Tune { span, lists, kernels }: Tune, consts: &[Ident], d: &Diagnostics) -> Result<Tuned> {
    let mut product = vec![DEFAULT];
    for (name, values) in &lists {
        let is_setting =
            name == "warps" || name == "blocks_per_sm" || name == "stages" || name == "ctas" || name == "arch";
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
    if let Some(c) = consts.iter().find(|c| !lists.iter().any(|(n, _)| n == *c)) {
        return Err(missing_const(c, span, d));
    }
    if let Some((name, _)) =
        lists.iter().find(|(n, _)| n == "ctas" && product.iter().any(|c| c.ctas > 1 && c.arch != 90))
    {
        return Err(d.error(
            name.span(),
            "clusters of thread blocks are for compute capability 9.0: add arch = [90] to this tune(..)",
        ));
    }
    for c in &mut product {
        c.consts.sort_by_key(|(n, _)| consts.iter().position(|c| c == n));
    }
    Ok(Tuned { span, configs: product, kernels })
}

fn missing_const(c: &Ident, span: Span, d: &Diagnostics) -> Reported {
    d.error(span, format!("this tune(..) gives no value for const `{c}`"))
}
