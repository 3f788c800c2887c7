//! Benchmarks of kernels over a range of sizes, in the manner of `triton.testing.perf_report`.
//!
//! A [`Sweep`] is declared beside a kernel: an x axis, and lines for the kernel and its peers. [`measure`] checks each
//! result, then times all lines of a point in turn, each launch from a cold cache. A [`Report`] is a table, CSV, JSON,
//! SVG, and one page of HTML that needs no network. A [`Comparison`] of two reports lists the points that became
//! slower.
//!
//! A crate uses it as a dev-dependency, for a benchmark without harness (see [`main`]). `tile bench` measures the
//! operations of this project with it.
#![warn(missing_docs)]

mod axis;
mod card;
mod case;
mod check;
#[cfg(feature = "command")]
mod command;
mod compare;
mod error;
mod files;
pub mod format;
mod gauges;
mod markdown;
mod measure;
mod nvml;
mod output;
mod peer_command;
mod peers;
mod report;
mod rows;
mod stats;
mod sweep;
mod timer;

pub use axis::{Axis, Scale};
pub use card::{Ceiling, DeviceFacts};
pub use case::{Case, Failure, Skip, Verdict, Work};
pub use check::{Checked, Found, check};
#[cfg(feature = "command")]
pub use command::{Finished, Options, main};
pub use compare::{Change, Compared, Comparison};
pub use error::{Error, Result};
pub use gauges::Gauges;
pub use measure::{Progress, Settings, measure};
pub use output::Table;
pub use peers::Peers;
pub use report::{LineFacts, Outcome, Point, Recorded, Report, SweepReport, Times, Value};
pub use stats::{CONFIDENCE, Estimate, MIN_TIMES};
pub use sweep::{Metric, Sweep};
pub use timer::Timer;
