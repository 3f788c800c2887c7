//! Launching on the emulated SM.

use crate::error::{Error, Result};
use kernel_core::{Call, ConfigDesc, KernelDesc, VariantDesc};

/// The first configuration that was built for the emulator and takes these arguments, else the default.
pub(crate) fn config(desc: &KernelDesc, slots: &[u64]) -> usize {
    desc.configs.iter().position(|c| c.variant(slots).emulated.is_some()).unwrap_or(0)
}

pub(crate) fn launch(call: &Call, config: &ConfigDesc, config_id: &'static str, variant: &VariantDesc, _grid: [u64; 3], _seed: u64) -> Result<()> {
    let kernel = call.desc().name;
    let Some(_emulated) = variant.emulated else { return Err(Error::NotEmulated { kernel, config: config_id }) };
    let _ = config.warps;
    Err(Error::Emulator { kernel, report: "not connected yet".into() })
}
