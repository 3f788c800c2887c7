//! The host side of a kernel: the function that binds arguments to a call, the descriptor, the CPU meaning of every
//! instance, and the lowered code of some of them for the emulated SM.

use super::numbers::{Use, share};
use super::{config_id, cpu, entry_name, grid, types_id};
use crate::diag::{Diagnostics, Result};
use crate::driver;
use crate::dtype::DType;
use crate::features::{Features, cover, features};
use crate::front::ast::{self, ParamKind};
use crate::front::instance::Kernel;
use crate::ir::walk::dots;
use crate::ir::{Func, Number, Op, Precision, Test};
use crate::thread_ir::Lowered;
use crate::variant::Variant;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::collections::BTreeSet;

/// What the expansion depends on beside the kernel.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// The kernel's bundle, if the build script has made one.
    pub bundle: Option<std::path::PathBuf>,
    pub emulate: Emulate,
    /// Nothing can run the kernels: `cargo check`. Functions of instances have no bodies, configurations no variants.
    pub check_only: bool,
    /// Descriptors are complete, and instances have no code: a planted defect is looked for in other kernels.
    pub without_code: bool,
}

/// Which instances the emulated SM can run.
#[derive(Clone, Copy, Debug, Default)]
pub enum Emulate {
    None,
    /// The first configuration of each choice of types, and a set that [covers](cover) the other features of the
    /// kernel; all of a kernel with `emulate = all`.
    #[default]
    Chosen,
    All,
}

impl Emulate {
    /// `TILE_EMULATE`, from the environment or the build script.
    pub fn from_env() -> Emulate {
        match std::env::var("TILE_EMULATE").as_deref() {
            Ok("off") => Emulate::None,
            Ok("all") => Emulate::All,
            _ => Emulate::Chosen,
        }
    }

    /// Which of a kernel's instances are emulated, in their order. An instance is a number of its configuration and
    /// its variants.
    fn of(self, k: &Kernel, instances: &[(usize, Vec<Version>)]) -> Vec<bool> {
        match self {
            Emulate::None => vec![false; instances.len()],
            Emulate::Chosen if !k.ast.emulate_all => {
                let features = |i: usize| instances[i].1.iter().flat_map(|v| &v.features);
                let is_first = |i: &usize| instances[*i].0 == 0;
                // The first configuration of each choice of types, and what else has features that these have not.
                let (mut chosen, rest): (Vec<usize>, Vec<usize>) = (0..instances.len()).partition(is_first);
                let known: BTreeSet<&String> = chosen.iter().flat_map(|&i| features(i)).collect();
                let more = |&i: &usize| {
                    let new: Vec<&String> = features(i).filter(|f| !known.contains(f)).collect();
                    (new, instances[i].1.iter().map(Version::cost).sum())
                };
                let candidates: Vec<(Vec<&String>, u64)> = rest.iter().map(more).collect();
                chosen.extend(cover(&candidates).into_iter().map(|i| rest[i]));
                (0..instances.len()).map(|i| chosen.contains(&i)).collect()
            }
            Emulate::All | Emulate::Chosen => vec![true; instances.len()],
        }
    }
}

/// A variant of an instance.
struct Version {
    variant: Variant,
    lowered: Lowered,
    features: Features,
}

impl Version {
    fn all(func: &Func, config: &ast::Config, options: &HostOptions) -> Vec<Version> {
        if options.check_only {
            return vec![];
        }
        let of = |(variant, lowered)| {
            let features = match options.emulate {
                Emulate::None => Features::new(),
                _ => features(func, variant, &lowered),
            };
            Version { variant, lowered, features }
        };
        driver::variants(func, config, true).into_iter().map(of).collect()
    }

    /// What a launch knows of it.
    #[cfg(feature = "mutants")]
    fn facts(&self) -> impl std::fmt::Debug {
        let l = &self.lowered;
        (self.variant, l.shared_bytes, l.threads, &l.guards, &l.maps, l.staging)
    }

