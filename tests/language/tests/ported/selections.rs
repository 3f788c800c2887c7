//! Elements that are chosen, counted or repeated: where they go is a scan.

use tilewright::{Buffer, LaunchOptions, Runtime, tile_module};
use tilewright_language_tests::everywhere::everywhere;
use tilewright_language_tests::matrix::{exact, values};

#[tile_module]
mod kernels {
    /// How many elements of each block the mask keeps.
    #[tile_kernel(tune(BLOCK = [128], warps = [2]), grid = [counts.len()], emulate = all)]
    pub fn kept_of_blocks<const BLOCK: usize>(mask: &[bool], counts: &mut [i32]) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        store(counts, program_id(0), sum(load(mask, i).to::<i32>()));
    }

    /// The elements that the mask keeps, side by side. `before` has those of the blocks before.
    #[tile_kernel(tune(BLOCK = [128], warps = [2]), grid = [before.len()], emulate = all)]
    pub fn masked_select<const BLOCK: usize>(x: &[f32], mask: &[bool], before: &[i32], y: &mut [f32]) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let is_kept = load(mask, i);
        let place = cumsum(is_kept.to::<i32>(), 0).exclusive(load(before, program_id(0)));
        store(y, place, load(x, i)).mask(is_kept);
    }

    /// Exclusive sums of any number of elements, by one program.
    #[tile_kernel(tune(BLOCK = [64], warps = [1]), grid = [1], emulate = all)]
    pub fn exclusive_sums<const BLOCK: usize>(x: &[i32], y: &mut [i32]) {
        let mut carry = 0i32;
        for start in (0..x.len()).step_by(BLOCK) {
            let i = start + arange(BLOCK);
            let t = load(x, i);
            store(y, i, cumsum(t, 0).exclusive(carry));
            carry += sum(t);
        }
    }

    /// The greatest number up to each place along rows, and the last place that has it.
    #[tile_kernel(
        tune(COLUMNS = [64], warps = [1, 4]),
        requires = [x.dim(1) <= COLUMNS],
        grid = [cdiv(x.dim(0), 4)],
        emulate = all,
    )]
    pub fn cummax<const COLUMNS: usize>(x: View<f32, 2>, mut y: ViewMut<f32, 2>, mut places: ViewMut<i64, 2>) {
        let row = program_id(0) * 4;
        let t = x.tile([row, 0], [4, COLUMNS]);
        let place = broadcast(arange(COLUMNS).to::<i64>().expand(0), [4, COLUMNS]);
        let (best, at) = scan((t, place), 1, |(a, i), (b, j)| (where_(b >= a, b, a), where_(b >= a, j, i)));
        y.store([row, 0], best);
        places.store([row, 0], at);
    }

    /// The distinct numbers of a block, ascending, with their counts.
    #[tile_kernel(tune(BLOCK = [256], warps = [1, 4]), grid = [1], emulate = all)]
    pub fn unique<const BLOCK: usize>(x: &[i32], y: &mut [i32], counts: &mut [i32], number: &mut [i32]) {
        let i = arange(BLOCK);
        let t = sort(load(x, i).other(i32::MAX), 0);
        let before = gather(t, i.to::<i32>() - 1, 0);
        let is_in = i < x.len();
        let is_first = is_in & ((i == 0) | (t != before));
        let place = cumsum(is_first.to::<i32>(), 0) - 1;
        store(y, place, t).mask(is_first);
        store(counts, i, histogram(place, BLOCK).mask(is_in));
        store(number, 0, sum(is_first.to::<i32>()));
    }

    /// Whether each element is in a sorted list: a search by halves for all elements of a tile at once.
    #[tile_kernel(tune(BLOCK = [64], warps = [2]), grid = [cdiv(x.len(), BLOCK)], emulate = all)]
    pub fn isin<const BLOCK: usize, const INVERT: bool = false>(x: &[i32], sorted: &[i32], y: &mut [bool]) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let v = load(x, i);
        let (mut low, mut high) = (zeros::<usize>([BLOCK]), full([BLOCK], sorted.len()));
        while max(high - low) > 0 {
            let middle = (low + high) / 2;
            let is_less = (load(sorted, middle) < v) & (low < high);
            low = where_(is_less, middle + 1, low);
            high = where_(is_less, high, middle);
        }
        let found = (load(sorted, low) == v) & (low < sorted.len());
        store(y, i, if INVERT { !found } else { found });
    }

    /// Each element as often as `ends` says, which has the sums of the counts: one program for each element.
    #[tile_kernel(tune(BLOCK = [16], warps = [1]), grid = [x.len()], emulate = all)]
    pub fn repeat_interleave<const BLOCK: usize>(x: &[f32], ends: &[i32], y: &mut [f32]) {
        let row = program_id(0);
        let v = load(x, row);
        let first = if row == 0 { 0i32 } else { load(ends, row - 1) };
        let end = load(ends, row);
        for start in range(first, end, BLOCK as i32) {
            let i = start + arange(BLOCK).to::<i32>();
            store(y, i, full([BLOCK], v)).mask(i < end);
        }
    }

    pub enum Between {
        Linear,
        Lower,
        Higher,
    }

    /// Quantiles of rows, NaN of rows with a NaN.
    #[tile_kernel(
        kernel(quantile_linear, INTERPOLATION = Linear),
        kernel(quantile_lower, INTERPOLATION = Lower),
        kernel(quantile_higher, INTERPOLATION = Higher),
        tune(COLUMNS = [64], warps = [2]),
        requires = [x.dim(1) <= COLUMNS],
        grid = [x.dim(0)],
        emulate = all,
    )]
    pub fn quantile<const COLUMNS: usize, const INTERPOLATION: Between>(
        x: View<f32, 2>,
        qs: &[f32],
        mut y: ViewMut<f32, 2>,
    ) {
        let row = program_id(0);
        let t = reshape(x.tile([row, 0], [1, COLUMNS]).other(f32::NAN), [COLUMNS]);
        // NaN comes last, also of the places behind the row.
        let t = sort(t, 0);
        let has_nan = sum(isnan(t).to::<usize>()) > COLUMNS - x.dim(1);
        for k in 0..qs.len() {
            let place = load(qs, k) * (x.dim(1) - 1) as f32;
            let (below, above) = (floor(place), ceil(place));
            let at = |p: f32| sum(where_(arange(COLUMNS) == p as usize, t, 0.0));
            let v = match INTERPOLATION {
                Between::Linear => at(below) + (place - below) * (at(above) - at(below)),
                Between::Lower => at(below),
                Between::Higher => at(above),
            };
            y.store([row, k], full([1, 1], if has_nan { f32::NAN } else { v }));
        }
    }
}

