//! Several GPUs and machines: collective operations on the buffers of [tile kernels](tilewright_runtime).
//!
//! A program is started several times, by `torchrun` or by `mpirun`. Each process is a *rank* with a device of its own,
//! and they send memory to each other:
//! ```
//! use tilewright::Buffer;
//! use tilewright_collectives::{Reduction, World, runtime};
//!
//! let rt = runtime()?;
//! let world = World::from_env(&rt)?;
//! let mut x = Buffer::from_slice(&rt, &[world.rank() as f32])?;
//! world.all_reduce(rt.stream(), &mut x, Reduction::Max)?;
//! assert_eq!(x.to_vec()?, [(world.size() - 1) as f32]);
//! world.finish()?;
//! # Ok::<(), tilewright_collectives::Error>(())
//! ```
//! Ranks on GPUs use NCCL, and ranks on the CPU use MPI. Neither is needed to build a program: the library is loaded
//! when [`World::from_env`] needs it. A program that is started alone needs none.
//!
//! # Libraries
//! - NCCL 2.10 or later. If `TILE_NCCL` names a file, that file alone is tried. Otherwise the system's `libnccl.so.2`
//!   is loaded, else that of PyPI's `nvidia-nccl-cu12` in a Python environment: `PYTHONPATH`, `VIRTUAL_ENV`,
//!   `CONDA_PREFIX`, the `python3` of `PATH`, `~/.local` or `/usr/local`.
//! - MPI. If `TILE_MPI` names a file, that file alone is tried. Otherwise Open MPI 3 or later (`libmpi.so.40`) is
//!   loaded, or MPICH and libraries that are compatible with it (`libmpi.so.12`). The launcher's own library is tried
//!   first.
#![deny(missing_docs)]

mod alone;
mod communicator;
mod error;
mod launcher;
mod mpi;
mod nccl;
mod rendezvous;
mod world;

pub use communicator::{Communicator, Part, Reduction};
pub use error::{Error, Result};
pub use launcher::runtime;
pub use world::{Number, World};