    /// Grows with the time that a program of it takes on the emulated SM.
    fn cost(&self) -> u64 {
        u64::from(self.lowered.threads) * self.lowered.size() as u64
    }
}

pub fn expand(k: &Kernel, options: &HostOptions, d: &Diagnostics) -> Result<TokenStream> {
    let mut descs = vec![];
    let mut code = Code::default();
    let mut keys = vec![];
    let mut funcs_of_types = vec![];
    let mut instances = vec![];
    for types in k.type_choices() {
        let funcs = k.ast.configs.iter().map(|c| driver::instance(k, &types, c, d)).collect::<Result<Vec<_>>>()?;
        let configs = k.ast.configs.iter().zip(&funcs).enumerate();
        instances.extend(configs.map(|(c, (config, func))| (c, Version::all(func, config, options))));
        funcs_of_types.push((types, funcs));
    }
    let emulate = if options.without_code { Emulate::None } else { options.emulate };
    let mut emulated = emulate.of(k, &instances).into_iter();
    let mut instances = instances.into_iter();
    for (t, (types, funcs)) in funcs_of_types.into_iter().enumerate() {
        let mut configs = vec![];
        let mut params = None;
        let cpu = match options.check_only || options.without_code {
            true => vec![],
            false => funcs.iter().map(cpu::body).collect(),
        };
        let cpu = share(&cpu);
        for (config, func) in k.ast.configs.iter().zip(&funcs) {
            let (Some(emulated), Some((c, versions))) = (emulated.next(), instances.next()) else {
                unreachable!("an instance for each choice of types and each configuration")
            };
            let meaning = match cpu.uses.get(c) {
                Some(of) => code.on_cpu(&cpu.functions[of.function], of),
                None => quote! { __k::CpuCode::NOT_COMPILED },
            };
            let versions = (versions, emulated);
            configs.push(instance(k, func, &types, config, meaning, versions, (t, c), &mut code, d)?);
            params.get_or_insert_with(|| param_descs(func));
        }
        let (name, line, id) = (&k.name, k.ast.name.span().start().line as u32, types_id(&types));
        let bundle = match &options.bundle {
            Some(path) if !options.check_only => {
                let path = path.to_string_lossy().into_owned();
                quote! { ::core::option::Option::Some(include_bytes!(#path)) }
            }
            _ => quote! { ::core::option::Option::None },
        };
        let (desc, pdl, tf32) = (format_ident!("DESC_{t}"), k.ast.pdl.is_some(), funcs.iter().any(in_tf32));
        let is_unsafe = k.ast.is_unsafe;
        // SAFETY of the emitted block: the parameters, functions and entries are those of one kernel, lowered from one
        // source. The language checks every access against the argument's bounds, except in a kernel that is an
        // `unsafe fn`.
        descs.push(quote! {
            pub static #desc: __k::KernelDesc = unsafe {
                __k::KernelDesc::new(__k::KernelParts {
                    name: #name, file: file!(), line: #line, types: #id,
                    params: &[#params], is_unsafe: #is_unsafe, pdl: #pdl, tf32: #tf32,
                    configs: &[#(#configs),*], bundle: #bundle,
                })
            };
        });
        keys.push((types, desc));
    }
    let module = &k.ast.name;
    let vis = &k.ast.item.vis;
    let implementations = implementations(&keys);
    let all = keys.iter().map(|(_, d)| d);
    let (call, facade) = (call(k), &k.ast.facade);
    let items = &code.items;
    let doc = format!("The instances of the tile kernel `{}`.", k.name);
    Ok(quote! {
        #call
        #[doc = #doc]
        #[allow(non_snake_case, unused, missing_docs, clippy::all, clippy::pedantic)]
        #[allow(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks, reason = "the kernel compiler vouches for it")]
        #vis mod #module {
            use #facade::__private as __k;
            /// A choice of type arguments that was built.
            pub trait Types { const DESC: &'static __k::KernelDesc; }
            #implementations
            /// One descriptor for each choice of type arguments.
            pub static DESCS: &[&__k::KernelDesc] = &[#(&#all),*];
            #(#descs)*
            #(#items)*
        }
    })
}

/// What is compiled of a kernel for the host: every CPU function, and the code and facts of emulated instances.
#[cfg(feature = "mutants")]
pub fn compiled_code(k: &Kernel, d: &Diagnostics) -> Result<Vec<String>> {
    let (mut out, mut instances) = (vec![], vec![]);
    for types in k.type_choices() {
        for (c, config) in k.ast.configs.iter().enumerate() {
            let func = driver::instance(k, &types, config, d)?;
            out.push(format!("{:?}{}", cpu::body(&func), grid::body(&k.ast, config, d)?));
            instances.push((c, Version::all(&func, config, &HostOptions::default())));
        }
    }
    let emulated = Emulate::default().of(k, &instances);
    for ((_, versions), _) in instances.iter().zip(emulated).filter(|(_, emulated)| *emulated) {
        out.extend(versions.iter().map(|v| format!("{:?}\n{}", v.facts(), v.lowered.text())));
    }
    Ok(out)
}

/// Whether a product of it is of operands that lose bits.
fn in_tf32(f: &Func) -> bool {
    dots(f, &f.body).any(|d| matches!(f.op(d), Op::Dot { precision: Precision::Tf32, .. }))
}

/// Functions of the kernel's module.
#[derive(Default)]
struct Code {
    items: Vec<TokenStream>,
    /// Bodies that have a CPU function, by its number.
    cpu: Vec<String>,
}

impl Code {
    /// The CPU function of this body, with a configuration's numbers.
    fn on_cpu(&mut self, body: &str, of: &Use) -> TokenStream {
        let index = self.cpu.iter().position(|c| c == body).unwrap_or(self.cpu.len());
        let (cpu_fn, cpu_body) = (format_ident!("cpu_{index}"), format_ident!("cpu_body_{index}"));
        if index == self.cpu.len() {
            let tokens = parse(body);
            self.cpu.push(body.to_string());
            self.items.push(quote! {
                #[inline(always)]
                unsafe fn #cpu_body(p: &__k::cpu::Program, a: &[u64]) {
                    use __k::cpu as c;
                    use __k::scalar::{self as s, BF16, F8E4M3, F8E5M2, F16};
                    #tokens
                }
                unsafe fn #cpu_fn(p: &__k::cpu::Program, a: &[u64]) { __k::cpu_dispatch!(#cpu_body, p, a) }
            });
        }
        let numbers = of.numbers.iter().map(|n| parse(&n.text()));
        quote! { __k::CpuCode { run: #cpu_fn, numbers: &[#(#numbers as u64),*] } }
    }
}

fn parse(text: &str) -> TokenStream {
    text.parse().unwrap_or_else(|e| panic!("the compiler emitted text that is no Rust ({e}):\n{text}"))
}

fn implementations(keys: &[(Vec<(String, DType)>, Ident)]) -> TokenStream {
    let each = keys.iter().map(|(types, desc)| {
        let types = types.iter().map(|(_, t)| host_type(*t, &quote! { __k }));
        quote! { impl Types for (#(#types,)*) { const DESC: &'static __k::KernelDesc = &#desc; } }
    });
    quote! { #(#each)* }
}

/// The Rust type of a dtype in host code. `core` is the path of the crate that has types of its own.
fn host_type(t: DType, core: &TokenStream) -> TokenStream {
    match t {
        DType::F16 => quote! { #core::f16 },
        DType::BF16 => quote! { #core::bf16 },
        DType::F8E4M3 => quote! { #core::f8e4m3 },
        DType::F8E5M2 => quote! { #core::f8e5m2 },
        t => {
            let name = format_ident!("{}", t.name());
            quote! { #name }
        }
    }
}

fn param_descs(f: &Func) -> TokenStream {
    let each = f.params.iter().map(|p| {
        let (name, slot, dtype) = (&p.name, p.slot, format_ident!("{}", format!("{:?}", p.dtype)));
        let kind = match p.kind {
            ParamKind::Slice { mutable: false } => quote! { Slice },
            ParamKind::Slice { mutable: true } => quote! { SliceMut },
            ParamKind::View { rank, mutable: false } => quote! { View { rank: #rank } },
            ParamKind::View { rank, mutable: true } => quote! { ViewMut { rank: #rank } },
            ParamKind::Ptr { mutable: false } => quote! { Ptr },
            ParamKind::Ptr { mutable: true } => quote! { PtrMut },
            ParamKind::Scalar => quote! { Scalar },
        };
        quote! { __k::ParamDesc { name: #name, kind: __k::ParamKind::#kind, dtype: __k::DType::#dtype, slot: #slot } }
    });
    quote! { #(#each),* }
}

fn number(n: &Number) -> TokenStream {
    let (times, slots) = (n.times, &n.slots);
    quote! { __k::Number { times: #times, slots: &[#(#slots),*] } }
}

/// The configuration's descriptor; its functions go to `code`.
fn instance(
    k: &Kernel,
    func: &Func,
    types: &[(String, DType)],
    config: &ast::Config,
    cpu: TokenStream,
    (versions, emulated): (Vec<Version>, bool),
    (t, c): (usize, usize),
    code: &mut Code,
    d: &Diagnostics,
) -> Result<TokenStream> {
    let grid_fn = format_ident!("grid_{t}_{c}");
    let extents = parse(&grid::body(&k.ast, config, d)?);
    code.items.push(quote! { fn #grid_fn(g: &__k::GridCtx) -> [u64; 3] { #extents } });
    let requires = match grid::condition(&k.ast, config, d)? {
        Some((holds, text)) => {
            let (name, holds) = (format_ident!("requires_{t}_{c}"), parse(&holds));
            code.items.push(quote! { fn #name(g: &__k::GridCtx) -> bool { #holds } });
            quote! { ::core::option::Option::Some(__k::Condition { holds: #name, text: #text }) }
        }
        None => quote! { ::core::option::Option::None },
    };
    let mut variants = vec![];
    for (i, Version { variant, lowered, features }) in versions.into_iter().enumerate() {
        let entry = entry_name(&k.name, types, config, variant);
        let guards = lowered.guards.iter().map(|r| {
            let of = number(&r.of);
            let test = match r.test {
                Test::Multiple(by) => quote! { Multiple(#by) },
                Test::Equal(to) => quote! { Equal(#to) },
                Test::Within(lo, hi) => quote! { Within(#lo, #hi) },
                Test::AtMost(slot) => quote! { AtMost(#slot) },
            };
            quote! { __k::Guard { of: #of, test: __k::Test::#test } }
        });
        let emulation = if emulated {
            let name = format_ident!("lowered_{t}_{c}_{i}");
            let count: usize = func.params.iter().map(|p| p.kind.slots()).sum();
            let maps = (0..lowered.maps.len()).map(|m| {
                let (name, i) = (format_ident!("map{m}"), count + m);
                quote! { let #name: u64 = a[#i]; }
            });
            let slots = (0..count).map(|i| {
                let a = format_ident!("a{i}");
                quote! { let #a: u64 = a[#i]; }
            });
            let (body, threads, bytes) = (parse(&lowered.text()), lowered.threads, lowered.shared_bytes as u32);
            let ctas = config.ctas;
            // What a multiprocessor has for each thread, if as many programs are to fit as were asked for.
            let registers = match variant.only() {
                Some(_) => (65536 / (threads * config.blocks_per_sm.max(1)) / 8 * 8).min(255),
                None => 0,
            };
            let pdl = match &func.pdl {
                Some(params) => {
                    let params = params.iter().map(|&p| p as u8);
                    quote! { ::core::option::Option::Some(&[#(#params),*]) }
                }
                None => quote! { ::core::option::Option::None },
            };
            code.items.push(quote! {
                unsafe fn #name(a: &[u64]) {
                    use __k::device as d;
                    use __k::scalar::{self as s, BF16, F8E4M3, F8E5M2, F16};
                    #(#slots)*
                    #(#maps)*
                    let tid: u32 = d::thread();
                    #body
                }
            });
            quote! { ::core::option::Option::Some(__k::Emulated { run: #name, threads: #threads, shared_bytes: #bytes, ctas: #ctas, registers: #registers, pdl: #pdl }) }
        } else {
            quote! { ::core::option::Option::None }
        };
        let only = match variant.only() {
            Some(target) => quote! { ::core::option::Option::Some(#target) },
            None => quote! { ::core::option::Option::None },
        };
        let maps = lowered.maps.iter().map(|m| {
            let (param, swizzle) = (m.param, m.swizzle as u32);
            let dims = m.dims.iter().zip(&m.extents).map(|(d, &boxed)| {
                let (extent, stride, boxed) = (number(&d.extent), number(&d.stride), boxed as u32);
                quote! { __k::MapDim { extent: #extent, stride: #stride, boxed: #boxed } }
            });
            quote! { __k::MapDesc { param: #param, dims: &[#(#dims),*], swizzle: #swizzle } }
        });
        let features = features.into_iter().collect::<Vec<_>>().join("\n");
        variants.push(quote! { __k::VariantDesc { entry: #entry, only: #only, guards: &[#(#guards),*], maps: &[#(#maps),*], emulated: #emulation, features: #features } });
    }
    let id = config_id(config);
    let consts = config.consts.iter().map(|(n, v)| {
        let v = v.number() as i64;
        quote! { (#n, #v) }
    });
    let warps = config.warps;
    Ok(quote! {
        __k::ConfigDesc { id: #id, consts: &[#(#consts),*], warps: #warps, requires: #requires, grid: #grid_fn, cpu: #cpu, variants: &[#(#variants),*] }
    })
}

/// The typed function of the kernel's name: arguments in, a call out.
fn call(k: &Kernel) -> TokenStream {
    let item = &k.ast.item;
    let (vis, name) = (&item.vis, &k.ast.name);
    let attrs = item.attrs.iter().filter(|a| a.path().is_ident("doc"));
    let generics: Vec<&Ident> = k.ast.type_params.iter().map(|p| &p.name).collect();
    let facade = &k.ast.facade;
    let core = quote! { #facade::__private };
    let ty = |p: &ast::Param| match DType::parse(&p.elem.name) {
        Some(t) if !generics.iter().any(|g| **g == p.elem.name) => host_type(t, &core),
        _ => match crate::front::parse::types::resolve(&p.elem, &[], &k.ast.scope) {
            Some(t) => host_type(t, &core),
            None => {
                let n = format_ident!("{}", p.elem.name);
                quote! { #n }
            }
        },
    };
    let is_size = |p: &ast::Param| p.elem.name == "usize";
    let params = k.ast.params.iter().map(|p| {
        let (n, t) = (&p.name, ty(p));
        let bound = match p.kind {
            ParamKind::Slice { mutable: false } => quote! { impl #core::AsSlice<'__a, #t> },
            ParamKind::Slice { mutable: true } => quote! { impl #core::AsSliceMut<'__a, #t> },
            ParamKind::View { rank, mutable: false } => quote! { impl #core::AsView<'__a, #t, #rank> },
            ParamKind::View { rank, mutable: true } => quote! { impl #core::AsViewMut<'__a, #t, #rank> },
            ParamKind::Ptr { .. } => quote! { impl ::core::convert::Into<#core::RawArg<#t>> },
            ParamKind::Scalar if is_size(p) => quote! { impl #core::AsSize },
            ParamKind::Scalar => t,
        };
        quote! { #n: #bound }
    });
    let bind = k.ast.params.iter().map(|p| {
        let n = &p.name;
        match p.kind {
            ParamKind::Slice { mutable: false } => quote! { .slice(#n.as_slice_arg()) },
            ParamKind::Slice { mutable: true } => quote! { .slice_mut(#n.as_slice_mut_arg()) },
            ParamKind::View { mutable: false, .. } => quote! { .view(#n.as_view_arg()) },
            ParamKind::View { mutable: true, .. } => quote! { .view_mut(#n.as_view_mut_arg()) },
            ParamKind::Ptr { mutable } => quote! { .raw(#n.into(), #mutable) },
            ParamKind::Scalar if is_size(p) => quote! { .scalar(#n.as_size()) },
            ParamKind::Scalar => quote! { .scalar(#n) },
        }
    });
    let unsafety = &item.sig.unsafety;
    let desc = quote! { <(#(#generics,)*) as #name::Types>::DESC };
    // SAFETY of the emitted block: the function is unsafe, and its contract is that of the kernel. Comments do not come
    // through an expansion, so that the block is allowed to have none.
    let start = match k.ast.is_unsafe {
        true => quote! { unsafe { #core::Call::new_unsafe(#desc) } },
        false => quote! { #core::Call::new(#desc) },
    };
    let safety = k.ast.is_unsafe.then(|| {
        quote! {
            #[doc = "\n\n# Safety\nEvery access that the kernel's masks allow must be valid, and all of a pointer's extent where it says one."]
            #[allow(clippy::undocumented_unsafe_blocks, reason = "the contract is this function's")]
        }
    });
    quote! {
        #(#attrs)*
        #safety
        #[allow(missing_docs, clippy::too_many_arguments, clippy::pedantic, unused_mut)]
        #vis #unsafety fn #name<'__a, #(#generics: #core::Element),*>(#(#params),*) -> #core::Call<'__a>
        where (#(#generics,)*): #name::Types {
            #start #(#bind)*
        }
    }
}

const MISTAKES: &str = "this kernel has no code: it has mistakes, or syntax that the kernel compiler does not know";

/// What is emitted for a kernel with mistakes beside its errors: its function, and what callers may name of its module.
pub fn stub(k: &Kernel) -> TokenStream {
    let (call, name, vis, facade) = (call(k), &k.ast.name, &k.ast.item.vis, &k.ast.facade);
    let implementations = k.type_choices().into_iter().map(|types| {
        let types = types.into_iter().map(|(_, t)| host_type(t, &quote! { __k }));
        quote! { impl Types for (#(#types,)*) {} }
    });
    quote! {
        #call
        #[allow(non_snake_case, unused, missing_docs)]
        #vis mod #name {
            use #facade::__private as __k;
            pub trait Types { const DESC: &'static __k::KernelDesc = panic!(#MISTAKES); }
            #(#implementations)*
            pub static DESCS: &[&__k::KernelDesc] = &[];
        }
    }
}

/// The same for a function of which no kernel can be made: it takes any arguments.
pub fn stub_of_function(item: &syn::ItemFn, name: &Ident, facade: &syn::Path) -> TokenStream {
    let (vis, unsafety) = (&item.vis, &item.sig.unsafety);
    let params = item.sig.inputs.iter().map(|_| quote! { _: impl Sized });
    quote! {
        #[allow(unused, clippy::too_many_arguments)]
        #vis #unsafety fn #name<'__a>(#(#params),*) -> #facade::__private::Call<'__a> { const { panic!(#MISTAKES) } }
        #[allow(non_snake_case, unused, missing_docs)]
        #vis mod #name {
            pub trait Types {}
            impl<T> Types for T {}
            pub static DESCS: &[&#facade::__private::KernelDesc] = &[];
        }
    }
}
