//! The modules of a crate, and the file that defines a name which another one uses.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::Visit;

/// A path in a crate, without `crate`.
type Names = Vec<String>;

/// Steps from a name to its definition: re-exports may stand for each other.
const MAX_DEPTH: usize = 8;

#[derive(Default)]
struct Module {
    file: PathBuf,
    defined: BTreeSet<String>,
    /// The meaning of a name of a `use`, as written.
    imports: BTreeMap<String, Names>,
    globs: Vec<Names>,
    /// Paths in private `use` items and in code.
    used: BTreeSet<Names>,
}

/// The modules of a crate without its tests.
pub struct Sources {
    root: PathBuf,
    modules: BTreeMap<Names, Module>,
}

/// Whether an item is compiled for tests alone.
fn is_test(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|a| {
        let text = a.meta.to_token_stream().to_string();
        text == "test" || text.starts_with("cfg") && text.contains("test") && !text.contains("not (test")
    })
}

/// The paths of a `use` tree with the names that they get.
fn leaves(tree: &syn::UseTree, before: &[String], out: &mut Vec<(Names, Option<String>)>) {
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    match tree {
        syn::UseTree::Path(p) => leaves(&p.tree, &with(&p.ident), out),
        syn::UseTree::Group(g) => g.items.iter().for_each(|t| leaves(t, before, out)),
        syn::UseTree::Glob(_) => out.push((before.to_vec(), None)),
        syn::UseTree::Name(n) if n.ident == "self" => out.push((before.to_vec(), before.last().cloned())),
        syn::UseTree::Name(n) => out.push((with(&n.ident), Some(n.ident.to_string()))),
        syn::UseTree::Rename(r) => out.push((with(&r.ident), Some(r.rename.to_string()))),
    }
}

/// The paths in code: names joined by `::`. A name after a dot is a method or a field.
fn paths(tokens: TokenStream, out: &mut BTreeSet<Names>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |i: usize, c: char| matches!(tokens.get(i), Some(TokenTree::Punct(p)) if p.as_char() == c);
    let mut i = 0;
    while i < tokens.len() {
        match &tokens[i] {
            TokenTree::Group(g) => paths(g.stream(), out),
            TokenTree::Ident(first) => {
                let mut names = vec![first.to_string()];
                let after_dot = i > 0 && is(i - 1, '.') && !(i > 1 && is(i - 2, '.'));
                let after_path = i > 1 && is(i - 1, ':') && is(i - 2, ':');
                while is(i + 1, ':') && is(i + 2, ':') {
                    let Some(TokenTree::Ident(next)) = tokens.get(i + 3) else { break };
                    names.push(next.to_string());
                    i += 3;
                }
                if !after_dot && !after_path {
                    out.insert(names);
                }
            }
            _ => {}
        }
        i += 1;
    }
}

/// The `use` items in bodies of functions.
struct Uses<'m>(&'m mut Module);

impl<'a> Visit<'a> for Uses<'_> {
    fn visit_item_use(&mut self, u: &'a syn::ItemUse) {
        let mut found = vec![];
        leaves(&u.tree, &[], &mut found);
        for (path, name) in found {
            match name {
                Some(name) => drop(self.0.imports.insert(name, path.clone())),
                None => self.0.globs.push(path.clone()),
            }
            if matches!(u.vis, syn::Visibility::Inherited) {
                self.0.used.insert(path);
            }
        }
    }
}

impl Sources {
    /// Reads the library in a crate's folder, or its program where it has no library.
    pub fn read(folder: &Path) -> Sources {
        let root = folder.join("src");
        let mut out = Sources { root: root.clone(), modules: BTreeMap::new() };
        let library = root.join("lib.rs");
        let file = if library.exists() { library } else { root.join("main.rs") };
        out.file(&file, &root, vec![]);
        out
    }

    /// Reads a file and the files of its modules, which lie in `folder`.
    fn file(&mut self, file: &Path, folder: &Path, at: Names) {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        self.items(&parsed.items, file, folder, at);
    }

