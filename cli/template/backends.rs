//! The kernel on every backend, against plain Rust.

use first_crate::{axpy, scaled_sum};
use tilewright::Runtime;

fn check(rt: &Runtime) {
    // No element, one, a block and its neighbors, several blocks.
    for n in [0, 1, 1023, 1024, 1025, 5000] {
        let x: Vec<f32> = (0..n).map(|i| i as f32 * 0.5).collect();
        let y: Vec<f32> = (0..n).map(|i| 100.0 - i as f32).collect();
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 3.0 * x + y).collect();
        assert_eq!(scaled_sum(rt, 3.0, &x, &y).unwrap(), expected, "{n} elements");
    }
}

#[test]
fn on_the_cpu() {
    check(&Runtime::cpu());
}

/// The thread-level code on the emulated SM. A seed orders programs and threads.
#[test]
fn on_the_emulated_multiprocessor() {
    for seed in 0..3 {
        check(&Runtime::emulator(seed));
    }
}

#[test]
fn on_the_gpu() {
    match Runtime::cuda(0) {
        Ok(rt) if rt.without_code(&[axpy::DESCS[0]]).is_none() => check(&rt),
        Ok(_) => eprintln!("skipped: this build has no code for the GPU"),
        Err(e) => eprintln!("skipped: {e}"),
    }
}
