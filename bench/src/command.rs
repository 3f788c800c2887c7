//! The command line of benchmarks: the options, progress, Ctrl-C, and the output at the end.

use crate::check::{self, Found};
use crate::compare::Comparison;
use crate::error::{Error, Result};
use crate::files::Folder;
use crate::measure::{self, Progress, Settings, measure};
use crate::peer_command::{in_folder, peers_by};
use crate::peers::Peers;
use crate::report::Report;
use crate::stats::MIN_TIMES;
use crate::sweep::{Metric, Sweep};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use std::ffi::OsString;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tilewright_runtime::Runtime;

/// Options of `tile bench`, and of the `main` of a benchmark. [`main`] has an example of a command.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Also write bench.json, bench.csv, bench.html and a figure of each sweep to this folder
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Compare with an earlier run, its bench.json: exit status 1 where something is slower or wrong
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// How much slower is still the same, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    pub tolerance: f64,
    /// Show lines that were recorded in another run (several: repeat it)
    #[arg(long, value_name = "FILE")]
    pub peers: Vec<PathBuf>,
    /// A program that measures peers of the run, as in "python3 capi/bench/peers.py": it gets the run's bench.json and
    /// the name of the file of peers that it writes
    #[arg(long, value_name = "COMMAND")]
    pub peers_by: Option<String>,
    /// Take a saved run, its bench.json, instead of measuring (several: repeat it, for runs of one device)
    #[arg(long, value_name = "FILE")]
    pub from: Vec<PathBuf>,
    /// Timed rounds of each point
    #[arg(long, default_value = "25")]
    pub reps: NonZeroUsize,
    /// Rounds of each point that are not counted
    #[arg(long, default_value_t = 3)]
    pub warmup: usize,
    /// Seconds that a point may take: then it has fewer rounds, though no fewer than six
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub limit: f64,
    /// The y axis of figures; by default the rate that limits the operation
    #[arg(long)]
    pub y: Option<Metric>,
    /// Print the run as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Print a table for a Markdown document instead
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

fn percent(text: &str) -> std::result::Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok().filter(|v| (0.0..1e6).contains(v));
    number.ok_or_else(|| format!("`{text}` is not a percentage: it is as in 5"))
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|v| (0.0..1e6).contains(v));
    number.ok_or_else(|| format!("`{text}` is not a number of seconds: it is as in 10 or 0.5"))
}

/// The end of a command. [`main`] has an example of a command.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The printed text.
    pub text: String,
    /// Whether all was measured, right, and no slower than before.
    pub good: bool,
}

impl Options {
    /// Takes the saved run of `--from`, else measures the sweeps that `declare` gives. It prints nothing, and saves
    /// only the files that `--out` names. Files are read, and the folder is opened, before anything is measured.
    /// After SIGINT or SIGTERM the points that are done are kept; a second signal ends the process at once.
    ///
    /// Errors: those of `declare`, of [`measure`](crate::measure()), of the files, and of the comparison.
    ///
    /// # Examples
    /// ```
    /// use clap::Parser;
    /// use tilewright_bench::{Axis, Case, Error, Options, Sweep, Verdict};
    ///
    /// #[derive(Parser)]
    /// struct Cli {
    ///     #[command(flatten)]
    ///     options: Options,
    /// }
    ///
    /// let sweep = Sweep::new("nothing", Axis::log("n", [1, 2]))
    ///     .line("nothing", |_, _| Ok(Case::new((), |_, ()| Ok(()), |()| Ok(Verdict::Right))));
    /// let cli = Cli::parse_from(["bench", "--reps", "6"]);
    /// let finished = cli.options.run("example", || Ok::<_, Error>((tilewright::Runtime::cpu(), vec![sweep])))?;
    /// assert!(finished.good);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn run<'a, E: From<Error>>(
        &self,
        title: &str,
        declare: impl FnOnce() -> std::result::Result<(Runtime, Vec<Sweep<'a>>), E>,
    ) -> std::result::Result<Finished, E> {
        let earlier = self.against.as_deref().map(Report::load).transpose()?;
        let mut peers = self.peers.iter().map(|p| Peers::load(p)).collect::<Result<Vec<_>>>()?;
        let report = if self.from.is_empty() {
            let (rt, sweeps) = declare()?;
            self.measured(title, &rt, sweeps, &peers)?
        } else {
            self.saved()?
        };
        let by = self.peers_by.as_deref().filter(|_| report.complete);
        let failed = by.and_then(|command| peers_by(command, &report).map(|p| peers.push(p)).err());
        let mut finished = self.finish(report, &peers, earlier.as_ref())?;
        // The run is kept without them.
        if let Some(e) = failed {
            let _ = writeln!(std::io::stderr(), "error: {e}");
            finished.good = false;
        }
        Ok(finished)
    }

