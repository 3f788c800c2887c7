//! The descriptor of a kernel, which the macro emits beside it.
//!
//! Nothing here knows a GPU driver: a backend reads a [`Call`](crate::Call), picks a [`ConfigDesc`] and a
//! [`VariantDesc`], and runs it. The descriptor is where trust begins: a [`KernelDesc`] says that a kernel's code and
//! its parameters belong together, so only `unsafe` code makes one. Everything else here is plain data, which safe code
//! may build and which no backend runs unless it is reached from a [`KernelDesc`].

use std::fmt;
use std::ops::Deref;

use tilewright_types::limits::{MAX_ARGUMENT_WORDS, MAX_BUFFERS};
use tilewright_types::{DType, Width};

/// A Rust type that a buffer may hold: kernels read and write its values as those of [`Element::DTYPE`].
///
/// # Safety
/// The type has the size of `DTYPE`, an alignment that is not larger, no padding and no interior mutability. Its valid
/// bit patterns are those of `DTYPE`: 0 and 1 for [`DType::Bool`], all patterns for every other dtype.
///
/// The trait is sealed: no other crate claims a dtype for a type.
/// ```compile_fail,E0277
/// #[derive(Clone, Copy)]
/// struct Four([u64; 4]);
/// unsafe impl tilewright_core::Element for Four {
///     const DTYPE: tilewright_core::DType = tilewright_core::DType::F32;
/// }
/// ```
///
/// # Examples
/// ```
/// use tilewright_core::{DType, Element, f16};
///
/// fn dtype<T: Element>(_: &[T]) -> DType {
///     T::DTYPE
/// }
/// assert_eq!((dtype(&[1.0f32]), dtype(&[f16::ONE]), dtype(&[1usize])), (DType::F32, DType::F16, DType::U64));
/// ```
pub unsafe trait Element: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The element type of kernels.
    const DTYPE: DType;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements { ($($t:ty => $d:ident),* $(,)?) => { $(
    const _: () = assert!(size_of::<$t>() == DType::$d.size() && align_of::<$t>() <= DType::$d.size());
    // SAFETY: the size and alignment are asserted above. The type is the dtype's own, an integer of its width, or one
    // `repr(transparent)` integer whose patterns are all valid.
    unsafe impl Element for $t { const DTYPE: DType = DType::$d; }
    impl sealed::Sealed for $t {}
)* } }
elements! { f32 => F32, f64 => F64, half::f16 => F16, half::bf16 => BF16, i8 => I8, i16 => I16, i32 => I32, i64 => I64,
isize => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, usize => U64, bool => Bool,
crate::scalar::F8E4M3 => F8E4M3, crate::scalar::F8E5M2 => F8E5M2 }

/// The code of one program on the CPU; its arguments are argument words. [`CpuCode`] has an example.
pub type CpuFn = unsafe fn(&crate::cpu::Program, &[u64]);

/// The code of one instance for the CPU.
///
/// # Examples
/// ```
/// use tilewright_core::{CpuCode, CpuFn, KernelDesc};
///
/// /// The functions of a kernel's configurations. Those that differ in numbers alone have the same one.
/// fn functions(kernel: &KernelDesc) -> Vec<CpuFn> {
///     let code = kernel.configs.iter().map(|c| c.cpu);
///     code.map(|CpuCode { run, .. }| run).collect()
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CpuCode {
    /// Configurations that differ in numbers alone share it.
    pub run: CpuFn,
    /// The constants of this configuration, which the function finds in
    /// [`Program::numbers`](crate::cpu::Program::numbers).
    pub numbers: &'static [u64],
}

impl CpuCode {
    /// A function that is one configuration's alone.
    pub const fn alone(run: CpuFn) -> CpuCode {
        CpuCode { run, numbers: &[] }
    }

