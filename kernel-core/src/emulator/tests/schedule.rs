//! Runs are a function of the seed.

use super::*;
use crate::device as d;

/// Records the order in which threads and programs come by.
unsafe fn arrivals(s: &[u64]) {
    let [count, out] = *s else { unreachable!() };
    let n = d::atomic::<u32, 1, { d::atomic::ADD }>(|_| count, |_| true, |_| 1, true, 10)[0] as u64;
    let who = d::program_id(0) as u32 * 64 + d::thread();
    d::store::<u32, 1, 1, false, false>(|_| out + n * 4, true, |_| true, |_| who, 0, 11);
    d::barrier(12);
}

fn order(seed: u64) -> Vec<u32> {
    let (mut count, mut out) = ([0u32], vec![0u32; 64 * 4]);
    program(64, 0).grid(4).write(&mut count).fresh(&mut out).seed(seed).passes(arrivals);
    out
}

#[test]
fn equal_seeds_give_equal_runs() {
    assert_eq!(order(0), (0..256).collect::<Vec<_>>());
    for seed in [1, 2, 12345] {
        assert_eq!(order(seed), order(seed));
        assert_ne!(order(seed), order(seed + 1));
        let mut all = order(seed);
        all.sort_unstable();
        assert_eq!(all, order(0));
    }
}

/// Wrong only if thread 0 comes after thread 9, and not a race: both are atomic.
unsafe fn order_dependent(s: &[u64]) {
    let t = d::thread();
    let seen = d::atomic::<u32, 1, { d::atomic::OR }>(|_| s[0], |_| t == 0 || t == 9, |_| 1 << t, true, 20);
    d::assert(t != 0 || seen[0] == 0, c"thread 0 comes first", 21);
}

#[test]
fn a_failing_seed_reproduces() {
    let run = |seed| program(32, 0).write(&mut [0u32]).seed(seed).run(order_dependent);
    let failures: Vec<Failure> = (0..40).filter_map(|seed| run(seed).err()).collect();
    assert!((5..35).contains(&failures.len()), "{} of 40 seeds", failures.len());
    for f in failures {
        assert_eq!(run(f.seed).unwrap_err(), f);
    }
}
