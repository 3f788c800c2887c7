//! Bank conflicts.

use super::*;
use crate::device as d;

/// Every lane stores `V` floats at `lane * stride`, and lanes of other warps likewise.
unsafe fn strided<const V: usize>(s: &[u64]) {
    let t = d::thread();
    d::shared_store::<f32, V, V>(|r| t * s[0] as u32 + r as u32 * 4, |_| true, |_| 1.0, 10);
}

#[track_caller]
fn conflicts(run: Run, stride: u64) -> (u64, u64) {
    let report = program(64, 64 * stride as u32 + 16).scalar(stride).seed(1).passes(run);
    let [site] = report.shared_sites[..] else { panic!("one site") };
    assert_eq!((site.site, site.write, site.instructions), (10, true, 2));
    (site.wavefronts / 2, site.ideal / 2)
}

#[test]
fn strides() {
    assert_eq!(conflicts(strided::<1>, 4), (1, 1));
    assert_eq!(conflicts(strided::<1>, 8), (2, 1));
    assert_eq!(conflicts(strided::<1>, 12), (1, 1));
    assert_eq!(conflicts(strided::<1>, 64), (16, 1));
    assert_eq!(conflicts(strided::<1>, 128), (32, 1));
    assert_eq!(conflicts(strided::<2>, 8), (2, 2));
    assert_eq!(conflicts(strided::<2>, 16), (4, 2));
    assert_eq!(conflicts(strided::<4>, 16), (4, 4));
    assert_eq!(conflicts(strided::<4>, 128), (32, 4));
}

/// All lanes read one word, or two words of one bank.
unsafe fn same_word(s: &[u64]) {
    let t = d::thread();
    d::shared_store::<f32, 2, 1>(|r| (t + 32 * r as u32) * 4, |_| true, |_| 1.0, 20);
    d::barrier(21);
    d::shared_load::<f32, 1, 1>(|_| t % 2 * s[0] as u32 * 4, |_| true, 22);
}

#[test]
fn equal_words_do_not_conflict() {
    program(32, 256).scalar(0).options(|o| o.forbid_bank_conflicts = true).passes(same_word);
    let f = program(32, 256).scalar(32).options(|o| o.forbid_bank_conflicts = true).fails(
        same_word,
        Kind::BankConflict,
        22,
    );
    assert_eq!(f.message, "loads take 2 wavefronts instead of 1, 1 of 1 instructions conflict, the worst 2-way");
}

/// Half of the lanes do something else in between: the others' instructions are still recognized.
unsafe fn some_lanes_more(_: &[u64]) {
    let t = d::thread();
    d::shared_store::<u32, 4, 1>(|r| (t + 32 * r as u32) * 4, |_| true, |_| t, 30);
    if t % 2 == 0 {
        d::shared_store::<u32, 1, 1>(|_| t * 4, |_| true, |_| t, 31);
    }
    d::shared_store::<u32, 2, 1>(|r| (t * 2 + r as u32) * 4 + 512, |_| true, |_| t, 32);
}

#[test]
fn lanes_may_differ_in_what_they_do() {
    for seed in 0..8 {
        let report = program(32, 1024).seed(seed).passes(some_lanes_more);
        let counts: Vec<_> =
            report.shared_sites.iter().map(|s| (s.site, s.instructions, s.wavefronts, s.worst)).collect();
        assert_eq!(counts, [(30, 4, 4, 1), (31, 1, 1, 1), (32, 2, 4, 2)]);
    }
}
