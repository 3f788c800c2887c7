//! How fast the CPU backend is, in code as the compiler emits it:
//! `cargo test --release -p tilewright-core cpu::tests::bench -- --ignored --nocapture --test-threads 1`.

use super::launch;
use crate::cpu::*;
use crate::scalar;
use std::time::Instant;

const BLOCK: usize = 4096;

macro_rules! kernel {
    ($name:ident, $body:ident, |$start:ident, $s:ident| $e:expr) => {
        /// # Safety
        /// The argument words are the addresses of three arrays, of which the last is mutable, and how many elements
        /// each has.
        #[inline(always)]
        unsafe fn $body(program: &Program, $s: &[u64]) {
            let $start = program.id[0].wrapping_mul(BLOCK as u64);
            $e
        }
        /// # Safety
        /// As of the body.
        #[cfg_attr(all(target_arch = "x86_64", not(miri)), target_feature(enable = "avx2,fma"))]
        unsafe fn $name(program: &Program, words: &[u64]) {
            // SAFETY: the caller's contract.
            unsafe { $body(program, words) }
        }
    };
}

/// Argument words: x, y, z, n. With `$load` and `$store`, elements computed by `$f`.
macro_rules! elementwise {
    ($name:ident, $body:ident, $load:ident, $store:ident, $f:expr) => {
        kernel! { $name, $body, |start, s| {
            let (x, y, z, n) = (s[0], s[1], s[2], s[3]);
            let i = |k: usize| start.wrapping_add(k as u64);
            let at = |p: u64, k: usize| p.wrapping_add(i(k).wrapping_mul(4));
            // SAFETY: elements below `n`, which `x` has.
            let a = unsafe { $load::<f32>(&[BLOCK], BLOCK, |k| at(x, k), |k| i(k) < n, |_| 0.0) };
            // SAFETY: elements below `n`, which `y` has.
            let b = unsafe { $load::<f32>(&[BLOCK], BLOCK, |k| at(y, k), |k| i(k) < n, |_| 0.0) };
            // SAFETY: elements below `n`, which `z` has; both tiles have BLOCK elements.
            unsafe { $store(&[BLOCK], BLOCK, |k| at(z, k), |k| i(k) < n, |k| $f(a.at(k), b.at(k))) };
        } }
    };
}

elementwise! { add, add_body, load_clipped, store_clipped, scalar::add }
elementwise! { add_masked, add_masked_body, load, store, scalar::add }
elementwise! { gelu, gelu_body, load_clipped, store_clipped, |v: f32, _| {
    let a = 0.797_884_6 * (v + 0.044_715 * v * v * v);
    0.5 * v * (1.0 + scalar::tanh(a))
} }

kernel! { sum, sum_body, |start, s| {
    let (x, z, n) = (s[0], s[2], s[3]);
    let i = |k: usize| start.wrapping_add(k as u64);
    // SAFETY: elements below `n`, which `x` has.
    let t = unsafe { load_clipped::<f32>(&[BLOCK], BLOCK, |k| x.wrapping_add(i(k).wrapping_mul(4)), |k| i(k) < n, |_| 0.0) };
    let r = reduce_all(&t, scalar::add);
    // SAFETY: one element for each program, of which there are fewer than elements.
    unsafe { store(&[], 1, |_| z.wrapping_add(start / BLOCK as u64 * 4), |_| true, |_| r) };
} }

/// The same addition on one thread without tiles.
///
/// # Safety
/// The argument words are as of the kernels above.
unsafe fn plain_add(_: &Program, s: &[u64]) {
    let (x, y, z) = (s[0] as *const f32, s[1] as *const f32, s[2] as *mut f32);
    // SAFETY: `i` is less than the number of elements.
    (0..s[3] as usize).for_each(|i| unsafe { *z.add(i) = *x.add(i) + *y.add(i) });
}

/// # Safety
/// The argument words are as `f` takes them on that many programs.
unsafe fn measure(name: &str, f: crate::CpuFn, words: &[u64], programs: usize, bytes: f64) {
    let best = (0..7)
        .map(|_| {
            let start = Instant::now();
            // SAFETY: the caller's contract.
            unsafe { launch(f, [programs as u64, 1, 1], words) };
            start.elapsed()
        })
        .min()
        .expect("seven of them");
    println!("{name}: {:.2} ms, {:.1} GB/s", best.as_secs_f64() * 1e3, bytes / best.as_secs_f64() / 1e9);
}

#[test]
#[ignore = "takes seconds, and only release builds mean anything"]
fn bandwidth() {
    let n = 25_000_000;
    let (x, y, mut z) = (vec![1f32; n], vec![2f32; n], vec![0f32; n]);
    let words = [x.as_ptr() as u64, y.as_ptr() as u64, z.as_mut_ptr() as u64, n as u64];
    let (programs, bytes) = (n.div_ceil(BLOCK), n as f64 * 4.0);
    // SAFETY: three arrays of `n` elements, the last mutable; every program of the grids keeps below `n`.
    unsafe {
        measure("vector add", add, &words, programs, 3.0 * bytes);
        assert!(z.iter().all(|&v| v == 3.0));
        measure("vector add, masks checked", add_masked, &words, programs, 3.0 * bytes);
        measure("sum", sum, &words, programs, bytes);
        measure("gelu", gelu, &words, programs, 3.0 * bytes);
        measure("vector add in a plain loop", plain_add, &words, 1, 3.0 * bytes);
    }
    let start = Instant::now();
    // SAFETY: as above.
    (0..1000).for_each(|_| unsafe { launch(add, [1, 1, 1], &words) });
    println!("launch of one program: {:?}", start.elapsed() / 1000);
    let start = Instant::now();
    // SAFETY: as above.
    (0..1000).for_each(|_| unsafe { launch(add, [16, 1, 1], &words) });
    println!("launch of 16 programs: {:?}", start.elapsed() / 1000);
}
