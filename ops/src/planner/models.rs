//! The model of a device: fitted on this machine, or shipped for devices that were measured, or derived from
//! attributes.

use super::derived;
use super::device::DeviceModel;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use tilewright_cache_dir::CacheDir;
use tilewright_runtime::{Device, private};

/// Models that are shipped, by the names of their devices.
const SHIPPED: &[(&str, &str)] = &[
    ("NVIDIA H100 80GB HBM3", include_str!("models/nvidia-h100-80gb-hbm3.json")),
    ("NVIDIA H200", include_str!("models/nvidia-h200.json")),
];

/// Changes with the meaning of a coefficient: models of another format are not used.
const FORMAT: u32 = 6;

/// A model in the cache folder.
#[derive(Serialize, Deserialize)]
struct Kept<M> {
    format: u32,
    #[serde(rename = "crate")]
    version: String,
    model: M,
}

/// The model of a device: the one fitted on this machine and kept in `dir`, else [`unfitted`].
pub(crate) fn of(device: &Device, dir: Option<&Path>) -> DeviceModel {
    dir.and_then(|dir| kept(device, dir)).unwrap_or_else(|| unfitted(device))
}

/// The shipped model of a device, else a model derived from its attributes.
pub(super) fn unfitted(device: &Device) -> DeviceModel {
    let shipped = SHIPPED.iter().find(|(name, _)| *name == device.name).map(|(_, text)| shipped(text));
    shipped.unwrap_or_else(|| derived::of(device, &base()))
}

/// The model fitted here; nothing, with a warning, if the file cannot be used.
fn kept(device: &Device, dir: &Path) -> Option<DeviceModel> {
    let path = path(&device.name);
    let read = match CacheDir::at(dir).read(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return None,
        Err(e) => Err(e.to_string()),
        Ok(text) => of_text(&text),
    };
    let path = dir.join(path);
    read.inspect_err(|why| {
        tracing::warn!(path = %path.display(), why, "ignoring a fitted model: `tile model` fits another one");
    })
    .ok()
}

