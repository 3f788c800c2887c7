//! `tile demo`

use crate::choose::{Backend, size_text};
use crate::measure::median_ms;
use crate::out::{self, outln};
use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use tilewright_bench::{Table, Timer, format};
use tilewright_conformance::{OPERATIONS, Setup};
use tilewright_ops::ExecOptions;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    backend: Backend,
}

pub fn main(args: Args) -> Result<bool> {
    let rt = args.backend.open()?;
    let on_gpu = rt.device().compute_capability.is_some();
    outln!("{} operations on {}, each checked against a reference", OPERATIONS.len(), rt.device().name);
    if !on_gpu {
        outln!("(the CPU backend; with an NVIDIA GPU and its driver the same kernels run there)");
    }
    let bar = ProgressBar::new(OPERATIONS.len() as u64);
    bar.set_style(
        ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let (mut timer, reps) = (Timer::new(&rt)?, if on_gpu { 20 } else { 2 });
    let mut table = Table::new(&["operation", "size", "ms", "GB/s", "TFLOP/s", "largest error", "result"]);
    let mut all_right = true;
    for op in OPERATIONS {
        bar.set_message(op.name);
        // Problems of billions of operations are smaller on the CPU, so that they take seconds.
        let size = match op.axes {
            _ if on_gpu => op.large.to_vec(),
            ["n", "taps"] => vec![1_500_000, 127],
            ["m", "n", "k"] => vec![512; 3],
            ["batch", ..] => vec![8, 256, 256, 256],
            ["heads", ..] => vec![8, 1024, 1024, 128],
            _ => op.large.to_vec(),
        };
        let setup = Setup::plain(op.dtypes[0], &size, 1);
        let mut problem = op.prepare(&rt, &setup)?;
        let on = ExecOptions::new(&rt);
        problem.launch(&on)?;
        let verdict = problem.check()?;
        let work = problem.work();
        let median = median_ms(&mut timer, reps, || Ok(problem.launch(&on)?))?;
        all_right &= verdict.passed();
        table.row([
            op.name.into(),
            size_text(&size),
            format::ms(median),
            format!("{:.1}", work.bytes as f64 / median / 1e6),
            if work.flops > 0 { format::rate(work.flops as f64 / median / 1e9) } else { String::new() },
            if verdict.tolerance == 0.0 && verdict.passed() {
                "exact".into()
            } else {
                format!("{:.1e}", verdict.error)
            },
            if verdict.passed() { "right".into() } else { "WRONG".into() },
        ]);
        bar.inc(1);
    }
    bar.finish_and_clear();
    out::write(format_args!("{table}"));
    Ok(all_right)
}
