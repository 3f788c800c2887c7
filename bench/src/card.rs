//! The device, and the ceilings of its roofline.

use serde::{Deserialize, Serialize};
use tilewright_runtime::Device;

/// The device of a run. [`Report`](crate::Report) has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceFacts {
    /// As the driver names it, or `cpu`.
    pub name: String,
    /// The target, as in `sm_90`, or `cpu`.
    pub arch: String,
    /// Multiprocessors; on the CPU, worker threads.
    pub num_sms: usize,
    /// The CUDA version that the driver supports; empty off the GPU.
    pub driver: String,
    /// The highest clock of a multiprocessor, in MHz; 0 where not known.
    pub clock_mhz: u32,
    /// Bytes a second of device memory, by its clock and the width of its bus; 0 where not known.
    pub bandwidth: u64,
    /// The peak rates of its multiprocessors at the highest clock; none if they are not known.
    pub ceilings: Vec<Ceiling>,
}

/// A limit of arithmetic. [`Report`](crate::Report) has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// The units and the type.
    pub name: String,
    /// Floating-point operations a second.
    pub flops: f64,
}

/// Operations of a multiprocessor in a cycle, a multiply-add counting as two, by compute capability. NVIDIA's papers on
/// these architectures have them; where cards of one capability differ, the rate is left out.
fn per_cycle(compute: (u32, u32)) -> &'static [(&'static str, u32)] {
    match compute {
        (7, 5) => &[("f16 tensor cores", 1024), ("f32", 128)],
        (8, 0) => &[("f16 and bf16 tensor cores", 2048), ("tf32 tensor cores", 1024), ("f32", 128)],
        (8, 6 | 9) => &[("f32", 256)],
        (9, 0) => &[
            ("8-bit tensor cores", 8192),
            ("f16 and bf16 tensor cores", 4096),
            ("tf32 tensor cores", 2048),
            ("f32", 256),
        ],
        _ => &[],
    }
}

impl DeviceFacts {
    /// The facts about a device.
    ///
    /// # Examples
    /// ```
    /// use tilewright_bench::DeviceFacts;
    ///
    /// let facts = DeviceFacts::of(tilewright::Runtime::cpu().device());
    /// assert!(facts.arch == "cpu" && facts.ceilings.is_empty());
    /// ```
    pub fn of(device: &Device) -> DeviceFacts {
        let a_second = device.num_sms as f64 * f64::from(device.clock_khz) * 1e3;
        let rates = device.compute_capability.map_or(&[][..], per_cycle);
        let ceilings = rates.iter().filter(|_| a_second > 0.0);
        DeviceFacts {
            name: device.name.clone(),
            arch: device.arch(),
            num_sms: device.num_sms,
            driver: device.driver.clone(),
            clock_mhz: device.clock_khz / 1000,
            bandwidth: device.bandwidth,
            ceilings: ceilings
                .map(|&(name, rate)| Ceiling { name: name.into(), flops: a_second * f64::from(rate) })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_runtime::Runtime;

    #[test]
    fn ceilings_are_those_of_data_sheets() {
        let device = |compute, num_sms, clock_khz| Device {
            compute_capability: Some(compute),
            num_sms,
            clock_khz,
            ..Runtime::cpu().device().clone()
        };
        let teraflops = |d: Device, name: &str| {
            let facts = DeviceFacts::of(&d);
            let c = facts.ceilings.iter().find(|c| c.name.starts_with(name)).expect("there");
            (c.flops / 1e12).round()
        };
        // At the clocks that the data sheets count with.
        assert_eq!(teraflops(device((8, 0), 108, 1_410_000), "f16"), 312.0);
        assert_eq!(teraflops(device((9, 0), 132, 1_830_000), "f16"), 989.0);
        assert_eq!(teraflops(device((9, 0), 132, 1_980_000), "f32"), 67.0);
        assert!(DeviceFacts::of(&device((99, 0), 1, 1)).ceilings.is_empty());
        assert!(DeviceFacts::of(Runtime::cpu().device()).ceilings.is_empty());
    }
}
