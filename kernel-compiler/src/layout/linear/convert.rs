//! Conversions between layouts: within a thread, within a warp, or through shared memory.

use super::layout::{LANE_BITS, Layout};
use super::matrix::{Echelon, combine, deposit_bits, independent};
use super::swizzle::{self, Shared};

/// The way from one layout of a tile to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// The layouts are the same.
    Identity,
    /// Nothing leaves its thread: for each register of the destination, the source's.
    Registers(Vec<usize>),
    /// Nothing leaves its warp, and shuffles are cheaper than shared memory.
    Shuffle(Shuffle),
    /// Through shared memory.
    Shared(Box<Shared>),
}

/// A conversion by shuffles. With `v` the source's registers, a thread does
/// - `u[i] = v[take[i]]`;
/// - for each `(bit, mask)` of `before`, if that bit of the thread's number is set: `u[i] = u[i ^ mask]` for all `i` at
///   once;
/// - for each round `k`: `t[k] = ` the value of `u[rounds[k].reg]` in lane `from(tid) ^ rounds[k].lane` of its warp;
/// - for each `(bit, mask)` of `after`, if that bit of the thread's number is set: `t[k] = t[k ^ mask]` for all `k` at
///   once;
/// - `result[r] = t[place[r]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shuffle {
    pub take: Vec<usize>,
    pub before: Vec<(usize, usize)>,
    /// The source lane, as bases over the bits of the thread's number.
    pub from: Vec<u32>,
    pub rounds: Vec<Round>,
    pub after: Vec<(usize, usize)>,
    pub place: Vec<usize>,
}

/// One shuffle: every thread sends one register and receives one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    pub reg: usize,
    pub lane: u32,
}

impl Shuffle {
    /// The source lane of a thread is its own, xor the round's `lane`: `shfl.bfly`, or nothing at all where that is 0.
    pub fn is_xor(&self) -> bool {
        self.from.iter().enumerate().all(|(i, &b)| b == if i < LANE_BITS { 1 << i } else { 0 })
    }

    /// The number of shuffles. The other rounds stay in their thread.
    pub fn shuffles(&self) -> usize {
        self.rounds.iter().filter(|round| !self.is_xor() || round.lane != 0).count()
    }

    /// In quarters of a shuffle, whose throughput is a quarter of a select's.
    fn cost(&self, elem_bytes: usize) -> usize {
        let selects = self.before.len() * self.take.len() + self.after.len() * self.rounds.len();
        (4 * self.shuffles() + selects) * elem_bytes.div_ceil(4)
    }
}

impl Conversion {
    /// In quarters of a shuffle, or of a wavefront of shared memory, of one warp.
    pub(crate) fn cost(&self, elem_bytes: usize) -> usize {
        match self {
            Conversion::Identity | Conversion::Registers(_) => 0,
            Conversion::Shuffle(shuffle) => shuffle.cost(elem_bytes),
            Conversion::Shared(shared) => shared.cost,
        }
    }
}

/// The cheapest conversion of elements of `elem_bytes` bytes. `src` must hold every element.
pub fn plan(src: &Layout, dst: &Layout, elem_bytes: usize) -> Conversion {
    assert_eq!((src.dims(), src.warps()), (dst.dims(), dst.warps()), "layouts of different tiles");
    assert!(src.is_surjective(), "elements are missing");
    if src == dst {
        return Conversion::Identity;
    }
    if let Some(regs) = registers(src, dst) {
        return Conversion::Registers(regs);
    }
    let shared = swizzle::shared(src, dst, elem_bytes);
    match shuffle(src, dst) {
        Some(shuffle) if shuffle.cost(elem_bytes) < shared.cost => Conversion::Shuffle(shuffle),
        _ => Conversion::Shared(Box::new(shared)),
    }
}

/// The source's registers for those of the destination, if every thread has them at the same places.
fn registers(src: &Layout, dst: &Layout) -> Option<Vec<usize>> {
    if src.thread_bases() != dst.thread_bases() {
        return None;
    }
    let held = Echelon::coordinates(src.reg_bases());
    let bases = dst.reg_bases().iter().map(|&b| held.image(b)).collect::<Option<Vec<u32>>>()?;
    Some((0..dst.regs()).map(|r| combine(&bases, r as u32) as usize).collect())
}

