//! `cfg` on kernels and on modules, as far as the features of a package decide it.

use crate::front::source::{KERNEL, LIBRARY, MODULE, ModulePath, Source};
use std::collections::HashSet;
use syn::Token;
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;

/// The features of a package that are on.
#[derive(Clone, Debug, Default)]
pub struct Features(HashSet<String>);

/// A declaration of a module: `mod m;`, or a module with a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// The module.
    pub place: ModulePath,
    /// Whether its `cfg`s hold; none if the features do not decide it.
    pub holds: Option<bool>,
}

impl Features {
    /// The features that cargo names in the environment of a build script, as in `CARGO_FEATURE_ONE_OF_THEM`.
    pub fn of_variables(names: impl Iterator<Item = String>) -> Features {
        Features(names.filter_map(|n| n.strip_prefix("CARGO_FEATURE_").map(str::to_owned)).collect())
    }

    /// Whether all `cfg`s among some attributes hold; none if it depends on more than features.
    pub fn hold(&self, attrs: &[syn::Attribute]) -> Option<bool> {
        all(attrs.iter().map(|a| {
            if a.path().is_ident("cfg_attr") {
                return if may_decide(a) { None } else { Some(true) };
            }
            if !a.path().is_ident("cfg") {
                return Some(true);
            }
            if let Ok(literal) = a.parse_args::<syn::LitBool>() {
                return Some(literal.value);
            }
            a.parse_args().ok().and_then(|condition| self.holds(&condition))
        }))
    }

    fn holds(&self, condition: &syn::Meta) -> Option<bool> {
        let of_list = |list: &syn::MetaList| {
            let conditions = list.parse_args_with(Punctuated::<syn::Meta, Token![,]>::parse_terminated).ok()?;
            Some(conditions.iter().map(|c| self.holds(c)).collect::<Vec<_>>())
        };
        match condition {
            syn::Meta::NameValue(is) if is.path.is_ident("feature") => match &is.value {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(name), .. }) => {
                    Some(self.0.contains(&name.value().to_uppercase().replace('-', "_")))
                }
                _ => None,
            },
            syn::Meta::List(list) if list.path.is_ident("all") => all(of_list(list)?.into_iter()),
            syn::Meta::List(list) if list.path.is_ident("any") => any(of_list(list)?.into_iter()),
            syn::Meta::List(list) if list.path.is_ident("not") => of_list(list)?.first().copied().and_then(not),
            _ => None,
        }
    }

    /// The modules that a file declares, and its own `#![cfg(..)]`. A module with `#[path = ".."]` is left out, because
    /// its name does not tell its file.
    pub fn declarations(&self, source: Source) -> Vec<Declaration> {
        // A look at the text spares most files the parser.
        let has_any = source.text.contains("mod ") || source.text.contains("cfg");
        let Some(file) = has_any.then(|| syn::parse_file(source.text).ok()).flatten() else { return vec![] };
        let place = ModulePath::of(source.file);
        let mut out = vec![];
        self.collect(&file.items, &place, &mut out);
        let inner = self.hold(&file.attrs);
        if inner != Some(true) && !place.modules.is_empty() {
            out.push(Declaration { place, holds: inner });
        }
        out
    }

    fn collect(&self, items: &[syn::Item], at: &ModulePath, out: &mut Vec<Declaration>) {
        for item in items {
            let syn::Item::Mod(m) = item else { continue };
            if m.attrs.iter().any(|a| a.path().is_ident("path")) {
                continue;
            }
            let place = at.within(&m.ident.unraw().to_string());
            if let Some((_, inner)) = &m.content {
                self.collect(inner, &place, out);
            }
            out.push(Declaration { place, holds: self.hold(&m.attrs) });
        }
    }
}

/// Whether the crate has the module of a file: one declaration of each module around it holds. None if the features do
/// not decide it.
pub fn exists(place: &ModulePath, declarations: &[Declaration]) -> Option<bool> {
    all((1..=place.modules.len()).map(|depth| {
        let of = |d: &&Declaration| d.place.root == place.root && d.place.modules == place.modules[..depth];
        let mut found = declarations.iter().filter(of).map(|d| d.holds).peekable();
        if found.peek().is_none() { Some(true) } else { any(found) }
    }))
}

/// Whether a `cfg_attr` may hold an attribute that excludes code.
fn may_decide(cfg_attr: &syn::Attribute) -> bool {
    let list = cfg_attr.parse_args_with(Punctuated::<syn::Meta, Token![,]>::parse_terminated);
    let decides = |m: &syn::Meta| {
        let last = m.path().segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        ["cfg", "cfg_attr", "path", KERNEL, MODULE, LIBRARY].contains(&last.as_str())
    };
    list.map_or(true, |list| list.iter().skip(1).any(decides))
}

