//! Remarks: what the kernels of a file miss, at their own lines.

use crate::analysis::single_tile::{SingleTile, single_tiles};
use crate::diag::Diagnostics;
use crate::driver::{self, Observer, lower};
use crate::emit::{choice_id, config_id};
use crate::front::ast::{Arch, Config};
use crate::front::instance::{Instance, Kernel};
use crate::front::library::Libraries;
use crate::front::module;
use crate::front::source::Source;
use crate::ir::Func;
use crate::ir::walk::dots;
use crate::missed::Missed;
use crate::select;
use crate::variant::{MmaPath, Transposed, Variant, Width};
use std::fmt;

/// Something that the compiler could not do well, in some configurations of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The name of the kernel.
    pub kernel: String,
    /// As in "copied by TMA", behind a "not".
    pub what: String,
    /// The cause, and the change of the source that removes it where there is one.
    pub why: String,
    /// In the file of the kernel, from 1. `None` where it concerns the kernel as a whole.
    pub place: Option<(usize, usize)>,
    /// The types and configurations that miss it: `f16 BM=64,warps=4`.
    pub instances: Vec<String>,
}

impl Remark {
    /// The remark behind its place in a file.
    pub fn in_file(&self, file: &str) -> String {
        match self.place {
            Some((line, column)) => format!("{file}:{line}:{column}: {self}"),
            None => format!("{file}: {self}"),
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "kernel `{}`, not {}: {}", self.kernel, self.what, self.why)?;
        match &self.instances[..] {
            [] => Ok(()),
            [one] => write!(f, " (in {one})"),
            [first, more @ ..] => write!(f, " (in {first} and {} more)", more.len()),
        }
    }
}

/// The remarks on every kernel of a file, each once. Kernels with mistakes are left out.
pub fn of_file<'a>(source: impl Into<Source<'a>>, libraries: &Libraries) -> Vec<Remark> {
    let mut out = vec![];
    for found in module::file(source, libraries) {
        let d = Diagnostics::default();
        for k in found.parse(&d).unwrap_or_default() {
            for i in k.instances() {
                of_instance(&mut out, &k, &i, &d);
            }
        }
    }
    out
}

/// The remarks on the instances of one kernel of a file: all of them, or those with these types and this configuration.
pub fn of_kernel<'a>(
    source: impl Into<Source<'a>>,
    libraries: &Libraries,
    kernel: &str,
    types: Option<&str>,
    config: Option<&str>,
) -> Result<Vec<Remark>, String> {
    let k = select::kernel(source, libraries, kernel)?;
    let (d, mut out) = (Diagnostics::default(), vec![]);
    k.instances().iter().filter(|i| select::matches(i, types, config)).for_each(|i| of_instance(&mut out, &k, i, &d));
    Ok(out)
}

/// Adds the remarks on one instance; none where it has mistakes.
fn of_instance(all: &mut Vec<Remark>, k: &Kernel, i: &Instance, d: &Diagnostics) {
    if let Ok(f) = driver::instance(k, &i.choice, i.config, d) {
        of_function(&f, i.config).into_iter().for_each(|m| add(all, &k.name, i, m));
        if k.ast.requires.is_empty() {
            unbounded(&f).into_iter().for_each(|m| add(all, &k.name, i, m));
        }
    }
}

/// The reasons why the code of an instance is not better, each once: of the best variant that it has, and of those
/// before it. None for a configuration of the CPU.
fn of_function(func: &Func, config: &Config) -> Vec<Missed> {
    if config.arch == Arch::Cpu {
        return vec![];
    }
    let has_dots = dots(func, &func.body).next().is_some();
    let wgmma = config.arch.has_wgmma() && has_dots;
    let paths = [MmaPath::WgmmaTma(Transposed::default()), MmaPath::WgmmaCpAsync, MmaPath::MmaSync];
    let why = || why!("the ends of a view's tiles are always checked: access a slice or a pointer instead");
    let mut found: Vec<Missed> = func.checked_views.iter().map(|&at| Missed::new("unchecked", why()).at(at)).collect();
    for mma in paths.into_iter().filter(|p| *p == MmaPath::MmaSync || wgmma) {
        let mut seen = Remarks(vec![]);
        let done = lower(func, Variant { width: Width::Vectors, mma }, false, &mut seen);
        found.extend(seen.0.into_iter().chain(done.as_ref().err().cloned()));
        if done.is_ok() {
            break;
        }
    }
    let mut all: Vec<Missed> = vec![];
    for m in found {
        if !all.iter().any(|a| a.same(&m)) {
            all.push(m);
        }
    }
    all.sort_by_key(|m| m.span.map(|s| (s.start().line, s.start().column)));
    all
}

struct Remarks(Vec<Missed>);

impl Observer for Remarks {
    fn missed(&mut self, m: Missed) {
        self.0.push(m);
    }
}

/// Tiles that are to hold all of a dimension, of a kernel that requires nothing of its arguments.
fn unbounded(f: &Func) -> Vec<Missed> {
    let of = |t: SingleTile| {
        let (extent, holds) = (t.extent, t.holds);
        let why = why!(
            "one tile of {holds} is all that is taken of `{extent}`: of a larger one the rest is left out without a word. \
             `requires = [{extent} <= {holds}]`, with the constant's name, refuses such a call, or takes another \
             configuration"
        );
        Missed::new("refused where it is larger than its tile", why).at(t.span)
    };
    single_tiles(f).into_iter().map(of).collect()
}

fn add(all: &mut Vec<Remark>, kernel: &str, i: &Instance, m: Missed) {
    let place = m.span.map(|s| (s.start().line, s.start().column + 1));
    let instance = [choice_id(&i.choice), config_id(i.config)].into_iter().filter(|t| !t.is_empty());
    let instance = instance.collect::<Vec<_>>().join(" ");
    let why = m.why.to_string();
    let same = |r: &&mut Remark| r.kernel == kernel && r.what == m.what && r.why == why && r.place == place;
    match all.iter_mut().find(same) {
        Some(r) => r.instances.push(instance),
        None => all.push(Remark { kernel: kernel.into(), what: m.what.into(), why, place, instances: vec![instance] }),
    }
}
