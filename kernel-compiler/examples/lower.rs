//! `lower FILE.rs`: writes the device source of every kernel in the file to `KERNEL.rs`, or `KERNEL.TARGET.rs`, in the current folder.

fn main() {
    let path = std::env::args().nth(1).expect("usage: lower FILE.rs");
    let text = std::fs::read_to_string(&path).expect("a readable file");
    let mut libraries = kernel_compiler::Libraries::default();
    libraries.add(path.as_ref(), &text);
    for found in kernel_compiler::module::file(&text, &libraries) {
        let d = kernel_compiler::diag::Diagnostics::default();
        let units = kernel_compiler::units_of(found, &d);
        for e in d.take() {
            println!("{path}:{}: {}", e.span.start().line, e.message);
        }
        for u in units.into_iter().flatten() {
            let target = u.only.map(|t| format!(".{t}")).unwrap_or_default();
            std::fs::write(format!("{}{target}.rs", u.kernel), &u.source).expect("a writable folder");
            println!("{}{target}: {} entries, {} lines", u.kernel, u.entries.len(), u.source.lines().count());
            u.entries.iter().for_each(|e| println!("  {} threads {} shared {} maps {} blocks {}", e.name, e.threads, e.shared_bytes, e.maps, e.min_blocks));
        }
    }
}
