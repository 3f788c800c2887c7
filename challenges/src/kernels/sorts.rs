//! Sorts and selections by the digits of keys, and counts of values.

use tilewright::{tile_library, tile_module};

pub use counting::*;
pub use selecting::*;
pub use sorting::*;

#[tile_library]
pub mod keys {
    /// Integers in the order of the elements. -0 comes before 0, and NaN of either sign behind all.
    fn key_of<T>(x: Tile<T>) -> Tile<u32> {
        if dtype::<T>() == dtype::<f32>() {
            let bits = bitcast::<u32>(x);
            where_(isnan(x), u32::MAX, bits ^ where_(bits >> 31 == 1, u32::MAX, 1 << 31))
        } else {
            x
        }
    }

    fn element_of<T>(key: Tile<u32>) -> Tile<T> {
        if dtype::<T>() == dtype::<f32>() {
            bitcast::<f32>(key ^ where_(key >> 31 == 1, 1 << 31, u32::MAX))
        } else {
            key
        }
    }
}

#[tile_module]
pub mod counting {
    #[tile_kernel(types(T = [i32, u64]), tune(BLOCK = [4096], warps = [8]), grid = [cdiv(y.len(), BLOCK)])]
    pub fn clear<T: Num, const BLOCK: usize>(y: &mut [T]) {
        store(y, program_id(0) * BLOCK + arange(BLOCK), 0 as T);
    }

    #[tile_kernel(tune(BLOCK = [1024], warps = [4]), grid = [cdiv(y.len(), BLOCK)])]
    pub fn copy_counts<const BLOCK: usize>(x: &[i32], y: &mut [i32]) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        store(y, i, load(x, i));
    }

    /// How many elements are 0, 1, .. are added to `counts`. A program counts in an array of its own if it has enough
    /// bins.
    #[tile_kernel(
        tune(BINS = [1024, 16384, 0], BLOCK = [4096], PER_SM = [3], warps = [8]),
        requires = [BINS == 0 || counts.len() <= BINS],
        grid = [min(cdiv(x.len(), BLOCK), num_sms() * PER_SM)],
        emulate = all,
    )]
    pub fn count_values<const BINS: usize, const BLOCK: usize, const PER_SM: usize>(x: &[i32], counts: &mut [i32]) {
        let mut bins = shared_array::<i32>(if BINS == 0 { 1 } else { BINS });
        for block in range(program_id(0), cdiv(x.len(), BLOCK), num_programs(0)) {
            let i = block * BLOCK + arange(BLOCK);
            let v = load(x, i).other(-1);
            if BINS == 0 {
                atomic_add(counts, v, 1).relaxed();
            } else {
                atomic_add(bins, v, 1).mask(v.to::<u32>().to::<usize>() < counts.len());
            }
        }
        if BINS != 0 {
            for start in (0..counts.len()).step_by(1024) {
                let j = start + arange(1024);
                let n = load(bins, j);
                atomic_add(counts, j, n).mask(n != 0).relaxed();
            }
        }
    }
}

