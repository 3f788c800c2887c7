//! Phase 5, lower: tile IR with layouts → thread-level code as a small structured program, whose exchanges between
//! threads [`schedule`] then gives shared memory and barriers.
//!
//! A tile is an array of the registers of one thread. Values with a home are computed where the kernel defines them;
//! cheap ones on demand, in the layout that asks.

mod affine;
mod ahead;
mod box_store;
mod copied;
mod dot;
mod early;
mod epilogue;
mod late;
mod masks;
mod memory;
mod operands;
pub mod pipeline;
mod program;
mod reduce;
mod roles;
mod rounds;
pub mod schedule;
mod stages;
pub mod text;
mod tile;
mod waits;
pub use tile::op_text;

use crate::analyse::{Analysis, Assume, analyse};
use crate::ir::*;
use crate::layout::{Homes, assign};
use crate::linear::Layout;
use crate::rotate::rotate;
use crate::spread::spread;
use crate::windows::{Transposed, describe};
use ahead::Ahead;
use epilogue::{Fused, fused};
pub use program::{Access, Act, Lowered, Node};
use roles::Role;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use text::*;

/// How an instance is lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Vectors, under the requirements that `analyse` states.
    pub aligned: bool,
    pub way: Way,
}

/// How products are made, and who copies for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By warps, on every target.
    Warps,
    /// By warpgroups, for sm_90a alone, of what all threads copy.
    Groups,
    /// By warpgroups, in a specialised program that copies by tensor maps, of operands that lie so.
    Maps(Transposed),
}

impl Way {
    /// The function as it is lowered so; none where there is nothing to lower.
    pub fn seen(self, f: &Func) -> Option<Cow<'_, Func>> {
        match self {
            Way::Maps(transposed) => describe(f, transposed),
            _ => Some(Cow::Borrowed(f)),
        }
    }
}

impl Variant {
    pub fn assume(self) -> Assume {
        match (self.aligned, self.way) {
            (true, _) => Assume::Vectors,
            (false, Way::Groups | Way::Maps(_)) => Assume::Rows,
            (false, Way::Warps) => Assume::Nothing,
        }
    }
}

/// Lowers one instance for one variant; none where the variant is not for it. With `sites`, steps carry the kernel's
/// source line for the emulator.
pub fn lower(f: &Func, variant: Variant, sites: bool) -> Option<Lowered> {
    if f.ctas > 1 && !matches!(variant.way, Way::Maps(_)) {
        return None;
    }
    let f = variant.way.seen(f)?;
    let f = spread(&f).ok()?;
    let rotated = if let Way::Maps(_) = variant.way { rotate(&f) } else { None };
    let pipelined = rotated.and_then(|f| lower_as_it_is(&f, variant, sites)).map(|mut l| {
        l.passes.push("rotate");
        l
    });
    pipelined.or_else(|| lower_as_it_is(&f, variant, sites))
}

