//! The code that the tests look at in rust-analyzer.

use tilewright::{tile_kernel, tile_library, tile_module};

/// Every element plus one.
#[tile_kernel(types(T = [f32, f16]), tune(BLOCK = [256], warps = [4]), grid = [cdiv(x.len(), BLOCK)])]
pub fn plus_one<T: Float, const BLOCK: usize>(x: &[T], y: &mut [T]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = load(x, i).to::<f32>();
    let total = sum(v, 0);
    store(y, i, (v + 1.0).to::<T>());
    // here
}

#[tile_library]
pub mod activations {
    /// Negative elements times the slope.
    fn leaky(x: Tile<f32>, slope: f32) -> Tile<f32> {
        where_(x < 0.0, slope * x, x)
    }
}

#[tile_module(use self::activations)]
pub mod products {
    #[tile_kernel(
        tune(BM = [64], BN = [64], BK = [32], warps = [4]),
        grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN)],
    )]
    pub fn matmul<const BM: usize, const BN: usize, const BK: usize>(
        a: View<f16, 2>,
        b: View<f16, 2>,
        mut c: ViewMut<f32, 2>,
    ) {
        let (i, j) = (program_id(0) * BM, program_id(1) * BN);
        let mut acc = zeros::<f32>([BM, BN]);
        for k in range(0, a.dim(1), BK) {
            acc = dot(a.tile([i, k], [BM, BK]), b.tile([k, j], [BK, BN]), acc);
        }
        c.store([i, j], leaky(acc, 0.1));
    }
}

/// A pointer is a parameter of an `unsafe fn` kernel.
///
/// # Safety
/// `p` has `n` elements.
#[tile_kernel(tune(BLOCK = [256]), grid = [cdiv(n, BLOCK)])]
pub unsafe fn negated<const BLOCK: usize>(p: *mut f32, n: usize) {
    let at = program_id(0) * BLOCK + arange(BLOCK);
    let inside = at < n;
    let pointers = p.add(at);
    let old = load(pointers).mask(inside);
    store(pointers, -old).mask(inside);
}

/// A call of a kernel, with its arguments.
pub fn call(x: &[f32], y: &mut [f32]) {
    let call = plus_one(x, y);
}
