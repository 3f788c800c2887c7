//! Accesses by axes against those of each element.

use crate::cpu::*;

/// Pseudorandom numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % n
    }
}

/// The offset and the mask for each index along an axis.
type Given = Vec<(u64, bool)>;

/// Offsets that grow by a stride, also from below 0 on, or that follow no rule; masks that are intervals, or are not.
fn given(random: &mut Random, stride: u64) -> Given {
    let (extent, rule) = (1 + random.below(40), random.below(4));
    let first = if random.below(4) == 0 { 3u64.wrapping_neg() } else { random.below(5) };
    let (from, to) = (random.below(extent / 2 + 1), extent - random.below(extent / 2 + 1));
    let of = |i: u64, random: &mut Random| {
        let offset = if rule == 3 { random.below(300) } else { first.wrapping_add(i * stride) };
        let mask = match rule {
            0 => true,
            1 | 3 => (from..to).contains(&i),
            _ => random.below(3) > 0,
        };
        (offset, mask)
    };
    (0..extent).map(|i| of(i, random)).collect()
}

/// For each element in row-major order, its index in an array of `len` elements; none where it is not accessed.
fn places(axes: &[Given], len: usize) -> Vec<Option<usize>> {
    let mut all = vec![(0u64, true)];
    for axis in axes {
        let with = |&(index, ok): &(u64, bool)| {
            let next = move |&(offset, mask): &(u64, bool)| (index.wrapping_add(offset), ok & mask);
            axis.iter().map(next).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all.into_iter().map(|(index, ok)| (ok && index < len as u64).then_some(index as usize)).collect()
}

/// Random accesses of arrays of a type, whose elements `of` makes of numbers below 100.
fn check<T: Mem + PartialEq + std::fmt::Debug>(seed: u64, of: impl Fn(u64) -> T) {
    let mut random = Random(seed);
    for _ in 0..300 {
        let rank = 1 + random.below(3);
        let strides = (0..rank).map(|_| [0, 1, 1, 2, 7, 41][random.below(6) as usize]).collect::<Vec<u64>>();
        let all: Vec<Given> = strides.into_iter().map(|stride| given(&mut random, stride)).collect();
        let axes: Vec<Axis> = all.iter().map(|a| axis(a.len(), |i| a[i].0, |i| a[i].1)).collect();
        let array: Vec<T> = (0..1 + random.below(400)).map(|i| of(i % 100)).collect();
        let places = places(&all, array.len());
        let (base, len, other) = (array.as_ptr() as u64, array.len() as u64, of(99));

        // SAFETY: an access has an index in the array.
        let loaded = unsafe { load_axes(base, len, &axes, other) };
        let wanted: Vec<T> = places.iter().map(|p| p.map_or(other, |p| array[p])).collect();
        assert_eq!(loaded.as_slice(), wanted);
        assert_eq!(loaded.shape(), all.iter().map(Vec::len).collect::<Vec<_>>());

        // Of elements with one place any may be the last.
        let mut stored = array.clone();
        // SAFETY: as above, of another array of that length.
        unsafe { store_axes(stored.as_mut_ptr() as u64, len, &axes, |i| of(i as u64 % 100)) };
        for (p, value) in stored.iter().enumerate() {
            let mut values = places.iter().enumerate().filter(|(_, q)| **q == Some(p)).map(|(i, _)| of(i as u64 % 100));
            let found = values.clone().any(|v| v == *value) || values.next().is_none() && *value == array[p];
            assert!(found, "{value:?} at {p}");
        }
    }
}

#[test]
fn elements_are_where_the_sums_say() {
    check(1, |n| n as u8);
    check(2, |n| n as i16);
    check(3, |n| n as f32);
    check(4, |n| n as f64);
    check(5, |n| n % 3 == 1);
}

/// Without a bound, rows of a matrix whose last columns are outside.
#[test]
fn an_array_without_a_bound() {
    let matrix: Vec<f32> = (0..30 * 50).map(|i| i as f32).collect();
    let axes = [axis(16, |i| (i as u64 + 20) * 50, |i| i + 20 < 30), axis(64, |i| i as u64 + 8, |i| i + 8 < 50)];
    // SAFETY: the masks keep accesses in 30 rows of 50 columns.
    let loaded = unsafe { load_axes(matrix.as_ptr() as u64, u64::MAX, &axes, -1.0f32) };
    for (i, value) in loaded.as_slice().iter().enumerate() {
        let (r, c) = (i / 64 + 20, i % 64 + 8);
        assert_eq!(*value, if r < 30 && c < 50 { matrix[r * 50 + c] } else { -1.0 });
    }
}

/// Rows and columns before the address, whose indices wrap, up to the last one below 0.
#[test]
fn indices_below_zero() {
    let mut matrix: Vec<f32> = (0..30 * 50).map(|i| i as f32).collect();
    for step in [1, 2] {
        let columns = |i: usize| (i as u64 * step).wrapping_sub(20);
        let axes = || [axis(8, |i| (i as u64).wrapping_sub(3).wrapping_mul(50), |_| true), axis(20, columns, |_| true)];
        let at = |i: usize| 10 * 50 + 25 + (i / 20 * 50) + (i % 20) * step as usize - 150 - 20;
        // SAFETY: the address is in row 10, and rows from 7 on are accessed.
        let base = unsafe { matrix.as_mut_ptr().add(10 * 50 + 25) } as u64;
        // SAFETY: as above.
        let loaded = unsafe { load_axes(base, u64::MAX, &axes(), -1.0f32) };
        for (i, value) in loaded.as_slice().iter().enumerate() {
            assert_eq!(*value, matrix[at(i)]);
        }
        // SAFETY: as above.
        unsafe { store_axes(base, u64::MAX, &axes(), |i| loaded.as_slice()[i] + 0.5) };
        for (i, value) in loaded.as_slice().iter().enumerate() {
            assert_eq!(matrix[at(i)], value + 0.5);
        }
    }
}
