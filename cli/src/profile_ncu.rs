//! `tile profile --ncu`: the counters of Nsight Compute for launches, beside the numbers of the build.

use crate::choose::{self, Backend};
use crate::kernel_code::KernelCode;
use crate::ncu::{self, Counted, SELECTED, STALLS, stall_metric};
use crate::ncu_csv::Launch;
use crate::out::{self, outln};
use anyhow::{Result, bail, ensure};
use std::path::Path;
use tilewright_bench::Table;
use tilewright_conformance::{Operation, Setup};
use tilewright_core::DType;
use tilewright_core::bundle::{Bundle, Entry};
use tilewright_ops::PinnedConfig;
use tilewright_runtime::tuning::BlockResources;
use tilewright_runtime::{Error, Multiprocessor, Runtime, cuda_status};

/// Of the data.
const SEED: u64 = 1;

/// Counts the launches of an operation of this size, and prints a table of each kernel.
pub fn own(
    op: &Operation,
    dtype: DType,
    size: &[u64],
    config: Option<PinnedConfig>,
    backend: &Backend,
) -> Result<bool> {
    let backend = on_gpu(backend)?;
    let size_text = choose::size_text(size);
    let mut arguments =
        ["run", op.name, "--size", &size_text, "--dtype", dtype.name(), "--backend", backend, "--unchecked"]
            .map(str::to_owned)
            .to_vec();
    if let Some((kernel, config)) = config {
        arguments.extend(["--config".into(), format!("{}[{}]", kernel.name, config.id)]);
    }
    let counted = ncu::count_own(&arguments)?;
    let kernels = kernels(counted.launches.iter().collect());
    if kernels.is_empty() {
        ensure!(counted.succeeded, "{}", counted.said.trim());
        bail!("{} of {size_text} launches nothing", op.name);
    }
    let bytes = match &kernels[..] {
        [_] => Some(op.prepare(&Runtime::cpu(), &Setup::plain(dtype, size, SEED))?.work().bytes),
        _ => None,
    };
    outln!("{} {} {size_text}", op.name, dtype.name());
    let bundles = tilewright_kernels::all().into_iter().filter_map(|k| Bundle::parse(k.bundle?).ok());
    let bundles: Vec<Bundle> = bundles.collect();
    kernels.iter().for_each(|k| print(k, bundles.iter().find_map(|b| b.entry(&k.launch.kernel).ok()), bytes));
    Ok(succeeded(&counted))
}

/// The same for the launches of a package's kernel under Cargo's command.
pub fn of_package(
    code: &dyn Fn() -> Result<KernelCode>,
    folder: &Path,
    cargo: &[String],
    backend: &Backend,
    is_asked: &dyn Fn(&KernelCode, &str) -> bool,
) -> Result<bool> {
    let name = code()?.name;
    let counted = ncu::count_cargo(folder, cargo, &name, on_gpu(backend)?)?;
    // Cargo may have built it only now.
    let code = code()?;
    let start = format!("{name}__");
    let of_kernel = |l: &&Launch| l.kernel.starts_with(&start) && is_asked(&code, &l.kernel);
    let kernels = kernels(counted.launches.iter().filter(of_kernel).collect());
    ensure!(!kernels.is_empty() || !counted.succeeded, "nothing launched {name} in this configuration on a GPU");
    let bundle = code.bundle.as_deref().map(Bundle::parse).transpose()?;
    kernels.iter().for_each(|k| print(k, bundle.as_ref().and_then(|b| b.entry(&k.launch.kernel).ok()), None));
    Ok(succeeded(&counted))
}

/// The GPU to run on, by its backend's name.
fn on_gpu(backend: &Backend) -> Result<&str> {
    let name = if backend.name() == "auto" { "cuda" } else { backend.name() };
    ensure!(
        name == "cuda" || name.starts_with("cuda:"),
        "ncu counts on a GPU alone: write `--backend cuda` in place of `{name}`"
    );
    match cuda_status() {
        Ok(_) => Ok(name),
        Err(Error::NoCuda { why }) => bail!("ncu counts on a GPU, and there is none: {why}. Install the NVIDIA driver"),
        Err(e) => Err(e.into()),
    }
}

fn succeeded(counted: &Counted) -> bool {
    if !counted.succeeded && !counted.said.trim().is_empty() {
        out::error(format_args!("the command under ncu failed:\n{}", counted.said.trim()));
    }
    counted.succeeded
}

