//! Tests of single passes and plans, each a file of `filetests/`: a function in the IR's text form and the output of a
//! pass.
//!
//! A file begins with `test COMMAND`, with `precise-output` behind it where the whole output is expected, and may say
//! `set variant=NAME`. Then comes the function, and then the expectation, in comments:
//!
//! - with `precise-output` the whole output. `cargo xtask bless` writes it.
//! - else directives, each for a line of the output behind the one before: `check: TEXT` for any line with the text,
//!   `nextln: TEXT` for the next line, and `not: TEXT` where no line has the text up to the next directive's.
//!
//! The commands are the passes by their names, and
//!
//! - `verifier`: `valid`, or the invariant that does not hold and where;
//! - `axis_info` and `layout`: the facts about the values that have some, in a variant;
//! - `columns`: the function with the guards of its block pointers' columns, behind the reasons why a load has none;
//! - `plan`, `shared_memory`, `thread_ir` and `rust`: the plan, the places in shared memory, the thread IR and the
//!   thread-level code of a variant;
//! - `cpu_plan`: the plan of the CPU function;
//! - `trace`: the thread-level code of a variant with marks, behind their events;
//! - `variants`: the variants that the function has, and why it has no others;
//! - `remarks`: what a variant misses, and why;
//! - `pdl`: the statement that waits for the launch before.

use crate::common::{bless, files};
use similar::TextDiff;
use std::cell::{Cell, RefCell};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use tilewright_compiler::Stage;
use tilewright_compiler::driver::{self, Observer, lower};
use tilewright_compiler::ir::parse::parse;
use tilewright_compiler::ir::{Func, print, verify};
use tilewright_compiler::missed::{Changed, Missed};
use tilewright_compiler::passes::{
    adjoint, block_pointers, cluster, copy_prop, dce, induction, pipeline_dots, swap_ab, tf32x3, wide_sums,
};
use tilewright_compiler::plan::pdl::first_that_waits;
use tilewright_compiler::trace::{TraceEvent, TraceLayout};
use tilewright_compiler::variant::Transposed;
use tilewright_compiler::{MmaPath, Variant, Width};

/// A file, taken apart.
struct FileTest<'a> {
    command: &'a str,
    precise: bool,
    variant: Variant,
    /// All before the expectation.
    before: &'a str,
    /// The same with empty lines for the header: places are those of the file.
    function: String,
    /// Without comment marks.
    expected: Vec<&'a str>,
}

impl<'a> FileTest<'a> {
    fn read(text: &'a str) -> Result<FileTest<'a>, String> {
        let end = text.rfind("\n}\n").ok_or("there is no function, which ends with `}` on a line")? + 3;
        let (before, after) = text.split_at(end);
        let start = before.find("func ").ok_or("there is no function, which begins with `func`")?;
        let header = before[..start].lines().filter(|l| !l.is_empty() && !l.starts_with("//"));
        let (mut command, mut precise, mut variant) =
            (None, false, Variant { width: Width::Elements, mma: MmaPath::MmaSync });
        for line in header {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["test", name] => command = Some(name),
                ["test", name, "precise-output"] => (command, precise) = (Some(name), true),
                ["set", setting] => {
                    let name = setting.strip_prefix("variant=");
                    let known = Variant::all().find(|v| Some(v.name().as_str()) == name);
                    variant = known.ok_or_else(|| format!("no setting `{setting}`"))?;
                }
                _ => return Err(format!("`{line}` is no line of a header")),
            }
        }
        let expected = after.lines().filter(|l| !l.trim().is_empty());
        let expected = expected
            .map(|l| l.strip_prefix("//").map(|l| l.strip_prefix(' ').unwrap_or(l)))
            .collect::<Option<Vec<_>>>()
            .ok_or("behind the function there are comments alone")?;
        let function = "\n".repeat(before[..start].matches('\n').count()) + &before[start..];
        let command = command.ok_or("the file begins with `test COMMAND`")?;
        Ok(FileTest { command, precise, variant, before, function, expected })
    }

