//! Tiles that an epilogue loads, computed by pieces of its store.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::thread_ir::AccessKind;
use crate::ir::{Op, Value};
use crate::layout::linear::Layout;
use crate::plan::warp_specialized::FusedStore;

/// What a chunk of a store is made of: registers `first..first + len` of its value, to go to `buffer`.
pub(super) struct Piece<'a> {
    pub fused: Option<&'a FusedStore>,
    pub layout: &'a Layout,
    pub first: usize,
    pub len: usize,
    pub buffer: &'a str,
    /// Of a lane in the buffer, see `tma_store`.
    pub at: &'a str,
}

impl Codegen<'_> {
    /// The registers of a piece; `#` counts from 0.
    pub(super) fn piece(&mut self, v: Value, p: &Piece) -> Regs {
        let f = self.f;
        if !p.fused.is_some_and(|x| x.values.contains(&v)) || self.layouts.is_cheap(v) {
            return Regs(self.demand(v, p.layout).at(&format!("(# + {})", p.first)));
        }
        if matches!(f.op(v), Op::Load { .. }) {
            return self.load_piece(v, p);
        }
        let operands = f.op(v).operands();
        let args: Vec<String> = operands.iter().map(|&o| self.piece(o, p).at("r")).collect();
        let (name, made) = (self.fresh(), self.elements(v, &args, p.len));
        self.line(format!("let {name}: [{}; {}] = {made};", f.ty(v).dtype.rust(), p.len));
        Regs(format!("{name}[#]"))
    }

    fn load_piece(&mut self, v: Value, p: &Piece) -> Regs {
        let f = self.f;
        let (t, site, name) = (f.ty(v).dtype.rust(), self.site(f.values[v.0 as usize].span), self.fresh());
        if self.copied_tile(p.fused).is_some_and(|(copied, _)| copied == v) {
            for i in 0..4 {
                self.line(format!(
                    "let {name}_{i} = d::ldmatrix::<false>({} + ({} ^ {}), {site});",
                    p.buffer,
                    p.at,
                    i * 32
                ));
            }
            self.line(format!("let {name} = [{name}_0, {name}_1, {name}_2, {name}_3];"));
            return Regs(format!("d::of_pair::<{t}>({name}[# / 8][# / 2 % 4], #)"));
        }
        let Op::Load { place, mask, hint, .. } = f.op(v).clone() else { unreachable!("a load") };
        let plan = self.plan(&place, mask, p.layout, false);
        let (first, len) = (p.first, p.len);
        let text = format!(
            "let {name}: [{t}; {len}] = d::load::<{t}, {len}, {}, {}>(|r| {{ let r = r + {first}; {} }}, {}, |r| {{ let r = r + {first}; {} }}, |_| <{t} as s::Scalar>::ZERO, {}, {site});",
            plan.vec, plan.descending, plan.addr, plan.full, plan.ok, hint as u32,
        );
        self.access(&place, AccessKind::Read, Some(p.layout), false, site, text);
        Regs(format!("{name}[#]"))
    }

    /// Whether a statement's value is computed by pieces, where a store asks for it.
    pub(super) fn by_pieces(&self, v: Value) -> bool {
        self.fused.iter().any(|x| x.values.contains(&v))
    }

    /// The tile whose place a store's chunks take, and its operand_group.
    pub(super) fn copied_tile(&self, fused: Option<&FusedStore>) -> Option<(Value, usize)> {
        let p = self.role.pipeline()?;
        fused?.loads.iter().find_map(|&v| p.loads.get(&v).map(|&(operand_group, _)| (v, operand_group)))
    }
}
