//! The instances of a kernel, and their variants.

use super::built::Configs;
use super::grid;
use super::host::options::{Emulate, HostOptions};
use crate::diag::{Diagnostics, Result};
use crate::driver;
use crate::features::{Features, features};
use crate::front::ast;
use crate::front::instance::Kernel;
use crate::ir::Func;
use crate::thread_ir::Lowered;
use crate::variant::Variant;

/// A variant of an instance.
pub(crate) struct Version {
    pub variant: Variant,
    pub lowered: Lowered,
    /// Empty where nothing is chosen by features.
    pub features: Features,
}

impl Version {
    pub fn all(func: &Func, config: &ast::Config, options: &HostOptions) -> Vec<Version> {
        if options.check_only {
            return vec![];
        }
        let of = |(variant, lowered)| {
            let features = match (options.emulate, options.configs) {
                (Emulate::None, Configs::All) => Features::new(),
                _ => features(func, variant, &lowered),
            };
            Version { variant, lowered, features }
        };
        driver::variants(func, config, true).into_iter().map(of).collect()
    }

    /// The facts that a launch has about it.
    #[cfg(feature = "mutants")]
    pub fn facts(&self) -> impl std::fmt::Debug {
        let l = &self.lowered;
        (self.variant, l.shared_bytes, l.threads, &l.guards, &l.maps, l.staging)
    }

    /// Grows with the time that a program of it takes on the emulated SM.
    pub fn cost(&self) -> u64 {
        u64::from(self.lowered.threads) * self.lowered.size() as u64
    }
}

/// An instance of a kernel: a configuration of a choice of types.
pub(crate) struct Instance {
    /// The number of its configuration.
    pub config: usize,
    pub func: Func,
    pub versions: Vec<Version>,
    /// The kernel has conditions that the constants alone do not meet.
    pub has_conditions: bool,
    /// As [`Configs::repeats`](crate::emit::built::Configs::repeats) says.
    pub repeats: bool,
}

impl Instance {
    /// The instances of a kernel: of each choice all configurations.
    pub fn all(k: &Kernel, options: &HostOptions, d: &Diagnostics) -> Result<Vec<Instance>> {
        let mut out = vec![];
        for (choice, repeats) in k.choices().into_iter().zip(options.configs.repeats(k)) {
            for (i, config) in k.ast.configs.iter().enumerate() {
                let func = driver::instance(k, &choice, config, d)?;
                let versions = Version::all(&func, config, options);
                let has_conditions = grid::condition(k, &choice, config, d)?.is_some();
                out.push(Instance { config: i, func, versions, has_conditions, repeats });
            }
        }
        Ok(out)
    }

    /// Whether it runs wherever its arguments lie.
    pub fn takes_any_arguments(&self) -> bool {
        self.versions.iter().any(|v| v.lowered.takes_any_arguments())
    }
}
