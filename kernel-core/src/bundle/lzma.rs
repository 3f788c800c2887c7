//! LZMA streams, of bundles and of archives of compiled kernels.

use std::io::{self, Read, Write};

use lzma_rust2::{LzmaOptions, LzmaReader, LzmaWriter};

/// Bytes of the largest dictionary that is written.
const MAX_DICTIONARY: usize = 8 << 20;

/// Compresses bytes by a preset of LZMA, 0 to 9. Errors: memory is short.
pub fn compress(plain: &[u8], preset: u32) -> io::Result<Vec<u8>> {
    let mut options = LzmaOptions::with_preset(preset);
    // Unpacking allocates the dictionary: it is as large as the bytes, where that is not too much.
    options.dict_size = plain.len().clamp(1 << 12, MAX_DICTIONARY) as u32;
    let mut to = LzmaWriter::new_use_header(vec![], &options, Some(plain.len() as u64))?;
    to.write_all(plain)?;
    to.finish()
}

/// None if it is no stream of just so many bytes, or unpacking takes a larger dictionary.
pub fn decompress(packed: &[u8], plain: usize, max_dictionary_kib: u32) -> Option<Vec<u8>> {
    let from = LzmaReader::new_mem_limit(packed, max_dictionary_kib, None).ok()?;
    let mut out = vec![];
    from.take(plain as u64 + 1).read_to_end(&mut out).ok()?;
    (out.len() == plain).then_some(out)
}
