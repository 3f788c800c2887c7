//! The teaching kernels give the right results, on the CPU and on the emulated SM.

use tilewright::kernel::ConfigDesc;
use tilewright::{AsSliceMut, Call, f16};
use tilewright::{BackendKind, Buffer, Error, LaunchOptions, Runtime};
use tilewright_conformance::{data, reference};
use tilewright_examples::{
    color_inversion, convolution, dropout, gelu, matmul, matmul_activation, rainbow, reduction, reverse, softmax,
    softmax_array, transpose, vector_add,
};

/// On both backends.
fn everywhere(test: impl Fn(&Runtime)) {
    test(&Runtime::cpu());
    test(&Runtime::emulator(7));
}

fn floats(n: usize) -> Vec<f32> {
    data::floats(&mut data::Rng::new(n as u64), n, -4.0, 4.0)
}

fn close(found: &[f32], wanted: &[f64], tolerance: f64) {
    assert_eq!(found.len(), wanted.len());
    for (i, (&f, &w)) in found.iter().zip(wanted).enumerate() {
        assert!((f as f64 - w).abs() <= tolerance * w.abs().max(1e-3), "element {i}: {f} for {w}");
    }
}

fn launch(rt: &Runtime, call: Call) {
    rt.launch(call).expect("launches");
}

#[test]
fn vector_adds() {
    everywhere(|rt| {
        for n in [0, 1, 1023, 1024, 1025, 5000] {
            let (a, b) = (floats(n), data::floats(&mut data::Rng::new(99), n, 0.0, 1.0));
            let wanted: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
            let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
            let mut out = Buffer::zeros(rt, n).unwrap();
            launch(rt, vector_add::vector_add_naive(&x, &y, &mut out));
            assert_eq!(out.to_vec().unwrap(), wanted);
            for kernel in [0, 1] {
                let out = Buffer::<f32>::zeros(rt, n).unwrap();
                // SAFETY: three buffers of n elements.
                launch(rt, unsafe {
                    match kernel {
                        0 => vector_add::vector_add_masked(x.raw(), y.raw(), out.raw(), n),
                        _ => vector_add::vector_add_persistent(x.raw(), y.raw(), out.raw(), n),
                    }
                });
                assert_eq!(out.to_vec().unwrap(), wanted);
            }
        }
    });
}

#[test]
fn dropout_keeps_what_its_seed_says() {
    everywhere(|rt| {
        for n in [0, 1, 1023, 5000] {
            let x = floats(n);
            let buffer = Buffer::from_slice(rt, &x).unwrap();
            let masks = [1u64, 2].map(|seed| {
                let (mut y, mut dx) = (Buffer::<f32>::zeros(rt, n).unwrap(), Buffer::<f32>::zeros(rt, n).unwrap());
                launch(rt, dropout::kernels::dropout(&buffer, &mut y, 0.5, seed));
                launch(rt, dropout::kernels::dropout_backward(&buffer, &mut dx, 0.5, seed));
                let y = y.to_vec().unwrap();
                assert_eq!(y, dx.to_vec().unwrap());
                assert!(x.iter().zip(&y).all(|(x, y)| *y == 0.0 || *y == 2.0 * x));
                y.iter().map(|y| *y != 0.0).collect::<Vec<_>>()
            });
            assert!(n < 100 || masks[0] != masks[1]);
            assert!(n < 1000 || masks.iter().all(|m| m.iter().filter(|k| **k).count().abs_diff(n / 2) < n / 16));
        }
    });
}

#[test]
fn vector_adds_and_says_so() {
    everywhere(|rt| {
        let (a, b) = (floats(50), floats(49));
        let (x, y, mut out) =
            (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap(), Buffer::zeros(rt, 49).unwrap());
        launch(rt, vector_add::vector_add_debug(&x, &y, &mut out));
        assert_eq!(out.to_vec().unwrap(), a.iter().zip(&b).map(|(a, b)| a + b).collect::<Vec<_>>());
        // Without the elements that the assertion wants.
        let (short, mut out) = (Buffer::<f32>::zeros(rt, 48).unwrap(), Buffer::zeros(rt, 49).unwrap());
        let failed = rt.launch(vector_add::vector_add_debug(&x, &short, &mut out)).expect_err("too short").to_string();
        assert!(failed.contains("an element of each for every sum"), "{failed}");
    });
}

