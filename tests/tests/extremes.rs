//! Operations at the edge of what their arguments may be, by results that can be written down.

use tilewright::kernel::{SliceArg, SliceMutArg};
use tilewright::{LaunchOptions, Runtime, ops};
use tilewright_core::DeviceId;
use tilewright_kernels::losses::cross_entropy_gradient;

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

/// Nor is a rounded logarithm of a sum subtracted from logits of a row in one tile.
#[test]
fn gradients_of_large_logits() {
    for rt in backends() {
        for [a, b] in [[1e7f32, 1e7], [1e7, 1e7 - 2.0], [-1e7, 3.0], [1000.0, 990.0]] {
            let (mut losses, mut lse, mut d) = ([9.0f32], [9.0f32], [9.0f32; 2]);
            ops::cross_entropy(&rt, &[a, b], &[0], &mut losses, &mut lse).unwrap();
            ops::cross_entropy_backward(&rt, &[a, b], &[0], &lse, &[1.0], &mut d).unwrap();
            let p = 1.0 / (1.0 + (a - b).exp());
            assert!((d[0] + p).abs() <= 2e-6 && (d[1] - p).abs() <= 2e-6, "{rt:?}: {d:?} for {a} and {b}");
        }
    }
    let rt = Runtime::cpu();
    for classes in [40, 512, 700, 1024] {
        let (logits, mut d) = (vec![1e7f32; classes], vec![9.0f32; classes]);
        let (mut losses, mut lse) = ([9.0f32], [9.0f32]);
        ops::cross_entropy(&rt, &logits, &[-1], &mut losses, &mut lse).unwrap();
        ops::cross_entropy_backward(&rt, &logits, &[3], &lse, &[1.0], &mut d).unwrap();
        let p = 1.0 / classes as f32;
        let wanted = |c: usize| if c == 3 { p - 1.0 } else { p };
        assert!(d.iter().enumerate().all(|(c, d)| (d - wanted(c)).abs() <= 2e-6 * p.max(0.1)), "{classes}: {d:?}");
    }
}

/// The blocks of classes of a row are more than an axis of a grid behind the first one has programs.
#[test]
fn a_gradient_of_very_many_classes() {
    const CLASSES: usize = 65535 * 2048 + 1;
    let (rt, host) = (Runtime::cpu(), DeviceId::Host);
    // SAFETY: nothing is launched.
    let (logits, d_logits) = unsafe {
        (SliceArg::<f32>::from_raw(1 << 40, CLASSES, host), SliceMutArg::<f32>::from_raw(1 << 50, CLASSES, host))
    };
    let (targets, lse, d_losses) = ([0i32], [0.0f32], [1.0f32]);
    let call = cross_entropy_gradient(logits, &targets, &lse, &d_losses, d_logits, 1usize, CLASSES);
    let named = LaunchOptions::new().config("BLOCK=2048,LONG=true,warps=4");
    let launcher = rt.prepare_with(rt.stream(), call, &named).unwrap();
    assert_eq!(launcher.grid(), [65536, 1, 1]);
}
