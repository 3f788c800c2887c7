//! Clusters: numbers, barriers, and accesses of CTAs to each other's shared memory.

use super::*;
use crate::device as d;
use crate::device::hw as h;
use crate::emulator::TensorMap;

unsafe fn store(at: u64, ok: bool, v: u32, site: u32) {
    d::store::<u32, 1, 1, false, false>(|_| at, false, |_| ok, |_| v, 0, site);
}

unsafe fn load(at: u64, ok: bool, site: u32) -> u32 {
    d::load::<u32, 1, 1, false, false>(|_| at, false, |_| ok, |_| 0, 0, site)[0]
}

/// Each thread tells who it is; shared memory, barriers and named barriers are the CTA's own.
unsafe fn numbers(s: &[u64]) {
    let (t, rank) = (d::thread(), h::cluster_rank());
    for _ in 0..=rank {
        d::shared_store::<u32, 1, 1>(|_| t * 4, |_| true, |_| t + 1000 * rank, 10);
        d::barrier(11);
        let x = d::shared_load::<u32, 1, 1>(|_| (t ^ 63) * 4, |_| true, 12)[0];
        d::assert(x == (t ^ 63) + 1000 * rank, c"another CTA's memory", 13);
        h::group_barrier(1, 64, 14);
    }
    let cta = d::program_id(0) as u32;
    d::assert(cta == h::cluster_id(0) * 3 + rank && d::num_programs(0) == 6 && h::num_clusters(0) == 2, c"numbers", 15);
    d::assert(
        d::program_id(1) == 0 && h::cluster_id(2) == 0 && d::num_programs(1) == 1 && h::num_clusters(2) == 1,
        c"axes",
        16,
    );
    store(s[0] + ((cta * 64 + t) * 4) as u64, true, cta * 64 + t, 17);
}

#[test]
fn ctas_are_themselves() {
    for seed in 0..4 {
        let mut out = vec![0u32; 6 * 64];
        let report = program(64, 256).ctas(3).grid(2).seed(seed).write(&mut out).passes(numbers);
        assert!(out.iter().copied().eq(0..6 * 64));
        assert_eq!((report.programs, report.barriers), (2, 2 * (1 + 2 + 3)));
        let store = report.shared_sites[0];
        assert_eq!((store.site, store.instructions, store.wavefronts), (10, 2 * 6 * 2, 2 * 6 * 2));
    }
}

const CLUSTER: u32 = 0;
const BLOCK: u32 = 1;
/// By a thread that ends before the cluster's barrier.
const ENDED: u32 = 2;
/// As before, but a barrier of the CTA comes before its end.
const BLOCK_THEN_ENDED: u32 = 3;

/// Thread 40 of each CTA stores a value that a thread of the next CTA reads.
unsafe fn handed_over<const BARRIER: u32>(s: &[u64]) {
    let (t, rank) = (d::thread(), h::cluster_rank());
    store(s[0] + rank as u64 * 4, t == 40, 7 + rank, 20);
    if BARRIER == BLOCK || BARRIER == BLOCK_THEN_ENDED {
        d::barrier(21);
    }
    if BARRIER >= ENDED && t >= 32 {
        return;
    }
    if BARRIER != BLOCK {
        h::cluster_sync(22);
    }
    let next = (rank + 1) % 4;
    let x = load(s[0] + next as u64 * 4, t == 5, 23);
    d::assert(x == if t == 5 { 7 + next } else { 0 } || BARRIER == BLOCK || BARRIER == ENDED, c"what it stored", 24);
}

#[test]
fn the_barrier_of_a_cluster_orders() {
    for seed in 0..4 {
        let run = |run: Run| program(64, 0).ctas(4).seed(seed).write(&mut [0u32; 4]).run(run);
        run(handed_over::<CLUSTER>).unwrap();
        run(handed_over::<BLOCK_THEN_ENDED>).unwrap();
        for kernel in [handed_over::<BLOCK> as Run, handed_over::<ENDED>] {
            let f = run(kernel).unwrap_err();
            assert!(
                f.kind == Kind::GlobalRace && [20, 23].contains(&f.site) && f.message.contains("thread 40 of CTA "),
                "{f}"
            );
        }
    }
}

