//! The launches of an operation of one size: waves, work and time, or counters by the kernel's lines.

use crate::choose::{Backend, size_text};
use crate::kernel_code::KernelCode;
use crate::measure::median_ms;
use crate::out::{self, outln};
use anyhow::{Result, bail};
use tilewright_bench::{DeviceFacts, Table, Timer};
use tilewright_conformance::{Operation, Setup};
use tilewright_core::DType;
use tilewright_core::bundle::Bundle;
use tilewright_core::emulator::{Options, by_line};
use tilewright_ops::{ExecOptions, PinnedConfig};
use tilewright_runtime::tuning::BlockResources;
use tilewright_runtime::{BackendKind, EmulatedLaunch, Launched, Multiprocessor, Runtime};

/// Orders programs and threads, and the data.
const SEED: u64 = 1;
/// Launches of which the time is the median.
const ROUNDS: usize = 25;

/// The GPU whose waves are counted.
pub struct Gpu {
    pub compute: (u32, u32),
    pub sms: u32,
}

/// Runs on the emulated SM, and prints the counters of each line of each kernel.
pub fn lines(op: &Operation, dtype: DType, size: &[u64], config: Option<PinnedConfig>) -> Result<bool> {
    let rt = Runtime::emulator_with(Options { seed: SEED, sectors: true, ..Options::default() });
    let mut problem = op.prepare(&rt, &Setup::plain(dtype, size, SEED))?;
    let launched = Launched::start();
    problem.launch(&ExecOptions::new(&rt).pin(config))?;
    for launch in launched.launches() {
        let code = KernelCode::own(launch.kernel, launch.config)?;
        let (name, config, programs) = (launch.kernel.name, launch.config.id, launch.grid.iter().product::<u64>());
        let Ok(report) = &launch.outcome else { continue };
        outln!("{name}[{config}], {programs} programs, {}", code.place.display());
        out::write(format_args!("{}", by_line(report, &code.text)));
    }
    Ok(true)
}

/// Prints the launches of a size, without running them; the work of the operation; on a GPU its time.
pub fn launches(
    op: &Operation,
    dtype: DType,
    size: &[u64],
    config: Option<PinnedConfig>,
    gpu: &Gpu,
    backend: &Backend,
) -> Result<bool> {
    let Some(sm) = Multiprocessor::of(gpu.compute) else {
        bail!("the multiprocessor of compute capability {}.{} is not known here", gpu.compute.0, gpu.compute.1);
    };
    let planned = Runtime::emulator_with(Options { num_sms: gpu.sms as usize, ..Options::default() });
    let mut problem = op.prepare(&planned, &Setup::plain(dtype, size, SEED))?;
    let listed = Launched::list();
    problem.launch(&ExecOptions::new(&planned).pin(config))?;
    let launches = listed.launches();
    drop(listed);
    are_for(&launches, gpu.compute)?;
    let mut table = Table::new(&["kernel", "variant", "grid", "blocks", "at a time", "waves", "last wave"]);
    for launch in &launches {
        table.row(row(launch, gpu, &sm)?);
    }
    outln!("{} {} {} on {} multiprocessors", op.name, dtype.name(), size_text(size), gpu.sms);
    out::write(format_args!("{table}"));
    let work = problem.work();
    let intensity = work.flops as f64 / (work.bytes as f64).max(1.0);
    outln!("{} bytes at least, {} operations, {intensity:.1} operations a byte", work.bytes, work.flops);
    let rt = backend.open()?;
    if rt.kind() == BackendKind::Cuda {
        let config = match &launches[..] {
            [one] => Some((one.kernel, one.config)),
            _ => config,
        };
        time(&rt, op, &Setup::plain(dtype, size, SEED), config)?;
        if launches.len() > 1 {
            outln!("The time is of the plan that this GPU takes. It may have other launches than these.");
        }
    }
    Ok(true)
}

/// Whether a GPU of this compute capability runs these launches. The error names one that it does not run.
pub fn are_for(launches: &[EmulatedLaunch], (major, minor): (u32, u32)) -> Result<()> {
    let arch = format!("sm_{major}{minor}");
    for launch in launches {
        let only = launch.variant.only.filter(|target| target.trim_end_matches(|c: char| !c.is_ascii_digit()) != arch);
        if let Some(target) = only {
            let (name, id) = (launch.kernel.name, launch.config.id);
            bail!("{name}[{id}] runs on {target} alone: choose a configuration for {arch} with --config");
        }
    }
    Ok(())
}

