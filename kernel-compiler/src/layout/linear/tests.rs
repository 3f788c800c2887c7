//! Every claim is checked against tables: a layout lists an index for each register of each thread, and a conversion is
//! executed step by step.

mod holders;
mod scans;

use super::convert::shuffle;
use super::matrix::{Echelon, basis, combine, intersection};
use super::swizzle::conflicts;
use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// The indices that a layout says the registers of each thread hold: the initial state of a simulation.
fn table(l: &Layout) -> Vec<Vec<u32>> {
    let thread = |tid: usize| (0..l.regs()).map(|r| l.apply(r, tid % 32, tid / 32)).collect();
    (0..32 * l.warps()).map(thread).collect()
}

impl Layout {
    /// The coordinates of a flat index.
    fn coords(&self, flat: u32) -> Vec<usize> {
        (0..self.rank()).map(|d| self.coord(flat, d) as usize).collect()
    }
}

/// Unit vectors that complete the span of `vectors` to the whole space of `bits` bits.
fn complement(vectors: &[u32], bits: u32) -> Vec<u32> {
    let mut e = Echelon::span(vectors);
    (0..bits).map(|i| 1 << i).filter(|&unit| e.insert(unit, 0)).collect()
}

fn swap_where(values: &mut Vec<u32>, tid: usize, steps: &[(usize, usize)]) {
    for &(bit, mask) in steps {
        if tid >> bit & 1 == 1 {
            *values = (0..values.len()).map(|i| values[i ^ mask]).collect();
        }
    }
}

fn run_shuffle(s: &Shuffle, src: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let sent: Vec<Vec<u32>> = (0..src.len())
        .map(|tid| {
            let mut u = s.take.iter().map(|&r| src[tid][r]).collect();
            swap_where(&mut u, tid, &s.before);
            u
        })
        .collect();
    let receive = |tid: usize| {
        let from = |k: usize| tid / 32 * 32 + (combine(&s.from, tid as u32) ^ s.rounds[k].lane) as usize;
        let mut t = s.rounds.iter().enumerate().map(|(k, round)| sent[from(k)][round.reg]).collect();
        swap_where(&mut t, tid, &s.after);
        s.place.iter().map(|&k| t[k]).collect()
    };
    (0..src.len()).map(receive).collect()
}

/// The byte offsets of a thread's slots, after a check of the promises of `Access` for each group.
fn slot_offsets(a: &Access, tid: usize, elem_bytes: usize) -> Vec<usize> {
    assert!(a.vec * elem_bytes <= 16 && a.regs.len() == a.offsets.len() && a.regs.len().is_multiple_of(a.vec));
    let thread = combine(&a.threads, tid as u32);
    let offsets: Vec<usize> = a.offsets.iter().map(|&o| (o ^ thread) as usize).collect();
    for group in offsets.chunks(a.vec) {
        assert_eq!(group[0] % (a.vec * elem_bytes), 0, "not aligned");
        assert!(group.iter().enumerate().all(|(i, &o)| o == group[0] + i * elem_bytes), "not ascending: {group:?}");
    }
    offsets
}

fn run_shared(s: &Shared, src: &[Vec<u32>], dst: &Layout, elem_bytes: usize) -> Vec<Vec<u32>> {
    let mut memory = vec![None; s.bytes];
    for tid in (0..src.len()).filter(|tid| tid & s.store_free as usize == 0) {
        for (offset, &reg) in slot_offsets(&s.store, tid, elem_bytes).into_iter().zip(&s.store.regs) {
            assert_eq!(offset, combine(&s.offset, src[tid][reg]) as usize);
            assert!(memory[offset].replace(src[tid][reg]).is_none(), "stored twice");
        }
    }
    let load = |tid: usize| {
        let offsets = slot_offsets(&s.load, tid, elem_bytes);
        for (&offset, &reg) in offsets.iter().zip(&s.load.regs) {
            assert_eq!(offset, combine(&s.offset, dst.apply(reg, tid % 32, tid / 32)) as usize);
        }
        s.place.iter().map(|&slot| memory[offsets[slot]].expect("loaded, but never stored")).collect()
    };
    (0..src.len()).map(load).collect()
}

