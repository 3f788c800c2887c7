//! `cargo bench`: the kernel over sizes, beside a loop on one core and a copy.

use first_crate::axpy;
use std::process::ExitCode;
use tilewright::{Buffer, Runtime};
use tilewright_bench::{Axis, Case, Failure, Metric, Sweep, Verdict};

/// `x`, `y` and the expected result.
fn data(n: u64) -> [Vec<f32>; 3] {
    let x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32).collect();
    let y = vec![1.0; n as usize];
    let expected = x.iter().map(|x| 2.0 * x + 1.0).collect();
    [x, y, expected]
}

fn kernel(rt: &Runtime, n: u64) -> Result<Case<'static>, Failure> {
    let [x, y, expected] = data(n);
    let z = Buffer::from_slice(rt, &vec![f32::NAN; x.len()])?;
    let state = (Buffer::from_slice(rt, &x)?, Buffer::from_slice(rt, &y)?, z);
    // One launch: the part that is timed.
    let launch =
        |rt: &Runtime, (x, y, z): &mut (Buffer<f32>, Buffer<f32>, Buffer<f32>)| Ok(rt.launch(axpy(2.0, &*x, &*y, z))?);
    Ok(Case::new(state, launch, move |(_, _, z)| Ok(Verdict::close(&z.to_vec()?, &expected, 1e-6))))
}

fn one_core(_: &Runtime, n: u64) -> Result<Case<'static>, Failure> {
    let [x, y, expected] = data(n);
    let launch = |_: &Runtime, (x, y, z): &mut (Vec<f32>, Vec<f32>, Vec<f32>)| {
        z.iter_mut().zip(x.iter().zip(y)).for_each(|(z, (x, y))| *z = 2.0 * *x + *y);
        Ok(())
    };
    let z = vec![f32::NAN; x.len()];
    Ok(Case::new((x, y, z), launch, move |(_, _, z)| Ok(Verdict::close(z, &expected, 1e-6))))
}

fn main() -> ExitCode {
    let sweep = Sweep::new("axpy", Axis::log("n", (12..=24).map(|power| 1 << power)))
        .bytes(|n| 12 * n)
        .flops(|n| 2 * n)
        .y(Metric::Bandwidth)
        .line("axpy", kernel)
        .line("one core", one_core)
        .copy_line()
        // `cargo bench -- --check` compares these sizes with the loop's results, and times nothing.
        .check_at([1, 1000, 4097]);
    tilewright_bench::main("first-crate", &Runtime::new(), vec![sweep])
}
