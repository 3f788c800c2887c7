//! The crate with the tests of the language, in which defects are planted: its files, its test binaries, and the output
//! of a run of one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::defects::Defect;
use super::manifest;
use crate::command;

/// The least time after which tests are ended: some defects make kernels that never end.
pub const LIMIT: Duration = Duration::from_secs(300);
/// Modules whose tests are of the emulated SM, or read the output of a process of their own: they do not test the
/// compiler.
pub const NO_BEHAVIOR: [&str; 2] = ["detectors", "builtins__debug"];
/// The folder of the tests as they are, in the crate.
pub const WHOLE: &str = "whole";
/// The binaries of the tests as they are: their files and their names.
pub const BINARIES: [(&str, &str); 5] = [
    ("main", "language"),
    ("gradients", "gradients"),
    ("products", "products"),
    ("matmul", "matmul"),
    ("suites", "suites"),
];
/// The messages of a kernel without code.
const WITHOUT_CODE: [&str; 3] =
    ["the crate was checked and not compiled", "has no code for the emulated SM", "NotEmulated"];

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Results differ, or the emulated SM reports.
    Behavior(String),
    /// Only the compiler's own tests, or its verifier, see it.
    Structure(String),
    Survived(String),
}

/// A test binary.
pub struct Module {
    pub name: String,
    /// Its files, as modules of the tests of the language.
    pub files: Vec<String>,
}

/// Tests to run.
pub struct Run<'a> {
    pub binary: &'a Path,
    pub args: Vec<String>,
    /// All kernels have code. Of other binaries a test that asks for a kernel without code says nothing.
    pub has_all_code: bool,
}

pub struct Mutants {
    pub target: PathBuf,
    pub folder: PathBuf,
    pub modules: Vec<Module>,
}

pub fn tell(defect: &Defect, outcome: &Outcome, time: Duration) {
    let (what, how) = match outcome {
        Outcome::Behavior(how) => ("behavior", how),
        Outcome::Structure(how) => ("structure", how),
        Outcome::Survived(how) => ("SURVIVED", how),
    };
    println!("{:42} {what:10} {:5.1} s  {how}", defect.name, time.as_secs_f64());
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
pub fn declared(text: &str) -> impl Iterator<Item = &str> {
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
    pub fn new() -> Result<Mutants> {
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

    pub fn cargo(&self) -> Command {
        let mut c = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        c.env("CARGO_TARGET_DIR", &self.target).env_remove("TILE_PLANT").env_remove("TILE_PLANT_KERNELS");
        c.stdin(Stdio::null());
        c
    }

    /// A test binary, or the compiler's messages.
    pub fn build(&self, binary: &str, variables: &[(&str, &str)]) -> Result<Result<PathBuf, String>> {
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
    pub fn test(&self, run: &Run<'_>, plant: Option<&str>, limit: Duration) -> Result<Option<String>> {
        let log = self.target.join(format!("{}.log", plant.unwrap_or("mutant")));
        let file = File::create(&log)?;
        let mut c = Command::new(run.binary);
        c.args(["--test-threads", "1", "--nocapture"]).args(&run.args).env_remove("TILE_PLANT");
        c.envs(plant.map(|name| ("TILE_PLANT", name)));
        // In one file the name of a test, its output and its result are in order.
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
}

/// The first test that fails in a log, and the first line of why. `crashed`: the process was ended by a signal.
/// `has_all_code`: as in [`Run`].
fn failure(log: &str, crashed: bool, has_all_code: bool) -> Option<String> {
    let mut tests = log.split("\ntest ").skip(1).peekable();
    while let Some(test) = tests.next() {
        let Some((name, rest)) = test.split_once(" ... ") else { continue };
        let last = tests.peek().is_none();
        // The result stands on the last line, or behind the last output.
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
    use super::{WITHOUT_CODE, failure};
    use crate::command;

    /// Else such a kernel would count as a test that fails, and each defect as caught.
    #[test]
    fn kernels_without_code_say_so() {
        let sources = ["kernel-core/src/desc.rs", "host/src/error.rs", "host/src/error.rs"];
        for (text, source) in WITHOUT_CODE.iter().zip(sources) {
            let found = std::fs::read_to_string(command::root().join(source)).expect("a readable file");
            assert!(found.contains(text), "{source} does not say `{text}`");
        }
    }

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
