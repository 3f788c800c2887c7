//! Bounds, alignment, permissions, and uninitialized memory.

use super::*;
use crate::device as d;

/// One element per thread; `full` skips the mask.
unsafe fn copy<const FULL: bool>(s: &[u64]) {
    let [x, y, n] = *s else { unreachable!() };
    let i = d::program_id(0) * 64 + d::thread() as u64;
    let v = d::load::<u16, 1, 1, false, false>(|_| x + i * 2, FULL, |_| i < n, |_| 0, 0, 10);
    d::store::<u16, 1, 1, false, false>(|_| y + i * 2, FULL, |_| i < n, |_| v[0], 0, 11);
}

#[test]
fn global_bounds() {
    let (x, mut y, mut short) = (vec![3u16; 100], vec![0u16; 100], vec![0u16; 99]);
    program(64, 0).grid(2).read(&x).fresh(&mut y).scalar(100).passes(copy::<false>);
    assert_eq!(x, y);
    let f = program(64, 0).grid(2).read(&x).fresh(&mut y).scalar(100).fails(copy::<true>, Kind::GlobalOutOfBounds, 10);
    assert_eq!(f.message, "thread 36: load of 2 bytes at `p0[100]` (100 elements)");
    let f =
        program(64, 0).grid(2).read(&x).fresh(&mut short).scalar(100).fails(copy::<false>, Kind::GlobalOutOfBounds, 11);
    assert_eq!((f.program, f.threads), ([1, 0, 0], vec![35]));
}

#[test]
fn unknown_extents_are_not_checked() {
    let (x, mut y) = (vec![3u16; 100], vec![0u16; 100]);
    let unknown = |mutable| {
        move |mut l: Launch<'static>| {
            l.regions.iter_mut().for_each(|r| (r.bytes, r.mutable) = (Region::UNKNOWN, mutable));
            l
        }
    };
    let both = |y: &mut [u16]| {
        program(64, 0).grid(1).region(x.as_ptr(), 0, false, true).region(y.as_mut_ptr(), 0, true, true).scalar(64)
    };
    unknown(true)(both(&mut y)).passes(copy::<true>);
    assert_eq!(y[..64], x[..64]);
    let f = unknown(false)(both(&mut y)).fails(copy::<true>, Kind::GlobalOutOfBounds, 11);
    assert_eq!(f.message, "thread 0: store of 2 bytes at `p1[0]`");
}

#[test]
fn read_only_memory() {
    let (x, y) = (vec![3u16; 64], vec![0u16; 64]);
    program(64, 0).read(&x).read(&y).scalar(64).fails(copy::<false>, Kind::ReadOnly, 11);
}

#[test]
fn global_memory_that_nobody_wrote() {
    let (mut x, mut y) = (vec![3u16; 64], vec![0u16; 64]);
    program(64, 0).write(&mut x).fresh(&mut y).scalar(64).passes(copy::<false>);
    program(64, 0).fresh(&mut x).fresh(&mut y).scalar(64).fails(copy::<false>, Kind::GlobalUninitialized, 10);
    program(64, 0).fresh(&mut x).fresh(&mut y).scalar(64).options(|o| o.uninitialized = false).passes(copy::<false>);
}

/// Groups of four from an address that may not be aligned to them.
unsafe fn wide(s: &[u64]) {
    let at = |r: usize| s[0] + s[1] + d::thread() as u64 * 16 + r as u64 * 4;
    d::load::<f32, 4, 4, false, false>(at, true, |_| true, |_| 0.0, 0, 20);
}

#[test]
fn alignment_of_groups() {
    #[repr(align(16))]
    struct Aligned([f32; 136]);
    let x = Aligned([0.0; 136]);
    program(32, 0).read(&x.0).scalar(0).passes(wide);
    let f = program(32, 0).read(&x.0).scalar(4).fails(wide, Kind::Misaligned, 20);
    assert!(f.message.contains("16 bytes at `p0[1]` (136 elements)"), "{f}");
    let f = program(32, 0).read(&x.0).scalar(2).fails(wide, Kind::Misaligned, 20);
    assert!(f.message.contains("at byte 2 of `p0[0]` (136 elements)"), "{f}");
}

/// Writes all of shared memory but the words that `s[0]` names, then reads it.
unsafe fn shared(s: &[u64]) {
    let t = d::thread();
    d::shared_store::<f32, 4, 4>(|r| t * 16 + r as u32 * 4, |_| t as u64 != s[0], |r| r as f32, 30);
    d::barrier(31);
    d::shared_load::<f32, 1, 1>(|_| (t + s[1] as u32) * 4, |_| true, 32);
}

#[test]
fn shared_memory_that_nobody_wrote() {
    program(32, 512).scalar(99).scalar(0).passes(shared);
    let f = program(32, 512).scalar(2).scalar(0).fails(shared, Kind::SharedUninitialized, 32);
    assert_eq!(f.threads, [8]);
    // The writes of an earlier program do not count.
    program(32, 512).grid(4).scalar(2).scalar(0).seed(3).options(|o| o.banks = false).fails(
        shared,
        Kind::SharedUninitialized,
        32,
    );
}

#[test]
fn shared_bounds() {
    program(32, 512).scalar(99).scalar(96).passes(shared);
    let f = program(32, 512).scalar(99).scalar(97).fails(shared, Kind::SharedOutOfBounds, 32);
    assert_eq!(f.threads, [31]);
    program(32, 496).scalar(99).scalar(0).fails(shared, Kind::SharedOutOfBounds, 30);
}

unsafe fn debugging(s: &[u64]) {
    let t = d::thread();
    if t == 3 {
        d::print(c"half", t as f32 / 2.0, 40);
        d::print(c"negative", -(t as i8), 41);
    }
    d::assert(t as u64 != s[0], c"not this thread", 42);
}

#[test]
fn prints_and_assertions() {
    let report = program(32, 0).scalar(99).passes(debugging);
    assert_eq!(
        report.printed,
        ["half program (0, 0, 0) thread 3 line 40: 1.5", "negative program (0, 0, 0) thread 3 line 41: -3"]
    );
    let f = program(32, 0).scalar(9).fails(debugging, Kind::Assertion, 42);
    assert_eq!(f.to_string(), "line 42: assertion failed: thread 9: not this thread [program (0, 0, 0), seed 0]");
    // Thread 3 has run before thread 9.
    assert_eq!(f.printed, report.printed);
}
