//! Fences of products' registers, registers that warpgroups hand over, launches that begin early, stacks that overflow.

use super::in_flight::{multiply, ones};
use super::*;
use crate::device as d;
use crate::device::hw as h;
use crate::scalar::F16;

const NONE: u32 = 0;
const NO_FIRST: u32 = 1;
const NO_SECOND: u32 = 2;
/// The fragment of the second product is written after its fence.
const AFTER: u32 = 3;
/// Other accumulators, written after the fence.
const OTHERS: u32 = 4;

/// Two products on the same accumulators, A in registers.
unsafe fn chained<const DEFECT: u32>(s: &[u64]) {
    let [out] = *s else { unreachable!() };
    ones::<F16>();
    let (mut acc, mut others) = ([0f32; 32], [0f32; 32]);
    let first = h::fragment([0x3c00_3c00; 4]);
    if DEFECT != NO_FIRST {
        h::wgmma_fence(30);
    }
    h::wgmma_ra::<F16, f32, 64, false>(acc.as_mut_ptr(), first, tile(8192), true, 31);
    let mut second = h::fragment([0x4000_4000; 4]);
    if DEFECT != NO_SECOND {
        h::wgmma_fence(32);
    }
    if DEFECT == AFTER {
        second = h::fragment([0x4000_4000; 4]);
    }
    h::wgmma_ra::<F16, f32, 64, false>(acc.as_mut_ptr(), second, tile(8192), true, 33);
    if DEFECT == OTHERS {
        others = [1.0; 32];
        h::accumulators_accessed();
        multiply::<F16, f32, 64>(&mut others, true, 34);
    }
    h::wgmma_commit(35);
    let mut all = [[0f32; 32]; 2];
    all[0] = acc;
    all[1] = others;
    let mut all: [f32; 64] = d::each(|i| all[i / 32][i % 32]);
    h::wgmma_wait::<f32, 0, 64, 64>(&mut all, 36);
    d::store::<f32, 1, 1, false, false>(|_| out + d::thread() as u64 * 4, true, |_| true, |_| all[3], 0, 37);
}

#[test]
fn products_with_registers_of_a_are_fenced_each() {
    let run = || program(128, 16384);
    let mut out = vec![0f32; 128];
    run().write(&mut out).passes(chained::<NONE>);
    assert_eq!(out, [48.0; 128]);
    for (defect, site, says) in [
        (chained::<NO_FIRST> as Run, 31, "since the last wgmma_wait"),
        (chained::<NO_SECOND>, 33, "since the registers of A were written"),
        (chained::<AFTER>, 33, "since the registers of A were written"),
        (chained::<OTHERS>, 34, "since its accumulators were written"),
    ] {
        let f = run().write(&mut out).fails(defect, Kind::Protocol, site);
        assert!(f.message.contains(says), "{f}");
    }
}

/// Two warpgroups: one gives registers back, the other takes them.
unsafe fn hands_over<const GIVES: u32, const TAKES: u32>(_: &[u64]) {
    if d::thread() >= 128 {
        h::set_registers::<false, GIVES>(40);
    } else {
        h::set_registers::<true, TAKES>(41);
    }
}

/// One warp of a warpgroup does not come.
unsafe fn without_a_warp(_: &[u64]) {
    if d::thread() >= 32 {
        h::set_registers::<false, 40>(42);
    }
}

#[test]
fn registers_are_handed_over_within_the_pool() {
    for seed in 0..4 {
        let run = || program(256, 0).seed(seed).registers(128);
        run().passes(hands_over::<40, 216>);
        let f = run().fails(hands_over::<40, 224>, Kind::Registers, 41);
        assert!(f.message.contains("wait for 224 registers each, and 11264 are left"), "{f}");
        assert!(
            run().run(hands_over::<136, 136>).expect_err("raised by a decrease").message.contains("128 registers to")
        );
        for run_it in [hands_over::<20, 128> as Run, hands_over::<36, 128>] {
            let f = run().run(run_it).expect_err("no multiple of 8 from 24 on");
            assert!(f.kind == Kind::Registers && f.message.contains("multiples of 8 from 24 to 256"), "{f}");
        }
    }
    let f = program(128, 0).run(without_a_warp).expect_err("a warp does not come");
    assert_eq!((f.kind, f.site), (Kind::Divergence, 42), "{f}");
}

