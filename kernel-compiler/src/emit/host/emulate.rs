//! The variants of an instance, their code for the emulated SM, and which instances it can run.

use super::options::{Emulate, HostOptions};
use crate::diag::{Diagnostics, Result};
use crate::driver;
use crate::emit::built::Configs;
use crate::emit::grid;
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
    /// A build for the GPU makes its code.
    pub built: bool,
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
            Version { variant, lowered, features, built: false }
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

/// An instance of a kernel: a configuration of a choice of types.
pub(super) struct Instance {
    /// The number of its configuration.
    pub config: usize,
    pub func: Func,
    pub versions: Vec<Version>,
    /// The kernel has conditions that the constants alone do not meet.
    pub has_conditions: bool,
    /// As [`Configs::repeats`](crate::emit::built::Configs::repeats) says.
    repeats: bool,
}

impl Instance {
    /// The instances of a kernel: of each choice all configurations.
    pub fn all(k: &Kernel, options: &HostOptions, d: &Diagnostics) -> Result<Vec<Instance>> {
        let mut out = vec![];
        let built = options.configs.built(k);
        for (choice, repeats) in k.choices().into_iter().zip(options.configs.repeats(k)) {
            for (i, config) in k.ast.configs.iter().enumerate() {
                let func = driver::instance(k, &choice, config, d)?;
                let mut versions = Version::all(&func, config, options);
                let built_variants = Configs::built_variants(repeats, versions.iter().map(|v| &v.lowered));
                versions.iter_mut().zip(built_variants).for_each(|(v, is)| v.built = built[i] && is);
                let has_conditions = grid::condition(k, &choice, config, d)?.is_some();
                out.push(Instance { config: i, func, versions, has_conditions, repeats });
            }
        }
        Ok(out)
    }

    /// Whether it runs wherever its arguments lie.
    fn takes_any_arguments(&self) -> bool {
        self.versions.iter().any(|v| v.lowered.takes_any_arguments())
    }
}

/// Which variants of a function's kernels are emulated: of each kernel those of each instance, in their order.
pub(super) fn emulated(emulate: Emulate, kernels: &[Kernel], instances: &[Vec<Instance>]) -> Vec<Vec<Vec<bool>>> {
    let each = |is: &dyn Fn(&Kernel) -> bool| -> Vec<Vec<Vec<bool>>> {
        let of_kernel = |(k, of): (&Kernel, &Vec<Instance>)| of.iter().map(|i| vec![is(k); i.versions.len()]).collect();
        kernels.iter().zip(instances).map(of_kernel).collect()
    };
    match emulate {
        Emulate::None => each(&|_| false),
        Emulate::All => each(&|_| true),
        Emulate::Chosen => {
            let mut chosen = each(&|k| k.ast.emulate_all);
            for ((k, instances), chosen) in kernels.iter().zip(instances).zip(&mut chosen) {
                let n = k.ast.configs.len();
                instances.chunks(n).zip(chosen.chunks_mut(n)).for_each(|(of, chosen)| choose_usual(of, chosen));
            }
            choose_features(instances, &mut chosen);
            chosen
        }
    }
}

/// Chooses what any launch of a choice of types needs: the fastest variant of its default configuration and the one
/// that asks for the least, and a variant that takes any arguments, if any does of a configuration without conditions.
/// Of a choice that repeats another one only the last of these.
fn choose_usual(of_choice: &[Instance], chosen: &mut [Vec<bool>]) {
    let unconditional = of_choice.iter().position(|i| i.takes_any_arguments() && !i.has_conditions);
    let any = unconditional.or_else(|| of_choice.iter().position(Instance::takes_any_arguments));
    if let Some(any) = any {
        let of_versions = of_choice[any].versions.iter().zip(&mut chosen[any]);
        of_versions.filter(|(v, _)| v.lowered.takes_any_arguments()).for_each(|(_, chosen)| *chosen = true);
    }
    let repeats = any.is_some() && of_choice.iter().all(|i| i.repeats);
    if let Some(default) = chosen.first_mut().filter(|_| !repeats) {
        default.first_mut().into_iter().for_each(|first| *first = true);
        default.last_mut().into_iter().for_each(|last| *last = true);
    }
}

/// Chooses variants that have between them all features that the chosen ones lack, and the most general variant of each
/// of their configurations.
fn choose_features(instances: &[Vec<Instance>], chosen: &mut [Vec<Vec<bool>>]) {
    let mut places = vec![];
    for (k, of_kernel) in instances.iter().enumerate() {
        for (i, instance) in of_kernel.iter().enumerate().filter(|(_, instance)| !instance.repeats) {
            places.extend(instance.versions.iter().enumerate().map(|(v, version)| ((k, i, v), version)));
        }
    }
    let (first, rest): (Vec<_>, Vec<_>) = places.into_iter().partition(|((k, i, v), _)| chosen[*k][*i][*v]);
    let known: BTreeSet<&String> = first.into_iter().flat_map(|(_, version)| &version.features).collect();
    let new = rest.iter().map(|&(_, version)| version.features.iter().filter(|f| !known.contains(f)).collect());
    let costs = rest.iter().map(|(_, version)| version.cost());
    let candidates: Vec<(Vec<&String>, u64)> = new.zip(costs).collect();
    for ((k, i, v), _) in cover(&candidates).into_iter().map(|c| rest[c]) {
        chosen[k][i][v] = true;
        // The configuration takes what it takes on a GPU.
        chosen[k][i].last_mut().into_iter().for_each(|general| *general = true);
    }
}
