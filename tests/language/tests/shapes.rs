//! Operations that move elements, and operations that make them.

use tilewright::tile_kernel;
use tilewright_core::{AsSlice, AsSliceMut, f16};
use tilewright_language_tests::everywhere::everywhere;

/// The results of a block of three dimensions.
#[tile_kernel(
    types(T = [i16, bool]),
    tune(A = [4], B = [8], C = [2], warps = [1]),
    tune(A = [2], B = [16], C = [4], warps = [8]),
    tune(A = [3], B = [5], C = [2], warps = [2]),
    grid = [1],
    emulate = all,
)]
fn permuted_tiles<T: Element, const A: usize, const B: usize, const C: usize>(
    x: View<T, 3>,
    mut cba: ViewMut<T, 3>,
    mut bca: ViewMut<T, 3>,
    mut acb: ViewMut<T, 3>,
) {
    let t = x.tile([0, 0, 0], [A, B, C]);
    cba.store([0, 0, 0], t.permute([2, 1, 0]));
    bca.store([0, 0, 0], permute(t, [1, 2, 0]));
    acb.store([0, 0, 0], trans(t));
}

/// Rows of one shape in another, and a row and a column broadcast to a matrix.
#[tile_kernel(types(T = [i64, f16, u8]), tune(M = [8], N = [32], warps = [1, 4, 16]), grid = [1], emulate = all)]
fn reshaped<T: Num, const M: usize, const N: usize>(x: &[T], y: &mut [T], made: &mut [T], n: T) {
    let t = load(x, arange(M).expand(1) * N + arange(N).expand(0));
    store(y, arange(M * N), reshape(trans(t), [M * N]));
    store(y, M * N + arange(M * N), reshape(t, [N / 2, 2, M]).permute([2, 0, 1]).reshape([M * N]));
    let (row, column) = (load(x, arange(N)), load(x, arange(M) * N));
    let differences = broadcast(row.expand(0), [M, N]) - broadcast(expand(column, 1), [M, N]);
    store(y, 2 * M * N + arange(M * N), differences.reshape([M * N]));
    store(
        y,
        3 * M * N + arange(M * N),
        where_(row.expand(0) > column.expand(1), full([M, N], n), zeros::<T>([M, N])).reshape([M * N]),
    );
    store(made, arange(16), arange(5..21).to::<T>());
    store(made, 16 + arange(3), full([3], n));
    store(made, 19 + arange(3), zeros::<T>([3]));
}

/// The extents and strides of a view, and a loop whose variable is a constant.
#[tile_kernel(tune(K = [4], warps = [1]), grid = [2, 3, 1])]
fn extents_and_strides<const K: usize>(x: View<i64, 3>, y: &mut [i64]) {
    let own = (program_id(1) * num_programs(0) + program_id(0)) * 32;
    store(y, own, (x.dim(0) * 100 + x.dim(1) * 10 + x.dim(2)) as i64);
    store(y, own + 1, (x.stride(0) * 10000 + x.stride(1) * 100 + x.stride(2)) as i64);
    store(y, own + 2, (y.len() * 100 + num_programs(1) * 10 + num_programs(2)) as i64);
    store(y, own + 3, cdiv(y.len(), 50) as i64);
    for i in static_range(0..K) {
        store(y, own + 4 + i, x.tile([i, 0, i], [1, 4, 1]).reshape([4]).sum());
    }
}

fn numbers<T>(n: usize, of: impl Fn(usize) -> T) -> Vec<T> {
    (0..n).map(|i| of(i * 37 % 101)).collect()
}

macro_rules! turned_of { ($($t:ident $of:expr;)+) => { $(
    let desc = <($t,) as permuted_tiles::Types>::DESC;
    for config in 0..desc.configs.len() {
        let one = tilewright_core::KernelParts { configs: &desc.configs[config..config + 1], ..**desc };
        let [a, b, c] = ["A", "B", "C"].map(|name| one.configs[0].consts.iter().find(|c| c.0 == name).expect("an extent").1 as usize);
        let x: Vec<$t> = numbers(a * b * c, $of);
        // Dimensions of a result by those of x.
        let orders = [[2, 1, 0], [1, 2, 0], [0, 2, 1]];
        let view = |order: [usize; 3]| {
            let d = order.map(|o| [a, b, c][o]);
            (d, [d[1] * d[2], d[2], 1])
        };
        everywhere(
            &one,
            |rt, options| {
                let mut y = orders.map(|_| vec![<$t>::default(); a * b * c]);
                let [y0, y1, y2] = &mut y;
                macro_rules! out { ($y:ident $i:literal) => {{ let (d, s) = view(orders[$i]); $y.as_mut_slice().as_slice_mut_arg().strided(d, s).expect("fits") }} }
                let from = x.as_slice().as_slice_arg().strided([a, b, c], [b * c, c, 1]).expect("fits");
                rt.launch_with(rt.stream(), permuted_tiles::<$t>(from, out!(y0 0), out!(y1 1), out!(y2 2)), options).map(|()| y)
            },
            |y, title| {
                for (y, order) in y.iter().zip(orders) {
                    let (d, s) = view(order);
                    for i in 0..a * b * c {
                        let at = [i / (b * c), i / c % b, i % c];
                        let to: usize = (0..3).map(|k| at[order[k]] * s[k] as usize).sum();
                        assert!(y[to] == x[i], "{title}: element {at:?}, {order:?} of {d:?}");
                    }
                }
            },
        );
    }
)+ } }

