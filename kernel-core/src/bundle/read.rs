//! The reader, for the host.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Arch, BundleError, HEADER, MAGIC, Suffix, Usage, VERSION, checksum, lzma};

/// Plain bytes of a chunk that are unpacked: a table that says more is damaged.
const MAX_PLAIN: usize = 256 << 20;
/// Memory that unpacking may take for a dictionary.
const MAX_DICTIONARY_KIB: u32 = 16 << 10;

/// A bundle's table over the bytes it was read from. [`BundleData`](super::BundleData) has an example.
#[derive(Clone, Debug)]
pub struct Bundle<'a> {
    kernel: &'a str,
    fingerprint: &'a str,
    entries: Vec<Entry<'a>>,
    chunks: Vec<Chunk<'a>>,
    last: Last,
}

#[derive(Clone, Copy, Debug)]
struct Chunk<'a> {
    packed: &'a [u8],
    plain: usize,
}

/// The chunk of a bundle that was unpacked last, with its number: who asks for one image often asks for those beside
/// it.
type Last = Arc<Mutex<Option<(usize, Arc<[u8]>)>>>;

/// One entry point, and the parameters of its launch. [`BundleData`](super::BundleData) has an example.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The name of the entry in the PTX.
    pub name: &'a str,
    /// Threads of a thread block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a thread block.
    pub shared_bytes: u32,
    /// Thread blocks that are resident on a multiprocessor at least.
    pub min_blocks: u32,
    /// Thread blocks of a program, in a cluster: the grid of a launch is as many times as wide.
    pub ctas: u32,
    images: Vec<Stored<'a>>,
}

#[derive(Clone, Debug)]
struct Stored<'a> {
    name: &'a str,
    arch: Arch,
    usage: Option<Usage>,
    ptx: Place,
    cubin: Option<Place>,
}

/// The place of code in the plain bytes of a chunk.
#[derive(Clone, Copy, Debug)]
struct Place {
    chunk: usize,
    start: usize,
    len: usize,
    sum: u32,
}

/// One entry compiled for one target. Its code is unpacked when it is asked for.
/// [`BundleData`](super::BundleData) has an example.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// The target, as in `sm_90a`.
    pub target: &'a str,
    /// The resources that `ptxas` reported, where there was one.
    pub usage: Option<Usage>,
    ptx: Code<'a>,
    cubin: Option<Code<'a>>,
}

#[derive(Clone, Debug)]
struct Code<'a> {
    chunk: Chunk<'a>,
    place: Place,
    last: Last,
}

impl<'a> Image<'a> {
    /// The PTX. Errors: [`BundleError::Damaged`].
    pub fn ptx(&self) -> Result<String, BundleError> {
        String::from_utf8(self.ptx.unpack()?).map_err(|_| BundleError::Damaged { what: "PTX is not text" })
    }

    /// Machine code that was assembled ahead of time; none where the device asked for does not run it. Its toolkit may
    /// be newer than the driver, so a failure to load it means: use the PTX. Errors: [`BundleError::Damaged`].
    pub fn cubin(&self) -> Result<Option<Vec<u8>>, BundleError> {
        self.cubin.as_ref().map(Code::unpack).transpose()
    }

    /// The same image without machine code.
    pub fn without_cubin(self) -> Self {
        Image { cubin: None, ..self }
    }
}

impl Code<'_> {
    fn unpack(&self) -> Result<Vec<u8>, BundleError> {
        let Place { chunk, start, len, sum } = self.place;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.as_ref().filter(|(of, _)| *of == chunk).map(|(_, plain)| plain.clone());
        let plain = match known {
            Some(plain) => plain,
            None => lzma::decompress(self.chunk.packed, self.chunk.plain, MAX_DICTIONARY_KIB).ok_or(DAMAGED)?.into(),
        };
        let code = plain[start..start + len].to_vec();
        *last = Some((chunk, plain));
        if checksum(&code) == sum { Ok(code) } else { Err(DAMAGED) }
    }
}

