//! Loops laid out several times a round, on the emulated SM against the CPU, where they are not.

use tilewright::tile_kernel;
use tilewright::{Error, LaunchOptions, Runtime};
use tilewright_core::{AsSlice, AsSliceMut, KernelDesc, f16};
use tilewright_language_tests::run::backends;

/// The result of a loop depends on the order of its iterations. WAY: 1 has `continue`, 2 `break`, 3 both, 4 `return`.
#[tile_kernel(types(T = [u64, i32, u8]), tune(U = [2, 3, 4], WAY = [0, 1, 2, 3, 4], warps = [1]), grid = [1], emulate = all)]
fn counted<T: Int, const U: usize, const WAY: usize>(y: &mut [u64], lo: T, hi: T, step: T, stop: u64) {
    let mut acc = arange(32);
    let mut rounds = 0u64;
    for i in range(lo, hi, step).unroll(U) {
        let i = i.to::<u64>();
        if WAY == 1 || WAY == 3 {
            if i % 3 == 1 {
                acc = acc + 7;
                continue;
            }
        }
        if WAY == 2 || WAY == 3 {
            if rounds == stop {
                acc = acc * 5;
                break;
            }
        }
        if WAY == 4 {
            if rounds == stop {
                store(y, arange(32), acc + 1);
                return;
            }
        }
        acc = acc * 3 + i;
        rounds += 1;
    }
    store(y, arange(32), acc * 1000 + rounds);
}

/// Trip counts that are constants.
#[tile_kernel(
    tune(U = [3], LO = [2], HI = [2, 3, 6, 8, 11, 14], STEP = [2], WAY = [0, 1, 2], warps = [1]),
    grid = [1],
    emulate = all,
)]
fn constant<const U: usize, const LO: usize, const HI: usize, const STEP: usize, const WAY: usize>(
    y: &mut [u64],
    stop: u64,
) {
    let mut acc = arange(32);
    for i in range(LO, HI, STEP).unroll(U) {
        if WAY > 0 {
            if i == stop {
                if WAY == 1 {
                    continue;
                }
                break;
            }
        }
        acc = acc * 3 + i;
    }
    store(y, arange(32), acc);
}

/// Elements that other lanes wrote in the iteration before; sums across warps; loops in loops, both laid out several
/// times.
#[tile_kernel(tune(U = [2, 3], warps = [1, 4]), grid = [1], emulate = all)]
fn exchanged<const U: usize>(x: &[u32], y: &mut [u32], n: usize) {
    for i in range(0, n, 1).unroll(U) {
        let at = i + arange(256);
        let next = load(y, at + 1);
        store(y, at, next * 3 + sum(next + load(x, at)));
        for j in range(i, n, 2).unroll(2) {
            if j > i + 4 {
                break;
            }
            let v = load(y, 256 - 1 - arange(256));
            if sum(v) % 2 == 0 {
                continue;
            }
            store(y, j + arange(256), v + 1);
        }
    }
}

/// One index for loads and stores, in the next iteration of other lanes' elements.
#[tile_kernel(tune(U = [2, 4], warps = [1, 4]), grid = [1], emulate = all)]
fn passed_on<const U: usize>(y: &mut [u32], n: usize) {
    for i in range(0, n, 1).unroll(U) {
        let at = i + arange(256);
        store(y, at, load(y, at) * 3 + 1);
    }
}

/// With copies ahead, by threads of the program and by a producer of its own.
#[tile_kernel(
    tune(U = [2, 3], BM = [32], BN = [32], BK = [16], warps = [4], stages = [3], arch = [80]),
    tune(U = [2, 3], BM = [64], BN = [64], BK = [64], warps = [4], arch = [90]),
    grid = [2],
    emulate = all,
)]
fn product<const U: usize, const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f32, 2>,
) {
    let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
    for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)).unroll(2).flatten() {
        let (i, j) = swizzle2d(t, tiles, 2);
        let mut acc = zeros::<f32>([BM, BN]);
        for at in range(0, a.dim(1), BK).unroll(U) {
            acc = dot(a.tile([i * BM, at], [BM, BK]), b.tile([at, j * BN], [BK, BN]), acc);
        }
        c.store([i * BM, j * BN], acc);
    }
}

fn check<T: PartialEq + std::fmt::Debug>(
    desc: &KernelDesc,
    what: &str,
    run: impl Fn(&Runtime, &LaunchOptions) -> Result<Vec<T>, Error>,
) {
    for config in desc.configs {
        let options = LaunchOptions::new().config(config.id);
        let wanted = run(&Runtime::cpu(), &options).expect("the CPU runs it");
        let found = run(&Runtime::emulator(11), &options).unwrap_or_else(|e| panic!("{} {what}: {e}", config.id));
        assert!(found == wanted, "{} {what}: {found:?}, not {wanted:?}", config.id);
    }
}

