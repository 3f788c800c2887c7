//! Tiles that are joined, parts of tiles, and elements at other places along an axis.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{acts, any, of_r, thread_part};
use crate::dtype::DType;
use crate::ir::{Op, Value};
use crate::layout::linear::Layout;
use crate::thread_ir::{Device, Expr, Function, Local, Node, Scratch, Stmt, call};

impl Codegen<'_> {
    pub(super) fn join(&mut self, v: Value, a: Value, b: Value) {
        let layout = if self.layouts.is_cheap(a) { self.any_layout(b) } else { self.any_layout(a) };
        let (a, b) = (self.demand(a, &layout), self.demand(b, &layout));
        let register = || Expr::Register.group();
        let which = if planted!("join-swaps") { (register() % 2).equals(1) } else { (register() % 2).equals(0) };
        let one = call!(Device::Pick; which, a.at(register() / 2), b.at(register() / 2));
        let site = self.site(self.f.span(v));
        self.define_results(v, &layout.join(), vec![Regs(one)], site);
    }

    pub(super) fn slice(&mut self, v: Value, value: Value, axis: usize, start: usize) {
        let (site, dtype) = (self.site(self.f.span(v)), self.f.ty(v).dtype);
        let layout = self.any_layout(value);
        let mut regs = self.demand(value, &layout);
        let sliced = layout.slice(axis, self.f.shape(v)[axis], start).unwrap_or_else(|c| {
            regs = self.convert(&regs, dtype, &layout, &c.first, site);
            c.sliced
        });
        let at = self.table(&sliced.regs);
        self.define_results(v, &sliced.layout, vec![Regs(regs.at(at))], site);
    }

    /// Through shared memory, where the tile lies in row-major order.
    pub(super) fn gather(&mut self, v: Value) {
        let f = self.f;
        let Op::Gather { value, index, axis } = *f.op(v) else { unreachable!("a gather") };
        let (site, dtype) = (self.site(f.span(v)), f.ty(v).dtype);
        let (bytes, extent) = (dtype.size(), f.shape(value)[axis]);
        let source = self.any_layout(value);
        let regs = self.demand(value, &source);
        let layout = self.any_layout(index);
        let index_type = f.ty(index).dtype;
        let index = self.demand(index, &layout);

        // One copy of each element.
        let free = source.free_mask();
        let stored: Vec<usize> = (0..source.regs()).filter(|r| r & free.regs as usize == 0).collect();
        let offset = self.byte_offset(&source, &stored, bytes);
        let at = self.table(&stored);
        let store = call!(
            Device::SharedStore; [dtype, stored.len(), 1usize];
            of_r(Expr::Scratch(Scratch::Unplaced) + offset), any(acts(free.threads)),
            of_r(regs.at(at.at(Local::R))), site
        );

        let others = layout.across(axis, &source.shape());
        let all: Vec<usize> = (0..layout.regs()).collect();
        let unit = source.flat(&unit(source.rank(), axis)) as usize * bytes;
        // What is outside is not loaded, and its address is within the tile.
        let limit = extent.next_power_of_two() - 1;
        let place = call!(Function::Cast; [index_type, DType::U32]; index.at(Local::R));
        let along = ((place & limit).group() * unit).group();
        let offset = self.byte_offset(&others, &all, bytes) + along;
        let inside = call!(Function::Cast; [index_type, DType::U64]; index.at(Local::R)).less(extent);
        let loaded = call!(
            Device::SharedLoad; [dtype, layout.regs(), 1usize];
            of_r(Expr::Scratch(Scratch::Unplaced) + offset), of_r(inside), site
        );
        let name = self.fresh();
        let elements = 1 << source.bits();
        self.node(Node::Scratch {
            bytes: elements * bytes,
            store: vec![store.into()],
            load: vec![Stmt::bind(name, loaded)],
            site,
        });
        self.define_results(v, &layout, vec![Regs::of(name)], site);
    }

    /// Of the flat index in register `r` of these.
    fn byte_offset(&mut self, layout: &Layout, registers: &[usize], bytes: usize) -> Expr {
        let scaled: Vec<u32> = layout.thread_bases().iter().map(|b| b * bytes as u32).collect();
        let table = self.word_table(registers.iter().map(|&r| layout.reg_index(r) * bytes as u32));
        (thread_part(&scaled).group() ^ Expr::from(table).element(Local::R)).group()
    }
}

/// Coordinates one step along an axis.
fn unit(rank: usize, axis: usize) -> Vec<usize> {
    (0..rank).map(|d| usize::from(d == axis)).collect()
}
