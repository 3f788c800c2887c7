//! Epilogues that load: a tile of a view that only meets accumulators on their way to a store is not brought into registers
//! as a whole, beside the accumulators, but by pieces of the store. Where tensor maps take its view it is copied ahead to
//! where the store is made from.

use super::box_store::{matrix, part};
use super::waits::behind;
use super::*;
use crate::analyse::{walk, written};
use std::collections::HashSet;

/// A store, and what is computed for it alone.
#[derive(Clone, Debug)]
pub struct Fused<'a> {
    pub store: &'a Stmt,
    pub values: HashSet<Value>,
    /// Tiles of views among them, in the order of their loads.
    pub loads: Vec<Value>,
}

/// All stores of accumulators, joined with tiles of views that are only read.
pub fn fused(f: &Func) -> Vec<Fused<'_>> {
    let (uses, written, mut out) = (super::uses(f), written(f), vec![]);
    let copied = operands::sources(f).map(|s| operands::loads(f, &s, true)).unwrap_or_default();
    let products: HashSet<Var> = walk(&f.body)
        .filter_map(|s| {
            if let StmtKind::Assign(var, v) = &s.kind { matches!(f.op(*v), Op::Dot { .. }).then_some(*var) } else { None }
        })
        .collect();
    blocks(&f.body, &mut |stmts| {
        for (at, s) in stmts.iter().enumerate() {
            let StmtKind::Store { value, window: Some(_), .. } = &s.kind else { continue };
            let value = matrix(f, *value);
            if part(f, value).is_none() {
                continue;
            }
            let mut cx = Collect {
                f,
                uses: &uses,
                written: &written,
                copied: &copied,
                products: &products,
                block: &stmts[..at],
                values: HashSet::new(),
                meets_product: false,
            };
            cx.visit(value);
            let loads: Vec<Value> = stmts[..at]
                .iter()
                .filter_map(|s| if let StmtKind::Let(v) = &s.kind { cx.values.contains(v).then_some(*v) } else { None })
                .filter(|&v| matches!(f.op(v), Op::Load { .. }))
                .collect();
            // Nothing between may leave the block, or what was copied would not be used.
            let first = stmts.iter().position(|s| matches!(&s.kind, StmtKind::Let(v) if loads.contains(v)));
            let straight = first.is_some_and(|first| stmts[first..at].iter().all(|s| matches!(&s.kind, StmtKind::Let(_))));
            if cx.meets_product && straight {
                out.push(Fused { store: s, values: cx.values, loads });
            }
        }
    });
    out
}

/// Whether threads that load a fused tile themselves have no registers left for its addresses.
pub fn crowded(f: &Func, fused: &[Fused]) -> bool {
    const ACCUMULATORS: usize = 128;
    let many = |x: &Fused| {
        x.loads.iter().any(|&v| f.shape(v).iter().product::<usize>() >= ACCUMULATORS * 32 * f.warps as usize)
    };
    fused.iter().any(many)
}

fn blocks<'a>(stmts: &'a [Stmt], visit: &mut impl FnMut(&'a [Stmt])) {
    visit(stmts);
    for s in stmts {
        match &s.kind {
            StmtKind::If { then, other, .. } => {
                blocks(then, visit);
                blocks(other, visit);
            }
            StmtKind::For { body, .. } | StmtKind::Loop { body } => blocks(body, visit),
            _ => {}
        }
    }
}

struct Collect<'a> {
    f: &'a Func,
    uses: &'a [u32],
    written: &'a HashSet<usize>,
    /// Tiles that are in a buffer, for products, until what takes them last: not until the store.
    copied: &'a HashSet<Value>,
    /// Variables that hold products.
    products: &'a HashSet<Var>,
    block: &'a [Stmt],
    values: HashSet<Value>,
    meets_product: bool,
}

impl Collect<'_> {
    fn visit(&mut self, v: Value) {
        let f = self.f;
        self.meets_product |= match f.op(v) {
            Op::Dot { .. } => true,
            Op::ReadVar(var) => self.products.contains(var),
            _ => false,
        };
        let alone = self.uses[v.0 as usize] == 1 && self.block.iter().any(|s| matches!(&s.kind, StmtKind::Let(w) if *w == v));
        let is_load = matches!(f.op(v), Op::Load { window: Some(_), place, .. } if f.shape(v).len() == 2 && !self.written.contains(&place.param()));
        let takes_copied = f.op(v).operands().into_iter().any(|o| self.copied.contains(&behind(f, o)));
        if f.ty(v).is_scalar()
            || !alone
            || takes_copied
            || self.copied.contains(&v)
            || !(is_load || f.op(v).is_elementwise())
        {
            return;
        }
        self.values.insert(v);
        if !is_load {
            f.op(v).operands().into_iter().for_each(|o| self.visit(o));
        }
    }
}

/// What a chunk of a store is made of: registers `first..first + len` of its value, to go to `buffer`.
pub(super) struct Piece<'a> {
    pub fused: Option<&'a Fused<'a>>,
    pub layout: &'a Layout,
    pub first: usize,
    pub len: usize,
    pub buffer: &'a str,
    /// Of a lane in the buffer, see `box_store`.
    pub at: &'a str,
}

impl Lower<'_> {
    /// The registers of a piece; `#` counts from 0.
    pub(super) fn piece(&mut self, v: Value, p: &Piece) -> Regs {
        let f = self.f;
        if !p.fused.is_some_and(|x| x.values.contains(&v)) || self.homes.is_cheap(v) {
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
        self.access(&place, Act::Read, Some(p.layout), false, site, text);
        Regs(format!("{name}[#]"))
    }

    /// Whether a statement's value is computed by pieces, where a store asks for it.
    pub(super) fn by_pieces(&self, v: Value) -> bool {
        self.fused.iter().any(|x| x.values.contains(&v))
    }

    /// The tile whose place a store's chunks take, and its channel.
    pub(super) fn copied_tile(&self, fused: Option<&Fused>) -> Option<(Value, usize)> {
        let p = self.role.pipeline()?;
        fused?.loads.iter().find_map(|&v| p.loads.get(&v).map(|&(channel, _)| (v, channel)))
    }
}
