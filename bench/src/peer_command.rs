//! Peers that a program measures for a run: one of another language, above all.

use crate::error::{Error, Result};
use crate::peers::Peers;
use crate::report::Report;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a command line with two more arguments, the run's bench.json and the file of peers that it is to write, and
/// reads that file. Its output goes to stderr. Errors: [`Error::Option`] if it cannot be run or fails, and the errors
/// of [`Peers::load`].
pub(crate) fn peers_by(command: &str, report: &Report) -> Result<Peers> {
    let of_command = |why: String| Error::Option(format!("--peers-by `{command}`: {why}"));
    let folder = tempfile::tempdir().map_err(|e| of_command(format!("no folder for its files: {e}")))?;
    let (run, peers) = (folder.path().join("bench.json"), folder.path().join("peers.json"));
    std::fs::write(&run, report.json()).map_err(|e| Error::file("writing", &run, e))?;
    // The words of a command line are the shell's to tell apart.
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{command} \"$@\"")).arg("sh").args([&run, &peers]);
    let status = shell.stdout(Stdio::from(std::io::stderr())).status();
    let status = status.map_err(|e| of_command(format!("no shell runs it: {e}")))?;
    if !status.success() {
        return Err(of_command(format!("it ends with {status}")));
    }
    if !peers.exists() {
        return Err(of_command("it has not written the file that its last argument names".into()));
    }
    Peers::load(&peers)
}

/// The command line that does the same in another folder.
pub(crate) fn in_folder(command: &str, folder: &Path) -> String {
    let folder = folder.to_string_lossy().replace('\'', r"'\''");
    format!("cd '{folder}' && {command}")
}
