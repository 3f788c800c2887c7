//! The files of `tile profile --trace`: compiled entries with tracing, and the output of their launches. A file is a
//! list of named parts.
//!
//! ```text
//! magic "TILETRC1" | parts u32 | of each: length of its name u32, name, length u64, bytes
//! ```
//! Integers are little-endian. Reading any bytes gives parts or a message, never a panic.

const MAGIC: &[u8; 8] = b"TILETRC1";

/// A part of a file: a name and its bytes.
pub type Part = (String, Vec<u8>);

/// The beginning of the name of a part that is the bundle of an entry; the entry's name follows.
pub const BUNDLE: &str = "bundle ";
/// The name of the part with the facts of a launch, in JSON.
pub const LAUNCH: &str = "launch";
/// The name of the part with the array `tile_trace` as a launch left it.
pub const ARRAY: &str = "array";

/// The bytes of a file with these parts.
///
/// # Examples
/// ```
/// use tilewright_core::trace_file::{read, write};
///
/// let parts = vec![("launch".to_string(), b"{}".to_vec()), ("array".to_string(), vec![0; 32])];
/// assert_eq!(read(&write(&parts)), Ok(parts));
/// assert!(read(b"something else").is_err());
/// ```
pub fn write(parts: &[Part]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend((parts.len() as u32).to_le_bytes());
    for (name, bytes) in parts {
        out.extend((name.len() as u32).to_le_bytes());
        out.extend(name.as_bytes());
        out.extend((bytes.len() as u64).to_le_bytes());
        out.extend(bytes);
    }
    out
}

/// The parts of a file. The error is a message.
pub fn read(bytes: &[u8]) -> Result<Vec<Part>, String> {
    let damaged = || "it is damaged".to_string();
    let mut rest = bytes.strip_prefix(MAGIC).ok_or("it is no file of `tile profile --trace` of this version")?;
    let mut take = |n: usize| {
        let (taken, after) = rest.split_at_checked(n).ok_or_else(damaged)?;
        rest = after;
        Ok::<&[u8], String>(taken)
    };
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0usize, |n, &b| n << 8 | usize::from(b));
    let count = number(take(4)?);
    let mut parts = vec![];
    for _ in 0..count {
        let length = number(take(4)?);
        let name = String::from_utf8(take(length)?.to_vec()).map_err(|_| damaged())?;
        let length = number(take(8)?);
        parts.push((name, take(length)?.to_vec()));
    }
    if rest.is_empty() { Ok(parts) } else { Err(damaged()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts that are read are those of the file, to its last byte.
    #[test]
    fn hostile_files_of_traces_are_parts_or_messages() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/trace");
        tilewright_hostile_inputs::attack(std::path::Path::new(corpus), |bytes| {
            if let Ok(parts) = read(bytes) {
                assert_eq!(write(&parts), bytes);
            }
        });
    }

    #[test]
    fn a_file_that_is_cut_or_longer_is_damaged() {
        let whole = write(&[("launch".into(), vec![1, 2, 3]), ("array".into(), vec![])]);
        assert_eq!(read(&whole).expect("it is whole").len(), 2);
        for n in 0..whole.len() {
            assert!(read(&whole[..n]).is_err(), "{n} bytes");
        }
        assert!(read(&[whole.clone(), vec![0]].concat()).is_err());
        // A length beyond the file.
        let mut long = whole;
        long[12] = 255;
        long[15] = 255;
        assert_eq!(read(&long), Err("it is damaged".into()));
    }
}
