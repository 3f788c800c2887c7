//! `mpirun`, for tests.

use std::path::PathBuf;
use std::process::Command;

/// `mpirun` with as many ranks as asked for. None without Open MPI, where `TILE_ALLOW_NO_MPIRUN=1` goes on.
pub fn mpirun(ranks: usize) -> Option<Command> {
    let folders = std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect::<Vec<_>>()).unwrap_or_default();
    let program: Option<PathBuf> = folders.into_iter().map(|folder| folder.join("mpirun")).find(|p| p.is_file());
    let Some(program) = program else {
        let how = "`apt-get install openmpi-bin` gives it";
        let allowed = std::env::var("TILE_ALLOW_NO_MPIRUN").is_ok_and(|v| v == "1");
        assert!(allowed, "there is no mpirun: {how}; TILE_ALLOW_NO_MPIRUN=1 goes on without");
        eprintln!("SKIPPED: there is no mpirun: {how}");
        return None;
    };
    let mut c = Command::new(program);
    // More ranks than cores, by any user, and without a network. A rank that never comes ends the test.
    c.args(["--oversubscribe", "--allow-run-as-root", "--mca", "btl", "self,vader", "--timeout", "120"]);
    c.args(["-n", &ranks.to_string()]).env("TILE_BACKEND", "cpu").env("RAYON_NUM_THREADS", "1");
    c.env_remove("TILE_COLLECTIVES");
    Some(c)
}

/// Whether the program succeeds, and what it prints.
pub fn output(mut command: Command) -> (bool, String) {
    let out = command.output().expect("the program runs");
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    (out.status.success(), text)
}
