//! The writer, for `kernel-build`.

use super::{HEADER, MAGIC, Usage, VERSION, checksum};

/// A bundle to be written.
///
/// # Examples
/// ```
/// use tilewright_core::bundle::{Bundle, BundleData, EntryData, ImageData};
///
/// let image = ImageData { target: "sm_80".into(), ptx: ".version 8.0".into(), ..ImageData::default() };
/// let entry = EntryData { name: "axpy_0".into(), threads: 128, ctas: 1, images: vec![image], ..EntryData::default() };
/// let data = BundleData { kernel: "axpy".into(), fingerprint: "1f2e".into(), entries: vec![entry] };
///
/// let bytes = data.to_bytes();
/// let bundle = Bundle::parse(&bytes)?;
/// assert_eq!((bundle.kernel(), bundle.entries().len()), ("axpy", 1));
/// let image = bundle.image_for(bundle.entry("axpy_0")?, (9, 0))?;
/// assert_eq!((image.target, &*image.ptx), ("sm_80", ".version 8.0"));
/// # Ok::<(), tilewright_core::bundle::BundleError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct BundleData {
    /// The name of the kernel.
    pub kernel: String,
    /// The fingerprint of the kernel's tokens.
    pub fingerprint: String,
    /// The entries, in any order.
    pub entries: Vec<EntryData>,
}

/// An entry of a bundle to be written; [`Entry`](super::Entry) has it when it is read. [`BundleData`] has an example.
#[derive(Clone, Debug, Default)]
pub struct EntryData {
    /// The name of the entry in the PTX.
    pub name: String,
    /// Threads of a thread block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a thread block.
    pub shared_bytes: u32,
    /// Thread blocks that are resident on a multiprocessor at least.
    pub min_blocks: u32,
    /// Thread blocks of a program, in a cluster: at least 1.
    pub ctas: u32,
    /// The code, for each target.
    pub images: Vec<ImageData>,
}

/// The code of an entry for one target, to be written; [`Image`](super::Image) has it when it is read.
/// [`BundleData`] has an example.
#[derive(Clone, Debug, Default)]
pub struct ImageData {
    /// The target, as in `sm_90a`.
    pub target: String,
    /// The PTX.
    pub ptx: String,
    /// Machine code for the target, where `ptxas` was found.
    pub cubin: Option<Vec<u8>>,
    /// The resources that `ptxas` reported.
    pub usage: Option<Usage>,
}

impl BundleData {
    /// The bytes of the bundle.
    ///
    /// # Panics
    /// The bundle is larger than 4 GiB.
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
