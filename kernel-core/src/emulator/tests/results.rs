//! The results of correct kernels.

use super::*;
use crate::device as d;
use crate::scalar::{BF16, F16};

/// z = x + y, 8 registers in groups of 4 per thread.
unsafe fn vector_add<const UNDIVIDED: bool>(s: &[u64]) {
    let [x, y, z, n] = *s else { unreachable!() };
    let base = d::program_id(0) * 1024;
    let full = base + 1024 <= n;
    let at = |r: usize| base + r as u64 / 4 * 512 + d::thread() as u64 * 4 + r as u64 % 4;
    let a = d::load::<f32, 8, 4, false, UNDIVIDED>(|r| x + at(r) * 4, full, |r| at(r) < n, |_| 0.0, 1, 10);
    let b = d::load::<f32, 8, 4, false, UNDIVIDED>(|r| y + at(r) * 4, full, |r| at(r) < n, |_| 0.0, 0, 11);
    let c: [f32; 8] = d::each(|r| a[r] + b[r]);
    d::store::<f32, 8, 4, false, UNDIVIDED>(|r| z + at(r) * 4, full, |r| at(r) < n, |r| c[r], 1, 12);
}

/// The sum of `0..n` and itself.
fn sum_of(n: usize, run: Run) -> Result<Vec<f32>, Failure> {
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let mut z = vec![0f32; n];
    let call = program(128, 0).grid(n.div_ceil(1024) as u64).read(&x).read(&x).fresh(&mut z);
    let report = call.scalar(n as u64).seed(7).run(run)?;
    assert_eq!(report.global_bytes, 12 * n as u64);
    Ok(z)
}

#[test]
fn vector_add_of_any_length() {
    for n in [0, 1, 1023, 1024, 1025, 5000] {
        let z = sum_of(n, vector_add::<false>).unwrap_or_else(|f| panic!("{f}"));
        assert!(z.iter().enumerate().all(|(i, &v)| v == 2.0 * i as f32));
    }
}

#[test]
fn groups_are_undivided_as_said() {
    for n in [0, 4, 1024, 1028, 5000] {
        let z = sum_of(n, vector_add::<true>).unwrap_or_else(|f| panic!("{f}"));
        assert!(z.iter().enumerate().all(|(i, &v)| v == 2.0 * i as f32));
    }
    for n in [1, 1026, 4999] {
        let failure = sum_of(n, vector_add::<true>).expect_err("a group is divided");
        assert!(failure.to_string().contains("a mask divides an access"), "{failure}");
    }
}

/// out += sum(x), through shuffles, shared memory and an atomic.
unsafe fn block_sum(s: &[u64]) {
    let [x, out, n] = *s else { unreachable!() };
    let t = d::thread();
    let at = |r: usize| d::program_id(0) * 2048 + r as u64 * 256 + t as u64;
    let v = d::load::<i64, 8, 1, false, false>(|r| x + at(r) * 8, false, |r| at(r) < n, |_| 0, 0, 10);
    let mut sum: i64 = v.iter().sum();
    for mask in [16, 8, 4, 2, 1] {
        sum += d::shuffle_xor(sum, mask, 20);
    }
    d::shared_store::<i64, 1, 1>(|_| t / 32 * 8, |_| t % 32 == 0, |_| sum, 21);
    d::barrier(22);
    let parts = d::shared_load::<i64, 8, 2>(|r| r as u32 * 8, |_| true, 23);
    let total: i64 = parts.iter().sum();
    d::atomic::<i64, 1, { d::atomic::ADD }>(|_| out, |_| t == 0, |_| total, false, 24);
}

#[test]
fn block_sum_across_programs() {
    let x: Vec<i64> = (0..10_000).map(|i| i * i - 77).collect();
    let mut out = [5i64];
    let report = program(256, 64).grid(5).read(&x).write(&mut out).scalar(x.len() as u64).seed(3).passes(block_sum);
    assert_eq!(out[0], 5 + x.iter().sum::<i64>());
    assert_eq!((report.barriers, report.atomics, report.warp_steps), (5, 5, 5 * 8 * 5 * 2));
    assert_eq!(report.bank_conflicts().count(), 0);
}