    /// The function of an instance in a crate that is checked and not compiled.
    #[doc(hidden)]
    pub const NOT_COMPILED: CpuCode = {
        unsafe fn not_compiled(_: &crate::cpu::Program, _: &[u64]) {
            unreachable!("the crate was checked and not compiled")
        }
        CpuCode::alone(not_compiled)
    };
}

/// The use of memory that is no argument: memory at addresses that a kernel loads, or is given as numbers.
/// [`KernelParts`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointees {
    /// It has no such addresses.
    None,
    /// It reads there.
    Read,
    /// It reads and writes there.
    Written,
}

/// The facts of one kernel for one choice of its type parameters and of the optional parameters that have an argument.
/// [`KernelDesc::new`] makes a descriptor of them.
///
/// # Examples
/// ```
/// use tilewright_core::{KernelParts, Pointees};
///
/// const PARTS: KernelParts = KernelParts {
///     name: "nothing",
///     file: file!(),
///     line: line!(),
///     types: "",
///     params: &[],
///     is_unsafe: false,
///     pdl: false,
///     aliases: &[],
///     deterministic: false,
///     tf32: false,
///     pointees: Pointees::None,
///     configs: &[],
///     bundle: None,
/// };
/// // SAFETY: there is no configuration, and so no code.
/// const KERNEL: tilewright_core::KernelDesc = unsafe { tilewright_core::KernelDesc::new(PARTS) };
/// assert_eq!(KERNEL.name, "nothing");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct KernelParts {
    /// The name of the kernel.
    pub name: &'static str,
    /// The file that it is in, as rustc has it.
    pub file: &'static str,
    /// The line of its function.
    pub line: u32,
    /// The type arguments, as in `f16` or `f32,i32`, and then the optional parameters that have an argument, as in
    /// `f16,bias`; empty without any.
    pub types: &'static str,
    /// The parameters in order, without the optional ones that have no argument.
    pub params: &'static [ParamDesc],
    /// Whether the kernel is declared `unsafe fn`: its caller vouches for accesses that nothing checks.
    pub is_unsafe: bool,
    /// Whether a launch may begin while the one before it ends: its code waits where it must, from compute capability
    /// 9.0 on.
    pub pdl: bool,
    /// Arrays that may be the same memory, by their positions in `params`: one that the kernel reads, and one that it
    /// writes.
    pub aliases: &'static [[u8; 2]],
    /// Whether equal arguments give results of equal bits. It runs in the first configuration that takes the arguments,
    /// and is not tuned.
    pub deterministic: bool,
    /// Whether it multiplies f32 in tf32, so that the results of its configurations differ by as much as those of f16.
    pub tf32: bool,
    /// The use of memory that is no argument.
    pub pointees: Pointees,
    /// Every configuration that was built; the first is the default.
    pub configs: &'static [ConfigDesc],
    /// The compiled entries ([`crate::bundle::Bundle`]); `None` when the crate was built without a device toolchain
    /// or without a build script that calls `tilewright_build`.
    pub bundle: Option<&'static [u8]>,
}

/// One kernel for one choice of its type parameters, as safe code may launch it. Its fields are those of
/// [`KernelParts`], to be read.
///
/// # Examples
/// ```
/// use tilewright_core::KernelDesc;
///
/// /// As in `axpy: BLOCK=1024,warps=4; BLOCK=2048,warps=4`.
/// fn configurations(kernel: &KernelDesc) -> String {
///     let ids: Vec<_> = kernel.configs.iter().map(|c| c.id).collect();
///     format!("{}: {}", kernel.name, ids.join("; "))
/// }
/// ```
///
/// Safe code has descriptors from `#[tile_kernel]` alone, and cannot make or change one:
/// ```compile_fail,E0133
/// # fn make(parts: tilewright_core::KernelParts) -> tilewright_core::KernelDesc {
/// tilewright_core::KernelDesc::new(parts)
/// # }
/// ```
/// ```compile_fail,E0423
/// # fn make(parts: tilewright_core::KernelParts) -> tilewright_core::KernelDesc {
/// tilewright_core::KernelDesc(parts)
/// # }
/// ```
/// ```compile_fail,E0594
/// # fn change(desc: &mut tilewright_core::KernelDesc) {
/// desc.is_unsafe = false;
/// # }
/// ```
#[derive(Debug)]
pub struct KernelDesc(KernelParts);