/// The last CTA to count reads the stores of all threads of the others.
unsafe fn counted<const BARRIER: bool>(s: &[u64]) {
    let [count, data] = *s else { unreachable!() };
    let t = d::thread();
    store(data + (d::program_id(0) * 32 + t as u64) * 4, true, 1, 30);
    if BARRIER {
        d::barrier(31);
    }
    let before = d::atomic::<u32, 1, { d::atomic::ADD }>(|_| count, |_| t == 0, |_| 1, false, 32)[0];
    for i in 0..64 {
        load(data + i * 4, t == 0 && before == 1, 33);
    }
}

#[test]
fn atomics_publish_what_a_barrier_of_the_cta_ordered() {
    for seed in 0..4 {
        let run = |run: Run| program(32, 0).ctas(2).seed(seed).write(&mut [0u32]).write(&mut [0u32; 64]).run(run);
        run(counted::<true>).unwrap();
        let f = run(counted::<false>).unwrap_err();
        assert!(f.kind == Kind::GlobalRace && [30, 33].contains(&f.site), "{f}");
    }
}

/// Thread `s[0]` of the cluster goes to the barrier on line `s[1]`, or to that of its CTA, or ends.
unsafe fn parted(s: &[u64]) {
    let who = (h::cluster_rank() * 64 + d::thread()) as u64 == s[0];
    match s[1] {
        0 if who => return,
        1 if who => d::barrier(41),
        2 if who => h::cluster_sync(42),
        // The threads of its CTA do not go to the cluster's barrier at all.
        3 if !who && h::cluster_rank() as u64 == s[0] / 64 => d::barrier(43),
        3 if who => return,
        _ => h::cluster_sync(44),
    }
    h::cluster_sync(45);
}

#[test]
fn barriers_of_a_cluster_take_every_thread() {
    for seed in 0..4 {
        let run = |who, what| program(64, 0).ctas(2).seed(seed).scalar(who).scalar(what).run(parted);
        let report = run(128, 0).unwrap();
        assert_eq!(report.barriers, 2);
        // Nobody waits for those who have ended.
        run(70, 0).unwrap();
        for (who, what, here) in [(70, 1, 41), (70, 2, 42), (0, 2, 42), (100, 3, 43)] {
            let f = run(who, what).unwrap_err();
            assert_eq!(f.kind, Kind::Divergence, "{f}");
            let lines = (f.site.min(f.other_site.unwrap_or(99)), f.site.max(f.other_site.unwrap_or(0)));
            // A thread that has ended is on no line.
            assert_eq!(lines, (here, if what == 3 { here } else { 44 }), "{f}");
            assert!(f.message.contains(&format!("thread {} of CTA {} ", who % 64, who / 64)), "{f}");
        }
    }
}

const NONE: u32 = 0;
const NOT_INITIALIZED: u32 = 1;
/// Only a barrier of the CTA comes after.
const NOT_SYNCED: u32 = 2;
const NO_SUCH_CTA: u32 = 3;
const NO_LAST_SYNC: u32 = 4;
/// Nobody waits either.
const NO_LAST_WAIT: u32 = 5;
const NO_CTA: u32 = 6;
const NOT_READY: u32 = 7;
const WRONG_MBARRIER: u32 = 8;

const BAR: u32 = 1024;

/// CTA 0 arrives at an mbarrier of CTA 1, or loads to both, while CTA 1 stays or goes.
unsafe fn reaches<const LOAD: bool, const DEFECT: u32>(s: &[u64]) {
    let [_, map] = *s else { unreachable!() };
    let (t, rank) = (d::thread(), h::cluster_rank());
    if t == 3 && (DEFECT != NOT_INITIALIZED || rank == 0) {
        h::mbarrier_init(BAR, 1, 50);
        if DEFECT != NOT_READY {
            h::mbarriers_ready(51);
        }
    }
    if DEFECT == NOT_SYNCED {
        d::barrier(52)
    } else {
        h::cluster_sync(52)
    }
    if LOAD {
        if t == 4 && DEFECT != NOT_INITIALIZED {
            h::mbarrier_expect(BAR, 1024, 53);
        }
        if rank == 0 && t == 5 {
            let mask = match DEFECT {
                NO_SUCH_CTA => 0b101,
                NO_CTA => 0,
                _ => 0b11,
            };
            h::tma_load_multicast::<_, 0>(0, map, [0, 0], BAR + if DEFECT == WRONG_MBARRIER { 8 } else { 0 }, mask, 54);
        }
    } else {
        let who = rank == 0 && t == 5;
        h::mbarrier_arrive_at(BAR, if DEFECT == NO_SUCH_CTA { 2 } else { 1 }, who, 55);
    }
    if DEFECT != NO_LAST_WAIT && DEFECT != NO_LAST_SYNC && t == 6 && (LOAD || rank == 1) && DEFECT != NOT_INITIALIZED {
        h::mbarrier_wait(BAR, 0, 56);
    }
    if DEFECT != NO_LAST_WAIT && DEFECT != NO_LAST_SYNC || DEFECT == NO_LAST_WAIT && !LOAD {
        h::cluster_sync(57);
    }
}

