//! Runs and peers in files: written files, files that are read again, and refused files.

use crate::saved::{load, run, write};
use serde_json::{Value, json};
use tilewright_bench::{Change, Comparison, Metric, Peers, Report};

#[test]
fn a_run_is_written_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let report = load(&run());
    let paths = report.save(&folder.path().join("new/results")).unwrap();
    let mut names: Vec<_> = paths.iter().map(|p| p.file_name().unwrap().to_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["add--script---f32.svg", "bench.csv", "bench.html", "bench.json"]);
    let again = Report::load(&folder.path().join("new/results/bench.json")).unwrap();
    assert_eq!(again, report);
}

#[test]
fn the_table_has_medians_ratios_and_what_is_wrong() {
    let text = load(&run()).text();
    let wanted = "\
add</script>, f32 on Model \"GPU\"
n line median ms 95 % interval GB/s TFLOP/s time / tile 95 % interval MHz W
4096 tile 0.00400 0.00400..0.00500 12.29 0.001024 1980 650
4096 peer 0.00800 0.00800..0.01000 6.14 0.000512 2.00 2.00..2.00 1980 650
4096 copy 0.00300 0.00300..0.00300 16.38 0.75 0.60..0.75 1980 650
1048576 tile 0.01000 0.01000..0.01000 1258 0.1049
1048576 peer WRONG: element 3 is NaN, wanted 1, \"<b>\"
1048576 copy 0.00900 0.00900..0.00900 1398 0.90 0.90..0.90";
    let found: Vec<String> = text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(found.join("\n"), wanted);
}

#[test]
fn csv_quotes_what_has_commas() {
    let csv = load(&run()).csv();
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 7);
    assert!(rows[0].starts_with("sweep,axis,x,size,line,"), "{}", rows[0]);
    assert!(
        rows[1].starts_with("\"add</script>, f32\",n,4096,4096,tile,,measured,6,0.004,0.004,0.005,"),
        "{}",
        rows[1]
    );
    assert!(rows[5].ends_with(",\"element 3 is NaN, wanted 1, \"\"<b>\"\"\""), "{}", rows[5]);
}

#[test]
fn the_page_needs_nothing_else() {
    let page = load(&run()).html().unwrap();
    for outside in ["https:", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    let http: Vec<_> = page.match_indices("http:").map(|(i, _)| &page[i..i + 26]).collect();
    assert!(http.iter().all(|h| *h == "http://www.w3.org/2000/svg"), "{http:?}");
    assert!(!page.contains("<test>") && !page.contains("<b>") && page.matches("</script>").count() == 2);
    assert!(
        page.contains("a &lt;test&gt; &amp; more")
            && page.contains("2026-11-25 20:31 UTC")
            && page.contains("<li>A rule.</li>")
    );
    assert!(page.contains("Roofline of Model"), "bytes, operations and the memory are known");
    let mut of_cpu = run();
    of_cpu["device"]["bandwidth"] = json!(0);
    assert!(load(&of_cpu).html().unwrap().contains("fastest copy: 1398 GB/s"));
    of_cpu["sweeps"][0]["lines"].as_array_mut().unwrap().pop();
    for p in of_cpu["sweeps"][0]["points"].as_array_mut().unwrap() {
        p["values"].as_array_mut().unwrap().pop();
    }
    assert!(!load(&of_cpu).html().unwrap().contains("Roofline"), "nothing is known of the memory");
}

/// Every scale and metric, one point and many, and nothing that was measured.
#[test]
fn figures_of_all_kinds() {
    for scale in ["linear", "log", "ordinal"] {
        for y in [Metric::Time, Metric::Bandwidth, Metric::Throughput] {
            for points in [1, 2] {
                let mut changed = run();
                changed["sweeps"][0]["scale"] = json!(scale);
                changed["sweeps"][0]["points"].as_array_mut().unwrap().truncate(points);
                let mut report = load(&changed);
                report.sweeps[0].y = y;
                let page = report.html().unwrap();
                assert!(!page.contains("NaN\"") && !page.contains("inf"), "{scale} {y:?} {points}");
                assert!(page.matches("class=\"hit\"").count() >= 2 * points, "{scale} {y:?} {points}");
            }
        }
    }
    let mut wrong = run();
    for v in wrong["sweeps"][0]["points"][0]["values"].as_array_mut().unwrap() {
        *v = json!({"line": v["line"], "outcome": "failed", "why": "it"});
    }
    wrong["sweeps"][0]["points"].as_array_mut().unwrap().truncate(1);
    assert!(load(&wrong).html().unwrap().contains("tile at n = 4096: failed: it"));
}

/// Applies `change` to a value, writes it, and gives the message of reading it.
fn refused<T: std::fmt::Debug>(
    value: &Value,
    change: impl FnOnce(&mut Value),
    read: impl FnOnce(&std::path::Path) -> tilewright_bench::Result<T>,
) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut changed = value.clone();
    change(&mut changed);
    let message = read(&write(folder.path(), "x.json", &changed)).unwrap_err().to_string();
    assert!(message.contains("x.json: ") && message.lines().count() == 1, "{message}");
    message
}

