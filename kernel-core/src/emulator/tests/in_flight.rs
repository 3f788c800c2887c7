//! Accumulators between a product and its wait, and wrong uses of them there.

use std::cell::Cell;

use super::*;
use crate::device::hw as h;
use crate::device::{self as d, Mem};
use crate::scalar::F16;

const NONE: u32 = 0;
const STORED: u32 = 1;
const STORED_TO_SHARED: u32 = 2;
const SHUFFLED: u32 = 3;
/// The stored value is computed from an accumulator.
const COMPUTED: u32 = 4;
const WRITTEN: u32 = 5;
const ALL_WRITTEN: u32 = 6;
const COPIED: u32 = 7;
/// Before the second of two products on them.
const WRITTEN_BETWEEN: u32 = 8;
/// Instead of the first, so that they look like others.
const FIRST_WRITTEN_BETWEEN: u32 = 9;
const OTHER_SHAPE: u32 = 10;
const OTHERS_WAITED_FOR: u32 = 11;
/// A copy from before the wait is stored after it.
const STALE: u32 = 12;
/// The second product takes the place of the first, which is no defect.
const REPLACED: u32 = 13;
const ADDS_IN_PART: u32 = 14;
const ATOMIC: u32 = 15;
const NOT_COMMITTED: u32 = 16;
/// Another product adds to a copy from before the wait.
const STALE_SUM: u32 = 17;

/// Operands of ones: rows along K, as `tile` says.
pub unsafe fn ones<A: Mem>() {
    let one = if A::BYTES == 2 { 0x3c00_3c00 } else { 0x0101_0101 };
    d::shared_store::<u32, 32, 4>(|r| d::thread() * 128 + r as u32 * 4, |_| true, |_| one, 1);
    h::proxy_fence(2);
    d::barrier(3);
}

pub unsafe fn multiply<A: Mem, D: Mem, const N: usize>(acc: &mut [D; 32], add: bool, site: u32) {
    h::wgmma::<A, D, N, false, false>(acc.as_mut_ptr(), tile(0), tile(8192), add, site);
}

/// Two products of 64 rows and columns on the same accumulators; one thread of the warpgroup makes the mistake.
unsafe fn products<A: Mem, D: Mem, const DEFECT: u32>(s: &[u64]) {
    let [out] = *s else { unreachable!() };
    let t = d::thread();
    let here = |defect: u32| DEFECT == defect && t == 70;
    let store =
        |x: D, site: u32| d::store::<D, 1, 1, false, false>(|_| out + t as u64 * 4, true, |_| true, |_| x, 0, site);
    ones::<A>();
    let mut acc = [D::ZERO; 32];
    h::wgmma_fence(10);
    multiply::<A, D, 64>(&mut acc, true, 11);
    // Somewhere else now.
    let mut acc: [D; 32] = d::each(|r| acc[r]);
    if here(WRITTEN_BETWEEN) {
        acc[5] = D::ZERO;
    }
    if here(FIRST_WRITTEN_BETWEEN) {
        acc[0] = D::ZERO;
    }
    if DEFECT == OTHER_SHAPE {
        multiply::<A, D, 32>(&mut acc, true, 12);
    } else {
        multiply::<A, D, 64>(&mut acc, !(DEFECT == REPLACED || here(ADDS_IN_PART)), 12);
    }
    if DEFECT != NOT_COMMITTED {
        h::wgmma_commit(13);
    }
    let stale = acc[3];
    if here(STORED) {
        store(acc[3], 14);
    }
    if here(STORED_TO_SHARED) {
        d::shared_store::<D, 1, 1>(|_| 16384, |_| true, |_| acc[3], 15);
    }
    if DEFECT == SHUFFLED {
        d::shuffle_xor(acc[3], 1, 16);
    }
    if here(COMPUTED) {
        store(D::from_bits64((f32::from_bits(acc[3].to_bits64() as u32) * 2.0 + 1.0).to_bits() as u64), 17);
    }
    if here(ATOMIC) {
        d::atomic::<u32, 1, { d::atomic::XCHG }>(
            |_| out + t as u64 * 4,
            |_| true,
            |_| acc[3].to_bits64() as u32,
            true,
            18,
        );
    }
    if here(WRITTEN) {
        acc[5] = D::ZERO;
    }
    if here(ALL_WRITTEN) {
        acc = [D::ZERO; 32];
    }
    if here(COPIED) {
        acc[6] = acc[7];
    }
    let mut others = [D::ZERO; 32];
    h::wgmma_wait::<D, 0, 32, 64>(if here(OTHERS_WAITED_FOR) { &mut others } else { &mut acc }, 20);
    if DEFECT == STALE_SUM {
        acc[9] = if t == 70 { stale } else { D::ZERO };
        h::accumulators_accessed();
        h::wgmma_fence(22);
        multiply::<A, D, 64>(&mut acc, true, 23);
        h::wgmma_commit(24);
        h::wgmma_wait::<D, 0, 32, 64>(&mut acc, 25);
    }
    store(if here(STALE) { stale } else { acc[3] }, 21);
}

