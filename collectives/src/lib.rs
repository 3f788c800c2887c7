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
//! - NCCL 2.10 or later: `libnccl.so.2` of the system, else that of PyPI's `nvidia-nccl-cu12` beside the `python3` of
//!   `PATH`, else the file that `TILE_NCCL` names.
//! - MPI: Open MPI 3 or later (`libmpi.so.40`), or MPICH and what is compatible with it (`libmpi.so.12`), else the file
//!   that `TILE_MPI` names.
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
