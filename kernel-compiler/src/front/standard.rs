//! The libraries that come with the language: `#[tile_module(use tilewright::random)]`. Their text is a part of the
//! compiler, so the macro and the build script read the same.

/// Each library with its file.
pub const LIBRARIES: [(&str, &str); 2] =
    [("grid", include_str!("../../libraries/grid.rs")), ("random", include_str!("../../libraries/random.rs"))];

/// The library that a path names, if its last segment follows the path of the facade.
pub fn named(path: &syn::Path, facade: &syn::Path) -> Option<&'static str> {
    let names = |p: &syn::Path| p.segments.iter().map(|s| s.ident.to_string()).collect::<Vec<_>>();
    let (path, facade) = (names(path), names(facade));
    let (last, before) = path.split_last()?;
    LIBRARIES.iter().map(|(name, _)| *name).find(|name| last == name && before == facade)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_path_behind_the_facade_names_one() {
        let named =
            |path: &str, facade: &str| super::named(&syn::parse_str(path).unwrap(), &syn::parse_str(facade).unwrap());
        assert_eq!(named("tilewright::random", "::tilewright"), Some("random"));
        assert_eq!(named("::tilewright::random", "::tilewright"), Some("random"));
        assert_eq!(named("tilewright::grid", "::tilewright"), Some("grid"));
        assert_eq!(named("my::tiles::random", "::my::tiles"), Some("random"));
        for other in ["random", "crate::random", "tilewright::other", "my::tilewright::random"] {
            assert_eq!(named(other, "::tilewright"), None, "{other}");
        }
    }
}
