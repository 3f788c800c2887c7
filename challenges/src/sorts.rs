//! Sorts, selections, counts of values, and merges.

use crate::check::{length, shape};
use crate::kernels::{merges, sorts as k};
use crate::queue::Queue;
use tilewright::{AsSlice, AsSliceMut, Result, Scratch};

/// `counts[v] = how many elements of x are v`, modulo 2^32. Elements without a place in `counts` do not count.
///
/// # Errors
/// The errors of a launch.
///
/// # Examples
/// ```
/// let mut counts = [9; 3];
/// tilewright_challenges::histogramming(&tilewright::Runtime::cpu(), &[2, 0, 2, 7, -1], &mut counts)?;
/// assert_eq!(counts, [1, 0, 2]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn histogramming<'a>(on: &impl Queue, x: impl AsSlice<'a, i32>, counts: impl AsSliceMut<'a, i32>) -> Result<()> {
    let (x, counts) = (x.as_slice_arg(), counts.as_slice_mut_arg());
    let mut found = on.stream().scratch::<i32>(counts.len())?;
    on.launch(k::clear(&mut found))?;
    on.launch(k::count_values(x, &mut found))?;
    on.launch(k::copy_counts(&found, counts))
}

/// The elements in ascending order, in place. -0 comes before 0, and NaN comes last; a NaN does not keep its sign and
/// its payload.
///
/// # Errors
/// The errors of a launch, and of the scratch memory: two arrays of this length, and 2 KB for each 4096 elements.
///
/// # Examples
/// ```
/// let mut x = [2.0f32, -1.0, f32::NEG_INFINITY, 0.5];
/// tilewright_challenges::sorting(&tilewright::Runtime::cpu(), &mut x)?;
/// assert_eq!(x, [f32::NEG_INFINITY, -1.0, 0.5, 2.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn sorting<'a>(on: &impl Queue, x: impl AsSliceMut<'a, f32>) -> Result<()> {
    let x = x.as_slice_mut_arg();
    Sort::by_first_digits(on, &x)?.last_digit(on, x)
}

/// `y` = the elements of `x` in ascending order, as of [`sorting`].
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless both arrays have the same length, and as [`sorting`].
///
/// # Examples
/// ```
/// let mut y = [9.0f32; 3];
/// tilewright_challenges::sorted(&tilewright::Runtime::cpu(), &[2.0, -1.0, 0.5], &mut y)?;
/// assert_eq!(y, [-1.0, 0.5, 2.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn sorted<'a>(on: &impl Queue, x: impl AsSlice<'a, f32>, y: impl AsSliceMut<'a, f32>) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    length("sorted", "y", y.len(), &[x.len()])?;
    Sort::by_first_digits(on, x)?.last_digit(on, y)
}

/// `y` = the elements of `x` in ascending order.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless both arrays have the same length.
///
/// # Examples
/// ```
/// let mut y = [0u32; 3];
/// tilewright_challenges::radix_sort(&tilewright::Runtime::cpu(), &[70_000, 3, u32::MAX], &mut y)?;
/// assert_eq!(y, [3, 70_000, u32::MAX]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn radix_sort<'a>(on: &impl Queue, x: impl AsSlice<'a, u32>, y: impl AsSliceMut<'a, u32>) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    length("radix_sort", "y", y.len(), &[x.len()])?;
    let mut s = Sort::new(on, x.len())?;
    on.launch(k::count_digits(x, &mut s.counts))?;
    on.launch(k::sort_digit(x, &mut s.keys, &s.counts, &mut s.words, &mut s.counter, 0))?;
    s.middle_digits(on)?;
    on.launch(k::sort_digit(&s.keys, y, &s.counts, &mut s.words, &mut s.counter, 3))
}

/// The common part of the steps of a sort. Steps write to scratch memory, but for the last one.
struct Sort {
    counts: Scratch<u64>,
    words: Scratch<u64>,
    counter: Scratch<u32>,
    keys: Scratch<u32>,
    others: Scratch<u32>,
}

impl Sort {
    /// No configuration has smaller blocks.
    const BLOCK: usize = 4096;

    fn new(on: &impl Queue, n: usize) -> Result<Sort> {
        let stream = on.stream();
        let mut s = Sort {
            counts: stream.scratch(1024)?,
            words: stream.scratch(256 * n.div_ceil(Self::BLOCK))?,
            // SAFETY: the last program of each step of the sort puts it back.
            counter: unsafe { stream.zeroed_scratch(1) }?,
            keys: stream.scratch(n)?,
            others: stream.scratch(n)?,
        };
        on.launch(k::clear(&mut s.counts))?;
        on.launch(k::clear(&mut s.words))?;
        Ok(s)
    }

