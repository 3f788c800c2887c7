//! Numbers: products of tiles that tensor loads bring, fragments, asynchronous copies, boxes at a tensor's edge.

use super::*;
use crate::device::hw as h;
use crate::device::{self as d, Mem};
use crate::emulator::TensorMap;
use crate::scalar::{BF16, F16};

/// Small whole numbers, which every type holds exactly.
fn number(i: usize) -> i32 {
    (i.wrapping_mul(0x9e37_79b9) >> 7) as i32 % 7 - 3
}

fn element<T: Mem>(x: i32) -> T {
    T::from_bits64(match T::NAME {
        "f16" => F16::from_f32(x as f32).0 as u64,
        "bf16" => BF16::from_f32(x as f32).0 as u64,
        "f32" => (x as f32).to_bits() as u64,
        _ => x as u64,
    })
}

fn matrix<T: Mem>(len: usize, salt: usize) -> (Vec<i32>, Vec<T>) {
    let numbers: Vec<i32> = (0..len).map(|i| number(i * 3 + salt)).collect();
    let elements = numbers.iter().map(|&x| element(x)).collect();
    (numbers, elements)
}

/// The offsets of tiles in shared memory, in whole swizzle patterns.
const A: u32 = 0;
const B: u32 = 8192;
const BAR: u32 = 40960;

const fn descriptor(start: u32, leading: u32, stride: u32, swizzle: u64) -> u64 {
    (start as u64 >> 4) | (leading as u64 >> 4) << 16 | (stride as u64 >> 4) << 32 | swizzle << 62
}

/// 64 rows by N columns, over `k` elements in 128 bytes.
unsafe fn product<T: Mem, D: Mem, const N: usize, const TA: bool, const TB: bool, const REGISTERS: bool>(s: &[u64]) {
    let [a, _, out, map_a, map_b] = *s else { unreachable!() };
    let t = d::thread();
    if t == 0 {
        h::mbarrier_init(BAR, 1, 10);
        h::mbarriers_ready(11);
    }
    d::barrier(12);
    let k = 128 / T::BYTES as u32;
    let blocks = if TB { N.div_ceil(64) as u32 } else { 1 };
    if t == 0 {
        let b_bytes = if TB { blocks * 8192 } else { N as u32 * 128 };
        h::mbarrier_expect(BAR, 8192 + b_bytes, 13);
        h::tma_load::<_, 0>(A, map_a, [0, 0], BAR, 14);
        for block in 0..blocks {
            h::tma_load::<_, 0>(B + block * 8192, map_b, [block as i32 * 64, 0], BAR, 15);
        }
    }
    h::mbarrier_wait(BAR, 0, 16);
    let mut acc = [D::ZERO; 128];
    h::wgmma_fence(17);
    for step in 0..4 {
        let b = descriptor(B + step * if TB { 2048 } else { 32 }, 8192, 1024, 1);
        if REGISTERS {
            let row = 16 * (t / 32) + t % 32 / 4;
            let fragment = d::each(|r| {
                let (row, word) = (row + 8 * (r as u32 % 2), 8 * step + t % 4 + 4 * (r as u32 / 2));
                d::load::<u32, 1, 1, false, false>(|_| a + (row * 128 + word * 4) as u64, true, |_| true, |_| 0, 0, 18)
                    [0]
            });
            let fragment = h::fragment(fragment);
            h::wgmma_fence(17);
            h::wgmma_ra::<T, D, N, TB>(acc.as_mut_ptr(), fragment, b, true, 19);
        } else {
            let a = descriptor(A + step * if TA { 2048 } else { 32 }, 8192, 1024, 1);
            h::wgmma::<T, D, N, TA, TB>(acc.as_mut_ptr(), a, b, true, 19);
        }
    }
    assert_eq!(k / 4 * T::BYTES as u32, 32);
    h::wgmma_commit(20);
    h::wgmma_wait::<D, 0, 128, 256>(&mut acc, 21);
    for (i, &x) in acc[..N / 2].iter().enumerate() {
        let row = 16 * (t / 32) + t % 32 / 4 + 8 * (i as u32 / 2 % 2);
        let column = 8 * (i as u32 / 4) + 2 * (t % 4) + i as u32 % 2;
        let at = out + ((row * N as u32 + column) * 4) as u64;
        d::store::<D, 1, 1, false, false>(|_| at, true, |_| true, |_| x, 0, 22);
    }
}

