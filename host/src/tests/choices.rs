//! Choices that are kept on disk, and launches of which none is made.

use super::*;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tilewright_core::RawArg;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Two lists come under one name. A result of one that is read as that of the other names another candidate.
#[test]
fn choices_among_two_lists_are_both_kept_on_disk() {
    let dir = temp_dir("two-lists");
    let version = Version::from("1");
    let lists: [&[&str]; 2] = [&["x", "y"], &["y", "x", "z"]];
    let choose = |mode| {
        let rt = Runtime::cpu();
        rt.set_cache_dir(Some(dir.clone()));
        rt.set_autotune(mode);
        lists.map(|candidates| {
            let op = Tunable { name: "two_lists", types: "", version: &version, sizes: &[100], candidates };
            // The last one is the fastest.
            let run = |i: usize| {
                std::thread::sleep(Duration::from_micros([900, 600, 300][3 - candidates.len() + i]));
                Ok(())
            };
            rt.select_among(rt.stream(), &op, &[], run).unwrap()
        })
    };
    assert_eq!(choose(Autotune::Force), [1, 2]);
    assert_eq!(choose(Autotune::On), [1, 2], "from disk");
    std::fs::remove_dir_all(dir).unwrap();
}

/// The warnings of a thread.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        struct Text(String);
        impl Visit for Text {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                self.0 += &format!("{field}={value:?} ");
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn a_kernel_that_is_not_measured_warns_once() {
    let warnings = Warnings::default();
    tracing::subscriber::with_default(warnings.clone(), || {
        for mode in [Autotune::Off, Autotune::Force] {
            let rt = cpu();
            rt.set_autotune(mode);
            // Of two lengths, which are not chosen for together.
            for n in [100, 1000, 100] {
                let (x, mut y) = (ramp(n), vec![0.0f32; n]);
                // SAFETY: `y` has as many elements as `x`.
                rt.launch(unsafe { raw_copy(&x, RawArg::from(y.as_mut_ptr())) }).unwrap();
                assert_eq!(x, y);
            }
            let said = warnings.0.lock().unwrap().clone();
            assert_eq!(said.len(), usize::from(mode == Autotune::Force), "{said:?}");
            assert!(said.iter().all(|w| w.contains("raw[f32]") && w.contains("RawArg::within")), "{said:?}");
        }
    });
}
