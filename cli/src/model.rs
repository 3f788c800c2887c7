//! `tile model`

use crate::choose::{self, Backend};
use crate::out::outln;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tilewright_core::{Element, bf16, f8e4m3, f16};
use tilewright_ops::{
    self as ops, BatchMultiply, ExecOptions, FittedModel, Matmul, Multiply, Precision, Quality, SampledCall, Samples,
    Transpose,
};
use tilewright_runtime::{BackendKind, Buffer, Device, Error, Runtime};

#[derive(clap::Args)]
pub struct Args {
    /// Also write down all times: a line for the device, and one for each call
    #[arg(long, conflicts_with = "from")]
    samples: Option<PathBuf>,
    /// Fit to the times in these files, of `--samples`, and measure nothing
    #[arg(long, value_delimiter = ',')]
    from: Vec<PathBuf>,
    /// Leave coefficients and the factors of known configurations as they are, and add those of new configurations
    #[arg(long)]
    extend: bool,
    /// Also write the model to this file
    #[arg(long)]
    out: Option<PathBuf>,
    /// Leave the model of this device as it is
    #[arg(long)]
    dry_run: bool,
    /// Print so many calls for which the model does not choose the fastest plan, the worst first
    #[arg(long, default_value_t = 0)]
    misses: usize,
    /// Shapes are drawn from this seed
    #[arg(long, default_value_t = 1, conflicts_with = "from")]
    seed: u64,
    /// Shapes of each kind
    #[arg(long, default_value_t = 40, conflicts_with = "from")]
    shapes: usize,
    /// Products of these types, batches of them, softmax of rows, and attention
    #[arg(
        long,
        value_delimiter = ',',
        default_values = KINDS,
        value_parser = KINDS,
        conflicts_with = "from"
    )]
    kinds: Vec<String>,
    /// Seconds after which no further shape is drawn, in equal shares for each kind
    #[arg(long, default_value_t = 240, conflicts_with = "from")]
    seconds: u64,
    #[command(flatten)]
    backend: Backend,
}

/// The kinds of operations whose plans are sampled.
const KINDS: [&str; 10] =
    ["f16", "bf16", "f32", "tf32", "i8", "f8e4m3", "batched-f16", "batched-f32", "softmax", "attention"];

/// The first line of a file of samples.
#[derive(Serialize, Deserialize, PartialEq)]
struct Sampled {
    device: String,
    num_sms: u32,
    compute_capability: Option<(u32, u32)>,
    clock_khz: u32,
    bandwidth: u64,
}

/// Fits the planner's model of this device: times all plans of operations of random shapes, and looks for the
/// coefficients that predict them. Runtimes of this device predict by them from then on.
pub fn main(args: Args) -> Result<bool> {
    if args.from.is_empty() && !args.dry_run {
        choose::every_configuration("a model")?;
    }
    let (device, calls) = if args.from.is_empty() { measured(&args)? } else { read(&args.from)? };
    let count = calls.iter().map(|c| c.samples.len()).sum::<usize>();
    outln!("{count} plans of {} calls on {}", calls.len(), device.name);
    let dir = tilewright_cache_dir::user_dir();
    let fit = if args.extend { FittedModel::extended } else { FittedModel::of };
    let fitted = fit(&device, dir.as_deref(), &calls);
    outln!("{:>12} {:>6}  {:>14}  {:>14}  {:>14}  {:>14}", "", "calls", "loss", "median", "p90", "rank corr.");
    for (kind, [a, b]) in &fitted.qualities {
        let both = |of: fn(&Quality) -> f64| format!("{:.3} {:.3}", of(a), of(b));
        let (loss, median, p90, rank) = (both(|q| q.loss), both(|q| q.median), both(|q| q.p90), both(|q| q.rank));
        outln!("{kind:>12} {:>6}  {loss:>14}  {median:>14}  {p90:>14}  {rank:>14}", a.calls);
    }
    outln!("(of the model in use, which may know these calls, and of one that was fitted without them)");
    for m in fitted.misses.iter().take(args.misses) {
        outln!("{:.2}  {}", m.measured[0] / m.measured[1], m.call);
        for i in 0..2 {
            outln!("        {:>8.2} predicted {:>8.2} measured  {}", m.predicted[i], m.measured[i], m.plans[i]);
        }
    }
    if let Some(path) = &args.out {
        std::fs::write(path, fitted.text()).with_context(|| format!("writing {}", path.display()))?;
    }
    if !args.dry_run {
        let dir = dir.context("there is no cache folder for the model: set TILE_CACHE_DIR, or pass --dry-run")?;
        outln!("{}", fitted.keep(&device, &dir).context("keeping the model")?.display());
    }
    Ok(true)
}

