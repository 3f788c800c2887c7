//! Traced code in the place of the build's own: what `tile profile --trace` compiles has marks, and each launch of it
//! is read back.
//!
//! `TILE_TRACE` names a file of traced entries for a process. A program that compiles them itself, as `tile profile`
//! does, sets a tracer. Code that is loaded already stays: a tracer is set before the runtime is made that launches.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use tilewright_core::trace_file::{self, ARRAY, BUNDLE, LAUNCH};

/// A launch of traced code that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedLaunch {
    /// The kernel.
    pub kernel: String,
    /// The id of its configuration.
    pub config: String,
    /// The entry.
    pub entry: String,
    /// Thread blocks along x, y and z.
    pub grid: [u32; 3],
    /// The name of the device.
    pub device: String,
    /// The clock of its multiprocessors in kHz; 0 if it is not known.
    pub clock_khz: u32,
    /// The array `tile_trace` as the launch left it; a file has it apart.
    #[serde(skip)]
    pub array: Vec<u8>,
}

/// Traced code, and who reads what its launches leave.
///
/// # Safety
/// The code that `code` gives for an entry takes the entry's arguments and accesses the memory that the entry
/// accesses, beside the array of its marks: safe launches run it.
pub unsafe trait Tracer: Send + Sync {
    /// The bundle with the traced code of an entry; none where the build's own code is launched. The error is a
    /// message.
    fn code(&self, entry: &str) -> Result<Option<&'static [u8]>, String>;

    /// Whether there is traced code of an entry that the build has no code of: then it counts as built.
    fn has(&self, entry: &str) -> bool;

    /// A launch has ended. Launches of traced code in a graph are not read.
    fn launched(&self, launch: TracedLaunch);
}

static TRACER: RwLock<Option<Arc<dyn Tracer>>> = RwLock::new(None);
/// Whether there is or may be a tracer: launches of other processes ask no further.
static MAY_TRACE: AtomicBool = AtomicBool::new(true);

/// Asks `tracer` for the code of entries that are loaded from now on, in all runtimes of this process; `None` ends
/// that.
pub fn set_tracer(tracer: Option<Arc<dyn Tracer>>) {
    let mut set = TRACER.write().unwrap_or_else(PoisonError::into_inner);
    *set = tracer;
    MAY_TRACE.store(true, Ordering::Relaxed);
}

fn tracer() -> Result<Option<Arc<dyn Tracer>>, String> {
    if !MAY_TRACE.load(Ordering::Relaxed) {
        return Ok(None);
    }
    // Held to the end, so that a tracer that is set meanwhile is not forgotten.
    let set = TRACER.read().unwrap_or_else(PoisonError::into_inner);
    let found = match &*set {
        Some(tracer) => Some(tracer.clone()),
        None => of_environment()?.map(|t| t as Arc<dyn Tracer>),
    };
    if found.is_none() {
        MAY_TRACE.store(false, Ordering::Relaxed);
    }
    Ok(found)
}

/// The traced code of an entry. The error is a message.
pub(crate) fn code(entry: &str) -> Result<Option<&'static [u8]>, String> {
    tracer()?.map_or(Ok(None), |t| t.code(entry))
}

/// Whether a tracer has code of an entry that the build has none of.
pub(crate) fn has(entry: &str) -> bool {
    tracer().is_ok_and(|t| t.is_some_and(|t| t.has(entry)))
}

/// Hands a launch that has ended to the tracer.
pub(crate) fn launched(launch: TracedLaunch) {
    if let Ok(Some(tracer)) = tracer() {
        tracer.launched(launch);
    }
}

/// The tracer of `TILE_TRACE`: the entries of a file, and a file beside it for the last launch.
struct OfEnvironment {
    bundles: HashMap<String, &'static [u8]>,
    out: PathBuf,
}

fn of_environment() -> Result<Option<Arc<OfEnvironment>>, String> {
    static TRACER: OnceLock<Result<Option<Arc<OfEnvironment>>, String>> = OnceLock::new();
    let load = || {
        let Some(path) = std::env::var_os("TILE_TRACE").filter(|p| !p.is_empty()).map(PathBuf::from) else {
            return Ok(None);
        };
        let of_file = |why: String| format!("the file {} of TILE_TRACE is not used: {why}", path.display());
        Ok(Some(Arc::new(OfEnvironment::of_file(&path).map_err(of_file)?)))
    };
    TRACER.get_or_init(load).clone()
}

impl OfEnvironment {
    fn of_file(path: &Path) -> Result<OfEnvironment, String> {
        let bytes = tilewright_cache_dir::read(path, tilewright_cache_dir::MAX_BYTES).map_err(|e| e.to_string())?;
        let bundle = |(name, bytes): trace_file::Part| {
            Some((name.strip_prefix(BUNDLE)?.to_string(), &*Box::leak(bytes.into_boxed_slice())))
        };
        let bundles = trace_file::read(&bytes)?.into_iter().filter_map(bundle).collect();
        let mut out = path.as_os_str().to_owned();
        out.push(".launch");
        Ok(OfEnvironment { bundles, out: out.into() })
    }
}

// SAFETY: who sets the environment of a process chooses its code. `tile profile` writes the file, of code that it
// compiles from the entry's kernel.
unsafe impl Tracer for OfEnvironment {
    fn code(&self, entry: &str) -> Result<Option<&'static [u8]>, String> {
        Ok(self.bundles.get(entry).copied())
    }

    fn has(&self, entry: &str) -> bool {
        self.bundles.contains_key(entry)
    }

    /// The last launch stays. Whoever reads the file sees a whole one.
    fn launched(&self, launch: TracedLaunch) {
        let facts = serde_json::to_vec(&launch).unwrap_or_default();
        let bytes = trace_file::write(&[(LAUNCH.into(), facts), (ARRAY.into(), launch.array)]);
        let written: std::io::Result<()> = tilewright_cache_dir::replace(&self.out, |file| file.write_all(&bytes));
        if let Err(e) = written {
            tracing::warn!(file = %self.out.display(), error = %e, "the marks of a traced launch are lost");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who reads a pipe to its end may wait for ever.
    #[test]
    #[cfg(unix)]
    fn traced_code_is_of_a_regular_file() {
        let folder = std::env::temp_dir().join(format!("tilewright-trace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let pipe = folder.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let of_pipe = OfEnvironment::of_file(&pipe).err().unwrap();
        // The launch is written beside the file, over a link that somebody has put there.
        let (file, other) = (folder.join("file"), folder.join("other"));
        std::fs::write(&file, trace_file::write(&[])).unwrap();
        std::fs::write(&other, "1").unwrap();
        std::os::unix::fs::symlink(&other, folder.join("file.launch")).unwrap();
        OfEnvironment::of_file(&file).unwrap().launched(TracedLaunch::default());
        let kept = std::fs::read(&other).unwrap();
        let written = std::fs::read(folder.join("file.launch")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(of_pipe.contains("is not a regular file"), "{of_pipe}");
        assert_eq!(kept, b"1");
        assert_eq!(trace_file::read(&written).unwrap().len(), 2);
    }
}
