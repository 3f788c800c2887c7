//! Tiles that breakpoints show, both sides of races, and the counters of lines.

use super::*;
use crate::device as d;
use crate::emulator::{WatchOptions, explain, watch};

/// A tile of 4 x 16 elements: two registers a thread are neighbors, eight lanes a row, and the rows are those of the
/// next two bits of the lane. Then a scalar.
unsafe fn tile<const PASSES: u32>(_: &[u64]) {
    let t = d::thread();
    for pass in 0..PASSES {
        for r in 0..2 {
            let v = ((t * 2) as usize + r) as f32 + 100.0 * pass as f32;
            watch(c"acc", &[4, 16], &[1], &[2, 4, 8, 16, 32], r, v, 7);
        }
    }
    if t == 0 {
        watch(c"n", &[], &[], &[], 0, -3i32, 8);
    }
}

fn shown(report: &Report) -> Vec<&str> {
    report.printed.iter().map(String::as_str).collect()
}

#[test]
fn a_tile_is_put_together_by_its_layout() {
    let report = program(32, 0).grid(2).passes(tile::<1>);
    let wanted = "line 7, program (0, 0, 0): acc: f32[4, 16] =\n\
                  [[ 0.0,  1.0,  2.0, ..., 13.0, 14.0, 15.0],\n \
                   [16.0, 17.0, 18.0, ..., 29.0, 30.0, 31.0],\n \
                   [32.0, 33.0, 34.0, ..., 45.0, 46.0, 47.0],\n \
                   [48.0, 49.0, 50.0, ..., 61.0, 62.0, 63.0]]";
    assert_eq!(shown(&report), [wanted, "line 8, program (0, 0, 0): n: i32 = -3"]);
    assert_eq!(report.watched_lines, [7, 8]);
}

#[test]
fn a_loop_shows_its_first_passes() {
    let few = |o: &mut Options| o.watch = WatchOptions { program: [1, 0, 0], passes: 2, ..WatchOptions::default() };
    let report = program(32, 0).grid(3).options(few).passes(tile::<5>);
    let heads: Vec<&str> = report.printed.iter().filter_map(|p| p.lines().next()).collect();
    assert_eq!(heads.len(), 3, "{heads:?}");
    assert_eq!(heads[1], "line 7, program (1, 0, 0), pass 2: acc: f32[4, 16] =");
}

#[test]
fn padding_is_not_shown() {
    unsafe fn padded(_: &[u64]) {
        watch(c"x", &[3], &[], &[1, 2, 0, 0, 0], 0, d::thread() * 10, 5);
    }
    let report = program(32, 0).passes(padded);
    assert_eq!(shown(&report), ["line 5, program (0, 0, 0): x: u32[3] = [280, 290, 300]"]);
}

/// Every program stores the same element.
unsafe fn same_element(a: &[u64]) {
    let t = d::thread();
    d::store::<f32, 1, 1, false, false>(|_| a[0] + 4 * u64::from(t), true, |_| true, |_| t as f32, 0, 3);
}

#[test]
fn both_sides_of_a_race() {
    let mut y = [0.0f32; 32];
    let f = program(32, 0).grid(2).write(&mut y).fails(same_element, Kind::GlobalRace, 3);
    let programs: Vec<u64> = f.sides.iter().map(|s| s.program[0]).collect();
    assert_eq!((f.sides.len(), programs), (2, vec![1, 0]));
    assert!(f.sides.iter().all(|s| s.line == 3 && s.thread == Some(0)), "{:?}", f.sides);
    let text = explain(&f, "\n\n    store(y, i, x);");
    assert!(
        text.contains("one side: store of 4 bytes at `p0[0]` (32 elements) by thread 0 (warp 0, lane 0)"),
        "{text}"
    );
    assert!(text.contains("3 |     store(y, i, x);"), "{text}");
}

/// A load of every eighth element, and a barrier.
unsafe fn strided(a: &[u64]) {
    let t = u64::from(d::thread());
    d::load::<f32, 1, 1, false, false>(|_| a[0] + 32 * t, true, |_| true, |_| 0.0, 0, 3);
    d::load::<f32, 1, 1, false, false>(|_| a[0] + 4 * t, true, |_| true, |_| 0.0, 0, 4);
    d::barrier(5);
    // Half of the lanes of a warp load from its own part, then all from one element.
    d::load::<f32, 1, 1, false, false>(|_| a[0] + 4 * t, false, |_| t % 32 >= 16, |_| 0.0, 0, 6);
    d::load::<f32, 1, 1, false, false>(|_| a[0], true, |_| true, |_| 0.0, 0, 6);
}

#[test]
fn sectors_and_barriers_by_line() {
    #[repr(align(128))]
    struct Aligned([f32; 64 * 8]);
    let x = Aligned([0.0; 64 * 8]);
    let report = program(64, 0).read(&x.0).options(|o| o.sectors = true).passes(strided);
    let counts: Vec<_> = report.global_sites.iter().map(|s| (s.site, s.instructions, s.sectors, s.ideal)).collect();
    assert_eq!(counts, [(3, 2, 64, 8), (4, 2, 8, 8), (6, 4, 6, 6)]);
    let barriers: Vec<_> = report.barrier_sites.iter().map(|b| (b.site, b.barriers)).collect();
    assert_eq!(barriers, [(5, 1)]);
}
