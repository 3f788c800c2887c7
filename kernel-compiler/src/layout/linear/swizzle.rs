//! Conversions through shared memory: the offset of each element, so that both sides move wide vectors without bank
//! conflicts.

use super::layout::{LANE_BITS, Layout};
use super::matrix::{Echelon, basis, combine, deposit_bits, independent, intersection};

/// Log2 of the bytes that a thread accesses at once, at most.
const VECTOR_BITS: u32 = 4;
/// Log2 of a bank's bytes.
const WORD_BITS: u32 = 2;
/// Log2 of the bytes over all banks, which one *wavefront* can move.
const ROW_BITS: u32 = 7;
/// The cost of the barriers around a conversion, in wavefronts.
const BARRIERS: usize = 32;

/// A conversion through shared memory: store, barrier, load. Before the bytes are used again, another barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// The byte offset of an element, as bases over the bits of its flat index. The buffer's start must be aligned to
    /// 16 bytes.
    pub offset: Vec<u32>,
    /// The size of the buffer.
    pub bytes: usize,
    pub store: Access,
    /// The bits of the thread's number that must be 0 in a thread that stores: the others hold copies.
    pub store_free: u32,
    pub load: Access,
    /// For each register of the destination, the slot of `load` that it comes from.
    pub place: Vec<usize>,
    /// In quarters of a wavefront, of one warp.
    pub(super) cost: usize,
}

/// One side of a conversion through shared memory. A thread accesses *slots*, `vec` consecutive ones at a time; the
/// offset of slot `s` in thread `tid` is `offsets[s]` xor the combination of `threads` that `tid` picks. In a group of
/// `vec` slots the offsets ascend by the size of an element, from a multiple of the group's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub vec: usize,
    /// For each slot, a register of the layout with its element.
    pub regs: Vec<usize>,
    /// For each slot, bytes.
    pub offsets: Vec<u32>,
    /// For each bit of the thread's number, bytes.
    pub threads: Vec<u32>,
}

/// A layout as one side of a conversion sees it: without copies.
struct Side {
    /// The register bits in use, and their bases.
    reg_bits: Vec<usize>,
    regs: Vec<u32>,
    /// The bases of the bits of the thread's number; 0 where only one of the copies acts.
    threads: Vec<u32>,
}

impl Side {
    fn store(layout: &Layout) -> Self {
        let free = layout.free_mask();
        let used = |i: usize, mask: u32| mask >> i & 1 == 0;
        let threads =
            layout.thread_bases().into_iter().enumerate().map(|(i, b)| if used(i, free.threads) { b } else { 0 });
        let reg_bits = (0..layout.reg_bases().len()).filter(|&i| used(i, free.regs));
        Side::new(layout, reg_bits.collect(), threads.collect())
    }

    fn load(layout: &Layout) -> Self {
        Side::new(layout, independent(layout.reg_bases()), layout.thread_bases())
    }

    fn new(layout: &Layout, reg_bits: Vec<usize>, threads: Vec<u32>) -> Self {
        let regs = reg_bits.iter().map(|&i| layout.reg_bases()[i]).collect();
        Side { reg_bits, regs, threads }
    }

    /// The bits that one wavefront accesses if a thread moves vectors over `vector`: these and the lanes of a phase.
    fn wavefront(&self, vector: &[u32], elem_bits: u32) -> Vec<u32> {
        let lanes = LANE_BITS.min((ROW_BITS - elem_bits) as usize - vector.len());
        [vector, &self.threads[..lanes]].concat()
    }
}

/// The cheapest way through shared memory, over the vectors that the two sides can have.
///
/// The lowest offset bits are the vector's. Bits that the registers of both sides have can be vectors of both; behind
/// these, bits of one side make its vectors longer.
pub(super) fn shared(src: &Layout, dst: &Layout, elem_bytes: usize) -> Shared {
    let elem_bits = elem_bytes.trailing_zeros();
    assert!(elem_bytes.is_power_of_two() && elem_bits < VECTOR_BITS, "elements of {elem_bytes} bytes");
    let longest = (VECTOR_BITS - elem_bits) as usize;
    let sides = [Side::store(src), Side::load(dst)];
    let bits = src.bits();

    let held = Echelon::span(&sides[1].regs);
    let whole = sides[0].regs.iter().copied().filter(|&b| held.contains(b));
    let common: Vec<u32> = basis(&whole.chain(intersection(&sides[0].regs, &sides[1].regs)).collect::<Vec<_>>());

    let mut best: Option<Plan> = None;
    for both in (0..=longest.min(common.len())).rev() {
        for longer in 0..2 {
            let mut low = common[..both].to_vec();
            let mut seen = Echelon::span(&low);
            low.extend(sides[longer].regs.iter().copied().filter(|&b| seen.insert(b, 0)));
            for len in (both..=longest.min(low.len())).rev() {
                if let Some(plan) = through(&sides, &low[..len], both, longer, bits, elem_bits)
                    && best.as_ref().is_none_or(|best| plan.cost < best.cost)
                {
                    best = Some(plan);
                }
            }
        }
    }
    let Plan { offset, store, load, slots, cost } = best.expect("vectors of one element always work");
    let distinct = Echelon::coordinates(&sides[1].regs);
    let slot_of = |reg: usize| slots.reduce(distinct.reduce(dst.reg_index(reg)).1).1 as usize;
    Shared {
        bytes: elem_bytes << bits,
        store_free: if planted!("exchange-stored-by-all-copies") { 0 } else { src.free_mask().threads },
        place: (0..dst.regs()).map(slot_of).collect(),
        cost: cost + 4 * BARRIERS,
        offset,
        store,
        load,
    }
}

