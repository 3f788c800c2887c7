//! How the kernels of the book's tutorials, `docs/tutorials`, are launched. `teaching.rs` has their tests.

use tilewright::kernel::emulator::Options;
use tilewright::{Buffer, Error, Runtime, f16};
use tilewright_examples::color_inversion::{invert_bytes, invert_persistent};
use tilewright_examples::convolution::convolution_plain;
use tilewright_examples::dropout::kernels::{dropout, dropout_backward};
use tilewright_examples::gelu::gelu_plain;
use tilewright_examples::matmul::{matmul_blocked, matmul_persistent, matmul_views};
use tilewright_examples::matmul_activation::matmul_leaky_relu;
use tilewright_examples::rainbow::rainbow_table;
use tilewright_examples::reduction::{count_atomic, sum_atomic};
use tilewright_examples::reverse::{reverse_copy, reverse_pairs};
use tilewright_examples::softmax::softmax_row_naive;
use tilewright_examples::softmax_array::{combine_max, combine_sum, normalize, partial_exp_sum, partial_max};
use tilewright_examples::transpose::transpose_naive;
use tilewright_examples::vector_add::{vector_add_masked, vector_add_naive};

#[test]
fn vector_add() -> Result<(), Error> {
    let rt = Runtime::cpu();
    // ANCHOR: vector_add
    let a = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0])?;
    let b = Buffer::from_slice(&rt, &[0.5f32, 0.5, 0.5])?;
    let mut c = Buffer::zeros(&rt, 3)?;
    rt.launch(vector_add_naive(&a, &b, &mut c))?;
    // The same by pointers.
    // SAFETY: three buffers of three elements.
    rt.launch(unsafe { vector_add_masked(a.raw(), b.raw(), c.raw(), 3) })?;
    // ANCHOR_END: vector_add
    assert_eq!(c.to_vec()?, [1.5, 2.5, 3.5]);
    Ok(())
}

#[test]
fn gelu() -> Result<(), Error> {
    let rt = Runtime::cpu();
    // ANCHOR: gelu
    let x = Buffer::from_slice(&rt, &[-1.0f32, 0.0, 1.0])?;
    let y = Buffer::<f32>::zeros(&rt, 3)?;
    // SAFETY: two buffers of three elements.
    rt.launch(unsafe { gelu_plain(x.raw(), y.raw(), 3) })?;
    // ANCHOR_END: gelu
    let y = y.to_vec()?;
    assert!(y[1] == 0.0 && (y[2] - 0.8412).abs() < 1e-3, "{y:?}");
    Ok(())
}

#[test]
fn dropout_and_back() -> Result<(), Error> {
    let rt = Runtime::cpu();
    // ANCHOR: dropout
    let x = Buffer::from_slice(&rt, &vec![1.0f32; 10_000])?;
    let mut y = Buffer::<f32>::zeros(&rt, 10_000)?;
    let mut dx = Buffer::<f32>::zeros(&rt, 10_000)?;
    let (keep, seed) = (0.8, 42u64);
    rt.launch(dropout(&x, &mut y, keep, seed))?;
    // The gradient of the sum of y.
    rt.launch(dropout_backward(&x, &mut dx, keep, seed))?;
    // ANCHOR_END: dropout
    let y = y.to_vec()?;
    assert_eq!(y, dx.to_vec()?);
    let mean = y.iter().sum::<f32>() / y.len() as f32;
    assert!((mean - 1.0).abs() < 0.02, "{mean}");
    assert!(y.iter().all(|&y| y == 0.0 || y == 1.0 / 0.8));
    Ok(())
}

#[test]
fn color_inversion() -> Result<(), Error> {
    let rt = Runtime::cpu();
    // ANCHOR: color_inversion
    let mut bytes = Buffer::from_slice(&rt, &[255u8, 0, 1, 128])?;
    rt.launch(invert_bytes(&mut bytes))?;
    let mut pixels = Buffer::from_slice(&rt, &[u32::from_le_bytes([255, 0, 1, 128])])?;
    rt.launch(invert_persistent(&mut pixels))?;
    // ANCHOR_END: color_inversion
    assert_eq!(bytes.to_vec()?, [0, 255, 254, 128]);
    assert_eq!(pixels.to_vec()?[0].to_le_bytes(), [0, 255, 254, 128]);
    Ok(())
}

