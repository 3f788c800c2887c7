//! `cargo xtask mutate`: plants small defects in the compiler and the device library, one at a time, and runs the tests
//! of the language on the CPU and the emulated SM. Each defect must be caught.
//!
//! The tests are compiled in a crate of their own with the feature `mutants` of the compiler and of `kernel-core`. For
//! the defects of the compiler each of their files is a test binary: only files with kernels whose code a defect
//! changes are compiled, and in these only such kernels have code. A test that asks for another one decides nothing.
//! There nothing is verified between passes: only the results of kernels count.
//! Defects of the device library are chosen as the tests run, all of which are compiled once.

mod defects;
mod device_library;
mod manifest;
mod mutants;

use std::collections::{BTreeMap, BTreeSet};
use std::process::{ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Result, bail, ensure};

use crate::command;
use defects::{Defect, SURVIVES};
use mutants::{LIMIT, Mutants, NO_BEHAVIOR, Outcome, Run, tell};

/// Tests of the compiler that compare its output with a recorded one: they see any change.
const RECORDED: [&str; 3] = ["lowered_code::", "snapshots::", "expansion::"];
/// Code of kernels that is compiled at first for a defect.
const FIRST_BYTES: usize = 60_000;

/// Kernels that a defect changes, by module, with the bytes of their code, the smallest first.
type Kernels = BTreeMap<String, Vec<(usize, String)>>;

/// The kernels compiled for a defect, one list after another until it is caught: some small kernels of each module,
/// then all.
fn rounds(changed: &Kernels) -> Vec<(&str, Vec<&str>)> {
    let some = |kernels: &[(usize, String)], most: usize| {
        let sums = kernels.iter().scan(0, |sum, k| {
            *sum += k.0;
            Some(*sum)
        });
        sums.enumerate().take_while(|&(i, sum)| i == 0 || sum <= most).count()
    };
    let mut out = vec![];
    let mut left: Vec<(&str, &[(usize, String)])> = changed.iter().map(|(m, k)| (m.as_str(), &k[..])).collect();
    for most in [FIRST_BYTES, usize::MAX] {
        let bytes = |kernels: &[(usize, String)]| kernels[..some(kernels, most)].iter().map(|k| k.0).sum::<usize>();
        left.sort_by_key(|(_, kernels)| bytes(kernels));
        for (module, kernels) in &mut left {
            let (now, later) = kernels.split_at(some(kernels, most));
            out.push((*module, now.iter().map(|k| k.1.as_str()).collect()));
            *kernels = later;
        }
        left.retain(|(_, kernels)| !kernels.is_empty());
    }
    out
}

pub fn run(args: &[&str]) -> Result<ExitCode> {
    let all = defects::all();
    if args == ["--list"] {
        all.iter().for_each(|d| println!("{:42} {:46} {}", d.name, d.file, d.what));
        println!("{} defects in {} files", all.len(), all.iter().map(|d| &d.file).collect::<BTreeSet<_>>().len());
        return Ok(ExitCode::SUCCESS);
    }
    for name in args {
        ensure!(all.iter().any(|d| d.name == *name), "no defect `{name}`: `cargo xtask mutate --list` names them");
    }
    let chosen: Vec<&Defect> = all.iter().filter(|d| args.is_empty() || args.contains(&d.name)).collect();
    let (of_device, of_compiler): (Vec<&Defect>, Vec<&Defect>) = chosen.iter().partition(|d| d.at_run_time);
    let mutants = Mutants::new()?;
    let changed = mutants.changed(&of_compiler)?;
    let mut outcomes = vec![];
    for defect in of_compiler {
        let start = Instant::now();
        let outcome = mutants.in_compiler(defect, changed.get(defect.name).unwrap_or(&Kernels::new()))?;
        tell(defect, &outcome, start.elapsed());
        outcomes.push((defect, outcome));
    }
    // Their tests have to pass without a defect, whichever are chosen.
    if !of_device.is_empty() || args.is_empty() {
        outcomes.extend(device_library::outcomes(&mutants, &of_device)?);
    }
    Ok(summary(&outcomes))
}

