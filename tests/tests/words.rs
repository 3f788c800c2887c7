//! Code and documents use the field's words, not the project's own that they replaced, and American spelling.

use crate::docs::root;
use std::fs;
use std::path::{Path, PathBuf};

/// A replaced word, and the field's.
const REPLACED: [(&str, &str); 37] = [
    ("Act", "AccessKind"),
    ("Alike", "SameArch"),
    ("Channel", "OperandGroup"),
    ("ForeignMut", "ExternalSliceMut"),
    ("Homes", "LayoutAssignment"),
    ("LEAST", "MIN"),
    ("LEAST_SAMPLES", "MIN_SAMPLES"),
    ("MAX_SLOTS", "MAX_ARGUMENT_WORDS"),
    ("ONCE", "EVICT_FIRST"),
    ("Packed", "AlignedOperand"),
    ("Require", "Guard"),
    ("Ring", "CircularBuffer"),
    ("SLOTS_IN_PLACE", "INLINE_ARGUMENT_WORDS"),
    ("STAY", "PERSISTENT"),
    ("Share", "Multicast"),
    ("Stamp", "Epoch"),
    ("Touch", "AccessKind"),
    ("Trouble", "RaceKind"),
    ("WideKernel", "MixedInputKernel"),
    ("admits", "satisfied_by"),
    ("aged", "from_earlier_iteration"),
    ("as_slot", "as_word"),
    ("attention_few", "attention_split_kv"),
    ("attention_few_128", "attention_split_kv_128"),
    ("attention_few_64", "attention_split_kv_64"),
    ("box_store", "tma_store"),
    ("choose_among", "select_among"),
    ("launch_early", "launch_pdl"),
    ("matmul_f32_mixed", "matmul_f32_3xtf32"),
    ("matmul_f32_parts", "matmul_f32_3xtf32_presplit"),
    ("matmul_shared", "stream_k"),
    ("owed", "pending"),
    ("repack", "align_operand"),
    ("repack_both", "align_operands"),
    ("split_transposed", "tf32_decompose_transposed"),
    ("tickets", "semaphores"),
    ("warp_specialise", "warp_specialize"),
];

/// British and American spelling.
const SPELLING: [(&str, &str); 18] = [
    ("analyse", "analyze"),
    ("behaviour", "behavior"),
    ("centre", "center"),
    ("colour", "color"),
    ("initialised", "initialized"),
    ("labelled", "labeled"),
    ("neighbour", "neighbor"),
    ("neighbours", "neighbors"),
    ("normalised", "normalized"),
    ("optimise", "optimize"),
    ("optimised", "optimized"),
    ("quantise", "quantize"),
    ("quantised", "quantized"),
    ("quantising", "quantizing"),
    ("serialised", "serialized"),
    ("specialised", "specialized"),
    ("uninitialised", "uninitialized"),
    ("vectorised", "vectorized"),
];

/// The sources and documents below a folder, without build products.
pub(crate) fn texts(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                texts(&path, out);
            }
        } else if path.extension().is_some_and(|e| ["rs", "md", "json", "py"].iter().any(|x| e == *x))
            && name != "words.rs"
        {
            out.push(path);
        }
    }
}

#[test]
fn replaced_words_do_not_come_back() {
    let (mut all, mut found) = (vec![], vec![]);
    texts(&root(), &mut all);
    assert!(all.len() > 500, "{} texts", all.len());
    for path in all {
        let text = fs::read_to_string(&path).expect("a text");
        for (i, line) in text.lines().enumerate() {
            for word in line.split(|c: char| !c.is_alphanumeric() && c != '_') {
                if let Some((_, other)) = REPLACED.iter().chain(&SPELLING).find(|(w, _)| *w == word) {
                    let at = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
                    found.push(format!("{at}:{}: `{word}` is `{other}`", i + 1));
                }
            }
        }
    }
    assert_eq!(found, [""; 0]);
}
