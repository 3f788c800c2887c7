//! Where warnings go in programs of this repository. Users of the library have a subscriber of their own, or none.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

/// Writes warnings to stderr, or the events that `RUST_LOG` asks for, as in `tilewright=debug`. Nothing changes where
/// the process has a subscriber of `tracing`.
///
/// # Examples
/// ```
/// tilewright_runtime::warnings_to_stderr();
/// let rt = tilewright_runtime::Runtime::new(); // says why it takes the CPU, where it does
/// ```
pub fn warnings_to_stderr() {
    let asked = std::env::var("RUST_LOG").ok().filter(|v| !v.is_empty()).and_then(|v| v.parse::<Targets>().ok());
    let filter = asked.unwrap_or_else(|| Targets::new().with_default(LevelFilter::WARN));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .without_time();
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
}
