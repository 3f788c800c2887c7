//! Random numbers: the stream of Triton's `tl.rand` and its like, against Philox in plain Rust, which the known answers
//! of Random123 hold.

use tilewright::{Error, LaunchOptions, Runtime, tile_module};
use tilewright_language_tests::everywhere::{everywhere, same};

#[tile_module(use tilewright::random)]
mod kernels {
    #[tile_kernel(types(T = [u32, u64]), tune(warps = [1, 4]), emulate = all, grid = [1])]
    pub fn integers<T: Int>(seed: u64, offsets: &[T], y: &mut [u32]) {
        let i = arange(64);
        let (a, b, c, d) = randint4x(seed, load(offsets, i));
        store(y, i, a);
        store(y, 64 + i, b);
        store(y, 128 + i, c);
        store(y, 192 + i, d);
        store(y, 256 + i, randint(seed, load(offsets, i)));
        // Of a scalar, the same in the whole program.
        store(y, 320, randint(seed, load(offsets, 3)));
    }

    #[tile_kernel(types(T = [u32, u64]), tune(warps = [1, 4]), emulate = all, grid = [1])]
    pub fn floats<T: Int>(seed: u64, offsets: &[T], y: &mut [f32]) {
        let i = arange(64);
        let offset = load(offsets, i);
        store(y, i, rand(seed, offset));
        let (a, b, c, d) = rand4x(seed, offset);
        store(y, 64 + i, a);
        store(y, 128 + i, b);
        store(y, 192 + i, c);
        store(y, 256 + i, d);
        store(y, 320 + i, randn(seed, offset));
        let (a, b, c, d) = randn4x(seed, offset);
        store(y, 384 + i, a);
        store(y, 448 + i, b);
        store(y, 512 + i, c);
        store(y, 576 + i, d);
    }

    /// All counters of Philox itself.
    #[tile_kernel(types(T = [u32, u64]), tune(warps = [1]), grid = [1])]
    pub fn counters<T: Int>(seed: u64, c: &[T], y: &mut [T]) {
        let (a, b, c, d) = philox(seed, load(c, 0), load(c, 1), load(c, 2), load(c, 3));
        store(y, 0, a);
        store(y, 1, b);
        store(y, 2, c);
        store(y, 3, d);
    }

    /// Indices are of 64 bits.
    #[tile_kernel(tune(BLOCK = [256], warps = [4]), grid = [cdiv(y.len(), BLOCK)])]
    pub fn normals<const BLOCK: usize>(y: &mut [f32], seed: u64) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        store(y, i, randn(seed, i));
    }
}

/// Ten rounds of Philox on words of some bits.
fn philox(bits: u32, [mut k0, mut k1]: [u64; 2], mut c: [u64; 4]) -> [u64; 4] {
    let mask = u64::MAX >> (64 - bits);
    let (key, round) = if bits == 32 {
        ([0x9E37_79B9, 0xBB67_AE85], [0xD251_1F53u64, 0xCD9E_8D57])
    } else {
        ([0x9E37_79B9_7F4A_7C15, 0xBB67_AE85_84CA_A73B], [0xD2E7_470E_E14C_6C93, 0xCA5A_8263_9512_1157])
    };
    for _ in 0..10 {
        let products = [round[0] as u128 * c[0] as u128, round[1] as u128 * c[2] as u128];
        let [low0, low1] = products.map(|p| p as u64 & mask);
        let [high0, high1] = products.map(|p| (p >> bits) as u64 & mask);
        c = [high1 ^ c[1] ^ k0, low1, high0 ^ c[3] ^ k1, low0];
        k0 = k0.wrapping_add(key[0]) & mask;
        k1 = k1.wrapping_add(key[1]) & mask;
    }
    c
}

/// Triton's numbers of an offset.
fn of_offset(seed: u64, offset: u64) -> [u64; 4] {
    philox(32, key(32, seed), [offset & 0xffff_ffff, offset >> 32, 0, 0])
}

/// The key that Triton makes of a seed.
fn key(bits: u32, seed: u64) -> [u64; 2] {
    if bits == 32 { [seed & 0xffff_ffff, seed >> 32] } else { [seed, 0] }
}

