//! The autotuner: which configuration a launch uses.
//!
//! A result is filed under the kernel, its types, the device and the rounded sizes ([`key`]). It is looked up among
//! this process's own results and those on disk ([`store`]), then among the shipped ones ([`defaults`]): what was
//! measured on this very machine comes before what was measured on one like it. Where neither has it, `TILE_AUTOTUNE`
//! decides whether the real arguments are measured ([`search`], [`measure`]) or the best guess is used: what is shipped
//! for another device of the same compute capability, for the nearest sizes, or the default configuration.

pub(crate) mod defaults;
pub(crate) mod file;
pub(crate) mod key;
pub(crate) mod measure;
mod search;
pub(crate) mod store;
mod validate;

pub(crate) use search::search;
pub use search::{Candidate, Outcome, Report};

use crate::device::Device;
use crate::error::{Error, Result};
use file::{File, Version};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use store::{Provenance, Record, Records};
use tilewright_core::cpu::fork::PerProcess;

/// When launches measure configurations (`TILE_AUTOTUNE=off|on|force`).
///
/// # Examples
/// ```
/// use tilewright::tuning::Autotune;
/// use tilewright::Runtime;
///
/// let rt = Runtime::cpu();
/// assert_eq!(rt.autotune(), Autotune::from_env());
/// rt.set_autotune(Autotune::Force);
/// assert_eq!(rt.autotune(), Autotune::parse("force").unwrap());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Autotune {
    /// Never.
    Off,
    /// On the GPU, where there is neither a cached nor a shipped result. The default.
    On,
    /// On every backend but the emulated SM, once per process for each key, whatever is known already.
    Force,
}

impl Autotune {
    /// From `TILE_AUTOTUNE`; `on` without it, and, with a warning, where it is none of the three.
    pub fn from_env() -> Autotune {
        match std::env::var("TILE_AUTOTUNE") {
            Ok(v) => Self::parse(&v).unwrap_or_else(|e| {
                // Every runtime asks.
                static SAID: AtomicBool = AtomicBool::new(false);
                if !SAID.swap(true, Relaxed) {
                    tracing::warn!("TILE_AUTOTUNE: {e}: taking on");
                }
                Autotune::On
            }),
            Err(_) => Autotune::On,
        }
    }

    /// `off`, `on` or `force`. Errors: [`Error::InvalidArgument`] for other names.
    pub fn parse(s: &str) -> Result<Autotune> {
        match s {
            "off" => Ok(Autotune::Off),
            "on" => Ok(Autotune::On),
            "force" => Ok(Autotune::Force),
            _ => Err(Error::InvalidArgument { what: "autotune", why: format!("`{s}` is not one of off, on, force") }),
        }
    }
}

/// Where a configuration comes from. [`Runtime::configuration`](crate::Runtime::configuration) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Measured by this process.
    Tuned,
    /// Measured before, from disk.
    Cached,
    /// Shipped for this device.
    Shipped,
    /// Shipped for another device of its compute capability.
    SameArch,
    /// Shipped for other sizes, on this device or one of its compute capability.
    Nearest,
    /// Predicted by a model of the device.
    Predicted,
    /// The first declared.
    Default,
}

/// One runtime's results.
pub(crate) struct Tuner {
    mode: AtomicU8,
    device: String,
    /// As in `9.0`; empty off the GPU.
    capability: String,
    driver: String,
    /// Where results are kept.
    dir: RwLock<Option<PathBuf>>,
    /// Of each process its own: a lock may be held where it is forked.
    state: PerProcess<Mutex<State>>,
    measuring: PerProcess<Mutex<()>>,
}

#[derive(Default)]
struct State {
    /// Kernels and signatures whose result names an unknown configuration.
    unknown: HashSet<(String, String)>,
    /// Kernels of which it was reported why they are not measured.
    untuned: HashSet<String>,
    dir: Option<PathBuf>,
    /// By their label: two kernels of a program may have one.
    kernels: HashMap<String, Vec<Kernel>>,
}

/// The results for one kernel.
struct Kernel {
    provenance: Provenance,
    records: Records,
    /// Signatures that this process has measured.
    fresh: HashSet<String>,
}

impl Tuner {
    pub(crate) fn new(device: &Device) -> Tuner {
        Tuner {
            mode: AtomicU8::new(Autotune::from_env() as u8),
            device: device.name.clone(),
            capability: device.compute_capability.map(|(major, minor)| format!("{major}.{minor}")).unwrap_or_default(),
            // On the CPU the number of threads takes the driver's part.
            driver: if device.driver.is_empty() {
                format!("{} threads", device.num_sms)
            } else {
                device.driver.clone()
            },
            dir: RwLock::new(tilewright_cache_dir::user_dir()),
            state: PerProcess::new(),
            measuring: PerProcess::new(),
        }
    }

