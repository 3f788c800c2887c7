//! Each public item of the published libraries has an example, or links to an item of its crate whose example shows it.
//! A public method has one too, or an example of its file calls it.

use crate::docs::root;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use syn::{Attribute, Expr, ExprLit, ImplItem, Item, Lit, Meta, UseTree, Visibility};

/// Crates whose items the facade exports, and where their sources are.
const CRATES: [(&str, &str); 3] = [
    ("tilewright_runtime", "host/src"),
    ("tilewright_core", "kernel-core/src"),
    ("tilewright_types", "kernel-types/src"),
];

/// Files with `pub use`, and the folder that their paths begin in.
const EXPORTS: [(&str, &str); 12] = [
    ("cache-dir/src/lib.rs", "cache-dir/src"),
    ("candle/src/lib.rs", "candle/src"),
    ("host/src/lib.rs", "host/src"),
    ("host/src/tuning.rs", "host/src"),
    ("ops/src/lib.rs", "ops/src"),
    ("kernel-core/src/host.rs", "kernel-core/src"),
    ("kernel-core/src/bundle.rs", "kernel-core/src/bundle"),
    ("kernel-core/src/emulator/mod.rs", "kernel-core/src/emulator"),
    ("kernel-build/src/lib.rs", "kernel-build/src"),
    ("python/src/lib.rs", "python/src"),
    ("bench/src/lib.rs", "bench/src"),
    ("collectives/src/lib.rs", "collectives/src"),
];

/// Modules whose items are public themselves.
const MODULES: [&str; 8] = [
    "cache-dir/src/lib.rs",
    "host/src/dlpack.rs",
    "kernel-core/src/bundle.rs",
    "kernel-core/src/emulator/mod.rs",
    "kernel-types/src/guard.rs",
    "python/src/lib.rs",
    "tilewright/src/grid.rs",
    "tilewright/src/random.rs",
];

/// The crates whose methods need examples.
const WITH_METHODS: [&str; 9] = [
    "bench/src",
    "cache-dir/src",
    "candle/src",
    "collectives/src",
    "host/src",
    "kernel-build/src",
    "ops/src",
    "python/src",
    "tilewright/src",
];

