//! Loops and branches: sums, recurrences whose carried variables are computed again, and variables in branches.

use tilewright::tile_kernel;
use tilewright_language_tests::differences::{between, gradients};
use tilewright_language_tests::{launch, rows, rows_mut};

/// Two passes over a row that is longer than a tile.
#[tile_kernel(backward, tune(BLOCK = [16], warps = [1]), grid = [x.dim(0)])]
fn rms_norm<const BLOCK: usize>(x: View<f64, 2>, w: &[f64], mut y: ViewMut<f64, 2>) {
    let row = program_id(0);
    let mut squares = zeros::<f64>([BLOCK]);
    for k in (0..x.dim(1)).step_by(BLOCK) {
        let t = sum(x.tile([row, k], [1, BLOCK]), 0);
        squares += t * t;
    }
    let r = rsqrt(sum(squares) / x.dim(1) as f64 + 1e-5);
    for k in (0..x.dim(1)).step_by(BLOCK) {
        let t = sum(x.tile([row, k], [1, BLOCK]), 0);
        y.store([row, k], (t * r * load(w, k + arange(BLOCK))).expand(0));
    }
}

#[test]
fn two_loops_over_a_row() {
    let n = 44;
    gradients(
        &[between(-2.0, 2.0, 2 * n, 21), between(0.5, 1.5, n, 22)],
        &[2 * n],
        &|rt, x, y| launch!(rt, rms_norm(rows!(x[0], n), &x[1][..], rows_mut!(y[0], n))),
        &|rt, x, g, dy| {
            let [gx, gw] = g else { unreachable!() };
            launch!(rt, rms_norm_backward(rows!(x[0], n), rows_mut!(gx, n), &x[1][..], &mut gw[..], rows!(dy[0], n)))
        },
    );
}

/// The derivative of each step depends on the state before it.
#[tile_kernel(backward, tune(N = [16], warps = [1]), grid = [1])]
fn recurrence<const N: usize>(x: &[f64], a: &[f64], first: &[f64], y: &mut [f64]) {
    let i = arange(N);
    let mut h = load(first, i);
    let a = load(a, i);
    for t in 0..x.len() / N {
        h = tanh(h * a + load(x, t * N + i));
    }
    store(y, i, h);
}

#[test]
fn a_recurrence() {
    gradients(
        &[between(-1.0, 1.0, 7 * 16, 23), between(0.5, 1.5, 16, 24), between(-1.0, 1.0, 16, 25)],
        &[16],
        &|rt, x, y| launch!(rt, recurrence(&x[0][..], &x[1][..], &x[2][..], &mut y[0][..])),
        &|rt, x, g, dy| {
            let [gx, ga, gh] = g else { unreachable!() };
            launch!(
                rt,
                recurrence_backward(&x[0][..], &mut gx[..], &x[1][..], &mut ga[..], &x[2][..], &mut gh[..], &dy[0][..])
            )
        },
    );
}

/// Every state is stored, and the step is not 1.
#[tile_kernel(backward, tune(N = [16], warps = [1]), grid = [1])]
fn states<const N: usize>(x: &[f64], y: &mut [f64]) {
    let mut h = full([N], 0.5f64);
    for t in range(1i32, 8, 3) {
        h = h * load(x, t as usize * N + arange(N)) + h * h;
        store(y, t as usize * N + arange(N), h);
    }
}

#[test]
fn states_of_a_loop() {
    // The loop reads rows 1, 4 and 7.
    let of = |x: &[f64]| {
        let mut all = vec![0.0; 8 * 16];
        [1, 4, 7].iter().enumerate().for_each(|(i, t)| all[t * 16..][..16].copy_from_slice(&x[i * 16..][..16]));
        all
    };
    gradients(
        &[between(-1.0, 1.0, 3 * 16, 26)],
        &[8 * 16],
        &|rt, x, y| launch!(rt, states(&of(&x[0])[..], &mut y[0][..])),
        &|rt, x, g, dy| {
            let mut all = vec![0.0; 8 * 16];
            launch!(rt, states_backward(&of(&x[0])[..], &mut all[..], &dy[0][..]))?;
            [1, 4, 7].iter().enumerate().for_each(|(i, t)| {
                g[0][i * 16..][..16].iter_mut().zip(&all[t * 16..]).for_each(|(g, more)| *g += more);
            });
            Ok(())
        },
    );
}

