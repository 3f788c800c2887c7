//! The configurations of a kernel that a call can use, found once for each kernel and kind of arguments.

use super::device::DeviceModel;
use super::gemm::{Loads, Tile};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use tilewright_core::{ConfigDesc, KernelDesc};

/// A configuration that takes the arguments.
#[derive(Clone, Copy)]
pub(crate) struct Offer {
    pub config: &'static ConfigDesc,
    /// Its scheduler: stream-K, or one program for each tile.
    pub stream_k: bool,
    pub grid: bool,
    pub loads: Loads,
    pub tile: Tile,
    /// How much longer it takes beyond its launch than the terms of the model say.
    pub factor: f32,
}

/// A kernel, and a number for the kind of arguments.
type Key = (usize, u64);

/// Of the kernels that were asked for, by one model.
#[derive(Default)]
pub(crate) struct Offers(RwLock<HashMap<Key, (Arc<DeviceModel>, Arc<[Offer]>)>>);

impl Offers {
    /// The cached result for these arguments under this model, else the result of `make`.
    pub fn get(
        &self,
        kernel: &'static KernelDesc,
        arguments: u64,
        model: &Arc<DeviceModel>,
        make: impl FnOnce() -> Arc<[Offer]>,
    ) -> Arc<[Offer]> {
        let (key, all) = ((core::ptr::from_ref(kernel) as usize, arguments), &self.0);
        match all.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            Some((of, offers)) if Arc::ptr_eq(of, model) => return offers.clone(),
            _ => {}
        }
        let made = make();
        all.write().unwrap_or_else(PoisonError::into_inner).insert(key, (model.clone(), made.clone()));
        made
    }
}