#[test]
fn masked_elements_are_side_by_side() {
    let n = 1000;
    let x = values(n, 3, |v| v);
    let mask: Vec<bool> = (0..n).map(|i| i * i % 7 < 3).collect();
    let wanted: Vec<f32> = (0..n).filter(|&i| mask[i]).map(|i| x[i]).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let blocks = n.div_ceil(128);
        let (mut counts, mut before, mut y) = (vec![0; blocks], vec![0; blocks], vec![9.0; wanted.len()]);
        rt.launch(kernels::kept_of_blocks(&mask, &mut counts))?;
        rt.launch(kernels::exclusive_sums(&counts, &mut before))?;
        rt.launch_with(rt.stream(), kernels::masked_select(&x, &mask, &before, &mut y), options)?;
        Ok(y)
    };
    everywhere(kernels::masked_select::DESCS[0], run, |y, what| exact(what, &y, &wanted));
}

#[test]
fn sums_across_tiles() {
    let x: Vec<i32> = (0..333).map(|i| i * i % 19 - 5).collect();
    let wanted: Vec<i32> = (0..x.len()).map(|i| x[..i].iter().sum()).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let mut y = vec![9; x.len()];
        rt.launch_with(rt.stream(), kernels::exclusive_sums(&x, &mut y), options)?;
        Ok(y)
    };
    everywhere(kernels::exclusive_sums::DESCS[0], run, |y, what| assert_eq!(y, wanted, "{what}"));
}

#[test]
fn greatest_so_far() {
    let (m, n) = (9, 50);
    let x = values(m * n, 7, |v| (v * 8.0).round());
    let (mut best, mut places) = (x.clone(), vec![0i64; m * n]);
    for at in 0..m * n {
        let is_more = at % n > 0 && best[at - 1] > x[at];
        (best[at], places[at]) = if is_more { (best[at - 1], places[at - 1]) } else { (x[at], (at % n) as i64) };
    }
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let x = Buffer::from_slice(rt, &x)?;
        let (mut y, mut at) = (Buffer::<f32>::zeros(rt, m * n)?, Buffer::<i64>::zeros(rt, m * n)?);
        let call = kernels::cummax(x.view([m, n])?, y.view_mut([m, n])?, at.view_mut([m, n])?);
        rt.launch_with(rt.stream(), call, options)?;
        Ok((y.to_vec()?, at.to_vec()?))
    };
    everywhere(kernels::cummax::DESCS[0], run, |(y, at), what| {
        exact(what, &y, &best);
        assert_eq!(at, places, "{what}");
    });
}

