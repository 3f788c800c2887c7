//! The phases of the compiler on the text of kernels.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tilewright_compiler::diag::Diagnostics;
use tilewright_compiler::ir::walk::walk;
use tilewright_compiler::ir::{Address, Func, Op, Stmt, StmtKind, Value};
use tilewright_compiler::{Libraries, Source};

/// The first instance of the only kernel in a text.
pub fn func(text: &str) -> Func {
    let d = Diagnostics::default();
    let found = tilewright_compiler::module::file(text, &Default::default()).into_iter().next().expect("a kernel");
    let kernel = found.parse(&d).map_err(|_| d.take()).expect("parses").swap_remove(0);
    let instances = kernel.instances();
    let i = &instances[0];
    tilewright_compiler::driver::instance(&kernel, &i.choice, i.config, &d).map_err(|_| d.take()).expect("infers")
}

/// A kernel over `x`, `y` and three sizes, with this body.
pub fn kernel(types: &str, body: &str) -> Func {
    func(&format!(
        "#[tile_kernel(grid = [1])]
         pub fn k(x: &[{types}], y: &mut [{types}], idx: &[u32], n: usize, rows: usize, cols: usize) {{ {body} }}"
    ))
}

/// The indices of all loads and stores, in the order of the kernel.
pub fn indices(f: &Func) -> Vec<Value> {
    let ptr = |s: &Stmt| -> Option<Address> {
        match &s.kind {
            StmtKind::Store { ptr, .. } => Some(ptr.clone()),
            StmtKind::Let(v) => match f.op(*v) {
                Op::Load { ptr, .. } => Some(ptr.clone()),
                _ => None,
            },
            _ => None,
        }
    };
    walk(&f.body).filter_map(ptr).map(|p| p.index).collect()
}

/// The masks of all loads and stores that have one.
pub fn masks(f: &Func) -> Vec<Value> {
    let mask = |s: &Stmt| match &s.kind {
        StmtKind::Store { mask, .. } => *mask,
        StmtKind::Let(v) => match f.op(*v) {
            Op::Load { mask, .. } => *mask,
            _ => None,
        },
        _ => None,
    };
    walk(&f.body).filter_map(mask).collect()
}

/// Whether recorded results are to be written anew: `cargo xtask bless` says so.
pub fn bless() -> bool {
    std::env::var_os("TILE_BLESS").is_some()
}

/// The folders with kernels: operations, teaching kernels, and tests of the language.
const FOLDERS: [&str; 3] = ["device-kernels/src", "examples/src", "tests/language/tests"];

/// The files below a folder whose names end so, in order.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut out = vec![];
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for file in fs::read_dir(&folder).expect("the folder is there") {
            let path = file.expect("an entry of the folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

/// Visits every source file with kernels in the repository, with the name of its folder, on all cores.
pub fn for_each_source(visit: impl Fn(&str, Source, &Libraries) + Sync) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    for folder in FOLDERS {
        let read = |path: PathBuf| (path.clone(), fs::read_to_string(path).expect("a readable file"));
        let files: Vec<(PathBuf, String)> = files(&root.join(folder), "rs").into_iter().map(read).collect();
        let todo = Mutex::new(files.iter());
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    // Tokens stay on the thread that made them.
                    let mut libraries = Libraries::default();
                    files.iter().for_each(|(file, text)| libraries.add(Source { file, text }));
                    loop {
                        let next = todo.lock().expect("no panic").next();
                        let Some((file, text)) = next else { break };
                        visit(folder, Source { file, text }, &libraries);
                    }
                });
            }
        });
    }
}
