//! Data races, in shared and in global memory.

use super::*;
use crate::device as d;

/// Each thread writes a word and reads its neighbor's.
unsafe fn neighbor<const SYNC: u32>(s: &[u64]) {
    let t = d::thread();
    d::shared_store::<u32, 1, 1>(|_| t * 4, |_| true, |_| t, 10);
    match SYNC {
        1 => d::barrier(11),
        2 => d::warp_barrier(11),
        3 => _ = d::shuffle_xor(t, 1, 11),
        _ => {}
    }
    // The neighbor within the warp, or within the program.
    let other = if s[0] == 0 { t ^ 1 } else { t ^ 32 };
    d::shared_load::<u32, 1, 1>(|_| other * 4, |_| true, 12);
}

const NONE: u32 = 0;
const BLOCK: u32 = 1;
const WARP: u32 = 2;
const SHUFFLE: u32 = 3;

#[test]
fn shared_write_then_read() {
    for (far, kernels) in
        [(0, [neighbor::<BLOCK> as Run, neighbor::<WARP>]), (1, [neighbor::<BLOCK>, neighbor::<BLOCK>])]
    {
        for run in kernels {
            program(64, 256).scalar(far).passes(run);
        }
    }
    // In ascending order a thread reads before its neighbor has written.
    let racy = |far| program(64, 256).scalar(far).options(|o| o.uninitialized = false);
    let f = racy(1).fails(neighbor::<NONE>, Kind::SharedRace, 10);
    assert_eq!((f.other_site, f.threads), (Some(12), vec![32, 0]));
    let f = racy(0).fails(neighbor::<NONE>, Kind::SharedRace, 10);
    assert_eq!((f.other_site, f.threads), (Some(12), vec![1, 0]));
    racy(1).fails(neighbor::<WARP>, Kind::SharedRace, 10);
    let f = program(64, 256).scalar(1).fails(neighbor::<NONE>, Kind::SharedUninitialized, 12);
    assert_eq!(f.threads, [0]);
}

#[test]
fn shuffles_order_memory_only_on_request() {
    program(64, 256).scalar(0).fails(neighbor::<SHUFFLE>, Kind::SharedRace, 12);
    program(64, 256).scalar(0).options(|o| o.shuffles_order_memory = true).passes(neighbor::<SHUFFLE>);
}

/// A buffer used twice: the second round's writes must wait for the first round's reads.
unsafe fn reuse<const BETWEEN: bool>(_: &[u64]) {
    let t = d::thread();
    for round in 0..2 {
        d::shared_store::<u32, 1, 1>(|_| t * 4, |_| true, |_| t + round, 20);
        d::barrier(21);
        d::shared_load::<u32, 1, 1>(|_| (t + 33) % 64 * 4, |_| true, 22);
        if BETWEEN {
            d::barrier(23);
        }
    }
}

#[test]
fn shared_read_then_write() {
    program(64, 256).seed(5).passes(reuse::<true>);
    for seed in 0..20 {
        let f = program(64, 256).seed(seed).run(reuse::<false>).unwrap_err();
        assert_eq!(f.kind, Kind::SharedRace);
        assert!([20, 22].contains(&f.site), "{f}");
    }
}

/// Many readers, then one writer of the same warp as the last of them.
unsafe fn many_readers<const BARRIER: bool>(_: &[u64]) {
    let t = d::thread();
    d::shared_store::<u32, 1, 1>(|_| 0, |_| t == 0, |_| 1, 30);
    d::barrier(31);
    d::shared_load::<u32, 1, 1>(|_| 0, |_| true, 32);
    if BARRIER {
        d::barrier(33)
    } else {
        d::warp_barrier(33)
    }
    d::shared_store::<u32, 1, 1>(|_| 0, |_| t == 127, |_| 2, 34);
}

#[test]
fn readers_of_other_warps_are_remembered() {
    for seed in 0..20 {
        program(128, 16).seed(seed).passes(many_readers::<true>);
        assert_eq!(program(128, 16).seed(seed).run(many_readers::<false>).unwrap_err().kind, Kind::SharedRace);
    }
}