fn summary(outcomes: &[(&Defect, Outcome)]) -> ExitCode {
    let count = |of: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, o)| of(o)).count();
    println!(
        "{} defects: {} caught by behavior, {} by structure alone, {} survived",
        outcomes.len(),
        count(|o| matches!(o, Outcome::Behavior(_))),
        count(|o| matches!(o, Outcome::Structure(_))),
        count(|o| matches!(o, Outcome::Survived(_)))
    );
    let mut ok = true;
    for (defect, outcome) in outcomes {
        let expected = SURVIVES.iter().find(|(name, _)| *name == defect.name);
        match (outcome, expected) {
            (Outcome::Survived(_), Some((name, why))) => println!("{name} survives: {why}"),
            (Outcome::Survived(_), None) => {
                println!("{} survives in {}: {}", defect.name, defect.file, defect.what);
                ok = false;
            }
            (Outcome::Structure(how), None) => {
                println!("{} is caught by structure alone, in {how}: no kernel computes something else", defect.name);
                ok = false;
            }
            (_, Some((name, _))) => println!("{name} is caught: it is one of those that survive no more"),
            _ => {}
        }
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Mutants {
    /// The kernels that a defect changes, by defect.
    fn changed(&self, defects: &[&Defect]) -> Result<BTreeMap<String, Kernels>> {
        let names = defects.iter().map(|d| d.name);
        let mut c = self.cargo();
        c.current_dir(command::root()).args(["run", "--quiet", "--package", "tilewright-compiler"]);
        c.args(["--features", "mutants", "--example", "planted", "--"]).args(names);
        let out = c.stderr(Stdio::inherit()).output()?;
        ensure!(out.status.success(), "the example `planted` of the compiler fails");
        let mut changed: BTreeMap<String, Kernels> = BTreeMap::new();
        for line in String::from_utf8_lossy(&out.stdout).lines() {
            let [name, module, kernel, bytes] = line.split('\t').collect::<Vec<_>>()[..] else {
                bail!("unexpected: {line}")
            };
            let module = self.modules.iter().find(|m| m.files.iter().any(|f| f == module));
            if let Some(m) = module.filter(|m| !NO_BEHAVIOR.contains(&m.name.as_str())) {
                let kernels = changed.entry(name.into()).or_default().entry(m.name.clone()).or_default();
                kernels.push((bytes.parse()?, kernel.into()));
            }
        }
        changed.values_mut().flat_map(|of| of.values_mut()).for_each(|kernels| kernels.sort());
        Ok(changed)
    }

    fn in_compiler(&self, defect: &Defect, changed: &Kernels) -> Result<Outcome> {
        let mut refused = None;
        for (module, kernels) in rounds(changed) {
            let kernels = kernels.join(" ");
            match self
                .build(&format!("m_{module}"), &[("TILE_PLANT", defect.name), ("TILE_PLANT_KERNELS", &kernels)])?
            {
                Err(why) => refused = refused.or(Some(format!("{module}: {why}"))),
                Ok(binary) => {
                    let run = Run { binary: &binary, args: vec![], has_all_code: false };
                    if let Some(how) = self.test(&run, None, LIMIT)? {
                        return Ok(Outcome::Behavior(how));
                    }
                }
            }
        }
        if let Some(why) = refused {
            return Ok(Outcome::Structure(why));
        }
        if let Some(how) = self.structure(defect)? {
            return Ok(Outcome::Structure(how));
        }
        let modules: Vec<&str> = changed.keys().map(String::as_str).collect();
        Ok(Outcome::Survived(match modules[..] {
            [] => "no kernel changes".into(),
            _ => format!("no test fails of {}", modules.join(", ")),
        }))
    }

    /// The compiler's own tests, without the ones that compare its output with a recorded one.
    fn structure(&self, defect: &Defect) -> Result<Option<String>> {
        let mut c = self.cargo();
        c.current_dir(command::root()).args(["test", "--quiet", "--package", "tilewright-compiler"]);
        c.args(["--features", "mutants", "--test", "phases", "--"]).env("TILE_PLANT", defect.name);
        for t in RECORDED {
            c.args(["--skip", t]);
        }
        let out = c.output()?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let failed =
            text.lines().find_map(|l| Some(l.trim().strip_prefix("---- ")?.strip_suffix(" stdout ----")?.to_string()));
        Ok((!out.status.success()).then(|| failed.unwrap_or_else(|| "the compiler's tests".into())))
    }
}
