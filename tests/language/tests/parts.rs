//! Tiles that are joined and split, parts of tiles, elements at other places, tiles of rank 4 and 5.

use tilewright::tile_kernel;
use tilewright_core::{AsSlice, AsSliceMut, f16};
use tilewright_language_tests::everywhere::{Number, everywhere, same};

/// Results of 16 x 32 elements each, one below the other.
#[tile_kernel(types(T = [f32, i8, u64, f16]), tune(warps = [1, 4]), grid = [1], emulate = all)]
fn joined<T: Num>(x: View<T, 2>, y: View<T, 2>, mut z: ViewMut<T, 2>) {
    let (a, b) = (x.tile([0, 0], [16, 16]), y.tile([0, 0], [16, 16]));
    z.store([0, 0], interleave(a, b));
    z.store([16, 0], cat(a, b, 1));
    z.store([32, 0], reshape(cat(a, b, 0), [16, 32]));
    let (even, odd) = split(join(a, b));
    z.store([48, 0], cat(odd, even, 1));
    // A part of each: 4 columns of the one, 4 rows of the other.
    z.store([64, 0], cat(insert(a, 1, 4, slice(b, 1, 8..12)), insert(b, 0, 12, slice(a, 0, 0..4)), 1));
    z.store([80, 0], cat(flip(a, 0), flip(b, 1), 1));
    // A value of one index, and of an index that has no element.
    let rows = (arange(16) * 5 % 18).expand(1).broadcast([16, 16]);
    z.store([96, 0], cat(gather(a, rows, 0), gather(b, trans(rows).to::<i32>() - 1, 1), 1));
    // Halves of a half.
    let (low, high) = (slice(a, 1, 0..8), slice(a, 1, 8..16));
    let eight = cat(slice(low, 0, 8..16), slice(high, 0, 0..8), 0);
    z.store([112, 0], cat(cat(eight, low, 1), cat(high, eight, 1), 1));
}

fn joined_of<T: Number>()
where
    (T,): joined::Types,
{
    let x: Vec<T> = (0..256).map(|i| T::of((i % 97) as f64)).collect();
    let y: Vec<T> = (0..256).map(|i| T::of((i * 31 % 89) as f64)).collect();
    let (a, b) = (|i: usize, j: usize| x[i * 16 + j], |i: usize, j: usize| y[i * 16 + j]);
    let beside = |i: usize, j: usize, p: &dyn Fn(usize, usize) -> T, q: &dyn Fn(usize, usize) -> T| {
        if j < 16 { p(i, j) } else { q(i, j - 16) }
    };
    let zero = T::of(0.0);
    let row = |i: usize| i * 5 % 18;
    let eight = |i: usize, j: usize| if i < 8 { a(i + 8, j) } else { a(i - 8, j + 8) };
    let of = |part: usize, i: usize, j: usize| match part {
        0 => {
            if j.is_multiple_of(2) {
                a(i, j / 2)
            } else {
                b(i, j / 2)
            }
        }
        1 => beside(i, j, &a, &b),
        2 => {
            let flat = i * 32 + j;
            if flat < 256 { x[flat] } else { y[flat - 256] }
        }
        3 => beside(i, j, &b, &a),
        4 => beside(i, j, &|i, j| if (4..8).contains(&j) { b(i, j + 4) } else { a(i, j) }, &|i, j| {
            if i >= 12 { a(i - 12, j) } else { b(i, j) }
        }),
        5 => beside(i, j, &|i, j| a(15 - i, j), &|i, j| b(i, 15 - j)),
        6 => beside(i, j, &|i, j| if row(i) < 16 { a(row(i), j) } else { zero }, &|i, j| {
            if (1..17).contains(&row(j)) { b(i, row(j) - 1) } else { zero }
        }),
        _ => match j / 8 {
            0 => eight(i, j),
            1 => a(i, j - 8),
            2 => a(i, j - 8),
            _ => eight(i, j - 24),
        },
    };
    let wanted: Vec<T> = (0..8 * 512).map(|k| of(k / 512, k / 32 % 16, k % 32)).collect();
    everywhere(
        <(T,) as joined::Types>::DESC,
        |rt, options| {
            let mut z = vec![T::default(); 8 * 512];
            let call = joined::<T>(
                x.as_slice().as_slice_arg().strided([16, 16], [16, 1]).expect("fits"),
                y.as_slice().as_slice_arg().strided([16, 16], [16, 1]).expect("fits"),
                z.as_mut_slice().as_slice_mut_arg().strided([128, 32], [32, 1]).expect("fits"),
            );
            rt.launch_with(rt.stream(), call, options).map(|()| z)
        },
        |z, title| same(&z, &wanted, title),
    );
}

