//! The median time of a launch.

use anyhow::{Result, anyhow};
use tilewright_bench::{Estimate, Timer};

/// Milliseconds of `work`, which enqueues on the timer's stream, after a few runs that are not counted.
pub fn median_ms(timer: &mut Timer, reps: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let warm = reps.min(3);
    let mut times = vec![];
    for i in 0..warm + reps.max(1) {
        let t = timer.time(|| Ok(work()?)).map_err(|e| anyhow!(e))?;
        if i >= warm {
            times.push(t.as_secs_f64() * 1e3);
        }
    }
    Ok(Estimate::of_median(&times).value)
}
