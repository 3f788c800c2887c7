//! A kernel without the compiler: PTX by hand, in a bundle as `kernel-build` would write it. `y = x + 1`.
#![allow(dead_code)]

pub mod boxes;

use tilewright_runtime::tilewright_core::bundle::{BundleData, Compression, EntryData, ImageData};
use tilewright_runtime::tilewright_core::{
    ConfigDesc, CpuCode, CpuFn, Emulated, GridCtx, KernelParts, ParamDesc, ParamKind, Pointees, VariantDesc, Width, cpu,
};
use tilewright_runtime::{AsSlice, AsSliceMut, Call, DType, KernelDesc};

const PARAMS: &[ParamDesc] = &[
    ParamDesc { name: "x", kind: ParamKind::Slice, dtype: DType::F32, first_word: 0 },
    ParamDesc { name: "y", kind: ParamKind::SliceMut, dtype: DType::F32, first_word: 2 },
];

/// One element a thread; one thread a program in the last two, which no device can launch or which are wrong.
const CONFIGS: &[ConfigDesc] = &[
    config("THREADS=64", 2, grid::<64>, on_cpu::<1>, &[variant("add_64")]),
    config("THREADS=256", 8, grid::<256>, on_cpu::<1>, &[variant("add_256")]),
    config("THREADS=4096", 128, grid::<4096>, on_cpu::<1>, &[variant("add_4096")]),
    config("SHARED=1M", 2, grid::<64>, on_cpu::<1>, &[variant("add_shared")]),
    config("wrong", 2, grid::<64>, on_cpu::<2>, &[variant("add_wrong")]),
];

const fn variant(entry: &'static str) -> VariantDesc {
    VariantDesc {
        entry,
        built: true,
        only: None,
        width: Width::Elements,
        guards: &[],
        maps: &[],
        emulated: None,
        features: "",
    }
}

const fn config(
    id: &'static str,
    warps: u32,
    grid: fn(&GridCtx) -> [u64; 3],
    cpu: CpuFn,
    variants: &'static [VariantDesc],
) -> ConfigDesc {
    ConfigDesc {
        id,
        consts: &[],
        warps,
        blocks_per_sm: 0,
        ctas: 1,
        requires: None,
        grid,
        cpu: CpuCode::alone(cpu),
        variants,
    }
}

fn grid<const THREADS: u64>(c: &GridCtx) -> [u64; 3] {
    [c.words[1].div_ceil(THREADS), 1, 1]
}

/// # Safety
/// The argument words are a slice of f32 that may be read and one that may be written.
unsafe fn on_cpu<const ADD: u32>(p: &cpu::Program, s: &[u64]) {
    if p.id[0] == 0 {
        for i in 0..s[1].min(s[3]) as usize {
            // SAFETY: element `i` of both slices, which this program alone writes.
            unsafe { *(s[2] as *mut f32).add(i) = *(s[0] as *const f32).add(i) + ADD as f32 };
        }
    }
}

fn ptx(entry: &str, add: f32) -> String {
    format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n
.visible .entry {entry}(.param .u64 x, .param .u64 n, .param .u64 y, .param .u64 m)
{{
    .reg .pred %p<3>; .reg .b32 %r<4>; .reg .f32 %f<2>; .reg .b64 %d<10>;
    ld.param.u64 %d1, [x]; ld.param.u64 %d2, [n]; ld.param.u64 %d3, [y]; ld.param.u64 %d4, [m];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mul.wide.u32 %d5, %r1, %r2; cvt.u64.u32 %d6, %r3; add.u64 %d5, %d5, %d6;
    setp.ge.u64 %p1, %d5, %d2; @%p1 bra done;
    setp.ge.u64 %p2, %d5, %d4; @%p2 bra done;
    shl.b64 %d7, %d5, 2; add.u64 %d8, %d1, %d7; add.u64 %d9, %d3, %d7;
    ld.global.f32 %f1, [%d8]; add.f32 %f1, %f1, 0f{:08X}; st.global.f32 [%d9], %f1;
done:
    ret;
}}\n",
        add.to_bits()
    )
}

fn bundle(target: &str, text: impl Fn(&str, f32) -> String) -> &'static [u8] {
    bundle_for(&[target], text)
}

