//! A kernel that takes a tensor map: `y = x + 1` of a strided matrix into a packed one, for Hopper alone.

use super::leak;
use tilewright_runtime::tilewright_core::bundle::{BundleData, Compression, EntryData, ImageData};
use tilewright_runtime::tilewright_core::{
    ConfigDesc, CpuCode, GridCtx, Guard, KernelParts, MapDesc, MapDim, Number, ParamDesc, ParamKind, Pointees, Test,
    VariantDesc, Width, cpu,
};
use tilewright_runtime::{AsSliceMut, AsView, Call, DType, KernelDesc};

const PARAMS: &[ParamDesc] = &[
    ParamDesc { name: "x", kind: ParamKind::View { rank: 2 }, dtype: DType::F32, first_word: 0 },
    ParamDesc { name: "y", kind: ParamKind::SliceMut, dtype: DType::F32, first_word: 5 },
];

const fn require(of: &'static [usize], test: Test) -> Guard {
    Guard { of: Number::product(of), test }
}

const fn dim(extent: &'static [usize], stride: &'static [usize], boxed: u32) -> MapDim {
    MapDim { extent: Number::product(extent), stride: Number::product(stride), boxed }
}

const CONFIGS: &[ConfigDesc] = &[ConfigDesc {
    id: "boxes",
    consts: &[],
    warps: 8,
    blocks_per_sm: 0,
    ctas: 1,
    requires: None,
    grid,
    cpu: CpuCode::alone(on_cpu),
    variants: &[VariantDesc {
        entry: "add_boxes",
        built: true,
        only: Some("sm_90a"),
        width: Width::Elements,
        guards: &[
            require(&[0], Test::Multiple(16)),
            require(&[1], Test::Within(1, 1 << 32)),
            require(&[2], Test::Within(1, 1 << 32)),
            require(&[3], Test::Multiple(4)),
            require(&[4], Test::Equal(1)),
        ],
        maps: &[MapDesc { param: 0, dims: &[dim(&[1], &[3], 8), dim(&[2], &[4], 32)], swizzle: 0 }],
        emulated: None,
        features: "",
    }],
}];

/// # Safety
/// The argument words are a view of f32 that may be read and a slice that may be written.
unsafe fn on_cpu(p: &cpu::Program, s: &[u64]) {
    let &[x, rows, cols, pitch, step, y, len] = s else { return };
    let (last_row, last_col) = (rows.min(8 * p.id[1] + 8), cols.min(32 * p.id[0] + 32));
    for r in 8 * p.id[1]..last_row {
        for c in (32 * p.id[0]..last_col).filter(|c| r * cols + c < len) {
            // SAFETY: the view has this element, and so has the output.
            unsafe {
                let v = *(x as *const f32).add((r * pitch + c * step) as usize);
                *(y as *mut f32).add((r * cols + c) as usize) = v + 1.0;
            }
        }
    }
}

fn grid(c: &GridCtx) -> [u64; 3] {
    [c.words[2].div_ceil(32), c.words[1].div_ceil(8), 1]
}

const PTX: &str = ".version 8.0\n.target sm_90a\n.address_size 64\n
.visible .entry add_boxes(.param .u64 x, .param .u64 rows, .param .u64 cols, .param .u64 s, .param .u64 t, .param .u64 y, .param .u64 n,
    .param .align 64 .b8 map[128])
{
    .reg .pred %p<4>; .reg .b32 %r<12>; .reg .f32 %f<2>; .reg .b64 %d<12>;
    .shared .align 128 .b8 tile[1024];
    .shared .align 8 .b64 bar;
    ld.param.u64 %d1, [rows]; ld.param.u64 %d2, [cols]; ld.param.u64 %d3, [y];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y;
    shl.b32 %r4, %r2, 5; shl.b32 %r5, %r3, 3;
    mov.u32 %r6, bar; mov.u32 %r7, tile;
    setp.ne.u32 %p1, %r1, 0; @%p1 bra started;
    mbarrier.init.shared.b64 [%r6], 1;
    fence.proxy.async.shared::cta;
    mbarrier.arrive.expect_tx.shared.b64 %d4, [%r6], 1024;
    mov.b64 %d5, map; cvta.param.u64 %d5, %d5;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r7], [%d5, {%r4, %r5}], [%r6];
started:
    bar.sync 0;
again:
    mbarrier.try_wait.parity.shared.b64 %p2, [%r6], 0; @!%p2 bra again;
    shl.b32 %r8, %r1, 2; add.u32 %r8, %r8, %r7; ld.shared.f32 %f1, [%r8]; add.f32 %f1, %f1, 0f3F800000;
    and.b32 %r9, %r1, 31; add.u32 %r9, %r9, %r4; cvt.u64.u32 %d6, %r9;
    shr.u32 %r10, %r1, 5; add.u32 %r10, %r10, %r5; cvt.u64.u32 %d7, %r10;
    setp.ge.u64 %p1, %d6, %d2; @%p1 bra done;
    setp.ge.u64 %p1, %d7, %d1; @%p1 bra done;
    mad.lo.u64 %d8, %d7, %d2, %d6; shl.b64 %d8, %d8, 2; add.u64 %d8, %d8, %d3; st.global.f32 [%d8], %f1;
done:
    ret;
}
";

pub fn add_boxes() -> &'static KernelDesc {
    let images = vec![ImageData { target: "sm_90a".into(), ptx: PTX.into(), cubin: None, usage: None }];
    let entries =
        vec![EntryData { name: "add_boxes".into(), threads: 256, shared_bytes: 0, min_blocks: 1, ctas: 1, images }];
    let bundle = BundleData { kernel: "add_boxes".into(), fingerprint: "hand-made".into(), entries }
        .to_bytes(Compression::Fast)
        .leak();
    let parts = KernelParts {
        name: "add_boxes",
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
        bundle: Some(bundle),
    };
    // SAFETY: the PTX reads x by a tensor map of its extents, and writes as many elements of y as x has, for which the
    // example's arrays are large enough.
    unsafe { leak(parts) }
}

pub fn call<'a>(desc: &'static KernelDesc, x: impl AsView<'a, f32, 2>, y: impl AsSliceMut<'a, f32>) -> Call<'a> {
    Call::new(desc).view(x.as_view_arg()).slice_mut(y.as_slice_mut_arg())
}
