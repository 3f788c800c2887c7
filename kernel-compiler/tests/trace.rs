//! Marks of `tile profile --trace`: they pair up on every way, and code without them stays as it is.

use crate::common::{for_each_source, func};
use std::sync::atomic::{AtomicUsize, Ordering};
use tilewright_compiler::driver::lower_traced;
use tilewright_compiler::thread_ir::{Lowered, verify};
use tilewright_compiler::trace::{TraceLayout, TraceOptions, insert, units};
use tilewright_compiler::variant::{Transposed, Variant, Width};
use tilewright_compiler::{Libraries, MmaPath, entries};

const LAYOUT: TraceLayout = TraceLayout { blocks: 4, warps: 4, capacity: 256, listed: 16 };
const TMA: Variant = Variant { width: Width::Vectors, mma: MmaPath::WgmmaTma(Transposed { a: false, b: false }) };
const WARPS: Variant = Variant { width: Width::Vectors, mma: MmaPath::MmaSync };

/// Loops that end in the middle, iterations that end early, and a program that ends in a loop. It polls, too.
const JUMPS: &str = "#[tile_kernel(tune(warps = [4]), grid = [1])]
    pub fn jumps(a: View<f16, 2>, b: View<f16, 2>, flags: &mut [u32], mut y: ViewMut<f32, 2>, n: usize) {
        for j in 0..n {
            let mut s = zeros::<f32>([64, 64]);
            for i in range(0, a.dim(1), 64) {
                s = dot(a.tile([j, i], [64, 64]), b.tile([i, 0], [64, 64]), s);
            }
            if j == 3 { continue; }
            loop {
                if atomic_load(flags, j) == 1 { break; }
            }
            y.store([j, 0], s);
            if j == 5 { break; }
            if j == 7 { return; }
        }
    }";

/// Every entry of the repository can be traced.
#[test]
fn marks_pair_up_in_every_entry() {
    let (marked, marks) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for_each_source(|folder, source, libraries| {
        for mut e in entries(source, libraries) {
            let before = e.lowered.text();
            let events = insert(&mut e.lowered, &[], &LAYOUT);
            assert_eq!(verify::verify(&e.lowered), Ok(()), "{folder} {}", e.name);
            // Without its marks it is the code from before.
            let text = e.lowered.text();
            let without = |text: &str| text.split(char::is_whitespace).filter(|w| !w.is_empty()).collect::<String>();
            assert_eq!(without(&without_marks(&text)), without(&before), "{folder} {}", e.name);
            assert!(text.matches("d::trace_end::<").count() >= 1, "{folder} {}", e.name);
            marks.fetch_add(text.matches("d::trace::<").count(), Ordering::Relaxed);
            marked.fetch_add(usize::from(!events.is_empty()), Ordering::Relaxed);
        }
    });
    let (marked, marks) = (marked.into_inner(), marks.into_inner());
    assert!(marked > 1500 && marks > 20 * marked, "{marks} marks in {marked} entries");
}

/// The text of a program without its marks, which are whole statements.
fn without_marks(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("d::trace") {
        let start = rest[..at].rfind([';', '{', '}', '\n']).map_or(0, |i| i + 1);
        out.push_str(&rest[..start]);
        rest = &rest[at + rest[at..].find(';').expect("a statement ends") + 1..];
    }
    out + rest
}

fn traced(text: &str, variant: Variant) -> (Lowered, Vec<String>) {
    let (lowered, _, events) = lower_traced(&func(text), variant, LAYOUT).expect("the variant");
    (lowered, events.into_iter().map(|e| e.label).collect())
}