impl KernelDesc {
    /// The descriptor that a kernel with mistakes gets. The expansion of such a kernel is an error, so that no program
    /// contains it.
    #[doc(hidden)]
    pub const FAULTY: &'static KernelDesc = &KernelDesc(KernelParts {
        name: "",
        file: "",
        line: 0,
        types: "",
        params: &[],
        is_unsafe: true,
        pdl: false,
        aliases: &[],
        deterministic: false,
        tf32: false,
        pointees: Pointees::None,
        configs: &[],
        bundle: None,
    });

    /// A descriptor of these facts, which the expansion of `#[tile_kernel]` makes.
    ///
    /// # Safety
    /// The functions of `configs` ([`CpuCode::run`], [`Emulated::run`]) and the entries of `bundle` are code of one
    /// kernel, which takes its arguments as the argument words that `params` describes. For every [`Call`](crate::Call)
    /// that binds them, and that the launcher's checks of addresses let pass, this code:
    /// - reads nothing but the elements of its arguments, and writes nothing but those of its mutable ones, in every
    ///   variant whose `guards` hold, on the grid of its configuration, with the tensor maps of the variant;
    /// - writes only valid values of the arguments' dtypes.
    ///
    /// With `is_unsafe` this holds for the calls that keep the kernel's own safety contract. Such a kernel reaches
    /// other memory as `pointees` says.
    ///
    /// # Panics
    /// The argument words of `params` do not follow each other from 0 on, there are more than [`MAX_ARGUMENT_WORDS`] of
    /// them or more than [`MAX_BUFFERS`] arrays and pointers, or a kernel that is not `is_unsafe` takes or makes a
    /// pointer. In a constant this is a compile error.
    pub const unsafe fn new(parts: KernelParts) -> KernelDesc {
        assert!(
            parts.is_unsafe || matches!(parts.pointees, Pointees::None),
            "a kernel that makes pointers of addresses is an `unsafe fn`"
        );
        let (mut i, mut words, mut buffers) = (0, 0, 0);
        while i < parts.params.len() {
            let ParamDesc { kind, first_word, .. } = parts.params[i];
            assert!(first_word == words, "the argument words of a kernel's parameters follow each other");
            let is_pointer = matches!(kind, ParamKind::Ptr | ParamKind::PtrMut);
            assert!(parts.is_unsafe || !is_pointer, "a kernel that takes a pointer is an `unsafe fn`");
            words += kind.words();
            buffers += !matches!(kind, ParamKind::Scalar) as usize;
            i += 1;
        }
        assert!(words <= MAX_ARGUMENT_WORDS && buffers <= MAX_BUFFERS, "a kernel has too many parameters");
        KernelDesc(parts)
    }

    /// Whether the build made code of all variants for the GPU, and left out none because of `TILE_CONFIGS=few`.
    pub fn is_whole(&self) -> bool {
        self.configs.iter().flat_map(|c| c.variants).all(|v| v.built)
    }

    /// The facts, also in a constant.
    pub const fn parts(&self) -> &KernelParts {
        &self.0
    }
}

impl Deref for KernelDesc {
    type Target = KernelParts;

    #[inline]
    fn deref(&self) -> &KernelParts {
        &self.0
    }
}

