//! Sequences: a selective state space, sums of ragged parts, ranks of a radix sort.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_module};
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::values;

#[tile_module]
mod kernels {
    /// `h[t] = exp(step[t] * a) * h[t - 1] + step[t] * b[t] * x[t]`, `y[t] = sum(c[t] * h[t])` over a state of `STATE`
    /// numbers, chunk by chunk. A program has a channel.
    #[tile_kernel(tune(CHUNK = [8, 32], STATE = [4, 16], warps = [1, 2]), grid = [x.dim(0)], emulate = all)]
    pub fn selective_scan<const CHUNK: usize, const STATE: usize>(
        x: View<f32, 2>,
        step: View<f32, 2>,
        a: View<f32, 2>,
        b: View<f32, 2>,
        c: View<f32, 2>,
        mut y: ViewMut<f32, 2>,
    ) {
        let channel = program_id(0);
        let rate = reshape(a.tile([channel, 0], [1, STATE]), [STATE]);
        let mut state = zeros::<f32>([STATE]);
        for t in (0..x.dim(1)).step_by(CHUNK) {
            let x = reshape(x.tile([channel, t], [1, CHUNK]), [CHUNK]);
            let step = reshape(step.tile([channel, t], [1, CHUNK]), [CHUNK]);
            let decay = exp(step.expand(1) * rate.expand(0));
            let input = (step * x).expand(1) * b.tile([t, 0], [CHUNK, STATE]);
            let (decay, h) = scan((decay, input), 0, |(a, u), (b, v)| (a * b, b * u + v));
            let h = decay * state.expand(0) + h;
            y.store([channel, t], sum(c.tile([t, 0], [CHUNK, STATE]) * h, 1).expand(0));
            // Behind the end `step` is 0: nothing decays, nothing comes in.
            state = sum(where_((arange(CHUNK) == CHUNK - 1).expand(1), h, 0.0), 0);
        }
    }

    /// Sums of the rows from `begins[i]` to `begins[i + 1]`.
    #[tile_kernel(tune(ROWS = [4], COLUMNS = [32], warps = [1, 2]), grid = [y.dim(0), cdiv(y.dim(1), COLUMNS)], emulate = all)]
    pub fn ragged_sums<const ROWS: usize, const COLUMNS: usize>(
        x: View<f32, 2>,
        begins: &[u32],
        mut y: ViewMut<f32, 2>,
    ) {
        let (part, column) = (program_id(0), program_id(1) * COLUMNS);
        let (begin, end) = (load(begins, part) as usize, load(begins, part + 1) as usize);
        let mut sums = zeros::<f32>([ROWS, COLUMNS]);
        for row in range(begin, end, ROWS) {
            let is_inside = (row + arange(ROWS) < end).expand(1);
            sums += where_(is_inside, x.tile([row, column], [ROWS, COLUMNS]), 0.0);
        }
        y.store([part, column], sum(sums, 0).expand(0));
    }

    /// The places of numbers in the order of a digit of four bits, those of equal digits in their order.
    #[tile_kernel(tune(N = [64, 128], warps = [1, 4]), requires = [keys.len() <= N], grid = [1], emulate = all)]
    pub fn radix_places<const N: usize>(keys: &[u32], places: &mut [u32], shift: u32) {
        let i = arange(N);
        let is_there = i < keys.len();
        let digit = (load(keys, i) >> shift) & 15;
        let is_digit = (digit.expand(1) == arange(16).to::<u32>().expand(0)) & is_there.expand(1);
        let ones = is_digit.to::<u32>();
        let before = cumsum(ones, 0).exclusive(0);
        let first = cumsum(sum(ones, 0), 0).exclusive(0);
        let place = sum(where_(is_digit, before + first.expand(0), 0), 1);
        store(places, i, place).mask(is_there);
    }

    /// Sums within segments: a number begins anew where its segment is another than that before it.
    #[tile_kernel(tune(BLOCK = [64], warps = [1, 2]), grid = [1], emulate = all)]
    pub fn segments<const BLOCK: usize>(x: &[f32], segment: &[i32], y: &mut [f32]) {
        let (mut carry, mut last) = (0.0f32, -1);
        for start in (0..x.len()).step_by(BLOCK) {
            let i = start + arange(BLOCK);
            let s = load(segment, i).other(-2);
            let before = where_(i == start, last, load(segment, i + BLOCK - BLOCK - 1));
            let begins = (s != before) | (i == 0);
            let v = load(x, i) + where_((i == start) & !begins, carry, 0.0);
            let (_, sums) = scan((begins.to::<i32>(), v), 0, |(f, a), (g, b)| (f | g, where_(g != 0, b, a + b)));
            store(y, i, sums);
            let is_last = arange(BLOCK) == BLOCK - 1;
            carry = sum(where_(is_last, sums, 0.0));
            last = sum(where_(is_last, s, 0));
        }
    }
}