/// A kernel with the same grid: its first launch, and how many there were.
struct Kernel<'a> {
    launch: &'a Launch,
    launches: usize,
}

fn kernels(launches: Vec<&Launch>) -> Vec<Kernel<'_>> {
    let mut out: Vec<Kernel> = vec![];
    for launch in launches {
        let key = |l: &Launch| (l.kernel.clone(), l.grid.clone(), l.block.clone());
        match out.iter_mut().find(|k| key(k.launch) == key(launch)) {
            Some(same) => same.launches += 1,
            None => out.push(Kernel { launch, launches: 1 }),
        }
    }
    out
}

/// The counters, then the reasons why warps stall.
fn print(kernel: &Kernel, compiled: Option<&Entry>, bytes: Option<u64>) {
    let launch = kernel.launch;
    let times = if kernel.launches == 1 { String::new() } else { format!(", the first of {}", kernel.launches) };
    outln!("\n{}, grid {}{times}", launch.kernel, launch.grid);
    out::write(format_args!("{}\n{}", counters(launch, compiled, bytes), stalls(launch)));
}

/// The numbers of the compiler and ptxas for a kernel, beside the counters of ncu.
fn counters(launch: &Launch, compiled: Option<&Entry>, bytes: Option<u64>) -> Table {
    let usage = compiled.and_then(|e| e.usage_for(launch.compute));
    let occupancy = compiled.zip(usage).zip(Multiprocessor::of(launch.compute)).map(|((e, usage), sm)| {
        let (registers, shared_bytes) = (usage.registers, e.shared_bytes);
        sm.occupancy(&BlockResources { threads: e.threads, registers, shared_bytes })
    });
    let metric = |name: &str| launch.metric(name);
    let whole = |name: &str| metric(name).map(|v| format!("{v:.0}"));
    let sum = |names: [&str; 2]| Some(metric(names[0])? + metric(names[1])?);
    let percent = |name: &str| metric(name).map(|v| format!("{v:.1} %"));
    let shared = sum(["launch__shared_mem_per_block_dynamic", "launch__shared_mem_per_block_static"]);
    let local = ["l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"];
    let limits = ["blocks", "registers", "shared_mem", "warps"];
    let blocks = limits.iter().filter_map(|l| metric(&format!("launch__occupancy_limit_{l}"))).reduce(f64::min);
    let warps = metric("sm__warps_active.avg.per_cycle_active").map(|warps| {
        let share = percent("sm__warps_active.avg.pct_of_peak_sustained_active");
        format!("{warps:.1}{}", share.map_or(String::new(), |s| format!(" ({s})")))
    });
    let moved = sum(["dram__bytes_read.sum", "dram__bytes_write.sum"]).map(|v| format!("{v:.0}"));
    let text = |n: u32| n.to_string();
    let rows = [
        ("microseconds", None, metric("gpu__time_duration.sum").map(|ns| format!("{:.2}", ns / 1e3))),
        ("blocks", None, whole("launch__grid_size")),
        ("threads of a block", compiled.map(|e| text(e.threads)), whole("launch__block_size")),
        ("registers of a thread", usage.map(|u| text(u.registers)), whole("launch__registers_per_thread")),
        ("bytes of shared memory", compiled.map(|e| text(e.shared_bytes)), shared.map(|v| format!("{v:.0}"))),
        ("blocks at a time", occupancy.as_ref().map(|o| text(o.blocks)), blocks.map(|v| format!("{v:.0}"))),
        ("warps at a time", occupancy.map(|o| format!("{} of {}", o.warps, o.max_warps)), warps),
        ("waves", None, metric("launch__waves_per_multiprocessor").map(|v| format!("{v:.2}"))),
        (
            "local memory",
            usage.map(|u| format!("{} bytes spilled", u.spill_bytes)),
            sum(local).map(|sectors| format!("{:.0} bytes moved", 32.0 * sectors)),
        ),
        ("bytes of memory", bytes.map(|b| format!("{b} at least")), moved),
        ("bytes read", None, whole("dram__bytes_read.sum")),
        ("bytes written", None, whole("dram__bytes_write.sum")),
        ("memory", None, percent("dram__throughput.avg.pct_of_peak_sustained_elapsed")),
        ("hits in the L2 cache", None, percent("lts__t_sector_hit_rate.pct")),
        ("bank conflicts", None, whole("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum")),
        ("instructions of warps", None, whole("smsp__inst_executed.sum")),
        ("tensor cores", None, percent("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active")),
    ];
    let mut table = Table::new(&["", "compiled", "counted"]);
    for (name, compiled, counted) in rows {
        table.row([name.into(), compiled.unwrap_or_default(), counted.unwrap_or_else(|| "not on this GPU".into())]);
    }
    table
}

