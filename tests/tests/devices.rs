//! The plans that products take on devices that nobody measured, by models that are derived from attributes. A change
//! is one of speed; `cargo xtask bless` takes it over. Configurations are left out, because they depend on the
//! registers that `ptxas` takes.

use insta::{assert_snapshot, with_settings};
use std::fmt::Write;
use std::time::Instant;
use tilewright_core::{bf16, f16};
use tilewright_model_driver::{Entered, Model};
use tilewright_ops::{Matmul, MatmulPlan, Precision, Prediction};
use tilewright_runtime::{Buffer, Driver, Runtime};

/// Numbers of device attributes.
const SMS: i32 = 16;
const CLOCK_KHZ: i32 = 13;
const MEMORY_CLOCK_KHZ: i32 = 36;
const MEMORY_BUS_BITS: i32 = 37;
const L2_BYTES: i32 = 38;
const MAX_SHARED_OPTIN: i32 = 97;

/// Name, compute capability, multiprocessors, kHz of these and of memory, bits of the bus, MiB of L2 cache, KiB of
/// shared memory.
type Attributes = (&'static str, (i32, i32), i32, i32, i32, i32, i32, i32);

const DEVICES: [Attributes; 4] = [
    ("NVIDIA A100-SXM4-80GB", (8, 0), 108, 1_410_000, 1_593_000, 5120, 40, 163),
    ("NVIDIA L4", (8, 9), 58, 2_040_000, 6_251_000, 192, 48, 99),
    ("NVIDIA GeForce RTX 4090", (8, 9), 128, 2_520_000, 10_501_000, 384, 72, 99),
    ("NVIDIA H100 PCIe", (9, 0), 114, 1_755_000, 1_593_000, 5120, 50, 227),
];

/// A runtime on a model of a device.
struct Device {
    rt: Runtime,
    _driver: Box<dyn core::any::Any>,
    _model: Entered,
}

impl Device {
    fn new((name, compute, sms, clock, memory, bus, l2, shared): Attributes) -> Device {
        let model = Model::new(1);
        let attributes = [
            (SMS, sms),
            (CLOCK_KHZ, clock),
            (MEMORY_CLOCK_KHZ, memory),
            (MEMORY_BUS_BITS, bus),
            (L2_BYTES, l2 << 20),
            (MAX_SHARED_OPTIN, shared << 10),
        ];
        model.set_device(name, compute, &attributes);
        let entered = model.enter();
        tilewright_kernels::all().into_iter().for_each(|d| model.register(d));
        // SAFETY: the model's functions keep to the driver's contract.
        let driver = unsafe { Driver::from_symbols(|name| Model::symbol(name).unwrap_or(core::ptr::null())) };
        let own = driver.expect("the model has all functions").enter();
        let rt = Runtime::cuda(0).expect("a device");
        // Without the user's results and models.
        rt.set_cache_dir(None);
        Device { rt, _driver: Box::new(own), _model: entered }
    }
}

const SHAPES: [[usize; 3]; 9] = [
    [4096, 4096, 4096],
    [1024, 1024, 1024],
    [128, 128, 128],
    [64, 64, 16384],
    [8192, 8192, 16],
    [1000, 1001, 1003],
    [16, 4096, 4096],
    [1, 4096, 4096],
    [300, 50, 4000],
];

/// A plan without its configuration.
fn kernel(plan: &MatmulPlan) -> String {
    let text = plan.to_string();
    text.rsplit_once(' ').map_or(text.clone(), |(kernel, _)| kernel.into())
}

fn is_for_every_device(p: &Prediction) -> bool {
    !p.plan.to_string().contains("arch=90")
}

#[test]
fn plans_of_devices_that_nobody_measured() {
    let mut out = String::new();
    let is_whole = tilewright_kernels::all().iter().all(|d| d.is_whole());
    for attributes in DEVICES {
        let device = Device::new(attributes);
        let rt = &device.rt;
        writeln!(out, "# {}, sm_{}{}", attributes.0, attributes.1.0, attributes.1.1).unwrap();
        for [m, n, k] in SHAPES {
            let (a, b) = (Buffer::<f16>::zeros(rt, m * k).unwrap(), Buffer::<f16>::zeros(rt, k * n).unwrap());
            let mut c = Buffer::<f16>::zeros(rt, m * n).unwrap();
            let product = |c| Matmul::new(a.view([m, k]).unwrap(), b.view([k, n]).unwrap(), c);
            let plans = product(c.view_mut([m, n]).unwrap()).plans(rt).unwrap();
            let best = plans.first().expect("a plan");
            assert!(plans.iter().all(|p| p.time >= best.time && p.time.as_nanos() > 0));
            assert!(attributes.1.0 >= 9 || plans.iter().all(is_for_every_device), "{m} {n} {k}");
            // bf16 has the plans of f16, in a build that has its code.
            let (a, b) = (Buffer::<bf16>::zeros(rt, m * k).unwrap(), Buffer::<bf16>::zeros(rt, k * n).unwrap());
            let mut c = Buffer::<bf16>::zeros(rt, m * n).unwrap();
            let (a, b) = (a.view([m, k]).unwrap(), b.view([k, n]).unwrap());
            let of_bf16 = Matmul::new(a, b, c.view_mut([m, n]).unwrap()).plans(rt).unwrap();
            let same = kernel(&of_bf16.first().expect("a plan").plan) == kernel(&best.plan);
            assert!(same || !is_whole, "{m} {n} {k}");
            writeln!(out, "f16 {m} x {n} x {k}: {}", kernel(&best.plan)).unwrap();
            let (a, b) = (Buffer::<f32>::zeros(rt, m * k).unwrap(), Buffer::<f32>::zeros(rt, k * n).unwrap());
            let mut c = Buffer::<f32>::zeros(rt, m * n).unwrap();
            for (name, precision) in [("f32", Precision::F32), ("tf32", Precision::Tf32)] {
                let (a, b) = (a.view([m, k]).unwrap(), b.view([k, n]).unwrap());
                let product = Matmul::new(a, b, c.view_mut([m, n]).unwrap());
                let plans = product.precision(precision).plans(rt).unwrap();
                assert!(attributes.1.0 >= 9 || plans.iter().all(is_for_every_device), "{m} {n} {k}");
                writeln!(out, "{name} {m} x {n} x {k}: {}", kernel(&plans.first().expect("a plan").plan)).unwrap();
            }
        }
    }
    if !is_whole {
        return eprintln!("not compared: this build has some of the configurations (TILE_CONFIGS)");
    }
    with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        assert_snapshot!("plans_of_devices", out)
    });
}

