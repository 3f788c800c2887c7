//! Operations at the limits of their arguments, by results that can be written down.

use tilewright::{Runtime, ops};

fn backends() -> [Runtime; 2] {
    [Runtime::cpu(), Runtime::emulator(7)]
}

/// A program has more rows than there are, which must not count without an epsilon either.
#[test]
fn gradients_of_norms_without_an_epsilon() {
    for rt in backends() {
        let (mut dx, mut dw, mut db) = ([9.0f32; 2], [9.0f32; 2], [9.0f32; 2]);
        let (x, weight, dy) = ([3.0f32, -3.0], [1.0f32, 2.0], [3.0f32, 0.0]);
        ops::rms_norm_backward(&rt, &x, &weight, &dy, &mut dx, &mut dw, 0.0).unwrap();
        assert_eq!((dx, dw), ([0.5, 0.5], [3.0, 0.0]), "{rt:?}");
        ops::layer_norm_backward(&rt, &x, &weight, &dy, &mut dx, &mut dw, &mut db, 0.0).unwrap();
        assert_eq!((dx, dw, db), ([0.0, 0.0], [3.0, 0.0], [3.0, 0.0]), "{rt:?}");
    }
}

/// The same of a row that a program reads in parts.
#[test]
fn losses_of_many_classes() {
    for rt in backends() {
        let mut logits = vec![f32::NEG_INFINITY; 9000];
        (logits[0], logits[8999]) = (1e6, 1e6);
        let (mut losses, mut lse) = ([9.0f32], [9.0f32]);
        ops::cross_entropy(&rt, &logits, &[8999], &mut losses, &mut lse).unwrap();
        assert!((losses[0] - 2f32.ln()).abs() <= 2e-6, "{rt:?}: {}", losses[0]);
    }
}

/// The greatest logit is subtracted before the logarithm of the sum is added.
#[test]
fn losses_of_large_logits() {
    for rt in backends() {
        for (logits, wanted) in [([1e6f32, 1e6], 2f32.ln()), ([1000.0, 990.0], (-10f32).exp().ln_1p())] {
            let (mut losses, mut lse) = ([9.0f32], [9.0f32]);
            ops::cross_entropy(&rt, &logits, &[0], &mut losses, &mut lse).unwrap();
            assert!((losses[0] - wanted).abs() <= 1e-7 + 2e-6 * wanted, "{rt:?}: {} for {wanted}", losses[0]);
        }
    }
}
