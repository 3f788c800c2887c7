//! Inputs that try to break a reader: the files of a corpus, and changed copies of them.
//!
//! A target is a function of bytes that must not panic for any bytes. [`attack`] gives it every file of a corpus
//! folder, then copies of those files with random changes: flipped bits, numbers at the limits, pieces that are cut,
//! repeated or taken from another file. An input that makes the target panic is written to the corpus, where every
//! later run gives it first.
//!
//! Tests change few copies, of one seed. `TILE_HOSTILE_CASES` and `TILE_HOSTILE_SEED` set another number and seed, as
//! `cargo xtask test --long` does.

use fastrand::Rng;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Changed copies in a test that is told no number.
const CASES: u64 = 2000;
/// The largest input.
const MAX_BYTES: usize = 1 << 16;
/// Numbers that readers often get wrong: the ends of ranges, and lengths that overflow when something is added.
const NUMBERS: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 40,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 7,
    u64::MAX,
];

/// Gives a target the files of a corpus and changed copies of them.
///
/// # Panics
/// The target panics, or the corpus has no file. The message names the file that has the input.
pub fn attack(corpus: &Path, target: impl Fn(&[u8])) {
    let files = files(corpus);
    for (name, bytes) in &files {
        if catch_unwind(AssertUnwindSafe(|| target(bytes))).is_err() {
            panic!("the input of {} makes the target panic", corpus.join(name).display());
        }
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse().ok());
    let seed = number("TILE_HOSTILE_SEED").unwrap_or(1);
    let mut rng = Rng::with_seed(seed);
    for case in 0..number("TILE_HOSTILE_CASES").unwrap_or(CASES) {
        let bytes = changed(&files, &mut rng);
        if catch_unwind(AssertUnwindSafe(|| target(&bytes))).is_err() {
            let found = corpus.join(format!("found-{seed}-{case}"));
            let kept = match fs::write(&found, &bytes) {
                Ok(()) => format!("{} has it", found.display()),
                Err(e) => format!("it could not be written to {}: {e}; {bytes:02x?}", found.display()),
            };
            panic!("input {case} of seed {seed} makes the target panic: {kept}");
        }
    }
}

/// The files of a folder by name.
fn files(corpus: &Path) -> Vec<(String, Vec<u8>)> {
    let list = fs::read_dir(corpus).unwrap_or_else(|e| panic!("{}: {e}", corpus.display()));
    let mut files: Vec<_> = list
        .map(|entry| {
            let path = entry.expect("an entry of the corpus").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
        })
        .collect();
    assert!(!files.is_empty(), "{} has no file", corpus.display());
    files.sort();
    files
}

/// A file with one to eight changes.
fn changed(files: &[(String, Vec<u8>)], rng: &mut Rng) -> Vec<u8> {
    let pick = |rng: &mut Rng| &files[rng.usize(..files.len())].1;
    let mut bytes = pick(rng).clone();
    for _ in 0..rng.usize(1..=8) {
        let at = rng.usize(..=bytes.len());
        let some = rng.usize(..=(bytes.len() - at).min(64));
        match rng.u32(..7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.u32(..8),
            1 if at < bytes.len() => bytes[at] = rng.u8(..),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..at + some)),
            4 => {
                let piece = bytes[at..at + some].to_vec();
                bytes.splice(at..at, piece);
            }
            5 => {
                let (number, width) = (NUMBERS[rng.usize(..NUMBERS.len())].to_le_bytes(), 1 << rng.u32(..4));
                let end = (at + width).min(bytes.len());
                bytes.splice(at..end, number[..width].iter().copied());
            }
            _ => {
                let other = pick(rng);
                let from = rng.usize(..=other.len());
                let to = from + rng.usize(..=(other.len() - from).min(64));
                bytes.splice(at..at, other[from..to].iter().copied());
            }
        }
        bytes.truncate(MAX_BYTES);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target that panics at a byte which no file has is found out, and its input is kept.
    #[test]
    fn an_input_that_breaks_a_target_is_found_and_kept() {
        let corpus = std::env::temp_dir().join(format!("tile-hostile-inputs-{}", std::process::id()));
        fs::create_dir_all(&corpus).unwrap();
        fs::write(corpus.join("plain"), [0u8; 40]).unwrap();
        let target = |bytes: &[u8]| assert!(!bytes.contains(&0xff));
        assert!(catch_unwind(|| attack(&corpus, target)).is_err());
        let found = files(&corpus);
        assert!(found.len() == 2 && found.iter().any(|(name, b)| name.starts_with("found-") && b.contains(&0xff)));
        // From now on it comes first.
        let again = catch_unwind(|| attack(&corpus, target)).unwrap_err();
        assert!(again.downcast_ref::<String>().unwrap().contains("found-"));
        fs::remove_dir_all(&corpus).unwrap();
    }
}
