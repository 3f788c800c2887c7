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
/// begins the load, and all threads before their stores.
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
        for kernel in [stored_then_loaded::<0> as Run, stored_then_loaded::<2>, stored_then_loaded::<3>] {
            let f = launch().fails(kernel, Kind::MissingProxyFence, 38);
            assert_eq!(f.other_site, Some(33));
            assert!(f.message.contains("may come before the store of line 33"), "{f}");
        }
    }
}