fn run_reaches(run: Run, seed: u64) -> Result<Report, Failure> {
    let x = vec![0u32; 256];
    let map = TensorMap::new(x.as_ptr() as u64, 4, &[64, 4], &[256], &[64, 4], 0);
    program(32, 1040).ctas(2).seed(seed).read(&x).scalar(&raw const map as u64).run(run)
}

#[track_caller]
fn reach_fails(run: Run, kind: Kind, site: u32, says: &str) {
    for seed in 0..8 {
        let f = run_reaches(run, seed).expect_err("the kernel has a defect");
        assert!(f.kind == kind && f.site == site && f.message.contains(says), "{f}");
    }
}

#[test]
fn what_reaches_into_another_cta() {
    for seed in 0..8 {
        run_reaches(reaches::<false, NONE>, seed).unwrap();
        // The sync alone orders the arrival.
        run_reaches(reaches::<false, NO_LAST_WAIT>, seed).unwrap();
        let report = run_reaches(reaches::<true, NONE>, seed).unwrap();
        assert_eq!(report.global_bytes, 1024);
    }
}

#[test]
fn mbarriers_of_other_ctas_are_initialized() {
    let place = "thread 5 of CTA 0: the mbarrier at CTA 1's shared byte 1024 is not initialized";
    reach_fails(reaches::<false, NOT_INITIALIZED>, Kind::Mbarrier, 55, place);
    reach_fails(reaches::<true, NOT_INITIALIZED>, Kind::Mbarrier, 54, place);
    reach_fails(reaches::<true, WRONG_MBARRIER>, Kind::Mbarrier, 54, "CTA 0's shared byte 1032 is not initialized");
    reach_fails(reaches::<true, NOT_READY>, Kind::Mbarrier, 54, "no mbarriers_ready");
    reach_fails(reaches::<false, NOT_SYNCED>, Kind::Mbarrier, 55, "initialized");
    reach_fails(reaches::<true, NOT_SYNCED>, Kind::Mbarrier, 54, "initialized");
}

#[test]
fn ctas_that_there_are() {
    reach_fails(reaches::<false, NO_SUCH_CTA>, Kind::Protocol, 55, "CTA 2 of a cluster of 2");
    reach_fails(reaches::<true, NO_SUCH_CTA>, Kind::Protocol, 54, "0b101");
    reach_fails(reaches::<true, NO_CTA>, Kind::Protocol, 54, "mask 0b0");
}

#[test]
fn ctas_stay_until_others_have_done() {
    let says = "thread 5 of CTA 0: nothing orders this before the end of CTA 1";
    reach_fails(reaches::<false, NO_LAST_SYNC>, Kind::EndedCta, 55, says);
    for kernel in [reaches::<true, NO_LAST_SYNC> as Run, reaches::<true, NO_LAST_WAIT>] {
        reach_fails(kernel, Kind::EndedCta, 54, says);
    }
}

/// Before the blocks are known to have begun.
const NOT_BEGUN: u32 = 9;
const UNORDERED: u32 = 10;

