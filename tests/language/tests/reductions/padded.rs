//! Extents that are no powers of two: a tile is filled up to the next one, and the filling takes part in no reduction,
//! for any data.

use super::{expected, wrapped};
use tilewright::tile_kernel;
use tilewright_core::{AsSlice, f16};
use tilewright_language_tests::everywhere::{Number, everywhere, same};

const M: usize = 12;
const N: usize = 24;

#[tile_kernel(types(T = [f32, f16, i8, i64]), tune(warps = [1, 4]), grid = [1], emulate = all)]
fn padded<T: Num>(
    x: View<T, 2>,
    down: &mut [T],
    across: &mut [T],
    all: &mut [T],
    at_down: &mut [i32],
    at_across: &mut [i32],
    at_line: &mut [i32],
    line: &[T],
) {
    let t = x.tile([0, 0], [12, 24]);
    store(down, arange(24), sum(t, 0));
    store(down, 24 + arange(24), max(t, 0));
    store(down, 48 + arange(24), min(t, 0));
    store(across, arange(12), sum(t, 1));
    store(across, 12 + arange(12), max(t, 1));
    store(across, 24 + arange(12), min(t, 1));
    store(all, 0, sum(t));
    store(all, 1, max(t));
    store(all, 2, min(t));
    store(at_down, arange(24), argmax(t, 0));
    store(at_down, 24 + arange(24), argmin(t, 0));
    store(at_across, arange(12), argmax(t, 1));
    store(at_across, 12 + arange(12), argmin(t, 1));
    let v = load(line, arange(45));
    store(at_line, 0, argmax(v));
    store(at_line, 1, argmin(v));
}

/// The elements of a matrix, the first 45 of which are also a line.
fn of<T: Number>(what: &str, element: impl Fn(usize) -> T)
where
    (T,): padded::Types,
{
    let x: Vec<T> = (0..M * N).map(element).collect();
    let line = &x[..45];
    let of = |at: &mut dyn Iterator<Item = usize>| {
        let elements: Vec<T> = at.map(|i| x[i]).collect();
        expected(elements.iter().copied(), wrapped)
    };
    let lines = [
        (0..N).map(|j| of(&mut (0..M).map(|i| i * N + j))).collect::<Vec<_>>(),
        (0..M).map(|i| of(&mut (0..N).map(|j| i * N + j))).collect(),
        vec![of(&mut (0..M * N))],
        vec![of(&mut (0..45))],
    ];
    everywhere(
        <(T,) as padded::Types>::DESC,
        |rt, options| {
            let mut values = [3 * N, 3 * M, 3].map(|n| vec![T::default(); n]);
            let mut places = [2 * N, 2 * M, 2].map(|n| vec![-1i32; n]);
            let ([down, across, all], [at_down, at_across, at_line]) = (&mut values, &mut places);
            let view = x.as_slice().as_slice_arg().strided([M, N], [N, 1]).expect("fits");
            let call = padded::<T>(view, down, across, all, at_down, at_across, at_line, line);
            rt.launch_with(rt.stream(), call, options).map(|()| (values, places))
        },
        |(values, places), title| {
            for (kind, name) in ["down", "across", "all"].into_iter().enumerate() {
                for (op, lines) in (0..3).map(|op| (op, &lines[kind])) {
                    let wanted: Vec<T> = lines.iter().map(|l| l.0[op]).collect();
                    let title = format!("{title}, {what}: {} {name}", ["sum", "max", "min"][op]);
                    same(&values[kind][op * lines.len()..][..lines.len()], &wanted, &title);
                }
            }
            for ((places, lines), name) in
                places.iter().zip([&lines[0], &lines[1], &lines[3]]).zip(["down", "across", "line"])
            {
                for op in 0..2 {
                    let wanted: Vec<i32> = lines.iter().map(|l| l.1[op]).collect();
                    let title = format!("{title}, {what}: {} {name}", ["argmax", "argmin"][op]);
                    assert_eq!(places[op * lines.len()..][..lines.len()], wanted, "{title}");
                }
            }
        },
    );
}

fn floats<T: Number>()
where
    (T,): padded::Types,
{
    for (what, x) in [("NaN", f64::NAN), ("-inf", f64::NEG_INFINITY), ("inf", f64::INFINITY)] {
        of(&format!("all {what}"), |_| T::of(x));
        of(&format!("{what} beside NaN"), |i| T::of(if i % 5 == 3 { x } else { f64::NAN }));
    }
}

fn signed<T: Number>(least: T, most: T)
where
    (T,): padded::Types,
{
    of("negative", |i| T::of(-1.0 - (i * 37 % 11) as f64));
    of("positive", |i| T::of(1.0 + (i * 29 % 7) as f64));
    of("all the least", |_| least);
    of("all the greatest", |_| most);
}

#[test]
fn what_fills_a_tile_is_in_no_reduction() {
    signed::<f32>(f32::NEG_INFINITY, f32::INFINITY);
    signed::<f16>(f16::from_f32(-65504.0), f16::from_f32(65504.0));
    signed::<i8>(i8::MIN, i8::MAX);
    signed::<i64>(-(1 << 40), 1 << 40);
    floats::<f32>();
    floats::<f16>();
}

#[tile_kernel(tune(warps = [1, 4]), grid = [1], emulate = all)]
fn asserted(x: View<f32, 2>, line: &[f32], y: &mut [f32]) {
    let t = x.tile([0, 0], [12, 24]);
    device_assert!(t > 0.0, "every element is positive");
    let v = load(line, arange(45));
    device_assert!(v > 0.0);
    store(y, 0, sum(t) + sum(v));
}

#[test]
fn what_fills_a_tile_is_not_asserted() {
    let (x, line) = (vec![1.0f32; M * N], vec![2.0f32; 45]);
    everywhere(
        asserted::DESCS[0],
        |rt, options| {
            let mut y = vec![0.0f32];
            let view = x.as_slice().as_slice_arg().strided([M, N], [N, 1]).expect("fits");
            rt.launch_with(rt.stream(), asserted(view, &line, &mut y), options).map(|()| y)
        },
        |y, title| assert_eq!(y, [(M * N + 90) as f32], "{title}"),
    );
}