fn run_products<D: Mem>(run: Run) -> Result<Vec<D>, Failure> {
    let mut out = vec![D::ZERO; 128];
    program(128, 16384 + 64).write(&mut out).run(run).map(|_| out)
}

#[track_caller]
fn touched(run: Run, site: u32, product: u32, says: &str) {
    let f = run_products::<u32>(run).expect_err("the kernel has a defect");
    assert_eq!((f.kind, f.site, f.other_site), (Kind::RegistersInFlight, site, Some(product)), "{f}");
    assert!(f.to_string().contains("touching wgmma registers in flight: thread ") && f.message.contains(says), "{f}");
}

#[test]
fn accumulators_arrive_with_the_wait() {
    assert_eq!(run_products(products::<F16, f32, NONE>), Ok(vec![32f32; 128]));
    assert_eq!(run_products(products::<F16, f32, REPLACED>), Ok(vec![16f32; 128]));
    assert_eq!(run_products(products::<i8, i32, NONE>), Ok(vec![64i32; 128]));
    assert_eq!(run_products(products::<i8, i32, REPLACED>), Ok(vec![32i32; 128]));
}

#[test]
fn accumulators_are_not_read_before() {
    let read = "accumulator 3 of the wgmma of line 12 was read";
    touched(products::<F16, f32, STORED>, 14, 12, read);
    touched(products::<i8, i32, STORED>, 14, 12, read);
    touched(products::<F16, f32, STORED_TO_SHARED>, 15, 12, read);
    touched(products::<F16, f32, SHUFFLED>, 16, 12, read);
    touched(products::<F16, f32, COMPUTED>, 17, 12, read);
    touched(products::<F16, f32, ATOMIC>, 18, 12, read);
    // A wait does not cover a product that was not committed.
    touched(products::<F16, f32, NOT_COMMITTED>, 21, 12, read);
    let copied = "accumulator 3 of the wgmma of line 12 was copied before the wgmma_wait that covers it";
    touched(products::<F16, f32, STALE>, 21, 12, copied);
    touched(products::<i8, i32, STALE>, 21, 12, copied);
    let copied = "thread 70: some accumulators are those of the wgmma of line 12, copied before the wgmma_wait";
    touched(products::<F16, f32, STALE_SUM>, 23, 12, copied);
}

#[test]
fn accumulators_are_not_written_before() {
    touched(products::<F16, f32, WRITTEN>, 20, 12, "thread 70: accumulator 5 of the wgmma of line 12 was changed");
    touched(products::<i8, i32, WRITTEN>, 20, 12, "thread 70: accumulator 5 of the wgmma of line 12 was changed");
    touched(products::<F16, f32, ALL_WRITTEN>, 20, 12, "accumulator 0 of the wgmma of line 12 was changed");
    touched(products::<F16, f32, COPIED>, 20, 12, "accumulator 6 of the wgmma of line 12 was changed");
    touched(products::<F16, f32, OTHERS_WAITED_FOR>, 20, 12, "is not among those given");
}

#[test]
fn products_follow_each_other_on_whole_accumulators() {
    touched(
        products::<F16, f32, WRITTEN_BETWEEN>,
        12,
        11,
        "thread 70: some accumulators are those of the wgmma of line 11",
    );
    touched(products::<F16, f32, FIRST_WRITTEN_BETWEEN>, 12, 11, "thread 70: some accumulators");
    touched(products::<F16, f32, OTHER_SHAPE>, 12, 11, "thread 0: some accumulators");
    let f = program(128, 16384).write(&mut [0u32; 128]).fails(products::<F16, f32, ADDS_IN_PART>, Kind::Divergence, 12);
    assert!(f.message.contains("different scales of the accumulators"), "{f}");
}

