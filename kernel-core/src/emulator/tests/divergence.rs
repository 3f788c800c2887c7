//! Threads that must meet and do not.

use super::*;
use crate::device as d;

/// Threads from `s[0]` on leave early; those from `s[1]` on meet at another barrier.
unsafe fn barriers(s: &[u64]) {
    let t = d::thread() as u64;
    if t >= s[0] {
        return;
    }
    if t >= s[1] {
        d::barrier(10)
    } else {
        d::barrier(11)
    }
    d::barrier(12);
}

#[test]
fn barriers_take_every_thread() {
    for seed in 0..5 {
        let launch = |leave, other| program(96, 0).scalar(leave).scalar(other).seed(seed);
        launch(99, 99).passes(barriers);
        let f = launch(95, 99).fails(barriers, Kind::Divergence, 11);
        assert_eq!(f.threads.len(), 95);
        assert!(f.message.ends_with("but thread 95 has finished"), "{f}");
        let f = launch(99, 64).run(barriers).unwrap_err();
        assert_eq!(f.kind, Kind::Divergence);
        let mut sites = [f.site, f.other_site.unwrap()];
        sites.sort_unstable();
        assert_eq!(sites, [10, 11]);
    }
}

/// Lanes from `s[0]` on leave; those from `s[1]` on shuffle on another line; those from `s[2]` on go to a barrier.
unsafe fn shuffles(s: &[u64]) {
    let t = d::thread() as u64;
    if t >= s[0] {
        return;
    }
    if t >= s[2] {
        d::barrier(20);
    }
    d::shuffle_xor(t, 16, if t >= s[1] { 21 } else { 22 });
}

#[test]
fn shuffles_take_every_lane() {
    let launch = |leave, line, barrier| program(64, 0).scalar(leave).scalar(line).scalar(barrier).seed(2);
    launch(99, 99, 99).passes(shuffles);
    launch(99, 32, 99).passes(shuffles);
    launch(32, 99, 99).passes(shuffles);
    launch(63, 99, 99).fails(shuffles, Kind::Divergence, 22);
    assert_eq!(launch(99, 40, 99).run(shuffles).unwrap_err().kind, Kind::Divergence);
    assert_eq!(launch(99, 99, 40).run(shuffles).unwrap_err().kind, Kind::Divergence);
}

unsafe fn panics(s: &[u64]) {
    let values = Vec::from([1, 2, 3]);
    d::barrier(30);
    assert!((d::thread() as u64) < s[0], "thread {} of {}", d::thread(), values.len());
    d::barrier(31);
}

#[test]
fn a_panic_is_a_failure_and_leaves_nothing_behind() {
    for _ in 0..3 {
        let f = program(64, 0).scalar(40).fails(panics, Kind::Panic, 0);
        assert!(f.message.ends_with(" of 3"), "{f}");
        program(64, 0).scalar(64).passes(panics);
    }
    let outside = std::panic::catch_unwind(d::thread);
    assert!(outside.is_err(), "the launch is over");
}

#[test]
fn launches_that_cannot_be() {
    program(0, 0).fails(panics, Kind::Launch, 0);
    program(1025, 0).fails(panics, Kind::Launch, 0);
    program(32, 0).grid(u64::MAX).fails(panics, Kind::Launch, 0);
    assert_eq!(program(32, 0).grid(0).passes(panics).programs, 0);
}