/// Neighboring bytes of one word by different threads, then the word by one of them.
unsafe fn bytes_of_a_word<const WHOLE: bool>(_: &[u64]) {
    let t = d::thread();
    d::shared_store::<u8, 1, 1>(|_| t, |_| true, |_| t as u8, 40);
    d::shared_load::<u32, 1, 1>(|_| t & !3, |_| WHOLE, 41);
}

#[test]
fn bytes_of_a_word_are_separate() {
    program(32, 32).passes(bytes_of_a_word::<false>);
    program(32, 32).options(|o| o.uninitialized = false).fails(bytes_of_a_word::<true>, Kind::SharedRace, 40);
}

/// All threads store to one place: the same value, or each its own.
unsafe fn one_place(s: &[u64]) {
    let t = d::thread();
    d::store::<u32, 1, 1, false, false>(|_| s[0], true, |_| true, |_| if s[1] == 1 { t } else { 7 }, 0, 50);
}

#[test]
fn stores_of_equal_values_are_tolerated_on_request_alone() {
    let mut out = [0u32];
    program(64, 0).write(&mut out).scalar(0).fails(one_place, Kind::GlobalRace, 50);
    let tolerant = |o: &mut Options| o.forbid_same_value_stores = false;
    let report = program(64, 0).write(&mut out).scalar(0).options(tolerant).passes(one_place);
    assert_eq!(report.same_value_stores, 63);
    program(64, 0).write(&mut out).scalar(1).options(tolerant).fails(one_place, Kind::GlobalRace, 50);
}

/// Each program stores its number: all to one place, or each to its own.
unsafe fn numbers(s: &[u64]) {
    let (first, program) = (d::thread() == 0, d::program_id(0));
    d::store::<u32, 1, 1, false, false>(|_| s[0] + program * s[1], false, |_| first, |_| program as u32, 0, 51);
}

#[test]
fn stores_of_several_programs_to_one_place_race() {
    let mut out = [0u32; 4];
    program(32, 0).grid(4).write(&mut out).scalar(4).passes(numbers);
    program(32, 0).grid(4).write(&mut out).scalar(0).fails(numbers, Kind::GlobalRace, 51);
}

/// In place over programs: each writes its own part and reads its own, or its neighbor's.
unsafe fn in_place(s: &[u64]) {
    let [x, shift] = *s else { unreachable!() };
    let at = |shift: u64| x + (d::program_id(0) * 32 + d::thread() as u64 + shift) * 4;
    let v = d::load::<u32, 1, 1, false, false>(|_| at(shift), true, |_| true, |_| 0, 0, 60);
    d::barrier(61);
    d::store::<u32, 1, 1, false, false>(|_| at(0), true, |_| true, |_| v[0] + 1, 0, 62);
}

#[test]
fn programs_do_not_wait_for_one_another() {
    let mut x = vec![0u32; 32 * 9];
    program(32, 0).grid(8).write(&mut x).scalar(0).seed(4).passes(in_place);
    for seed in 0..10 {
        let f = program(32, 0).grid(8).write(&mut x).scalar(32).seed(seed).run(in_place).unwrap_err();
        assert_eq!(f.kind, Kind::GlobalRace);
        assert!(f.message.contains("of program"), "{f}");
    }
}

/// Within a program: a store that other threads read after a barrier, or without.
unsafe fn through_global<const BARRIER: bool>(s: &[u64]) {
    let t = d::thread() as u64;
    d::store::<u32, 1, 1, false, false>(|_| s[0] + t * 4, true, |_| true, |_| t as u32, 0, 70);
    if BARRIER {
        d::barrier(71);
    }
    d::load::<u32, 1, 1, false, false>(|_| s[0] + (63 - t) * 4, true, |_| true, |_| 0, 0, 72);
}

#[test]
fn global_memory_within_a_program() {
    let mut x = vec![0u32; 64];
    program(64, 0).fresh(&mut x).passes(through_global::<true>);
    program(64, 0).write(&mut x).fails(through_global::<false>, Kind::GlobalRace, 70);
}

const RELEASE: u32 = 0;
const RELAXED: u32 = 1;
const FENCED: u32 = 2;

