//! Asynchronous steps, groups of copies, barriers of some warps; and each of their hazards.

use super::*;
use crate::device as d;
use crate::device::hw as h;
use crate::emulator::TensorMap;
use crate::scalar::F16;

/// One thread loads a tile of 1024 bytes, others read it, and another load takes its place.
unsafe fn refill<const WAIT: u32, const ARRIVE: u32>(s: &[u64]) {
    let [_, out, map] = *s else { unreachable!() };
    const FULL: u32 = 1024;
    const EMPTY: u32 = 1032;
    let t = d::thread();
    if t == 0 {
        h::mbarrier_init(FULL, 1, 40);
        h::mbarrier_init(EMPTY, 64, 41);
        h::mbarriers_ready(42);
    }
    d::barrier(43);
    let mut sum = 0;
    for round in 0..2u32 {
        if t == 0 {
            if ARRIVE != 0 {
                h::mbarrier_wait(EMPTY, (round & 1) ^ 1, 44);
            }
            h::mbarrier_expect(FULL, 1024, 45);
            h::tma_load::<_, 0>(0, map, [0, round as i32 * 4], FULL, 46);
        }
        // All threads, or one of them and a barrier, or one of them.
        match WAIT {
            0 => h::mbarrier_wait(FULL, round & 1, 47),
            _ if t == 5 => h::mbarrier_wait(FULL, round & 1, 47),
            _ => {}
        }
        if WAIT == 1 {
            d::barrier(48);
        }
        if ARRIVE == 2 {
            h::mbarrier_arrive(EMPTY, true, 49);
        }
        let x = d::shared_load::<u32, 4, 4>(|r| t * 16 + r as u32 * 4, |_| true, 50);
        sum += x.iter().sum::<u32>();
        if ARRIVE != 3 {
            h::proxy_fence(53);
        }
        if ARRIVE == 1 || ARRIVE == 3 {
            h::mbarrier_arrive(EMPTY, true, 51);
        }
    }
    d::store::<u32, 1, 1, false, false>(|_| out + t as u64 * 4, true, |_| true, |_| sum, 0, 52);
}

#[test]
fn stages_that_threads_read() {
    let source: Vec<u32> = (0..512).collect();
    let run = |run: Run, seed| {
        let map = TensorMap::new(source.as_ptr() as u64, 4, &[64, 8], &[256], &[64, 4], 0);
        let mut out = vec![0u32; 64];
        program(64, 1040).seed(seed).read(&source).write(&mut out).scalar(&raw const map as u64).run(run).map(|_| out)
    };
    let want: Vec<u32> = (0..64).map(|t| (0..4).map(|i| 2 * (4 * t + i) + 256).sum()).collect();
    for seed in 0..6 {
        assert_eq!(run(refill::<0, 1>, seed).as_ref(), Ok(&want));
        assert_eq!(run(refill::<1, 1>, seed).as_ref(), Ok(&want));
        let f = run(refill::<2, 1>, seed).unwrap_err();
        assert!(matches!((f.kind, f.site), (Kind::SharedUninitialized | Kind::AsyncRace, 50)), "{f}");
        // Bytes loaded before the arrival may not have been read yet.
        let f = run(refill::<0, 3>, seed).unwrap_err();
        assert!(
            (f.kind, f.site, f.other_site) == (Kind::MissingProxyFence, 46, Some(50))
                && f.message.contains("by the thread that loaded"),
            "{f}"
        );
        // The load comes after the read, or the read while the load goes on.
        for kernel in [refill::<0, 0> as Run, refill::<0, 2>] {
            let f = run(kernel, seed).unwrap_err();
            assert!(matches!((f.kind, f.site), (Kind::AsyncRace, 46 | 50)), "{f}");
        }
    }
}

