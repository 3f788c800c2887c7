//! Products of scaled operands, and the formats of MX and NVFP4.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_kernel, tile_module};
use tilewright_core::{KernelParts, bf16, f8e4m3, f8e5m2, f16};
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::exact;

/// The numbers of e2m1, by their bits.
const E2M1: [f32; 16] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];

/// The number of a byte of e8m0.
fn e8m0(x: u8) -> f32 {
    if x == 255 { f32::NAN } else { 2.0f64.powi(i32::from(x) - 127) as f32 }
}

#[tile_kernel(types(T = [f32, bf16, f16]), tune(BLOCK = [32], warps = [1, 2]), grid = [cdiv(x.len(), BLOCK)], emulate = all)]
fn formats<T: Float, const BLOCK: usize>(x: &[u8], numbers: &mut [T], powers: &mut [T], back: &mut [u8]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = load(x, i);
    store(numbers, program_id(0) * (2 * BLOCK) + arange(2 * BLOCK), unpack_e2m1::<T>(v, 0));
    let power = v.from_e8m0::<T>();
    store(powers, i, power);
    store(back, i, to_e8m0(power));
}

#[tile_kernel(types(T = [f32, bf16, f16]), tune(BLOCK = [64], warps = [1, 4]), grid = [cdiv(x.len(), BLOCK)], emulate = all)]
fn packed<T: Float, const BLOCK: usize>(x: &[T], y: &mut [u8], powers: &mut [u8]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = load(x, i);
    store(y, program_id(0) * (BLOCK / 2) + arange(BLOCK / 2), v.pack_e2m1(0));
    store(powers, i, v.to_e8m0());
}

/// Along both axes, there and back.
#[tile_kernel(tune(warps = [1, 4]), grid = [1], emulate = all)]
fn along_axes(x: &[u8], rows: &mut [f32], columns: &mut [f32], again: &mut [u8]) {
    let at = arange(8).expand(1) * 8 + arange(8).expand(0);
    let t = load(x, at);
    store(rows, arange(16).expand(1) * 8 + arange(8).expand(0), unpack_e2m1::<f32>(t, 0));
    store(columns, arange(8).expand(1) * 16 + arange(16).expand(0), unpack_e2m1::<f32>(t, 1));
    store(again, at, pack_e2m1(unpack_e2m1::<bf16>(t, 0), 0));
}