/// The kind of a parameter.
///
/// # Examples
/// ```
/// use tilewright_core::ParamKind;
///
/// assert_eq!((ParamKind::Slice.words(), ParamKind::ViewMut { rank: 2 }.words()), (2, 5));
/// assert!(ParamKind::ViewMut { rank: 2 }.is_mut());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// `&[T]`.
    Slice,
    /// `&mut [T]`.
    SliceMut,
    /// `View<T, R>`.
    View {
        /// R: 1 to [`MAX_RANK`](tilewright_types::limits::MAX_RANK).
        rank: usize,
    },
    /// `ViewMut<T, R>`.
    ViewMut {
        /// R: 1 to [`MAX_RANK`](tilewright_types::limits::MAX_RANK).
        rank: usize,
    },
    /// `*const T`.
    Ptr,
    /// `*mut T`.
    PtrMut,
    /// `T`.
    Scalar,
}

impl ParamKind {
    /// The number of argument words.
    pub const fn words(self) -> usize {
        match self {
            ParamKind::Slice | ParamKind::SliceMut => 2,
            ParamKind::View { rank } | ParamKind::ViewMut { rank } => 1 + 2 * rank,
            ParamKind::Ptr | ParamKind::PtrMut | ParamKind::Scalar => 1,
        }
    }

    /// Whether the kernel may write through it.
    pub const fn is_mut(self) -> bool {
        matches!(self, ParamKind::SliceMut | ParamKind::ViewMut { .. } | ParamKind::PtrMut)
    }
}

/// The type of a parameter, or of an argument.
///
/// # Examples
/// ```
/// use tilewright_core::{DType, ParamKind, ParamType};
///
/// let t = ParamType { kind: ParamKind::View { rank: 2 }, dtype: DType::F16 };
/// assert_eq!(t.to_string(), "View<f16, 2>");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamType {
    /// The kind.
    pub kind: ParamKind,
    /// The type of the elements, or of the scalar.
    pub dtype: DType,
}

/// As written in a kernel.
impl fmt::Display for ParamType {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let t = self.dtype;
        match self.kind {
            ParamKind::Slice => write!(f, "&[{t}]"),
            ParamKind::SliceMut => write!(f, "&mut [{t}]"),
            ParamKind::View { rank } => write!(f, "View<{t}, {rank}>"),
            ParamKind::ViewMut { rank } => write!(f, "ViewMut<{t}, {rank}>"),
            ParamKind::Ptr => write!(f, "*const {t}"),
            ParamKind::PtrMut => write!(f, "*mut {t}"),
            ParamKind::Scalar => write!(f, "{t}"),
        }
    }
}

/// A parameter of a kernel.
///
/// # Examples
/// ```
/// use tilewright_core::{DType, ParamDesc, ParamKind};
///
/// let x = ParamDesc { name: "x", kind: ParamKind::Slice, dtype: DType::F32, first_word: 0 };
/// assert_eq!(x.ty().to_string(), "&[f32]");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ParamDesc {
    /// The name in the kernel.
    pub name: &'static str,
    /// The kind.
    pub kind: ParamKind,
    /// The type of the elements, or of the scalar.
    pub dtype: DType,
    /// The position of its first argument word.
    pub first_word: usize,
}

impl ParamDesc {
    /// The type.
    pub const fn ty(&self) -> ParamType {
        ParamType { kind: self.kind, dtype: self.dtype }
    }
}

