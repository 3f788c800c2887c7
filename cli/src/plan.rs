//! `tile plan matmul`

use crate::choose::Backend;
use crate::measure::median_ms;
use crate::out::outln;
use anyhow::{Context, Result, bail};
use std::time::Duration;
use tilewright_bench::Timer;
use tilewright_conformance::data;
use tilewright_core::{DType, bf16, f8e4m3, f8e5m2, f16};
use tilewright_ops::{BatchMultiply, BatchedMatmul, Matmul, MatmulPlan, Multiply, Precision, Prediction, Transpose};
use tilewright_runtime::{BackendKind, Buffer, Runtime};

#[derive(clap::Args)]
pub struct Args {
    /// The operation: `matmul` or `batched_matmul`
    op: String,
    /// Products of `batched_matmul`
    #[arg(long, default_value_t = 1)]
    batch: usize,
    /// Rows of the result
    #[arg(long)]
    m: usize,
    /// Columns of the result
    #[arg(long)]
    n: usize,
    /// K: columns of op(A)
    #[arg(long)]
    k: usize,
    /// f32, f16, bf16, i8, f8e4m3 or f8e5m2
    #[arg(long, default_value = "f32")]
    dtype: String,
    /// Operands of f32 are rounded to tf32
    #[arg(long)]
    tf32: bool,
    /// A is given transposed, as a k x m matrix
    #[arg(long)]
    transpose_a: bool,
    /// B is given transposed, as an n x k matrix
    #[arg(long)]
    transpose_b: bool,
    /// Also time the plans on the device
    #[arg(long)]
    measure: bool,
    /// Plans to print, the best first; 0 for all
    #[arg(long, default_value_t = 10)]
    top: usize,
    #[command(flatten)]
    backend: Backend,
}

/// The plans of an operation for these shapes, with their predicted times, and with `--measure` the measured ones.
pub fn main(args: Args) -> Result<bool> {
    let is_batch = match args.op.as_str() {
        "matmul" => false,
        "batched_matmul" => true,
        op => bail!("`tile plan` prints the plans of `matmul` and of `batched_matmul`, not of `{op}`"),
    };
    if !is_batch && args.batch != 1 {
        bail!("--batch is of `batched_matmul`");
    }
    if is_batch && (args.transpose_a || args.transpose_b || args.tf32) {
        bail!("`batched_matmul` takes no --transpose-a, --transpose-b or --tf32");
    }
    if args.tf32 && args.dtype != "f32" {
        bail!("--tf32 is of f32, not of {}", args.dtype);
    }
    let rt = args.backend.open()?;
    if args.measure && rt.kind() == BackendKind::Emulator {
        bail!("the time of the emulated SM says nothing about a GPU's: use --backend cuda or cpu");
    }
    let dtype = DType::parse(&args.dtype);
    match dtype {
        Some(DType::F32) if is_batch => of_batch::<f32>(&rt, &args),
        Some(DType::F16) if is_batch => of_batch::<f16>(&rt, &args),
        Some(DType::BF16) if is_batch => of_batch::<bf16>(&rt, &args),
        _ if is_batch => bail!("`{}` is no type of a batch: f32, f16 or bf16", args.dtype),
        Some(DType::F32) => plans::<f32>(&rt, &args, |m, p| m.precision(p)),
        Some(DType::F16) => plans::<f16>(&rt, &args, |m, _| m),
        Some(DType::BF16) => plans::<bf16>(&rt, &args, |m, _| m),
        Some(DType::I8) => plans::<i8>(&rt, &args, |m, _| m),
        Some(DType::F8E4M3) => plans::<f8e4m3>(&rt, &args, |m, _| m),
        Some(DType::F8E5M2) => plans::<f8e5m2>(&rt, &args, |m, _| m),
        _ => bail!("`{}` is no type of a product: f32, f16, bf16, i8, f8e4m3 or f8e5m2", args.dtype),
    }
}

fn plans<T: Multiply + data::Number>(
    rt: &Runtime,
    args: &Args,
    with_precision: impl for<'a> Fn(Matmul<'a, T>, Precision) -> Matmul<'a, T>,
) -> Result<bool> {
    let (m, n, k) = (args.m, args.n, args.k);
    let transpose = Transpose { a: args.transpose_a, b: args.transpose_b };
    let precision = if args.tf32 { Precision::Tf32 } else { Precision::Default };
    let dims = |flip: bool, dims: [usize; 2]| if flip { [dims[1], dims[0]] } else { dims };
    let [a, b] = operands(rt, args, [&[m, k], &[k, n]])?;
    let mut c = Buffer::<T::Product>::zeros(rt, len(&[m, n])?)?;
    let mut product = |of: &mut dyn FnMut(Matmul<T>) -> tilewright_runtime::Result<()>| {
        let a = a.view(dims(transpose.a, [m, k]))?;
        let b = b.view(dims(transpose.b, [k, n]))?;
        of(with_precision(Matmul::new(a, b, c.view_mut([m, n])?).transpose(transpose), precision))
    };
    let mut all: Vec<Prediction> = vec![];
    product(&mut |p| {
        all = p.plans(rt)?;
        Ok(())
    })?;
    print(rt, args, all, |plan| product(&mut |m| m.launch_by(rt, plan)))
}

