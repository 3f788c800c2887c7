//! Shipped results, for GPUs that were measured: `defaults/*.json`, built in.
//!
//! ```text
//! { "format": 1, "device": "NVIDIA H200", "driver": "13.0", "crate": "0.1.0",
//!   "kernels": { "relu[f16]": { "x:25 y:25 v0": "BLOCK=1024,warps=4" } } }
//! ```
//! Keys and configuration ids are those of the cache files. `driver` and `crate` say where the numbers come from and
//! decide nothing; a configuration that no longer exists is passed over.

use super::key;
use super::store::FORMAT;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::OnceLock;

const SHIPPED: &[&str] = &[include_str!("../../defaults/nvidia-h200.json")];

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Defaults {
    pub format: u32,
    pub device: String,
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

/// The shipped results for a device.
pub(crate) fn of(device: &str) -> Option<&'static Defaults> {
    static ALL: OnceLock<Vec<Defaults>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let report = |e: &String| tracing::warn!(why = e, "ignoring shipped tuning results");
        SHIPPED.iter().filter_map(|t| parse(t).inspect_err(report).ok()).collect()
    });
    all.iter().find(|d| d.device == device)
}

impl Defaults {
    pub(crate) fn exact(&self, label: &str, signature: &str) -> Option<&str> {
        Some(self.kernels.get(label)?.get(signature)?)
    }

    /// The result for the nearest sizes.
    pub(crate) fn nearest(&self, label: &str, signature: &str) -> Option<&str> {
        let all = self.kernels.get(label)?;
        let near = all.iter().filter_map(|(s, config)| Some((key::distance(s, signature)?, config)));
        near.min_by_key(|(d, _)| *d).map(|(_, config)| config.as_str())
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

    /// What is passed over is out of date.
    #[cfg(feature = "ops")]
    #[test]
    fn shipped_results_are_of_what_there_is() {
        let kernels = device_kernels::all();
        for (label, results) in SHIPPED.iter().flat_map(|t| parse(t).unwrap().kernels) {
            let of_kernel = |config: &str| kernels.iter().any(|k| key::kernel_label(k.name, k.types) == label && k.configs.iter().any(|c| c.id == config));
            let way = crate::ops::CHOICES.iter().find(|(name, _)| label.split('[').next() == Some(name));
            let of_way = |config: &str| way.is_some_and(|(_, candidates)| candidates.contains(&config));
            let stale: Vec<_> = results.iter().filter(|(_, config)| !of_kernel(config) && !of_way(config)).collect();
            assert!(stale.is_empty(), "{label}: {stale:?}");
        }
    }

    #[test]
    fn lookups() {
        let d = parse(
            r#"{ "format": 1, "device": "d", "driver": "13.0", "crate": "0.1.0",
                 "kernels": { "k": { "x:10 v0": "A", "x:25 v0": "B", "x:25 v1": "C" } } }"#,
        )
        .unwrap();
        assert_eq!(d.exact("k", "x:25 v0"), Some("B"));
        assert_eq!(d.exact("k", "x:24 v0"), None);
        assert_eq!(d.nearest("k", "x:24 v0"), Some("B"));
        assert_eq!(d.nearest("k", "x:2 v1"), Some("C"));
        assert_eq!(d.nearest("k", "x:2 v2"), None);
        assert_eq!(d.nearest("other", "x:2 v0"), None);
        assert!(parse("{}").is_err());
        assert!(parse(r#"{"format":2,"device":"","driver":"","crate":"","kernels":{}}"#).is_err());
    }
}
