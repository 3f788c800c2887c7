//! The file for `ui.perfetto.dev` and `chrome://tracing`: the JSON of the Trace Event Format.
//!
//! A process for each traced thread block has a thread for each of its warps. Another process has all blocks of a
//! launch, a thread for each multiprocessor.

use super::clock::Clocks;
use super::records::{Run, Span, Warp};
use super::table::Table;
use super::timeline::Timeline;
use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Processes of a launch: the first one has its blocks.
const PROCESSES: u64 = 1 << 20;
/// Threads of a multiprocessor, one for each block that it runs at a time.
const LANES: u64 = 64;

/// An event of the format. Times are in microseconds.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    ph: &'static str,
    pid: u64,
    tid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    /// The scope of an instant: its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    args: Value,
}

/// Writes a file, whole or not at all.
pub fn write(path: &Path, launches: &[Timeline]) -> Result<()> {
    let written = tilewright_cache_dir::replace(path, |file| to_file(file, launches));
    written.with_context(|| format!("writing {}", path.display()))
}

fn to_file(file: &mut dyn Write, launches: &[Timeline]) -> Result<()> {
    let mut out = Out { to: file, is_first: true };
    out.to.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
    for (i, t) in launches.iter().enumerate() {
        launch(&mut out, t, i as u64 * PROCESSES)?;
    }
    out.to.write_all(b"\n],\"otherData\":")?;
    let about = |t: &Timeline| {
        let launch = &t.launch;
        json!({
            "kernel": launch.kernel, "config": launch.config, "entry": launch.entry, "file": t.table.file,
            "grid": launch.grid, "device": launch.device, "ns_per_cycle": t.clocks.period, "dropped": t.dropped(),
        })
    };
    serde_json::to_writer(&mut out.to, &json!({ "launches": launches.iter().map(about).collect::<Vec<_>>() }))?;
    out.to.write_all(b"}\n")?;
    Ok(out.to.flush()?)
}

struct Out<W> {
    to: W,
    is_first: bool,
}

impl<W: Write> Out<W> {
    fn put(&mut self, event: &Event) -> Result<()> {
        if !std::mem::take(&mut self.is_first) {
            self.to.write_all(b",\n")?;
        }
        Ok(serde_json::to_writer(&mut self.to, event)?)
    }