/// A sort by four digits of 8 bits, in a launch each, whose programs look back for each digit.
#[tile_module(use tilewright::grid, use crate::kernels::sorts::keys)]
pub mod sorting {
    /// How many keys have each value of each of their digits.
    #[tile_kernel(
        types(T = [u32, f32]),
        tune(BLOCK = [4096], PER_SM = [4, 2], warps = [8]),
        grid = [min(cdiv(x.len(), BLOCK), num_sms() * PER_SM)],
    )]
    pub fn count_digits<T: Num, const BLOCK: usize, const PER_SM: usize>(x: &[T], counts: &mut [u64]) {
        let mut bins = shared_array::<u32>(1024);
        for block in range(program_id(0), cdiv(x.len(), BLOCK), num_programs(0)) {
            let i = block * BLOCK + arange(BLOCK);
            let key = key_of(load(x, i));
            for d in static_range(0..4) {
                atomic_add(bins, (256 * d) as u32 + ((key >> (8 * d)) & 255), 1).mask(i < x.len());
            }
        }
        let j = arange(1024);
        atomic_add(counts, j, load(bins, j).to::<u64>()).relaxed();
    }

    /// A step: keys go to their places by the digit `round`. A word of a program and a value of the digit has the count
    /// of its keys, and then that of all keys up to this program. Above bit 48 it says which, and of which round, so
    /// that words of earlier rounds, and zeros, count as missing.
    #[tile_kernel(
        kernel(sort_digit, S = u32, D = u32, DESCENDING = false),
        kernel(sort_first_digit, S = f32, D = u32, DESCENDING = false),
        kernel(sort_last_digit, S = u32, D = f32, DESCENDING = false),
        kernel(sort_last_digit_descending, S = u32, D = f32, DESCENDING = true),
        tune(BLOCK = [8192], warps = [8], blocks_per_sm = [2]),
        tune(BLOCK = [4096], warps = [8]),
        requires = [words.len() >= 256 * cdiv(x.len(), BLOCK)],
        grid = [cdiv(x.len(), BLOCK)],
    )]
    pub fn step<S: Num, D: Num, const DESCENDING: bool, const BLOCK: usize>(
        x: &[S],
        y: &mut [D],
        counts: &[u64],
        words: &mut [u64],
        counter: &mut [u32],
        round: usize,
    ) {
        let order = begin_order(counter);
        let (i, d) = (arange(BLOCK), arange(256));
        let inside = order * BLOCK + i < x.len();
        let shift = 8 * round as u32;
        // Behind the last element there are keys that come last.
        let key = where_(inside, key_of(load(x, order * BLOCK + i)), u32::MAX);
        let digit = ((key >> shift) & 255).to::<i32>();
        let count = histogram(digit, 256).to::<u64>();
        let (total, prefix) = (2 * round as u64 + 1, 2 * round as u64 + 2);
        atomic_store(words, order * 256 + d, total << 48 | count).relaxed();

        // The keys of the block by their digits, so that neighbors go to neighboring places.
        let first = cumsum(count, 0).exclusive(0);
        let (mut starts, mut sorted) = (shared_array::<i32>(256), shared_array::<u32>(BLOCK));
        store(starts, d, first.to::<i32>());
        store(sorted, load(starts, digit) + cumcount(digit, 256), key);

        let mut before = zeros::<u64>([256]);
        let mut at = full([256], order);
        let mut is_done = at == 0;
        while min(is_done.to::<u32>()) == 0 {
            let word = atomic_load(words, (at - 1) * 256 + d).mask(!is_done).relaxed();
            let is_known = (word >> 48 == total) | (word >> 48 == prefix);
            before += where_(is_known, word & 0xffff_ffff_ffff, 0);
            at -= where_(is_known, 1usize, 0usize);
            is_done |= (word >> 48 == prefix) | (at == 0);
        }
        atomic_store(words, order * 256 + d, prefix << 48 | (before + count)).relaxed();

        let of_digit = cumsum(load(counts, 256 * round + d), 0).exclusive(0);
        let mut offsets = shared_array::<u64>(256);
        store(offsets, d, of_digit + before - first);
        let key = load(sorted, i);
        let place = load(offsets, (key >> shift) & 255) + i;
        store(y, place, element_of::<D>(if DESCENDING { !key } else { key })).mask(inside);
    }
}

/// The first keys of the order, by three digits: of 11, 11 and 10 bits.
#[tile_module(use crate::kernels::sorts::keys)]
pub mod selecting {
    const BINS: usize = 2048;
    /// Behind the counts of the digits: how many candidates there are, and how many keys are selected.
    const CANDIDATES: usize = 3 * BINS;
    const SELECTED: usize = CANDIDATES + 1;

    /// The first `LEVELS` digits of the key that is the `rank`-th of all, and which of those with these digits it is.
    /// Ranks begin with 1.
    fn choose<const LEVELS: usize>(counts: &[u64], rank: usize) -> (u32, usize) {
        let (mut digits, mut rank) = (0u32, rank);
        for level in static_range(0..LEVELS) {
            let below = cumsum(load(counts, level * BINS + arange(BINS)), 0).exclusive(0);
            digits = digits << (if level == 2 { 10u32 } else { 11u32 }) | (sum((below < rank).to::<u32>()) - 1);
            rank -= max(where_(below < rank, below, 0));
        }
        (digits, rank)
    }

    /// Appends after the earlier ones, in any order.
    fn append(y: &mut [u32], counts: &mut [u64], word: usize, key: Tile<u32>, is_kept: Tile<bool>) {
        let one = is_kept.to::<u32>();
        let through = cumsum(one, 0);
        let total = max(through) as u64;
        if total > 0 {
            let first = atomic_add(counts, word, total).relaxed();
            store(y, first + (through - one).to::<u64>(), key).mask(is_kept);
        }
    }

