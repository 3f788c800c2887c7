//! Tensor maps of the emulated SM: the fields that `cuTensorMapEncodeTiled` encodes, in the clear.

/// The first bytes of a map that was made here.
const MARK: u64 = u64::from_le_bytes(*b"tilemap\0");

/// The layout of boxes of a tensor in shared memory. All dimensions are given fastest first.
///
/// # Examples
/// Boxes of 8 x 16 elements of a matrix of 64 x 32 floats:
/// ```
/// use tilewright_core::emulator::TensorMap;
///
/// #[repr(align(16))]
/// struct Matrix([f32; 64 * 32]);
///
/// let matrix = Box::new(Matrix([0.0; 64 * 32]));
/// let map = TensorMap::new(matrix.0.as_ptr() as u64, 4, &[32, 64], &[32 * 4], &[16, 8], 64);
/// assert_eq!(size_of_val(&map), 128);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct TensorMap {
    mark: u64,
    pub(super) base: u64,
    pub(super) dims: [u64; 5],
    /// Of all dimensions but the fastest, in bytes.
    pub(super) strides: [u64; 4],
    pub(super) extents: [u32; 5],
    pub(super) elem_bytes: u32,
    rank: u32,
    pub(super) swizzle: u32,
}

const _: () = assert!(size_of::<TensorMap>() == 128);

impl TensorMap {
    /// A tensor of `dims` elements at `base`, moved in boxes of `box_` elements, with the swizzle pattern of rows of
    /// `swizzle` bytes (0, 32, 64 or 128).
    ///
    /// # Panics
    /// If the driver would refuse to encode it.
    pub fn new(
        base: u64,
        elem_bytes: u32,
        dims: &[u64],
        strides_bytes: &[u64],
        box_: &[u32],
        swizzle: u32,
    ) -> TensorMap {
        let rank = dims.len();
        assert!(
            (1..=5).contains(&rank) && strides_bytes.len() == rank - 1 && box_.len() == rank,
            "ranks 1 to 5, equal"
        );
        assert!(matches!(elem_bytes, 1 | 2 | 4 | 8), "elements of {elem_bytes} bytes");
        assert!(matches!(swizzle, 0 | 32 | 64 | 128), "swizzle of {swizzle} bytes");
        assert!(base % 16 == 0, "the tensor's address is a multiple of 16");
        assert!(strides_bytes.iter().all(|s| s % 16 == 0 && *s < 1 << 40), "strides are multiples of 16, below 2^40");
        assert!(dims.iter().all(|&d| d > 0 && d <= 1 << 32), "extents are 1 to 2^32");
        assert!(box_.iter().all(|&b| b > 0 && b <= 256), "a box has 1 to 256 elements a dimension");
        let row = box_[0] * elem_bytes;
        assert!(row % 16 == 0, "a row of the box has a multiple of 16 bytes");
        assert!(swizzle == 0 || row <= swizzle, "a row of the box fits in the swizzle pattern");
        let mut map = TensorMap {
            mark: MARK,
            base,
            dims: [1; 5],
            strides: [0; 4],
            extents: [1; 5],
            elem_bytes,
            rank: rank as u32,
            swizzle,
        };
        map.dims[..rank].copy_from_slice(dims);
        map.strides[..rank - 1].copy_from_slice(strides_bytes);
        map.extents[..rank].copy_from_slice(box_);
        map
    }

    /// The map at an address, if there is one of that rank.
    ///
    /// # Safety
    /// 128 bytes can be read from an address that is not zero and a multiple of 64.
    pub(super) unsafe fn at(address: u64, rank: usize) -> Result<TensorMap, String> {
        if address == 0 || address % 64 != 0 {
            return Err("the address of its tensor map is zero or no multiple of 64".into());
        }
        // SAFETY: the caller's contract. The address is aligned as the type is, of which all bit patterns are valid.
        let map = unsafe { *(address as *const TensorMap) };
        if map.mark != MARK {
            return Err("no tensor map lies at the address that it was given".into());
        }
        if map.rank as usize != rank {
            return Err(format!("a tensor map of rank {}, coordinates of rank {rank}", map.rank));
        }
        Ok(map)
    }

    /// Bytes of a row of the box and of the whole of it.
    pub(super) fn row_bytes(&self) -> u32 {
        self.extents[0] * self.elem_bytes
    }

    pub(super) fn box_bytes(&self) -> u32 {
        self.extents.iter().product::<u32>() * self.elem_bytes
    }
}

/// The address of a 16-byte piece in swizzled shared memory: hardware permutes by the address itself.
#[inline]
pub fn swizzled(off: u32, swizzle: u32) -> u32 {
    off ^ match swizzle {
        128 => (off >> 7 & 7) << 4,
        64 => (off >> 7 & 3) << 4,
        32 => (off >> 7 & 1) << 4,
        _ => 0,
    }
}
