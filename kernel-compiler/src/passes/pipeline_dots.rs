//! Loops in which a product takes the result of another product, such as attention. The second product of an iteration
//! moves to the next iteration, behind the first product there. Both are then in flight together: one runs while the
//! code between them is computed from the other. As written, each waits for the other.
//!
//! `for i { s = dot(..i..); p = f(s); acc = g(acc); acc = dot(p, v(i), acc) }` becomes, where the loop runs at all:
//! ```text
//! s = dot(..0..); p = f(s); acc = g(acc);
//! for i from the next on { s = dot(..i..); acc = dot(p, v(before), acc); p = f(s); acc = g(acc) }
//! acc = dot(p, v(last), acc)
//! ```

use crate::dtype::{DType, unsigned};
use crate::ir::walk::{assigned, dots, made_of, values};
use crate::ir::{Binary, Func, LoopOptions, Op, Stmt, StmtKind, Type, Value, Var, VarInfo};
use crate::missed::{Changed, Missed, Why};
use std::collections::{HashMap, HashSet};

/// The most 32-bit registers of a thread for the results of both products and the tiles that are live between them.
/// With more, registers spill.
const MAX_REGISTERS: usize = 176;

/// Pipelines such loops. A loop in which a product takes another one's result, and which stays as it is, is missed.
pub fn run(f: &mut Func, missed: &mut Vec<Missed>) -> Changed {
    let mut cx = PipelineDots { f: f.clone(), pipelined: false, missed };
    let body = std::mem::take(&mut cx.f.body);
    cx.f.body = cx.block(body);
    if !cx.pipelined {
        return Changed::No;
    }
    *f = cx.f;
    Changed::Yes
}

struct PipelineDots<'m> {
    f: Func,
    pipelined: bool,
    missed: &'m mut Vec<Missed>,
}

/// A loop that can be pipelined.
struct Plan {
    first: Value,
    second: Value,
    left: Value,
    /// The variable that the second product adds to, and its value at that place.
    sums: (Var, Value),
    /// The values that only the second product needs.
    alone: HashSet<Value>,
    /// The values of the body that its right operand is computed from, in the order of the body.
    right: Vec<Value>,
}