fn plain(m: usize, n: usize, k: usize, a: impl Fn(usize, usize) -> i32, b: impl Fn(usize, usize) -> i32) -> Vec<i32> {
    (0..m * n).map(|i| (0..k).map(|k| a(i / n, k) * b(k, i % n)).sum()).collect()
}

fn check_product<T: Mem, D: Mem, const N: usize, const TA: bool, const TB: bool, const REGISTERS: bool>() {
    let k = 128 / T::BYTES;
    let (a, a_data) = matrix::<T>(64 * k, 0);
    let (b, b_data) = matrix::<T>(k * N, 1);
    let mut out = vec![D::ZERO; 64 * N];
    let (bytes, k64, n64) = (T::BYTES as u32, k as u64, N as u64);
    let map = |p: *const T, rows: u64, columns: u64, extents: [u32; 2]| {
        TensorMap::new(p as u64, bytes, &[columns, rows], &[columns * bytes as u64], &extents, 128)
    };
    let map_a =
        if TA { map(a_data.as_ptr(), k64, 64, [64, 64]) } else { map(a_data.as_ptr(), 64, k64, [k as u32, 64]) };
    let map_b = if TB {
        map(b_data.as_ptr(), k64, n64, [64, 64])
    } else {
        map(b_data.as_ptr(), n64, k64, [k as u32, N as u32])
    };
    program(128, BAR + 8)
        .read(&a_data)
        .read(&b_data)
        .write(&mut out)
        .scalar(&raw const map_a as u64)
        .scalar(&raw const map_b as u64)
        .passes(product::<T, D, N, TA, TB, REGISTERS>);
    let at =
        |m: &[i32], t: bool, x: usize, k_at: usize, width: usize| if t { m[k_at * width + x] } else { m[x * k + k_at] };
    let want = plain(64, N, k, |m, k| at(&a, TA, m, k, 64), |k, n| at(&b, TB, n, k, N));
    let want: Vec<D> = want.into_iter().map(element).collect();
    assert_eq!(out, want, "{} {N} {TA} {TB} {REGISTERS}", T::NAME);
}

#[test]
fn products_of_k_major_tiles() {
    check_product::<F16, f32, 8, false, false, false>();
    check_product::<F16, f32, 64, false, false, false>();
    check_product::<F16, f32, 256, false, false, false>();
    check_product::<BF16, f32, 128, false, false, false>();
    check_product::<f32, f32, 64, false, false, false>();
    check_product::<f32, f32, 24, false, false, false>();
    check_product::<i8, i32, 64, false, false, false>();
    check_product::<i8, i32, 192, false, false, false>();
}

#[test]
fn products_of_mn_major_tiles() {
    check_product::<F16, f32, 64, true, false, false>();
    check_product::<F16, f32, 64, false, true, false>();
    check_product::<BF16, f32, 256, true, true, false>();
    check_product::<BF16, f32, 24, true, true, false>();
    check_product::<F16, f32, 136, false, true, false>();
}

#[test]
fn products_with_fragments_from_registers() {
    check_product::<F16, f32, 64, false, false, true>();
    check_product::<BF16, f32, 128, false, true, true>();
    check_product::<f32, f32, 16, false, false, true>();
    check_product::<i8, i32, 32, false, false, true>();
}

