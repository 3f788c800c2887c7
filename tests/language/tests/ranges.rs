//! Options of a range change the code of a loop, and not its meaning.

use tilewright::tile_kernel;
use tilewright::{LaunchOptions, Runtime};
use tilewright_core::f16;
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::Matrix;
use tilewright_language_tests::{view, view_mut};

/// WAY: 0 plain, 1 one pipeline through both loops, 2 not specialized, 3 specialized, 4 two buffers, 5 all at once.
#[tile_kernel(
    tune(WAY = [0, 1, 2, 3, 4, 5], BM = [64], BN = [64], BK = [64], warps = [4]),
    tune(WAY = [0, 1, 2, 3, 4, 5], BM = [32], BN = [32], BK = [16], warps = [4], arch = [80]),
    grid = [2],
    emulate = all,
)]
fn carried_out<const WAY: usize, const BM: usize, const BN: usize, const BK: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f32, 2>,
) {
    let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
    if WAY == 1 || WAY == 5 {
        for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)).flatten() {
            let (i, j) = swizzle2d(t, tiles, 2);
            let mut acc = zeros::<f32>([BM, BN]);
            if WAY == 1 {
                for k in range(0, a.dim(1), BK) {
                    acc = dot(a.tile([i * BM, k], [BM, BK]), b.tile([k, j * BN], [BK, BN]), acc);
                }
            } else {
                for k in range(0, a.dim(1), BK).stages(3).unroll(2).warp_specialize(true).flatten() {
                    acc = dot(a.tile([i * BM, k], [BM, BK]), b.tile([k, j * BN], [BK, BN]), acc);
                }
            }
            c.store([i * BM, j * BN], acc);
        }
        return;
    }
    for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
        let (i, j) = swizzle2d(t, tiles, 2);
        let mut acc = zeros::<f32>([BM, BN]);
        if WAY == 0 {
            for k in range(0, a.dim(1), BK) {
                acc = dot(a.tile([i * BM, k], [BM, BK]), b.tile([k, j * BN], [BK, BN]), acc);
            }
        } else if WAY == 2 {
            for k in range(0, a.dim(1), BK).warp_specialize(false) {
                acc = dot(a.tile([i * BM, k], [BM, BK]), b.tile([k, j * BN], [BK, BN]), acc);
            }
        } else if WAY == 3 {
            for k in range(0, a.dim(1), BK).warp_specialize(true) {
                acc = dot(a.tile([i * BM, k], [BM, BK]), b.tile([k, j * BN], [BK, BN]), acc);
            }
        } else {
            for k in range(0, a.dim(1), BK).stages(2) {
                acc = dot(a.tile([i * BM, k], [BM, BK]), b.tile([k, j * BN], [BK, BN]), acc);
            }
        }
        c.store([i * BM, j * BN], acc);
    }
}

#[test]
fn options_of_ranges_keep_the_meaning() {
    // Small integers: sums are exact in any order.
    let number = |x: f32| f16::from_f32((x * 4.0).round());
    for ([m, n, k], pad) in [([64, 64, 64], 0), ([200, 136, 200], 0), ([65, 33, 40], 7), ([130, 72, 8], 8)] {
        let (a, b) = (Matrix::new([m, k], k + pad, 1, number), Matrix::new([k, n], n + pad, 2, number));
        let run = |rt: &Runtime, config: &str| {
            let mut c = Matrix::new([m, n], n, 3, |x| x);
            let options = LaunchOptions::new().config(config);
            rt.launch_with(rt.stream(), carried_out(view!(a), view!(b), view_mut!(c)), &options)
                .unwrap_or_else(|e| panic!("{config} {m} {n} {k}: {e}"));
            c.data
        };
        let wanted: Vec<f32> = (0..m * n)
            .map(|e| {
                (0..k).map(|d| a.data[e / n * (k + pad) + d].to_f32() * b.data[d * (n + pad) + e % n].to_f32()).sum()
            })
            .collect();
        for config in carried_out::DESCS[0].configs {
            let specialized = config.variants.iter().any(|v| !v.maps.is_empty());
            assert_eq!(specialized, !config.id.contains("WAY=2") && !config.id.contains("arch=80"), "{}", config.id);
            assert_eq!(run(&Runtime::cpu(), config.id), wanted, "{} on the CPU", config.id);
            assert_eq!(run(&Runtime::emulator(9), config.id), wanted, "{} on the emulated SM", config.id);
        }
    }
}

