//! A library with the code of a kernel for the emulated SM: `tile debug` builds one, with breakpoints in it. Requests
//! and answers are JSON, so that programs of other builds can load it. The library has an emulated SM of its own.

use serde::{Deserialize, Serialize};

use super::{Failure, Options, Program, Region, Report, Shape, WatchOptions, by_line, explain, launch};

/// The name of the library's function, of type [`LaunchFn`].
pub const LAUNCH_SYMBOL: &str = "tilewright_debug_launch";

/// Runs a request of `bytes` bytes, and calls `respond` once, with `context` and the answer.
pub type LaunchFn = unsafe extern "C" fn(
    request: *const u8,
    bytes: usize,
    context: *mut core::ffi::c_void,
    respond: extern "C" fn(*mut core::ffi::c_void, *const u8, usize),
);

/// The code of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name of the entry, which has kernel, types, configuration and variant.
    pub name: &'static str,
    /// As in [`Program`].
    pub run: unsafe fn(&[u64]),
    /// As in [`Shape`].
    pub threads: u32,
    /// As in [`Shape`].
    pub shared_bytes: u32,
    /// As in [`Shape`].
    pub ctas: u32,
    /// As in [`Program`].
    pub registers: u32,
    /// As in [`Program`].
    pub pdl: bool,
}

/// A launch that a program asks a library for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The version of the program's `tilewright-core`: an argument of a launch may mean something else in another.
    pub version: String,
    /// The name of the entry.
    pub entry: String,
    /// Argument words, then addresses of tensor maps.
    pub words: Vec<u64>,
    /// The memory that the launch may touch.
    pub regions: Vec<Region>,
    /// Programs.
    pub grid: [u64; 3],
    /// The options of the launch.
    pub options: Options,
}

/// The answer of a library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Nothing was wrong.
    Ran(Report),
    /// Something was.
    Failed(Failure),
    /// The library has no such entry: the program runs its own code.
    Unknown,
    /// The request is one of another version.
    Refused(String),
}

impl Request {
    /// A request of this version.
    pub fn new(entry: &str, words: &[u64], regions: &[Region], grid: [u64; 3], options: &Options) -> Request {
        Request {
            version: env!("CARGO_PKG_VERSION").into(),
            entry: entry.into(),
            words: words.to_vec(),
            regions: regions.to_vec(),
            grid,
            options: options.clone(),
        }
    }
}

/// Runs a request with the entries of a library. `source` is the file of the kernel, whose lines explain a failure.
///
/// # Safety
/// As [`launch`], of the entry that the request names, with its words and regions.
pub unsafe fn answer(entries: &[Entry], watch: &WatchOptions, source: &str, request: &[u8]) -> Vec<u8> {
    let answer = match serde_json::from_slice::<Request>(request) {
        Ok(r) if r.version == env!("CARGO_PKG_VERSION") => {
            // SAFETY: the caller's contract.
            unsafe { run(entries, watch, source, r) }
        }
        Ok(r) => Answer::Refused(format!("the program has version {}, the library another one", r.version)),
        Err(e) => Answer::Refused(format!("the request is not understood: {e}")),
    };
    serde_json::to_vec(&answer).unwrap_or_default()
}

/// # Safety
/// As [`answer`].
unsafe fn run(entries: &[Entry], watch: &WatchOptions, source: &str, r: Request) -> Answer {
    let Some(e) = entries.iter().find(|e| e.name == r.entry) else { return Answer::Unknown };
    let program = Program { name: e.name, run: e.run, registers: e.registers, pdl: e.pdl };
    let shape = Shape { threads: e.threads, shared_bytes: e.shared_bytes, grid: r.grid, ctas: e.ctas };
    let options = Options { watch: watch.clone(), sectors: r.options.sectors || watch.lines, ..r.options };
    // SAFETY: the caller's contract.
    match unsafe { launch(program, shape, &r.words, &r.regions, &options) } {
        Ok(mut report) => {
            if watch.lines {
                let (programs, lines) = (report.programs, by_line(&report, source));
                report.printed.push(format!("{}, {programs} programs\n{}", e.name, lines.trim_end()));
            }
            Answer::Ran(report)
        }
        Err(mut failure) => {
            failure.printed.push(explain(&failure, source));
            Answer::Failed(failure)
        }
    }
}
