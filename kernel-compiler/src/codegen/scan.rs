//! Scans, level by level: totals from the lowest bits of the axis up, then prefixes from the highest down.
//!
//! A level of registers combines its items in the thread, one of lanes by shuffles, one of warps through shared memory.
//! The prefix of an item is a [`Maybe`](tilewright_core::device::Maybe): the first item has none.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::each;
use crate::codegen::reduce::Items;
use crate::dtype::DType;
use crate::ir::{Op, Value};
use crate::layout::linear::{Across, LANE_BITS, Layout, Level, Scan};
use crate::plan::collectives::{Collective, Gathered};
use crate::thread_ir::{Closure, Device, Expr, Generic, Local, Name, Ty, call, closure};

/// The facts that all levels of a scan share.
struct Scanned {
    types: Vec<DType>,
    /// Combines two elements of all tiles.
    fold: Closure,
    reverse: bool,
    /// Whether every item is a value: none is padding that comes first.
    some: bool,
    site: u32,
}

impl Scanned {
    /// `(bool, (f32, i32))`.
    fn maybe(&self) -> Ty {
        Ty::Tuple(vec![DType::Bool.into(), self.fold.ty.clone().expect("it is said")])
    }

    /// The items of each total in the order of the scan.
    fn in_order(&self, level: &Level) -> Level {
        match level {
            Level::Registers { order, len } if self.reverse => {
                let order = order.chunks(*len).flat_map(|items| items.iter().rev().copied()).collect();
                Level::Registers { order, len: *len }
            }
            level => level.clone(),
        }
    }

    fn pair(&self) -> Ty {
        Ty::Tuple(vec![self.maybe(), self.maybe()])
    }
}

/// A level during the scan: its items, and the prefix of each item within the level.
struct Step<'a> {
    level: &'a Level,
    /// The number of items, and an expression for any of them.
    count: usize,
    items: Regs,
    /// For lanes and warps: pairs of the prefix of an item and the total.
    pairs: Option<Name>,
}

