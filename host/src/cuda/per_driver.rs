//! State for each driver: for that of the library, and for those of tests.

use super::api::Api;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// A value for each driver, made by its default when it is first asked for. It stays, as the table of a driver does.
///
/// The lock may be held where the process is forked. A forked child does not come here: [`Api::get`] and the driver's
/// functions refuse it before.
pub(crate) struct PerDriver<T: 'static>(Mutex<Vec<(&'static Api, &'static T)>>);

impl<T: Default> PerDriver<T> {
    pub(crate) const fn new() -> PerDriver<T> {
        PerDriver(Mutex::new(vec![]))
    }

    pub(crate) fn of(&self, api: &'static Api) -> &'static T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = all.iter().find(|(of, _)| ptr::eq(*of, api)) {
            return known;
        }
        let new: &'static T = Box::leak(Box::default());
        all.push((api, new));
        new
    }
}