fn of_batch<T: BatchMultiply + data::Number>(rt: &Runtime, args: &Args) -> Result<bool> {
    let (batch, m, n, k) = (args.batch, args.m, args.n, args.k);
    let [a, b] = operands(rt, args, [&[batch, m, k], &[batch, k, n]])?;
    let mut c = Buffer::<T>::zeros(rt, len(&[batch, m, n])?)?;
    let all =
        BatchedMatmul::new(a.view([batch, m, k])?, b.view([batch, k, n])?, c.view_mut([batch, m, n])?).plans(rt)?;
    print(rt, args, all, |plan| {
        let c = c.view_mut([batch, m, n])?;
        BatchedMatmul::new(a.view([batch, m, k])?, b.view([batch, k, n])?, c).launch_by(rt, plan)
    })
}

/// A and B with these extents: with `--measure` the random numbers that `tile bench` takes. The power that a GPU draws
/// depends on them, and its clocks on the power. Predictions take zeros, which no time is spent on.
fn operands<T: data::Number>(rt: &Runtime, args: &Args, dims: [&[usize]; 2]) -> Result<[Buffer<T>; 2]> {
    const SEED: u64 = 1;
    let mut rng = data::Rng::new(SEED);
    let mut make = |len| -> Result<Buffer<T>> {
        let mut operand = Buffer::zeros(rt, len)?;
        if args.measure {
            operand.copy_from(&data::entries(&mut rng, len))?;
        }
        Ok(operand)
    };
    let [a, b] = dims.map(len);
    Ok([make(a?)?, make(b?)?])
}

/// The elements of an array with these extents.
fn len(dims: &[usize]) -> Result<usize> {
    let len = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    len.with_context(|| format!("an array of {dims:?} elements is larger than an address space"))
}

/// Prints plans, with `--measure` also the times that they take by `launch`.
fn print(
    rt: &Runtime,
    args: &Args,
    all: Vec<Prediction>,
    mut launch: impl FnMut(&MatmulPlan) -> tilewright_runtime::Result<()>,
) -> Result<bool> {
    let count = if args.top == 0 { all.len() } else { args.top.min(all.len()) };
    let batch = if args.op == "matmul" { String::new() } else { format!("{} of ", args.batch) };
    outln!("{} plans of {batch}{} x {} x {} on {}", all.len(), args.m, args.n, args.k, rt.device().name);
    outln!("{:>12}  {:>12}  plan", "predicted us", if args.measure { "measured us" } else { "" });
    let mut timer = Timer::new(rt)?;
    for p in &all[..count] {
        let measured = match args.measure {
            false => String::new(),
            true => match median_ms(&mut timer, 7, || Ok(launch(&p.plan)?)) {
                Ok(t) => format!("{:.2}", t * 1e3),
                Err(e) => format!("{e:#}"),
            },
        };
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        // Of one launch there is nothing more to say.
        let parts = match p.parts.as_slice() {
            [_, _, ..] => {
                let each = p.parts.iter().map(|(part, time)| format!("{part} {:.2}", micros(*time)));
                format!("  ({})", each.collect::<Vec<_>>().join(", "))
            }
            _ => String::new(),
        };
        outln!("{:>12.2}  {measured:>12}  {}{parts}", micros(p.time), p.plan);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    /// A GPU that multiplies zeros draws less power, and runs at higher clocks, than one that multiplies numbers.
    #[test]
    fn products_of_random_numbers_are_measured() {
        let rt = Runtime::cpu();
        let of = |measure: &[&str]| {
            let line = [&["plan", "matmul", "--m", "8", "--n", "4", "--k", "16"][..], measure].concat();
            let args = Command::try_parse_from(line).unwrap().args;
            operands::<f32>(&rt, &args, [&[8, 16], &[16, 4]]).unwrap().map(|o| o.to_vec().unwrap())
        };
        let mut rng = data::Rng::new(1);
        let wanted = [8 * 16, 16 * 4].map(|n| data::entries::<f32>(&mut rng, n));
        assert_eq!(of(&["--measure"]), wanted);
        assert_eq!(of(&[]), [vec![0.0; 8 * 16], vec![0.0; 16 * 4]]);
    }
}