#[tile_module]
mod products {
    /// SCALES: 0 of both operands, 1 of the left one, 2 of the right one, 3 of none.
    #[tile_kernel(
        kernel(e2m1_e2m1, A = u8, B = u8, PACK_A = 2, PACK_B = 2),
        kernel(e2m1_e4m3, A = u8, B = f8e4m3, PACK_A = 2, PACK_B = 1),
        kernel(e5m2_e2m1, A = f8e5m2, B = u8, PACK_A = 1, PACK_B = 2),
        kernel(bf16_e2m1, A = bf16, B = u8, PACK_A = 1, PACK_B = 2),
        kernel(e2m1_f16, A = u8, B = f16, PACK_A = 2, PACK_B = 1),
        tune(BK = [32], SCALES = [0], TB = [false], warps = [4]),
        tune(BK = [64], SCALES = [0], TB = [true], warps = [4]),
        tune(BK = [128], SCALES = [1, 2, 3], TB = [false], warps = [4], kernels = [e2m1_e4m3]),
        grid = [cdiv(c.dim(0), 64), cdiv(c.dim(1), 32)],
        emulate = all,
    )]
    pub fn scaled<
        A: Element,
        B: Element,
        const PACK_A: usize,
        const PACK_B: usize,
        const BK: usize,
        const SCALES: usize,
        const TB: bool,
    >(
        a: View<A, 2>,
        a_scale: View<u8, 2>,
        b: View<B, 2>,
        b_scale: View<u8, 2>,
        mut c: ViewMut<f32, 2>,
    ) {
        let (i, j) = (program_id(0) * 64, program_id(1) * 32);
        let mut sums = zeros::<f32>([64, 32]);
        for k in range(0, a.dim(1) * PACK_A, BK) {
            let x = a.tile([i, k / PACK_A], [64, BK / PACK_A]);
            let y = if TB {
                trans(b.tile([j, k / PACK_B], [32, BK / PACK_B]))
            } else {
                b.tile([k / PACK_B, j], [BK / PACK_B, 32])
            };
            let (s, t) = (a_scale.tile([i, k / 32], [64, BK / 32]), b_scale.tile([j, k / 32], [32, BK / 32]));
            sums = match SCALES {
                0 => dot_scaled(x, s, y, t, sums),
                1 => dot_scaled(x, Some(s), y, None, sums),
                2 => dot_scaled(x, None, y, t, sums),
                _ => dot_scaled(x, None, y, None, sums),
            };
        }
        c.store([i, j], sums);
    }

    /// NVFP4: a scale of e4m3 for 16 elements. The left operand is packed along M, too, so that it is unpacked before.
    #[tile_kernel(tune(PACKED_M = [false, true], warps = [4]), grid = [1], emulate = all)]
    pub fn nvfp4<const PACKED_M: bool>(
        a: View<u8, 2>,
        a_scale: View<f8e4m3, 2>,
        b: View<u8, 2>,
        b_scale: View<f8e4m3, 2>,
        mut c: ViewMut<f32, 2>,
    ) {
        let (s, t) = (a_scale.tile([0, 0], [64, 4]), b_scale.tile([0, 0], [32, 4]));
        let y = trans(b.tile([0, 0], [32, 32]));
        if PACKED_M {
            let x = unpack_e2m1::<bf16>(a.tile([0, 0], [32, 64]), 0);
            c.store([0, 0], dot_scaled(x, s, y, t, 0.0));
        } else {
            c.store([0, 0], dot_scaled(a.tile([0, 0], [64, 32]), s, y, t, 0.0));
        }
    }

    /// Batches, and an accumulator that is broadcast.
    #[tile_kernel(tune(warps = [4]), grid = [1], emulate = all)]
    pub fn batch(a: View<u8, 3>, a_scale: View<u8, 3>, b: View<f8e4m3, 3>, b_scale: View<u8, 3>, c: &mut [f32]) {
        let x = a.tile([0, 0, 0], [2, 16, 32]);
        let y = b.tile([0, 0, 0], [2, 64, 16]);
        let sums = dot_scaled(x, a_scale.tile([0, 0, 0], [2, 16, 2]), y, b_scale.tile([0, 0, 0], [2, 16, 2]), 0.5);
        store(c, reshape(arange(512), [2, 16, 16]), sums);
    }
}

fn bytes(n: usize, seed: u32) -> Vec<u8> {
    let mut s = seed;
    let mut next = move || {
        s = s.wrapping_mul(1664525).wrapping_add(1013904223);
        (s >> 17) as u8
    };
    (0..n).map(|_| next()).collect()
}

/// Scales from 1/4 to 4, and one that is NaN.
fn scales(n: usize, seed: u32) -> Vec<u8> {
    let mut scales: Vec<u8> = bytes(n, seed).iter().map(|x| 125 + x % 5).collect();
    scales[n / 2] = 255;
    scales
}

/// The numbers in halves of bytes along rows.
fn unpacked(x: &[u8]) -> Vec<f32> {
    x.iter().flat_map(|b| [b & 15, b >> 4]).map(|half| E2M1[usize::from(half)]).collect()
}