/// Executes a conversion and checks that every register gets its element of `dst`.
fn check(conversion: &Conversion, src: &Layout, dst: &Layout, elem_bytes: usize) {
    let before = table(src);
    let after = match conversion {
        Conversion::Identity => before,
        Conversion::Registers(regs) => before.iter().map(|t| regs.iter().map(|&r| t[r]).collect()).collect(),
        Conversion::Shuffle(s) => run_shuffle(s, &before),
        Conversion::Shared(s) => run_shared(s, &before, dst, elem_bytes),
    };
    assert_eq!(after, table(dst), "{conversion:?}");
}

fn through_shared(src: &Layout, dst: &Layout, elem_bytes: usize) -> Shared {
    let shared = swizzle::shared(src, dst, elem_bytes);
    check(&Conversion::Shared(Box::new(shared.clone())), src, dst, elem_bytes);
    shared
}

// Random layouts.

/// Padded extents, and the number of warps.
fn tile() -> impl Strategy<Value = (Vec<usize>, usize)> {
    let dims = prop_oneof![vec(0u32..=11, 1), vec(0u32..=6, 2), vec(0u32..=4, 3)];
    (dims, 0u32..=3).prop_map(|(dims, warps)| (dims.iter().map(|d| 1 << d).collect(), 1 << warps))
}

fn shuffled(n: usize) -> impl Strategy<Value = Vec<usize>> {
    Just((0..n).collect::<Vec<_>>()).prop_shuffle()
}

fn from_inputs(shape: &[usize], warps: usize, inputs: &[u32]) -> Layout {
    let warp_bits = warps.trailing_zeros() as usize;
    let (threads, regs) = inputs.split_at(LANE_BITS + warp_bits);
    Layout::new(shape, regs.to_vec(), threads[..LANE_BITS].try_into().unwrap(), threads[LANE_BITS..].to_vec())
}

fn inputs_of(shape: &[usize], warps: usize) -> (u32, usize) {
    let bits = shape.iter().map(|n| n.trailing_zeros()).sum();
    (bits, (bits as usize).max(LANE_BITS + warps.trailing_zeros() as usize))
}

fn blocked(shape: Vec<usize>, warps: usize) -> impl Strategy<Value = Layout> {
    (shuffled(shape.len()), 0..4usize)
        .prop_map(move |(order, vec)| Layout::blocked(&shape, &order, 1usize << vec, warps))
}

/// Any assignment of index bits to registers, lanes and warps, with replicated bits.
fn permuted(shape: Vec<usize>, warps: usize) -> impl Strategy<Value = Layout> {
    let (bits, inputs) = inputs_of(&shape, warps);
    (0..2usize).prop_flat_map(move |more| shuffled(inputs + more)).prop_map(move |order| {
        let inputs: Vec<u32> = order.iter().map(|&i| if i < bits as usize { 1 << i } else { 0 }).collect();
        from_inputs(&shape, warps, &inputs)
    })
}

/// Any surjective matrix.
fn general(shape: Vec<usize>, warps: usize) -> impl Strategy<Value = Layout> {
    let (bits, inputs) = inputs_of(&shape, warps);
    (0..2usize).prop_flat_map(move |more| vec(0..1u32 << bits, inputs + more)).prop_map(move |mut columns| {
        let mut missing = complement(&columns, bits).into_iter();
        let mut e = Echelon::default();
        for c in &mut columns {
            if !e.insert(*c, 0) {
                *c = missing.next().unwrap_or(*c);
            }
        }
        from_inputs(&shape, warps, &columns)
    })
}

fn any_layout(shape: Vec<usize>, warps: usize) -> impl Strategy<Value = Layout> {
    prop_oneof![blocked(shape.clone(), warps), permuted(shape.clone(), warps), general(shape, warps)]
}

fn one() -> impl Strategy<Value = Layout> {
    tile().prop_flat_map(|(shape, warps)| any_layout(shape, warps))
}

fn two() -> impl Strategy<Value = (Layout, Layout)> {
    tile().prop_flat_map(|(shape, warps)| (any_layout(shape.clone(), warps), any_layout(shape, warps)))
}

