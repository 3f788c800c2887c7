//! Tiles in layouts: elementwise work, shape operations, and conversions from a value's home.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::predicates::Mask;
use crate::codegen::text::{acts, each, float_literal, int_literal, scalar, thread_part};
use crate::codegen::thread_ir::ThreadIr;
use crate::dtype::DType;
use crate::ir::{Op, Value};
use crate::layout::linear::{Access, Conversion, Layout, Shared, Shuffle};
use crate::layout::{linear, padded};

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

    /// The same in an array of their own, by its name.
    pub(super) fn array(&mut self, v: Value, l: &Layout) -> String {
        let regs = self.demand(v, l);
        let name = self.fresh();
        self.line(format!("let {name}: [{}; {}] = {};", self.f.ty(v).dtype.rust(), l.regs(), each(&regs.at("r"))));
        name
    }

    fn make(&mut self, v: Value, l: &Layout) -> Regs {
        let f = self.f;
        debug_assert_eq!(l.shape(), padded(f.shape(v)), "a layout of another tile for {v:?} {:?}", f.op(v));
        if let Some(a) = self.affine(v, l) {
            return self.affine_regs(&a.base.clone(), &a, 1);
        }
        if self.layouts.is_cheap(v)
            && let Some(c) = self.compare(v, l)
        {
            return c;
        }
        if let Some((x, source)) = self.operand_of_shape(v, l) {
            return self.through(x, source);
        }
        match f.op(v).clone() {
            Op::Splat(s) => Regs(scalar(s)),
            Op::Arange { start } => self.arange(start, l),
            op if op.is_elementwise() && (self.layouts.is_cheap(v) || self.layouts.of(v) == l) => {
                self.elementwise(v, l)
            }
            Op::Load { .. } if self.copied(v).is_some() => self.take_copied(v, self.copied(v).expect("just seen"), l),
            op => {
                let home = self.layouts.of(v).clone();
                if home == *l {
                    // Elsewhere only if the value was never defined, which `infer` excludes.
                    unreachable!("{v:?} = {op:?} is defined before it is used");
                }
                let at_home = self.demand(v, &home);
                self.convert(&at_home, f.ty(v).dtype, &home, l, self.site(f.values[v.0 as usize].span))
            }
        }
    }

    fn through(&mut self, x: Value, source: linear::Derived) -> Regs {
        let regs = self.demand(x, &source.layout);
        let table = self.table(&source.regs);
        Regs(regs.at(&table))
    }

    fn elementwise(&mut self, v: Value, l: &Layout) -> Regs {
        let f = self.f;
        let made = match *f.op(v) {
            Op::Select(mask, chosen, other) if let Some(mask) = self.mask_of_many(v, mask, l) => {
                let [chosen, other] = [chosen, other].map(|o| self.demand(o, l).at("r"));
                let each_of = each(&op_text(f.op(v), f.ty(v).dtype, None, &[mask.each.at("r"), chosen.clone(), other]));
                // LLVM would choose for each element after all if the other arm did nothing that must not be done in vain.
                format!("if {} {{ {} }} else {{ d::opaque(true); {each_of} }}", mask.all, each(&chosen))
            }
            _ => {
                let args: Vec<String> = f.op(v).operands().into_iter().map(|o| self.demand(o, l).at("r")).collect();
                self.elements(v, &args, l.regs())
            }
        };
        let mut name = scalar(v);
        if self.memo.iter().any(|m| m.keys().any(|(w, _)| *w == v)) {
            name = self.fresh();
        }
        self.line(format!("let {name}: [{}; {}] = {made};", f.ty(v).dtype.rust(), l.regs()));
        Regs(format!("{name}[#]"))
    }

    /// The mask of a choice among many sums, if it compares indices: most blocks are inside of all limits, which takes few comparisons to say instead of one and a choice an element.
    fn mask_of_many(&mut self, v: Value, mask: Value, l: &Layout) -> Option<Mask> {
        const MANY: usize = 16;
        let compares = self.layouts.is_accumulator(v) && l.regs() >= MANY && !matches!(self.f.op(mask), Op::Splat(_));
        if compares { self.mask(mask, l) } else { None }
    }

    /// Elementwise work on `len` registers, of operands for register `r`.
    pub(super) fn elements(&self, v: Value, args: &[String], len: usize) -> String {
        let (f, to) = (self.f, self.f.ty(v).dtype);
        let from = f.op(v).operands().first().map(|&o| f.ty(o).dtype);
        match (f.op(v), from) {
            // Of accumulators, of which a thread has many, and of bytes, each of which goes through a slow unit else; where memory is the limit it is no gain.
            (Op::Cast(_), Some(from))
                if (self.layouts.is_accumulator(v) || from.size() == 1)
                    && to.is_float()
                    && to.size() <= 2
                    && len % 2 == 0 =>
            {
                format!("d::cast_each::<{}, _, _>(|r| {})", from.rust(), args[0])
            }
            _ => each(&op_text(f.op(v), to, from, args)),
        }
    }

    fn arange(&mut self, start: i128, l: &Layout) -> Regs {
        let flat = self.flat_index(l);
        Regs(if start == 0 { format!("({flat} as u64)") } else { format!("({flat} as u64 + {start})") })
    }

    /// The flat index of register `#`, a u32.
    pub(super) fn flat_index(&mut self, l: &Layout) -> String {
        let t = self.thread_var(l);
        let values: Vec<u32> = (0..l.regs()).map(|r| l.reg_index(r)).collect();
        if values.iter().all(|&v| v == 0) {
            return t;
        }
        let table = self.const_table("u32", values.iter().map(|v| v.to_string()).collect());
        let (threads, regs) =
            (l.thread_bases().iter().fold(0, |a, b| a | b), l.reg_bases().iter().fold(0, |a, b| a | b));
        // Disjoint bits: an addition, whose constants fold into the offset of an access.
        let op = if threads & regs == 0 { '+' } else { '^' };
        format!("({t} {op} {table}[#])")
    }

    /// Coordinate along `dim` of the flat index in register `#`.
    pub(super) fn coordinate(&mut self, l: &Layout, dim: usize) -> String {
        let flat = self.flat_index(l);
        let low: u32 = l.dims()[dim + 1..].iter().sum();
        let shifted = if low == 0 { flat } else { format!("({flat} >> {low})") };
        if dim == 0 { shifted } else { format!("({shifted} & {})", (1u32 << l.dims()[dim]) - 1) }
    }

    /// Whether register `#` holds an element and no padding; nothing where all do.
    pub(super) fn valid(&mut self, l: &Layout, shape: &[usize]) -> Option<Regs> {
        let tests: Vec<String> = (0..shape.len())
            .filter(|&d| !shape[d].is_power_of_two() && !planted!("padding-is-valid"))
            .map(|d| format!("({} < {})", self.coordinate(l, d), shape[d]))
            .collect();
        (!tests.is_empty()).then(|| Regs(tests.join(" & ")))
    }

    /// Whether register `#` is the one copy of an element that acts in stores and atomics; nothing where all do.
    pub(super) fn once(&mut self, l: &Layout, shape: &[usize]) -> Option<Regs> {
        let free = l.free_mask();
        let mut tests = vec![];
        if free.threads != 0 {
            tests.push(format!("({})", acts(free.threads)));
        }
        if free.regs != 0 {
            tests.push(format!("(# & {} == 0)", free.regs));
        }
        tests.extend(self.valid(l, shape).map(|v| v.0));
        (!tests.is_empty()).then(|| Regs(tests.join(" & ")))
    }

    /// Some layout a value is to be had in without an exchange.
    pub(super) fn any_layout(&self, v: Value) -> Layout {
        let f = self.f;
        if !self.layouts.is_cheap(v) {
            return self.layouts.of(v).clone();
        }
        let shape = f.shape(v);
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        Layout::blocked(&padded(shape), &order, 1, f.warps as usize)
    }

    // --- conversions ---

    pub(super) fn convert(&mut self, from: &Regs, dtype: DType, src: &Layout, dst: &Layout, site: u32) -> Regs {
        if dtype.size() == 2
            && src != dst
            && let (Some(from_pairs), Some(to_pairs)) = (src.pairs(), dst.pairs())
        {
            // Exchanges move 32 bits.
            let (t, packed) = (dtype.rust(), self.fresh());
            let (lo, hi) = (from.at("2 * r"), from.at("2 * r + 1"));
            self.line(format!("let {packed}: [u32; {}] = d::each(|r| d::pair::<{t}>({lo}, {hi}));", from_pairs.regs()));
            let moved = self.convert(&Regs(format!("{packed}[#]")), DType::U32, &from_pairs, &to_pairs, site);
            return Regs(format!("d::of_pair::<{t}>({}, #)", moved.at("# / 2")));
        }
        match linear::plan(src, dst, dtype.size()) {
            Conversion::Identity => from.clone(),
            Conversion::Registers(map) => {
                let table = self.table(&map);
                Regs(from.at(&table))
            }
            Conversion::Shuffle(s) => self.shuffle(from, dtype, &s, site),
            Conversion::Shared(s) => self.through_shared(&[(from.clone(), dtype)], &s, site).remove(0),
        }
    }

    fn shuffle(&mut self, from: &Regs, dtype: DType, s: &Shuffle, site: u32) -> Regs {
        let t = dtype.rust();
        let mut name = self.fresh();
        let take = self.table(&s.take);
        self.line(format!("let {name}: [{t}; {}] = {};", s.take.len(), each(&from.at(&take.replace('#', "r")))));
        let exchange = |cx: &mut Self, name: &mut String, len: usize, steps: &[(usize, usize)]| {
            for (bit, mask) in steps {
                let next = cx.fresh();
                cx.line(format!("let {next}: [{t}; {len}] = d::each(|r| d::pick(tid >> {bit} & 1 == 1, {name}[r ^ {mask}], {name}[r]));"));
                *name = next;
            }
        };
        exchange(self, &mut name, s.take.len(), &s.before);
        let lane = thread_part(&s.from);
        let received = self.fresh();
        let regs = self.const_table("usize", s.rounds.iter().map(|r| r.reg.to_string()).collect());
        let lanes = self.const_table("u32", s.rounds.iter().map(|r| r.lane.to_string()).collect());
        let step = match s.is_xor() {
            true => format!(
                "if {lanes}[r] == 0 {{ {name}[{regs}[r]] }} else {{ d::shuffle_xor({name}[{regs}[r]], {lanes}[r], {site}) }}"
            ),
            false => format!("d::shuffle({name}[{regs}[r]], ({lane}) ^ {lanes}[r], {site})"),
        };
        self.line(format!("let {received}: [{t}; {}] = {};", s.rounds.len(), each(&step)));
        let mut name = received;
        exchange(self, &mut name, s.rounds.len(), &s.after);
        let place = self.table(&s.place);
        Regs(format!("{name}[{place}]"))
    }

    /// Tiles through shared memory side by side, in one exchange.
    pub(super) fn through_shared(&mut self, tiles: &[(Regs, DType)], s: &Shared, site: u32) -> Vec<Regs> {
        let (mut store, mut load, mut out, mut base) = (String::new(), String::new(), vec![], 0);
        for (regs, dtype) in tiles {
            let ok = acts(s.store_free);
            let source = self.table(&s.store.regs);
            let (n, offset) = (s.store.offsets.len(), self.shared_offset(&s.store, base));
            store.push_str(&format!(
                "d::shared_store::<{}, {n}, {}>(|r| {offset}, |_| {ok}, |r| {}, {site});\n",
                dtype.rust(),
                s.store.vec,
                regs.at(&source.replace('#', "r"))
            ));
            let name = self.fresh();
            let (n, offset) = (s.load.offsets.len(), self.shared_offset(&s.load, base));
            load.push_str(&format!(
                "let {name} = d::shared_load::<{}, {n}, {}>(|r| {offset}, |_| true, {site});\n",
                dtype.rust(),
                s.load.vec
            ));
            let place = self.table(&s.place);
            out.push(Regs(format!("{name}[{place}]")));
            base += s.bytes.next_multiple_of(16);
        }
        self.node(ThreadIr::Exchange { bytes: base, store, load, site });
        out
    }

    /// Byte offset of slot `r`, relative to the exchange's buffer `@`.
    fn shared_offset(&mut self, a: &Access, base: usize) -> String {
        let table = self.const_table("u32", a.offsets.iter().map(|o| o.to_string()).collect());
        let thread = thread_part(&a.threads);
        format!("(@ + {base}) + (({thread}) ^ {table}[r])")
    }

    // --- scalars ---

    pub(super) fn scalar_op(&self, v: Value) -> String {
        let f = self.f;
        let t = f.ty(v).dtype;
        match f.op(v) {
            Op::Int(n) => int_literal(*n, t),
            Op::Float(x) => float_literal(*x, t),
            Op::Bool(b) => b.to_string(),
            Op::Slot { slot }
                if t == DType::U64
                    && let Some(n) = self.a.known(*slot) =>
            {
                int_literal(i128::from(n), t)
            }
            Op::Slot { slot } if t == DType::U64 => format!("a{slot}"),
            Op::Slot { slot } => format!("<{} as s::Scalar>::from_bits64(a{slot})", t.rust()),
            Op::ProgramId(axis) => format!("d::{}({axis})", if f.ctas > 1 { "cluster_id" } else { "program_id" }),
            Op::NumPrograms(axis) => format!("d::{}({axis})", if f.ctas > 1 { "num_clusters" } else { "num_programs" }),
            Op::Rank => "d::cluster_rank()".into(),
            Op::ReadVar(var) => self.var(*var),
            op => {
                let args: Vec<String> = op.operands().into_iter().map(scalar).collect();
                op_text(op, t, op.operands().first().map(|&o| f.ty(o).dtype), &args)
            }
        }
    }
}

/// An elementwise operation on Rust operands: the same text for scalars, for tiles, and on the CPU.
pub fn op_text(op: &Op, to: DType, from: Option<DType>, args: &[String]) -> String {
    match op {
        Op::Unary(u, _) => format!("s::{}({})", u.name(), args[0]),
        Op::Binary(b, ..) => format!("s::{}({}, {})", b.name(), args[0], args[1]),
        Op::Fma(..) => format!("s::fma({}, {}, {})", args[0], args[1], args[2]),
        Op::Select(..) => format!("s::select({}, {}, {})", args[0], args[1], args[2]),
        Op::Cast(_) => format!("s::cast::<{}, {}>({})", from.expect("an operand").rust(), to.rust(), args[0]),
        Op::Bitcast(_) => format!("s::bitcast::<{}, {}>({})", from.expect("an operand").rust(), to.rust(), args[0]),
        op => unreachable!("{op:?} is not elementwise"),
    }
}