#[test]
fn every_number_of_the_formats() {
    let x: Vec<u8> = (0..=255).collect();
    macro_rules! check {
        ($t:ident $at:expr, $of:expr, $to:expr) => {
            let run = |rt: &Runtime, options: &LaunchOptions| {
                let (mut numbers, mut powers, mut back) = (vec![$of(7.0); 512], vec![$of(7.0); 256], vec![7; 256]);
                rt.launch_with(rt.stream(), formats::<$t>(&x, &mut numbers, &mut powers, &mut back), options)?;
                Ok((numbers, powers, back))
            };
            everywhere(formats::DESCS[$at], run, |(numbers, powers, back), what| {
                let f32s = |x: &[$t]| x.iter().map(|&x| $to(x)).collect::<Vec<f32>>();
                let (wanted, found) = (unpacked(&x), f32s(&numbers));
                exact(what, &found, &wanted);
                assert!(found.iter().zip(&wanted).all(|(a, b)| a.is_sign_negative() == b.is_sign_negative()), "{what}");
                let rounded: Vec<$t> = x.iter().map(|&x| $of(e8m0(x))).collect();
                exact(what, &f32s(&powers), &f32s(&rounded));
                for (x, found) in x.iter().zip(back) {
                    // f16 holds fewer powers of two.
                    let wanted = match ($to($of(e8m0(*x))), *x) {
                        (v, _) if v.is_infinite() => 254,
                        (v, _) if v == 0.0 => 0,
                        (_, x) => x,
                    };
                    assert_eq!(found, wanted, "{what}: {x}");
                }
            });
        };
    }
    check!(f32 0, |x: f32| x, |x: f32| x);
    check!(bf16 1, bf16::from_f32, bf16::to_f32);
    check!(f16 2, f16::from_f32, f16::to_f32);
}

#[test]
fn conversions_round_to_nearest_even() {
    let mut x =
        vec![0.0, 0.2, 0.25, 0.26, 0.5, 0.74, 0.75, 0.76, 1.0, 1.25, 1.5, 1.74, 1.75, 1.76, 1.9, 2.0, 2.5, 2.51];
    x.extend([3.0, 3.49, 3.5, 3.51, 4.0, 4.99, 5.0, 5.01, 6.0, 7.0, 1e30, f32::INFINITY, 1e-30, 1e-39]);
    x.extend(x.clone().iter().map(|v| -v));
    x[1] = f32::NAN;
    // The nearest, of two the one whose last bit is 0; NaN is 6.
    let code = |x: f32| {
        let distance = |c: &u8| (f64::from(E2M1[usize::from(*c)]) - f64::from(x.abs().min(6.0))).abs();
        let nearest = (0..8).min_by(|a, b| distance(a).total_cmp(&distance(b)).then((a % 2).cmp(&(b % 2))));
        if x.is_nan() { 7 } else { nearest.expect("there are 8") | if x.is_sign_negative() { 8 } else { 0 } }
    };
    let power = |x: f32| match x.abs() {
        x if x.is_nan() => 255,
        x if x.is_infinite() => 254,
        x => (0..255u8).rev().find(|&e| e8m0(e) <= x).unwrap_or(0),
    };
    macro_rules! check {
        ($t:ident $at:expr, $of:expr, $to:expr) => {
            let x: Vec<$t> = x.iter().map(|&x| $of(x)).collect();
            let run = |rt: &Runtime, options: &LaunchOptions| {
                let (mut y, mut powers) = (vec![7; 32], vec![7; 64]);
                rt.launch_with(rt.stream(), packed::<$t>(&x, &mut y, &mut powers), options)?;
                Ok((y, powers))
            };
            everywhere(packed::DESCS[$at], run, |(y, powers), what| {
                for (i, &x) in x.iter().enumerate() {
                    assert_eq!((y[i / 2] >> (i % 2 * 4)) & 15, code($to(x)), "{what}: {x}");
                    assert_eq!(powers[i], power($to(x)), "{what}: {x}");
                }
            });
        };
    }
    check!(f32 0, |x: f32| x, |x: f32| x);
    check!(bf16 1, bf16::from_f32, bf16::to_f32);
    check!(f16 2, f16::from_f32, f16::to_f32);
}

#[test]
fn halves_along_either_axis() {
    let x = bytes(64, 3);
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (mut rows, mut columns, mut again) = (vec![9.0; 128], vec![9.0; 128], vec![9; 64]);
        rt.launch_with(rt.stream(), along_axes(&x, &mut rows, &mut columns, &mut again), options)?;
        Ok((rows, columns, again))
    };
    everywhere(along_axes::DESCS[0], run, |(rows, columns, again), what| {
        exact(what, &columns, &unpacked(&x));
        let of_rows = |i: usize, j: usize| E2M1[usize::from(x[i / 2 * 8 + j] >> (i % 2 * 4) & 15)];
        exact(what, &rows, &(0..128).map(|at| of_rows(at / 8, at % 8)).collect::<Vec<_>>());
        assert_eq!(again, x, "{what}");
    });
}

