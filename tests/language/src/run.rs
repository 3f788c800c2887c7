//! How kernels of tests are run: on the CPU, which says what they mean, and on the emulated SM with threads in two orders.

use kernel_core::Call;
use tile_host::{LaunchOptions, Runtime};

pub fn seeds() -> [Runtime; 2] {
    [7, 8].map(Runtime::emulator)
}

pub fn with(config: &'static str) -> LaunchOptions<'static> {
    LaunchOptions { config: Some(config), ..Default::default() }
}

/// The end of the name of the first variant that takes the call.
pub fn taken(call: &Call, config: &str) -> &'static str {
    let config = call.desc().configs.iter().find(|c| c.id == config).expect("it is one of them");
    let variant = config.variants.iter().find(|v| v.admits(call.slots())).expect("one takes any");
    variant.entry.rsplit("__").next().expect("a name")
}