/// Counters, keys and results of Random123's `kat_vectors`, for words of 32 and of 64 bits.
const KNOWN: [(u32, [u64; 4], [u64; 2], [u64; 4]); 6] = [
    (32, [0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
    (32, [0xffff_ffff; 4], [0xffff_ffff; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
    (
        32,
        [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
        [0xa409_3822, 0x299f_31d0],
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
    ),
    (64, [0; 4], [0; 2], [0x1655_4d9e_ca36_314c, 0xdb20_fe9d_672d_0fdc, 0xd7e7_72ce_e186_176b, 0x7e68_b68a_ec7b_a23b]),
    (
        64,
        [u64::MAX; 4],
        [u64::MAX; 2],
        [0x87b0_92c3_013f_e90b, 0x438c_3c67_be8d_0224, 0x9cc7_d7c6_9cd7_77b6, 0xa09c_aebf_594f_0ba0],
    ),
    (
        64,
        [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344, 0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89],
        [0x4528_21e6_38d0_1377, 0xbe54_66cf_34e9_0c6c],
        [0xa528_f454_03e6_1d95, 0x38c7_2dbd_566e_9788, 0xa5a1_610e_72fd_18b5, 0x57bd_43b5_e52b_7fe6],
    ),
];

#[test]
fn known_answers() -> Result<(), Error> {
    for (bits, counters, keys, wanted) in KNOWN {
        assert_eq!(philox(bits, keys, counters), wanted);
        for rt in [Runtime::cpu(), Runtime::emulator(3)] {
            let found = if bits == 32 {
                let mut y = [0u32; 4];
                rt.launch(kernels::counters::<u32>(keys[1] << 32 | keys[0], &counters.map(|c| c as u32), &mut y))?;
                y.map(u64::from)
            } else {
                let mut y = [0u64; 4];
                rt.launch(kernels::counters::<u64>(keys[0], &counters, &mut y))?;
                y
            };
            // The second word of a key of 64-bit words is 0: a seed has 64 bits.
            assert_eq!(
                found,
                philox(bits, key(bits, keys[1] << 32 & (u64::MAX * (bits == 32) as u64) | keys[0]), counters)
            );
            if bits == 32 || keys[1] == 0 {
                assert_eq!(found, wanted);
            }
        }
    }
    Ok(())
}

const SEEDS: [u64; 4] = [0, 42, 0x1234_5678_9abc_def0, u64::MAX];

/// Offsets from 0 on, and some large ones.
fn offsets(seed: u64) -> impl Iterator<Item = u64> {
    (0..64u64)
        .map(move |i| if i % 8 == 7 { i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(seed as u32 % 64) } else { i })
}

macro_rules! integers_of {
    ($t:ident) => {
        for seed in SEEDS {
            let offsets: Vec<$t> = offsets(seed).map(|o| o as $t).collect();
            let four: Vec<[u64; 4]> = offsets.iter().map(|&o| of_offset(seed, u64::from(o))).collect();
            let column = |k: usize| four.iter().map(move |f| f[k] as u32);
            let wanted: Vec<u32> = (0..4).chain([0]).flat_map(column).chain([four[3][0] as u32]).collect();
            everywhere(
                <($t,) as kernels::integers::Types>::DESC,
                |rt: &Runtime, options: &LaunchOptions| {
                    let mut y = vec![0; 321];
                    rt.launch_with(rt.stream(), kernels::integers::<$t>(seed, &offsets, &mut y), options).map(|()| y)
                },
                |y, title| assert_eq!(y, wanted, "{title}"),
            );
        }
    };
}

#[test]
fn integers_of_offsets() {
    integers_of!(u32);
    integers_of!(u64);
}

/// Triton's conversion of a random integer, as of a signed one.
fn uniform(x: u64) -> f32 {
    let x = x as u32 as i32;
    (if x < 0 { -x - 1 } else { x }) as f32 * (4.6566127342e-10f64 as f32)
}

/// Box and Muller's pair, in `f64`.
fn normal(u1: f32, u2: f32) -> [f64; 2] {
    let (u1, u2) = (f64::from(u1.max(1e-7)), f64::from(u2));
    let (angle, radius) = (std::f64::consts::TAU * u2, (-2.0 * u1.ln()).sqrt());
    [radius * angle.cos(), radius * angle.sin()]
}

macro_rules! floats_of {
    ($t:ident) => {
        for seed in SEEDS {
            let offsets: Vec<$t> = offsets(seed).map(|o| o as $t).collect();
            let four: Vec<[f32; 4]> =
                offsets.iter().map(|&o| of_offset(seed, u64::from(o))).map(|f| f.map(uniform)).collect();
            assert!(four.as_flattened().iter().all(|u| (0.0..1.0).contains(u)));
            let uniforms: Vec<f32> = [0, 0, 1, 2, 3].into_iter().flat_map(|k| four.iter().map(move |f| f[k])).collect();
            let pairs: Vec<[f64; 4]> = four
                .iter()
                .map(|f| [normal(f[0], f[1]), normal(f[2], f[3])])
                .map(|[a, b]| [a[0], a[1], b[0], b[1]])
                .collect();
            let normals: Vec<f64> = [0, 0, 1, 2, 3].into_iter().flat_map(|k| pairs.iter().map(move |f| f[k])).collect();
            everywhere(
                <($t,) as kernels::floats::Types>::DESC,
                |rt: &Runtime, options: &LaunchOptions| {
                    let mut y = vec![0.0; 640];
                    rt.launch_with(rt.stream(), kernels::floats::<$t>(seed, &offsets, &mut y), options).map(|()| y)
                },
                |y, title| {
                    same(&y[..320], &uniforms, title);
                    for (i, (&found, wanted)) in y[320..].iter().zip(&normals).enumerate() {
                        assert!(
                            (f64::from(found) - wanted).abs() < 4e-6,
                            "{title}: normal {i} is {found}, not {wanted}"
                        );
                    }
                },
            );
        }
    };
}

#[test]
fn floats_of_offsets() {
    floats_of!(u32);
    floats_of!(u64);
}

#[test]
fn normals_are_normal() -> Result<(), Error> {
    let mut y = vec![0.0; 40_000];
    Runtime::cpu().launch(kernels::normals(&mut y, 7))?;
    let moment = |k: i32| y.iter().map(|&x| f64::from(x).powi(k)).sum::<f64>() / y.len() as f64;
    // Of so many numbers, the deviations are some 0.005, 0.007, 0.02 and 0.05.
    let found = [moment(1), moment(2), moment(3), moment(4)];
    for ((found, wanted), off) in found.into_iter().zip([0.0, 1.0, 0.0, 3.0]).zip([0.02, 0.03, 0.08, 0.2]) {
        assert!((found - wanted).abs() < off, "{found} instead of {wanted}");
    }
    Ok(())
}