    /// The output of the command for the function.
    fn output(&self) -> Result<String, String> {
        let mut f = match parse(&self.function) {
            Ok(f) => f,
            Err(e) if self.command == "verifier" => return Ok(format!("{e}\n")),
            Err(e) => return Err(e.to_string()),
        };
        match verify::verify(&f) {
            Err(e) if self.command == "verifier" => return Ok(format!("{e}\n")),
            Err(e) if self.command != "wide_sums" => return Err(e.to_string()),
            _ => {}
        }
        let transposed = match self.variant.mma {
            MmaPath::WgmmaTma(transposed) => transposed,
            _ => Transposed::default(),
        };
        match self.command {
            "verifier" => Ok("valid\n".into()),
            "wide_sums" => passed(f, |f| {
                wide_sums::run(f);
                Ok(())
            }),
            "induction" => passed(f, |f| {
                induction::run(f);
                Ok(())
            }),
            "copy_prop" => passed(f, |f| {
                copy_prop::run(f);
                Ok(())
            }),
            "dce" => passed(f, |f| {
                dce::run(f);
                Ok(())
            }),
            "adjoint" => {
                let params = adjoint::of_all(&f.params);
                match adjoint::run(&f, &params) {
                    Ok(backward) => passed(backward, |_| Ok(())),
                    Err(refused) => Ok(format!("{}\n", refused.why)),
                }
            }
            "block_pointers" => changed(f, |f| block_pointers::run(f, transposed, &mut vec![])),
            "cluster" => changed(f, cluster::run),
            "swap_ab" => changed(f, |f| swap_ab::run(f, |f| driver::by_warpgroups(f, self.variant))),
            "pipeline_dots" => changed(f, |f| Ok(pipeline_dots::run(f, &mut vec![]))),
            "tf32x3" => changed(f, |f| Ok(tf32x3::run(f))),
            "axis_info" => self.stage(&f, Stage::AxisInfo).map(|text| notes(&text)),
            "layout" => self.stage(&f, Stage::Layout).map(|text| notes(&text)),
            "columns" => columns(f),
            "plan" => self.stage(&f, Stage::Plan),
            "shared_memory" => self.stage(&f, Stage::SharedMemory),
            "cpu_plan" => {
                let mut last = Last { stage: Stage::CpuPlan, text: None };
                driver::cpu(&f, &mut last);
                Ok(last.text.expect("the stage"))
            }
            "thread_ir" => self.stage(&f, Stage::ThreadIr),
            "rust" => self.stage(&f, Stage::Rust),
            "trace" => traced(&f, self.variant),
            "variants" => Ok(variants(&f)),
            "remarks" => {
                let mut seen = Remarks(vec![]);
                lower(&f, self.variant, false, &mut seen).map_err(|missed| missed.to_string())?;
                Ok(seen.0.iter().map(|missed| format!("{missed}\n")).collect())
            }
            "pdl" => {
                let pdl = f.pdl.take().ok_or("the function has no `pdl`")?;
                let at = first_that_waits(&f, &pdl);
                Ok(match f.body.get(at) {
                    Some(s) => format!("{:?} waits\n", s.id),
                    None => "the end waits\n".into(),
                })
            }
            other => Err(format!("no command `{other}`")),
        }
    }

    fn stage(&self, f: &Func, stage: Stage) -> Result<String, String> {
        let mut last = Last { stage, text: None };
        match (lower(f, self.variant, false, &mut last), last.text) {
            (_, Some(text)) => Ok(text),
            (Err(missed), None) => Ok(format!("{missed}\n")),
            (Ok(_), None) => Err(format!("the variant `{}` has no stage `{}`", self.variant.name(), stage.name())),
        }
    }

    /// Whether the output is as expected, and why not.
    fn check(&self, output: &str) -> Result<(), String> {
        if self.precise {
            let expected: String = self.expected.iter().map(|l| format!("{l}\n")).collect();
            let diff = TextDiff::from_lines(expected.as_str(), output);
            let diff = diff.unified_diff().header("expected", "output").to_string();
            return if diff.is_empty() { Ok(()) } else { Err(diff) };
        }
        directives(&self.expected, output).map_err(|e| format!("{e}\nthe output is\n{output}"))
    }
}

/// The text of a stage: the last one, if the driver comes by it again.
struct Last {
    stage: Stage,
    text: Option<String>,
}

impl Observer for Last {
    fn stage(&mut self, stage: Stage, text: &dyn Fn() -> String) {
        if stage == self.stage {
            self.text = Some(text());
        }
    }
}

struct Remarks(Vec<Missed>);

impl Observer for Remarks {
    fn missed(&mut self, m: Missed) {
        self.0.push(m);
    }
}

fn passed(mut f: Func, pass: impl Fn(&mut Func) -> Result<(), Missed>) -> Result<String, String> {
    if let Err(missed) = pass(&mut f) {
        return Ok(format!("{missed}\n"));
    }
    f.number();
    verify::verify(&f).map_err(|e| format!("{e}\n{}", print::print(&f)))?;
    Ok(print::print(&f))
}

