//! The bytes that the macros expand the kernels of a folder to: `cargo run -p tilewright-compiler --features emulator
//! --example expansion_size -- device-kernels/src`.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;
use syn::{Item, Meta};
use tilewright_compiler::diag::Diagnostics;
use tilewright_compiler::emit::host;
use tilewright_compiler::{Emulate, HostOptions, Libraries, Source, editor, host_file_name, host_files, module};

/// The expansions of a file's kernels and modules for rust-analyzer.
pub fn for_editor(text: &str) -> usize {
    let bytes = |item: Item| {
        let (attrs, expand): (&[syn::Attribute], fn(_, _) -> _) = match &item {
            Item::Fn(f) => (&f.attrs, editor::kernel),
            Item::Mod(m) if m.attrs.iter().any(|a| a.path().is_ident("tile_library")) => (&m.attrs, editor::library),
            Item::Mod(m) => (&m.attrs, editor::module),
            _ => return 0,
        };
        let of_tile =
            |a: &&syn::Attribute| a.path().segments.last().is_some_and(|s| s.ident.to_string().starts_with("tile_"));
        let Some(attr) = attrs.iter().find(of_tile) else { return 0 };
        let tokens = if let Meta::List(l) = &attr.meta { l.tokens.clone() } else { Default::default() };
        expand(tokens, quote::quote! { #item }).to_string().len()
    };
    syn::parse_file(text).expect("Rust").items.into_iter().map(bytes).sum()
}

fn main() {
    let folder = std::env::args().nth(1).unwrap_or("device-kernels/src".into());
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "rs"));
    files.sort();
    let texts: Vec<_> = files.iter().map(|f| (f, fs::read_to_string(f).expect("a file"))).collect();
    let mut libraries = Libraries::default();
    texts.iter().for_each(|(file, text)| libraries.add(Source { file, text }));
    let (mut kernels, mut in_place, mut with_file, mut in_editor, mut written) = (0, 0, 0, 0, 0);
    let start = Instant::now();
    for (file, text) in &texts {
        let d = Diagnostics::default();
        let options = HostOptions { emulate: Emulate::from_env(), ..HostOptions::default() };
        for found in module::file(Source { file, text }, &libraries) {
            let of_function = found.parse(&d).unwrap_or_default();
            kernels += of_function.len();
            let expanded = host::expand(&of_function, &options, &d).expect("no mistakes");
            in_place += expanded.iter().map(|e| e.to_string().len()).sum::<usize>();
            let folder = PathBuf::from("/target/debug/build/kernels/out/tile/host");
            let included = |k| host::include(k, &options, &folder.join(host_file_name(k, &options))).to_string().len();
            with_file += of_function.iter().map(included).sum::<usize>();
        }
    }
    println!("{kernels} kernels, lowered in {:.1} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    for (file, text) in &texts {
        written += host_files(Source { file, text }, &libraries).iter().map(|f| f.text.len()).sum::<usize>();
    }
    println!("files of the build script written in {:.1} s", start.elapsed().as_secs_f64());
    texts.iter().for_each(|(_, text)| in_editor += for_editor(text));
    println!("expanded in place: {in_place} bytes");
    println!("expanded with a file: {with_file} bytes, and {written} bytes in files");
    println!("expanded in rust-analyzer: {in_editor} bytes");
}
