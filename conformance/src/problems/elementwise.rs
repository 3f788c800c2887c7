//! vector_add, relu, leaky_relu, gelu, dropout, swiglu and its gradients, matrix_copy, rainbow_table.

use super::Boxed;
use super::number::{Number, by_dtype};
use crate::guarded::Guarded;
use crate::pattern::Output;
use crate::problem::{Prepared, Setup, Work};
use crate::{data, reference, verdict};
use tilewright_ops as ops;
use tilewright_runtime::{Result, Runtime};

/// The slope of the public challenge.
pub const SLOPE: f32 = 0.01;

fn input<T: Number>(rng: &mut data::Rng, setup: &Setup, name: &str, n: usize) -> Result<Vec<T>> {
    let make = if setup.awkward { data::awkward_floats } else { data::floats };
    setup.input(name, n, || make(rng, n, -6.0, 6.0).into_iter().map(T::of).collect())
}

/// Wanted in f64, found rounded to `T`: half an ulp, plus `extra` for an operation that approximates.
fn judge<T: Number>(found: &[T], wanted: &[f64], extra: f64) -> verdict::Verdict {
    let found: Vec<f64> = found.iter().map(|&v| v.into()).collect();
    // A value that is too large for T is an infinity in T.
    let fits = |w: f64| Into::<f64>::into(T::of(w as f32)).is_finite();
    let wanted: Vec<f64> = wanted.iter().map(|&w| if fits(w) { w } else { T::of(w as f32).into() }).collect();
    verdict::relative(&found, &wanted, T::NORMAL, T::ROUNDING * 1.01 + extra)
}

struct Unary<T> {
    host: Vec<T>,
    x: Guarded<T>,
    y: Guarded<T>,
}

fn unary_state<T: Number>(rt: &Runtime, s: &Setup) -> Result<(Work, Unary<T>)> {
    let n = s.size[0] as usize;
    let host = input::<T>(&mut data::Rng::new(s.seed), s, "x", n)?;
    let x = Guarded::new(rt, &host, T::NAN, s.odd)?;
    let y = Guarded::new(rt, &vec![s.unwritten(T::NAN); n], T::NAN, s.odd)?;
    Ok((Work { bytes: 2 * (n * size_of::<T>()) as u64, flops: 0 }, Unary { host, x, y }))
}

macro_rules! unary {
    ($name:ident, $generic:ident, $launch:expr, $reference:expr, $extra:expr) => {
        pub fn $name(rt: &Runtime, setup: &Setup) -> Boxed {
            fn $generic<T: Number>(rt: &Runtime, setup: &Setup) -> Boxed {
                let (work, state) = unary_state::<T>(rt, setup)?;
                Ok(Box::new(Prepared {
                    work,
                    state,
                    launch: |s: &mut Unary<T>, on| $launch(on, s.x.get()?, s.y.get_mut()?),
                    check: |s| {
                        let wanted: Vec<f64> = s.host.iter().map(|&v| $reference(v.into())).collect();
                        Ok(judge(&s.y.read()?, &wanted, $extra))
                    },
                    outputs: |s| Ok(vec![Output::of("y", &s.y.read()?)]),
                }))
            }
            by_dtype!(setup, $generic(rt, setup))
        }
    };
}

unary!(relu, relu_of, |on, x, y| ops::relu::<T>(on, x, y), reference::relu, 0.0);
unary!(
    leaky_relu,
    leaky_of,
    |on, x, y| ops::leaky_relu::<T>(on, x, y, SLOPE),
    |v| reference::leaky_relu(v, SLOPE as f64),
    0.0
);
// u, with its rounding errors, is an exponent: at -6 they count 25 times.
unary!(gelu, gelu_of, |on, x, y| ops::gelu::<T>(on, x, y), reference::gelu, 2e-5);

struct Dropout<T> {
    p: f32,
    seed: u64,
    host: Vec<T>,
    x: Guarded<T>,
    y: Guarded<T>,
}

