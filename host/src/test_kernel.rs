//! A hand-made kernel for the tests: what the macro would emit for a copy, and for a sum that asserts.

use tilewright_core::{
    AsSlice, Call, ConfigDesc, CpuCode, DType, DeviceId, Emulated, GridCtx, Guard, KernelDesc, KernelParts, Number,
    ParamDesc, ParamKind, Pointees, RawArg, SliceArg, SliceMutArg, Test, VariantDesc, Width, cpu,
};

const PARAMS: &[ParamDesc] = &[
    ParamDesc { name: "x", kind: ParamKind::Slice, dtype: DType::F32, first_word: 0 },
    ParamDesc { name: "y", kind: ParamKind::SliceMut, dtype: DType::F32, first_word: 2 },
];

const fn aligned(word: &'static [usize]) -> Guard {
    Guard { of: Number::product(word), test: Test::Multiple(16) }
}

const VARIANTS: &[VariantDesc] = &[
    VariantDesc {
        entry: "copy_v",
        built: true,
        only: None,
        width: Width::Vectors,
        guards: &[aligned(&[0]), aligned(&[2])],
        maps: &[],
        emulated: None,
        features: "",
    },
    VariantDesc {
        entry: "copy_s",
        built: true,
        only: None,
        width: Width::Elements,
        guards: &[],
        maps: &[],
        emulated: None,
        features: "",
    },
];

fn grid<const BLOCK: u64>(c: &GridCtx) -> [u64; 3] {
    [c.words[1].div_ceil(BLOCK), 1, 1]
}

/// # Safety
/// The argument words are a slice of f32 that may be read and one that may be written.
unsafe fn copy<const BLOCK: u64>(p: &cpu::Program, s: &[u64]) {
    let (x, y) = (s[0] as *const f32, s[2] as *mut f32);
    for i in p.id[0] * BLOCK..((p.id[0] + 1) * BLOCK).min(s[1]).min(s[3]) {
        // SAFETY: element `i` of both slices, which no other program has.
        unsafe {
            let v = *x.add(i as usize);
            cpu::assert(v >= 0.0, "no negative numbers", 7, p);
            *y.add(i as usize) = v;
        }
    }
}

/// As `copy`, but wrong in the first element.
///
/// # Safety
/// As `copy`.
unsafe fn wrong(p: &cpu::Program, s: &[u64]) {
    // SAFETY: the caller's contract.
    unsafe { copy::<64>(p, s) };
    if p.id[0] == 0 && s[3] > 0 {
        // SAFETY: the first element, which this program alone writes.
        unsafe { *(s[2] as *mut f32) += 1.0 };
    }
}

const fn config(id: &'static str, grid: fn(&GridCtx) -> [u64; 3], cpu: tilewright_core::CpuFn) -> ConfigDesc {
    ConfigDesc {
        id,
        consts: &[],
        warps: 4,
        blocks_per_sm: 0,
        ctas: 1,
        requires: None,
        grid,
        cpu: CpuCode::alone(cpu),
        variants: VARIANTS,
    }
}

/// Copies x to y; refuses negative numbers. Its last configuration is wrong, for the tuner.
pub(crate) static COPY: KernelDesc =
    // SAFETY: the functions read a slice of f32 and write another, both up to the shorter length; there is no bundle.
    unsafe {
        KernelDesc::new(KernelParts {
            name: "copy",
            file: "test_kernel.rs",
            line: 1,
            types: "f32",
            params: PARAMS,
            is_unsafe: false,
            pdl: false,
            aliases: &[],
            deterministic: false,
            tf32: false,
            pointees: Pointees::None,
            configs: &[
                config("BLOCK=16", grid::<16>, copy::<16>),
                config("BLOCK=64", grid::<64>, copy::<64>),
                config("BLOCK=64,wrong", grid::<64>, wrong),
            ],
            bundle: None,
        })
    };