    pub(crate) fn mode(&self) -> Autotune {
        match self.mode.load(Relaxed) {
            0 => Autotune::Off,
            1 => Autotune::On,
            _ => Autotune::Force,
        }
    }

    pub(crate) fn set_mode(&self, mode: Autotune) {
        self.mode.store(mode as u8, Relaxed);
    }

    pub(crate) fn set_dir(&self, dir: Option<PathBuf>) {
        let mut state = self.lock();
        *self.dir.write().unwrap_or_else(PoisonError::into_inner) = dir.clone();
        state.dir = dir;
        state.kernels.clear();
    }

    /// Where results are kept; nothing where the process was forked while another thread set it.
    pub(crate) fn dir(&self) -> Option<PathBuf> {
        self.dir.try_read().ok().and_then(|dir| dir.clone())
    }

    /// A known result for exactly this key. In `Force` mode only what this process has measured counts.
    pub(crate) fn known(&self, file: &File) -> Option<(String, Source)> {
        let File { label, version, signature } = file;
        let force = self.mode() == Autotune::Force;
        let mut state = self.lock();
        let kernel = self.kernel(&mut state, label, version);
        let fresh = kernel.fresh.contains(signature);
        match kernel.records.get(signature) {
            Some(r) if fresh => return Some((r.config.clone(), Source::Tuned)),
            Some(r) if !force => return Some((r.config.clone(), Source::Cached)),
            _ if force => return None,
            _ => {}
        }
        let shipped = defaults::of(&self.device)?.exact(label, signature)?;
        Some((shipped.to_string(), Source::Shipped))
    }

    /// The best guess where nothing is known of exactly this key and it cannot be measured.
    pub(crate) fn guess(&self, file: &File) -> Option<(String, Source)> {
        let File { label, version, signature } = file;
        let mut state = self.lock();
        if let Some(r) = self.kernel(&mut state, label, version).records.get(signature) {
            return Some((r.config.clone(), Source::Cached));
        }
        drop(state);
        self.shipped(label, signature)
    }

    /// The result that is shipped for this key, else for it on a device like this, else for the nearest.
    pub(crate) fn shipped(&self, label: &str, signature: &str) -> Option<(String, Source)> {
        let like = || defaults::of(&self.device).into_iter().chain(defaults::alike(&self.device, &self.capability));
        let source = |d: &defaults::Defaults| if d.device == self.device { Source::Shipped } else { Source::SameArch };
        let exact = like().find_map(|d| Some((d.exact(label, signature)?, source(d))));
        let nearest = || {
            like()
                .filter_map(|d| d.nearest(label, signature))
                .min_by_key(|(distance, _)| *distance)
                .map(|(_, c)| (c, Source::Nearest))
        };
        exact.or_else(nearest).map(|(c, s)| (c.to_string(), s))
    }

    /// Whether this key's unknown configuration has not been reported before.
    pub(crate) fn is_first_unknown(&self, label: &str, signature: &str) -> bool {
        self.lock().unknown.insert((label.into(), signature.into()))
    }

    /// Whether it has not been reported before why this kernel is not measured.
    pub(crate) fn is_first_untuned(&self, label: &str) -> bool {
        self.lock().untuned.insert(label.into())
    }

    /// Keeps a result, for this process and on disk.
    pub(crate) fn record(&self, file: &File, report: &Report) {
        let File { label, version, signature } = file;
        let us = |i: usize| report.time(i).map_or(0.0, |t| (t.as_secs_f64() * 1e8).round() / 100.0);
        let config = report.candidates[report.winner].id.clone();
        let record = Record { config, us: us(report.winner), default_us: us(report.base) };
        let mut state = self.lock();
        let dir = state.dir.clone();
        let kernel = self.kernel(&mut state, label, version);
        kernel.records.insert(signature.clone(), record.clone());
        kernel.fresh.insert(signature.clone());
        let provenance = kernel.provenance.clone();
        drop(state);
        let Some(dir) = dir.filter(|_| self.lasts(version)) else { return };
        let path = store::path(&self.device, label);
        if let Err(e) = store::add(&dir, &path, label, &provenance, &[(signature.clone(), record)].into()) {
            tracing::warn!(path = %dir.join(path).display(), error = %e, "the tuning result is kept for this process only");
        }
    }

    /// The results for all kernels and operations that this process has asked for, as a file for
    /// `host/defaults`.
    pub(crate) fn export(&self) -> defaults::Defaults {
        fn of(k: &Kernel) -> impl Iterator<Item = (String, String)> {
            k.records.iter().map(|(signature, r)| (signature.clone(), r.config.clone()))
        }
        let known = self
            .lock()
            .kernels
            .iter()
            .map(|(label, builds)| (label.clone(), builds.iter().flat_map(of).collect::<BTreeMap<_, _>>()))
            .filter(|(_, results)| !results.is_empty())
            .collect();
        defaults::Defaults {
            format: defaults::FORMAT,
            device: self.device.clone(),
            compute_capability: self.capability.clone(),
            driver: self.driver.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            kernels: known,
        }
    }

