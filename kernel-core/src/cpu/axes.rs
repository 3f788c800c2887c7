//! Accesses whose index is a sum over the axes of the tile, as that of a block of a matrix: `row * stride + column`.
//! Offsets and masks are computed for each index of an axis, not for each element, and elements that follow each other
//! in memory are copied as runs.

use super::Mem;
use super::pool::Buffer;
use super::relaxed;
use super::shape::Shape;
use super::tile::{Tile, each, fill, fill_from};
use std::mem::MaybeUninit;
use std::ops::Range;
use tilewright_types::limits::MAX_RANK;

/// An axis of a tile in memory.
pub struct Axis {
    /// The summand of the element's index, for each index along the axis.
    offsets: Tile<u64>,
    /// Whether elements are accessed, for each index along the axis.
    mask: Tile<bool>,
}

/// In place of the number of elements: any index is inside, also one below 0, which has wrapped.
const UNBOUNDED: u64 = u64::MAX;

/// The axis of this extent, by closures of the index along it.
#[inline(always)]
pub fn axis(extent: usize, offset: impl Fn(usize) -> u64, mask: impl Fn(usize) -> bool) -> Axis {
    Axis { offsets: each(&[extent], offset), mask: each(&[extent], mask) }
}

/// The elements at the sums of the axes' offsets, where every axis allows them and the sum is less than `len`, else
/// `other`. The sums wrap; with a `len` of `u64::MAX` they have no bound. There is an axis.
///
/// # Safety
/// The address `base + sum * size` of every allowed element is readable, as [`load`](super::load) has it.
#[inline(never)]
pub unsafe fn load_axes<T: Mem>(base: u64, len: u64, axes: &[Axis], other: T) -> Tile<T> {
    let runs = Runs::new(len, axes);
    let (mut elements, mut aside) = (Buffer::new(runs.shape.elements()), Buffer::new(runs.count));
    let loads = Loads { base, runs: &runs, other, out: elements.uninit(), aside: aside.uninit() };
    // SAFETY: the caller's contract; the processor has the features that are asked for.
    unsafe {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if relaxed::has_vectors() {
            loads.all_by_avx()
        } else {
            loads.all(false)
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        loads.all(false);
    }
    // SAFETY: the runs are all elements of the shape, and each has been written.
    unsafe { Tile::new(runs.shape, elements) }
}

/// The loads of a tile.
struct Loads<'r, T> {
    base: u64,
    runs: &'r Runs<'r>,
    other: T,
    /// The elements of the tile.
    out: &'r mut [MaybeUninit<T>],
    /// Room for a run.
    aside: &'r mut [MaybeUninit<T>],
}

impl<T: Mem> Loads<'_, T> {
    /// # Safety
    /// As of [`load_axes`]. The processor has AVX2 and FMA.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn all_by_avx(self) {
        // SAFETY: the caller's contract.
        unsafe { self.all(true) };
        std::arch::x86_64::_mm256_zeroupper();
    }

    /// # Safety
    /// As of [`load_axes`]. With `vectors` the processor has AVX.
    #[inline(always)]
    unsafe fn all(self, vectors: bool) {
        let Loads { base, runs, other, out, aside } = self;
        // A loop, and no closure that is called for each run: that would not be compiled for AVX.
        for (first, layout) in runs {
            match layout {
                RunLayout::Consecutive { index, from, to } if runs.stride == 1 => {
                    let out = &mut out[first..][..runs.count];
                    fill(&mut out[..from], |_| other);
                    // SAFETY: the elements of the run from `from` to `to` are allowed, and follow each other in memory.
                    unsafe { relaxed::load_short_run(&mut out[from..to], address::<T>(base, index), vectors) };
                    fill(&mut out[to..], |_| other);
                }
                RunLayout::Consecutive { index, from, to } => {
                    fill(&mut aside[..from], |_| other);
                    // SAFETY: as above.
                    unsafe { relaxed::load_short_run(&mut aside[from..to], address::<T>(base, index), vectors) };
                    fill(&mut aside[to..], |_| other);
                    out[first..].iter_mut().step_by(runs.stride).zip(&*aside).for_each(|(o, value)| *o = *value);
                }
                RunLayout::Scattered { row } => {
                    for (j, o) in out[first..].iter_mut().step_by(runs.stride).take(runs.count).enumerate() {
                        // SAFETY: an allowed element is readable.
                        let load = |index| unsafe { relaxed::load(address::<T>(base, index)) };
                        o.write(runs.allowed(row, j).map_or(other, load));
                    }
                }
            }
        }
    }
}

