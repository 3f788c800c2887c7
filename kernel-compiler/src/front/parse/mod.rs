//! Phase 1, parse: `syn` → [`ast`](crate::front::ast). Unsupported syntax is reported here, at its token.

mod attr;
mod body;
pub mod constants;
pub mod returns;
pub mod structs;
mod tune;
pub mod types;

use crate::diag::{Code, Diagnostics, Result, Span};
use crate::front::ast::{
    Config, ConstParam, Expr, ExprKind, Given, Helper, HelperParam, Kernel, Param, Said, Scope, TypeName, TypeParam,
};
use crate::front::backward;
use crate::front::parse::attr::Attr;
use crate::front::parse::constants::{const_param, enumeration};
use crate::front::parse::types::{option_of, param_type, said, type_name, unknown_type};
use crate::ir::ParamKind;
pub use attr::{Named, backward as backward_of, facade_of, kernels as named};
use proc_macro2::{Ident, TokenStream};
use std::rc::Rc;
use syn::spanned::Spanned;
use syn::visit::Visit;
use tilewright_types::limits::{MAX_ARGUMENT_WORDS, MAX_BUFFERS, MAX_RANK};

/// A kernel is built for each combination of the optional parameters that a call has.
const MAX_OPTIONAL: usize = 4;
/// Of a kernel with optional parameters: its types, its combinations of arguments and its configurations, multiplied.
pub(crate) const MAX_INSTANCES: usize = 512;

/// Refuses `cfg` in the parts of kernels, which it visits: the macro would have to decide it before rustc does, and for
/// all targets alike.
pub struct NoCfg<'d>(&'d Diagnostics, Result<()>);

impl<'d> NoCfg<'d> {
    pub fn new(d: &'d Diagnostics) -> Self {
        NoCfg(d, Ok(()))
    }

    pub fn done(self) -> Result<()> {
        self.1
    }
}

impl<'a> Visit<'a> for NoCfg<'_> {
    fn visit_attribute(&mut self, a: &'a syn::Attribute) {
        if ["cfg", "cfg_attr"].iter().any(|c| a.path().is_ident(c)) {
            self.1 = Err(self.0.error(Code::CfgInside, Span::of(a), "a kernel and its module have no `cfg` inside: put it on the whole module, or on a kernel that stands alone"));
        }
    }
}

/// The names of the kernels that `#[tile_kernel(attr)] item` is written for, right or wrong, in the order of the text.
pub fn names(attr: TokenStream, item: &syn::ItemFn) -> Vec<Ident> {
    let mut names: Vec<Ident> = vec![];
    for k in attr::kernels(attr.clone()) {
        if !names.contains(&k.name) {
            names.push(k.name);
        }
    }
    if names.is_empty() {
        names.push(item.sig.ident.clone());
    }
    if attr::backward(attr).is_some() {
        names = names.into_iter().flat_map(|n| [n.clone(), backward::name(&n)]).collect();
    }
    names
}