/// Iterations, and the last number.
#[tile_kernel(types(T = [i8, u8, i16, u16]), tune(warps = [1]), grid = [1], emulate = all)]
fn counted_to_the_end<T: Int>(bounds: &[T], y: &mut [i32]) {
    let (mut n, mut last) = (0, -1);
    for i in range(load(bounds, 0), load(bounds, 1), load(bounds, 2)) {
        n += 1;
        last = i.to::<i32>();
    }
    store(y, 0, n);
    store(y, 1, last);
}

#[test]
fn ranges_of_small_types_end() {
    macro_rules! check { ($($t:ident)+) => { $(
        for (lo, hi, step) in [(0, $t::MAX, 2), (5, $t::MAX, 100), ($t::MAX - 3, $t::MAX, 3)] {
            let wanted: Vec<i32> = (i32::from(lo)..i32::from(hi)).step_by(step as usize).collect();
            let desc = counted_to_the_end::DESCS.iter().find(|d| d.types == stringify!($t)).expect("it is built");
            let run = |rt: &Runtime, options: &LaunchOptions| {
                let mut y = [0; 2];
                rt.launch_with(rt.stream(), counted_to_the_end(&[lo, hi, step], &mut y), options)?;
                Ok(y)
            };
            let last = *wanted.last().expect("one at least");
            everywhere(desc, run, |y, what| assert_eq!(y, [wanted.len() as i32, last], "{what}: {lo}..{hi} by {step}"));
        }
    )+ } }
    check!(i8 u8 i16 u16);
}

/// A loop whose last step leads beyond the greatest number of its type, with a step that is known, one that is not, and
/// several iterations behind each other.
#[tile_kernel(types(T = [i32, u32]), tune(warps = [1]), grid = [1], emulate = all)]
fn up_to_the_greatest<T: Int>(bounds: &[T], step: u32, y: &mut [i32]) {
    let (lo, hi) = (load(bounds, 0), load(bounds, 1));
    let mut n = 0;
    for _i in range(lo, hi, 7) {
        n += 1;
    }
    store(y, 0, n);
    n = 0;
    for _i in range(lo, hi, 7).unroll(4) {
        n += 1;
    }
    store(y, 1, n);
    n = 0;
    for _i in range(lo.to::<u32>(), hi.to::<u32>(), step) {
        n += 1;
    }
    store(y, 2, n);
}

#[test]
fn ranges_end_at_the_greatest_number() {
    macro_rules! check { ($($t:ident)+) => { $(
        let desc = up_to_the_greatest::DESCS.iter().find(|d| d.types == stringify!($t)).expect("it is built");
        for (before, step) in [(20, 7u32), (56, 1 << 30), (1, 3)] {
            let run = |rt: &Runtime, options: &LaunchOptions| {
                let mut y = [0; 3];
                let bounds = [$t::MAX - before, $t::MAX];
                rt.launch_with(rt.stream(), up_to_the_greatest(&bounds, step, &mut y), options)?;
                Ok(y)
            };
            let count = |step: u32| (before as u32).div_ceil(step) as i32;
            let wanted = [count(7), count(7), count(step)];
            everywhere(desc, run, |y, what| assert_eq!(y, wanted, "{what}: {before} by {step}"));
        }
    )+ } }
    check!(i32 u32);
}

