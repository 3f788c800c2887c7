//! Tiles in layouts: elementwise work, shape operations, and conversions from a value's layout.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{acts, all_of, any, each, elementwise, float_literal, meaning, of_r, thread_part};
use crate::codegen::predicates::Mask;
use crate::dtype::DType;
use crate::ir::{Op, Value};
use crate::layout::linear::{Access, Conversion, Layout, Shared, Shuffle};
use crate::layout::{linear, padded};
use crate::thread_ir::{
    Asm, BinaryOp, Body, Device, Expr, Function, Generic, Local, Name, Node, Scratch, Stmt, Ty, call,
};

impl Codegen<'_> {
    /// The registers of a tile in a layout.
    pub(super) fn demand(&mut self, v: Value, l: &Layout) -> Regs {
        if let Some(r) = self.memo.iter().rev().find_map(|m| m.get(&(v, l.clone()))) {
            return r.clone();
        }
        let regs = self.make(v, l);
        self.at_hand(v, l.clone(), regs.clone());
        regs
    }

    /// The registers of a tile in a layout, in an array with the returned name.
    pub(super) fn array(&mut self, v: Value, l: &Layout) -> Name {
        let regs = self.demand(v, l);
        self.bind(Ty::array(self.f.ty(v).dtype, l.regs()), each(regs.at(Local::R)))
    }

    fn make(&mut self, v: Value, l: &Layout) -> Regs {
        let f = self.f;
        debug_assert_eq!(l.shape(), padded(f.shape(v)), "a layout of another tile for {v:?} {:?}", f.op(v));
        if let Some(a) = self.affine(v, l) {
            return self.affine_regs(a.base, &a, 1);
        }
        if self.plan.layouts.is_cheap(v)
            && let Some(c) = self.compare(v, l)
        {
            let first = self.first_of_groups(v, l);
            return Regs(c.at(self.table(&first)));
        }
        if let Some((x, source)) = self.operand_of_shape(v, l) {
            return self.through(x, source);
        }
        match f.op(v).clone() {
            Op::Splat(s) => Regs(s.into()),
            Op::Arange { start } => self.arange(start, l),
            op if op.is_elementwise() && (self.plan.layouts.is_cheap(v) || self.plan.layouts.of(v) == l) => {
                self.elementwise(v, l)
            }
            Op::Load { .. } if self.copied(v).is_some() => self.take_copied(v, self.copied(v).expect("just seen"), l),
            op => {
                let layout_of_value = self.plan.layouts.of(v).clone();
                if layout_of_value == *l {
                    // Elsewhere only if the value was never defined, which `infer` excludes.
                    unreachable!("{v:?} = {op:?} is defined before it is used");
                }
                let converted = self.demand(v, &layout_of_value);
                self.convert(&converted, f.ty(v).dtype, &layout_of_value, l, self.site(f.values[v.0 as usize].span))
            }
        }
    }

    fn through(&mut self, x: Value, source: linear::Derived) -> Regs {
        let regs = self.demand(x, &source.layout);
        let table = self.table(&source.regs);
        Regs(regs.at(table))
    }

    fn elementwise(&mut self, v: Value, l: &Layout) -> Regs {
        let f = self.f;
        let made = match *f.op(v) {
            Op::Select(mask, chosen, other) if let Some(mask) = self.mask_of_many(v, mask, l) => {
                let [chosen, other] = [chosen, other].map(|o| self.demand(o, l).at(Local::R));
                let args = vec![mask.each.at(Local::R), chosen.clone(), other];
                let each_of = each(elementwise(f.op(v), f.ty(v).dtype, None, args));
                // LLVM would turn the branch into a select for each element if the other arm had no side effect.
                let kept = Stmt::Expr(call!(Device::Opaque; true));
                Expr::If {
                    cond: Box::new(mask.all),
                    then: Body::of(each(chosen)),
                    other: Some(Body::after(vec![kept], each_of)),
                }
            }
            _ => {
                let args = f.op(v).operands().into_iter().map(|o| self.demand(o, l).at(Local::R)).collect();
                self.elements(v, args, l.regs())
            }
        };
        let mut name = v.into();
        if self.memo.iter().any(|m| m.keys().any(|(w, _)| *w == v)) {
            name = self.fresh();
        }
        self.line(Stmt::define(name, Ty::array(f.ty(v).dtype, l.regs()), made));
        Regs::of(name)
    }

    /// The mask of a `where_` that has a form without selects, if the mask compares indices.
    fn mask_of_many(&mut self, v: Value, mask: Value, l: &Layout) -> Option<Mask> {
        if self.plan.elementwise.branches.contains(&v) { self.mask(mask, l) } else { None }
    }

    /// Elementwise work on `len` registers, of operands for register `r`.
    pub(super) fn elements(&self, v: Value, args: Vec<Expr>, len: usize) -> Expr {
        match *self.f.op(v) {
            Op::Cast(x) if len % 2 == 0 && self.plan.elementwise.paired_casts.contains(&v) => {
                let [of] = args.try_into().expect("a cast has one operand");
                call!(Device::CastEach; [self.f.ty(x).dtype, Generic::Inferred, Generic::Inferred]; of_r(of))
            }
            _ => each(self.element(v, args)),
        }
    }

    /// Elementwise work on an element of each operand.
    pub(super) fn element(&self, v: Value, mut args: Vec<Expr>) -> Expr {
        let (f, op) = (self.f, self.f.op(v));
        let dtypes = || op.operands().into_iter().map(|o| f.ty(o).dtype);
        let Op::Asm { text, results, index, meaning: m, .. } = op else {
            return elementwise(op, f.ty(v).dtype, dtypes().next(), args);
        };
        if planted!("asm-operands-reversed") {
            args.rotate_left(1);
        }
        let operands = m.params.iter().zip(dtypes()).zip(args).map(|((&p, t), e)| (p.into(), t, e)).collect();
        let meaning = meaning(f, m, |v| self.closure_op(v));
        Expr::Asm(Box::new(Asm { text: text.clone(), results: results.clone(), index: *index, operands, meaning }))
    }

    fn arange(&mut self, start: i128, l: &Layout) -> Regs {
        let flat = self.flat_index(l).cast(Ty::U64);
        Regs(if start == 0 { flat.group() } else { (flat + start).group() })
    }

    /// The flat index of any register, a u32.
    pub(super) fn flat_index(&mut self, l: &Layout) -> Expr {
        let t = self.thread_var(l);
        let values: Vec<u32> = (0..l.regs()).map(|r| l.reg_index(r)).collect();
        if values.iter().all(|&v| v == 0) {
            return t.into();
        }
        let constant = Expr::from(self.word_table(values)).element(Expr::Register);
        let (threads, regs) =
            (l.thread_bases().iter().fold(0, |a, b| a | b), l.reg_bases().iter().fold(0, |a, b| a | b));
        // Disjoint bits: an addition, whose constants fold into the offset of an access.
        let sum = if threads & regs == 0 { t + constant } else { t ^ constant };
        sum.group()
    }

    /// Coordinate along `dim` of the flat index of any register.
    pub(super) fn coordinate(&mut self, l: &Layout, dim: usize) -> Expr {
        let flat = self.flat_index(l);
        let low: u32 = l.dims()[dim + 1..].iter().sum();
        let shifted = if low == 0 { flat } else { (flat >> low).group() };
        if dim == 0 { shifted } else { (shifted & ((1u32 << l.dims()[dim]) - 1)).group() }
    }

    /// Whether a register holds an element and no padding; none where all registers do.
    pub(super) fn valid(&mut self, l: &Layout, shape: &[usize]) -> Option<Regs> {
        let tests: Vec<Expr> = (0..shape.len())
            .filter(|&d| !shape[d].is_power_of_two() && !planted!("padding-is-valid"))
            .map(|d| self.coordinate(l, d).less(shape[d]).group())
            .collect();
        (!tests.is_empty()).then(|| Regs(all_of(tests, BinaryOp::And)))
    }

    /// Whether a register is the one copy of an element that stores and atomics use; none where all registers are.
    pub(super) fn once(&mut self, l: &Layout, shape: &[usize]) -> Option<Regs> {
        let free = l.free_mask();
        let mut tests = vec![];
        if free.threads != 0 {
            tests.push(acts(free.threads).group());
        }
        if free.regs != 0 {
            tests.push((Expr::Register & free.regs).equals(0).group());
        }
        tests.extend(self.valid(l, shape).map(|v| v.0));
        (!tests.is_empty()).then(|| Regs(all_of(tests, BinaryOp::And)))
    }

    // --- conversions ---

    pub(super) fn convert(&mut self, from: &Regs, dtype: DType, src: &Layout, dst: &Layout, site: u32) -> Regs {
        if dtype.size() == 2
            && src != dst
            && let (Some(from_pairs), Some(to_pairs)) = (src.pairs(), dst.pairs())
        {
            // Shuffles move 32 bits.
            let (lo, hi) = (from.at(Expr::from(2) * Local::R), from.at(Expr::from(2) * Local::R + 1));
            let pairs = each(call!(Device::Pair; [dtype]; lo, hi));
            let packed = self.bind(Ty::array(Ty::U32, from_pairs.regs()), pairs);
            let moved = self.convert(&Regs::of(packed), DType::U32, &from_pairs, &to_pairs, site);
            return Regs(call!(Device::OfPair; [dtype]; moved.at(Expr::Register / 2), Expr::Register));
        }
        match linear::plan(src, dst, dtype.size()) {
            Conversion::Identity => from.clone(),
            Conversion::Registers(map) => {
                let table = self.table(&map);
                Regs(from.at(table))
            }
            Conversion::Shuffle(s) => self.shuffle(from, dtype, &s, site),
            Conversion::Shared(s) => self.through_shared(&[(from.clone(), dtype)], &s, site).remove(0),
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
        scratch(self, &mut name, s.take.len(), &s.before);
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
    pub(super) fn through_shared(&mut self, tiles: &[(Regs, DType)], s: &Shared, site: u32) -> Vec<Regs> {
        let (mut store, mut load, mut out, mut base) = (vec![], vec![], vec![], 0);
        for (regs, dtype) in tiles {
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
            base += s.bytes.next_multiple_of(16);
        }
        self.node(Node::Scratch { bytes: base, steps: vec![store, load], site });
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

    // --- scalars ---

    pub(super) fn scalar_op(&self, v: Value) -> Expr {
        let f = self.f;
        let t = f.ty(v).dtype;
        let cluster = f.ctas > 1;
        match f.op(v) {
            Op::Int(n) => Expr::typed(*n, t),
            Op::Float(x) => float_literal(*x, t),
            Op::Bool(b) => (*b).into(),
            Op::Word { word }
                if t == DType::U64
                    && let Some(n) = self.plan.axis_info.known(*word) =>
            {
                Expr::typed(n, t)
            }
            Op::Word { word } if t == DType::U64 => Name::Arg(*word).into(),
            Op::Word { word } => call!(Function::FromBits64(t); Name::Arg(*word)),
            Op::ProgramId(axis) => call!(if cluster { Device::ClusterId } else { Device::ProgramId }; *axis),
            Op::NumPrograms(axis) => call!(if cluster { Device::NumClusters } else { Device::NumPrograms }; *axis),
            Op::ClusterCtaRank => call!(Device::ClusterRank;),
            Op::ReadVar(var) => self.var(*var).into(),
            op => {
                let args = op.operands().into_iter().map(Expr::from).collect();
                self.element(v, args)
            }
        }
    }
}
