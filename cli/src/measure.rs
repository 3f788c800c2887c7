//! Timing on a device: each launch by itself, with the caches flushed before it.

use anyhow::Result;
use std::collections::BTreeMap;
use tilewright_runtime::{Buffer, Event, Runtime};

/// Times of one thing, in milliseconds, ascending.
pub struct Times(Vec<f64>);

impl Times {
    pub fn quantile(&self, q: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * q).round() as usize]
    }

    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }
}

/// A runtime with what measuring on it needs.
pub struct Bench<'a> {
    rt: &'a Runtime,
    flush: Option<Buffer<u8>>,
    copy: BTreeMap<u64, f64>,
    reps: usize,
}

/// More than any L2 cache.
const FLUSH_BYTES: usize = 256 << 20;

impl<'a> Bench<'a> {
    pub fn new(rt: &'a Runtime, reps: usize) -> Result<Self> {
        let flush = if rt.device().compute_capability.is_some() { Some(Buffer::alloc(rt, FLUSH_BYTES)?) } else { None };
        Ok(Bench { rt, flush, copy: BTreeMap::new(), reps: reps.max(1) })
    }

    /// Times `work`, which enqueues on the runtime's default stream, after a few runs that are not counted.
    pub fn time(&mut self, mut work: impl FnMut() -> Result<()>) -> Result<Times> {
        let warm = self.reps.min(3);
        let mut times = Vec::new();
        for i in 0..warm + self.reps {
            if let Some(flush) = &mut self.flush {
                flush.fill_zero()?;
            }
            let (start, end) = (Event::new(self.rt)?, Event::new(self.rt)?);
            start.record(self.rt.stream())?;
            work()?;
            end.record(self.rt.stream())?;
            end.synchronize()?;
            if i >= warm {
                times.push(end.since(&start)?.as_secs_f64() * 1e3);
            }
        }
        times.sort_by(f64::total_cmp);
        Ok(Times(times))
    }

    /// GB/s of a copy on the device that moves `bytes`, read plus written; measured once per size.
    pub fn copy_bandwidth(&mut self, bytes: u64) -> Result<f64> {
        if let Some(&known) = self.copy.get(&bytes) {
            return Ok(known);
        }
        let from = Buffer::<u8>::zeros(self.rt, (bytes / 2).max(1) as usize)?;
        let mut to = Buffer::<u8>::zeros(self.rt, from.len())?;
        let times = self.time(|| Ok(to.copy_from_buffer(&from)?))?;
        let rate = bytes as f64 / times.median() / 1e6;
        self.copy.insert(bytes, rate);
        Ok(rate)
    }
}

/// Milliseconds with four figures.
pub fn ms(t: f64) -> String {
    if t < 10.0 { format!("{t:.4}") } else { format!("{t:.1}") }
}

/// TFLOP/s with three figures or more.
pub fn tflops(rate: f64) -> String {
    let digits = if rate < 1.0 {
        4
    } else if rate < 100.0 {
        2
    } else {
        0
    };
    format!("{rate:.digits$}")
}
