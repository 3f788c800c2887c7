//! Tiles that an epilogue loads, computed by pieces of its store.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{any, of_r};
use crate::ir::{Op, StmtId, Value};
use crate::layout::linear::Layout;
use crate::plan::accesses::AccessId;
use crate::plan::tiles::PieceForm;
use crate::thread_ir::{Body, Device, Expr, Local, Name, Stmt, Ty, call};

/// The bytes of a row that one `stmatrix` stores, or one `ldmatrix` loads: 8 elements of a thread in 16 rows of a warp.
pub(super) const MATRICES_BYTES: usize = 32;
/// The elements of a thread in them.
const MATRICES_ELEMENTS: usize = 8;

/// A chunk of a store: registers `first..first + len` of its value, which are written to `buffer`.
pub(super) struct Piece<'a> {
    pub store: StmtId,
    pub layout: &'a Layout,
    pub first: usize,
    pub len: usize,
    pub buffer: &'a Expr,
    /// The offset of the lane in the buffer, see `staged_store`.
    pub at: Name,
}

impl Codegen<'_> {
    /// The registers of a piece, counted from 0.
    pub(super) fn piece(&mut self, v: Value, p: &Piece) -> Regs {
        let f = self.f;
        let in_pairs = match self.plan.tiles.pieces[&(p.store, v)] {
            PieceForm::Whole => {
                let of_first = self.plan.layouts.is_cheap(v) && planted!("piece-of-cheap-tile-is-the-first");
                let first = if of_first { 0 } else { p.first };
                return Regs(self.demand(v, p.layout).at((Expr::Register + first).group()));
            }
            PieceForm::Buffer => return self.copied_piece(v, p),
            PieceForm::Load => return self.load_piece(v, p),
            PieceForm::Elementwise { in_pairs } => in_pairs,
        };
        let operands = f.op(v).operands();
        let args = operands.iter().map(|&o| self.piece(o, p).at(Local::R)).collect();
        let name = self.fresh();
        self.line(Stmt::define(name, Ty::array(f.ty(v).dtype, p.len), self.elements(v, args, in_pairs)));
        Regs::of(name)
    }

    /// A piece of the tile that is in the buffer before the store.
    fn copied_piece(&mut self, v: Value, p: &Piece) -> Regs {
        let f = self.f;
        let (t, site) = (f.ty(v).dtype, self.site(f.values[v.0 as usize].span));
        let name = self.fresh();
        let of = self.temporaries;
        let parts: Vec<Name> = (0..p.len / MATRICES_ELEMENTS).map(|i| Name::Part(of, i)).collect();
        for (i, &part) in parts.iter().enumerate() {
            let at = p.buffer.clone() + (p.at ^ (i * MATRICES_BYTES)).group();
            self.line(Stmt::bind(part, call!(Device::Ldmatrix; [false]; at, site)));
        }
        self.line(Stmt::bind(name, Expr::Array(parts.into_iter().map(Expr::from).collect())));
        let pair = Expr::from(name).element(Expr::Register / 8).element(Expr::Register / 2 % 4);
        Regs(call!(Device::OfPair; [t]; pair, Expr::Register))
    }

    fn load_piece(&mut self, v: Value, p: &Piece) -> Regs {
        let f = self.f;
        let (t, site) = (f.ty(v).dtype, self.site(f.values[v.0 as usize].span));
        let name = self.fresh();
        let Op::Load { ptr, mask, hint, .. } = f.op(v).clone() else { unreachable!("a load") };
        let accesses = self.accesses(AccessId::Value(v), &ptr, mask, self.plan.accesses.of_value(v));
        let from_first = |value: Expr| {
            let r = Stmt::bind(Local::R, Local::R + p.first);
            of_r(Body::after(vec![r], value))
        };
        let ok = if planted!("piece-by-the-mask-of-the-first") { of_r(accesses.ok) } else { from_first(accesses.ok) };
        let loaded = call!(
            Device::Load; [t, p.len, accesses.vec, accesses.descending, accesses.undivided];
            from_first(accesses.addr), accesses.full, ok, any(Expr::zero(t)), hint as u32, site
        );
        let define = Stmt::define(name, Ty::array(t, p.len), loaded);
        self.access(AccessId::Value(v), &ptr, site, vec![define]);
        Regs::of(name)
    }

    /// Whether the value of a statement is computed by pieces, where a store uses it.
    pub(super) fn by_pieces(&self, v: Value) -> bool {
        self.fused().iter().any(|x| x.values.contains(&v))
    }
}
