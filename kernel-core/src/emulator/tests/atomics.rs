//! Races of loads and stores with atomics at the same word, and waits by atomics.

use super::*;
use crate::device as d;
use crate::device::hw as h;

unsafe fn add(at: u64, v: u32, ok: bool, relaxed: bool, site: u32) -> u32 {
    d::atomic::<u32, 1, { d::atomic::ADD }>(|_| at, |_| ok, |_| v, relaxed, site)[0]
}

unsafe fn atomic_load(at: u64, ok: bool, relaxed: bool, site: u32) -> u32 {
    d::atomic::<u32, 1, { d::atomic::LOAD }>(|_| at, |_| ok, |_| 0, relaxed, site)[0]
}

unsafe fn atomic_store(at: u64, v: u32, ok: bool, relaxed: bool, site: u32) {
    d::atomic::<u32, 1, { d::atomic::STORE }>(|_| at, |_| ok, |_| v, relaxed, site);
}

unsafe fn load(at: u64, ok: bool, site: u32) -> u32 {
    d::load::<u32, 1, 1, false, false>(|_| at, false, |_| ok, |_| 0, 0, site)[0]
}

unsafe fn store(at: u64, v: u32, ok: bool, site: u32) {
    d::store::<u32, 1, 1, false, false>(|_| at, false, |_| ok, |_| v, 0, site);
}

const RELEASE: u32 = 0;
const RELAXED: u32 = 1;
const FENCED: u32 = 2;

/// Each program adds to a sum, then to a count; the last one reads the sum, or stores zero there.
unsafe fn sum_then_count<const ORDER: u32, const STORES: bool>(s: &[u64]) {
    let [sum, count, out] = *s else { unreachable!() };
    let (p, n, one) = (d::program_id(0), d::num_programs(0), d::thread() == 0);
    add(sum, p as u32, one, true, 10);
    if ORDER == FENCED && one {
        d::fence();
    }
    let old = add(count, 1, one, ORDER != RELEASE, 11);
    if ORDER == FENCED && one {
        d::fence();
    }
    let last = one && old as u64 == n - 1;
    if STORES {
        store(sum, 0, last, 12);
    } else {
        store(out, load(sum, last, 12), last, 13);
    }
}

#[test]
fn each_programs_atomics_are_remembered() {
    let run = |kernel: Run, programs, seed| {
        let (mut sum, mut count, mut out) = ([0u32], [0u32], [0u32]);
        let launch = program(32, 0).grid(programs).write(&mut sum).write(&mut count).write(&mut out);
        launch.seed(seed).run(kernel).map(|_| out[0]).map_err(|f| (f.kind, f.site, f.other_site))
    };
    let race = Err((Kind::GlobalRace, 12, Some(10)));
    for seed in 0..4 {
        for (programs, sum) in [(2, 1), (5, 10), (300, 44850)] {
            assert_eq!(run(sum_then_count::<RELEASE, false>, programs, seed), Ok(sum));
            assert_eq!(run(sum_then_count::<FENCED, false>, programs, seed), Ok(sum));
            assert_eq!(run(sum_then_count::<RELAXED, false>, programs, seed), race);
            assert_eq!(run(sum_then_count::<RELEASE, true>, programs, seed), Ok(0));
            assert_eq!(run(sum_then_count::<RELAXED, true>, programs, seed), race);
        }
    }
}

/// Programs look at a word by atomic loads; one that also adds to it stores there.
unsafe fn looked_at(s: &[u64]) {
    let (p, one) = (d::program_id(0), d::thread() == 0);
    atomic_load(s[0], one, true, 20);
    add(s[0], 1, one && p == 3, true, 21);
    store(s[0], 7, one && p == 3, 22);
}

#[test]
fn atomic_loads_before_an_atomic_are_remembered() {
    let mut x = [0u32];
    let f = program(32, 0).grid(4).write(&mut x).fails(looked_at, Kind::GlobalRace, 22);
    assert_eq!(f.other_site, Some(20));
}

