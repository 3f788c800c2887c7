//! Tiles in layouts: elementwise work and shape operations, in the forms that the plan has.

use crate::codegen::comparison::MaskTest;
use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{acts, all_of, each, elementwise, float_literal, meaning, of_r};
use crate::dtype::DType;
use crate::ir::{Op, Value};
use crate::layout::linear::Layout;
use crate::layout::table::LayoutId;
use crate::plan::tile_forms::Form;
use crate::thread_ir::{Asm, BinaryOp, Body, Device, Expr, Function, Generic, Local, Name, Stmt, Ty, call};

impl<'a> Codegen<'a> {
    /// The registers of a tile in a layout.
    pub(super) fn demand(&mut self, v: Value, l: &Layout) -> Regs {
        self.tile(v, self.plan.tiles.id(l))
    }

    /// The registers of a tile in a layout.
    pub(super) fn tile(&mut self, v: Value, l: LayoutId) -> Regs {
        if let Some(r) = self.memo.iter().rev().find_map(|m| m.get(&(v, l))) {
            return r.clone();
        }
        let regs = self.make(v, l);
        self.make_available(v, l, regs.clone());
        regs
    }

    /// A tile that the statement takes in the layout of the plan.
    pub(super) fn at_use(&mut self, v: Value) -> (&'a Layout, Regs) {
        let tiles = &self.plan.tiles;
        let l = tiles.use_layouts[&self.at];
        (&tiles.layouts[l], self.tile(v, l))
    }

    /// The registers of a tile in a layout, in an array with the returned name.
    pub(super) fn array(&mut self, v: Value, l: &Layout) -> Name {
        let regs = self.demand(v, l);
        self.bind(Ty::array(self.f.ty(v).dtype, l.regs()), each(regs.at(Local::R)))
    }

    fn make(&mut self, v: Value, l: LayoutId) -> Regs {
        self.carried_out.computed.entry(self.at).or_default().insert((v, l));
        let plan = self.plan;
        match plan.tiles.form(v, l) {
            Form::IndexSum => {
                let base = self.base(v, l);
                self.sum_regs(base, plan.tiles.sum(v, l).expect("an index sum"), 1)
            }
            Form::Comparison { first } => {
                let compared = self.compare(v, l).each;
                Regs(compared.at(self.table(first)))
            }
            Form::OfSource(source) => {
                let regs = self.tile(source.of.0, source.of.1);
                let table = self.table(&source.regs);
                Regs(regs.at(table))
            }
            Form::Scalar(s) => Regs((*s).into()),
            Form::Range { start } => self.arange(*start, &plan.tiles.layouts[l]),
            Form::Branch => {
                let &Op::Select(mask, ..) = self.f.op(v) else { unreachable!("a `where_`") };
                let mask = self.mask(mask, l);
                let computed = self.branch(v, l, mask);
                self.named(v, l, computed)
            }
            Form::Elementwise { in_pairs } => {
                let args = self.f.op(v).operands().into_iter().map(|o| self.tile(o, l).at(Local::R)).collect();
                let computed = self.elements(v, args, *in_pairs);
                self.named(v, l, computed)
            }
            Form::Buffer { vec } => self.take_copied(v, l, *vec),
            Form::Converted { from, by } => {
                let regs = self.tile(v, *from);
                self.convert(&regs, self.f.ty(v).dtype, by, self.site(self.f.span(v)))
            }
        }
    }

    /// The value is in this layout, in which an operation defines it. It is also converted to the value's own layout.
    pub(super) fn defined(&mut self, v: Value, layout: &Layout, regs: Regs) {
        let (given, own) = (self.plan.tiles.id(layout), self.plan.tiles.id(self.plan.layouts.of(v)));
        self.make_available(v, given, regs);
        if own != given {
            let converted = self.make(v, own);
            self.make_available(v, own, converted);
        }
    }

    /// A `where_` without selects where the mask is true for all elements.
    fn branch(&mut self, v: Value, l: LayoutId, mask: MaskTest) -> Expr {
        let f = self.f;
        let Op::Select(_, chosen, other) = *f.op(v) else { unreachable!("a `where_`") };
        let [chosen, other] = [chosen, other].map(|o| self.tile(o, l).at(Local::R));
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

    /// An array with these elements. The first one of a value has its name.
    fn named(&mut self, v: Value, l: LayoutId, computed: Expr) -> Regs {
        let mut name = v.into();
        if self.memo.iter().any(|m| m.keys().any(|(w, _)| *w == v)) {
            name = self.fresh();
        }
        let regs = self.plan.tiles.layouts[l].regs();
        self.line(Stmt::define(name, Ty::array(self.f.ty(v).dtype, regs), computed));
        Regs::of(name)
    }

    /// Elementwise work on registers, of operands for register `r`; a cast may be one `in_pairs`.
    pub(super) fn elements(&self, v: Value, args: Vec<Expr>, in_pairs: bool) -> Expr {
        match *self.f.op(v) {
            Op::Cast(x) if in_pairs => {
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
                    && let Some(&n) = self.plan.known_words.get(word) =>
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