fn lower_as_it_is(f: &Func, variant: Variant, sites: bool) -> Option<Lowered> {
    let fused = if let Way::Maps(_) = variant.way { fused(f) } else { vec![] };
    let pipeline = match variant.way {
        Way::Maps(_) => Some(pipeline::plan(f, if variant.aligned { &fused } else { &[] })?),
        _ => None,
    };
    if !variant.aligned && epilogue::crowded(f, &fused) {
        return None;
    }
    let a = analyse(f, variant.assume());
    let products = match variant.way {
        Way::Warps => HashMap::new(),
        Way::Groups => copied::products(f, &a)?,
        Way::Maps(_) => pipeline.as_ref()?.dots.clone(),
    };
    let homes = assign(f, &a, &products);
    let ahead = if pipeline.is_none() { ahead::plan(f, &a, &homes, products)? } else { Ahead::default() };
    let lower = |role: Role| {
        let mut cx = Lower {
            f,
            a: &a,
            homes: &homes,
            ahead: &ahead,
            fused: if matches!(role, Role::Consumer(_)) { &fused } else { &[] },
            role,
            sites,
            blocks: vec![vec![]],
            memo: vec![HashMap::new()],
            affine_memo: vec![HashMap::new()],
            comparisons: HashMap::new(),
            layouts: vec![],
            consts: vec![],
            temporaries: 0,
            uses: uses(f),
            vectors: false,
            boxes: variant.aligned,
            maps: pipeline.iter().flat_map(|p| p.maps.clone()).collect(),
            staging: 0,
            owed: vec![],
            late: None,
            advanced: BTreeSet::new(),
        };
        cx.body();
        let body = cx.blocks.pop().expect("the body");
        let vars = cx.declare_vars();
        let layouts = cx
            .layouts
            .iter()
            .enumerate()
            .map(|(i, l)| format!("let t{i}: u32 = {};", thread_part(&l.thread_bases())))
            .collect();
        let (body, exchanges) = schedule::schedule(body);
        let (rings, shared_bytes) = ahead.consts(f, exchanges);
        Lowered {
            consts: [rings, cx.consts].concat(),
            prologue: [layouts, vars].concat(),
            body,
            shared_bytes,
            threads: f.warps * 32,
            requires: a.requires.clone(),
            maps: cx.maps,
            vectors: cx.vectors,
            staging: cx.staging,
            passes: if cx.fused.is_empty() { vec![] } else { vec!["fused epilogue"] },
        }
    };
    let Some(p) = &pipeline else {
        let whole = lower(Role::Whole);
        // By warps it needs less.
        return (!ahead.by_groups() || whole.shared_bytes <= ahead::ROOM_OF_GROUPS).then_some(whole);
    };
    let lines = |l: &mut Lowered| {
        std::mem::take(&mut l.prologue)
            .into_iter()
            .map(Node::Line)
            .chain(std::mem::take(&mut l.body))
            .collect::<Vec<_>>()
    };
    let (mut producer, mut out) = (lower(Role::Producer(p)), lower(Role::Consumer(p)));
    if out.maps.len() > pipeline::MAX_MAPS {
        return None;
    }
    let (produce, consume) = (lines(&mut producer), lines(&mut out));
    let (consts, body, shared_bytes, threads) =
        roles::specialise(f, p, produce, consume, &out.maps, out.shared_bytes, out.staging);
    Some(Lowered {
        consts: [consts, out.consts].concat(),
        body,
        shared_bytes,
        threads,
        requires: pipeline::requires(f, &out.maps, out.requires),
        ..out
    })
}

/// The products that warpgroups make, of a function [as it is seen](Way::seen), and spread; for `tile show`.
pub fn products(f: &Func, a: &Analysis, way: Way) -> HashMap<Value, pipeline::Product> {
    let products = match way {
        Way::Warps => None,
        Way::Groups => copied::products(f, a),
        Way::Maps(_) => pipeline::plan(f, &fused(f)).map(|p| p.dots),
    };
    products.unwrap_or_default()
}

/// Whether a variable keeps its elements two by two: values that live across branches are not packed again by anyone else.
fn paired(t: crate::dtype::DType, home: &Layout) -> bool {
    t.size() == 2 && home.pairs().is_some()
}

/// How often each value is an operand or a statement's.
pub fn uses(f: &Func) -> Vec<u32> {
    let mut n = vec![0; f.values.len()];
    crate::analyse::walk(&f.body).flat_map(|s| f.taken_by(s)).for_each(|v| n[v.0 as usize] += 1);
    n
}

/// A tile at hand: Rust for the element in register `#`.
#[derive(Clone, Debug)]
struct Regs(String);

impl Regs {
    fn at(&self, r: &str) -> String {
        self.0.replace('#', r)
    }
}

struct Lower<'a> {
    f: &'a Func,
    a: &'a Analysis,
    homes: &'a Homes,
    ahead: &'a Ahead,
    /// What consumers compute by pieces of a store.
    fused: &'a [Fused<'a>],
    role: Role<'a>,
    sites: bool,
    /// Code under construction, innermost block last.
    blocks: Vec<Vec<Node>>,
    /// What is at hand in which layout, by block.
    memo: Vec<HashMap<(Value, Layout), Regs>>,
    affine_memo: Vec<HashMap<(Value, Layout), Option<affine::Affine>>>,
    /// Comparisons of indices with limits, by their text.
    comparisons: HashMap<String, masks::Comparison>,
    /// Layouts whose thread part is computed up front.
    layouts: Vec<Layout>,
    consts: Vec<String>,
    temporaries: usize,
    uses: Vec<u32>,
    /// Whether any access is wider than an element.
    vectors: bool,
    /// Whether stores may go by tensor maps.
    boxes: bool,
    maps: Vec<pipeline::Map>,
    /// Shared memory for such stores.
    staging: usize,
    /// What one thread has of a relaxed atomic and the others do not know yet.
    owed: Vec<(Value, Node)>,
    /// Of the loop that is being lowered.
    late: Option<late::InFlight>,
    /// Variables of which a copy, some iterations ahead, is meant.
    advanced: BTreeSet<Var>,
}

