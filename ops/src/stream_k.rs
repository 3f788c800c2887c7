//! Stream-K: products whose tiles do not fill the device in whole waves. Programs share the tiles of the last wave.

use super::Executor;
use tilewright_core::{AsSliceMut, ConfigDesc, Element, SliceMutArg};
use tilewright_runtime::{Error, Result, Scratch};

/// The largest tile of which one program is on a multiprocessor; of smaller ones more are, which take no more room
/// together.
pub(super) const TILE: [usize; 2] = [128, 256];
/// Programs on a multiprocessor, at most.
const PER_SM: usize = 4;
/// Semaphores of a task of the library `partials`.
const WORDS: usize = 3;

/// The places of `Grid` and `StreamK` in the enum `Scheduler` of kernels.
const GRID: i64 = 0;
const STREAM_K: i64 = 2;

/// Whether each program of a configuration has one tile.
pub(super) fn is_grid(config: &ConfigDesc) -> bool {
    config.value_of("SCHEDULER") == Some(GRID)
}

/// Whether a configuration takes a [`Workspace`].
pub(super) fn is_stream_k(config: &ConfigDesc) -> bool {
    config.value_of("SCHEDULER") == Some(STREAM_K)
}

/// Scratch memory of programs that share output tiles.
pub(super) struct Workspace<S> {
    /// Partial sums: an output tile for each program, or for each part of one.
    sums: Scratch<S>,
    /// Zeros: under stream-K WORDS for each program.
    semaphores: Scratch<u64>,
}

impl<S: Element> Workspace<S> {
    pub fn new(on: &impl Executor) -> Result<Self> {
        let num_sms = on.num_sms();
        let sums = on.stream().scratch(num_sms * TILE[0] * TILE[1])?;
        // SAFETY: as in `Workspace::of`.
        Ok(Workspace { sums, semaphores: unsafe { on.stream().zeroed_scratch(num_sms * PER_SM * WORDS) }? })
    }

    /// An empty workspace, for a data-parallel launch.
    pub fn none(on: &impl Executor) -> Result<Self> {
        Ok(Workspace { sums: on.stream().scratch(0)?, semaphores: on.stream().scratch(0)? })
    }

    /// The workspace of a launch under stream-K, or of another scheduler.
    pub fn of_scheduler(on: &impl Executor, stream_k: bool) -> Result<Self> {
        if stream_k { Self::new(on) } else { Self::none(on) }
    }

    /// A workspace of this many sums and semaphores, for split-K. Errors: [`Error::TooLarge`] for `None`, a number that
    /// does not fit.
    pub fn of(on: &impl Executor, sums: Option<usize>, semaphores: Option<usize>) -> Result<Self> {
        let too_large = || Error::TooLarge { len: usize::MAX, size: size_of::<S>() };
        let len = |n: Option<usize>| n.ok_or_else(too_large);
        let sums = on.stream().scratch(len(sums)?)?;
        // SAFETY: the workspace is of this crate, which gives it to kernels that use the library `partials` of our
        // kernels. There the last program of a task to arrive puts its semaphores back.
        Ok(Workspace { sums, semaphores: unsafe { on.stream().zeroed_scratch(len(semaphores)?) }? })
    }

    /// Whether it is enough for PER_SM programs on a multiprocessor, each with so many sums.
    #[cfg(test)]
    pub fn holds(config: &ConfigDesc, sums: usize) -> bool {
        let programs = const_of(config, "PER_SM");
        programs <= PER_SM && programs * sums <= TILE[0] * TILE[1]
    }

    pub fn parts(&mut self) -> (SliceMutArg<'_, S>, SliceMutArg<'_, u64>) {
        ((&mut self.sums).as_slice_mut_arg(), (&mut self.semaphores).as_slice_mut_arg())
    }
}

/// A const of a configuration that has it.
#[cfg(test)]
pub(super) fn const_of(config: &ConfigDesc, name: &str) -> usize {
    config.value_of(name).expect("it has one") as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_all_programs() {
        let descs = crate::products::kernels::KERNELS.iter().flat_map(|d| d.iter());
        let configs: Vec<_> = descs.flat_map(|d| d.configs).filter(|c| is_stream_k(c)).collect();
        assert!(configs.len() > 100, "{}", configs.len());
        for config in configs {
            let sums = const_of(config, "BM") * const_of(config, "BN");
            assert!(Workspace::<f32>::holds(config, sums), "{}", config.id);
        }
    }
}
