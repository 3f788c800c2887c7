//! `show FILE.rs KERNEL STAGE [VARIANT]`: prints a stage of the first instance of a kernel, of the variant `general`
//! unless another one is named. The output of `block_pointers` and of the stages before it is a start for a file test.

use tilewright_compiler::variant::Variant;
use tilewright_compiler::{Libraries, Stage, show};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, kernel, stage, variant @ ..] = &args[..] else { panic!("usage: show FILE.rs KERNEL STAGE [VARIANT]") };
    let text = std::fs::read_to_string(path).expect("a readable file");
    let stage = Stage::ALL.into_iter().find(|s| s.name() == stage).expect("a stage");
    let variant = variant.first().map_or("general", String::as_str);
    let variant = Variant::all().find(|v| v.name() == variant).expect("a variant");
    match show(&*text, &Libraries::default(), kernel, None, None, variant, stage) {
        Ok(text) => print!("{text}"),
        Err(e) => eprintln!("{e}"),
    }
}