#[test]
fn reverses() {
    everywhere(|rt| {
        for n in [0, 1, 2, 1023, 1024, 2049, 5000] {
            let x = floats(n);
            let wanted: Vec<f32> = x.iter().rev().copied().collect();
            let mut both = Buffer::from_slice(rt, &x).unwrap();
            launch(rt, reverse::reverse_pairs(&mut both));
            assert_eq!(both.to_vec().unwrap(), wanted);
            let (input, mut out) = (Buffer::from_slice(rt, &x).unwrap(), Buffer::zeros(rt, n).unwrap());
            launch(rt, reverse::reverse_copy(&input, &mut out));
            assert_eq!(out.to_vec().unwrap(), wanted);
        }
    });
}

#[test]
fn inverts_colors() {
    everywhere(|rt| {
        for pixels in [0, 1, 3, 1024, 1500] {
            let image = data::bytes(&mut data::Rng::new(5), 4 * pixels);
            let wanted: Vec<u8> =
                image.iter().enumerate().map(|(i, &v)| if i % 4 == 3 { v } else { 255 - v }).collect();
            let mut bytes = Buffer::from_slice(rt, &image).unwrap();
            launch(rt, color_inversion::invert_bytes(&mut bytes));
            assert_eq!(bytes.to_vec().unwrap(), wanted);
            let words =
                |v: &[u8]| v.chunks(4).map(|p| u32::from_le_bytes([p[0], p[1], p[2], p[3]])).collect::<Vec<_>>();
            for stay in [false, true] {
                let mut image = Buffer::from_slice(rt, &words(&image)).unwrap();
                launch(
                    rt,
                    if stay {
                        color_inversion::invert_persistent(&mut image)
                    } else {
                        color_inversion::invert_words(&mut image)
                    },
                );
                assert_eq!(image.to_vec().unwrap(), words(&wanted));
            }
        }
    });
}

#[test]
fn convolutions() {
    everywhere(|rt| {
        for (n, taps) in [(1, 1), (7, 7), (1030, 3), (2000, 10), (1025, 1)] {
            let (x, w) = (floats(n), data::floats(&mut data::Rng::new(8), taps, -1.0, 1.0));
            let wanted: Vec<f64> =
                (0..n - taps + 1).map(|o| (0..taps).map(|k| x[o + k] as f64 * w[k] as f64).sum()).collect();
            let (input, kernel) = (Buffer::from_slice(rt, &x).unwrap(), Buffer::from_slice(rt, &w).unwrap());
            for by_fours in [false, true] {
                let mut out = Buffer::zeros(rt, n - taps + 1).unwrap();
                launch(
                    rt,
                    if by_fours {
                        convolution::convolution_by_fours(&input, &kernel, &mut out)
                    } else {
                        convolution::convolution_plain(&input, &kernel, &mut out)
                    },
                );
                close_sums(&out.to_vec().unwrap(), &wanted, taps, 0.0);
            }
        }
    });
}

#[test]
fn rainbow_tables() {
    everywhere(|rt| {
        let mut x = data::ints(&mut data::Rng::new(2), 1500);
        x[0] = 0;
        for rounds in [0, 1, 3] {
            let (input, mut out) = (Buffer::from_slice(rt, &x).unwrap(), Buffer::zeros(rt, x.len()).unwrap());
            launch(rt, rainbow::rainbow_table(&input, &mut out, rounds));
            let found = out.to_vec().unwrap();
            assert_eq!(found, x.iter().map(|&v| reference::rainbow(v, rounds)).collect::<Vec<_>>());
            assert!(rounds != 1 || found[0] == 0x4b95_f515);
        }
    });
}