    fn items(&mut self, items: &[syn::Item], file: &Path, folder: &Path, at: Names) {
        let relative = file.strip_prefix(&self.root).expect("a file of the crate").to_path_buf();
        let mut module = Module { file: relative, ..Module::default() };
        for item in items {
            let attrs = match item {
                syn::Item::Mod(i) => &i.attrs,
                syn::Item::Fn(i) => &i.attrs,
                syn::Item::Impl(i) => &i.attrs,
                syn::Item::Use(i) => &i.attrs,
                _ => &vec![],
            };
            if is_test(attrs) {
                continue;
            }
            let name = match item {
                syn::Item::Mod(m) => {
                    let name = m.ident.to_string();
                    let (inner, below) = ([&at[..], std::slice::from_ref(&name)].concat(), folder.join(&name));
                    let alone = folder.join(format!("{name}.rs"));
                    match &m.content {
                        Some((_, items)) => self.items(items, file, &below, inner),
                        None if alone.is_file() => self.file(&alone, &below, inner),
                        None => self.file(&below.join("mod.rs"), &below, inner),
                    }
                    continue;
                }
                syn::Item::Fn(i) => Some(&i.sig.ident),
                syn::Item::Struct(i) => Some(&i.ident),
                syn::Item::Enum(i) => Some(&i.ident),
                syn::Item::Union(i) => Some(&i.ident),
                syn::Item::Trait(i) => Some(&i.ident),
                syn::Item::Type(i) => Some(&i.ident),
                syn::Item::Const(i) => Some(&i.ident),
                syn::Item::Static(i) => Some(&i.ident),
                _ => None,
            };
            module.defined.extend(name.map(ToString::to_string));
            Uses(&mut module).visit_item(item);
            if !matches!(item, syn::Item::Use(_)) {
                paths(item.to_token_stream(), &mut module.used);
            }
        }
        self.modules.insert(at, module);
    }

    /// A path of a module from the crate's root on; none of another crate's.
    fn absolute(&self, path: &[String], at: &[String], depth: usize) -> Option<Names> {
        if depth > MAX_DEPTH {
            return None;
        }
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => self.absolute_or(rest, at, depth),
            "super" => self.absolute_or(rest, &at[..at.len().checked_sub(1)?], depth),
            _ => {
                let module = &self.modules[at];
                let below = [at, path].concat();
                if module.defined.contains(first) || self.modules.contains_key(&below[..at.len() + 1]) {
                    return Some(below);
                }
                if let Some(import) = module.imports.get(first).filter(|import| import.first() != Some(first)) {
                    return Some([self.absolute(import, at, depth + 1)?, rest.to_vec()].concat());
                }
                let by_glob = module.globs.iter().filter(|g| g.first() != Some(first));
                by_glob
                    .filter_map(|g| Some([self.absolute(g, at, depth + 1)?, path.to_vec()].concat()))
                    .find(|p| self.defined_by(p, depth + 1).is_some())
            }
        }
    }

    fn absolute_or(&self, rest: &[String], at: &[String], depth: usize) -> Option<Names> {
        match rest.first().map(String::as_str) {
            Some("super") => self.absolute(rest, at, depth + 1),
            _ => Some([at, rest].concat()),
        }
    }

    /// The file that defines a name, behind re-exports; none for a module.
    fn defined_by(&self, path: &[String], depth: usize) -> Option<&Path> {
        if depth > MAX_DEPTH {
            return None;
        }
        let end = (0..=path.len()).rev().find(|&n| self.modules.contains_key(&path[..n]))?;
        let (at, module) = (&path[..end], &self.modules[&path[..end]]);
        let name = path.get(end)?;
        if module.defined.contains(name) {
            return Some(&module.file);
        }
        if let Some(import) = module.imports.get(name) {
            let target = [self.absolute(import, at, depth + 1)?, path[end + 1..].to_vec()].concat();
            return self.defined_by(&target, depth + 1);
        }
        let behind = |glob: &Names| {
            let target = [self.absolute(glob, at, depth + 1)?, path[end..].to_vec()].concat();
            self.defined_by(&target, depth + 1)
        };
        module.globs.iter().find_map(behind)
    }

    /// The files with a module that takes all names of the module around it.
    pub fn with_all_of_parent(&self) -> BTreeSet<PathBuf> {
        let takes_all = |m: &&Module| m.globs.iter().any(|g| g.iter().all(|name| name == "super"));
        self.modules.values().filter(takes_all).map(|m| m.file.clone()).collect()
    }

    /// For each file, the files whose names it uses, with one of these names.
    pub fn edges(&self) -> BTreeMap<PathBuf, BTreeMap<PathBuf, String>> {
        let mut out: BTreeMap<PathBuf, BTreeMap<PathBuf, String>> = BTreeMap::new();
        for (at, module) in &self.modules {
            let from = out.entry(module.file.clone()).or_default();
            for path in &module.used {
                let to = self.absolute(path, at, 0).and_then(|p| self.defined_by(&p, 0));
                if let Some(to) = to.filter(|to| *to != module.file) {
                    from.entry(to.to_path_buf()).or_insert_with(|| path.join("::"));
                }
            }
        }
        out
    }
}
