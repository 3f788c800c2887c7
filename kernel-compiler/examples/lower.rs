//! `lower FILE.rs`: writes the device source of every kernel in the file to `KERNEL.rs` in the current folder.

fn main() {
    let path = std::env::args().nth(1).expect("usage: lower FILE.rs");
    let text = std::fs::read_to_string(&path).expect("a readable file");
    for found in kernel_compiler::module::file(&text) {
        let d = kernel_compiler::diag::Diagnostics::default();
        let unit = found.parse(&d).and_then(|k| kernel_compiler::emit::device::unit(&k, &d));
        for e in d.take() {
            println!("{path}:{}: {}", e.span.start().line, e.message);
        }
        if let Ok(u) = unit {
            std::fs::write(format!("{}.rs", u.kernel), &u.source).expect("a writable folder");
            println!("{}: {} entries, {} lines", u.kernel, u.entries.len(), u.source.lines().count());
        }
    }
}
