//! `tile new NAME`: a crate with a kernel, its tests on every backend and a benchmark, and CI where it depends on
//! released versions. With `--python`, a module of Python.

use crate::clone;
use crate::out::outln;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// The name of the package, and of its new folder
    name: String,
    /// The folder of a clone of Tilewright, on which the crate depends by path; by default the clone that this command
    /// was built in; without a clone the crate depends on released versions
    #[arg(long, value_name = "CLONE")]
    path: Option<PathBuf>,
    /// A module of Python, for arrays of NumPy, PyTorch, JAX and CuPy
    #[arg(long)]
    python: bool,
}

/// The files of a crate, by their paths in it.
struct Template {
    /// The name that they have for the crate.
    name: &'static str,
    /// Names of crates and modules that the files use, and of functions in them.
    taken: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
}

const CI: &str = ".github/workflows/ci.yml";

const CRATE: Template = Template {
    name: "first-crate",
    taken: &["tilewright", "tilewright-bench"],
    files: &[
        ("Cargo.toml", include_str!("../template/manifest.toml")),
        ("build.rs", include_str!("../template/build.rs")),
        ("src/lib.rs", include_str!("../template/lib.rs")),
        ("src/main.rs", include_str!("../template/main.rs")),
        ("tests/backends.rs", include_str!("../template/backends.rs")),
        ("benches/axpy.rs", include_str!("../template/bench.rs")),
        ("rustfmt.toml", include_str!("../template/rustfmt.toml")),
        ("README.md", include_str!("../template/README.md")),
        (".gitignore", include_str!("../template/gitignore")),
        (CI, include_str!("../template/ci.yml")),
    ],
};

const PYTHON: Template = Template {
    name: "first-python",
    taken: &["axpy", "numpy", "pyo3", "scaled-sum", "tilewright", "tilewright-python", "unittest"],
    files: &[
        ("Cargo.toml", include_str!("../template/python/manifest.toml")),
        ("build.rs", include_str!("../template/build.rs")),
        ("pyproject.toml", include_str!("../template/python/pyproject.toml")),
        ("src/lib.rs", include_str!("../template/python/lib.rs")),
        ("tests/test_axpy.py", include_str!("../template/python/test_axpy.py")),
        ("rustfmt.toml", include_str!("../template/rustfmt.toml")),
        ("README.md", include_str!("../template/python/README.md")),
        (".gitignore", include_str!("../template/python/gitignore")),
        (CI, include_str!("../template/python/ci.yml")),
    ],
};

pub fn main(args: Args) -> Result<bool> {
    let template = if args.python { PYTHON } else { CRATE };
    let clone = args.path.as_deref().or_else(|| clone::here());
    let mut files = template.files(&args.name, clone)?;
    if clone.is_some() {
        // A runner has the crate alone, and no clone beside it.
        files.retain(|(file, _)| *file != CI);
    }
    create(Path::new(&args.name), &files)?;
    let next = if args.python {
        "python3 -m venv .venv && . .venv/bin/activate && pip install maturin numpy && maturin develop"
    } else {
        "cargo test"
    };
    if let (None, Some(clone)) = (&args.path, clone) {
        outln!("{} depends on the clone that this command was built in, {}", args.name, clone.display());
    }
    outln!("created the package `{0}`. Next: cd {0} && {next}", args.name);
    if let Some(workspace) = workspace(&std::env::current_dir()?) {
        let name = &args.name;
        outln!("{} is a workspace: add `{name}` to its members, or move the folder out of it", workspace.display());
    }
    Ok(true)
}

/// The nearest manifest of a workspace, of a folder or of one that it is in.
fn workspace(folder: &Path) -> Option<PathBuf> {
    let manifests = folder.ancestors().map(|f| f.join("Cargo.toml"));
    let is_workspace = |m: &PathBuf| {
        fs::read_to_string(m).is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with("[workspace")))
    };
    manifests.into_iter().find(is_workspace)
}

impl Template {
    /// The files of a crate of this name.
    fn files(&self, name: &str, clone: Option<&Path>) -> Result<Vec<(&'static str, String)>> {
        check_name(name, self.taken)?;
        let of = |package: &str| match clone {
            Some(clone) => by_path(package, clone),
            None => Ok(format!("version = \"{}\"", env!("CARGO_PKG_VERSION"))),
        };
        // The facade, and crates in folders of a clone.
        let packages = [
            ("tilewright", of("tilewright")?),
            ("tilewright-bench", of("bench")?),
            ("tilewright-python", of("python")?),
        ];
        let identifier = |name: &str| name.replace('-', "_");
        let written = |&(file, text): &(&'static str, &str)| {
            let text = text.replace(&identifier(self.name), &identifier(name));
            let text = text.replace(self.name, name);
            let text = packages.iter().fold(text, |text, (package, place)| {
                text.replace(&format!("{package} = {{ version = \"*\""), &format!("{package} = {{ {place}"))
            });
            (file, text)
        };
        Ok(self.files.iter().map(written).collect())
    }
}

/// The dependency on a package of a clone.
fn by_path(folder: &str, clone: &Path) -> Result<String> {
    let folder_of = clone.join(folder);
    ensure!(
        folder_of.join("Cargo.toml").is_file(),
        "{} is no clone of Tilewright: it has no {folder}",
        clone.display()
    );
    // Relative paths are those of the folder in which the command runs, and the crate is one below.
    let folder_of = if folder_of.is_relative() { Path::new("..").join(folder_of) } else { folder_of };
    Ok(format!("path = {:?}", folder_of.to_string_lossy()))
}

