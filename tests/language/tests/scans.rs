//! Scans along every axis, in both directions, with and without the element itself; reductions and scans of tuples.

use tilewright::tile_kernel;
use tilewright_core::{AsSlice, AsSliceMut, bf16, f16};
use tilewright_language_tests::everywhere::{Number, everywhere, same};

#[tile_kernel(
    types(T = [f32, f64, f16, bf16, i8, u16, i32, u64]),
    tune(M = [16], N = [32], warps = [4]),
    grid = [1],
)]
fn scans_of_matrix<T: Num, const M: usize, const N: usize>(x: View<T, 2>, mut y: ViewMut<T, 3>) {
    let (t, zero) = (x.tile([0, 0], [M, N]), 0i32.to::<T>());
    y.store([0, 0, 0], cumsum(t, 0).expand(0));
    y.store([1, 0, 0], cumsum(t, 1).expand(0));
    y.store([2, 0, 0], cumsum(t, 0).reverse().expand(0));
    y.store([3, 0, 0], cumsum(t, 1).reverse().expand(0));
    y.store([4, 0, 0], cumsum(t, 0).exclusive(zero).expand(0));
    y.store([5, 0, 0], cumsum(t, 1).reverse().exclusive(zero).expand(0));
    y.store([6, 0, 0], scan(t, 1, |a, b| max(a, b)).expand(0));
    y.store([7, 0, 0], cumprod(t, 0).expand(0));
}

/// The scans of all lines of a matrix along an axis; `exclusive` comes before the first element.
fn scanned<T: Copy>(
    x: &[T],
    [m, n]: [usize; 2],
    axis: usize,
    reverse: bool,
    exclusive: Option<T>,
    f: impl Fn(T, T) -> T,
) -> Vec<T> {
    let (len, lines, step, stride) = if axis == 0 { (m, n, n, 1) } else { (n, m, 1, n) };
    let mut out = x.to_vec();
    for line in 0..lines {
        let at = |k: usize| line * stride + if reverse { len - 1 - k } else { k } * step;
        let mut upto = exclusive;
        for k in 0..len {
            let before = upto;
            upto = Some(before.map_or(x[at(k)], |b| f(b, x[at(k)])));
            out[at(k)] = if exclusive.is_some() { before } else { upto }.expect("there is one");
        }
    }
    out
}

/// Small numbers; sums and products are exact where they do not wrap.
fn some<T: Number>(n: usize) -> Vec<T> {
    (0..n).map(|i| T::of(((i * 37 % 11) % 3) as f64)).collect()
}

fn matrix_of<T: Number>(wrap: impl Fn(f64) -> T)
where
    (T,): scans_of_matrix::Types,
{
    let [m, n] = [16, 32];
    let x = some::<T>(m * n);
    let sum = |a: T, b: T| wrap(a.number() + b.number());
    let wanted: Vec<T> = [
        scanned(&x, [m, n], 0, false, None, sum),
        scanned(&x, [m, n], 1, false, None, sum),
        scanned(&x, [m, n], 0, true, None, sum),
        scanned(&x, [m, n], 1, true, None, sum),
        scanned(&x, [m, n], 0, false, Some(T::of(0.0)), sum),
        scanned(&x, [m, n], 1, true, Some(T::of(0.0)), sum),
        scanned(&x, [m, n], 1, false, None, |a, b| if a.number() > b.number() { a } else { b }),
        scanned(&x, [m, n], 0, false, None, |a, b| wrap(a.number() * b.number())),
    ]
    .concat();
    everywhere(
        <(T,) as scans_of_matrix::Types>::DESC,
        |rt, options| {
            let mut y = vec![T::default(); 8 * m * n];
            let call = scans_of_matrix::<T>(
                x.as_slice().as_slice_arg().strided([m, n], [n, 1]).expect("fits"),
                y.as_mut_slice().as_slice_mut_arg().strided([8, m, n], [m * n, n, 1]).expect("fits"),
            );
            rt.launch_with(rt.stream(), call, options).map(|()| y)
        },
        |y, title| same(&y, &wanted, title),
    );
}

