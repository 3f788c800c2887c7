//! Plans of products as data: which operands are copied first, which kernel and configuration compute the result, and
//! how many programs share K. `candidates.rs` enumerates them; `matmul.rs` and its neighbors carry one out.

use super::product::{GemmShape, Operand};
use crate::planner::Plan;
use crate::planner::device::Math;
use crate::planner::gemm::GemmWork;
use core::fmt;
use tilewright_core::{ConfigDesc, DType, Element, KernelDesc, ViewArg, ViewMutArg, Width};
use tilewright_runtime::LaunchOptions;

/// The properties of a product that its plans depend on: shapes and layouts, no addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub shape: GemmShape,
    pub a: Layout,
    pub b: Layout,
    pub c: Layout,
    /// Of the transpose of C.
    pub c_transposed: Layout,
    pub math: Math,
    /// Bytes of an element of A and B, and of C.
    pub bytes: [usize; 2],
}

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// It is given transposed. For the result: columns are contiguous.
    pub transposed: bool,
    /// Rows are contiguous and start at multiples of 16 bytes.
    pub tma: bool,
    /// How wide accesses to its rows may be.
    pub width: Width,
    /// Rows start at multiples of a sector of the L2 cache.
    pub in_sectors: bool,
}

impl Layout {
    pub fn of<T: Element>(o: &Operand<T>) -> Layout {
        Layout { transposed: o.transposed, tma: o.tma_compatible(), width: o.width(), in_sectors: o.in_sectors() }
    }

    /// Of a result.
    pub fn of_result<T: Element>(c: ViewArg<T, 2>) -> Layout {
        let rows = Operand { view: c, transposed: false };
        Layout { transposed: c.strides()[1] != 1, ..Layout::of(&rows) }
    }

    /// Of the transpose of a result whose rows are contiguous.
    pub const TRANSPOSE_OF_ROWS: Layout =
        Layout { transposed: true, tma: false, width: Width::Elements, in_sectors: true };

    /// Of a copy in scratch memory.
    pub fn copied(transposed: bool) -> Layout {
        Layout { transposed, tma: true, width: Width::Vectors, in_sectors: true }
    }

    const fn bits(self) -> u64 {
        self.transposed as u64 | (self.tma as u64) << 1 | (self.in_sectors as u64) << 2 | (self.width as u64) << 3
    }

    /// The layout of these bits.
    #[cfg(test)]
    pub fn of_bits(bits: u64) -> Option<Layout> {
        let all = [Width::Elements, Width::Words, Width::DoubleWords, Width::Vectors];
        let width = all.into_iter().find(|w| *w as u64 == bits >> 3)?;
        Some(Layout { transposed: bits & 1 != 0, tma: bits & 2 != 0, in_sectors: bits & 4 != 0, width })
    }

    /// Whether a matrix may be so: rows that TMA takes are rows of vectors.
    #[cfg(test)]
    pub fn is_possible(self) -> bool {
        !self.tma || self.width == Width::Vectors
    }
}

impl Problem {
    pub fn new<T: Element>(
        shape: GemmShape,
        a: Layout,
        b: Layout,
        c: &ViewMutArg<T, 2>,
        math: Math,
        bytes: usize,
    ) -> Problem {
        let c = c.as_view();
        Problem {
            shape,
            a,
            b,
            c: Layout::of_result(c),
            c_transposed: Layout::of_result(c.flipped()),
            math,
            bytes: [bytes, size_of::<T>()],
        }
    }

    /// The same of so many rows.
    pub fn of_rows(self, m: usize) -> Problem {
        Problem { shape: GemmShape { m, ..self.shape }, ..self }
    }

    /// A number that tells layouts and arithmetic apart, without bits 20 to 25 and those from 31 on. The transpose of
    /// most results has the same layout, which adds nothing: results of measurements are filed under this number.
    pub fn layout(&self) -> u64 {
        let c_transposed = self.c_transposed.bits() ^ Layout::TRANSPOSE_OF_ROWS.bits();
        self.a.bits() | self.b.bits() << 5 | self.c.bits() << 10 | (self.math as u64) << 15 | c_transposed << 26
    }

    /// The work of a launch that computes whole tiles of these operands.
    pub fn work(&self, a: Layout, b: Layout) -> GemmWork {
        GemmWork {
            shape: self.shape,
            batch: 1,
            math: self.math,
            bytes: self.bytes,
            tma: a.tma && b.tma,
            in_sectors: a.in_sectors && b.in_sectors,
            tma_store: self.c.tma,
            rows_of_c: !self.c.transposed,
            grid: false,
            k_major: (!a.transposed, b.transposed),
            strided: 0,
            stream_k: false,
            splits: 1,
        }
    }

    /// How wide accesses to the result and to operands of these layouts may be.
    pub fn width(&self, a: Layout, b: Layout) -> Width {
        a.width.min(b.width).min(self.c.width)
    }

    /// Of `Cᵀ = Bᵀ Aᵀ`.
    pub fn transposed(&self) -> Problem {
        let flipped = |l: Layout| Layout { transposed: !l.transposed, ..l };
        Problem {
            shape: self.shape.transposed(),
            a: flipped(self.b),
            b: flipped(self.a),
            c: self.c_transposed,
            c_transposed: self.c,
            ..*self
        }
    }

    /// The same into scratch memory.
    pub fn in_scratch(self) -> Problem {
        Problem { c: Layout::copied(false), ..self }
    }
}

