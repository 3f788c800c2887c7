//! The timed work and its order, and the work that is not timed.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tilewright::Runtime;
use tilewright_bench::{
    Axis, Case, Error, Failure, Metric, Outcome, Report, Settings, Skip, Sweep, Verdict, Work, measure,
};

fn run(sweep: Sweep, settings: &Settings) -> tilewright_bench::Result<Report> {
    measure(&Runtime::cpu(), "test", &[sweep], settings, &mut |_| {})
}

fn settings(warmup: usize, rounds: usize) -> Settings<'static> {
    Settings { warmup, rounds, ..Settings::default() }
}

/// A line that notes its launches and is always right.
fn noted<'a>(log: &'a RefCell<String>, name: char) -> impl Fn(&Runtime, u64) -> Result<Case<'a>, Failure> + 'a {
    move |_, _| {
        let launch = move |_: &Runtime, _: &mut ()| {
            log.borrow_mut().push(name);
            Ok(())
        };
        Ok(Case::new((), launch, |()| Ok(Verdict::Right)))
    }
}

fn outcome<'a>(report: &'a Report, line: &str) -> &'a Outcome {
    report.sweeps[0].points[0].value(line).expect("the line was run")
}

#[test]
fn lines_take_turns() {
    let log = RefCell::new(String::new());
    let sweep = Sweep::new("s", Axis::log("n", [1]))
        .line("a", noted(&log, 'a'))
        .line("b", noted(&log, 'b'))
        .line("c", noted(&log, 'c'));
    let report = run(sweep, &settings(1, 4)).unwrap();
    // Each is checked, then two rounds do not count, then four do. Each round begins with the next line.
    assert_eq!(*log.borrow(), ["abc", "abc", "bca", "abc", "bca", "cab", "abc"].concat());
    for line in ["a", "b", "c"] {
        let times = report.sweeps[0].points[0].times(line).expect("it was measured");
        assert_eq!(times.samples().len(), 4);
        assert!(times.samples().iter().all(|t| *t > 0.0));
    }
}

#[test]
fn a_wrong_result_is_not_timed() {
    let launches = Cell::new(0);
    let sweep = Sweep::new("s", Axis::log("n", [8])).line("wrong", |_, _| {
        let launch = |_: &Runtime, _: &mut ()| {
            launches.set(launches.get() + 1);
            Ok(())
        };
        Ok(Case::new((), launch, |()| Ok(Verdict::equal(&[1, 2], &[1, 3]))))
    });
    let report = run(sweep, &Settings::default()).unwrap();
    assert_eq!(launches.get(), 1);
    assert_eq!(outcome(&report, "wrong"), &Outcome::Wrong { why: "element 1 is 2, wanted 3".into() });
    assert!(report.complete && !report.all_right());
    assert!(report.text().contains("WRONG: element 1 is 2, wanted 3"));
}

/// Counts its launches, and is right after the first one alone.
fn once() -> Case<'static> {
    let launch = |_: &Runtime, n: &mut u32| {
        *n += 1;
        Ok(())
    };
    Case::new(0, launch, |n| Ok(Verdict::equal(&[*n], &[1])))
}

#[test]
fn the_timed_result_is_checked_too() {
    let sweep = Sweep::new("s", Axis::log("n", [1]))
        .line("repeated", |_, _| Ok(once()))
        .line("in place", |_, _| Ok(once().in_place()));
    let report = run(sweep, &settings(0, 2)).unwrap();
    let why = "after the timed launches: element 0 is 4, wanted 1".to_string();
    assert_eq!(outcome(&report, "repeated"), &Outcome::Wrong { why });
    assert!(matches!(outcome(&report, "in place"), Outcome::Measured(_)));
}

#[test]
fn a_line_that_fails_leaves_the_others() {
    let tired = |_: &Runtime, n: &mut u32| -> Result<(), Failure> {
        *n += 1;
        if *n == 3 { Err("it is tired".into()) } else { Ok(()) }
    };
    let sweep = Sweep::new("s", Axis::log("n", [1]))
        .line("good", |_, _| Ok(Case::new((), |_, ()| Ok(()), |()| Ok(Verdict::Right))))
        .line("no data", |_, _| Err("no data".into()))
        .line("no such size", |_, _| Err(Skip("an odd size".into()).into()))
        .line("tired", move |_, _| Ok(Case::new(0, tired, |_| Ok(Verdict::Right))));
    let report = run(sweep, &settings(0, 6)).unwrap();
    assert!(matches!(outcome(&report, "good"), Outcome::Measured(t) if t.samples().len() == 6));
    assert_eq!(outcome(&report, "no data"), &Outcome::Failed { why: "no data".into() });
    assert_eq!(outcome(&report, "no such size"), &Outcome::Skipped { why: "an odd size".into() });
    assert_eq!(outcome(&report, "tired"), &Outcome::Failed { why: "it is tired".into() });
}