#[test]
fn views_and_programs_say_what_they_are() {
    let x: Vec<i64> = (0..200).map(|i| i * i % 47).collect();
    everywhere(
        extents_and_strides::DESCS[0],
        |rt, options| {
            let mut y = vec![-1i64; 192];
            let view = x.as_slice().as_slice_arg().strided([5, 3, 4], [35, 9, 2]).expect("fits");
            rt.launch_with(rt.stream(), extents_and_strides(view, &mut y), options).map(|()| y)
        },
        |y, title| {
            for own in y.chunks(32) {
                assert_eq!(own[..4], [534, 35 * 10000 + 902, 192 * 100 + 31, 4], "{title}");
                // Of the second dimension there are three, and the fourth counts as 0.
                let sums: Vec<i64> = (0..4).map(|i| (0..3).map(|j| x[i * 35 + j * 9 + i * 2]).sum()).collect();
                assert_eq!(own[4..8], sums, "{title}");
                assert!(own[8..].iter().all(|&v| v == -1), "{title}");
            }
        },
    );
}

#[test]
fn dimensions_change_places() {
    turned_of! {
        i16 |i| i as i16 - 50;
        bool |i| i % 3 == 0;
    }
}

macro_rules! reshaped_of { ($($t:ident $of:expr;)+) => { $({
    const M: usize = 8;
    const N: usize = 32;
    let of = $of;
    let x: Vec<$t> = numbers(M * N, of);
    let transposed = (0..M * N).map(|i| x[i % M * N + i / M]);
    // Of [N / 2, 2, M] the last dimension comes first.
    let moved = (0..M * N).map(|i| x[i % N * M + i / N]);
    let apart = (0..M * N).map(|i| { let (a, b) = (x[i % N], x[i / N * N]); reshaped_of!(@$t a - b) });
    let chosen = (0..M * N).map(|i| if x[i % N] > x[i / N * N] { of(9) } else { of(0) });
    let wanted: Vec<$t> = transposed.chain(moved).chain(apart).chain(chosen).collect();
    let values: Vec<$t> = (5..21).map(of).chain([of(9); 3]).chain([of(0); 3]).collect();
    everywhere(
        <($t,) as reshaped::Types>::DESC,
        |rt, options| {
            let (mut y, mut made) = (vec![of(1); 4 * M * N], vec![of(1); 22]);
            rt.launch_with(rt.stream(), reshaped::<$t>(&x, &mut y, &mut made, of(9)), options).map(|()| (y, made))
        },
        |(y, made), title| {
            assert_eq!(y, wanted, "{title}");
            assert_eq!(made, values, "{title}");
        },
    );
})+ };
    (@u8 $a:ident - $b:ident) => { $a.wrapping_sub($b) };
    (@$t:ident $a:ident - $b:ident) => { $a - $b };
}

#[test]
fn shapes_change() {
    reshaped_of! {
        i64 |i: usize| i as i64;
        f16 |i: usize| f16::from_f32(i as f32);
        u8 |i: usize| i as u8;
    }
}

/// Index tiles of three dimensions are permuted by both 3-cycles. Elements are loaded from these indices, and stored to
/// them.
#[tile_kernel(tune(A = [4], B = [4, 8], C = [4], warps = [1, 2]), grid = [1], emulate = all)]
fn turned_indices<const A: usize, const B: usize, const C: usize>(x: &[i32], y: &mut [i32], z: &mut [i32]) {
    let (a, b, c) = (arange(A).expand(1).expand(2), arange(B).expand(0).expand(2), arange(C).expand(0).expand(0));
    let at = (a * B + b) * C + c;
    let n = A * B * C;
    let (bca, cab) = (reshape(arange(n), [B, C, A]), reshape(arange(n), [C, A, B]));
    store(y, bca, load(x, at.permute([1, 2, 0])));
    store(y, n + cab, load(x, at.permute([2, 0, 1])));
    store(z, at.permute([1, 2, 0]), load(x, bca));
    store(z, n + at.permute([2, 0, 1]), load(x, cab));
}

#[test]
fn indices_change_places() {
    let desc = turned_indices::DESCS[0];
    let x: Vec<i32> = numbers(128, |i| i as i32 - 50);
    for config in 0..desc.configs.len() {
        let one = tilewright_core::KernelParts { configs: &desc.configs[config..config + 1], ..**desc };
        let [a, b, c] = ["A", "B", "C"]
            .map(|name| one.configs[0].consts.iter().find(|c| c.0 == name).expect("an extent").1 as usize);
        let n = a * b * c;
        // The index that element `i` of a permuted tile has in the tile itself.
        let bca = |i: usize| (i % a * b + i / (c * a)) * c + i / a % c;
        let cab = |i: usize| (i / b % a * b + i % b) * c + i / (a * b);
        let loaded: Vec<i32> = (0..n).map(|i| x[bca(i)]).chain((0..n).map(|i| x[cab(i)])).collect();
        let mut stored = vec![0; 2 * n];
        (0..n).for_each(|i| (stored[bca(i)], stored[n + cab(i)]) = (x[i], x[i]));
        everywhere(
            &one,
            |rt, options| {
                let (mut y, mut z) = (vec![0i32; 2 * n], vec![0i32; 2 * n]);
                rt.launch_with(rt.stream(), turned_indices(&x, &mut y, &mut z), options).map(|()| (y, z))
            },
            |found, title| assert_eq!(found, (loaded.clone(), stored.clone()), "{title}"),
        );
    }
}