/// One of the ways to choose the vectors.
struct Plan {
    offset: Vec<u32>,
    store: Access,
    load: Access,
    /// From the combinations of the destination's registers in use to the slots of `load`.
    slots: Echelon,
    /// In quarters of a wavefront, of one warp.
    cost: usize,
}

/// The conversion in which side `longer` moves vectors over all of `low` and the other side over its first `both` bits.
fn through(sides: &[Side; 2], low: &[u32], both: usize, longer: usize, bits: u32, elem_bits: u32) -> Option<Plan> {
    let offset = swizzle(sides, low, both, longer, bits, elem_bits)?;
    let vector = |side: usize| &low[..if side == longer { low.len() } else { both }];
    let (store, _) = access(&sides[0], vector(0), &offset, 1 << elem_bits)?;
    let (load, slots) = access(&sides[1], vector(1), &offset, 1 << elem_bits)?;
    // A longer vector is not worth a conflict on the other side.
    if [&store, &load].iter().any(|access| conflicts(access, 1 << elem_bits) > 1) {
        return None;
    }
    // Half a wavefront per instruction, for its issue and its address.
    let cost = |access: &Access| {
        let wavefronts = (access.vec << LANE_BITS << elem_bits >> ROW_BITS).max(1);
        access.regs.len() / access.vec * (4 * wavefronts + 2)
    };
    Some(Plan { cost: cost(&store) + cost(&load), offset, store, load, slots })
}