#[test]
fn a_slow_point_has_fewer_rounds() {
    let sweep = || {
        Sweep::new("s", Axis::log("n", [1])).line("nap", |_, _| {
            let nap = |_: &Runtime, _: &mut ()| {
                std::thread::sleep(Duration::from_millis(2));
                Ok(())
            };
            Ok(Case::new((), nap, |()| Ok(Verdict::Right)))
        })
    };
    let rounds = |limit| {
        let report = run(sweep(), &Settings { limit, ..settings(0, 40) }).unwrap();
        report.sweeps[0].points[0].times("nap").unwrap().samples().len()
    };
    assert_eq!(rounds(Duration::ZERO), 6, "as many as an interval needs");
    assert_eq!(rounds(Duration::from_secs(60)), 40);
    let some = rounds(Duration::from_millis(30));
    assert!((6..=15).contains(&some), "{some}");
}

#[test]
fn points_that_are_done_are_kept() {
    let stop = AtomicBool::new(false);
    let sweep = Sweep::new("s", Axis::log("n", [1, 2, 4])).line("a", |_, n| {
        let launch = |stop: &AtomicBool, n| {
            if n == 4 {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let stop = &stop;
        let launch = move |_: &Runtime, _: &mut ()| {
            launch(stop, n);
            Ok(())
        };
        Ok(Case::new((), launch, |()| Ok(Verdict::Right)))
    });
    let settings = Settings { stop: Some(&stop), ..Settings::default() };
    let mut seen = vec![];
    let report = measure(&Runtime::cpu(), "t", &[sweep], &settings, &mut |p| seen.push((p.done, p.of))).unwrap();
    assert_eq!(seen, [(0, 3), (1, 3), (2, 3)]);
    assert_eq!(report.sweeps[0].points.iter().map(|p| p.x).collect::<Vec<_>>(), [1, 2]);
    assert!(!report.complete);
    assert!(report.text().ends_with("\nincomplete: it was stopped before all points were measured\n"));
    assert!(report.html().unwrap().contains("class=\"incomplete\""));
}

#[test]
fn work_of_a_case_comes_before_that_of_the_sweep() {
    let nothing = || Case::new((), |_: &Runtime, _: &mut ()| Ok(()), |()| Ok(Verdict::Right));
    let of = |work: Option<Work>| {
        let sweep = Sweep::new("s", Axis::log("n", [10]))
            .bytes(|n| 4 * n)
            .flops(|n| n)
            .line("a", |_, _| Ok(work.map_or_else(nothing, |w| nothing().work(w))));
        let report = run(sweep, &settings(0, 1)).unwrap();
        (report.sweeps[0].points[0].bytes, report.sweeps[0].points[0].flops)
    };
    assert_eq!((of(None), of(Some(Work { bytes: 8, flops: 0 }))), ((40, 10), (8, 0)));
}

#[test]
fn a_copy_moves_as_many_bytes_and_computes_nothing() {
    let sweep = Sweep::new("s", Axis::log("n", [1 << 16]))
        .bytes(|n| 12 * n)
        .flops(|n| n)
        .y(Metric::Bandwidth)
        .line("a", |_, _| Ok(Case::new((), |_, ()| Ok(()), |()| Ok(Verdict::Right))))
        .copy_line();
    let report = run(sweep, &settings(0, 6)).unwrap();
    let csv = report.csv();
    let row = csv.lines().find(|l| l.contains(",copy,")).expect("a row of the copy");
    let fields: Vec<&str> = row.split(',').collect();
    assert!(fields[13].parse::<f64>().is_ok_and(|gb_s| gb_s > 0.0), "{row}");
    assert_eq!(fields[14], "", "TFLOP/s: {row}");
}

#[test]
fn what_cannot_be_measured_is_refused_first() {
    let launches = Cell::new(0);
    let line = |_: &Runtime, _: u64| {
        launches.set(launches.get() + 1);
        Ok(Case::new((), |_: &Runtime, _: &mut ()| Ok(()), |()| Ok(Verdict::Right)))
    };
    let n = || Axis::log("n", [1, 2]);
    let message = |sweep| run(sweep, &Settings::default()).unwrap_err().to_string();
    assert_eq!(message(Sweep::new("s", n())), "the sweep `s` has no lines");
    assert_eq!(
        message(Sweep::new("s", Axis::log("n", [])).line("a", line)),
        "the sweep `s` has no values on its axis `n`"
    );
    assert_eq!(message(Sweep::new("s", n()).line("a", line).line("a", line)), "the sweep `s` has two lines `a`");
    assert_eq!(message(Sweep::new("s", n()).line("copy", line).copy_line()), "the sweep `s` has two lines `copy`");
    assert_eq!(launches.get(), 0);
    assert_eq!(
        message(Sweep::new("s", n()).y(Metric::Bandwidth).line("a", line)),
        "the sweep `s` shows GB/s, and has no bytes at n = 1: declare `bytes`, or another y"
    );
    let twice = [Sweep::new("s", n()).line("a", line), Sweep::new("s", n()).line("a", line)];
    let refused = measure(&Runtime::cpu(), "t", &twice, &Settings::default(), &mut |_| {});
    assert!(matches!(refused, Err(Error::Sweep { why, .. }) if why == "is declared twice"));
}
