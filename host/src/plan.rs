//! Plans: which configuration a kernel takes for arguments of about these sizes, with its code loaded. A launch looks
//! its plan up; making one may load code and tune.

use crate::cuda::context::Context;
use crate::cuda::module;
use crate::cuda::relaxed::Relaxed;
use crate::cuda::sys::{CUfunction, Handle};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::trace;
use crate::tuner::file::Version;
use crate::tuner::key::{Buckets, Kind, MixState};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use tilewright_core::cpu::fork::PerProcess;
use tilewright_core::{ConfigDesc, KernelDesc, MapDesc, VariantDesc};

/// A chosen configuration.
pub(crate) struct Plan {
    pub config: &'static ConfigDesc,
    /// On the GPU, by variant, loaded when first needed.
    functions: Box<[OnceLock<Function>]>,
}

/// A loaded entry in this runtime's context.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub raw: Handle<CUfunction>,
    pub threads: u32,
    pub shared_bytes: u32,
    /// Thread blocks of a program.
    pub ctas: u32,
    /// Whether it may begin while the launch before it ends.
    pub pdl: bool,
    /// The tensor maps that it takes after the argument words.
    pub maps: &'static [MapDesc],
    /// Where its marks go, if it has some.
    pub trace: Option<module::TraceArray>,
}

impl Plan {
    pub(crate) fn new(config: &'static ConfigDesc) -> Plan {
        Plan { config, functions: config.variants.iter().map(|_| OnceLock::new()).collect() }
    }

    /// The code of a variant. The context must be current.
    #[inline]
    pub(crate) fn function(
        &self,
        context: &Context,
        device: &Device,
        desc: &'static KernelDesc,
        variant: usize,
    ) -> Result<Function> {
        match self.functions[variant].get() {
            Some(f) => Ok(*f),
            None => self.load(context, device, desc, variant),
        }
    }

    #[cold]
    fn load(&self, context: &Context, device: &Device, desc: &'static KernelDesc, variant: usize) -> Result<Function> {
        let _relaxed = Relaxed::new(context.api);
        let mut chosen = &self.config.variants[variant];
        if module::lacks(desc, chosen) && !trace::has(chosen.entry) {
            // Built for other targets than this device's own: one that takes at least the same arguments stands in.
            let stands_in = |v: &&VariantDesc| v.only.is_none() && v.guards.iter().all(|g| chosen.guards.contains(g));
            chosen = self.config.variants[variant + 1..].iter().find(stands_in).ok_or_else(|| Error::CannotLaunch {
                kernel: desc.name,
                config: self.config.id,
                device: device.name.clone(),
                why: format!("it was not built for {}", chosen.only.unwrap_or_default()),
            })?;
        }
        let entry = module::load(context, device, desc, self.config, chosen.entry)?;
        let raw = Handle(entry.function(context.api)?);
        let f = Function {
            raw,
            threads: entry.threads,
            shared_bytes: entry.shared_bytes,
            ctas: entry.ctas,
            pdl: entry.pdl,
            maps: chosen.maps,
            trace: entry.trace_array(context.api)?,
        };
        Ok(*self.functions[variant].get_or_init(|| f))
    }
}

/// The key of a plan. Neither hashing nor comparing it allocates.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct PlanKey {
    /// Address of the descriptor.
    pub desc: usize,
    /// A configuration named by the caller, plus one; or, counted down from the largest number, one that takes the
    /// place of a plan's.
    pub forced: u32,
    /// Whether vectors or tensor maps are allowed changes what is fastest.
    pub kind: Kind,
    pub buckets: Buckets,
}

/// A multi-launch operation: name, types and sizes.
pub(crate) type ChoiceKey = (&'static str, &'static str, Buckets);

/// The choice among candidates. Other candidates may come under the same name.
struct Choice {
    candidates: Box<[Box<str>]>,
    version: Version,
    index: usize,
}

impl Choice {
    fn is_among(&self, candidates: &[&str], version: &Version) -> bool {
        self.candidates.iter().map(|c| &**c).eq(candidates.iter().copied()) && self.version == *version
    }
}

/// Of each process its own: a lock may be held where it is forked.
#[derive(Default)]
pub(crate) struct Plans(PerProcess<CachedPlans>);

#[derive(Default)]
struct CachedPlans {
    plans: RwLock<HashMap<PlanKey, Arc<Plan>, MixState>>,
    choices: RwLock<HashMap<ChoiceKey, Vec<Choice>, MixState>>,
}

impl Plans {
    #[inline]
    fn cached(&self) -> &CachedPlans {
        self.0.get_or_init(CachedPlans::default)
    }

    #[inline]
    pub(crate) fn get(&self, key: &PlanKey) -> Option<Arc<Plan>> {
        self.cached().plans.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// The first plan made for a key stays.
    pub(crate) fn insert(&self, key: PlanKey, plan: Arc<Plan>) -> Arc<Plan> {
        self.cached().plans.write().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert(plan).clone()
    }

    #[inline]
    pub(crate) fn choice(&self, key: &ChoiceKey, candidates: &[&str], version: &Version) -> Option<usize> {
        let choices = self.cached().choices.read().unwrap_or_else(PoisonError::into_inner);
        choices.get(key)?.iter().find(|choice| choice.is_among(candidates, version)).map(|choice| choice.index)
    }

    pub(crate) fn insert_choice(&self, key: ChoiceKey, candidates: &[&str], version: &Version, index: usize) {
        let candidates = candidates.iter().map(|&c| c.into()).collect();
        let choice = Choice { candidates, version: version.clone(), index };
        let mut choices = self.cached().choices.write().unwrap_or_else(PoisonError::into_inner);
        choices.entry(key).or_default().push(choice);
    }

    pub(crate) fn clear(&self) {
        self.cached().plans.write().unwrap_or_else(PoisonError::into_inner).clear();
        self.cached().choices.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