    /// Counts the values of a digit, of keys with the digits before it that the `k`-th key has.
    #[tile_kernel(
        kernel(count_first_digits, T = f32, LEVEL = 0),
        kernel(count_second_digits, T = u32, LEVEL = 1),
        kernel(count_third_digits, T = u32, LEVEL = 2),
        tune(BLOCK = [4096], PER_SM = [4, 2], warps = [8]),
        grid = [min(cdiv(x.len(), BLOCK), num_sms() * PER_SM)],
    )]
    pub fn count_level<T: Num, const LEVEL: usize, const BLOCK: usize, const PER_SM: usize>(
        x: &[T],
        counts: &mut [u64],
        k: usize,
    ) {
        let (digits, _) = choose::<LEVEL>(counts, k);
        let n = if LEVEL == 0 { x.len() } else { load(counts, CANDIDATES) as usize };
        let mut bins = shared_array::<u32>(BINS);
        for block in range(program_id(0), cdiv(n, BLOCK), num_programs(0)) {
            let i = block * BLOCK + arange(BLOCK);
            match LEVEL {
                0 => {
                    atomic_add(bins, !key_of(load(x, i)) >> 21, 1).mask(i < n);
                }
                1 => {
                    let key = load(x, i);
                    atomic_add(bins, (key >> 10) & 2047, 1).mask((i < n) & (key >> 21 == digits));
                }
                _ => {
                    let key = load(x, i);
                    atomic_add(bins, key & 1023, 1).mask((i < n) & (key >> 10 == digits));
                }
            }
        }
        let j = arange(BINS);
        let count = load(bins, j).to::<u64>();
        atomic_add(counts, LEVEL * BINS + j, count).mask(count != 0).relaxed();
    }

    /// The keys whose first digit is not behind that of the `k`-th one. The greatest element has the first key.
    #[tile_kernel(
        tune(BLOCK = [4096], PER_SM = [4, 2], warps = [8]),
        grid = [min(cdiv(x.len(), BLOCK), num_sms() * PER_SM)],
    )]
    pub fn candidates<const BLOCK: usize, const PER_SM: usize>(x: &[f32], y: &mut [u32], counts: &mut [u64], k: usize) {
        let (digit, _) = choose::<1>(counts, k);
        for block in range(program_id(0), cdiv(x.len(), BLOCK), num_programs(0)) {
            let i = block * BLOCK + arange(BLOCK);
            let key = !key_of(load(x, i));
            append(y, counts, CANDIDATES, key, (i < x.len()) & (key >> 21 <= digit));
        }
    }

    /// The first `k` candidates, in any order. Elements equal to the `k`-th one come last.
    #[tile_kernel(
        tune(BLOCK = [4096], PER_SM = [4, 2], warps = [8]),
        grid = [min(cdiv(x.len(), BLOCK), num_sms() * PER_SM)],
    )]
    pub fn select<const BLOCK: usize, const PER_SM: usize>(x: &[u32], y: &mut [u32], counts: &mut [u64], k: usize) {
        let (key_of_k, equal) = choose::<3>(counts, k);
        let step = num_programs(0) * BLOCK;
        for start in range(program_id(0) * BLOCK, load(counts, CANDIDATES) as usize, step) {
            let i = start + arange(BLOCK);
            let key = load(x, i);
            append(y, counts, SELECTED, key, (i < load(counts, CANDIDATES) as usize) & (key < key_of_k));
        }
        for start in range(program_id(0) * BLOCK, equal, step) {
            let i = start + arange(BLOCK);
            store(y, k - equal + i, full([BLOCK], key_of_k)).mask(i < equal);
        }
    }

    /// A few keys in order, as elements.
    #[tile_kernel(
        tune(BLOCK = [256], warps = [4]),
        tune(BLOCK = [1024, 4096], warps = [8]),
        requires = [x.len() <= BLOCK],
        grid = [1],
        emulate = all,
    )]
    pub fn sort_few_descending<const BLOCK: usize>(x: &[u32], y: &mut [f32]) {
        let i = arange(BLOCK);
        store(y, i, element_of::<f32>(!sort(load(x, i).other(u32::MAX), 0)));
    }
}
