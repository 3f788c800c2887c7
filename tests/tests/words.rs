//! Code and documents use the field's words, not the project's own that they replaced, and American spelling.

use crate::docs::root;
use std::fs;
use std::path::{Path, PathBuf};

/// A replaced word, and the field's.
const REPLACED: [(&str, &str); 60] = [
    ("Act", "AccessKind"),
    ("Alike", "SameArch"),
    ("Channel", "OperandGroup"),
    ("CopyBox", "TmaLoad"),
    ("ForeignMut", "ExternalSliceMut"),
    ("HOW", "DEFECT"),
    ("Homes", "LayoutAssignment"),
    ("LEAST", "MIN"),
    ("LEAST_SAMPLES", "MIN_SAMPLES"),
    ("MAX_SLOTS", "MAX_ARGUMENT_WORDS"),
    ("ONCE", "EVICT_FIRST"),
    ("Packed", "AlignedOperand"),
    ("RING", "BUFFER"),
    ("RING0", "BUFFER0"),
    ("Repack", "AlignOperand"),
    ("Require", "Guard"),
    ("Ring", "CircularBuffer"),
    ("SLOTS_IN_PLACE", "INLINE_ARGUMENT_WORDS"),
    ("STAY", "PERSISTENT"),
    ("Share", "Multicast"),
    ("Stamp", "Epoch"),
    ("StoreBox", "TmaStore"),
    ("Touch", "AccessKind"),
    ("Trouble", "RaceKind"),
    ("Turn", "Rotation"),
    ("Way", "FetchPath"),
    ("WideKernel", "MixedInputKernel"),
    ("admits", "satisfied_by"),
    ("aged", "from_earlier_iteration"),
    ("as_slot", "as_word"),
    ("attention_few", "attention_split_kv"),
    ("attention_few_128", "attention_split_kv_128"),
    ("attention_few_64", "attention_split_kv_64"),
    ("box_store", "tma_store"),
    ("choose_among", "select_among"),
    ("copy_box", "tma_load"),
    ("copy_box_to", "tma_load_multicast"),
    ("depth_first", "k_major"),
    ("double_words", "aligned_8"),
    ("early_params", "pdl_params"),
    ("end_part", "end_partial"),
    ("groups_general", "wgmma_cp_async_general"),
    ("is_last_part", "is_last_partial"),
    ("late0", "in_flight0"),
    ("launch_early", "launch_pdl"),
    ("matmul_f32_mixed", "matmul_f32_3xtf32"),
    ("matmul_f32_parts", "matmul_f32_3xtf32_presplit"),
    ("matmul_shared", "stream_k"),
    ("owed", "pending"),
    ("place_with", "context_with"),
    ("repack", "align_operand"),
    ("repack_both", "align_operands"),
    ("ring", "circular buffer"),
    ("rings", "circular buffers"),
    ("split_transposed", "tf32_decompose_transposed"),
    ("store_box", "tma_store"),
    ("store_part", "store_partial"),
    ("sum_of_parts", "sum_of_partials"),
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

/// The names of sources, documents and recorded results end so.
const EXTENSIONS: [&str; 12] = ["rs", "md", "json", "py", "pyi", "h", "c", "toml", "tir", "snap", "stderr", "svg"];

/// The sources, documents and recorded results below a folder, without build products.
pub(crate) fn texts(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                texts(&path, out);
            }
        } else if path.extension().is_some_and(|e| EXTENSIONS.iter().any(|x| e == *x)) && name != "words.rs" {
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
