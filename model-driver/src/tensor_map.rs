//! Tensor maps: the rules of `cuTensorMapEncodeTiled`, and whether a launch got the maps of its arrays.
//!
//! The rules are those of the CUDA driver API's reference for maps without interleaving.

use crate::Code;
use tilewright_core::{KernelDesc, MapDesc};

/// The first word of an encoding here. The driver's own encoding is not documented.
const MAGIC: u64 = 0x7E45_09A9_71E5_0001;
const MAX_RANK: usize = 5;

/// A map as the model encodes it: 128 bytes.
pub(crate) type Words = [u64; 16];

/// The fields of a tensor map, the fastest dimension first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Map {
    pub base: u64,
    pub element_bytes: u64,
    pub dims: Vec<u64>,
    /// Bytes, from the second dimension on.
    pub strides: Vec<u64>,
    pub boxed: Vec<u32>,
    pub swizzle: u32,
}

/// The arguments of `cuTensorMapEncodeTiled`.
pub(crate) struct Asked<'a> {
    pub map: usize,
    pub data_type: u32,
    pub base: u64,
    pub dims: &'a [u64],
    pub strides: &'a [u64],
    pub boxed: &'a [u32],
    pub steps: &'a [u32],
    pub interleave: u32,
    pub swizzle: u32,
    pub promotion: u32,
    pub fill: u32,
}

/// Bytes of an element of a `CUtensorMapDataType`. The packed types of 4 and 6 bits are not modeled.
fn element_bytes(data_type: u32) -> Option<u64> {
    [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4].get(data_type as usize).copied()
}

impl Asked<'_> {
    /// The map, or the code with which the driver refuses it.
    pub fn encode(&self) -> Result<Words, Code> {
        const INVALID: Code = 1;
        let rank = self.dims.len();
        let size = element_bytes(self.data_type).ok_or(INVALID)?;
        let pattern = *[u64::MAX, 32, 64, 128].get(self.swizzle as usize).ok_or(INVALID)?;
        let inner = self.boxed.first().map_or(0, |b| u64::from(*b) * size);
        let is_float = (6..=12).contains(&self.data_type);
        let good = (1..=MAX_RANK).contains(&rank)
            && self.map.is_multiple_of(64)
            && self.base != 0
            && self.base.is_multiple_of(16)
            && self.interleave == 0
            && self.promotion <= 3
            && (self.fill == 0 || (self.fill == 1 && is_float))
            && self.dims.iter().all(|d| (1..=1 << 32).contains(d))
            && self.strides.iter().all(|s| s.is_multiple_of(16) && *s < 1 << 40)
            && self.boxed.iter().all(|b| (1..=256).contains(b))
            && self.steps.iter().all(|s| (1..=8).contains(s))
            && inner.is_multiple_of(16)
            && inner <= pattern;
        if !good {
            return Err(INVALID);
        }
        let map = Map {
            base: self.base,
            element_bytes: size,
            dims: self.dims.to_vec(),
            strides: self.strides.to_vec(),
            boxed: self.boxed.to_vec(),
            swizzle: if self.swizzle == 0 { 0 } else { pattern as u32 },
        };
        Ok(map.words())
    }
}

impl Map {
    fn words(&self) -> Words {
        let mut words = [0; 16];
        let rank = self.dims.len() as u64;
        words[..3].copy_from_slice(&[
            MAGIC,
            self.base,
            self.element_bytes << 40 | rank << 32 | u64::from(self.swizzle),
        ]);
        words[3..][..self.dims.len()].copy_from_slice(&self.dims);
        words[8..][..self.strides.len()].copy_from_slice(&self.strides);
        // An extent of 256 is one more than a byte holds.
        for (i, b) in self.boxed.iter().enumerate() {
            words[12] |= u64::from(*b) << (12 * i);
        }
        words
    }

    /// `None` where these words are no map.
    pub fn read(words: &Words) -> Option<Map> {
        let rank = (words[2] >> 32 & 0xFF) as usize;
        if words[0] != MAGIC || !(1..=MAX_RANK).contains(&rank) {
            return None;
        }
        Some(Map {
            base: words[1],
            element_bytes: words[2] >> 40,
            dims: words[3..][..rank].to_vec(),
            strides: words[8..][..rank - 1].to_vec(),
            boxed: (0..rank).map(|i| (words[12] >> (12 * i) & 0xFFF) as u32).collect(),
            swizzle: words[2] as u32,
        })
    }

    /// The map that a kernel takes for these words of arguments.
    pub fn wanted(desc: &KernelDesc, map: &MapDesc, words: &[u64]) -> Map {
        let param = &desc.params[map.param];
        let size = param.dtype.size() as u64;
        let fastest_first = || map.dims.iter().rev();
        Map {
            base: words[param.first_word],
            element_bytes: size,
            dims: fastest_first().map(|d| d.extent.of(words)).collect(),
            strides: fastest_first().skip(1).map(|d| d.stride.of(words) * size).collect(),
            boxed: fastest_first().map(|d| d.boxed).collect(),
            swizzle: map.swizzle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked<'a>(dims: &'a [u64], strides: &'a [u64], boxed: &'a [u32]) -> Asked<'a> {
        let steps = &[1; MAX_RANK][..dims.len().min(MAX_RANK)];
        Asked {
            map: 640,
            data_type: 6,
            base: 4096,
            dims,
            strides,
            boxed,
            steps,
            interleave: 0,
            swizzle: 3,
            promotion: 2,
            fill: 0,
        }
    }

    #[test]
    fn a_map_says_what_it_was_made_of() {
        let words = asked(&[1 << 32, 30, 2], &[256, 1 << 39], &[64, 256, 1]).encode().unwrap();
        let map = Map::read(&words).unwrap();
        assert_eq!((map.base, map.element_bytes, map.swizzle), (4096, 2, 128));
        assert_eq!((map.dims, map.strides), (vec![1 << 32, 30, 2], vec![256, 1 << 39]));
        assert_eq!(map.boxed, [64, 256, 1]);
        assert_eq!(Map::read(&[0; 16]), None);
    }

    #[test]
    fn what_the_driver_refuses_is_refused() {
        let good = || asked(&[64, 30], &[128], &[64, 8]);
        assert!(good().encode().is_ok());
        let bad: [(&str, Asked); 14] = [
            ("an address that is not a multiple of 16", Asked { base: 4104, ..good() }),
            ("a map that is not aligned", Asked { map: 672, ..good() }),
            ("a stride that is not a multiple of 16", asked(&[64, 30], &[136], &[64, 8])),
            ("a stride of 2^40", asked(&[64, 30], &[1 << 40], &[64, 8])),
            ("an extent of none", asked(&[64, 0], &[128], &[64, 8])),
            ("an extent beyond 2^32", asked(&[64, (1 << 32) + 1], &[128], &[64, 8])),
            ("a box of none", asked(&[64, 30], &[128], &[64, 0])),
            ("a box beyond 256", asked(&[64, 300], &[128], &[64, 257])),
            ("a box whose rows are not 16 bytes", asked(&[64, 30], &[128], &[4, 8])),
            ("a box wider than its swizzle", asked(&[128, 30], &[256], &[128, 8])),
            ("a step of 9", Asked { steps: &[1, 9], ..good() }),
            ("an unknown type", Asked { data_type: 16, ..good() }),
            ("no dimension", asked(&[], &[], &[])),
            ("a fill of NaN for integers", Asked { data_type: 1, fill: 1, ..good() }),
        ];
        for (what, asked) in bad {
            assert_eq!(asked.encode(), Err(1), "{what}");
        }
    }
}
