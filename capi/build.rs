//! The name by which programs that were linked with `libtile.so` look for it: else the linker notes the path.

/// The line of the header with the number of the ABI begins so.
const ABI: &str = "#define TILE_ABI_VERSION ";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=include/tile.h");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        let number = match std::env::var_os("CARGO_FEATURE_VERSIONED_SONAME") {
            Some(_) => format!(".{}", abi_version()),
            None => String::new(),
        };
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtile.so{number}");
    }
}

fn abi_version() -> String {
    let header = std::fs::read_to_string("include/tile.h").expect("the header");
    header.lines().find_map(|l| l.strip_prefix(ABI)).expect("the header has the number of the ABI").trim().into()
}