/// The items of a source, which is parsed once.
fn parsed(path: &Path) -> Rc<syn::File> {
    thread_local! {
        static PARSED: RefCell<BTreeMap<PathBuf, Rc<syn::File>>> = const { RefCell::new(BTreeMap::new()) };
    }
    let parse = || {
        let text = fs::read_to_string(path).expect("a source");
        Rc::new(syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
    };
    PARSED.with_borrow_mut(|all| all.entry(path.to_path_buf()).or_insert_with(parse).clone())
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
        for item in &parsed(&path).items {
            if let Some((name, Visibility::Public(_), attributes)) = described(item)
                && documentation(attributes).is_some_and(|text| has_code(&text))
            {
                out.insert(name);
            }
            let Item::Impl(block) = item else { continue };
            let syn::Type::Path(of) = &*block.self_ty else { continue };
            let Some(of) = of.path.segments.last() else { continue };
            for member in &block.items {
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

/// The public items of a source, with their documentation. That of a class is a text of Python.
fn items(path: &Path) -> Vec<(String, String)> {
    let public = |item: &Item| {
        let (name, visibility, attributes) = described(item)?;
        let is_class = attributes.iter().any(|a| a.path().is_ident("pyclass"));
        (matches!(visibility, Visibility::Public(_)) && !is_class).then_some((name, documentation(attributes)?))
    };
    parsed(path).items.iter().filter_map(public).collect()
}

/// The folder of a source's crate, as in `host/src`.
fn of_crate(path: &Path) -> PathBuf {
    path.strip_prefix(root()).unwrap_or(path).components().take(2).collect()
}

/// The public items: their sources, names and documentation.
fn public_items() -> Vec<(PathBuf, String, String)> {
    let mut out = vec![];
    for (file, folder) in EXPORTS {
        for item in &parsed(&root().join(file)).items {
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
                    let named = items(&source).into_iter().filter(|(n, _)| *n == name);
                    out.extend(named.map(|(name, text)| (source.clone(), name, text)));
                }
            }
        }
    }
    for path in MODULES.map(|module| root().join(module)) {
        out.extend(items(&path).into_iter().map(|(name, text)| (path.clone(), name, text)));
    }
    out
}

/// The places where an example may be found: the documented items of each crate.
#[derive(Default)]
struct Shown(BTreeMap<PathBuf, BTreeSet<String>>);

impl Shown {
    /// Whether a text has code, or links to an example: "[`Buffer`] has an example", "The example of [`Matmul`] has
    /// one", "The [module](self) has an example".
    fn has_example(&mut self, path: &Path, text: &str) -> bool {
        let shown = self.0.entry(of_crate(path)).or_insert_with(|| with_code(&root().join(of_crate(path))));
        let module_has_one = || documentation(&parsed(path).attrs).is_some_and(|text| has_code(&text));
        has_code(text) || links_to_one(text, shown, module_has_one)
    }
}

#[test]
fn each_public_item_has_an_example() {
    let (public, mut shown) = (public_items(), Shown::default());
    let bare: BTreeSet<_> = public.iter().filter(|(path, _, text)| !shown.has_example(path, text)).collect();
    let bare: Vec<_> = bare.iter().map(|(path, name, _)| format!("{name} of {}", path.display())).collect();
    assert!(public.len() > 80, "{} items were found", public.len());
    assert_eq!(bare, [""; 0], "public items without an example");
}

/// The names behind a dot or a path in the code of a source's documentation: `run` of `launcher.run()`.
fn called_in_examples(source: &str) -> BTreeSet<String> {
    let (mut out, mut code) = (BTreeSet::new(), false);
    for line in source.lines().map(str::trim) {
        match line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
            Some(text) if text.trim().starts_with("```") => code = !code,
            Some(text) if code => {
                let rest = text.split(['.', ':']).skip(1);
                let is_name = |c: char| c.is_alphanumeric() || c == '_';
                out.extend(rest.filter_map(|r| r.split(|c| !is_name(c)).next()).map(str::to_owned));
            }
            _ => {}
        }
    }
    out
}

#[test]
fn each_public_method_has_an_example_or_is_in_one() {
    let public = public_items();
    // A private type may have the name of a public one in another file.
    let is_public = |folder: &str, path: &Path, name: &str| {
        let is_here = items(path).iter().any(|(n, _)| n == name);
        public.iter().any(|(p, n, _)| n == name && if is_here { p == path } else { of_crate(p) == Path::new(folder) })
    };
    let (mut found, mut bare, mut shown) = (0, BTreeSet::new(), Shown::default());
    for folder in WITH_METHODS {
        for path in sources(&root().join(folder)) {
            let called = called_in_examples(&fs::read_to_string(&path).expect("a source"));
            for item in &parsed(&path).items {
                let Item::Impl(block) = item else { continue };
                let syn::Type::Path(of) = &*block.self_ty else { continue };
                let Some(of) = of.path.segments.last().map(|s| s.ident.to_string()) else { continue };
                if block.trait_.is_some() || !is_public(folder, &path, &of) || documentation(&block.attrs).is_none() {
                    continue;
                }
                for member in &block.items {
                    let ImplItem::Fn(f) = member else { continue };
                    let (Visibility::Public(_), Some(text)) = (&f.vis, documentation(&f.attrs)) else { continue };
                    found += 1;
                    let name = f.sig.ident.to_string();
                    if !called.contains(&name) && !shown.has_example(&path, &text) {
                        bare.insert(format!("{of}::{name} of {}", path.display()));
                    }
                }
            }
        }
    }
    assert!(found > 150, "{found} methods were found");
    assert_eq!(bare.into_iter().collect::<Vec<_>>(), [""; 0], "public methods that no example shows");
}