pub fn dropout(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number>(rt: &Runtime, s: &Setup) -> Boxed {
        let (work, Unary { host, x, y }) = unary_state::<T>(rt, s)?;
        // Seeds of more than 32 bits, too.
        let (p, seed) = (s.scalar("p", 0.3)?, s.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        Ok(Box::new(Prepared {
            work,
            state: Dropout { p, seed, host, x, y },
            launch: |s: &mut Dropout<T>, on| ops::dropout(on, s.x.get()?, s.y.get_mut()?, s.p, s.seed),
            check: |s| {
                let scale = if s.p < 1.0 { f64::from(1.0 / (1.0 - s.p)) } else { 0.0 };
                let dropped = (f64::from(s.p) * f64::from(1 << 24)).round() as u32;
                let kept = |i: usize| {
                    let (low, high) = ((i / 4) as u32, ((i as u64 / 4) >> 32) as u32);
                    reference::philox(s.seed, [low, high, 0, 0])[i % 4] >> 8 >= dropped
                };
                let wanted = s.host.iter().enumerate().map(|(i, &v)| if kept(i) { v.into() * scale } else { 0.0 });
                Ok(judge(&s.y.read()?, &wanted.collect::<Vec<_>>(), 0.0))
            },
            outputs: |s| Ok(vec![Output::of("y", &s.y.read()?)]),
        }))
    }
    by_dtype!(setup, of(rt, setup))
}

struct Binary<T> {
    host: (Vec<T>, Vec<T>),
    a: Guarded<T>,
    b: Guarded<T>,
    c: Guarded<T>,
}

pub fn vector_add(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number>(rt: &Runtime, s: &Setup) -> Boxed {
        let n = s.size[0] as usize;
        let mut rng = data::Rng::new(s.seed);
        let host = (input::<T>(&mut rng, s, "a", n)?, input::<T>(&mut rng, s, "b", n)?);
        let a = Guarded::new(rt, &host.0, T::NAN, s.odd)?;
        let b = Guarded::new(rt, &host.1, T::NAN, s.odd)?;
        let c = Guarded::new(rt, &vec![s.unwritten(T::NAN); n], T::NAN, s.odd)?;
        Ok(Box::new(Prepared {
            work: Work { bytes: 3 * (n * size_of::<T>()) as u64, flops: n as u64 },
            state: Binary { host, a, b, c },
            launch: |s: &mut Binary<T>, on| ops::vector_add::<T>(on, s.a.get()?, s.b.get()?, s.c.get_mut()?),
            check: |s| {
                let wanted: Vec<f64> = s.host.0.iter().zip(&s.host.1).map(|(&a, &b)| a.into() + b.into()).collect();
                Ok(judge(&s.c.read()?, &wanted, 0.0))
            },
            outputs: |s| Ok(vec![Output::of("c", &s.c.read()?)]),
        }))
    }
    by_dtype!(setup, of(rt, setup))
}

pub fn swiglu(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number>(rt: &Runtime, s: &Setup) -> Boxed {
        let n = s.size[0] as usize;
        let mut rng = data::Rng::new(s.seed);
        let host = (input::<T>(&mut rng, s, "gate", n)?, input::<T>(&mut rng, s, "up", n)?);
        let a = Guarded::new(rt, &host.0, T::NAN, s.odd)?;
        let b = Guarded::new(rt, &host.1, T::NAN, s.odd)?;
        let c = Guarded::new(rt, &vec![s.unwritten(T::NAN); n], T::NAN, s.odd)?;
        Ok(Box::new(Prepared {
            work: Work { bytes: 3 * (n * size_of::<T>()) as u64, flops: 0 },
            state: Binary { host, a, b, c },
            launch: |s: &mut Binary<T>, on| ops::swiglu::<T>(on, s.a.get()?, s.b.get()?, s.c.get_mut()?),
            check: |s| {
                let product = |(&g, &u): (&T, &T)| reference::silu(g.into()).0 * u.into();
                let wanted: Vec<f64> = s.host.0.iter().zip(&s.host.1).map(product).collect();
                Ok(judge(&s.c.read()?, &wanted, EXPONENTIAL))
            },
            outputs: |s| Ok(vec![Output::of("y", &s.c.read()?)]),
        }))
    }
    by_dtype!(setup, of(rt, setup))
}

/// The relative error of an exponential in f32.
const EXPONENTIAL: f64 = 3e-6;

struct Gated<T> {
    host: [Vec<T>; 3],
    gate: Guarded<T>,
    up: Guarded<T>,
    dy: Guarded<T>,
    d_gate: Guarded<T>,
    d_up: Guarded<T>,
}

pub fn swiglu_backward(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number>(rt: &Runtime, s: &Setup) -> Boxed {
        let n = s.size[0] as usize;
        let mut rng = data::Rng::new(s.seed);
        let mut read = |name| input::<T>(&mut rng, s, name, n);
        let host = [read("gate")?, read("up")?, read("dy")?];
        let given = |v: &[T]| Guarded::new(rt, v, T::NAN, s.odd);
        let written = || Guarded::new(rt, &vec![s.unwritten(T::NAN); n], T::NAN, s.odd);
        let state = Gated {
            gate: given(&host[0])?,
            up: given(&host[1])?,
            dy: given(&host[2])?,
            d_gate: written()?,
            d_up: written()?,
            host,
        };
        Ok(Box::new(Prepared {
            work: Work { bytes: 5 * (n * size_of::<T>()) as u64, flops: 0 },
            state,
            launch: |s: &mut Gated<T>, on| {
                let (gate, up, dy) = (s.gate.get()?, s.up.get()?, s.dy.get()?);
                ops::swiglu_backward::<T>(on, gate, up, dy, s.d_gate.get_mut()?, s.d_up.get_mut()?)
            },
            check: |s| {
                let [gate, up, dy] = &s.host;
                let each = |f: &dyn Fn(f64, f64, f64) -> (f64, f64)| -> Vec<(f64, f64)> {
                    let of = |((&g, &u), &d): ((&T, &T), &T)| f(g.into(), u.into(), d.into());
                    gate.iter().zip(up).zip(dy).map(of).collect()
                };
                let exact = |found: &[T], wanted: Vec<(f64, f64)>| {
                    let found: Vec<f64> = found.iter().map(|&v| v.into()).collect();
                    let wanted: Vec<_> = wanted
                        .into_iter()
                        .map(|(w, size)| (T::of(w as f32).into(), w, size))
                        // A value that is too large for T is an infinity in T.
                        .map(|(rounded, w, size): (f64, f64, f64)| {
                            (if rounded.is_finite() { w } else { rounded }, size.max(T::NORMAL))
                        })
                        .collect();
                    verdict::scaled(&found, wanted.into_iter(), T::ROUNDING * 1.01 + EXPONENTIAL)
                };
                // The derivative of silu has a zero near -1.28, where its summands cancel.
                let d_gate = each(&|g, u, d| {
                    let (_, slope, size) = reference::silu(g);
                    (d * u * slope, (d * u).abs() * size)
                });
                let d_up = each(&|g, _, d| (d * reference::silu(g).0, (d * reference::silu(g).0).abs()));
                Ok(verdict::worse(exact(&s.d_gate.read()?, d_gate), exact(&s.d_up.read()?, d_up)))
            },
            outputs: |s| Ok(vec![Output::of("d_gate", &s.d_gate.read()?), Output::of("d_up", &s.d_up.read()?)]),
        }))
    }
    by_dtype!(setup, of(rt, setup))
}

pub fn matrix_copy(rt: &Runtime, s: &Setup) -> Boxed {
    let n = (s.size[0] * s.size[1]) as usize;
    let host = input::<f32>(&mut data::Rng::new(s.seed), s, "x", n)?;
    let x = Guarded::new(rt, &host, f32::NAN, s.odd)?;
    let y = Guarded::poisoned(rt, n, 7.25, s.odd)?;
    Ok(Box::new(Prepared {
        work: Work { bytes: 8 * n as u64, flops: 0 },
        state: Unary { host, x, y },
        launch: |s: &mut Unary<f32>, on| ops::matrix_copy(on, s.x.get()?, s.y.get_mut()?),
        check: |s| {
            let bits = |v: &[f32]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            Ok(verdict::exact(&bits(&s.y.read()?), &bits(&s.host)))
        },
        outputs: |s| Ok(vec![Output::of("y", &s.y.read()?)]),
    }))
}

struct Rainbow {
    rounds: u32,
    host: Vec<i32>,
    x: Guarded<i32>,
    y: Guarded<u32>,
}

pub fn rainbow_table(rt: &Runtime, s: &Setup) -> Boxed {
    let (n, rounds) = (s.size[0] as usize, s.size[1] as u32);
    let host = s.input("x", n, || data::ints(&mut data::Rng::new(s.seed), n))?;
    let x = Guarded::new(rt, &host, -1, s.odd)?;
    let y = Guarded::poisoned(rt, n, 0xDEAD_BEEF, s.odd)?;
    Ok(Box::new(Prepared {
        work: Work { bytes: 8 * n as u64, flops: 0 },
        state: Rainbow { rounds, host, x, y },
        launch: |s: &mut Rainbow, on| ops::rainbow_table(on, s.x.get()?, s.y.get_mut()?, s.rounds),
        check: |s| {
            let wanted: Vec<u32> = s.host.iter().map(|&v| reference::rainbow(v, s.rounds)).collect();
            Ok(verdict::exact(&s.y.read()?, &wanted))
        },
        outputs: |s| Ok(vec![Output::of("y", &s.y.read()?)]),
    }))
}
