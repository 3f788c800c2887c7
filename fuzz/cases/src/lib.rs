//! Random kernels as tests: `build.rs` makes the kernels of the seeds from `TILE_FUZZ_SEED` on, and their tests share
//! this file.

use std::fmt::Debug;
use tilewright::{Error, LaunchOptions, Runtime};
use tilewright_core::{ConfigDesc, Element, bf16, f8e4m3, f8e5m2, f16};

/// The special values of floats, beside whole numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Special {
    Nothing,
    Nan,
    /// NaN, infinities and the zero with a sign.
    All,
}

/// Whole numbers of a type.
pub trait Whole: Element {
    /// For a float the results of `f`; integers have none but integers.
    const FLOAT: Option<fn(f32) -> Self> = None;

    fn of(v: i64) -> Self;
}

macro_rules! whole {
    ($($t:ty, |$v:ident| $e:expr;)*) => { $(impl Whole for $t { fn of($v: i64) -> Self { $e } })* };
}
macro_rules! whole_floats {
    ($($t:ty, $of:expr;)*) => {
        $(impl Whole for $t {
            const FLOAT: Option<fn(f32) -> Self> = Some($of);

            fn of(v: i64) -> Self { $of(v as f32) }
        })*
    };
}
whole_floats! {
    f64, |v: f32| f64::from(v);
    f32, |v: f32| v;
    f16, f16::from_f32;
    bf16, bf16::from_f32;
    f8e4m3, f8e4m3::from_f32;
    f8e5m2, f8e5m2::from_f32;
}
whole! {
    i8, |v| v as i8;
    i16, |v| v as i16;
    i32, |v| v as i32;
    i64, |v| v;
    u8, |v| v.unsigned_abs() as u8;
    u16, |v| v.unsigned_abs() as u16;
    u32, |v| v.unsigned_abs() as u32;
    u64, |v| v.unsigned_abs();
}

/// From `-top` to `top`, of a float one in sixteen special.
pub fn numbers<T: Whole>(n: usize, seed: usize, top: i64, special: Special) -> Vec<T> {
    let mut x = seed as u32 + 1;
    let mut next = || {
        x = x.wrapping_mul(1664525).wrapping_add(1013904223);
        let whole = T::of((x >> 8) as i64 % (2 * top + 1) - top);
        // 8 bits have no infinity everywhere, and take the greatest number for it, whose products are not exact.
        let special = if T::DTYPE.size() == 1 && special == Special::All { Special::Nan } else { special };
        match (T::FLOAT, special, x >> 28) {
            (Some(float), Special::Nan, 0) => float(f32::NAN),
            (Some(float), Special::All, 0) => {
                float([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0][x as usize >> 8 & 3])
            }
            _ => whole,
        }
    };
    (0..n).map(|_| next()).collect()
}

/// Each of the sizes with each kind of numbers.
pub fn runs<const N: usize, const S: usize, const K: usize>(
    sizes: [[usize; N]; S],
    special: [Special; K],
) -> Vec<([usize; N], Special)> {
    special.into_iter().flat_map(|kind| sizes.map(|s| (s, kind))).collect()
}

/// Elements of a matrix from its first to its last, one at least.
pub fn extent(rows: usize, stride: usize, columns: usize) -> usize {
    if rows == 0 { 1 } else { ((rows - 1) * stride + columns).max(1) }
}

/// The contents of an output as text: all NaNs are equal, and 0 equals -0.
pub struct Found(Vec<String>);

impl Found {
    pub fn of<T: Element + Debug>(v: &[T]) -> Found {
        let shown = |x: &T| match format!("{x:?}") {
            zero if zero == "-0.0" => "0.0".into(),
            other => other,
        };
        Found(v.iter().map(shown).collect())
    }
}

/// Runs a kernel's configurations on the emulated SM, threads in four orders, and on the GPU if there is one, beside
/// the CPU.
pub fn compare(
    kernel: &str,
    sizes: &str,
    configs: &[ConfigDesc],
    run: impl Fn(&Runtime, &LaunchOptions) -> Result<Vec<(&'static str, Found)>, Error>,
) {
    let mut backends: Vec<Runtime> = [1, 2, 3, 4].map(Runtime::emulator).into();
    backends.extend(Runtime::cuda(0).ok());
    for config in configs {
        let options = LaunchOptions::new().config(config.id);
        let wanted = run(&Runtime::cpu(), &options).unwrap_or_else(|e| panic!("{kernel} on the CPU, {sizes}: {e}"));
        for rt in &backends {
            let what = format!("{kernel} {} on {:?}, {sizes}", config.id, rt.kind());
            let found = match run(rt, &options) {
                Err(Error::CannotLaunch { .. } | Error::NoTarget { .. } | Error::NotEmulated { .. }) => continue,
                found => found.unwrap_or_else(|e| panic!("{what}: {e}")),
            };
            for ((name, f), (_, w)) in found.iter().zip(&wanted) {
                let wrong: Vec<usize> = (0..w.0.len()).filter(|&i| f.0[i] != w.0[i]).collect();
                if let Some(&i) = wrong.first() {
                    panic!(
                        "{what}: {} of {} elements of {name} differ; element {i} is {}, not {}; and {:?}",
                        wrong.len(),
                        w.0.len(),
                        f.0[i],
                        w.0[i],
                        &wrong[..wrong.len().min(20)]
                    );
                }
            }
        }
    }
}
