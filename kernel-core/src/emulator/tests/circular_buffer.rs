//! A circular buffer of three stages: one thread loads tiles with TMA, a warpgroup multiplies them. The tests plant its
//! possible defects.

use super::*;
use crate::device as d;
use crate::device::hw as h;
use crate::emulator::TensorMap;
use crate::scalar::F16;

pub const STAGES: u32 = 3;
pub const STAGE: u32 = 16384;
pub const FULL: u32 = STAGES * STAGE;
pub const EMPTY: u32 = FULL + 8 * STAGES;
pub const SHARED_BYTES: u32 = EMPTY + 8 * STAGES;

const NONE: u32 = 0;
/// The producer does not wait for empty stages.
const NO_EMPTY_WAIT: u32 = 1;
/// Consumers free a stage before its product is complete.
const EARLY_FREE: u32 = 2;
/// Consumers do not wait for full stages.
const NO_FULL_WAIT: u32 = 3;
const NO_WGMMA_FENCE: u32 = 4;
const NO_LAST_WAIT: u32 = 5;
/// More bytes are expected than come.
const BYTES: u32 = 6;
const NO_READY: u32 = 7;
const NO_BARRIER_AFTER_INIT: u32 = 8;
/// Each thread of a warpgroup frees the stage, which takes one arrival.
const MANY_ARRIVALS: u32 = 9;
const DIFFERENT_DESCRIPTORS: u32 = 10;
/// Neither waited for nor stored.
const FORGOTTEN: u32 = 11;

/// A warpgroup multiplies the tiles that one thread of the other loads: 64 x 64 over `s[4]` tiles of 64.
unsafe fn pipeline<const DEFECT: u32>(s: &[u64]) {
    let [_, _, out, map_a, map_b, tiles] = *s else { unreachable!() };
    let t = d::thread();
    if t == 0 {
        for stage in 0..STAGES {
            h::mbarrier_init(FULL + 8 * stage, 1, 10);
            h::mbarrier_init(EMPTY + 8 * stage, 1, 11);
        }
        if DEFECT != NO_READY {
            h::mbarriers_ready(12);
        }
    }
    if DEFECT != NO_BARRIER_AFTER_INIT {
        d::barrier(13);
    }
    if t >= 128 {
        h::set_registers::<false, 40>(14);
        if t == 128 {
            for i in 0..tiles as u32 {
                let (stage, round) = (i % STAGES, i / STAGES);
                let full = FULL + 8 * stage;
                if DEFECT != NO_EMPTY_WAIT {
                    h::mbarrier_wait(EMPTY + 8 * stage, (round & 1) ^ 1, 15);
                }
                h::mbarrier_expect(full, 16384 + if DEFECT == BYTES { 16 } else { 0 }, 16);
                h::tma_load::<_, 0>(stage * STAGE, map_a, [i as i32 * 64, 0], full, 17);
                h::tma_load::<_, 0>(stage * STAGE + 8192, map_b, [i as i32 * 64, 0], full, 18);
            }
        }
        return;
    }
    h::set_registers::<true, 216>(20);
    let mut acc = [0f32; 32];
    for i in 0..tiles as u32 {
        let (stage, round) = (i % STAGES, i / STAGES);
        if DEFECT != NO_FULL_WAIT {
            h::mbarrier_wait(FULL + 8 * stage, round & 1, 21);
        }
        if DEFECT != NO_WGMMA_FENCE || i == 0 {
            h::wgmma_fence(22);
        }
        for step in 0..4 {
            let (a, b) = (stage * STAGE + 32 * step, stage * STAGE + 8192 + 32 * step);
            let a = if DEFECT == DIFFERENT_DESCRIPTORS && t == 77 { a + 1024 } else { a };
            h::wgmma::<F16, f32, 64, false, false>(acc.as_mut_ptr(), tile(a), tile(b), true, 23);
        }
        h::wgmma_commit(24);
        // The product before this one is complete: its stage is free.
        h::wgmma_wait::<f32, 1, 32, 64>(&mut acc, 25);
        let free = if DEFECT == EARLY_FREE { i } else { i.wrapping_sub(1) };
        if free != u32::MAX && (t == 0 || DEFECT == MANY_ARRIVALS) {
            h::mbarrier_arrive(EMPTY + 8 * (free % STAGES), true, 26);
        }
    }
    if DEFECT == FORGOTTEN {
        return;
    }
    if DEFECT != NO_LAST_WAIT {
        h::wgmma_wait::<f32, 0, 32, 64>(&mut acc, 27);
    }
    for i in 0..32 {
        let (row, column) = (16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (t % 4) + i % 2);
        d::store::<f32, 1, 1, false, false>(
            |_| out + ((row * 64 + column) * 4) as u64,
            true,
            |_| true,
            |_| acc[i as usize],
            0,
            28,
        );
    }
}

