//! Asynchronous copies and the memory that threads store to before and after them.

use super::*;
use crate::device as d;
use crate::device::hw as h;
use crate::emulator::TensorMap;

const NONE: u32 = 0;
/// The thread that copied stores before its wait.
const BEFORE_WAIT: u32 = 1;
/// Another thread stores, and the copy is waited for after the barrier.
const WAIT_AFTER: u32 = 2;
/// Another thread stores, and there is no barrier after the wait.
const NO_BARRIER: u32 = 3;

/// Threads copy words to shared memory, and others store to the source.
unsafe fn stored_to_source<const DEFECT: u32>(s: &[u64]) {
    let t = d::thread();
    let store = |to: u32, site| {
        d::store::<u32, 1, 1, false, false>(|_| s[0] + to as u64 * 4, true, |_| true, |_| to + 100, 0, site)
    };
    h::cp_async::<4>(t * 4, s[0] + t as u64 * 4, true, 10);
    h::cp_async_commit(11);
    if DEFECT == BEFORE_WAIT {
        store(t, 12);
    }
    if DEFECT != WAIT_AFTER {
        h::cp_async_wait::<0>(13);
    }
    if DEFECT != NO_BARRIER {
        d::barrier(14);
    }
    store(t ^ 33, 15);
    if DEFECT == WAIT_AFTER {
        h::cp_async_wait::<0>(16);
    }
    let [x] = d::shared_load::<u32, 1, 1>(|_| t * 4, |_| true, 17);
    assert!(DEFECT != NONE || x == t);
}

#[test]
fn copies_read_their_source_until_they_are_waited_for() {
    for seed in 0..4 {
        let run = |kernel: Run| {
            let mut source: Vec<u32> = (0..64).collect();
            program(64, 256).seed(seed).write(&mut source).run(kernel).map(|_| source)
        };
        assert_eq!(run(stored_to_source::<NONE>), Ok((100..164).collect()));
        for (kernel, site) in [
            (stored_to_source::<BEFORE_WAIT> as Run, 12),
            (stored_to_source::<WAIT_AFTER>, 15),
            (stored_to_source::<NO_BARRIER>, 15),
        ] {
            let f = run(kernel).expect_err("the source is stored to too early");
            // Without a barrier the copy may also come after the store.
            let found = (f.site, f.other_site);
            let copy_last = site == 15 && found == (10, Some(15));
            assert!(f.kind == Kind::AsyncRace && (found == (site, Some(10)) || copy_last), "{f}");
        }
    }
}

/// Each program copies a word of its own and then tells that it has; the last one stores to all of them.
unsafe fn source_of_several_programs<const WAITS: bool>(s: &[u64]) {
    let [source, count] = *s else { unreachable!() };
    let (p, n, one) = (d::program_id(0), d::num_programs(0), d::thread() == 0);
    h::cp_async::<4>(d::thread() * 4, source + p * 4, one, 20);
    h::cp_async_commit(21);
    if WAITS {
        h::cp_async_wait::<0>(22);
    }
    let old = d::atomic::<u32, 1, { d::atomic::ADD }>(|_| count, |_| one, |_| 1, false, 23)[0];
    let last = one && old as u64 == n - 1;
    for q in 0..n {
        d::store::<u32, 1, 1, false, false>(|_| source + q * 4, false, |_| last, |_| 0, 0, 24);
    }
    h::cp_async_wait::<0>(25);
}

#[test]
fn copies_of_other_programs_are_waited_for() {
    for seed in 0..4 {
        let run = |kernel: Run| {
            let (mut source, mut count) = ([1u32; 6], [0u32]);
            program(32, 128).grid(6).seed(seed).write(&mut source).write(&mut count).run(kernel).map(|_| source)
        };
        assert_eq!(run(source_of_several_programs::<true>), Ok([0; 6]));
        let f = run(source_of_several_programs::<false>).expect_err("copies may still run");
        assert_eq!((f.kind, f.site, f.other_site), (Kind::AsyncRace, 24, Some(20)), "{f}");
    }
}

/// Threads store to shared memory where a tensor load writes later. `FENCE`: by no thread, all threads, the thread that
/// begins the load, all threads before their stores, and all threads by the fence that is for mbarriers alone.
unsafe fn stored_then_loaded<const FENCE: u32>(s: &[u64]) {
    let [_, map] = *s else { unreachable!() };
    let t = d::thread();
    if t == 0 {
        h::mbarrier_init(1024, 1, 30);
        h::mbarriers_ready(31);
    }
    if FENCE == 3 {
        h::proxy_fence(32);
    }
    d::shared_store::<u32, 4, 4>(|r| t * 16 + r as u32 * 4, |_| true, |_| 0, 33);
    if FENCE == 1 {
        h::proxy_fence(34);
    }
    if FENCE == 4 {
        h::mbarriers_ready(34);
    }
    d::barrier(35);
    if t == 0 {
        if FENCE == 2 {
            h::proxy_fence(36);
        }
        h::mbarrier_expect(1024, 1024, 37);
        h::tma_load::<_, 0>(0, map, [0, 0], 1024, 38);
    }
    h::mbarrier_wait(1024, 0, 39);
    let x = d::shared_load::<u32, 4, 4>(|r| t * 16 + r as u32 * 4, |_| true, 40);
    assert_eq!(x, [4 * t, 4 * t + 1, 4 * t + 2, 4 * t + 3]);
}