    /// The same beside the results of such a file. Errors: what is wrong with the file.
    pub(crate) fn export_beside(&self, file: &str) -> Result<defaults::Defaults, String> {
        let (mut all, before) = (self.export(), defaults::parse(file)?);
        if before.device != all.device {
            return Err(format!("its results are of {}, not of {}", before.device, all.device));
        }
        all.add(before);
        Ok(all)
    }

    fn kernel<'s>(&self, state: &'s mut State, label: &str, version: &Version) -> &'s mut Kernel {
        if !state.kernels.contains_key(label) {
            state.kernels.insert(label.into(), vec![]);
        }
        let builds = state.kernels.get_mut(label).expect("inserted above");
        let at = builds.iter().position(|k| k.provenance.kernel_hash == version.hash()).unwrap_or_else(|| {
            let provenance = Provenance {
                kernel_hash: version.hash().into(),
                device: self.device.clone(),
                driver: self.driver.clone(),
                version: env!("CARGO_PKG_VERSION").into(),
            };
            let load = |dir: &PathBuf| store::load(dir, &store::path(&self.device, label), label, &provenance);
            let records = state.dir.as_ref().filter(|_| self.lasts(version)).map(load).unwrap_or_default();
            builds.push(Kernel { provenance, records, fresh: HashSet::new() });
            builds.len() - 1
        });
        &mut builds[at]
    }

    /// Whether results of this version hold for other processes. A processor has all configurations in every build.
    fn lasts(&self, version: &Version) -> bool {
        self.capability.is_empty() || version.is_whole()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Without a folder results are kept in memory.
        let new = || Mutex::new(State { dir: self.dir(), ..State::default() });
        self.state.get_or_init(new).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held while measuring: two searches at a time would disturb each other. `None` where another thread measures and
    /// this one is not to wait.
    pub(crate) fn measuring(&self, waits: bool) -> Option<MutexGuard<'_, ()>> {
        let measuring = self.measuring.get_or_init(Mutex::default);
        match measuring.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(e)) => Some(e.into_inner()),
            Err(TryLockError::WouldBlock) if waits => Some(measuring.lock().unwrap_or_else(PoisonError::into_inner)),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn tuner(dir: &std::path::Path) -> Tuner {
        tuner_of(&Device::host("test device"), dir)
    }

    fn tuner_of(device: &Device, dir: &std::path::Path) -> Tuner {
        let t = Tuner::new(device);
        t.set_mode(Autotune::On);
        t.set_dir(Some(dir.into()));
        t
    }

    fn file(version: &str, signature: &str) -> File {
        labeled("k", version, signature)
    }

    fn labeled(label: &str, version: &str, signature: &str) -> File {
        File { label: label.into(), version: version.into(), signature: signature.into() }
    }

    fn report() -> Report {
        let ran = |id: &str, us| Candidate { id: id.into(), outcome: Outcome::Ran(Duration::from_micros(us)) };
        Report { winner: 1, base: 0, shipped: None, candidates: vec![ran("A", 20), ran("B", 10)], took: Duration::ZERO }
    }

    #[test]
    fn results_last_and_modes_decide_what_counts() {
        let dir = crate::test_kernel::temp_dir("tuner");
        let first = tuner(&dir);
        assert_eq!(first.known(&file("h", "x:1 v0")), None);
        first.record(&file("h", "x:1 v0"), &report());
        assert_eq!(first.known(&file("h", "x:1 v0")), Some(("B".into(), Source::Tuned)));

        let second = tuner(&dir);
        assert_eq!(second.known(&file("h", "x:1 v0")), Some(("B".into(), Source::Cached)));
        second.set_mode(Autotune::Force);
        assert_eq!(second.known(&file("h", "x:1 v0")), None);
        assert_eq!(second.guess(&file("h", "x:1 v0")), Some(("B".into(), Source::Cached)));
        second.record(&file("h", "x:1 v0"), &report());
        assert_eq!(second.known(&file("h", "x:1 v0")), Some(("B".into(), Source::Tuned)));

        let rebuilt = tuner(&dir);
        assert_eq!(rebuilt.known(&file("another hash", "x:1 v0")), None);
        assert_eq!(rebuilt.known(&file("h", "x:1 v0")), Some(("B".into(), Source::Cached)));
        // Another kernel of this name in the same program.
        assert_eq!(first.known(&file("another hash", "x:1 v0")), None);
        first.record(&file("another hash", "x:1 v0"), &Report { winner: 0, ..report() });
        assert_eq!(first.known(&file("another hash", "x:1 v0")), Some(("A".into(), Source::Tuned)));
        assert_eq!(first.known(&file("h", "x:1 v0")), Some(("B".into(), Source::Tuned)));
        assert_eq!(tuner(&dir).known(&file("another hash", "x:1 v0")), Some(("A".into(), Source::Cached)));
        std::fs::remove_dir_all(dir).unwrap();
    }

    /// Of a kernel without some configurations, on a GPU.
    #[test]
    fn results_of_few_configurations_are_for_one_process() {
        let dir = crate::test_kernel::temp_dir("tuner-few");
        let gpu = Device { compute_capability: Some((9, 0)), ..Device::host("test device") };
        let whole = file("h", "x:1 v0");
        let few = File { version: Version::of_few_configurations("h"), ..whole.clone() };
        for (device, lasting) in [(&gpu, false), (&Device::host("test processor"), true)] {
            let first = tuner_of(device, &dir);
            first.record(&few, &report());
            assert_eq!(first.known(&few), Some(("B".into(), Source::Tuned)));
            let known = tuner_of(device, &dir).known(&whole);
            assert_eq!(known, lasting.then(|| ("B".into(), Source::Cached)));
        }
        std::fs::remove_dir_all(dir).unwrap();
    }

    /// One that nobody measured has to measure, but guesses by those like it.
    #[test]
    fn a_device_like_others_starts_from_theirs() {
        let device = |name: &str| Device { compute_capability: Some((9, 0)), ..Device::host(name) };
        let (label, results) = defaults::of("NVIDIA H200").unwrap().kernels.iter().next().unwrap();
        let (signature, config) = results.iter().next().unwrap();
        let tuner = |device: &Device| {
            let t = Tuner::new(device);
            t.set_mode(Autotune::On);
            t.set_dir(None);
            t
        };
        let new = tuner(&device("NVIDIA H100 PCIe"));
        assert_eq!(new.known(&labeled(label, "h", signature)), None);
        assert_eq!(new.guess(&labeled(label, "h", signature)), Some((config.clone(), Source::SameArch)));
        let (name, sizes) = signature.split_once(':').unwrap();
        let other = format!("{name}:99{}", sizes.trim_start_matches(|c: char| c.is_ascii_digit()));
        assert_eq!(new.guess(&labeled(label, "h", &other)).unwrap().1, Source::Nearest);
        assert_eq!(
            tuner(&device("NVIDIA H200")).known(&labeled(label, "h", signature)),
            Some((config.clone(), Source::Shipped))
        );
        let older = Device { compute_capability: Some((8, 0)), ..Device::host("NVIDIA A100-SXM4-80GB") };
        assert_eq!(tuner(&older).guess(&labeled(label, "h", signature)), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_costs_the_file_only() {
        let t = tuner(std::path::Path::new("/proc/none"));
        t.record(&file("h", "x:1 v0"), &report());
        assert_eq!(t.known(&file("h", "x:1 v0")), Some(("B".into(), Source::Tuned)));
    }

    #[test]
    fn exports_are_defaults() {
        let dir = crate::test_kernel::temp_dir("export");
        let t = tuner(&dir);
        t.record(&file("h", "x:1 v0"), &report());
        assert_eq!(t.known(&labeled("none", "h", "x:1 v0")), None);
        let d = defaults::parse(&t.export().text()).unwrap();
        assert_eq!(d.exact("k", "x:1 v0"), Some("B"));
        assert_eq!((d.device.as_str(), d.kernels.len()), ("test device", 1));
        // Beside a file that has one of these keys, and others.
        let one = |key: &str, id: &str| (key.to_string(), id.to_string());
        let of_k = [one("x:1 v0", "A"), one("x:2 v0", "C")].into();
        let kernels = [("k".to_string(), of_k), ("j".to_string(), [one("x:1 v0", "D")].into())].into();
        let before = defaults::Defaults { kernels, ..d };
        let all = t.export_beside(&before.text()).unwrap();
        let found = [("k", "x:1 v0"), ("k", "x:2 v0"), ("j", "x:1 v0")].map(|(k, key)| all.exact(k, key));
        assert_eq!(found, [Some("B"), Some("C"), Some("D")]);
        let others = defaults::Defaults { device: "another".into(), ..before };
        assert!(t.export_beside(&others.text()).unwrap_err().contains("of another, not of test device"));
        assert!(t.export_beside("{}").is_err());
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn modes_parse() {
        assert_eq!(
            ["off", "on", "force"].map(|s| Autotune::parse(s).unwrap()),
            [Autotune::Off, Autotune::On, Autotune::Force]
        );
        let e = Autotune::parse("yes").unwrap_err();
        assert_eq!(e.to_string(), "autotune: `yes` is not one of off, on, force");
    }
}