fn run_pipeline(run: Run, seed: u64) -> Result<Vec<f32>, Failure> {
    let tiles = 8;
    let k = tiles * 64;
    let data =
        |salt: usize| -> Vec<F16> { (0..64 * k).map(|i| F16::from_f32(((i + salt) * 7 % 11) as f32 - 5.0)).collect() };
    let (a, b) = (data(0), data(3));
    let mut out = vec![0f32; 64 * 64];
    let map = |p: &[F16]| TensorMap::new(p.as_ptr() as u64, 2, &[k as u64, 64], &[2 * k as u64], &[64, 64], 128);
    let maps = [map(&a), map(&b)];
    let launch = program(256, SHARED_BYTES).seed(seed).read(&a).read(&b).write(&mut out);
    launch.scalar(&raw const maps[0] as u64).scalar(&raw const maps[1] as u64).scalar(tiles as u64).run(run)?;
    for (i, &got) in out.iter().enumerate() {
        let want: f32 = (0..k).map(|j| a[i / 64 * k + j].to_f32() * b[i % 64 * k + j].to_f32()).sum();
        assert_eq!(got, want);
    }
    Ok(out)
}

/// The failure, which is the same kind in every order.
#[track_caller]
fn pipeline_fails(run: Run, kind: Kind, sites: &[u32], says: &str) {
    for seed in 0..6 {
        let f = run_pipeline(run, seed).expect_err("the kernel has a defect");
        assert!(f.kind == kind && sites.contains(&f.site) && f.message.contains(says), "{f}");
    }
}

#[test]
fn three_stages_on_one_multiprocessor_are_ordered() {
    for seed in 0..6 {
        run_pipeline(pipeline::<NONE>, seed).unwrap_or_else(|f| panic!("{f}"));
    }
}

#[test]
fn loads_wait_for_free_stages() {
    // Whether the consumers have read by then or not.
    pipeline_fails(pipeline::<NO_EMPTY_WAIT>, Kind::AsyncRace, &[17, 18], "tma load of 16 bytes");
    pipeline_fails(pipeline::<EARLY_FREE>, Kind::AsyncRace, &[17, 18], "wgmma of line 23 may still read there");
}

#[test]
fn products_wait_for_loads() {
    // Nothing is there yet, or nothing says that it is.
    for seed in 0..6 {
        let f = run_pipeline(pipeline::<NO_FULL_WAIT>, seed).expect_err("the kernel has a defect");
        assert!(matches!((f.kind, f.site), (Kind::SharedUninitialized | Kind::AsyncRace, 23)), "{f}");
    }
}

#[test]
fn products_are_fenced_and_waited_for() {
    pipeline_fails(pipeline::<NO_WGMMA_FENCE>, Kind::Protocol, &[23], "no wgmma_fence");
    pipeline_fails(
        pipeline::<NO_LAST_WAIT>,
        Kind::RegistersInFlight,
        &[28],
        "accumulator 0 of the wgmma of line 23 was read",
    );
    pipeline_fails(pipeline::<FORGOTTEN>, Kind::AsyncPending, &[23], "has not waited for its wgmma");
    pipeline_fails(pipeline::<DIFFERENT_DESCRIPTORS>, Kind::Divergence, &[23], "different descriptors");
}

#[test]
fn mbarriers_that_nobody_completes() {
    pipeline_fails(pipeline::<BYTES>, Kind::Divergence, &[15, 21], "mbarrier at shared byte");
    let f = run_pipeline(pipeline::<BYTES>, 0).expect_err("the kernel has a defect");
    assert!(f.message.contains("16 bytes are missing"), "{f}");
}

#[test]
fn mbarriers_are_shown_before_use() {
    pipeline_fails(pipeline::<NO_READY>, Kind::Mbarrier, &[17], "no mbarriers_ready");
    pipeline_fails(pipeline::<NO_BARRIER_AFTER_INIT>, Kind::Mbarrier, &[15, 21], "initialized");
    pipeline_fails(pipeline::<MANY_ARRIVALS>, Kind::AsyncRace, &[17, 18], "");
}
