//! `cargo bench`: the kernel over the columns of a matrix, beside the same function on one core.
#![allow(dead_code)] // The tests take `sweep` and leave `main`.

// ANCHOR: bench
use own_kernel::rms_norm;
use std::process::ExitCode;
use tilewright::{Buffer, Runtime};
use tilewright_bench::{Axis, Case, Failure, Metric, Sweep, Verdict};

const ROWS: usize = 512;

/// Element `i` of the input, and the rows that are wanted.
fn data(columns: usize) -> (Vec<f32>, Vec<f32>) {
    let x: Vec<f32> = (0..ROWS * columns).map(|i| (i % 1000) as f32 / 500.0 - 1.0).collect();
    let row = |r: &[f32]| {
        let mean = r.iter().map(|v| f64::from(v * v)).sum::<f64>() / columns as f64;
        r.iter().map(|v| (f64::from(*v) / (mean + 1e-6).sqrt()) as f32).collect::<Vec<_>>()
    };
    let wanted = x.chunks(columns).flat_map(row).collect();
    (x, wanted)
}

fn kernel(rt: &Runtime, columns: u64) -> Result<Case<'static>, Failure> {
    let columns = columns as usize;
    let (x, wanted) = data(columns);
    let state = (Buffer::from_slice(rt, &x)?, Buffer::from_slice(rt, &vec![f32::NAN; x.len()])?);
    Ok(Case::new(
        state,
        // One launch: the part that is timed.
        move |rt, (x, y)| {
            let dims = [ROWS, columns];
            Ok(rt.launch(rms_norm(x.view(dims)?, y.view_mut(dims)?, 1e-6))?)
        },
        move |(_, y)| Ok(Verdict::close(&y.to_vec()?, &wanted, 1e-5)),
    ))
}

/// A peer is a closure, too.
fn one_core(_: &Runtime, columns: u64) -> Result<Case<'static>, Failure> {
    let (x, wanted) = data(columns as usize);
    let y = vec![f32::NAN; x.len()];
    let launch = move |_: &Runtime, (x, y): &mut (Vec<f32>, Vec<f32>)| {
        for (x, y) in x.chunks(columns as usize).zip(y.chunks_mut(columns as usize)) {
            let scale = 1.0 / (x.iter().map(|v| v * v).sum::<f32>() / columns as f32 + 1e-6).sqrt();
            y.iter_mut().zip(x).for_each(|(y, x)| *y = x * scale);
        }
        Ok(())
    };
    Ok(Case::new((x, y), launch, move |(_, y)| Ok(Verdict::close(y, &wanted, 1e-3))))
}

pub fn sweep(columns: Axis) -> Sweep<'static> {
    Sweep::new("RMS normalization", columns)
        .extents(|columns| vec![ROWS as u64, columns])
        .bytes(|columns| 8 * ROWS as u64 * columns)
        .flops(|columns| 4 * ROWS as u64 * columns)
        .y(Metric::Bandwidth)
        .line("rms_norm", kernel)
        .line("one core", one_core)
        .copy_line()
        .check_at([1, 1000, 4097])
}

fn main() -> ExitCode {
    let columns = Axis::linear("columns", (512..=8192).step_by(512));
    tilewright_bench::main("own-kernel", &Runtime::new(), vec![sweep(columns)])
}
// ANCHOR_END: bench
