//! Inline assembly: its meaning, of every type that it takes, of one result and of several.

use tilewright::{AsSliceMut, tile_kernel, tile_module};
use tilewright_core::{bf16, f16};
use tilewright_language_tests::everywhere::{Number, everywhere, same};

/// Operands that are broadcast to each other, and scalars.
#[tile_kernel(tune(N = [8, 12], warps = [1, 4]), grid = [1], emulate = all)]
unsafe fn broadcast_operands<const N: usize>(x: &[u32], n: u32, mut y: ViewMut<u32, 2>, one: &mut [u32]) {
    let (rows, columns) = (load(x, arange(16)).expand(1), load(x, 16 + arange(N)).expand(0));
    y.store([0, 0], asm("lop3.b32 {0}, {1}, {2}, {3}, 0x96;", (rows, columns, n), |(a, b, c)| a ^ b ^ c));
    store(one, 0, asm("add.u32 {0}, {1}, {2};", (n, 7u32), |(a, b)| a + b));
    // Arithmetic on indices, which has no layout.
    let i = asm("shl.b64 {0}, {1}, 1;", arange(N), |i| i << 1);
    store(one, 1 + i, i.to::<u32>());
}

#[test]
fn operands_are_broadcast() {
    let x: Vec<u32> = (0..32u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    everywhere(
        broadcast_operands::DESCS[0],
        |rt, options| {
            let n = if options.get_config().is_some_and(|c| c.contains("N=8,")) { 8 } else { 12 };
            let (mut y, mut one) = (vec![0; 16 * n], vec![0; 2 * n]);
            let view = y.as_mut_slice().as_slice_mut_arg().strided([16, n], [n, 1]).expect("fits");
            // SAFETY: the instructions and the closures compute the same.
            let call = unsafe { broadcast_operands(&x, 0x1234_5678, view, &mut one) };
            rt.launch_with(rt.stream(), call, options).map(|()| (y, one, n))
        },
        |(y, one, n), title| {
            let wanted: Vec<u32> = (0..16 * n).map(|i| x[i / n] ^ x[16 + i % n] ^ 0x1234_5678).collect();
            same(&y, &wanted, title);
            let wanted: Vec<u32> = (0..2 * n as u32).map(|i| if i % 2 == 1 { i - 1 } else { 0 }).collect();
            assert_eq!((one[0], &one[1..]), (0x1234_567f, &wanted[1..]), "{title}");
        },
    );
}

/// Of each type the greater and the lesser, and the first operand alone.
#[tile_module]
mod pairs {
    fn ordered<T: Num>(a: Tile<T>, b: Tile<T>) -> (Tile<T>, Tile<T>) {
        asm("max {0}, {2}, {3}; min {1}, {2}, {3};", (a, b), |(a, b)| (where_(a > b, a, b), where_(a > b, b, a)))
    }

    #[tile_kernel(
        types(T = [f32, f64, f16, bf16, i16, u16, i32, u32, i64, u64]),
        tune(N = [100], warps = [1, 4]),
        grid = [1],
        emulate = all,
    )]
    pub unsafe fn pairs<T: Num, const N: usize>(x: &[T], y: &[T], z: &mut [T]) {
        let i = arange(N);
        let (a, b) = (load(x, i), load(y, i));
        let (greater, lesser) = ordered(a, b);
        store(z, i, greater);
        store(z, N + i, lesser);
        let (_, first) = asm("mov {1}, {2}; add {0}, {2}, {3};", (a, b), |(a, b)| (a + b, a));
        store(z, 2 * N + i, first);
    }
}

fn pairs_of<T: Number + PartialOrd>()
where
    (T,): pairs::pairs::Types,
{
    let x: Vec<T> = (0..100).map(|i| T::of(f64::from(i * 37 % 101))).collect();
    let y: Vec<T> = (0..100).map(|i| T::of(f64::from(i * 53 % 97))).collect();
    let both = || x.iter().copied().zip(y.iter().copied());
    let greater = both().map(|(a, b)| if a > b { a } else { b });
    let wanted: Vec<T> = greater.chain(both().map(|(a, b)| if a > b { b } else { a })).chain(x.clone()).collect();
    everywhere(
        <(T,) as pairs::pairs::Types>::DESC,
        |rt, options| {
            let mut z = vec![T::default(); 300];
            // SAFETY: no text runs here.
            let call = unsafe { pairs::pairs::<T>(&x, &y, &mut z) };
            rt.launch_with(rt.stream(), call, options).map(|()| z)
        },
        |z, title| same(&z, &wanted, title),
    );
}

#[test]
fn results_of_every_type() {
    pairs_of::<f32>();
    pairs_of::<f64>();
    pairs_of::<f16>();
    pairs_of::<bf16>();
    pairs_of::<i16>();
    pairs_of::<u16>();
    pairs_of::<i32>();
    pairs_of::<u32>();
    pairs_of::<i64>();
    pairs_of::<u64>();
}

/// In the closure of a reduction and of another text, in a loop, and with values of the kernel in the closure.
#[tile_kernel(tune(N = [64, 256], warps = [1, 2]), grid = [1], emulate = all)]
unsafe fn nested<const N: usize>(x: &[i32], scale: i32, y: &mut [i32]) {
    let mut best = full([N], i32::MIN);
    for start in (0..x.len()).step_by(N) {
        let t = load(x, start + arange(N)).other(i32::MIN);
        best = asm("max.s32 {0}, {1}, {2};", (best, t), |(a, b)| maximum(a, b));
    }
    store(y, 0, reduce(best, 0, |a, b| asm("max.s32 {0}, {1}, {2};", (a, b), |(a, b)| maximum(a, b))));
    let twice = asm("mad.lo.s32 {0}, {1}, {2}, {1};", (best, scale), |(a, _)| {
        asm("mul.lo.s32 {0}, {1}, {2};", (a, scale), |(a, b)| a * b) + a
    });
    store(y, 1 + arange(N), twice);
}

#[test]
fn assembly_in_closures() {
    let x: Vec<i32> = (0..700).map(|i| i * 7919 % 1009 - 500).collect();
    everywhere(
        nested::DESCS[0],
        |rt, options| {
            let mut y = vec![0; 257];
            // SAFETY: the instructions and the closures compute the same.
            rt.launch_with(rt.stream(), unsafe { nested(&x, 3, &mut y) }, options).map(|()| y)
        },
        |y, title| {
            let n = if title.contains("N=64,") { 64 } else { 256 };
            let best = |i: usize| x.iter().skip(i).step_by(n).copied().max().expect("a number");
            assert_eq!(Some(y[0]), x.iter().copied().max(), "{title}");
            same(&y[1..][..n], &(0..n).map(|i| best(i).wrapping_mul(4)).collect::<Vec<_>>(), title);
        },
    );
}
