//! The device toolchain: a rustc whose sysroot holds the sources of `core`.
//!
//! In the order of search: the one named by `TILE_DEVICE_RUSTC`, the active toolchain, the system's, and Debian's
//! packages as `cargo xtask setup` unpacks them.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::Cache;
use crate::files::absolute;

/// The first release that `kernel-build` is tested with.
const MIN_RELEASE: (u32, u32) = (1, 95);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    pub origin: Origin,
    pub rustc: PathBuf,
    /// The output of `rustc -vV`.
    pub version: String,
    /// The folder `library` of the sources.
    pub library: PathBuf,
    /// Set for every run of this rustc.
    pub env: Vec<(String, OsString)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `TILE_DEVICE_RUSTC`.
    Explicit,
    /// The toolchain that runs the build.
    Active,
    /// The system's package.
    System,
    /// Unpacked by `cargo xtask setup`.
    Unpacked,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Explicit => "TILE_DEVICE_RUSTC",
            Origin::Active => "the active rustc",
            Origin::System => "the system's rustc",
            Origin::Unpacked => "the unpacked rustc",
        })
    }
}

/// There is no device toolchain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no device toolchain, so kernels run on the CPU only: run `rustup component add rust-src` \
     (or `cargo xtask setup` in a checkout of tilewright) and build again [{}]",
    tried.iter().map(|(o, r)| format!("{o}: {r}")).collect::<Vec<_>>().join("; ")
)]
pub struct Missing {
    pub tried: Vec<(Origin, Reject)>,
}

/// Why a rustc cannot compile for the device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reject {
    #[error("not there")]
    Absent,
    #[error("does not run: {0}")]
    Broken(String),
    #[error("without rust-src")]
    NoSource,
    #[error("{0} is too old")]
    TooOld(String),
    /// Others may have written it.
    #[error("{0}")]
    Untrusted(String),
}

/// The places to search.
#[derive(Clone, Debug)]
pub struct Search {
    /// Names the toolchain; then no other is tried.
    pub explicit: Option<PathBuf>,
    pub active: PathBuf,
    pub system: PathBuf,
    /// The folder that `cargo xtask setup` unpacks into.
    pub unpacked: Option<PathBuf>,
}

impl Search {
    pub fn from_env() -> Search {
        let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        Search {
            explicit: set("TILE_DEVICE_RUSTC"),
            active: set("RUSTC").unwrap_or_else(|| "rustc".into()),
            system: "/usr/bin/rustc".into(),
            unpacked: Cache::from_env().and_then(|c| c.trusted_toolchain("debian")),
        }
    }

    pub fn find(&self) -> Result<Toolchain, Missing> {
        let mut tried = Vec::new();
        let mut candidates = Vec::new();
        if let Some(rustc) = &self.explicit {
            candidates.push((Origin::Explicit, rustc.clone(), None));
        } else {
            candidates.push((Origin::Active, self.active.clone(), None));
            candidates.push((Origin::System, self.system.clone(), None));
            if let Some(root) = &self.unpacked {
                candidates.push((Origin::Unpacked, root.join("usr/bin/rustc"), Some(root.as_path())));
            }
        }
        for (origin, rustc, root) in candidates {
            match probe(origin, &rustc, root) {
                Ok(t) => return Ok(t),
                Err(why) => tried.push((origin, why)),
            }
        }
        Err(Missing { tried })
    }
}

/// The device toolchain of this environment.
pub fn find() -> Result<Toolchain, Missing> {
    Search::from_env().find()
}

/// A folder to watch: it changes when the active toolchain gains or loses a component.
pub fn components(rustc: &Path) -> Option<PathBuf> {
    let sysroot = output(Command::new(rustc).args(["--print", "sysroot"])).ok()?;
    Some(Path::new(sysroot.trim()).join("lib/rustlib/components")).filter(|p| p.is_file())
}

fn probe(origin: Origin, rustc: &Path, root: Option<&Path>) -> Result<Toolchain, Reject> {
    // A bare name is looked up in PATH by the system.
    if rustc.components().count() > 1 && !rustc.is_file() {
        return Err(Reject::Absent);
    }
    if let Some(root) = root {
        trusted(root, rustc).map_err(|e| Reject::Untrusted(e.to_string()))?;
    }
    let env = root.map(library_path).unwrap_or_default();
    let ask = |args: &[&str]| output(Command::new(rustc).args(args).envs(env.iter().cloned()));
    let version = ask(&["-vV"])?;
    let sysroot = ask(&["--print", "sysroot"])?;
    if release(&version).is_none_or(|r| r < MIN_RELEASE) {
        return Err(Reject::TooOld(version.lines().next().unwrap_or("").into()));
    }
    let library = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library");
    if !library.join("core/src/lib.rs").is_file() {
        return Err(Reject::NoSource);
    }
    // rustup's proxy would look up the toolchain again at every run.
    let itself = Path::new(sysroot.trim()).join("bin/rustc");
    let is_name = rustc.components().count() == 1;
    let rustc = match origin == Origin::Active || is_name {
        true if itself.is_file() => itself,
        // Libraries are compiled in another folder than this one.
        _ if !is_name => absolute(rustc),
        _ => rustc.into(),
    };
    Ok(Toolchain { origin, rustc, version, library, env })
}

/// Checks every level from the folder of packages to an unpacked rustc, which a link of a package may lead to, and its
/// folders of libraries.
fn trusted(root: &Path, rustc: &Path) -> std::io::Result<()> {
    let (root, rustc) = (root.canonicalize()?, rustc.canonicalize()?);
    let levels = rustc.ancestors().take_while(|path| path.starts_with(&root));
    levels.map(Path::to_owned).chain(library_folders(&root)).try_for_each(|path| tilewright_cache_dir::check(&path))
}