#[test]
fn counts_in_a_matrix() {
    everywhere(|rt| {
        for (n, m) in [(0, 3), (1, 1), (300, 7), (5, 40)] {
            let x = data::small_ints(&mut data::Rng::new(4), n * m, 3);
            let (input, mut out) = (Buffer::from_slice(rt, &x).unwrap(), Buffer::<i32>::zeros(rt, 1).unwrap());
            launch(rt, reduction::count_2d_rows(&input, &mut out, n, m, 1));
            assert_eq!(out.to_vec().unwrap()[0] as usize, x.iter().filter(|v| **v == 1).count());
        }
    });
}

#[test]
fn gelu_plain() {
    everywhere(|rt| {
        let x = floats(3000);
        let (input, out) = (Buffer::from_slice(rt, &x).unwrap(), Buffer::<f32>::zeros(rt, 3000).unwrap());
        // SAFETY: two buffers of 3000 elements.
        launch(rt, unsafe { gelu::gelu_plain(input.raw(), out.raw(), 3000) });
        let wanted: Vec<f64> = x.iter().map(|&v| reference::gelu(v as f64)).collect();
        // 1 + tanh cancels where tanh is near -1: `tilewright_kernels::gelu` is 100 times closer there.
        close(&out.to_vec().unwrap(), &wanted, 1e-3);
    });
}

#[test]
fn softmax_of_rows() {
    everywhere(|rt| {
        for (rows, cols) in [(1, 1), (7, 781), (3, 1024)] {
            let x = floats(rows * cols);
            let wanted: Vec<f64> = x.chunks(cols).flat_map(reference::softmax).collect();
            let input = Buffer::from_slice(rt, &x).unwrap();
            for kernel in [0, 1] {
                let out = Buffer::<f32>::zeros(rt, rows * cols).unwrap();
                // SAFETY: both hold `rows` rows, `cols` apart, and a row fits a tile.
                launch(rt, unsafe {
                    match kernel {
                        0 => softmax::softmax_row_naive(input.raw(), out.raw(), cols, cols, rows, cols),
                        _ => softmax::softmax_row_persistent(input.raw(), out.raw(), cols, cols, rows, cols),
                    }
                });
                close(&out.to_vec().unwrap(), &wanted, 1e-5);
            }
        }
    });
}

#[test]
fn transposes() {
    everywhere(|rt| {
        for (m, n) in [(1, 1), (33, 65), (64, 32)] {
            let x = floats(m * n);
            let (input, out) = (Buffer::from_slice(rt, &x).unwrap(), Buffer::<f32>::zeros(rt, m * n).unwrap());
            // SAFETY: an m by n matrix and an n by m one.
            launch(rt, unsafe { transpose::transpose_naive(input.raw(), out.raw(), m, n, n, 1, m, 1) });
            assert_eq!(out.to_vec().unwrap(), reference::transpose(&x, m, n));
        }
    });
}

#[test]
fn reductions() {
    everywhere(|rt| {
        for n in [0, 1, 1025, 9000] {
            let x = floats(n);
            let (wanted, magnitude) = reference::sum(&x);
            let input = Buffer::from_slice(rt, &x).unwrap();
            let mut out = Buffer::<f32>::zeros(rt, 1).unwrap();
            launch(rt, reduction::sum_atomic(&input, &mut out));
            assert!((out.to_vec().unwrap()[0] as f64 - wanted).abs() <= 1e-6 * magnitude);
            out.fill_zero().unwrap();
            launch(rt, reduction::sum_persistent(&input, &mut out));
            assert!((out.to_vec().unwrap()[0] as f64 - wanted).abs() <= 1e-6 * magnitude);

            let ints = data::small_ints(&mut data::Rng::new(3), n, 5);
            let input = Buffer::from_slice(rt, &ints).unwrap();
            let mut out = Buffer::<i32>::zeros(rt, 1).unwrap();
            launch(rt, reduction::count_atomic(&input, &mut out, 0));
            assert_eq!(out.to_vec().unwrap()[0] as usize, ints.iter().filter(|v| **v == 0).count());
        }
    });
}

