//! Clocks, power and temperature of the GPU while a point is measured, where the driver tells.

use crate::stats::Estimate;
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The readings of a GPU's gauges while a point was measured: the smallest value, the median, and the largest one.
/// [`Report`](crate::Report) has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gauges {
    /// The clock of the multiprocessors, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<Estimate>,
    /// The power that the card draws, in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<Estimate>,
    /// The temperature of the GPU, in degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<Estimate>,
}

/// One look at the gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    pub clock_mhz: Option<f64>,
    pub power_w: Option<f64>,
    pub temperature_c: Option<f64>,
}

/// Something that has gauges.
pub(crate) trait Read: Send {
    fn read(&mut self) -> Reading;
}

/// How often they are looked at. The driver renews them every few tens of milliseconds.
const INTERVAL: Duration = Duration::from_millis(20);

pub(crate) struct Sampler(Option<Arc<Mutex<dyn Read>>>);

impl Sampler {
    /// Of these gauges; of none, one that reads nothing.
    pub fn new(gauges: Option<impl Read + 'static>) -> Sampler {
        Sampler(gauges.map(|g| Arc::new(Mutex::new(g)) as _))
    }

    /// Reads in a thread of its own until it is told to finish.
    pub fn start(&self) -> Sampling {
        let Some(gauges) = self.0.clone() else { return Sampling(None) };
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("gauges".into()).spawn(move || {
            let mut readings = vec![];
            let mut gauges = gauges.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                // The last reading is that of the end, so that a short point has one of its own.
                let end = !matches!(stopped.recv_timeout(INTERVAL), Err(RecvTimeoutError::Timeout));
                readings.push(gauges.read());
                if end {
                    return readings;
                }
            }
        });
        Sampling(thread.ok().map(|thread| (stop, thread)))
    }
}

pub(crate) struct Sampling(Option<(Sender<()>, JoinHandle<Vec<Reading>>)>);

impl Sampling {
    /// The readings; none if nothing was read.
    pub fn finish(self) -> Option<Gauges> {
        let (stop, thread) = self.0?;
        drop(stop);
        let readings = thread.join().ok()?;
        let of = |one: fn(&Reading) -> Option<f64>| {
            let values: Vec<f64> = readings.iter().filter_map(one).collect();
            let range = values.iter().copied().reduce(f64::min).zip(values.iter().copied().reduce(f64::max));
            range.map(|(low, high)| Estimate { low, value: Estimate::of_median(&values).value, high })
        };
        let gauges = Gauges {
            clock_mhz: of(|r| r.clock_mhz),
            power_w: of(|r| r.power_w),
            temperature_c: of(|r| r.temperature_c),
        };
        let any = [&gauges.clock_mhz, &gauges.power_w, &gauges.temperature_c].iter().any(|g| g.is_some());
        any.then_some(gauges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Falling(f64);

    impl Read for Falling {
        fn read(&mut self) -> Reading {
            self.0 -= 1.0;
            Reading { clock_mhz: Some(self.0), power_w: None, temperature_c: Some(50.0) }
        }
    }

    #[test]
    fn a_thread_reads_until_the_end() {
        let sampler = Sampler::new(Some(Falling(2000.0)));
        let sampling = sampler.start();
        std::thread::sleep(3 * INTERVAL);
        let gauges = sampling.finish().unwrap();
        let clock = gauges.clock_mhz.unwrap();
        assert!(clock.high == 1999.0 && clock.low < clock.high && clock.low <= clock.value, "{clock:?}");
        assert_eq!((gauges.power_w, gauges.temperature_c.unwrap().value), (None, 50.0));
        // The next point goes on with the same gauges.
        assert!(sampler.start().finish().unwrap().clock_mhz.unwrap().high < clock.low);
    }

    #[test]
    fn without_gauges_there_is_nothing() {
        assert_eq!(Sampler::new(None::<Falling>).start().finish(), None);
    }
}