/// Each CTA stores its rank to the others, and reads theirs.
unsafe fn exchanges<const DEFECT: u32>(s: &[u64]) {
    let (t, rank) = (d::thread(), h::cluster_rank());
    if DEFECT != NOT_BEGUN {
        h::cluster_sync(80);
    }
    let target = |_| if DEFECT == NO_SUCH_CTA { t + 1 } else { t };
    // SAFETY: the emulated SM checks the block and the offset.
    unsafe { d::cluster_store::<u32, 1>(target, |_| 4 * rank, |_| t < 4, |_| 10 + rank, 81) };
    if DEFECT == NO_LAST_SYNC {
        return;
    }
    if DEFECT == UNORDERED {
        d::barrier(82)
    } else {
        h::cluster_sync(82)
    }
    // SAFETY: the offsets are within the 16 bytes of shared memory.
    let read = unsafe { d::shared_load::<u32, 4, 1>(|r| 4 * r as u32, |_| true, 83) };
    store(s[0] + rank as u64 * 4, t == 9, read.iter().sum::<u32>(), 84);
    if DEFECT == UNORDERED {
        h::cluster_sync(85);
    }
}

#[test]
fn ctas_store_to_each_other() {
    let run = |run: Run, seed| program(32, 16).ctas(4).seed(seed).write(&mut [0u32; 4]).run(run);
    for seed in 0..8 {
        let mut out = [0u32; 4];
        program(32, 16).ctas(4).seed(seed).write(&mut out).passes(exchanges::<NONE>);
        assert_eq!(out, [46; 4]);
        let fails = |kernel: Run, kind, site, says: &str| {
            let f = run(kernel, seed).unwrap_err();
            assert!(f.kind == kind && f.site == site && f.message.contains(says), "{f}");
        };
        fails(exchanges::<NOT_BEGUN>, Kind::Protocol, 81, "nothing orders this after the beginning of CTA");
        fails(exchanges::<NO_SUCH_CTA>, Kind::Protocol, 81, "CTA 4 of a cluster of 4");
        fails(exchanges::<NO_LAST_SYNC>, Kind::EndedCta, 81, "nothing orders this before the end of CTA");
        let f = run(exchanges::<UNORDERED>, seed).unwrap_err();
        assert!([Kind::SharedRace, Kind::SharedUninitialized].contains(&f.kind) && [81, 83].contains(&f.site), "{f}");
    }
}

const OWN_RELEASE: u32 = 1;
const NO_WAIT: u32 = 2;
const NO_END: u32 = 3;
/// CTA 1 expects more of the last box.
const BYTES: u32 = 4;
/// The last box is not waited for in CTA 0, which issued it.
const FORGOTTEN: u32 = 5;

/// CTA 0 loads a box to both CTAs three times, all of whose threads read it.
unsafe fn refill<const DEFECT: u32>(s: &[u64]) {
    let [_, out, map] = *s else { unreachable!() };
    const EMPTY: u32 = BAR + 8;
    let (t, rank) = (d::thread(), h::cluster_rank());
    if t == 0 {
        h::mbarrier_init(BAR, 1, 60);
        h::mbarrier_init(EMPTY, if DEFECT == OWN_RELEASE { 64 } else { 128 }, 61);
        h::mbarriers_ready(62);
    }
    h::cluster_sync(63);
    let mut sum = 0;
    for round in 0..3u32 {
        if t == 0 {
            if rank == 0 {
                h::mbarrier_wait(EMPTY, (round & 1) ^ 1, 64);
                h::tma_load_multicast::<_, 0>(0, map, [0, round as i32 * 4], BAR, 0b11, 65);
            }
            h::mbarrier_expect(BAR, 1024 + if DEFECT == BYTES && rank == 1 && round == 2 { 16 } else { 0 }, 66);
        }
        if DEFECT == FORGOTTEN && rank == 0 && round == 2 {
            break;
        }
        if DEFECT != NO_WAIT || rank == 0 {
            h::mbarrier_wait(BAR, round & 1, 67);
        }
        sum += d::shared_load::<u32, 4, 4>(|r| t * 16 + r as u32 * 4, |_| true, 68).iter().sum::<u32>();
        h::proxy_fence(72);
        h::mbarrier_arrive_at(EMPTY, 0, DEFECT != OWN_RELEASE || rank == 0, 69);
    }
    store(out + (d::program_id(0) * 64 + t as u64) * 4, true, sum, 70);
    if DEFECT != NO_END {
        h::cluster_sync(71);
    }
}

