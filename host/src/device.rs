//! What a runtime knows of the device it runs on.

use tilewright_core::Place;

/// A device and its limits.
#[derive(Clone, Debug)]
pub struct Device {
    /// As the driver names it (`NVIDIA H200`), or `cpu`, or `emulator`. Tuning results are filed under it.
    pub name: String,
    pub place: Place,
    /// Major and minor; `None` off the GPU.
    pub compute_capability: Option<(u32, u32)>,
    /// Multiprocessors; worker threads on the CPU.
    pub num_sms: u32,
    /// The CUDA version the driver supports, as in `13.0`; empty off the GPU.
    pub driver: String,
    /// Bytes of device memory; 0 where not known.
    pub memory: u64,
    pub limits: Limits,
}

/// What one program may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub threads: u32,
    /// Bytes of shared memory, opted in.
    pub shared_bytes: u32,
    pub registers: u32,
    /// Bytes of L2 cache; 0 off the GPU.
    pub l2_bytes: u32,
}

impl Device {
    pub(crate) fn host(name: &str) -> Device {
        let limits = Limits { threads: 1024, shared_bytes: 227 << 10, registers: 65536, l2_bytes: 0 };
        Device {
            name: name.into(),
            place: Place::Host,
            compute_capability: None,
            num_sms: tilewright_core::cpu::thread_count() as u32,
            driver: String::new(),
            memory: 0,
            limits,
        }
    }

    /// `sm_90`, or the name where there is no compute capability.
    pub fn arch(&self) -> String {
        match self.compute_capability {
            Some((major, minor)) => format!("sm_{major}{minor}"),
            None => self.name.clone(),
        }
    }
}
