//! The tools beside this workspace: the device toolchain, ptxas, and an optional disassembler.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use tilewright_build::cache::Cache;
use tilewright_build::toolchain::{self, Toolchain};

use crate::{command, debian, nvidia, python, stamp};

/// Without a network rustup tries for minutes.
const RUSTUP_LIMIT: Duration = Duration::from_secs(90);

pub struct Ready {
    pub device_toolchain: bool,
    pub ptxas: bool,
    /// The folder of NumPy and JAX for tests.
    pub python_packages: Option<PathBuf>,
    /// The program that starts several processes of a test.
    pub mpirun: Option<PathBuf>,
    /// Programs and packages that tests use and that are not here.
    pub missing: Vec<&'static Needed>,
}

impl Ready {
    /// Nothing was looked for.
    pub fn without_device() -> Ready {
        Ready { device_toolchain: false, ptxas: false, python_packages: None, mpirun: None, missing: vec![] }
    }
}

/// A program or a package that tests use, and who brings it.
pub struct Needed {
    pub name: &'static str,
    pub how: &'static str,
    /// Set to 1 it lets the tests go on without.
    pub variable: &'static str,
    pub what: &'static str,
}

const NEEDED: [Needed; 2] = [
    Needed {
        name: "gcc",
        how: "apt-get install gcc libc6-dev",
        variable: "TILE_ALLOW_NO_GCC",
        what: "the tests of the C library from C",
    },
    Needed {
        name: "python3",
        how: "apt-get install python3 python3-pip",
        variable: "TILE_ALLOW_NO_PYTHON3",
        what: "the tests of the C library from Python",
    },
];

const NUMPY: Needed = Needed {
    name: "NumPy",
    how: "cargo xtask setup, with a network and python3-pip,",
    variable: "TILE_ALLOW_NO_NUMPY",
    what: "the tests of the Python package",
};

const MPIRUN: Needed = Needed {
    name: "mpirun",
    how: "apt-get install openmpi-bin",
    variable: "TILE_ALLOW_NO_MPIRUN",
    what: "the tests of collectives with several processes",
};

/// Sets up missing parts. A part that cannot be had is reported and is no error: kernels then run on the CPU, or are
/// assembled by the driver.
pub fn setup() -> Result<Ready> {
    let cache = Cache::from_env().context("no folder to keep the toolchain in: set TILE_CACHE_DIR")?;
    cache.check().with_context(|| format!("cannot use {}", cache.root().display()))?;
    let found = match toolchain::find() {
        Ok(t) => Some(t),
        Err(_) => install(&cache),
    };
    match &found {
        Some(t) => println!(
            "device toolchain: {} ({}, {})",
            t.version.lines().next().unwrap_or("?"),
            t.origin,
            t.rustc.display()
        ),
        None => println!(
            "device toolchain: none; kernels run on the CPU only. `rustup component add rust-src` with a network gives one"
        ),
    }
    let ptxas = nvidia::ptxas(&cache);
    match &ptxas {
        Ok(p) => println!("ptxas:            {} ({})", p.version, p.path.display()),
        Err(e) => println!("ptxas:            none; the driver compiles kernels when they are first used ({e:#})"),
    }
    match nvidia::nvdisasm(&cache) {
        Ok(p) => println!("nvdisasm:         {}", p.display()),
        Err(e) => println!("nvdisasm:         none; `tile show --stage sass` needs one ({e:#})"),
    }
    let python_packages = python::packages(&cache);
    match &python_packages {
        Ok(p) => println!("Python packages:  {}", p.display()),
        Err(e) => println!("Python packages:  none; {} are skipped ({e:#})", NUMPY.what),
    }
    let mpirun = match command::exists(MPIRUN.name) {
        true => Ok(PathBuf::from(MPIRUN.name)),
        false => debian::mpirun(&cache),
    };
    match &mpirun {
        Ok(p) => println!("mpirun:           {}", p.display()),
        Err(e) => println!("mpirun:           none; {} are skipped ({e:#})", MPIRUN.what),
    }
    let mut missing: Vec<_> = NEEDED.iter().filter(|n| !command::exists(n.name)).collect();
    for n in &missing {
        println!("{:17} none; {} are skipped. `{}` gives it", format!("{}:", n.name), n.what, n.how);
    }
    missing.extend(python_packages.is_err().then_some(&NUMPY));
    missing.extend(mpirun.is_err().then_some(&MPIRUN));
    let (device_toolchain, ptxas, python_packages) = (found.is_some(), ptxas.is_ok(), python_packages.ok());
    Ok(Ready { device_toolchain, ptxas, python_packages, mpirun: mpirun.ok(), missing })
}

fn install(cache: &Cache) -> Option<Toolchain> {
    type Installer = (&'static str, fn(&Cache) -> Result<()>);
    let installers: [Installer; 2] = [
        ("rustup component add rust-src", rustup),
        ("Debian's rustc-web, unpacked into the cache folder", debian::unpack),
    ];
    if std::env::var_os("TILE_DEVICE_RUSTC").is_some_and(|v| !v.is_empty()) {
        println!("TILE_DEVICE_RUSTC names no usable toolchain");
        return None;
    }
    for (name, install) in installers {
        println!("no device toolchain yet; trying: {name}");
        // The proof is that it is found afterwards.
        match install(cache).and_then(|()| Ok(toolchain::find()?)) {
            Ok(t) => {
                let _ = stamp::installed(cache);
                return Some(t);
            }
            Err(e) => println!("  {e:#}"),
        }
    }
    None
}

fn rustup(_: &Cache) -> Result<()> {
    command::program("rustup").args(["component", "add", "rust-src"]).output(RUSTUP_LIMIT).map(drop)
}
