//! Sorting along an axis by a bitonic network.
//!
//! Elements whose indices differ in one bit are compared. That bit stands for registers, lanes or warps: the partner is in
//! another register, in another lane of the warp, or in shared memory. The lowest bits are compared most often, so the
//! layout has them in registers.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{any, each, of_r};
use crate::dtype::DType;
use crate::ir::{Binary, Op, Value};
use crate::layout::linear::{Bit, LANE_BITS};
use crate::thread_ir::{Device, Expr, Local, Name, Node, Scratch, Stmt, Ty, call};

impl Codegen<'_> {
    pub(super) fn sort(&mut self, v: Value) {
        let f = self.f;
        let Op::Sort { values, axis, descending } = f.op(v) else { unreachable!("a sort") };
        let (site, types) = (self.site(f.span(v)), values.iter().map(|&x| f.ty(x).dtype).collect::<Vec<_>>());
        let given = self.any_layout(values[0]);
        let layout = given.along(*axis);
        let bits = layout.axis_bits(*axis).expect("a blocked layout has single bits");
        let mut tiles: Vec<Regs> = vec![];
        for (&x, &t) in values.iter().zip(&types) {
            let regs = self.demand(x, &given);
            tiles.push(self.convert(&regs, t, &given, &layout, site));
        }
        for (stage, _) in bits.iter().enumerate() {
            for step in (0..=stage).rev() {
                // Runs of `2 << stage` elements are ordered in turns upwards and downwards, the last one as asked for.
                let turns = bits.get(stage + 1).map(|&b| value_of(b));
                let upper = value_of(bits[step]);
                let either = turns.map_or(upper.clone(), |turns| (upper ^ turns).group());
                let takes_greater = either.equals(u32::from(!descending));
                tiles = self.compared(&tiles, &types, bits[step], takes_greater, layout.regs(), site);
            }
        }
        self.define_results(v, &layout, tiles, site);
    }

    /// Each element, or that of its partner: the greater of both, or the lesser, by the first tile.
    fn compared(
        &mut self,
        tiles: &[Regs],
        types: &[DType],
        bit: Bit,
        takes_greater: Expr,
        count: usize,
        site: u32,
    ) -> Vec<Regs> {
        let own: Vec<Regs> =
            tiles.iter().zip(types).map(|(x, &t)| Regs::of(self.bind(Ty::array(t, count), each(x.at(Local::R))))).collect();
        let others: Vec<Regs> = match bit {
            Bit::Register(i) => own.iter().map(|x| Regs(x.at((Expr::Register ^ (1usize << i)).group()))).collect(),
            Bit::Lane(i) => {
                let other = |x: &Regs| Regs(call!(Device::ShuffleXor; x.0.clone(), 1u32 << i, site));
                own.iter().map(other).collect()
            }
            Bit::Warp(i) => self.of_warp(&own, types, count, 1 << (LANE_BITS + i), site),
        };
        if let ([own], [other]) = (&own[..], &others[..]) {
            let (x, y) = (own.at(Local::R), other.at(Local::R));
            let y = Regs::of(self.bind(Ty::array(types[0], count), each(y))).at(Local::R);
            let (greater, lesser) = (call!(Binary::Max; x.clone(), y.clone()), call!(Binary::Min; x, y));
            let one = Expr::when(takes_greater.at(Local::R), greater, lesser);
            return vec![Regs::of(self.bind(Ty::array(types[0], count), each(one)))];
        }
        // Both of a pair say the same: of equal keys none moves.
        let others: Vec<Regs> = others
            .iter()
            .zip(types)
            .map(|(x, &t)| Regs::of(self.bind(Ty::array(t, count), each(x.at(Local::R)))))
            .collect();
        let (x, y) = (own[0].at(Local::R), others[0].at(Local::R));
        let (less, greater) = (call!(Binary::Lt; x.clone(), y.clone()), call!(Binary::Gt; x, y));
        let moves = Expr::when(takes_greater.at(Local::R), less, greater);
        let moves = Regs::of(self.bind(Ty::array(DType::Bool, count), each(moves)));
        let pick = |(own, other): (&Regs, &Regs)| {
            Regs(call!(Device::Pick; moves.0.clone(), other.0.clone(), own.0.clone()))
        };
        own.iter().zip(&others).map(pick).collect()
    }

    /// The same registers of the thread whose number differs in these bits.
    fn of_warp(&mut self, tiles: &[Regs], types: &[DType], count: usize, mask: usize, site: u32) -> Vec<Regs> {
        let threads = self.f.warps as usize * 32;
        let (mut store, mut load, mut out, mut base) = (vec![], vec![], vec![], 0);
        for (regs, &t) in tiles.iter().zip(types) {
            let size = t.size();
            // Register by register, so that neighbouring lanes have neighbouring banks.
            let table = self.word_table((0..count).map(|r| (base + r * threads * size) as u32));
            let offset = |tid: Expr| {
                let register = Expr::from(table).element(Local::R);
                Expr::Scratch(Scratch::Unplaced) + ((tid & (threads - 1)).group() * size).group() + register
            };
            let partner = (Expr::from(Name::Tid) ^ mask).group();
            store.push(Stmt::Expr(call!(
                Device::SharedStore; [t, count, 1usize]; of_r(offset(Name::Tid.into())), any(true), of_r(regs.at(Local::R)), site
            )));
            let name = self.fresh();
            let loaded = call!(Device::SharedLoad; [t, count, 1usize]; of_r(offset(partner)), any(true), site);
            load.push(Stmt::bind(name, loaded));
            out.push(Regs::of(name));
            base += (count * threads * size).next_multiple_of(16);
        }
        self.node(Node::Scratch { bytes: base, store, load, site });
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