/// An operand as the device has it, and its numbers by row and K.
trait Format: tilewright_core::Element {
    const PACK: usize;
    fn numbers(x: &[Self]) -> Vec<f32>;
    fn some(n: usize, seed: u32) -> Vec<Self>;
}

impl Format for u8 {
    const PACK: usize = 2;
    fn numbers(x: &[u8]) -> Vec<f32> {
        unpacked(x)
    }
    fn some(n: usize, seed: u32) -> Vec<u8> {
        bytes(n, seed)
    }
}

macro_rules! floats { ($($t:ident)+) => { $(
    impl Format for $t {
        const PACK: usize = 1;
        fn numbers(x: &[$t]) -> Vec<f32> {
            x.iter().map(|x| x.to_f32()).collect()
        }
        fn some(n: usize, seed: u32) -> Vec<$t> {
            bytes(n, seed).iter().map(|&x| $t::from_f32(f32::from(x % 32) / 4.0 - 4.0)).collect()
        }
    }
)+ } }
floats! { f8e4m3 f8e5m2 bf16 f16 }

/// Rows of K, as columns where `flip`; two numbers of K are in a byte.
fn columns<T: Copy>(x: &[T], n: usize) -> Vec<T> {
    let k = x.len() / n;
    (0..x.len()).map(|at| x[at % n * k + at / n]).collect()
}

fn product(
    [m, n, k]: [usize; 3],
    a: &[f32],
    b: &[f32],
    of_a: impl Fn(usize, usize) -> f32,
    of_b: impl Fn(usize, usize) -> f32,
) -> Vec<f32> {
    let element = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * of_a(i, l) * (b[j * k + l] * of_b(j, l))).sum();
    (0..m * n).map(|at| element(at / n, at % n)).collect()
}

macro_rules! products { ($($test:ident $a:ident $b:ident;)+) => { $(
    #[test]
    fn $test() {
        let [m, n, k] = [70, 40, 128];
        let (a, b) = (<$a>::some(m * k / <$a>::PACK, 1), <$b>::some(n * k / <$b>::PACK, 2));
        let (x, y) = (<$a as Format>::numbers(&a), <$b as Format>::numbers(&b));
        let (s, t) = (scales(m * k / 32, 3), scales(n * k / 32, 4));
        let flipped = columns(&b, n);
        for config in products::$test::DESCS[0].configs {
            let (is_transposed, one) =
                (config.id.contains("TB=true"), KernelParts { configs: std::slice::from_ref(config), ..**products::$test::DESCS[0] });
            let with = |scale: u8, with: [char; 2]| {
                let has = with.iter().any(|c| config.id.contains(&format!("SCALES={c}")));
                if has { e8m0(scale) } else { 1.0 }
            };
            let wanted = product(
                [m, n, k],
                &x,
                &y,
                |i, l| with(s[i * (k / 32) + l / 32], ['0', '1']),
                |j, l| with(t[j * (k / 32) + l / 32], ['0', '2']),
            );
            let run = |rt: &Runtime, options: &LaunchOptions| {
                let depth = k / <$b>::PACK;
                let (data, dims) = if is_transposed { (&b, [n, depth]) } else { (&flipped, [depth, n]) };
                let (a, b) = (Buffer::from_slice(rt, &a)?, Buffer::from_slice(rt, data)?);
                let (s, t) = (Buffer::from_slice(rt, &s)?, Buffer::from_slice(rt, &t)?);
                let mut c = Buffer::<f32>::zeros(rt, m * n)?;
                let call = products::$test(
                    a.view([m, k / <$a>::PACK])?,
                    s.view([m, k / 32])?,
                    b.view(dims)?,
                    t.view([n, k / 32])?,
                    c.view_mut([m, n])?,
                );
                rt.launch_with(rt.stream(), call, options)?;
                c.to_vec()
            };
            everywhere(&one, run, |found, what| exact(what, &found, &wanted));
        }
    }
)+ } }
products! {
    e2m1_e2m1 u8 u8;
    e2m1_e4m3 u8 f8e4m3;
    e5m2_e2m1 f8e5m2 u8;
    bf16_e2m1 bf16 u8;
    e2m1_f16 u8 f16;
}