    /// The name of a process or of a thread, and its place in the list.
    fn named(&mut self, kind: [&'static str; 2], (pid, tid): (u64, u64), name: &str, order: u64) -> Result<()> {
        for (what, args) in kind.into_iter().zip([json!({ "name": name }), json!({ "sort_index": order })]) {
            self.put(&Event { name: what, ph: "M", pid, tid, ts: None, dur: None, s: None, args })?;
        }
        Ok(())
    }

    fn process(&mut self, pid: u64, name: &str) -> Result<()> {
        self.named(["process_name", "process_sort_index"], (pid, 0), name, pid)
    }

    fn thread(&mut self, pid: u64, tid: u64, name: &str) -> Result<()> {
        self.named(["thread_name", "thread_sort_index"], (pid, tid), name, tid)
    }

    /// A span in whole nanoseconds. A span within another one is shown in it.
    fn span(&mut self, name: &str, (pid, tid): (u64, u64), [from, to]: [f64; 2], args: Value) -> Result<()> {
        let (from, to) = (from.round(), to.round());
        let (ts, dur) = (Some(from / 1e3), Some((to - from).max(0.0) / 1e3));
        self.put(&Event { name, ph: "X", pid, tid, ts, dur, s: None, args })
    }

    fn instant(&mut self, name: &str, (pid, tid): (u64, u64), at: f64, args: Value) -> Result<()> {
        self.put(&Event { name, ph: "i", pid, tid, ts: Some(at.round() / 1e3), dur: None, s: Some("t"), args })
    }
}

fn launch<W: Write>(out: &mut Out<W>, t: &Timeline, first: u64) -> Result<()> {
    let name = format!("{}[{}]", t.launch.kernel, t.launch.config);
    out.process(first, &format!("{name}: thread blocks by multiprocessor"))?;
    let mut lanes = Lanes::default();
    let mut blocks: Vec<&(u32, Run)> = t.recorded.blocks.iter().collect();
    blocks.sort_by_key(|(block, run)| (run.begin.clock, *block));
    for (block, run) in blocks {
        let [from, to] = t.span_of(run);
        let (lane, is_new) = lanes.take(run.sm, from.round(), to.round());
        let tid = u64::from(run.sm) * LANES + lane;
        if is_new {
            let again = if lane == 0 { String::new() } else { format!(" ({})", lane + 1) };
            out.thread(first, tid, &format!("SM {}{again}", run.sm))?;
        }
        out.span(&format!("block {}", place(t, *block)), (first, tid), [from, to], of_block(t, *block, run))?;
    }
    let mut known = None;
    for w in &t.recorded.warps {
        let pid = first + 1 + u64::from(w.block);
        if known != Some(w.block) {
            known = Some(w.block);
            out.process(pid, &format!("{name}: block {} on SM {}", place(t, w.block), w.run.sm))?;
        }
        warp(out, t, w, pid)?;
    }
    Ok(())
}

fn warp<W: Write>(out: &mut Out<W>, t: &Timeline, w: &Warp, pid: u64) -> Result<()> {
    let tid = u64::from(w.warp);
    let role = t.table.role(w.warp);
    let what = if role == "warp" { String::new() } else { format!(", {role}") };
    out.thread(pid, tid, &format!("warp {}{what}", w.warp))?;
    let mut args = of_block(t, w.block, &w.run);
    args["warp"] = w.warp.into();
    if w.dropped > 0 {
        args["dropped"] = w.dropped.into();
    }
    out.span("program", (pid, tid), t.span_of(&w.run), args)?;
    for s in &w.spans {
        let Some(event) = t.table.event(s.event) else { continue };
        let at = |clock: u64, clocks: &Clocks| clocks.ns(w.run.sm, clock);
        let (from, to) = (at(s.from, &t.clocks), at(s.to, &t.clocks));
        let args = of_span(&t.table, s);
        match s.is_instant {
            true => out.instant(&event.label, (pid, tid), from, args)?,
            false => out.span(&event.label, (pid, tid), [from, to], args)?,
        }
    }
    Ok(())
}

/// `3`, or `(3, 0, 1)` in a grid of several dimensions.
fn place(t: &Timeline, block: u32) -> String {
    match t.block(block) {
        [x, 0, 0] if t.launch.grid[1] == 1 && t.launch.grid[2] == 1 => x.to_string(),
        [x, y, z] => format!("({x}, {y}, {z})"),
    }
}

fn of_block(t: &Timeline, block: u32, run: &Run) -> Value {
    let [x, y, z] = t.block(block);
    let mut args = json!({ "block": [x, y, z], "program": [x / t.table.ctas.max(1), y, z], "sm": run.sm });
    if run.end.is_none() {
        args["has not ended"] = true.into();
    }
    args
}

fn of_span(table: &Table, s: &Span) -> Value {
    let mut args = Map::new();
    if let Some(event) = table.event(s.event) {
        if event.line > 0 {
            args.insert("line".into(), event.line.into());
        }
        if let Some(of) = &event.value {
            args.insert(of.clone(), s.value.into());
        }
    }
    if s.is_cut {
        args.insert("end was dropped".into(), true.into());
    }
    args.into()
}

/// The threads of multiprocessors, and when each is free again.
#[derive(Default)]
struct Lanes(BTreeMap<u32, Vec<f64>>);

impl Lanes {
    /// The first thread of a multiprocessor that is free, and whether it is the first use of it.
    fn take(&mut self, sm: u32, from: f64, to: f64) -> (u64, bool) {
        let of_sm = self.0.entry(sm).or_default();
        let free = of_sm.iter().position(|until| *until <= from);
        let (lane, is_new) = (free.unwrap_or(of_sm.len()), free.is_none());
        if is_new {
            of_sm.push(to);
        }
        of_sm[lane] = to;
        (lane as u64, is_new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::records::tests::{Written, at, table};
    use tilewright_core::TracePhase;
    use tilewright_runtime::private::TracedLaunch;

    /// Three blocks of two warps; the warps of the first one are traced, and the last one has not ended.
    fn timeline() -> Timeline {
        let table = table();
        let (layout, mut array) = (table.layout(), Written::new(&table));
        array.head(0, 9, [at(1000, 5000), at(2800, 5900)], 5);
        array.mark(3, 1010, (1, TracePhase::Begin), 8);
        array.mark(4, 1020, (2, TracePhase::Begin), 0);
        array.mark(5, 1220, (2, TracePhase::End), 0);
        array.mark(6, 1300, (3, TracePhase::Instant), 4);
        array.head(7, 9, [at(1000, 5000), at(3000, 6000)], 0);
        array.head(layout.listed_block(0), 9, [at(1000, 5000), at(3000, 6000)], 0);
        array.head(layout.listed_block(1), 9, [at(1400, 5200), at(2000, 5500)], 0);
        array.head(layout.listed_block(2), 9, [at(3200, 6100), at(0, 0)], 0);
        let launch = TracedLaunch {
            kernel: "k".into(),
            config: "warps=2".into(),
            entry: "k__aligned".into(),
            grid: [3, 1, 1],
            device: "a GPU".into(),
            clock_khz: 2_000_000,
            array: array.0,
        };
        Timeline::new(table, launch).expect("it is whole")
    }

    fn written(launches: &[Timeline]) -> Value {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.json");
        write(&path, launches).expect("it is written");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left");
        serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
    }

    fn events(of: &Value) -> &[Value] {
        of["traceEvents"].as_array().expect("events")
    }

    /// Names of an event of a phase, in their order.
    fn names<'v>(of: &'v Value, phase: &str) -> Vec<&'v str> {
        let of_phase = events(of).iter().filter(|e| e["ph"] == phase);
        of_phase.map(|e| e["args"]["name"].as_str().or(e["name"].as_str()).expect("a name")).collect()
    }

