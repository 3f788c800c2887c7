//! Plans of operations that one launch does: a kernel and its configuration.

use super::Executor;
use super::decide::Limits;
use crate::planner::cost::{Moved, Work};
use crate::planner::state::State;
use crate::planner::{Candidate, Plan};
use core::fmt;
use tilewright_core::{ConfigDesc, KernelDesc, VariantDesc};
use tilewright_runtime::{BackendKind, LaunchOptions, private};

/// A kernel and its configuration.
#[derive(Clone, Copy)]
pub(super) struct KernelPlan {
    pub kernel: &'static KernelDesc,
    /// None where the backend takes the first that it can run.
    pub config: Option<&'static ConfigDesc>,
}

impl KernelPlan {
    /// Options of its launch.
    pub fn options(&self) -> LaunchOptions<'static> {
        LaunchOptions::new().config(self.config.map(|c| c.id))
    }

    pub fn is_of(&self, kernel: &KernelDesc) -> bool {
        core::ptr::eq(self.kernel, kernel)
    }
}

impl Plan for KernelPlan {
    fn kernel(&self) -> &'static KernelDesc {
        self.kernel
    }

    fn config(&self) -> Option<&'static ConfigDesc> {
        self.config
    }
}

impl PartialEq for KernelPlan {
    fn eq(&self, other: &Self) -> bool {
        self.is_of(other.kernel) && self.config.map(|c| c.id) == other.config.map(|c| c.id)
    }
}

impl fmt::Display for KernelPlan {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.kernel.name)?;
        self.config.map_or(Ok(()), |c| write!(f, " {}", c.id))
    }
}

/// The plans by any of these kernels. `work` gives the work of a configuration, or nothing if it does not run for these
/// arguments here. Its last argument is the number of programs of a variant that a multiprocessor has room for, if that
/// is known.
pub(super) fn plans(
    on: &impl Executor,
    limits: Limits,
    kernels: &[&'static KernelDesc],
    work: impl Fn(&'static KernelDesc, &'static ConfigDesc, &Fits) -> Option<Work>,
) -> Vec<Candidate<KernelPlan>> {
    let rt = on.runtime();
    let (model, num_sms) = (State::model_of(rt), on.num_sms());
    let candidate = |kernel: &'static KernelDesc, config: Option<&'static ConfigDesc>, does| {
        Candidate::new(KernelPlan { kernel, config }, Moved::default(), does, &model, num_sms)
    };
    if let Some((kernel, config)) = limits.pin {
        let own = kernels.iter().find(|k| core::ptr::eq(**k, kernel));
        return own.map(|kernel| candidate(kernel, Some(config), Work::Unknown)).into_iter().collect();
    }
    let runs = |config: &ConfigDesc| config.variants.iter().any(|v| private::runs(rt, v));
    let of_kernel = |kernel: &'static KernelDesc| {
        let resources = State::of(rt).resources.of(rt, kernel);
        let fits = |v: &VariantDesc| Some(resources.as_ref()?.get(v.entry)?.resident(&rt.device().multiprocessor));
        let here = |config: &&ConfigDesc| rt.kind() == BackendKind::Cpu || !config.is_for_cpu();
        let worked =
            kernel.configs.iter().filter(here).filter_map(|config| Some((config, work(kernel, config, &fits)?)));
        match rt.kind() {
            BackendKind::Cuda => {
                let here = worked.filter(|(config, _)| runs(config));
                here.map(|(config, work)| candidate(kernel, Some(config), work)).collect()
            }
            // The backend chooses the configuration: one plan for a kernel.
            _ => {
                let all = worked.map(|(_, work)| candidate(kernel, None, work));
                Vec::from_iter(all.min_by(Candidate::by_time))
            }
        }
    };
    kernels.iter().filter(|k| k.configs.iter().any(runs)).flat_map(|kernel| of_kernel(kernel)).collect()
}

/// How many programs of a variant a multiprocessor has room for.
pub(super) type Fits<'a> = dyn Fn(&VariantDesc) -> Option<usize> + 'a;