#[test]
fn reverse() -> Result<(), Error> {
    let rt = Runtime::cpu();
    // ANCHOR: reverse
    let mut x = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0])?;
    rt.launch(reverse_pairs(&mut x))?;
    let mut y = Buffer::zeros(&rt, 3)?;
    rt.launch(reverse_copy(&x, &mut y))?;
    // ANCHOR_END: reverse
    assert_eq!(x.to_vec()?, [3.0, 2.0, 1.0]);
    assert_eq!(y.to_vec()?, [1.0, 2.0, 3.0]);
    Ok(())
}

#[test]
fn rainbow() -> Result<(), Error> {
    let rt = Runtime::cpu();
    // ANCHOR: rainbow
    let input = Buffer::from_slice(&rt, &[0i32])?;
    let mut output = Buffer::<u32>::zeros(&rt, 1)?;
    rt.launch(rainbow_table(&input, &mut output, 1))?;
    // ANCHOR_END: rainbow
    assert_eq!(output.to_vec()?, [0x4b95_f515]);
    Ok(())
}

#[test]
fn convolution() -> Result<(), Error> {
    let rt = Runtime::cpu();
    // ANCHOR: convolution
    let input = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0])?;
    let kernel = Buffer::from_slice(&rt, &[1.0f32, 10.0])?;
    let mut output = Buffer::zeros(&rt, input.len() - kernel.len() + 1)?;
    rt.launch(convolution_plain(&input, &kernel, &mut output))?;
    // ANCHOR_END: convolution
    assert_eq!(output.to_vec()?, [21.0, 32.0, 43.0]);
    Ok(())
}

#[test]
fn softmax() -> Result<(), Error> {
    let rt = Runtime::cpu();
    // ANCHOR: softmax
    let (rows, columns) = (2, 2);
    let x = Buffer::from_slice(&rt, &[0.0f32, 0.0, 1000.0, 0.0])?;
    let y = Buffer::<f32>::zeros(&rt, rows * columns)?;
    // SAFETY: both have two rows, two elements apart, and a row fits the tile.
    rt.launch(unsafe { softmax_row_naive(x.raw(), y.raw(), columns, columns, rows, columns) })?;
    // ANCHOR_END: softmax
    assert_eq!(y.to_vec()?, [0.5, 0.5, 1.0, 0.0]);
    Ok(())
}