#[test]
fn matrices() {
    matrix_of::<f32>(|x| x as f32);
    matrix_of::<f64>(|x| x);
    matrix_of::<f16>(f16::from_f64);
    matrix_of::<bf16>(bf16::from_f64);
    matrix_of::<i8>(|x| x as i64 as i8);
    matrix_of::<i32>(|x| x as i64 as i32);
    matrix_of::<u16>(|x| x as u64 as u16);
    matrix_of::<u64>(|x| x as u64);
}

/// Linear recurrences `s = a s + b`, which do not commute: a scan that mixes up the order gives something else. By one
/// warp and by many, of lines that have more elements than threads and of lines that have fewer.
#[tile_kernel(
    tune(M = [64], N = [16], LINE = [32, 2048], warps = [1, 2, 8, 16]),
    grid = [1],
    emulate = all,
)]
fn recurrences<const M: usize, const N: usize, const LINE: usize>(
    a: View<u32, 2>,
    b: View<u32, 2>,
    mut down: ViewMut<u32, 2>,
    mut across: ViewMut<u32, 2>,
    mut transposed: ViewMut<u32, 2>,
    line_a: &[u32],
    line_b: &[u32],
    line: &mut [u32],
) {
    let (x, y) = (a.tile([0, 0], [M, N]), b.tile([0, 0], [M, N]));
    let (_, s) = scan((x, y), 0, |(a, b), (c, d)| (a * c, b * c + d));
    down.store([0, 0], s);
    let (_, s) = scan((x, y), 1, |(a, b), (c, d)| (a * c, b * c + d)).reverse();
    across.store([0, 0], s);
    let (_, s) = scan((trans(x), trans(y)), 1, |(a, b), (c, d)| (a * c, b * c + d)).exclusive((1, 0));
    transposed.store([0, 0], s);
    let i = arange(LINE);
    let (p, s) = scan((load(line_a, i), load(line_b, i)), 0, |(a, b), (c, d)| (a * c, b * c + d)).exclusive((1, 7));
    store(line, i, p + s);
}