/// As [`COPY`], with code for the emulated SM in its second configuration, and in one variant of its third. That code
/// does nothing.
pub(crate) static EMULATED_IN_PART: KernelDesc = {
    /// # Safety
    /// None.
    unsafe fn nothing(_: &[u64]) {}
    const EMULATED: VariantDesc = VariantDesc {
        emulated: Some(Emulated { run: nothing, threads: 32, shared_bytes: 0, ctas: 1, registers: 0, pdl: None }),
        guards: &[aligned(&[0])],
        ..VARIANTS[1]
    };
    const GENERAL: VariantDesc = VariantDesc { built: true, ..VARIANTS[1] };
    // SAFETY: as of `COPY`; the code for the emulated SM touches nothing.
    unsafe {
        KernelDesc::new(KernelParts {
            configs: &[
                config("BLOCK=16", grid::<16>, copy::<16>),
                ConfigDesc { variants: &[EMULATED], ..config("BLOCK=64", grid::<64>, copy::<64>) },
                ConfigDesc { variants: &[EMULATED, GENERAL], ..config("BLOCK=64,both", grid::<64>, copy::<64>) },
            ],
            ..*COPY.parts()
        })
    }
};

fn upwards(c: &GridCtx) -> [u64; 3] {
    [1, c.words[1].div_ceil(16), 1]
}

/// # Safety
/// As `copy`.
unsafe fn copy_upwards(p: &cpu::Program, s: &[u64]) {
    // SAFETY: the caller's contract.
    unsafe { copy::<16>(&cpu::Program { id: [p.id[1], 0, 0], ..*p }, s) }
}

/// As [`COPY`], by programs along the axis that ends at 65535 where the tuner does not choose.
pub(crate) static UPWARDS: KernelDesc =
    // SAFETY: the functions read a slice of f32 and write another, both up to the shorter length; there is no bundle.
    unsafe {
        KernelDesc::new(KernelParts {
            name: "upwards",
            file: "test_kernel.rs",
            line: 1,
            types: "f32",
            params: PARAMS,
            is_unsafe: false,
            pdl: false,
            aliases: &[],
            deterministic: false,
            tf32: false,
            pointees: Pointees::None,
            configs: &[config("UPWARDS", upwards, copy_upwards), config("BLOCK=16", grid::<16>, copy::<16>)],
            bundle: None,
        })
    };

/// Any addresses.
pub(crate) fn copy_call(x: u64, n: usize, y: u64, m: usize, device: DeviceId) -> Call<'static> {
    // SAFETY: never launched unless the addresses are good.
    unsafe {
        Call::new(&COPY)
            .slice::<f32>(SliceArg::from_raw(x, n, device))
            .slice_mut::<f32>(SliceMutArg::from_raw(y, m, device))
    }
}

/// As the macro's function does.
pub(crate) fn copy_of<'a>(
    x: impl tilewright_core::AsSlice<'a, f32>,
    y: impl tilewright_core::AsSliceMut<'a, f32>,
) -> Call<'a> {
    Call::new(&COPY).slice(x.as_slice_arg()).slice_mut(y.as_slice_mut_arg())
}

/// As [`COPY`], to a raw pointer.
static RAW: KernelDesc =
    // SAFETY: the functions of `COPY` take a pointer with a length as they take a slice.
    unsafe {
        KernelDesc::new(KernelParts {
            name: "raw",
            params: &[
                ParamDesc { name: "x", kind: ParamKind::Slice, dtype: DType::F32, first_word: 0 },
                ParamDesc { name: "y", kind: ParamKind::PtrMut, dtype: DType::F32, first_word: 2 },
                ParamDesc { name: "n", kind: ParamKind::Scalar, dtype: DType::U64, first_word: 3 },
            ],
            is_unsafe: true,
            ..*COPY.parts()
        })
    };

/// A call of [`RAW`].
///
/// # Safety
/// `y` has as many elements as `x`.
pub(crate) unsafe fn raw_copy(x: &[f32], y: RawArg<f32>) -> Call<'_> {
    // SAFETY: the caller's contract.
    unsafe { Call::new_unsafe(&RAW) }.slice(x.as_slice_arg()).raw(y, true).scalar(x.len() as u64)
}

/// A new folder for a test.
pub(crate) fn temp_dir(name: &str) -> std::path::PathBuf {
    let dir = std::env::temp_dir().join(format!("tile-host-test-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a temporary folder");
    dir
}