#[test]
fn transpose() -> Result<(), Error> {
    let rt = Runtime::cpu();
    // ANCHOR: transpose
    let (m, n) = (2, 3);
    let x = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let y = Buffer::<f32>::zeros(&rt, m * n)?;
    // SAFETY: a matrix of 2 by 3 and one of 3 by 2, both row-major.
    rt.launch(unsafe { transpose_naive(x.raw(), y.raw(), m, n, n, 1, m, 1) })?;
    // ANCHOR_END: transpose
    assert_eq!(y.to_vec()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    Ok(())
}

/// As the page on transposes says.
#[test]
fn transpose_has_no_bank_conflicts() -> Result<(), Error> {
    let rt = Runtime::emulator_with(Options { forbid_bank_conflicts: true, ..Default::default() });
    // Rows of 64 and of 63 elements: with vectors, and element by element.
    for n in [64, 63] {
        let x = Buffer::from_slice(&rt, &vec![1.0f32; 64 * n])?;
        let y = Buffer::<f32>::zeros(&rt, 64 * n)?;
        // SAFETY: a matrix of 64 by n and one of n by 64, both row-major.
        rt.launch(unsafe { transpose_naive(x.raw(), y.raw(), 64, n, n, 1, 64, 1) })?;
        assert_eq!(y.to_vec()?, vec![1.0; 64 * n]);
    }
    Ok(())
}

#[test]
fn reduction() -> Result<(), Error> {
    let rt = Runtime::cpu();
    // ANCHOR: reduction
    let x = Buffer::from_slice(&rt, &vec![0.5f32; 3000])?;
    let mut sum = Buffer::<f32>::zeros(&rt, 1)?;
    rt.launch(sum_atomic(&x, &mut sum))?;
    let keys = Buffer::from_slice(&rt, &[3i32, 1, 3])?;
    let mut count = Buffer::<i32>::zeros(&rt, 1)?;
    rt.launch(count_atomic(&keys, &mut count, 3))?;
    // ANCHOR_END: reduction
    assert_eq!(sum.to_vec()?, [1500.0]);
    assert_eq!(count.to_vec()?, [2]);
    Ok(())
}

#[test]
fn softmax_array() -> Result<(), Error> {
    let rt = Runtime::cpu();
    // ANCHOR: softmax_array
    let n = 2048;
    let x = Buffer::from_slice(&rt, &vec![1.0f32; n])?;
    let mut partial = Buffer::<f32>::zeros(&rt, n.div_ceil(1024))?;
    let mut max = Buffer::<f32>::zeros(&rt, 1)?;
    let mut sum = Buffer::<f32>::zeros(&rt, 1)?;
    let mut y = Buffer::<f32>::zeros(&rt, n)?;
    rt.launch(partial_max(&x, &mut partial))?;
    rt.launch(combine_max(&partial, &mut max))?;
    rt.launch(partial_exp_sum(&x, &max, &mut partial))?;
    rt.launch(combine_sum(&partial, &mut sum))?;
    rt.launch(normalize(&x, &max, &sum, &mut y))?;
    // ANCHOR_END: softmax_array
    assert_eq!(y.to_vec()?, vec![1.0 / 2048.0; n]);
    Ok(())
}

#[test]
fn matmul() -> Result<(), Error> {
    let rt = Runtime::cpu();
    let (m, n, k) = (2, 2, 2);
    let a = Buffer::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0])?;
    let b = Buffer::from_slice(&rt, &[1.0f32, 0.0, 0.0, 10.0])?;
    // ANCHOR: matmul
    let c = Buffer::<f32>::zeros(&rt, m * n)?;
    // SAFETY: row-major matrices of m by k, k by n and m by n.
    rt.launch(unsafe { matmul_blocked(a.raw(), b.raw(), c.raw(), m, n, k, k, 1, n, 1, n, 1) })?;
    // ANCHOR_END: matmul
    assert_eq!(c.to_vec()?, [1.0, 20.0, 3.0, 40.0]);
    // ANCHOR: matmul_persistent
    // SAFETY: as above.
    rt.launch(unsafe { matmul_persistent(a.raw(), b.raw(), c.raw(), m, n, k, k, 1, n, 1, n, 1) })?;
    // ANCHOR_END: matmul_persistent
    assert_eq!(c.to_vec()?, [1.0, 20.0, 3.0, 40.0]);
    Ok(())
}

#[test]
fn matmul_of_views() -> Result<(), Error> {
    let rt = Runtime::cpu();
    let (m, n, k) = (2, 2, 2);
    let [a, b] = [[1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 10.0]].map(|x| x.map(f16::from_f32));
    let (a, b) = (Buffer::from_slice(&rt, &a)?, Buffer::from_slice(&rt, &b)?);
    // ANCHOR: matmul_views
    let mut c = Buffer::<f16>::zeros(&rt, m * n)?;
    rt.launch(matmul_views(a.view([m, k])?, b.view([k, n])?, c.view_mut([m, n])?))?;
    // ANCHOR_END: matmul_views
    assert_eq!(c.to_vec()?, [1.0, 20.0, 3.0, 40.0].map(f16::from_f32));
    // ANCHOR: matmul_leaky_relu
    // SAFETY: row-major matrices of m by k, k by n and m by n.
    rt.launch(unsafe { matmul_leaky_relu(a.raw(), b.raw(), c.raw(), m, n, k, k, 1, n, 1, n, 1) })?;
    // ANCHOR_END: matmul_leaky_relu
    assert_eq!(c.to_vec()?, [1.0, 20.0, 3.0, 40.0].map(f16::from_f32));
    Ok(())
}