/// One configuration of a kernel: a choice of its constants and of `warps`.
///
/// # Examples
/// ```
/// use tilewright_core::{Condition, ConfigDesc, GridCtx};
///
/// /// The number of programs of a launch with these argument words.
/// fn programs(config: &ConfigDesc, words: &[u64]) -> u64 {
///     (config.grid)(&GridCtx { words, num_sms: 132 }).iter().product()
/// }
///
/// /// The condition of the attribute's `requires`, as it is written.
/// fn condition(config: &ConfigDesc) -> Option<&'static str> {
///     config.requires.map(|Condition { text, .. }| text)
/// }
/// ```
#[derive(Debug)]
pub struct ConfigDesc {
    /// Stable: `BLOCK=1024,SCHEDULER=Persistent,warps=4`.
    pub id: &'static str,
    /// Numbers: 0 or 1 of a `bool`, of an enum the index of the variant, which [`name_of`](Self::name_of) names.
    pub consts: &'static [(&'static str, i64)],
    /// 32-thread warps a program runs on. Of a configuration for the CPU alone it means nothing.
    pub warps: u32,
    /// Programs that fit on a multiprocessor at a time, where the configuration says so; else 0.
    pub blocks_per_sm: u32,
    /// Thread blocks of a program: a cluster where there are several.
    pub ctas: u32,
    /// The condition on arguments on every backend, beside the guards of its variants.
    pub requires: Option<Condition>,
    /// Programs along x, y, z; a zero means that there is nothing to do.
    pub grid: fn(&GridCtx) -> [u64; 3],
    /// The code for the CPU.
    pub cpu: CpuCode,
    /// In order of preference: the first variant that the device supports and whose guards hold is launched. None of a
    /// configuration for the CPU alone.
    pub variants: &'static [VariantDesc],
}

impl ConfigDesc {
    /// Whether it is for the CPU alone: `arch = [cpu]`.
    pub fn is_for_cpu(&self) -> bool {
        self.variants.is_empty()
    }

    /// The number of a constant; none where the kernel has no such constant.
    pub fn value_of(&self, constant: &str) -> Option<i64> {
        self.consts.iter().find(|(name, _)| *name == constant).map(|(_, value)| *value)
    }

    /// The value of a constant as the id has it: `1024`, `true`, `Persistent`. A constant that has its default value is
    /// not in the id.
    pub fn name_of(&self, constant: &str) -> Option<&'static str> {
        let values = self.id.split(',').filter_map(|part| part.split_once('='));
        values.take(self.consts.len()).find(|(name, _)| *name == constant).map(|(_, value)| value)
    }
}

/// A condition on arguments that a kernel's attribute states. [`ConfigDesc`] has an example.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// Whether arguments satisfy it.
    pub holds: fn(&GridCtx) -> bool,
    /// The condition as it is written.
    pub text: &'static str,
}

/// The input of a grid expression or of a condition. [`ConfigDesc`] has an example.
#[derive(Clone, Copy, Debug)]
pub struct GridCtx<'a> {
    /// The argument words.
    pub words: &'a [u64],
    /// Multiprocessors of the device; on the CPU, worker threads.
    pub num_sms: u64,
}

/// `a / b`, rounded up; 0 where `b` is 0. Grid expressions call it.
///
/// # Examples
/// ```
/// use tilewright_core::cdiv;
///
/// assert_eq!((cdiv(10, 4), cdiv(10, 0)), (3, 0));
/// ```
#[inline]
pub fn cdiv(a: u64, b: u64) -> u64 {
    if b == 0 { 0 } else { a.div_ceil(b) }
}

/// One variant of a configuration: code for arguments that satisfy its guards.
///
/// # Examples
/// ```
/// use tilewright_core::{Emulated, Guard, MapDesc, MapDim, Number, Test, VariantDesc, Width};
///
/// // Code for an address, argument word 0, that is a multiple of 16.
/// const GUARDS: &[Guard] = &[Guard { of: Number::product(&[0]), test: Test::Multiple(16) }];
/// // TMA copies boxes of 64 elements of parameter 0, whose length is argument word 1.
/// const MAP: MapDesc = MapDesc {
///     param: 0,
///     dims: &[MapDim { extent: Number::product(&[1]), stride: Number::product(&[]), boxed: 64 }],
///     swizzle: 0,
/// };
/// const NOT_EMULATED: Option<Emulated> = None;
/// let variant = VariantDesc {
///     entry: "axpy_0",
///     built: true,
///     only: None,
///     width: Width::Vectors,
///     guards: GUARDS,
///     maps: &[MAP],
///     emulated: NOT_EMULATED,
///     features: "",
/// };
/// assert!(variant.satisfied_by(&[4096, 100]) && !variant.satisfied_by(&[4100, 100]));
/// ```
#[derive(Debug)]
pub struct VariantDesc {
    /// The name of the entry in the bundle.
    pub entry: &'static str,
    /// Whether a build for the GPU makes its code; false for a variant that `TILE_CONFIGS=few` leaves out.
    pub built: bool,
    /// The only target it is compiled for, as in `sm_90a`; otherwise all of the build's.
    pub only: Option<&'static str>,
    /// How wide accesses by threads are, under the guards.
    pub width: Width,
    /// The conditions on argument words.
    pub guards: &'static [Guard],
    /// Tensor maps that the entry takes after its argument words.
    pub maps: &'static [MapDesc],
    /// The lowered code compiled for the host; present for a covering subset of the instances by default.
    pub emulated: Option<Emulated>,
    /// The passes, device steps and element types that its code takes, one a line; empty in builds without an emulated
    /// SM. Variants are emulated until every feature of their kernel is in one, unless the kernel says `emulate = all`.
    pub features: &'static str,
}

