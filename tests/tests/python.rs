//! The Python package: its functions with arrays of NumPy, JAX and PyTorch, and its types.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

fn wheel() -> PathBuf {
    root().join("wheel")
}

/// A folder for a test's modules.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Copies a module that cargo has put beside this test as a dependency.
fn copy_module(library: &str, to: &Path) {
    let exe = std::env::current_exe().expect("this test's path");
    let module = exe.parent().expect("a folder").join(library);
    fs::copy(&module, to).unwrap_or_else(|e| panic!("{}: {e}", module.display()));
}

/// The package as a wheel has it.
fn package(name: &str) -> PathBuf {
    let folder = folder(name);
    let package = folder.join("tilewright");
    fs::create_dir_all(&package).expect("a folder");
    for file in fs::read_dir(wheel().join("python/tilewright")).expect("the sources").flatten() {
        if file.path().is_file() {
            fs::copy(file.path(), package.join(file.file_name())).expect("a copy");
        }
    }
    copy_module("libtilewright_native.so", &package.join("_native.abi3.so"));
    folder
}

/// `python3` that finds the package, and the packages that `cargo xtask setup` has installed.
fn python(package: &Path) -> Command {
    let installed = std::env::var_os("TILE_PYTHON_PACKAGES").map(PathBuf::from);
    let path = std::env::join_paths([package.to_path_buf()].into_iter().chain(installed)).expect("no colons");
    let mut c = Command::new("python3");
    c.env("PYTHONPATH", path).env("PYTHONDONTWRITEBYTECODE", "1").env("JAX_PLATFORMS", "cpu");
    c.env_remove("TILE_BACKEND").env_remove("RUST_LOG");
    c
}

/// Whether NumPy is here; if not, `TILE_ALLOW_NO_NUMPY=1` goes on without.
fn has_numpy(package: &Path) -> bool {
    if python(package).args(["-c", "import numpy"]).output().is_ok_and(|out| out.status.success()) {
        return true;
    }
    let allowed = std::env::var("TILE_ALLOW_NO_NUMPY").is_ok_and(|v| v == "1");
    assert!(allowed, "python3 has no NumPy: `cargo xtask test workspace` installs it; TILE_ALLOW_NO_NUMPY=1 goes on");
    eprintln!("skipped: python3 has no NumPy: `cargo xtask test workspace` installs it");
    false
}

fn passes(mut command: Command) {
    let out = command.output().expect("python3 runs");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{}\n{}{said}", out.status, String::from_utf8_lossy(&out.stdout));
    assert!(!said.contains("Ran 0 tests"), "{said}");
    eprint!("{said}");
}

#[test]
fn arrays_of_every_library() {
    let package = package("arrays");
    if !has_numpy(&package) {
        return;
    }
    let mut c = python(&package);
    c.args(["-m", "unittest", "discover", "--start-directory"]).arg(wheel().join("tests"));
    passes(c);
    fs::remove_dir_all(package).expect("the folder is ours");
}

/// The module that `tile new --python` makes, on the CPU and on the emulated SM.
#[test]
fn a_module_of_ones_own() {
    let folder = folder("own");
    if !has_numpy(&folder) {
        return;
    }
    copy_module("libfirst_python.so", &folder.join("first_python.abi3.so"));
    for backend in ["cpu", "emulator:3"] {
        let mut c = python(&folder);
        c.env("TILE_BACKEND", backend).args(["-m", "unittest", "discover", "--start-directory"]);
        c.arg(root().join("examples/first-python/tests"));
        passes(c);
    }
    fs::remove_dir_all(folder).expect("the folder is ours");
}

/// Arrays of the host on the emulated SM.
#[test]
fn the_emulated_sm_for_arrays_of_the_host() {
    let package = package("emulator");
    if !has_numpy(&package) {
        return;
    }
    let mut c = python(&package);
    c.env("TILE_BACKEND", "emulator:7").args([
        "-c",
        "
import numpy as np, tilewright as tw
x = np.linspace(-1, 1, 300).astype(np.float32)
assert (tw.relu(x) == np.maximum(x, 0)).all()
assert abs(tw.softmax(x).sum() - 1) < 1e-5
",
    ]);
    passes(c);
    fs::remove_dir_all(package).expect("the folder is ours");
}

/// The examples of the package's page and of its modules.
#[test]
fn examples_of_the_page() {
    let package = package("page");
    if !has_numpy(&package) {
        return;
    }
    let page = fs::read_to_string(wheel().join("README.md")).expect("the page");
    let examples: Vec<&str> = page.split("```python\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        let mut c = python(&package);
        if example.contains("torch") && !c.args(["-c", "import torch"]).output().is_ok_and(|o| o.status.success()) {
            eprintln!("skipped: python3 has no PyTorch");
            continue;
        }
        let mut c = python(&package);
        c.args(["-c", example]);
        passes(c);
    }
    let mut c = python(&package);
    c.args([
        "-c",
        "import doctest, tilewright; failed, tried = doctest.testmod(tilewright); assert tried and not failed",
    ]);
    passes(c);
    fs::remove_dir_all(package).expect("the folder is ours");
}

/// Every public name has a declaration, and every declaration a function that takes the same arguments and has the same
/// documentation.
#[test]
fn declarations_are_those_of_the_module() {
    let package = package("declarations");
    if !has_numpy(&package) {
        return;
    }
    let mut c = python(&package);
    c.args([
        "-c",
        r#"
import ast, inspect, sys
import tilewright as tw
from tilewright import _native
tree = ast.parse(open(sys.argv[1]).read())
declared = {n.name: n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
public = {n for n in dir(_native) if not n.startswith("_")}
assert public == set(declared), public ^ set(declared)
assert set(tw.__all__) == public | {"__version__", "stream"}, set(tw.__all__) ^ public
for name, node in declared.items():
    if isinstance(node, ast.FunctionDef):
        a = node.args
        wanted = [x.arg for x in a.posonlyargs + a.args], [x.arg for x in a.kwonlyargs]
        p = inspect.signature(getattr(_native, name)).parameters.values()
        found = [x.name for x in p if x.kind != x.KEYWORD_ONLY], [x.name for x in p if x.kind == x.KEYWORD_ONLY]
        assert found == wanted, (name, found, wanted)
        defaults = [ast.literal_eval(d) for d in a.defaults + a.kw_defaults]
        assert defaults == [x.default for x in p if x.default is not x.empty], name
    if "Error" not in name:
        here, there = ((text or "").split() for text in (ast.get_docstring(node), getattr(_native, name).__doc__))
        assert here and here == there, name
"#,
    ]);
    c.arg(wheel().join("python/tilewright/_native.pyi"));
    passes(c);
    fs::remove_dir_all(package).expect("the folder is ours");
}
