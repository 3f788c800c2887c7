//! Each public item of the published libraries has an example, or links to an item of its crate whose example shows it.

use crate::docs::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, Expr, ExprLit, ImplItem, Item, Lit, Meta, UseTree, Visibility};

/// Crates whose items the facade exports, and where their sources are.
const CRATES: [(&str, &str); 3] = [
    ("tilewright_runtime", "host/src"),
    ("tilewright_core", "kernel-core/src"),
    ("tilewright_types", "kernel-types/src"),
];

/// Files with `pub use`, and the folder that their paths begin in.
const EXPORTS: [(&str, &str); 8] = [
    ("host/src/lib.rs", "host/src"),
    ("host/src/tuning.rs", "host/src"),
    ("ops/src/lib.rs", "ops/src"),
    ("kernel-core/src/host.rs", "kernel-core/src"),
    ("kernel-core/src/bundle.rs", "kernel-core/src/bundle"),
    ("kernel-core/src/emulator/mod.rs", "kernel-core/src/emulator"),
    ("kernel-build/src/lib.rs", "kernel-build/src"),
    ("bench/src/lib.rs", "bench/src"),
];

/// Modules whose items are public themselves.
const MODULES: [&str; 6] = [
    "host/src/dlpack.rs",
    "kernel-core/src/bundle.rs",
    "kernel-core/src/emulator/mod.rs",
    "kernel-types/src/guard.rs",
    "tilewright/src/grid.rs",
    "tilewright/src/random.rs",
];

fn parsed(path: &Path) -> syn::File {
    let text = fs::read_to_string(path).expect("a source");
    syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The documentation of an item; `None` where it is hidden.
fn documentation(attributes: &[Attribute]) -> Option<String> {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        match &attribute.meta {
            Meta::NameValue(v) => {
                if let Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) = &v.value {
                    text = text + &line.value() + "\n";
                }
            }
            _ => return None,
        }
    }
    Some(text)
}

/// Whether there is code that compiles.
fn has_code(text: &str) -> bool {
    let fences = text.lines().filter_map(|l| l.trim().strip_prefix("```"));
    fences.step_by(2).any(|language| !language.contains("compile_fail"))
}

/// Whether a sentence about an example links to one of these items, or to the module where that has an example.
fn links_to_one(text: &str, shown: &BTreeSet<String>, module_has_one: impl Fn() -> bool) -> bool {
    let text = text.replace('\n', " ");
    text.split(". ").filter(|sentence| sentence.contains("example")).any(|sentence| {
        let mut names = sentence.split("[`").skip(1).filter_map(|link| link.split('`').next());
        names.any(|name| shown.contains(name)) || sentence.contains("](self)") && module_has_one()
    })
}

/// The public items of a crate whose documentation has code, and the public methods: `Buffer`, `Buffer::zeros`.
fn with_code(sources_of: &Path) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for path in sources(sources_of) {
        for item in parsed(&path).items {
            if let Some((name, Visibility::Public(_), attributes)) = described(&item)
                && documentation(attributes).is_some_and(|text| has_code(&text))
            {
                out.insert(name);
            }
            let Item::Impl(block) = item else { continue };
            let syn::Type::Path(of) = &*block.self_ty else { continue };
            let Some(of) = of.path.segments.last() else { continue };
            for member in block.items {
                if let ImplItem::Fn(f) = member
                    && documentation(&f.attrs).is_some_and(|text| has_code(&text))
                {
                    out.insert(format!("{}::{}", of.ident, f.sig.ident));
                }
            }
        }
    }
    out
}

/// The names of a `pub use`, each with the modules that it comes from.
fn names(tree: &UseTree, path: &[String], out: &mut Vec<(Vec<String>, String)>) {
    match tree {
        UseTree::Path(p) => names(&p.tree, &[path, &[p.ident.to_string()]].concat(), out),
        UseTree::Name(n) => out.push((path.to_vec(), n.ident.to_string())),
        UseTree::Rename(r) => out.push((path.to_vec(), r.ident.to_string())),
        UseTree::Group(g) => g.items.iter().for_each(|t| names(t, path, out)),
        UseTree::Glob(_) => {}
    }
}

