//! Kernels of this crate: indices of 64 bits, quantization to 8 bits, sorts.

use tilewright::{tile_kernel, tile_module};

pub use sorting::{argsort_few, merge_last_runs, merge_runs, sort_blocks};

/// Indices as i32. Indices that i32 does not hold become -1 and 2^31 - 1.
#[tile_kernel(tune(BLOCK = [1024], warps = [4]), grid = [cdiv(y.len(), BLOCK)])]
pub fn indices<const BLOCK: usize>(x: &[i64], y: &mut [i32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(y, i, minimum(maximum(load(x, i), -1), 0x7fff_ffff).to::<i32>());
}

/// The scale of each row: its greatest absolute value becomes 127. A scale that is not normal is 0, since it has no
/// reciprocal.
#[tile_kernel(
    types(T = [f32, f16, bf16]),
    tune(BLOCK = [1024, 4096], warps = [4]),
    grid = [scales.len()],
)]
pub fn row_scales<T: Float, const BLOCK: usize>(x: &[T], scales: &mut [f32], columns: usize) {
    let row = program_id(0);
    let mut greatest = zeros::<f32>([BLOCK]);
    for start in (0..columns).step_by(BLOCK) {
        let c = start + arange(BLOCK);
        let v = load(x, row * columns + c).mask(c < columns).to::<f32>();
        greatest = maximum(greatest, abs(v)).propagate_nan();
    }
    let scale = max(greatest).propagate_nan() / 127.0;
    store(scales, row, if scale < 1.1754944e-38 { 0.0 } else { scale });
}

/// Each element of a row times the reciprocal of the row's scale, rounded to nearest even.
#[tile_kernel(
    types(T = [f32, f16, bf16]),
    tune(BLOCK = [1024, 4096], warps = [4]),
    grid = [scales.len(), cdiv(columns, BLOCK)],
)]
pub fn quantize<T: Float, const BLOCK: usize>(x: &[T], scales: &[f32], y: &mut [i8], columns: usize) {
    let row = program_id(0);
    let c = program_id(1) * BLOCK + arange(BLOCK);
    let v = load(x, row * columns + c).mask(c < columns).to::<f32>();
    let scale = load(scales, row);
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let q = minimum(maximum(rint(v * inverse), -127.0), 127.0).to::<i8>();
    store(y, row * columns + c, q).mask(c < columns);
}

/// The product of quantized matrices as floats: each sum times the scales of its row and of its column.
#[tile_kernel(
    types(T = [f32, f16, bf16]),
    tune(BLOCK = [1024], warps = [4]),
    grid = [rows.len(), cdiv(columns.len(), BLOCK)],
)]
pub fn dequantize<T: Float, const BLOCK: usize>(sums: &[i32], rows: &[f32], columns: &[f32], y: &mut [T]) {
    let row = program_id(0);
    let c = program_id(1) * BLOCK + arange(BLOCK);
    let i = row * columns.len() + c;
    let v = load(sums, i).mask(c < columns.len()).to::<f32>();
    store(y, i, (v * load(rows, row) * load(columns, c)).to::<T>()).mask(c < columns.len());
}

/// Sorts of rows: blocks in a tile, and then runs of two lengths merged until a row is one. A key has the order of the
/// element in its upper half, and its index in its lower half, so that keys are unique and equal elements keep their
/// order.
#[tile_module]
pub mod sorting {
    /// Integers in the order of the elements. -0 is 0, and NaN of either sign comes behind all.
    fn order_of<T>(x: Tile<T>) -> Tile<u32> {
        if dtype::<T>() == dtype::<u32>() || dtype::<T>() == dtype::<u8>() {
            x.to::<u32>()
        } else if dtype::<T>() == dtype::<i32>() {
            bitcast::<u32>(x) ^ (1 << 31)
        } else {
            let wide = x.to::<f32>();
            let bits = bitcast::<u32>(where_(wide == 0.0, 0.0, wide));
            where_(isnan(wide), u32::MAX, bits ^ where_(bits >> 31 == 1, u32::MAX, 1 << 31))
        }
    }

    /// The keys of a block of a row. Behind the row there are keys that come last.
    fn keys_of<T>(x: Tile<T>, c: Tile<usize>, columns: usize, descending: bool) -> Tile<u64> {
        let order = order_of(x);
        let order = if descending { !order } else { order };
        where_(c < columns, order.to::<u64>() << 32 | c.to::<u64>(), u64::MAX)
    }

    /// The indices of rows that a program sorts.
    #[tile_kernel(
        types(T = [f32, f16, bf16, u32, i32, u8]),
        tune(BLOCK = [64], warps = [1]),
        tune(BLOCK = [256, 1024], warps = [4]),
        tune(BLOCK = [4096], warps = [8]),
        requires = [columns <= BLOCK],
        grid = [rows],
    )]
    pub fn argsort_few<T: Num, const BLOCK: usize>(
        x: &[T],
        y: &mut [u32],
        rows: usize,
        columns: usize,
        descending: bool,
    ) {
        let (start, c) = (program_id(0) * columns, arange(BLOCK));
        let keys = sort(keys_of(load(x, start + c).mask(c < columns), c, columns, descending), 0);
        store(y, start + c, keys.to::<u32>()).mask(c < columns);
    }

    /// Each block of 4096 elements of a row sorted.
    #[tile_kernel(
        types(T = [f32, f16, bf16, u32, i32, u8]),
        tune(BLOCK = [4096], warps = [8]),
        grid = [cdiv(columns, BLOCK), rows],
    )]
    pub fn sort_blocks<T: Num, const BLOCK: usize>(
        x: &[T],
        y: &mut [u64],
        rows: usize,
        columns: usize,
        descending: bool,
    ) {
        let start = program_id(1) * columns;
        let c = program_id(0) * BLOCK + arange(BLOCK);
        let keys = sort(keys_of(load(x, start + c).mask(c < columns), c, columns, descending), 0);
        store(y, start + c, keys).mask(c < columns);
    }

    /// Each two runs of `run` keys of a row merged: a key goes behind those of its own run that precede it, and behind
    /// the smaller ones of the other run, which a binary search of `steps` steps counts. The last time the indices
    /// alone are stored.
    #[tile_kernel(
        kernel(merge_runs, D = u64),
        kernel(merge_last_runs, D = u32),
        tune(BLOCK = [1024], warps = [4]),
        grid = [cdiv(columns, BLOCK), rows],
    )]
    pub fn merge<D: Num, const BLOCK: usize>(
        x: &[u64],
        y: &mut [D],
        rows: usize,
        columns: usize,
        run: usize,
        steps: usize,
    ) {
        let start = program_id(1) * columns;
        let c = program_id(0) * BLOCK + arange(BLOCK);
        let is_key = c < columns;
        let key = load(x, start + c).mask(is_key);
        let first = c / (2 * run) * (2 * run);
        let middle = minimum(first + run, columns);
        let end = minimum(first + 2 * run, columns);
        let in_first = c < middle;
        let of_other = where_(in_first, middle, first);
        let mut low = of_other;
        let mut high = where_(in_first, end, middle);
        for _ in range(0, steps, 1) {
            let goes_on = low < high;
            let at = (low + high) / 2;
            let is_below = load(x, start + at).mask(goes_on & is_key) < key;
            low = where_(goes_on & is_below, at + 1, low);
            high = where_(goes_on & !is_below, at, high);
        }
        let place = where_(in_first, c, c - middle + first) + (low - of_other);
        store(y, start + place, key.to::<D>()).mask(is_key);
    }
}