const LATE: u32 = 1;
const NEVER: u32 = 2;
const STORES: u32 = 3;
const NOT_DECLARED: u32 = 4;

/// Reads `x`, waits for the launch in front, then reads `y` and writes `z`.
unsafe fn pdl<const DEFECT: u32>(s: &[u64]) {
    let [x, y, z] = *s else { unreachable!() };
    let at = d::thread() as u64 * 4;
    let load = |p: u64, site| d::load::<f32, 1, 1, false, false>(|_| p + at, true, |_| true, |_| 0.0, 0, site)[0];
    let store = |v: f32, site| d::store::<f32, 1, 1, false, false>(|_| z + at, true, |_| true, |_| v, 0, site);
    let first = load(if DEFECT == NOT_DECLARED { y } else { x }, 50);
    if DEFECT == LATE && d::thread() == 3 {
        store(load(y, 51), 52);
    }
    if DEFECT == STORES {
        store(first, 53);
    }
    if DEFECT == NEVER {
        return;
    }
    d::grid_dependency_wait();
    store(first + load(y, 54), 55);
}

#[test]
fn what_begins_early_waits_before_it_touches_what_others_may() {
    let (x, y, mut z) = (vec![1f32; 32], vec![2f32; 32], vec![0f32; 32]);
    program(32, 0).pdl(&[0]).read(&x).read(&y).write(&mut z).passes(pdl::<NONE>);
    assert_eq!(z, [3.0; 32]);
    for (defect, site, says) in [
        (pdl::<LATE> as Run, 51, "thread 3: reads `p1[3]`"),
        (pdl::<STORES>, 53, "writes `p2[0]`"),
        (pdl::<NOT_DECLARED>, 50, "reads `p1[0]`"),
        (pdl::<NEVER>, 0, "no thread has waited"),
    ] {
        let f = program(32, 0).pdl(&[0]).read(&x).read(&y).write(&mut z).fails(defect, Kind::TooEarly, site);
        assert!(f.message.contains(says), "{f}");
    }
    // A launch that begins when the one in front has ended waits for nothing.
    program(32, 0).read(&x).read(&y).write(&mut z).passes(pdl::<NEVER>);
}

/// A thread with a frame of a megabyte, as lowered code has it where nothing is optimized.
#[inline(never)]
unsafe fn large_frame<const WORDS: usize>(s: &[u64]) {
    let mut registers = [d::thread(); WORDS];
    std::hint::black_box(&mut registers);
    d::barrier(60);
    let v = registers[WORDS - 1 - s.len()];
    d::store::<u32, 1, 1, false, false>(|_| s[0] + v as u64 * 4, true, |_| true, |_| v, 0, 61);
}

#[test]
fn frames_may_be_large() {
    let mut out = vec![0u32; 64];
    program(64, 0).write(&mut out).passes(large_frame::<{ 1 << 18 }>);
    assert!(out.iter().zip(0..).all(|(&v, t)| v == t));
}

/// Ends the process that runs it: see the next test.
#[test]
#[ignore = "overflows a stack on purpose"]
fn overflows() {
    let _ =
        program(32, 0).options(|o| o.stack_bytes = 256 << 10).write(&mut [0u32; 32]).run(large_frame::<{ 1 << 18 }>);
}

#[test]
fn an_overflow_names_the_kernel() {
    let out = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["emulator::tests::orders::overflows", "--exact", "--ignored", "--nocapture"])
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&out.stderr);
    let says = "kernel `a test`: a thread of the emulated SM has overflowed its stack of 262144 bytes";
    assert!(!out.status.success() && text.contains(says), "{:?}: {text}", out.status);
}
