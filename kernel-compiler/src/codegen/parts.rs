//! Concatenations of tiles, parts of tiles, and gathers along an axis.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{acts, any, each, linear, of_r};
use crate::dtype::DType;
use crate::ir::{Op, Value};
use crate::layout::linear::{Holders, Layout};
use crate::plan::collectives::{Collective, GatherWay, Slice};
use crate::thread_ir::{Device, Expr, Function, Local, Name, Scratch, Stmt, ThreadIr, Ty, call};

impl Codegen<'_> {
    pub(super) fn join(&mut self, v: Value, a: Value, b: Value) {
        let collectives = &self.plan.collectives;
        let Collective::Join { layout, result } = &collectives[&v] else { unreachable!("a join") };
        let (a, b) = (self.demand(a, layout), self.demand(b, layout));
        let register = || Expr::Register.group();
        let which = if planted!("join-swaps") { (register() % 2).equals(1) } else { (register() % 2).equals(0) };
        let one = call!(Device::Pick; which, a.at(register() / 2), b.at(register() / 2));
        self.define_results(v, result, vec![Regs(one)]);
    }

    pub(super) fn slice(&mut self, v: Value, value: Value, axis: usize, start: usize) {
        let (site, dtype) = (self.site(self.f.span(v)), self.f.ty(v).dtype);
        let collectives = &self.plan.collectives;
        let Collective::Slice { layout, way } = &collectives[&v] else { unreachable!("a slice") };
        let mut regs = self.demand(value, layout);
        let sliced = match way {
            Slice::Registers(sliced) => sliced,
            Slice::Shared { result, bytes } => {
                let shape = layout.shape();
                let first = layout.flat(&unit(layout.rank(), axis)) as usize * start * dtype.size();
                let offset = self.byte_offset(&result.within(&shape), &all(result), dtype.size()).at(Local::R) + first;
                let part =
                    self.from_row_major(&regs, dtype, layout, (offset, true.into(), result.regs()), *bytes, site);
                return self.define_results(v, result, vec![part]);
            }
            Slice::Converted(c, by) => {
                regs = self.convert(&regs, dtype, by, site);
                &c.sliced
            }
        };
        let at = self.table(&sliced.regs);
        self.define_results(v, &sliced.layout, vec![Regs(regs.at(at))]);
    }

    /// A gather through shared memory or by shuffles. Each thread has the indices of its own elements.
    pub(super) fn gather(&mut self, v: Value) {
        let f = self.f;
        let Op::Gather { value, index, axis } = *f.op(v) else { unreachable!("a gather") };
        let (site, dtype) = (self.site(f.span(v)), f.ty(v).dtype);
        let (bytes, extent) = (dtype.size(), f.shape(value)[axis]);
        let collectives = &self.plan.collectives;
        let Collective::Gather { source, layout, way } = &collectives[&v] else { unreachable!("a gather") };
        let regs = self.demand(value, source);
        let index_type = f.ty(index).dtype;
        let index = self.demand(index, layout);

        let others = layout.across(axis, &source.shape());
        let unit = source.flat(&unit(source.rank(), axis)) as usize;
        // An element at an index outside of the tile is not loaded; its address is within the tile.
        let limit = extent.next_power_of_two() - 1;
        let place = call!(Function::Cast; [index_type, DType::U32]; index.at(Local::R));
        let along = |unit: usize| ((place & limit).group() * unit).group();
        let wide = if planted!("gather-index-in-32-bits") { DType::U32 } else { DType::U64 };
        let inside = call!(Function::Cast; [index_type, wide]; index.at(Local::R)).less(extent);
        let inside = if planted!("gather-wraps-around") { true.into() } else { inside };
        let gathered = match way {
            GatherWay::Shuffles(holders) => {
                let flat = self.byte_offset(&others, &all(&others), 1).at(Local::R) + along(unit);
                let flat = self.bind(Ty::array(Ty::U32, layout.regs()), each(flat));
                self.from_lanes(&regs, dtype, holders, (flat, inside, layout.regs()), site)
            }
            GatherWay::Shared { bytes: scratch_bytes } => {
                let offset = self.byte_offset(&others, &all(&others), bytes).at(Local::R) + along(unit * bytes);
                self.from_row_major(&regs, dtype, source, (offset, inside, layout.regs()), *scratch_bytes, site)
            }
        };
        self.define_results(v, layout, vec![gathered]);
    }

    /// The elements at flat indices, each by a shuffle from the lane that has it. The register of the element in that
    /// lane is not known, so every candidate is shuffled and one is selected.
    fn from_lanes(
        &mut self,
        regs: &Regs,
        dtype: DType,
        holders: &Holders,
        (flat, inside, count): (Name, Expr, usize),
        site: u32,
    ) -> Regs {
        let flat = Expr::from(flat).element(Local::R);
        let lane = linear(&flat, &holders.lanes);
        let mut found = vec![];
        for &register in &holders.registers {
            let one = call!(Device::Shuffle; regs.at(register), lane.clone(), site);
            found.push(Expr::from(self.bind(Ty::array(dtype, count), each(one))).element(Local::R));
        }
        // Selects between registers that differ in one bit of their number, bit by bit.
        for bit in holders.choices.iter().filter(|_| !planted!("gather-from-the-first-register")) {
            let is_first = linear(&flat, bit).equals(0);
            found =
                found.chunks(2).map(|p| call!(Device::Pick; is_first.clone(), p[0].clone(), p[1].clone())).collect();
        }
        let gathered = Expr::when(inside, found.swap_remove(0), Expr::zero(dtype));
        Regs::of(self.bind(Ty::array(dtype, count), each(gathered)))
    }

    /// Stores a tile to shared memory in row-major order and loads elements of it: for register `r` the one at byte
    /// `offset`, if `inside`, into `count` registers. The tile takes `bytes`.
    fn from_row_major(
        &mut self,
        regs: &Regs,
        dtype: DType,
        source: &Layout,
        (offset, inside, count): (Expr, Expr, usize),
        bytes: usize,
        site: u32,
    ) -> Regs {
        // One copy of each element.
        let free = source.free_mask();
        let stored: Vec<usize> = (0..source.regs()).filter(|r| r & free.regs as usize == 0).collect();
        let to = self.byte_offset(source, &stored, dtype.size()).at(Local::R);
        let at = self.table(&stored);
        let scratch = || Expr::Scratch(Scratch::Unplaced);
        let store = call!(
            Device::SharedStore; [dtype, stored.len(), 1usize];
            of_r(scratch() + to), any(acts(free.threads)), of_r(regs.at(at.at(Local::R))), site
        );
        let loaded = call!(
            Device::SharedLoad; [dtype, count, 1usize]; of_r(scratch() + offset), of_r(inside), site
        );
        let name = self.fresh();
        self.node(ThreadIr::exchange(bytes, store.into(), Stmt::bind(name, loaded), site));
        Regs::of(name)
    }

    /// The byte offset of the flat index in each of these registers, in row-major order.
    pub(super) fn byte_offset(&mut self, layout: &Layout, registers: &[usize], bytes: usize) -> Regs {
        let scaled = |flat: u32| flat * bytes as u32;
        let threads: Vec<u32> = layout.thread_bases().into_iter().map(scaled).collect();
        self.linear_offset(&threads, registers.iter().map(|&r| scaled(layout.reg_index(r))))
    }
}

/// The registers of a layout.
pub(super) fn all(layout: &Layout) -> Vec<usize> {
    (0..layout.regs()).collect()
}

/// The distance of flat indices that one step along an axis makes.
fn unit(rank: usize, axis: usize) -> Vec<usize> {
    (0..rank).map(|d| usize::from(d == axis)).collect()
}