    /// The command line that says the same, for a benchmark that runs in another folder.
    ///
    /// # Examples
    /// ```
    /// use clap::Parser;
    ///
    /// #[derive(Parser)]
    /// struct Cli {
    ///     #[command(flatten)]
    ///     options: tilewright_bench::Options,
    /// }
    ///
    /// let cli = Cli::parse_from(["bench", "--reps", "7", "--json"]);
    /// assert_eq!(cli.options.arguments()?, ["--tolerance=5", "--reps=7", "--warmup=3", "--limit=10", "--json"]);
    /// # Ok::<(), tilewright_bench::Error>(())
    /// ```
    ///
    /// Errors: [`Error::Option`] where there is no folder that paths are in.
    pub fn arguments(&self) -> Result<Vec<OsString>> {
        let mut out: Vec<OsString> = vec![
            format!("--tolerance={}", self.tolerance).into(),
            format!("--reps={}", self.reps).into(),
            format!("--warmup={}", self.warmup).into(),
            format!("--limit={}", self.limit).into(),
        ];
        let single = [("--out", &self.out), ("--against", &self.against)];
        let paths = single.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?)));
        let repeated = [("--from", &self.from), ("--peers", &self.peers)];
        let repeated = repeated.into_iter().flat_map(|(name, paths)| paths.iter().map(move |p| (name, p)));
        for (name, path) in paths.chain(repeated) {
            let path = std::path::absolute(path).map_err(|e| Error::Option(format!("{}: {e}", path.display())))?;
            out.extend([name.into(), path.into()]);
        }
        if let Some(command) = &self.peers_by {
            let here =
                std::env::current_dir().map_err(|e| Error::Option(format!("there is no current folder: {e}")))?;
            out.push(format!("--peers-by={}", in_folder(command, &here)).into());
        }
        if let Some(y) = self.y {
            let name = clap::ValueEnum::to_possible_value(&y).map_or(String::new(), |v| v.get_name().to_string());
            out.push(format!("--y={name}").into());
        }
        out.extend(self.json.then(|| "--json".into()));
        out.extend(self.markdown.then(|| "--markdown".into()));
        Ok(out)
    }

    fn saved(&self) -> Result<Report> {
        let mut report = Report::load_all(&self.from)?;
        for sweep in &mut report.sweeps {
            sweep.y = self.y.unwrap_or(sweep.y);
        }
        Ok(report)
    }

    /// Refuses a run that cannot succeed before it measures.
    fn measured<'a>(&self, title: &str, rt: &Runtime, sweeps: Vec<Sweep<'a>>, peers: &[Peers]) -> Result<Report> {
        if self.against.is_some() && self.reps.get() < MIN_TIMES {
            let least = format!("--against needs {MIN_TIMES} times of each point: --reps {MIN_TIMES} or more");
            return Err(Error::Option(least));
        }
        let with_y = |s: Sweep<'a>| match self.y {
            Some(y) => s.y(y),
            None => s,
        };
        let sweeps: Vec<Sweep> = sweeps.into_iter().map(with_y).collect();
        measure::check(rt, &sweeps)?;
        peers.iter().try_for_each(|p| p.check(&sweeps))?;
        let new = self.out.as_deref().filter(|path| !path.exists());
        self.folder()?;
        // A folder that was made for nothing is empty.
        self.measure(title, rt, &sweeps).inspect_err(|_| new.into_iter().for_each(|path| _ = std::fs::remove_dir(path)))
    }

    fn finish(&self, mut report: Report, peers: &[Peers], earlier: Option<&Report>) -> Result<Finished> {
        let added = peers.iter().try_for_each(|p| report.add_peers(p));
        // A run that was interrupted may have none of the points of the peers.
        if report.complete {
            added?;
        }
        let mut text = match (self.json, self.markdown) {
            (true, _) => report.json(),
            (_, true) => report.markdown(),
            _ => report.text(),
        };
        // The run alone is on stdout.
        let alone = self.json || self.markdown;
        // Measurements are kept where they cannot be compared.
        if let Some(folder) = self.folder()? {
            let paths = report.save_in(&folder)?;
            if let Some(page) = paths.iter().find(|p| p.extension().is_some_and(|e| e == "html")).filter(|_| !alone) {
                text += &format!("\n{} files; {} has all\n", paths.len(), page.display());
            }
        }
        let mut good = report.complete && report.all_right();
        if let Some(earlier) = earlier {
            let comparison = Comparison::new(&report, earlier, self.tolerance / 100.0)?;
            good &= !comparison.is_worse();
            if alone {
                // If stderr cannot be written nobody can be told.
                let _ = write!(std::io::stderr(), "{}", comparison.text());
            } else {
                text += &format!("\n{}", comparison.text());
            }
        }
        Ok(Finished { text, good })
    }

    fn folder(&self) -> Result<Option<Folder>> {
        self.out.as_deref().map(Folder::new).transpose()
    }

    fn measure(&self, title: &str, rt: &Runtime, sweeps: &[Sweep]) -> Result<Report> {
        let stop = Arc::new(AtomicBool::new(false));
        let signals = Signals::catch(&stop)?;
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let settings = Settings {
            warmup: self.warmup,
            rounds: self.reps.get(),
            limit: Duration::from_secs_f64(self.limit),
            stop: Some(&stop),
        };
        let report = measure(rt, title, sweeps, &settings, &mut |p: Progress| {
            bar.set_length(p.of as u64);
            bar.set_position(p.done as u64);
            bar.set_message(format!("{}, {}", p.sweep, p.point));
        });
        bar.finish_and_clear();
        drop(signals);
        let report = report?;
        if report.sweeps.is_empty() && !report.complete {
            return Err(Error::Option("stopped before the first point: nothing was measured".into()));
        }
        Ok(report)
    }
}

