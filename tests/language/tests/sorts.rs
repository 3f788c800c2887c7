//! Sorting along an axis, with and without payloads, and the greatest elements.

use tilewright::tile_kernel;
use tilewright_core::{AsSlice, AsSliceMut, bf16, f16};
use tilewright_language_tests::everywhere::{Number, everywhere, same};

#[tile_kernel(
    types(T = [f32, f64, f16, bf16, i8, u16, i32, u64]),
    tune(M = [8], N = [32], warps = [2]),
    grid = [1],
)]
fn sorted<T: Num, const M: usize, const N: usize>(x: View<T, 2>, mut y: ViewMut<T, 2>, mut top: ViewMut<T, 2>) {
    let t = x.tile([0, 0], [M, N]);
    y.store([0, 0], sort(t, 1));
    y.store([M, 0], sort(t, 1).descending());
    y.store([2 * M, 0], sort(t, 0));
    top.store([0, 0], topk(t, 4, 1));
    top.store([M, 0], trans(topk(trans(t), 1, 0)).broadcast([M, 4]));
}

/// In ascending order; NaN comes last.
fn ordered<T: Number>(mut line: Vec<T>) -> Vec<T> {
    line.sort_by(|a, b| {
        let (a, b) = (a.number(), b.number());
        a.is_nan().cmp(&b.is_nan()).then(a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal))
    });
    line
}

fn sorted_of<T: Number>(x: Vec<T>)
where
    (T,): sorted::Types,
{
    let [m, n] = [8, 32];
    let rows: Vec<Vec<T>> = x.chunks(n).map(|row| ordered(row.to_vec())).collect();
    let reversed: Vec<Vec<T>> = rows.iter().map(|r| r.iter().rev().copied().collect()).collect();
    let columns: Vec<Vec<T>> = (0..n).map(|j| ordered((0..m).map(|i| x[i * n + j]).collect())).collect();
    let down: Vec<T> = (0..m * n).map(|i| columns[i % n][i / n]).collect();
    let wanted = [rows.concat(), reversed.concat(), down].concat();
    let greatest = reversed.iter().flat_map(|r| [r[0]; 4]);
    let top: Vec<T> = reversed.iter().flat_map(|r| r[..4].to_vec()).chain(greatest).collect();
    everywhere(
        <(T,) as sorted::Types>::DESC,
        |rt, options| {
            let (mut y, mut t) = (vec![T::default(); 3 * m * n], vec![T::default(); 2 * m * 4]);
            let call = sorted::<T>(
                x.as_slice().as_slice_arg().strided([m, n], [n, 1]).expect("fits"),
                y.as_mut_slice().as_slice_mut_arg().strided([3 * m, n], [n, 1]).expect("fits"),
                t.as_mut_slice().as_slice_mut_arg().strided([2 * m, 4], [4, 1]).expect("fits"),
            );
            rt.launch_with(rt.stream(), call, options).map(|()| (y, t))
        },
        |(y, t), title| {
            same(&y, &wanted, title);
            same(&t, &top, title);
        },
    );
}

fn numbers<T: Number>() -> Vec<T> {
    (0..256u32)
        .map(|i| {
            T::of(f64::from(i.wrapping_mul(2_654_435_761) >> 25) - if T::of(-1.0).number() < 0.0 { 64.0 } else { 0.0 })
        })
        .collect()
}

#[test]
fn lines_are_sorted() {
    sorted_of::<f32>(numbers());
    sorted_of::<f64>(numbers());
    sorted_of::<f16>(numbers());
    sorted_of::<bf16>(numbers());
    sorted_of::<i8>(numbers());
    sorted_of::<i32>(numbers());
    sorted_of::<u16>(numbers());
    sorted_of::<u64>(numbers());
}

