//! Loads that nothing orders with each other, and a store that comes after some of them.

use super::*;
use crate::device as d;
use crate::device::hw as h;

/// Threads of three warps load a word. Two of the warps, or all, meet, and then a thread of the first stores there.
unsafe fn stored_after_two<const MEET: u32, const SHARED: bool>(s: &[u64]) {
    let t = d::thread();
    d::shared_store::<u32, 1, 1>(|_| 0, |_| t == 0, |_| 1, 10);
    d::barrier(11);
    let loads = t % 32 == 3;
    if SHARED {
        d::shared_load::<u32, 1, 1>(|_| 0, |_| loads, 12);
    } else {
        d::load::<u32, 1, 1, false, false>(|_| s[0], false, |_| loads, |_| 0, 0, 12);
    }
    if t < MEET {
        h::group_barrier(1, MEET, 13);
    }
    if SHARED {
        d::shared_store::<u32, 1, 1>(|_| 0, |_| t == 7, |_| 2, 14);
    } else {
        d::store::<u32, 1, 1, false, false>(|_| s[0], false, |_| t == 7, |_| 2, 0, 14);
    }
}

#[test]
fn a_third_reader_is_remembered() {
    for seed in 0..8 {
        let run = |kernel: Run| program(96, 16).seed(seed).write(&mut [0u32]).run(kernel);
        for kernel in [stored_after_two::<96, true> as Run, stored_after_two::<96, false>] {
            run(kernel).unwrap_or_else(|f| panic!("{f}"));
        }
        for (kernel, kind) in
            [(stored_after_two::<64, true> as Run, Kind::SharedRace), (stored_after_two::<64, false>, Kind::GlobalRace)]
        {
            let f = run(kernel).expect_err("the third warp may load later");
            // The load may also come last.
            assert!(f.kind == kind && matches!((f.site, f.other_site), (14, Some(12)) | (12, Some(14))), "{f}");
        }
    }
}

/// A stage that TMA would fill again: warps load it and arrive, but one of them arrives before it loads.
unsafe fn released_early<const EARLY: u32>(_: &[u64]) {
    let (t, warp) = (d::thread(), d::thread() / 32);
    if t == 0 {
        h::mbarrier_init(64, 128, 20);
    }
    d::shared_store::<u32, 1, 1>(|_| 0, |_| t == 0, |_| 1, 21);
    d::barrier(22);
    if warp == EARLY {
        h::mbarrier_arrive(64, true, 23);
    }
    d::shared_load::<u32, 1, 1>(|_| 0, |_| true, 24);
    if warp != EARLY {
        h::mbarrier_arrive(64, true, 25);
    }
    if t == 0 {
        h::mbarrier_wait(64, 0, 26);
    }
    d::shared_store::<u32, 1, 1>(|_| 0, |_| t == 0, |_| 2, 27);
}

#[test]
fn each_warp_of_a_stage_is_remembered() {
    for seed in 0..6 {
        program(128, 80).seed(seed).passes(released_early::<9>);
        for kernel in [released_early::<1> as Run, released_early::<2>, released_early::<3>] {
            let f = program(128, 80).seed(seed).run(kernel).expect_err("a warp may load later");
            assert!(f.kind == Kind::SharedRace && [24, 27].contains(&f.site), "{f}");
        }
    }
}

/// Programs load a word. All but one acquire and release a count afterwards, and the last of them stores to the word.
unsafe fn readers_of_all_programs(s: &[u64]) {
    let [x, count, relaxed] = *s else { unreachable!() };
    let (p, n, one) = (d::program_id(0), d::num_programs(0), d::thread() == 0);
    d::load::<u32, 1, 1, false, false>(|_| x, false, |_| one, |_| 0, 0, 30);
    let old = d::atomic::<u32, 1, { d::atomic::ADD }>(|_| count, |_| one, |_| 1, p == relaxed, 31)[0];
    d::store::<u32, 1, 1, false, false>(|_| x, false, |_| one && old as u64 == n - 1, |_| 7, 0, 32);
}

#[test]
fn readers_of_many_programs_are_remembered() {
    for (programs, seed) in [(3, 0), (4, 1), (200, 0), (200, 1)] {
        let launch = |relaxed: u64, x: &mut [u32; 1]| {
            let count = &mut [0u32];
            program(32, 0).grid(programs).seed(seed).write(x).write(count).scalar(relaxed).run(readers_of_all_programs)
        };
        let mut x = [0u32];
        launch(programs, &mut x).unwrap_or_else(|f| panic!("{f}"));
        assert_eq!(x, [7]);
        for relaxed in [0, 1, 2] {
            let f = launch(relaxed, &mut x).expect_err("one of them may load later");
            assert_eq!((f.kind, f.site, f.other_site), (Kind::GlobalRace, 32, Some(30)), "{f}");
        }
    }
}
