//! How a scan along an axis follows from a layout.
//!
//! The bits of the index along the axis, lowest first, stand for registers, lanes or warps. Bits of one kind that
//! follow each other are a level. A level scans the totals of the level below, and gives each of these the combination
//! of the ones before it. So the lowest bits are combined first, and the order along the axis is kept.

use super::layout::{Layout, shift};
use super::matrix::{deposit_bits, gather};
use super::shape::Across;

/// How to scan along an axis. See [`Layout::scan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// For each item of the lowest level the register that has it.
    pub items: Vec<usize>,
    /// For each register the item that it is, or is a copy of.
    pub item_of: Vec<usize>,
    /// From the lowest bits of the axis on. The totals of a level are the items of the next one.
    pub levels: Vec<Level>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// Items of one thread: `len` of them, in the order of the axis, for each total.
    Registers { order: Vec<usize>, len: usize },
    /// The lanes that differ in these bits of their number; a higher bit is a higher index.
    Lanes { mask: u32 },
    /// The warps that differ in these bits of their number, by increasing index along the axis.
    Warps { bits: Vec<usize>, across: Across },
}

impl Level {
    /// How many totals there are of so many items.
    pub fn totals(&self, items: usize) -> usize {
        match self {
            Level::Registers { len, .. } => items / len,
            Level::Lanes { .. } | Level::Warps { .. } => items,
        }
    }
}

/// The meaning of a bit of an index: a bit of the number of a register, of a lane or of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bit {
    Register(usize),
    Lane(usize),
    Warp(usize),
}

impl Bit {
    fn place(self) -> usize {
        match self {
            Bit::Register(i) | Bit::Lane(i) | Bit::Warp(i) => i,
        }
    }

    fn is_alike(self, other: Bit) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

impl Scan {
    /// The most values of all warps that a thread has at once.
    pub fn gathered(&self) -> usize {
        let (mut items, mut most) = (self.items.len(), 0);
        for level in &self.levels {
            if let Level::Warps { across, .. } = level {
                most = most.max(items * across.warps);
            }
            items = level.totals(items);
        }
        most
    }
}

impl Layout {
    /// The meaning of the bits of the index along `axis`, the lowest first. `None` unless each stands for one bit of
    /// registers, lanes or warps, and each of these for bits of the axis alone.
    pub(crate) fn axis_bits(&self, axis: usize) -> Option<Vec<Bit>> {
        let low = shift(self.dims(), axis);
        let axis_mask = ((1u32 << self.dims()[axis]) - 1) << low;
        let regs = self.reg_bases().iter().enumerate().map(|(i, &b)| (Bit::Register(i), b));
        let lanes = self.lane_bases().iter().enumerate().map(|(i, &b)| (Bit::Lane(i), b));
        let warps = self.warp_bases().iter().enumerate().map(|(i, &b)| (Bit::Warp(i), b));
        let along: Vec<_> = regs.chain(lanes).chain(warps).filter(|(_, b)| b & axis_mask != 0).collect();
        let holder = |i: u32| {
            let mut holders = along.iter().filter(|(_, b)| *b == 1 << (low + i));
            holders.next().filter(|_| holders.next().is_none()).map(|(bit, _)| *bit)
        };
        let bits: Vec<Bit> = (0..self.dims()[axis]).map(holder).collect::<Option<_>>()?;
        (bits.len() == along.len()).then_some(bits)
    }

    /// How to scan along `axis`, where [`Layout::axis_bits`] are known, as they are of [`Layout::along`].
    pub(crate) fn scan(&self, axis: usize) -> Option<Scan> {
        let bits = self.axis_bits(axis)?;
        let kept: Vec<usize> = (0..self.reg_bases().len()).filter(|&i| self.reg_bases()[i] != 0).collect();
        let items = (0..1 << kept.len()).map(|i| deposit_bits(i, &kept)).collect();
        let item_of = (0..self.regs()).map(|r| gather(r, &kept)).collect();
        let (mut levels, mut registers, mut done) = (vec![], kept, 0);
        while done < bits.len() {
            // Lanes and warps count upwards.
            let follows = |pair: &[Bit]| {
                let upwards = matches!(pair[0], Bit::Register(_)) || pair[0].place() < pair[1].place();
                let upwards = upwards || planted!("scan-lanes-in-any-order") && matches!(pair[0], Bit::Lane(_));
                pair[0].is_alike(pair[1]) && upwards
            };
            let run = 1 + bits[done..].windows(2).take_while(|pair| follows(pair)).count();
            let at: Vec<usize> = bits[done..done + run].iter().map(|b| b.place()).collect();
            levels.push(match bits[done] {
                Bit::Register(_) => {
                    let places: Vec<usize> =
                        at.iter().map(|b| registers.iter().position(|r| r == b).expect("a register bit")).collect();
                    let others: Vec<usize> = (0..registers.len()).filter(|i| !places.contains(i)).collect();
                    let (len, totals) = (1 << places.len(), 1 << others.len());
                    let item = |p: usize| deposit_bits(p / len, &others) | deposit_bits(p % len, &places);
                    registers.retain(|r| !at.contains(r));
                    Level::Registers { order: (0..len * totals).map(item).collect(), len }
                }
                Bit::Lane(_) => Level::Lanes { mask: at.iter().map(|&b| 1 << b).sum() },
                Bit::Warp(_) => {
                    let totals = self.without_low_bits(axis, (done + run) as u32);
                    let across = Across::new(&totals, &at).expect("there are bits");
                    Level::Warps { bits: at, across }
                }
            });
            done += run;
        }
        Some(Scan { items, item_of, levels })
    }

    /// The layout of the totals of `1 << bits` neighbors along an axis: every thread that had one of them has it.
    fn without_low_bits(&self, axis: usize, bits: u32) -> Layout {
        let (low, high) = (shift(self.dims(), axis), shift(self.dims(), axis) + bits);
        let mut dims = self.dims().to_vec();
        dims[axis] -= bits;
        let layout = self.map_bases(dims, |b| (b >> high << low) | (b & ((1 << low) - 1)));
        let regs = layout.reg_bases().iter().copied().filter(|&b| b != 0).collect();
        layout.with_regs(regs)
    }

    /// Along the axis first, as many neighbors in a thread as it has registers.
    pub(crate) fn along(&self, axis: usize) -> Layout {
        let order: Vec<usize> = [axis].into_iter().chain((0..self.rank()).rev().filter(|&d| d != axis)).collect();
        Layout::blocked(&self.shape(), &order, self.regs().min(1 << self.dims()[axis]), self.warps())
    }
}