/// Whether all conditions hold.
pub fn all(mut conditions: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    conditions
        .try_fold(Some(true), |so_far, c| match c {
            Some(false) => Err(Some(false)),
            Some(true) => Ok(so_far),
            None => Ok(None),
        })
        .unwrap_or_else(|decided| decided)
}

fn any(conditions: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    not(all(conditions.map(not)))
}

fn not(condition: Option<bool>) -> Option<bool> {
    condition.map(|c| !c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn features() -> Features {
        Features::of_variables(["CARGO_FEATURE_A", "CARGO_FEATURE_B_C", "CARGO_CFG_UNIX"].map(String::from).into_iter())
    }

    #[test]
    fn conditions_of_features_are_decided() {
        let holds = |condition: &str| {
            let item: syn::ItemMod = syn::parse_str(&format!("/// Text.\n#[cfg({condition})] mod m;")).unwrap();
            features().hold(&item.attrs)
        };
        assert_eq!(holds(r#"feature = "a""#), Some(true));
        assert_eq!(holds(r#"feature = "b-c""#), Some(true));
        assert_eq!(holds(r#"feature = "d""#), Some(false));
        assert_eq!(holds(r#"not(feature = "d")"#), Some(true));
        assert_eq!(holds(r#"any(feature = "d", feature = "a")"#), Some(true));
        assert_eq!(holds(r#"all(feature = "d", feature = "a")"#), Some(false));
        assert_eq!((holds("all()"), holds("any()")), (Some(true), Some(false)));
        assert_eq!((holds("true"), holds("false")), (Some(true), Some(false)));
        // Features alone decide a condition only if its other parts do not matter.
        assert_eq!((holds("unix"), holds("test"), holds("not(test)")), (None, None, None));
        assert_eq!(holds(r#"any(test, feature = "d")"#), None);
        assert_eq!(holds(r#"any(test, feature = "a")"#), Some(true));
        assert_eq!(holds(r#"all(test, feature = "a")"#), None);
        assert_eq!(holds(r#"all(test, feature = "d")"#), Some(false));
    }

    #[test]
    fn several_attributes_hold_together() {
        let of = |attributes: &str| {
            let item: syn::ItemMod = syn::parse_str(&format!("{attributes} mod m;")).unwrap();
            features().hold(&item.attrs)
        };
        assert_eq!(of(r#"#[cfg(feature = "a")] #[cfg(feature = "d")]"#), Some(false));
        assert_eq!(of(r#"#[cfg(feature = "a")] #[cfg(unix)]"#), None);
        assert_eq!(of(r#"#[cfg_attr(unix, path = "u.rs")]"#), None);
        assert_eq!(of(r#"#[cfg_attr(docsrs, doc(cfg(feature = "d")))] #[cfg_attr(test, allow(unused))]"#), Some(true));
        assert_eq!(of("#[allow(unused)]"), Some(true));
    }

    fn declarations(files: &[(&str, &str)]) -> Vec<Declaration> {
        let of = |(file, text): &(&str, &str)| features().declarations(Source { file: Path::new(file), text });
        files.iter().flat_map(of).collect()
    }

    #[test]
    fn a_module_exists_if_one_declaration_of_it_holds() {
        let lib = r#"
            #[cfg(feature = "d")] mod off;
            #[cfg(feature = "a")] mod on;
            #[cfg(feature = "d")] mod of_either { }
            #[cfg(not(feature = "d"))] mod of_either;
            #[cfg(feature = "d")] #[path = "other.rs"] mod elsewhere;
            mod inner { #[cfg(test)] mod tests; }
            mod r#type;
            mod of_the_library;"#;
        let main = r#"#[cfg(feature = "d")] mod of_the_library;"#;
        let says = declarations(&[
            ("p/src/lib.rs", lib),
            ("p/src/main.rs", main),
            ("p/src/type.rs", r#"#![cfg(feature = "d")] mod m;"#),
        ]);
        let of = |file: &str| exists(&ModulePath::of(Path::new(file)), &says);
        assert_eq!(
            (of("p/src/off.rs"), of("p/src/off/deep.rs"), of("p/src/on.rs")),
            (Some(false), Some(false), Some(true))
        );
        assert_eq!((of("p/src/of_either.rs"), of("p/src/of_the_library.rs")), (Some(true), Some(true)));
        assert_eq!(
            (of("p/src/inner/tests.rs"), of("p/src/elsewhere.rs"), of("p/src/lib.rs")),
            (None, Some(true), Some(true))
        );
    }

    #[test]
    fn the_condition_of_a_file_is_that_of_its_module() {
        let says = declarations(&[("p/src/type.rs", r#"#![cfg(feature = "d")] mod m;"#)]);
        let of = |file: &str| exists(&ModulePath::of(Path::new(file)), &says);
        assert_eq!((of("p/src/type.rs"), of("p/src/type/m.rs")), (Some(false), Some(false)));
    }
}
