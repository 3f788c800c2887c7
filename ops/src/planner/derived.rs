//! Coefficients of devices that nobody has measured, from those of one that was: rates follow clocks, the bandwidth of
//! device memory, and the multiply-adds of a multiprocessor's clock cycle.

use super::device::{DeviceModel, GemmModel};
use tilewright_runtime::Device;

/// Attributes of the device of the base model, an H100 80GB HBM3.
pub(super) const BASE_CLOCK_KHZ: f32 = 1.98e6;
pub(super) const BASE_BANDWIDTH: f32 = 3.352e12;

/// The share of the tensor cores' rate that `mma.sync` kernels reach.
const REACHED: f32 = 0.75;

/// The model of a device by its attributes; an unknown one is taken to be the base's.
pub(super) fn of(device: &Device, base: &DeviceModel) -> DeviceModel {
    let ratio = |own: f32, of_base: f32| if own > 0.0 { own / of_base } else { 1.0 };
    let clock = ratio(device.clock_khz as f32, BASE_CLOCK_KHZ);
    let memory = ratio(device.bandwidth as f32, BASE_BANDWIDTH);
    let mut m = base.clone();
    for rate in [&mut m.l2_per_sm, &mut m.l2_unsectored_per_sm, &mut m.store_per_sm, &mut m.reduced_per_program] {
        *rate *= clock;
    }
    for rate in [&mut m.memory, &mut m.copied, &mut m.rows.memory, &mut m.attention.memory] {
        *rate *= memory;
    }
    let capability = device.compute_capability.unwrap_or((9, 0));
    // Multiply-adds of f16 by a multiprocessor in a microsecond.
    let tensor = tensor_fmas(&device.name, capability) * BASE_CLOCK_KHZ * clock / 1e3;
    let fma = fma_lanes(capability) / fma_lanes((9, 0));
    let g = &mut m.gemm;
    let of_half: [(&mut GemmModel, f32); 6] = [
        (&mut g.half, 1.0),
        (&mut g.mixed_input, 1.0),
        (&mut g.tf32, 0.5),
        (&mut g.tf32x3, 0.5 / 3.0),
        (&mut g.decomposed_tf32x3, 0.5 / 3.0),
        (&mut g.byte, 2.0),
    ];
    for (math, share) in of_half {
        scale(math, clock, clock);
        math.rate[1] = math.rate[1].min(2.0 * REACHED * share * tensor);
    }
    scale(&mut g.f32, clock * fma, clock);
    scale(&mut g.gemv, clock * fma, clock);
    let r = &mut m.rows;
    let times = [
        &mut r.program,
        &mut r.start,
        &mut r.latency,
        &mut r.element,
        &mut r.element_unaligned,
        &mut r.element_of_thread,
    ];
    times.into_iter().chain([&mut r.exchange]).for_each(|time| *time /= clock);
    let a = &mut m.attention;
    a.rate.iter_mut().for_each(|rate| *rate *= clock);
    a.rate[1] = a.rate[1].min(2.0 * REACHED * tensor);
    [&mut a.exponential, &mut a.latency, &mut a.fill, &mut a.block]
        .into_iter()
        .flatten()
        .for_each(|time| *time /= clock);
    a.combined_rows /= clock;
    m
}

fn scale(math: &mut GemmModel, rate: f32, clock: f32) {
    math.rate.iter_mut().for_each(|r| *r *= rate);
    let times =
        math.latency.iter_mut().chain(&mut math.fill).chain(&mut math.store_element).chain(&mut math.store_of_thread);
    times
        .chain([
            &mut math.element,
            &mut math.element_of_thread,
            &mut math.word,
            &mut math.step_of_warp,
            &mut math.store_strided,
            &mut math.tile,
        ])
        .for_each(|time| *time /= clock);
}

/// Multiply-adds of f16 with sums in f32 that the tensor cores of a multiprocessor make in a clock cycle.
fn tensor_fmas(name: &str, capability: (u32, u32)) -> f32 {
    match capability {
        (0..=7, _) => 512.0,
        (8, 0) => 1024.0,
        // GeForce cards sum in f32 at half the rate.
        (8, _) | (12, _) if name.contains("GeForce") => 256.0,
        (8, _) | (12, _) => 512.0,
        _ => 2048.0,
    }
}

/// Multiply-adds of f32 of a multiprocessor in a clock cycle.
fn fma_lanes(capability: (u32, u32)) -> f32 {
    match capability {
        (0..=7, _) | (8, 0) => 64.0,
        _ => 128.0,
    }
}
