//! Reductions along every axis and of all elements.

use tilewright::tile_kernel;
use tilewright_core::{AsSlice, AsSliceMut, bf16, f16};
use tilewright_language_tests::everywhere::{Number, everywhere, same};
use tilewright_language_tests::run::backends;

mod padded;

#[tile_kernel(
    types(T = [f32, f64, f16, bf16, i8, i32, u16, u64]),
    tune(M = [16], N = [32], warps = [4]),
    grid = [1],
)]
fn of_matrix<T: Num, const M: usize, const N: usize>(
    x: View<T, 2>,
    down: &mut [T],
    across: &mut [T],
    all: &mut [T],
    at_down: &mut [i32],
    at_across: &mut [i32],
    at_all: &mut [i32],
) {
    let t = x.tile([0, 0], [M, N]);
    store(down, arange(N), sum(t, 0));
    store(down, N + arange(N), max(t, 0));
    store(down, 2 * N + arange(N), min(t, 0));
    store(across, arange(M), sum(t, 1));
    store(across, M + arange(M), max(t, 1));
    store(across, 2 * M + arange(M), min(t, 1));
    store(all, 0, sum(t));
    store(all, 1, max(t));
    store(all, 2, min(t));
    store(at_down, arange(N), argmax(t, 0));
    store(at_down, N + arange(N), argmin(t, 0));
    store(at_across, arange(M), argmax(t, 1));
    store(at_across, M + arange(M), argmin(t, 1));
    store(at_all, 0, argmax(t));
    store(at_all, 1, argmin(t));
}

/// By one warp and by many.
#[tile_kernel(types(T = [f32]), tune(M = [32], N = [16], warps = [1, 2, 8, 16]), grid = [1], emulate = all)]
fn by_warps<T: Num, const M: usize, const N: usize>(
    x: View<T, 2>,
    down: &mut [T],
    at_across: &mut [i32],
    all: &mut [T],
) {
    let t = x.tile([0, 0], [M, N]);
    store(down, arange(N), sum(t, 0));
    store(at_across, arange(M), argmax(t, 1));
    store(all, 0, min(t));
}

/// Every axis of a block of three dimensions, and a vector whose length is no power of two.
#[tile_kernel(types(T = [f32, i16, u64, f16]), tune(warps = [2]), grid = [1])]
fn of_block<T: Num>(
    x: View<T, 3>,
    mut y0: ViewMut<T, 2>,
    mut y1: ViewMut<T, 2>,
    mut y2: ViewMut<T, 2>,
    at: &mut [i32],
    line: &[T],
    z: &mut [T],
) {
    let t = x.tile([0, 0, 0], [4, 8, 16]);
    y0.store([0, 0], sum(t, 0));
    y1.store([0, 0], max(t, 1));
    y2.store([0, 0], min(t, 2));
    store(at, arange(64), argmax(t, 1).reshape([64]));
    let v = load(line, arange(45));
    store(z, 0, sum(v));
    store(z, 1, max(v));
    store(z, 2, min(v));
    store(at, 64, argmax(v));
    store(at, 65, argmin(v));
}

/// The caller's own way to combine two elements.
#[tile_kernel(types(T = [i8, u16, i32, u64]), tune(M = [16], N = [32], warps = [4]), grid = [1])]
fn combined<T: Int, const M: usize, const N: usize>(x: View<T, 2>, bits: &mut [T], flags: &mut [bool]) {
    let t = x.tile([0, 0], [M, N]);
    store(bits, arange(N), reduce(t, 0, |a, b| a ^ b));
    store(bits, N + arange(M), reduce(t, 1, |a, b| a * b));
    store(bits, N + M, reduce(t, |a, b| a & b));
    store(flags, arange(N), reduce(t > 3, 0, |a, b| a | b));
    store(flags, N, reduce(t > 3, |a, b| a & b));
}

/// Small numbers, many of them equal; sums are exact.
fn some<T: Number>(n: usize) -> Vec<T> {
    (0..n).map(|i| T::of((i * 37 % 11) as f64 / 2.0)).map(|x| T::of(x.number().floor())).collect()
}

/// Sum, greatest and least of `n` elements, which wrap as T does; and where the first of these is.
fn expected<T: Number>(elements: impl Iterator<Item = T> + Clone, wrap: impl Fn(f64) -> T) -> ([T; 3], [i32; 2]) {
    let best = |better: fn(f64, f64) -> bool| {
        let mut best = (0, elements.clone().next().expect("one"));
        for (i, x) in elements.clone().enumerate() {
            // Of a number and NaN: the number.
            if better(x.number(), best.1.number()) || (best.1.number().is_nan() && !x.number().is_nan()) {
                best = (i, x);
            }
        }
        best
    };
    let (most, least) = (best(|a, b| a > b), best(|a, b| a < b));
    ([wrap(elements.clone().map(Number::number).sum()), most.1, least.1], [most.0 as i32, least.0 as i32])
}

