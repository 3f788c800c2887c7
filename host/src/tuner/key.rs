//! The key of a tuning result: the kernel, and its arguments rounded so that near sizes share a result.
//!
//! Lengths, strides and integer scalars are rounded to powers of two: bucket 0 is the value 0, bucket `b` the values
//! from `2^(b-1)` to `2^b - 1`. GemmShape of views decide how many tiles there are, and so how full the last wave of
//! programs is: their buckets end where tiles do, at powers of two up to 64, at 96, at multiples of 128 up to 4096, and
//! then at eighths of powers of two. Strides that are longer than a sector of the L2 cache, and no multiple of one, are
//! in buckets of their own, 64 higher: tensor maps ask for their rows in four times as many requests. Addresses and
//! floating-point scalars do not count.

use core::fmt::Write;
use core::hash::{BuildHasherDefault, Hasher};
use smallvec::{SmallVec, smallvec};
use tilewright_core::{DType, INLINE_ARGUMENT_WORDS, KernelDesc, ParamKind};

/// One byte for each argument word, 0 for words that do not count.
pub(crate) type Buckets = SmallVec<[u8; INLINE_ARGUMENT_WORDS]>;

/// Tells apart calls that different code serves: the first configuration that can run a call, and by which variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kind(u32);

impl Kind {
    /// No configuration can run the call.
    pub(crate) const NONE: Kind = Kind(u32::MAX);

    #[inline]
    pub(crate) fn new(config: usize, variant: usize) -> Kind {
        Kind((config as u32) << 8 | variant as u32)
    }

    /// `v1`, or `c2v0` where the first configurations cannot run.
    pub(crate) fn text(self) -> String {
        match (self, self.0 >> 8, self.0 & 255) {
            (Kind::NONE, ..) => "none".into(),
            (_, 0, variant) => format!("v{variant}"),
            (_, config, variant) => format!("c{config}v{variant}"),
        }
    }
}

#[inline]
pub(crate) const fn bucket(v: u64) -> u8 {
    (64 - v.leading_zeros()) as u8
}

/// Of an extent.
#[inline]
pub const fn extent_bucket(v: u64) -> u8 {
    const TILE: u64 = 128;
    match v {
        0..=1 => v as u8,
        2..=64 => 1 + bucket(v - 1),
        65..=96 => 8,
        97..=4096 => 8 + v.div_ceil(TILE) as u8,
        _ => {
            // From 32 tiles on.
            let last = if v <= 1 << 31 { (v - 1) / TILE } else { (1 << 24) - 1 };
            let octave = last.ilog2() as u8;
            41 + (octave - 5) * 8 + (last >> (octave - 3) & 7) as u8
        }
    }
}

/// Of a stride, in elements of that many bytes, a power of two.
#[inline]
pub(crate) const fn stride_bucket(v: u64, size: usize) -> u8 {
    bucket(v) + if in_sectors(v, size) { 0 } else { 64 }
}

/// Whether rows that are so far apart, if longer than a sector of the L2 cache, all begin where the first does in one.
/// Of others tensor maps ask for 32 bytes at a time, in four times as many requests.
#[inline]
pub const fn in_sectors(stride: u64, size: usize) -> bool {
    const SECTOR: u64 = 32;
    // No division: every launch comes by here.
    let sector = SECTOR >> size.trailing_zeros();
    stride <= sector || stride & (sector - 1) == 0
}

#[inline]
pub(crate) fn buckets(desc: &KernelDesc, words: &[u64]) -> Buckets {
    let mut out: Buckets = smallvec![0; words.len()];
    for p in desc.params {
        match p.kind {
            ParamKind::Slice | ParamKind::SliceMut => out[p.first_word + 1] = bucket(words[p.first_word + 1]),
            ParamKind::View { rank } | ParamKind::ViewMut { rank } => {
                for extent in p.first_word + 1..p.first_word + 1 + rank {
                    out[extent] = extent_bucket(words[extent]);
                    out[extent + rank] = stride_bucket(words[extent + rank], p.dtype.size());
                }
            }
            ParamKind::Scalar if !is_float(p.dtype) => out[p.first_word] = bucket(words[p.first_word]),
            _ => {}
        }
    }
    out
}

fn is_float(d: DType) -> bool {
    matches!(d, DType::F32 | DType::F64 | DType::F16 | DType::BF16)
}

/// `relu[f16]`; the name alone without type parameters.
pub fn kernel_label(name: &str, types: &str) -> String {
    if types.is_empty() { name.to_string() } else { format!("{name}[{types}]") }
}

/// The arguments in words: `x:25 v:40x49/13x1 n:4 v0`, a slice by the bucket of its length, a view by those of its
/// extents and strides, an integer scalar by its own, and the kind.
pub(crate) fn signature(desc: &KernelDesc, buckets: &Buckets, kind: Kind) -> String {
    let mut s = String::new();
    for p in desc.params {
        let list =
            |from: usize, n: usize| buckets[from..from + n].iter().map(u8::to_string).collect::<Vec<_>>().join("x");
        let _ = match p.kind {
            ParamKind::Slice | ParamKind::SliceMut => write!(s, "{}:{} ", p.name, buckets[p.first_word + 1]),
            ParamKind::View { rank } | ParamKind::ViewMut { rank } => {
                write!(s, "{}:{}/{} ", p.name, list(p.first_word + 1, rank), list(p.first_word + 1 + rank, rank))
            }
            ParamKind::Scalar if !is_float(p.dtype) => write!(s, "{}:{} ", p.name, buckets[p.first_word]),
            _ => Ok(()),
        };
    }
    s + &kind.text()
}

