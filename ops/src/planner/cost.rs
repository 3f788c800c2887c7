//! The cost of a plan, as data: its launches and their work. A model of a device tells the time.

use super::attention::{self, AttentionWork};
use super::device::DeviceModel;
use super::gemm::{self, GemmWork, Loads, Tile};
use super::rows::{self, RowsWork};
use serde::{Deserialize, Serialize};

/// The launches of a plan.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub moved: Moved,
    pub kernel: Work,
    /// How much longer the kernel takes beyond its launch than the terms say.
    pub configuration: f32,
}

/// Bytes that launches beside the kernel read and write together; 0 where there is no such launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Moved {
    /// Copies of operands, and of results of another type.
    pub copied: [usize; 3],
    /// Operands that are decomposed or converted.
    pub decomposed: [usize; 2],
    /// A result that is transposed.
    pub transposed: usize,
    /// Bytes of scratch memory that all of them need. Files of samples may be without; no time depends on it.
    #[serde(default)]
    pub scratch: usize,
}

/// A launch beside the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Bytes that it reads and writes; 0 where there is no such launch.
    pub bytes: usize,
    /// Bytes of scratch memory that it fills, or reads where the kernel fills them.
    pub scratch: usize,
}

/// The work of the kernel itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Work {
    /// Not predicted: a pinned kernel has one plan.
    Unknown,
    Gemm(Tile, GemmWork, Loads),
    GemmOnCpu(Tile, GemmWork),
    Rows(RowsWork),
    Attention(AttentionWork),
}

impl Cost {
    /// The predicted microseconds of all launches.
    pub fn micros(&self, model: &DeviceModel, num_sms: usize) -> f32 {
        let [copied, decomposed, transposed] = self.moved.micros(model);
        copied + decomposed + self.kernel_micros(model, num_sms) + transposed
    }

    /// The predicted microseconds of the kernel alone.
    pub fn kernel_micros(&self, model: &DeviceModel, num_sms: usize) -> f32 {
        let micros = self.kernel.micros(model, num_sms);
        let launch = micros.min(model.launch);
        launch + (micros - launch) * self.configuration
    }

    /// The predicted microseconds of each kind of launch that there is.
    pub fn parts(&self, model: &DeviceModel, num_sms: usize) -> Vec<(&'static str, f32)> {
        let [copied, decomposed, transposed] = self.moved.micros(model);
        let kernel = self.kernel_micros(model, num_sms);
        let all =
            [("copies", copied), ("decomposition", decomposed), ("kernel", kernel), ("transposition", transposed)];
        all.into_iter().filter(|(_, micros)| *micros > 0.0).collect()
    }
}

/// The name of a kernel and configuration in a model, with the path by which it loads the operands of products, or
/// rows.
pub(crate) fn key(kernel: &str, config: &str, loads: Option<Loads>) -> String {
    let loads = match loads {
        Some(Loads::Vectors) => " by vectors",
        Some(Loads::DoubleWords) => " by double words",
        Some(Loads::Words) => " by words",
        Some(Loads::Elements) => " by elements",
        Some(Loads::Tma) | None => "",
    };
    format!("{kernel} {config}{loads}")
}

impl Traffic {
    /// The same launch with the traffic of another one.
    pub fn and(self, other: Traffic) -> Traffic {
        Traffic { bytes: self.bytes.saturating_add(other.bytes), scratch: self.scratch.saturating_add(other.scratch) }
    }
}

impl Moved {
    /// Of launches that copy, decompose or convert, and transpose.
    pub fn of(copied: [Traffic; 3], decomposed: [Traffic; 2], transposed: Traffic) -> Moved {
        let all = copied.iter().chain(&decomposed).chain([&transposed]);
        Moved {
            copied: copied.map(|t| t.bytes),
            decomposed: decomposed.map(|t| t.bytes),
            transposed: transposed.bytes,
            scratch: all.fold(0, |sum, t| sum.saturating_add(t.scratch)),
        }
    }

    fn micros(&self, model: &DeviceModel) -> [f32; 3] {
        let of = |launch: f32, bytes: usize| if bytes == 0 { 0.0 } else { launch + bytes as f32 / model.copied };
        [
            self.copied.iter().map(|&b| of(model.copy, b)).sum(),
            self.decomposed.iter().map(|&b| of(model.decomposition, b)).sum(),
            of(model.transposition, self.transposed),
        ]
    }
}

impl Work {
    /// How the operands of a product, or rows, are loaded.
    pub fn loads(&self) -> Option<Loads> {
        match self {
            Work::Gemm(_, _, loads) => Some(*loads),
            Work::Rows(work) => Some(work.loads),
            _ => None,
        }
    }

    fn micros(&self, model: &DeviceModel, num_sms: usize) -> f32 {
        match self {
            Work::Unknown => 0.0,
            Work::Gemm(tile, work, loads) => gemm::predict(model, num_sms, tile, work, *loads),
            Work::GemmOnCpu(tile, work) => gemm::predict_on_cpu(num_sms, tile, work),
            Work::Rows(work) => rows::predict(model, num_sms, work),
            Work::Attention(work) => attention::predict(model, num_sms, work),
        }
    }
}
