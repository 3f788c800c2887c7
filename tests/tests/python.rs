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

/// A folder with the modules of a test, which is removed when dropped.
struct Modules(PathBuf);

impl Modules {
    /// Nothing yet. None without NumPy, where `TILE_ALLOW_NO_NUMPY=1` goes on.
    fn none(name: &str) -> Option<Modules> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let modules = Modules(folder);
        if modules.imports("numpy") {
            return Some(modules);
        }
        let how = "`cargo xtask test workspace` installs it";
        let allowed = std::env::var("TILE_ALLOW_NO_NUMPY").is_ok_and(|v| v == "1");
        assert!(allowed, "python3 has no NumPy: {how}; TILE_ALLOW_NO_NUMPY=1 goes on");
        eprintln!("skipped: python3 has no NumPy: {how}");
        None
    }

    /// The package as a wheel has it.
    fn package(name: &str) -> Option<Modules> {
        let modules = Modules::none(name)?;
        let package = modules.0.join("tilewright");
        fs::create_dir_all(&package).expect("a folder");
        for file in fs::read_dir(wheel().join("python/tilewright")).expect("the sources").flatten() {
            if file.path().is_file() {
                fs::copy(file.path(), package.join(file.file_name())).expect("a copy");
            }
        }
        modules.copy("libtilewright_native.so", "tilewright/_native.abi3.so");
        Some(modules)
    }

    /// Copies a module that cargo has put beside this test as a dependency.
    fn copy(&self, library: &str, to: &str) {
        let exe = std::env::current_exe().expect("this test's path");
        let module = exe.parent().expect("a folder").join(library);
        fs::copy(&module, self.0.join(to)).unwrap_or_else(|e| panic!("{}: {e}", module.display()));
    }

    /// `python3` that finds them, and the packages that `cargo xtask setup` has installed.
    fn python(&self) -> Command {
        let installed = std::env::var_os("TILE_PYTHON_PACKAGES").map(PathBuf::from);
        let path = std::env::join_paths([self.0.clone()].into_iter().chain(installed)).expect("no colons");
        let mut c = Command::new("python3");
        c.env("PYTHONPATH", path).env("PYTHONDONTWRITEBYTECODE", "1").env("JAX_PLATFORMS", "cpu");
        c.env_remove("TILE_BACKEND").env_remove("RUST_LOG");
        c
    }

    fn imports(&self, module: &str) -> bool {
        let out = self.python().args(["-c", &format!("import {module}")]).output();
        out.is_ok_and(|out| out.status.success())
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        // A folder that stays is one of a build.
        let _ = fs::remove_dir_all(&self.0);
    }
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
    let Some(modules) = Modules::package("arrays") else { return };
    let mut c = modules.python();
    c.args(["-m", "unittest", "discover", "--start-directory"]).arg(wheel().join("tests"));
    passes(c);
}

/// The module that `tile new --python` makes, on the CPU and on the emulated SM.
#[test]
fn a_module_of_ones_own() {
    let Some(modules) = Modules::none("own") else { return };
    modules.copy("libfirst_python.so", "first_python.abi3.so");
    for backend in ["cpu", "emulator:3"] {
        let mut c = modules.python();
        c.env("TILE_BACKEND", backend).args(["-m", "unittest", "discover", "--start-directory"]);
        c.arg(root().join("examples/first-python/tests"));
        passes(c);
    }
}

/// Arrays of the host on the emulated SM.
#[test]
fn the_emulated_sm_for_arrays_of_the_host() {
    let Some(modules) = Modules::package("emulator") else { return };
    let mut c = modules.python();
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
}

/// Arrays of a GPU that is the model of the driver, whose streams run in the order of a few seeds.
#[test]
#[cfg(target_os = "linux")]
fn a_gpu_that_is_a_model() {
    let Some(modules) = Modules::package("model") else { return };
    let driver = tilewright_model_driver::library::as_libcuda("python");
    for seed in ["1", "2", "3"] {
        let mut c = modules.python();
        c.env("LD_LIBRARY_PATH", &driver).env("MODEL_DRIVER_SEED", seed).env("TILE_AUTOTUNE", "off");
        c.arg(root().join("tests/python/over_the_model.py"));
        passes(c);
    }
    fs::remove_dir_all(driver).expect("the folder");
}

/// The examples of the package's page and of its modules.
#[test]
fn examples_of_the_page() {
    let Some(modules) = Modules::package("page") else { return };
    let page = fs::read_to_string(wheel().join("README.md")).expect("the page");
    let examples: Vec<&str> = page.split("```python\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        if example.contains("torch") && !modules.imports("torch") {
            eprintln!("skipped: python3 has no PyTorch");
            continue;
        }
        let mut c = modules.python();
        c.args(["-c", example]);
        passes(c);
    }
    let mut c = modules.python();
    c.args([
        "-c",
        "import doctest, tilewright; failed, tried = doctest.testmod(tilewright); assert tried and not failed",
    ]);
    passes(c);
}

/// Every public name has a declaration, and every declaration a function that takes the same arguments and has the same
/// documentation.
#[test]
fn declarations_are_those_of_the_module() {
    let Some(modules) = Modules::package("declarations") else { return };
    let mut c = modules.python();
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
        defaults = [ast.literal_eval(d) for d in a.defaults + a.kw_defaults if d is not None]
        assert defaults == [x.default for x in p if x.default is not x.empty], name
    if "Error" not in name:
        here, there = ((text or "").split() for text in (ast.get_docstring(node), getattr(_native, name).__doc__))
        assert here and here == there, name
"#,
    ]);
    c.arg(wheel().join("python/tilewright/_native.pyi"));
    passes(c);
}
