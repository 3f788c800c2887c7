//! The code of a kernel for the emulated SM with breakpoints in it: a part of the crate that `tile debug` builds.

use crate::diag::Diagnostics;
use crate::driver;
use crate::emit::entry_name;
use crate::emit::host::emulate;
use crate::front::breakpoints::{self, Breakpoint};
use crate::front::instance::{Instance, Kernel};
use crate::front::library::Libraries;
use crate::front::source::Source;
use crate::ir::Func;
use crate::select;
use crate::thread_ir::Lowered;
use crate::variant::Variant;

/// The names that the code of every kernel uses. `watch` exists in the emulated SM only.
const PROLOGUE: &str = "mod __k {
    pub use tilewright_core::scalar;
    pub mod device {
        pub use tilewright_core::device::*;
        pub use tilewright_core::emulator::watch;
    }
}
";

/// The lines of a kernel's file on which its statements begin. The error is a message.
pub fn statement_lines<'a>(
    source: impl Into<Source<'a>>,
    libraries: &Libraries,
    kernel: &str,
) -> Result<Vec<usize>, String> {
    Ok(breakpoints::lines(&select::kernel(source, libraries, kernel)?.ast.body))
}

/// The first line of the statement that a kernel, or a helper of the same file, has on a line, if there is one. The
/// error is a message.
pub fn statement_line<'a>(
    source: impl Into<Source<'a>>,
    libraries: &Libraries,
    kernel: &str,
    line: usize,
) -> Result<Option<usize>, String> {
    let source = source.into();
    let mut k = select::kernel(source, libraries, kernel)?;
    Ok(breakpoints::insert(&mut k.ast, source.text, &Breakpoint { line, names: vec![] }))
}

/// The code of an instance with breakpoints.
#[derive(Debug)]
pub struct DebugCode {
    /// Rust code: a function for each variant, and their list, `ENTRIES`.
    pub text: String,
    /// The names of variants that cannot be made with these breakpoints. A launch that takes one of them has none.
    pub left_out: Vec<String>,
}

/// The code of an instance, in one variant or in all. Types and configuration choose the instance as for
/// [`show`](crate::show()). The error is a message: a line without a statement, a variable that is not there, no
/// variant that can be made with these breakpoints.
pub fn code<'a>(
    source: impl Into<Source<'a>>,
    libraries: &Libraries,
    kernel: &str,
    types: Option<&str>,
    config: Option<&str>,
    variant: Option<Variant>,
    at: &[Breakpoint],
) -> Result<DebugCode, String> {
    let source = source.into();
    let mut k = select::kernel(source, libraries, kernel)?;
    let built = variants(&k, types, config, variant)?;
    for b in at {
        if breakpoints::insert(&mut k.ast, source.text, b).is_none() {
            let lines: Vec<String> = breakpoints::lines(&k.ast.body).iter().map(usize::to_string).collect();
            return Err(format!("{kernel} has no statement on line {}, but on {}", b.line, lines.join(", ")));
        }
    }
    let watched = variants(&k, types, config, variant)?;
    let (mut kept, mut left_out) = (vec![], vec![]);
    for code in watched {
        let maps = |l: &Lowered| format!("{:?} {:?}", l.maps, l.guards);
        let takes_the_same = |of: &&Code| of.variant == code.variant && maps(&of.lowered) == maps(&code.lowered);
        match built.iter().any(|of| takes_the_same(&of)) {
            true => kept.push(code),
            false => left_out.push(code.variant.name()),
        }
    }
    if built.is_empty() {
        return Err(format!("this configuration of {kernel} is for the CPU alone: choose another one"));
    }
    if kept.is_empty() {
        return Err(format!(
            "with this breakpoint the variant `{}` of {kernel} takes other arguments: a tile that is shown is not \
             copied as before; show another variable or take another variant",
            left_out.join("`, `")
        ));
    }
    Ok(DebugCode { text: text(&kept), left_out })
}

/// A variant for the emulated SM.
pub(crate) struct Code {
    variant: Variant,
    lowered: Lowered,
    /// Its entry in the list.
    entry: String,
    function: String,
}

/// The Rust code of variants: their functions and their list.
pub(crate) fn text(all: &[Code]) -> String {
    let functions: String = all.iter().map(|c| c.function.as_str()).collect();
    let entries: String = all.iter().map(|c| c.entry.as_str()).collect();
    let list = format!("const ENTRIES: &[tilewright_core::emulator::debug::Entry] = &[\n{entries}];\n");
    PROLOGUE.to_string() + &functions + &list
}

fn variants(
    k: &Kernel,
    types: Option<&str>,
    config: Option<&str>,
    variant: Option<Variant>,
) -> Result<Vec<Code>, String> {
    let i = select::instance(k, types, config)?;
    let d = Diagnostics::default();
    let f = driver::instance(k, &i.choice, i.config, &d).map_err(|_| select::messages(&d))?;
    let lowered = match variant {
        None => driver::variants(&f, i.config, true),
        Some(v) => {
            let lowered = driver::lower(&f, v, true, &mut ());
            vec![(v, lowered.map_err(|m| format!("{} has no variant `{}`: {m}", k.name, v.name()))?)]
        }
    };
    Ok(lowered.into_iter().enumerate().map(|(n, of)| Code::new(k, &i, &f, n, of)).collect())
}

impl Code {
    /// The code of variant number `n` of an instance.
    pub(crate) fn new(k: &Kernel, i: &Instance, f: &Func, n: usize, (variant, lowered): (Variant, Lowered)) -> Code {
        let (name, run) = (entry_name(&k.name, &i.choice, i.config, variant), format!("lowered_{n}"));
        let registers = emulate::registers(variant, &lowered, i.config);
        let entry = format!(
            "    tilewright_core::emulator::debug::Entry {{ name: {name:?}, run: {run}, threads: {}, shared_bytes: {}, \
             ctas: {}, registers: {registers}, pdl: {} }},\n",
            lowered.threads,
            lowered.shared_bytes,
            i.config.ctas,
            f.pdl.is_some()
        );
        let function = emulate::function(&run, f, &lowered);
        Code { variant, lowered, entry, function }
    }
}
