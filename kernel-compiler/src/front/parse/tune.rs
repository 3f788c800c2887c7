//! `tune(..)`: lists of values, and the configurations that are their product.

use crate::diag::{Code, Diagnostics, Reported, Result, syn_error};
use crate::front::ast::{Arch, Config, Const, ConstParam};
use crate::front::parse::constants::Value;
use proc_macro2::{Ident, Span};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Token, bracketed};

/// The configurations of a `tune(..)`.
pub struct TuneConfigs {
    pub(super) span: Span,
    pub(super) configs: Vec<Config>,
    /// The kernels that they are for; none: all.
    pub(super) kernels: Option<Vec<Ident>>,
}

/// `tune(C = [1, 2], D = [Variant], warps = [4], kernels = [name])`
pub(super) struct Tune {
    pub(super) span: Span,
    pub(super) lists: Vec<(Ident, Vec<Value>)>,
    pub(super) kernels: Option<Vec<Ident>>,
}

pub(super) const DEFAULT: Config =
    Config { consts: vec![], defaults: vec![], warps: 4, blocks_per_sm: 0, stages: 0, ctas: 1, arch: Arch::Any };
/// Configurations of a kernel: an instance costs build time, and a product of long lists is a mistake.
pub(super) const MAX_CONFIGS: usize = 64;
/// Configurations of one `tune(..)`, of which some may be equal or for other kernels.
const MAX_PRODUCT: usize = 1 << 12;
const WARPS: [i128; 6] = [1, 2, 4, 8, 16, 32];
/// The settings that tune(..) takes beside const parameters.
const SETTINGS: [&str; 5] = ["warps", "blocks_per_sm", "stages", "ctas", "arch"];

/// The contents of the parentheses of `tune(..)`.
pub(super) fn tune(span: Span, input: ParseStream) -> syn::Result<Tune> {
    let mut out = Tune { span, lists: vec![], kernels: None };
    while !input.is_empty() {
        let name: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        if out.lists.iter().any(|(n, _)| *n == name) || name == "kernels" && out.kernels.is_some() {
            return Err(syn_error(Code::GivenTwice, name.span(), format!("`{name}` has values already")));
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

/// The elements of a list in brackets: `[a, b]`.
pub(super) fn bracketed_list<T: Parse>(input: ParseStream) -> syn::Result<Vec<T>> {
    let list;
    bracketed!(list in input);
    Ok(Punctuated::<T, Token![,]>::parse_terminated(&list)?.into_iter().collect())
}

/// The product of the lists.
pub(super) fn product(
    Tune { span, lists, kernels }: Tune,
    consts: &[ConstParam],
    d: &Diagnostics,
) -> Result<TuneConfigs> {
    let mut product = vec![DEFAULT];
    for (name, values) in &lists {
        let param = consts.iter().find(|c| c.name == *name);
        if param.is_none() && !SETTINGS.iter().any(|s| name == s) {
            let why = format!(
                "tune(..) has no setting `{name}`: it takes const parameters of the kernel, `warps`, `blocks_per_sm`, \
                 `stages`, `ctas` and `arch`"
            );
            return Err(d.error(Code::UnknownSetting, name.span(), why));
        }
        if values.is_empty() {
            return Err(d.error(Code::NoValues, name.span(), format!("no values for `{name}`")));
        }
        if product.len() * values.len() > MAX_PRODUCT {
            let why = format!(
                "more than {MAX_PRODUCT} configurations: at most {MAX_CONFIGS} of a kernel; split the product into several \
                 tune(..)"
            );
            return Err(d.error(Code::TooManyInstances, span, why));
        }
        let mut next = vec![];
        for config in &product {
            for v in values {
                let mut c = config.clone();
                match param {
                    Some(p) => c.consts.push((name.to_string(), v.constant(p, d)?)),
                    None => set(&mut c, name, v, d)?,
                }
                next.push(c);
            }
        }
        product = next;
    }
    for c in consts.iter().filter(|c| !lists.iter().any(|(n, _)| *n == c.name)) {
        let Some(default) = &c.default else { return Err(missing_const(&c.name, span, d)) };
        product.iter_mut().for_each(|of| of.consts.push((c.name.to_string(), default.clone())));
    }
    if let Some((name, _)) =
        lists.iter().find(|(n, _)| n == "ctas" && product.iter().any(|c| c.ctas > 1 && c.arch != Arch::Capability(90)))
    {
        return Err(d.error(
            Code::ClusterArch,
            name.span(),
            "clusters of thread blocks are for compute capability 9.0: add arch = [90] to this tune(..)",
        ));
    }
    let of_gpu = |(name, _): &&(Ident, Vec<Value>)| name != "arch" && SETTINGS.iter().any(|s| name == s);
    if let Some((name, _)) = lists.iter().find(of_gpu).filter(|_| product.iter().any(|c| c.arch == Arch::Cpu)) {
        let why = format!("`{name}` is of GPUs: a tune(..) with `arch = [cpu]` has const parameters alone");
        return Err(d.error(Code::SettingValue, name.span(), why));
    }
    // Limits of tiles are those of the largest program.
    product.iter_mut().filter(|c| c.arch == Arch::Cpu).for_each(|c| c.warps = 32);
    for c in &mut product {
        c.consts.sort_by_key(|(n, _)| consts.iter().position(|c| c.name == n));
        let is_default =
            |(n, v): &&(String, Const)| consts.iter().any(|p| p.name == n && p.default.as_ref() == Some(v));
        c.defaults = c.consts.iter().filter(is_default).map(|(n, _)| n.clone()).collect();
    }
    Ok(TuneConfigs { span, configs: product, kernels })
}

/// Gives a setting its value.
fn set(c: &mut Config, name: &Ident, value: &Value, d: &Diagnostics) -> Result<()> {
    if name == "arch" {
        c.arch = arch(value, d)?;
        return Ok(());
    }
    let n = value.int(d)?;
    let (to, is_allowed, allowed) = match name.to_string().as_str() {
        "warps" => (&mut c.warps, WARPS.contains(&n), "warps is 1, 2, 4, 8, 16 or 32"),
        "blocks_per_sm" => (&mut c.blocks_per_sm, (1..=32).contains(&n), "blocks_per_sm is 1 to 32"),
        "stages" => (&mut c.stages, (1..=16).contains(&n), "stages is 1 to 16"),
        _ => (&mut c.ctas, [1, 2, 4, 8].contains(&n), "ctas is 1, 2, 4 or 8: the thread blocks of a cluster"),
    };
    if !is_allowed {
        return Err(d.error(Code::SettingValue, value.span(), allowed));
    }
    *to = n as u32;
    Ok(())
}

fn arch(value: &Value, d: &Diagnostics) -> Result<Arch> {
    match value {
        Value::Name { of: None, name } if name == "cpu" => return Ok(Arch::Cpu),
        Value::Int(_) => {
            if let n @ (75 | 80 | 90) = value.int(d)? {
                return Ok(Arch::Capability(n as u32));
            }
        }
        _ => {}
    }
    const ALLOWED: &str = "arch is 75, 80 or 90, the first compute capability whose instructions the configuration is \
                           for, or `cpu`, for the CPU backend alone";
    Err(d.error(Code::SettingValue, value.span(), ALLOWED))
}

fn missing_const(c: &Ident, span: Span, d: &Diagnostics) -> Reported {
    d.error(Code::NoValues, span, format!("this tune(..) gives no value for const `{c}`"))
}
