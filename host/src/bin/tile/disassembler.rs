//! A disassembler of the CUDA toolkit.

use anyhow::{Result, bail};
use kernel_build::ptxas::Search;
use std::path::{Path, PathBuf};
use std::process::Command;

/// With their arguments before the file, the better one first.
const TOOLS: [(&str, &[&str]); 2] = [("nvdisasm", &["-c"]), ("cuobjdump", &["-sass"])];

pub const HOW: &str = "Get nvdisasm with `cargo xtask setup`, or have the programs of a CUDA toolkit in PATH";

/// Wherever a ptxas is looked for: in PATH, in toolkits, and where `cargo xtask setup` puts it.
pub fn find() -> Option<(PathBuf, &'static [&'static str])> {
    let s = Search::from_env();
    let on_path = s.path.iter().flat_map(std::env::split_paths);
    let dirs: Vec<PathBuf> = on_path.chain(s.toolkits.iter().map(|t| t.join("bin"))).chain(s.unpacked.clone()).collect();
    let at = |(tool, args): (&str, _)| dirs.iter().map(|d| d.join(tool)).find(|p| p.is_file()).map(|p| (p, args));
    TOOLS.into_iter().find_map(at)
}

pub fn disassemble(cubin: &Path) -> Result<String> {
    let Some((tool, args)) = find() else { bail!("neither nvdisasm nor cuobjdump is here. {HOW}") };
    let out = Command::new(&tool).args(args).arg(cubin).output()?;
    if !out.status.success() {
        bail!("{}: {}", tool.display(), String::from_utf8_lossy(&out.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}
