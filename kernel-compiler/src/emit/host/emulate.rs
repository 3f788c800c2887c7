//! The variants of an instance, their code for the emulated SM, and which instances it can run.

use super::options::{Emulate, HostOptions};
use crate::driver;
use crate::features::{Features, cover, features};
use crate::front::ast;
use crate::front::instance::Kernel;
use crate::ir::Func;
use crate::thread_ir::Lowered;
use crate::variant::{MmaPath, Variant};
use std::collections::BTreeSet;

/// What functions name of the scalar operations.
pub(super) const SCALARS: &str = "use __k::scalar::{self as s, BF16, F8E4M3, F8E5M2, F16};";

/// The function of one thread, over the argument words and the addresses of the tensor maps.
pub fn function(name: &str, func: &Func, lowered: &Lowered) -> String {
    let count: usize = func.params.iter().map(|p| p.kind.words()).sum();
    let words: String = (0..count)
        .map(|i| format!("    let a{i}: u64 = a[{i}];\n"))
        .chain((0..lowered.maps.len()).map(|m| format!("    let map{m}: u64 = a[{}];\n", count + m)))
        .collect();
    let body = lowered.text();
    format!(
        "unsafe fn {name}(a: &[u64]) {{
    use __k::device as d;
    {SCALARS}
{words}    let tid: u32 = d::thread();
{body}}}
"
    )
}

/// What a multiprocessor has for each thread, if as many programs are to fit as were asked for; 0 where threads hand
/// none to each other.
pub fn registers(variant: Variant, lowered: &Lowered, config: &ast::Config) -> u32 {
    match variant.mma {
        MmaPath::MmaSync => 0,
        _ => (65536 / (lowered.threads * config.blocks_per_sm.max(1)) / 8 * 8).min(255),
    }
}

/// A variant of an instance.
pub(super) struct Version {
    pub variant: Variant,
    pub lowered: Lowered,
    pub features: Features,
}

impl Version {
    pub fn all(func: &Func, config: &ast::Config, options: &HostOptions) -> Vec<Version> {
        if options.check_only {
            return vec![];
        }
        let of = |(variant, lowered)| {
            let features = match options.emulate {
                Emulate::None => Features::new(),
                _ => features(func, variant, &lowered),
            };
            Version { variant, lowered, features }
        };
        driver::variants(func, config, true).into_iter().map(of).collect()
    }

    /// What a launch knows of it.
    #[cfg(feature = "mutants")]
    pub fn facts(&self) -> impl std::fmt::Debug {
        let l = &self.lowered;
        (self.variant, l.shared_bytes, l.threads, &l.guards, &l.maps, l.staging)
    }

    /// Grows with the time that a program of it takes on the emulated SM.
    fn cost(&self) -> u64 {
        u64::from(self.lowered.threads) * self.lowered.size() as u64
    }
}

/// Which of a kernel's instances are emulated, in their order. An instance is a number of its configuration and
/// its variants.
pub(super) fn emulated(emulate: Emulate, k: &Kernel, instances: &[(usize, Vec<Version>)]) -> Vec<bool> {
    match emulate {
        Emulate::None => vec![false; instances.len()],
        Emulate::Chosen if !k.ast.emulate_all => {
            let features = |i: usize| instances[i].1.iter().flat_map(|v| &v.features);
            let is_first = |i: &usize| instances[*i].0 == 0;
            // The first configuration of each choice of types, and what else has features that these have not.
            let (mut chosen, rest): (Vec<usize>, Vec<usize>) = (0..instances.len()).partition(is_first);
            let known: BTreeSet<&String> = chosen.iter().flat_map(|&i| features(i)).collect();
            let more = |&i: &usize| {
                let new: Vec<&String> = features(i).filter(|f| !known.contains(f)).collect();
                (new, instances[i].1.iter().map(Version::cost).sum())
            };
            let candidates: Vec<(Vec<&String>, u64)> = rest.iter().map(more).collect();
            chosen.extend(cover(&candidates).into_iter().map(|i| rest[i]));
            (0..instances.len()).map(|i| chosen.contains(&i)).collect()
        }
        Emulate::All | Emulate::Chosen => vec![true; instances.len()],
    }
}