/// Operands of 64 x 16 and 16 x 16 that threads store as narrower patterns, or none, ask for.
unsafe fn narrow<const SWIZZLE: u32, const T: bool>(s: &[u64]) {
    let [a, b, out] = *s else { unreachable!() };
    let t = d::thread();
    let put = |start: u32, mn: u32, k: u32, address: u64| {
        // Leading and stride offsets are as `descriptor` below says.
        let off = match (T, SWIZZLE) {
            (false, 0) => mn / 8 * 256 + mn % 8 * 16 + k / 8 * 128 + k % 8 * 2,
            (false, w) => mn / 8 * (8 * w) + mn % 8 * w + k * 2,
            (true, 0) => mn / 8 * 256 + mn % 8 * 2 + k % 8 * 16 + k / 8 * 128,
            (true, w) => mn / (w / 2) * (16 * w) + mn % (w / 2) * 2 + k % 8 * w + k / 8 * (8 * w),
        };
        let bits = match SWIZZLE {
            128 => 7,
            64 => 3,
            32 => 1,
            _ => 0,
        };
        let off = start + off;
        let off = off ^ ((off >> 7 & bits) << 4);
        let x = d::load::<u16, 1, 1, false, false>(|_| address, true, |_| true, |_| 0, 0, 30);
        d::shared_store::<u16, 1, 1>(|_| off, |_| true, |_| x[0], 31);
    };
    for i in (t..64 * 16).step_by(128) {
        put(0, i / 16, i % 16, a + i as u64 * 2);
    }
    for i in (t..16 * 16).step_by(128) {
        put(B, i / 16, i % 16, b + i as u64 * 2);
    }
    h::proxy_fence(32);
    d::barrier(33);
    let (mode, leading, stride) = match (T, SWIZZLE) {
        (_, 0) => (0, 128, 256),
        (_, w) => ([0, 3, 2, 0, 1][w as usize / 32], 16 * w, 8 * w),
    };
    let mut acc = [0f32; 8];
    h::wgmma_fence(34);
    let at = |start| descriptor(start, leading, stride, mode);
    h::wgmma::<F16, f32, 16, T, T>(acc.as_mut_ptr(), at(0), at(B), true, 35);
    h::wgmma_commit(36);
    h::wgmma_wait::<f32, 0, 8, 16>(&mut acc, 37);
    for i in 0..8u32 {
        let (row, column) = (16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (t % 4) + i % 2);
        d::store::<f32, 1, 1, false, false>(
            |_| out + ((row * 16 + column) * 4) as u64,
            true,
            |_| true,
            |_| acc[i as usize],
            0,
            38,
        );
    }
}

#[test]
fn every_pattern_of_shared_memory() {
    let kernels: [Run; 8] = [
        narrow::<0, false>,
        narrow::<32, false>,
        narrow::<64, false>,
        narrow::<128, false>,
        narrow::<0, true>,
        narrow::<32, true>,
        narrow::<64, true>,
        narrow::<128, true>,
    ];
    for run in kernels {
        let (a, a_data) = matrix::<F16>(64 * 16, 5);
        let (b, b_data) = matrix::<F16>(16 * 16, 6);
        let mut out = vec![0f32; 64 * 16];
        program(128, 16384).read(&a_data).read(&b_data).write(&mut out).passes(run);
        let want = plain(64, 16, 16, |m, k| a[m * 16 + k], |k, n| b[n * 16 + k]);
        assert!(out.iter().zip(want).all(|(&x, y)| x == y as f32));
    }
}

/// 16 rows by 8 columns, fragments as the PTX manual has them; twice, so that `d` is added to.
unsafe fn fragments<T: Mem, D: Mem>(s: &[u64]) {
    let [a, b, out] = *s else { unreachable!() };
    let (lane, k) = (d::thread(), 32 / T::BYTES as u32);
    let word = |p: u64, row: u32, byte: u32| {
        d::load::<u32, 1, 1, false, false>(
            |_| p + (row * k * T::BYTES as u32 + byte) as u64,
            true,
            |_| true,
            |_| 0,
            0,
            40,
        )[0]
    };
    let (group, within) = (lane / 4, lane % 4 * 4);
    let fa = [
        word(a, group, within),
        word(a, group + 8, within),
        word(a, group, within + 16),
        word(a, group + 8, within + 16),
    ];
    let fb = [word(b, group, within), word(b, group, within + 16)];
    let mut acc = [D::ZERO; 4];
    for _ in 0..2 {
        acc = h::mma::<T, D>(acc, fa, fb, 41);
    }
    for (i, x) in acc.into_iter().enumerate() {
        let at = (group + 8 * (i as u32 / 2)) * 8 + lane % 4 * 2 + i as u32 % 2;
        d::store::<D, 1, 1, false, false>(|_| out + at as u64 * 4, true, |_| true, |_| x, 0, 42);
    }
}