#[test]
fn recurrences_keep_their_order() {
    let ([m, n], len) = ([64, 16], 2048);
    let numbers = |seed: u64, n: usize| -> Vec<u32> {
        (0..n as u64).map(|i| ((i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u32 | 1).collect()
    };
    let (a, b) = (numbers(1, m * n), numbers(1000, m * n));
    let (la, lb) = (numbers(5, len), numbers(77, len));
    let pair = |a: &[u32], b: &[u32]| a.iter().copied().zip(b.iter().copied()).collect::<Vec<_>>();
    let step = |(a, b): (u32, u32), (c, d): (u32, u32)| (a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d));
    let second = |v: Vec<(u32, u32)>| v.into_iter().map(|x| x.1).collect::<Vec<_>>();
    let x = pair(&a, &b);
    let down = second(scanned(&x, [m, n], 0, false, None, step));
    let across = second(scanned(&x, [m, n], 1, true, None, step));
    let transposed = second(scanned(&x, [m, n], 0, false, Some((1, 0)), step));
    let transposed: Vec<u32> = (0..m * n).map(|i| transposed[i % m * n + i / m]).collect();
    everywhere(
        recurrences::DESCS[0],
        |rt, options| {
            let (mut d, mut c, mut t, mut l) = (vec![0; m * n], vec![0; m * n], vec![0; m * n], vec![0; len]);
            let call = recurrences(
                a.as_slice().as_slice_arg().strided([m, n], [n, 1]).expect("fits"),
                b.as_slice().as_slice_arg().strided([m, n], [n, 1]).expect("fits"),
                d.as_mut_slice().as_slice_mut_arg().strided([m, n], [n, 1]).expect("fits"),
                c.as_mut_slice().as_slice_mut_arg().strided([m, n], [n, 1]).expect("fits"),
                t.as_mut_slice().as_slice_mut_arg().strided([n, m], [m, 1]).expect("fits"),
                &la,
                &lb,
                &mut l,
            );
            rt.launch_with(rt.stream(), call, options).map(|()| (d, c, t, l))
        },
        |(d, c, t, l), title| {
            assert_eq!(d, down, "{title}: down");
            assert_eq!(c, across, "{title}: across");
            assert_eq!(t, transposed, "{title}: transposed");
            let len = if title.contains("LINE=32") { 32 } else { len };
            let line = scanned(&pair(&la, &lb)[..len], [1, len], 1, false, Some((1, 7)), step);
            let line: Vec<u32> = line.into_iter().map(|(p, s)| p.wrapping_add(s)).collect();
            assert_eq!(l[..len], line, "{title}: line");
        },
    );
}

/// Extents that are not powers of two, in three dimensions; indices, which have no layout; bools.
#[tile_kernel(types(T = [f32, i16, u64]), tune(warps = [2, 4]), grid = [1], emulate = all)]
fn scans_of_block<T: Num>(x: View<T, 3>, mut y: ViewMut<T, 3>, z: &mut [T], counts: &mut [u64], seen: &mut [bool]) {
    let (t, zero) = (x.tile([0, 0, 0], [3, 12, 5]), 0i32.to::<T>());
    y.store([0, 0, 0], cumsum(t, 0));
    y.store([3, 0, 0], cumsum(t, 1).reverse());
    y.store([6, 0, 0], scan(t, 2, |a, b| a + b).reverse().exclusive(zero));
    y.store([9, 0, 0], scan(t, 1, |a, b| min(a, b)));
    store(z, arange(5), sum(sum(cumsum(t, 2), 0), 0));
    store(counts, arange(45), cumsum(arange(45), 0));
    store(counts, 45 + arange(45), cumsum(arange(45), 0).reverse().exclusive(0));
    store(seen, arange(45), scan(arange(45) % 20 == 19, 0, |a, b| a | b));
}

fn padded_of<T: Number>()
where
    (T,): scans_of_block::Types,
{
    let dims = [3, 12, 5];
    let x = some::<T>(180);
    let along = |axis: usize, reverse: bool, exclusive: Option<T>, f: &dyn Fn(T, T) -> T| -> Vec<T> {
        let inner: usize = dims[axis + 1..].iter().product();
        let block = dims[axis] * inner;
        x.chunks(block).flat_map(|b| scanned(b, [dims[axis], inner], 0, reverse, exclusive, f)).collect()
    };
    let sum = |a: T, b: T| T::of(a.number() + b.number());
    let least = |a: T, b: T| if a.number() < b.number() { a } else { b };
    let across = along(2, false, None, &sum);
    let wanted = [
        along(0, false, None, &sum),
        along(1, true, None, &sum),
        along(2, true, Some(T::of(0.0)), &sum),
        along(1, false, None, &least),
    ]
    .concat();
    let of_rows: Vec<T> = (0..5).map(|j| T::of((0..36).map(|i| across[i * 5 + j].number()).sum())).collect();
    everywhere(
        <(T,) as scans_of_block::Types>::DESC,
        |rt, options| {
            let (mut y, mut z, mut counts, mut seen) =
                (vec![T::default(); 720], vec![T::default(); 5], vec![0u64; 90], vec![false; 45]);
            let call = scans_of_block::<T>(
                x.as_slice().as_slice_arg().strided(dims, [60, 5, 1]).expect("fits"),
                y.as_mut_slice().as_slice_mut_arg().strided([12, 12, 5], [60, 5, 1]).expect("fits"),
                &mut z,
                &mut counts,
                &mut seen,
            );
            rt.launch_with(rt.stream(), call, options).map(|()| (y, z, counts, seen))
        },
        |(y, z, counts, seen), title| {
            same(&y, &wanted, title);
            same(&z, &of_rows, title);
            let upto = |i: u64| i * (i + 1) / 2;
            let wanted: Vec<u64> = (0..45).map(upto).chain((0..45).map(|i| upto(44) - upto(i))).collect();
            assert_eq!(counts, wanted, "{title}");
            assert_eq!(seen, (0..45).map(|i| i >= 19).collect::<Vec<_>>(), "{title}");
        },
    );
}

#[test]
fn padding_is_in_no_scan() {
    padded_of::<f32>();
    padded_of::<i16>();
    padded_of::<u64>();
}

/// Reductions of tuples: Welford's mean and variance, and the place of the first greatest element, of one's own.
#[tile_kernel(tune(M = [16], N = [64], warps = [1, 4]), grid = [1], emulate = all)]
fn reductions_of_three<const M: usize, const N: usize>(
    x: View<f32, 2>,
    mean: &mut [f32],
    m2: &mut [f32],
    place: &mut [i32],
    best: &mut [f32],
) {
    let t = x.tile([0, 0], [M, N]);
    let one = full([M, N], 1.0);
    let merge = |(n0, mean0, m0), (n1, mean1, m1)| {
        let (n, delta) = (n0 + n1, mean1 - mean0);
        (n, mean0 + delta * (n1 / n), m0 + m1 + delta * delta * (n0 * (n1 / n)))
    };
    let (_, a, v) = reduce((one, t, zeros::<f32>([M, N])), 1, merge);
    store(mean, arange(M), a);
    store(m2, arange(M), v);
    let (n, a, v) = reduce((one, t, zeros::<f32>([M, N])), merge);
    store(mean, M, a);
    store(m2, M, v / n);
    let columns = arange(N).expand(0).broadcast([M, N]).to::<i32>();
    let (b, p) = reduce((t, columns), 1, |(x, i), (y, j)| {
        let takes = (y > x) | ((y == x) & (j < i));
        (where_(takes, y, x), where_(takes, j, i))
    });
    store(best, arange(M), b);
    store(place, arange(M), p);
}

#[test]
fn reductions_of_tuples() {
    let [m, n] = [16, 64];
    let x: Vec<f32> = (0..m * n).map(|i| ((i * 7919) % 61) as f32 / 4.0).collect();
    everywhere(
        reductions_of_three::DESCS[0],
        |rt, options| {
            let (mut mean, mut m2, mut place, mut best) =
                (vec![0.0f32; m + 1], vec![0.0f32; m + 1], vec![-1i32; m], vec![0.0f32; m]);
            let view = x.as_slice().as_slice_arg().strided([m, n], [n, 1]).expect("fits");
            let call = reductions_of_three(view, &mut mean, &mut m2, &mut place, &mut best);
            rt.launch_with(rt.stream(), call, options).map(|()| (mean, m2, place, best))
        },
        |(mean, m2, place, best), title| {
            let near = |found: f32, wanted: f64| {
                assert!((f64::from(found) - wanted).abs() <= 1e-4 * wanted.abs(), "{title}: {found} is not {wanted}");
            };
            let moments = |v: &[f32]| {
                let average = v.iter().map(|&x| f64::from(x)).sum::<f64>() / v.len() as f64;
                (average, v.iter().map(|&x| (f64::from(x) - average).powi(2)).sum::<f64>())
            };
            for (i, row) in x.chunks(n).enumerate() {
                let (average, squares) = moments(row);
                near(mean[i], average);
                near(m2[i], squares);
                let greatest = row.iter().copied().fold(f32::MIN, f32::max);
                assert_eq!(best[i], greatest, "{title}: row {i}");
                assert_eq!(row.iter().position(|&x| x == greatest), Some(place[i] as usize), "{title}: row {i}");
            }
            let (average, squares) = moments(&x);
            near(mean[m], average);
            near(m2[m], squares / x.len() as f64);
        },
    );
}

/// A sum over an array in one program: the sum before a block is carried along.
#[tile_kernel(tune(BLOCK = [128], warps = [4]), grid = [1])]
fn running_sums<const BLOCK: usize>(x: &[f32], y: &mut [f32]) {
    let mut carry = 0.0f32;
    for start in (0..x.len()).step_by(BLOCK) {
        let i = start + arange(BLOCK);
        let t = load(x, i);
        store(y, i, cumsum(t, 0).exclusive(carry));
        carry += sum(t);
    }
}

#[test]
fn sums_are_carried_along() {
    let x: Vec<f32> = (0..1000).map(|i| (i % 7) as f32).collect();
    let wanted = scanned(&x, [1, 1000], 1, false, Some(0.0), |a, b| a + b);
    everywhere(
        running_sums::DESCS[0],
        |rt, options| {
            let mut y = vec![0.0f32; 1000];
            rt.launch_with(rt.stream(), running_sums(&x, &mut y), options).map(|()| y)
        },
        |y, title| same(&y, &wanted, title),
    );
}

/// Sums of 16-bit floats are sums of f32, each of which is rounded once.
#[tile_kernel(types(T = [f16, bf16]), tune(warps = [1, 4]), grid = [1], emulate = all)]
fn sums_of_halves<T: Float>(x: &[T], first: T, y: &mut [T]) {
    let i = arange(1024);
    let t = load(x, i);
    store(y, i, cumsum(t, 0));
    store(y, 1024 + i, cumsum(t, 0).reverse().exclusive(first));
    store(y, 2048 + arange(4), sum(reshape(t, [4, 256]), 1));
    store(y, 2052, sum(t));
}

fn halves_of<T: Number>()
where
    (T,): sums_of_halves::Types,
{
    // Multiples of 1/64: sums of f32 are exact.
    let x: Vec<T> = (0..1024).map(|i| T::of(f64::from(i * 37 % 101) / 64.0)).collect();
    let sum = |part: &[T], first: f64| T::of(first + part.iter().map(|x| x.number()).sum::<f64>());
    let wanted: Vec<T> = (0..1024)
        .map(|i| sum(&x[..=i], 0.0))
        .chain((0..1024).map(|i| sum(&x[i + 1..], 0.5)))
        .chain(x.chunks(256).map(|part| sum(part, 0.0)))
        .chain([sum(&x, 0.0)])
        .collect();
    everywhere(
        <(T,) as sums_of_halves::Types>::DESC,
        |rt, options| {
            let mut y = vec![T::default(); 2053];
            rt.launch_with(rt.stream(), sums_of_halves::<T>(&x, T::of(0.5), &mut y), options).map(|()| y)
        },
        |y, title| same(&y, &wanted, title),
    );
}

#[test]
fn sums_of_halves_are_rounded_once() {
    halves_of::<f16>();
    halves_of::<bf16>();
}

/// A scan of a transposed matrix, column by column in one line: its order is not that of the lanes.
#[tile_kernel(tune(M = [4, 8], warps = [1, 2]), grid = [1], emulate = all)]
fn column_by_column<const M: usize>(x: View<u32, 2>, y: &mut [u32]) {
    let t = reshape(trans(x.tile([0, 0], [M, 8])), [8 * M]);
    store(y, arange(8 * M), cumsum(t, 0));
}

#[test]
fn lanes_need_not_follow_the_axis() {
    let x: Vec<u32> = (0..64u32).map(|i| i.wrapping_mul(2_654_435_761) >> 20).collect();
    everywhere(
        column_by_column::DESCS[0],
        |rt, options| {
            let mut y = vec![0u32; 64];
            let view = x.as_slice().as_slice_arg().strided([8, 8], [8, 1]).expect("fits");
            rt.launch_with(rt.stream(), column_by_column(view, &mut y), options).map(|()| y)
        },
        |y, title| {
            let m = if title.contains("M=4,") { 4 } else { 8 };
            let mut sum = 0u32;
            let wanted: Vec<u32> = (0..8 * m)
                .map(|i| {
                    sum += x[i % m * 8 + i / m];
                    sum
                })
                .collect();
            same(&y[..8 * m], &wanted, title);
        },
    );
}

/// Lines down a matrix whose rows several warps share: the warps of a line differ in the higher bits of their numbers.
#[tile_kernel(tune(M = [8], N = [256], warps = [4, 8]), grid = [1], emulate = all)]
fn down_wide_rows<const M: usize, const N: usize>(x: View<u32, 2>, mut y: ViewMut<u32, 3>) {
    let t = x.tile([0, 0], [M, N]);
    y.store([0, 0, 0], cumsum(t, 0).expand(0));
    y.store([1, 0, 0], cumsum(t, 0).reverse().exclusive(7).expand(0));
}

#[test]
fn warps_of_a_line_need_not_be_the_first_ones() {
    let [m, n] = [8, 256];
    let x: Vec<u32> = (0..(m * n) as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 16).collect();
    let wanted = [
        scanned(&x, [m, n], 0, false, None, u32::wrapping_add),
        scanned(&x, [m, n], 0, true, Some(7), u32::wrapping_add),
    ]
    .concat();
    everywhere(
        down_wide_rows::DESCS[0],
        |rt, options| {
            let mut y = vec![0u32; 2 * m * n];
            let call = down_wide_rows(
                x.as_slice().as_slice_arg().strided([m, n], [n, 1]).expect("fits"),
                y.as_mut_slice().as_slice_mut_arg().strided([2, m, n], [m * n, n, 1]).expect("fits"),
            );
            rt.launch_with(rt.stream(), call, options).map(|()| y)
        },
        |y, title| same(&y, &wanted, title),
    );
}