#[test]
fn nvfp4() {
    let (a, b) = (bytes(64 * 32, 1), bytes(32 * 32, 2));
    let some = |n, seed| bytes(n, seed).iter().map(|&x| f8e4m3::from_f32(f32::from(x % 16) / 8.0)).collect::<Vec<_>>();
    let (s, t) = (some(64 * 4, 3), some(32 * 4, 4));
    let by_columns: Vec<u8> = (0..32 * 64)
        .map(|at| {
            let (i, l) = (at / 64 * 2, at % 64);
            let half = |i: usize| a[i * 32 + l / 2] >> (l % 2 * 4) & 15;
            half(i) | half(i + 1) << 4
        })
        .collect();
    let wanted = product(
        [64, 32, 64],
        &unpacked(&a),
        &unpacked(&b),
        |i, l| s[i * 4 + l / 16].to_f32(),
        |j, l| t[j * 4 + l / 16].to_f32(),
    );
    for config in products::nvfp4::DESCS[0].configs {
        let one = KernelParts { configs: std::slice::from_ref(config), ..**products::nvfp4::DESCS[0] };
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let (data, dims) = if config.id.contains("true") { (&by_columns, [32, 64]) } else { (&a, [64, 32]) };
            let (a, b) = (Buffer::from_slice(rt, data)?, Buffer::from_slice(rt, &b)?);
            let (s, t) = (Buffer::from_slice(rt, &s)?, Buffer::from_slice(rt, &t)?);
            let mut c = Buffer::<f32>::zeros(rt, 64 * 32)?;
            let call = products::nvfp4(
                a.view(dims)?,
                s.view([64, 4])?,
                b.view([32, 32])?,
                t.view([32, 4])?,
                c.view_mut([64, 32])?,
            );
            rt.launch_with(rt.stream(), call, options)?;
            c.to_vec()
        };
        everywhere(&one, run, |found, what| exact(what, &found, &wanted));
    }
}

#[test]
fn batches() {
    let (a, b) = (bytes(2 * 16 * 32, 1), f8e4m3::some(2 * 64 * 16, 2));
    let (s, t) = (scales(2 * 16 * 2, 3), scales(2 * 16 * 2, 4));
    let x = unpacked(&a);
    let of = |at: usize| {
        let (z, i, j) = (at / 256, at / 16 % 16, at % 16);
        let term = |l: usize| {
            let left = x[(z * 16 + i) * 64 + l] * e8m0(s[(z * 16 + i) * 2 + l / 32]);
            left * (b[(z * 64 + l) * 16 + j].to_f32() * e8m0(t[(z * 16 + j) * 2 + l / 32]))
        };
        0.5 + (0..64).map(term).sum::<f32>()
    };
    let wanted: Vec<f32> = (0..512).map(of).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (a, b) = (Buffer::from_slice(rt, &a)?, Buffer::from_slice(rt, &b)?);
        let (s, t) = (Buffer::from_slice(rt, &s)?, Buffer::from_slice(rt, &t)?);
        let mut c = Buffer::<f32>::zeros(rt, 512)?;
        let call = products::batch(
            a.view([2, 16, 32])?,
            s.view([2, 16, 2])?,
            b.view([2, 64, 16])?,
            t.view([2, 16, 2])?,
            &mut c,
        );
        rt.launch_with(rt.stream(), call, options)?;
        c.to_vec()
    };
    everywhere(products::batch::DESCS[0], run, |found, what| exact(what, &found, &wanted));
}