#[test]
fn tiles_are_joined_and_parted() {
    joined_of::<f32>();
    joined_of::<i8>();
    joined_of::<u64>();
    joined_of::<f16>();
}

/// A bitonic merge by the bits of the index, as public kernels spell it: rank 5, both halves of each pair.
#[tile_kernel(tune(warps = [1, 2]), grid = [1], emulate = all)]
fn ranks(x: &[f32], y: &mut [f32], z: &mut [f32]) {
    let i = arange(256);
    let t = reshape(load(x, i), [2, 4, 2, 4, 4]);
    let permuted = permute(t, [4, 2, 0, 3, 1]);
    store(y, i, reshape(permuted, [256]));
    let partner = flip(t, 2);
    let lower = arange(2).expand(0).expand(0).expand(3).expand(4) == 0;
    let merged = where_(lower.broadcast([2, 4, 2, 4, 4]), minimum(t, partner), maximum(t, partner));
    store(z, i, reshape(merged, [256]));
    store(z, 256 + arange(8), reshape(sum(sum(sum(merged, 4), 3), 2), [8]));
}

#[test]
fn tiles_of_rank_five() {
    let x: Vec<f32> = (0..256).map(|i| (i * 167 % 256) as f32).collect();
    let at = |[a, b, c, d, e]: [usize; 5]| (((a * 4 + b) * 2 + c) * 4 + d) * 4 + e;
    let mut permuted = vec![];
    for (e, c, a) in (0..4).flat_map(|e| (0..2).flat_map(move |c| (0..2).map(move |a| (e, c, a)))) {
        permuted.extend((0..4).flat_map(|d| (0..4).map(move |b| [a, b, c, d, e])).map(|i| x[at(i)]));
    }
    let merged: Vec<f32> =
        (0..256).map(|i| if i & 16 == 0 { x[i].min(x[i | 16]) } else { x[i].max(x[i & !16]) }).collect();
    let sums: Vec<f32> = merged.chunks(32).map(|c| c.iter().sum()).collect();
    everywhere(
        ranks::DESCS[0],
        |rt, options| {
            let (mut y, mut z) = (vec![0.0f32; 256], vec![0.0f32; 264]);
            rt.launch_with(rt.stream(), ranks(&x, &mut y, &mut z), options).map(|()| (y, z))
        },
        |(y, z), title| {
            same(&y, &permuted, title);
            same(&z, &[merged.clone(), sums.clone()].concat(), title);
        },
    );
}

/// More indices than elements along the last axes, and small parts of a tile whose parts are in other threads.
#[tile_kernel(tune(warps = [1, 4]), grid = [1], emulate = all)]
fn longer(x: View<f32, 2>, mut y: ViewMut<f32, 2>, mut z: ViewMut<f32, 3>, w: &mut [f32]) {
    let t = x.tile([0, 0], [4, 8]);
    y.store([0, 0], gather(t, (arange(32) * 3 % 9).expand(0).broadcast([4, 32]), 1));
    let i = (arange(16) / 4).expand(0).expand(2).broadcast([2, 16, 4]);
    z.store([0, 0, 0], gather(t.reshape([2, 4, 4]), i, 1));
    store(w, arange(2), slice(slice(t, 0, 3..4).reshape([8]), 0, 4..6));
    store(w, 2 + arange(4), slice(t, 1, 6..7).reshape([4]));
}