/// The calls of files of samples, which are of one device.
fn read(files: &[PathBuf]) -> Result<(Device, Vec<SampledCall>)> {
    let (mut first, mut calls) = (None::<Sampled>, vec![]);
    for path in files {
        let why = || format!("reading {}", path.display());
        let text = std::fs::read_to_string(path).with_context(why)?;
        let mut lines = text.lines();
        let head: Sampled = serde_json::from_str(lines.next().unwrap_or_default()).with_context(why)?;
        if head.num_sms == 0 {
            bail!("{} is of a device without multiprocessors", path.display());
        }
        if let Some(other) = first.as_ref().filter(|first| **first != head) {
            bail!("{} is of {}, other files are of {}", path.display(), head.device, other.device);
        }
        first = Some(head);
        for line in lines {
            calls.push(serde_json::from_str(line).with_context(why)?);
        }
    }
    let Sampled { device: name, num_sms, compute_capability, clock_khz, bandwidth } = first.context("no files")?;
    let host = Runtime::cpu().device().clone();
    let num_sms = num_sms as usize;
    Ok((Device { name, num_sms, compute_capability, clock_khz, bandwidth, ..host }, calls))
}

/// The calls that are timed now.
fn measured(args: &Args) -> Result<(Device, Vec<SampledCall>)> {
    let rt = args.backend.open()?;
    if rt.kind() != BackendKind::Cuda {
        bail!("the planner's model is of GPUs: there is none here, or --backend names another one");
    }
    // A file that cannot be written is an error before minutes are spent.
    // Samples of an earlier run stay until those of this one are whole.
    let partial = |path: &Path| path.with_added_extension("partial");
    let file = match &args.samples {
        Some(path) => Some((path, File::create(partial(path)).with_context(|| format!("writing {}", path.display()))?)),
        None => None,
    };
    let share = Duration::from_secs(args.seconds) / args.kinds.len().max(1) as u32;
    let mut out = Sampler { rt: &rt, end: Instant::now(), shapes: args.shapes, calls: vec![] };
    for kind in &args.kinds {
        let mut random = fastrand::Rng::with_seed(args.seed);
        out.end = Instant::now() + share;
        let r = &mut random;
        match kind.as_str() {
            "f32" => out.products(kind, &f32s(r), random, |m| m.precision(Precision::F32)),
            "tf32" => out.products(kind, &f32s(r), random, |m| m.precision(Precision::Tf32)),
            "f16" => out.products(kind, &f16s(r), random, |m| m),
            "bf16" => out.products(kind, &data(|| bf16::from_f32(r.f32() - 0.5)), random, |m| m),
            "i8" => out.products(kind, &data(|| r.i8(..)), random, |m| m),
            "f8e4m3" => out.products(kind, &data(|| f8e4m3::from_f32(r.f32() - 0.5)), random, |m| m),
            "batched-f16" => out.batches(kind, &f16s(r), random),
            "batched-f32" => out.batches(kind, &f32s(r), random),
            "softmax" => out.softmax(kind, &f32s(r), random),
            "attention" => out.attention(kind, &f16s(r), random),
            _ => unreachable!("one of KINDS"),
        }?;
    }
    if let Some((path, file)) = file {
        let why = || format!("writing {}", path.display());
        let mut file = BufWriter::new(file);
        let d = rt.device();
        let head = Sampled {
            device: d.name.clone(),
            num_sms: d.num_sms as u32,
            compute_capability: d.compute_capability,
            clock_khz: d.clock_khz,
            bandwidth: d.bandwidth,
        };
        writeln!(file, "{}", serde_json::to_string(&head)?)?;
        for call in &out.calls {
            writeln!(file, "{}", serde_json::to_string(call)?)?;
        }
        file.flush().and_then(|()| std::fs::rename(partial(path), path)).with_context(why)?;
    }
    Ok((rt.device().clone(), out.calls))
}

