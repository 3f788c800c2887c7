//! Sorting along an axis by a bitonic network.
//!
//! Elements whose indices differ in one bit are compared. The bit belongs to registers, lanes or warps: the partner is
//! in another register, in another lane of the warp, or in another warp, by way of shared memory. The lowest bits are
//! compared most often, so the layout has them in registers. Where only the first `k` elements are kept, runs of `k`
//! elements are sorted, and of two adjacent runs the first `k` elements are kept.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{any, each, of_r};
use crate::dtype::DType;
use crate::ir::{Binary, Op, Value};
use crate::layout::linear::{Bit, LANE_BITS};
use crate::plan::collectives::Collective;
use crate::thread_ir::{Device, Expr, Local, Name, Node, Scratch, Stmt, Ty, call};

/// The state of a sort.
struct Network<'a> {
    /// The meaning of each bit of the index along the axis, the lowest first: a register, a lane or a warp.
    bits: Vec<Bit>,
    tiles: Vec<Regs>,
    types: &'a [DType],
    /// The number of registers of a thread.
    count: usize,
    descending: bool,
    site: u32,
}

impl Codegen<'_> {
    pub(super) fn sort(&mut self, v: Value) {
        let f = self.f;
        let Op::Sort { values, axis, descending } = f.op(v) else { unreachable!("a sort") };
        let (site, types) = (self.site(f.span(v)), values.iter().map(|&x| f.ty(x).dtype).collect::<Vec<_>>());
        let collectives = &self.plan.collectives;
        let Collective::Sort { given, converted, layout, bits } = &collectives[&v] else { unreachable!("a sort") };
        let mut tiles: Vec<Regs> = vec![];
        for ((&x, &t), by) in values.iter().zip(&types).zip(converted) {
            let regs = self.demand(x, given);
            tiles.push(self.convert(&regs, t, by, site));
        }
        let kept = f.shape(v)[*axis].trailing_zeros() as usize;
        let mut network =
            Network { bits: bits.clone(), tiles, types: &types, count: layout.regs(), descending: *descending, site };
        for stage in 0..kept {
            self.merged(&mut network, stage, stage + 1);
        }
        // Of two adjacent runs in opposite orders, the first elements form a bitonic run.
        while network.bits.len() > kept {
            self.first_of_both(&mut network, kept);
            if kept > 0 {
                self.merged(&mut network, kept - 1, kept);
            }
        }
        self.define_results(v, &layout.first(*axis, f.shape(v)[*axis]), network.tiles);
    }

    /// Sorts runs of `2 << last` elements whose halves have opposite orders. Bit `direction` of the index selects
    /// ascending or descending order; where there is no such bit, all runs get the order of the result.
    fn merged(&mut self, network: &mut Network, last: usize, direction: usize) {
        let direction = network.bits.get(direction).map(|&b| value_of(b));
        for step in (0..=last).rev() {
            let bit = network.bits[step];
            let upper = value_of(bit);
            let either = direction.clone().map_or(upper.clone(), |direction| (upper ^ direction).group());
            let takes_greater = either.equals(u32::from(!network.descending));
            let own = self.own(network);
            let others = self.partners(network, &own, bit);
            // Both threads of a pair decide the same: equal keys stay.
            network.tiles = self.chosen(network, &own, &others, takes_greater, false.into());
        }
    }

    /// Keeps the first of each two elements whose indices differ in a bit. The bit is then removed.
    fn first_of_both(&mut self, network: &mut Network, at: usize) {
        let bit = network.bits.remove(at);
        let own = self.own(network);
        let (own, others) = match bit {
            Bit::Register(i) => {
                // The registers with the bit 0, and those with 1.
                let without: Vec<usize> = (0..network.count).filter(|r| r >> i & 1 == 0).collect();
                network.count /= 2;
                for b in &mut network.bits {
                    if let Bit::Register(place) = b
                        && *place > i
                    {
                        *place -= 1;
                    }
                }
                let at = self.table(&without);
                let with = (at.clone() | (1usize << i)).group();
                let pick = |at: &Expr| own.iter().map(|x| Regs(x.at(at.clone()))).collect::<Vec<_>>();
                (pick(&at), pick(&with))
            }
            _ => {
                let others = self.partners(network, &own, bit);
                (own, others)
            }
        };
        // Both threads of a pair get the result: for equal keys the element of the lower thread.
        let takes_equal = match bit {
            Bit::Register(_) => false.into(),
            _ => value_of(bit).equals(1),
        };
        network.tiles = self.chosen(network, &own, &others, network.descending.into(), takes_equal);
    }

    /// The registers of the tiles, in arrays.
    fn own(&mut self, network: &Network) -> Vec<Regs> {
        let array = |(x, &t): (&Regs, &DType)| Regs::of(self.bind(Ty::array(t, network.count), each(x.at(Local::R))));
        network.tiles.iter().zip(network.types).map(array).collect()
    }

    /// The partner elements, whose indices differ in a bit.
    fn partners(&mut self, network: &Network, own: &[Regs], bit: Bit) -> Vec<Regs> {
        match bit {
            Bit::Register(i) => own.iter().map(|x| Regs(x.at((Expr::Register ^ (1usize << i)).group()))).collect(),
            Bit::Lane(i) => {
                let other = |x: &Regs| Regs(call!(Device::ShuffleXor; x.0.clone(), 1u32 << i, network.site));
                own.iter().map(other).collect()
            }
            Bit::Warp(i) => self.of_warp(own, network, 1 << (LANE_BITS + i)),
        }
    }

    /// The greater of each two elements, or the lesser, by the first tile; for equal keys the other one if
    /// `takes_equal`.
    fn chosen(
        &mut self,
        network: &Network,
        own: &[Regs],
        others: &[Regs],
        takes_greater: Expr,
        takes_equal: Expr,
    ) -> Vec<Regs> {
        let (types, count) = (network.types, network.count);
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

    /// The same registers of the thread whose number differs in these bits. Tiles are exchanged one after another, so
    /// that each may use all of the scratch memory.
    fn of_warp(&mut self, tiles: &[Regs], network: &Network, mask: usize) -> Vec<Regs> {
        let (count, site) = (network.count, network.site);
        let threads = self.f.warps as usize * 32;
        let mut out = vec![];
        for (regs, &t) in tiles.iter().zip(network.types) {
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
            let bytes = count * threads * size;
            self.node(Node::exchange(bytes, store.into(), Stmt::bind(name, loaded), site));
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