const DAMAGED: BundleError = BundleError::Damaged { what: "an image does not unpack" };

impl<'a> Bundle<'a> {
    /// Reads the table. Chunks are not looked at. Errors: [`BundleError::NotABundle`], [`BundleError::Version`],
    /// [`BundleError::Damaged`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BundleError> {
        if bytes.len() < HEADER || !bytes.starts_with(MAGIC) {
            return Err(BundleError::NotABundle);
        }
        let mut header = Cursor(&bytes[MAGIC.len()..HEADER]);
        let found = header.u32()?;
        if found != VERSION {
            return Err(BundleError::Version { found });
        }
        let (table_len, sum) = (header.len()?, header.u32()?);
        let rest = &bytes[HEADER..];
        let (table, mut body) = rest.split_at_checked(table_len).ok_or(CUT)?;
        if checksum(table) != sum {
            return Err(BundleError::Damaged { what: "its table does not match its checksum" });
        }
        let mut t = Cursor(table);
        let (kernel, fingerprint) = (t.str()?, t.str()?);
        let lengths = t.list(|t| Ok((t.len()?, t.len()?)))?;
        let mut chunks = vec![];
        for (stored, plain) in lengths {
            let packed;
            (packed, body) = body.split_at_checked(stored).ok_or(CUT)?;
            chunks.push(Chunk { packed, plain });
        }
        let entries = t.list(|t| t.entry(&chunks))?;
        if !t.0.is_empty() {
            return Err(BundleError::Damaged { what: "its table is too long" });
        }
        Ok(Bundle { kernel, fingerprint, entries, chunks, last: Last::default() })
    }

    /// The name of the kernel.
    pub fn kernel(&self) -> &'a str {
        self.kernel
    }

    /// The fingerprint of the kernel's tokens, on which the macro and the build script agree.
    pub fn fingerprint(&self) -> &'a str {
        self.fingerprint
    }

    /// All entries.
    pub fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    /// The entry of this name. Errors: [`BundleError::NoEntry`].
    pub fn entry(&self, name: &str) -> Result<&Entry<'a>, BundleError> {
        self.entries
            .iter()
            .find(|e| e.name == name)
            .ok_or_else(|| BundleError::NoEntry { kernel: self.kernel.into(), entry: name.into() })
    }

    /// The best image for a device of this compute capability: code for exactly this device first, then code for the
    /// highest architecture it can run. Errors: [`BundleError::NoTarget`].
    pub fn image_for(&self, entry: &Entry<'a>, sm: (u32, u32)) -> Result<Image<'a>, BundleError> {
        let best = entry.best_for(sm).ok_or_else(|| BundleError::NoTarget {
            kernel: self.kernel.into(),
            built: entry.targets().map(str::to_owned).collect(),
            major: sm.0,
            minor: sm.1,
        })?;
        Ok(self.image(best, best.arch.cubin_runs_on(sm)))
    }

    /// The other images that a device of this compute capability runs, the best first: for a driver that is too old for
    /// the PTX of [`Bundle::image_for`].
    pub fn others_for<'s>(&'s self, entry: &'s Entry<'a>, sm: (u32, u32)) -> impl Iterator<Item = Image<'a>> + 's {
        let mut all: Vec<_> = entry.all_for(sm).collect();
        all.sort_by_key(|i| core::cmp::Reverse(i.rank()));
        all.into_iter().skip(1).map(move |i| self.image(i, i.arch.cubin_runs_on(sm)))
    }

    /// The image made for this very target, on any device: for inspection.
    pub fn image_of(&self, entry: &Entry<'a>, target: &str) -> Option<Image<'a>> {
        entry.images.iter().find(|i| i.name == target).map(|i| self.image(i, true))
    }

    fn image(&self, i: &Stored<'a>, with_cubin: bool) -> Image<'a> {
        let packed = |place: Place| Code { chunk: self.chunks[place.chunk], place, last: self.last.clone() };
        Image { target: i.name, usage: i.usage, ptx: packed(i.ptx), cubin: i.cubin.filter(|_| with_cubin).map(packed) }
    }
}

impl Stored<'_> {
    /// The greatest is the best.
    fn rank(&self) -> (Suffix, Arch) {
        (self.arch.suffix, self.arch)
    }
}

