//! The tile compiler: from a `#[tile_kernel]` function to thread-level Rust, one phase a module and one type between
//! phases. `kernel-macros` and `kernel-build` both call it; see `ARCHITECTURE.md`.
//!
//! [`driver`] orders the stages: [`front`] → [`ir`] → [`passes`] → [`analysis`] → [`layout`] → [`plan`] → [`codegen`],
//! which makes [`thread_ir`] → [`emit`].

#![warn(missing_docs)]

#[macro_use]
pub mod missed;
#[macro_use]
pub mod planted;

pub mod analysis;
pub mod codegen;
pub mod debug;
pub mod diag;
pub mod driver;
pub mod dtype;
pub mod editor;
pub mod emit;
mod expand;
pub mod explain;
pub mod features;
pub mod front;
pub mod ir;
mod layout;
mod mma;
pub(crate) mod observer;
pub mod passes;
pub mod pictures;
pub mod plan;
pub mod remarks;
mod select;
mod show;
mod stage;
pub mod thread_ir;
pub mod trace;
mod unparsed;
pub mod variant;

use diag::Diagnostics;
pub use emit::built::Configs;
pub use emit::device::{DeviceUnit, EntryCode, EntryMeta};
use emit::host::ModuleCode;
pub use emit::host::{Emulate, HostOptions};
pub use expand::{expand_kernel, expand_module, host_file_name, with_library};
pub use front::breakpoints::Breakpoint;
pub use front::infer::{BUILTINS, OPTIONS};
pub use front::library::Libraries;
pub use front::registry::expand as expand_kernels;
pub use front::source::Source;
pub use front::{library, module};
pub use select::names;
pub use show::{InstanceNames, instance, show};
pub use stage::Stage;
pub use unparsed::{Misspelling, misspelling};
pub use variant::{MmaPath, Variant, Width};

/// The lowered code of these configurations of every kernel in a file. Functions with mistakes are left out: the macro
/// reports them at the user's own tokens.
pub fn device_units<'a>(source: impl Into<Source<'a>>, libraries: &Libraries, configs: Configs) -> Vec<DeviceUnit> {
    let source = source.into();
    let of = |found: module::Found| {
        let d = Diagnostics::default();
        let units = units_of(found, configs, &d).ok();
        units.filter(|_| d.is_empty())
    };
    let in_file = |unit: DeviceUnit| DeviceUnit { file: source.file.to_path_buf(), ..unit };
    module::file(source, libraries).into_iter().filter_map(of).flatten().map(in_file).collect()
}

/// The entries of every kernel in a file, as thread-level programs. Functions with mistakes are left out.
pub fn entries<'a>(source: impl Into<Source<'a>>, libraries: &Libraries) -> Vec<EntryCode> {
    let of = |found: module::Found| {
        let d = Diagnostics::default();
        let kernels = found.parse(&d).ok()?;
        kernels.iter().map(|k| emit::device::entries(k, &d)).collect::<diag::Result<Vec<_>>>().ok()
    };
    module::file(source, libraries).into_iter().filter_map(of).flatten().flatten().collect()
}

/// The lowered code of these configurations of a function's kernels.
pub fn units_of(found: module::Found, configs: Configs, d: &Diagnostics) -> diag::Result<Vec<DeviceUnit>> {
    emit::device::units(&found.parse(d)?, configs, d)
}

/// A source file that the build script writes, and that the expansion of a kernel includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFile {
    /// The name in the folder of host files; see [`host_file_name`].
    pub name: String,
    /// The Rust code.
    pub text: String,
}

/// The host code of every kernel in a file, for `cargo check` and for builds. Functions with mistakes are left out: the
/// macro reports them.
pub fn host_files<'a>(source: impl Into<Source<'a>>, libraries: &Libraries) -> Vec<HostFile> {
    let of = |found: module::Found| {
        let d = Diagnostics::default();
        let kernels = found.parse(&d).ok()?;
        let mut files = vec![];
        for check_only in [true, false] {
            let (emulate, configs) = (Emulate::from_env(), Configs::from_env());
            let options = HostOptions { emulate, configs, check_only, ..HostOptions::default() };
            let code = emit::host::code(&kernels, &options, &d).ok()?;
            let file =
                |(k, code): (_, ModuleCode)| HostFile { name: host_file_name(k, &options), text: code.into_text() };
            files.extend(kernels.iter().zip(code).map(file));
        }
        d.is_empty().then_some(files)
    };
    module::file(source, libraries).into_iter().filter_map(of).flatten().collect()
}