/// Two products in groups of their own, of two warpgroups; the first is stored while the second goes on.
unsafe fn in_turn<const EARLY: bool, const UNNAMED: bool>(s: &[u64]) {
    let [out] = *s else { unreachable!() };
    let t = d::thread();
    ones::<F16>();
    let mut accs = [[0f32; 32], [1.0; 32]];
    h::wgmma_fence(30);
    for (i, acc) in accs.iter_mut().enumerate() {
        multiply::<F16, f32, 64>(acc, true, 31 + i as u32);
        h::wgmma_commit(33);
    }
    if UNNAMED {
        h::wgmma_wait_previous(34);
    } else {
        h::wgmma_wait::<f32, 1, 32, 64>(&mut accs[0], 34);
    }
    let store = |i: usize, x: f32, site| {
        d::store::<f32, 1, 1, false, false>(|_| out + (i as u64 * 256 + t as u64) * 4, true, |_| true, |_| x, 0, site)
    };
    store(0, accs[EARLY as usize][0], 35);
    h::wgmma_wait::<f32, 0, 32, 64>(&mut accs[1], 36);
    store(1, accs[1][31], 37);
}

#[test]
fn waits_that_leave_some_in_flight() {
    for seed in 0..4 {
        let mut out = vec![0f32; 512];
        program(256, 32768).seed(seed).write(&mut out).passes(in_turn::<false, false>);
        assert!(out[..256].iter().all(|&x| x == 16.0) && out[256..].iter().all(|&x| x == 17.0));
        let f =
            program(256, 32768).seed(seed).write(&mut out).fails(in_turn::<true, false>, Kind::RegistersInFlight, 35);
        assert_eq!(f.other_site, Some(32));
        // A wait that gets no accumulators waits for those in flight again.
        program(256, 32768).seed(seed).write(&mut out).fails(in_turn::<false, true>, Kind::RegistersInFlight, 34);
    }
}

/// Half of a warpgroup comes with accumulators of other many columns, on the same line.
unsafe fn two_widths(_: &[u64]) {
    ones::<F16>();
    let mut acc = [0f32; 32];
    h::wgmma_fence(10);
    if d::thread() < 64 {
        multiply::<F16, f32, 32>(&mut acc, true, 11);
    } else {
        multiply::<F16, f32, 64>(&mut acc, true, 11);
    }
    h::wgmma_commit(12);
    h::wgmma_wait::<f32, 0, 32, 64>(&mut acc, 13);
}

#[test]
fn a_product_does_not_reach_beyond_the_accumulators_that_a_thread_gives() {
    let f = program(128, 16384).fails(two_widths, Kind::Divergence, 11);
    assert!(f.message.ends_with("come with different numbers of columns"), "{f}");
}

/// Integers of any value beside accumulators in flight: stored, exchanged, and given to the wait.
unsafe fn integers<A: Mem, D: Mem>(s: &[u64]) {
    let [out, first] = *s else { unreachable!() };
    let t = d::thread();
    ones::<A>();
    let mut all = [D::ZERO; 64];
    h::wgmma_fence(40);
    h::wgmma::<A, D, 64, false, false>(all.as_mut_ptr(), tile(0), tile(8192), true, 41);
    h::wgmma_commit(42);
    for i in 0..32 {
        let x = first as u32 + i as u32;
        all[32 + i as usize] = D::from_bits64(x as u64);
        let at = out + t as u64 * 4;
        d::store::<u32, 1, 1, false, false>(|_| at, true, |_| true, |_| x, 0, 43);
        assert_eq!(d::shuffle_xor(x, 1, 44), x);
    }
    h::wgmma_wait::<D, 0, 64, 64>(&mut all, 45);
    for i in 0..32u64 {
        assert_eq!(all[32 + i as usize].to_bits64() as u32, first as u32 + i as u32);
    }
    let at = out + t as u64 * 4;
    d::store::<D, 1, 1, false, false>(|_| at, true, |_| true, |_| all[3], 0, 46);
}

#[test]
fn integers_are_no_accumulators() {
    let mut out = [0u32; 128];
    for first in [0xffe0_0000, 0x8020_0000, i32::MAX as u32 - 31, i32::MIN as u32, u32::MAX - 31, f32::NAN.to_bits()] {
        for seed in 0..4 {
            let launch = || program(128, 16384).seed(seed);
            launch().write(&mut out).scalar(first as u64).passes(integers::<F16, f32>);
            assert_eq!(out, [16f32.to_bits(); 128]);
            launch().write(&mut out).scalar(first as u64).passes(integers::<i8, i32>);
            assert_eq!(out, [32; 128]);
        }
    }
}

thread_local! {
    /// The word in thread 70's accumulator 3 while it was in flight.
    static MARK: Cell<u32> = const { Cell::new(0) };
}

const STORE: u32 = 0;
const SHUFFLE: u32 = 1;
const LAND: u32 = 2;
const MULTIPLY: u32 = 3;

