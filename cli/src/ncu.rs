//! Nsight Compute: its program `ncu` around a command of this program, or around the programs that Cargo runs.

use crate::cargo;
use crate::ncu_csv::{Launch, launches};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use tilewright_build::ptxas::Search;
use tilewright_cache_dir::TempDir;

pub const INSTALL_HINT: &str = "\
    Get it with `apt-get install cuda-nsight-compute-13-0` from NVIDIA's repository or with `conda install -c nvidia \
    nsight-compute`, or have the programs of a CUDA toolkit in PATH";

const NO_PERMISSION: &str = "\
    ncu may not read the counters of the GPU (ERR_NVGPUCTRPERM). Run this command as root, in a container with \
    `--cap-add SYS_ADMIN`, or let all users read them: `echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 | sudo tee \
    /etc/modprobe.d/nvidia-counters.conf`, then `sudo reboot`";

/// The metrics beside the reasons of stalls.
const METRICS: [&str; 22] = [
    "gpu__time_duration.sum",
    "launch__grid_size",
    "launch__block_size",
    "launch__registers_per_thread",
    "launch__shared_mem_per_block_dynamic",
    "launch__shared_mem_per_block_static",
    "launch__waves_per_multiprocessor",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps",
    "sm__warps_active.avg.per_cycle_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "smsp__inst_executed.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__t_sector_hit_rate.pct",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
];

/// The states of a warp that does not issue an instruction, by the names of ncu, and the thing that it waits for.
pub const STALLS: [(&str, &str); 18] = [
    ("long_scoreboard", "data of global or local memory"),
    ("short_scoreboard", "data of shared memory, or a special function"),
    ("lg_throttle", "a place in the queue of global and local memory"),
    ("mio_throttle", "a place in the queue of shared memory and special functions"),
    ("tex_throttle", "a place in the queue of textures"),
    ("math_pipe_throttle", "an arithmetic pipe that other warps use"),
    ("gmma", "wgmma of its warpgroup"),
    ("barrier", "other warps at a barrier"),
    ("membar", "a fence of memory"),
    ("wait", "the fixed latency of its instruction before"),
    ("branch_resolving", "the target of a branch"),
    ("no_instruction", "an instruction that is in no cache"),
    ("imc_miss", "a constant that is in no cache"),
    ("dispatch_stall", "the dispatcher"),
    ("drain", "stores at the end of the kernel"),
    ("sleeping", "the end of its sleep"),
    ("not_selected", "its turn: another warp was selected"),
    ("misc", "something else"),
];

/// The state of a warp that issues an instruction.
pub const SELECTED: &str = "selected";

/// The cycles in a state for each instruction.
pub fn stall_metric(state: &str) -> String {
    format!("smsp__average_warps_issue_stalled_{state}_per_issue_active.ratio")
}

/// The counters of ncu.
pub struct Counted {
    pub launches: Vec<Launch>,
    /// Whether the command under it succeeded.
    pub succeeded: bool,
    /// The output of the command, if it was not shown.
    pub said: String,
}

/// The newest ncu: in PATH, in toolkits, or where NVIDIA's packages put it.
pub fn find() -> Option<PathBuf> {
    let packaged = || {
        let versions = fs::read_dir("/opt/nvidia/nsight-compute").into_iter().flatten().flatten();
        versions.map(|v| v.path().join("ncu")).filter(|p| p.is_file()).max()
    };
    Search::from_env().program("ncu").or_else(packaged)
}

/// Counts the launches of this program with other arguments.
pub fn count_own(arguments: &[String]) -> Result<Counted> {
    let tile = std::env::current_exe().context("the path of this program")?;
    count(&|ncu, options, logs| {
        let mut command = Command::new(ncu);
        command.args(options).arg("--log-file").arg(logs.join("ncu.csv")).arg(&tile).args(arguments);
        let out = environment(&mut command).output().with_context(|| format!("cannot run {}", ncu.display()))?;
        Ok((out.status, [out.stdout, out.stderr].map(|o| String::from_utf8_lossy(&o).into_owned()).concat()))
    })
}

/// Counts the first launches of a kernel in each program that Cargo runs in a folder, and shows their output.
pub fn count_cargo(folder: &Path, asked: &[String], kernel: &str, backend: &str) -> Result<Counted> {
    /// Launches that are counted of each program: ncu repeats each several times.
    const LAUNCHES: &str = "16";
    /// The programs of Cargo run one after the other, and each has a log of its own.
    const SCRIPT: &str = r#"logs=$1; shift; exec "$0" --log-file "$logs/$$.csv" "$@""#;
    let host = cargo::host()?;
    count(&|ncu, options, logs| {
        let text = |s: &std::ffi::OsStr| s.to_str().map(str::to_owned).context("a path that is not UTF-8");
        let mut runner = ["sh", "-c", SCRIPT].map(str::to_owned).to_vec();
        runner.extend([text(ncu.as_os_str())?, text(logs.as_os_str())?]);
        runner.extend(options.iter().map(|o| text(o)).collect::<Result<Vec<_>>>()?);
        runner.extend(["--kernel-name".into(), format!("regex:^{kernel}__"), "--launch-count".into(), LAUNCHES.into()]);
        let default = ["test".to_string()];
        let mut command = cargo::command();
        // Strings of JSON are strings of TOML.
        command.arg("--config").arg(format!("target.{host}.runner={}", serde_json::to_string(&runner)?));
        command.args(if asked.is_empty() { &default } else { asked }).current_dir(folder).env("TILE_BACKEND", backend);
        Ok((environment(&mut command).status().context("cannot run cargo")?, String::new()))
    })
}

