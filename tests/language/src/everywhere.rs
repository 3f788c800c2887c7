//! The common part of operations' tests: elements as numbers, and runs on every backend that needs no device.

use tilewright::{Error, LaunchOptions, Runtime};
use tilewright_core::{KernelParts, bf16, f16};

/// An element as a number: of every dtype but the 64-bit integers without loss.
pub trait Number: tilewright_core::Element + std::fmt::Debug + PartialEq + Default {
    fn of(x: f64) -> Self;
    fn number(self) -> f64;
}

macro_rules! numbers { ($($t:ident)+) => { $(
    impl Number for $t {
        fn of(x: f64) -> Self {
            x as $t
        }
        fn number(self) -> f64 {
            self as f64
        }
    }
)+ } }
numbers! { f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! halves { ($($t:ident)+) => { $(
    impl Number for $t {
        fn of(x: f64) -> Self {
            $t::from_f64(x)
        }
        fn number(self) -> f64 {
            self.to_f64()
        }
    }
)+ } }
halves! { f16 bf16 }

/// Runs every configuration on the CPU and on the emulated SM; `run` gives the results.
pub fn everywhere<R>(
    desc: &KernelParts,
    run: impl Fn(&Runtime, &LaunchOptions) -> Result<R, Error>,
    check: impl Fn(R, &str),
) {
    for config in desc.configs {
        for (name, rt) in [("CPU", Runtime::cpu()), ("emulator", Runtime::emulator(5))] {
            let title = format!("{}<{}>[{}] on the {name}", desc.name, desc.types, config.id);
            let options = LaunchOptions::new().config(config.id);
            check(run(&rt, &options).unwrap_or_else(|e| panic!("{title}: {e}")), &title);
        }
    }
}

/// Whole numbers from 0 to 127, or from -40 to 87 where the type has negative ones, in no order.
pub fn scattered<I: Number>(n: usize) -> Vec<I> {
    let low = if I::of(-1.0).number() < 0.0 { 40.0 } else { 0.0 };
    (0..n as u32).map(|i| I::of(f64::from(i.wrapping_mul(2_654_435_761) >> 25) - low)).collect()
}

/// The results of programs of 64 elements each, a block for each result: result by result, of `n` elements
/// each.
pub fn results<T: Copy>(blocks: &[T], count: usize, n: usize) -> Vec<T> {
    (0..count * n).map(|i| (i / n, i % n)).map(|(result, i)| blocks[(i / 64 * count + result) * 64 + i % 64]).collect()
}

/// Room for them.
pub fn room(count: usize, n: usize) -> usize {
    n.div_ceil(64) * 64 * count
}

/// Of floats any NaN is as good as any other, and so are both zeros.
pub fn same<T: Number>(found: &[T], wanted: &[T], what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (i, (&x, &y)) in found.iter().zip(wanted).enumerate() {
        assert!(x == y || (x.number().is_nan() && y.number().is_nan()), "{what}: element {i} is {x:?}, not {y:?}");
    }
}