fn bundle_for(targets: &[&str], text: impl Fn(&str, f32) -> String) -> &'static [u8] {
    let image = |target: &&str, ptx| ImageData { target: target.to_string(), ptx, cubin: None, usage: None };
    let entry = |name: &str, threads, shared_bytes, add| EntryData {
        name: name.into(),
        threads,
        shared_bytes,
        min_blocks: 1,
        ctas: 1,
        images: targets.iter().map(|target| image(target, text(name, add))).collect(),
    };
    let entries = vec![
        entry("add_64", 64, 0, 1.0),
        entry("add_256", 256, 0, 1.0),
        entry("add_4096", 4096, 0, 1.0),
        entry("add_shared", 64, 1 << 20, 1.0),
        entry("add_wrong", 64, 0, 2.0),
    ];
    BundleData { kernel: "add_one".into(), fingerprint: "hand-made".into(), entries }.to_bytes(Compression::Fast).leak()
}

const fn desc(name: &'static str, bundle: Option<&'static [u8]>) -> KernelParts {
    KernelParts {
        name,
        file: file!(),
        line: line!(),
        types: "",
        params: PARAMS,
        is_unsafe: false,
        pdl: false,
        aliases: &[],
        deterministic: false,
        tf32: false,
        pointees: Pointees::None,
        configs: CONFIGS,
        bundle,
    }
}

/// # Safety
/// As of [`KernelDesc::new`].
unsafe fn leak(parts: KernelParts) -> &'static KernelDesc {
    // SAFETY: the caller's contract.
    Box::leak(Box::new(unsafe { KernelDesc::new(parts) }))
}

/// A descriptor of this module's code.
fn leak_one(parts: KernelParts) -> &'static KernelDesc {
    // SAFETY: the PTX and the CPU function read a slice and write another, both up to the shorter length.
    unsafe { leak(parts) }
}

pub fn add_one() -> &'static KernelDesc {
    leak_one(desc("add_one", Some(bundle("sm_75", ptx))))
}

/// As [`add_one`], with code for two targets.
pub fn add_for_two() -> &'static KernelDesc {
    leak_one(desc("add_one", Some(bundle_for(&["sm_75", "sm_80"], ptx))))
}

/// As [`add_one`], for launches that begin while the one before ends, which it waits for; for devices from compute
/// capability 9.0 on.
pub fn add_pdl() -> &'static KernelDesc {
    let waiting = |e: &str, add| {
        ptx(e, add)
            .replace(".version 7.0", ".version 7.8")
            .replace("sm_75", "sm_90")
            .replace("mov.u32 %r1,", "griddepcontrol.wait; mov.u32 %r1,")
    };
    leak_one(KernelParts { pdl: true, ..desc("add_one", Some(bundle("sm_90", waiting))) })
}

/// The same in code for devices that cannot, which does not wait.
pub fn add_pdl_but_old() -> &'static KernelDesc {
    leak_one(KernelParts { pdl: true, ..desc("add_one", Some(bundle("sm_75", ptx))) })
}

/// As [`add_pdl`], and said to read `x` before it waits.
pub fn add_pdl_reading() -> &'static KernelDesc {
    unsafe fn nothing(_: &[u64]) {}
    let emulated = Emulated { run: nothing, threads: 64, shared_bytes: 0, ctas: 1, registers: 0, pdl: Some(&[0]) };
    let variants = vec![VariantDesc { emulated: Some(emulated), ..variant("add_64") }].leak();
    let configs = vec![config("THREADS=64", 2, grid::<64>, on_cpu::<1>, variants)].leak();
    leak_one(KernelParts { configs, ..*add_pdl().parts() })
}

/// As [`add_pdl`], but its code does not wait.
pub fn add_pdl_without_waiting() -> &'static KernelDesc {
    leak_one(KernelParts { bundle: Some(bundle("sm_90", ptx)), ..*add_pdl().parts() })
}

/// Its code takes one parameter less.
pub fn add_with_other_parameters() -> &'static KernelDesc {
    let fewer = |e: &str, add| ptx(e, add).replace(", .param .u64 m)", ")");
    leak_one(desc("add_one", Some(bundle("sm_75", fewer))))
}

/// PTX that does not compile.
pub fn broken() -> &'static KernelDesc {
    leak_one(desc("broken", Some(bundle("sm_75", |e, add| ptx(e, add).replace("ld.global", "ld.nowhere")))))
}

/// Code for a device that this is not.
pub fn elsewhere() -> &'static KernelDesc {
    leak_one(desc("elsewhere", Some(bundle("sm_75a", ptx))))
}

pub fn without_bundle() -> &'static KernelDesc {
    leak_one(desc("without_bundle", None))
}

pub fn call<'a>(desc: &'static KernelDesc, x: impl AsSlice<'a, f32>, y: impl AsSliceMut<'a, f32>) -> Call<'a> {
    Call::new(desc).slice(x.as_slice_arg()).slice_mut(y.as_slice_mut_arg())
}