/// Each program leaves a partial result; the last to arrive adds them up.
unsafe fn last_arriver<const ORDERING: u32, const BARRIERS: bool>(s: &[u64]) {
    let [parts, count, out] = *s else { unreachable!() };
    let (t, p, n) = (d::thread(), d::program_id(0), d::num_programs(0));
    d::store::<u64, 1, 1, false, false>(|_| parts + p * 8, false, |_| t == 33, |_| p, 0, 80);
    if BARRIERS {
        d::barrier(81);
    }
    if ORDERING == FENCED && t == 0 {
        d::fence();
    }
    let old = d::atomic::<u32, 1, { d::atomic::ADD }>(|_| count, |_| t == 0, |_| 1, ORDERING != RELEASE, 82);
    if ORDERING == FENCED && t == 0 {
        d::fence();
    }
    d::shared_store::<u32, 1, 1>(|_| 0, |_| t == 0, |_| old[0], 83);
    d::barrier(84);
    let last = d::shared_load::<u32, 1, 1>(|_| 0, |_| true, 85)[0] as u64 == n - 1;
    let mut sum = 0;
    for q in 0..if last { n } else { 0 } {
        sum += d::load::<u64, 1, 1, false, false>(|_| parts + q * 8, true, |_| true, |_| 0, 0, 86)[0];
    }
    d::store::<u64, 1, 1, false, false>(|_| out, false, |_| last && t == 5, |_| sum, 0, 87);
}

#[test]
fn atomics_order_programs() {
    let run = |kernel: Run, seed| {
        let (mut parts, mut count, mut out) = (vec![0u64; 20], [0u32], [0u64]);
        let result =
            program(64, 16).grid(20).fresh(&mut parts).write(&mut count).write(&mut out).seed(seed).run(kernel);
        result.map(|_| out[0]).map_err(|f| (f.kind, f.site))
    };
    for seed in [0, 1, 2] {
        assert_eq!(run(last_arriver::<RELEASE, true>, seed), Ok(190));
        assert_eq!(run(last_arriver::<FENCED, true>, seed), Ok(190));
        assert_eq!(run(last_arriver::<RELAXED, true>, seed), Err((Kind::GlobalRace, 86)));
        assert_eq!(run(last_arriver::<RELEASE, false>, seed), Err((Kind::GlobalRace, 86)));
    }
}

/// An atomic and a plain load of the same word.
unsafe fn mixed(s: &[u64]) {
    let t = d::thread();
    d::atomic::<u32, 1, { d::atomic::ADD }>(|_| s[0], |_| t < 32, |_| 1, true, 90);
    d::load::<u32, 1, 1, false, false>(|_| s[0], false, |_| t >= 32 && s[1] == 1, |_| 0, 0, 91);
}

#[test]
fn atomics_do_not_race_with_each_other() {
    let mut x = [0u32];
    program(64, 0).write(&mut x).scalar(0).passes(mixed);
    program(64, 0).write(&mut x).scalar(1).fails(mixed, Kind::GlobalRace, 91);
}

/// Program 0 stores and tells program 1 by one word, which tells program 2 by another, which reads.
unsafe fn message_passed_on(s: &[u64]) {
    let [data, first, second] = *s else { unreachable!() };
    let (t, p) = (d::thread(), d::program_id(0));
    d::store::<u32, 1, 1, false, false>(|_| data, false, |_| p == 0 && t == 0, |_| 7, 0, 100);
    d::barrier(101);
    d::atomic::<u32, 1, { d::atomic::ADD }>(|_| first, |_| p < 2 && t == 0, |_| 1, false, 102);
    d::barrier(103);
    d::atomic::<u32, 1, { d::atomic::ADD }>(|_| second, |_| p > 0 && t == 40, |_| 1, false, 104);
    d::barrier(105);
    d::load::<u32, 1, 1, false, false>(|_| data, false, |_| p == 2, |_| 0, 0, 106);
}

#[test]
fn order_passes_through_third_programs() {
    let run = |seed| {
        let (mut data, mut flags) = ([0u32], [0u32; 2]);
        let second = &raw mut flags[1] as u64;
        program(64, 0).grid(3).seed(seed).write(&mut data).write(&mut flags).scalar(second).run(message_passed_on)
    };
    assert_eq!(run(0).map(|r| r.programs), Ok(3));
    // In some other order nobody passes it on.
    let failed = (1..10).filter_map(|seed| run(seed).err());
    let kinds: Vec<Kind> = failed.map(|f| f.kind).collect();
    assert!(!kinds.is_empty() && kinds.iter().all(|&k| k == Kind::GlobalRace));
}