#[test]
fn more_indices_than_elements() {
    let x: Vec<f32> = (0..32).map(|i| i as f32).collect();
    let across: Vec<f32> =
        (0..128).map(|k| (k / 32, k % 32 * 3 % 9)).map(|(i, j)| if j < 8 { x[i * 8 + j] } else { 0.0 }).collect();
    let middle: Vec<f32> = (0..128).map(|k| x[k / 64 * 16 + k / 4 % 16 / 4 * 4 + k % 4]).collect();
    everywhere(
        longer::DESCS[0],
        |rt, options| {
            let (mut y, mut z, mut w) = (vec![-1.0f32; 128], vec![-1.0f32; 128], vec![-1.0f32; 6]);
            let call = longer(
                x.as_slice().as_slice_arg().strided([4, 8], [8, 1]).expect("fits"),
                y.as_mut_slice().as_slice_mut_arg().strided([4, 32], [32, 1]).expect("fits"),
                z.as_mut_slice().as_slice_mut_arg().strided([2, 16, 4], [64, 4, 1]).expect("fits"),
                &mut w,
            );
            rt.launch_with(rt.stream(), call, options).map(|()| (y, z, w))
        },
        |(y, z, w), title| {
            same(&y, &across, title);
            same(&z, &middle, title);
            same(&w, &[28.0, 29.0, 6.0, 14.0, 22.0, 30.0], title);
        },
    );
}

/// Rows of a table by its numbers, of extents that are not powers of two, and more indices than elements.
#[tile_kernel(types(I = [i8, u16, i64]), tune(warps = [4]), grid = [1])]
fn looked_up<I: Int>(table: View<f32, 2>, index: &[I], mut y: ViewMut<f32, 2>) {
    let t = table.tile([0, 0], [7, 12]);
    let i = load(index, arange(40)).expand(1).broadcast([40, 12]);
    y.store([0, 0], gather(t, i, 0));
}

fn looked_up_of<I: Number>()
where
    (I,): looked_up::Types,
{
    let table: Vec<f32> = (0..84).map(|i| i as f32 / 2.0).collect();
    let index: Vec<I> = (0..40).map(|i| I::of((i * 3 % 9) as f64)).collect();
    let wanted: Vec<f32> = (0..480)
        .map(|k| (index[k / 12].number() as usize, k % 12))
        .map(|(i, j)| if i < 7 { table[i * 12 + j] } else { 0.0 })
        .collect();
    everywhere(
        <(I,) as looked_up::Types>::DESC,
        |rt, options| {
            let mut y = vec![1.0f32; 480];
            let call = looked_up::<I>(
                table.as_slice().as_slice_arg().strided([7, 12], [12, 1]).expect("fits"),
                &index,
                y.as_mut_slice().as_slice_mut_arg().strided([40, 12], [12, 1]).expect("fits"),
            );
            rt.launch_with(rt.stream(), call, options).map(|()| y)
        },
        |y, title| same(&y, &wanted, title),
    );
}

#[test]
fn elements_by_their_places() {
    looked_up_of::<i8>();
    looked_up_of::<u16>();
    looked_up_of::<i64>();
}

/// Indices of 64 bits, of which the lower 32 have an element and the others do not: by shuffles and by shared memory.
#[tile_kernel(types(I = [i64, u64]), tune(N = [32, 512], warps = [1, 4]), grid = [1], emulate = all)]
fn gathered_by_longs<I: Int, const N: usize>(x: &[f32], at: &[I], y: &mut [f32]) {
    let i = arange(N);
    store(y, i, gather(load(x, i), load(at, i), 0));
}

#[test]
fn every_bit_of_an_index_counts() {
    let x: Vec<f32> = (0..512).map(|i| i as f32 + 1.0).collect();
    macro_rules! check { ($($t:ident $far:expr;)+) => { $(
        let far: [$t; 3] = $far;
        let at: Vec<$t> = (0..512usize).map(|i| (i * 7 % 32) as $t + if i % 2 == 0 { 0 } else { far[i % 3] }).collect();
        everywhere(
            <($t,) as gathered_by_longs::Types>::DESC,
            |rt, options| {
                let mut y = vec![-1.0f32; 512];
                rt.launch_with(rt.stream(), gathered_by_longs::<$t>(&x, &at, &mut y), options).map(|()| y)
            },
            |y, title| {
                let n = if title.contains("N=32,") { 32 } else { 512 };
                let wanted: Vec<f32> = (0..n).map(|i| if i % 2 == 0 { x[i * 7 % 32] } else { 0.0 }).collect();
                same(&y[..n], &wanted, title);
            },
        );
    )+ } }
    check! { i64 [1 << 32, -(1 << 32), i64::MIN]; u64 [1 << 32, 1 << 40, 1 << 63]; }
}