impl VariantDesc {
    /// Whether these argument words satisfy all guards.
    pub fn satisfied_by(&self, words: &[u64]) -> bool {
        let guards = if planted!("launch-first-guard-alone") { self.guards.get(..1) } else { None };
        guards.unwrap_or(self.guards).iter().all(|g| planted!("launch-guards-ignored") || g.satisfied_by(words))
    }
}

/// A product of argument words. [`VariantDesc`] has an example.
pub type Number = tilewright_types::Number<&'static [usize]>;
/// A launch guard of a variant. [`VariantDesc`] has an example.
pub type Guard = tilewright_types::Guard<&'static [usize]>;

/// A CUDA tensor map: boxes of an array are copied to shared memory, or from it, in one step each. [`VariantDesc`] has
/// an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapDesc {
    /// The view, slice or pointer that the array begins at, as an index into [`KernelParts::params`].
    pub param: usize,
    /// The contiguous dimension last.
    pub dims: &'static [MapDim],
    /// Bytes of the swizzle pattern: 0 (none), 32, 64 or 128.
    pub swizzle: u32,
}

/// A dimension of a tensor map. [`VariantDesc`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapDim {
    /// The extent of the array: a box has zeros beyond it, and nothing is stored there.
    pub extent: Number,
    /// The stride in elements; of the last dimension it is 1.
    pub stride: Number,
    /// The extent of a box.
    pub boxed: u32,
}

/// The code of a variant for the emulated SM. [`VariantDesc`] has an example.
#[derive(Clone, Copy, Debug)]
pub struct Emulated {
    /// One thread of one program, given the argument words and then the addresses of the tensor maps; runs only inside
    /// `emulator::launch`.
    pub run: unsafe fn(&[u64]),
    /// Threads of a thread block.
    pub threads: u32,
    /// Bytes of shared memory of a thread block.
    pub shared_bytes: u32,
    /// Thread blocks of a program.
    pub ctas: u32,
    /// Registers of a thread as it begins, of which warpgroups may hand some to each other; 0 if they may not.
    pub registers: u32,
    /// The parameters that may be read before the launch in front has ended, if the kernel may begin then.
    pub pdl: Option<&'static [u8]>,
}

impl ConfigDesc {
    /// Whether the arguments satisfy the condition of the configuration; guards of its variants come on top.
    #[inline]
    pub fn satisfied_by(&self, call: &GridCtx) -> bool {
        planted!("launch-requires-ignored") || self.requires.is_none_or(|c| (c.holds)(call))
    }

    /// The index of the variant to launch for these arguments: the first for which `runs` holds and whose guards they
    /// satisfy.
    pub fn variant(&self, words: &[u64], runs: impl Fn(&VariantDesc) -> bool) -> Option<usize> {
        self.variants.iter().position(|v| runs(v) && v.satisfied_by(words))
    }
}
