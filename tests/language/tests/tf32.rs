//! Operands of f32 that become tf32: which bits are left of each, by every way to tensor cores; and an MN-major
//! left operand, which threads fetch word by word.

use tilewright::Runtime;
use tilewright::tile_kernel;
use tilewright_language_tests::matrix::Matrix;
use tilewright_language_tests::run::{seeds, taken, with};
use tilewright_language_tests::{view, view_mut};

/// WAY: 0 both operands straight from memory; 1 a left one that is computed; 2 an MN-major left one.
#[tile_kernel(
    tune(BM = [64, 128], BN = [32], BK = [32], WAY = [0, 1, 2], warps = [4], arch = [90]),
    tune(BM = [128], BN = [64], BK = [64], WAY = [2], warps = [8], stages = [2], arch = [90]),
    tune(BM = [32], BN = [32], BK = [32], WAY = [0, 1, 2], warps = [4], arch = [80]),
    grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    emulate = all,
)]
fn rounded<const BM: usize, const BN: usize, const BK: usize, const WAY: usize>(
    a: View<f32, 2>,
    b: View<f32, 2>,
    mut c: ViewMut<f32, 2>,
    k: usize,
) {
    let (i, j) = (program_id(0) * BM, program_id(1) * BN);
    let mut acc = zeros::<f32>([BM, BN]);
    for at in range(0, k, BK) {
        let x = if WAY == 2 {
            trans(a.tile([at, i], [BK, BM]))
        } else if WAY == 1 {
            a.tile([i, at], [BM, BK]) * 2.0
        } else {
            a.tile([i, at], [BM, BK])
        };
        acc = dot(x, trans(b.tile([j, at], [BN, BK])), acc).tf32();
    }
    c.store([i, j], acc);
}

/// With 10 bits of fraction: the nearest number, ties away from zero; a NaN stays one.
fn nearest(x: f32) -> f32 {
    if x.is_nan() { x } else { f32::from_bits((x.to_bits() + 0x1000) & !0x1FFF) }
}

fn cut(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & !0x1FFF)
}

/// Numbers between 1 and 2, of both signs, with every bit of the fraction and every tie.
fn fraction(i: usize) -> f32 {
    let bits = 0x3F80_0000 | (i * 0x1_2345 % 0x7F_E000) as u32;
    let x = f32::from_bits(if i % 5 == 0 { bits & !0xFFF | 0x1000 } else { bits });
    if i % 3 == 0 { -x } else { x }
}

/// The product of matrices of which the left one, `m` rows, has one element in each row and the right one, `n` columns,
/// all.
fn products_of_one(what: &str, left: impl Fn(usize) -> f32, right: impl Fn(usize) -> f32) {
    let [m, n, k] = [128, 64, 64];
    let place = |i: usize| i * 7 % k;
    for config in rounded::DESCS[0].configs {
        let way = config.consts.iter().find(|c| c.0 == "WAY").expect("it has one").1;
        let a_dims = if way == 2 { [k, m] } else { [m, k] };
        let mut a = Matrix::new(a_dims, a_dims[1], 1, |_| 0.0f32);
        for i in 0..m {
            a.data[if way == 2 { place(i) * m + i } else { i * k + place(i) }] = left(i);
        }
        let mut b = Matrix::new([n, k], k, 1, |_| 0.0f32);
        (0..n * k).for_each(|i| b.data[i] = right(i));
        let groups = config.id.contains("arch=90");
        let run = |rt: &Runtime| {
            let mut c = Matrix::new([m, n], n, 1, |_| f32::NAN);
            let call = rounded(view!(a), view!(b), view_mut!(c), k);
            assert_eq!(taken(&call, config.id) == "tma", groups, "{}", config.id);
            rt.launch_with(rt.stream(), call, &with(config.id)).unwrap_or_else(|e| panic!("{}: {e}", config.id));
            c.data
        };
        // Operands that warpgroups read from shared memory are truncated, operands in registers are rounded.
        let of_left = |x: f32, on_cpu: bool| if groups && way == 0 && !on_cpu { cut(x) } else { nearest(x) };
        let of_right = |x: f32, on_cpu: bool| if groups && !on_cpu { cut(x) } else { nearest(x) };
        let check = |found: Vec<f32>, on_cpu: bool, name: &str| {
            for (at, &found) in found.iter().enumerate() {
                let (i, j) = (at / n, at % n);
                let (x, y) = (if way == 1 { 2.0 * left(i) } else { left(i) }, right(j * k + place(i)));
                let wanted = of_left(x, on_cpu) * of_right(y, on_cpu);
                assert!(
                    found == wanted || found.is_nan() && wanted.is_nan(),
                    "{what}, {} on {name}: {x:?} times {y:?} is {found:?}, not {wanted:?}",
                    config.id
                );
            }
        };
        check(run(&Runtime::cpu()), true, "the CPU");
        seeds().iter().for_each(|rt| check(run(rt), false, &rt.name()));
    }
}

#[test]
fn tf32_keeps_ten_bits_of_each_operand() {
    let power = |i: usize| [1.0f32, -2.0, 0.5, 4.0][i % 4];
    products_of_one("fractions on the left", fraction, power);
    products_of_one("fractions on the right", power, fraction);
    // One of them has the low bits alone: cut off, it is an infinity.
    let nan = |i: usize| f32::from_bits([0x7FFF_FFFF, 0xFFFF_FFFF, 0x7FFF_F000, 0x7F80_0001][i % 4]);
    products_of_one("NaNs on the left", nan, power);
    products_of_one("NaNs on the right", power, |i| nan(i % 3));
}

/// Sums of whole numbers, which every way has exactly: an element in a wrong place shows.
#[test]
fn an_mn_major_left_operand_is_fetched_word_by_word() {
    for config in rounded::DESCS[0].configs.iter().filter(|c| c.consts.contains(&("WAY", 2))) {
        for ([m, n, k], pad) in [([128, 64, 128], 0), ([200, 72, 100], 8), ([64, 32, 32], 4), ([260, 40, 300], 0)] {
            let whole = |x: f32| (x * 8.0).round();
            let (a, b) = (Matrix::new([k, m], m + pad, 1, whole), Matrix::new([n, k], k + pad, 2, whole));
            let run = |rt: &Runtime| {
                let mut c = Matrix::new([m, n], n, 3, |_| f32::NAN);
                let call = rounded(view!(a), view!(b), view_mut!(c), k);
                assert_eq!(taken(&call, config.id) == "tma", config.id.contains("arch=90"), "{}", config.id);
                rt.launch_with(rt.stream(), call, &with(config.id))
                    .unwrap_or_else(|e| panic!("{} {m} {n} {k}: {e}", config.id));
                c.data
            };
            let wanted = run(&Runtime::cpu());
            seeds().iter().for_each(|rt| assert!(run(rt) == wanted, "{} {m} {n} {k}", config.id));
        }
    }
}