/// A plan of a product. [`Matmul::plans`](super::Matmul::plans) has an example.
///
/// A plan is data: it can be compared, printed and carried out again by
/// [`Matmul::launch_by`](super::Matmul::launch_by). Its text is the same in each process, as long as the kernels are.
#[derive(Clone, Copy)]
pub struct MatmulPlan {
    pub(super) orientation: Orientation,
    pub(super) variant: Variant,
    pub(super) kernel: &'static KernelDesc,
    /// Of the kernel; none where the backend takes the first that it can run.
    pub(super) config: Option<&'static ConfigDesc>,
}

/// Which product a kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Orientation {
    /// `C = A B`.
    AsGiven,
    /// `Cᵀ = Bᵀ Aᵀ`, written to C by columns.
    Transposed,
    /// `Cᵀ = Bᵀ Aᵀ` in scratch memory, which a further launch transposes.
    TransposedInScratch,
}

/// How a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// f32 fused multiply-adds of each row. `splits` programs share K of a block of columns.
    Gemv { splits: usize },
    /// f32 fused multiply-adds of the outer products of a small K.
    OuterProducts,
    /// 3xTF32: A is decomposed first, B by the programs, which `splits` of them share a tile. `copy_b`: into rows that
    /// TMA takes.
    Tf32x3 { splits: usize, copy_b: bool },
    /// 3xTF32: both operands are decomposed first.
    DecomposedTf32x3,
    /// Few rows of A as f16, and a B of 8 bits that programs convert.
    MixedInput,
    /// Tile by tile, of operands that are copied first or not.
    Tiles { copies: Copies, stream_k: bool },
}

/// Of each operand, whether it is copied into rows that TMA takes first, and if so whether the copy is transposed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Copies {
    pub a: Option<bool>,
    pub b: Option<bool>,
}

impl MatmulPlan {
    /// Options of the launch of the kernel.
    pub(super) fn options(&self) -> LaunchOptions<'static> {
        LaunchOptions::new().config(self.config.map(|c| c.id))
    }

    /// Copies B, transposed, before the tiles are computed.
    pub(super) fn transpose_b(&mut self) {
        if let Variant::Tiles { copies, .. } = &mut self.variant {
            copies.b = Some(true);
        }
    }

    /// Whether a plan is of 3xTF32, which f32 alone has.
    pub(super) fn is_tf32x3(&self) -> bool {
        matches!(self.variant, Variant::Tf32x3 { .. } | Variant::DecomposedTf32x3)
    }
}

impl Plan for MatmulPlan {
    fn kernel(&self) -> &'static KernelDesc {
        self.kernel
    }

    fn config(&self) -> Option<&'static ConfigDesc> {
        self.config
    }
}

impl PartialEq for MatmulPlan {
    fn eq(&self, other: &Self) -> bool {
        let id = |p: &Self| (p.orientation, p.variant, core::ptr::from_ref(p.kernel), p.config.map(|c| c.id));
        id(self) == id(other)
    }
}

impl fmt::Debug for MatmulPlan {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for MatmulPlan {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.orientation {
            Orientation::AsGiven => {}
            Orientation::Transposed => f.write_str("transposed ")?,
            Orientation::TransposedInScratch => f.write_str("transposed_in_scratch ")?,
        }
        if let Variant::Tiles { copies, .. } = self.variant {
            for (name, copy) in [("a", copies.a), ("b", copies.b)] {
                if let Some(transposed) = copy {
                    write!(f, "copy_{name}{} ", if transposed { "_transposed" } else { "" })?;
                }
            }
        }
        if let Variant::Tf32x3 { copy_b: true, .. } = self.variant {
            f.write_str("copy_b ")?;
        }
        f.write_str(self.kernel.name)?;
        if let Variant::Gemv { splits } | Variant::Tf32x3 { splits, .. } = self.variant {
            write!(f, " splits={splits}")?;
        }
        self.config.map_or(Ok(()), |c| write!(f, " {}", c.id))
    }
}

/// The type of a product by its elements and its precision.
pub(super) fn math_of<T: Element>(tf32: bool) -> Math {
    match T::DTYPE {
        DType::F32 if tf32 => Math::Tf32,
        DType::F32 => Math::F32,
        DType::I8 | DType::F8E4M3 | DType::F8E5M2 => Math::Byte,
        _ => Math::Half,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_core::{DeviceId, SliceMutArg};

    /// The transposed product stores rows of the transpose: its choices depend on the alignment of these rows.
    #[test]
    fn problems_tell_columns_of_results_apart() {
        let layout = |addr: u64, strides: [usize; 2]| {
            let rows = Layout::copied(false);
            // SAFETY: no element is accessed.
            let all = unsafe { SliceMutArg::<f32>::from_raw(addr, 1 << 20, DeviceId::Host) };
            let c = all.strided([64, 32], strides).unwrap();
            Problem::new(GemmShape { m: 64, n: 32, k: 16 }, rows, rows, &c, Math::F32, 4).layout()
        };
        let columns = [1, 64];
        assert_ne!(layout(4096, columns), layout(4100, columns));
        assert_ne!(layout(4096, columns), layout(4096, [1, 65]));
        assert_ne!(layout(4104, columns), layout(4100, columns));
        // Results are filed under the layout of rows: they have the number that they had.
        assert!([layout(4096, [32, 1]), layout(4100, [33, 1])].iter().all(|l| l >> 20 == 0));
    }
}