struct Sampler<'a> {
    rt: &'a Runtime,
    /// Until when shapes of the present kind are drawn.
    end: Instant,
    shapes: usize,
    calls: Vec<SampledCall>,
}

/// Extents are at most this.
const MAX_EXTENT: f64 = 16384.0;
/// Elements of an operand, and multiply-adds of a product, at most.
const MAX_AREA: usize = 1 << 26;
const MAX_PRODUCT: usize = 1 << 36;

/// A log-uniform number, below `end`.
fn log_uniform(random: &mut fastrand::Rng, least: f64, end: f64) -> usize {
    ((random.f64() * (end / least).ln()).exp() * least) as usize
}

/// A log-uniform extent up to `most`, in half of all cases a multiple of `multiple`.
fn extent(random: &mut fastrand::Rng, most: f64, multiple: usize) -> usize {
    let e = log_uniform(random, 1.0, most + 1.0).max(1);
    if random.bool() { e.div_ceil(multiple) * multiple } else { e }
}

/// A log-uniform extent of a model's layers: a multiple of 16, from `least` on.
fn extent_of_layer(random: &mut fastrand::Rng, least: f64) -> usize {
    log_uniform(random, least, MAX_EXTENT) / 16 * 16
}

/// The extents of a product. A third are those of any product, a third those of a model's layers, and a third those of
/// a few rows or columns by a large matrix, as of a layer for a few tokens. The flag says whether they are of a layer.
fn extents_of_product(random: &mut fastrand::Rng) -> ([usize; 3], bool) {
    let kind = random.u32(..3);
    let extents = loop {
        let [m, n, k] = match kind {
            0 => [(); 3].map(|()| extent(random, MAX_EXTENT, 8)),
            1 => [(); 3].map(|()| extent_of_layer(random, 64.0)),
            _ => {
                let (few, many) = (extent(random, 256.0, 8), extent_of_layer(random, 1024.0));
                let [m, n] = if random.bool() { [few, many] } else { [many, few] };
                [m, n, extent_of_layer(random, 1024.0)]
            }
        };
        if (m * k).max(k * n).max(m * n) <= MAX_AREA && m * n * k <= MAX_PRODUCT {
            break [m, n, k];
        }
    };
    (extents, kind > 0)
}