/// Stores `val(i)` at the sums of the axes' offsets, where every axis allows it and the sum is less than `len`. The
/// sums wrap; with a `len` of `u64::MAX` they have no bound. There is an axis.
///
/// # Safety
/// The address `base + sum * size` of every allowed element is writable, as [`store`](super::store) has it.
#[inline(always)]
pub unsafe fn store_axes<T: Mem>(base: u64, len: u64, axes: &[Axis], val: impl Fn(usize) -> T) {
    let runs = Runs::new(len, axes);
    let (mut aside, stride) = (Buffer::new(runs.count), runs.stride);
    for (first, layout) in &runs {
        let values = aside.uninit();
        match stride {
            1 => fill_from(values, first, &val),
            _ => fill(values, |j| val(first + j * stride)),
        }
        match layout {
            // SAFETY: the elements from `from` to `to` are allowed, and follow each other in memory. They have been
            // written.
            RunLayout::Consecutive { index, from, to } => unsafe {
                relaxed::store_run(address::<T>(base, index), &values[from..to]);
            },
            RunLayout::Scattered { row } => {
                for (j, value) in values.iter().enumerate() {
                    if let Some(index) = runs.allowed(row, j) {
                        // SAFETY: an allowed element is writable, and its value is written.
                        unsafe { relaxed::store(address::<T>(base, index), value.assume_init()) };
                    }
                }
            }
        }
    }
}

/// The address of an element of an array.
#[inline(always)]
fn address<T: Mem>(base: u64, index: u64) -> u64 {
    base.wrapping_add(index.wrapping_mul(T::BYTES as u64))
}

/// The layout of a run's elements in memory.
enum RunLayout {
    /// The elements from `from` to `to` are accessed, and no others. Their indices are `index` and those after it.
    Consecutive { index: u64, from: usize, to: usize },
    /// Each element has an offset and a mask of its own; `row` is the offset of the other axes.
    Scattered { row: u64 },
}

/// The runs of a tile: elements along the axis on which they follow each other in memory; without one, along the last
/// axis of more than one element.
struct Runs<'a> {
    axes: &'a [Axis],
    /// The number of elements that the array has.
    len: u64,
    shape: Shape,
    /// Row-major strides, of the axes.
    strides: [usize; MAX_RANK],
    along: usize,
    /// From one element of a run to the next, in row-major order.
    stride: usize,
    /// The elements of a run.
    count: usize,
    /// The elements that the axis allows, if they are an interval with consecutive offsets, and the first one's offset.
    interval: Option<(usize, usize, u64)>,
    /// The axis of which successive runs have successive indices.
    rows: Option<usize>,
}

/// The runs at one index of all axes but two.
struct Group {
    /// Of the first run the first element, in row-major order.
    first: usize,
    /// The offset that these axes add to indices in memory.
    index: u64,
    /// Whether these axes allow the access.
    is_allowed: bool,
}

impl<'a> Runs<'a> {
    #[inline(never)]
    fn new(len: u64, axes: &'a [Axis]) -> Self {
        let mut extents = [1; MAX_RANK];
        extents.iter_mut().zip(axes).for_each(|(e, axis)| *e = axis.offsets.as_slice().len());
        let rank = axes.len();
        let shape = Shape::new(&extents[..rank]);
        let mut strides = [1; MAX_RANK];
        for d in (0..rank.saturating_sub(1)).rev() {
            strides[d] = strides[d + 1] * extents[d + 1];
        }
        let long = || (0..rank).rev().filter(|&d| extents[d] > 1);
        let consecutive = long().find(|&d| axes[d].is_consecutive());
        let along = consecutive.or_else(|| long().next()).unwrap_or(rank - 1);
        let interval = if axes[along].is_consecutive() { axes[along].interval() } else { None };
        let rows = long().find(|&d| d != along);
        Runs { axes, len, shape, strides, along, stride: strides[along], count: extents[along], interval, rows }
    }

    /// The number of runs in a group.
    #[inline(always)]
    fn group_size(&self) -> usize {
        self.rows.map_or(1, |d| self.axes[d].offsets.as_slice().len())
    }

    /// The first element of a run, in row-major order.
    #[inline(always)]
    fn first_element(&self, group: &Group, i: usize) -> usize {
        group.first + self.rows.map_or(0, |d| i * self.strides[d])
    }

