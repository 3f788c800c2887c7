//! Tile operations against loops over indices.

use crate::cpu::*;
use crate::scalar;
use proptest::prelude::*;

fn shapes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..20, 1..=3)
}

/// The index along each dimension.
fn unravel(mut i: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for d in (0..shape.len()).rev() {
        index[d] = i % shape[d];
        i /= shape[d];
    }
    index
}

fn ravel(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |i, (k, n)| i * n + k)
}

/// Few different values, so that there are equal ones.
fn value(seed: u64, i: usize) -> i32 {
    ((i as u64 + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as i32
}

fn tile(seed: u64, shape: &[usize]) -> Tile<i32> {
    each(shape, |i| value(seed, i))
}

/// The values along `axis` for each index of the other dimensions, in order.
fn rows(t: &Tile<i32>, axis: usize) -> Vec<Vec<i32>> {
    let n: usize = t.shape().iter().product();
    let mut rows = std::collections::BTreeMap::<_, Vec<_>>::new();
    for i in 0..n {
        let mut at = unravel(i, t.shape());
        at.remove(axis);
        rows.entry(at).or_default().push(t.as_slice()[i]);
    }
    rows.into_values().collect()
}

fn first_best(row: &[i32]) -> i32 {
    row.iter().position(|v| v == row.iter().max().unwrap()).unwrap() as i32
}

fn without(shape: &[usize], axis: usize) -> Vec<usize> {
    let mut s = shape.to_vec();
    s.remove(axis);
    s
}

proptest! {
    #[test]
    fn reductions(shape in shapes(), axis in 0usize..3, seed in any::<u64>()) {
        let axis = axis % shape.len();
        let t = tile(seed, &shape);
        let rows = rows(&t, axis);
        let sums = reduce(&t, axis, scalar::add);
        prop_assert_eq!(sums.shape(), without(&shape, axis));
        prop_assert_eq!(sums.as_slice(), rows.iter().map(|r| r.iter().sum()).collect::<Vec<i32>>());
        let least = reduce(&t, axis, scalar::min);
        prop_assert_eq!(least.as_slice(), rows.iter().map(|r| *r.iter().min().unwrap()).collect::<Vec<i32>>());
        let best = arg_reduce(&t, axis, scalar::gt);
        prop_assert_eq!(best.shape(), without(&shape, axis));
        prop_assert_eq!(best.as_slice(), rows.iter().map(|r| first_best(r)).collect::<Vec<i32>>());
        prop_assert_eq!(reduce_all(&t, scalar::add), t.as_slice().iter().sum::<i32>());
        prop_assert_eq!(arg_reduce_all(&t, scalar::gt), first_best(t.as_slice()));
    }

    #[test]
    fn long_rows(n in 1usize..5000, seed in any::<u64>()) {
        let t = tile(seed, &[n]);
        prop_assert_eq!(reduce_all(&t, scalar::add), t.as_slice().iter().sum::<i32>());
        prop_assert_eq!(arg_reduce_all(&t, scalar::gt), first_best(t.as_slice()));
    }

    #[test]
    fn permutations(shape in shapes(), order in Just([0usize, 1, 2]).prop_shuffle(), seed in any::<u64>()) {
        let perm: Vec<usize> = order.into_iter().filter(|&d| d < shape.len()).collect();
        let t = tile(seed, &shape);
        let p = permute(&t, &perm);
        let to: Vec<usize> = perm.iter().map(|&d| shape[d]).collect();
        prop_assert_eq!(p.shape(), &to[..]);
        for i in 0..t.as_slice().len() {
            let from = unravel(i, &shape);
            let at: Vec<usize> = perm.iter().map(|&d| from[d]).collect();
            prop_assert_eq!(p.as_slice()[ravel(&at, &to)], t.as_slice()[i]);
        }
    }

    #[test]
    fn broadcasts(shape in shapes(), broadcast_axes in any::<[bool; 3]>(), seed in any::<u64>()) {
        let from: Vec<usize> = shape.iter().zip(broadcast_axes).map(|(&n, s)| if s { 1 } else { n }).collect();
        let t = tile(seed, &from);
        let b = broadcast(&t, &shape);
        prop_assert_eq!(b.shape(), &shape[..]);
        for i in 0..b.as_slice().len() {
            let at: Vec<usize> = unravel(i, &shape).iter().zip(&from).map(|(&k, &n)| if n == 1 { 0 } else { k }).collect();
            prop_assert_eq!(b.as_slice()[i], t.as_slice()[ravel(&at, &from)]);
        }
    }

    #[test]
    fn loads_and_stores(n in 1usize..200, run in 1usize..150, mask in any::<u64>(), offset in 0usize..7) {
        // A run has consecutive addresses; where runs begin is arbitrary. All of it is off by an element.
        let memory: Vec<i16> = (0..1000).collect();
        let place = |i: usize| 1 + offset + (i / run) * (run + 3) % (900 - run) + i % run;
        let addr = |i: usize| memory.as_ptr() as u64 + 2 * place(i) as u64;
        let ok = |i: usize| mask >> (i / 3 % 64) & 1 == 1;
        // SAFETY: `place(i)` is less than 1000, and the addresses of a run follow each other.
        let t = unsafe { load::<i16>(&[n], run, addr, ok, |i| -(i as i16)) };
        for i in 0..n {
            prop_assert_eq!(t.as_slice()[i], if ok(i) { memory[place(i)] } else { -(i as i16) });
        }
        let clip = |i: usize| place(i) >= 20 && place(i) < 300;
        // SAFETY: as above; within a run `place` grows, so that the clip holds on an interval.
        let c = unsafe { load_clipped::<i16>(&[n], run, addr, clip, |_| 0) };
        for i in 0..n {
            prop_assert_eq!(c.as_slice()[i], if clip(i) { memory[place(i)] } else { 0 });
        }
        let (mut out, mut expected) = (vec![0i16; 1000], vec![0i16; 1000]);
        let to = out.as_mut_ptr() as u64;
        // SAFETY: as above, of a vector that is mutable; `t` has `n` elements.
        unsafe { store(&[n], run, |i| to + 2 * place(i) as u64, ok, |i| t.at(i)) };
        for i in (0..n).filter(|&i| ok(i)) {
            expected[place(i)] = t.as_slice()[i];
        }
        prop_assert_eq!(&out, &expected);
    }
}

#[test]
#[should_panic(expected = "tile too large")]
fn elements_that_a_number_cannot_count_are_no_tile() {
    // In 64 bits the product is 2: as many elements would be allocated, and others read.
    permute(&each(&[(1 << 63) + 1, 2], |i| i as u8), &[1, 0]);
}

#[test]
#[should_panic(expected = "tile too large")]
fn memory_that_no_allocation_has_is_no_tile() {
    // The next power of two is beyond 64 bits.
    each(&[usize::MAX], |_| 0u8);
}

#[test]
fn rank_0_and_reshape() {
    assert_eq!((Tile::scalar(7).shape(), Tile::scalar(7).as_slice()), (&[][..], &[7][..]));
    let t = reshape(tile(3, &[4, 6]), &[2, 3, 4]);
    assert_eq!((t.shape(), t.as_slice()), (&[2, 3, 4][..], tile(3, &[24]).as_slice()));
    assert_eq!(broadcast(&Tile::scalar(2), &[]).as_slice(), &[2]);
    assert_eq!(reduce(&each(&[3], |i| i as i64), 0, scalar::add).as_slice(), &[3]);
}

#[test]
fn sums_are_pairwise() {
    // One after the other they would lose a tenth of a percent.
    let t = each(&[1 << 20], |_| 0.1f32);
    assert!((reduce_all(&t, scalar::add) / (0.1 * (1 << 20) as f32) - 1.0).abs() < 1e-6);
    let columns = reshape(t, &[1 << 16, 16]);
    assert!(reduce(&columns, 0, scalar::add).as_slice().iter().all(|s| (s / 6553.6 - 1.0).abs() < 1e-6));
}

#[test]
fn buffers_are_used_again() {
    let first = each(&[1000], |i| i as f32);
    let address = first.as_slice().as_ptr();
    drop(first);
    let second = each(&[900], |i| i as f32);
    assert_eq!(second.as_slice().as_ptr(), address);
    assert_eq!(address as usize % 64, 0);
    std::thread::spawn(move || drop(second)).join().unwrap();
}

/// Scratch memory of bytes becomes that of a `bool`, and so may memory of another library.
#[test]
fn bytes_that_are_not_0_are_true() {
    let bytes: Vec<u8> = (0..100).map(|i| [0, 1, 7, 255][i % 4]).collect();
    let addr = |i: usize| bytes.as_ptr() as u64 + i as u64;
    for run in [1, 100] {
        // SAFETY: the vector has 100 elements.
        let loaded: Tile<bool> = unsafe { load(&[100], run, addr, |_| true, |_| false) };
        let found: Vec<u8> = loaded.as_slice().iter().map(|b| u8::from(*b)).collect();
        assert_eq!(found, bytes.iter().map(|b| u8::from(*b != 0)).collect::<Vec<_>>());
    }
}