impl<'a> Entry<'a> {
    /// The targets it was built for.
    pub fn targets(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.images.iter().map(|i| i.name)
    }

    fn all_for(&self, sm: (u32, u32)) -> impl Iterator<Item = &Stored<'a>> {
        self.images.iter().filter(move |i| i.arch.ptx_runs_on(sm))
    }

    fn best_for(&self, sm: (u32, u32)) -> Option<&Stored<'a>> {
        self.all_for(sm).max_by_key(|i| i.rank())
    }

    /// The resources that `ptxas` reported of the image for a device of this compute capability.
    pub fn usage_for(&self, sm: (u32, u32)) -> Option<Usage> {
        self.best_for(sm)?.usage
    }

    /// The resources that `ptxas` reported of the entry for this target.
    pub fn usage(&self, target: &str) -> Option<Usage> {
        self.images.iter().find(|i| i.name == target)?.usage
    }
}

const CUT: BundleError = BundleError::Damaged { what: "it ends too early" };

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn bytes(&mut self, n: usize) -> Result<&'a [u8], BundleError> {
        let (head, tail) = self.0.split_at_checked(n).ok_or(CUT)?;
        self.0 = tail;
        Ok(head)
    }

    fn u32(&mut self) -> Result<u32, BundleError> {
        let b = self.bytes(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn len(&mut self) -> Result<usize, BundleError> {
        self.u32().map(|n| n as usize)
    }

    fn flag(&mut self) -> Result<bool, BundleError> {
        Ok(self.bytes(1)?[0] != 0)
    }

    fn str(&mut self) -> Result<&'a str, BundleError> {
        let n = self.len()?;
        core::str::from_utf8(self.bytes(n)?).map_err(|_| BundleError::Damaged { what: "a name is not text" })
    }

    /// Grows with the entries that were read, so that a wrong count cannot allocate all memory.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, BundleError>) -> Result<Vec<T>, BundleError> {
        let n = self.len()?;
        let mut out = Vec::new();
        for _ in 0..n {
            out.push(item(self)?);
        }
        Ok(out)
    }

    fn entry(&mut self, chunks: &[Chunk]) -> Result<Entry<'a>, BundleError> {
        Ok(Entry {
            name: self.str()?,
            threads: self.u32()?,
            shared_bytes: self.u32()?,
            min_blocks: self.u32()?,
            ctas: self.nonzero("an entry has no thread blocks")?,
            images: self.list(|t| t.stored(chunks))?,
        })
    }

    fn nonzero(&mut self, what: &'static str) -> Result<u32, BundleError> {
        match self.u32()? {
            0 => Err(BundleError::Damaged { what }),
            n => Ok(n),
        }
    }

    fn stored(&mut self, chunks: &[Chunk]) -> Result<Stored<'a>, BundleError> {
        let name = self.str()?;
        let arch = name.parse().map_err(|()| BundleError::Damaged { what: "a target has no meaning" })?;
        let has_usage = self.flag()?;
        let usage = Usage { registers: self.u32()?, spill_bytes: self.u32()?, stack_bytes: self.u32()? };
        let ptx = self.place(chunks)?;
        let cubin = if self.flag()? { Some(self.place(chunks)?) } else { None };
        Ok(Stored { name, arch, usage: has_usage.then_some(usage), ptx, cubin })
    }

    fn place(&mut self, chunks: &[Chunk]) -> Result<Place, BundleError> {
        let p = Place { chunk: self.len()?, start: self.len()?, len: self.len()?, sum: self.u32()? };
        let chunk = chunks.get(p.chunk).filter(|c| c.plain <= MAX_PLAIN).ok_or(CUT)?;
        match p.start.checked_add(p.len) {
            Some(end) if end <= chunk.plain => Ok(p),
            _ => Err(CUT),
        }
    }
}