/// Threads store a tile that a tensor store, or a product, reads; then they store it again.
unsafe fn stored<const FENCE: u32, const WAIT: u32>(s: &[u64]) {
    let [_, map] = *s else { unreachable!() };
    let t = d::thread();
    for round in 0..2 {
        d::shared_store::<u32, 4, 4>(|r| t * 16 + r as u32 * 4, |_| true, |r| round * 1000 + t * 4 + r as u32, 60);
        match FENCE {
            1 => h::proxy_fence(61),
            2 if t == 0 => h::proxy_fence(61),
            _ => {}
        }
        d::barrier(62);
        if FENCE == 3 {
            h::proxy_fence(61);
        }
        if t == 0 {
            h::tma_store::<2, 0>(0, map, [0, round as i32 * 4], true, 63);
            if WAIT != 0 {
                h::tma_store_wait_read::<0>(65);
            }
        }
        if WAIT != 1 {
            d::barrier(66);
        }
    }
}

#[test]
fn tensor_stores_see_what_was_fenced() {
    let run = |run: Run| {
        let mut out = vec![0u32; 512];
        let map = TensorMap::new(out.as_ptr() as u64, 4, &[64, 8], &[256], &[64, 4], 0);
        program(64, 1024).write(&mut out).scalar(&raw const map as u64).run(run).map(|_| out)
    };
    let want: Vec<u32> = (0..512).map(|i| i / 256 * 1000 + i % 256).collect();
    assert_eq!(run(stored::<1, 2>), Ok(want));
    for (kernel, kind, sites) in [
        (stored::<0, 2> as Run, Kind::MissingProxyFence, [63, 63]),
        // By the thread that issues the store: that shows only its own.
        (stored::<2, 2>, Kind::MissingProxyFence, [63, 63]),
        (stored::<3, 2>, Kind::MissingProxyFence, [63, 63]),
        (stored::<1, 0>, Kind::AsyncRace, [60, 60]),
        // The tensor store may also come after the next store of some thread.
        (stored::<1, 1>, Kind::AsyncRace, [60, 63]),
    ] {
        let f = run(kernel).unwrap_err();
        assert!(f.kind == kind && sites.contains(&f.site), "{f}");
    }
}

/// A product of tiles that threads stored, or copied asynchronously.
unsafe fn product_of_own<const COPY: bool, const FENCE: u32>(s: &[u64]) {
    let t = d::thread();
    for i in 0..8 {
        let at = (t * 8 + i) * 16;
        if COPY {
            h::cp_async::<16>(at, s[0] + at as u64, true, 70);
        } else {
            d::shared_store::<u32, 4, 4>(|r| at + r as u32 * 4, |_| true, |_| 0, 71);
        }
    }
    if FENCE == 2 {
        h::proxy_fence(72);
    }
    h::cp_async_commit(73);
    h::cp_async_wait::<0>(74);
    if FENCE == 1 {
        h::proxy_fence(75);
    }
    d::barrier(76);
    let mut acc = [0f32; 32];
    h::wgmma_fence(77);
    h::wgmma::<F16, f32, 64, false, false>(acc.as_mut_ptr(), tile(0), tile(8192), true, 78);
    h::wgmma_commit(79);
    h::wgmma_wait::<f32, 0, 32, 64>(&mut acc, 80);
}

#[test]
fn products_see_what_was_fenced() {
    let source = vec![0u32; 4096];
    let launch = || program(128, 16384).read(&source);
    launch().passes(product_of_own::<false, 1>);
    launch().passes(product_of_own::<true, 1>);
    launch().fails(product_of_own::<false, 0>, Kind::MissingProxyFence, 78);
    launch().fails(product_of_own::<true, 0>, Kind::MissingProxyFence, 78);
    // Before the copies are complete there is nothing to show.
    launch().fails(product_of_own::<true, 2>, Kind::MissingProxyFence, 78);
}

