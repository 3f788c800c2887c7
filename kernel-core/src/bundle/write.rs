//! The writer, for `kernel-build`.

use super::{HEADER, MAGIC, Usage, VERSION, checksum};

/// A bundle to be written.
#[derive(Clone, Debug, Default)]
pub struct BundleData {
    pub kernel: String,
    pub fingerprint: String,
    pub entries: Vec<EntryData>,
}

#[derive(Clone, Debug, Default)]
pub struct EntryData {
    pub name: String,
    pub threads: u32,
    /// Dynamic shared memory a launch has to ask for.
    pub shared_bytes: u32,
    pub min_blocks: u32,
    /// Thread blocks of a program: a launch asks for so many times the grid.
    pub ctas: u32,
    pub images: Vec<ImageData>,
}

#[derive(Clone, Debug, Default)]
pub struct ImageData {
    pub target: String,
    pub ptx: String,
    pub cubin: Option<Vec<u8>>,
    pub usage: Option<Usage>,
}

impl BundleData {
    pub fn to_bytes(&self) -> Vec<u8> {
        let (mut table, mut images) = (Vec::new(), Vec::new());
        string(&mut table, &self.kernel);
        string(&mut table, &self.fingerprint);
        number(&mut table, self.entries.len());
        for e in &self.entries {
            string(&mut table, &e.name);
            for n in [e.threads, e.shared_bytes, e.min_blocks, e.ctas] {
                table.extend(n.to_le_bytes());
            }
            number(&mut table, e.images.len());
            for i in &e.images {
                image(&mut table, &mut images, i);
            }
        }
        let mut out = Vec::with_capacity(HEADER + table.len() + images.len());
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        number(&mut out, table.len());
        out.extend(checksum(&table).to_le_bytes());
        out.extend(table);
        out.extend(images);
        out
    }
}

fn image(table: &mut Vec<u8>, images: &mut Vec<u8>, i: &ImageData) {
    string(table, &i.target);
    table.push(i.usage.is_some() as u8);
    let u = i.usage.unwrap_or_default();
    for n in [u.registers, u.spill_bytes, u.stack_bytes] {
        table.extend(n.to_le_bytes());
    }
    blob(table, images, i.ptx.as_bytes());
    table.push(i.cubin.is_some() as u8);
    if let Some(c) = &i.cubin {
        blob(table, images, c);
    }
}

fn blob(table: &mut Vec<u8>, images: &mut Vec<u8>, plain: &[u8]) {
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(plain, 6);
    number(table, images.len());
    number(table, packed.len());
    number(table, plain.len());
    images.extend(packed);
}

fn string(out: &mut Vec<u8>, s: &str) {
    number(out, s.len());
    out.extend(s.as_bytes());
}

/// A bundle of 4 GiB would be a mistake elsewhere.
fn number(out: &mut Vec<u8>, n: usize) {
    out.extend(u32::try_from(n).expect("a bundle under 4 GiB").to_le_bytes());
}
