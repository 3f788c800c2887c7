//! `cargo xtask mutate`: plants small defects in the compiler and the device library, one at a time, and runs the tests
//! of the language on the CPU and the emulated SM. Each defect must be caught.
//!
//! The tests are compiled in a crate of their own with the feature `mutants` of the compiler and of `kernel-core`. For
//! the defects of the compiler each of their files is a test binary: only files with kernels whose code a defect
//! changes are compiled, and in these only such kernels have code. A test that asks for another one says nothing.
//! Defects of the device library are chosen as the tests run, all of which are compiled once.

mod defects;
mod device_library;
mod manifest;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::command;
use defects::{Defect, SURVIVES};

/// The least time after which tests are ended: some defects make kernels that never end.
const LIMIT: Duration = Duration::from_secs(300);
/// Modules whose tests are of the emulated SM, or read what a process of their own prints: they say nothing of the
/// compiler.
const NO_BEHAVIOR: [&str; 2] = ["detectors", "builtins__debug"];
/// Tests of the compiler that compare its output with a recorded one: they see any change.
const RECORDED: [&str; 3] = ["lowered_code::", "snapshots::", "expansion::"];
/// Code of kernels that is compiled at first for a defect.
const FIRST_BYTES: usize = 60_000;
/// The folder of the tests as they are, in the crate.
const WHOLE: &str = "whole";
/// The binaries of the tests as they are: their files and their names.
const BINARIES: [(&str, &str); 2] = [("main", "language"), ("products", "products")];
/// What a kernel without code says.
const WITHOUT_CODE: [&str; 3] =
    ["the crate was checked and not compiled", "was not built for the emulator", "NotEmulated"];

#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    /// Results differ, or the emulated SM reports.
    Behavior(String),
    /// Only the compiler's own tests, or its verifier, see it.
    Structure(String),
    Survived(String),
}

/// Kernels that a defect changes, by module, with the bytes of their code, the smallest first.
type Kernels = BTreeMap<String, Vec<(usize, String)>>;

/// What is compiled for a defect, one after another until it is caught: some small kernels of each module, then all.
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

/// A test binary.
struct Module {
    name: String,
    /// Its files, as modules of the tests of the language.
    files: Vec<String>,
}

/// Tests to run.
struct Run<'a> {
    binary: &'a Path,
    args: Vec<String>,
    /// All kernels have code. Of other binaries a test that asks for a kernel without code says nothing.
    has_all_code: bool,
}

struct Mutants {
    target: PathBuf,
    folder: PathBuf,
    modules: Vec<Module>,
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

fn tell(defect: &Defect, outcome: &Outcome, time: Duration) {
    let (what, how) = match outcome {
        Outcome::Behavior(how) => ("behavior", how),
        Outcome::Structure(how) => ("structure", how),
        Outcome::Survived(how) => ("SURVIVED", how),
    };
    println!("{:42} {what:10} {:5.1} s  {how}", defect.name, time.as_secs_f64());
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
            (_, Some((name, _))) => println!("{name} is caught: it is one of those that survive no more"),
            _ => {}
        }
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes a file if it is not like that already: cargo goes by its time.
fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().expect("it is in a folder"))?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() { copy_tree(&path, &to)? } else { write(&to, &fs::read_to_string(&path)?)? }
    }
    Ok(())
}

/// The names of the modules that a file declares.
fn declared(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|l| l.strip_prefix("mod ")?.strip_suffix(';'))
}

/// Whether a file of tests stays with the file that declares it: it uses that file, or a file that stays uses it.
fn stays((name, text): &(&str, String), all: &[(&str, String)]) -> bool {
    let used = format!("super::{name}");
    text.contains("super::") || all.iter().any(|(_, other)| other.contains(&used))
}

/// Copies the tests of the language. Each file that uses nothing of the file that declares it becomes a module of its
/// own.
fn modules(tests: &Path, to: &Path) -> Result<Vec<Module>> {
    let mut out = vec![];
    let roots = BINARIES.map(|(file, _)| fs::read_to_string(tests.join(format!("{file}.rs"))));
    let roots = roots.into_iter().collect::<Result<Vec<String>, _>>()?;
    for name in roots.iter().flat_map(|root| declared(root)) {
        let path = tests.join(format!("{name}.rs"));
        let whole = fs::read_to_string(&path)?;
        let (mut text, mut files) = (whole.clone(), vec![name.to_string()]);
        let inner_files: Vec<(&str, String)> = declared(&whole)
            .map(|inner| Ok((inner, fs::read_to_string(tests.join(name).join(format!("{inner}.rs")))?)))
            .collect::<Result<_>>()?;
        for inner in &inner_files {
            let file = format!("{name}::{}", inner.0);
            if stays(inner, &inner_files) {
                files.push(file);
                continue;
            }
            text = text.replace(&format!("mod {};\n", inner.0), "");
            out.push(Module { name: format!("{name}__{}", inner.0), files: vec![file] });
        }
        write(&to.join(format!("{name}.rs")), &text)?;
        if tests.join(name).is_dir() {
            copy_tree(&tests.join(name), &to.join(name))?;
        }
        out.push(Module { name: name.into(), files });
    }
    Ok(out)
}

