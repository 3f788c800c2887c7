//! Defects of the device library. All tests of the language are compiled once, as they are, and run for each defect
//! until one of them fails. A process has one defect, and processes run side by side.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::defects::Defect;
use super::{BINARIES, Mutants, NO_BEHAVIOR, Outcome, WHOLE, declared, tell};

/// The tests of a module, which run as a process.
struct Tests {
    binary: PathBuf,
    module: String,
    time: Duration,
}

impl Tests {
    fn failure(&self, mutants: &Mutants, plant: Option<&str>) -> Result<Option<String>> {
        let filter = format!("{}::", self.module);
        let skipped: Vec<String> = NO_BEHAVIOR.iter().map(|m| format!("{}::", m.replace("__", "::"))).collect();
        let mut args = vec![filter.as_str()];
        skipped.iter().for_each(|m| args.extend(["--skip", m]));
        mutants.test(&self.binary, &args, plant)
    }
}

/// What the tests say of each defect.
pub fn outcomes<'a>(mutants: &Mutants, defects: &[&'a Defect]) -> Result<Vec<(&'a Defect, Outcome)>> {
    let tests = without_defects(mutants)?;
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(vec![]));
    let work = || -> Result<()> {
        while let Some(defect) = defects.get(next.fetch_add(1, Ordering::Relaxed)) {
            let start = Instant::now();
            let outcome = outcome(mutants, defect, &tests)?;
            tell(defect, &outcome, start.elapsed());
            outcomes.lock().expect("no thread panics").push((*defect, outcome));
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|s| {
        let started: Vec<_> = (0..threads).map(|_| s.spawn(work)).collect();
        started.into_iter().try_for_each(|t| t.join().expect("no thread panics"))
    })?;
    Ok(outcomes.into_inner().expect("no thread panics"))
}

fn outcome(mutants: &Mutants, defect: &Defect, tests: &[Tests]) -> Result<Outcome> {
    for t in tests {
        if let Some(how) = t.failure(mutants, Some(defect.name))? {
            return Ok(Outcome::Behavior(how));
        }
    }
    Ok(Outcome::Survived("no test fails".into()))
}

/// All tests, the shortest first. They have to pass without a defect.
fn without_defects(mutants: &Mutants) -> Result<Vec<Tests>> {
    let mut out = vec![];
    for (file, name) in BINARIES {
        let start = Instant::now();
        let binary = mutants.build(name, &[])?.map_err(|why| anyhow::anyhow!("{name} without a defect: {why}"))?;
        println!("{name:42} {:.1} s to compile", start.elapsed().as_secs_f64());
        let root = std::fs::read_to_string(mutants.folder.join(WHOLE).join(format!("{file}.rs")))?;
        for module in declared(&root) {
            out.push(passing(mutants, &binary, module)?);
        }
    }
    out.sort_by_key(|t| t.time);
    Ok(out)
}

fn passing(mutants: &Mutants, binary: &Path, module: &str) -> Result<Tests> {
    let start = Instant::now();
    let mut tests = Tests { binary: binary.into(), module: module.into(), time: Duration::ZERO };
    if let Some(why) = tests.failure(mutants, None)? {
        bail!("{module} fails without a defect: {why}");
    }
    tests.time = start.elapsed();
    println!("{module:42} passes, {:.1} s", tests.time.as_secs_f64());
    Ok(tests)
}
