//! The host side of a kernel: the function that binds arguments to a call, the descriptor, the CPU meaning of every
//! instance, and the lowered code of some of them for the emulated SM.
//!
//! The function of the call is always part of the expansion. The rest, [`ModuleCode`], is a file of the build script
//! that the expansion includes, or part of the expansion where there is no such file.

mod call;
pub mod emulate;
pub mod options;

use super::coverage;
use super::instances::{Instance, Version};
use super::numbers::{Use, share};
use super::{choice_id, config_id, entry_name, grid};
use crate::diag::{Diagnostics, Result};
use crate::driver;
use crate::front::ast::{self, Choice, ParamKind};
use crate::front::instance::Kernel;
use crate::ir::walk::{dots, values, written};
use crate::ir::{Array, Func, Number, Op, Precision, Test};
use call::{call, host_type};
pub use call::{stub, stub_of_function};
use emulate::SCALARS;
pub use options::{Emulate, HostOptions};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::path::Path;

/// The descriptors and functions in the module of a kernel. They name `__k`, `FILE` and `BUNDLE` of [`in_module`].
pub struct ModuleCode {
    items: TokenStream,
    /// Of instances, as text: a file takes it as it is.
    functions: Vec<String>,
}

impl ModuleCode {
    fn into_tokens(self) -> TokenStream {
        let (items, functions) = (self.items, self.functions.iter().map(|f| parse(f)));
        quote! { #items #(#functions)* }
    }

    /// As a source file.
    pub fn into_text(self) -> String {
        let mut text = self.items.to_string() + "\n";
        self.functions.iter().for_each(|f| text.push_str(f));
        text
    }
}

/// The expansions of a function's kernels, with all of their code.
pub fn expand(kernels: &[Kernel], options: &HostOptions, d: &Diagnostics) -> Result<Vec<TokenStream>> {
    let code = code(kernels, options, d)?;
    Ok(kernels.iter().zip(code).map(|(k, code)| in_module(k, options, code.into_tokens(), false)).collect())
}

/// The expansion of a kernel whose code the build script has written to a file.
pub fn include(k: &Kernel, options: &HostOptions, file: &Path) -> TokenStream {
    let file = file.to_string_lossy();
    in_module(k, options, quote! { include!(#file); }, true)
}

/// The typed function, and the module with its code.
fn in_module(k: &Kernel, options: &HostOptions, code: TokenStream, is_included: bool) -> TokenStream {
    let (module, vis, facade, call) = (&k.ast.name, &k.ast.item.vis, &k.ast.facade, call(k));
    let doc = format!("The instances of the tile kernel `{}`.", k.name);
    let bundle = match options.bundle(&k.name, &k.fingerprint) {
        Some(path) => {
            let path = path.to_string_lossy();
            quote! { ::core::option::Option::Some(include_bytes!(#path)) }
        }
        None => quote! { ::core::option::Option::None },
    };
    quote! {
        #call
        #[doc = #doc]
        #[allow(non_snake_case, unused, unused_comparisons, missing_docs, clippy::all, clippy::pedantic)]
        #[allow(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks, reason = "the kernel compiler vouches for it")]
        #vis mod #module {
            use #facade::__private as __k;
            const FILE: &str = file!();
            const BUNDLE: ::core::option::Option<&[u8]> = #bundle;
            /// For tests: whether the build script has made the code.
            #[doc(hidden)]
            pub const IS_INCLUDED: bool = #is_included;
            #code
        }
    }
}

/// The code of the modules of a function's kernels. Together they have what the emulated SM is tested with.
pub(crate) fn code(kernels: &[Kernel], options: &HostOptions, d: &Diagnostics) -> Result<Vec<ModuleCode>> {
    let instances = kernels.iter().map(|k| Instance::all(k, options, d)).collect::<Result<Vec<_>>>()?;
    let emulated = coverage::emulated(options.emulate, kernels, &instances);
    let built = coverage::built(options.configs, kernels, &instances);
    let each = kernels.iter().zip(instances).zip(emulated.into_iter().zip(built));
    each.map(|((k, instances), chosen)| module_code(k, instances, chosen, options, d)).collect()
}

fn module_code(
    k: &Kernel,
    instances: Vec<Instance>,
    (emulated, built): (Vec<Vec<bool>>, Vec<Vec<bool>>),
    options: &HostOptions,
    d: &Diagnostics,
) -> Result<ModuleCode> {
    let (mut descs, mut keys, mut code) = (vec![], vec![], Code::default());
    let has_code = has_code(k);
    let mut instances = instances.into_iter().zip(emulated.into_iter().zip(built));
    for (t, choice) in k.choices().into_iter().enumerate() {
        let of_choice: Vec<(Instance, (Vec<bool>, Vec<bool>))> = instances.by_ref().take(k.ast.configs.len()).collect();
        let mut configs = vec![];
        let cpu = match options.check_only || !has_code {
            true => vec![],
            false => of_choice.iter().map(|(i, _)| driver::cpu(&i.func, &mut ())).collect(),
        };
        let cpu = share(&cpu);
        let funcs: Vec<&Func> = of_choice.iter().map(|(i, _)| &i.func).collect();
        let params = funcs.first().map(|f| param_descs(f));
        let aliases = funcs.first().map_or(vec![], |f| f.aliases.iter().map(|pair| pair.map(|i| i as u8)).collect());
        let aliases = aliases.into_iter().map(|[x, y]| quote! { [#x, #y] });
        let (pointees, tf32) = (pointees(&funcs), funcs.iter().any(|f| in_tf32(f)));
        for (Instance { config: c, func, versions, .. }, (emulated, built)) in of_choice {
            let meaning = match cpu.uses.get(c) {
                Some(of) => code.on_cpu(&cpu.functions[of.function], of),
                None => quote! { __k::CpuCode::NOT_COMPILED },
            };
            let emulated = emulated.into_iter().map(|e| e && has_code);
            let versions = versions.into_iter().zip(emulated.zip(built)).collect();
            configs.push(instance(k, &func, &choice, &k.ast.configs[c], meaning, versions, (t, c), &mut code, d)?);
        }
        let (name, line, id) = (&k.name, k.ast.name.span().start().line as u32, choice_id(&choice));
        let (desc, pdl) = (format_ident!("DESC_{t}"), k.ast.pdl.is_some());
        let (is_unsafe, deterministic) = (k.ast.is_unsafe, k.ast.deterministic);
        // SAFETY of the emitted block: the parameters, functions and entries are those of one kernel, lowered from one
        // source. The language checks every access against the argument's bounds, except in a kernel that is an
        // `unsafe fn`.
        descs.push(quote! {
            pub static #desc: __k::KernelDesc = unsafe {
                __k::KernelDesc::new(__k::KernelParts {
                    name: #name, file: FILE, line: #line, types: #id,
                    params: &[#params], is_unsafe: #is_unsafe, pdl: #pdl, aliases: &[#(#aliases),*],
                    deterministic: #deterministic, tf32: #tf32,
                    pointees: __k::Pointees::#pointees,
                    configs: &[#(#configs),*], bundle: BUNDLE,
                })
            };
        });
        keys.push((choice, desc));
    }
    let (trait_items, implementations) = (call::trait_items(k), implementations(k, &keys));
    let all = keys.iter().map(|(_, d)| d);
    let items = quote! {
        /// A choice of type arguments that was built.
        pub trait Types { #trait_items }
        #implementations
        /// One descriptor for each choice of type arguments.
        pub static DESCS: &[&__k::KernelDesc] = &[#(&#all),*];
        #(#descs)*
    };
    Ok(ModuleCode { items, functions: code.functions })
}

/// Whether the instances of a kernel have code: a planted defect is looked for in kernels whose code it changes.
#[cfg(feature = "mutants")]
fn has_code(k: &Kernel) -> bool {
    crate::planted::active::is_compiled(&k.name)
}

#[cfg(not(feature = "mutants"))]
fn has_code(_: &Kernel) -> bool {
    true
}

/// The code of a function's kernels for the host: every CPU function, and the code and facts of emulated
/// instances.
#[cfg(feature = "mutants")]
pub fn compiled_code(kernels: &[Kernel], d: &Diagnostics) -> Result<Vec<Vec<String>>> {
    let options = HostOptions::default();
    let instances = kernels.iter().map(|k| Instance::all(k, &options, d)).collect::<Result<Vec<_>>>()?;
    let emulated = coverage::emulated(options.emulate, kernels, &instances);
    let of_kernel = |((k, instances), emulated): ((&Kernel, &Vec<Instance>), Vec<Vec<bool>>)| {
        let (choices, mut out) = (k.choices(), vec![]);
        for (i, (Instance { config, func, versions, .. }, emulated)) in instances.iter().zip(emulated).enumerate() {
            let (choice, config) = (&choices[i / k.ast.configs.len()], &k.ast.configs[*config]);
            out.push(format!("{:?}{}", driver::cpu(func, &mut ()), grid::body(k, choice, config, d)?));
            let of_versions = versions.iter().zip(emulated).filter(|(_, emulated)| *emulated);
            out.extend(of_versions.map(|(v, _)| format!("{:?}\n{}", v.facts(), v.lowered.text())));
        }
        Ok(out)
    };
    kernels.iter().zip(&instances).zip(emulated).map(of_kernel).collect()
}

/// The accesses of instances to memory behind addresses that they compute, as `Pointees` names them.
fn pointees(funcs: &[&Func]) -> Ident {
    let reads =
        |f: &Func| values(&f.body).any(|v| matches!(f.op(v), Op::Load { ptr, .. } if ptr.base.address().is_some()));
    match () {
        () if funcs.iter().any(|f| written(f).contains(&Array::Pointees { mutable: true })) => format_ident!("Written"),
        () if funcs.iter().copied().any(reads) => format_ident!("Read"),
        () => format_ident!("None"),
    }
}

/// Whether a product of it is of operands that lose bits.
fn in_tf32(f: &Func) -> bool {
    dots(f, &f.body).any(|d| matches!(f.op(d), Op::Dot { precision: Precision::Tf32, .. }))
}

/// Functions of the kernel's module.
#[derive(Default)]
struct Code {
    functions: Vec<String>,
    /// Bodies that have a CPU function, by its number.
    cpu: Vec<String>,
}

impl Code {
    /// The CPU function of this body, with a configuration's numbers.
    fn on_cpu(&mut self, body: &str, of: &Use) -> TokenStream {
        let index = self.cpu.iter().position(|c| c == body).unwrap_or(self.cpu.len());
        let (cpu_fn, cpu_body) = (format_ident!("cpu_{index}"), format_ident!("cpu_body_{index}"));
        if index == self.cpu.len() {
            self.cpu.push(body.to_string());
            self.functions.push(format!(
                "#[inline(always)]
unsafe fn {cpu_body}(p: &__k::cpu::Program, a: &[u64]) {{
    use __k::cpu as c;
    {SCALARS}
{body}}}
#[cfg_attr(all(target_arch = \"x86_64\", not(miri)), target_feature(enable = \"avx2,fma\"))]
unsafe fn {cpu_fn}(p: &__k::cpu::Program, a: &[u64]) {{ {cpu_body}(p, a) }}
"
            ));
        }
        let numbers = of.numbers.iter().map(|n| parse(&n.text()));
        quote! { __k::CpuCode { run: #cpu_fn, numbers: &[#(#numbers as u64),*] } }
    }
}

fn parse(text: &str) -> TokenStream {
    text.parse().unwrap_or_else(|e| panic!("the compiler emitted text that is no Rust ({e}):\n{text}"))
}

/// The descriptors of each choice of types: that of a call with all optional parameters, and those of all their choices
/// by number.
fn implementations(k: &Kernel, keys: &[(Choice, Ident)]) -> TokenStream {
    let optional = k.ast.optional().count();
    let each = keys.chunks(1 << optional).map(|of_types| {
        let (choice, complete) = &of_types[of_types.len() - 1];
        let types = choice.types.iter().map(|(_, t)| host_type(*t, &quote! { __k }));
        let descs = of_types.iter().map(|(_, desc)| desc);
        let present =
            (optional > 0).then(|| quote! { const PRESENT: &'static [&'static __k::KernelDesc] = &[#(&#descs),*]; });
        quote! { impl Types for (#(#types,)*) { const DESC: &'static __k::KernelDesc = &#complete; #present } }
    });
    quote! { #(#each)* }
}

fn param_descs(f: &Func) -> TokenStream {
    let each = f.params.iter().map(|p| {
        let (name, first_word, dtype) = (&p.name, p.first_word, format_ident!("{}", format!("{:?}", p.dtype)));
        let kind = match p.kind {
            ParamKind::Slice { mutable: false } => quote! { Slice },
            ParamKind::Slice { mutable: true } => quote! { SliceMut },
            ParamKind::View { rank, mutable: false } => quote! { View { rank: #rank } },
            ParamKind::View { rank, mutable: true } => quote! { ViewMut { rank: #rank } },
            ParamKind::Ptr { mutable: false } => quote! { Ptr },
            ParamKind::Ptr { mutable: true } => quote! { PtrMut },
            ParamKind::Scalar => quote! { Scalar },
        };
        quote! { __k::ParamDesc { name: #name, kind: __k::ParamKind::#kind, dtype: __k::DType::#dtype, first_word: #first_word } }
    });
    quote! { #(#each),* }
}

fn number(n: &Number) -> TokenStream {
    let (times, words) = (n.times, &n.words);
    quote! { __k::Number { times: #times, words: &[#(#words),*] } }
}

/// The configuration's descriptor; its functions go to `code`.
fn instance(
    k: &Kernel,
    func: &Func,
    choice: &Choice,
    config: &ast::Config,
    cpu: TokenStream,
    versions: Vec<(Version, (bool, bool))>,
    (t, c): (usize, usize),
    code: &mut Code,
    d: &Diagnostics,
) -> Result<TokenStream> {
    let grid_fn = format_ident!("grid_{t}_{c}");
    let extents = grid::body(k, choice, config, d)?;
    code.functions.push(format!("fn {grid_fn}(g: &__k::GridCtx) -> [u64; 3] {{ {extents} }}\n"));
    let requires = match grid::condition(k, choice, config, d)? {
        Some((holds, text)) => {
            let name = format_ident!("requires_{t}_{c}");
            code.functions.push(format!("fn {name}(g: &__k::GridCtx) -> bool {{ {holds} }}\n"));
            quote! { ::core::option::Option::Some(__k::Condition { holds: #name, text: #text }) }
        }
        None => quote! { ::core::option::Option::None },
    };
    let mut variants = vec![];
    for (i, (Version { variant, lowered, features }, (emulated, built))) in versions.into_iter().enumerate() {
        let entry = entry_name(&k.name, choice, config, variant);
        let guards = lowered.guards.iter().map(|r| {
            let of = number(&r.of);
            let test = match r.test {
                Test::Multiple(by) => quote! { Multiple(#by) },
                Test::Equal(to) => quote! { Equal(#to) },
                Test::Within(lo, hi) => quote! { Within(#lo, #hi) },
                Test::AtMost(word) => quote! { AtMost(#word) },
            };
            quote! { __k::Guard { of: #of, test: __k::Test::#test } }
        });
        let emulation = if emulated {
            let name = format_ident!("lowered_{t}_{c}_{i}");
            let (threads, bytes, ctas) = (lowered.threads, lowered.shared_bytes as u32, config.ctas);
            let registers = emulate::registers(variant, &lowered, config);
            let pdl = match &func.pdl {
                Some(params) => {
                    let params = params.iter().map(|&p| p as u8);
                    quote! { ::core::option::Option::Some(&[#(#params),*]) }
                }
                None => quote! { ::core::option::Option::None },
            };
            code.functions.push(emulate::function(&name.to_string(), func, &lowered));
            quote! { ::core::option::Option::Some(__k::Emulated { run: #name, threads: #threads, shared_bytes: #bytes, ctas: #ctas, registers: #registers, pdl: #pdl }) }
        } else {
            quote! { ::core::option::Option::None }
        };
        let only = match variant.only(config.ctas) {
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
        let width = format_ident!("{}", format!("{:?}", variant.width));
        variants.push(quote! { __k::VariantDesc { entry: #entry, built: #built, only: #only, width: __k::Width::#width, guards: &[#(#guards),*], maps: &[#(#maps),*], emulated: #emulation, features: #features } });
    }
    let id = config_id(config);
    let consts = config.consts.iter().map(|(n, v)| {
        let v = v.number() as i64;
        quote! { (#n, #v) }
    });
    let (warps, blocks_per_sm, ctas) = (config.warps, config.blocks_per_sm, config.ctas.max(1));
    Ok(quote! {
        __k::ConfigDesc { id: #id, consts: &[#(#consts),*], warps: #warps, blocks_per_sm: #blocks_per_sm, ctas: #ctas, requires: #requires, grid: #grid_fn, cpu: #cpu, variants: &[#(#variants),*] }
    })
}