#[test]
fn boxes_that_two_ctas_read() {
    let source: Vec<u32> = (0..768).collect();
    let want: Vec<u32> = (0..256).map(|t| (0..4).map(|i| 3 * (4 * (t % 64) + i) + 256 * 3).sum()).collect();
    let run = |run: Run, seed| {
        let map = TensorMap::new(source.as_ptr() as u64, 4, &[64, 12], &[256], &[64, 4], 0);
        let mut out = vec![0u32; 256];
        let launch = program(64, 1040).ctas(2).grid(2).seed(seed).read(&source).write(&mut out);
        launch.scalar(&raw const map as u64).run(run).map(|_| out)
    };
    for seed in 0..8 {
        assert_eq!(run(refill::<NONE>, seed).as_ref(), Ok(&want));
        let f = run(refill::<OWN_RELEASE>, seed).unwrap_err();
        assert!(f.kind == Kind::AsyncRace && f.site == 65 && f.message.contains("at CTA 1's shared byte"), "{f}");
        let f = run(refill::<NO_WAIT>, seed).unwrap_err();
        assert!(matches!((f.kind, f.site), (Kind::AsyncRace | Kind::SharedUninitialized, 68)), "{f}");
        assert!(
            f.message.starts_with("thread ")
                && f.message.contains(" of CTA 1: load of 16 bytes at CTA 1's shared byte"),
            "{f}"
        );
        // CTA 1 outlives CTA 0, and arrives there.
        let f = run(refill::<NO_END>, seed).unwrap_err();
        assert_eq!((f.kind, f.site), (Kind::EndedCta, 69), "{f}");
        let f = run(refill::<BYTES>, seed).unwrap_err();
        assert!(
            f.kind == Kind::Divergence
                && f.message.contains("mbarrier at CTA 1's shared byte 1024")
                && f.message.contains("16 bytes are missing"),
            "{f}"
        );
        let f = run(refill::<FORGOTTEN>, seed).unwrap_err();
        assert_eq!((f.kind, f.site), (Kind::AsyncPending, 65), "{f}");
    }
}

unsafe fn nothing(_: &[u64]) {
    h::cluster_sync(80);
}

#[test]
fn clusters_that_cannot_be() {
    program(32, 0).ctas(0).fails(nothing, Kind::Launch, 0);
    program(32, 0).ctas(9).fails(nothing, Kind::Launch, 0);
    program(48, 0).ctas(2).fails(nothing, Kind::Launch, 0);
    program(1024, 0).ctas(5).fails(nothing, Kind::Launch, 0);
    for ctas in [1, 4] {
        assert_eq!(program(1024, 64).ctas(ctas).passes(nothing).barriers, 1);
    }
    assert_eq!(program(48, 0).passes(nothing).barriers, 1);
}

/// Thread 5 of CTA 0 stores or loads a word, tells CTA 1 by its mbarrier or by the cluster's barrier, and a thread
/// there loads or stores it.
unsafe fn told_by_an_arrival<const STORES: bool, const ARRIVES: bool>(s: &[u64]) {
    let (t, rank) = (d::thread(), h::cluster_rank());
    if t == 0 {
        h::mbarrier_init(BAR, 1, 90);
        h::mbarriers_ready(91);
    }
    h::cluster_sync(92);
    let first = t == 5 && rank == 0;
    if STORES {
        store(s[0], first, 7, 93);
    } else {
        load(s[0], first, 93);
    }
    if ARRIVES {
        h::mbarrier_arrive_at(BAR, 1, first, 94);
        if rank == 1 {
            h::mbarrier_wait(BAR, 0, 95);
        }
    } else {
        h::cluster_sync(95);
    }
    let then = t == 9 && rank == 1;
    if STORES {
        load(s[0], then, 96);
    } else {
        store(s[0], then, 7, 96);
    }
    h::cluster_sync(97);
}

#[test]
fn an_arrival_in_another_cta_tells_of_loads_alone() {
    for seed in 0..6 {
        let run = |run: Run| program(32, 1040).ctas(2).seed(seed).write(&mut [0u32]).run(run);
        for kernel in [
            told_by_an_arrival::<true, false> as Run,
            told_by_an_arrival::<false, false>,
            told_by_an_arrival::<false, true>,
        ] {
            run(kernel).unwrap_or_else(|f| panic!("{f}"));
        }
        let f = run(told_by_an_arrival::<true, true>).expect_err("its release is for its own CTA");
        assert_eq!((f.kind, f.site, f.other_site), (Kind::GlobalRace, 96, Some(93)), "{f}");
    }
}