/// Program 0 loads or stores a word and then adds to it, as all programs do. They know of it by a flag, or not.
unsafe fn before_an_atomic<const STORES: bool, const FLAG: bool>(s: &[u64]) {
    let [x, flag] = *s else { unreachable!() };
    let (p, one) = (d::program_id(0), d::thread() == 0);
    let first = one && p == 0;
    if STORES {
        store(x, 5, first, 30);
    } else {
        load(x, first, 30);
    }
    add(x, 1, first, true, 31);
    if FLAG {
        add(flag, 1, one, false, 32);
    }
    d::barrier(33);
    add(x, 1, d::thread() == 40, true, 34);
}

#[test]
fn an_atomic_hides_no_access_of_its_own_thread() {
    let run = |kernel: Run| {
        let (mut x, mut flag) = ([0u32], [0u32]);
        program(64, 0).grid(5).write(&mut x).write(&mut flag).run(kernel).map(|_| x[0])
    };
    assert_eq!(run(before_an_atomic::<true, true>), Ok(11));
    assert_eq!(run(before_an_atomic::<false, true>), Ok(6));
    for kernel in [before_an_atomic::<true, false> as Run, before_an_atomic::<false, false>] {
        let f = run(kernel).expect_err("other programs are not ordered with program 0");
        assert_eq!((f.kind, f.site, f.other_site), (Kind::GlobalRace, 34, Some(30)), "{f}");
    }
}

/// Each program stores to a word and tells by an atomic there, where the next one waits for it.
unsafe fn handed_on<const RELAXED: bool>(s: &[u64]) {
    let (p, one) = (d::program_id(0), d::thread() == 0);
    // Whoever takes its turn has acquired the word itself.
    let turn = add(s[0], 0, one, RELAXED, 40) as u64;
    assert!(!one || turn == 10 * p);
    store(s[0], 10 * p as u32 + 9, one, 41);
    add(s[0], 1, one, false, 42);
}

#[test]
fn a_word_may_be_its_own_flag() {
    let mut x = [0u32];
    program(32, 0).grid(5).write(&mut x).passes(handed_on::<false>);
    assert_eq!(x, [50]);
    let f = program(32, 0).grid(5).write(&mut [0u32]).fails(handed_on::<true>, Kind::GlobalRace, 40);
    assert_eq!(f.other_site, Some(41));
}

/// A lock guards a count that is loaded and stored, and one that only atomics add to until the lock guards it, too.
unsafe fn locked<const OUTSIDE: bool>(s: &[u64]) {
    let [lock, count, adds] = *s else { unreachable!() };
    let (p, n, one) = (d::program_id(0), d::num_programs(0), d::thread() == 33);
    while one && d::atomic_cas::<u32, 1>(|_| lock, |_| true, |_| 0, |_| 1, false, 50)[0] != 0 {}
    store(count, load(count, one, 51) + 1, one, 52);
    add(adds, 1, one && !OUTSIDE, true, 53);
    store(count, load(adds, one && p == n - 1, 54), one && p == n - 1, 55);
    atomic_store(lock, 0, one, false, 56);
    add(adds, 1, one && OUTSIDE, true, 57);
}

#[test]
fn locks_order_atomics() {
    for seed in 0..4 {
        let run = |kernel: Run| {
            let (mut lock, mut count, mut adds) = ([0u32], [0u32], [0u32]);
            let launch = program(64, 0).grid(200).write(&mut lock).write(&mut count).write(&mut adds);
            launch.seed(seed).run(kernel)
        };
        run(locked::<false>).unwrap_or_else(|f| panic!("{f}"));
        let f = run(locked::<true>).expect_err("the lock does not guard the atomics");
        assert!(f.kind == Kind::GlobalRace && [54, 57].contains(&f.site), "{f}");
    }
}

/// Threads of two warps add to a word, which a third one then loads; others stored halves of it before.
unsafe fn of_several_warps<const BARRIER: bool>(s: &[u64]) {
    let t = d::thread();
    for half in 0..2u32 {
        let (at, ok) = (s[0] + half as u64 * 2, t == 8 * half);
        d::store::<u16, 1, 1, false, false>(|_| at, false, |_| ok, |_| 1, 0, 60);
    }
    d::barrier(61);
    add(s[0], 1, t % 32 == 5 && t < 64, true, 62);
    if BARRIER {
        d::barrier(63);
    }
    let v = load(s[0], t == 70, 64);
    assert!(t != 70 || v == 0x1_0003 || !BARRIER);
}