impl Sampler<'_> {
    /// Draws shapes, and times all plans for each. `run` returns a description.
    fn each(&mut self, kind: &str, mut run: impl FnMut(&Runtime, &ExecOptions) -> Result<String>) -> Result<()> {
        for _ in 0..self.shapes {
            if Instant::now() > self.end {
                break;
            }
            let samples = Samples::default();
            let shape = match run(self.rt, &ExecOptions::new(self.rt).sampling(&samples)) {
                Ok(shape) => shape,
                // No plan runs for this shape: others are sampled.
                Err(e) if matches!(e.downcast_ref(), Some(Error::Tuning { .. })) => {
                    outln!("left out: {e}");
                    continue;
                }
                Err(e) => return Err(e),
            };
            self.calls.push(SampledCall { kind: kind.into(), shape, samples: samples.into_inner() });
        }
        Ok(())
    }

    fn products<T: Multiply>(
        &mut self,
        kind: &str,
        data: &[T],
        mut random: fastrand::Rng,
        with: impl for<'b> Fn(Matmul<'b, T>) -> Matmul<'b, T>,
    ) -> Result<()> {
        self.each(kind, |rt, on| {
            let ([m, n, k], of_layer) = extents_of_product(&mut random);
            // `wgmma` takes 8-bit operands in one order alone.
            let t = match of_layer && size_of::<T>() == 1 {
                true => Transpose { a: false, b: true },
                false => Transpose { a: random.bool(), b: random.bool() },
            };
            let (a, b) = (Buffer::from_slice(rt, &data[..m * k])?, Buffer::from_slice(rt, &data[..k * n])?);
            let mut c = Buffer::<T::Product>::zeros(rt, m * n)?;
            let a = a.view(if t.a { [k, m] } else { [m, k] })?;
            let b = b.view(if t.b { [n, k] } else { [k, n] })?;
            with(Matmul::new(a, b, c.view_mut([m, n])?).transpose(t)).launch(on)?;
            let order = |transposed| if transposed { 'T' } else { 'N' };
            Ok(format!("{}{} {m} x {n} x {k}", order(t.a), order(t.b)))
        })
    }

    fn batches<T: BatchMultiply>(&mut self, kind: &str, data: &[T], mut random: fastrand::Rng) -> Result<()> {
        self.each(kind, |rt, on| {
            let [batch, m, n, k] = loop {
                let batch = 2 + extent(&mut random, 510.0, 1);
                let [m, n, k] = [(); 3].map(|()| 15 + extent(&mut random, 1009.0, 1));
                let [m, n, k] = [m, n, k].map(|e| if random.bool() { e.div_ceil(16) * 16 } else { e });
                if batch * (m * k).max(k * n).max(m * n) <= MAX_AREA && batch * m * n * k <= MAX_PRODUCT {
                    break [batch, m, n, k];
                }
            };
            let a = Buffer::from_slice(rt, &data[..batch * m * k])?;
            let b = Buffer::from_slice(rt, &data[..batch * k * n])?;
            let mut c = Buffer::<T>::zeros(rt, batch * m * n)?;
            ops::batched_matmul(on, a.view([batch, m, k])?, b.view([batch, k, n])?, c.view_mut([batch, m, n])?)?;
            Ok(format!("{batch} of {m} x {n} x {k}"))
        })
    }

    fn softmax(&mut self, kind: &str, data: &[f32], mut random: fastrand::Rng) -> Result<()> {
        self.each(kind, |rt, on| {
            let [rows, cols] = loop {
                let [rows, cols] = [(); 2].map(|()| extent(&mut random, 65536.0, 4));
                if (64..=MAX_AREA).contains(&(rows * cols)) {
                    break [rows, cols];
                }
            };
            let (x, mut y) = (Buffer::from_slice(rt, &data[..rows * cols])?, Buffer::zeros(rt, rows * cols)?);
            ops::softmax_rows(on, &x, &mut y, rows, cols)?;
            Ok(format!("{rows} x {cols}"))
        })
    }

    fn attention(&mut self, kind: &str, data: &[f16], mut random: fastrand::Rng) -> Result<()> {
        self.each(kind, |rt, on| {
            let (heads, shared, queries, keys, d, causal) = loop {
                let (causal, shared) = (random.bool(), extent(&mut random, 64.0, 1));
                let heads = shared * [1, 1, 4, 8][random.usize(..4)];
                let keys = 16 + extent(&mut random, MAX_EXTENT, 8);
                let queries = match (causal, random.u32(..3)) {
                    (true, _) => keys,
                    (false, 0) => 1,
                    (false, _) => extent(&mut random, MAX_EXTENT, 8),
                };
                let d = [64, 128][random.usize(..2)];
                let area = (heads * queries).max(shared * keys) * d;
                if area <= MAX_AREA && heads * queries * keys * d <= MAX_PRODUCT {
                    break (heads, shared, queries, keys, d, causal);
                }
            };
            let of = |n: usize| Buffer::from_slice(rt, &data[..n * d]);
            let (q, k, v) = (of(heads * queries)?, of(shared * keys)?, of(shared * keys)?);
            let mut o = Buffer::<f16>::zeros(rt, heads * queries * d)?;
            let (all, few) = ([heads, queries, d], [shared, keys, d]);
            let attention = ops::Attention::new(q.view(all)?, k.view(few)?, v.view(few)?, o.view_mut(all)?).scale(0.1);
            let attention = if causal { attention.causal() } else { attention };
            attention.launch(on)?;
            let mask = if causal { ", causal" } else { "" };
            Ok(format!("{heads}/{shared} heads, {queries} of {keys}, d {d}{mask}"))
        })
    }
}

/// Random elements for the largest operand.
fn data<T: Element>(value: impl FnMut() -> T) -> Vec<T> {
    let pattern: Vec<T> = std::iter::repeat_with(value).take(1 << 16).collect();
    pattern.into_iter().cycle().take(MAX_AREA).collect()
}

fn f32s(random: &mut fastrand::Rng) -> Vec<f32> {
    data(|| random.f32() - 0.5)
}

fn f16s(random: &mut fastrand::Rng) -> Vec<f16> {
    data(|| f16::from_f32(random.f32() - 0.5))
}
