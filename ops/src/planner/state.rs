//! The planner's state in a runtime. Each process has its own: a lock may be held when the process is forked.

use super::decided::Decided;
use super::device::DeviceModel;
use super::models;
use super::offers::Offers;
use crate::resources::OfKernels;
use std::sync::{Arc, PoisonError, RwLock};
use tilewright_runtime::{Extension, Runtime, private};

#[derive(Default)]
pub(crate) struct State {
    /// Plans of operations.
    pub decided: Decided,
    /// For predictions, as the model of the device is.
    pub resources: OfKernels,
    pub offers: Offers,
    model: RwLock<Option<Arc<DeviceModel>>>,
}

impl State {
    pub fn of(rt: &Runtime) -> &State {
        rt.extension()
    }

    /// The model of a runtime's device: fitted on this machine, shipped, or derived from attributes.
    pub fn model_of(rt: &Runtime) -> Arc<DeviceModel> {
        let kept = &State::of(rt).model;
        if let Some(model) = &*kept.read().unwrap_or_else(PoisonError::into_inner) {
            return model.clone();
        }
        let made = Arc::new(models::of(rt.device(), private::results_dir(rt).as_deref()));
        kept.write().unwrap_or_else(PoisonError::into_inner).get_or_insert(made).clone()
    }
}

impl Extension for State {
    fn forget_choices(&self) {
        self.decided.clear();
    }

    fn forget_files(&self) {
        self.model.write().unwrap_or_else(PoisonError::into_inner).take();
    }
}