impl Mutants {
    /// Makes the crate.
    fn new() -> Result<Mutants> {
        let root = command::root();
        let target = root.join("target/mutants");
        let folder = target.join("crate");
        let tests = root.join("tests/language/tests");
        let modules = modules(&tests, &folder.join("tests"))?;
        let of_files = modules.iter().map(|Module { name, .. }| (format!("m_{name}"), format!("tests/m_{name}.rs")));
        let whole = BINARIES.map(|(file, name)| (name.to_string(), format!("{WHOLE}/{file}.rs")));
        let manifest = manifest::of(of_files.chain(whole))?;
        for Module { name, .. } in &modules {
            let text = match name.split_once("__") {
                Some((outer, inner)) => format!("mod {outer} {{\n    mod {inner};\n}}\n"),
                None => format!("mod {name};\n"),
            };
            write(&folder.join(format!("tests/m_{name}.rs")), &format!("#![allow(warnings)]\n{text}"))?;
        }
        copy_tree(&tests, &folder.join(WHOLE))?;
        write(&folder.join("Cargo.toml"), &manifest)?;
        write(&folder.join("src/lib.rs"), "")?;
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
        Ok(Mutants { target, folder, modules })
    }

    fn cargo(&self) -> Command {
        let mut c = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        c.env("CARGO_TARGET_DIR", &self.target).env_remove("TILE_PLANT").env_remove("TILE_PLANT_KERNELS");
        c.stdin(Stdio::null());
        c
    }

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

    /// A test binary, or what the compiler says.
    fn build(&self, binary: &str, variables: &[(&str, &str)]) -> Result<Result<PathBuf, String>> {
        let mut c = self.cargo();
        c.current_dir(&self.folder).args(["test", "--no-run", "--message-format", "short", "--test", binary]);
        c.envs(variables.iter().copied());
        let out = c.output()?;
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        if !out.status.success() {
            let why = text.lines().find(|l| l.contains("error") || l.contains("panicked")).unwrap_or("no message");
            return Ok(Err(why.trim().chars().take(160).collect()));
        }
        // `Executable tests/m_x.rs (/path)`
        let path = text.lines().rev().find_map(|l| l.trim().strip_prefix("Executable")?.split(['(', ')']).nth(1));
        Ok(Ok(self.folder.join(path.context("cargo names no test binary")?)))
    }

    /// Runs a test binary until a test fails, but no longer than `limit`.
    fn test(&self, run: &Run<'_>, plant: Option<&str>, limit: Duration) -> Result<Option<String>> {
        let log = self.target.join(format!("{}.log", plant.unwrap_or("mutant")));
        let file = File::create(&log)?;
        let mut c = Command::new(run.binary);
        c.args(["--test-threads", "1", "--nocapture"]).args(&run.args).env_remove("TILE_PLANT");
        c.envs(plant.map(|name| ("TILE_PLANT", name)));
        // In one file the name of a test, what it prints and its result are in order.
        let mut child = c
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("cannot run {}", run.binary.display()))?;
        let start = Instant::now();
        loop {
            let ended = child.try_wait()?;
            let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
            let crashed = ended.is_some_and(|s| s.code().is_none());
            let failed = failure(&text, crashed, run.has_all_code).or_else(|| {
                let status = ended.filter(|s| run.has_all_code && !s.success())?;
                Some(format!("the tests end with {status}"))
            });
            let endless = start.elapsed() > limit;
            if failed.is_some() || endless || ended.is_some() {
                if ended.is_none() {
                    child.kill()?;
                    child.wait()?;
                }
                return Ok(failed.or(endless.then(|| format!("no end after {} s", limit.as_secs()))));
            }
            thread::sleep(Duration::from_millis(100));
        }
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

    /// The compiler's own tests, but for those that compare its output with a recorded one.
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

/// The first test that fails in a log, and the first line of why. `crashed`: the process was ended by a signal.
/// `has_all_code`: as in [`Run`].
fn failure(log: &str, crashed: bool, has_all_code: bool) -> Option<String> {
    let mut tests = log.split("\ntest ").skip(1).peekable();
    while let Some(test) = tests.next() {
        let Some((name, rest)) = test.split_once(" ... ") else { continue };
        let last = tests.peek().is_none();
        // The result stands on the last line, or behind what was printed last.
        let result = rest.split("\n\ntest result").next().unwrap_or(rest).trim_end();
        let result = result.split("\n\nfailures:").next().unwrap_or(result).trim_end();
        let failed = result.ends_with("FAILED") || last && crashed;
        if failed && (has_all_code || !WITHOUT_CODE.iter().any(|w| rest.contains(w))) {
            let said = rest.lines().skip_while(|l| !l.contains("panicked at")).nth(1);
            let why: String = said.unwrap_or("it does not end").trim().chars().take(170).collect();
            return Some(format!("{name}: {why}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::failure;

    #[test]
    fn tests_that_fail_are_found_unless_a_kernel_has_no_code() {
        let log = "\nrunning 3 tests\ntest a::b ... ok\ntest a::c ... \nthread 'a::c' panicked at x.rs:1:2:\nthe crate was checked and not compiled\nFAILED\n";
        assert_eq!(failure(log, false, false), None);
        assert_eq!(failure(log, false, true).as_deref(), Some("a::c: the crate was checked and not compiled"));
        let more = "test a::d ... \nthread 'a::d' panicked at x.rs:1:2:\nelement 3 is 1, not 2\nnote: run\nFAILED\n\nfailures:\n\nfailures:\n    a::d\n";
        assert_eq!(failure(&format!("{log}{more}"), false, false).as_deref(), Some("a::d: element 3 is 1, not 2"));
        assert_eq!(
            failure("\ntest a::b ... ok\ntest a::c ... ", true, false).as_deref(),
            Some("a::c: it does not end")
        );
    }
}