/// Names of packages that Cargo takes, and whose library is an identifier of Rust and of Python.
fn check_name(name: &str, taken: &[&str]) -> Result<()> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts || !name.ends_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(allowed) {
        bail!(
            "`{name}` is no name of a package: it has letters, digits, `-` and `_`, starts with a letter, and does not end \
             with `-` or `_`"
        );
    }
    /// Names of crates that the language has, names that Cargo reserves, and keywords of Python that are none of Rust.
    const TAKEN: [&str; 28] = [
        "alloc",
        "and",
        "assert",
        "bench",
        "build",
        "class",
        "core",
        "def",
        "del",
        "deps",
        "elif",
        "except",
        "examples",
        "finally",
        "from",
        "global",
        "import",
        "incremental",
        "is",
        "lambda",
        "nonlocal",
        "not",
        "or",
        "pass",
        "proc-macro",
        "raise",
        "std",
        "test",
    ];
    let name_of = name.replace('_', "-");
    let is_keyword = syn::parse_str::<syn::Ident>(&name.replace('-', "_")).is_err();
    ensure!(!is_keyword && !TAKEN.contains(&&*name_of) && !taken.contains(&&*name_of), "the name `{name}` is taken");
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
        CRATE.files(name, clone).unwrap_err().to_string()
    }

    /// The crates in `examples` are built and tested with the workspace. They are the templates, with paths.
    #[test]
    fn the_examples_are_the_templates() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        let clone = examples.join("..");
        for (template, name) in [(CRATE, "first"), (PYTHON, "first-python")] {
            for (file, text) in template.files(name, Some(&clone)).unwrap() {
                let found = fs::read_to_string(examples.join(name).join(file)).unwrap_or_default();
                // The example alone is never published, and the book shows a part of it. The profiles of a workspace
                // are those of its root.
                let of_template = |line: &&str| !line.starts_with("// ANCHOR") && *line != "publish = false\n";
                let found: String = found.split_inclusive('\n').filter(of_template).collect();
                let text = text.replace(&*clone.to_string_lossy(), "../..");
                let text = text.split("\n# The tile compiler runs").next().unwrap_or_default();
                assert_eq!(found, text, "examples/{name}/{file}");
            }
        }
    }

    #[test]
    fn a_crate_has_its_own_name() {
        const VERSION: &str = concat!(" = { version = \"", env!("CARGO_PKG_VERSION"), "\" }");
        for template in [CRATE, PYTHON] {
            let made = template.files("my-kernels", None).unwrap();
            for (file, text) in &made {
                assert!(!text.contains("first-") && !text.contains("first_"), "{file}: {text}");
                assert!(!text.contains("version = \"*\""), "{text}");
            }
            let of = |file: &str| &made.iter().find(|(f, _)| *f == file).unwrap().1;
            assert!(of("Cargo.toml").contains("name = \"my-kernels\"\n"), "{}", of("Cargo.toml"));
            assert!(of("Cargo.toml").contains(&format!("tilewright{VERSION}")), "{}", of("Cargo.toml"));
            assert!(of("README.md").starts_with("# my-kernels\n"));
        }
        let of = |template: Template, file: &str| {
            template.files("my-kernels", None).unwrap().into_iter().find(|(f, _)| *f == file).unwrap().1
        };
        assert!(of(CRATE, "src/main.rs").contains("use my_kernels::scaled_sum;"));
        assert!(of(PYTHON, "src/lib.rs").contains("fn my_kernels(m: "));
        assert!(of(PYTHON, "pyproject.toml").contains("module-name = \"my_kernels\""));
        assert!(of(PYTHON, "Cargo.toml").contains(&format!("tilewright-python{VERSION}")));
    }

    #[test]
    fn names_that_are_none() {
        for name in ["", "1st", "-a", "a-", "a b", "a/b", "../a", "ä"] {
            assert!(error(name, None).contains("is no name of a package"), "{name}");
        }
        for name in ["test", "core", "tilewright", "tilewright_bench", "proc_macro"] {
            assert!(error(name, None).ends_with("is taken"), "{name}");
        }
        for name in ["match", "lambda", "class", "axpy", "scaled_sum", "pyo3", "numpy", "tilewright-python"] {
            let e = PYTHON.files(name, None).unwrap_err().to_string();
            assert!(e.ends_with("is taken"), "{name}: {e}");
        }
        assert!(error("a", Some(Path::new("/nowhere"))).contains("/nowhere is no clone of Tilewright"));
    }

    #[test]
    fn all_files_or_none() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a");
        let made = CRATE.files("a", None).unwrap();
        create(&folder, &made).unwrap();
        assert_eq!(fs::read_to_string(folder.join("build.rs")).unwrap(), CRATE.files[1].1);
        assert!(create(&folder, &made).unwrap_err().to_string().ends_with("exists: nothing was written"));
        // A file in the way of a folder.
        let e = create(&dir.path().join("b"), &[("x", String::new()), ("x/y", String::new())]).unwrap_err();
        assert!(e.to_string().starts_with("cannot create"), "{e}");
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["a"]);
    }
}