#[test]
fn what_a_timeline_shows_of_a_warp_specialized_program() {
    let (lowered, events) = traced(JUMPS, TMA);
    for wanted in [
        "wait empty 0",
        "TMA load a, b",
        "wait full 0",
        "release 0",
        "iteration",
        "poll",
        "TMA store y",
        "wait TMA store",
        "warpgroup barrier",
        "write staging buffer",
        "barrier",
    ] {
        assert!(events.iter().any(|e| e == wanted), "no `{wanted}` in {events:?}");
    }
    assert!(events.iter().any(|e| e.starts_with("wgmma")), "{events:?}");
    // A thread may poll many times: that is one event.
    assert!(!events.iter().any(|e| e == "atomic load"), "{events:?}");
    let text = lowered.text();
    assert!(text.contains("trace = d::trace::<256>(trace, ") && text.contains(", s0);"), "{text}");
    assert!(
        text.starts_with("    ") && text.contains("let mut trace: u64 = d::trace_begin::<4, 8, 256, 16>();"),
        "{text}"
    );
}

#[test]
fn what_a_timeline_shows_of_other_programs() {
    let (_, events) = traced(JUMPS, WARPS);
    for wanted in ["cp.async", "wait cp.async", "barrier", "mma.sync", "store y", "poll", "iteration"] {
        assert!(events.iter().any(|e| e == wanted), "no `{wanted}` in {events:?}");
    }
    let rows = "#[tile_kernel(tune(warps = [4]), grid = [n])]
        fn rows(x: &[f32], y: &mut [f32], count: &mut [u32], n: usize) {
            let i = program_id(0) * 1024 + arange(1024);
            let v = load(x, i);
            atomic_add(count, arange(4), 1);
            store(y, i, v / sum(v));
        }";
    let (_, events) = traced(rows, WARPS);
    // The sum has a barrier of its own line.
    assert_eq!(events, ["barrier", "atomic count", "barrier", "store y"]);
}

/// Each event has the line of its step, and equal steps on one line are one event.
#[test]
fn events_know_their_lines() {
    let (_, _, events) = lower_traced(&func(JUMPS), TMA, LAYOUT).expect("the variant");
    let line_of = |label: &str| events.iter().filter(|e| e.label == label).map(|e| e.line).collect::<Vec<_>>();
    let at = |what: &str| JUMPS.lines().position(|l| l.contains(what)).expect("a line") as u32 + 1;
    assert_eq!(line_of("TMA load a, b"), [at("dot(")]);
    assert_eq!(line_of("poll"), [at("atomic_load")]);
    assert_eq!(line_of("TMA store y"), [at("y.store")]);
    let mut seen = events.clone();
    seen.dedup();
    assert_eq!(seen.len(), events.len());
    let values: Vec<_> = events.iter().filter_map(|e| Some((e.label.as_str(), e.value?))).collect();
    assert!(values.contains(&("wait empty 0", "stage")) && values.contains(&("iteration", "iteration")), "{values:?}");
}

#[test]
fn a_traced_unit_has_its_array_and_its_table() {
    let options = TraceOptions { blocks: 4, records: 256, listed: 16 };
    let made = units(JUMPS, &Libraries::default(), "jumps", None, None, &[TMA, WARPS], options).expect("both variants");
    let [general, hopper] = &made[..] else { panic!("{} units", made.len()) };
    assert_eq!((general.unit.only, hopper.unit.only), (None, Some("sm_90a")));
    let [entry] = &hopper.entries[..] else { panic!("{:?}", hopper.entries) };
    // A warpgroup of consumers, and one of the producer.
    assert_eq!((entry.threads, entry.consumers, entry.layout.warps), (256, 128, 8));
    assert_eq!(entry.name, hopper.unit.entries[0].name);
    let declared = format!("tilewright_core::trace_prelude!({});", (4 * 8 * 256 + 16 * 3) * 16);
    assert!(hopper.unit.source.contains(&declared), "{declared}");
    assert_eq!((general.entries[0].threads, general.entries[0].consumers), (128, 0));
    let missing = units(JUMPS, &Libraries::default(), "jumps", None, Some("warps=8"), &[TMA], options);
    assert!(missing.expect_err("no such configuration").contains("no such instance"));
}