/// Tiles of 4 bytes a thread, copied two groups ahead; each thread reads its neighbor's.
unsafe fn copies<const PENDING: u32, const BARRIER: bool>(s: &[u64]) {
    let [source, out] = *s else { unreachable!() };
    let t = d::thread();
    let fetch = |i: u32| {
        if i < 8 {
            h::cp_async::<4>(i % 3 * 256 + t * 4, source + ((i * 64 + t) * 4) as u64, t < 60, 80);
        }
        h::cp_async_commit(81);
    };
    fetch(0);
    fetch(1);
    let mut sum = 0;
    for i in 0..8 {
        h::cp_async_wait::<PENDING>(82);
        if BARRIER {
            d::barrier(83);
        }
        fetch(i + 2);
        let from = if BARRIER { t ^ 33 } else { t };
        sum += d::shared_load::<u32, 1, 1>(|_| i % 3 * 256 + from * 4, |_| true, 84)[0];
    }
    h::cp_async_wait::<0>(85);
    d::store::<u32, 1, 1, false, false>(|_| out + t as u64 * 4, true, |_| true, |_| sum, 0, 86);
}

#[test]
fn copies_in_groups() {
    let source: Vec<u32> = (0..512).map(|i| i * i).collect();
    let run = |kernel: Run, seed| {
        let mut out = vec![0u32; 64];
        program(64, 768).seed(seed).read(&source).write(&mut out).run(kernel).map(|_| out)
    };
    let column = |t: usize| if t < 60 { (0..8).map(|i| source[i * 64 + t]).sum() } else { 0 };
    for seed in 0..4 {
        assert_eq!(run(copies::<1, true>, seed), Ok((0..64).map(|t| column(t ^ 33)).collect()));
        assert_eq!(run(copies::<1, false>, seed), Ok((0..64).map(column).collect()));
        for kernel in [copies::<2, true> as Run, copies::<2, false>] {
            let f = run(kernel, seed).unwrap_err();
            assert_eq!((f.kind, f.site), (Kind::AsyncRace, 84), "{f}");
            assert!(f.message.contains("the cp_async of line 80 may still write there"), "{f}");
        }
    }
}

unsafe fn unfinished<const CASE: u32>(s: &[u64]) {
    let [source, map] = *s else { unreachable!() };
    if d::thread() == 0 {
        h::mbarrier_init(2048, 1, 90);
        h::mbarriers_ready(91);
    }
    d::barrier(92);
    if d::thread() == 0 {
        match CASE {
            0 => h::cp_async::<16>(0, source, true, 93),
            1 => h::tma_load::<_, 0>(0, map, [0, 0], 2048, 94),
            2 => h::mbarrier_expect(2048, 1024, 95),
            3 => h::tma_load::<_, 0>(0, map, [0, 0, 0], 2048, 96),
            4 => h::tma_load::<_, 0>(64, map, [0, 0], 2048, 97),
            5 => h::tma_load::<_, 0>(1024, map, [0, 0], 2056, 98),
            6 => h::tma_load::<_, 0>(0, map, [0, 0], 2048, 99),
            7 => {
                h::mbarrier_arrive(2048, true, 100);
                h::mbarrier_wait(2048, 0, 101);
            }
            8 => h::mbarrier_wait(2048, 0, 102),
            10 => {
                d::shared_store::<u8, 1, 1>(|_| 2051, |_| true, |_| 1, 104);
                h::mbarrier_arrive(2048, true, 105);
            }
            _ => {
                h::mbarrier_expect(2048, 1024, 95);
                h::mbarrier_arrive(2048, true, 103);
            }
        }
    }
}

