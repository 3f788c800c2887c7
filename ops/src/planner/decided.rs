//! Plans that were decided on, by the shapes and layouts of a call.

use std::any::Any;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{PoisonError, RwLock};
use tilewright_core::{ConfigDesc, KernelDesc};

/// A plan: data that names kernels, configurations and copies. Its text is its id in tuning results.
pub(crate) trait Plan: Copy + PartialEq + Display + Send + Sync + 'static {
    /// The kernel that does most of the work.
    fn kernel(&self) -> &'static KernelDesc;

    /// Its configuration; none where the backend takes the first that it can run.
    fn config(&self) -> Option<&'static ConfigDesc>;
}

/// Extents of a question, at most.
pub(crate) const MAX_SIZES: usize = 4;

/// Plans that were decided before.
#[derive(Default)]
pub(crate) struct Decided(RwLock<HashMap<Key, Box<dyn Any + Send + Sync>>>);

/// The key of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub op: &'static str,
    pub types: &'static str,
    pub sizes: [usize; MAX_SIZES],
    pub layout: u64,
}

impl Key {
    /// The same with a bit of the layout that questions leave free.
    pub fn with(self, bit: u64) -> Key {
        Key { layout: self.layout | bit, ..self }
    }
}

/// Decided plans of one runtime, at most. A program whose shapes are all different does not grow without end.
const MAX_DECIDED: usize = 1 << 16;

impl Decided {
    pub(crate) fn get<P: Plan>(&self, key: &Key) -> Option<P> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(key)?.downcast_ref::<P>().copied()
    }

    pub(crate) fn insert<P: Plan>(&self, key: Key, plan: P) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_DECIDED {
            known.clear();
        }
        known.insert(key, Box::new(plan));
    }

    pub(crate) fn clear(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