/// Transposes a 32 x 32 tile of u32 through shared memory; `PLACE` says where row and column lie.
unsafe fn transpose<const SWIZZLED: bool>(s: &[u64]) {
    let [x, y] = *s else { unreachable!() };
    let (warp, lane) = (d::thread() / 32, d::thread() % 32);
    let place = |row: u32, col: u32| (row * 32 + if SWIZZLED { col ^ row } else { col }) * 4;
    let row = |r: usize| warp * 8 + r as u32;
    let v = d::load::<u32, 8, 1, false, false>(|r| x + (row(r) * 32 + lane) as u64 * 4, true, |_| true, |_| 0, 0, 30);
    d::shared_store::<u32, 8, 1>(|r| place(row(r), lane), |_| true, |r| v[r], 31);
    d::barrier(32);
    let v = d::shared_load::<u32, 8, 1>(|r| place(lane, row(r)), |_| true, 33);
    d::store::<u32, 8, 1, false, false>(|r| y + (row(r) * 32 + lane) as u64 * 4, true, |_| true, |r| v[r], 0, 34);
}

#[test]
fn transpose_with_and_without_swizzle() {
    for (run, conflicts) in [(transpose::<false> as Run, 1), (transpose::<true>, 0)] {
        let x: Vec<u32> = (0..1024).collect();
        let mut y = vec![0u32; 1024];
        let report = program(128, 4096).read(&x).fresh(&mut y).passes(run);
        assert!((0..1024).all(|i| y[i] as usize == i % 32 * 32 + i / 32));
        let found: Vec<_> = report.bank_conflicts().collect();
        assert_eq!(found.len(), conflicts);
        if let [site] = found[..] {
            assert_eq!(
                (site.site, site.write, site.instructions, site.conflicting, site.worst),
                (33, false, 32, 32, 32)
            );
        }
    }
}

/// y = reversed x, by groups of `V` that are read downwards.
unsafe fn reverse<T: d::Mem, const V: usize>(s: &[u64]) {
    let [x, y, n] = *s else { unreachable!() };
    let size = size_of::<T>() as u64;
    let at = |r: usize| d::thread() as u64 * V as u64 + r as u64;
    let v = d::load::<T, V, V, true, false>(|r| x + (n - 1 - at(r)) * size, true, |_| true, |_| T::ZERO, 0, 40);
    d::store::<T, V, V, false, false>(|r| y + at(r) * size, true, |_| true, |r| v[r], 0, 41);
}

#[test]
fn groups_of_every_width_and_type() {
    fn check<T: d::Mem, const V: usize>(make: fn(usize) -> T) {
        let x: Vec<u128> = vec![0; 32 * V * size_of::<T>() / 16 + 1];
        let mut x = x;
        let n = 32 * V;
        // SAFETY: large enough, and aligned to 16 bytes.
        let x = unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast::<T>(), n) };
        x.iter_mut().enumerate().for_each(|(i, v)| *v = make(i));
        let mut y = vec![0u128; n * size_of::<T>() / 16 + 1];
        // SAFETY: as above.
        let y = unsafe { std::slice::from_raw_parts_mut(y.as_mut_ptr().cast::<T>(), n) };
        program(32, 0).read(x).fresh(y).scalar(n as u64).passes(reverse::<T, V>);
        assert!((0..n).all(|i| y[i] == x[n - 1 - i]), "{} x {V}", T::NAME);
    }
    check::<u8, 1>(|i| i as u8);
    check::<u8, 2>(|i| i as u8);
    check::<i8, 4>(|i| i as i8);
    check::<u8, 16>(|i| i as u8);
    check::<bool, 8>(|i| i % 3 == 0);
    check::<i16, 2>(|i| i as i16 - 9);
    check::<F16, 8>(|i| F16(i as u16));
    check::<BF16, 16>(|i| BF16(i as u16));
    check::<f32, 2>(|i| i as f32);
    check::<f32, 4>(|i| -(i as f32));
    check::<u32, 16>(|i| i as u32 * 77);
    check::<i64, 1>(|i| -(i as i64));
    check::<f64, 2>(|i| i as f64 / 3.0);
    check::<u64, 8>(|i| i as u64 * 0x1234_5678_9abc);
}