/// The loop of an attention: a running maximum, a running sum, and a result that both rescale.
#[tile_kernel(backward, tune(KEYS = [8], N = [16], warps = [1]), grid = [1])]
fn online_softmax<const KEYS: usize, const N: usize>(s: View<f64, 2>, v: View<f64, 2>, mut y: ViewMut<f64, 2>) {
    let mut top = full([N], -1e30f64);
    let mut total = zeros::<f64>([N]);
    let mut acc = zeros::<f64>([N, 4]);
    for k in (0..s.dim(1)).step_by(KEYS) {
        let t = s.tile([0, k], [N, KEYS]);
        let new = maximum(top, max(t, 1));
        let p = exp(t - new.expand(1));
        let alpha = exp(top - new);
        total = total * alpha + sum(p, 1);
        acc = dot(p, v.tile([k, 0], [KEYS, 4]), acc * alpha.expand(1));
        top = new;
    }
    y.store([0, 0], acc / total.expand(1));
}

#[test]
fn an_online_softmax() {
    let keys = 24;
    gradients(
        &[between(-2.0, 2.0, 16 * keys, 27), between(-1.0, 1.0, keys * 4, 28)],
        &[16 * 4],
        &|rt, x, y| launch!(rt, online_softmax(rows!(x[0], keys), rows!(x[1], 4), rows_mut!(y[0], 4))),
        &|rt, x, g, dy| {
            let [gs, gv] = g else { unreachable!() };
            launch!(
                rt,
                online_softmax_backward(
                    rows!(x[0], keys),
                    rows_mut!(gs, keys),
                    rows!(x[1], 4),
                    rows_mut!(gv, 4),
                    rows!(dy[0], 4)
                )
            )
        },
    );
}

/// Variables of a branch, in a loop, in a branch.
#[tile_kernel(backward, tune(N = [16], warps = [1]), grid = [num_blocks])]
fn branches<const N: usize>(x: &[f64], w: &[f64], num_blocks: usize, y: &mut [f64]) {
    let i = program_id(0) * N + arange(N);
    let v = load(x, i);
    let mut s = v * v;
    let scale = if program_id(0) % 2 == 0 { sum(v) } else { load(w, 0) };
    if program_id(0) > 0 {
        s = s * load(w, 1);
        for k in 0..program_id(0) {
            if k % 2 == 0 {
                s = sin(s) + v;
            } else {
                let t = s * s;
                s = t * load(w, k) + scale;
            }
        }
    } else if scale > 0.0 {
        s += v;
    }
    store(y, i, s * scale);
}

#[test]
fn branches_and_loops() {
    gradients(
        &[between(-1.0, 1.0, 5 * 16, 29), between(0.5, 1.0, 5, 30)],
        &[5 * 16],
        // Elements 2 to 4 of `w` are read by iterations of odd number alone.
        &|rt, x, y| launch!(rt, branches(&x[0][..], &x[1][..], 5usize, &mut y[0][..])),
        &|rt, x, g, dy| {
            let [gx, gw] = g else { unreachable!() };
            launch!(rt, branches_backward(&x[0][..], &mut gx[..], &x[1][..], &mut gw[..], 5usize, &dy[0][..]))
        },
    );
}

/// A loop that runs backwards, and one that may not run at all.
#[tile_kernel(backward, tune(N = [16], warps = [1]), grid = [1])]
fn ranges<const N: usize>(x: &[f64], none: usize, y: &mut [f64]) {
    let mut h = load(x, arange(N));
    for t in (1..4usize).rev() {
        h = h * h + load(x, t * N + arange(N));
    }
    for t in 5..none {
        h = h * load(x, t);
    }
    for _ in static_range(0..2) {
        h = cos(h);
    }
    store(y, arange(N), h);
}

#[test]
fn ranges_of_every_kind() {
    gradients(
        &[between(-1.0, 1.0, 4 * 16, 31)],
        &[16],
        &|rt, x, y| launch!(rt, ranges(&x[0][..], 2usize, &mut y[0][..])),
        &|rt, x, g, dy| launch!(rt, ranges_backward(&x[0][..], &mut g[0][..], 2usize, &dy[0][..])),
    );
}

/// Each branch stores the same elements, and an iteration of a loop stores them once.
#[tile_kernel(backward, tune(N = [16], warps = [1]), grid = [2])]
fn stores_of_branches<const N: usize>(x: &[f64], y: &mut [f64]) {
    let i = program_id(0) * N + arange(N);
    let mut v = load(x, i);
    if program_id(0) == 0 {
        store(y, i, v * v);
    } else {
        for k in 0..3usize {
            v = v * load(x, i);
            if k == 2 {
                store(y, i, v);
            }
        }
    }
}

#[test]
fn one_store_of_several_ways() {
    gradients(
        &[between(-1.0, 1.0, 32, 32)],
        &[32],
        &|rt, x, y| launch!(rt, stores_of_branches(&x[0][..], &mut y[0][..])),
        &|rt, x, g, dy| launch!(rt, stores_of_branches_backward(&x[0][..], &mut g[0][..], &dy[0][..])),
    );
}