#[test]
fn steps_that_go_wrong_alone() {
    let source = vec![0u32; 256];
    let map = TensorMap::new(source.as_ptr() as u64, 4, &[64, 4], &[256], &[64, 4], 0);
    let outside = TensorMap::new(source.as_ptr() as u64, 4, &[64, 5], &[256], &[64, 5], 0);
    let launch = |map: &TensorMap| program(32, 2064).read(&source).scalar(&raw const *map as u64);
    launch(&map).fails(unfinished::<0>, Kind::AsyncPending, 93);
    launch(&map).fails(unfinished::<1>, Kind::AsyncPending, 94);
    launch(&map).fails(unfinished::<2>, Kind::AsyncPending, 95);
    launch(&map).fails(unfinished::<3>, Kind::Protocol, 96);
    launch(&map).fails(unfinished::<4>, Kind::Misaligned, 97);
    launch(&map).fails(unfinished::<5>, Kind::Mbarrier, 98);
    launch(&outside).fails(unfinished::<6>, Kind::GlobalOutOfBounds, 99);
    launch(&map).passes(unfinished::<7>);
    let f = launch(&map).fails(unfinished::<8>, Kind::Divergence, 102);
    assert!(
        f.message
            .ends_with("mbarrier at shared byte 2048 (with 0 others), but 1 of 1 arrivals and 0 bytes are missing"),
        "{f}"
    );
    launch(&map).fails(unfinished::<9>, Kind::Mbarrier, 103);
    let f = launch(&map).fails(unfinished::<10>, Kind::Mbarrier, 105);
    assert!(f.message.ends_with("was overwritten on line 104"), "{f}");
    let no_map = program(32, 2064).read(&source).scalar(0);
    no_map.fails(unfinished::<1>, Kind::Protocol, 94);
}

/// Threads of the first two of three warps exchange words. `CASE` is the barrier before they read; that of 0 is
/// correct.
unsafe fn some_warps<const CASE: u32>(_: &[u64]) {
    let t = d::thread();
    if t >= 64 {
        if CASE == 2 && t < 80 {
            h::group_barrier(1, 64, 110);
        }
        return;
    }
    d::shared_store::<u32, 1, 1>(|_| t * 4, |_| true, |_| t, 111);
    match CASE {
        0 => h::group_barrier(1, 64, 112),
        1 => d::warp_barrier(112),
        2 => h::group_barrier(1, 64, 112),
        3 => h::group_barrier(1, if t < 32 { 64 } else { 96 }, 112),
        4 => h::group_barrier(1, 96, 112),
        5 => h::group_barrier(1 + t / 32, 32, 112),
        _ => h::group_barrier(16, 64, 112),
    }
    let x = d::shared_load::<u32, 1, 1>(|_| (t ^ 33) * 4, |_| true, 113);
    assert!(CASE != 0 || x[0] == t ^ 33);
}

#[test]
fn barriers_of_some_warps() {
    for seed in 0..6 {
        program(96, 256).seed(seed).passes(some_warps::<0>);
        let launch = || program(96, 256).seed(seed).options(|o| o.uninitialized = false);
        for kernel in [some_warps::<1> as Run, some_warps::<5>] {
            let f = launch().run(kernel).unwrap_err();
            assert_eq!(f.kind, Kind::SharedRace, "{f}");
        }
        for kernel in [some_warps::<2> as Run, some_warps::<3>, some_warps::<4>] {
            let f = launch().run(kernel).unwrap_err();
            assert!(
                f.kind == Kind::Divergence && f.message.contains("named barrier") || f.message.contains("expects"),
                "{f}"
            );
        }
        launch().fails(some_warps::<6>, Kind::Protocol, 112);
    }
}

/// Knowledge is transitive: from a thread by an mbarrier to another, and by a barrier of warps to a third.
unsafe fn passed_on<const MISSING: u32>(_: &[u64]) {
    let t = d::thread();
    if t == 0 {
        h::mbarrier_init(0, 32, 120);
    }
    d::barrier(121);
    if t / 32 == 0 {
        d::shared_store::<u32, 1, 1>(|_| 128 + t * 4, |_| true, |_| t, 122);
        h::mbarrier_arrive(0, true, 123);
    } else if t < 96 {
        if t == 40 && MISSING != 1 {
            h::mbarrier_wait(0, 0, 124);
        }
        if MISSING != 2 {
            h::group_barrier(3, 64, 125);
        }
        if t >= 64 {
            d::shared_load::<u32, 1, 1>(|_| 128 + (t - 64) * 4, |_| true, 126);
        }
    }
}