/// Parses `#[tile_kernel(attr)] item`: a kernel of the function's name, or each kernel(..) of the attribute. With
/// `backward` the backward kernel of each follows it. Bodies may have mistakes, which are reported. `facade` is the
/// crate that the expansion names if the attribute names none.
pub fn kernels(
    attr: TokenStream,
    item: syn::ItemFn,
    scope: Rc<Scope>,
    facade: syn::Path,
    d: &Diagnostics,
) -> Result<Vec<Kernel>> {
    let sig = &item.sig;
    let mut no_cfg = NoCfg::new(d);
    no_cfg.visit_signature(sig);
    no_cfg.visit_block(&item.block);
    no_cfg.done()?;
    // The mistakes of all parts are reported.
    let body = body::block(&item.block, d);
    let params = params(sig, d);
    let (types, consts) = signature(sig, &scope, d)?;
    let mut attr = attr::parse(attr, &sig.ident, &types, &consts, d)?;
    let named = match std::mem::take(&mut attr.kernels) {
        none if none.is_empty() => {
            vec![Named { docs: vec![], name: sig.ident.clone(), given: vec![] }]
        }
        some => some,
    };
    let params = params?;
    pdl(&attr, &params, d)?;
    attr.aliases.iter().try_for_each(|pair| alias(pair, &params, &scope, d))?;
    let kernels = named.into_iter().map(|k| {
        let (mut type_params, mut given) = (attr.types.clone(), Given::default());
        let left = consts.iter().filter(|c| !k.gives(&c.name)).cloned().collect();
        let mut params = params.clone();
        for name in &types {
            let Some(list) = k.types(name) else { continue };
            if let Some(of) = k.same_as(name, &types) {
                let of = TypeName { name: of.to_string(), span: of.span().into() };
                params.iter_mut().filter(|p| *name == p.elem.name).for_each(|p| p.elem.name = of.name.clone());
                given.types.push((name.to_string(), of));
                continue;
            }
            match &list[..] {
                [one] => {
                    let dtype = attr::type_param(name, &list, d)?.types[0];
                    given
                        .types
                        .push((name.to_string(), TypeName { name: dtype.name().into(), span: one.span().into() }));
                }
                _ => type_params.push(attr::type_param(name, &list, d)?),
            }
        }
        // Bound in the order in which the function declares them.
        type_params.sort_by_key(|p| types.iter().position(|t| *t == p.name));
        given.consts = k.consts(&consts, d)?;
        for p in &params {
            if !type_params.iter().any(|t| t.name == p.elem.name) && given.dtype(&p.elem, &[], &scope).is_none() {
                return Err(unknown_type(&p.elem, d));
            }
        }
        let configs = attr.configs(&k.name, d)?;
        instances(&params, &type_params, &configs, &k.name, d)?;
        let mut item = item.clone();
        if !k.docs.is_empty() {
            // A paragraph of its own.
            item.attrs.splice(0..0, k.docs.into_iter().chain([syn::parse_quote!(#[doc = ""])]));
        }
        Ok(Kernel {
            is_unsafe: sig.unsafety.is_some(),
            item,
            consts: left,
            name: k.name,
            params,
            type_params,
            configs,
            grid: attr.grid.clone(),
            requires: attr.requires.clone(),
            emulate_all: attr.emulate_all,
            facade: attr.facade.clone().unwrap_or_else(|| facade.clone()),
            pdl: attr.pdl.clone(),
            aliases: attr.aliases.clone(),
            deterministic: attr.deterministic,
            body: body.clone(),
            given,
            scope: scope.clone(),
            adjoint: None,
        })
    });
    let kernels = kernels.collect::<Result<Vec<_>>>()?;
    let Some(of) = &attr.backward else { return Ok(kernels) };
    if let Some(k) = kernels.iter().find(|k| kernels.iter().any(|other| backward::name(&other.name) == k.name)) {
        let why = format!("`{}` is the name of the backward kernel of another kernel(..): take another name", k.name);
        return Err(d.error(Code::GivenTwice, k.name.span(), why));
    }
    let with_backward = |k: Kernel| {
        let derived = backward::derive(&k, of, d)?;
        if derived.optional().count() > MAX_OPTIONAL {
            let why = format!(
                "`{}` has more than {MAX_OPTIONAL} optional parameters, since the gradient of one is optional too: name \
                 fewer of them in `backward(..)`",
                derived.name
            );
            return Err(d.error(Code::TooManyInstances, of.span, why));
        }
        instances(&derived.params, &derived.type_params, &derived.configs, &derived.name, d)?;
        Ok([k, derived])
    };
    Ok(kernels.into_iter().map(with_backward).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Checks the number of instances of a kernel with optional parameters.
fn instances(params: &[Param], types: &[TypeParam], configs: &[Config], name: &Ident, d: &Diagnostics) -> Result<()> {
    let optional = params.iter().filter(|p| p.is_optional).count();
    let types = types.iter().map(|t| t.types.len()).product::<usize>();
    let instances = (types << optional).saturating_mul(configs.len());
    if optional == 0 || instances <= MAX_INSTANCES {
        return Ok(());
    }
    let why = format!(
        "{instances} instances: {types} choices of types, {} of optional parameters, {} configurations; a kernel with \
         optional parameters has at most {MAX_INSTANCES}",
        1 << optional,
        configs.len()
    );
    Err(d.error(Code::TooManyInstances, name.span(), why))
}

/// The type and const parameters of a kernel's function.
fn signature(sig: &syn::Signature, scope: &Scope, d: &Diagnostics) -> Result<(Vec<Ident>, Vec<ConstParam>)> {
    for (there, what) in [
        (sig.asyncness.map(|t| t.span()), "async"),
        (sig.constness.map(|t| t.span()), "const"),
        (sig.abi.as_ref().map(|t| t.span()), "extern"),
    ] {
        if let Some(span) = there {
            return Err(d.error(Code::Signature, span, format!("a tile kernel cannot be `{what}`")));
        }
    }
    if let syn::ReturnType::Type(_, ty) = &sig.output {
        return Err(d.error(
            Code::ReturnValue,
            Span::of(ty),
            "a tile kernel returns nothing: write results through `&mut [T]` or `ViewMut<T, R>`",
        ));
    }
    if let Some(w) = &sig.generics.where_clause {
        return Err(d.error(
            Code::Signature,
            Span::of(w),
            "no where clause: the `types(..)` list in the attribute bounds a type parameter",
        ));
    }
    let (mut types, mut consts) = (vec![], vec![]);
    for g in &sig.generics.params {
        match g {
            syn::GenericParam::Type(t) => types.push(t.ident.clone()),
            syn::GenericParam::Const(c) => consts.push(const_param(c, true, scope, d)?),
            syn::GenericParam::Lifetime(l) => {
                return Err(d.error(
                    Code::Signature,
                    Span::of(l),
                    "a kernel needs no lifetimes: its slices live as long as the launch",
                ));
            }
        }
    }
    Ok((types, consts))
}

/// A kernel's parameters; all are looked at before the last mistake is passed on, so that each is reported.
fn params(sig: &syn::Signature, d: &Diagnostics) -> Result<Vec<Param>> {
    let mut params: Vec<Param> = vec![];
    let mut failed = None;
    for input in &sig.inputs {
        match param(input, d) {
            Ok(p) if params.iter().any(|q| q.name == p.name) => {
                failed = Some(d.error(Code::Signature, p.name.span(), format!("parameter `{}` is named twice", p.name)))
            }
            Ok(p) if matches!(p.kind, ParamKind::Ptr { .. }) && sig.unsafety.is_none() => {
                failed = Some(d.error(
                    Code::NeedsUnsafe,
                    Span::of(input),
                    "a raw pointer can reach any memory: make the kernel an `unsafe fn`, or take `&[T]`",
                ));
            }
            Ok(p) => params.push(p),
            Err(r) => failed = Some(r),
        }
    }
    if let Some(p) = params.iter().filter(|p| p.is_optional).nth(MAX_OPTIONAL) {
        failed = Some(d.error(
            Code::TooManyInstances,
            p.name.span(),
            format!(
                "a kernel has at most {MAX_OPTIONAL} optional parameters: it is built for each combination of them, which \
                 are {} already",
                1 << MAX_OPTIONAL
            ),
        ));
    }
    if let Some(r) = failed {
        return Err(r);
    }
    let (words, arrays) = (
        params.iter().map(|p| p.kind.words()).sum::<usize>(),
        params.iter().filter(|p| p.kind != ParamKind::Scalar).count(),
    );
    if words > MAX_ARGUMENT_WORDS || arrays > MAX_BUFFERS {
        let why = format!(
            "a kernel takes {MAX_BUFFERS} arrays and {MAX_ARGUMENT_WORDS} argument words at most, here are {arrays} and {words}: a view of rank R takes 1 + 2 R words, a slice 2, a pointer or a scalar 1"
        );
        return Err(d.error(Code::TooManyWords, sig.ident.span(), why));
    }
    Ok(params)
}

/// `pdl` names arrays that are only read.
fn pdl(attr: &Attr, params: &[Param], d: &Diagnostics) -> Result<()> {
    for name in attr.pdl.iter().flatten() {
        match params.iter().find(|p| p.name == *name).map(|p| p.kind) {
            Some(ParamKind::Slice { mutable: false } | ParamKind::View { mutable: false, .. }) => {}
            Some(_) => return Err(d.error(
                Code::PdlReadOnly,
                name.span(),
                format!(
                    "`pdl` names arrays that the kernel only reads, `&[T]` or `View<T, R>`; `{name}` is no such array"
                ),
            )),
            None => {
                return Err(d.error(
                    Code::UnknownInAttribute,
                    name.span(),
                    format!("the kernel has no parameter `{name}`: `pdl` names arrays that it only reads"),
                ));
            }
        }
    }
    Ok(())
}

/// `alias` names an array that is only read, and one that is written and has elements of the same type or size.
fn alias([read, written]: &[Ident; 2], params: &[Param], scope: &Scope, d: &Diagnostics) -> Result<()> {
    let param = |name: &Ident| {
        params.iter().find(|p| p.name == *name).ok_or_else(|| {
            let why = format!("the kernel has no parameter `{name}`: `alias` names two of its arrays");
            d.error(Code::UnknownInAttribute, name.span(), why)
        })
    };
    let (from, to) = (param(read)?, param(written)?);
    let size = |p: &Param| scope.dtype(&p.elem, &[]).map(|t| t.size());
    let is_same = from.elem.name == to.elem.name || size(from).is_some_and(|s| size(to) == Some(s));
    match [from, to].map(|p| p.kind.is_array().then_some(p.kind.is_mut())) {
        [Some(false), Some(true)] if is_same => Ok(()),
        _ => Err(d.error(
            Code::AliasPair,
            read.span(),
            format!(
                "`alias` names an array that the kernel only reads, then one that it may write, with elements of the same \
                 type or of two types of one size, as in `x: &[T], y: &mut [T]`; `{read}` and `{written}` are no such pair"
            ),
        )),
    }
}

/// Parses the items of a `#[tile_module]` beside its kernels. Bodies may have mistakes, which are reported. `standard`
/// are the items of libraries of the language, which come last.
pub fn scope<'a>(
    items: impl Iterator<Item = &'a syn::Item>,
    standard: impl Iterator<Item = &'a syn::Item>,
    d: &Diagnostics,
) -> Result<Scope> {
    let items: Vec<_> = items.map(|i| (i, false)).chain(standard.map(|i| (i, true))).collect();
    let (mut scope, mut failed) = (Scope::default(), None);
    // Functions name enums that stand below them.
    for (item, _) in &items {
        match item {
            syn::Item::Enum(e) => match enumeration(e) {
                Ok(e) => scope.enums.push(Rc::new(e)),
                Err(e) => failed = Some(d.syn(e)),
            },
            syn::Item::Struct(s) => scope.structs.extend(structs::structure(s).map(Rc::new)),
            _ => {}
        }
    }
    for (item, is_standard) in items {
        match item {
            syn::Item::Const(c) => {
                let value = body::expr(&c.expr, d);
                let span = value.span;
                // A constant of the host may have any type: one that is no type of the language says nothing.
                let kind = ExprKind::Typed(Box::new(value), said(&c.ty, &Diagnostics::default()));
                scope.consts.push((c.ident.to_string(), Expr { kind, span }));
            }
            syn::Item::Type(t) => match type_name(&t.ty, d) {
                Ok(of) => scope.aliases.push((t.ident.to_string(), of)),
                Err(r) => failed = Some(r),
            },
            syn::Item::Fn(f) => match helper(f, &scope, d) {
                Ok(h) => scope.helpers.push(Rc::new(Helper { is_standard, ..h })),
                Err(r) => failed = Some(r),
            },
            _ => {}
        }
    }
    failed.map_or(Ok(scope), Err)
}

/// Reports the syntax of a helper that is not the language's.
pub fn check_body(f: &syn::ItemFn, d: &Diagnostics) {
    returns::as_values(body::block(&f.block, d), &Said::Nothing, d);
}

fn helper(f: &syn::ItemFn, scope: &Scope, d: &Diagnostics) -> Result<Helper> {
    let (mut type_params, mut consts) = (vec![], vec![]);
    for g in &f.sig.generics.params {
        match g {
            syn::GenericParam::Type(t) => type_params.push(types::helper_type_param(t, d)?),
            syn::GenericParam::Const(c) => consts.push(const_param(c, false, scope, d)?),
            syn::GenericParam::Lifetime(_) => {}
        }
    }
    let mut params = vec![];
    for input in &f.sig.inputs {
        let syn::FnArg::Typed(p) = input else {
            return Err(d.error(Code::Signature, Span::of(input), "a helper is a plain function: no `self`"));
        };
        params.push(HelperParam { pattern: body::pattern(&p.pat, d)?, ty: param_type(&p.ty, d)? });
    }
    let returns = match &f.sig.output {
        syn::ReturnType::Default => None,
        syn::ReturnType::Type(_, ty) => Some(said(ty, d)),
    };
    let body = returns::as_values(body::block(&f.block, d), returns.as_ref().unwrap_or(&Said::Nothing), d);
    Ok(Helper { name: f.sig.ident.clone(), is_standard: false, type_params, consts, params, returns, body })
}

const ALLOWED: &str = "a kernel takes `&[T]`, `&mut [T]`, `View<T, R>`, `ViewMut<T, R>`, `*const T`, `*mut T`, scalars, \
     and `Option` of each";

fn param(input: &syn::FnArg, d: &Diagnostics) -> Result<Param> {
    let syn::FnArg::Typed(p) = input else {
        return Err(d.error(Code::Signature, Span::of(input), "a kernel is a plain function: no `self`"));
    };
    let syn::Pat::Ident(name) = &*p.pat else {
        return Err(d.error(Code::Signature, Span::of(&p.pat), "a kernel's parameter is a plain name"));
    };
    let optional = option_of(&p.ty);
    let (kind, elem) = param_kind(optional.unwrap_or(&p.ty), d)?;
    Ok(Param { name: name.ident.clone(), kind, elem, is_optional: optional.is_some() })
}

/// The kind and the element type of a parameter.
fn param_kind(ty: &syn::Type, d: &Diagnostics) -> Result<(ParamKind, TypeName)> {
    Ok(match ty {
        syn::Type::Reference(r) => match &*r.elem {
            syn::Type::Slice(s) => (ParamKind::Slice { mutable: r.mutability.is_some() }, type_name(&s.elem, d)?),
            other => {
                return Err(d.error(
                    Code::ParameterType,
                    Span::of(other),
                    format!("a reference parameter is a slice; {ALLOWED}"),
                ));
            }
        },
        syn::Type::Ptr(r) => (ParamKind::Ptr { mutable: r.mutability.is_some() }, type_name(&r.elem, d)?),
        syn::Type::Path(path) => {
            let last = path.path.segments.last().expect("a path has a segment");
            match &last.arguments {
                syn::PathArguments::None => (ParamKind::Scalar, type_name(ty, d)?),
                syn::PathArguments::AngleBracketed(a) if last.ident == "View" || last.ident == "ViewMut" => {
                    let args: Vec<_> = a.args.iter().collect();
                    let [
                        syn::GenericArgument::Type(t),
                        syn::GenericArgument::Const(syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(r), .. })),
                    ] = args[..]
                    else {
                        return Err(d.error(
                            Code::ParameterType,
                            Span::of(a),
                            format!("a view is `View<T, R>` with an element type and a rank from 1 to {MAX_RANK}"),
                        ));
                    };
                    let rank = r.base10_parse::<usize>().map_err(|e| d.syn(e))?;
                    if !(1..=MAX_RANK).contains(&rank) {
                        return Err(d.error(
                            Code::ParameterType,
                            r.span(),
                            format!("a view has a rank from 1 to {MAX_RANK}"),
                        ));
                    }
                    (ParamKind::View { rank, mutable: last.ident == "ViewMut" }, type_name(t, d)?)
                }
                _ => return Err(d.error(Code::ParameterType, Span::of(ty), ALLOWED)),
            }
        }
        ty => return Err(d.error(Code::ParameterType, Span::of(ty), ALLOWED)),
    })
}
