//! The functions of NCCL, which is loaded at run time.
//!
//! They are declared here, and not taken from cudarc's feature `nccl`. That one looks for `libnccl.so` under names with
//! versions of CUDA, never for `libnccl.so.2` or a file; it panics where it finds none; and it asks for the functions
//! of one version of NCCL, for which its features, which are those of the whole program, would have to agree.

use crate::error::of_loader;
use core::ffi::{c_char, c_int, c_void};
use libloading::Library;
use std::path::{Path, PathBuf};

/// `ncclUniqueId`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct UniqueId(pub [u8; 128]);

/// `ncclComm_t`.
pub(crate) type Comm = *mut c_void;
/// `cudaStream_t`, which is a `CUstream`.
type Stream = *mut c_void;

macro_rules! functions { (
    { $($field:ident = $name:ident($($arg:ty),*) -> $result:ty;)* }
    // Functions of later versions.
    { $($late:ident = $late_name:ident($($late_arg:ty),*) -> $late_result:ty;)* }
) => {
    /// The functions that are used here, as in `nccl.h`.
    pub(crate) struct Functions {
        $(pub $field: unsafe extern "C" fn($($arg),*) -> $result,)*
        $(pub $late: Option<unsafe extern "C" fn($($late_arg),*) -> $late_result>,)*
        /// Keeps the functions.
        pub _library: Option<Library>,
    }

    impl Functions {
        /// Errors: the name of a function that the library lacks.
        ///
        /// # Safety
        /// The library is NCCL.
        unsafe fn of(library: Library) -> Result<Functions, String> {
            Ok(Functions {
                $($field: {
                    // SAFETY: the function has this signature in `nccl.h`.
                    let found = unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) };
                    *found.map_err(|_| concat!("it lacks ", stringify!($name)).to_string())?
                },)*
                $($late: {
                    // SAFETY: as above.
                    let found = unsafe { library.get(concat!(stringify!($late_name), "\0").as_bytes()) };
                    found.ok().map(|f| *f)
                },)*
                _library: Some(library),
            })
        }
    }
} }

functions! {
    {
        get_version = ncclGetVersion(*mut c_int) -> c_int;
        get_unique_id = ncclGetUniqueId(*mut UniqueId) -> c_int;
        init_rank = ncclCommInitRank(*mut Comm, c_int, UniqueId, c_int) -> c_int;
        destroy = ncclCommDestroy(Comm) -> c_int;
        abort = ncclCommAbort(Comm) -> c_int;
        async_error = ncclCommGetAsyncError(Comm, *mut c_int) -> c_int;
        comm_rank = ncclCommUserRank(Comm, *mut c_int) -> c_int;
        comm_size = ncclCommCount(Comm, *mut c_int) -> c_int;
        error_string = ncclGetErrorString(c_int) -> *const c_char;
        all_reduce = ncclAllReduce(*const c_void, *mut c_void, usize, c_int, c_int, Comm, Stream) -> c_int;
        reduce_scatter = ncclReduceScatter(*const c_void, *mut c_void, usize, c_int, c_int, Comm, Stream) -> c_int;
        broadcast = ncclBroadcast(*const c_void, *mut c_void, usize, c_int, c_int, Comm, Stream) -> c_int;
        all_gather = ncclAllGather(*const c_void, *mut c_void, usize, c_int, Comm, Stream) -> c_int;
        send = ncclSend(*const c_void, usize, c_int, c_int, Comm, Stream) -> c_int;
        receive = ncclRecv(*mut c_void, usize, c_int, c_int, Comm, Stream) -> c_int;
        group_start = ncclGroupStart() -> c_int;
        group_end = ncclGroupEnd() -> c_int;
    }
    {
        // 2.13 and 2.18.
        last_error = ncclGetLastError(Comm) -> *const c_char;
        split = ncclCommSplit(Comm, c_int, c_int, *mut Comm, *mut c_void) -> c_int;
    }
}

const NAME: &str = "libnccl.so.2";

/// The library that `TILE_NCCL` names, else the system's, else one of PyPI. Errors: the loader's message.
pub(crate) fn load() -> Result<Functions, String> {
    let named = std::env::var_os("TILE_NCCL").filter(|v| !v.is_empty()).map(PathBuf::from);
    let open = |file: &Path| {
        // SAFETY: initializers of a library that the user or the system has installed.
        unsafe { Library::new(file) }.map_err(|e| of_loader(&e))
    };
    let library = match named {
        Some(file) => open(&file)?,
        None => open(Path::new(NAME)).or_else(|why| {
            let of_python = python_packages().map(|p| p.join("nvidia/nccl/lib").join(NAME)).find(|file| file.is_file());
            of_python.map_or(Err(why), |file| open(&file))
        })?,
    };
    // SAFETY: it is called as NCCL is, or the user calls it NCCL.
    unsafe { Functions::of(library) }
}

/// The folders in which Python looks for packages.
fn python_packages() -> impl Iterator<Item = PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    let listed = of("PYTHONPATH").map(|p| std::env::split_paths(&p).collect::<Vec<_>>()).unwrap_or_default();
    let mut prefixes: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(of).map(Into::into).collect();
    let programs = of("PATH").map(|p| std::env::split_paths(&p).collect::<Vec<_>>()).unwrap_or_default();
    for program in programs.into_iter().map(|folder| folder.join("python3")).filter(|p| p.is_file()) {
        // That of a virtual environment is a link.
        for file in [program.canonicalize().ok(), Some(program)].into_iter().flatten() {
            prefixes.extend(file.parent().and_then(Path::parent).map(Path::to_path_buf));
        }
    }
    prefixes.extend(of("HOME").map(|home| Path::new(&home).join(".local")));
    prefixes.push("/usr/local".into());
    listed.into_iter().chain(prefixes.into_iter().flat_map(|prefix| packages_of(&prefix)))
}

/// The folders `lib/python3.N/site-packages` and `dist-packages` below a prefix.
fn packages_of(prefix: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("python3") {
            out.extend(["site-packages", "dist-packages"].map(|name| entry.path().join(name)));
        }
    }
    out
}
