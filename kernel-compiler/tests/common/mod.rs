//! Kernels' text to what the phases make of it.
#![allow(dead_code)]

use kernel_compiler::diag::Diagnostics;
use kernel_compiler::ir::walk::walk;
use kernel_compiler::ir::{Address, Func, Op, Stmt, StmtKind, Value};

/// The first instance of the only kernel in a text.
pub fn func(text: &str) -> Func {
    let d = Diagnostics::default();
    let found = kernel_compiler::module::file(text, &Default::default()).into_iter().next().expect("a kernel");
    let kernel = found.parse(&d).map_err(|_| d.take()).expect("parses").swap_remove(0);
    let instances = kernel.instances();
    let i = &instances[0];
    kernel_compiler::driver::instance(&kernel, &i.types, i.config, &d).map_err(|_| d.take()).expect("infers")
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
    let place = |s: &Stmt| -> Option<Address> {
        match &s.kind {
            StmtKind::Store { place, .. } => Some(place.clone()),
            StmtKind::Let(v) => match f.op(*v) {
                Op::Load { place, .. } => Some(place.clone()),
                _ => None,
            },
            _ => None,
        }
    };
    walk(&f.body).filter_map(place).map(|p| p.index()).collect()
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
