//! The writer, for `kernel-build`.

use super::{CHUNK, HEADER, MAGIC, Usage, VERSION, checksum, lzma};

/// A bundle to be written.
///
/// # Examples
/// ```
/// use tilewright_core::bundle::{Bundle, BundleData, Compression, EntryData, ImageData};
///
/// let image = ImageData { target: "sm_80".into(), ptx: ".version 8.0".into(), ..ImageData::default() };
/// let entry = EntryData { name: "axpy_0".into(), threads: 128, ctas: 1, images: vec![image], ..EntryData::default() };
/// let data = BundleData { kernel: "axpy".into(), fingerprint: "1f2e".into(), entries: vec![entry] };
///
/// let bytes = data.to_bytes(Compression::Fast);
/// let bundle = Bundle::parse(&bytes)?;
/// assert_eq!((bundle.kernel(), bundle.entries().len()), ("axpy", 1));
/// let image = bundle.image_for(bundle.entry("axpy_0")?, (9, 0))?;
/// assert_eq!((image.target, &*image.ptx()?), ("sm_80", ".version 8.0"));
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

/// How much time compression takes. [`BundleData`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// For a build that is soon made again.
    Fast,
    /// For a release: fewer bytes, which take longer to make.
    Small,
}

impl BundleData {
    /// The bytes of the bundle.
    ///
    /// # Panics
    /// The bundle is larger than 4 GiB.
    pub fn to_bytes(&self, compression: Compression) -> Vec<u8> {
        let mut chunks = Chunks { compression, closed: vec![], open: None };
        let mut targets: Vec<&str> = vec![];
        for i in self.entries.iter().flat_map(|e| &e.images) {
            if !targets.contains(&&*i.target) {
                targets.push(&i.target);
            }
        }
        // The places of each image, in the order in which the table has them. Code that is alike is close together.
        let mut places: Vec<Vec<[Option<Place>; 2]>> =
            self.entries.iter().map(|e| vec![[None; 2]; e.images.len()]).collect();
        for target in targets {
            for kind in [0, 1] {
                for (e, entry) in self.entries.iter().enumerate() {
                    for (i, image) in entry.images.iter().enumerate().filter(|(_, i)| i.target == target) {
                        let code = if kind == 0 { Some(image.ptx.as_bytes()) } else { image.cubin.as_deref() };
                        places[e][i][kind] = code.map(|code| chunks.add(code));
                    }
                }
                chunks.close();
            }
        }
        let mut table = Vec::new();
        string(&mut table, &self.kernel);
        string(&mut table, &self.fingerprint);
        number(&mut table, chunks.closed.len());
        for (packed, plain) in &chunks.closed {
            number(&mut table, packed.len());
            number(&mut table, *plain);
        }
        number(&mut table, self.entries.len());
        for (e, places) in self.entries.iter().zip(places) {
            string(&mut table, &e.name);
            for n in [e.threads, e.shared_bytes, e.min_blocks, e.ctas] {
                table.extend(n.to_le_bytes());
            }
            number(&mut table, e.images.len());
            for (i, [ptx, cubin]) in e.images.iter().zip(places) {
                image(&mut table, i, ptx.expect("every image has PTX"), cubin);
            }
        }
        let mut out = Vec::with_capacity(HEADER + table.len());
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        number(&mut out, table.len());
        out.extend(checksum(&table).to_le_bytes());
        out.extend(table);
        chunks.closed.iter().for_each(|(packed, _)| out.extend(packed));
        out
    }
}

/// The place of code: its chunk, and its offset, length and checksum there.
#[derive(Clone, Copy)]
struct Place([usize; 3], u32);

struct Chunks {
    compression: Compression,
    /// Compressed, with the number of plain bytes.
    closed: Vec<(Vec<u8>, usize)>,
    /// The plain bytes of the chunk that is being filled.
    open: Option<Vec<u8>>,
}

impl Chunks {
    fn add(&mut self, code: &[u8]) -> Place {
        if self.open.as_ref().is_some_and(|open| open.len() + code.len() > CHUNK) {
            self.close();
        }
        let open = self.open.get_or_insert_default();
        let place = Place([self.closed.len(), open.len(), code.len()], checksum(code));
        open.extend(code);
        place
    }

    fn close(&mut self) {
        if let Some(plain) = self.open.take() {
            let preset = match self.compression {
                Compression::Fast => 1,
                Compression::Small => 6,
            };
            let packed = lzma::compress(&plain, preset).expect("a preset that there is, and memory to write to");
            self.closed.push((packed, plain.len()));
        }
    }
}

fn image(table: &mut Vec<u8>, i: &ImageData, ptx: Place, cubin: Option<Place>) {
    string(table, &i.target);
    table.push(i.usage.is_some() as u8);
    let u = i.usage.unwrap_or_default();
    for n in [u.registers, u.spill_bytes, u.stack_bytes] {
        table.extend(n.to_le_bytes());
    }
    place(table, ptx);
    table.push(cubin.is_some() as u8);
    if let Some(cubin) = cubin {
        place(table, cubin);
    }
}

fn place(table: &mut Vec<u8>, Place(numbers, sum): Place) {
    numbers.into_iter().for_each(|n| number(table, n));
    table.extend(sum.to_le_bytes());
}

fn string(out: &mut Vec<u8>, s: &str) {
    number(out, s.len());
    out.extend(s.as_bytes());
}

/// A bundle of 4 GiB would be a mistake elsewhere.
fn number(out: &mut Vec<u8>, n: usize) {
    out.extend(u32::try_from(n).expect("a bundle under 4 GiB").to_le_bytes());
}