#[test]
fn nan_is_last() {
    let with = |i: usize| match i % 7 {
        0 => f32::NAN,
        1 => f32::NEG_INFINITY,
        2 => f32::INFINITY,
        3 => -f32::NAN,
        4 => -(i as f32),
        _ => i as f32 / 3.0,
    };
    sorted_of::<f32>((0..256).map(with).collect());
    sorted_of::<f16>((0..256).map(|i| f16::from_f64(f64::from(with(i)))).collect());
}

/// Numbers of any warps, with the place of each element, and of more elements than threads.
#[tile_kernel(tune(N = [64, 1024], warps = [1, 4, 8]), grid = [1], emulate = all)]
fn argsort<const N: usize>(
    x: &[f32],
    y: &mut [f32],
    place: &mut [i32],
    weights: &mut [u64],
    top: &mut [f32],
    top_place: &mut [i32],
) {
    let i = arange(N);
    let (s, p, w) = sort((load(x, i), i.to::<i32>(), i * i), 0);
    store(y, i, s);
    store(place, i, p);
    store(weights, i, w);
    let (t, p) = topk((load(x, i), i.to::<i32>()), 16, 0);
    store(top, arange(16), t);
    store(top_place, arange(16), p);
}

#[test]
fn payloads_go_along() {
    // No number is there twice: the order of equal keys is open.
    let x: Vec<f32> = (0..1024u32).map(|i| (i * 617 % 1031) as f32 - 500.0).collect();
    everywhere(
        argsort::DESCS[0],
        |rt, options| {
            let (mut y, mut place, mut weights) = (vec![0.0f32; 1024], vec![-1i32; 1024], vec![0u64; 1024]);
            let (mut top, mut top_place) = (vec![0.0f32; 16], vec![-1i32; 16]);
            let call = argsort(&x, &mut y, &mut place, &mut weights, &mut top, &mut top_place);
            rt.launch_with(rt.stream(), call, options).map(|()| (y, place, weights, top, top_place))
        },
        |(y, place, weights, top, top_place), title| {
            let n = if title.contains("N=64") { 64 } else { 1024 };
            let mut wanted: Vec<usize> = (0..n).collect();
            wanted.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
            for (k, &i) in wanted.iter().enumerate() {
                assert_eq!((y[k], place[k] as usize, weights[k]), (x[i], i, (i * i) as u64), "{title}: element {k}");
            }
            for (k, &i) in wanted.iter().rev().take(16).enumerate() {
                assert_eq!((top[k], top_place[k] as usize), (x[i], i), "{title}: the greatest, {k}");
            }
        },
    );
}

/// All threads have the same one of equal keys, and its payloads belong together.
#[tile_kernel(tune(K = [1, 8], warps = [1, 4]), grid = [1], emulate = all)]
fn equal<const K: usize>(x: &[f32], place: &mut [i32], word: &mut [u64], one: &mut [i32]) {
    let i = arange(512);
    let (_, p, w) = topk((load(x, i), i.to::<i32>(), i), K, 0);
    store(place, arange(K), p);
    store(word, arange(K), w);
    store(one, arange(256), full([256], max(p)));
}

#[test]
fn equal_keys_go_with_their_payloads() {
    let x = vec![1.5f32; 512];
    everywhere(
        equal::DESCS[0],
        |rt, options| {
            let (mut place, mut word, mut one) = (vec![-1i32; 8], vec![0u64; 8], vec![-1i32; 256]);
            let call = equal(&x, &mut place, &mut word, &mut one);
            rt.launch_with(rt.stream(), call, options).map(|()| (place, word, one))
        },
        |(place, word, one), title| {
            let k = if title.contains("K=1,") { 1 } else { 8 };
            let greatest = place[..k].iter().max().copied();
            assert!(one.iter().all(|&v| Some(v) == greatest), "{title}: {one:?}");
            for (p, w) in place[..k].iter().zip(&word) {
                assert_eq!(*p as u64, *w, "{title}");
            }
            let mut places = place[..k].to_vec();
            places.sort_unstable();
            places.dedup();
            assert!(places.len() == k && places[0] >= 0, "{title}: {place:?}");
        },
    );
}
