//! The typed function of a kernel's name, and what stands for a kernel with mistakes.

use crate::dtype::DType;
use crate::front::ast::{self, ParamKind};
use crate::front::instance::Kernel;
use crate::front::parse::MAX_INSTANCES;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// The Rust type of a dtype in host code. `core` is the path of the crate that has types of its own.
pub(super) fn host_type(t: DType, core: &TokenStream) -> TokenStream {
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

/// The typed function of the kernel's name: arguments in, a call out.
pub(super) fn call(k: &Kernel) -> TokenStream {
    let item = &k.ast.item;
    let (vis, name) = (&item.vis, &k.ast.name);
    let attrs = item.attrs.iter().filter(|a| a.path().is_ident("doc"));
    let generics: Vec<&Ident> = k.ast.type_params.iter().map(|p| &p.name).collect();
    let facade = &k.ast.facade;
    let core = quote! { #facade::__private };
    let ty = |p: &ast::Param| match DType::parse(&p.elem.name) {
        Some(t) if !generics.iter().any(|g| **g == p.elem.name) => host_type(t, &core),
        _ => match k.ast.given.dtype(&p.elem, &[], &k.ast.scope) {
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
            // `None` says no type of size.
            ParamKind::Scalar if is_size(p) && p.is_optional => quote! { usize },
            ParamKind::Scalar if is_size(p) => quote! { impl #core::AsSize },
            ParamKind::Scalar => t,
        };
        match p.is_optional {
            true => quote! { #n: ::core::option::Option<#bound> },
            false => quote! { #n: #bound },
        }
    });
    let bind = |p: &ast::Param| {
        let n = &p.name;
        match p.kind {
            ParamKind::Slice { mutable: false } => quote! { .slice(#n.as_slice_arg()) },
            ParamKind::Slice { mutable: true } => quote! { .slice_mut(#n.as_slice_mut_arg()) },
            ParamKind::View { mutable: false, .. } => quote! { .view(#n.as_view_arg()) },
            ParamKind::View { mutable: true, .. } => quote! { .view_mut(#n.as_view_mut_arg()) },
            ParamKind::Ptr { mutable } => quote! { .raw(#n.into(), #mutable) },
            ParamKind::Scalar if is_size(p) && !p.is_optional => quote! { .size(#n) },
            ParamKind::Scalar => quote! { .scalar(#n) },
        }
    };
    let types = quote! { <(#(#generics,)*) as #name::Types> };
    let desc = match k.ast.optional().next() {
        None => quote! { #types::DESC },
        Some(_) => {
            let bits = k.ast.optional().enumerate().map(|(i, p)| {
                let n = &p.name;
                quote! { usize::from(#n.is_some()) << #i }
            });
            quote! { #types::PRESENT[#(#bits)|*] }
        }
    };
    // SAFETY of the emitted block: the function is unsafe, and its contract is that of the kernel. Comments do not come
    // through an expansion, so that the block is allowed to have none.
    let start = match k.ast.is_unsafe {
        true => quote! { unsafe { #core::Call::new_unsafe(#desc) } },
        false => quote! { #core::Call::new(#desc) },
    };
    let bound = k.ast.params.iter().fold(start, |call, p| match (bind(p), &p.name) {
        (bind, _) if !p.is_optional => quote! { #call #bind },
        (bind, n) => {
            // The call so far is the value of a block, so that no name of a parameter is taken.
            quote! { { let __call = #call; match #n { ::core::option::Option::Some(#n) => __call #bind, ::core::option::Option::None => __call } } }
        }
    });
    let unsafety = &item.sig.unsafety;
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
            #bound
        }
    }
}

/// The items of the trait for a kernel's choices of types: the descriptor of a call with all optional parameters, and
/// where there are such parameters the descriptors by the number of a choice.
pub(super) fn trait_items(k: &Kernel) -> TokenStream {
    let present = k.ast.optional().next().map(|_| quote! { const PRESENT: &'static [&'static __k::KernelDesc]; });
    quote! { const DESC: &'static __k::KernelDesc; #present }
}

const MISTAKES: &str = "this kernel has no code: it has mistakes, or syntax that the kernel compiler does not know";

/// The code for a kernel with mistakes, beside its errors: its function, and the names of its module that callers use.
/// Its descriptors are `KernelDesc::FAULTY`, since constants of callers are evaluated although the crate has errors: a
/// constant that panics would be one more error.
pub fn stub(k: &Kernel) -> TokenStream {
    let (call, name, vis, facade) = (call(k), &k.ast.name, &k.ast.item.vis, &k.ast.facade);
    let implementations = k.choices().into_iter().filter(|c| c.present.iter().all(|(_, is)| *is)).map(|c| {
        let types = c.types.into_iter().map(|(_, t)| host_type(t, &quote! { __k }));
        quote! { impl Types for (#(#types,)*) {} }
    });
    let (kernels, present) = (k.choices().len(), 1usize << k.ast.optional().count());
    quote! {
        #call
        #[allow(non_snake_case, unused, missing_docs)]
        #vis mod #name {
            use #facade::__private as __k;
            pub trait Types {
                const DESC: &'static __k::KernelDesc = __k::KernelDesc::FAULTY;
                const PRESENT: &'static [&'static __k::KernelDesc] = &[__k::KernelDesc::FAULTY; #present];
            }
            #(#implementations)*
            pub static DESCS: &[&__k::KernelDesc] = &[__k::KernelDesc::FAULTY; #kernels];
        }
    }
}

/// The same for a function of which no kernel can be made: it takes any arguments. How many choices of types it has is
/// not known, so that there are as many descriptors as a kernel can have.
pub fn stub_of_function(item: &syn::ItemFn, name: &Ident, facade: &syn::Path) -> TokenStream {
    let (vis, unsafety) = (&item.vis, &item.sig.unsafety);
    let params = item.sig.inputs.iter().map(|_| quote! { _: impl Sized });
    quote! {
        #[allow(unused, clippy::too_many_arguments)]
        #vis #unsafety fn #name<'__a>(#(#params),*) -> #facade::__private::Call<'__a> { panic!(#MISTAKES) }
        #[allow(non_snake_case, unused, missing_docs)]
        #vis mod #name {
            use #facade::__private as __k;
            pub trait Types {}
            impl<T> Types for T {}
            pub static DESCS: &[&__k::KernelDesc] = &[__k::KernelDesc::FAULTY; #MAX_INSTANCES];
        }
    }
}