/// As an integer of so many bits has it.
fn wrapped<T: Number>(x: f64) -> T {
    let signed = T::of(-1.0).number() < 0.0;
    match (T::DTYPE.name().chars().next(), size_of::<T>()) {
        (Some('i' | 'u'), 1) if signed => T::of((x as i64) as i8 as f64),
        (Some('i' | 'u'), 1) => T::of((x as i64) as u8 as f64),
        _ => T::of(x),
    }
}

/// The positions of the greatest and the least are checked if `with_places`.
fn matrix_of<T: Number>(x: impl Fn(usize) -> Vec<T>, with_places: bool)
where
    (T,): of_matrix::Types,
{
    let (m, n) = (16, 32);
    let x = x(m * n);
    let run = |rt: &tilewright::Runtime, options: &tilewright::LaunchOptions| {
        let mut values = [vec![T::default(); 3 * n], vec![T::default(); 3 * m], vec![T::default(); 3]];
        let mut places = [vec![-1i32; 2 * n], vec![-1; 2 * m], vec![-1; 2]];
        let ([down, across, all], [at_down, at_across, at_all]) = (&mut values, &mut places);
        let call = of_matrix::<T>(
            x.as_slice().as_slice_arg().strided([m, n], [n, 1]).expect("fits"),
            down,
            across,
            all,
            at_down,
            at_across,
            at_all,
        );
        rt.launch_with(rt.stream(), call, options).map(|()| (values, places))
    };
    everywhere(<(T,) as of_matrix::Types>::DESC, run, |(values, places), title| {
        let column = |j: usize| (0..m).map(move |i| i * n + j);
        let row = |i: usize| (0..n).map(move |j| i * n + j);
        let of = |at: &mut dyn Iterator<Item = usize>| {
            let elements: Vec<T> = at.map(|i| x[i]).collect();
            expected(elements.iter().copied(), wrapped)
        };
        let lines = [
            (0..n).map(|j| of(&mut column(j))).collect::<Vec<_>>(),
            (0..m).map(|i| of(&mut row(i))).collect(),
            vec![of(&mut (0..m * n))],
        ];
        for (kind, lines) in lines.iter().enumerate() {
            let what = format!("{title}: {}", ["down", "across", "all"][kind]);
            for op in 0..3 {
                let wanted: Vec<T> = lines.iter().map(|l| l.0[op]).collect();
                same(
                    &values[kind][op * lines.len()..][..lines.len()],
                    &wanted,
                    &format!("{what}, {}", ["sum", "max", "min"][op]),
                );
            }
            for op in (0..2).filter(|_| with_places) {
                let wanted: Vec<i32> = lines.iter().map(|l| l.1[op]).collect();
                assert_eq!(
                    places[kind][op * lines.len()..][..lines.len()],
                    wanted,
                    "{what}, {}",
                    ["argmax", "argmin"][op]
                );
            }
        }
    });
}

#[test]
fn warps_share_the_work() {
    let x = some::<f32>(512);
    let view = || x.as_slice().as_slice_arg().strided([32, 16], [16, 1]).expect("fits");
    let line =
        |at: &mut dyn Iterator<Item = usize>| expected(at.map(|i| x[i]).collect::<Vec<_>>().into_iter(), |s| s as f32);
    everywhere(
        <(f32,) as by_warps::Types>::DESC,
        |rt, options| {
            let (mut down, mut at_across, mut all) = (vec![0.0f32; 16], vec![-1; 32], vec![0.0f32; 1]);
            rt.launch_with(rt.stream(), by_warps::<f32>(view(), &mut down, &mut at_across, &mut all), options)
                .map(|()| (down, at_across, all))
        },
        |(down, at_across, all), title| {
            same(&down, &(0..16).map(|j| line(&mut (0..32).map(|i| i * 16 + j)).0[0]).collect::<Vec<_>>(), title);
            assert_eq!(
                at_across,
                (0..32).map(|i| line(&mut (0..16).map(|j| i * 16 + j)).1[0]).collect::<Vec<_>>(),
                "{title}"
            );
            same(&all, &line(&mut (0..512)).0[2..], title);
        },
    );
}