    /// Run `i` of a group.
    #[inline(always)]
    fn layout(&self, group: &Group, i: usize) -> RunLayout {
        let (offset, mask) = match self.rows {
            None => (0, true),
            Some(d) => (self.axes[d].offsets.as_slice()[i], self.axes[d].mask.as_slice()[i]),
        };
        let row = group.index.wrapping_add(offset);
        if !(group.is_allowed & mask) {
            return RunLayout::Consecutive { index: 0, from: 0, to: 0 };
        }
        let Some((from, to, offset)) = self.interval else { return RunLayout::Scattered { row } };
        let index = row.wrapping_add(offset);
        if self.len == UNBOUNDED {
            return RunLayout::Consecutive { index, from, to };
        }
        if index.checked_add((to - from) as u64).is_none() && !planted!("cpu-rows-before-the-array") {
            return RunLayout::Scattered { row };
        }
        let inside = self.len.saturating_sub(index).min((to - from) as u64);
        RunLayout::Consecutive { index, from, to: from + inside as usize }
    }

    /// The axes that are neither along a run nor along successive runs.
    fn others(&self) -> impl DoubleEndedIterator<Item = usize> + use<'_> {
        (0..self.axes.len()).filter(|&d| d != self.along && Some(d) != self.rows)
    }

    /// The runs at an index of the [others](Self::others).
    #[inline(never)]
    fn group(&self, at: &[usize; MAX_RANK]) -> Group {
        self.others().fold(Group { first: 0, index: 0, is_allowed: true }, |sum, d| {
            let (offset, mask) = (self.axes[d].offsets.as_slice()[at[d]], self.axes[d].mask.as_slice()[at[d]]);
            Group {
                first: sum.first + at[d] * self.strides[d],
                index: sum.index.wrapping_add(offset),
                is_allowed: sum.is_allowed & mask,
            }
        })
    }

    /// The next index of the [others](Self::others), the last one of which runs fastest.
    #[inline(never)]
    fn after(&self, mut at: [usize; MAX_RANK]) -> Option<[usize; MAX_RANK]> {
        for d in self.others().rev() {
            at[d] += 1;
            if at[d] < self.shape.as_slice()[d] {
                return Some(at);
            }
            at[d] = 0;
        }
        None
    }

    /// The index of element `j` of a run if it is accessed.
    #[inline(always)]
    fn allowed(&self, row: u64, j: usize) -> Option<u64> {
        let axis = &self.axes[self.along];
        let index = row.wrapping_add(axis.offsets.as_slice()[j]);
        (axis.mask.as_slice()[j] && (index < self.len || self.len == UNBOUNDED)).then_some(index)
    }
}

/// Each run: its first element in row-major order, and its layout.
struct Walk<'r> {
    runs: &'r Runs<'r>,
    group: Group,
    /// The runs of the group that are left.
    left: Range<usize>,
    /// The index of the next group.
    next: Option<[usize; MAX_RANK]>,
}

impl<'r> IntoIterator for &'r Runs<'r> {
    type Item = (usize, RunLayout);
    type IntoIter = Walk<'r>;

    fn into_iter(self) -> Walk<'r> {
        let next = (self.shape.elements() > 0).then_some([0; MAX_RANK]);
        Walk { runs: self, group: Group { first: 0, index: 0, is_allowed: false }, left: 0..0, next }
    }
}

impl Iterator for Walk<'_> {
    type Item = (usize, RunLayout);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, RunLayout)> {
        loop {
            if let Some(i) = self.left.next() {
                return Some((self.runs.first_element(&self.group, i), self.runs.layout(&self.group, i)));
            }
            let at = self.next?;
            self.group = self.runs.group(&at);
            self.left = 0..self.runs.group_size();
            self.next = self.runs.after(at);
        }
    }
}

impl Axis {
    fn is_consecutive(&self) -> bool {
        let offsets = self.offsets.as_slice();
        offsets.iter().zip(offsets.iter().skip(1)).fold(true, |all, (a, b)| all & (a.wrapping_add(1) == *b))
    }

    /// The interval where the mask holds, if it is one, and its first offset.
    fn interval(&self) -> Option<(usize, usize, u64)> {
        let mask = self.mask.as_slice();
        let from = mask.iter().take_while(|m| !**m).count();
        let to = from + mask[from..].iter().take_while(|m| **m).count();
        let offset = self.offsets.as_slice().get(from).copied().unwrap_or_default();
        (!mask[to..].contains(&true)).then_some((from, to, offset))
    }
}