#[test]
fn barriers_order_atomics() {
    for seed in 0..4 {
        program(96, 0).seed(seed).write(&mut [0u32]).passes(of_several_warps::<true>);
        let f = program(96, 0).seed(seed).write(&mut [0u32]).run(of_several_warps::<false>).unwrap_err();
        assert!(f.kind == Kind::GlobalRace && [62, 64].contains(&f.site), "{f}");
    }
}

/// Thread 0 waits for the last thread, without a barrier; that one first looks at the word many times itself.
unsafe fn within_the_program<const STORES: bool>(s: &[u64]) {
    let (t, last) = (d::thread(), 95);
    for _ in 0..if t == last { 100_000 } else { 0 } {
        atomic_load(s[0], true, true, 70);
    }
    atomic_store(s[0], 1, STORES && t == last, true, 71);
    while t == 0 && atomic_load(s[0], true, true, 72) == 0 {}
}

#[test]
fn threads_of_a_program_wait_for_each_other() {
    for seed in 0..3 {
        program(96, 0).seed(seed).write(&mut [0u32]).passes(within_the_program::<true>);
    }
    program(96, 0).write(&mut [0u32]).fails(within_the_program::<false>, Kind::EndlessWait, 72);
}

/// Every lane loads one word again and again, and stores nothing until its end.
unsafe fn many_loads(s: &[u64]) {
    let mut sum = 0;
    for _ in 0..200_000 {
        sum += atomic_load(s[0], true, false, 80);
    }
    store(s[1] + d::thread() as u64 * 4, sum, true, 81);
}

#[test]
fn a_long_loop_of_loads_is_no_wait() {
    let mut out = [0u32; 4];
    program(4, 0).read(&[2u32]).write(&mut out).passes(many_loads);
    assert_eq!(out, [400_000; 4]);
}

/// Programs add to a sum, then to a count; the first one's addition to the count orders nothing.
unsafe fn one_orders_nothing(s: &[u64]) {
    let [sum, count] = *s else { unreachable!() };
    let (p, n, one) = (d::program_id(0), d::num_programs(0), d::thread() == 0);
    add(sum, 1, one, true, 90);
    let old = add(count, 1, one, p == 0, 91);
    load(sum, one && old as u64 == n - 1, 92);
}

#[test]
fn atomics_of_early_programs_are_remembered() {
    for (programs, seed) in [(2, 0), (300, 0), (300, 1), (1500, 0)] {
        let (mut sum, mut count) = ([0u32], [0u32]);
        let launch = program(32, 0).grid(programs).seed(seed).write(&mut sum).write(&mut count);
        let f = launch.fails(one_orders_nothing, Kind::GlobalRace, 92);
        assert_eq!(f.other_site, Some(90));
    }
}

/// A thread of each of three warps adds to a word, loads it, or loads it by an atomic. Two or three of the warps meet,
/// and one of them tells program 1, which loads or stores there.
unsafe fn three_warps<const OP: u32, const MEET: u32>(s: &[u64]) {
    let [x, flag] = *s else { unreachable!() };
    let (t, first) = (d::thread(), d::program_id(0) == 0);
    let here = first && t % 32 == 5;
    match OP {
        0 => _ = add(x, 1, here, true, 100),
        1 => _ = load(x, here, 100),
        _ => _ = atomic_load(x, here, true, 100),
    }
    if first && t < MEET {
        h::group_barrier(1, MEET, 101);
    }
    add(flag, 1, first && t == 40, false, 102);
    let told = add(flag, 0, !first && t == 0, false, 103) == 1;
    if OP == 0 {
        load(x, told, 104);
    } else {
        store(x, 7, told, 104);
    }
}