/// Numbers as in the C locale, and launches of one configuration alone.
fn environment(command: &mut Command) -> &mut Command {
    command.env("LC_ALL", "C").env("TILE_AUTOTUNE", "off")
}

/// Runs a command, which puts ncu with some options around programs, and has it log to a folder. It is run once more
/// without the metrics that ncu does not know of this GPU.
fn count(run: &dyn Fn(&Path, &[OsString], &Path) -> Result<(ExitStatus, String)>) -> Result<Counted> {
    let Some(ncu) = find() else { bail!("there is no ncu, the program of Nsight Compute. {INSTALL_HINT}") };
    let mut metrics: BTreeSet<String> = METRICS.map(str::to_owned).into();
    metrics.extend(STALLS.iter().map(|(state, _)| *state).chain([SELECTED]).map(stall_metric));
    loop {
        let folder = TempDir::with_prefix("tile-ncu-").context("a folder for what ncu says")?;
        let (status, said) = run(&ncu, &options(&metrics), folder.path())?;
        let logs = logs(folder.path())?;
        let all = [&logs[..], std::slice::from_ref(&said)].concat().concat();
        ensure!(!all.contains("ERR_NVGPUCTRPERM"), NO_PERMISSION);
        let unknown = unknown(&all, &metrics);
        if !unknown.is_empty() {
            metrics.retain(|m| !unknown.contains(m));
            continue;
        }
        if let Some(signal) = signal(status) {
            bail!("ncu was ended by signal {signal} before it had counted");
        }
        let launches: Result<Vec<_>> = logs.iter().map(|log| launches(log)).collect();
        let launches =
            launches.context("the table of ncu is not understood")?.into_iter().flatten().collect::<Vec<_>>();
        if launches.is_empty() {
            nothing(&all, &said, status)?;
        }
        return Ok(Counted { launches, succeeded: status.success(), said });
    }
}

/// The options that every run has. Clocks are the GPU's own, as in other measurements.
fn options(metrics: &BTreeSet<String>) -> Vec<OsString> {
    let metrics = metrics.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    let options =
        ["--csv", "--page", "details", "--print-units", "base", "--clock-control", "none", "--target-processes"];
    options.into_iter().chain(["all", "--metrics", &metrics]).map(OsString::from).collect()
}

/// The logs that the programs under ncu have left in its folder.
fn logs(folder: &Path) -> Result<Vec<String>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
    files.sort();
    let read = |file: &PathBuf| Ok(String::from_utf8_lossy(&fs::read(file)?).into_owned());
    files.iter().map(read).collect()
}

/// The metrics that ncu does not find: it names them with or without their suffix (`.sum`).
fn unknown(text: &str, metrics: &BTreeSet<String>) -> BTreeSet<String> {
    let lines = text.lines().filter(|l| l.contains("Failed to find metric"));
    let words: Vec<&str> = lines.flat_map(|l| l.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')).collect();
    let is_named = |m: &&String| m.split('.').next().is_some_and(|base| words.contains(&base));
    metrics.iter().filter(is_named).cloned().collect()
}

/// Why there is no launch, if it is not that none was made.
fn nothing(all: &str, said: &str, status: ExitStatus) -> Result<()> {
    const ERROR: &str = "==ERROR== ";
    let errors: Vec<&str> = all.lines().filter_map(|l| l.strip_prefix(ERROR)).collect();
    if !errors.is_empty() {
        bail!("ncu: {}{}", errors.join("\n"), indented(said));
    }
    let none = all.contains("No kernels were profiled");
    // Cargo may have run no program.
    ensure!(none || !status.success() || all.trim().is_empty(), "ncu printed no table{}", indented(all));
    ensure!(none || said.is_empty(), "ncu failed, and printed no table{}", indented(said));
    Ok(())
}

/// The last lines of a text.
fn indented(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(12)..];
    last.iter().map(|l| format!("\n    {l}")).collect()
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_that_a_gpu_lacks_are_found() {
        let all: BTreeSet<String> = ["a__b.sum", "a__bc.sum", "launch__d"].map(str::to_owned).into();
        let of = |text: &str| unknown(text, &all).into_iter().collect::<Vec<_>>();
        assert_eq!(of("==ERROR== Failed to find metric launch__d\n"), ["launch__d"]);
        assert_eq!(of("==ERROR== Failed to find metric regex:^a__bc\\.(sum|min)$\n"), ["a__bc.sum"]);
        assert_eq!(of("a__b.sum\n==ERROR== Failed to find metric other\n"), [""; 0]);
    }
}