/// A product; while it is in flight thread 70 stores an integer, exchanges it, gives it to the wait beside the
/// accumulators, or begins a product whose accumulators have it.
unsafe fn integer<A: Mem, D: Mem, const WHERE: u32>(s: &[u64]) {
    let [out, word] = *s else { unreachable!() };
    let t = d::thread();
    let word = if t == 70 { word as u32 } else { 1 };
    ones::<A>();
    let mut all = [D::ZERO; 64];
    h::wgmma_fence(50);
    h::wgmma::<A, D, 64, false, false>(all.as_mut_ptr(), tile(0), tile(8192), true, 51);
    h::wgmma_commit(52);
    if t == 70 {
        MARK.set(all[3].to_bits64() as u32);
    }
    let at = out + t as u64 * 4;
    match WHERE {
        STORE => d::store::<u32, 1, 1, false, false>(|_| at, true, |_| true, |_| word, 0, 53),
        SHUFFLE => assert_eq!(d::shuffle_xor(word, 0, 54), word),
        _ => {}
    }
    if WHERE >= LAND {
        all[40] = D::from_bits64(word as u64);
    }
    if WHERE == MULTIPLY {
        h::accumulators_accessed();
        h::wgmma_fence(55);
        h::wgmma::<A, D, 64, false, false>(all[32..].as_mut_ptr(), tile(0), tile(8192), false, 56);
        h::wgmma_commit(57);
    }
    h::wgmma_wait::<D, 0, 64, 64>(&mut all, 58);
    assert!(WHERE != LAND || all[40].to_bits64() as u32 == word);
    d::store::<D, 1, 1, false, false>(|_| at, true, |_| true, |_| all[if WHERE == MULTIPLY { 40 } else { 3 }], 0, 59);
}

#[test]
fn a_word_that_equals_a_mark_is_none() {
    let run = |kernel: Run, seed, word: u32| {
        let mut out = [0u32; 128];
        program(128, 16384).seed(seed).write(&mut out).scalar(word as u64).passes(kernel);
        out
    };
    for seed in 0..3 {
        for kernel in [
            integer::<F16, f32, STORE> as Run,
            integer::<F16, f32, SHUFFLE>,
            integer::<F16, f32, LAND>,
            integer::<F16, f32, MULTIPLY>,
        ] {
            assert_eq!(run(kernel, seed, 1), [16f32.to_bits(); 128]);
            // Equal seeds draw equal marks.
            assert_eq!(run(kernel, seed, MARK.get()), [16f32.to_bits(); 128]);
        }
        for kernel in [
            integer::<i8, i32, STORE> as Run,
            integer::<i8, i32, SHUFFLE>,
            integer::<i8, i32, LAND>,
            integer::<i8, i32, MULTIPLY>,
        ] {
            assert_eq!(run(kernel, seed, 1), [32; 128]);
            assert_eq!(run(kernel, seed, MARK.get()), [32; 128]);
        }
    }
}

/// Thread 70 stores all words that may be marks of f32 while a product is in flight, and may also store an accumulator.
/// Every program first adds to a counter.
unsafe fn every_word<const READS: bool>(s: &[u64]) {
    let [out, first, count] = *s else { unreachable!() };
    let t = d::thread();
    ones::<F16>();
    let at = out + t as u64 * 4;
    d::atomic::<u32, 1, { d::atomic::ADD }>(|_| at, |_| true, |_| 1, true, 60);
    let mut acc = [0f32; 32];
    h::wgmma_fence(61);
    multiply::<F16, f32, 64>(&mut acc, true, 62);
    h::wgmma_commit(63);
    let scratch = out + 1024 + t as u64 * 4;
    for i in 0..if t == 70 { count as u32 } else { 0 } {
        d::store::<u32, 1, 1, false, false>(|_| scratch, true, |_| true, |_| first as u32 + i, 0, 64);
        if READS && i == 0x20_0000 {
            d::store::<f32, 1, 1, false, false>(|_| scratch, true, |_| true, |_| acc[9], 0, 65);
        }
    }
    h::wgmma_wait::<f32, 0, 32, 64>(&mut acc, 66);
    let sum = out + 512 + t as u64 * 4;
    d::store::<f32, 1, 1, false, false>(|_| sum, true, |_| true, |_| acc[3], 0, 67);
}

#[test]
fn every_word_may_be_stored() {
    let mut out = [0u32; 384];
    let run = || program(128, 16384).seed(3).scalar(0x7fc0_0000).scalar(0x40_0000);
    run().write(&mut out).passes(every_word::<false>);
    // However often the launch was repeated.
    assert_eq!(out[..128], [1; 128]);
    assert_eq!(out[128..256], [16f32.to_bits(); 128]);
    let f = run().write(&mut out).fails(every_word::<true>, Kind::RegistersInFlight, 65);
    assert!(f.other_site == Some(62) && f.message.contains("accumulator 9 of the wgmma of line 62 was read"), "{f}");
    assert_eq!(out[..128], [2; 128]);
}