#[test]
fn stores_before_a_tensor_load_are_fenced() {
    let source: Vec<u32> = (0..256).collect();
    let map = TensorMap::new(source.as_ptr() as u64, 4, &[64, 4], &[256], &[64, 4], 0);
    for seed in 0..4 {
        let launch = || program(64, 1032).seed(seed).read(&source).scalar(&raw const map as u64);
        launch().passes(stored_then_loaded::<1>);
        for kernel in
            [stored_then_loaded::<0> as Run, stored_then_loaded::<2>, stored_then_loaded::<3>, stored_then_loaded::<4>]
        {
            let f = launch().fails(kernel, Kind::MissingProxyFence, 38);
            assert_eq!(f.other_site, Some(33));
            assert!(f.message.contains("may come before the store of line 33"), "{f}");
        }
    }
}

/// Thread 0 makes an mbarrier, and shows it to the asynchronous proxy before a barrier, or after it; a thread of
/// another warp loads.
unsafe fn shown_late<const LATE: bool>(s: &[u64]) {
    let [_, map] = *s else { unreachable!() };
    let t = d::thread();
    if t == 0 {
        h::mbarrier_init(1024, 1, 50);
    }
    if t == 0 && !LATE {
        h::mbarriers_ready(51);
    }
    d::barrier(52);
    if t == 0 && LATE {
        h::mbarriers_ready(53);
    }
    if t == 32 {
        h::mbarrier_expect(1024, 1024, 54);
        h::tma_load::<_, 0>(0, map, [0, 0], 1024, 55);
    }
    h::mbarrier_wait(1024, 0, 56);
}

#[test]
fn mbarriers_are_shown_before_the_barrier() {
    let source: Vec<u32> = (0..256).collect();
    let map = TensorMap::new(source.as_ptr() as u64, 4, &[64, 4], &[256], &[64, 4], 0);
    for seed in 0..6 {
        let launch = || program(64, 1032).seed(seed).read(&source).scalar(&raw const map as u64);
        launch().passes(shown_late::<false>);
        launch().fails(shown_late::<true>, Kind::Mbarrier, 55);
    }
}

const AFTER: u32 = 0;
const WHILE: u32 = 1;
const UNORDERED: u32 = 2;

/// A tensor load of an array, and a store to one of its elements: after its mbarrier was waited for, before, or by a
/// thread that does not know of the wait.
unsafe fn stored_to_a_loaded_array<const WHEN: u32>(s: &[u64]) {
    let [x, map] = *s else { unreachable!() };
    let t = d::thread();
    if t == 0 {
        h::mbarrier_init(1024, 1, 60);
        h::mbarriers_ready(61);
        h::mbarrier_expect(1024, 1024, 62);
        h::tma_load::<_, 0>(0, map, [0, 0], 1024, 63);
    }
    d::barrier(64);
    let by = if WHEN == UNORDERED { 40 } else { 0 };
    let store = |when: bool| {
        d::store::<u32, 1, 1, false, false>(|_| x + 400, false, |_| when && t == by, |_| 7, 0, 65);
    };
    store(WHEN == WHILE);
    if t == 0 {
        h::mbarrier_wait(1024, 0, 66);
    }
    store(WHEN != WHILE);
}

#[test]
fn tensor_loads_read_their_array_until_the_mbarrier_is_waited_for() {
    for seed in 0..4 {
        let run = |kernel: Run| {
            let mut x = vec![1u32; 256];
            let map = TensorMap::new(x.as_ptr() as u64, 4, &[64, 4], &[256], &[64, 4], 0);
            program(64, 1032).seed(seed).write(&mut x).scalar(&raw const map as u64).run(kernel)
        };
        run(stored_to_a_loaded_array::<AFTER>).unwrap_or_else(|f| panic!("{f}"));
        for kernel in [stored_to_a_loaded_array::<WHILE> as Run, stored_to_a_loaded_array::<UNORDERED>] {
            let f = run(kernel).expect_err("the load may still read it");
            assert_eq!((f.kind, f.site, f.other_site), (Kind::AsyncRace, 65, Some(63)), "{f}");
        }
    }
}

