//! Sorts along an axis, step by step of the planned [network](crate::plan::sort_network).

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{any, each, of_r};
use crate::dtype::DType;
use crate::ir::{Binary, Op, Value};
use crate::layout::linear::{Bit, LANE_BITS};
use crate::plan::collectives::Collective;
use crate::plan::sort_network::{Kept, SortStep};
use crate::thread_ir::{Device, Expr, Local, Name, Scratch, Stmt, ThreadIr, Ty, call};

/// The state of a sort.
struct Sorted<'a> {
    tiles: Vec<Regs>,
    types: &'a [DType],
    descending: bool,
    site: u32,
}

impl Codegen<'_> {
    pub(super) fn sort(&mut self, v: Value) {
        let f = self.f;
        let Op::Sort { values, descending, .. } = f.op(v) else { unreachable!("a sort") };
        let (site, types) = (self.site(f.span(v)), values.iter().map(|&x| f.ty(x).dtype).collect::<Vec<_>>());
        let collectives = &self.plan.collectives;
        let Collective::Sort { given, converted, network, result, .. } = &collectives[&v] else {
            unreachable!("a sort")
        };
        let mut tiles: Vec<Regs> = vec![];
        for ((&x, &t), by) in values.iter().zip(&types).zip(converted) {
            let regs = self.demand(x, given);
            tiles.push(self.convert(&regs, t, by, site));
        }
        let mut sorted = Sorted { tiles, types: &types, descending: *descending, site };
        for step in network {
            sorted.tiles = match step.keeps {
                Kept::Both { direction } => self.in_order(&sorted, step, direction),
                Kept::First => self.first_of_both(&sorted, step),
            };
        }
        self.define_results(v, result, sorted.tiles);
    }

    /// Both elements of each pair, in the order that the bit `direction` of the index selects.
    fn in_order(&mut self, sorted: &Sorted, step: &SortStep, direction: Option<Bit>) -> Vec<Regs> {
        let upper = value_of(step.bit);
        let either = direction.map_or(upper.clone(), |direction| (upper ^ value_of(direction)).group());
        let takes_greater = either.equals(u32::from(!sorted.descending));
        let own = self.own(sorted, step);
        let others = self.partners(sorted, step, &own);
        // Both threads of a pair decide the same: equal keys stay.
        self.chosen(sorted, step, &own, &others, (takes_greater, false.into()))
    }

    /// The first element of each pair.
    fn first_of_both(&mut self, sorted: &Sorted, step: &SortStep) -> Vec<Regs> {
        let own = self.own(sorted, step);
        let (own, others) = match step.bit {
            Bit::Register(i) => {
                // The registers with the bit 0, and those with 1.
                let without: Vec<usize> = (0..step.registers).filter(|r| r >> i & 1 == 0).collect();
                let at = self.table(&without);
                let with = (at.clone() | (1usize << i)).group();
                let pick = |at: &Expr| own.iter().map(|x| Regs(x.at(at.clone()))).collect::<Vec<_>>();
                (pick(&at), pick(&with))
            }
            _ => {
                let others = self.partners(sorted, step, &own);
                (own, others)
            }
        };
        // Both threads of a pair get the result: for equal keys the element of the lower thread.
        let takes_equal = match step.bit {
            Bit::Register(_) => false.into(),
            bit => value_of(bit).equals(1),
        };
        self.chosen(sorted, step, &own, &others, (sorted.descending.into(), takes_equal))
    }

    /// The registers of the tiles, in arrays.
    fn own(&mut self, sorted: &Sorted, step: &SortStep) -> Vec<Regs> {
        let array = |(x, &t): (&Regs, &DType)| Regs::of(self.bind(Ty::array(t, step.registers), each(x.at(Local::R))));
        sorted.tiles.iter().zip(sorted.types).map(array).collect()
    }

    /// The partner elements, whose indices differ in a bit.
    fn partners(&mut self, sorted: &Sorted, step: &SortStep, own: &[Regs]) -> Vec<Regs> {
        match step.bit {
            Bit::Register(i) => own.iter().map(|x| Regs(x.at((Expr::Register ^ (1usize << i)).group()))).collect(),
            Bit::Lane(i) => {
                let other = |x: &Regs| Regs(call!(Device::ShuffleXor; x.0.clone(), 1u32 << i, sorted.site));
                own.iter().map(other).collect()
            }
            Bit::Warp(i) => self.of_warp(sorted, step, own, 1 << (LANE_BITS + i)),
        }
    }

    /// The greater of each two elements, or the lesser, by the first tile; for equal keys the other one if
    /// `takes_equal`.
    fn chosen(
        &mut self,
        sorted: &Sorted,
        step: &SortStep,
        own: &[Regs],
        others: &[Regs],
        (takes_greater, takes_equal): (Expr, Expr),
    ) -> Vec<Regs> {
        let (types, count) = (sorted.types, step.registers_after());
        let others: Vec<Regs> = others
            .iter()
            .zip(types)
            .map(|(x, &t)| Regs::of(self.bind(Ty::array(t, count), each(x.at(Local::R)))))
            .collect();
        let (x, y) = (own[0].at(Local::R), others[0].at(Local::R));
        if own.len() == 1 {
            let (greater, lesser) = (call!(Binary::Max; x.clone(), y.clone()), call!(Binary::Min; x, y));
            let one = Expr::when(takes_greater.at(Local::R), greater, lesser);
            return vec![Regs::of(self.bind(Ty::array(types[0], count), each(one)))];
        }
        let (less, greater) = (call!(Binary::Lt; x.clone(), y.clone()), call!(Binary::Gt; x.clone(), y.clone()));
        let mut moves = Expr::when(takes_greater.at(Local::R), less, greater);
        if takes_equal != false.into() && !planted!("topk-copies-differ") {
            moves = moves.group() | (takes_equal.group() & call!(Binary::Eq; x, y)).group();
        }
        let moves = Regs::of(self.bind(Ty::array(DType::Bool, count), each(moves)));
        let pick =
            |(own, other): (&Regs, &Regs)| Regs(call!(Device::Pick; moves.0.clone(), other.0.clone(), own.0.clone()));
        own.iter().zip(&others).map(pick).collect()
    }

    /// The same registers of the thread whose number differs in these bits.
    fn of_warp(&mut self, sorted: &Sorted, step: &SortStep, tiles: &[Regs], mask: usize) -> Vec<Regs> {
        let (count, site) = (step.registers, sorted.site);
        let threads = self.f.warps as usize * 32;
        let mut out = vec![];
        for ((regs, &t), &bytes) in tiles.iter().zip(sorted.types).zip(&step.exchanges) {
            let size = t.size();
            // The index of the register is the outer one, so that consecutive lanes access consecutive banks.
            let table = self.word_table((0..count).map(|r| (r * threads * size) as u32));
            let offset = |tid: Expr| {
                let register = Expr::from(table).element(Local::R);
                Expr::Scratch(Scratch::Unplaced) + ((tid & (threads - 1)).group() * size).group() + register
            };
            let partner = (Expr::from(Name::Tid) ^ mask).group();
            let store = call!(
                Device::SharedStore; [t, count, 1usize];
                of_r(offset(Name::Tid.into())), any(true), of_r(regs.at(Local::R)), site
            );
            let loaded = call!(Device::SharedLoad; [t, count, 1usize]; of_r(offset(partner)), any(true), site);
            let name = self.fresh();
            self.node(ThreadIr::exchange(bytes, store.into(), Stmt::bind(name, loaded), site));
            out.push(Regs::of(name));
        }
        out
    }
}

/// The bit of the number of the register, the lane or the warp, as 0 or 1.
fn value_of(bit: Bit) -> Expr {
    match bit {
        Bit::Register(i) => ((Expr::Register >> i).group() & 1).group().cast(Ty::U32).group(),
        Bit::Lane(i) => ((Name::Tid >> i).group() & 1).group(),
        Bit::Warp(i) => ((Name::Tid >> (LANE_BITS + i)).group() & 1).group(),
    }
}
