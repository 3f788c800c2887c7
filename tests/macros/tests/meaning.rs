//! The meaning of kernels: their CPU functions, on small cases whose results are known.

use tilewright::tile_kernel;
use tilewright_core::cpu::launch;
use tilewright_core::{AsSlice, AsSliceMut, Call, Element, GridCtx, f8e4m3, f8e5m2, f16};

fn run(call: Call) {
    let config = &call.desc().configs[0];
    let grid = (config.grid)(&GridCtx { words: call.words(), num_sms: 4 });
    // SAFETY: the argument words are those of the call, whose buffers are borrowed.
    unsafe { launch(config.cpu, grid, call.words()) };
}

#[tile_kernel(grid = [rows * columns])]
fn order(at: &mut [u64], rows: usize, columns: usize) {
    let t = program_id(0);
    let (i, j) = swizzle2d(t, (rows, columns), 3);
    store(at, t, i * 1000 + j);
}

#[test]
fn swizzled_tiles() {
    for (rows, columns) in [(1, 1), (3, 4), (7, 5), (2, 9), (8, 1)] {
        let mut at = vec![0; rows * columns];
        run(order(&mut at, rows as u64, columns as u64));
        let mut expected = vec![];
        for first in (0..rows).step_by(3) {
            for j in 0..columns {
                expected.extend((first..rows.min(first + 3)).map(|i| (i * 1000 + j) as u64));
            }
        }
        assert_eq!(at, expected, "{rows} by {columns}");
    }
}

#[tile_kernel(types(T = [f8e4m3, f8e5m2]), grid = [1])]
fn halves<T>(x: &[T], y: &mut [T]) {
    let i = arange(256);
    store(y, i, (load(x, i).to::<f32>() * 0.5).to::<T>());
}

#[test]
fn bytes_of_floats() {
    let x: Vec<f8e4m3> = (0..=255).map(f8e4m3::from_bits).collect();
    let mut y = vec![f8e4m3::default(); 256];
    run(halves(&x, &mut y));
    assert!(x.iter().zip(&y).all(|(x, y)| y.to_bits() == f8e4m3::from_f32(x.to_f32() * 0.5).to_bits()));
    let mut z = vec![f8e5m2::default(); 2];
    run(halves(&[f8e5m2::from_f32(f32::INFINITY), f8e5m2::from_f32(3.0)][..], &mut z));
    assert_eq!((z[0].to_f32(), z[1].to_f32()), (28672.0, 1.5));
}

/// `b` lies by columns.
#[tile_kernel(types(T = [f32, f16, f8e4m3]), grid = [1])]
fn products<T>(a: View<T, 2>, b: View<T, 2>, bias: &[f32], mut c: ViewMut<f32, 2>) {
    let mut acc = broadcast(load(bias, arange(16)).expand(0), [16, 16]);
    for k in range(0, a.dim(1), 32).stages(2).unroll(2) {
        acc = dot(a.tile([0, k], [16, 32]), trans(b.tile([0, k], [16, 32])), acc);
    }
    c.store([0, 0], dot(acc, acc, 0.0));
}

/// Sums of small integers are exact.
fn check_products<T: Element>(of: impl Fn(f32) -> T)
where
    (T,): products::Types,
{
    let (x, y) =
        (|i: usize, k: usize| ((i * 5 + k * 3) % 7) as f32 - 3.0, |k: usize, j: usize| ((k * 2 + j) % 5) as f32 - 2.0);
    let a: Vec<T> = (0..16 * 40).map(|i| of(x(i / 40, i % 40))).collect();
    let b: Vec<T> = (0..16 * 40).map(|i| of(y(i % 40, i / 40))).collect();
    let bias: Vec<f32> = (0..16).map(|j| j as f32).collect();
    let mut c = vec![0.0; 256];
    let view = |v| <&[T]>::as_slice_arg(v).view([16, 40]).expect("16 rows");
    run(products(
        view(&a),
        view(&b),
        &bias,
        <&mut [f32]>::as_slice_mut_arg(&mut c).view([16, 16]).expect("256 of them"),
    ));
    let once = |i: usize, j: usize| (0..40).map(|k| x(i, k) * y(k, j)).sum::<f32>() + j as f32;
    let twice: Vec<f32> = (0..256).map(|i| (0..16).map(|l| once(i / 16, l) * once(l, i % 16)).sum()).collect();
    assert_eq!(c, twice);
}

#[test]
fn products_of_tiles() {
    check_products(|x| x);
    check_products(f16::from_f32);
    check_products(f8e4m3::from_f32);
}
