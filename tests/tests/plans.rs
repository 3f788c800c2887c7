//! The kernels that an operation launches, and their operands: decisions by sizes, strides and the number of
//! multiprocessors, without a launch. These plans were measured to be fastest. Products of bf16 are not here: a device
//! takes the plans of f16 (`devices.rs`), and the emulated SM has other instances.

use std::cell::RefCell;
use std::fmt::Write;
use tilewright_core::emulator::Options;
use tilewright_core::{Call, DeviceId, Element, ParamKind, SliceArg, SliceMutArg, ViewArg, ViewMutArg, f8e4m3, f16};
use tilewright_ops::{self as ops, Executor, Matmul, Multiply, Precision, Quantization, Transpose};
use tilewright_runtime::{LaunchOptions, Result, Runtime};

/// A device as large as those with shipped results, which records its launches.
struct Recorder {
    rt: Runtime,
    launches: RefCell<Vec<String>>,
}

impl Recorder {
    fn new() -> Self {
        Recorder {
            rt: Runtime::emulator_with(Options { num_sms: 132, ..Default::default() }),
            launches: RefCell::default(),
        }
    }

    /// The launches so far, in order.
    fn taken(&self) -> String {
        self.launches.take().join(" + ")
    }
}

// SAFETY: nothing is launched.
unsafe impl Executor for Recorder {
    fn runtime(&self) -> &Runtime {
        &self.rt
    }

    fn launch_as(&self, call: Call<'_>, _: LaunchOptions) -> Result<()> {
        let views = call.desc().params.iter().filter_map(|p| match p.kind {
            ParamKind::View { rank } | ParamKind::ViewMut { rank } => {
                Some(call.words()[p.first_word + 1..][..rank].iter().map(u64::to_string).collect::<Vec<_>>().join("x"))
            }
            _ => None,
        });
        let views: Vec<String> = views.collect();
        let workspace = call.desc().params.iter().find(|p| p.name == "workspace");
        let splits = call.desc().params.iter().find(|p| p.name == "splits").map_or(1, |p| call.words()[p.first_word]);
        let splits = if splits > 1 { format!(" in {splits} parts") } else { String::new() };
        let scheduler = match workspace.is_some_and(|p| call.words()[p.first_word + 1] > 0) {
            true => " with a workspace",
            false => "",
        };
        self.launches.borrow_mut().push(format!("{}({}){splits}{scheduler}", call.desc().name, views.join(", ")));
        Ok(())
    }
}

/// A matrix of which nothing is read, at a place of its own; its rows are `gap` elements longer than they have to be.
fn matrix<T: Element, const R: usize>(place: u64, dims: [usize; R], gap: usize) -> ViewArg<'static, T, R> {
    let mut strides = [1; R];
    for d in (0..R - 1).rev() {
        strides[d] = strides[d + 1] * dims[d + 1] + if d == R - 2 { gap } else { 0 };
    }
    // SAFETY: nobody reads there.
    let all: SliceArg<'static, T> = unsafe { SliceArg::from_raw(place << 40, 1 << 36, DeviceId::Host) };
    all.strided(dims, strides).expect("there is room")
}

fn matrix_mut<T: Element, const R: usize>(dims: [usize; R]) -> ViewMutArg<'static, T, R> {
    let strides = matrix::<T, R>(3, dims, 0).strides();
    // SAFETY: nobody writes there.
    let all: SliceMutArg<'static, T> = unsafe { SliceMutArg::from_raw(3 << 40, 1 << 36, DeviceId::Host) };
    all.strided(dims, strides).expect("there is room")
}

/// Squares, few rows and columns, short and long K, odd extents.
const SHAPES: [[usize; 3]; 26] = [
    [64, 64, 64],
    [100, 100, 100],
    [1024, 1024, 1024],
    [1000, 1000, 1000],
    [2048, 2048, 2048],
    [4096, 4096, 4096],
    [1001, 1003, 1007],
    [1, 4096, 4096],
    [4096, 1, 4096],
    [4096, 8, 4096],
    [8192, 64, 1024],
    [2, 4096, 1024],
    [16, 4096, 4096],
    [16, 4097, 4095],
    [64, 4096, 2048],
    [100, 4096, 2048],
    [128, 256, 1024],
    [200, 4096, 1024],
    [300, 4097, 1001],
    [4096, 4096, 64],
    [64, 64, 65536],
    [128, 128, 8192],
    [256, 1024, 8192],
    [512, 512, 512],
    [1536, 1536, 1536],
    [2049, 2047, 129],
];

const ORDERS: [(&str, Transpose); 4] = [
    ("NN", Transpose { a: false, b: false }),
    ("NT", Transpose { a: false, b: true }),
    ("TN", Transpose { a: true, b: false }),
    ("TT", Transpose { a: true, b: true }),
];

fn flipped_if(flip: bool, [rows, cols]: [usize; 2]) -> [usize; 2] {
    if flip { [cols, rows] } else { [rows, cols] }
}

