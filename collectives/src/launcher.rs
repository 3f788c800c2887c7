//! The variables that `torchrun` and `mpirun` set for a process.

use crate::error::{Error, Result};
use tilewright_runtime::{BackendKind, Runtime, cuda_status};

/// The values that a launcher has set for this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launcher {
    pub rank: usize,
    pub size: usize,
    /// The number of this process on its machine.
    pub local_rank: usize,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// There is one process.
    None,
    /// `torchrun`, or whoever sets its variables: processes meet at an address.
    Torchrun(Meeting),
    /// `mpirun`, whose library knows the others.
    Mpirun,
}

/// The address where processes meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meeting {
    pub host: String,
    pub port: u16,
    /// Whether `torchrun` itself listens on the port.
    pub is_taken: bool,
    /// A name that the processes of one run have in common.
    pub run: String,
}

/// The variables of the rank, of the number of ranks, and of the rank within the machine.
const OPEN_MPI: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"];
const MPICH: [&str; 3] = ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"];
const TORCHRUN: [&str; 3] = ["RANK", "WORLD_SIZE", "LOCAL_RANK"];
/// The rank within the machine, where `srun` starts the processes and the launcher names none.
const SLURM_LOCAL: &str = "SLURM_LOCALID";

impl Launcher {
    pub(crate) fn from_env() -> Result<Launcher> {
        Self::from(|name| std::env::var(name).ok().filter(|v| !v.is_empty()))
    }

    fn from(get: impl Fn(&str) -> Option<String>) -> Result<Launcher> {
        let number = |name: &str| match get(name) {
            None => Ok(None),
            Some(text) => {
                text.parse::<usize>().map(Some).map_err(|_| environment(format!("{name}={text} is no number")))
            }
        };
        // `mpirun` may start a `torchrun` on each machine. Other programs set a RANK of their own.
        let all = match get("TORCHELASTIC_RUN_ID") {
            Some(_) => [TORCHRUN, OPEN_MPI, MPICH],
            None => [OPEN_MPI, MPICH, TORCHRUN],
        };
        for names in all {
            let [rank, size, local] = names.map(number);
            let (rank, size, local) = match (rank?, size?, local?) {
                (Some(rank), Some(size), local) => (rank, size, local),
                // Others set one of these for purposes of their own.
                _ => continue,
            };
            if rank >= size {
                return Err(environment(format!("{}={rank}, and {}={size}: a rank is below it", names[0], names[1])));
            }
            let kind = match get("MASTER_ADDR") {
                Some(host) => Kind::Torchrun(meeting(host, &get)?),
                None if names != TORCHRUN => Kind::Mpirun,
                None if size == 1 => Kind::None,
                None => {
                    let why =
                        "RANK and WORLD_SIZE are set, and MASTER_ADDR is not: start the ranks with torchrun or mpirun";
                    return Err(environment(why.into()));
                }
            };
            let local = if local.is_some() { local } else { number(SLURM_LOCAL)? };
            return Ok(Launcher { rank, size, local_rank: local.unwrap_or(rank), kind });
        }
        Ok(Launcher { rank: 0, size: 1, local_rank: 0, kind: Kind::None })
    }

    /// Whether a library of MPI knows the other ranks.
    pub(crate) fn is_of_mpi(&self) -> bool {
        [OPEN_MPI, MPICH].iter().any(|names| std::env::var_os(names[0]).is_some())
    }
}

fn meeting(host: String, get: &impl Fn(&str) -> Option<String>) -> Result<Meeting> {
    let port = get("MASTER_PORT").ok_or_else(|| environment("MASTER_ADDR is set, and MASTER_PORT is not".into()))?;
    let port = match port.parse() {
        Ok(port) if port != 0 => port,
        _ => return Err(environment(format!("MASTER_PORT={port} is no port"))),
    };
    let is_taken = get("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|v| v == "True");
    let run = get("TORCHELASTIC_RUN_ID").unwrap_or_default();
    let attempt = get("TORCHELASTIC_RESTART_COUNT").unwrap_or_default();
    Ok(Meeting { host, port, is_taken, run: format!("{run}#{attempt}") })
}

fn environment(why: String) -> Error {
    Error::Environment { why }
}

/// A library of collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    None,
    Nccl,
    Mpi,
}

impl Library {
    /// The library that `TILE_COLLECTIVES` names.
    pub(crate) fn from_env() -> Result<Option<Library>> {
        match std::env::var("TILE_COLLECTIVES").unwrap_or_default().as_str() {
            "" => Ok(None),
            "alone" => Ok(Some(Library::None)),
            "nccl" => Ok(Some(Library::Nccl)),
            "mpi" => Ok(Some(Library::Mpi)),
            other => Err(environment(format!("TILE_COLLECTIVES={other} is not nccl, mpi or alone"))),
        }
    }
}

