//! The code of a kernel with marks for a timeline of its warps: `tile profile --trace` compiles and launches it in the
//! place of the build's own.

use crate::debug;
use crate::diag::Diagnostics;
use crate::driver;
use crate::emit::device::{DeviceUnit, EntryCode, units_of};
use crate::front::instance::{Instance, Kernel};
use crate::front::library::Libraries;
use crate::front::source::Source;
use crate::ir::Func;
use crate::select;
pub use crate::thread_ir::TraceEvent;
use crate::thread_ir::{self, Lowered};
use crate::variant::Variant;
pub use tilewright_types::TraceLayout;

/// The limits of a traced launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Thread blocks whose warps keep marks, from the first one of the grid on.
    pub blocks: u32,
    /// Records of a warp, 4 or more: three are its head, the others its marks.
    pub records: u32,
    /// Thread blocks whose begin and end are kept, from the first one of the grid on.
    pub listed: u32,
}

/// An entry with marks.
#[derive(Clone, Debug)]
pub struct TracedEntry {
    /// The name of the entry, which is that of the entry without marks.
    pub name: String,
    /// Its variant.
    pub variant: Variant,
    /// Threads of a thread block.
    pub threads: u32,
    /// Of a warp-specialized program the threads of the consumers, which come first; else 0.
    pub consumers: u32,
    /// Thread blocks of a program.
    pub ctas: u32,
    /// The layout of its marks.
    pub layout: TraceLayout,
    /// The events of its marks, by their numbers from 1 on.
    pub events: Vec<TraceEvent>,
}

/// A crate with traced entries, for [`tilewright_types::TRACE_SYMBOL`] of each.
#[derive(Clone, Debug)]
pub struct TracedUnit {
    /// The crate to compile.
    pub unit: DeviceUnit,
    /// Its entries.
    pub entries: Vec<TracedEntry>,
}

/// Inserts marks into a program, and gives their events. `params` are the names of the kernel's parameters.
pub fn insert(lowered: &mut Lowered, params: &[String], layout: &TraceLayout) -> Vec<TraceEvent> {
    thread_ir::trace::insert(lowered, params, layout)
}

/// The code of variants of an instance with marks. Types and configuration choose the instance as for
/// [`show`](crate::show()). The error is a message.
pub fn units<'a>(
    source: impl Into<Source<'a>>,
    libraries: &Libraries,
    kernel: &str,
    types: Option<&str>,
    config: Option<&str>,
    variants: &[Variant],
    options: TraceOptions,
) -> Result<Vec<TracedUnit>, String> {
    let source = source.into();
    let k = select::kernel(source, libraries, kernel)?;
    let i = select::instance(&k, types, config)?;
    let f = function(&k, &i)?;
    let (mut code, mut traced) = (vec![], vec![]);
    for &variant in variants {
        let (lowered, layout, events) = lowered(&k, &f, variant, options)?;
        let (threads, own) = (lowered.threads, f.warps * 32);
        let entry = EntryCode::of(&k, &i.choice, i.config, &f, variant, lowered);
        traced.push(TracedEntry {
            name: entry.name.clone(),
            variant,
            threads,
            consumers: if threads > own { own } else { 0 },
            ctas: i.config.ctas,
            layout,
            events,
        });
        code.push(entry);
    }
    let of_unit = |mut unit: DeviceUnit| {
        let has = |e: &&TracedEntry| unit.entries.iter().any(|of| of.name == e.name);
        let entries: Vec<TracedEntry> = traced.iter().filter(has).cloned().collect();
        // Entries of several sizes share the declaration. Each has the array in a module of its own.
        let bytes = entries.iter().map(|e| e.layout.bytes()).max().unwrap_or(0);
        unit.source += &format!("\ntilewright_core::trace_prelude!({bytes});\n");
        unit.file = source.file.to_path_buf();
        TracedUnit { unit, entries }
    };
    Ok(units_of(&k, code).into_iter().map(of_unit).collect())
}

/// The code of variants of an instance with marks for the emulated SM, where marks do nothing: the code of
/// [`debug::code`](crate::debug::code()) without breakpoints. The error is a message.
pub fn emulated<'a>(
    source: impl Into<Source<'a>>,
    libraries: &Libraries,
    kernel: &str,
    types: Option<&str>,
    config: Option<&str>,
    variants: &[Variant],
    options: TraceOptions,
) -> Result<String, String> {
    let k = select::kernel(source, libraries, kernel)?;
    let i = select::instance(&k, types, config)?;
    let f = function(&k, &i)?;
    let of = |(n, &v): (usize, &Variant)| Ok(debug::Code::new(&k, &i, &f, n, (v, lowered(&k, &f, v, options)?.0)));
    let code = variants.iter().enumerate().map(of).collect::<Result<Vec<_>, String>>()?;
    Ok(debug::text(&code))
}

fn function(k: &Kernel, i: &Instance) -> Result<Func, String> {
    let d = Diagnostics::default();
    driver::instance(k, &i.choice, i.config, &d).map_err(|_| select::messages(&d))
}

/// A variant with marks.
fn lowered(
    k: &Kernel,
    f: &Func,
    variant: Variant,
    options: TraceOptions,
) -> Result<(Lowered, TraceLayout, Vec<TraceEvent>), String> {
    let TraceOptions { blocks, records, listed } = options;
    let layout = TraceLayout { blocks, warps: 0, capacity: records, listed };
    let none = |missed| format!("{} has no variant `{}`: {missed}", k.name, variant.name());
    driver::lower_traced(f, variant, layout).map_err(none)
}

/// The only target that a variant is for, of a program of `ctas` thread blocks; none where each target has it.
pub fn only_target(variant: Variant, ctas: u32) -> Option<&'static str> {
    variant.only(ctas)
}