/// Threads store to an array, or add to it, and TMA loads it, or stores there.
unsafe fn global_by_both<const ATOMIC: bool, const LOADS: bool>(s: &[u64]) {
    let [x, map] = *s else { unreachable!() };
    let t = d::thread();
    if t == 0 {
        h::mbarrier_init(1024, 1, 70);
        h::mbarriers_ready(71);
    }
    d::shared_store::<u32, 4, 4>(|r| t * 16 + r as u32 * 4, |_| true, |_| 0, 72);
    if ATOMIC {
        d::atomic::<u32, 1, { d::atomic::ADD }>(|_| x + t as u64 * 4, |_| true, |_| 1, true, 73);
    } else {
        d::store::<u32, 1, 1, false, false>(|_| x + t as u64 * 4, true, |_| true, |_| t, 0, 73);
    }
    h::proxy_fence(74);
    d::barrier(75);
    if t == 0 && LOADS {
        h::mbarrier_expect(1024, 1024, 76);
        h::tma_load::<_, 0>(0, map, [0, 0], 1024, 77);
        h::mbarrier_wait(1024, 0, 78);
    } else if t == 0 {
        h::tma_store::<2, 0>(0, map, [0, 0], true, 77);
        h::tma_store_wait(79);
    }
}

/// The device library has a proxy fence of shared memory alone.
#[test]
fn stores_to_global_memory_are_not_seen_by_tma_of_the_same_launch() {
    for seed in 0..4 {
        for (kernel, says) in [
            (global_by_both::<false, true> as Run, "may not see the store of line 73"),
            (global_by_both::<true, true>, "may not see the atomic of line 73"),
            (global_by_both::<false, false>, "may come before the store of line 73"),
        ] {
            let mut x = vec![1u32; 256];
            let map = TensorMap::new(x.as_ptr() as u64, 4, &[64, 4], &[256], &[64, 4], 0);
            let launch = program(64, 1032).seed(seed).write(&mut x).scalar(&raw const map as u64);
            let f = launch.fails(kernel, Kind::MissingProxyFence, 77);
            assert_eq!(f.other_site, Some(73));
            assert!(f.message.contains(says), "{f}");
        }
    }
}

/// TMA stores an array, and then threads load it, or TMA does.
unsafe fn stored_by_tma<const BY_TMA: bool>(s: &[u64]) {
    let [x, map] = *s else { unreachable!() };
    let t = d::thread();
    if t == 0 {
        h::mbarrier_init(1024, 1, 80);
        h::mbarriers_ready(81);
    }
    d::shared_store::<u32, 4, 4>(|r| t * 16 + r as u32 * 4, |_| true, |_| t, 82);
    h::proxy_fence(83);
    d::barrier(84);
    if t == 0 {
        h::tma_store::<2, 0>(0, map, [0, 0], true, 85);
        h::tma_store_wait(86);
    }
    d::barrier(87);
    if BY_TMA && t == 0 {
        h::mbarrier_expect(1024, 1024, 88);
        h::tma_load::<_, 0>(0, map, [0, 0], 1024, 89);
    }
    if BY_TMA {
        h::mbarrier_wait(1024, 0, 90);
    }
    let [v] = d::load::<u32, 1, 1, false, false>(|_| x + t as u64 * 16, true, |_| true, |_| 0, 0, 91);
    assert_eq!(v, t);
}

#[test]
fn what_tma_has_stored_everybody_may_load() {
    for kernel in [stored_by_tma::<false> as Run, stored_by_tma::<true>] {
        let mut x = vec![1u32; 256];
        let map = TensorMap::new(x.as_ptr() as u64, 4, &[64, 4], &[256], &[64, 4], 0);
        program(64, 1032).write(&mut x).scalar(&raw const map as u64).passes(kernel);
    }
}

/// Thread 0 of CTA 0 stores to the memory of CTA 1, which stores it to the array by TMA; or CTA 1 stores it itself.
unsafe fn stored_from_another_cta<const OWN: bool>(s: &[u64]) {
    let [_, map] = *s else { unreachable!() };
    let (t, rank) = (d::thread(), h::cluster_rank());
    d::shared_store::<u32, 4, 4>(|r| t * 16 + r as u32 * 4, |_| true, |_| 5, 92);
    h::proxy_fence(93);
    h::cluster_sync(94);
    if t == 0 && rank == OWN as u32 {
        h::cluster_store(1, 0, true, 7u32, 95);
        h::proxy_fence(96);
    }
    h::cluster_sync(97);
    if t == 0 && rank == 1 {
        h::tma_store::<2, 0>(0, map, [0, 0], true, 98);
        h::tma_store_wait(99);
    }
}

#[test]
fn a_proxy_fence_is_for_the_memory_of_its_own_cta() {
    for seed in 0..4 {
        let run = |kernel: Run| {
            let mut x = vec![1u32; 256];
            let map = TensorMap::new(x.as_ptr() as u64, 4, &[64, 4], &[256], &[64, 4], 0);
            program(64, 1024).ctas(2).seed(seed).write(&mut x).scalar(&raw const map as u64).run(kernel).map(|_| x[0])
        };
        assert_eq!(run(stored_from_another_cta::<true>), Ok(7));
        let f = run(stored_from_another_cta::<false>).expect_err("the fence is for CTA 0");
        assert_eq!((f.kind, f.site, f.other_site), (Kind::MissingProxyFence, 98, Some(95)), "{f}");
    }
}