fn products<T: Multiply>(with: fn(Matmul<T>) -> Matmul<T>) -> String {
    let (on, mut out) = (Recorder::new(), String::new());
    for [m, n, k] in SHAPES {
        for (order, t) in ORDERS {
            let (a, b) = (matrix::<T, 2>(1, flipped_if(t.a, [m, k]), 0), matrix::<T, 2>(2, flipped_if(t.b, [k, n]), 0));
            with(Matmul::new(a, b, matrix_mut([m, n])).transpose(t)).launch(&on).expect("nothing is launched");
            writeln!(out, "{m}x{n}x{k} {order}: {}", on.taken()).expect("text");
        }
    }
    out
}

fn agree(name: &str, found: String) {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, { insta::assert_snapshot!(name, found) });
}

#[test]
fn plans_of_products() {
    agree("plans_f16", products::<f16>(|p| p));
    agree("plans_f32", products::<f32>(|p| p.precision(Precision::F32)));
    agree("plans_tf32", products::<f32>(|p| p.precision(Precision::Tf32)));
    agree("plans_i8", products::<i8>(|p| p));
    agree("plans_f8", products::<f8e4m3>(|p| p));
    assert_eq!(products::<f32>(|p| p), products::<f32>(|p| p.precision(Precision::F32)));
}

#[test]
fn plans_of_scaled_and_quantized_products() {
    let (on, mut out) = (Recorder::new(), String::new());
    for [m, n, k] in SHAPES {
        for beta in [0.0, 1.0] {
            let (a, b) = (matrix::<f16, 2>(1, [m, k], 0), matrix::<f16, 2>(2, [k, n], 0));
            Matmul::new(a, b, matrix_mut([m, n])).alpha(2.0).beta(beta).launch(&on).expect("nothing is launched");
            writeln!(out, "gemm {m}x{n}x{k} beta {beta}: {}", on.taken()).expect("text");
        }
        for (zero_a, zero_b) in [(0, 0), (3, 0), (0, 3)] {
            let q = Quantization { scale_a: 1.0, scale_b: 1.0, scale_c: 1.0, zero_a, zero_b, zero_c: 0 };
            ops::matmul_int8(&on, matrix::<i8, 2>(1, [m, k], 0), matrix::<i8, 2>(2, [k, n], 0), matrix_mut([m, n]), &q)
                .expect("nothing is launched");
            writeln!(out, "matmul_int8 {m}x{n}x{k} zeros {zero_a} {zero_b}: {}", on.taken()).expect("text");
        }
    }
    agree("plans_scaled", out);
}

#[test]
fn of_batches() {
    let (on, mut out) = (Recorder::new(), String::new());
    for (batch, [m, n, k]) in [
        (512, [64, 64, 64]),
        (12, [512, 512, 512]),
        (12, [511, 513, 515]),
        (64, [1024, 1024, 1024]),
        (64, [1, 4096, 128]),
        (3, [600, 601, 4001]),
    ] {
        for gap in [0, 1] {
            let (a, b, c) = (
                matrix::<f16, 3>(1, [batch, m, k], gap),
                matrix::<f16, 3>(2, [batch, k, n], gap),
                matrix_mut([batch, m, n]),
            );
            ops::batched_matmul(&on, a, b, c).expect("nothing is launched");
            writeln!(out, "f16 {batch} of {m}x{n}x{k} gap {gap}: {}", on.taken()).expect("text");
            let (a, b, c) = (
                matrix::<f32, 3>(1, [batch, m, k], gap),
                matrix::<f32, 3>(2, [batch, k, n], gap),
                matrix_mut([batch, m, n]),
            );
            ops::batched_matmul(&on, a, b, c).expect("nothing is launched");
            writeln!(out, "f32 {batch} of {m}x{n}x{k} gap {gap}: {}", on.taken()).expect("text");
        }
    }
    agree("plans_batches", out);
}

#[test]
fn of_attention() {
    let (on, mut out) = (Recorder::new(), String::new());
    for (heads, shared, queries, keys, d) in [
        (32, 8, 1, 8192, 128),
        (32, 32, 1, 8192, 128),
        (32, 8, 5, 8192, 128),
        (16, 16, 64, 16384, 128),
        (8, 8, 512, 16384, 64),
        (64, 64, 4096, 4096, 128),
        (3, 1, 70, 100, 40),
    ] {
        for causal in [false, true] {
            let (q, o) = (matrix::<f16, 3>(1, [heads, queries, d], 0), matrix_mut([heads, queries, d]));
            let (k, v) = (matrix::<f16, 3>(2, [shared, keys, d], 0), matrix::<f16, 3>(2, [shared, keys, d], 0));
            let attention = ops::Attention::new(q, k, v, o).scale(0.1);
            let attention = if causal { attention.causal() } else { attention };
            attention.launch(&on).expect("nothing is launched");
            writeln!(out, "{heads}/{shared} heads, {queries} of {keys}, {d}, causal {causal}: {}", on.taken())
                .expect("text");
        }
    }
    agree("plans_attention", out);
}