#[test]
fn matrices() {
    matrix_of::<f32>(some, true);
    matrix_of::<f64>(some, true);
    matrix_of::<f16>(some, true);
    matrix_of::<bf16>(some, true);
    matrix_of::<i8>(some, true);
    matrix_of::<i32>(some, true);
    matrix_of::<u16>(some, true);
    matrix_of::<u64>(some, true);
}

#[test]
fn matrices_with_infinities() {
    let some = |n: usize| (0..n).map(|i| [1.0, f32::NEG_INFINITY, 2.0, f32::NEG_INFINITY, 3.0][i % 5]).collect();
    matrix_of::<f32>(some, true);
}

fn holes<T: Number>(n: usize) -> Vec<T> {
    (0..n).map(|i| T::of(if i * 29 % 7 < 3 { f64::NAN } else { (i * 13 % 9) as f64 - 4.0 })).collect()
}

/// Of a number and NaN the greatest and the least are the number, wherever the NaN is.
#[test]
fn matrices_with_nan() {
    matrix_of::<f32>(holes, false);
    matrix_of::<f64>(holes, false);
    matrix_of::<f16>(holes, false);
    matrix_of::<bf16>(holes, false);
}

/// And so is their place.
#[test]
fn places_with_nan() {
    matrix_of::<f32>(holes, true);
    matrix_of::<f16>(holes, true);
}

fn block_of<T: Number>()
where
    (T,): of_block::Types,
{
    let (x, line) = (some::<T>(512), some::<T>(45));
    let at = |i: usize, j: usize, k: usize| x[(i * 8 + j) * 16 + k];
    let line_of = |elements: Vec<T>| expected(elements.iter().copied(), T::of);
    everywhere(
        <(T,) as of_block::Types>::DESC,
        |rt, options| {
            let (mut y0, mut y1, mut y2, mut at, mut z) = (
                vec![T::default(); 128],
                vec![T::default(); 64],
                vec![T::default(); 32],
                vec![-1i32; 66],
                vec![T::default(); 3],
            );
            let call = of_block::<T>(
                x.as_slice().as_slice_arg().strided([4, 8, 16], [128, 16, 1]).expect("fits"),
                y0.as_mut_slice().as_slice_mut_arg().strided([8, 16], [16, 1]).expect("fits"),
                y1.as_mut_slice().as_slice_mut_arg().strided([4, 16], [16, 1]).expect("fits"),
                y2.as_mut_slice().as_slice_mut_arg().strided([4, 8], [8, 1]).expect("fits"),
                &mut at,
                &line,
                &mut z,
            );
            rt.launch_with(rt.stream(), call, options).map(|()| (y0, y1, y2, at, z))
        },
        |(y0, y1, y2, places, z), title| {
            let wanted: Vec<T> =
                (0..128).map(|p| line_of((0..4).map(|i| at(i, p / 16, p % 16)).collect()).0[0]).collect();
            same(&y0, &wanted, title);
            let middle = |p: usize| line_of((0..8).map(|j| at(p / 16, j, p % 16)).collect());
            same(&y1, &(0..64).map(|p| middle(p).0[1]).collect::<Vec<_>>(), title);
            let wanted: Vec<T> =
                (0..32).map(|p| line_of((0..16).map(|k| at(p / 8, p % 8, k)).collect()).0[2]).collect();
            same(&y2, &wanted, title);
            let whole = line_of(line.clone());
            let wanted: Vec<i32> = (0..64).map(|p| middle(p).1[0]).chain(whole.1).collect();
            assert_eq!(places, wanted, "{title}");
            same(&z, &whole.0, title);
        },
    );
}

#[test]
fn blocks_and_odd_lengths() {
    block_of::<f32>();
    block_of::<i16>();
    block_of::<u64>();
    block_of::<f16>();
}

macro_rules! combined_of { ($($t:ident)+) => { $({
    let x: Vec<$t> = (0..512u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as $t | 1).collect();
    let column = |j: usize| (0..16).map(|i| x[i * 32 + j]).collect::<Vec<_>>();
    let mut wanted: Vec<$t> = (0..32).map(|j| column(j).into_iter().fold(0, |a, b| a ^ b)).collect();
    wanted.extend((0..16).map(|i| x[i * 32..][..32].iter().fold(1 as $t, |a, b| a.wrapping_mul(*b))));
    wanted.push(x.iter().fold(!0, |a, b| a & b));
    let mut set: Vec<bool> = (0..32).map(|j| column(j).into_iter().any(|v| v > 3)).collect();
    set.push(x.iter().all(|&v| v > 3));
    everywhere(
        <($t,) as combined::Types>::DESC,
        |rt, options| {
            let (mut bits, mut flags) = (vec![0 as $t; 49], vec![false; 33]);
            let view = x.as_slice().as_slice_arg().strided([16, 32], [32, 1]).expect("fits");
            rt.launch_with(rt.stream(), combined::<$t>(view, &mut bits, &mut flags), options).map(|()| (bits, flags))
        },
        |(bits, flags), title| {
            assert_eq!(bits, wanted, "{title}");
            assert_eq!(flags, set, "{title}");
        },
    );
})+ } }