fn library_folders(root: &Path) -> impl Iterator<Item = PathBuf> {
    let all = std::fs::read_dir(root.join("usr/lib")).into_iter().flatten().flatten().map(|e| e.path());
    all.filter(|p| p.to_string_lossy().ends_with("-linux-gnu"))
}

/// Unpacked packages find their shared libraries by this alone.
fn library_path(root: &Path) -> Vec<(String, OsString)> {
    let mut paths: Vec<_> = library_folders(root).collect();
    paths.extend(std::env::var_os("LD_LIBRARY_PATH").iter().flat_map(std::env::split_paths));
    std::env::join_paths(paths).map(|p| vec![("LD_LIBRARY_PATH".into(), p)]).unwrap_or_default()
}

fn output(cmd: &mut Command) -> Result<String, Reject> {
    let out = cmd.output().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Reject::Absent,
        _ => Reject::Broken(e.to_string()),
    })?;
    if !out.status.success() {
        let text = String::from_utf8_lossy(&out.stderr);
        return Err(Reject::Broken(text.lines().next().unwrap_or("no message").into()));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.lines().find_map(|l| l.strip_prefix("release: "))?.split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A folder with scripts that answer as rustc does.
    struct Fakes(PathBuf);

    impl Fakes {
        fn new(name: &str) -> Fakes {
            let dir = std::env::temp_dir().join(format!("tile-toolchain-test-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir_all(&dir).unwrap();
            Fakes(dir)
        }

        fn rustc(&self, place: &str, release: &str, source: bool) -> PathBuf {
            let sysroot = self.0.join(place).join("usr");
            let rustc = sysroot.join("bin/rustc");
            fs::create_dir_all(rustc.parent().unwrap()).unwrap();
            if source {
                let core = sysroot.join("lib/rustlib/src/rust/library/core/src");
                fs::create_dir_all(&core).unwrap();
                fs::write(core.join("lib.rs"), "").unwrap();
            }
            let text = format!(
                "#!/bin/sh\nif [ \"$1\" = -vV ]; then echo 'rustc {release}'; echo 'release: {release}'; else echo '{}'; fi\n",
                sysroot.display()
            );
            fs::write(&rustc, text).unwrap();
            fs::set_permissions(&rustc, fs::Permissions::from_mode(0o755)).unwrap();
            rustc
        }

        fn search(&self) -> Search {
            Search {
                explicit: None,
                active: self.0.join("active/usr/bin/rustc"),
                system: self.0.join("system/usr/bin/rustc"),
                unpacked: Some(self.0.join("unpacked")),
            }
        }
    }

    impl Drop for Fakes {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_order_of_search() {
        let f = Fakes::new("order");
        let mut s = f.search();
        assert_eq!(s.find().unwrap_err().tried.len(), 3);
        f.rustc("unpacked", "1.96.0", true);
        fs::create_dir_all(f.0.join("unpacked/usr/lib/x86_64-linux-gnu")).unwrap();
        let t = s.find().unwrap();
        assert_eq!(t.origin, Origin::Unpacked);
        assert!(t.env[0].1.to_string_lossy().contains("unpacked/usr/lib/x86_64-linux-gnu"));
        f.rustc("system", "1.96.0", true);
        assert_eq!(s.find().unwrap().origin, Origin::System);
        f.rustc("active", "1.97.0-nightly", true);
        assert_eq!(s.find().unwrap().origin, Origin::Active);
        s.explicit = Some(f.rustc("mine", "1.95.0", true));
        let t = s.find().unwrap();
        assert_eq!(t.origin, Origin::Explicit);
        assert!(t.library.ends_with("lib/rustlib/src/rust/library") && t.env.is_empty());
    }

    #[test]
    fn why_a_toolchain_is_passed_over() {
        let f = Fakes::new("why");
        f.rustc("active", "1.95.0", false);
        f.rustc("system", "1.94.1", true);
        let missing = f.search().find().unwrap_err();
        assert_eq!(missing.tried[0], (Origin::Active, Reject::NoSource));
        assert_eq!(missing.tried[1], (Origin::System, Reject::TooOld("rustc 1.94.1".into())));
        assert_eq!(missing.tried[2], (Origin::Unpacked, Reject::Absent));
        let text = missing.to_string();
        assert!(text.contains("rustup component add rust-src") && !text.contains('\n'), "{text}");
    }

    #[test]
    fn what_others_may_write_is_not_run() {
        let f = Fakes::new("others");
        let rustc = f.rustc("unpacked", "1.96.0", true);
        let libraries = f.0.join("unpacked/usr/lib/x86_64-linux-gnu");
        fs::create_dir_all(&libraries).unwrap();
        for path in [rustc.as_path(), rustc.parent().unwrap(), &f.0.join("unpacked/usr"), &libraries] {
            let mode = |mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            mode(0o775);
            let tried = f.search().find().unwrap_err().tried;
            assert!(
                matches!(&tried[2].1, Reject::Untrusted(why) if why.contains("may be written by others")),
                "{tried:?}"
            );
            mode(0o755);
            assert_eq!(f.search().find().unwrap().origin, Origin::Unpacked);
        }
    }

    #[test]
    fn an_explicit_one_is_not_replaced() {
        let f = Fakes::new("explicit");
        f.rustc("active", "1.95.0", true);
        let s = Search { explicit: Some(f.0.join("typo/rustc")), ..f.search() };
        assert_eq!(s.find().unwrap_err().tried, [(Origin::Explicit, Reject::Absent)]);
    }
}
