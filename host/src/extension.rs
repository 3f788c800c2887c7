//! The state that libraries keep in a runtime.

use std::any::Any;
use tilewright_core::cpu::fork::PerProcess;

/// The state that a library of operations keeps in a runtime: plans that it has decided on, models of the device.
/// [`Runtime::extension`](crate::Runtime::extension) makes one of a type for each runtime and each process. A forked
/// child has its own, because a lock may be held where the process is forked. Its `Default` and its methods ask the
/// runtime for no extension and change no setting of it.
///
/// # Examples
/// ```
/// use std::sync::Mutex;
/// use tilewright::tuning::Autotune;
/// use tilewright::{Extension, Runtime};
///
/// /// The sizes for which a library has chosen an algorithm, with the choice.
/// #[derive(Default)]
/// struct Chosen(Mutex<Vec<(usize, u8)>>);
///
/// impl Extension for Chosen {
///     fn forget_choices(&self) {
///         self.0.lock().unwrap().clear();
///     }
/// }
///
/// let rt = Runtime::cpu();
/// rt.extension::<Chosen>().0.lock().unwrap().push((1000, 2));
/// assert_eq!(*rt.extension::<Chosen>().0.lock().unwrap(), [(1000, 2)]);
/// rt.set_autotune(Autotune::Off); // choices are made again
/// assert!(rt.extension::<Chosen>().0.lock().unwrap().is_empty());
/// ```
pub trait Extension: Any + Send + Sync {
    /// A setting has changed on which choices depend, or a kernel was tuned: choices made before are made again.
    fn forget_choices(&self) {}

    /// The folder of tuning results and fitted models is another one: what was read from files there does not count any
    /// more. [`Extension::forget_choices`] is called next.
    fn forget_files(&self) {}
}

/// The extensions of a runtime, in the order in which they were asked for: a few, which are never taken out.
#[derive(Default)]
pub(crate) struct Extensions(PerProcess<Node>);

struct Node {
    extension: Box<dyn Extension>,
    next: PerProcess<Node>,
}

impl Extensions {
    #[inline]
    pub(crate) fn get<T: Extension + Default>(&self) -> &T {
        let mut slot = &self.0;
        loop {
            let node = slot.get_or_init(|| Node { extension: Box::new(T::default()), next: PerProcess::new() });
            let extension: &dyn Any = &*node.extension;
            match extension.downcast_ref() {
                Some(found) => return found,
                None => slot = &node.next,
            }
        }
    }

    pub(crate) fn for_each(&self, f: impl Fn(&dyn Extension)) {
        let mut slot = &self.0;
        while let Some(node) = slot.get() {
            f(&*node.extension);
            slot = &node.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[derive(Default)]
    struct First(AtomicU32);
    #[derive(Default)]
    struct Second(AtomicU32);

    impl Extension for First {
        fn forget_choices(&self) {
            self.0.store(0, Relaxed);
        }
    }
    impl Extension for Second {}

    #[test]
    fn one_of_each_type() {
        let all = Extensions::default();
        all.for_each(|_| panic!("there is none"));
        all.get::<First>().0.store(1, Relaxed);
        assert_eq!(all.get::<Second>().0.swap(2, Relaxed), 0);
        assert_eq!((all.get::<First>().0.load(Relaxed), all.get::<Second>().0.load(Relaxed)), (1, 2));
        all.for_each(|e| e.forget_choices());
        assert_eq!((all.get::<First>().0.load(Relaxed), all.get::<Second>().0.load(Relaxed)), (0, 2));
    }

    #[test]
    fn threads_that_ask_at_once_get_the_same() {
        let all = Extensions::default();
        std::thread::scope(|s| {
            for i in 0..8 {
                let all = &all;
                s.spawn(move || match i % 2 {
                    0 => all.get::<First>().0.fetch_add(1, Relaxed),
                    _ => all.get::<Second>().0.fetch_add(1, Relaxed),
                });
            }
        });
        assert_eq!((all.get::<First>().0.load(Relaxed), all.get::<Second>().0.load(Relaxed)), (4, 4));
    }
}
