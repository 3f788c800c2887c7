//! Remarks: the missed optimizations of the kernels of a file, at their own lines.

use crate::analysis::single_tile::{SingleTile, single_tiles};
use crate::diag::Diagnostics;
use crate::driver::{self, lower};
use crate::emit::{choice_id, config_id};
use crate::front::ast::{Arch, Config};
use crate::front::instance::{Instance, Kernel};
use crate::front::library::Libraries;
use crate::front::module;
use crate::front::source::Source;
use crate::ir::walk::{dots, values};
use crate::ir::{Func, Op, Value};
use crate::missed::Missed;
use crate::observer::Collected;
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
            of_instances(&mut out, &k, |_| true, &d);
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
    of_instances(&mut out, &k, |i| select::matches(i, types, config), &d);
    Ok(out)
}

/// Adds the remarks on the instances that are asked for; none where one has mistakes.
fn of_instances(all: &mut Vec<Remark>, k: &Kernel, is_asked: impl Fn(&Instance) -> bool, d: &Diagnostics) {
    let all_instances = k.instances();
    let mut instances: Vec<(&Instance, Func)> = vec![];
    for i in &all_instances {
        instances.extend(driver::instance(k, &i.choice, i.config, d).ok().map(|f| (i, f)));
    }
    let tiles: Vec<SingleTile> = instances.iter().flat_map(|(_, f)| single_tiles(f)).collect();
    for (i, f) in instances.iter().filter(|(i, _)| is_asked(i)) {
        of_function(f, i.config).into_iter().for_each(|m| add(all, &k.name, i, m));
        let of_tiles = match k.ast.requires.is_empty() {
            true => unbounded(f),
            false if i.config.arch == Arch::Cpu => vec![],
            false => padded(f, &tiles),
        };
        of_tiles.into_iter().for_each(|m| add(all, &k.name, i, m));
    }
}

/// Elements of a single tile from which on it is worth a smaller one: eight for each lane of a warp.
const LARGE_TILE: i128 = 256;

/// Single tiles that are reduced, of a kernel that has them in one size alone: most of a short row is padding. `tiles`:
/// those of all instances.
fn padded(f: &Func, tiles: &[SingleTile]) -> Vec<Missed> {
    let reduces = |v: Value| matches!(f.op(v), Op::Reduce { .. } | Op::ArgReduce { .. } | Op::Scan { .. });
    if !values(&f.body).any(reduces) {
        return vec![];
    }
    let is_smallest = |t: &SingleTile| !tiles.iter().any(|other| other.extent == t.extent && other.holds < t.holds);
    let of = |t: SingleTile| {
        let (extent, holds) = (t.extent, t.holds);
        let why = why!(
            "one tile of {holds} has all of `{extent}`, and no configuration has a smaller one: where `{extent}` is \
             less than half of it, most elements are masked and take as long. A smaller value in `tune` is for these"
        );
        Missed::new("reduced without padding", why).at(t.span)
    };
    single_tiles(f).into_iter().filter(|t| t.holds > LARGE_TILE && is_smallest(t)).map(of).collect()
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
        let mut seen = Collected::default();
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