/// Quotients of both signs, rounded up.
#[tile_kernel(tune(warps = [1]), grid = [1], emulate = all)]
fn rounded_up(x: &[i32], by: i32, y: &mut [i32]) {
    store(y, arange(32), cdiv(load(x, arange(32)), by));
}

#[test]
fn quotients_are_rounded_up_below_zero() {
    let x: Vec<i32> = (-16..16).collect();
    for by in [1, 2, 3, 7, 40, -2, -5] {
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let mut y = [0; 32];
            rt.launch_with(rt.stream(), rounded_up(&x, by, &mut y), options)?;
            Ok(y)
        };
        everywhere(rounded_up::DESCS[0], run, |y, what| {
            let wanted: Vec<i32> = x.iter().map(|&x| (f64::from(x) / f64::from(by)).ceil() as i32).collect();
            assert_eq!(y.as_slice(), wanted, "{what}: by {by}");
        });
    }
}

/// Quotients of constants, rounded up.
#[tile_kernel(tune(warps = [1]), grid = [1], emulate = all)]
fn constants_rounded_up(y: &mut [i32]) {
    store(y, 0, cdiv(-7, 3));
    store(y, 1, cdiv(-6, 3));
    store(y, 2, cdiv(-1, 5));
    store(y, 3, cdiv(0, 5));
    store(y, 4, cdiv(7, 3));
}

#[test]
fn quotients_of_constants_are_rounded_up() {
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let mut y = [9; 5];
        rt.launch_with(rt.stream(), constants_rounded_up(&mut y), options)?;
        Ok(y)
    };
    everywhere(constants_rounded_up::DESCS[0], run, |y, what| assert_eq!(y, [-2, -2, 0, 0, 3], "{what}"));
}

/// A step of at most 4, which may be 0: then there is no iteration.
#[tile_kernel(tune(warps = [1]), grid = [1], emulate = all)]
fn steps_of_at_most_four(y: &mut [u32], n: usize, step: usize) {
    let mut count = 0u32;
    for _ in range(0, n, min(step, 4)) {
        count += 1;
        if count > 50 {
            break;
        }
    }
    store(y, 0, count);
}

#[test]
fn the_lesser_step_may_be_zero() {
    for (step, wanted) in [(0u64, 0u32), (1, 20), (3, 7), (4, 5), (9, 5)] {
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let mut y = [99u32];
            rt.launch_with(rt.stream(), steps_of_at_most_four(&mut y, 20u64, step), options)?;
            Ok(y)
        };
        everywhere(steps_of_at_most_four::DESCS[0], run, |y, what| assert_eq!(y, [wanted], "{what}: by {step}"));
    }
}

/// Steps that have wrapped around to 0.
#[tile_kernel(types(T = [u32, u64]), tune(warps = [1]), grid = [1], emulate = all)]
fn steps_that_wrap<T: Int>(y: &mut [i32], n: T, k: T) {
    let mut rounds = 0;
    for _i in range(n - n, n, k + 1) {
        rounds += 1;
        if rounds > 3 {
            break;
        }
    }
    for _i in range(n - n, n, maximum(k, 1) * 65536 * 65536) {
        rounds += 1;
        if rounds > 3 {
            break;
        }
    }
    store(y, 0, rounds);
}

#[test]
fn a_step_that_wraps_to_zero_is_one_of_zero() {
    macro_rules! check { ($($t:ident)+) => { $(
        for (k, wanted) in [($t::MAX, 0), ($t::MAX - 1, 1)] {
            everywhere(
                <($t,) as steps_that_wrap::Types>::DESC,
                |rt, options| {
                    let mut y = [9];
                    rt.launch_with(rt.stream(), steps_that_wrap::<$t>(&mut y, 100, k), options).map(|()| y)
                },
                |y, title| {
                    // The product of the greatest number wraps too: to 0 in 32 bits, to a large number in 64.
                    let products = i32::from($t::BITS == 64);
                    assert_eq!(y, [wanted + products], "{title}, {k}");
                },
            );
        }
    )+ } }
    check!(u32 u64);
}
