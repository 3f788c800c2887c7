//! Runs of test kernels: on the CPU, which defines the right results, and on the emulated SM with threads in two
//! orders.

use tilewright::{Error, LaunchOptions, Runtime};
use tilewright_core::Call;

pub fn seeds() -> [Runtime; 2] {
    [7, 8].map(Runtime::emulator)
}

/// The emulated SM with threads in two orders, and the CPU.
pub fn backends() -> Vec<Runtime> {
    seeds().into_iter().chain([Runtime::cpu()]).collect()
}

/// Runs a call on the CPU and on the emulated SM with threads in two orders. `check` compares their results, the
/// emulator's first.
pub fn compared<R>(what: &str, run: impl Fn(&Runtime) -> Result<R, Error>, check: impl Fn(&str, &R, &R)) {
    let run = |rt: &Runtime| run(rt).unwrap_or_else(|e| panic!("{what}: {e}"));
    let wanted = run(&Runtime::cpu());
    seeds().iter().for_each(|rt| check(what, &run(rt), &wanted));
}

pub fn with(config: &'static str) -> LaunchOptions<'static> {
    LaunchOptions::new().config(config)
}

/// The end of the name of the first variant that takes the call.
pub fn taken(call: &Call, config: &str) -> &'static str {
    let config = call.desc().configs.iter().find(|c| c.id == config).expect("it is one of them");
    let variant = config.variants.iter().find(|v| v.satisfied_by(call.words())).expect("one takes any");
    variant.entry.rsplit("__").next().expect("a name")
}
