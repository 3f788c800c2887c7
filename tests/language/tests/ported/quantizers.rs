//! Quantizers: of rows, of groups, into halves of bytes, and by chance.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_module};
use tilewright_core::{bf16, f8e4m3};
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::values;

#[tile_module(use tilewright::random)]
mod kernels {
    /// Rows as fp8, each with a scale of its own.
    #[tile_kernel(
        tune(COLUMNS = [128], warps = [1, 4]),
        requires = [x.dim(1) <= COLUMNS],
        grid = [x.dim(0)],
        emulate = all,
    )]
    pub fn rows_as_fp8<const COLUMNS: usize>(x: View<f32, 2>, mut y: ViewMut<f8e4m3, 2>, scales: &mut [f32]) {
        let row = program_id(0);
        let t = x.tile([row, 0], [1, COLUMNS]);
        let scale = maximum(max(abs(t), 1), 1e-10) / 448.0;
        y.store([row, 0], (t / scale.expand(1)).to::<f8e4m3>());
        store(scales, row + arange(1), scale);
    }

    /// Groups of 32 numbers as halves of bytes, from -8 to 7, two side by side in a byte.
    #[tile_kernel(tune(GROUPS = [8], warps = [1, 2]), grid = [cdiv(scales.len(), GROUPS)], emulate = all)]
    pub fn as_int4<const GROUPS: usize>(x: &[f32], packed: &mut [u8], scales: &mut [f32]) {
        let group = program_id(0) * GROUPS + arange(GROUPS);
        let t = load(x, group.expand(1) * 32 + arange(32).expand(0));
        let scale = max(abs(t), 1) / 7.0;
        let inverse = where_(scale == 0.0, 0.0, 1.0 / scale);
        let q = clamp(rint(t * inverse.expand(1)), -8.0, 7.0).to::<i8>();
        let (low, high) = split(reshape(q, [GROUPS, 16, 2]));
        store(packed, group.expand(1) * 16 + arange(16).expand(0), bitcast::<u8>((low & 15) | (high << 4)));
        store(scales, group, scale);
    }

    /// The numbers again.
    #[tile_kernel(tune(GROUPS = [8], warps = [1, 2]), grid = [cdiv(scales.len(), GROUPS)], emulate = all)]
    pub fn of_int4<const GROUPS: usize>(packed: &[u8], scales: &[f32], y: &mut [f32]) {
        let group = program_id(0) * GROUPS + arange(GROUPS);
        let q = bitcast::<i8>(load(packed, group.expand(1) * 16 + arange(16).expand(0)));
        // The shift to the right keeps the sign.
        let both = reshape(join((q << 4) >> 4, q >> 4), [GROUPS, 32]);
        store(y, group.expand(1) * 32 + arange(32).expand(0), both.to::<f32>() * load(scales, group).expand(1));
    }

    /// f32 to bf16, up or down by chance: right in the mean.
    #[tile_kernel(tune(BLOCK = [256], warps = [2]), grid = [cdiv(x.len(), BLOCK)], emulate = all)]
    pub fn by_chance<const BLOCK: usize>(x: &[f32], y: &mut [bf16], seed: u64) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let bits = bitcast::<u32>(load(x, i)) + (randint(seed, i.to::<u32>()) & 0xFFFF);
        store(y, i, bitcast::<bf16>((bits >> 16).to::<u16>()));
    }
}

#[test]
fn rows_as_fp8() {
    let (m, n) = (5, 100);
    let x = values(m * n, 3, |v| v * 50.0);
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let x = Buffer::from_slice(rt, &x)?;
        let (mut y, mut scales) = (Buffer::<f8e4m3>::zeros(rt, m * n)?, Buffer::<f32>::zeros(rt, m)?);
        let call = kernels::rows_as_fp8(x.view([m, n])?, y.view_mut([m, n])?, &mut scales);
        rt.launch_with(rt.stream(), call, options)?;
        Ok((y.to_vec()?, scales.to_vec()?))
    };
    everywhere(kernels::rows_as_fp8::DESCS[0], run, |(y, scales), what| {
        for (i, (y, x)) in y.iter().zip(&x).enumerate() {
            let found = y.to_f32() * scales[i / n];
            assert!((found - x).abs() <= x.abs() / 15.0 + scales[i / n] / 500.0, "{what}: {i}: {found} for {x}");
        }
        for (row, scale) in scales.iter().enumerate() {
            let most = x[row * n..][..n].iter().fold(0.0f32, |a, v| a.max(v.abs()));
            assert_eq!(*scale, most / 448.0, "{what}: row {row}");
        }
    });
}

#[test]
fn halves_of_bytes() {
    let groups = 19;
    let mut x = values(groups * 32, 5, |v| v);
    x[64..96].fill(0.0);
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (mut packed, mut scales, mut y) = (vec![0u8; groups * 16], vec![0.0; groups], vec![9.0; groups * 32]);
        rt.launch_with(rt.stream(), kernels::as_int4(&x, &mut packed, &mut scales), options)?;
        rt.launch_with(rt.stream(), kernels::of_int4(&packed, &scales, &mut y), options)?;
        Ok((scales, y))
    };
    everywhere(kernels::as_int4::DESCS[0], run, |(scales, y), what| {
        for (i, (y, x)) in y.iter().zip(&x).enumerate() {
            assert!((y - x).abs() <= 0.5001 * scales[i / 32], "{what}: {i}: {y} for {x}");
        }
    });
}

#[test]
fn rounding_by_chance_is_right_in_the_mean() {
    let x: Vec<f32> = (0..4096).map(|i| 1.0 + (i % 4) as f32 / 512.0).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let mut y = vec![bf16::ZERO; x.len()];
        rt.launch_with(rt.stream(), kernels::by_chance(&x, &mut y, 11), options)?;
        Ok(y)
    };
    everywhere(kernels::by_chance::DESCS[0], run, |y, what| {
        for part in 0..4 {
            let of_part = || (part..4096).step_by(4);
            assert!(of_part().all(|i| (y[i].to_f32() - x[i]).abs() < 1.0 / 128.0), "{what}: neighbors alone");
            let mean = of_part().map(|i| y[i].to_f32()).sum::<f32>() / 1024.0;
            assert!((mean - x[part]).abs() < 0.0005, "{what}: {mean} for {}", x[part]);
        }
    });
}
