//! A circular buffer in each of two CTAs, which multiply the same right operand: each brings its half to both.

use super::circular_buffer::{EMPTY, FULL, SHARED_BYTES, STAGE, STAGES};
use super::*;
use crate::device as d;
use crate::device::hw as h;
use crate::emulator::TensorMap;
use crate::scalar::F16;

const NONE: u32 = 0;
/// The producers wait for the consumers of both instead of syncing at the end.
const TAIL: u32 = 1;
const OWN_RELEASE: u32 = 2;
/// Stages are freed before their product is complete.
const EARLY_FREE: u32 = 3;
/// CTA 1 does not wait for full stages.
const NO_FULL_WAIT: u32 = 4;
const NO_END: u32 = 5;
/// The other half comes from nobody.
const OWN_HALF: u32 = 6;

/// 64 rows of the left operand in each CTA, 64 columns, over `tiles` tiles of 64: a warpgroup, and one thread of a
/// warp beside it.
unsafe fn pipeline<const DEFECT: u32>(s: &[u64]) {
    let [_, _, out, map_a, map_b, tiles] = *s else { unreachable!() };
    let (t, rank, tiles) = (d::thread(), h::cluster_rank(), tiles as u32);
    if t == 0 {
        for stage in 0..STAGES {
            h::mbarrier_init(FULL + 8 * stage, 1, 10);
            h::mbarrier_init(EMPTY + 8 * stage, if DEFECT == OWN_RELEASE { 1 } else { 2 }, 11);
        }
        h::mbarriers_ready(12);
    }
    h::cluster_sync(13);
    let empty = |i: u32| h::mbarrier_wait(EMPTY + 8 * (i % STAGES), ((i / STAGES) & 1) ^ 1, 14);
    if t >= 128 {
        if t > 128 {
            return;
        }
        for i in 0..tiles {
            let (full, stage) = (FULL + 8 * (i % STAGES), i % STAGES * STAGE);
            empty(i);
            h::mbarrier_expect(full, 16384, 15);
            h::tma_load::<_, 0>(stage, map_a, [i as i32 * 64, rank as i32 * 64], full, 16);
            let both = if DEFECT == OWN_HALF { 1 << rank } else { 0b11 };
            h::tma_load_multicast::<_, 0>(
                stage + 8192 + rank * 4096,
                map_b,
                [i as i32 * 64, rank as i32 * 32],
                full,
                both,
                17,
            );
        }
        if DEFECT == TAIL {
            (tiles..tiles + STAGES).for_each(empty);
        }
    } else {
        let free = |i: u32| {
            for cta in 0..2 {
                h::mbarrier_arrive_at(
                    EMPTY + 8 * (i % STAGES),
                    cta,
                    t == 0 && (DEFECT != OWN_RELEASE || cta == rank),
                    20,
                );
            }
        };
        let mut acc = [0f32; 32];
        for i in 0..tiles {
            let stage = i % STAGES * STAGE;
            if DEFECT != NO_FULL_WAIT || rank == 0 {
                h::mbarrier_wait(FULL + 8 * (i % STAGES), (i / STAGES) & 1, 21);
            }
            h::wgmma_fence(22);
            for step in 0..4 {
                let (a, b) = (tile(stage + 32 * step), tile(stage + 8192 + 32 * step));
                h::wgmma::<F16, f32, 64, false, false>(acc.as_mut_ptr(), a, b, true, 23);
            }
            h::wgmma_commit(24);
            if DEFECT == EARLY_FREE {
                free(i);
            }
            h::wgmma_wait::<f32, 0, 32, 64>(&mut acc, 25);
            if DEFECT != EARLY_FREE {
                free(i);
            }
        }
        for i in 0..32 {
            let (row, column) = (16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (t % 4) + i % 2);
            let at = out + (((row + rank * 64) * 64 + column) * 4) as u64;
            d::store::<f32, 1, 1, false, false>(|_| at, true, |_| true, |_| acc[i as usize], 0, 26);
        }
    }
    if DEFECT != TAIL && DEFECT != NO_END {
        h::cluster_sync(27);
    }
}

fn run_pipeline(run: Run, seed: u64) -> Result<(), Failure> {
    let tiles = 8;
    let k = tiles * 64;
    let data = |rows: usize, salt: usize| -> Vec<F16> {
        (0..rows * k).map(|i| F16::from_f32(((i + salt) * 7 % 11) as f32 - 5.0)).collect()
    };
    let (a, b) = (data(128, 0), data(64, 3));
    let mut out = vec![0f32; 128 * 64];
    let map = |p: &[F16], rows: u32| {
        TensorMap::new(p.as_ptr() as u64, 2, &[k as u64, (p.len() / k) as u64], &[2 * k as u64], &[64, rows], 128)
    };
    let maps = [map(&a, 64), map(&b, 32)];
    let launch = program(160, SHARED_BYTES).ctas(2).seed(seed).read(&a).read(&b).write(&mut out);
    launch.scalar(&raw const maps[0] as u64).scalar(&raw const maps[1] as u64).scalar(tiles as u64).run(run)?;
    for (i, &got) in out.iter().enumerate() {
        let want: f32 = (0..k).map(|j| a[i / 64 * k + j].to_f32() * b[i % 64 * k + j].to_f32()).sum();
        assert_eq!(got, want);
    }
    Ok(())
}

#[track_caller]
fn pipeline_fails(run: Run, kinds: &[Kind], sites: &[u32], says: &str) {
    for seed in 0..6 {
        let f = run_pipeline(run, seed).expect_err("the kernel has a defect");
        assert!(kinds.contains(&f.kind) && sites.contains(&f.site) && f.message.contains(says), "{f}");
    }
}

#[test]
fn two_ctas_share_an_operand() {
    for seed in 0..6 {
        run_pipeline(pipeline::<NONE>, seed).unwrap_or_else(|f| panic!("{f}"));
        run_pipeline(pipeline::<TAIL>, seed).unwrap_or_else(|f| panic!("{f}"));
    }
}

#[test]
fn stages_are_free_in_both() {
    pipeline_fails(pipeline::<OWN_RELEASE>, &[Kind::AsyncRace], &[17], "tma load of 16 bytes at CTA ");
    pipeline_fails(pipeline::<EARLY_FREE>, &[Kind::AsyncRace], &[16, 17], "wgmma of line 23 may still read there");
}

#[test]
fn both_wait_for_full_stages() {
    pipeline_fails(
        pipeline::<NO_FULL_WAIT>,
        &[Kind::AsyncRace, Kind::SharedUninitialized],
        &[23],
        " of CTA 1: wgmma of 16 bytes at CTA 1's",
    );
    pipeline_fails(pipeline::<OWN_HALF>, &[Kind::Divergence], &[21], "4096 bytes are missing");
}

#[test]
fn both_stay_until_the_other_has_freed() {
    pipeline_fails(pipeline::<NO_END>, &[Kind::EndedCta], &[20], "nothing orders this before the end of CTA ");
}