fn check_fragments<T: Mem, D: Mem>() {
    let k = 32 / T::BYTES;
    let (a, a_data) = matrix::<T>(16 * k, 2);
    let (b, b_data) = matrix::<T>(8 * k, 3);
    let mut out = vec![D::ZERO; 128];
    program(32, 0).read(&a_data).read(&b_data).write(&mut out).passes(fragments::<T, D>);
    let want = plain(16, 8, k, |m, k_at| a[m * k + k_at], |k_at, n| 2 * b[n * k + k_at]);
    assert_eq!(out, want.into_iter().map(element).collect::<Vec<D>>(), "{}", T::NAME);
}

#[test]
fn products_of_fragments() {
    check_fragments::<F16, f32>();
    check_fragments::<BF16, f32>();
    check_fragments::<f32, f32>();
    check_fragments::<i8, i32>();
}

/// Operands of 13 bits more than tf32 has.
unsafe fn truncating(s: &[u64]) {
    let x = f32::from_bits(0x3f80_1fff).to_bits();
    let acc = h::mma::<f32, f32>([0.0; 4], [x; 4], [x; 2], 45);
    d::store::<f32, 1, 1, false, false>(|_| s[0], false, |_| d::thread() == 0, |_| acc[0], 0, 46);
}

#[test]
fn tf32_is_truncated() {
    let mut out = [0f32];
    program(32, 0).write(&mut out).passes(truncating);
    assert_eq!(out, [8.0]);
}

/// Four matrices of 8 x 8, row after row, and the elements that each lane gets.
unsafe fn matrices<const TRANS: bool>(s: &[u64]) {
    let lane = d::thread();
    d::shared_store::<u16, 8, 8>(|r| lane * 16 + r as u32 * 2, |_| true, |r| (lane * 8) as u16 + r as u16, 50);
    d::warp_barrier(51);
    let got = h::ldmatrix::<TRANS>(lane * 16, 52);
    d::store::<u32, 4, 4, false, false>(
        |r| s[0] + (lane * 16) as u64 + r as u64 * 4,
        true,
        |_| true,
        |r| got[r],
        0,
        53,
    );
}

#[test]
fn matrices_both_ways() {
    for (trans, run) in [(false, matrices::<false> as Run), (true, matrices::<true>)] {
        let mut out = vec![0u32; 128];
        let report = program(32, 512).write(&mut out).passes(run);
        assert_eq!(report.bank_conflicts().count(), 0);
        for (i, word) in out.into_iter().enumerate() {
            let (lane, matrix) = (i / 4, i % 4);
            let want = [0, 1].map(|e| {
                let (row, column) = (lane / 4, lane % 4 * 2 + e);
                (matrix * 64 + if trans { column * 8 + row } else { row * 8 + column }) as u32
            });
            assert_eq!([word & 0xffff, word >> 16], want);
        }
    }
}

/// Each lane's words of four matrices, stored and read back row after row.
unsafe fn stored_matrices(s: &[u64]) {
    let lane = d::thread();
    h::stmatrix(lane * 16, d::each(|m| 4 * lane + m as u32), 55);
    d::warp_barrier(56);
    let got: [u32; 4] = d::shared_load::<u32, 4, 4>(|r| lane * 16 + r as u32 * 4, |_| true, 57);
    d::store::<u32, 4, 4, false, false>(
        |r| s[0] + (lane * 16) as u64 + r as u64 * 4,
        true,
        |_| true,
        |r| got[r],
        0,
        58,
    );
}

