//! Parameters of backward kernels: several outputs, optional arrays, constants, types, pointers, names.

use tilewright::{Runtime, tile_kernel, tile_module};
use tilewright_core::{bf16, f16};
use tilewright_language_tests::differences::{between, gradients};
use tilewright_language_tests::launch;

#[tile_kernel(backward, tune(BLOCK = [32], SQUARED = [true], warps = [1]), grid = [cdiv(x.len(), BLOCK)])]
fn two_outputs<const BLOCK: usize, const SQUARED: bool>(x: &[f64], y: &mut [f64], largest: &mut [i32], z: &mut [f64]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = load(x, i);
    store(y, i, if SQUARED { v * v } else { v });
    store(largest, program_id(0), argmax(v));
    store(z, i, sin(v)).mask(i % 2 == 0);
}

#[test]
fn several_outputs_of_a_constant_branch() {
    gradients(
        &[between(-1.0, 1.0, 50, 61)],
        &[50, 50],
        &|rt, x, y| {
            let [y, z] = y else { unreachable!() };
            launch!(rt, two_outputs(&x[0][..], &mut y[..], &mut [0i32; 2][..], &mut z[..]))
        },
        &|rt, x, g, dy| {
            launch!(rt, two_outputs_backward(&x[0][..], &mut g[0][..], &dy[0][..], &[0i32; 2][..], &dy[1][..]))
        },
    );
}

#[tile_module]
mod kernels {
    fn biased<T>(v: Tile<f32>, bias: Option<&[T]>, i: Tile<usize>) -> Tile<f32> {
        match bias {
            Some(bias) => v * load(bias, i).to::<f32>(),
            None => v,
        }
    }

    /// Two kernels of one function, each with a backward kernel.
    #[tile_kernel(
        kernel(doubled, FACTOR = 2),
        kernel(tripled, FACTOR = 3),
        backward,
        types(T = [f32, f16, bf16]),
        tune(BLOCK = [32], warps = [1]),
        grid = [cdiv(y.len(), BLOCK)],
    )]
    pub fn scaled<T: Float, const FACTOR: usize, const BLOCK: usize>(x: &[T], bias: Option<&[T]>, y: &mut [T]) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let v = load(x, i).to::<f32>() * FACTOR as f32;
        store(y, i, biased(v, bias, i).to::<T>());
    }
}
use kernels::{doubled_backward, tripled_backward};

#[test]
fn optional_arrays_and_types() {
    let dy: Vec<f16> = (0..40).map(|i| f16::from_f64(i as f64 - 20.0)).collect();
    let (x, bias) = (vec![f16::from_f64(3.0); 40], vec![f16::from_f64(0.5); 40]);
    for rt in [Runtime::cpu(), Runtime::emulator(5)] {
        let zeros = || vec![f16::from_f64(0.0); 40];
        let (mut gx, mut gb) = (zeros(), zeros());
        let call = tripled_backward(&x[..], &mut gx[..], Some(&bias[..]), Some(&mut gb[..]), &dy[..]);
        launch!(rt, call).expect("it runs");
        for i in 0..40 {
            assert_eq!(gx[i].to_f64(), 1.5 * dy[i].to_f64());
            assert_eq!(gb[i].to_f64(), 9.0 * dy[i].to_f64());
        }
        let mut gx = zeros();
        let none: Option<&[f16]> = None;
        launch!(rt, doubled_backward(&x[..], &mut gx[..], none, None::<&mut [f16]>, &dy[..])).expect("it runs");
        assert!((0..40).all(|i| gx[i].to_f64() == 2.0 * dy[i].to_f64()));
        // An array without a gradient, and a gradient without its array.
        let (mut gx, mut gb) = (zeros(), zeros());
        let call = doubled_backward(&x[..], &mut gx[..], Some(&bias[..]), None::<&mut [f16]>, &dy[..]);
        launch!(rt, call).expect("it runs");
        assert!((0..40).all(|i| gx[i].to_f64() == dy[i].to_f64()));
        launch!(rt, doubled_backward(&x[..], &mut gx[..], none, Some(&mut gb[..]), &dy[..])).expect("it runs");
        assert!(gb.iter().all(|g| g.to_f64() == 0.0));
    }
    let (x, dy) = (vec![bf16::from_f64(1.0); 40], vec![bf16::from_f64(2.0); 40]);
    let mut gx = [bf16::from_f64(0.0); 40];
    let none: Option<&[bf16]> = None;
    let call = doubled_backward(&x[..], &mut gx[..], none, None::<&mut [bf16]>, &dy[..]);
    launch!(Runtime::cpu(), call).expect("it runs");
    assert!(gx.iter().all(|g| g.to_f64() == 4.0));
}

/// Only `w` has a gradient: `x` has no parameter for one.
#[tile_kernel(backward(w), tune(BLOCK = [32], warps = [1]), grid = [cdiv(x.len(), BLOCK)])]
fn of_weights<const BLOCK: usize>(x: &[f64], w: &[f64], y: &mut [f64]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(y, i, load(x, i) * load(w, i) + load(x, i));
}

#[test]
fn gradients_of_chosen_inputs() {
    let x = between(-1.0, 1.0, 40, 62);
    gradients(
        &[between(-1.0, 1.0, 40, 63)],
        &[40],
        &|rt, w, y| launch!(rt, of_weights(&x[..], &w[0][..], &mut y[0][..])),
        &|rt, w, g, dy| launch!(rt, of_weights_backward(&x[..], &w[0][..], &mut g[0][..], &dy[0][..])),
    );
}

/// Pointers with strides, as Triton's kernels take them.
#[tile_kernel(backward, tune(N = [16], warps = [1]), grid = [m])]
unsafe fn of_pointers<const N: usize>(x: *const f64, y: *mut f64, m: usize, n: usize, stride: usize) {
    let i = arange(N);
    let t = load(x.add(program_id(0) * stride + i)).mask(i < n).other(0.0);
    store(y.add(program_id(0) * stride + i), t * t * sum(t)).mask(i < n);
}

#[test]
fn gradients_through_pointers() {
    let (m, n) = (3usize, 12usize);
    gradients(
        &[between(-1.0, 1.0, m * n, 64)],
        &[m * n],
        // SAFETY: the arrays have `m` rows of `n` elements.
        &|rt, x, y| launch!(rt, unsafe { of_pointers(x[0].as_ptr(), y[0].as_mut_ptr(), m, n, n) }),
        &|rt, x, g, dy| {
            let (x, g, dy) = (x[0].as_ptr(), g[0].as_mut_ptr(), dy[0].as_ptr());
            // SAFETY: as above.
            launch!(rt, unsafe { of_pointers_backward(x, g, dy, m, n, n) })
        },
    );
}