#[test]
fn closures_combine() {
    combined_of! { i8 u16 i32 u64 }
}

/// The index of the greatest, of equal ones that of any. It is the same for all threads, which the branch needs, and in
/// all copies of the index of a row.
#[tile_kernel(types(T = [f32, f16, i64]), tune(warps = [1, 2]), grid = [1], emulate = all)]
fn of_equals<T: Num>(x: &[T], y: &mut [T], of_rows: &mut [i32], at: &mut [i32]) {
    let i = arange(32);
    let v = load(x, i);
    let (_, index) = reduce((v, i.to::<i32>()), 0, |(a, i), (b, j)| (where_(a > b, a, b), where_(a > b, i, j)));
    store(at, 0, index);
    // All threads take part in the sums of one of the two branches.
    if index % 2 == 0 {
        store(y, i, cumsum(v, 0));
    } else {
        store(y, i, cumsum(v + v, 0));
    }
    let t = broadcast(v.expand(0), [4, 32]);
    let places = arange(4).expand(1).to::<i32>() * 32 + i.to::<i32>().expand(0);
    let (_, place) = reduce((t, places), 1, |(a, i), (b, j)| (where_(a > b, a, b), where_(a > b, i, j)));
    let each = broadcast(place.expand(1), [4, 32]);
    store(of_rows, places, each);
}

#[test]
fn a_closure_that_tells_its_arguments_apart() {
    fn check<T: Number>()
    where
        (T,): of_equals::Types,
    {
        let x = vec![T::of(1.0); 32];
        everywhere(
            <(T,) as of_equals::Types>::DESC,
            |rt, options| {
                let (mut y, mut rows, mut at) = (vec![T::of(0.0); 32], vec![-1; 128], vec![-1]);
                let call = of_equals::<T>(&x, &mut y, &mut rows, &mut at);
                rt.launch_with(rt.stream(), call, options).map(|()| (y, rows, at))
            },
            |(y, rows, at), title| {
                assert!((0..32).contains(&at[0]), "{title}: {at:?}");
                let wanted: Vec<T> = (1..=32).map(|n| T::of(f64::from(n * (1 + at[0] % 2)))).collect();
                same(&y, &wanted, title);
                for (row, all) in rows.chunks(32).enumerate() {
                    let of_row = 32 * row as i32..32 * (row as i32 + 1);
                    assert!(of_row.contains(&all[0]) && all.iter().all(|i| *i == all[0]), "{title}: {all:?}");
                }
            },
        );
    }
    check::<f32>();
    check::<f16>();
    check::<i64>();
}

/// Each `max` is looked at once, however many follow each other.
#[tile_kernel(tune(BLOCK = [64], warps = [1]), grid = [1])]
fn greatest_of_many<const BLOCK: usize>(x: &[f32], y: &mut [f32]) {
    let v = load(x, arange(BLOCK));
    let all = v
        .max(1.0)
        .max(2.0)
        .max(3.0)
        .max(4.0)
        .max(5.0)
        .max(6.0)
        .max(7.0)
        .max(8.0)
        .max(9.0)
        .max(10.0)
        .max(11.0)
        .max(12.0)
        .max(13.0)
        .max(14.0)
        .max(15.0)
        .max(16.0)
        .max(17.0)
        .max(18.0)
        .max(19.0)
        .max(20.0)
        .max(21.0)
        .max(22.0)
        .max(23.0)
        .max(24.0)
        .max(25.0)
        .max(26.0)
        .max(27.0)
        .max(28.0)
        .max(29.0)
        .max(30.0)
        .max(31.0)
        .max(32.0);
    store(y, arange(BLOCK), all.max(max(v)));
}

#[test]
fn many_extrema_in_one_expression() {
    for rt in backends() {
        let (x, mut y) = ([40.0f32; 64], [0.0f32; 64]);
        rt.launch(greatest_of_many(&x, &mut y)).expect("it runs");
        assert_eq!(y, [40.0; 64]);
        rt.launch(greatest_of_many(&[-1.0; 64], &mut y)).expect("it runs");
        assert_eq!(y, [32.0; 64]);
    }
}
