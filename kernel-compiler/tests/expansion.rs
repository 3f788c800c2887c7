//! The host code that the macros emit: the typed function, the descriptor, grids. Functions of instances are shown by
//! their names alone: `snapshots.rs` has their bodies.
//! `INSTA_UPDATE=always cargo test -p tilewright-compiler --test expansion` writes the new state.

use proc_macro2::TokenStream;
use syn::{File, Item, ItemFn, Meta};
use tilewright_compiler::diag::Diagnostics;
use tilewright_compiler::emit::host;
use tilewright_compiler::{
    Configs, Emulate, HostOptions, Libraries, expand_kernel, expand_module, host_file_name, host_files, module,
};

const SLICES: &str = "
/// `y = a·x + y`.
#[tile_kernel(tune(BLOCK = [256, 1024], warps = [2]), grid = [cdiv(x.len(), BLOCK)])]
pub fn axpy<const BLOCK: usize>(a: f32, x: &[f32], y: &mut [f32], n: usize) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(y, i, a * load(x, i) + load(y, i)).mask(i < n);
}";

const VIEWS: &str = "
#[tile_kernel(
    types(T = [f16, f8e4m3]),
    tune(BM = [64], BN = [64], BK = [64], warps = [4], stages = [3], arch = [90]),
    tune(BM = [32], BN = [32], BK = [32], warps = [2], blocks_per_sm = [2]),
    grid = [if BM == 64 { num_sms() } else { cdiv(c.dim(0), BM) }, cdiv(c.dim(1), BN)],
    pdl = [b],
    emulate = all,
)]
pub(crate) unsafe fn product<T: Float, const BM: usize, const BN: usize, const BK: usize>(a: View<T, 2>, b: View<T, 2>, mut c: ViewMut<f32, 2>, p: *const T) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for k in (0..a.dim(1)).step_by(BK) {
        acc = dot(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]), acc);
    }
    c.store([i, j], acc + load(p).to::<f32>());
}";

const MODULE: &str = "
#[tile_module]
pub mod kernels {
    const FACTOR: f32 = 3.0;
    type Real = f32;
    fn scaled<T: Num, const N: usize>(x: &[T], at: usize) -> Tile<T> {
        load(x, at + arange(N)) * FACTOR
    }

    #[tile_kernel(tune(N = [64], warps = [1]), grid = [1])]
    pub fn first<const N: usize>(x: &[Real], y: &mut [Real]) {
        store(y, arange(N), scaled::<f32, N>(x, 0));
    }

    #[tile_kernel(tune(N = [64], warps = [1]), grid = [x.len() / N, min(2, n), 1])]
    fn last<const N: usize>(x: &[Real], y: &mut [Real], n: u32) {
        store(y, arange(N), scaled::<f32, N>(x, x.len() - N));
    }
}";

fn expand(text: &str) -> TokenStream {
    match syn::parse_str::<Item>(text).expect("Rust") {
        Item::Fn(mut item) => {
            let is_kernel = |a: &syn::Attribute| a.path().is_ident("tile_kernel");
            let at = item.attrs.iter().position(is_kernel).expect("a kernel");
            let Meta::List(attr) = item.attrs.remove(at).meta else { panic!("with settings") };
            let ItemFn { attrs, vis, sig, block } = item;
            expand_kernel(attr.tokens, quote::quote! { #(#attrs)* #vis #sig #block })
        }
        module => {
            let Item::Mod(mut module) = module else { panic!("a function or a module") };
            module.attrs.clear();
            expand_module(TokenStream::new(), quote::quote! { #module })
        }
    }
}

/// Functions of instances lose their bodies.
fn shorten(items: &mut [Item]) {
    for item in items {
        match item {
            Item::Fn(f) if ["lowered_", "cpu_body_"].iter().any(|p| f.sig.ident.to_string().starts_with(p)) => {
                f.block = syn::parse_quote!({ body!() });
            }
            Item::Mod(syn::ItemMod { content: Some((_, items)), .. }) => shorten(items),
            _ => {}
        }
    }
}

fn check(name: &str, text: &str) {
    let mut file: File = syn::parse2(expand(text)).expect("the expansion is Rust");
    shorten(&mut file.items);
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(format!("expansion_{name}"), prettyplease::unparse(&file));
    });
}

#[test]
fn slices() {
    check("slices", SLICES);
}

#[test]
fn views() {
    check("views", VIEWS);
}

#[test]
fn module() {
    check("module", MODULE);
}

/// The names of the functions, and the text, of an expansion of [`VIEWS`].
fn expanded(options: &HostOptions) -> (Vec<String>, String) {
    let d = Diagnostics::default();
    let found = module::file(VIEWS, &Libraries::default()).pop().expect("a kernel");
    let kernels = found.parse(&d).expect("it is one");
    let text = host::expand(&kernels, options, &d).expect("no mistakes")[0].to_string();
    let words: Vec<&str> = text.split_whitespace().collect();
    let functions = words.windows(2).filter(|w| w[0] == "fn").map(|w| w[1].to_string()).collect();
    (functions, text)
}

#[test]
fn a_check_gets_the_typed_function_and_no_bodies() {
    let (compiled, _) = expanded(&HostOptions::default());
    assert!(compiled.iter().any(|f| f.starts_with("lowered_")), "{compiled:?}");
    assert!(compiled.iter().any(|f| f.starts_with("cpu_body_")), "{compiled:?}");
    let (checked, text) = expanded(&HostOptions { check_only: true, ..HostOptions::default() });
    assert!(checked.contains(&"product".to_string()) && checked.contains(&"grid_0_0".to_string()), "{checked:?}");
    let bodies: Vec<_> = checked.iter().filter(|f| f.starts_with("lowered_") || f.starts_with("cpu_")).collect();
    assert!(bodies.is_empty() && !text.contains("VariantDesc"), "{bodies:?}");
}

/// The build script and the macro make the same code of a kernel, for builds and for `cargo check`.
#[test]
fn the_file_of_the_build_script_is_what_is_expanded_in_place() {
    let d = Diagnostics::default();
    let found = module::file(VIEWS, &Libraries::default()).pop().expect("a kernel");
    let kernels = found.parse(&d).expect("it is one");
    let files = host_files(VIEWS, &Libraries::default());
    assert_eq!(files.len(), 2, "one for builds, and one for checks");
    for check_only in [false, true] {
        let (emulate, configs) = (Emulate::from_env(), Configs::from_env());
        let options = HostOptions { check_only, emulate, configs, ..HostOptions::default() };
        let name = host_file_name(&kernels[0], &options);
        let file = files.iter().find(|f| f.name == name).expect("a file of this name");
        let code: TokenStream = file.text.parse().expect("tokens");
        let expanded = host::expand(&kernels, &options, &d).expect("no mistakes")[0].to_string();
        assert!(expanded.contains(&code.to_string()), "{name}");
        let included = host::include(&kernels[0], &options, file.name.as_ref()).to_string();
        assert!(included.contains(&format!("include ! ({name:?})")) && included.len() < 4000, "{included}");
    }
}