impl Codegen<'_> {
    pub(super) fn scan(&mut self, v: Value) {
        let f = self.f;
        let site = self.site(f.values[v.0 as usize].span);
        let Op::Scan { values, combine, reverse, exclusive, .. } = f.op(v) else { unreachable!("a scan") };
        let (types, fold) = (values.iter().map(|&x| f.ty(x).dtype).collect::<Vec<_>>(), self.combination(combine));
        let collectives = &self.plan.collectives;
        let Collective::Scan { given, converted, layout, scan, gathered, first_is_padding } = &collectives[&v] else {
            unreachable!("a scan")
        };
        let regs = self.operands(values, &types, (given, converted), site);
        let valid = if *first_is_padding { self.valid(layout, f.shape(v)) } else { None };
        let fold = self.fold(&types, fold);
        let s = Scanned { some: valid.is_none(), types, fold, reverse: *reverse, site };

        let found = self.scanned(&s, (scan, gathered), layout, &regs, valid);
        let one = if exclusive.is_empty() {
            found.0.field(1)
        } else {
            let first = Expr::Tuple(exclusive.iter().map(|&e| e.into()).collect());
            let first = Expr::Tuple(vec![true.into(), first]);
            call!(Device::ScanThen; first, found.0.field(0), s.fold.clone())
        };
        let all = self.bind(Ty::array(s.maybe(), layout.regs()), each(one.at(Local::R)));
        let results = (0..values.len()).map(|i| Regs(Regs::of(all).0.field(1).field(i))).collect();
        self.define_results(v, layout, results);
    }

    /// For any register the exclusive and the inclusive prefix.
    fn scanned(
        &mut self,
        s: &Scanned,
        (scan, gathered): (&Scan, &[Gathered]),
        layout: &Layout,
        regs: &[Regs],
        valid: Option<Regs>,
    ) -> Regs {
        let mut gathered = gathered.iter();
        let at = self.table(&scan.items);
        let one = |x: &Regs| x.at(at.clone());
        let (flag, values) = (valid.map_or(true.into(), |x| one(&x)), regs.iter().map(one).collect());
        let mut items = Regs(Expr::Tuple(vec![flag, Expr::Tuple(values)]));
        let lowest = items.clone();
        let (mut count, mut steps) = (scan.items.len(), vec![]);
        let levels: Vec<Level> = scan.levels.iter().map(|level| s.in_order(level)).collect();
        for (i, level) in levels.iter().enumerate() {
            let is_last = i + 1 == levels.len();
            let pairs = match level {
                Level::Registers { .. } => None,
                Level::Lanes { mask } => Some(self.lanes(s, &items, count, *mask, !is_last)),
                Level::Warps { bits, across } => {
                    let gathered = gathered.next().expect("an exchange for each level of warps");
                    Some(self.warps(s, (bits, across, gathered), &items, count))
                }
            };
            let totals = match (level, pairs) {
                _ if is_last => None,
                (Level::Registers { order, len }, _) => Some(Regs::of(self.totals(s, &items, count, order, *len))),
                (_, pairs) => pairs.map(|p| Regs(Regs::of(p).0.field(1))),
            };
            steps.push(Step { level, count, items: items.clone(), pairs });
            count = level.totals(count);
            items = totals.unwrap_or(items);
        }
        // From the highest level down: the prefix of an item is the prefix of its total, combined with the prefix
        // within the level.
        let mut before: Option<Regs> = None;
        for (i, step) in steps.iter().enumerate().rev() {
            match (step.level, step.pairs) {
                (Level::Registers { order, len }, _) => {
                    let pairs = Regs::of(self.prefixes(s, step, order, *len, before.as_ref()));
                    let mut place = vec![0; order.len()];
                    order.iter().enumerate().for_each(|(p, &item)| place[item] = p);
                    let at = self.table(&place);
                    let pair = pairs.at(at);
                    if i == 0 {
                        return self.by_register(scan, layout, Regs(pair));
                    }
                    before = Some(Regs(pair.field(0)));
                }
                (_, pairs) => {
                    let own = Regs(Regs::of(pairs.expect("lanes and warps have some")).0.field(0));
                    before = Some(match before {
                        None => own,
                        Some(b) => {
                            let then = call!(Device::ScanThen; b.at(Local::R), own.at(Local::R), s.fold.clone());
                            Regs::of(self.bind(Ty::array(s.maybe(), step.count), each(then)))
                        }
                    });
                }
            }
        }
        // Without a level of registers at the bottom, each item is combined with its prefix.
        let pair = match before {
            Some(b) => {
                let upto = call!(Device::ScanThen; b.at(Local::R), lowest.at(Local::R), s.fold.clone());
                Expr::Tuple(vec![b.at(Local::R), upto])
            }
            None => {
                let none = Expr::Tuple(vec![false.into(), lowest.at(Local::R).field(1)]);
                Expr::Tuple(vec![none, lowest.at(Local::R)])
            }
        };
        let pairs = self.bind(Ty::array(s.pair(), scan.items.len()), each(pair));
        self.by_register(scan, layout, Regs::of(pairs))
    }

    /// Of items by their number, by the register that each is or is a copy of.
    fn by_register(&mut self, scan: &Scan, layout: &Layout, items: Regs) -> Regs {
        debug_assert_eq!(scan.item_of.len(), layout.regs());
        let at = self.table(&scan.item_of);
        Regs(items.at(at))
    }

    fn totals(&mut self, s: &Scanned, items: &Regs, count: usize, order: &[usize], len: usize) -> Name {
        let item = items.at(self.table(order)).at(Local::K);
        let totals = call!(
            Device::ScanTotals; [Generic::Inferred, count / len, len];
            closure([Local::K], item), s.fold.clone()
        );
        self.bind(Ty::array(s.maybe(), count / len), totals)
    }

    /// By the position in `order`: the exclusive and the inclusive prefix of an item.
    fn prefixes(&mut self, s: &Scanned, step: &Step, order: &[usize], len: usize, before: Option<&Regs>) -> Name {
        let item = step.items.at(self.table(order)).at(Local::K);
        let before = match before {
            Some(b) => b.at(Local::G),
            None => Expr::Tuple(vec![false.into(), step.items.at(0).field(1)]),
        };
        let prefixes = call!(
            Device::ScanPrefixes; [Generic::Inferred, step.count, len];
            closure([Local::G], before), closure([Local::K], item), s.fold.clone()
        );
        self.bind(Ty::array(s.pair(), step.count), prefixes)
    }

    fn lanes(&mut self, s: &Scanned, items: &Regs, count: usize, mask: u32, total: bool) -> Name {
        let scanned = call!(
            Device::ScanLanes; [Generic::Inferred, count, mask, s.reverse, s.some, total];
            closure([Local::K], items.at(Local::K)), s.site, s.fold.clone()
        );
        self.bind(Ty::array(s.pair(), count), scanned)
    }

    fn warps(
        &mut self,
        s: &Scanned,
        (bits, across, gathered): (&[usize], &Across, &Gathered),
        items: &Regs,
        count: usize,
    ) -> Name {
        let field = |e: &Expr, i: usize| Regs(e.clone().field(i));
        let values = items.0.clone().field(1);
        let regs = (0..s.types.len()).map(|i| field(&values, i)).collect();
        let mut parts = Items { regs, types: s.types.clone() };
        if !s.some {
            parts.regs.push(field(&items.0, 0));
            parts.types.push(DType::Bool);
        }
        let mut gathered: Vec<Expr> =
            self.gathered(&parts, gathered, s.site).iter().map(|regs| regs.at(Local::K)).collect();
        let flag = if s.some { true.into() } else { gathered.pop().expect("the flags come last") };
        let part = Expr::Tuple(vec![flag, Expr::Tuple(gathered)]);
        // The position of the warp along the axis.
        let bit = |(i, bit): (usize, &usize)| {
            let bit = if planted!("scan-counts-warps-from-the-first-bit") { &i } else { bit };
            let own = (Name::Tid >> (LANE_BITS + bit) & 1).group();
            if i == 0 { own } else { (own << i).group() }
        };
        let own = bits.iter().enumerate().map(bit).reduce(|a, b| a | b).expect("there are bits");
        let scanned = call!(
            Device::ScanWarps; [Generic::Inferred, count, across.warps, s.reverse];
            closure([Local::K], part), own, s.fold.clone()
        );
        self.bind(Ty::array(s.pair(), count), scanned)
    }
}