/// The byte offset of each index bit, or None if a side's threads would not start at whole vectors.
///
/// Offsets are coordinates in a basis of the index space: vector bits, bank bits, segment bits. Two lanes that differ
/// by a vector of the segments' span (and perhaps inside a word) conflict: they meet in a bank, in different words. So
/// the segments are chosen to meet the span of each side's wavefronts in 0 alone. A wavefront is as large as a row, so
/// each span leaves room for all segments, and over F2 two proper subspaces never cover the space: there is always a
/// next one.
fn swizzle(sides: &[Side; 2], low: &[u32], both: usize, longer: usize, bits: u32, elem_bits: u32) -> Option<Vec<u32>> {
    let word = low.len().min(WORD_BITS.saturating_sub(elem_bits) as usize);
    let (long, short) = (&sides[longer], &sides[1 - longer]);
    let long_front = long.wavefront(low, elem_bits);
    let mut short_front = short.wavefront(&low[..both], elem_bits);
    short_front.extend(&low[..word]);

    // The vector coordinates of every index. Threads have none, as a vector starts at a multiple of its length.
    let mut of_both = Echelon::default();
    let mut of_long = Echelon::default();
    let unit = |i: usize| 1u32 << i;
    for (i, &v) in low.iter().enumerate() {
        let (first, second) = if i < both { (unit(i), 0) } else { (0, unit(i)) };
        if !(of_both.constrain(v, first) && of_long.constrain(v, second)) {
            return None;
        }
    }
    let threads = long.threads.iter().map(|&v| (v, true)).chain(short.threads.iter().map(|&v| (v, false)));
    for (v, is_long) in threads {
        if !of_both.constrain(v, 0) || (is_long && !of_long.constrain(v, 0)) {
            return None;
        }
    }
    // To the short side the long one's vectors are banks like others: the free bits are chosen so that its wavefronts
    // reach all of these.
    let mut reached = Echelon::default();
    for v in intersection(&of_long.vectors(), &short_front) {
        reached.insert(of_long.reduce(v).1, 0);
    }
    for &v in &short_front {
        if !of_long.contains(v) {
            let next = (both..low.len()).map(unit).find(|&e| reached.insert(e, 0));
            of_long.insert(v, next.unwrap_or(0));
        }
    }
    for i in 0..bits {
        of_both.insert(1 << i, 0);
        of_long.insert(1 << i, 0);
    }

    // All else lies where these coordinates are 0.
    let inside = |v: u32| v ^ combine(low, of_both.reduce(v).1 ^ of_long.reduce(v).1);
    let rest = basis(&(0..bits).map(|i| inside(1 << i)).collect::<Vec<_>>());
    let filler = (WORD_BITS.saturating_sub(elem_bits) as usize - word).min(rest.len());
    let segments = (low.len() + rest.len()).saturating_sub((ROW_BITS - elem_bits) as usize);
    let mut used = Echelon::span(&rest[..filler]);
    let mut fronts = [long_front, short_front].map(|front| {
        let mut span = used.clone();
        front.iter().for_each(|&v| _ = span.insert(v, 0));
        span
    });
    let mut chosen = Vec::new();
    for _ in 0..segments {
        // One vector, or the sum of two, avoids both fronts wherever any does. High bits first: as much as possible
        // stays row-major.
        let single = rest.iter().rev().copied();
        let pairs = (0..rest.len()).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| rest[i] ^ rest[j]);
        let avoided = |v: u32| fronts.iter().filter(|front| !front.contains(v)).count();
        let mut best = (0, 0);
        for v in single.chain(pairs).filter(|&v| !used.contains(v)) {
            if best.1 == 0 || avoided(v) > best.0 {
                best = (avoided(v), v);
            }
            if best.0 == fronts.len() {
                break;
            }
        }
        chosen.push(best.1);
        used.insert(best.1, 0);
        fronts.iter_mut().for_each(|front| _ = front.insert(best.1, 0));
    }
    // As high bits were taken first: a run of bits stays a run.
    chosen.reverse();
    let banks = rest[filler..].iter().copied().filter(|&v| used.insert(v, 0)).collect::<Vec<_>>();
    let coordinates = Echelon::coordinates(&[low, &rest[..filler], &banks, &chosen].concat());
    Some((0..bits).map(|i| coordinates.reduce(1 << i).1 << elem_bits).collect())
}

/// One side's accesses with vectors over `vector`, and the map from its registers in use to its slots.
fn access(side: &Side, vector: &[u32], offset: &[u32], elem_bytes: usize) -> Option<(Access, Echelon)> {
    // For each bit of a slot's number, registers in use whose elements, together, are that far from slot 0's.
    let held = Echelon::coordinates(&side.regs);
    let mut slots = vector.iter().map(|&v| held.image(v)).collect::<Option<Vec<u32>>>()?;
    let mut seen = Echelon::span(&slots);
    for (i, &basis) in side.regs.iter().enumerate() {
        if seen.insert(1 << i, 0) {
            let within = (combine(offset, basis) / elem_bytes as u32) % (1 << vector.len());
            slots.push(1 << i ^ combine(&slots[..vector.len()], within));
        }
    }
    let of_slot = |slot: u32| combine(&slots, slot);
    let access = Access {
        vec: 1 << vector.len(),
        regs: (0..1 << slots.len()).map(|s| deposit_bits(of_slot(s) as usize, &side.reg_bits)).collect(),
        offsets: (0..1 << slots.len()).map(|s| combine(offset, combine(&side.regs, of_slot(s)))).collect(),
        threads: side.threads.iter().map(|&b| combine(offset, b)).collect(),
    };
    Some((access, Echelon::coordinates(&slots)))
}

/// In how many steps a wavefront of these accesses is done: the most words of one bank that it touches.
///
/// A wavefront is a warp's access of up to 4 bytes a lane, half a warp's of 8, a quarter's of 16. One group of slots in
/// one warp stands for all: another one's offsets are the same xor a constant, which only renames banks and words.
pub fn conflicts(access: &Access, elem_bytes: usize) -> usize {
    let bytes = access.vec * elem_bytes;
    let lanes = (128 / bytes).min(1 << LANE_BITS);
    let phase = |first: usize| {
        let mut words: Vec<u32> = (first..first + lanes)
            .map(|lane| combine(&access.threads, lane as u32) ^ access.offsets[0])
            .flat_map(|start| (start >> WORD_BITS..).take(bytes.div_ceil(4)))
            .collect();
        words.sort_unstable();
        words.dedup();
        let mut banks = [0; 32];
        words.iter().for_each(|&w| banks[w as usize % 32] += 1);
        banks.into_iter().max().unwrap_or(0)
    };
    (0..1 << LANE_BITS).step_by(lanes).map(phase).max().unwrap_or(0)
}
