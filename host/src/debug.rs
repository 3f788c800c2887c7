//! Code for the emulated SM in the place of the build's own: the libraries of `tile debug`, which have breakpoints.
//!
//! `TILE_DEBUG` names the library of a process. A program that builds libraries itself, as `tile debug` does, sets a
//! debugger.

use std::ffi::c_void;
use std::path::Path;
use std::sync::{Arc, OnceLock, RwLock};

use libloading::Library;
use tilewright_core::emulator::debug::{Answer, LAUNCH_SYMBOL, LaunchFn, Request};
use tilewright_core::emulator::{Failure, Options, Region, Report};

/// A library with the code of some entries.
pub struct DebugLibrary {
    library: Library,
}

impl DebugLibrary {
    /// Loads a library.
    ///
    /// # Safety
    /// `tile debug` has built it: its code is run.
    pub unsafe fn load(path: &Path) -> Result<DebugLibrary, String> {
        // SAFETY: the caller vouches for the library. One that `tile debug` builds runs nothing as it is loaded.
        let library = unsafe { Library::new(path) };
        let library = library.map_err(|e| format!("the library {} cannot be loaded: {e}", path.display()))?;
        // SAFETY: the function is only looked for.
        match unsafe { library.get::<LaunchFn>(LAUNCH_SYMBOL.as_bytes()) } {
            Ok(_) => Ok(DebugLibrary { library }),
            Err(_) => Err(format!("{} is no library of `tile debug`", path.display())),
        }
    }

    /// Runs a launch. Returns `None` for an entry that the library does not contain.
    ///
    /// # Safety
    /// As [`tilewright_core::emulator::launch`], of the entry.
    unsafe fn launch(&self, request: &Request) -> Result<Option<Result<Report, Failure>>, String> {
        let request = serde_json::to_vec(request).map_err(|e| e.to_string())?;
        let mut answer: Vec<u8> = vec![];
        // SAFETY: `load` has found the function, whose type is a part of the library's interface. The request can be
        // read. The context is the vector that `respond` takes it for, and the function is done with it as it returns.
        // The accesses of the entry are the caller's contract.
        unsafe {
            let launch = self.library.get::<LaunchFn>(LAUNCH_SYMBOL.as_bytes()).map_err(|e| e.to_string())?;
            launch(request.as_ptr(), request.len(), (&raw mut answer).cast::<c_void>(), respond);
        }
        match serde_json::from_slice(&answer) {
            Ok(Answer::Ran(report)) => Ok(Some(Ok(report))),
            Ok(Answer::Failed(failure)) => Ok(Some(Err(failure))),
            Ok(Answer::Unknown) => Ok(None),
            Ok(Answer::Refused(why)) => Err(format!("the library of `tile debug` refuses a launch: {why}")),
            Err(e) => Err(format!("the answer of the library of `tile debug` is not understood: {e}")),
        }
    }
}

/// Keeps an answer of `bytes` bytes.
extern "C" fn respond(context: *mut c_void, answer: *const u8, bytes: usize) {
    // SAFETY: the library calls this once while `DebugLibrary::launch` waits, with the context that it was given, which
    // is a vector that nobody else uses meanwhile, and with bytes that it keeps until this returns.
    unsafe { (*context.cast::<Vec<u8>>()).extend_from_slice(std::slice::from_raw_parts(answer, bytes)) };
}

/// Finds the library of an entry: none where its own code is to run. The error is a message.
type Debugger = dyn Fn(&str) -> Result<Option<Arc<DebugLibrary>>, String> + Send + Sync;

static DEBUGGER: RwLock<Option<Arc<Debugger>>> = RwLock::new(None);

/// Asks `debugger` for the code of every launch on the emulated SM from now on, in all runtimes of this process; `None`
/// ends that. Meanwhile variants that the build has no code of count as ones that run: the debugger has it.
pub fn set_debugger(debugger: Option<Arc<Debugger>>) {
    crate::launched::every_variant_runs(debugger.is_some());
    *DEBUGGER.write().unwrap_or_else(|e| e.into_inner()) = debugger;
}

/// The library that `TILE_DEBUG` names.
fn of_environment() -> Result<Option<Arc<DebugLibrary>>, String> {
    static LIBRARY: OnceLock<Result<Option<Arc<DebugLibrary>>, String>> = OnceLock::new();
    let load = || {
        let Some(path) = std::env::var_os("TILE_DEBUG").filter(|p| !p.is_empty()) else { return Ok(None) };
        // SAFETY: whoever sets the variables of a process vouches for what they name, as for `LD_PRELOAD`.
        unsafe { DebugLibrary::load(Path::new(&path)) }.map(|l| Some(Arc::new(l)))
    };
    LIBRARY.get_or_init(load).clone()
}

/// Runs a launch by the code of a library, if there is one for it. The error says why that cannot be done.
///
/// # Safety
/// As [`tilewright_core::emulator::launch`], of the entry with these words.
pub(crate) unsafe fn launch(
    entry: &str,
    words: &[u64],
    regions: &[Region],
    grid: [u64; 3],
    options: &Options,
) -> Result<Option<Result<Report, Failure>>, String> {
    let debugger = DEBUGGER.read().unwrap_or_else(|e| e.into_inner()).clone();
    let library = match debugger {
        Some(find) => find(entry)?,
        None => of_environment()?,
    };
    let Some(library) = library else { return Ok(None) };
    // SAFETY: the caller's contract.
    unsafe { library.launch(&Request::new(entry, words, regions, grid, options)) }
}