#[test]
fn softmax_of_an_array() {
    use softmax_array::*;
    everywhere(|rt| {
        for n in [1, 1025, 9000] {
            let x = floats(n);
            let wanted = reference::softmax(&x);
            let input = Buffer::from_slice(rt, &x).unwrap();
            let new = |len: usize| Buffer::<f32>::zeros(rt, len).unwrap();
            let (mut partial, mut max, mut sum, mut out) = (new(n.div_ceil(1024)), new(1), new(1), new(n));

            launch(rt, partial_max(&input, &mut partial));
            launch(rt, combine_max(&partial, &mut max));
            launch(rt, partial_exp_sum(&input, &max, &mut partial));
            launch(rt, combine_sum(&partial, &mut sum));
            launch(rt, normalize(&input, &max, &sum, &mut out));
            close(&out.to_vec().unwrap(), &wanted, 1e-5);

            let mut out = new(n);
            launch(rt, softmax_alone(&input, &mut out));
            close(&out.to_vec().unwrap(), &wanted, 1e-5);

            let mut bits = Buffer::from_slice(rt, &[f32::NEG_INFINITY.to_bits()]).unwrap();
            launch(rt, atomic_max_bits(&input, &mut bits));
            let found = f32::from_bits(bits.to_vec().unwrap()[0]);
            assert_eq!(found, x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            let max = Buffer::from_slice(rt, &[found]).unwrap();
            let (mut sum, mut out) = (new(1), new(n));
            launch(rt, atomic_exp_sum(&input, &max, &mut sum));
            launch(rt, normalize(&input, &max, &sum, &mut out));
            close(&out.to_vec().unwrap(), &wanted, 1e-5);
        }
    });
}

/// C in f64, of A (m by k) and B (k by n).
fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let sum = |i: usize| (0..k).map(|l| a[i / n * k + l] as f64 * b[l * n + i % n] as f64).sum();
    (0..m * n).map(sum).collect()
}

/// Errors of sums in f32 are relative to the sizes of all terms, here some 6 each; those of results, to the results.
fn close_sums(found: &[f32], wanted: &[f64], k: usize, rounding: f64) {
    assert_eq!(found.len(), wanted.len());
    for (i, (&f, &w)) in found.iter().zip(wanted).enumerate() {
        assert!((f as f64 - w).abs() <= rounding * w.abs() + 6e-6 * k as f64, "element {i}: {f} for {w}");
    }
}

#[test]
fn products_of_matrices() {
    use matmul::*;
    everywhere(|rt| {
        for [m, n, k] in [[1, 1, 1], [16, 16, 16], [65, 70, 33], [128, 64, 100], [40, 24, 0]] {
            let (a, b) = (floats(m * k), data::floats(&mut data::Rng::new(7), k * n, -4.0, 4.0));
            let wanted = product(&a, &b, [m, n, k]);
            let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
            let [p, q, r] = [m, n, k].map(|e| e as u64);
            for kernel in 0..4 {
                let out = Buffer::<f32>::zeros(rt, m * n).unwrap();
                let (x, y, z) = (x.raw(), y.raw(), out.raw());
                // SAFETY: row-major matrices of these extents.
                launch(rt, unsafe {
                    match kernel {
                        0 => matmul_rank_1(x, y, z, p, q, r, r, 1, q, 1, q, 1),
                        1 => matmul_blocked(x, y, z, p, q, r, r, 1, q, 1, q, 1),
                        2 => matmul_grouped(x, y, z, p, q, r, r, 1, q, 1, q, 1),
                        _ => matmul_persistent(x, y, z, p, q, r, r, 1, q, 1, q, 1),
                    }
                });
                close_sums(&out.to_vec().unwrap(), &wanted, k, 0.0);
            }
        }
    });
}

fn halves(x: &[f32]) -> Vec<f16> {
    x.iter().map(|&v| f16::from_f32(v)).collect()
}

fn wide(x: &[f16]) -> Vec<f32> {
    x.iter().map(|v| v.to_f32()).collect()
}

