//! The variants of an instance: the guards of its arguments, and the instructions of its products.

use crate::analysis::axis_info::Assume;
pub use tilewright_types::Width;

/// How an instance is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// How wide accesses may be, under the guards that [`launch_guards`](crate::analysis::launch_guards) states.
    pub width: Width,
    /// The instructions of its products, and the copies of their operands.
    pub mma: MmaPath,
}

/// The instructions of products, and the copies of their operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MmaPath {
    /// `mma.sync` or multiply-adds, on every target.
    MmaSync,
    /// `wgmma` of tiles that all threads copy by `cp.async`, for sm_90a alone.
    WgmmaCpAsync,
    /// `wgmma` in a warp-specialized program that copies by TMA, for sm_90a alone.
    WgmmaTma(Transposed),
}

/// The operands of products whose first dimension is contiguous, where the strides leave that open. In the others the
/// last dimension is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transposed {
    /// Whether the left operands are contiguous along M, not along K.
    pub a: bool,
    /// Whether the right operands are contiguous along K, not along N.
    pub b: bool,
}

impl Transposed {
    /// Every combination, the one without a transposed operand first.
    pub const ALL: [Transposed; 4] = [
        Transposed { a: false, b: false },
        Transposed { a: false, b: true },
        Transposed { a: true, b: false },
        Transposed { a: true, b: true },
    ];
}

/// The target whose instructions are TMA and `wgmma`.
pub(crate) const TMA_TARGET: &str = "sm_90a";

impl Variant {
    /// The guards that the launcher checks.
    pub(crate) fn assume(self) -> Assume {
        match (self.width, self.mma) {
            (Width::Elements, MmaPath::WgmmaCpAsync | MmaPath::WgmmaTma(_)) => Assume::Rows,
            (Width::Elements, MmaPath::MmaSync) => Assume::Nothing,
            (width, _) => Assume::Multiples(width),
        }
    }

    /// The only target of the variant for a program of `ctas` thread blocks. Clusters need the same target.
    pub(crate) fn only(self, ctas: u32) -> Option<&'static str> {
        (self.mma != MmaPath::MmaSync || ctas > 1).then_some(TMA_TARGET)
    }

    /// The end of its entry's name.
    pub fn name(self) -> String {
        let (path, transposed) = match self.mma {
            MmaPath::MmaSync => ("", ""),
            MmaPath::WgmmaCpAsync => ("wgmma_cp_async", ""),
            MmaPath::WgmmaTma(Transposed { a: false, b: false }) => ("tma", ""),
            MmaPath::WgmmaTma(Transposed { a: false, b: true }) => ("tma", "_nt"),
            MmaPath::WgmmaTma(Transposed { a: true, b: false }) => ("tma", "_tn"),
            MmaPath::WgmmaTma(Transposed { a: true, b: true }) => ("tma", "_tt"),
        };
        let width = match self.width {
            Width::Vectors if path.is_empty() => "aligned",
            Width::Vectors => "",
            Width::DoubleWords => "aligned_8",
            Width::Words => "aligned_4",
            Width::Elements => "general",
        };
        let between = if path.is_empty() || width.is_empty() { "" } else { "_" };
        format!("{path}{transposed}{between}{width}")
    }

    /// Every variant that an instance may have, the best first.
    pub fn all() -> impl Iterator<Item = Variant> {
        let paths = Transposed::ALL.map(MmaPath::WgmmaTma).into_iter();
        let paths = paths.chain([MmaPath::WgmmaCpAsync, MmaPath::MmaSync]);
        let widths = [Width::Vectors, Width::DoubleWords, Width::Words, Width::Elements];
        let all = paths.flat_map(move |mma| widths.map(|width| Variant { width, mma }));
        all.filter(|v| v.mma == MmaPath::MmaSync || matches!(v.width, Width::Vectors | Width::Elements))
    }

    /// The variant whose entry has this name.
    pub fn of_entry(entry: &str) -> Option<Variant> {
        let name = entry.rsplit("__").next()?;
        Variant::all().find(|v| v.name() == name)
    }
}
