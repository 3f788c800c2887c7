//! Defects of the device library. All tests of the language are compiled once, as they are, and run for each defect
//! until one of them fails. A process has one defect, and processes run side by side.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::defects::Defect;
use super::mutants::{BINARIES, LIMIT, Mutants, NO_BEHAVIOR, Outcome, Run, WHOLE, declared, tell};

/// The tests of a module, which run as a process.
struct Tests {
    binary: PathBuf,
    module: String,
    time: Duration,
}

impl Tests {
    fn run(&self) -> Run<'_> {
        let args = [vec![format!("{}::", self.module)], skipped()].concat();
        Run { binary: &self.binary, args, has_all_code: true }
    }

    /// Other defects run at the same time, and the CPU backend of each takes all processors.
    fn limit(&self) -> Duration {
        LIMIT.max(self.time * 3 * processors() as u32)
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Arguments that leave out tests which say nothing of the device library.
fn skipped() -> Vec<String> {
    NO_BEHAVIOR.iter().flat_map(|m| ["--skip".to_string(), format!("{}::", m.replace("__", "::"))]).collect()
}

/// The number of tests that a binary has for these arguments.
fn count(binary: &Path, args: &[String]) -> Result<usize> {
    let out = Command::new(binary).arg("--list").args(args).output()?;
    ensure!(out.status.success(), "{} does not list its tests", binary.display());
    Ok(String::from_utf8_lossy(&out.stdout).lines().filter(|l| l.ends_with(": test")).count())
}

/// The verdict of the tests on each defect.
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
    thread::scope(|s| {
        let started: Vec<_> = (0..processors()).map(|_| s.spawn(work)).collect();
        started.into_iter().try_for_each(|t| t.join().expect("no thread panics"))
    })?;
    Ok(outcomes.into_inner().expect("no thread panics"))
}

fn outcome(mutants: &Mutants, defect: &Defect, tests: &[Tests]) -> Result<Outcome> {
    for t in tests {
        if let Some(how) = mutants.test(&t.run(), Some(defect.name), t.limit())? {
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
        let mut of_modules = 0;
        for module in declared(&root).filter(|m| !NO_BEHAVIOR.contains(m)) {
            let tests = Tests { binary: binary.clone(), module: module.into(), time: Duration::ZERO };
            of_modules += count(&binary, &tests.run().args)?;
            out.push(passing(mutants, tests)?);
        }
        let all = count(&binary, &skipped())?;
        ensure!(of_modules >= all, "{name} has {all} tests, of which its modules have {of_modules}");
    }
    out.sort_by_key(|t| t.time);
    Ok(out)
}

fn passing(mutants: &Mutants, mut tests: Tests) -> Result<Tests> {
    let start = Instant::now();
    if let Some(why) = mutants.test(&tests.run(), None, LIMIT)? {
        bail!("{} fails without a defect: {why}", tests.module);
    }
    tests.time = start.elapsed();
    println!("{:42} passes, {:.1} s", tests.module, tests.time.as_secs_f64());
    Ok(tests)
}
