//! `lower FILE.rs`: writes the device source of every kernel in the file to `KERNEL.rs`, or `KERNEL.TARGET.rs`, in the
//! current folder.

fn main() {
    let path = std::env::args().nth(1).expect("usage: lower FILE.rs");
    let text = std::fs::read_to_string(&path).expect("a readable file");
    let mut libraries = tilewright_compiler::Libraries::default();
    // Of the files beside it.
    let folder = std::path::Path::new(&path).parent().expect("a file has a folder");
    for file in
        std::fs::read_dir(if folder.as_os_str().is_empty() { ".".as_ref() } else { folder }).expect("a readable folder")
    {
        let file = file.expect("an entry").path();
        if let Ok(text) = std::fs::read_to_string(&file) {
            libraries.add(tilewright_compiler::Source {
                file: &folder.join(file.file_name().expect("a name")),
                text: &text,
            });
        }
    }
    let source = tilewright_compiler::Source { file: path.as_ref(), text: &text };
    libraries.missing(source).iter().for_each(|m| println!("{path}: {m}"));
    for found in tilewright_compiler::module::file(source, &libraries) {
        let d = tilewright_compiler::diag::Diagnostics::default();
        let units = tilewright_compiler::units_of(found, tilewright_compiler::Configs::All, &d);
        for e in d.take() {
            println!("{path}:{}: {}", e.span.first.start().line, e);
        }
        for u in units.into_iter().flatten() {
            let target = u.only.map(|t| format!(".{t}")).unwrap_or_default();
            std::fs::write(format!("{}{target}.rs", u.kernel), &u.source).expect("a writable folder");
            println!("{}{target}: {} entries, {} lines", u.kernel, u.entries.len(), u.source.lines().count());
            u.entries.iter().for_each(|e| {
                println!(
                    "  {} threads {} shared {} maps {} blocks {}",
                    e.name, e.threads, e.shared_bytes, e.maps, e.min_blocks
                )
            });
        }
    }
}