/// Program 0 stores and sets a flag by an atomic store; the last program to begin reads the flag by an atomic load, and
/// then the data.
unsafe fn store_and_flag<const RELAXED_STORE: bool, const RELAXED_LOAD: bool, const AGAIN: bool>(s: &[u64]) {
    let [ticket, data, flag, out] = *s else { unreachable!() };
    let (t, p, n) = (d::thread(), d::program_id(0), d::num_programs(0));
    let one = |_: usize| t == 0;
    let order = d::atomic::<u32, 1, { d::atomic::ADD }>(|_| ticket, one, |_| 1, true, 110);
    d::store::<u32, 1, 1, false, false>(|_| data, false, |_| p == 0 && t == 0, |_| 7, 0, 111);
    d::atomic::<u32, 1, { d::atomic::STORE }>(|_| flag, |_| p == 0 && t == 0, |_| 1, RELAXED_STORE, 112);
    // A program that sees this store has not seen the writes before the other one.
    d::atomic::<u32, 1, { d::atomic::STORE }>(|_| flag, |_| AGAIN && p == 1 && t == 0, |_| 1, false, 113);
    let last = order[0] as u64 == n - 1;
    while last && t == 0 && d::atomic::<u32, 1, { d::atomic::LOAD }>(|_| flag, one, |_| 0, RELAXED_LOAD, 114)[0] == 0 {}
    let v = d::load::<u32, 1, 1, false, false>(|_| data, false, |_| last && t == 0, |_| 0, 0, 115);
    d::store::<u32, 1, 1, false, false>(|_| out, false, |_| last && t == 0, |_| v[0], 0, 116);
}

#[test]
fn atomic_stores_release_and_loads_acquire() {
    let run = |kernel: Run, seed| {
        let (mut ticket, mut data, mut flag, mut out) = ([0u32], [0u32], [0u32], [0u32]);
        let result = program(32, 0)
            .grid(3)
            .write(&mut ticket)
            .write(&mut data)
            .write(&mut flag)
            .write(&mut out)
            .seed(seed)
            .run(kernel);
        result.map(|_| out[0]).map_err(|f| (f.kind, f.site))
    };
    let race = Err((Kind::GlobalRace, 115));
    // In ascending order the last program to begin is not the one that sets the flag.
    for seed in [0, 1, 2] {
        assert_eq!(run(store_and_flag::<false, false, false>, seed), Ok(7));
    }
    assert_eq!(run(store_and_flag::<true, false, false>, 0), race);
    assert_eq!(run(store_and_flag::<false, true, false>, 0), race);
    assert_eq!(run(store_and_flag::<false, false, true>, 0), race);
}

/// An atomic store or load, and a plain access of the same word by another thread.
unsafe fn plain_beside<const OP: u32, const STORES: bool>(s: &[u64]) {
    let t = d::thread();
    d::atomic::<u32, 1, OP>(|_| s[0], |_| t < 32, |_| 1, true, 120);
    d::load::<u32, 1, 1, false, false>(|_| s[0], false, |_| !STORES && t >= 32, |_| 0, 0, 121);
    d::store::<u32, 1, 1, false, false>(|_| s[0], false, |_| STORES && t >= 32, |_| 3, 0, 122);
}

#[test]
fn atomic_loads_race_with_stores_alone() {
    let mut x = [0u32];
    program(64, 0).write(&mut x).passes(plain_beside::<{ d::atomic::LOAD }, false>);
    program(64, 0).write(&mut x).fails(plain_beside::<{ d::atomic::LOAD }, true>, Kind::GlobalRace, 122);
    program(64, 0).write(&mut x).fails(plain_beside::<{ d::atomic::STORE }, false>, Kind::GlobalRace, 121);
    program(64, 0).write(&mut x).fails(plain_beside::<{ d::atomic::STORE }, true>, Kind::GlobalRace, 122);
}