impl PipelineDots<'_> {
    fn block(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = vec![];
        for mut s in stmts {
            if let StmtKind::For { iv, lo, hi, step, body, options } = &mut s.kind
                && let Some((first, second)) = chained(&self.f, body)
            {
                match Body::new(&self.f, body).and_then(|b| b.plan(first, second)) {
                    Ok(plan) => {
                        self.pipelined((*iv, *lo, *hi, *step), std::mem::take(body), *options, &plan, &mut out);
                        continue;
                    }
                    Err(why) => self.missed.push(Missed::new("pipelined", why).at(self.f.span(second))),
                }
            }
            for block in s.blocks_mut() {
                *block = self.block(std::mem::take(block));
            }
            out.push(s);
        }
        out
    }

    fn pipelined(
        &mut self,
        (iv, lo, hi, step): (Value, Value, Value, Value),
        body: Vec<Stmt>,
        options: LoopOptions,
        plan: &Plan,
        out: &mut Vec<Stmt>,
    ) {
        self.pipelined = true;
        let span = self.f.values[plan.second.0 as usize].span;
        // An iteration passes to the next one: its number, the left operand, and the scalars that it has read.
        let read: Vec<Value> = plan.right.iter().copied().filter(|v| matches!(self.f.op(*v), Op::ReadVar(_))).collect();
        let read = if planted!("pipeline-dots-forgets-a-counter") { vec![] } else { read };
        let left: Vec<(Value, Var)> = [iv, plan.left].into_iter().chain(read).map(|v| (v, self.variable(v))).collect();
        let (sums, scaled) = plan.sums;
        let one: Vec<Stmt> = body
            .into_iter()
            .filter(|s| {
                !matches!(&s.kind, StmtKind::Let(v) if plan.alone.contains(v))
                    && !matches!(&s.kind, StmtKind::Assign(_, v) if *v == plan.second)
            })
            .collect();
        let at = one
            .iter()
            .position(|s| matches!(&s.kind, StmtKind::Let(v) if *v == plan.first))
            .expect("the first product");
        let is_read = matches!(self.f.op(scaled), Op::ReadVar(of) if *of == sums);
        let keep = |values: &dyn Fn(Value) -> Value| {
            let scaled = (!is_read).then(|| StmtKind::Assign(sums, values(scaled)));
            scaled
                .into_iter()
                .chain(left.iter().map(|(v, var)| StmtKind::Assign(*var, values(*v))))
                .map(Stmt::from)
                .collect::<Vec<_>>()
        };
        // The first iteration, up to its second product.
        let mut map = HashMap::from([(iv, lo)]);
        let mut then: Vec<Stmt> = one.iter().map(|s| self.copied(s, &mut map)).collect();
        then.extend(keep(&|v| map.get(&v).copied().unwrap_or(v)));
        let of_iv = self.f.ty(iv).clone();
        let step_to_next = if self.f.may_step_beyond(hi, step) && !planted!("pipeline-dots-steps-beyond-its-type") {
            // No further than to the end, from which on there is no iteration. The loop runs, so that the distance is a
            // number of the unsigned type.
            let unsigned = Type::scalar(unsigned(of_iv.dtype));
            let [from, to, by] = [lo, hi, step].map(|v| self.f.push(Op::Cast(v), unsigned.clone(), span, &mut then));
            let distance = self.f.push(Op::Binary(Binary::Sub, to, from), unsigned.clone(), span, &mut then);
            let least = self.f.push(Op::Binary(Binary::Min, by, distance), unsigned, span, &mut then);
            self.f.push(Op::Cast(least), of_iv.clone(), span, &mut then)
        } else {
            step
        };
        let next = self.f.push(Op::Binary(Binary::Add, lo, step_to_next), of_iv, span, &mut then);
        let mut rest = one;
        rest.extend(keep(&|v| v));
        let product = self.second(plan, &left, span);
        rest.splice(at + 1..at + 1, product);
        then.push(
            StmtKind::For {
                iv,
                lo: if planted!("pipeline-dots-repeats-the-first") { lo } else { next },
                hi,
                step,
                body: rest,
                options,
            }
            .into(),
        );
        let product = self.second(plan, &left, span);
        if !planted!("pipeline-dots-drops-the-last-product") {
            then.extend(product);
        }
        let runs = match planted!("pipeline-dots-of-an-empty-loop") {
            true => Op::Bool(true),
            false => Op::Binary(Binary::Lt, lo, hi),
        };
        let cond = self.f.push(runs, Type::scalar(DType::Bool), span, out);
        out.push(StmtKind::If { cond, then, other: vec![] }.into());
    }

    /// The second product of the iteration before.
    fn second(&mut self, plan: &Plan, left: &[(Value, Var)], span: proc_macro2::Span) -> Vec<Stmt> {
        let (mut out, mut map) = (vec![], HashMap::new());
        for &(v, var) in left {
            let ty = self.f.ty(v).clone();
            map.insert(v, self.f.push(Op::ReadVar(var), ty, span, &mut out));
        }
        for &v in &plan.right {
            if !map.contains_key(&v) {
                let s = self.copied(&StmtKind::Let(v).into(), &mut map);
                out.push(s);
            }
        }
        let Op::Dot { a, b, precision, .. } = *self.f.op(plan.second) else { unreachable!("a dot") };
        let ty = self.f.ty(plan.second).clone();
        let acc = self.f.push(Op::ReadVar(plan.sums.0), ty.clone(), span, &mut out);
        let (a, b) = (map[&a], map.get(&b).copied().unwrap_or(b));
        let made = self.f.push(Op::Dot { a, b, acc, precision }, ty, span, &mut out);
        out.push(StmtKind::Assign(plan.sums.0, made).into());
        out
    }

    /// A copy of a statement with new values.
    fn copied(&mut self, s: &Stmt, map: &mut HashMap<Value, Value>) -> Stmt {
        match &s.kind {
            StmtKind::Let(v) => {
                let mut info = self.f.values[v.0 as usize].clone();
                info.op.operands_mut().into_iter().for_each(|o| *o = map.get(o).copied().unwrap_or(*o));
                let new = Value(self.f.values.len() as u32);
                self.f.values.push(info);
                map.insert(*v, new);
                StmtKind::Let(new).into()
            }
            StmtKind::Assign(var, v) => StmtKind::Assign(*var, map.get(v).copied().unwrap_or(*v)).into(),
            _ => unreachable!("only these are in such a loop"),
        }
    }

    fn variable(&mut self, v: Value) -> Var {
        let var = Var(self.f.vars.len() as u32);
        self.f.vars.push(VarInfo { name: "of the iteration before".into(), ty: self.f.ty(v).clone() });
        var
    }
}