/// A conversion in one shuffle per distinct register of the destination, if there is one.
///
/// In a round, let the lanes of a warp receive the elements `x(lane) + c`, where `x` is linear. A lane sends one
/// register, so no two of these elements may lie in one lane: the span X of `x` must meet the span A of the source's
/// registers in 0 alone. `x(lane)` may be chosen up to the destination's registers, which says in which order a lane
/// receives them.
pub(super) fn shuffle(src: &Layout, dst: &Layout) -> Option<Shuffle> {
    let (src_bits, dst_bits) = (independent(src.reg_bases()), independent(dst.reg_bases()));
    let a: Vec<u32> = src_bits.iter().map(|&i| src.reg_bases()[i]).collect();
    let b: Vec<u32> = dst_bits.iter().map(|&i| dst.reg_bases()[i]).collect();

    // The place of an element: its lane in the low bits, its register above. A replicated lane of the source gets an
    // index bit of its own, as a choice between the copies.
    let mut place = Echelon::default();
    for (i, &basis) in a.iter().enumerate() {
        place.insert(basis, 1 << (LANE_BITS + i));
    }
    let copy = |lane: usize| 1 << (src.bits() as usize + lane);
    let mut copies = Vec::new();
    for (lane, &basis) in src.lane_bases().iter().enumerate() {
        if !place.insert(basis, 1 << lane) {
            place.insert(basis ^ copy(lane), 1 << lane);
            copies.push(lane);
        }
    }

    let mut x = Vec::new();
    let mut after = Vec::new();
    let (mut span_x, mut span_xa) = (Echelon::default(), Echelon::span(&a));
    for (lane, &basis) in dst.lane_bases().iter().enumerate() {
        // The less is changed the better: nothing, a copy (this lane's, if there is one), a register.
        let own = copies.iter().filter(|&&l| l == lane);
        let others = copies.iter().filter(|&&l| l != lane);
        let choices = std::iter::once((0, 0))
            .chain(own.chain(others).map(|&l| (copy(l), 0)))
            .chain(b.iter().enumerate().map(|(i, &b)| (b, 1usize << i)));
        let (change, mask) = choices.into_iter().find(|&(change, _)| {
            let v = basis ^ change;
            span_x.contains(v) || !span_xa.contains(v)
        })?;
        span_x.insert(basis ^ change, 0);
        span_xa.insert(basis ^ change, 0);
        x.push(basis ^ change);
        if mask != 0 {
            after.push((lane, mask));
        }
    }
    x.extend(src.warp_bases().iter().zip(dst.warp_bases()).map(|(s, d)| s ^ d));

    let lane_of = |place: u32| place & ((1 << LANE_BITS) - 1);
    let reg_of = |place: u32| place >> LANE_BITS;
    let places = x.iter().map(|&v| place.image(v)).collect::<Option<Vec<u32>>>()?;
    let round_places = b.iter().map(|&v| place.image(v)).collect::<Option<Vec<u32>>>()?;

    // Which register a lane sends: known on the lanes of X, chosen as 0 elsewhere.
    let mut sent = Echelon::default();
    for &p in &places[..LANE_BITS] {
        if !sent.constrain(lane_of(p), reg_of(p)) {
            return None;
        }
    }
    for lane in 0..LANE_BITS {
        sent.insert(1 << lane, 0);
    }
    let sent_for = |p: u32| (reg_of(p) ^ sent.reduce(lane_of(p)).1) as usize;
    let by_lane = (0..LANE_BITS).map(|lane| (lane, sent.reduce(1 << lane).1 as usize));
    let by_warp = places.iter().enumerate().skip(LANE_BITS).map(|(bit, &p)| (bit, sent_for(p)));

    let distinct = Echelon::coordinates(&b);
    Some(Shuffle {
        take: (0..1 << a.len()).map(|i| deposit_bits(i, &src_bits)).collect(),
        before: by_lane.chain(by_warp).filter(|&(_, mask)| mask != 0).collect(),
        from: places.iter().map(|&p| lane_of(p)).collect(),
        rounds: (0..1 << b.len())
            .map(|k| combine(&round_places, k))
            .map(|p| Round { reg: sent_for(p), lane: lane_of(p) })
            .collect(),
        after: if planted!("shuffle-without-last-exchange") { vec![] } else { after },
        place: (0..dst.regs()).map(|r| distinct.reduce(dst.reg_index(r)).1 as usize).collect(),
    })
}