#[test]
fn a_selective_state_space() {
    let (channels, n) = (3, 77);
    for state in [4, 16] {
        let (x, step) = (values(channels * n, 1, |v| v), values(channels * n, 2, |v| v.abs()));
        let a = values(channels * state, 3, |v| -v.abs());
        let (b, c) = (values(n * state, 4, |v| v), values(n * state, 5, |v| v));
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let buffers = [&x, &step, &a, &b, &c].map(|v| Buffer::from_slice(rt, v));
            let [x, step, a, b, c] = buffers;
            let (x, step, a, b, c) = (x?, step?, a?, b?, c?);
            let mut y = Buffer::<f32>::zeros(rt, channels * n)?;
            if options.get_config().expect("one").contains(&format!("STATE={state},")) {
                let (time, of_channels) = ([channels, n], [channels, state]);
                let call = kernels::selective_scan(
                    x.view(time)?,
                    step.view(time)?,
                    a.view(of_channels)?,
                    b.view([n, state])?,
                    c.view([n, state])?,
                    y.view_mut(time)?,
                );
                rt.launch_with(rt.stream(), call, options)?;
                return Ok(Some(y.to_vec()?));
            }
            Ok(None)
        };
        everywhere(kernels::selective_scan::DESCS[0], run, |y, what| {
            let Some(y) = y else { return };
            for channel in 0..channels {
                let mut h = vec![0.0f64; state];
                for t in 0..n {
                    let (x, step) = (f64::from(x[channel * n + t]), f64::from(step[channel * n + t]));
                    let mut wanted = 0.0;
                    for (s, h) in h.iter_mut().enumerate() {
                        let decay = (step * f64::from(a[channel * state + s])).exp();
                        *h = decay * *h + step * x * f64::from(b[t * state + s]);
                        wanted += f64::from(c[t * state + s]) * *h;
                    }
                    let found = f64::from(y[channel * n + t]);
                    assert!((found - wanted).abs() < 1e-4, "{what}: {channel}, {t}: {found} for {wanted}");
                }
            }
        });
    }
}

#[test]
fn sums_of_ragged_parts() {
    let begins = [0u32, 5, 5, 6, 20, 33];
    let columns = 45;
    let x = values(33 * columns, 7, |v| (v * 16.0).round());
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (x, begins) = (Buffer::from_slice(rt, &x)?, Buffer::from_slice(rt, &begins)?);
        let mut y = Buffer::<f32>::zeros(rt, 5 * columns)?;
        let call = kernels::ragged_sums(x.view([33, columns])?, &begins, y.view_mut([5, columns])?);
        rt.launch_with(rt.stream(), call, options)?;
        y.to_vec()
    };
    everywhere(kernels::ragged_sums::DESCS[0], run, |y, what| {
        for (i, found) in y.iter().enumerate() {
            let (part, column) = (i / columns, i % columns);
            let rows = begins[part] as usize..begins[part + 1] as usize;
            assert_eq!(*found, rows.map(|r| x[r * columns + column]).sum::<f32>(), "{what}: {part}, {column}");
        }
    });
}

#[test]
fn places_by_a_digit() {
    let keys: Vec<u32> = (0..61u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    for shift in [0, 28] {
        let run = |rt: &Runtime, options: &LaunchOptions| {
            let mut places = vec![99; keys.len()];
            rt.launch_with(rt.stream(), kernels::radix_places(&keys, &mut places, shift), options)?;
            Ok(places)
        };
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&i| keys[i] >> shift & 15);
        everywhere(kernels::radix_places::DESCS[0], run, |places, what| {
            for (place, &i) in order.iter().enumerate() {
                assert_eq!(places[i], place as u32, "{what}: number {i}");
            }
        });
    }
}

#[test]
fn sums_within_segments() {
    let segment: Vec<i32> = (0..200).map(|i| [0, 0, 3, 3, 3, 4, 4, 9][i / 27]).collect();
    let x: Vec<f32> = (0..200).map(|i| (i % 9) as f32 - 3.0).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let mut y = vec![0.0; x.len()];
        rt.launch_with(rt.stream(), kernels::segments(&x, &segment, &mut y), options)?;
        Ok(y)
    };
    everywhere(kernels::segments::DESCS[0], run, |y, what| {
        let mut sum = 0.0;
        for i in 0..x.len() {
            sum = if i > 0 && segment[i] == segment[i - 1] { sum + x[i] } else { x[i] };
            assert_eq!(y[i], sum, "{what}: element {i}");
        }
    });
}