    /// The keys of floats, sorted by all digits but the last.
    fn by_first_digits<'a>(on: &impl Queue, x: impl AsSlice<'a, f32>) -> Result<Sort> {
        let x = x.as_slice_arg();
        let mut s = Sort::new(on, x.len())?;
        on.launch(k::count_digits(x, &mut s.counts))?;
        on.launch(k::sort_first_digit(x, &mut s.keys, &s.counts, &mut s.words, &mut s.counter, 0))?;
        s.middle_digits(on)?;
        Ok(s)
    }

    /// The last step, which writes the floats.
    fn last_digit<'a>(mut self, on: &impl Queue, y: impl AsSliceMut<'a, f32>) -> Result<()> {
        let y = y.as_slice_mut_arg();
        on.launch(k::sort_last_digit(&self.keys, y, &self.counts, &mut self.words, &mut self.counter, 3))
    }

    /// The second and the third step, which leave the keys where they are.
    fn middle_digits(&mut self, on: &impl Queue) -> Result<()> {
        on.launch(k::sort_digit(&self.keys, &mut self.others, &self.counts, &mut self.words, &mut self.counter, 1))?;
        on.launch(k::sort_digit(&self.others, &mut self.keys, &self.counts, &mut self.words, &mut self.counter, 2))
    }
}

/// The most elements that one program sorts.
const MAX_SINGLE_PROGRAM: usize = 4096;

/// `y` = the greatest elements of `x`, as many as it has places, in descending order. NaN is greater than all numbers,
/// and 0 is greater than -0.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) if `y` has more places than `x` has elements.
///
/// # Examples
/// ```
/// let mut y = [0.0f32; 2];
/// tilewright_challenges::top_k_selection(&tilewright::Runtime::cpu(), &[1.0, 7.0, -3.0, 4.0], &mut y)?;
/// assert_eq!(y, [7.0, 4.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn top_k_selection<'a>(on: &impl Queue, x: impl AsSlice<'a, f32>, y: impl AsSliceMut<'a, f32>) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    let (n, k) = (x.len(), y.len());
    shape("top_k_selection", k <= n, || format!("y has {k} places, and x has {n} elements"))?;
    if k == 0 {
        return Ok(());
    }
    let stream = on.stream();
    // Counts of three digits, and of the appended elements.
    let mut counts = stream.scratch::<u64>(3 * 2048 + 2)?;
    let (mut candidates, mut selected) = (stream.scratch::<u32>(n)?, stream.scratch::<u32>(k)?);
    on.launch(k::clear(&mut counts))?;
    on.launch(k::count_first_digits(x, &mut counts, k))?;
    on.launch(k::candidates(x, &mut candidates, &mut counts, k))?;
    on.launch(k::count_second_digits(&candidates, &mut counts, k))?;
    on.launch(k::count_third_digits(&candidates, &mut counts, k))?;
    on.launch(k::select(&candidates, &mut selected, &mut counts, k))?;
    if k <= MAX_SINGLE_PROGRAM {
        return on.launch(k::sort_few_descending(&selected, y));
    }
    let mut s = Sort::new(on, k)?;
    on.launch(k::count_digits(&selected, &mut s.counts))?;
    on.launch(k::sort_digit(&selected, &mut s.keys, &s.counts, &mut s.words, &mut s.counter, 0))?;
    s.middle_digits(on)?;
    on.launch(k::sort_last_digit_descending(&s.keys, y, &s.counts, &mut s.words, &mut s.counter, 3))
}

/// `y` = the elements of `a` and `b` in ascending order, which both are in. Of equal elements those of `a` come first.
/// NaN comes last.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless `y` has as many elements as `a` and `b` together.
///
/// # Examples
/// ```
/// let mut y = [0.0f32; 5];
/// tilewright_challenges::parallel_merge(&tilewright::Runtime::cpu(), &[1.0, 4.0], &[2.0, 3.0, 5.0], &mut y)?;
/// assert_eq!(y, [1.0, 2.0, 3.0, 4.0, 5.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn parallel_merge<'a>(
    on: &impl Queue,
    a: impl AsSlice<'a, f32>,
    b: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
) -> Result<()> {
    /// Results between two splits of the arrays.
    const PART: usize = 1024;
    let (a, b, y) = (a.as_slice_arg(), b.as_slice_arg(), y.as_slice_mut_arg());
    let (op, n) = ("parallel_merge", a.len().checked_add(b.len()));
    shape(op, n == Some(y.len()), || format!("y has {} elements, not {} + {}", y.len(), a.len(), b.len()))?;
    let mut splits = on.stream().scratch::<u64>(y.len().div_ceil(PART) + 1)?;
    on.launch(merges::split_parts(a, b, &mut splits))?;
    on.launch(merges::merge(a, b, &splits, y))
}
