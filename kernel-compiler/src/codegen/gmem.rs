//! Loads, stores and atomics of a thread.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::text::{all_of, atomic, scalar};
use crate::codegen::thread_ir::{Access, AccessKind, ThreadIr};
use crate::ir::{Address, Atomic, Hint, Op, Stmt, Value};
use crate::layout::assign::{fastest, preferred};
use crate::layout::linear::Layout;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How the registers of a thread meet memory.
pub(super) struct Plan {
    /// Elements of one access.
    pub vec: usize,
    pub descending: bool,
    pub addr: String,
    /// Every access of the thread is inside.
    pub full: String,
    /// The access of register `r` is allowed.
    pub ok: String,
}

impl Codegen<'_> {
    pub(super) fn load(&mut self, v: Value) {
        let f = self.f;
        let Op::Load { place, mask, other, hint, .. } = f.op(v).clone() else { unreachable!("a load") };
        let (t, site, hint) = (f.ty(v).dtype.rust(), self.site(f.values[v.0 as usize].span), hint as u32);
        let zero = format!("<{t} as s::Scalar>::ZERO");
        if f.ty(v).is_scalar() {
            let ok = self.scalar_ok(&place, mask);
            let (addr, other) = (self.address(&place, &scalar(place.index())), other.map_or(zero, scalar));
            let text = format!(
                "let {}: {t} = d::load::<{t}, 1, 1, false>(|_| {addr}, false, |_| {ok}, |_| {other}, {hint}, {site})[0];",
                scalar(v)
            );
            self.access(&place, AccessKind::Read, None, false, site, text);
            return;
        }
        let layout = self.layouts.of(v).clone();
        let plan = self.plan(&place, mask, &layout, false);
        let other = match other {
            Some(o) => self.demand(o, &layout).at("r"),
            None => zero,
        };
        let text = format!(
            "let {}: [{t}; {n}] = d::load::<{t}, {n}, {}, {}>(|r| {}, {}, |r| {}, |r| {other}, {hint}, {site});",
            scalar(v),
            plan.vec,
            plan.descending,
            plan.addr,
            plan.full,
            plan.ok,
            n = layout.regs(),
        );
        self.access(&place, AccessKind::Read, Some(&layout), false, site, text);
        self.at_hand(v, layout, Regs(format!("{}[#]", scalar(v))));
    }

    pub(super) fn store(
        &mut self,
        place: &Address,
        value: Value,
        mask: Option<Value>,
        hint: Hint,
        span: proc_macro2::Span,
    ) {
        let f = self.f;
        let (t, site, hint) = (f.ty(value).dtype.rust(), self.site(span), hint as u32);
        if f.ty(value).is_scalar() {
            let ok = self.scalar_ok(place, mask);
            let ok = if planted!("scalar-store-by-all-threads") { format!("{ok} || tid > 0") } else { ok };
            let addr = self.address(place, &scalar(place.index()));
            let text = format!(
                "d::store::<{t}, 1, 1, false>(|_| {addr}, false, |_| tid == 0 && {ok}, |_| {}, {hint}, {site});",
                scalar(value)
            );
            self.access(place, AccessKind::Write, None, true, site, text);
            return;
        }
        let layout = self.store_layout(place, value);
        let regs = self.demand(value, &layout);
        let plan = self.plan(place, mask, &layout, true);
        let text = format!(
            "d::store::<{t}, {}, {}, {}>(|r| {}, {}, |r| {}, |r| {}, {hint}, {site});",
            layout.regs(),
            plan.vec,
            plan.descending,
            plan.addr,
            plan.full,
            plan.ok,
            regs.at("r")
        );
        self.access(place, AccessKind::Write, Some(&layout), true, site, text);
    }

    /// The value's home if memory likes it as well, else the layout that memory prefers.
    fn store_layout(&mut self, place: &Address, value: Value) -> Layout {
        let (f, index) = (self.f, place.index());
        if !self.layouts.is_cheap(index) {
            return self.layouts.of(index).clone();
        }
        let best = preferred(f, self.a, index, f.params[place.param()].dtype.size());
        if self.layouts.is_cheap(value) {
            return best;
        }
        // Shape operations are read through: where their operand lies decides.
        let home = self.layouts.of(value).clone();
        let order = self.a.order(f, index);
        let run = |l: &Layout| l.contiguous(order[0]);
        let wanted = self.a.vector(f, index, order[0], f.params[place.param()].dtype.size()).0;
        if self.layouts.is_accumulator(value)
            && let Some(widened) = home.widened(order[0], wanted.min(1 << home.dims()[order[0]]))
        {
            // The instructions' own layout is near enough to memory's: a few shuffles away.
            return widened;
        }
        if let Op::Permute(x, perm) = f.op(value)
            && self.layouts.is_accumulator(*x)
        {
            // Transposed accumulators: lanes stand along the rows of memory, as many as fill its units.
            let turned = self.layouts.of(*x).permute(perm).layout;
            if self.whole_sectors(&turned, order[0], f.ty(value).dtype.size()) {
                return turned;
            }
        }
        let suits = fastest(&home).is_none_or(|d| d == order[0]) && run(&home) >= wanted.min(run(&best));
        if suits { home } else { best }
    }

    /// An access by the threads of a layout, or of a scalar. What several threads have copies of one of them stores, or all load for
    /// themselves: then it is not the same thread that reaches the same element.
    pub(super) fn access(
        &mut self,
        place: &Address,
        act: AccessKind,
        layout: Option<&Layout>,
        once: bool,
        site: u32,
        text: String,
    ) {
        let once = once && !planted!("access-key-ignores-copies");
        let copies = layout.is_none_or(|l| l.free_mask().threads != 0);
        let access =
            Access { param: place.param(), act, key: (place.index().0, layout_key(layout, once && copies)), site };
        self.node(ThreadIr::Access { text, access });
    }

    /// Byte address of an element.
    fn address(&self, place: &Address, index: &str) -> String {
        let p = &self.f.params[place.param()];
        let index = self.as_u64(place.index(), index);
        format!("a{}.wrapping_add(({index}).wrapping_mul({}))", p.slot, p.dtype.size())
    }

    fn as_u64(&self, v: Value, text: &str) -> String {
        match self.f.ty(v).dtype {
            crate::dtype::DType::U64 => text.to_string(),
            // A negative index becomes a huge one: outside of every slice.
            d => format!("s::cast::<{}, u64>({text})", d.rust()),
        }
    }

    /// Whether the lanes of a warp fill units of 32 bytes along a dimension.
    fn whole_sectors(&self, l: &Layout, dim: usize, size: usize) -> bool {
        let low: u32 = l.dims()[dim + 1..].iter().sum();
        (0..(32 / size).trailing_zeros()).all(|bit| l.lane_bases().contains(&(1 << (low + bit))))
    }

    fn scalar_ok(&self, place: &Address, mask: Option<Value>) -> String {
        let index = self.as_u64(place.index(), &scalar(place.index()));
        let inside = match place {
            Address::Slice { param, .. } => Some(format!("({index} < a{})", self.f.params[*param].slot + 1)),
            Address::Raw { .. } => None,
        };
        all_of(inside.into_iter().chain(mask.map(scalar)), "&&")
    }

    pub(super) fn plan(&mut self, place: &Address, mask: Option<Value>, layout: &Layout, once: bool) -> Plan {
        let f = self.f;
        let index = place.index();
        let regs = self.demand(index, layout);
        let (once, mask) = (once && !planted!("all-copies-store"), mask.filter(|_| !planted!("mask-dropped")));
        let (everywhere, mask) = match mask {
            Some(m) => match self.mask(m, layout) {
                Some(m) => (Some(m.all), Some(m.each)),
                None => (None, Some(self.demand(m, layout))),
            },
            None => (None, None),
        };
        let act = if once { self.once(layout, f.shape(index)) } else { self.valid(layout, f.shape(index)) };
        let n = layout.regs();
        // The widest access along the dimension on which consecutive registers lie.
        let bytes = f.params[place.param()].dtype.size();
        let (mut vec, mut descending) = (1, false);
        if n > 1 {
            let first = layout.reg_bases()[0];
            if let Some(dim) = (0..layout.rank()).find(|&d| layout.coord(first, d) == 1) {
                let (widest, down) = self.a.vector(f, index, dim, bytes);
                vec = widest.min(layout.contiguous(dim)).min(n);
                descending = down && vec > 1;
            }
        }
        self.vectors |= vec > 1;
        let p = &f.params[place.param()];
        let affine = self.affine(index, layout);
        let bound = match (place, &affine) {
            _ if planted!("slice-bound-dropped") => None,
            (Address::Raw { .. }, _) => None,
            (_, Some(a)) => {
                let end = format!("a{}", p.slot + 1);
                Some(self.below(index, a, &end).unwrap_or_else(|| Regs(format!("({} < {end})", regs.0))))
            }
            _ => Some(Regs(format!("({} < a{})", self.as_u64(index, &regs.0), p.slot + 1))),
        };
        // The mask goes with the bounds if it says no more of an access than of its farthest element.
        let ascends =
            affine.as_ref().is_some_and(|a| vec == 1 || !descending && a.consts.chunks(vec).all(|c| c.is_sorted()));
        let joined = mask.as_ref().zip(bound.as_ref()).filter(|_| ascends).and_then(|(m, b)| self.both(m, b));
        let (bound, mask, everywhere) = if joined.is_some() { (joined, None, None) } else { (bound, mask, everywhere) };
        let addr = match &affine {
            Some(a) => {
                let base = self.fresh();
                self.line(format!("let {base}: u64 = a{}.wrapping_add({}.wrapping_mul({bytes}));", p.slot, a.base));
                self.affine_regs(&base, a, bytes).at("r")
            }
            None => self.address(place, &regs.at("r")),
        };
        let inside = |r: &str| bound.as_ref().map(|b| b.at(r));
        let ok = all_of(
            [inside("r"), mask.as_ref().map(|m| m.at("r")), act.as_ref().map(|a| a.at("r"))].into_iter().flatten(),
            "&",
        );
        let full = if vec == 1 {
            "false".into()
        } else {
            // Of a group the last element is the farthest, the first if addresses descend.
            let far = if descending { format!("(g * {vec})") } else { format!("(g * {vec} + {})", vec - 1) };
            let far = if planted!("vector-bound-of-first") { format!("(g * {vec})") } else { far };
            let mut tests = vec![];
            if let Some(t) = inside(&far) {
                tests.push(format!("d::all::<{}>(|g| {t})", n / vec));
            }
            let one_by_one = mask.as_ref().filter(|_| everywhere.is_none());
            tests.extend(everywhere);
            let each_one: Vec<String> =
                [one_by_one.map(|m| m.at("g")), act.as_ref().map(|a| a.at("g"))].into_iter().flatten().collect();
            if !each_one.is_empty() {
                tests.push(format!("d::all::<{n}>(|g| {})", each_one.join(" & ")));
            }
            all_of(tests, "&")
        };
        Plan { vec, descending, addr, full, ok }
    }

    pub(super) fn atomic(&mut self, v: Value) {
        let f = self.f;
        let Op::Atomic { op, place, values, mask, relaxed } = f.op(v).clone() else { unreachable!("an atomic") };
        let (t, site) = (f.ty(v).dtype.rust(), self.site(f.values[v.0 as usize].span));
        let call = |n: usize, addr: &str, ok: &str, args: &[String]| {
            let (function, code, values) = atomic(op, t, args, "r");
            let n = if op == Atomic::Cas { format!(", {n}") } else { format!(", {n}{code}") };
            format!("d::{function}::<{t}{n}>(|r| {addr}, |r| {ok}, {values}, {relaxed}, {site})")
        };
        let relaxed = relaxed || planted!("atomic-is-relaxed");
        let (before, after) = (!relaxed && op.releases(), !relaxed && op.acquires());
        let does = match op {
            Atomic::Load => AccessKind::Read,
            Atomic::Store => AccessKind::Write,
            _ => AccessKind::Update,
        };
        let used = self.uses[v.0 as usize] > 0;
        if f.ty(v).is_scalar() {
            // One thread acts for the program; all its threads' earlier writes are before it, all later reads after.
            let (addr, ok) =
                (self.address(&place, &scalar(place.index())), format!("tid == 0 && {}", self.scalar_ok(&place, mask)));
            let act = call(1, &addr, &ok, &values.iter().map(|&v| scalar(v)).collect::<Vec<_>>());
            if before {
                self.told(site);
            }
            if !used && !after {
                self.access(&place, does, None, true, site, format!("{act};"));
                return;
            }
            let name = scalar(v);
            self.access(&place, does, None, true, site, format!("let old_{name} = {act};"));
            let store = format!("d::shared_store::<{t}, 1, 1>(|_| @, |_| tid == 0, |_| old_{name}[0], {site});\n");
            let load = format!("let {name}: {t} = d::shared_load::<{t}, 1, 1>(|_| @, |_| true, {site})[0];\n");
            let exchange = ThreadIr::Exchange { bytes: 8, store, load, site };
            if after {
                self.node(exchange)
            } else {
                self.pending.push((v, exchange))
            }
            return;
        }
        let layout = self.layouts.of(v).clone();
        let plan = self.plan(&place, mask, &layout, true);
        let args: Vec<String> = values.iter().map(|&x| self.demand(x, &layout).at("r")).collect();
        if before {
            self.told(site);
        }
        let act = call(layout.regs(), &plan.addr, &plan.ok, &args);
        self.access(
            &place,
            does,
            Some(&layout),
            true,
            site,
            format!("let {}: [{t}; {}] = {act};", scalar(v), layout.regs()),
        );
        let mut regs = Regs(format!("{}[#]", scalar(v)));
        if used && (layout.free_mask().threads != 0 || layout.free_mask().regs != 0) {
            // Only one copy acted: the others learn the old value from it.
            regs = self.spread_copies(&regs, f.ty(v).dtype, &layout, site);
        }
        if after {
            self.node(ThreadIr::Barrier { site });
        }
        self.at_hand(v, layout, regs);
    }

    /// What an earlier atomic gave one thread, all learn when a statement takes it: until then nobody waits for memory.
    pub(super) fn flush(&mut self, s: &Stmt) {
        if self.pending.is_empty() {
            return;
        }
        let taken: HashSet<Value> =
            crate::ir::walk::walk(std::slice::from_ref(s)).flat_map(|s| self.f.taken_by(s)).collect();
        let (due, pending) = std::mem::take(&mut self.pending).into_iter().partition(|(v, _)| taken.contains(v));
        self.pending = pending;
        for (_, exchange) in due {
            self.node(exchange);
        }
    }

    fn spread_copies(&mut self, regs: &Regs, dtype: crate::dtype::DType, layout: &Layout, site: u32) -> Regs {
        let (n, flat, bytes) = (layout.regs(), self.flat_index(layout).replace('#', "r"), dtype.size());
        let act = self.once(layout, &layout.shape()).map_or("true".into(), |r| r.at("r"));
        let (name, t) = (self.fresh(), dtype.rust());
        let store = format!(
            "d::shared_store::<{t}, {n}, 1>(|r| @ + {flat} * {bytes}, |r| {act}, |r| {}, {site});\n",
            regs.at("r")
        );
        let load = format!("let {name} = d::shared_load::<{t}, {n}, 1>(|r| @ + {flat} * {bytes}, |_| true, {site});\n");
        self.node(ThreadIr::Exchange { bytes: bytes << layout.bits(), store, load, site });
        Regs(format!("{name}[#]"))
    }
}

fn layout_key(l: Option<&Layout>, one_of_copies: bool) -> u64 {
    let mut h = DefaultHasher::new();
    (l, one_of_copies).hash(&mut h);
    h.finish()
}
