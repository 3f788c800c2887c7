//! `tile model`

use crate::choose::Backend;
use crate::out::outln;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tilewright_core::{Element, bf16, f8e4m3, f16};
use tilewright_runtime::ops::{self, BatchMultiply, Matmul, Multiply, On, Precision, Samples, Transpose};
use tilewright_runtime::{BackendKind, Buffer, Runtime};

#[derive(clap::Args)]
pub struct Args {
    /// Where the times go: one JSON object a line
    #[arg(long)]
    samples: PathBuf,
    /// Shapes are drawn from this seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Shapes of each kind
    #[arg(long, default_value_t = 40)]
    shapes: usize,
    /// Products of these types, batches of them, and softmax
    #[arg(long, default_value = "f16,bf16,f32,tf32,i8,f8e4m3,batched-f16,batched-f32,softmax", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Seconds after which no further shape is drawn
    #[arg(long, default_value_t = 240)]
    seconds: u64,
    #[command(flatten)]
    backend: Backend,
}

/// Times all plans of operations of random shapes, for the coefficients of the planner's model.
pub fn main(args: Args) -> Result<bool> {
    let rt = args.backend.open()?;
    if rt.kind() != BackendKind::Cuda {
        bail!("the planner's model is of GPUs: there is none here, or --backend names another one");
    }
    let file = File::create(&args.samples).with_context(|| format!("writing {}", args.samples.display()))?;
    let end = Instant::now() + Duration::from_secs(args.seconds);
    let mut out = Sampler { rt: &rt, file: BufWriter::new(file), end, shapes: args.shapes };
    for kind in &args.kinds {
        let random = fastrand::Rng::with_seed(args.seed);
        let f32s = |r: &mut fastrand::Rng| r.f32() - 0.5;
        let f16s = |r: &mut fastrand::Rng| f16::from_f32(r.f32() - 0.5);
        match kind.as_str() {
            "f32" => out.products(kind, random, f32s, |m: Matmul<f32>| m.precision(Precision::F32)),
            "tf32" => out.products(kind, random, f32s, |m: Matmul<f32>| m.precision(Precision::Tf32)),
            "f16" => out.products(kind, random, f16s, |m| m),
            "bf16" => out.products(kind, random, |r| bf16::from_f32(r.f32() - 0.5), |m| m),
            "i8" => out.products(kind, random, |r| r.i8(..), |m| m),
            "f8e4m3" => out.products(kind, random, |r| f8e4m3::from_f32(r.f32() - 0.5), |m| m),
            "batched-f16" => out.batches(kind, random, f16s),
            "batched-f32" => out.batches(kind, random, f32s),
            "softmax" => out.softmax(kind, random, f32s),
            _ => bail!("`{kind}` is no kind of operation whose plans are sampled: see --help"),
        }?;
    }
    out.file.flush()?;
    outln!("{}", args.samples.display());
    Ok(true)
}

struct Sampler<'a> {
    rt: &'a Runtime,
    file: BufWriter<File>,
    end: Instant,
    shapes: usize,
}

/// Extents are at most this.
const MAX_EXTENT: f64 = 16384.0;
/// Elements of an operand, and multiply-adds of a product, at most.
const MAX_AREA: usize = 1 << 26;
const MAX_PRODUCT: usize = 1 << 36;

/// A log-uniform extent up to `most`, in half of all cases a multiple of `multiple`.
fn extent(random: &mut fastrand::Rng, most: f64, multiple: usize) -> usize {
    let e = ((random.f64() * (most + 1.0).ln()).exp() as usize).max(1);
    if random.bool() { e.div_ceil(multiple) * multiple } else { e }
}

impl Sampler<'_> {
    /// Draws shapes, and writes down the times of all plans for each. `run` returns a description, as JSON fields.
    fn each(&mut self, kind: &str, mut run: impl FnMut(&Runtime, &On) -> Result<String>) -> Result<()> {
        for _ in 0..self.shapes {
            if Instant::now() > self.end {
                break;
            }
            let samples = Samples::default();
            let shape = run(self.rt, &On::new(self.rt).sampling(&samples))?;
            for s in samples.into_inner() {
                let (predicted, measured) = (s.predicted.as_secs_f64() * 1e6, s.measured.as_secs_f64() * 1e6);
                writeln!(
                    self.file,
                    "{{\"type\": \"{kind}\", {shape}, \"plan\": \"{}\", \"predicted\": {predicted:.3}, \"us\": {measured:.3}}}",
                    s.plan
                )?;
            }
        }
        Ok(())
    }

    fn products<T: Multiply>(
        &mut self,
        kind: &str,
        mut random: fastrand::Rng,
        value: impl FnMut(&mut fastrand::Rng) -> T,
        with: impl for<'b> Fn(Matmul<'b, T>) -> Matmul<'b, T>,
    ) -> Result<()> {
        let data = data(&mut random, value);
        self.each(kind, |rt, on| {
            let [m, n, k] = loop {
                let [m, n, k] = [(); 3].map(|()| extent(&mut random, MAX_EXTENT, 8));
                if (m * k).max(k * n).max(m * n) <= MAX_AREA && m * n * k <= MAX_PRODUCT {
                    break [m, n, k];
                }
            };
            let t = Transpose { a: random.bool(), b: random.bool() };
            let (a, b) = (Buffer::from_slice(rt, &data[..m * k])?, Buffer::from_slice(rt, &data[..k * n])?);
            let mut c = Buffer::<T::Product>::zeros(rt, m * n)?;
            let a = a.view(if t.a { [k, m] } else { [m, k] })?;
            let b = b.view(if t.b { [n, k] } else { [k, n] })?;
            with(Matmul::new(a, b, c.view_mut([m, n])?).transpose(t)).launch(on)?;
            Ok(format!("\"m\": {m}, \"n\": {n}, \"k\": {k}, \"ta\": {}, \"tb\": {}", t.a, t.b))
        })
    }

    fn batches<T: BatchMultiply>(
        &mut self,
        kind: &str,
        mut random: fastrand::Rng,
        value: impl FnMut(&mut fastrand::Rng) -> T,
    ) -> Result<()> {
        let data = data(&mut random, value);
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
            Ok(format!("\"batch\": {batch}, \"m\": {m}, \"n\": {n}, \"k\": {k}"))
        })
    }

    fn softmax(
        &mut self,
        kind: &str,
        mut random: fastrand::Rng,
        value: impl FnMut(&mut fastrand::Rng) -> f32,
    ) -> Result<()> {
        let data = data(&mut random, value);
        self.each(kind, |rt, on| {
            let [rows, cols] = loop {
                let [rows, cols] = [(); 2].map(|()| extent(&mut random, 65536.0, 4));
                if (64..=MAX_AREA).contains(&(rows * cols)) {
                    break [rows, cols];
                }
            };
            let (x, mut y) = (Buffer::from_slice(rt, &data[..rows * cols])?, Buffer::zeros(rt, rows * cols)?);
            ops::softmax_rows(on, &x, &mut y, rows, cols)?;
            Ok(format!("\"m\": {rows}, \"n\": {cols}"))
        })
    }
}

/// Random elements for the largest operand.
fn data<T: Element>(random: &mut fastrand::Rng, mut value: impl FnMut(&mut fastrand::Rng) -> T) -> Vec<T> {
    let pattern: Vec<T> = (0..1 << 16).map(|_| value(random)).collect();
    pattern.into_iter().cycle().take(MAX_AREA).collect()
}
