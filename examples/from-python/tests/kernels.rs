//! Every kernel on every backend beside plain Rust.

use kernels::{attention_64, attention_128, c, c::last_error, matmul};
use std::ffi::CStr;
use std::ptr::{null, null_mut};
use tilewright::kernel::RawArg;
use tilewright::{Buffer, Error, LaunchOptions, Runtime};
use tilewright::{Call, f16};

fn backends() -> Vec<Runtime> {
    let all = [matmul::DESCS, attention_64::DESCS, attention_128::DESCS].concat();
    let gpu = Runtime::cuda(0).ok().filter(|rt| rt.without_code(&all).is_none());
    [Runtime::cpu(), Runtime::emulator(1)].into_iter().chain(gpu).collect()
}

fn numbers(n: usize, seed: u32) -> Vec<f16> {
    let mut x = seed;
    let mut next = || {
        x = x.wrapping_mul(1664525).wrapping_add(1013904223);
        (x >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..n).map(|_| f16::from_f32(next())).collect()
}

fn near(found: &[f16], expected: &[f32], what: &str) {
    let norm = |x: &mut dyn Iterator<Item = f32>| x.map(|v| v * v).sum::<f32>().sqrt();
    let off = norm(&mut found.iter().zip(expected).map(|(x, y)| x.to_f32() - y)) / norm(&mut expected.iter().copied());
    assert!(off < 2e-3, "{what}: {off}");
}

/// Runs a call with each of its kernel's configurations that the backend has, each time on an output that is NaN
/// everywhere.
fn each<'a>(
    rt: &Runtime,
    out: &mut Buffer<f16>,
    call: impl Fn(RawArg<f16>) -> Call<'a>,
    check: impl Fn(&[f16], &str),
) -> Result<(), Error> {
    let mut ran = 0;
    for config in call(out.raw()).desc().configs {
        out.copy_from(&vec![f16::NAN; out.len()])?;
        match rt.launch_with(rt.stream(), call(out.raw()), &LaunchOptions::new().config(config.id)) {
            Err(Error::CannotLaunch { .. } | Error::NoTarget { .. } | Error::NotEmulated { .. }) => continue,
            done => done?,
        }
        check(&out.to_vec()?, &format!("{} on {:?}", config.id, rt.kind()));
        ran += 1;
    }
    assert!(ran > 0, "{:?}", rt.kind());
    Ok(())
}

#[test]
fn products_in_every_order_of_the_operands() -> Result<(), Error> {
    for rt in backends() {
        for (m, n, k, across_a, across_b) in [
            (200, 136, 72, false, false),
            (129, 257, 64, false, true),
            (64, 40, 200, true, false),
            (70, 65, 33, true, true),
        ] {
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            let (am, ak) = if across_a { (1, m) } else { (k, 1) };
            let (bk, bn) = if across_b { (1, k) } else { (n, 1) };
            let sum = |i: usize, j: usize| {
                (0..k).map(|d| a[i * am + d * ak].to_f32() * b[d * bk + j * bn].to_f32()).sum::<f32>()
            };
            let expected: Vec<f32> = (0..m * n).map(|at| sum(at / n, at % n)).collect();
            let (a, b, mut c) =
                (Buffer::from_slice(&rt, &a)?, Buffer::from_slice(&rt, &b)?, Buffer::zeros(&rt, m * n)?);
            // SAFETY: the buffers have the elements that these extents and strides reach, and outlive the launch.
            let call = |c| unsafe { matmul(a.raw(), b.raw(), c, m, n, k, am, ak, bk, bn, n) };
            each(&rt, &mut c, call, |c, what| near(c, &expected, &format!("{m}x{n}x{k} {what}")))?;
        }
    }
    Ok(())
}

#[test]
fn attention_of_both_sizes_of_heads() -> Result<(), Error> {
    for rt in backends() {
        for (heads, queries, keys, d) in [(2, 130, 200, 64), (1, 40, 129, 128)] {
            let scale = 1.0 / (d as f32).sqrt();
            let (q, k, v) =
                (numbers(heads * queries * d, 1), numbers(heads * keys * d, 2), numbers(heads * keys * d, 3));
            let mut expected = Vec::new();
            for row in 0..heads * queries {
                let first = row / queries * keys;
                let score = |j: usize| {
                    (0..d).map(|x| q[row * d + x].to_f32() * k[(first + j) * d + x].to_f32()).sum::<f32>() * scale
                };
                let weights: Vec<f32> = (0..keys).map(|j| score(j).exp()).collect();
                let all: f32 = weights.iter().sum();
                expected.extend((0..d).map(|x| {
                    weights.iter().enumerate().map(|(j, w)| w * v[(first + j) * d + x].to_f32()).sum::<f32>() / all
                }));
            }
            let [q, k, v] = [q, k, v].map(|x| Buffer::from_slice(&rt, &x).expect("memory"));
            let mut o = Buffer::zeros(&rt, heads * queries * d)?;
            let kernel = if d == 64 { attention_64 } else { attention_128 };
            // SAFETY: the buffers have as many heads, queries and keys, without gaps, and outlive the launch.
            let call = |o| unsafe { kernel(q.raw(), k.raw(), v.raw(), o, scale, heads, queries, keys) };
            each(&rt, &mut o, call, |o, what| near(o, &expected, &format!("{heads}x{queries}x{keys}x{d} {what}")))?;
        }
    }
    Ok(())
}

/// As Python calls them: without a GPU a message, with one a product.
#[test]
fn functions_for_python_say_what_is_wrong() -> Result<(), Error> {
    // SAFETY: a string that lives until this thread's next failing call.
    let message = || unsafe { CStr::from_ptr(last_error()) }.to_str().expect("text").to_string();
    let Ok(rt) = Runtime::cuda(0) else {
        // SAFETY: without a GPU nothing is launched, and matrices without elements have none to read.
        assert_eq!(unsafe { c::matmul(null(), null(), null_mut(), 0, 0, 0, 1, 1, 1, 1, null_mut()) }, 1);
        assert!(!message().is_empty());
        return Ok(());
    };
    let (a, b) = (
        Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0].map(f16::from_f32))?,
        Buffer::from_slice(&rt, &[1.0, 0.5].map(f16::from_f32))?,
    );
    let y = Buffer::<f16>::zeros(&rt, 2)?;
    // SAFETY: A is two by two, B and C are two by one, and attention of this `d` is refused. The copies below wait.
    let run = |d: usize| unsafe {
        let (a, b, y) = (a.addr() as *const f16, b.addr() as *const f16, y.addr() as *mut f16);
        if d == 0 {
            c::matmul(a, b, y, 2, 1, 2, 2, 1, 1, 1, null_mut())
        } else {
            c::attention(a, a, a, y, 1.0, 1, 1, 1, d, null_mut())
        }
    };
    assert_eq!(run(0), 0, "{}", message());
    assert_eq!(y.to_vec()?, [2.0, 5.0].map(f16::from_f32));
    assert_eq!((run(3), message()), (1, "heads of 3 dimensions: 64 or 128".to_string()));
    Ok(())
}