/// The median time on this GPU, and its shares of the ceilings.
fn time(rt: &Runtime, op: &Operation, setup: &Setup, config: Option<PinnedConfig>) -> Result<()> {
    let mut problem = op.prepare(rt, setup)?;
    let on = ExecOptions::new(rt).pin(config);
    let mut timer = Timer::new(rt)?;
    problem.launch(&on)?;
    let ms = median_ms(&mut timer, ROUNDS, || Ok(problem.launch(&on)?))?;
    let (work, facts) = (problem.work(), DeviceFacts::of(rt.device()));
    outln!("{:.2} us on {}", ms * 1e3, facts.name);
    if facts.bandwidth > 0 {
        let rate = work.bytes as f64 / ms * 1e3;
        outln!("{:.1} % of {:.0} GB/s of memory", 100.0 * rate / facts.bandwidth as f64, facts.bandwidth as f64 / 1e9);
    }
    for c in facts.ceilings.iter().filter(|c| work.flops > 0 && multiplies(&c.name, setup.dtype)) {
        let rate = work.flops as f64 / ms * 1e3;
        outln!("{:.1} % of {:.0} TFLOP/s of {}", 100.0 * rate / c.flops, c.flops / 1e12, c.name);
    }
    Ok(())
}

/// Whether products of an element type have this ceiling.
fn multiplies(ceiling: &str, dtype: DType) -> bool {
    match dtype {
        DType::F32 => ceiling.starts_with("tf32") || ceiling == "f32",
        DType::F16 | DType::BF16 => ceiling.starts_with("f16"),
        _ if dtype.size() == 1 => ceiling.starts_with("8-bit"),
        _ => false,
    }
}

/// A launch in the table.
fn row(launch: &EmulatedLaunch, gpu: &Gpu, sm: &Multiprocessor) -> Result<[String; 7]> {
    let (desc, config, entry) = (launch.kernel, launch.config, launch.variant.entry);
    let blocks = launch.grid.iter().product::<u64>() * u64::from(config.ctas.max(1));
    let bundle = desc.bundle.map(Bundle::parse).transpose()?;
    let compiled = bundle.as_ref().and_then(|b| b.entries().iter().find(|e| e.name == entry));
    let usage = compiled.and_then(|e| Some((e, e.usage_for(gpu.compute)?)));
    let waves = usage.map(|(e, u)| {
        let block = BlockResources { threads: e.threads, registers: u.registers, shared_bytes: e.shared_bytes };
        let at_a_time = u64::from(sm.occupancy(&block).blocks) * u64::from(gpu.sms);
        Waves::of(blocks, at_a_time, u64::from(config.ctas.max(1)))
    });
    let [x, y, z] = launch.grid;
    let variant = entry.rsplit_once("__").map_or(entry, |(_, variant)| variant);
    let [at_a_time, waves, last] = match waves {
        Some(w) => [w.at_a_time.to_string(), w.count.to_string(), format!("{:.0} %", 100.0 * w.last)],
        None => ["not known".to_string(), String::new(), String::new()],
    };
    let grid = format!("{x} x {y} x {z}");
    Ok([format!("{}[{}]", desc.name, config.id), variant.into(), grid, blocks.to_string(), at_a_time, waves, last])
}

/// The blocks of a grid, as many at a time as the GPU has.
#[derive(Debug, PartialEq)]
struct Waves {
    at_a_time: u64,
    count: u64,
    /// The part of the GPU that the last one occupies.
    last: f64,
}

impl Waves {
    /// Of blocks in clusters: there is room for whole clusters.
    fn of(blocks: u64, at_a_time: u64, ctas: u64) -> Waves {
        let at_a_time = at_a_time / ctas * ctas;
        let all = at_a_time.max(1);
        let rest = blocks % all;
        let last = if rest == 0 && blocks > 0 { 1.0 } else { rest as f64 / all as f64 };
        Waves { at_a_time, count: blocks.div_ceil(all), last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_wave_may_be_a_tail() {
        assert_eq!(Waves::of(264, 132, 1), Waves { at_a_time: 132, count: 2, last: 1.0 });
        assert_eq!(Waves::of(165, 132, 1), Waves { at_a_time: 132, count: 2, last: 0.25 });
        assert_eq!(Waves::of(33, 132, 1), Waves { at_a_time: 132, count: 1, last: 0.25 });
        assert_eq!(Waves::of(264, 132, 8), Waves { at_a_time: 128, count: 3, last: 0.0625 });
    }
}