/// Signals that are caught until it is dropped.
struct Signals(Vec<signal_hook::SigId>);

impl Signals {
    fn catch(stop: &Arc<AtomicBool>) -> Result<Signals> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        use signal_hook::flag;
        let mut caught = Signals(vec![]);
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag down and raises it, the second one ends the process.
            let ends = flag::register_conditional_shutdown(signal, 128 + signal, stop.clone());
            let raises = ends.and_then(|id| {
                caught.0.push(id);
                flag::register(signal, stop.clone())
            });
            caught.0.push(raises.map_err(|e| Error::Option(format!("signals cannot be caught: {e}")))?);
        }
        Ok(caught)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|id| _ = signal_hook::low_level::unregister(id));
    }
}

/// The command line of a user's benchmark.
#[derive(clap::Parser)]
struct Arguments {
    /// Only the sweeps whose names contain this
    filter: Option<String>,
    #[command(flatten)]
    options: Options,
    /// Compare the results with their references, and time nothing; the exit status is 1 where one is wrong
    #[arg(long, conflicts_with_all = ["out", "against", "peers", "peers_by", "from", "json", "markdown"])]
    check: bool,
    /// An option that `cargo bench` passes
    #[arg(long, hide = true)]
    bench: bool,
}

/// Prints every check and their number; whether all is right.
fn checked(rt: &Runtime, sweeps: &[Sweep]) -> Result<bool> {
    let unwritable = |e: std::io::Error| Error::Option(format!("the output cannot be written: {e}"));
    let mut written = Ok(());
    let results = check::check(rt, sweeps, &mut |c| {
        if written.is_ok() {
            written = writeln!(std::io::stdout(), "{c}");
        }
    })?;
    written.map_err(unwritable)?;
    let count = |of: fn(&Found) -> bool| results.iter().filter(|c| of(&c.found)).count();
    let (right, wrong) = (count(|f| *f == Found::Right), count(|f| matches!(f, Found::Wrong(_))));
    let (skipped, device) = (results.len() - right - wrong, &rt.device().name);
    writeln!(std::io::stdout(), "{right} passed, {wrong} failed, {skipped} skipped on {device}").map_err(unwritable)?;
    Ok(wrong == 0 && right > 0)
}

/// The `main` of a benchmark: takes the options of [`Options`] and the name of a sweep from the command line, measures,
/// prints, and gives the exit status: 0 where all is right and no slower than before, 1 where it is not, 2 for a
/// command line that is not understood.
///
/// # Examples
/// `benches/kernels.rs` of a crate that has `[[bench]] name = "kernels"` and `harness = false` in its manifest:
/// ```no_run
/// use std::process::ExitCode;
/// use tilewright::Runtime;
/// use tilewright_bench::{Axis, Case, Sweep, Verdict};
///
/// fn main() -> ExitCode {
///     let sweep = Sweep::new("my kernel", Axis::log("n", [1 << 10, 1 << 20]))
///         .line("tile", |_, _| Ok(Case::new((), |_, ()| Ok(()), |()| Ok(Verdict::Right))));
///     tilewright_bench::main("my kernels", &Runtime::new(), vec![sweep])
/// }
/// ```
pub fn main(title: &str, rt: &Runtime, sweeps: Vec<Sweep>) -> ExitCode {
    let Arguments { filter, options, check, bench: _ } = Arguments::parse();
    let all: Vec<String> = sweeps.iter().map(|s| s.name.clone()).collect();
    let chosen: Vec<Sweep> =
        sweeps.into_iter().filter(|s| filter.as_ref().is_none_or(|f| s.name.contains(f.as_str()))).collect();
    let done = match &filter {
        // `Runtime::new` takes the CPU then, whose figures nobody asked for.
        _ if let Err(e) = Runtime::from_env() => Err(e.into()),
        Some(f) if chosen.is_empty() => {
            Err(Error::Option(format!("no sweep has `{f}` in its name; there are: {}", all.join(", "))))
        }
        _ if check => return status(checked(rt, &chosen)),
        _ => options.run(title, || Ok((rt.clone(), chosen))),
    };
    status(done.and_then(|finished| {
        let printed = std::io::stdout().write_all(finished.text.as_bytes()).and_then(|()| std::io::stdout().flush());
        printed.map_err(|e| Error::Option(format!("the output cannot be written: {e}")))?;
        Ok(finished.good)
    }))
}

fn status(done: Result<bool>) -> ExitCode {
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            // If a message cannot be written nobody can be told.
            let _ = writeln!(std::io::stderr(), "error: {e}");
            ExitCode::FAILURE
        }
    }
}
