//! Products with a f16 accumulator: sums of f32, which are rounded where they are used.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_kernel};
use tilewright_core::{KernelParts, f16};
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::exact;

/// USE: 0 the sums are stored, 1 they are scaled in f16 in each iteration, 2 and 3 they are kept for the next product
/// in another variable.
#[tile_kernel(
    tune(USE = [0, 1, 2, 3], warps = [4]),
    tune(USE = [0], warps = [4], arch = [80]),
    grid = [1],
    emulate = all,
)]
fn sums_of_f16<const USE: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f16, 2>) {
    let mut sums = full([64, 64], 2048.0.to::<f16>());
    let mut last = zeros::<f16>([64, 64]);
    for k in range(0, a.dim(1), 32) {
        let (x, y) = (a.tile([0, k], [64, 32]), b.tile([k, 0], [32, 64]));
        match USE {
            0 => sums = dot(x, y, sums),
            1 => sums = dot(x, y, sums) * 1.0,
            2 => {
                last = dot(x, y, last);
                sums = last;
            }
            _ => {
                let mut part = sums;
                part = dot(x, y, part);
                sums = part;
            }
        }
    }
    c.store([0, 0], sums);
}

/// One after another without a loop, of a batch.
#[tile_kernel(tune(warps = [4]), grid = [1], emulate = all)]
fn batch_of_f16(a: &[f16], b: &[f16], c: &mut [f16]) {
    let x = reshape(load(a, arange(2048)), [2, 2, 16, 32]);
    let y = reshape(load(b, arange(2048)), [2, 2, 32, 16]);
    let first = dot(x, y, 2048.0.to::<f16>());
    store(c, reshape(arange(1024), [2, 2, 16, 16]), dot(x, y, first));
}

#[test]
fn sums_are_rounded_once() {
    let (a, b) = (vec![f16::from_f32(0.125); 64 * 192], vec![f16::from_f32(0.0625); 192 * 64]);
    for config in sums_of_f16::DESCS[0].configs {
        // Six products of 1/4. Numbers from 2048 on are 2 apart.
        let wanted = match config.id {
            c if c.contains("USE=0") || c.contains("USE=3") => 2050.0,
            c if c.contains("USE=1") => 2048.0,
            _ => 1.5,
        };
        let one = KernelParts { configs: std::slice::from_ref(config), ..**sums_of_f16::DESCS[0] };
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let (a, b) = (Buffer::from_slice(rt, &a)?, Buffer::from_slice(rt, &b)?);
            let mut c = Buffer::<f16>::zeros(rt, 64 * 64)?;
            let call = sums_of_f16(a.view([64, 192])?, b.view([192, 64])?, c.view_mut([64, 64])?);
            rt.launch_with(rt.stream(), call, options)?;
            c.to_vec()
        };
        everywhere(&one, run, |c, what| exact(what, &c, &vec![f16::from_f32(wanted); 64 * 64]));
    }
}

#[test]
fn sums_of_batches_are_rounded_once() {
    let (a, b) = (vec![f16::from_f32(0.125); 2048], vec![f16::from_f32(0.25); 2048]);
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let mut c = vec![f16::ZERO; 1024];
        rt.launch_with(rt.stream(), batch_of_f16(&a, &b, &mut c), options)?;
        Ok(c)
    };
    // Two products of 1, of which one alone leaves 2048.
    everywhere(batch_of_f16::DESCS[0], run, |c, what| exact(what, &c, &vec![f16::from_f32(2050.0); 1024]));
}
