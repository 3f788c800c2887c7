//! The backends of the tests, their random data, and the comparison of results.

use tilewright::{Call, Error, LaunchOptions, Result, Runtime, Stream};
use tilewright_challenges::Queue;

/// A runtime that takes a certain configuration of each kernel, where it takes the arguments.
pub struct Backend {
    rt: Runtime,
    config: Option<usize>,
}

impl Queue for Backend {
    fn stream(&self) -> &Stream {
        self.rt.stream()
    }

    fn num_sms(&self) -> usize {
        self.rt.num_sms()
    }

    fn launch(&self, mut call: Call<'_>) -> Result<()> {
        if let Some(n) = self.config {
            let configs = call.desc().configs;
            let options = LaunchOptions::new().config(configs[n % configs.len()].id);
            match self.rt.launch_with(self.rt.stream(), call.reborrow(), &options) {
                Err(Error::CannotLaunch { .. }) => {}
                done => return done,
            }
        }
        self.rt.launch(call)
    }
}

/// No kernel has more configurations.
pub const CONFIGS: usize = 4;

/// Calls `check` on the CPU, once for each configuration, and on the emulated SM.
pub fn everywhere(check: impl Fn(&Backend)) {
    for n in 0..CONFIGS {
        check(&Backend { rt: Runtime::cpu(), config: Some(n) });
    }
    check(&Backend { rt: Runtime::emulator(7), config: None });
}

/// The same for each size, of fewer on the emulated SM, which is slow.
pub fn everywhere_of<S>(
    on_cpu: impl IntoIterator<Item = S>,
    on_emulator: impl IntoIterator<Item = S>,
    check: impl Fn(&Backend, &S),
) {
    let (on_cpu, on_emulator): (Vec<S>, Vec<S>) = (on_cpu.into_iter().collect(), on_emulator.into_iter().collect());
    for n in 0..CONFIGS {
        let cpu = Backend { rt: Runtime::cpu(), config: Some(n) };
        on_cpu.iter().for_each(|size| check(&cpu, size));
    }
    let emulator = Backend { rt: Runtime::emulator(7), config: None };
    on_emulator.iter().for_each(|size| check(&emulator, size));
}

/// Numbers from `lo` to `hi` of a seed.
pub fn random(seed: u64, n: usize, lo: f32, hi: f32) -> Vec<f32> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| lo + (hi - lo) * rng.f32()).collect()
}

/// Integers of a range.
pub fn integers(seed: u64, n: usize, lo: i32, hi: i32) -> Vec<i32> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| rng.i32(lo..hi)).collect()
}

/// Each result is within `tolerance` of the wanted one, relative to its magnitude. NaN and infinities are equal.
#[track_caller]
pub fn close(what: impl std::fmt::Debug, got: &[f32], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{what:?}");
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        let (g, same) = (f64::from(g), f64::from(g) == w || g.is_nan() && w.is_nan());
        assert!(same || (g - w).abs() <= tolerance * (1.0 + w.abs()), "{what:?}, element {i}: {g}, not {w}");
    }
}

/// A shape error, and an output that is as it was.
#[track_caller]
pub fn refused<T: PartialEq + std::fmt::Debug>(result: Result<()>, output: &[T], untouched: T) {
    assert!(matches!(result, Err(Error::Shape { .. })), "{result:?}");
    assert!(output.iter().all(|v| *v == untouched), "{output:?}");
}