#[test]
fn products_of_views() {
    use matmul::matmul_views;
    let [by_maps, by_threads] = matmul_views::DESCS[0].configs else { panic!("two configurations") };
    let maps = |c: &ConfigDesc| c.variants.iter().map(|v| (v.only, v.maps.len())).collect::<Vec<_>>();
    assert_eq!(
        maps(by_maps),
        [(Some("sm_90a"), 3), (Some("sm_90a"), 2)],
        "the operands' tiles, and the result's where it may be"
    );
    assert!(by_threads.variants.iter().all(|v| v.only.is_none() && v.maps.is_empty()), "{}", by_threads.id);
    everywhere(|rt| {
        // Rows of 130 or 20 bytes start at no multiples of 16, nor do those of a result with a gap of one element.
        let cases = [
            ([64, 64, 64], 0, Some(0)),
            ([200, 136, 72], 0, Some(0)),
            ([1, 8, 8], 0, Some(0)),
            ([72, 64, 80], 1, Some(1)),
            ([70, 65, 64], 0, None),
            ([64, 64, 10], 0, None),
        ];
        for ([m, n, k], gap, variant) in cases {
            let (a, b) = (halves(&floats(m * k)), halves(&data::floats(&mut data::Rng::new(7), k * n, -4.0, 4.0)));
            let wanted = product(&wide(&a), &wide(&b), [m, n, k]);
            let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
            for config in [None, Some(by_maps), Some(by_threads)] {
                let mut out = Buffer::<f16>::zeros(rt, m * (n + gap)).unwrap();
                let z = out.as_slice_mut_arg().strided([m, n], [n + gap, 1]).unwrap();
                let call = matmul_views(x.view([m, k]).unwrap(), y.view([k, n]).unwrap(), z);
                assert_eq!(by_maps.variant(call.words(), |_| true), variant, "{m} {n} {k}");
                let options = LaunchOptions::new().config(config.map(|c| c.id));
                match rt.launch_with(rt.stream(), call, &options) {
                    Err(Error::CannotLaunch { why, .. }) => {
                        let pinned = config.is_some_and(|c| c.id == by_maps.id);
                        assert!(
                            variant.is_none() && pinned && why.contains("must be a multiple of 8"),
                            "{m} {n} {k}: {why}"
                        );
                    }
                    r => {
                        r.unwrap();
                        // The CPU has one function for all arguments.
                        let takes = variant.is_some() || rt.kind() == BackendKind::Cpu;
                        assert!(takes || config.is_none_or(|c| c.id == by_threads.id), "{m} {n} {k}");
                        let found: Vec<f16> =
                            out.to_vec().unwrap().chunks(n + gap).flat_map(|row| row[..n].to_vec()).collect();
                        close_sums(&wide(&found), &wanted, k, 5e-4);
                    }
                }
            }
        }
    });
}

#[test]
fn products_with_an_activation() {
    use matmul_activation::*;
    everywhere(|rt| {
        for ([m, n, k], relu) in [([128, 128, 64], true), ([65, 33, 40], false), ([64, 128, 96], false)] {
            let (a, b) = (halves(&floats(m * k)), halves(&data::floats(&mut data::Rng::new(7), k * n, -4.0, 4.0)));
            let slope = if relu { 0.0 } else { 0.01 };
            let wanted: Vec<f64> = product(&wide(&a), &wide(&b), [m, n, k])
                .into_iter()
                .map(|v| if v < 0.0 { slope * v } else { v })
                .collect();
            let (x, y) = (Buffer::from_slice(rt, &a).unwrap(), Buffer::from_slice(rt, &b).unwrap());
            let out = Buffer::<f16>::zeros(rt, m * n).unwrap();
            let ((x, y, z), [p, q, r]) = ((x.raw(), y.raw(), out.raw()), [m, n, k].map(|e| e as u64));
            // SAFETY: row-major matrices of these extents.
            launch(rt, unsafe {
                match relu {
                    true => matmul_relu(x, y, z, p, q, r, r, 1, q, 1, q, 1),
                    false => matmul_leaky_relu(x, y, z, p, q, r, r, 1, q, 1, q, 1),
                }
            });
            close_sums(&wide(&out.to_vec().unwrap()), &wanted, k, 5e-4);
        }
    });
}
