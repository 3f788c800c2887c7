//! Conversions of tiles between layouts, as the plan has them ([`conversions`](crate::plan::conversions)).

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{acts, any, each, of_r, thread_part};
use crate::dtype::DType;
use crate::layout::linear::{Access, Conversion, Shared, Shuffle};
use crate::plan::conversions::{SharedTiles, TileConversion};
use crate::thread_ir::{Device, Expr, Local, Name, Scratch, Stmt, ThreadIr, Ty, call};

impl Codegen<'_> {
    /// The registers of a tile in another layout.
    pub(super) fn convert(&mut self, from: &Regs, dtype: DType, conversion: &TileConversion, site: u32) -> Regs {
        match conversion {
            TileConversion::Elements(by) => self.converted(from, dtype, by, site),
            TileConversion::Pairs { pairs, by } => {
                let (lo, hi) = (from.at(Expr::from(2) * Local::R), from.at(Expr::from(2) * Local::R + 1));
                let packed = each(call!(Device::Pair; [dtype]; lo, hi));
                let packed = self.bind(Ty::array(Ty::U32, *pairs), packed);
                let moved = self.converted(&Regs::of(packed), DType::U32, by, site);
                Regs(call!(Device::OfPair; [dtype]; moved.at(Expr::Register / 2), Expr::Register))
            }
        }
    }

    fn converted(&mut self, from: &Regs, dtype: DType, by: &Conversion, site: u32) -> Regs {
        match by {
            Conversion::Identity => from.clone(),
            Conversion::Registers(map) => {
                let table = self.table(map);
                Regs(from.at(table))
            }
            Conversion::Shuffle(s) => self.shuffle(from, dtype, s, site),
            Conversion::Shared(s) => {
                self.through_shared(&[(from.clone(), dtype)], (s, SharedTiles::new(s, 1)), site).remove(0)
            }
        }
    }

    fn shuffle(&mut self, from: &Regs, dtype: DType, s: &Shuffle, site: u32) -> Regs {
        let r = || Expr::from(Local::R);
        let take = self.table(&s.take);
        let mut name = self.bind(Ty::array(dtype, s.take.len()), each(from.at(take.at(Local::R))));
        let scratch = |cx: &mut Self, name: &mut Name, len: usize, steps: &[(usize, usize)]| {
            for (bit, mask) in steps {
                let of = Expr::from(*name);
                let picked = call!(
                    Device::Pick;
                    (Name::Tid >> *bit & 1).equals(1), of.clone().element(r() ^ *mask), of.element(r())
                );
                *name = cx.bind(Ty::array(dtype, len), each(picked));
            }
        };
        let before = if planted!("shuffle-without-first-exchange") { &[] } else { &s.before[..] };
        scratch(self, &mut name, s.take.len(), before);
        let lane = thread_part(&s.from);
        let received = self.fresh();
        let regs = self.const_table(Ty::Usize, s.rounds.iter().map(|r| r.reg as u64).collect());
        let lanes = Expr::from(self.word_table(s.rounds.iter().map(|r| r.lane))).element(r());
        let of = Expr::from(name).element(Expr::from(regs).element(r()));
        let step = match s.is_xor() {
            true => Expr::when(lanes.clone().equals(0), of.clone(), call!(Device::ShuffleXor; of, lanes, site)),
            false => call!(Device::Shuffle; of, lane.group() ^ lanes, site),
        };
        self.line(Stmt::define(received, Ty::array(dtype, s.rounds.len()), each(step)));
        let mut name = received;
        scratch(self, &mut name, s.rounds.len(), &s.after);
        let place = self.table(&s.place);
        Regs(Expr::from(name).element(place))
    }

    /// Converts several tiles through one scratch buffer.
    pub(super) fn through_shared(
        &mut self,
        tiles: &[(Regs, DType)],
        (s, planned): (&Shared, SharedTiles),
        site: u32,
    ) -> Vec<Regs> {
        let (mut store, mut load, mut out) = (vec![], vec![], vec![]);
        for (i, (regs, dtype)) in tiles.iter().enumerate() {
            let base = i * planned.stride;
            let source = self.table(&s.store.regs);
            let (n, offset) = (s.store.offsets.len(), self.shared_offset(&s.store, base));
            store.push(Stmt::Expr(call!(
                Device::SharedStore; [*dtype, n, s.store.vec];
                of_r(offset), any(acts(s.store_free)),
                of_r(regs.at(source.at(Local::R))), site
            )));
            let name = self.fresh();
            let (n, offset) = (s.load.offsets.len(), self.shared_offset(&s.load, base));
            let loaded = call!(
                Device::SharedLoad; [*dtype, n, s.load.vec];
                of_r(offset), any(true), site
            );
            load.push(Stmt::bind(name, loaded));
            let place = self.table(&s.place);
            out.push(Regs(Expr::from(name).element(place)));
        }
        self.node(ThreadIr::Scratch { bytes: planned.bytes, steps: vec![store, load], at: self.at, site });
        out
    }

    /// The byte offset of slot `r` of an access in shared memory.
    fn shared_offset(&mut self, a: &Access, base: usize) -> Expr {
        let offset = self.linear_offset(&a.threads, a.offsets.iter().copied()).at(Local::R);
        (Expr::Scratch(Scratch::Unplaced) + base).group() + offset
    }

    /// The sum of the thread's part of an offset and the part of a register.
    pub(super) fn linear_offset(&mut self, threads: &[u32], registers: impl IntoIterator<Item = u32>) -> Regs {
        let table = Expr::from(self.word_table(registers));
        Regs((thread_part(threads).group() ^ table.element(Expr::Register)).group())
    }
}