    #[test]
    fn a_timeline_has_blocks_warps_and_events() {
        let json = written(&[timeline()]);
        assert_eq!(json["otherData"]["launches"][0]["grid"], json!([3, 1, 1]));
        assert_eq!(json["otherData"]["launches"][0]["dropped"], 1);
        let spans = ["block 0", "block 1", "block 2", "program", "iteration", "barrier", "program"];
        assert_eq!(names(&json, "X"), spans);
        assert_eq!(names(&json, "i"), ["release 0"]);
        let named = |what: &str| -> Vec<&str> {
            let of = events(&json).iter().filter(|e| e["name"] == what);
            of.map(|e| e["args"]["name"].as_str().expect("a name")).collect()
        };
        assert_eq!(
            named("process_name"),
            ["k[warps=2]: thread blocks by multiprocessor", "k[warps=2]: block 0 on SM 9"]
        );
        // Two blocks run on the multiprocessor at a time.
        assert_eq!(named("thread_name"), ["SM 9", "SM 9 (2)", "warp 0", "warp 1"]);
        let find = |name: &str| events(&json).iter().find(|e| e["name"] == name).expect(name);
        // Half a nanosecond a cycle.
        assert_eq!((&find("barrier")["ts"], &find("barrier")["dur"]), (&json!(0.01), &json!(0.1)));
        assert_eq!(find("barrier")["args"], json!({ "line": 5 }));
        assert_eq!(find("release 0")["args"], json!({ "line": 5, "stage": 4 }));
        // Its end was dropped: it lasts to the end of the warp.
        assert_eq!(find("iteration")["args"], json!({ "line": 5, "iteration": 8, "end was dropped": true }));
        assert_eq!(find("iteration")["dur"], json!(0.895));
        assert_eq!(find("block 2")["args"]["has not ended"], true);
        assert_eq!(
            find("program")["args"],
            json!({ "block": [0, 0, 0], "program": [0, 0, 0], "sm": 9, "warp": 0, "dropped": 1 })
        );
    }

    /// The viewers want a span that begins in another one to end in it.
    #[test]
    fn spans_of_a_thread_nest() {
        let json = written(&[timeline(), timeline()]);
        let mut by_thread: BTreeMap<(u64, u64), Vec<[f64; 2]>> = BTreeMap::new();
        for e in events(&json).iter().filter(|e| e["ph"] == "X") {
            let number = |name: &str| e[name].as_f64().expect("a number");
            let thread = (number("pid") as u64, number("tid") as u64);
            by_thread.entry(thread).or_default().push([number("ts"), number("ts") + number("dur")]);
        }
        // A thread of a multiprocessor twice, and a thread of a warp: of each launch.
        assert_eq!(by_thread.len(), 8);
        for spans in by_thread.values() {
            let mut open: Vec<f64> = vec![];
            for [from, to] in spans {
                open.retain(|end| *end > *from);
                assert!(open.iter().all(|end| *to <= *end + 1e-9), "{spans:?}");
                open.push(*to);
            }
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let e = write(Path::new("/nowhere/out.json"), &[]).expect_err("no such folder");
        assert!(format!("{e:#}").starts_with("writing /nowhere/out.json: "), "{e:#}");
    }
}