#[test]
fn a_damaged_run_is_refused() {
    let refuse = |change: &dyn Fn(&mut Value), word: &str| {
        let message = refused(&run(), change, Report::load);
        assert!(message.contains(word), "no `{word}` in: {message}");
    };
    refuse(&|r| r["format"] = json!("other"), "format `other` 1 instead of `tilewright-bench` 1");
    refuse(&|r| r["version"] = json!(2), "`tilewright-bench` 2");
    refuse(&|r| r["color"] = json!("red"), "unknown field `color`");
    refuse(&|r| r["sweeps"][0]["y"] = json!("color"), "unknown variant `color`");
    refuse(&|r| r["sweeps"][0]["lines"] = json!([]), "has no lines");
    refuse(&|r| r["sweeps"][0]["lines"][1] = json!({"name": "tile"}), "two lines of one name");
    refuse(&|r| r["sweeps"][0]["points"][1]["x"] = json!(5), "has 5 after 4096");
    refuse(&|r| r["sweeps"][0]["points"][0]["x"] = json!(0), "0 on a logarithmic axis");
    refuse(&|r| r["sweeps"][0]["points"][0]["values"][0]["line"] = json!("z"), "`z` at 4096");
    refuse(&|r| r["sweeps"][0]["points"][0]["values"][0]["times_ms"] = json!([]), "has no times for `tile` at 4096");
    refuse(&|r| r["sweeps"][0]["points"][0]["values"][0]["times_ms"] = json!([-1.0]), "has a time of -1 ms");
    refuse(
        &|r| {
            let s = r["sweeps"][0].clone();
            r["sweeps"].as_array_mut().unwrap().push(s)
        },
        "is there twice",
    );
    let missing = Report::load(std::path::Path::new("/nowhere/bench.json")).unwrap_err().to_string();
    assert!(missing.starts_with("reading /nowhere/bench.json: No such file"), "{missing}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cut.json"), "{\"format\": ").unwrap();
    let cut = Report::load(&folder.path().join("cut.json")).unwrap_err().to_string();
    assert!(cut.ends_with("cut.json: EOF while parsing a value at line 1 column 11"), "{cut}");
}

fn peers() -> Value {
    json!({
        "format": "tilewright-peers", "version": 1, "device": "Model \"GPU\"", "source": "torch 2.11.0",
        "lines": [{
            "sweep": "add</script>, f32", "name": "torch",
            "points": [{"extents": [4096], "times_ms": [0.006, 0.006, 0.007]}, {"extents": [8], "times_ms": [0.001]}]
        }]
    })
}

#[test]
fn peers_are_shown_where_both_have_a_point() {
    let folder = tempfile::tempdir().unwrap();
    let with = |peers: &Value| {
        let mut report = load(&run());
        report.add_peers(&Peers::load(&write(folder.path(), "peers.json", peers)).unwrap()).unwrap();
        report
    };
    let report = with(&peers());
    let text = report.text();
    let rows: Vec<&str> = text.lines().filter(|l| l.contains("torch")).collect();
    assert_eq!(rows.len(), 1);
    assert!(
        rows[0].contains("torch (recorded)") && rows[0].contains("0.00600") && rows[0].contains("1.50"),
        "{}",
        rows[0]
    );
    // It is saved with the run, and does not take part in a comparison of runs.
    report.save(folder.path()).unwrap();
    assert_eq!(Report::load(&folder.path().join("bench.json")).unwrap(), report);
    assert_eq!(Comparison::new(&report, &report, 0.05).unwrap().rows().len(), 3);
    let mut elsewhere = peers();
    elsewhere["device"] = json!("Other GPU");
    let text = with(&elsewhere).text();
    let row = text.lines().find(|l| l.contains("torch")).unwrap();
    assert!(row.contains("torch (recorded on Other GPU)") && !row.contains("1.50"), "no ratio across devices: {row}");
}

