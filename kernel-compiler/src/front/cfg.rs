//! `cfg` on kernels and on modules, as far as the features of a package decide it.

use crate::front::source::{ModulePath, Source};
use std::collections::HashSet;
use syn::Token;
use syn::punctuated::Punctuated;

/// The features of a package that are on.
#[derive(Clone, Debug, Default)]
pub struct Features(HashSet<String>);

/// A module behind a `cfg` that does not hold for sure.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditional {
    /// The module.
    pub place: ModulePath,
    /// `Some(false)`: the `cfg` does not hold. `None`: the features do not decide it.
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
                return None;
            }
            if !a.path().is_ident("cfg") {
                return Some(true);
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
            syn::Meta::List(list) if list.path.is_ident("any") => {
                all(of_list(list)?.into_iter().map(not)).map(|none| !none)
            }
            syn::Meta::List(list) if list.path.is_ident("not") => of_list(list)?.first().copied().and_then(not),
            _ => None,
        }
    }

    /// The modules that a file declares behind a `cfg` that does not hold for sure.
    pub fn conditional_modules(&self, source: Source) -> Vec<Conditional> {
        // A look at the text spares most files the parser.
        let file = (source.text.contains("cfg") && source.text.contains("mod "))
            .then(|| syn::parse_file(source.text).ok())
            .flatten();
        let mut out = vec![];
        if let Some(file) = file {
            self.collect(&file.items, &ModulePath::of(source.file), &mut out);
        }
        out
    }

    fn collect(&self, items: &[syn::Item], at: &ModulePath, out: &mut Vec<Conditional>) {
        for item in items {
            let syn::Item::Mod(m) = item else { continue };
            let place = at.within(&m.ident.to_string());
            let holds = self.hold(&m.attrs);
            if let Some((_, inner)) = &m.content {
                self.collect(inner, &place, out);
            }
            if holds != Some(true) {
                out.push(Conditional { place, holds });
            }
        }
    }
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
        // The features alone do not decide these, or decide them whatever the rest says.
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
        assert_eq!(of("#[allow(unused)]"), Some(true));
    }

    #[test]
    fn modules_are_named_by_their_place() {
        let text = r#"
            #[cfg(feature = "d")] mod off;
            #[cfg(feature = "a")] mod on;
            mod inner { #[cfg(test)] mod tests; }"#;
        let found = features().conditional_modules(Source { file: Path::new("p/src/rows/mod.rs"), text });
        let places: Vec<_> = found.iter().map(|c| (c.place.modules.join("::"), c.holds)).collect();
        assert_eq!(places, [("rows::off".into(), Some(false)), ("rows::inner::tests".into(), None)]);
    }
}