impl Lower<'_> {
    fn node(&mut self, n: Node) {
        self.blocks.last_mut().expect("a block").push(n);
    }

    fn line(&mut self, text: String) {
        self.node(Node::Line(text));
    }

    fn fresh(&mut self) -> String {
        self.temporaries += 1;
        format!("x{}", self.temporaries)
    }

    fn site(&self, span: proc_macro2::Span) -> u32 {
        if self.sites { span.start().line as u32 } else { 0 }
    }

    /// A table of constants indexed by register, as a template; nothing where it is the identity.
    fn table(&mut self, values: &[usize]) -> String {
        if values.iter().enumerate().all(|(i, &v)| i == v) {
            return "#".into();
        }
        if values.iter().all(|&v| v == values[0]) {
            return values[0].to_string();
        }
        format!("{}[#]", self.const_table("usize", values.iter().map(|v| v.to_string()).collect()))
    }

    fn const_table(&mut self, ty: &str, values: Vec<String>) -> String {
        let item = format!(": [{ty}; {}] = [{}];", values.len(), values.join(", "));
        if let Some(i) = self.consts.iter().position(|c| c.ends_with(&item)) {
            return format!("K{i}");
        }
        let i = self.consts.len();
        self.consts.push(format!("const K{i}{item}"));
        format!("K{i}")
    }

    /// The thread's part of the flat index in a layout.
    fn thread_var(&mut self, l: &Layout) -> String {
        let bases = l.thread_bases();
        let i = self.layouts.iter().position(|m| m.thread_bases() == bases).unwrap_or_else(|| {
            self.layouts.push(l.clone());
            self.layouts.len() - 1
        });
        format!("t{i}")
    }

    fn declare_vars(&self) -> Vec<String> {
        let f = self.f;
        let declare = |(i, v): (usize, &VarInfo)| {
            let t = v.ty.dtype.rust();
            match v.ty.is_scalar() {
                true => format!("let mut m{i}: {t};"),
                false => {
                    let home = self.homes.of_var(f, Var(i as u32));
                    match paired(v.ty.dtype, home) {
                        true => format!("let mut m{i}: [u32; {}];", home.regs() / 2),
                        false => format!("let mut m{i}: [{t}; {}];", home.regs()),
                    }
                }
            }
        };
        let declared = |v: &VarInfo| v.ty.is_scalar() || !matches!(self.role, Role::Producer(_));
        let fresh =
            (0..f.vars.len()).filter(|&i| self.is_fresh(Var(i as u32))).map(|i| format!("let mut fresh_m{i}: bool;"));
        f.vars.iter().enumerate().filter(|(_, v)| declared(v)).map(declare).chain(fresh).collect()
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            self.stmt(s);
        }
    }

    /// Code of a nested block; what becomes at hand in it is forgotten after it.
    fn nested(&mut self, inner: impl FnOnce(&mut Self)) -> Vec<Node> {
        self.blocks.push(vec![]);
        self.memo.push(HashMap::new());
        self.affine_memo.push(HashMap::new());
        inner(self);
        self.memo.pop();
        self.affine_memo.pop();
        self.blocks.pop().expect("pushed")
    }

    fn stmt(&mut self, s: &Stmt) {
        self.settle(s);
        match self.role {
            Role::Whole => self.plain(s),
            Role::Producer(p) => self.produce(s, p),
            Role::Consumer(p) => {
                match s {
                    Stmt::Let(v) if let Some((channel, _)) = self.copied(*v) => {
                        self.arrived(*v, channel, &p.channels[channel])
                    }
                    _ if p.waits.postponed.contains(&std::ptr::from_ref(s)) => {}
                    _ => self.plain(s),
                }
                self.after(s, p);
            }
        }
    }

    fn plain(&mut self, s: &Stmt) {
        let f = self.f;
        match s {
            Stmt::Let(v) => self.define(*v),
            Stmt::Assign(var, v) => {
                let to = self.var(*var);
                if f.ty(*v).is_scalar() {
                    self.line(format!("{to} = {};", scalar(*v)));
                } else {
                    let fresh = self.is_fresh(*var);
                    if fresh && f.is_zeros(*v) {
                        self.line(format!("{to} = d::unset(); fresh_{to} = true;"));
                        return;
                    }
                    let home = self.homes.of_var(f, *var).clone();
                    let regs = self.demand(*v, &home);
                    let (t, paired) = (f.ty(*v).dtype, paired(f.ty(*v).dtype, &home));
                    let one = if paired {
                        format!("d::pair::<{}>({}, {})", t.rust(), regs.at("(2 * r)"), regs.at("(2 * r + 1)"))
                    } else {
                        regs.at("r")
                    };
                    self.line(format!(
                        "{to} = {};{}",
                        each(&one),
                        if fresh { format!(" fresh_{to} = false;") } else { String::new() }
                    ));
                }
            }
            Stmt::Store { place, value, mask, hint, span, .. } => {
                if !self.box_store(s) {
                    self.store(place, *value, *mask, *hint, *span);
                }
            }
            Stmt::If { cond, then, other } => {
                let (then, other) = (self.nested(|cx| cx.stmts(then)), self.nested(|cx| cx.stmts(other)));
                self.node(Node::If { cond: scalar(*cond), then, other });
            }
            Stmt::For { .. } if self.ahead.rings.contains_key(&std::ptr::from_ref(s)) => self.staged(s),
            Stmt::For { body, .. } => {
                if !self.late_loop(s, body) {
                    self.rounds(s, |cx| cx.stmts(body));
                }
            }
            Stmt::Loop { body } => {
                let body = self.nested(|cx| cx.stmts(body));
                self.node(Node::Loop { body });
            }
            Stmt::Break => self.node(Node::Break),
            Stmt::Continue => self.node(Node::Continue),
            Stmt::Return => self.node(Node::Return),
            Stmt::Assert { cond, message, span } => self.assert(*cond, message, *span),
            Stmt::Print { message, value, span } => self.print(message, *value, *span),
        }
    }

    fn define(&mut self, v: Value) {
        let f = self.f;
        match f.op(v) {
            _ if self.by_pieces(v) => {}
            Op::Load { .. } if self.ahead.tiles.contains_key(&v) => {}
            Op::Load { .. } => self.load(v),
            Op::Dot { .. } => self.dot(v),
            Op::Atomic { .. } => self.atomic(v),
            Op::Reduce { .. } | Op::ArgReduce { .. } => self.reduce(v),
            _ if f.ty(v).is_scalar() => {
                let e = self.scalar_op(v);
                self.line(format!("let {}: {} = {e};", scalar(v), f.ty(v).dtype.rust()));
            }
            Op::ReadVar(var) => {
                if self.is_fresh(*var) {
                    self.read_fresh(v, *var);
                }
                self.line(format!("let {} = {};", scalar(v), self.var(*var)));
                let (home, t) = (self.homes.of(v).clone(), f.ty(v).dtype);
                let regs = if paired(t, &home) {
                    format!("d::of_pair::<{}>({}[(#) / 2], #)", t.rust(), scalar(v))
                } else {
                    format!("{}[#]", scalar(v))
                };
                self.at_hand(v, home, Regs(regs));
            }
            op if op.is_elementwise() && !self.homes.is_cheap(v) => {
                let home = self.homes.of(v).clone();
                self.demand(v, &home);
            }
            // Shape operations and index arithmetic: when somebody asks.
            _ => {}
        }
    }

    fn var(&self, var: Var) -> String {
        format!("{}{}", if self.advanced.contains(&var) { "n" } else { "m" }, var.0)
    }

    fn at_hand(&mut self, v: Value, l: Layout, regs: Regs) {
        self.memo.last_mut().expect("a block").insert((v, l), regs);
    }

    fn assert(&mut self, cond: Value, message: &str, span: proc_macro2::Span) {
        let (text, site) = (cstr(message), self.site(span));
        if self.f.ty(cond).is_scalar() {
            self.line(format!("d::assert({}, {text}, {site});", scalar(cond)));
            return;
        }
        let layout = self.any_layout(cond);
        let regs = self.demand(cond, &layout);
        let ok = match self.valid(&layout, self.f.shape(cond)) {
            Some(valid) => format!("!{} || {}", valid.at("r"), regs.at("r")),
            None => regs.at("r"),
        };
        self.line(format!("d::each::<(), {}>(|r| d::assert({ok}, {text}, {site}));", layout.regs()));
    }

    fn print(&mut self, message: &str, value: Value, span: proc_macro2::Span) {
        let (text, site) = (cstr(message), self.site(span));
        if self.f.ty(value).is_scalar() {
            self.line(format!("if tid == 0 {{ d::print({text}, {}, {site}); }}", scalar(value)));
            return;
        }
        let layout = self.any_layout(value);
        let regs = self.demand(value, &layout);
        let once = self.once(&layout, self.f.shape(value)).unwrap_or_else(|| Regs("true".into()));
        self.line(format!(
            "d::each::<(), {}>(|r| if {} {{ d::print({text}, {}, {site}) }});",
            layout.regs(),
            once.at("r"),
            regs.at("r")
        ));
    }
}