#[test]
fn damaged_peers_are_refused() {
    let refuse = |change: &dyn Fn(&mut Value), word: &str| {
        let message = refused(&peers(), change, |path| {
            let read = Peers::load(path)?;
            load(&run()).add_peers(&read)
        });
        assert!(message.contains(word), "no `{word}` in: {message}");
    };
    refuse(&|p| p["version"] = json!(7), "format `tilewright-peers` 7 instead of");
    refuse(&|p| p["lines"][0]["points"][0]["times_ms"] = json!([0.0]), "a time of 0 ms for `torch` at [4096]");
    refuse(&|p| p["lines"][0]["points"][0]["times_ms"] = json!("fast"), "invalid type: string \"fast\"");
    refuse(
        &|p| p["lines"][0]["sweep"] = json!("mul"),
        "no line of it has a point of these sweeps: `add</script>, f32`",
    );
    refuse(&|p| p["lines"][0]["points"][0]["extents"] = json!([4097]), "no line of it has a point");
    refuse(&|p| p["lines"][0]["name"] = json!("tile"), "has a line `tile` of its own");
    refuse(
        &|p| {
            let l = p["lines"][0].clone();
            p["lines"].as_array_mut().unwrap().push(l)
        },
        "two lines `torch`",
    );
}

/// The run, with the times of `tile` at the first point multiplied.
fn scaled(factor: f64) -> Value {
    let mut r = run();
    for t in r["sweeps"][0]["points"][0]["values"][0]["times_ms"].as_array_mut().unwrap() {
        *t = json!(t.as_f64().unwrap() * factor);
    }
    r
}

#[test]
fn a_comparison_finds_what_became_slower() {
    let changes = |after: &Value, tolerance: f64| {
        let c = Comparison::new(&load(after), &load(&run()), tolerance).unwrap();
        let all: Vec<Change> = c.rows().iter().map(|r| r.change).collect();
        (all, c.is_worse(), c.text())
    };
    let (all, worse, text) = changes(&run(), 0.05);
    assert_eq!((all, worse), (vec![Change::Same; 3], false), "the copy and what was wrong do not count");
    assert_eq!(text, "3 compared: 0 slower by more than 5 %, 0 broken, 0 faster\n");
    let (all, worse, text) = changes(&scaled(2.0), 0.05);
    assert_eq!((all[0], worse), (Change::Slower, true));
    assert!(text.contains("SLOWER") && text.contains("2.00") && text.contains("1 slower by more than 5 %"), "{text}");
    assert_eq!(changes(&scaled(0.5), 0.05).0[0], Change::Faster);
    let (all, worse, _) = changes(&scaled(1.04), 0.05);
    assert_eq!((all[0], worse), (Change::Same, false), "within the tolerance");
    assert_eq!(changes(&scaled(2.0), 2.0).0[0], Change::Same);
    let mut broken = run();
    broken["sweeps"][0]["points"][1]["values"][0] = json!({"line": "tile", "outcome": "wrong", "why": "it"});
    let (all, worse, text) = changes(&broken, 0.05);
    assert!(all.contains(&Change::Broken) && worse && text.contains("BROKEN"), "{text}");
    let mut fewer = run();
    fewer["sweeps"][0]["points"].as_array_mut().unwrap().pop();
    let (all, worse, text) = changes(&fewer, 0.05);
    assert!(all.len() == 2 && !worse && text.contains("1 more are in the earlier run alone"), "{text}");
}

#[test]
fn runs_that_have_nothing_to_compare_are_refused() {
    let message = |change: &dyn Fn(&mut Value)| {
        let mut after = run();
        change(&mut after);
        Comparison::new(&load(&after), &load(&run()), 0.05).unwrap_err().to_string()
    };
    assert_eq!(
        message(&|r| r["device"]["name"] = json!("Other")),
        "the runs cannot be compared: this one is of Other, the earlier one of Model \"GPU\""
    );
    assert!(message(&|r| r["sweeps"][0]["name"] = json!("mul")).contains("no line in common"));
    let few = message(&|r| r["sweeps"][0]["points"][0]["values"][0]["times_ms"] = json!(vec![0.004; 5]));
    assert!(few.contains("`tile` at 4096 has 5 times, and 6 are needed"), "{few}");
}
