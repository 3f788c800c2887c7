//! Arguments that several commands share.

use anyhow::{Result, bail, ensure};
use clap::Args;
use tilewright_conformance::Operation;
use tilewright_core::{ConfigDesc, DType, KernelDesc};
use tilewright_runtime::Runtime;

/// The backend to run on.
#[derive(Args, Clone)]
pub struct Backend {
    /// auto (CUDA where there is a device and code for it, else the CPU), cuda, cuda:N, cpu, emulator, emulator:SEED or
    /// emulator:SEED:MULTIPROCESSORS
    #[arg(long, env = "TILE_BACKEND", default_value = "auto")]
    backend: String,
}

impl Backend {
    pub fn open(&self) -> Result<Runtime> {
        match self.name() {
            "auto" => Ok(Runtime::auto(&tilewright_kernels::all())),
            name => Ok(Runtime::from_name(name)?),
        }
    }

    /// A variable that is set to nothing is not set.
    pub fn name(&self) -> &str {
        if self.backend.is_empty() { "auto" } else { &self.backend }
    }

    /// As [`Backend::open`]; an emulator without a seed of its own takes threads in the order of this one.
    pub fn open_seeded(&self, seed: u64) -> Result<Runtime> {
        match self.name() {
            "emulator" => Ok(Runtime::emulator(seed)),
            _ => self.open(),
        }
    }
}

/// `4096x781`, or `25_000_000`.
#[derive(Clone)]
pub struct Size(pub Vec<u64>);

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| {
            let digits = part.trim().replace('_', "");
            digits.parse::<u64>().map_err(|_| format!("`{part}` is not a number: a size is as in 25000000 or 4096x781"))
        };
        text.split(['x', ',']).map(number).collect::<Result<_, _>>().map(Size)
    }
}

pub fn size_text(size: &[u64]) -> String {
    size.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

/// The dtype of this name, the operation's first by default.
pub fn dtype(op: &Operation, name: Option<&str>) -> Result<DType> {
    let Some(name) = name else { return Ok(op.dtypes[0]) };
    match op.dtypes.iter().find(|d| d.name() == name) {
        Some(d) => Ok(*d),
        None => bail!(
            "{} has no {name}; it has {}",
            op.name,
            op.dtypes.iter().map(|d| d.name()).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// `kernel[id]`, or an id alone where one kernel of the operation has it.
pub fn config(op: &Operation, dtype: DType, name: &str) -> Result<(&'static KernelDesc, &'static ConfigDesc)> {
    let (kernel, id) = match name.strip_suffix(']').and_then(|n| n.split_once('[')) {
        Some((kernel, id)) => (Some(kernel), id),
        None => (None, name),
    };
    let descs = op.descs(dtype);
    let all = || descs.iter().flat_map(|d| d.configs.iter().map(move |c| (*d, c)));
    let found: Vec<_> = all().filter(|(d, c)| c.id == id && kernel.is_none_or(|k| k == d.name)).collect();
    match found[..] {
        [found] => Ok(found),
        [_, _, ..] => bail!(
            "{} has several kernels with this configuration: write one of\n  {}",
            op.name,
            found.iter().map(|(d, c)| format!("{}[{}]", d.name, c.id)).collect::<Vec<_>>().join("\n  ")
        ),
        [] => bail!(
            "{} has no configuration `{name}`; it has\n  {}",
            op.name,
            all().map(|(d, c)| format!("{}[{}]", d.name, c.id)).collect::<Vec<_>>().join("\n  ")
        ),
    }
}

/// Whether the build made code of all configurations for the GPU, and left out none because of `TILE_CONFIGS`.
pub fn has_every_configuration() -> bool {
    tilewright_kernels::all().iter().all(|d| d.is_whole())
}

/// Errors: the fastest configuration of this build may not be the fastest of all.
pub fn every_configuration(what: &str) -> Result<()> {
    ensure!(
        has_every_configuration(),
        "{what} is for all configurations, of which this build has few: build without TILE_CONFIGS"
    );
    Ok(())
}