/// The first product of a body that another one takes the result of, by an operand, and that one.
fn chained(f: &Func, stmts: &[Stmt]) -> Option<(Value, Value)> {
    let inside: HashSet<Value> = stmts.iter().filter_map(defined).collect();
    let products: Vec<Value> = dots(f, stmts).filter(|d| inside.contains(d)).collect();
    let of = |second: Value| {
        let Op::Dot { a, b, .. } = *f.op(second) else { unreachable!("a dot") };
        let made_of: HashSet<Value> = [a, b].into_iter().flat_map(|v| made_of(f, v, |v| inside.contains(&v))).collect();
        products.iter().find(|first| made_of.contains(first)).map(|&first| (first, second))
    };
    products.iter().find_map(|&second| of(second))
}

/// The value that a statement of a block defines.
fn defined(s: &Stmt) -> Option<Value> {
    if let StmtKind::Let(v) = s.kind { Some(v) } else { None }
}

/// The body of a loop that has no side effects and no branches.
struct Body<'a> {
    f: &'a Func,
    stmts: &'a [Stmt],
    /// Its values, in order.
    values: Vec<Value>,
    inside: HashSet<Value>,
}

impl<'a> Body<'a> {
    /// An error where a statement has a side effect or is conditional.
    fn new(f: &'a Func, stmts: &'a [Stmt]) -> Result<Body<'a>, Why> {
        let simple = |s: &Stmt| match &s.kind {
            StmtKind::Let(v) => {
                let op = f.op(*v);
                !op.has_effect() && op.closure().is_none()
            }
            StmtKind::Assign(..) => true,
            _ => false,
        };
        let values: Vec<Value> = values(stmts).collect();
        let inside = values.iter().copied().collect();
        if !stmts.iter().all(simple) {
            return Err(why!(
                "its loop has a branch, an inner loop or a statement with an effect: move that out of it"
            ));
        }
        Ok(Body { f, stmts, values, inside })
    }

    /// How a loop is pipelined whose second product takes the result of the first one, or why it is not.
    fn plan(&self, first: Value, second: Value) -> Result<Plan, Why> {
        let f = self.f;
        let products = dots(f, self.stmts).count();
        if products != 2 {
            return Err(why!(
                "its loop has {products} products, and two are pipelined: give the others a loop of their own"
            ));
        }
        let Op::Dot { a, b, acc, .. } = *f.op(second) else { unreachable!("a dot") };
        if !self.made_of(a).contains(&first) {
            return Err(why!(
                "its right operand is computed from the product before it, not its left one: swap the operands, and \
                 transpose both"
            ));
        }
        let registers = self.registers([first, a, second]);
        if registers > MAX_REGISTERS {
            return Err(why!(
                "both products and the tile between them would take {registers} registers of a thread, of \
                 {MAX_REGISTERS} at most: take smaller tiles or more warps"
            ));
        }
        let sums = self.sums(first, second, acc).ok_or_else(|| {
            why!(
                "its sums have another use in the loop than to be scaled after the first product: give each product \
                 sums of its own"
            )
        })?;
        let (right, alone) = self.right(second, b).ok_or_else(|| {
            why!(
                "its right operand is no tile that is loaded in the loop for it alone: load it there, once more where \
                 the first product takes it too"
            )
        })?;
        Ok(Plan { first, second, left: a, sums: (sums, acc), alone, right })
    }

    fn made_of(&self, v: Value) -> HashSet<Value> {
        made_of(self.f, v, |v| self.inside.contains(&v))
    }

    /// The registers of a thread that hold these tiles at the same time.
    fn registers(&self, tiles: [Value; 3]) -> usize {
        let threads = self.f.warps as usize * 32;
        let of = |v: Value| self.f.shape(v).iter().product::<usize>() * self.f.ty(v).dtype.size() / 4 / threads;
        tiles.into_iter().map(of).sum()
    }

    /// The variable that the second product adds to, if nothing else uses it: its only read is `acc`, behind the first
    /// product, its only assignment is the product, and the product has no other use.
    fn sums(&self, first: Value, second: Value, acc: Value) -> Option<Var> {
        let given: Vec<Var> = self
            .stmts
            .iter()
            .filter_map(|s| if let StmtKind::Assign(var, v) = &s.kind { (*v == second).then_some(*var) } else { None })
            .collect();
        let [var] = given[..] else { return None };
        let at = |v: Value| self.values.iter().position(|w| *w == v);
        let reads: Vec<Value> = self
            .values
            .iter()
            .copied()
            .filter(|v| matches!(self.f.op(*v), Op::ReadVar(read) if *read == var))
            .collect();
        let made_of = self.made_of(acc);
        let read_once = reads.len() <= 1 && reads.iter().all(|&r| at(r) > at(first) && made_of.contains(&r));
        let used_once = self.stmts.iter().flat_map(|s| self.f.used_by(s)).filter(|v| *v == second).count() == 1;
        (read_once && used_once && assigned(self.stmts, var).len() == 1).then_some(var)
    }

    /// The values that the right operand is computed from, in order, if they are a load and indices, or a tile of an
    /// earlier iteration. Also the second product and those of the values that nothing else uses.
    fn right(&self, second: Value, operand: Value) -> Option<(Vec<Value>, HashSet<Value>)> {
        let f = self.f;
        let is_load = |v: &Value| matches!(f.op(*v), Op::Load { .. });
        let cheap = |v: &Value| match f.op(*v) {
            Op::Load { .. } => true,
            Op::Dot { .. } => false,
            op if op.crosses_threads() => false,
            Op::Splat(_) | Op::Float(_) => true,
            op => {
                f.ty(*v).is_scalar()
                    || !matches!(op, Op::ReadVar(_))
                        && (f.ty(*v).dtype.is_int() || f.ty(*v).dtype == DType::Bool || op.is_view())
            }
        };
        let all = self.made_of(operand);
        let right: Vec<Value> = self.values.iter().copied().filter(|v| all.contains(v)).collect();
        // The values of variables are kept from one iteration to the next.
        let mut alone = HashSet::from([second]);
        for &v in right.iter().rev().filter(|v| !matches!(f.op(**v), Op::ReadVar(_))) {
            if !self
                .stmts
                .iter()
                .any(|s| f.used_by(s).contains(&v) && !matches!(&s.kind, StmtKind::Let(w) if alone.contains(w)))
            {
                alone.insert(v);
            }
        }
        // A load for both products stays at its place.
        let loads_alone = right.iter().any(is_load) && right.iter().filter(|v| is_load(v)).all(|v| alone.contains(v));
        (right.iter().all(cheap) && loads_alone).then_some((right, alone))
    }
}