/// The reasons, the most frequent first.
fn stalls(launch: &Launch) -> String {
    let cycles = |state: &str| launch.metric(&stall_metric(state)).unwrap_or(0.0);
    let mut found: Vec<_> = STALLS.iter().map(|&(state, waits_for)| (cycles(state), state, waits_for)).collect();
    let all = found.iter().map(|(cycles, ..)| cycles).sum::<f64>() + cycles(SELECTED);
    // By name where nothing else tells them apart.
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let mut table = Table::new(&["stall reason", "cycles", "share", "a warp waits for"]);
    for (cycles, state, waits_for) in found.into_iter().filter(|(cycles, ..)| *cycles > 0.0) {
        table.row([state.into(), format!("{cycles:.2}"), format!("{:.1} %", 100.0 * cycles / all), waits_for.into()]);
    }
    format!("a warp issues an instruction every {all:.2} cycles\n{table}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ncu_csv::launches;
    use tilewright_core::bundle::{BundleData, Compression, EntryData, ImageData, Usage};

    const LOG: &str = include_str!("../tests/ncu/matmul.csv");

    #[test]
    fn launches_of_one_grid_are_one_table() {
        let found = launches(LOG).unwrap();
        let kernels = kernels(found.iter().chain(&found[1..]).collect());
        assert_eq!(kernels.iter().map(|k| k.launches).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn counters_stand_beside_what_the_compiler_knows() {
        let found = launches(LOG).unwrap();
        let matmul = &found[1];
        let usage = Some(Usage { registers: 168, spill_bytes: 0, stack_bytes: 0 });
        let images = vec![ImageData { target: "sm_90a".into(), usage, ..ImageData::default() }];
        let (name, threads, shared_bytes) = (matmul.kernel.clone(), 384, 213_040);
        let entries = vec![EntryData { name, threads, shared_bytes, ctas: 1, images, ..EntryData::default() }];
        let bytes = BundleData { entries, ..BundleData::default() }.to_bytes(Compression::Fast);
        let bundle = Bundle::parse(&bytes).unwrap();
        let table = counters(matmul, bundle.entry(&matmul.kernel).ok(), Some(100_000_000)).to_string();
        let row = |name: &str| table.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{name}: {table}"));
        let cells = |name: &str| {
            let cells = row(name)[name.len()..].split("  ").map(str::trim).filter(|c| !c.is_empty());
            cells.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(cells("microseconds"), ["226.21"]);
        assert_eq!(cells("threads of a block"), ["384", "384"]);
        assert_eq!(cells("registers of a thread"), ["168", "168"]);
        assert_eq!(cells("bytes of shared memory"), ["213040", "213040"]);
        assert_eq!(cells("blocks at a time"), ["1", "1"]);
        assert_eq!(cells("warps at a time"), ["12 of 64", "11.9 (18.7 %)"]);
        assert_eq!(cells("local memory"), ["0 bytes spilled", "0 bytes moved"]);
        assert_eq!(cells("bytes of memory"), ["100000000 at least", "127331328"]);
        assert_eq!(cells("tensor cores"), ["88.3 %"]);
        assert_eq!(cells("hits in the L2 cache"), ["not on this GPU"]);
        // Of a kernel that is not in the build.
        let alone = counters(matmul, None, None).to_string();
        assert!(alone.contains("\nregisters of a thread             168\n"), "{alone}");
    }

    #[test]
    fn the_most_frequent_stall_comes_first() {
        let found = launches(LOG).unwrap();
        let text = stalls(&found[1]);
        assert!(text.starts_with("a warp issues an instruction every 21.00 cycles\n"), "{text}");
        let states: Vec<_> = text.lines().skip(2).map(|l| l.split(' ').next().unwrap_or_default()).collect();
        assert_eq!(states, ["long_scoreboard", "gmma", "wait", "barrier", "branch_resolving"]);
        let first = text.lines().nth(2).unwrap();
        assert!(
            first.contains("9.41") && first.contains("44.8 %") && first.ends_with("global or local memory"),
            "{first}"
        );
    }
}
