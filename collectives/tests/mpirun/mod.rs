//! `mpirun`, for tests.

use std::process::Command;

/// The program that `TILE_MPIRUN` names, else `mpirun`, with as many ranks as asked for. None without MPI, where
/// `TILE_ALLOW_NO_MPIRUN=1` goes on.
pub fn mpirun(ranks: usize) -> Option<Command> {
    let program = std::env::var_os("TILE_MPIRUN").filter(|v| !v.is_empty()).unwrap_or("mpirun".into());
    let Ok(version) = Command::new(&program).arg("--version").output() else {
        let how = "`cargo xtask setup` or `apt-get install openmpi-bin` gives it";
        let allowed = std::env::var("TILE_ALLOW_NO_MPIRUN").is_ok_and(|v| v == "1");
        assert!(allowed, "there is no mpirun: {how}; TILE_ALLOW_NO_MPIRUN=1 goes on without");
        eprintln!("SKIPPED: there is no mpirun: {how}");
        return None;
    };
    let mut c = Command::new(program);
    if String::from_utf8_lossy(&version.stdout).contains("Open MPI") {
        // More ranks than cores, by any user, and without a network. A rank that never comes ends the test.
        c.args(["--oversubscribe", "--allow-run-as-root", "--mca", "btl", "self,vader", "--timeout", "120"]);
    } else {
        // MPICH's name of that timeout.
        c.env("MPIEXEC_TIMEOUT", "120");
    }
    c.args(["-n", &ranks.to_string()]).env("TILE_BACKEND", "cpu").env("RAYON_NUM_THREADS", "1");
    c.env_remove("TILE_COLLECTIVES");
    Some(c)
}

/// Whether the program succeeds, and its output.
pub fn output(mut command: Command) -> (bool, String) {
    let out = command.output().expect("the program runs");
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    (out.status.success(), text)
}