/// The rounded sizes of an operation and the identity of its list of candidates: `24x25 v0-8c6f3d2b1a097e54`. Lists
/// that come under one name have results of their own. The identity is the same in every process.
pub(crate) fn operation_signature(buckets: &Buckets, candidates: &[&str]) -> String {
    let sizes = buckets.iter().map(u8::to_string).collect::<Vec<_>>().join("x");
    // FNV-1a of the ids, each with a byte behind it that no text has.
    let bytes = candidates.iter().flat_map(|id| id.bytes().chain([0xff]));
    let identity = bytes.fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    format!("{sizes} v0-{identity:016x}")
}

/// How far apart the sizes in two signatures are; `None` where anything but sizes differs.
pub(crate) fn distance(a: &str, b: &str) -> Option<u32> {
    let ((a, va), (b, vb)) = (a.rsplit_once(' ').unwrap_or((a, "")), b.rsplit_once(' ').unwrap_or((b, "")));
    if va != vb {
        return None;
    }
    let pieces = |s: &str| -> (Vec<String>, Vec<u32>) {
        let mut names = Vec::new();
        let mut sizes = Vec::new();
        for word in s.split(' ') {
            let (name, numbers) = word.split_once(':').unwrap_or(("", word));
            names.push(name.to_string());
            sizes.extend(numbers.split(['x', '/']).map(|n| n.parse::<u32>().unwrap_or(0)));
        }
        (names, sizes)
    };
    let ((na, sa), (nb, sb)) = (pieces(a), pieces(b));
    (na == nb && sa.len() == sb.len()).then(|| sa.iter().zip(&sb).map(|(x, y)| x.abs_diff(*y)).sum())
}

/// A fast hash for keys that come from ourselves.
#[derive(Default)]
pub(crate) struct Mix(u64);

pub(crate) type MixState = BuildHasherDefault<Mix>;

impl Hasher for Mix {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for c in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..c.len()].copy_from_slice(c);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u64(&mut self, v: u64) {
        self.0 = (self.0.rotate_left(5) ^ v).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    #[inline]
    fn write_usize(&mut self, v: usize) {
        self.write_u64(v as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Runtime;
    use crate::test_kernel::COPY;

    #[test]
    fn sizes_share_buckets() {
        assert_eq!([0, 1, 2, 3, 4, 7, 8, u64::MAX].map(bucket), [0, 1, 2, 2, 3, 3, 4, 64]);
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 16, 17, 32, 33, 64, 65, 96, 97, 128].map(extent_bucket),
            [0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 7, 8, 8, 9, 9]
        );
        assert_eq!(
            [129, 1000, 1024, 1025, 3000, 3072, 4096, 4097, 4608, 4609, 8192, 8193].map(extent_bucket),
            [10, 16, 16, 17, 32, 32, 40, 41, 41, 42, 48, 49]
        );
        assert_eq!([1 << 31, 1 << 32, u64::MAX].map(extent_bucket), [192; 3]);
        assert_eq!(
            [0, 1, 16, 64, 1000, 1024, 1056, u64::MAX].map(|v| stride_bucket(v, 2)),
            [0, 1, 5, 7, 74, 11, 11, 128]
        );
        assert_eq!([32, 33, 1056].map(|v| stride_bucket(v, 4)), [6, 70, 11]);
        let b = buckets(&COPY, &[4096, 1000, 8192, 512]);
        assert_eq!(b[..4], [0, 10, 0, 10]);
        let kind = Runtime::cpu().0.kind(&COPY, &[4096, 1000, 8200, 512]);
        assert_eq!(signature(&COPY, &b, kind), "x:10 y:10 v1");
    }

    #[test]
    fn near_signatures() {
        assert_eq!(distance("x:25 y:25 v0", "x:23 y:24 v0"), Some(3));
        assert_eq!(distance("x:25 y:25 v0", "x:25 y:25 v1"), None);
        assert_eq!(distance("x:25 y:25 v0", "x:25 z:25 v0"), None);
        assert_eq!(distance("a:12x13/13x1 v0", "a:12x13/14x1 v0"), Some(1));
        assert_eq!(distance("a:12x13 v0", "a:12 v0"), None);
    }

    /// Files of other processes have these.
    #[test]
    fn operations_by_their_candidates() {
        let of = |candidates: &[&str]| operation_signature(&smallvec![24, 25], candidates);
        assert_eq!(of(&["at once", "by halves"]), "24x25 v0-0c44738724154511");
        assert_ne!(of(&["at once", "by halves"]), of(&["by halves", "at once"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a"]), of(&["a", ""]));
    }

    #[test]
    fn kinds() {
        assert_eq!([Kind::new(0, 1), Kind::new(2, 0), Kind::NONE].map(Kind::text), ["v1", "c2v0", "none"]);
    }
}