/// The runtime of this process: of the processes on a machine each has another GPU, by `LOCAL_RANK` of `torchrun`,
/// `OMPI_COMM_WORLD_LOCAL_RANK` or `MPI_LOCALRANKID` of `mpirun`, or `SLURM_LOCALID` of `srun`. Without a GPU it is the
/// CPU. `TILE_BACKEND` overrides, except that `cuda` and `auto` name the GPU of the rank.
///
/// Errors: [`Error::Environment`] where a machine has fewer GPUs than ranks: NCCL takes a GPU once. Those of
/// [`Runtime::from_name`].
///
/// # Examples
/// ```
/// let rt = tilewright_collectives::runtime()?;
/// assert_eq!(rt.zeros::<f32>(3)?.len(), 3);
/// # Ok::<(), tilewright_collectives::Error>(())
/// ```
pub fn runtime() -> Result<Runtime> {
    let launcher = Launcher::from_env()?;
    let backend = std::env::var("TILE_BACKEND").unwrap_or_default();
    let devices = match backend.as_str() {
        "" | "auto" => cuda_status().unwrap_or(0),
        "cuda" => cuda_status()?,
        other => return Ok(Runtime::from_name(other)?),
    };
    match (devices, launcher.local_rank) {
        (0, _) => Ok(Runtime::cpu()),
        (n, rank) if rank < n as usize => Ok(Runtime::cuda(rank as u32)?),
        // A launcher may show each rank one device.
        (1, _) if std::env::var_os("CUDA_VISIBLE_DEVICES").is_some() => Ok(Runtime::cuda(0)?),
        (n, rank) => Err(environment(format!(
            "rank {rank} of this machine has no GPU, and there are {n}: start at most {n} ranks on a machine, or \
             set TILE_BACKEND=cpu"
        ))),
    }
}

/// Whether a runtime's memory is that of a GPU.
pub(crate) fn is_gpu(rt: &Runtime) -> bool {
    rt.kind() == BackendKind::Cuda
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Launcher> {
        Launcher::from(|name| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_string()))
    }

    #[test]
    fn without_a_launcher_there_is_one_rank() {
        let one = Launcher { rank: 0, size: 1, local_rank: 0, kind: Kind::None };
        assert_eq!(of(&[]).unwrap(), one);
        assert_eq!(of(&[("RANK", "3")]).unwrap(), one, "half of the variables is no launcher");
        assert_eq!(of(&[("RANK", "0"), ("WORLD_SIZE", "1")]).unwrap(), one);
    }

    #[test]
    fn variables_of_torchrun() {
        let mut variables = vec![("RANK", "5"), ("WORLD_SIZE", "8"), ("LOCAL_RANK", "1"), ("MASTER_ADDR", "host")];
        assert!(matches!(of(&variables), Err(Error::Environment { .. })), "without a port");
        variables.push(("MASTER_PORT", "29500"));
        let meeting = Meeting { host: "host".into(), port: 29500, is_taken: false, run: "#".into() };
        let wanted = Launcher { rank: 5, size: 8, local_rank: 1, kind: Kind::Torchrun(meeting.clone()) };
        assert_eq!(of(&variables).unwrap(), wanted);
        variables.extend([("TORCHELASTIC_USE_AGENT_STORE", "True"), ("TORCHELASTIC_RUN_ID", "a")]);
        let meeting = Meeting { is_taken: true, run: "a#".into(), ..meeting };
        assert_eq!(of(&variables).unwrap().kind, Kind::Torchrun(meeting));
    }

    #[test]
    fn variables_of_mpirun() {
        let open_mpi =
            [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4"), ("RANK", "9"), ("WORLD_SIZE", "9")];
        assert_eq!(of(&open_mpi).unwrap(), Launcher { rank: 1, size: 4, local_rank: 1, kind: Kind::Mpirun });
        let mpich = [("PMI_RANK", "6"), ("PMI_SIZE", "8"), ("MPI_LOCALRANKID", "2")];
        assert_eq!(of(&mpich).unwrap(), Launcher { rank: 6, size: 8, local_rank: 2, kind: Kind::Mpirun });
        let slurm = [("PMI_RANK", "6"), ("PMI_SIZE", "8"), ("SLURM_LOCALID", "3")];
        assert_eq!(of(&slurm).unwrap(), Launcher { rank: 6, size: 8, local_rank: 3, kind: Kind::Mpirun });
    }

    #[test]
    fn the_inner_launcher_counts() {
        let mut variables = vec![("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")];
        variables.extend([("RANK", "9"), ("WORLD_SIZE", "16"), ("LOCAL_RANK", "1")]);
        assert_eq!(of(&variables).unwrap().rank, 1);
        variables.extend([("TORCHELASTIC_RUN_ID", "a"), ("MASTER_ADDR", "host"), ("MASTER_PORT", "29500")]);
        let launcher = of(&variables).unwrap();
        assert_eq!((launcher.rank, launcher.size, launcher.local_rank), (9, 16, 1));
    }

    #[test]
    fn mistakes_are_named() {
        let text = |variables: &[(&str, &str)]| of(variables).unwrap_err().to_string();
        let e = text(&[("RANK", "x"), ("WORLD_SIZE", "2")]);
        assert_eq!(e, "the environment of this process: RANK=x is no number");
        let e = text(&[("RANK", "2"), ("WORLD_SIZE", "2")]);
        assert!(e.ends_with("RANK=2, and WORLD_SIZE=2: a rank is below it"), "{e}");
        assert!(text(&[("RANK", "0"), ("WORLD_SIZE", "2")]).contains("MASTER_ADDR"));
        let port = |port| text(&[("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "h"), ("MASTER_PORT", port)]);
        assert!(port("0").contains("MASTER_PORT=0 is no port") && port("70000").contains("is no port"));
    }
}