#[test]
fn matrices_are_stored_by_rows() {
    let mut out = vec![0u32; 128];
    let report = program(32, 512).write(&mut out).passes(stored_matrices);
    assert_eq!(report.bank_conflicts().count(), 0);
    for (i, word) in out.into_iter().enumerate() {
        let (matrix, row, quarter) = (i / 32, i / 4 % 8, i % 4);
        assert_eq!(word as usize, 4 * (4 * row + quarter) + matrix);
    }
}

/// A box of 8 x 4 x 2 floats moved from one place of a tensor to column `X` and row 1 of another, clipped at both.
unsafe fn box_moves<const X: i32>(s: &[u64]) {
    let [_, _, from, to, x, y, z] = *s else { unreachable!() };
    let t = d::thread();
    if t == 0 {
        h::mbarrier_init(BAR, 1, 60);
        h::mbarriers_ready(61);
        h::mbarrier_expect(BAR, 256, 62);
        h::tma_load::<_, 0>(0, from, [x as i32, y as i32, z as i32], BAR, 63);
        h::mbarrier_wait(BAR, 0, 64);
        h::tma_store::<3, 0>(0, to, [X, 1, 0], true, 65);
        h::tma_store_wait_read::<0>(67);
    }
}

/// A tensor of `width` of 12 columns, 5 rows and 3 matrices.
fn tensor_of_floats(p: *const f32, width: u64) -> TensorMap {
    TensorMap::new(p as u64, 4, &[width, 5, 3], &[48, 240], &[8, 4, 2], 0)
}

#[test]
fn boxes_are_clipped() {
    let source: Vec<f32> = (0..12 * 5 * 3).map(|i| 1.0 + i as f32).collect();
    for at in [[0i32, 0, 0], [-4, -1, -1], [4, 3, 2], [20, 0, 0], [0, -9, 1]] {
        let mut target = vec![-1f32; source.len()];
        let maps = [tensor_of_floats(source.as_ptr(), 10), tensor_of_floats(target.as_ptr(), 8)];
        let launch = program(32, BAR + 8).read(&source).write(&mut target);
        let launch = launch.scalar(&raw const maps[0] as u64).scalar(&raw const maps[1] as u64);
        at.iter().fold(launch, |l, &x| l.scalar(x as u64)).passes(box_moves::<4>);
        for (i, &got) in target.iter().enumerate() {
            let [x, y, z] = [i % 12, i / 12 % 5, i / 60].map(|x| x as i32);
            let inside = (4..8).contains(&x) && y >= 1 && z < 2;
            let [u, v, w] = [at[0] + x - 4, at[1] + y - 1, at[2] + z];
            let there = (0..10).contains(&u) && (0..5).contains(&v) && (0..3).contains(&w);
            let value = if there { source[(u + 12 * v + 60 * w) as usize] } else { 0.0 };
            assert_eq!(got, if inside { value } else { -1.0 }, "{at:?} {x} {y} {z}");
        }
    }
}

/// An H200 reports these as illegal instructions.
#[test]
fn boxes_begin_where_the_hardware_takes_them() {
    let source = vec![1f32; 12 * 5 * 3];
    let fails = |run, from: i32, kind, site| {
        let mut target = vec![-1f32; source.len()];
        let maps = [tensor_of_floats(source.as_ptr(), 10), tensor_of_floats(target.as_ptr(), 8)];
        let launch = program(32, BAR + 8).read(&source).write(&mut target);
        let launch = launch.scalar(&raw const maps[0] as u64).scalar(&raw const maps[1] as u64);
        launch.scalar(from as u64).scalar(0).scalar(0).fails(run, kind, site);
    };
    fails(box_moves::<0>, -3, Kind::Misaligned, 63);
    fails(box_moves::<0>, 2, Kind::Misaligned, 63);
    fails(box_moves::<2>, 0, Kind::Misaligned, 65);
    fails(box_moves::<-4>, 0, Kind::Protocol, 65);
}

#[test]
#[ignore = "a measurement"]
fn product_speed() {
    let start = std::time::Instant::now();
    check_product::<F16, f32, 64, false, false, false>();
    println!("{:?}", start.elapsed());
    let start = std::time::Instant::now();
    check_product::<F16, f32, 256, false, false, false>();
    println!("{:?}", start.elapsed());
}