/// The same of a pass that says whether it has changed the function.
fn changed(f: Func, pass: impl Fn(&mut Func) -> Result<Changed, Missed>) -> Result<String, String> {
    let before = print::print(&f);
    let said = Cell::new(None);
    let after = passed(f, |f| {
        said.set(Some(pass(f)?));
        Ok(())
    })?;
    match said.get() {
        Some(Changed::No) if after != before => Err(format!("it says that it has changed nothing\n{after}")),
        Some(Changed::No) => Ok("unchanged\n".into()),
        _ => Ok(after),
    }
}

/// What the columns of block pointers ask of the launch, behind the reasons why loads have no block pointer.
fn columns(f: Func) -> Result<String, String> {
    let seen = RefCell::new(vec![]);
    let after = passed(f, |f| {
        block_pointers::columns::run(f, &mut seen.borrow_mut());
        Ok(())
    })?;
    Ok(seen.take().iter().map(|missed| format!("{missed}\n")).collect::<String>() + &after)
}

/// The values behind which a comment stands, with it.
fn notes(text: &str) -> String {
    let note = |l: &str| {
        let (value, note) = (l.trim().split_once(" = ")?.0, l.rsplit_once("  // ")?.1);
        Some(format!("{value}  {note}\n"))
    };
    text.lines().filter(|l| !l.trim().starts_with("param ")).filter_map(note).collect()
}

/// The events of a variant by number, and its code.
fn traced(f: &Func, variant: Variant) -> Result<String, String> {
    let layout = TraceLayout { blocks: 2, warps: 0, capacity: 64, listed: 8 };
    let (lowered, _, events) = driver::lower_traced(f, variant, layout).map_err(|missed| missed.to_string())?;
    let event = |(i, e): (usize, &TraceEvent)| {
        let value = e.value.map_or(String::new(), |of| format!(", with its {of}"));
        format!("{}: {}{value}\n", i + 1, e.label)
    };
    let events: String = events.iter().enumerate().map(event).collect();
    Ok(events + &lowered.text())
}

fn variants(f: &Func) -> String {
    let line = |v: Variant| match lower(f, v, false, &mut ()) {
        Ok(l) => format!("{}: {} threads\n", v.name(), l.threads),
        Err(missed) => format!("{}: {missed}\n", v.name()),
    };
    Variant::all().map(line).collect()
}

/// Whether the lines of an output are as directives ask.
fn directives(expected: &[&str], output: &str) -> Result<(), String> {
    let lines: Vec<&str> = output.lines().collect();
    let (mut next, mut nots, mut checks) = (0, vec![], 0);
    let has_none = |nots: &mut Vec<&str>, lines: &[&str]| {
        nots.drain(..).try_for_each(|text| match lines.iter().find(|l| l.contains(text)) {
            Some(line) => Err(format!("`not: {text}` is in `{}`", line.trim())),
            None => Ok(()),
        })
    };
    for directive in expected {
        let Some((kind, text)) = directive.split_once(": ") else {
            return Err(format!("`{directive}` is no directive"));
        };
        checks += 1;
        let at = match kind {
            "check" => lines[next..].iter().position(|l| l.contains(text)).map(|i| next + i),
            "nextln" => Some(next).filter(|&i| lines.get(i).is_some_and(|l| l.contains(text))),
            "not" => {
                nots.push(text);
                continue;
            }
            _ => return Err(format!("`{directive}` is no directive")),
        };
        let at = at.ok_or_else(|| format!("`{directive}` is not there, from line {} on", next + 1))?;
        has_none(&mut nots, &lines[next..at])?;
        next = at + 1;
    }
    has_none(&mut nots, &lines[next..])?;
    if checks == 0 { Err("the file expects nothing".into()) } else { Ok(()) }
}

/// Runs a file; with `bless`, writes the expected output anew.
fn run(path: &Path, bless: bool) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let test = FileTest::read(&text)?;
    // A pass that panics fails its own file alone.
    let output = catch_unwind(AssertUnwindSafe(|| test.output())).map_err(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        format!("panicked: {}", message.or(panic.downcast_ref::<&str>().map(|m| m.to_string())).unwrap_or_default())
    })??;
    let checked = test.check(&output);
    if !(bless && test.precise && checked.is_err()) {
        return checked;
    }
    let comment = |l: &str| format!("// {l}").trim_end().to_string() + "\n";
    fs::write(path, format!("{}\n{}", test.before, output.lines().map(comment).collect::<String>()))
        .map_err(|e| e.to_string())
}

#[test]
fn passes_and_plans_do_as_their_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let all = files(&folder, "tir");
    assert!(all.len() >= 80, "{} files were found", all.len());
    let failed = |path: &std::path::PathBuf| {
        let name = path.strip_prefix(&folder).expect("it is in the folder").display().to_string();
        run(path, bless()).err().map(|e| format!("==== {name}\n{e}\n"))
    };
    let failures: Vec<String> = all.iter().filter_map(failed).collect();
    assert!(
        failures.is_empty(),
        "{} of {} files fail; `cargo xtask bless` writes outputs that are expected as a whole\n{}",
        failures.len(),
        all.len(),
        failures.join("\n")
    );
}