macro_rules! ranges {
    ($t:ty, $ranges:expr) => {
        for (lo, hi, step) in $ranges {
            for stop in [0, 1, 2, 3, 100] {
                check(<($t,) as counted::Types>::DESC, &format!("{lo} {hi} {step} {stop}"), |rt, options| {
                    let mut y = vec![1u64; 32];
                    rt.launch_with(rt.stream(), counted::<$t>(&mut y, lo, hi, step, stop), options).map(|()| y)
                });
            }
        }
    };
}

#[test]
fn any_trip_count() {
    // Of 0 to 2n + 1 iterations for every n, whole and cut off.
    ranges!(u64, (0..=9).flat_map(|n| [(0, n, 1), (5, 5 + 3 * n, 3), (7, 9 + 3 * n, 3)]));
    ranges!(u64, [(9, 4, 1), (0, u64::MAX - 1, u64::MAX / 5), (u64::MAX - 8, u64::MAX, 2)]);
    // Three steps are more than all numbers.
    ranges!(u64, [(0, u64::MAX - 1, u64::MAX / 2)]);
    ranges!(i32, (0..=9).map(|n| (-4, n - 4, 1)));
    ranges!(i32, [(3, -3, 2), (i32::MIN, 1 << 30, 1 << 30), (-100, 100, 77)]);
    ranges!(u8, [(245, 255, 5), (0, 250, 125), (3, 200, 50)]);
}

#[test]
fn constant_trip_counts() {
    for stop in [0, 2, 4, 6, 12] {
        check(constant::DESCS[0], &format!("{stop}"), |rt, options| {
            let mut y = vec![1u64; 32];
            rt.launch_with(rt.stream(), constant(&mut y, stop), options).map(|()| y)
        });
    }
}

#[test]
fn order_of_accesses() {
    for n in 0..=7 {
        check(exchanged::DESCS[0], &format!("{n}"), |rt, options| {
            let x: Vec<u32> = (0..300).map(|i| i * 77 % 31).collect();
            let mut y: Vec<u32> = (0..300).map(|i| i * 55 % 37).collect();
            rt.launch_with(rt.stream(), exchanged(&x, &mut y, n), options).map(|()| y)
        });
        check(passed_on::DESCS[0], &format!("{n}"), |rt, options| {
            let mut y: Vec<u32> = (0..300).collect();
            rt.launch_with(rt.stream(), passed_on(&mut y, n), options).map(|()| y)
        });
    }
}

#[test]
fn copies_ahead() {
    for k in [0, 8, 16, 24, 40, 64, 112, 128, 136, 192, 328] {
        for (m, n) in [(64, 64), (136, 200)] {
            check(product::DESCS[0], &format!("{m} {n} {k}"), |rt, options| {
                // Small integers: sums are exact in any order.
                let numbers = |n: usize, by: usize, of: usize| {
                    (0..n.max(1)).map(|i| f16::from_f32((i * by % of) as f32 - 5.0)).collect::<Vec<_>>()
                };
                let (a, b, mut c) = (numbers(m * k, 7, 11), numbers(k * n, 5, 9), vec![9.0f32; m * n]);
                let call = product(
                    a.as_slice().as_slice_arg().strided([m, k], [k.max(1), 1]).expect("fits"),
                    b.as_slice().as_slice_arg().strided([k, n], [n, 1]).expect("fits"),
                    c.as_mut_slice().as_slice_mut_arg().strided([m, n], [n, 1]).expect("fits"),
                );
                match rt.launch_with(rt.stream(), call, options) {
                    // Tensor maps take no matrix without columns.
                    Err(Error::CannotLaunch { .. }) if k == 0 => Ok(vec![0.0; m * n]),
                    r => r.map(|()| c),
                }
            });
        }
    }
}

/// An iteration loads with the same index as the one before has stored with, and other elements.
#[tile_kernel(tune(warps = [2]), grid = [1])]
fn counts_around(x: &mut [u32], n: usize) {
    let i = arange(64);
    for k in range(0, n, 1).unroll(4) {
        let at = (i + k * 16) % 64;
        store(x, at, load(x, at) + 1);
    }
}

#[test]
fn iterations_that_are_laid_out_see_what_other_threads_have_stored() {
    for rt in backends() {
        for n in [0, 1, 4, 7, 9] {
            let mut x: Vec<u32> = (0..64).collect();
            rt.launch(counts_around(&mut x[..], n)).expect("it runs");
            assert!((0..64).all(|i| x[i] == (i + n) as u32), "{n}: {x:?}");
        }
    }
}
