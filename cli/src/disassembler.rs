//! A disassembler of the CUDA toolkit.

use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use tilewright_build::ptxas::Search;

/// With their arguments before the file, the better one first.
const TOOLS: [(&str, &[&str]); 2] = [("nvdisasm", &["-c"]), ("cuobjdump", &["-sass"])];

pub const INSTALL_HINT: &str = "Get nvdisasm with `cargo xtask setup`, or have the programs of a CUDA toolkit in PATH";

/// Wherever a ptxas is looked for: in PATH, in toolkits, and where `cargo xtask setup` puts it.
pub fn find() -> Option<(PathBuf, &'static [&'static str])> {
    let search = Search::from_env();
    TOOLS.into_iter().find_map(|(tool, args)| Some((search.program(tool)?, args)))
}

pub fn disassemble(cubin: &Path) -> Result<String> {
    let Some((tool, args)) = find() else { bail!("neither nvdisasm nor cuobjdump is here. {INSTALL_HINT}") };
    let out = Command::new(&tool).args(args).arg(cubin).output()?;
    if !out.status.success() {
        bail!("{}: {}", tool.display(), String::from_utf8_lossy(&out.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}
