//! Shipped results, for GPUs that were measured: `defaults/*.json`, built in.
//!
//! ```text
//! { "format": 1, "device": "NVIDIA H200", "compute_capability": "9.0", "driver": "13.0", "crate": "0.1.0",
//!   "kernels": { "relu[f16]": { "x:25 y:25 v0": "BLOCK=1024,warps=4" } } }
//! ```
//! Keys and configuration ids are those of the cache files. `driver` and `crate` say where the numbers come from and
//! decide nothing; a configuration that no longer exists is passed over. A device that nobody measured starts from what
//! was measured on one of its compute capability.

use super::key;
use serde::{Deserialize, Serialize};
use serde_json::Serializer;
use serde_json::ser::PrettyFormatter;
use std::collections::BTreeMap;
use tilewright_core::cpu::fork::PerProcess;

pub(crate) const FORMAT: u32 = 1;

const SHIPPED: &[&str] =
    &[include_str!("../../defaults/nvidia-h200.json"), include_str!("../../defaults/nvidia-h100-80gb-hbm3.json")];

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Defaults {
    pub format: u32,
    pub device: String,
    pub compute_capability: String,
    pub driver: String,
    #[serde(rename = "crate")]
    pub version: String,
    /// Kernel, signature, configuration.
    pub kernels: BTreeMap<String, BTreeMap<String, String>>,
}

pub(crate) fn parse(text: &str) -> Result<Defaults, String> {
    let d: Defaults = serde_json::from_str(text).map_err(|e| e.to_string())?;
    if d.format == FORMAT { Ok(d) } else { Err(format!("its format is {}, not {FORMAT}", d.format)) }
}

/// All that is shipped.
fn all() -> &'static [Defaults] {
    static ALL: PerProcess<Vec<Defaults>> = PerProcess::new();
    ALL.get_or_init(|| {
        let report = |e: &String| tracing::warn!(why = e, "ignoring shipped tuning results");
        SHIPPED.iter().filter_map(|t| parse(t).inspect_err(report).ok()).collect()
    })
}

/// The shipped results for a device.
pub(crate) fn of(device: &str) -> Option<&'static Defaults> {
    all().iter().find(|d| d.device == device)
}

/// The shipped results for other devices of a compute capability, which run the same code at speeds of their own.
pub(crate) fn alike(device: &str, capability: &str) -> impl Iterator<Item = &'static Defaults> {
    all().iter().filter(move |d| d.device != device && d.compute_capability == capability)
}

impl Defaults {
    /// The file, as those in `defaults`.
    pub(crate) fn text(&self) -> String {
        let mut text = Vec::new();
        let mut writer = Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b" "));
        // Strings and numbers, to memory.
        let _ = self.serialize(&mut writer);
        text.push(b'\n');
        String::from_utf8(text).unwrap_or_default()
    }

    /// Adds the results of another file that have no result here.
    pub(crate) fn add(&mut self, other: Defaults) {
        for (kernel, results) in other.kernels {
            let known = self.kernels.entry(kernel).or_default();
            results.into_iter().for_each(|(key, result)| _ = known.entry(key).or_insert(result));
        }
    }

    pub(crate) fn exact(&self, label: &str, signature: &str) -> Option<&str> {
        Some(self.kernels.get(label)?.get(signature)?)
    }

    /// The result for the nearest sizes, and how far off they are.
    pub(crate) fn nearest(&self, label: &str, signature: &str) -> Option<(u32, &str)> {
        let near = self
            .kernels
            .get(label)?
            .iter()
            .filter_map(|(s, config)| Some((key::distance(s, signature)?, config.as_str())));
        near.min_by_key(|(d, _)| *d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_files_parse() {
        for text in SHIPPED {
            let d = parse(text).unwrap();
            assert!(of(&d.device).is_some());
        }
        assert!(of("a device that nobody has").is_none());
    }

    #[test]
    fn devices_of_one_compute_capability_are_alike() {
        let others = |device: &'static str, capability: &'static str| {
            alike(device, capability).map(|d| d.device.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(others("NVIDIA H200", "9.0"), ["NVIDIA H100 80GB HBM3"]);
        assert_eq!(others("NVIDIA H100 PCIe", "9.0"), ["NVIDIA H200", "NVIDIA H100 80GB HBM3"]);
        assert!(others("NVIDIA A100-SXM4-80GB", "8.0").is_empty() && others("cpu", "").is_empty());
    }

    #[test]
    fn lookups() {
        let d = parse(
            r#"{ "format": 1, "device": "d", "compute_capability": "9.0", "driver": "13.0", "crate": "0.1.0",
                 "kernels": { "k": { "x:10 v0": "A", "x:25 v0": "B", "x:25 v1": "C" } } }"#,
        )
        .unwrap();
        assert_eq!(d.exact("k", "x:25 v0"), Some("B"));
        assert_eq!(d.exact("k", "x:24 v0"), None);
        assert_eq!(d.nearest("k", "x:24 v0"), Some((1, "B")));
        assert_eq!(d.nearest("k", "x:2 v1"), Some((23, "C")));
        assert_eq!(d.nearest("k", "x:2 v2"), None);
        assert_eq!(d.nearest("other", "x:2 v0"), None);
        assert!(parse("{}").is_err());
        assert!(
            parse(r#"{"format":2,"device":"","compute_capability":"","driver":"","crate":"","kernels":{}}"#).is_err()
        );
    }
}