/// Copies take no more than the limit, and where there is none the product is computed without.
#[test]
fn scratch_memory_is_bounded() {
    let device = Device::new(DEVICES[3]);
    let rt = &device.rt;
    assert_eq!(rt.scratch_limit(), (rt.device().memory / 10).min(1 << 30));
    let [m, n, k] = [1000, 1001, 1003];
    let (a, b) = (Buffer::<f16>::zeros(rt, m * k).unwrap(), Buffer::<f16>::zeros(rt, k * n).unwrap());
    let mut c = Buffer::<f16>::zeros(rt, m * n).unwrap();
    let mut copied = |limit: usize| {
        rt.set_scratch_limit(limit);
        let product = Matmul::new(a.view([m, k]).unwrap(), b.view([k, n]).unwrap(), c.view_mut([m, n]).unwrap());
        let plans = product.plans(rt).unwrap();
        assert!(!plans.is_empty());
        plans.iter().map(|p| p.plan.to_string().matches("copy_").count()).max().expect("a plan")
    };
    // TMA takes neither operand as it is. A copy has rows of 2048 bytes, of which there are 1000 and at least 1001.
    let both = 2001 * 2048;
    assert_eq!([copied(1 << 30), copied(both), copied(both - 1), copied(0)], [2, 2, 0, 0]);
}

/// The time to enumerate the plans of a new shape and to predict their times.
#[test]
#[ignore = "a benchmark: cargo test -p tilewright-tests --test operations -- --ignored --nocapture time_of_plans"]
fn time_of_plans() {
    let device = Device::new(DEVICES[3]);
    let rt = &device.rt;
    let (a, b) = (Buffer::<f16>::zeros(rt, 1 << 20).unwrap(), Buffer::<f16>::zeros(rt, 1 << 20).unwrap());
    let mut c = Buffer::<f16>::zeros(rt, 1 << 20).unwrap();
    for (what, n, k) in [("aligned", 256, 256), ("unaligned", 255, 301)] {
        let mut all: Vec<(f64, usize)> = (1..1000)
            .map(|m| {
                let (a, b) = (a.slice(..m * k).unwrap(), b.slice(..k * n).unwrap());
                let c = c.slice_mut(..m * n).unwrap();
                let start = Instant::now();
                let (a, b) = (a.strided([m, k], [k, 1]).unwrap(), b.strided([k, n], [n, 1]).unwrap());
                let plans = Matmul::new(a, b, c.strided([m, n], [n, 1]).unwrap()).plans(rt).unwrap();
                (start.elapsed().as_secs_f64() * 1e6, plans.len())
            })
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (micros, plans) = all[all.len() / 2];
        println!("{what}: {micros:.1} us for {plans} plans");
    }
}
