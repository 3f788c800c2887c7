//! One product of a library: its tile scheduler is a constant, its epilogue a closure.

use tilewright::{Error, LaunchOptions, Runtime};
use tilewright::{tile_library, tile_module};
use tilewright_core::f16;
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::Matrix;
use tilewright_language_tests::{view, view_mut};

#[tile_library]
pub mod gemm {
    /// How the tiles of a result are given to programs.
    #[derive(Clone, Copy)]
    pub enum Scheduler {
        /// One tile each, of a grid of rows and columns.
        Grid,
        /// Every `num_programs`-th tile.
        Persistent,
    }

    /// The epilogue of a product.
    pub enum Epilogue {
        /// `c = relu(a b + bias)`
        Bias,
        /// `c = alpha a b + beta c`
        Scaled,
        /// `c = (a b)ᵀ`
        Transposed,
    }

    /// Tile `[BM, BN]` of `a b` at row `i` and column `j`. With SWAP the transpose of it is accumulated.
    fn tile_of<const SWAP: bool, const BM: usize, const BN: usize, const BK: usize>(
        a: View<f16, 2>,
        b: View<f16, 2>,
        i: usize,
        j: usize,
    ) -> Tile<f32> {
        let mut sums = zeros::<f32>([if SWAP { BN } else { BM }, if SWAP { BM } else { BN }]);
        for k in range(0, a.dim(1), BK) {
            let (x, y) = (a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]));
            sums = if SWAP { dot(trans(y), trans(x), sums) } else { dot(x, y, sums) };
        }
        if SWAP { trans(sums) } else { sums }
    }

    /// Calls `visit` with the row and the column, in tiles, of each tile of this program.
    fn each_tile<const SCHEDULER: Scheduler>(tiles: (usize, usize), visit: impl Fn((usize, usize))) {
        match SCHEDULER {
            Scheduler::Grid => visit((program_id(0), program_id(1))),
            Scheduler::Persistent => {
                for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
                    visit(swizzle2d(t, tiles, 2));
                }
            }
        }
    }

    /// Calls `epilogue` with each tile of `a b`, its row and its column. `owners` takes the program of each tile.
    fn product<const SCHEDULER: Scheduler, const SWAP: bool, const BM: usize, const BN: usize, const BK: usize>(
        a: View<f16, 2>,
        b: View<f16, 2>,
        owners: &mut [u64],
        epilogue: impl Fn(Tile<f32>, usize, usize),
    ) {
        let tiles = (cdiv(a.dim(0), BM), cdiv(b.dim(1), BN));
        each_tile::<SCHEDULER>(tiles, |(row, column)| {
            let (i, j) = (row * BM, column * BN);
            epilogue(tile_of::<SWAP, BM, BN, BK>(a, b, i, j), i, j);
            store(owners, row * tiles.1 + column, 1000 * num_programs(1) + program_id(0));
        });
    }
}

#[tile_module(use gemm)]
mod kernels {
    fn activated(x: Tile<f32>, f: impl Fn(Tile<f32>) -> Tile<f32>) -> Tile<f32> {
        f(x)
    }

