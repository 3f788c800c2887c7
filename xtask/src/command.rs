//! Running other programs.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

pub struct Run(Command);

/// The workspace's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace").into()
}

/// The cargo that runs us, in the workspace.
pub fn cargo() -> Run {
    let mut c = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    c.0.current_dir(root());
    c
}

/// Cargo with a build of few configurations for the GPU: most of a build from nothing is rustc and `ptxas` for others,
/// which differ from these in numbers alone.
pub fn cargo_with_few() -> Run {
    cargo().env("TILE_CONFIGS", "few")
}

/// Cargo that takes the metadata of crates which `cargo clippy -- -D warnings` has made. It would make it anew for
/// another compiler, and clippy counts as one.
pub fn with_metadata_of_clippy(cargo: Run) -> Run {
    let sysroot = program("rustc").args(["--print", "sysroot"]).output(Duration::from_secs(60));
    let driver = sysroot.ok().map(|s| Path::new(s.trim()).join("bin/clippy-driver")).filter(|d| d.exists());
    match driver {
        Some(driver) => cargo
            .env("RUSTC_WORKSPACE_WRAPPER", driver)
            .env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__"),
        None => cargo,
    }
}

/// The output of `cargo metadata` with these arguments.
pub fn metadata(args: &[&str]) -> Result<Value> {
    // The first time it downloads all packages.
    let metadata = cargo().args(["metadata", "--format-version=1"]).args(args).output(Duration::from_secs(600))?;
    Ok(serde_json::from_str(&metadata)?)
}

/// The packages of the workspace, as `cargo metadata` describes them.
pub fn packages() -> Result<Vec<Value>> {
    match metadata(&["--no-deps", "--offline"])?["packages"].take() {
        Value::Array(packages) => Ok(packages),
        _ => bail!("cargo metadata lists no packages"),
    }
}

pub fn program(name: impl AsRef<OsStr>) -> Run {
    Run(Command::new(name))
}

impl Run {
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Run {
        self.0.args(args);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Run {
        self.0.env(name, value);
        self
    }

    pub fn without(mut self, name: &str) -> Run {
        self.0.env_remove(name);
        self
    }

    pub fn dir(mut self, dir: &Path) -> Run {
        self.0.current_dir(dir);
        self
    }

    fn name(&self) -> String {
        Path::new(self.0.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Shows its output. Gives whether it succeeded.
    pub fn succeeds(mut self) -> Result<bool> {
        let name = self.name();
        Ok(self.0.status().with_context(|| format!("cannot run {name}"))?.success())
    }

    pub fn status_code(self) -> Result<ExitCode> {
        Ok(if self.succeeds()? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Its output; an error with the end of its messages if it fails or takes longer than `limit`.
    pub fn output(mut self, limit: Duration) -> Result<String> {
        let name = self.name();
        self.0.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.0.spawn().with_context(|| format!("cannot run {name}"))?;
        let read = |pipe: Option<Box<dyn Read + Send>>| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                pipe.map(|mut p| p.read_to_end(&mut bytes));
                String::from_utf8_lossy(&bytes).into_owned()
            })
        };
        let out = read(child.stdout.take().map(|p| Box::new(p) as _));
        let err = read(child.stderr.take().map(|p| Box::new(p) as _));
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if start.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                bail!("{name} took longer than {} s", limit.as_secs());
            }
            thread::sleep(Duration::from_millis(50));
        };
        let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
        if !status.success() {
            let said = err.lines().rfind(|l| !l.trim().is_empty()).unwrap_or("no message");
            bail!("{name}: {}", said.trim());
        }
        Ok(out)
    }
}

/// Whether a program of this name is on the path.
pub fn exists(name: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|p| std::env::split_paths(&p).any(|d| d.join(name).is_file()))
}