#[test]
fn order_passes_through_mbarriers() {
    for seed in 0..6 {
        program(128, 256).seed(seed).passes(passed_on::<0>);
        for kernel in [passed_on::<1> as Run, passed_on::<2>] {
            let f = program(128, 256).seed(seed).options(|o| o.uninitialized = false).run(kernel).unwrap_err();
            assert_eq!(f.kind, Kind::SharedRace, "{f}");
        }
    }
}

/// Warps of each program meet before one of their threads tells that they are done; the last program reads.
unsafe fn last_program<const BEFORE: bool, const AFTER: bool>(s: &[u64]) {
    let [parts, count] = *s else { unreachable!() };
    let (t, p, n) = (d::thread(), d::program_id(0), d::num_programs(0));
    if t >= 64 {
        return;
    }
    d::store::<u32, 1, 1, false, false>(|_| parts + (p * 64 + t as u64) * 4, true, |_| true, |_| t, 0, 130);
    if BEFORE {
        h::group_barrier(2, 64, 131);
    }
    let old = d::atomic::<u32, 1, { d::atomic::ADD }>(|_| count, |_| t == 40, |_| 1, false, 132)[0];
    d::shared_store::<u32, 1, 1>(|_| 0, |_| t == 40, |_| old, 133);
    if AFTER {
        h::group_barrier(2, 64, 134);
    }
    let last = if AFTER { d::shared_load::<u32, 1, 1>(|_| 0, |_| true, 135)[0] } else { n as u32 - 1 };
    for q in 0..if last as u64 == n - 1 { n } else { 0 } {
        d::load::<u32, 1, 1, false, false>(|_| parts + (q * 64 + 63 - t as u64) * 4, true, |_| true, |_| 0, 0, 136);
    }
}

#[test]
fn order_passes_from_warps_through_atomics() {
    let run = |run: Run, seed| {
        let (mut parts, mut count) = (vec![0u32; 64 * 5], [0u32]);
        program(96, 16).grid(5).seed(seed).write(&mut parts).write(&mut count).run(run)
    };
    for seed in 0..4 {
        run(last_program::<true, true>, seed).unwrap_or_else(|f| panic!("{f}"));
        for kernel in [last_program::<false, true> as Run, last_program::<true, false>] {
            assert_eq!(run(kernel, seed).unwrap_err().kind, Kind::GlobalRace);
        }
    }
}

/// Every program loads the same tile from global memory; a later one, or another thread, stores there.
unsafe fn loaded_and_stored<const CASE: u32>(s: &[u64]) {
    let [x, map] = *s else { unreachable!() };
    let t = d::thread();
    if t == 0 {
        h::mbarrier_init(1024, 1, 140);
        h::mbarriers_ready(141);
        h::mbarrier_expect(1024, 1024, 142);
        h::tma_load::<_, 0>(0, map, [0, 0], 1024, 143);
        if CASE == 1 {
            d::store::<u32, 1, 1, false, false>(|_| x, true, |_| true, |_| 1, 0, 144);
        }
        h::mbarrier_wait(1024, 0, 145);
    }
    d::barrier(146);
    let stores = d::program_id(0) == if CASE == 2 { 2 } else { 0 };
    d::store::<u32, 1, 1, false, false>(|_| x, false, |_| t == 5 && stores, |_| 1, 0, 147);
}

#[test]
fn loads_race_with_stores_to_the_tensor() {
    let run = |run: Run, grid, seed| {
        let mut x = vec![0u32; 256];
        let map = TensorMap::new(x.as_mut_ptr() as u64, 4, &[64, 4], &[256], &[64, 4], 0);
        program(32, 1032).grid(grid).seed(seed).write(&mut x).scalar(&raw const map as u64).run(run)
    };
    assert!(run(loaded_and_stored::<0>, 1, 0).is_ok());
    let f = run(loaded_and_stored::<1>, 1, 0).unwrap_err();
    assert_eq!((f.kind, f.site), (Kind::AsyncRace, 144), "{f}");
    for seed in 0..5 {
        let f = run(loaded_and_stored::<2>, 3, seed).unwrap_err();
        assert!(f.kind == Kind::AsyncRace && [143, 147].contains(&f.site), "{f}");
    }
}