/// The model in a kept file.
fn of_text(text: &[u8]) -> Result<DeviceModel, String> {
    let damaged = |e: serde_json::Error| format!("it is damaged: {e}");
    // Models of another format have other fields.
    match serde_json::from_slice::<Kept<serde_json::Value>>(text).map_err(damaged)? {
        Kept { format, .. } if format != FORMAT => Err(format!("its format is {format}, not {FORMAT}")),
        Kept { version, .. } if version != VERSION => Err(format!("it is of version {version}, not {VERSION}")),
        Kept { model, .. } => serde_json::from_value(model).map_err(damaged).and_then(checked),
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Keeps a model; the path of its file below `dir`.
pub(super) fn keep(model: &DeviceModel, device: &Device, dir: &Path) -> io::Result<PathBuf> {
    let path = path(&device.name);
    let kept = Kept { format: FORMAT, version: VERSION.into(), model: model.clone() };
    CacheDir::at(dir).write(&path, &serde_json::to_vec_pretty(&kept).expect("numbers"))?;
    Ok(path)
}

/// The model that others are derived from: of an H100 80GB HBM3.
pub(super) fn base() -> DeviceModel {
    shipped(SHIPPED[0].1)
}

fn shipped(text: &str) -> DeviceModel {
    parse(text.as_bytes()).expect("shipped models are tested")
}

fn parse(text: &[u8]) -> Result<DeviceModel, String> {
    serde_json::from_slice(text).map_err(|e| e.to_string()).and_then(checked)
}

/// Coefficients are times and speeds: positive, and of a size that sums and products of them do not leave f32.
fn checked(model: DeviceModel) -> Result<DeviceModel, String> {
    let sound = |c: &f32| (1e-12..=1e12).contains(c);
    match model.coefficients().iter().chain(model.configurations.values()).all(sound) {
        true => Ok(model),
        false => Err("a coefficient is not positive, or too large".into()),
    }
}

/// The path of a device's model below the cache folder.
fn path(device: &str) -> PathBuf {
    Path::new("models").join(format!("{}.json", private::device_name(device)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_runtime::Runtime;

    fn device_of(name: &str) -> Device {
        Device { name: name.into(), ..Runtime::cpu().device().clone() }
    }

    #[test]
    fn shipped_models_are_models() {
        for (name, text) in SHIPPED {
            parse(text.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }

    #[test]
    fn coefficients_are_set_one_by_one() {
        let model = base();
        let all = model.coefficients();
        for i in 0..all.len() {
            let mut other = all.clone();
            other[i] *= 2.0;
            assert_eq!(model.with_coefficients(&other).coefficients(), other);
        }
        let mut bad = all;
        bad[3] = -1.0;
        let text = serde_json::to_vec(&model.with_coefficients(&bad)).unwrap();
        assert!(parse(&text).is_err());
    }

    #[test]
    fn a_model_that_was_fitted_comes_before_a_shipped_one() {
        let dir = std::env::temp_dir().join(format!("tilewright-model-{}", std::process::id()));
        let device = device_of(SHIPPED[0].0);
        let of_dir = || super::of(&device, Some(&dir));
        assert_eq!(of_dir().coefficients(), base().coefficients(), "none is kept");
        let mut fitted = base();
        (fitted.launch, fitted.configurations) = (77.0, [("a kernel".to_string(), 1.5)].into());
        let path = keep(&fitted, &device, &dir).unwrap();
        assert_eq!((of_dir().launch, of_dir().of_configuration("a kernel")), (77.0, 1.5));
        let mut old = serde_json::from_slice::<serde_json::Value>(&CacheDir::at(&dir).read(&path).unwrap()).unwrap();
        let good = old.clone();
        let is_refused = |text: &str| {
            CacheDir::at(&dir).write(&path, text.as_bytes()).unwrap();
            of_dir().launch == base().launch
        };
        assert!(!is_refused(&good.to_string()) && is_refused("{}") && is_refused("7"));
        old["crate"] = "0.0.0".into();
        assert!(is_refused(&old.to_string()));
        for bad in [-1.0, 0.0, 1e30] {
            let mut other = good.clone();
            other["model"]["launch"] = bad.into();
            assert!(is_refused(&other.to_string()), "{bad}");
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    /// Every content of a cache file gives a model of usable coefficients or a message.
    #[test]
    fn hostile_models_are_models_or_messages() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/model");
        tilewright_hostile_inputs::attack(Path::new(corpus), |bytes| {
            if let Ok(model) = of_text(bytes) {
                assert!(model.coefficients().iter().all(|c| c.is_finite() && *c > 0.0));
                assert!(model.configurations.values().all(|c| c.is_finite() && *c > 0.0));
            }
        });
    }

    #[test]
    fn the_base_is_derived_from_itself() {
        let device = Device {
            clock_khz: derived::BASE_CLOCK_KHZ as u32,
            bandwidth: derived::BASE_BANDWIDTH as u64,
            compute_capability: Some((9, 0)),
            ..device_of("NVIDIA H100 80GB HBM3")
        };
        for (derived, of_base) in derived::of(&device, &base()).coefficients().into_iter().zip(base().coefficients()) {
            assert!((derived / of_base - 1.0).abs() < 1e-5, "{derived} {of_base}");
        }
    }

    #[test]
    fn rates_follow_attributes() {
        let device = |name: &str, capability, clock_khz, bandwidth| Device {
            clock_khz,
            bandwidth,
            compute_capability: Some(capability),
            ..device_of(name)
        };
        let base = base();
        let a100 = derived::of(&device("NVIDIA A100-SXM4-80GB", (8, 0), 1_410_000, 2_039_000_000_000), &base);
        assert!(a100.memory < base.memory && a100.gemm.f32.rate[0] < 0.5 * base.gemm.f32.rate[0]);
        assert!(a100.gemm.half.latency[1] > base.gemm.half.latency[1]);
        let l4 = derived::of(&device("NVIDIA L4", (8, 9), 2_040_000, 300_096_000_000), &base);
        assert!(l4.memory < 0.1 * base.memory && l4.gemm.f32.rate[0] > base.gemm.f32.rate[0]);
        let geforce = derived::of(&device("NVIDIA GeForce RTX 4090", (8, 9), 2_520_000, 1_008_000_000_000), &base);
        assert!(geforce.gemm.half.rate[1] < l4.gemm.half.rate[1]);
        // Attributes that nobody knows change nothing.
        let unknown = derived::of(&device("a card", (9, 0), 0, 0), &base);
        assert_eq!(unknown.coefficients(), base.coefficients());
    }
}
