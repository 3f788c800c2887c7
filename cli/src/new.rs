//! `tile new NAME`: a crate with a kernel, its tests on every backend, a benchmark and CI.

use crate::out::outln;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// The name of the package, and of its new folder
    name: String,
    /// The folder of a clone of Tilewright, on which the crate depends by path; without it, by version
    #[arg(long, value_name = "CLONE")]
    path: Option<PathBuf>,
}

/// The name that the files of the template have for the crate.
const NAME: &str = "first";

/// The files, by their paths in the crate.
const FILES: [(&str, &str); 10] = [
    ("Cargo.toml", include_str!("../template/manifest.toml")),
    ("build.rs", include_str!("../template/build.rs")),
    ("src/lib.rs", include_str!("../template/lib.rs")),
    ("src/main.rs", include_str!("../template/main.rs")),
    ("tests/backends.rs", include_str!("../template/backends.rs")),
    ("benches/axpy.rs", include_str!("../template/bench.rs")),
    ("rustfmt.toml", include_str!("../template/rustfmt.toml")),
    ("README.md", include_str!("../template/README.md")),
    (".gitignore", include_str!("../template/gitignore")),
    (".github/workflows/ci.yml", include_str!("../template/ci.yml")),
];

pub fn main(args: Args) -> Result<bool> {
    let files = files(&args.name, args.path.as_deref())?;
    create(Path::new(&args.name), &files)?;
    outln!("created the package `{0}`. Next: cd {0} && cargo test", args.name);
    Ok(true)
}

/// The files of a crate of this name.
fn files(name: &str, clone: Option<&Path>) -> Result<Vec<(&'static str, String)>> {
    check_name(name)?;
    let by_path = |package: &str, clone: &Path| -> Result<String> {
        let folder = clone.join(package);
        ensure!(
            folder.join("Cargo.toml").is_file(),
            "{} is no clone of Tilewright: it has no {package}",
            clone.display()
        );
        // Relative paths are those of the folder in which the command runs, and the crate is one below.
        let folder = if folder.is_relative() { Path::new("..").join(folder) } else { folder };
        Ok(format!("path = {:?}", folder.to_string_lossy()))
    };
    let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    let of = |package| clone.map_or_else(|| Ok(version.clone()), |clone| by_path(package, clone));
    let (facade, bench) = (of("tilewright")?, of("bench")?);
    let written = |(file, text): (&'static str, &str)| {
        let crate_name = name.replace('-', "_");
        let text = match file {
            "Cargo.toml" => text
                .replace("tilewright-bench = { version = \"*\"", &format!("tilewright-bench = {{ {bench}"))
                .replace("tilewright = { version = \"*\"", &format!("tilewright = {{ {facade}"))
                .replace(&format!("name = \"{NAME}\""), &format!("name = \"{name}\"")),
            _ => text
                .replace(&format!("use {NAME}::"), &format!("use {crate_name}::"))
                .replace(&format!("main(\"{NAME}\""), &format!("main(\"{name}\""))
                .replace(&format!("# {NAME}\n"), &format!("# {name}\n")),
        };
        (file, text)
    };
    Ok(FILES.into_iter().map(written).collect())
}

/// Names of packages that Cargo takes, and whose library is an identifier.
fn check_name(name: &str) -> Result<()> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts || !name.chars().all(allowed) {
        bail!("`{name}` is no name of a package: it starts with a letter and has letters, digits, `-` and `_`");
    }
    /// Names of crates that the new one uses or that the language has, and those that Cargo takes for itself.
    const TAKEN: [&str; 12] = [
        "alloc",
        "bench",
        "build",
        "core",
        "crate",
        "deps",
        "examples",
        "proc-macro",
        "std",
        "test",
        "tilewright",
        "tilewright-bench",
    ];
    ensure!(!TAKEN.contains(&name.replace('_', "-").as_str()), "the name `{name}` is taken");
    Ok(())
}

/// Writes the files beside the folder, and moves them there: it has all of them, or is not there.
fn create(folder: &Path, files: &[(&str, String)]) -> Result<()> {
    ensure!(fs::symlink_metadata(folder).is_err(), "{} exists: nothing was written", folder.display());
    let name = folder.file_name().context("the name of a folder")?.to_string_lossy();
    let partial = folder.with_file_name(format!(".{name}.{}.partial", std::process::id()));
    let written = write(&partial, files)
        .and_then(|()| fs::rename(&partial, folder).with_context(|| format!("cannot create {}", folder.display())));
    if written.is_err() {
        // It may not be there.
        fs::remove_dir_all(&partial).ok();
    }
    written
}

fn write(folder: &Path, files: &[(&str, String)]) -> Result<()> {
    for (file, text) in files {
        let path = folder.join(file);
        let parent = path.parent().context("a file is in a folder")?;
        fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str, clone: Option<&Path>) -> String {
        files(name, clone).unwrap_err().to_string()
    }

    /// The crate in `examples` is built and tested with the workspace. It is the template, with paths.
    #[test]
    fn the_example_is_the_template() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        for (file, text) in files("first", Some(&examples.join("..")))
            .unwrap()
            .into_iter()
            .map(|(file, text)| (file, text.replace(&*examples.join("..").to_string_lossy(), "../..")))
        {
            let found = fs::read_to_string(examples.join("first").join(file)).unwrap_or_default();
            // The example alone is never published. The profiles of a workspace are those of its root.
            let found = found.replace("publish = false\n", "");
            let text = text.split("\n# The tile compiler runs").next().unwrap_or_default();
            assert_eq!(found, text, "examples/first/{file}");
        }
    }

    #[test]
    fn a_crate_has_its_own_name() {
        let made = files("my-kernels", None).unwrap();
        for (file, text) in &made {
            assert!(!text.contains(NAME), "{file}: {text}");
            assert!(!text.contains("version = \"*\""), "{text}");
        }
        let of = |file: &str| &made.iter().find(|(f, _)| *f == file).unwrap().1;
        assert!(of("Cargo.toml").contains("name = \"my-kernels\"\n"), "{}", of("Cargo.toml"));
        assert!(of("Cargo.toml").contains(concat!("tilewright = { version = \"", env!("CARGO_PKG_VERSION"), "\" }")));
        assert!(of("src/main.rs").contains("use my_kernels::scaled_sum;"));
    }

    #[test]
    fn names_that_are_none() {
        for name in ["", "1st", "-a", "a b", "a/b", "../a", "ä"] {
            assert!(error(name, None).contains("is no name of a package"), "{name}");
        }
        for name in ["test", "core", "tilewright", "tilewright_bench", "proc_macro"] {
            assert!(error(name, None).ends_with("is taken"), "{name}");
        }
        assert!(error("a", Some(Path::new("/nowhere"))).contains("/nowhere is no clone of Tilewright"));
    }

    #[test]
    fn all_files_or_none() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a");
        let made = files("a", None).unwrap();
        create(&folder, &made).unwrap();
        assert_eq!(fs::read_to_string(folder.join("build.rs")).unwrap(), FILES[1].1);
        assert!(create(&folder, &made).unwrap_err().to_string().ends_with("exists: nothing was written"));
        // A file in the way of a folder.
        let e = create(&dir.path().join("b"), &[("x", String::new()), ("x/y", String::new())]).unwrap_err();
        assert!(e.to_string().starts_with("cannot create"), "{e}");
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["a"]);
    }
}