unsafe fn exchange(s: &[u64]) {
    let t = d::thread();
    let a = d::shuffle_xor(t as i64 * -3, 5, 50);
    let b = d::shuffle(F16(t as u16), t + 1, 51);
    let c = d::shuffle_xor(t % 2 == 0, 1, 52);
    let v = [a, b.0 as i64, c as i64];
    d::store::<i64, 3, 1, false, false>(|r| s[0] + (t as u64 * 3 + r as u64) * 8, true, |_| true, |r| v[r], 0, 53);
}

#[test]
fn shuffles_of_every_width() {
    let mut out = vec![0i64; 64 * 3];
    program(64, 0).fresh(&mut out).seed(9).passes(exchange);
    for t in 0..64i64 {
        let next = t / 32 * 32 + (t + 1) % 32;
        assert_eq!(out[t as usize * 3..][..3], [(t ^ 5) * -3, next, t % 2]);
    }
}

unsafe fn atomics(s: &[u64]) {
    let [out, bytes] = *s else { unreachable!() };
    let t = d::thread() as i32 - 3;
    d::atomic::<i32, 1, { d::atomic::MAX }>(|_| out, |_| true, |_| t, true, 60);
    d::atomic::<i32, 1, { d::atomic::MIN }>(|_| out + 4, |_| true, |_| t, true, 61);
    d::atomic::<u32, 1, { d::atomic::XOR }>(|_| out + 8, |_| true, |_| 1 << d::thread(), true, 62);
    let old = d::atomic_cas::<i32, 1>(|_| out + 12, |_| true, |_| 0, |_| 1, true, 63);
    d::atomic::<i32, 1, { d::atomic::ADD }>(|_| out + 16, |_| old[0] == 0, |_| 1, true, 64);
    d::atomic::<u8, 1, { d::atomic::ADD }>(|_| bytes + 1, |_| true, |_| 9, true, 65);
    d::atomic::<f32, 1, { d::atomic::MAX }>(
        |_| out + 20,
        |_| true,
        |_| if t == 4 { f32::NAN } else { t as f32 },
        true,
        66,
    );
    let one = |_: usize| t == 7;
    let seen = d::atomic::<u64, 1, { d::atomic::LOAD }>(|_| out + 24, one, |_| 0, true, 67);
    let none = d::atomic::<u64, 1, { d::atomic::STORE }>(|_| out + 32, one, |_| seen[0] + 1, true, 68);
    d::atomic::<u64, 1, { d::atomic::STORE }>(|_| out + 24, one, |_| none[0], true, 69);
    d::atomic::<u8, 1, { d::atomic::STORE }>(
        |_| bytes + 2,
        one,
        |_| d::atomic::<u8, 1, { d::atomic::LOAD }>(|_| bytes + 3, one, |_| 0, true, 70)[0] * 2,
        true,
        71,
    );
}

#[test]
fn atomics_of_every_kind() {
    let (mut out, mut bytes) = ([0, 0, 0, 0, 0, 0, 5, 1, -1, -1], [1u8, 250, 3, 4]);
    program(32, 0).write(&mut out).write(&mut bytes).passes(atomics);
    assert_eq!(out, [28, -3, -1, 1, 1, 28f32.to_bits() as i32, 0, 0, 6, 1]);
    assert_eq!(bytes, [1, ((250 + 32 * 9) % 256) as u8, 8, 4]);
}