#[test]
fn numbers_without_those_that_come_again() {
    let x: Vec<i32> = (0..200).map(|i| i * i % 53 - 20).collect();
    let mut wanted = x.clone();
    wanted.sort_unstable();
    wanted.dedup();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (mut y, mut counts, mut number) = (vec![0; 256], vec![9; 256], vec![0]);
        rt.launch_with(rt.stream(), kernels::unique(&x, &mut y, &mut counts, &mut number), options)?;
        Ok((y, counts, number))
    };
    everywhere(kernels::unique::DESCS[0], run, |(y, counts, number), what| {
        assert_eq!(&y[..number[0] as usize], &wanted[..], "{what}");
        for (v, found) in wanted.iter().zip(&counts) {
            assert_eq!(*found as usize, x.iter().filter(|x| *x == v).count(), "{what}: {v}");
        }
        assert!(counts[wanted.len()..].iter().all(|&c| c == 0), "{what}");
    });
}

#[test]
fn elements_of_a_list() {
    let sorted: Vec<i32> = (0..70).map(|i| i * 3 - 50).collect();
    let x: Vec<i32> = (0..150).map(|i| i * 2 - 90).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let (mut y, mut none) = (vec![false; 150], vec![true; 150]);
        rt.launch_with(rt.stream(), kernels::isin(&x, &sorted, &mut y), options)?;
        rt.launch_with(rt.stream(), kernels::isin(&x, &[], &mut none), options)?;
        Ok((y, none))
    };
    everywhere(kernels::isin::DESCS[0], run, |(y, none), what| {
        let wanted: Vec<bool> = x.iter().map(|v| sorted.contains(v)).collect();
        assert_eq!((y, none), (wanted, vec![false; 150]), "{what}");
    });
}

#[test]
fn elements_are_repeated() {
    let counts = [3, 0, 17, 1, 40, 0, 2];
    let x = values(counts.len(), 2, |v| v);
    let ends: Vec<i32> = (0..counts.len()).map(|i| counts[..=i].iter().sum::<usize>() as i32).collect();
    let wanted: Vec<f32> = (0..counts.len()).flat_map(|i| vec![x[i]; counts[i]]).collect();
    let run = |rt: &Runtime, options: &LaunchOptions| {
        let mut y = vec![9.0; wanted.len()];
        rt.launch_with(rt.stream(), kernels::repeat_interleave(&x, &ends, &mut y), options)?;
        Ok(y)
    };
    everywhere(kernels::repeat_interleave::DESCS[0], run, |y, what| exact(what, &y, &wanted));
}

#[test]
fn quantiles() {
    let (m, n) = (5, 41);
    let mut x = values(m * n, 4, |v| v);
    x[2 * n + 7] = f32::NAN;
    let qs = [0.0, 0.25, 0.37, 0.5, 1.0];
    macro_rules! check {
        ($kernel:ident, $of:expr) => {
            let run = |rt: &Runtime, options: &LaunchOptions| {
                let (x, q) = (Buffer::from_slice(rt, &x)?, Buffer::from_slice(rt, &qs)?);
                let mut y = Buffer::<f32>::zeros(rt, m * qs.len())?;
                let call = kernels::$kernel(x.view([m, n])?, &q, y.view_mut([m, qs.len()])?);
                rt.launch_with(rt.stream(), call, options)?;
                y.to_vec()
            };
            everywhere(kernels::$kernel::DESCS[0], run, |y, what| {
                for (at, y) in y.iter().enumerate() {
                    let mut row = x[at / qs.len() * n..][..n].to_vec();
                    row.sort_by(f32::total_cmp);
                    let place = qs[at % qs.len()] * (n - 1) as f32;
                    let (low, high) = (row[place.floor() as usize], row[place.ceil() as usize]);
                    let wanted: f32 = if at / qs.len() == 2 { f32::NAN } else { $of(low, high, place.fract()) };
                    assert!((y - wanted).abs() < 1e-6 || y.is_nan() && wanted.is_nan(), "{what}: {at}: {y}, {wanted}");
                }
            });
        };
    }
    check!(quantile_linear, |low: f32, high: f32, part: f32| low + part * (high - low));
    check!(quantile_lower, |low: f32, _, _| low);
    check!(quantile_higher, |_, high: f32, _| high);
}
