//! The attribute: `kernel(..)`, `types(..)`, `tune(..)`, `grid = [..]`, `emulate = all`, `pdl = [..]`,
//! `alias(..)`, `deterministic`, `backward`, `crate = path`.

use crate::diag::{Code, Diagnostics, Result, syn_error};
use crate::dtype::DType;
use crate::front::ast::{Arch, Config, Const, ConstParam, Expr, TypeName, TypeParam};
use crate::front::backward::Backward;
use crate::front::map::MAP;
use crate::front::parse::constants::Value;
use crate::front::parse::tune::{DEFAULT, MAX_CONFIGS, Tune, TuneConfigs, bracketed_list, product, tune};
use crate::front::parse::types::unknown_type;
use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Token, parenthesized};

pub struct Attr {
    /// The kernels that the function is written for; none: one kernel of its own name.
    pub kernels: Vec<Named>,
    /// Of the parameters that no kernel(..) gives.
    pub types: Vec<TypeParam>,
    pub tunes: Vec<TuneConfigs>,
    pub grid: Vec<Expr>,
    /// Every configuration is emulated.
    pub emulate_all: bool,
    pub pdl: Option<Vec<Ident>>,
    /// An array that is read, and one that is written and may be the same memory.
    pub aliases: Vec<[Ident; 2]>,
    /// Equal arguments give equal bits.
    pub deterministic: bool,
    pub requires: Vec<Expr>,
    /// Each kernel has a backward kernel.
    pub backward: Option<Backward>,
    /// The crate that the expansion names, if the attribute says one.
    pub facade: Option<syn::Path>,
    /// The configuration of a kernel without `tune(..)`.
    default: Config,
}

/// `kernel(name, C = 1, D = Variant, T = f16, U = [f16, bf16])`: a kernel with some of the function's parameters given.
pub struct Named {
    pub docs: Vec<syn::Attribute>,
    pub name: Ident,
    pub given: Vec<(Ident, Given)>,
}

/// The argument of a parameter in kernel(..).
pub enum Given {
    /// Of a const parameter, or the only one of a type parameter.
    One(Value),
    /// The types that callers choose from.
    List(Vec<Value>),
}

impl Named {
    pub fn gives(&self, name: &Ident) -> bool {
        self.given.iter().any(|(n, _)| n == name)
    }

    /// The types that a type parameter is given.
    pub fn types(&self, name: &Ident) -> Option<Vec<Ident>> {
        let values = match &self.given.iter().find(|(n, _)| n == name)?.1 {
            Given::One(value) => std::slice::from_ref(value),
            Given::List(list) => &list[..],
        };
        let of = |v: &Value| if let Value::Name { name, .. } = v { Some(name.clone()) } else { None };
        values.iter().map(of).collect()
    }

    /// The type parameter whose type a type parameter is given: `U = T`.
    pub fn same_as(&self, name: &Ident, types: &[Ident]) -> Option<Ident> {
        self.types(name).filter(|list| list.len() == 1 && types.contains(&list[0])).map(|mut list| list.remove(0))
    }

    /// The values of the const parameters that are given one.
    pub fn consts(&self, consts: &[ConstParam], d: &Diagnostics) -> Result<Vec<(String, Const)>> {
        let of = |(name, given): &(Ident, Given)| {
            let param = consts.iter().find(|c| c.name == *name)?;
            Some(match given {
                Given::One(v) => v.constant(param, d).map(|c| (name.to_string(), c)),
                Given::List(_) => Err(d.error(
                    Code::KernelParameters,
                    name.span(),
                    format!("`{name}` is a const parameter: give it one value"),
                )),
            })
        };
        self.given.iter().filter_map(of).collect()
    }
}

enum Item {
    Kernel(Named),
    Types(Vec<(Ident, Vec<Ident>)>),
    Tune(Tune),
    Grid(Span, Vec<syn::Expr>),
    Requires(Vec<syn::Expr>),
    EmulateAll,
    Deterministic,
    Backward(Backward),
    Pdl(Vec<Ident>),
    Alias([Ident; 2]),
    Crate(syn::Path),
}

fn lists(input: ParseStream) -> syn::Result<Vec<(Ident, Vec<Ident>)>> {
    let entries = Punctuated::<_, Token![,]>::parse_terminated_with(input, |e| {
        let name = e.parse()?;
        e.parse::<Token![=]>()?;
        Ok((name, bracketed_list(e)?))
    })?;
    Ok(entries.into_iter().collect())
}

