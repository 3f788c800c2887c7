//! The device of a runtime and its limits.

use tilewright_core::{DeviceId, MAX_SHARED_BYTES_SM90};

/// A device and its limits, of [`Runtime::device`](crate::Runtime::device).
///
/// # Examples
/// ```
/// use tilewright::{DeviceId, Runtime};
///
/// let rt = Runtime::cpu();
/// let device = rt.device();
/// assert_eq!((device.name.as_str(), device.id, device.compute_capability), ("cpu", DeviceId::Host, None));
/// assert!(device.num_sms >= 1, "worker threads");
/// assert_eq!(device.arch(), "cpu");
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    /// As the driver names it (`NVIDIA H200`), or `cpu`, or `emulator`. Tuning results are filed under it.
    pub name: String,
    /// The memory that its kernels use.
    pub id: DeviceId,
    /// Major and minor version, `(9, 0)` for an H200; `None` off the GPU.
    pub compute_capability: Option<(u32, u32)>,
    /// Multiprocessors; on the CPU, worker threads. At least 1.
    pub num_sms: usize,
    /// The CUDA version the driver supports, as in `13.0`; empty off the GPU.
    pub driver: String,
    /// Its address on the PCI bus, by which other libraries find it: domain, bus and device, as in `00000000:1b:00.0`.
    /// Empty off the GPU.
    pub pci_bus_id: String,
    /// Bytes of device memory; 0 where not known.
    pub memory: usize,
    /// The highest clock of a multiprocessor, in kHz; 0 where not known.
    pub clock_khz: u32,
    /// Bytes a second of device memory, by its clock and the width of its bus; 0 where not known.
    pub bandwidth: u64,
    /// The limits of one program.
    pub limits: Limits,
    /// Limits of one multiprocessor, shared by its resident thread blocks.
    pub multiprocessor: Multiprocessor,
}

/// Limits of one multiprocessor, shared by its resident thread blocks. Off the GPU they are those of an H200.
///
/// # Examples
/// ```
/// let sm = tilewright::Runtime::cpu().device().multiprocessor;
/// assert_eq!((sm.threads, sm.blocks, sm.registers), (2048, 32, 65536));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiprocessor {
    /// Resident threads.
    pub threads: u32,
    /// Resident thread blocks.
    pub blocks: u32,
    /// Registers of 32 bits.
    pub registers: u32,
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// Shared memory of a block is allocated in units of so many bytes.
    pub shared_unit: u32,
    /// Bytes of shared memory that the driver keeps for each block.
    pub reserved_shared_bytes: u32,
}

impl Multiprocessor {
    /// Of an H200.
    pub(crate) const HOPPER: Multiprocessor = Multiprocessor {
        threads: 2048,
        blocks: 32,
        registers: 65536,
        shared_bytes: 228 << 10,
        shared_unit: 128,
        reserved_shared_bytes: 1 << 10,
    };
}

/// The limits of one program. Off the GPU they are those of an H200.
///
/// # Examples
/// ```
/// use tilewright::Runtime;
///
/// let limits = Runtime::cpu().device().limits;
/// assert_eq!((limits.threads, limits.shared_bytes, limits.registers), (1024, 227 << 10, 65536));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Threads of a thread block.
    pub threads: u32,
    /// Bytes of shared memory of a thread block, after the opt-in.
    pub shared_bytes: u32,
    /// Registers of 32 bits of a thread block.
    pub registers: u32,
    /// Bytes of L2 cache; 0 off the GPU.
    pub l2_bytes: u32,
}

impl Device {
    pub(crate) fn host(name: &str) -> Device {
        let shared_bytes = MAX_SHARED_BYTES_SM90 as u32;
        let limits = Limits { threads: 1024, shared_bytes, registers: 65536, l2_bytes: 0 };
        Device {
            name: name.into(),
            id: DeviceId::Host,
            compute_capability: None,
            num_sms: tilewright_core::cpu::thread_count(),
            driver: String::new(),
            pci_bus_id: String::new(),
            memory: 0,
            clock_khz: 0,
            bandwidth: 0,
            limits,
            multiprocessor: Multiprocessor::HOPPER,
        }
    }

    /// The target, as in `sm_90`; the name where there is no compute capability.
    pub fn arch(&self) -> String {
        match self.compute_capability {
            Some((major, minor)) => format!("sm_{major}{minor}"),
            None => self.name.clone(),
        }
    }
}
