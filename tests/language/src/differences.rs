//! Gradients by finite differences in f64.

use tilewright::{Error, Runtime};

/// Numbers from `low` to `high`, in no order.
pub fn between(low: f64, high: f64, n: usize, seed: u64) -> Vec<f64> {
    let mut s = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        (s >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..n).map(|_| low + (high - low) * next()).collect()
}

/// A launch of a forward kernel: inputs, outputs.
pub type Forward<'a> = &'a dyn Fn(&Runtime, &[Vec<f64>], &mut [Vec<f64>]) -> Result<(), Error>;
/// A launch of a backward kernel: inputs, gradients with respect to them, gradients with respect to the outputs.
pub type Backward<'a> = &'a dyn Fn(&Runtime, &[Vec<f64>], &mut [Vec<f64>], &[Vec<f64>]) -> Result<(), Error>;

/// A sum of the outputs with weights, which are the gradients with respect to the outputs.
fn loss(inputs: &[Vec<f64>], weights: &[Vec<f64>], forward: Forward) -> f64 {
    let mut outputs: Vec<Vec<f64>> = weights.iter().map(|w| vec![0.0; w.len()]).collect();
    forward(&Runtime::cpu(), inputs, &mut outputs).expect("the forward kernel runs");
    outputs.iter().flatten().zip(weights.iter().flatten()).map(|(y, w)| y * w).sum()
}

/// Compares the gradients of a backward kernel on each backend with finite differences. `outputs`: the length of each.
pub fn gradients(inputs: &[Vec<f64>], outputs: &[usize], forward: Forward, backward: Backward) {
    const STEP: f64 = 1e-5;
    // The kernel adds to what is there.
    const BEFORE: f64 = 0.25;
    let weights: Vec<Vec<f64>> =
        outputs.iter().enumerate().map(|(i, &n)| between(-1.0, 1.0, n, 77 + i as u64)).collect();
    let mut moved = inputs.to_vec();
    let mut wanted: Vec<Vec<f64>> = inputs.iter().map(|x| vec![0.0; x.len()]).collect();
    for i in 0..inputs.len() {
        for k in 0..inputs[i].len() {
            let mut at = |x: f64| {
                moved[i][k] = x;
                loss(&moved, &weights, forward)
            };
            let x = inputs[i][k];
            wanted[i][k] = (at(x + STEP) - at(x - STEP)) / (2.0 * STEP);
            moved[i][k] = x;
        }
    }
    assert!(wanted.iter().all(|g| g.iter().any(|g| g.abs() > 1e-3)), "each input has a gradient");
    for (name, rt) in [("the CPU", Runtime::cpu()), ("the emulated SM", Runtime::emulator(5))] {
        let mut found: Vec<Vec<f64>> = inputs.iter().map(|x| vec![BEFORE; x.len()]).collect();
        backward(&rt, inputs, &mut found, &weights).unwrap_or_else(|e| panic!("on {name}: {e}"));
        for (i, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            for (k, (&found, &wanted)) in found.iter().zip(wanted).enumerate() {
                let near = (found - BEFORE - wanted).abs() <= 2e-6 * wanted.abs().max(1.0);
                assert!(near, "on {name}: element {k} of input {i} has {}, not {wanted}", found - BEFORE);
            }
        }
    }
}

/// Runs a call that is made of arrays.
#[macro_export]
macro_rules! launch {
    ($rt:expr, $call:expr) => {
        $rt.launch_with($rt.stream(), $call, &tilewright::LaunchOptions::new()).map(|_| ())
    };
}

/// A matrix in a slice, with rows of its columns.
#[macro_export]
macro_rules! rows {
    ($x:expr, $n:expr) => {{
        use tilewright_core::AsSlice;
        let (x, n): (&[_], usize) = (&$x[..], $n);
        x.as_slice_arg().strided([x.len() / n, n], [n, 1]).expect("fits")
    }};
}

/// The same, to be written.
#[macro_export]
macro_rules! rows_mut {
    ($x:expr, $n:expr) => {{
        use tilewright_core::AsSliceMut;
        let (x, n): (&mut [_], usize) = (&mut $x[..], $n);
        let m = x.len() / n;
        x.as_slice_mut_arg().strided([m, n], [n, 1]).expect("fits")
    }};
}
