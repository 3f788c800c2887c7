//! Code with marks on the emulated SM: its results equal those of the code without them.

use crate::debug::small;
use crate::debug_library::{self, Built};
use crate::kernel_code::KernelCode;
use std::sync::{Arc, Mutex, PoisonError};
use tilewright_compiler::Variant;
use tilewright_compiler::trace::{TraceOptions, emulated};
use tilewright_conformance::{Operation, Setup};
use tilewright_core::emulator::WatchOptions;
use tilewright_core::{ConfigDesc, DType, KernelDesc};
use tilewright_ops::ExecOptions;
use tilewright_runtime::private::{DebugLibrary, set_debugger};
use tilewright_runtime::{Launched, Runtime};

/// Builds a library of an entry with marks.
fn library(desc: &'static KernelDesc, config: &'static ConfigDesc, entry: &str) -> Built {
    let code = KernelCode::own(desc, config).expect("our own source");
    let (types, id) = (code.types.as_deref(), Some(code.config.as_str()));
    let options = TraceOptions { blocks: 2, records: 64, listed: 8 };
    let variant = [Variant::of_entry(entry).expect("a variant")];
    let text = emulated(code.source(), &code.libraries, &code.name, types, id, &variant, options).expect("it compiles");
    assert!(text.matches("d::trace::<64>(").count() > 4, "{entry} has marks");
    debug_library::build(&text, &code.text, &WatchOptions::default()).expect("it builds")
}

/// Warp-specialized products, and a kernel of loads, barriers and stores.
#[test]
fn marks_change_no_result() {
    for (name, dtype) in [("matmul", DType::F16), ("softmax_rows", DType::F32)] {
        let op = Operation::find(name).expect("an operation of ours");
        let (kernels, made) = (op.descs(dtype), Arc::new(Mutex::new(vec![])));
        let of_debugger = made.clone();
        set_debugger(Some(Arc::new(move |entry: &str| {
            let all = kernels.iter().flat_map(|d| d.configs.iter().map(move |c| (*d, c)));
            let mut of_entry = all.filter(|(_, c)| c.variants.iter().any(|v| v.entry == entry));
            let Some((desc, config)) = of_entry.next() else { return Ok(None) };
            let built = library(desc, config, entry);
            // SAFETY: it was just built.
            let library = unsafe { DebugLibrary::load(&built.path) }?;
            of_debugger.lock().unwrap_or_else(PoisonError::into_inner).push((entry.to_string(), built));
            Ok(Some(Arc::new(library)))
        })));
        let rt = Runtime::emulator(1);
        let mut problem = op.prepare(&rt, &Setup::plain(dtype, &small(op), 1)).expect("data");
        let launched = Launched::start();
        let done = problem.launch(&ExecOptions::new(&rt));
        set_debugger(None);
        done.expect("nothing is wrong");
        assert_eq!(launched.launches().len(), made.lock().expect("no panic").len(), "{name}: all have marks");
        let verdict = problem.check().expect("a result");
        assert!(verdict.passed(), "{name}: {:?}", verdict.first);
    }
}