/// The same warps: only registers and lanes are mixed anew.
fn two_in_warps() -> impl Strategy<Value = (Layout, Layout)> {
    one().prop_flat_map(|src| {
        let inside = src.reg_bases().len() + LANE_BITS;
        (Just(src), vec(0u32..1 << inside, inside), shuffled(inside), any::<bool>()).prop_map(
            |(src, random, order, simple)| {
                let inputs: Vec<u32> = src.lane_bases().iter().chain(src.reg_bases()).copied().collect();
                let mixed: Vec<u32> = if simple {
                    order.iter().map(|&i| inputs[i]).collect()
                } else {
                    let missing = complement(&random, inputs.len() as u32);
                    let full = basis(&[random, missing].concat());
                    full.iter().map(|&x| combine(&inputs, x)).collect()
                };
                let (lanes, regs) = mixed.split_at(LANE_BITS);
                let dst =
                    Layout::new(&src.shape(), regs.to_vec(), lanes.try_into().unwrap(), src.warp_bases().to_vec());
                (src, dst)
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn subspaces(a in vec(0u32..256, 0..6), b in vec(0u32..256, 0..6)) {
        let (in_a, in_b) = (Echelon::span(&a), Echelon::span(&b));
        let common = intersection(&a, &b);
        let in_common = Echelon::span(&common);
        prop_assert_eq!(in_common.rank(), common.len());
        prop_assert!((0..256).all(|v| in_common.contains(v) == (in_a.contains(v) && in_b.contains(v))));
        let rest = complement(&a, 8);
        prop_assert_eq!(rest.len() + in_a.rank(), 8);
        prop_assert_eq!(Echelon::span(&[a, rest].concat()).rank(), 8);
    }

    #[test]
    fn blocked_covers_every_index_once(l in tile().prop_flat_map(|(shape, warps)| blocked(shape, warps))) {
        let mut count = vec![0; 1 << l.bits()];
        table(&l).iter().flatten().for_each(|&i| count[i as usize] += 1);
        let copies = (l.regs() * 32 * l.warps()) >> l.bits();
        prop_assert!(count.iter().all(|&c| c == copies.max(1)));
        // Threads before registers.
        prop_assert!(l.regs() == 1 || copies == 1);
    }

    #[test]
    fn without_the_free_bits_every_index_is_held_once(l in one()) {
        let free = l.free_mask();
        let mut count = vec![0; 1 << l.bits()];
        for (tid, regs) in table(&l).iter().enumerate().filter(|(tid, _)| tid & free.threads as usize == 0) {
            prop_assert!(tid < 32 * l.warps());
            (0..l.regs()).filter(|r| r & free.regs as usize == 0).for_each(|r| count[regs[r] as usize] += 1);
        }
        prop_assert!(count.iter().all(|&c| c == 1));
    }

    #[test]
    fn coordinates_are_row_major(l in one(), flat in any::<u32>()) {
        let flat = flat & ((1 << l.bits()) - 1);
        let coords = l.coords(flat);
        prop_assert_eq!(coords.iter().zip(l.shape()).fold(0, |i, (c, n)| i * n + c), flat as usize);
        prop_assert_eq!(l.flat(&coords), flat);
    }

    #[test]
    fn contiguous_registers_are(l in one(), axis in 0..3usize) {
        let axis = axis % l.rank();
        let n = l.contiguous(axis);
        for group in table(&l).iter().flat_map(|regs| regs.chunks(n)) {
            let first = l.coords(group[0]);
            prop_assert_eq!(first[axis] % n, 0);
            for (i, &index) in group.iter().enumerate() {
                let mut expected = first.clone();
                expected[axis] += i;
                prop_assert_eq!(l.coords(index), expected);
            }
        }
    }

    #[test]
    fn pairs_are_neighbors(l in tile().prop_flat_map(|(shape, warps)| blocked(shape, warps))) {
        if let Some(pairs) = l.pairs() {
            prop_assert_eq!(pairs.bits(), l.bits() - 1);
            prop_assert_eq!(pairs.shape().iter().product::<usize>() * 2, 1 << l.bits());
            for (regs, halves) in table(&l).iter().zip(table(&pairs)) {
                prop_assert!(regs.chunks(2).zip(halves).all(|(two, half)| two == [2 * half, 2 * half + 1]));
            }
        }
    }

    #[test]
    fn terms_are_the_function(bases in vec(any::<u32>(), 0..10), sparse in any::<bool>(), x in 0u32..1024) {
        let bases: Vec<u32> = bases.iter().map(|&b| if sparse { 1 << (b % 32) } else { b }).collect();
        let x = x & ((1 << bases.len()) - 1);
        let parts = terms(&bases);
        prop_assert!(parts.len() <= bases.len());
        prop_assert_eq!(parts.iter().fold(0, |sum, t| sum ^ t.eval(x)), combine(&bases, x));
    }

    #[test]
    fn shape_operations_are_index_arithmetic(l in one(), axis in 0..3usize, perm in shuffled(3), extents in vec(0u32..3, 3)) {
        let axis = axis % l.rank();
        let same = |d: &Derived, result: &Layout, operand: &Layout, index: &dyn Fn(Vec<usize>) -> Vec<usize>| {
            for (regs, from) in table(result).iter().zip(table(operand)) {
                for (r, &i) in regs.iter().enumerate() {
                    assert_eq!(operand.coords(from[d.regs[r]]), index(result.coords(i)));
                }
            }
        };
        let remove = |mut c: Vec<usize>| { c.remove(axis); c };

        let e = l.expand(axis);
        same(&e, &e.layout, &l, &remove);
        prop_assert_eq!(&e.layout.expand_source(axis).layout, &l);
        same(&e.layout.expand_source(axis), &e.layout, &l, &remove);

        // Spread the new dimension, and back.
        let mut shape = e.layout.shape();
        shape[axis] = 1 << extents[0];
        let b = e.layout.broadcast(&shape);
        let first = |mut c: Vec<usize>| { c[axis] = 0; c };
        same(&b, &b.layout, &e.layout, &first);
        // And the other way: squeeze one dimension of any layout.
        let mut shape = l.shape();
        shape[axis] = 1;
        let d = l.broadcast_source(&shape);
        same(&d, &l, &d.layout, &first);
        prop_assert!(d.layout.is_surjective());

        let mut perm = perm;
        perm.retain(|&d| d < l.rank());
        let p = l.permute(&perm);
        let unpermuted = |c: Vec<usize>| { let mut o = c.clone(); perm.iter().zip(c).for_each(|(&d, c)| o[d] = c); o };
        same(&p, &p.layout, &l, &unpermuted);
        same(&p.layout.permute_source(&perm), &p.layout, &l, &unpermuted);
        prop_assert_eq!(&p.layout.permute_source(&perm).layout, &l);

        let flat = [1usize << l.bits()];
        let r = l.reshape(&flat);
        same(&r, &r.layout, &l, &|c| l.coords(c[0] as u32));
        prop_assert_eq!(&r.layout.reshape_source(&l.shape()).layout, &l);
    }

    #[test]
    fn reductions_combine_each_element_once(l in one(), axis in 0..3usize) {
        let axis = axis % l.rank();
        let l = match l.reduction(axis) {
            Ok(_) => l,
            Err(other) => other,
        };
        let plan = l.reduction(axis).unwrap();
        prop_assert_eq!(&plan.result, &l.reduce(axis).layout);
        // A value is the list of the elements in it.
        type Values = Vec<Vec<Vec<u32>>>;
        let union = |parts: Vec<&Vec<u32>>| parts.into_iter().flatten().copied().collect::<Vec<u32>>();
        let mut values: Values = table(&l).iter()
            .map(|regs| plan.groups.iter().map(|group| group.iter().map(|&r| regs[r]).collect()).collect()).collect();
        let single_bits = l.matrix().columns().iter().all(|b| b.count_ones() < 2);
        for group in values.iter().flatten().filter(|_| single_bits) {
            prop_assert!(group.is_sorted_by_key(|&i| l.coord(i, axis)));
        }
        for &mask in &plan.lanes {
            values = (0..values.len()).map(|tid| {
                let other = &values[tid ^ mask as usize];
                values[tid].iter().zip(other).map(|(a, b)| union(vec![a, b])).collect()
            }).collect();
        }
        if let Some(across) = &plan.across {
            check(&super::plan(&across.partial, &across.gathered, 4), &across.partial, &across.gathered, 4);
            let mut by_slot = vec![None; 1 << across.partial.bits()];
            for (regs, held) in table(&across.partial).iter().zip(&values) {
                regs.iter().zip(held).for_each(|(&slot, value)| by_slot[slot as usize] = Some(value.clone()));
            }
            let regs = plan.result.regs();
            values = table(&across.gathered).iter().map(|slots| (0..regs).map(|r| {
                union((0..across.warps).map(|k| by_slot[slots[r + k * regs] as usize].as_ref().unwrap()).collect())
            }).collect()).collect();
        }
        let mut expected = vec![Vec::new(); 1 << plan.result.bits()];
        for e in 0..1u32 << l.bits() {
            let mut c = l.coords(e);
            c.remove(axis);
            expected[plan.result.flat(&c) as usize].push(e);
        }
        for (regs, held) in table(&plan.result).iter().zip(&mut values) {
            for (&i, elements) in regs.iter().zip(held) {
                elements.sort_unstable();
                prop_assert_eq!(&*elements, &expected[i as usize]);
            }
        }
    }

    #[test]
    fn conversions_move_everything((src, dst) in two(), bytes in 0..4usize) {
        check(&plan(&src, &dst, 1usize << bytes), &src, &dst, 1usize << bytes);
        through_shared(&src, &dst, 1usize << bytes);
        check(&plan(&src, &src, 4), &src, &src, 4);
    }

    #[test]
    fn within_warps_one_shuffle_per_register_is_enough((src, dst) in two_in_warps(), bytes in 0..4usize) {
        check(&plan(&src, &dst, 1usize << bytes), &src, &dst, 1usize << bytes);
        let s = shuffle(&src, &dst).expect("nothing leaves its warp");
        prop_assert!(s.rounds.len() <= dst.regs());
        check(&Conversion::Shuffle(s), &src, &dst, 4);
    }

    #[test]
    fn moved_registers_need_no_shuffle((src, order) in one().prop_flat_map(|l| { let n = l.reg_bases().len(); (Just(l), shuffled(n)) })) {
        let regs: Vec<u32> = order.iter().map(|&i| src.reg_bases()[i]).collect();
        let dst = Layout::new(&src.shape(), regs, *src.lane_bases(), src.warp_bases().to_vec());
        let conversion = plan(&src, &dst, 4);
        prop_assert!(matches!(conversion, Conversion::Identity | Conversion::Registers(_)));
        check(&conversion, &src, &dst, 4);
    }

    #[test]
    fn shared_memory_has_no_conflicts((src, dst) in two(), bytes in 0..4usize) {
        let s = through_shared(&src, &dst, 1usize << bytes);
        for access in [&s.store, &s.load] {
            prop_assert!(conflicts(access, 1usize << bytes) == 1, "{:?}", s);
        }
    }
}

/// The vectors of a transpose through shared memory, from rows in vectors of 16 bytes to columns in such vectors.
fn transpose(elem_bytes: usize, shape: [usize; 2], warps: usize) -> (usize, usize) {
    let src = Layout::blocked(&shape, &[1, 0], 16 / elem_bytes, warps);
    let dst = Layout::blocked(&shape, &[0, 1], 16 / elem_bytes, warps);
    let s = through_shared(&src, &dst, elem_bytes);
    assert_eq!((conflicts(&s.store, elem_bytes), conflicts(&s.load, elem_bytes)), (1, 1));
    assert_eq!(s.bytes, shape[0] * shape[1] * elem_bytes);
    assert!(matches!(plan(&src, &dst, elem_bytes), Conversion::Shared(_)));
    (s.store.vec, s.load.vec)
}

/// One side keeps its vectors of 16 bytes, for every width of the other.
#[test]
fn transposes_are_vectors_on_one_side_without_conflicts() {
    for warps in [1, 2, 4, 8] {
        for shape in [[64, 64], [32, 128], [128, 64]] {
            for bytes in [1, 2, 4, 8] {
                let (store, load) = transpose(bytes, shape, warps);
                assert_eq!(store.max(load) * bytes, 16, "{bytes} bytes, {warps} warps");
            }
        }
    }
    assert_eq!(transpose(4, [64, 64], 4), (4, 1));
    // With fewer threads each has a block of the tile, and so vectors of both directions.
    assert_eq!(transpose(1, [64, 64], 1), (16, 4));
}

#[test]
fn common_vectors_are_used_on_both_sides() {
    // The same vectors in each thread, other threads.
    let src = Layout::blocked(&[64, 64], &[1, 0], 4, 4);
    let dst = Layout::new(&[64, 64], vec![1, 2, 4, 8, 16], [64, 128, 256, 512, 1024], vec![2048, 32]);
    let s = through_shared(&src, &dst, 4);
    assert_eq!((s.store.vec, s.load.vec), (4, 4));
    assert_eq!((conflicts(&s.store, 4), conflicts(&s.load, 4)), (1, 1));
}

#[test]
fn conflicts_are_counted() {
    let access = |threads: [u32; 5], vec: usize| Access {
        vec,
        regs: vec![0; vec],
        offsets: vec![0; vec],
        threads: threads.to_vec(),
    };
    assert_eq!(conflicts(&access([4, 8, 16, 32, 64], 1), 4), 1);
    assert_eq!(conflicts(&access([8, 16, 32, 64, 128], 1), 4), 2);
    assert_eq!(conflicts(&access([128, 256, 512, 1024, 2048], 1), 4), 32);
    assert_eq!(conflicts(&access([0; 5], 1), 4), 1);
    assert_eq!(conflicts(&access([1, 2, 4, 8, 16], 1), 1), 1);
    assert_eq!(conflicts(&access([16, 32, 64, 128, 256], 4), 4), 1);
    assert_eq!(conflicts(&access([16, 32, 128, 64, 256], 4), 4), 2);
}

/// A lane takes its own part of elements that every lane has: selects, no shuffle.
#[test]
fn replicated_lanes_select() {
    let src = Layout::new(&[32], vec![1, 2, 4, 8, 16], [0; 5], vec![]);
    let dst = Layout::blocked(&[32], &[0], 1, 1);
    let Conversion::Shuffle(s) = plan(&src, &dst, 4) else { panic!("not within the warp") };
    assert_eq!((s.shuffles(), s.before.len()), (0, 5));
    check(&Conversion::Shuffle(s), &src, &dst, 4);
}

/// The shape of a reduction's result, broadcast again to the layout that it came from: nothing to do.
#[test]
fn softmax_rows_need_no_conversion() {
    let tile = Layout::blocked(&[16, 256], &[1, 0], 4, 4);
    let max = tile.reduction(1).unwrap().result;
    let demanded = tile.broadcast_source(&[16, 1]).layout.expand_source(1).layout;
    assert_eq!(max, demanded);
}

#[test]
fn terms_are_few() {
    let parts = |bases: &[u32]| terms(bases).iter().map(|t| (t.shift, t.mask, t.factor)).collect::<Vec<_>>();
    assert_eq!(parts(&[1, 2, 4, 8, 16, 32, 64]), [(0, 127, 1)]);
    assert_eq!(parts(&[4, 8, 16, 128, 256]), [(0, 7, 4), (0, 24, 16)]);
    assert_eq!(parts(&[0, 0, 0, 1, 2]), [(3, 3, 1)]);
    assert_eq!(parts(&[0, 0b101101]), [(1, 1, 45)]);
}

/// Accumulators of `mma.sync` for stores of single elements: a warp's lanes have neighbors of a row, and the way there
/// stays in the warp.
#[test]
fn stores_of_single_elements_follow_rows() {
    // 32 rows by 64 columns of a warp: pairs of neighbors and 4 lanes of a row, 8 lanes of a column.
    let acc = Layout::new(&[32, 128], vec![1, 1 << 10, 8, 16, 32, 1 << 11], [2, 4, 1 << 7, 1 << 8, 1 << 9], vec![64]);
    let rows = acc.coalesced(1, 1);
    assert_eq!(rows.lane_bases(), &[1, 2, 4, 8, 16]);
    assert!(rows.is_surjective() && rows.warp_bases() == acc.warp_bases());
    assert_eq!(rows.coalesced(1, 1), rows);
    let way = plan(&acc, &rows, 4);
    assert!(matches!(way, Conversion::Shuffle(_)), "{way:?}");
    check(&way, &acc, &rows, 4);
    // Pairs stay pairs.
    let pairs = acc.coalesced(1, 2);
    assert_eq!((pairs.lane_bases(), pairs.contiguous(1)), (&[2, 4, 8, 16, 32], 2));
    check(&plan(&acc, &pairs, 4), &acc, &pairs, 4);
    // A row of four elements has no more; the elements of other warps stay there.
    let narrow = Layout::new(&[64, 4], vec![1], [2, 4, 8, 16, 32], vec![64, 128]);
    assert_eq!(narrow.coalesced(1, 1).lane_bases(), &[1, 2, 8, 16, 32]);
    let apart = Layout::new(&[4, 16], vec![4], [1, 16, 32, 8, 0], vec![2]);
    assert_eq!(apart.coalesced(1, 1).lane_bases(), apart.lane_bases());
}