#[test]
fn each_warp_of_another_program_is_remembered() {
    let mut raced = 0;
    for seed in 0..8 {
        let run = |kernel: Run| {
            let (mut x, mut flag) = ([0u32], [0u32]);
            let launch = program(96, 0).grid(2).seed(seed).write(&mut x).write(&mut flag);
            launch.run(kernel).map_err(|f| (f.kind, f.site, f.other_site))
        };
        for (kernel, ordered) in [
            (three_warps::<0, 64> as Run, three_warps::<0, 96> as Run),
            (three_warps::<1, 64>, three_warps::<1, 96>),
            (three_warps::<2, 64>, three_warps::<2, 96>),
        ] {
            run(ordered).unwrap_or_else(|f| panic!("seed {seed}: {f:?}"));
            // In some other order nobody tells.
            match run(kernel) {
                Ok(_) => {}
                Err(f) => {
                    assert_eq!(f, (Kind::GlobalRace, 104, Some(100)));
                    raced += 1;
                }
            }
        }
        if seed == 0 {
            assert_eq!(raced, 3);
        }
    }
    assert!(raced >= 9, "{raced}");
}

/// Program 0 stores, and exchanges a flag if it has a certain value; program 1 looks at the flag and loads.
unsafe fn exchanged<const FAILS: bool>(s: &[u64]) {
    let [data, flag] = *s else { unreachable!() };
    let (p, one) = (d::program_id(0), d::thread() == 0);
    store(data, 7, one && p == 0, 110);
    d::atomic_cas::<u32, 1>(|_| flag, |_| one && p == 0, |_| if FAILS { 5 } else { 0 }, |_| 1, false, 111);
    let seen = add(flag, 0, one && p == 1, false, 112);
    assert!(p == 0 || !one || seen == !FAILS as u32);
    load(data, one && p == 1, 113);
}

#[test]
fn an_exchange_that_fails_releases_nothing() {
    let run = |kernel: Run| {
        let (mut data, mut flag) = ([0u32], [0u32]);
        program(32, 0).grid(2).write(&mut data).write(&mut flag).run(kernel)
    };
    run(exchanged::<false>).unwrap_or_else(|f| panic!("{f}"));
    let f = run(exchanged::<true>).expect_err("nothing was written");
    assert_eq!((f.kind, f.site, f.other_site), (Kind::GlobalRace, 113, Some(110)), "{f}");
}

/// Atomics of 8 bytes, and of a half of them, of one program or in turns.
unsafe fn halves<const BARRIER: bool, const LOADS: bool>(s: &[u64]) {
    let t = d::thread();
    d::atomic::<u64, 1, { d::atomic::ADD }>(|_| s[0], |_| t == 0, |_| 1, true, 120);
    if BARRIER {
        d::barrier(121);
    }
    if LOADS {
        atomic_load(s[0] + 4, t == 33, true, 122);
    } else {
        add(s[0] + 4, 1, t == 33, true, 122);
    }
}

#[test]
fn atomics_of_different_sizes_race() {
    for seed in 0..4 {
        program(64, 0).seed(seed).write(&mut [0u64]).passes(halves::<true, false>);
        program(64, 0).seed(seed).write(&mut [0u64]).passes(halves::<true, true>);
        for kernel in [halves::<false, false> as Run, halves::<false, true>] {
            let f = program(64, 0).seed(seed).write(&mut [0u64]).run(kernel).expect_err("they overlap in part");
            assert!(f.kind == Kind::GlobalRace && [120, 122].contains(&f.site), "{f}");
        }
    }
}

/// A thread waits for another one, which first loads a word so often that it might wait itself.
unsafe fn waits_for_long_work(s: &[u64]) {
    let (t, last) = (d::thread(), d::thread() == 40);
    for _ in 0..if last { 3 << 20 } else { 0 } {
        atomic_load(s[1], true, false, 130);
    }
    atomic_store(s[0], 1, last, true, 131);
    while t == 0 && atomic_load(s[0], true, true, 132) == 0 {}
}

#[test]
fn millions_of_loads_are_no_wait() {
    program(64, 0).write(&mut [0u32]).read(&[0u32]).passes(waits_for_long_work);
}