/// The sources of a module, which are its file and its folder.
fn sources(module: &Path) -> Vec<PathBuf> {
    let mut out = vec![module.with_extension("rs")];
    let mut folders = vec![module.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { out.push(path) }
        }
    }
    out.retain(|p| p.extension().is_some_and(|e| e == "rs") && p.exists());
    out
}

/// The name, visibility and attributes of an item that may have an example.
fn described(item: &Item) -> Option<(String, &Visibility, &[Attribute])> {
    Some(match item {
        Item::Enum(i) => (i.ident.to_string(), &i.vis, &i.attrs),
        Item::Fn(i) => (i.sig.ident.to_string(), &i.vis, &i.attrs),
        Item::Struct(i) => (i.ident.to_string(), &i.vis, &i.attrs),
        Item::Trait(i) => (i.ident.to_string(), &i.vis, &i.attrs),
        Item::Type(i) => (i.ident.to_string(), &i.vis, &i.attrs),
        _ => return None,
    })
}

/// The public items of a source, with their documentation.
fn items(path: &Path) -> Vec<(String, String)> {
    let public = |item: &Item| {
        let (name, visibility, attributes) = described(item)?;
        matches!(visibility, Visibility::Public(_)).then_some((name, documentation(attributes)?))
    };
    parsed(path).items.iter().filter_map(public).collect()
}

#[test]
fn each_public_item_has_an_example() {
    let (mut found, mut bare, mut shown) = (0, BTreeSet::new(), BTreeMap::new());
    let mut look_at = |path: &Path, name: &str, text: &str| {
        found += 1;
        let of_crate: PathBuf = path.strip_prefix(root()).unwrap_or(path).components().take(2).collect();
        let shown = shown.entry(of_crate.clone()).or_insert_with(|| with_code(&root().join(of_crate)));
        let module_has_one = || documentation(&parsed(path).attrs).is_some_and(|text| has_code(&text));
        // "[`Buffer`] has an example", "The example of [`Matmul`] has one", "The [module](self) has an example".
        if !has_code(text) && !links_to_one(text, shown, module_has_one) {
            bare.insert(format!("{name} of {}", path.strip_prefix(root()).unwrap_or(path).display()));
        }
    };
    for (file, folder) in EXPORTS {
        for item in parsed(&root().join(file)).items {
            let Item::Use(u) = item else { continue };
            if !matches!(u.vis, Visibility::Public(_)) || documentation(&u.attrs).is_none() {
                continue;
            }
            let mut exported = vec![];
            names(&u.tree, &[], &mut exported);
            for (path, name) in exported {
                let (first, rest) = path.split_first().expect("a module or a crate");
                let of_crate = CRATES.iter().find(|c| c.0 == first).map(|c| c.1);
                let of_crate = of_crate.or((first == "crate").then_some(folder));
                let module: PathBuf = match of_crate {
                    Some(folder) => [root(), folder.into()].into_iter().chain(rest.iter().map(Into::into)).collect(),
                    None => [root(), folder.into()].into_iter().chain(path.iter().map(Into::into)).collect(),
                };
                for source in sources(&module) {
                    for (n, text) in items(&source).into_iter().filter(|(n, _)| *n == name) {
                        look_at(&source, &n, &text);
                    }
                }
            }
        }
    }
    for module in MODULES {
        let path = root().join(module);
        items(&path).iter().for_each(|(name, text)| look_at(&path, name, text));
    }
    assert!(found > 80, "{found} items were found");
    let bare: Vec<_> = bare.iter().collect();
    assert_eq!(bare, [""; 0], "public items without an example");
}
