//! Induction variables that are index tiles, as in `pointers += step`. They become the tile before the loop plus a
//! scalar that grows. This is index arithmetic: a thread keeps a base instead of every element, and contiguity is
//! known.

use crate::ir::walk::{assigned, reads};
use crate::ir::{Binary, Func, Op, Stmt, StmtKind, Type, Value, ValueInfo, Var, VarInfo};

/// Rewrites the index tiles that a loop advances. New statements have no ids yet.
pub fn run(f: &mut Func) {
    let mut body = std::mem::take(&mut f.body);
    // Reads anywhere in the function count.
    let mut all = vec![0; f.vars.len()];
    reads(f, &body).for_each(|var| all[var.0 as usize] += 1);
    block(f, &mut body, &all, false);
    f.body = body;
}

/// `all_reads` has the number of reads of each variable in the whole function. `in_loop`: the statements may run again.
fn block(f: &mut Func, stmts: &mut Vec<Stmt>, all_reads: &[usize], in_loop: bool) {
    let mut out = Vec::with_capacity(stmts.len());
    for mut s in std::mem::take(stmts) {
        let mut after = vec![];
        match &mut s.kind {
            StmtKind::If { then, other, .. } => {
                block(f, then, all_reads, in_loop);
                block(f, other, all_reads, in_loop);
            }
            StmtKind::For { body, .. } | StmtKind::Loop { body } => {
                for (i, &everywhere) in all_reads.iter().enumerate() {
                    let var = Var(i as u32);
                    if !moves(f, body, var) {
                        continue;
                    }
                    // When the loop begins once more, it reads the tile again, unless that was assigned before it.
                    let begins_anew = out.iter().any(|s: &Stmt| matches!(s.kind, StmtKind::Assign(to, _) if to == var));
                    let read_again = in_loop && !begins_anew && !planted!("induction-forgets-in-an-outer-loop");
                    let read_elsewhere = everywhere > reads(f, body).filter(|r| *r == var).count();
                    let (by, ty, span) = begin(f, var, &mut out, body);
                    rewrite(f, body, var, by);
                    if (read_elsewhere || read_again) && !planted!("induction-forgets-after-the-loop") {
                        let there = moved(f, var, by, (&ty, span), &mut after);
                        after.push(StmtKind::Assign(var, there).into());
                    }
                }
                block(f, body, all_reads, true);
            }
            _ => {}
        }
        out.push(s);
        out.append(&mut after);
    }
    *stmts = out;
}

/// Whether a loop changes a tile of integers by one addition of a number and by nothing else.
fn moves(f: &Func, body: &[Stmt], var: Var) -> bool {
    let ty = &f.vars[var.0 as usize].ty;
    !ty.is_scalar() && ty.dtype.is_int() && assigned(body, var).len() == 1 && steps(f, body, var)
}

/// Whether the assignment adds to a value that was read in the same block, so that every iteration adds once.
fn steps(f: &Func, stmts: &[Stmt], var: Var) -> bool {
    stmts.iter().enumerate().any(|(i, s)| match &s.kind {
        StmtKind::Assign(to, v) if *to == var => step(f, *v, var)
            .is_some_and(|(read, _)| stmts[..i].iter().any(|s| matches!(&s.kind, StmtKind::Let(v) if *v == read))),
        StmtKind::If { then, other, .. } => steps(f, then, var) || steps(f, other, var),
        StmtKind::For { body, .. } | StmtKind::Loop { body } => steps(f, body, var),
        _ => false,
    })
}

/// The read of a variable, and the number that is added to it.
fn step(f: &Func, v: Value, var: Var) -> Option<(Value, Value)> {
    let Op::Binary(Binary::Add, a, b) = *f.op(v) else { return None };
    let of = |read: Value, by: Value| match (f.op(read), f.op(by)) {
        (Op::ReadVar(from), Op::Splat(number)) if *from == var => Some((read, *number)),
        _ => None,
    };
    of(a, b).or_else(|| of(b, a))
}

/// A scalar variable that is 0 before the loop.
fn begin(f: &mut Func, var: Var, out: &mut Vec<Stmt>, body: &[Stmt]) -> (Var, Type, proc_macro2::Span) {
    let info = &f.vars[var.0 as usize];
    let (ty, name) = (info.ty.clone(), format!("{} moved by", info.name));
    let span = f.values[assigned(body, var)[0].0 as usize].span;
    let by = Var(f.vars.len() as u32);
    f.vars.push(VarInfo { name, ty: Type::scalar(ty.dtype) });
    let zero = f.push(Op::Int(i128::from(planted!("induction-begins-at-one"))), Type::scalar(ty.dtype), span, out);
    out.push(StmtKind::Assign(by, zero).into());
    (by, ty, span)
}

/// The tile at this place.
fn moved(f: &mut Func, var: Var, by: Var, (ty, span): (&Type, proc_macro2::Span), out: &mut Vec<Stmt>) -> Value {
    let op = moved_op(f, var, by, (ty, span), out);
    f.push(op, ty.clone(), span, out)
}

fn moved_op(f: &mut Func, var: Var, by: Var, (ty, span): (&Type, proc_macro2::Span), out: &mut Vec<Stmt>) -> Op {
    let from = f.push(Op::ReadVar(var), ty.clone(), span, out);
    let number = f.push(Op::ReadVar(by), Type::scalar(ty.dtype), span, out);
    let number = f.push(Op::Splat(number), ty.clone(), span, out);
    Op::Binary(Binary::Add, from, number)
}

fn rewrite(f: &mut Func, stmts: &mut Vec<Stmt>, var: Var, by: Var) {
    let mut out = Vec::with_capacity(stmts.len());
    // The operand of the assignment is a sum after the read before it was rewritten.
    let steps: Vec<Option<Value>> = stmts
        .iter()
        .map(|s| {
            if let StmtKind::Assign(to, v) = &s.kind {
                (*to == var).then(|| step(f, *v, var).expect("a step").1)
            } else {
                None
            }
        })
        .collect();
    for (mut s, step) in std::mem::take(stmts).into_iter().zip(steps) {
        match &mut s.kind {
            StmtKind::Let(v) if matches!(f.op(*v), Op::ReadVar(of) if *of == var) => {
                let ValueInfo { ty, span, .. } = f.values[v.0 as usize].clone();
                f.values[v.0 as usize].op = moved_op(f, var, by, (&ty, span), &mut out);
            }
            StmtKind::Assign(_, v) if let Some(step) = step => {
                let (ty, span) = (f.ty(step).clone(), f.values[v.0 as usize].span);
                let number = f.push(Op::ReadVar(by), ty.clone(), span, &mut out);
                let number = f.push(Op::Binary(Binary::Add, number, step), ty, span, &mut out);
                s.kind = StmtKind::Assign(by, number);
            }
            StmtKind::If { then, other, .. } => {
                rewrite(f, then, var, by);
                rewrite(f, other, var, by);
            }
            StmtKind::For { body, .. } | StmtKind::Loop { body } => rewrite(f, body, var, by),
            _ => {}
        }
        out.push(s);
    }
    *stmts = out;
}