/// Passes and plans that the file tests of another folder show.
const SHOWN_ELSEWHERE: &[(&str, &str, &str)] = &[
    ("plan/access_elements.rs", "barriers", "it finds the elements that accesses in order reach"),
    ("plan/access_order.rs", "barriers", "it is the type of an access in order"),
    ("plan/bounds.rs", "accesses", "the end of each access is tested by its bounds"),
    ("plan/memo.rs", "conversions", "it keeps what is found about tiles in layouts"),
    ("plan/sort_network.rs", "collectives", "its steps are those of a sort's line"),
    ("plan/wgmma_order.rs", "tma_pipeline", "the sums and waits of products are its own"),
    ("plan/comparisons.rs", "accesses", "the masks of accesses are tested by comparisons"),
    ("plan/demands.rs", "conversions", "it finds the tiles that a plan lists"),
    ("plan/index_sums.rs", "conversions", "tiles `as sums` are its own"),
    ("plan/tile_forms.rs", "conversions", "its forms are behind the tiles that a plan lists"),
    ("plan/tiles.rs", "conversions", "it is the list of a plan's tiles"),
    ("plan/major.rs", "tma_pipeline", "it says which operands are K-major"),
    ("plan/operands.rs", "tma_pipeline", "it judges the operands of `wgmma`"),
    ("plan/product.rs", "tma_pipeline", "it is the type of a product's line"),
    ("plan/warp_specialized.rs", "tma_pipeline", "it is the type of the pipeline"),
    ("plan/written_operand.rs", "tma_pipeline", "computed right operands are matrices of the pipeline"),
    ("plan/smem_operand.rs", "mma_sync", "it finds the loads of operands in a stage"),
    ("plan/wgmma_cp_async.rs", "cp_async_pipeline", "its products take tiles of that pipeline"),
];

/// The passes or plans of a folder of the sources, as `plan/tiles.rs`. What is in a folder belongs to it.
fn passes_or_plans(folder: &str) -> Vec<String> {
    let all = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder)).expect("the folder");
    let names = all.map(|e| e.expect("an entry").file_name().into_string().expect("a name"));
    names.filter(|n| n != "mod.rs").map(|n| format!("{folder}/{n}")).collect()
}

/// Whether a folder of `filetests` has a file test.
fn has_file_test(folder: &str) -> bool {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests").join(folder);
    folder.is_dir() && !files(&folder, "tir").is_empty()
}

/// The name of the file tests of a pass or a plan.
fn own_folder(source: &str) -> &str {
    let name = source.rsplit('/').next().expect("a name");
    name.strip_suffix(".rs").unwrap_or(name)
}

#[test]
fn every_pass_and_plan_has_a_file_test() {
    let all = [passes_or_plans("passes"), passes_or_plans("plan")].concat();
    assert!(all.len() > 40, "{} passes and plans were found", all.len());
    let elsewhere = |source: &str| SHOWN_ELSEWHERE.iter().find(|(s, ..)| *s == source).map(|(_, folder, _)| *folder);
    let without = all.iter().filter(|s| !has_file_test(elsewhere(s).unwrap_or(own_folder(s))));
    let without: Vec<&String> = without.collect();
    assert!(without.is_empty(), "no folder of `filetests` has a test of {without:?}");
    for (source, ..) in SHOWN_ELSEWHERE {
        assert!(all.iter().any(|s| s == source), "{source} is no pass and no plan: take it off the list");
        assert!(!has_file_test(own_folder(source)), "{source} has file tests of its own: take it off the list");
    }
}

#[test]
fn directives_of_file_tests_can_fail() {
    let output = "a = 1\nb = 2\nc = 3\n";
    let fails = |expected: &[&str]| directives(expected, output).expect_err("it does not hold");
    assert_eq!(directives(&["check: a", "nextln: b", "not: d", "check: c"], output), Ok(()));
    assert!(fails(&["check: d"]).contains("not there"));
    assert!(fails(&["check: b", "check: a"]).contains("from line 3 on"), "in this order");
    assert!(fails(&["check: a", "nextln: c"]).contains("not there"));
    assert!(fails(&["check: a", "not: b", "check: c"]).contains("is in `b = 2`"));
    assert!(fails(&["check: a", "not: c"]).contains("is in `c = 3`"), "up to the end");
    assert!(fails(&["chekc: a"]).contains("no directive"));
    assert!(fails(&[]).contains("expects nothing"));
}
