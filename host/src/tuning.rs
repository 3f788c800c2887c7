//! The choice of a kernel's configuration: measuring, reports, and the occupancy of a multiprocessor.
//!
//! A launch takes the fastest known configuration without any of these types. [`Autotune`] says whether launches
//! measure. [`Report`] is the outcome of a measurement. [`Tunable`] makes a choice of a library's own measurable.
//! [`Version`] says which code its results are of.
//!
//! # Examples
//! ```
//! use tilewright::tuning::{Autotune, Source};
//! use tilewright::{Runtime, tile_kernel};
//!
//! #[tile_kernel(tune(BLOCK = [64, 128], warps = [1]), grid = [cdiv(y.len(), BLOCK)])]
//! fn ones<const BLOCK: usize>(y: &mut [f32]) {
//!     store(y, program_id(0) * BLOCK + arange(BLOCK), 1.0);
//! }
//!
//! let (rt, mut y) = (Runtime::cpu(), [0.0; 100]);
//! rt.set_autotune(Autotune::Off);
//! let (_, source) = rt.configuration(&ones(&mut y))?;
//! assert_eq!(source, Source::Default);
//! # Ok::<(), tilewright::Error>(())
//! ```

pub use crate::occupancy::{BlockResources, Occupancy, OccupancyLimit};
pub use crate::select::Tunable;
pub use crate::tuner::file::Version;
pub use crate::tuner::measure::Output;
pub use crate::tuner::{Autotune, Candidate, Outcome, Report, Source};
