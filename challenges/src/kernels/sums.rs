//! One number of many, in one launch.

use tilewright::{tile_library, tile_module};

pub use floats::{scaled_sum, sum_of_products, sum_of_squared_differences, sum_of_squares};
pub use integers::{box_sum, count_equal, sum_between};

/// Sums over all programs, for modules that use `tilewright::grid`, too.
#[tile_library]
pub mod totals {
    /// Blocks that a lane adds before it adds their sum to that of all.
    const PART: usize = 16;

    /// Calls `done` with the sum of the terms from `first` to before `end`, in one program. Lanes add short parts, and
    /// then these, so that an f32 loses little even where few programs add many terms.
    fn total<T, const BLOCK: usize>(
        (first, end): (usize, usize),
        zero: T,
        words: &mut [u64],
        counter: &mut [u32],
        term: impl Fn(Tile<usize>) -> Tile<T>,
        done: impl Fn(T),
    ) {
        let order = begin_order(counter);
        let step = num_programs(0) * BLOCK;
        let mut sums = full([BLOCK], zero);
        for part in range(first + program_id(0) * BLOCK, end, PART * step) {
            let mut of_part = full([BLOCK], zero);
            for start in range(part, min(end, part + PART * step), step) {
                let i = start + arange(BLOCK);
                of_part += where_(i < end, term(i), zero);
            }
            sums += of_part;
        }
        reduce_programs(words, order, sum(sums), zero, |a, b| a + b, |all| done(all));
    }

    /// The same over the rows and columns of a matrix, in tiles.
    fn total_of_rows<T, const ROWS: usize, const COLS: usize>(
        rows: usize,
        (first, end): (usize, usize),
        zero: T,
        words: &mut [u64],
        counter: &mut [u32],
        term: impl Fn(Tile<usize>, Tile<usize>, Tile<bool>) -> Tile<T>,
        done: impl Fn(T),
    ) {
        let order = begin_order(counter);
        let across = cdiv(end - first, COLS);
        let mut sums = full([ROWS, COLS], zero);
        for t in range(program_id(0), cdiv(rows, ROWS) * across, num_programs(0)) {
            let r = (t / across * ROWS + arange(ROWS)).expand(1);
            let c = (first + t % across * COLS + arange(COLS)).expand(0);
            let inside = (r < rows) & (c < end);
            sums += where_(inside, term(r, c, inside), zero);
        }
        reduce_programs(words, order, sum(sums), zero, |a, b| a + b, |all| done(all));
    }
}

#[tile_module(use tilewright::grid, use crate::kernels::sums::totals)]
pub mod floats {
    pub enum Term {
        Value,
        Square,
        Product,
        SquaredDifference,
    }

    /// `factor` times the sum of the terms over `count`.
    #[tile_kernel(
        kernel(scaled_sum, TERM = Value),
        kernel(sum_of_squares, TERM = Square),
        tune(BLOCK = [4096], PER_SM = [8, 4], warps = [8]),
        grid = [max(1, min(min(cdiv(x.len(), BLOCK), num_sms() * PER_SM), words.len()))],
    )]
    pub fn of_one<const TERM: Term, const BLOCK: usize, const PER_SM: usize>(
        x: &[f32],
        factor: f32,
        count: f32,
        words: &mut [u64],
        counter: &mut [u32],
        y: &mut [f32],
    ) {
        let term = |i| match TERM {
            Term::Square => load(x, i) * load(x, i),
            _ => load(x, i),
        };
        total::<f32, BLOCK>((0, x.len()), 0.0, words, counter, term, |all| {
            store(y, 0, factor * (all / count));
        });
    }

    /// The same of two arrays.
    #[tile_kernel(
        kernel(sum_of_products, TERM = Product),
        kernel(sum_of_squared_differences, TERM = SquaredDifference),
        tune(BLOCK = [4096], PER_SM = [4, 8], warps = [8]),
        grid = [max(1, min(min(cdiv(a.len(), BLOCK), num_sms() * PER_SM), words.len()))],
    )]
    pub fn of_two<const TERM: Term, const BLOCK: usize, const PER_SM: usize>(
        a: &[f32],
        b: &[f32],
        factor: f32,
        count: f32,
        words: &mut [u64],
        counter: &mut [u32],
        y: &mut [f32],
    ) {
        let term = |i| match TERM {
            Term::SquaredDifference => (load(a, i) - load(b, i)) * (load(a, i) - load(b, i)),
            _ => load(a, i) * load(b, i),
        };
        total::<f32, BLOCK>((0, a.len()), 0.0, words, counter, term, |all| {
            store(y, 0, factor * (all / count));
        });
    }
}

#[tile_module(use tilewright::grid, use crate::kernels::sums::totals)]
pub mod integers {
    pub enum Term {
        Value,
        Equal,
    }

    /// The elements from `first` to before `end`: their sum, or how many are `k`. Blocks begin at whole vectors.
    #[tile_kernel(
        kernel(sum_between, TERM = Value),
        kernel(count_equal, TERM = Equal),
        tune(BLOCK = [4096], PER_SM = [8, 4], warps = [8]),
        grid = [max(1, min(min(cdiv(end - first / 4 * 4, BLOCK), num_sms() * PER_SM), words.len()))],
    )]
    pub fn between<const TERM: Term, const BLOCK: usize, const PER_SM: usize>(
        x: &[i32],
        first: usize,
        end: usize,
        k: i32,
        words: &mut [u64],
        counter: &mut [u32],
        y: &mut [i32],
    ) {
        let term = |i| match TERM {
            Term::Equal => where_((i >= first) & (load(x, i) == k), 1, 0),
            _ => where_(i >= first, load(x, i), 0),
        };
        total::<i32, BLOCK>((first / 4 * 4, end), 0, words, counter, term, |all| store(y, 0, all));
    }

    /// The sum of a box: `rows` rows in each of `planes` planes, and the columns from `first` to before `end`. It
    /// begins in row `row` of plane `plane`, of an array of `height` rows a plane and `width` columns.
    #[tile_kernel(
        tune(ROWS = [8], COLS = [512], PER_SM = [8], warps = [8]),
        tune(ROWS = [2], COLS = [2048], PER_SM = [8], warps = [8]),
        tune(ROWS = [64], COLS = [64], PER_SM = [8], warps = [8]),
        grid = [max(
            1,
            min(min(cdiv(planes * rows, ROWS) * cdiv(end - first / 4 * 4, COLS), num_sms() * PER_SM), words.len()),
        )],
    )]
    pub fn box_sum<const ROWS: usize, const COLS: usize, const PER_SM: usize>(
        x: &[i32],
        height: usize,
        width: usize,
        plane: usize,
        planes: usize,
        row: usize,
        rows: usize,
        first: usize,
        end: usize,
        words: &mut [u64],
        counter: &mut [u32],
        y: &mut [i32],
    ) {
        let columns = (first / 4 * 4, end);
        let term = |r: Tile<usize>, c: Tile<usize>, inside: Tile<bool>| {
            let begin = ((plane + r / rows) * height + row + r % rows) * width;
            where_(c >= first, load(x, begin + c).mask(inside), 0)
        };
        total_of_rows::<i32, ROWS, COLS>(planes * rows, columns, 0, words, counter, term, |all| store(y, 0, all));
    }
}
