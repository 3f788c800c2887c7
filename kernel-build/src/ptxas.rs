//! Finds `ptxas`, which turns PTX into machine code ahead of time. It is not needed: without it the driver does that
//! when a kernel is first loaded, and nothing is known of registers and spills.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::Cache;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptxas {
    pub path: PathBuf,
    /// The last line of `ptxas --version`, which names the build.
    pub version: String,
}

/// The places to search, in this order.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// `TILE_PTXAS`: a path, or `off` for none.
    pub explicit: Option<OsString>,
    pub path: Option<OsString>,
    /// Folders of CUDA toolkits.
    pub toolkits: Vec<PathBuf>,
    /// The folder that `cargo xtask setup` installs into.
    pub unpacked: Option<PathBuf>,
    /// Asked for its packages: `nvidia-cuda-nvcc` brings a ptxas.
    pub python: Option<PathBuf>,
}

impl Search {
    pub fn from_env() -> Search {
        let toolkits = ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(std::env::var_os).map(PathBuf::from);
        Search {
            explicit: std::env::var_os("TILE_PTXAS").filter(|v| !v.is_empty()),
            path: std::env::var_os("PATH"),
            toolkits: toolkits.chain(["/usr/local/cuda".into()]).collect(),
            unpacked: Cache::from_env().and_then(|c| c.trusted_toolchain("")),
            python: Some("python3".into()),
        }
    }

    pub fn find(&self) -> Option<Ptxas> {
        match &self.explicit {
            Some(e) if e == "off" => None,
            Some(e) => ask(Path::new(e)),
            None => self.places("ptxas").find_map(|p| probe(&p)).or_else(|| self.in_python()),
        }
    }

    /// That `TILE_PTXAS` names a program that does not run as a ptxas.
    pub fn is_wrong(&self) -> Option<String> {
        let named = self.explicit.as_ref().filter(|e| *e != "off")?;
        let wrong = ask(Path::new(named)).is_none();
        wrong.then(|| format!("TILE_PTXAS={} does not run as a ptxas: kernels have no machine code", named.display()))
    }

    /// Another program of the CUDA toolkit, wherever a ptxas is looked for but in Python's packages.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        self.places(name).find(|p| p.is_file())
    }

    /// The possible paths of a program. Files of the cache folder that others may have written are left out.
    fn places(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        let unpacked = self.unpacked.iter().map(|d| d.join(name)).filter(|p| tilewright_cache_dir::check(p).is_ok());
        let unpacked: Vec<_> = unpacked.collect();
        self.dirs().map(|d| d.join(name)).chain(unpacked).collect::<Vec<_>>().into_iter()
    }

    fn dirs(&self) -> impl Iterator<Item = PathBuf> {
        let on_path = self.path.iter().flat_map(std::env::split_paths);
        let toolkits = self.toolkits.iter().map(|t| t.join("bin"));
        on_path.chain(toolkits)
    }

    fn in_python(&self) -> Option<Ptxas> {
        let ask = "import site; print(*site.getsitepackages(), site.getusersitepackages(), sep='\\n')";
        let out = Command::new(self.python.as_ref()?).args(["-c", ask]).output().ok().filter(|o| o.status.success())?;
        let packages =
            String::from_utf8_lossy(&out.stdout).lines().map(|l| Path::new(l).join("nvidia")).collect::<Vec<_>>();
        let mut found: Vec<_> = packages
            .iter()
            .flat_map(std::fs::read_dir)
            .flatten()
            .flatten()
            .map(|e| e.path().join("bin/ptxas"))
            .collect();
        // `cu13` before `cuda_nvcc`, for every order on disk.
        found.sort();
        found.iter().find_map(|p| probe(p))
    }
}

/// The ptxas of this environment.
pub fn find() -> Option<Ptxas> {
    Search::from_env().find()
}

/// The ptxas of a file.
fn probe(path: &Path) -> Option<Ptxas> {
    if path.is_file() { ask(path) } else { None }
}

/// The same of a file, or of a name that is looked for in `PATH`.
fn ask(path: &Path) -> Option<Ptxas> {
    let out = Command::new(path).arg("--version").output().ok().filter(|o| o.status.success())?;
    let version = String::from_utf8_lossy(&out.stdout).lines().last()?.trim().to_owned();
    Some(Ptxas { path: path.into(), version })
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn script(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn the_order_of_search() {
        let dir = std::env::temp_dir().join(format!("tile-ptxas-test-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        let site = dir.join("site");
        script(&dir.join("python3"), &format!("echo {}/none; echo {}", site.display(), site.display()));
        let mut s = Search {
            path: Some(std::env::join_paths([dir.join("empty"), dir.join("path")]).unwrap()),
            toolkits: vec![dir.join("cuda")],
            unpacked: Some(dir.join("unpacked")),
            python: Some(dir.join("python3")),
            explicit: None,
        };
        assert_eq!(s.find(), None);
        let places = ["site/nvidia/cu13/bin", "unpacked", "cuda/bin", "path", "mine"];
        for place in places {
            script(&dir.join(place).join("ptxas"), &format!("echo ptxas; echo build {place}"));
            if place == "mine" {
                s.explicit = Some(dir.join("mine/ptxas").into());
            }
            assert_eq!(s.find().unwrap().version, format!("build {place}"));
        }
        // A program in the cache folder that others may have written is not run.
        s.explicit = None;
        (s.path, s.toolkits, s.python) = (None, Vec::new(), None);
        assert_eq!(s.find().unwrap().version, "build unpacked");
        for mode in [0o775, 0o757] {
            fs::set_permissions(dir.join("unpacked/ptxas"), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!((s.find(), s.program("ptxas")), (None, None));
        }
        s.explicit = Some("off".into());
        assert_eq!((s.find(), s.is_wrong()), (None, None));
        s.explicit = Some(dir.join("ptxsa").into());
        assert_eq!(s.find(), None);
        assert!(s.is_wrong().is_some_and(|why| why.contains("ptxsa does not run as a ptxas")));
        fs::remove_dir_all(dir).unwrap();
    }
}