    #[tile_kernel(
        /// `c = relu(a b + bias)`
        kernel(gemm_bias, EPILOGUE = Bias),
        /// `c = alpha a b + beta c`
        kernel(gemm_scaled, EPILOGUE = Epilogue::Scaled),
        /// `c = (a b)ᵀ`
        kernel(gemm_transposed, EPILOGUE = Transposed),
        tune(
            SCHEDULER = [Grid, Persistent], SWAP = [false, true],
            BM = [32], BN = [16], BK = [32], warps = [2], arch = [80],
        ),
        tune(
            SCHEDULER = [Persistent, Scheduler::Grid], SWAP = [false],
            BM = [64], BN = [64], BK = [64], warps = [4], arch = [90],
        ),
        grid = [
            match SCHEDULER { Scheduler::Grid => cdiv(a.dim(0), BM), Scheduler::Persistent => 2 },
            if SCHEDULER == Scheduler::Grid { cdiv(b.dim(1), BN) } else { 1 },
        ],
        emulate = all,
    )]
    pub fn gemm<
        const EPILOGUE: Epilogue,
        const SCHEDULER: Scheduler,
        const SWAP: bool,
        const BM: usize,
        const BN: usize,
        const BK: usize,
    >(
        a: View<f16, 2>,
        b: View<f16, 2>,
        bias: &[f32],
        owners: &mut [u64],
        mut c: ViewMut<f16, 2>,
        alpha: f32,
        beta: f32,
    ) {
        match EPILOGUE {
            Epilogue::Bias => product::<SCHEDULER, SWAP, BM, BN, BK>(a, b, owners, |sums, i, j| {
                let biased = sums + load(bias, j + arange(BN)).expand(0);
                c.store([i, j], activated(biased, |x| maximum(x, 0.0)).to::<f16>());
            }),
            Epilogue::Scaled => product::<SCHEDULER, SWAP, BM, BN, BK>(a, b, owners, |sums, i, j| {
                let before = c.tile([i, j], [sums.dim(0), sums.dim(1)]).to::<f32>();
                c.store([i, j], (alpha * sums + beta * before).to::<f16>());
            }),
            Epilogue::Transposed => product::<SCHEDULER, SWAP, BM, BN, BK>(a, b, owners, |sums, i, j| {
                c.store([j, i], trans(sums).to::<f16>());
            }),
        }
    }
}

/// Small integers, of which all sums here are exact in f16.
fn integers(dims: [usize; 2], seed: u32) -> Matrix<f16> {
    Matrix::new(dims, dims[1], seed, |x| f16::from_f32((x * 2.5).round()))
}

/// Checks a kernel in every configuration; `wanted` gives an element of `c` from that of `a b` and of `c` before.
macro_rules! check {
    ($kernel:ident, $transposed:expr, $wanted:expr) => {
        for config in kernels::$kernel::DESCS[0].configs {
            for [m, n, k] in [[64, 64, 64], [136, 72, 72], [65, 33, 40]] {
                let (a, b) = (integers([m, k], 1), integers([k, n], 2));
                let bias: Vec<f32> = (0..n).map(|j| (j % 5) as f32 - 2.0).collect();
                let before = integers(if $transposed { [n, m] } else { [m, n] }, 3);
                let constant = |name: &str| config.consts.iter().find(|c| c.0 == name).expect("a constant").1 as usize;
                let tiles = [m.div_ceil(constant("BM")), n.div_ceil(constant("BN"))];
                let persistent = config.name_of("SCHEDULER") == Some("Persistent");
                assert_eq!(constant("SCHEDULER") == gemm::Scheduler::Persistent as usize, persistent);
                for (name, rt) in [("CPU", Runtime::cpu()), ("emulator", Runtime::emulator(7))] {
                    let what = format!("{} {m} {n} {k} on the {name}", config.id);
                    let mut c = Matrix { data: before.data.clone(), ..before };
                    let mut owners = vec![u64::MAX; tiles[0] * tiles[1]];
                    let call =
                        kernels::$kernel(view!(a), view!(b), &bias[..], &mut owners[..], view_mut!(c), 2.0, -1.0);
                    let options = LaunchOptions::new().config(config.id);
                    match rt.launch_with(rt.stream(), call, &options) {
                        Err(Error::CannotLaunch { why, .. }) => {
                            assert!(config.id.contains("arch=90") && n % 8 != 0, "{what}: {why}");
                            continue;
                        }
                        r => r.unwrap_or_else(|e| panic!("{what}: {e}")),
                    }
                    for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                        let product = |d: usize| a.data[i * k + d].to_f32() * b.data[d * n + j].to_f32();
                        let sum: f32 = (0..k).map(product).sum();
                        let at = if $transposed { j * m + i } else { i * n + j };
                        let wanted: f32 = $wanted(sum, before.data[at].to_f32(), bias[j]);
                        assert_eq!(c.data[at].to_f32(), wanted, "{what}: element {i}, {j}");
                    }
                    let mut counts = [0; 2];
                    for (t, &owner) in owners.iter().enumerate() {
                        if persistent {
                            counts[owner as usize % 1000] += 1;
                            assert_eq!(owner / 1000, 1, "{what}");
                        } else {
                            assert_eq!(owner, (1000 * tiles[1] + t / tiles[1]) as u64, "{what}: tile {t}");
                        }
                    }
                    let all = owners.len();
                    assert_eq!(counts, if persistent { [all.div_ceil(2), all / 2] } else { [0; 2] }, "{what}");
                }
            }
        }
    };
}