/// The contents of the parentheses of `kernel(..)`.
fn named(docs: Vec<syn::Attribute>, input: ParseStream) -> syn::Result<Named> {
    let mut out = Named { docs, name: input.parse()?, given: vec![] };
    while input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
        let name: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        if out.gives(&name) {
            return Err(syn_error(Code::GivenTwice, name.span(), format!("`{name}` is given twice")));
        }
        let given = match input.peek(syn::token::Bracket) {
            true => Given::List(bracketed_list(input)?),
            false => Given::One(input.parse()?),
        };
        out.given.push((name, given));
    }
    Ok(out)
}

impl Parse for Item {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let docs = input.call(syn::Attribute::parse_outer)?;
        let key = input.call(Ident::parse_any)?;
        if let Some(a) = docs.iter().find(|a| key != "kernel" || !a.path().is_ident("doc")) {
            return Err(syn_error(Code::Syntax, a.span(), "only documentation of a kernel(..) stands here"));
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
            "requires" => {
                input.parse::<Token![=]>()?;
                Ok(Item::Requires(bracketed_list(input)?))
            }
            "emulate" => {
                input.parse::<Token![=]>()?;
                let at = input.span();
                match input.call(Ident::parse_any) {
                    Ok(which) if which == "all" => Ok(Item::EmulateAll),
                    _ => Err(syn_error(
                        Code::SettingValue,
                        at,
                        "emulate takes `all`: without it configurations are chosen that have every feature of the kernel's code",
                    )),
                }
            }
            "pdl" => {
                input.parse::<Token![=]>()?;
                Ok(Item::Pdl(bracketed_list(input)?))
            }
            "alias" => {
                let list;
                parenthesized!(list in input);
                let names: Vec<Ident> = Punctuated::<Ident, Token![,]>::parse_terminated(&list)?.into_iter().collect();
                match <[Ident; 2]>::try_from(names) {
                    Ok(pair) => Ok(Item::Alias(pair)),
                    Err(_) => Err(syn_error(
                        Code::AliasPair,
                        key.span(),
                        "`alias` takes an array that is read and one that is written: alias(x, y)",
                    )),
                }
            }
            "deterministic" => Ok(Item::Deterministic),
            "backward" => {
                let mut inputs = None;
                if input.peek(syn::token::Paren) {
                    parenthesized!(list in input);
                    let names = Punctuated::<Ident, Token![,]>::parse_terminated(&list)?;
                    inputs = Some(names.into_iter().collect());
                }
                Ok(Item::Backward(Backward { span: key.span(), inputs }))
            }
            MAP => Err(syn_error(
                Code::MapForm,
                key.span(),
                "`map` is for a function of elements with a result, without a parameter that is `mut`, and makes its \
                 `grid` and `requires`: fn f(x: Tile<f32>, a: f32) -> Tile<f32> { a * x }",
            )),
            "crate" => {
                input.parse::<Token![=]>()?;
                Ok(Item::Crate(input.call(syn::Path::parse_mod_style)?))
            }
            other => Err(syn_error(
                Code::UnknownSetting,
                key.span(),
                format!(
                    "unknown setting `{other}`: #[tile_kernel] takes kernel(..), types(..), tune(..), grid = [..], requires = [..], emulate = all, pdl = [..], alias(..), deterministic, backward, map and crate = path"
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

/// The setting `backward` of an attribute, right or wrong.
pub fn backward(attr: TokenStream) -> Option<Backward> {
    let of = |items: Vec<Item>| items.into_iter().find_map(|i| if let Item::Backward(b) = i { Some(b) } else { None });
    items(attr).ok().and_then(|(_, items)| of(items))
}

/// The kernels that an attribute names, right or wrong.
pub fn kernels(attr: TokenStream) -> Vec<Named> {
    items(attr).map_or(vec![], |(kernels, _)| kernels)
}

/// The crate that an attribute, right or wrong, wants the expansion to name.
pub fn facade_of(attr: TokenStream) -> Option<syn::Path> {
    let paths = |items: Vec<Item>| items.into_iter().find_map(|i| if let Item::Crate(p) = i { Some(p) } else { None });
    items(attr).ok().and_then(|(_, items)| paths(items))
}

/// `types` and `consts` are the function's parameters.
pub fn parse(
    attr: TokenStream,
    function: &Ident,
    types: &[Ident],
    consts: &[ConstParam],
    d: &Diagnostics,
) -> Result<Attr> {
    let (kernels, items) = items(attr).map_err(|e| d.syn(e))?;
    check(&kernels, types, consts, d)?;
    let is_left = |name: &Ident| !kernels.first().is_some_and(|k| k.gives(name));
    let types: Vec<Ident> = types.iter().filter(|t| is_left(t)).cloned().collect();
    let all_consts = consts;
    let consts: Vec<ConstParam> = consts.iter().filter(|c| is_left(&c.name)).cloned().collect();
    let mut out = Attr {
        kernels,
        types: vec![],
        tunes: vec![],
        grid: vec![],
        emulate_all: false,
        pdl: None,
        aliases: vec![],
        deterministic: false,
        requires: vec![],
        backward: None,
        facade: None,
        default: DEFAULT,
    };
    for item in items {
        match item {
            Item::Kernel(_) => unreachable!("kernels are set apart"),
            Item::Types(list) => {
                for (name, dtypes) in list {
                    not_given(&out.kernels, &name, d)?;
                    if !types.contains(&name) {
                        return Err(d.error(
                            Code::UnknownInAttribute,
                            name.span(),
                            format!("the kernel has no type parameter `{name}`"),
                        ));
                    }
                    out.types.push(type_param(&name, &dtypes, d)?);
                }
            }
            Item::Tune(mut t) => {
                if let Some(k) = t.kernels.iter().flatten().find(|k| !out.kernels.iter().any(|n| n.name == **k)) {
                    return Err(d.error(
                        Code::UnknownInAttribute,
                        k.span(),
                        format!("no kernel(..) of this function is called `{k}`"),
                    ));
                }
                chosen(&mut t, &out.kernels, all_consts, d)?;
                out.tunes.push(product(t, &consts, d)?);
            }
            Item::Grid(span, exprs) => {
                if !(1..=3).contains(&exprs.len()) {
                    return Err(d.error(
                        Code::GridExtents,
                        span,
                        "a grid has one to three extents: grid = [x], [x, y] or [x, y, z]",
                    ));
                }
                out.grid = exprs.iter().map(|e| super::body::expr(e, d)).collect();
            }
            Item::Requires(exprs) => {
                out.requires = exprs.iter().map(|e| super::body::expr(e, d)).collect();
            }
            Item::Pdl(list) => out.pdl = Some(list),
            Item::Alias(pair) => out.aliases.push(pair),
            Item::Deterministic => out.deterministic = true,
            Item::Backward(b) => out.backward = Some(b),
            Item::EmulateAll => out.emulate_all = true,
            Item::Crate(path) => out.facade = Some(path),
        }
    }
    if let Some(t) = types.iter().find(|t| !out.types.iter().any(|p| p.name == **t)) {
        return Err(d.error(
            Code::NoValues,
            t.span(),
            format!("type parameter `{t}` has no list of types: add types({t} = [f32, ..]) to the attribute"),
        ));
    }
    let without_value = consts.iter().find(|c| c.default.is_none());
    if let Some(c) = without_value.map(|c| &c.name).filter(|_| out.tunes.is_empty()) {
        return Err(d.error(
            Code::NoValues,
            c.span(),
            format!("const `{c}` has no values: add tune({c} = [..]) to the attribute"),
        ));
    }
    if out.tunes.is_empty() {
        let all = Tune { span: function.span(), lists: vec![], kernels: None };
        out.default = product(all, &consts, d)?.configs.remove(0);
    }
    let of_cpu = out.tunes.iter().find(|t| t.configs.iter().any(|c| c.arch == Arch::Cpu));
    if let Some(t) = of_cpu.filter(|_| out.deterministic) {
        let why = "a `deterministic` kernel runs in its first configuration on every device: leave out `arch = [cpu]`";
        return Err(d.error(Code::SettingValue, t.span, why));
    }
    if out.grid.is_empty() {
        return Err(d.error(
            Code::NoGrid,
            function.span(),
            "no grid: add grid = [cdiv(x.len(), BLOCK)] or the like to the attribute",
        ));
    }
    Ok(out)
}

/// Kernels of one function have names of their own and the same parameters left.
fn check(kernels: &[Named], types: &[Ident], consts: &[ConstParam], d: &Diagnostics) -> Result<()> {
    let names = |k: &Named| k.given.iter().map(|(n, _)| n.clone()).collect::<Vec<_>>();
    for (i, k) in kernels.iter().enumerate() {
        if kernels[..i].iter().any(|other| other.name == k.name) {
            return Err(d.error(Code::GivenTwice, k.name.span(), format!("there are two kernels `{}`", k.name)));
        }
        if let Some(n) = names(k).iter().find(|n| !consts.iter().any(|c| c.name == **n) && !types.contains(n)) {
            return Err(d.error(
                Code::UnknownInAttribute,
                n.span(),
                format!("the function has no type or const parameter `{n}`"),
            ));
        }
        if let Some(n) = names(k).iter().find(|n| types.contains(n) && k.types(n).is_none()) {
            return Err(d.error(
                Code::KernelParameters,
                n.span(),
                format!("`{n}` is a type parameter: give it an element type, or a list of them"),
            ));
        }
        for n in names(k) {
            let same = k.same_as(&n, types);
            if let Some(of) = same.filter(|of| *of == n || k.same_as(of, types).is_some()) {
                return Err(d.error(
                    Code::KernelParameters,
                    of.span(),
                    format!("`{n}` is given `{of}`, which is given no element type itself"),
                ));
            }
        }
        k.consts(consts, d)?;
        if let Some(n) = kernels.iter().flat_map(names).find(|n| !k.gives(n)) {
            return Err(d.error(Code::KernelParameters, k.name.span(), format!("`{}` is not given `{n}`, as another kernel(..) is: all kernels of a function are given the same parameters", k.name)));
        }
    }
    Ok(())
}

fn not_given(kernels: &[Named], name: &Ident, d: &Diagnostics) -> Result<()> {
    match kernels.iter().any(|k| k.gives(name)) {
        true => Err(d.error(Code::KernelParameters, name.span(), format!("`{name}` is given by kernel(..) already"))),
        false => Ok(()),
    }
}

/// A list of values for a const parameter that kernel(..) gives says which kernels the configurations are for.
fn chosen(t: &mut Tune, kernels: &[Named], consts: &[ConstParam], d: &Diagnostics) -> Result<()> {
    let given = |name: &Ident| kernels.first().is_some_and(|k| k.gives(name));
    let lists = std::mem::take(&mut t.lists);
    for (name, values) in lists {
        let Some(param) = consts.iter().find(|c| c.name == name).filter(|_| given(&name)) else {
            not_given(kernels, &name, d)?;
            t.lists.push((name, values));
            continue;
        };
        let values = values.iter().map(|v| v.constant(param, d).map(|c| (c, v.span()))).collect::<Result<Vec<_>>>()?;
        let of = |k: &Named| -> Result<Option<Const>> {
            Ok(k.consts(consts, d)?.into_iter().find(|(n, _)| name == n).map(|(_, c)| c))
        };
        let mut wanted = vec![];
        for k in kernels {
            if let Some(c) = of(k)? {
                wanted.push((k.name.clone(), c));
            }
        }
        if let Some((v, span)) = values.iter().find(|(v, _)| !wanted.iter().any(|(_, c)| c == v)) {
            return Err(d.error(
                Code::UnknownInAttribute,
                *span,
                format!("no kernel(..) of this function is given {name} = {v}"),
            ));
        }
        let is_wanted = |k: &Ident| wanted.iter().any(|(n, c)| n == k && values.iter().any(|(v, _)| v == c));
        let before = t.kernels.take().unwrap_or_else(|| kernels.iter().map(|k| k.name.clone()).collect());
        t.kernels = Some(before.into_iter().filter(is_wanted).collect());
    }
    Ok(())
}

pub fn type_param(name: &Ident, dtypes: &[Ident], d: &Diagnostics) -> Result<TypeParam> {
    if dtypes.is_empty() {
        return Err(d.error(Code::NoValues, name.span(), format!("no types for `{name}`")));
    }
    if let Some((_, t)) = dtypes.iter().enumerate().find(|(i, t)| dtypes[..*i].contains(t)) {
        return Err(d.error(Code::GivenTwice, t.span(), format!("`{t}` is in the list of `{name}` already")));
    }
    let types = dtypes
        .iter()
        .map(|t| {
            DType::parse(&t.to_string())
                .ok_or_else(|| unknown_type(&TypeName { name: t.to_string(), span: t.span().into() }, d))
        })
        .collect::<Result<_>>()?;
    Ok(TypeParam { name: name.clone(), types })
}

impl Attr {
    /// All configurations of a kernel, those of the CPU alone last.
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
                    Code::TooManyInstances,
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
                return Err(d.error(Code::UnknownInAttribute, kernel.span(), format!("no tune(..) is for `{kernel}`")));
            }
            out.push(self.default.clone());
        }
        out.sort_by_key(|c| c.arch == Arch::Cpu);
        if out[0].arch == Arch::Cpu {
            let why = format!("every tune(..) of `{kernel}` is for the CPU: add one without `arch = [cpu]`");
            return Err(d.error(Code::SettingValue, kernel.span(), why));
        }
        Ok(out)
    }
}
