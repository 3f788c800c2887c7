//! The file that `TILE_RECORD` names.

use super::recorded::RecordedCall;
use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tilewright_core::cpu::fork::PerProcess;

/// Of a process. A forked child opens the file for itself: the lock may be held where it is forked.
static RECORDER: PerProcess<Option<Recorder>> = PerProcess::new();

/// Appends a call to the file that `TILE_RECORD` names, once. Does nothing without the variable.
pub(crate) fn record(call: impl FnOnce() -> Option<RecordedCall>) {
    let recorder = RECORDER.get_or_init(|| {
        let path = std::env::var_os("TILE_RECORD").filter(|p| !p.is_empty())?;
        let opened = Recorder::open(Path::new(&path));
        opened.inspect_err(|e| tracing::warn!("TILE_RECORD: {}: {e}: nothing is recorded", path.display())).ok()
    });
    if let Some(recorder) = recorder
        && let Some(call) = call()
    {
        recorder.append(call);
    }
}

pub(super) struct Recorder(Mutex<(File, HashSet<RecordedCall>)>);

/// Calls of a process that are recorded, at most: of a program whose shapes are all different the first ones.
const MAX_RECORDED: usize = 1 << 16;

impl Recorder {
    /// A link, a pipe or a device is an error: a program that is started in a hostile folder would write or wait there.
    pub fn open(path: &Path) -> std::io::Result<Recorder> {
        let file = tilewright_cache_dir::append(path)?;
        Ok(Recorder(Mutex::new((file, HashSet::new()))))
    }

    /// Each line is one write, so that processes may share a file.
    pub fn append(&self, call: RecordedCall) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, seen) = &mut *state;
        if seen.contains(&call) || seen.len() == MAX_RECORDED {
            return;
        }
        if let Err(e) = file.write_all(format!("{call}\n").as_bytes()) {
            tracing::warn!("TILE_RECORD: {e}: a call is not recorded");
        }
        seen.insert(call);
    }
}