/// Waits for the program with the next number, or for the one before.
unsafe fn wait_for_a_neighbor<const NEXT: bool>(s: &[u64]) {
    let (t, p, n) = (d::thread(), d::program_id(0), d::num_programs(0));
    d::atomic::<u32, 1, { d::atomic::STORE }>(|_| s[0] + p * 4, |_| t == 0, |_| 1, true, 130);
    let other = if NEXT { (p + 1).min(n - 1) } else { p.saturating_sub(1) };
    while t == 0 && d::atomic::<u32, 1, { d::atomic::LOAD }>(|_| s[0] + other * 4, |_| true, |_| 0, true, 131)[0] == 0 {
    }
}

#[test]
fn a_wait_for_a_program_that_may_begin_later() {
    let mut flags = [0u32; 8];
    program(32, 0).grid(8).write(&mut flags).passes(wait_for_a_neighbor::<false>);
    let mut flags = [0u32; 8];
    let f = program(32, 0).grid(8).write(&mut flags).fails(wait_for_a_neighbor::<true>, Kind::EndlessWait, 131);
    assert!(f.message.contains("began before it") && f.program == [0, 0, 0], "{f}");
    assert!(f.message.contains("has loaded `p0[1]` (8 elements) 16777216 times"), "{f}");
    let mut lock = [1u32];
    program(32, 0).write(&mut lock).fails(wait_for_a_lock, Kind::EndlessWait, 140);
}

/// Waits by an atomic that stores the value already there.
unsafe fn wait_for_a_lock(s: &[u64]) {
    while d::thread() == 0 && d::atomic_cas::<u32, 1>(|_| s[0], |_| true, |_| 0, |_| 1, true, 140)[0] == 1 {}
}

/// A plain load, then an atomic one of the same word; then another program's atomic store.
unsafe fn plain_then_atomic(s: &[u64]) {
    let (t, p) = (d::thread(), d::program_id(0));
    d::load::<u32, 1, 1, false, false>(|_| s[0], false, |_| p == 0 && t == 0, |_| 0, 0, 150);
    d::atomic::<u32, 1, { d::atomic::LOAD }>(|_| s[0], |_| p == 0 && t == 0, |_| 0, true, 151);
    d::atomic::<u32, 1, { d::atomic::STORE }>(|_| s[0], |_| p == 1 && t == 0, |_| 1, true, 152);
}

#[test]
fn an_atomic_load_hides_no_plain_one() {
    let mut x = [0u32];
    let f = program(32, 0).grid(2).write(&mut x).fails(plain_then_atomic, Kind::GlobalRace, 152);
    assert_eq!(f.other_site, Some(150));
}

/// Two programs load by atomics; then one of them stores.
unsafe fn stored_by_a_reader(s: &[u64]) {
    let (t, p) = (d::thread(), d::program_id(0));
    d::atomic::<u32, 1, { d::atomic::LOAD }>(|_| s[0], |_| t == 0, |_| 0, true, 160);
    d::store::<u32, 1, 1, false, false>(|_| s[0], false, |_| p == 1 && t == 0, |_| 1, 0, 161);
}

#[test]
fn atomic_loads_of_several_programs_are_remembered() {
    let mut x = [0u32];
    let f = program(32, 0).grid(2).write(&mut x).fails(stored_by_a_reader, Kind::GlobalRace, 161);
    assert_eq!(f.other_site, Some(160));
}

/// All threads add to one counter, which the last one has zeroed, and read it.
unsafe fn counter<const ZEROED: bool, const AWAITED: bool>(_: &[u64]) {
    let t = d::thread();
    d::shared_store::<u32, 1, 1>(|_| 0, |_| t == 63, |_| 0, 40);
    if ZEROED {
        d::barrier(41);
    }
    d::shared_atomic_add::<u32, 2>(|r| r as u32 * 4, |r| r == 0, |_| 1, 42);
    if AWAITED {
        d::barrier(43);
    }
    let [n] = d::shared_load::<u32, 1, 1>(|_| 0, |_| true, 44);
    assert!(!AWAITED || n == 64);
}

#[test]
fn shared_atomics_race_with_loads_and_stores_alone() {
    let racy = || program(64, 256).options(|o| o.uninitialized = false);
    program(64, 256).passes(counter::<true, true>);
    let f = racy().fails(counter::<false, true>, Kind::SharedRace, 40);
    assert_eq!(f.other_site, Some(42));
    let f = racy().fails(counter::<true, false>, Kind::SharedRace, 42);
    assert_eq!(f.other_site, Some(44));
}