#[test]
fn a_bias_and_an_activation() {
    check!(gemm_bias, false, |sum: f32, _, bias: f32| (sum + bias).max(0.0));
}

#[test]
fn alpha_and_beta() {
    check!(gemm_scaled, false, |sum: f32, before: f32, _| 2.0 * sum - before);
}

#[test]
fn a_transposed_store() {
    check!(gemm_transposed, true, |sum: f32, _, _| sum);
}

#[tile_module]
mod folds {
    enum Order {
        Up,
        Down,
    }

    /// `f` of all indices below `n`, from `start` on.
    fn fold<const ORDER: Order>(
        n: usize,
        start: (Tile<f32>, f32),
        f: impl Fn((Tile<f32>, f32), usize) -> (Tile<f32>, f32),
    ) -> Tile<f32> {
        let (mut tile, mut scale) = start;
        for k in 0..n {
            let (t, s) = f(
                (tile, scale),
                match ORDER {
                    Order::Up => k,
                    Order::Down => n - 1 - k,
                },
            );
            tile = t;
            scale = s;
        }
        tile * scale
    }

    /// Each of two closures with the result of the other.
    fn crossed(x: Tile<f32>, f: impl Fn(Tile<f32>) -> Tile<f32>, g: impl Fn(Tile<f32>) -> Tile<f32>) -> Tile<f32> {
        f(g(x)) - g(f(x))
    }

    #[tile_kernel(tune(ORDER = [Up, Down], EXACT = [true, false], warps = [1]), grid = [1], emulate = all)]
    pub fn polynomial<const ORDER: Order, const EXACT: bool>(
        x: &[f32],
        coefficients: &[f32],
        y: &mut [f32],
        calls: &mut [u32],
    ) {
        const N: usize = if EXACT { 32 } else { 64 };
        let i = arange(N);
        let v = load(x, i);
        let mut count = 0u32;
        let folded = fold::<ORDER>(coefficients.len(), (zeros::<f32>([N]), 1.0f32), |(sum, scale), k| {
            count += 1;
            (sum * v + load(coefficients, k), scale * 2.0)
        });
        store(y, i, folded + crossed(v, |t| t + load(coefficients, 0), |t| t * t));
        store(calls, 0, count);
    }
}

#[test]
fn closures_of_tuples() {
    let x: Vec<f32> = (0..64).map(|i| (i % 7) as f32 - 3.0).collect();
    let coefficients = [2.0f32, -1.0, 3.0];
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (mut y, mut calls) = (vec![0.5f32; 64], [0u32]);
        let call = folds::polynomial(&x[..], &coefficients[..], &mut y[..], &mut calls[..]);
        rt.launch_with(rt.stream(), call, options).map(|()| (y, calls[0]))
    };
    everywhere(folds::polynomial::DESCS[0], run, |(y, calls), title| {
        let (up, exact) = (title.contains("ORDER=Up"), title.contains("EXACT=true"));
        assert!(up != title.contains("ORDER=Down") && exact != title.contains("EXACT=false"), "{title}");
        assert_eq!(calls, 3, "{title}");
        for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
            let [a, b, c] = if up { coefficients } else { [3.0, -1.0, 2.0] };
            let folded = ((a * x + b) * x + c) * 8.0;
            let crossed = (x * x + 2.0) - (x + 2.0) * (x + 2.0);
            assert_eq!(y, if exact && i >= 32 { 0.5 } else { folded + crossed }, "{title}: element {i}");
        }
    });
}
