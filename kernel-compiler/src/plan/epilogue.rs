//! Epilogues that load. A tile of a view that is combined with accumulators before their store is loaded piece by
//! piece, as the store goes on: registers for the whole tile beside the accumulators are not needed. TMA copies the
//! first such tile to the store's staging buffer where its view allows it.

use super::operands::{self, MAX_BOX};
use super::staged_store::{matrix, part};
use super::warp_specialized::{FusedStore, Pipeline};
use crate::ir::walk::{behind, uses, walk, written};
use crate::ir::{Address, Array, BlockPointer, Func, Op, Stmt, StmtKind, Value, Var};
use crate::missed::Missed;
use std::collections::HashSet;

/// All stores of accumulators that are combined with tiles of views which the kernel only reads.
pub fn fused(f: &Func) -> Vec<FusedStore> {
    let (uses, written, mut out) = (uses(f), written(f), vec![]);
    let copied = operands::sources(f).map(|s| operands::loads(f, &s, true)).unwrap_or_default();
    let products: HashSet<Var> = walk(&f.body)
        .filter_map(|s| {
            if let StmtKind::Assign(var, v) = &s.kind {
                matches!(f.op(*v), Op::Dot { .. }).then_some(*var)
            } else {
                None
            }
        })
        .collect();
    blocks(&f.body, &mut |stmts| {
        for (at, s) in stmts.iter().enumerate() {
            let StmtKind::Store { ptr, value, block_pointer: Some(to), .. } = &s.kind else { continue };
            let (shape, value) = (f.shape(*value), matrix(f, *value));
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
                stored: (f.memory(ptr.array()), to, shape),
                values: HashSet::new(),
                meets_product: false,
            };
            cx.visit(value);
            let loads: Vec<Value> = stmts[..at]
                .iter()
                .filter_map(|s| if let StmtKind::Let(v) = &s.kind { cx.values.contains(v).then_some(*v) } else { None })
                .filter(|&v| matches!(f.op(v), Op::Load { .. }))
                .collect();
            // Nothing between the two may leave the block, or a copied tile would not be used.
            let first = stmts.iter().position(|s| matches!(&s.kind, StmtKind::Let(v) if loads.contains(v)));
            let straight =
                first.is_some_and(|first| stmts[first..at].iter().all(|s| matches!(&s.kind, StmtKind::Let(_))));
            if cx.meets_product && straight {
                out.push(FusedStore { store: s.id, value, values: cx.values, loads });
            }
        }
    });
    out
}

/// A fused tile whose addresses take too many registers where threads load it.
pub fn crowded(f: &Func, fused: &[FusedStore]) -> Option<Value> {
    const ACCUMULATORS: usize = 128;
    let many = |v: &Value| f.shape(*v).iter().product::<usize>() >= ACCUMULATORS * 32 * f.warps as usize;
    fused.iter().flat_map(|x| x.loads.iter().copied()).find(many)
}

/// The tiles of epilogues that threads load.
pub fn missed(f: &Func, fused: &[FusedStore], p: &Pipeline) -> Vec<Missed> {
    let of_store = |x: &FusedStore| {
        let is_copied = |v: &&Value| p.loads.contains_key(v);
        let other = x.loads.iter().any(|v| is_copied(&v));
        let (rows, stored) = (f.shape(x.value)[0], f.ty(x.value).dtype.size());
        let why = move |v: Value| match f.ty(v).dtype.size() {
            _ if other => why!("another tile of the same store is copied: an epilogue has one buffer"),
            size if (size, stored) != (2, 2) => why!(
                "its elements have {size} bytes, and the stored ones {stored}: the buffer of a store holds both where \
                 both have 2"
            ),
            _ if rows > MAX_BOX => why!("a tile of {rows} rows is larger than a box of {MAX_BOX}: take smaller tiles"),
            _ => why!(
                "the address of a tile of the epilogue depends on data that the kernel writes: load it from an array \
                 that the kernel only reads"
            ),
        };
        let left = x.loads.iter().filter(|v| !is_copied(v)).copied();
        left.map(|v| Missed::new(operands::TMA, why(v)).at(f.span(v))).collect::<Vec<_>>()
    };
    fused.iter().flat_map(of_store).collect()
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
    written: &'a HashSet<Array>,
    /// Tiles that are in a buffer for products. The buffer is released after their last use, which may be before the
    /// store.
    copied: &'a HashSet<Value>,
    /// Variables that hold products.
    products: &'a HashSet<Var>,
    block: &'a [Stmt],
    /// The memory that the store writes, where it does, and the shape there.
    stored: (Array, &'a BlockPointer, &'a [usize]),
    values: HashSet<Value>,
    meets_product: bool,
}

impl Collect<'_> {
    /// Whether a tile may be loaded by pieces between those of the store: it is in other memory, or at the same
    /// position.
    fn keeps_order(&self, v: Value, array: Array, from: &BlockPointer) -> bool {
        let (f, (memory, to, shape)) = (self.f, self.stored);
        let same = |a: &Value, b: &Value| a == b || matches!((f.op(*a), f.op(*b)), (Op::Int(x), Op::Int(y)) if x == y);
        let at_the_same = || from.at.len() == to.at.len() && from.at.iter().zip(&to.at).all(|(a, b)| same(a, b));
        f.memory(array) != memory || planted!("epilogue-of-an-alias-elsewhere") || f.shape(v) == shape && at_the_same()
    }

    fn visit(&mut self, v: Value) {
        let f = self.f;
        self.meets_product |= match f.op(v) {
            Op::Dot { .. } => true,
            Op::ReadVar(var) => self.products.contains(var),
            _ => false,
        };
        let alone =
            self.uses[v.0 as usize] == 1 && self.block.iter().any(|s| matches!(&s.kind, StmtKind::Let(w) if *w == v));
        let is_written = |ptr: &Address| self.written.contains(&ptr.array()) && !planted!("epilogue-of-written-array");
        let is_load = f.shape(v).len() == 2
            && matches!(
                f.op(v),
                Op::Load { block_pointer: Some(from), ptr, .. }
                    if !is_written(ptr) && self.keeps_order(v, ptr.array(), from)
            );
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
