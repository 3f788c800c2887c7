//! Finds block pointers: accesses through pointers and slices whose index arithmetic and masks describe a part of a
//! matrix.
//!
//! `a.add(rows.expand(1) * stride + columns.expand(0))` under the mask `(rows.expand(1) < m) & (columns.expand(0) < n)`
//! is a block of a matrix of m × n, which TMA copies. The pointers may advance in a loop, and indices may wrap around.
//! The conditions that the code does not state become guards of the launch.

pub mod columns;
mod find;
mod origins;

use crate::analysis::polynomial::{Factor, Polynomial, Polynomials, Wrap};
use crate::dtype::DType;
use crate::ir::walk::{dots, loaded, walk};
use crate::ir::{Address, Binary, BlockPointer, Func, Guard, Op, Stmt, StmtKind, Test, Type, Value, ValueInfo};
use crate::missed::{Changed, Missed};
use crate::passes::block_pointers::find::Found;
use crate::variant::Transposed;
use proc_macro2::Span;
use std::collections::{BTreeSet, HashMap, HashSet};

const BLOCK_POINTER: &str = "accessed by a block pointer";

/// Finds the block pointers of a function. It is an error if `transposed` asks for the other order of an operand, and
/// the strides of no such operand leave the order open.
pub fn run(func: &mut Func, transposed: Transposed, missed: &mut Vec<Missed>) -> Result<Changed, Missed> {
    let f = &*func;
    let sums = Polynomials::new(f);
    let sides = operands(f);
    let asked = [transposed.a, transposed.b];
    let flipped = |v: Value| (0..2).any(|i| asked[i] && sides[i].contains(&v));
    let (mut loads, mut stores) = (HashMap::new(), vec![]);
    for s in walk(&f.body) {
        match &s.kind {
            StmtKind::Let(v) => {
                if let Op::Load { ptr, mask, other, block_pointer: None, .. } = f.op(*v) {
                    let found = match other.is_none_or(|o| f.is_zeros(o)) {
                        true => find::find(f, &sums, ptr, *mask, flipped(*v)),
                        false => Err(why!(
                            "its masked elements are no zeros, and TMA fills what lies beyond an array with zeros: \
                             leave `.other(..)` out"
                        )),
                    };
                    match found {
                        Ok(found) => drop(loads.insert(*v, found)),
                        Err(why) if sides.iter().any(|side| side.contains(v)) => {
                            missed.push(Missed::new(BLOCK_POINTER, why).at(f.values[v.0 as usize].span));
                        }
                        Err(_) => {}
                    }
                }
            }
            StmtKind::Store { ptr, mask, block_pointer: None, span, .. } => {
                let found = find::find(f, &sums, ptr, *mask, false).and_then(|found| match found {
                    _ if found.across => Err(why!(
                        "the stride of its columns is not 1, and a tensor map stores contiguous rows: store to a \
                         row-major array"
                    )),
                    _ if !found.can_be_stored(f, ptr) => Err(why!(
                        "its mask ends rows at a constant that is no multiple of 16 bytes, where a tensor map does \
                         not clip them: pad the rows, or pass their extent"
                    )),
                    _ => Ok(found),
                });
                if let Ok(found) = &found {
                    missed.extend(with_contiguous_columns(f, found).map(|m| m.at(*span)));
                }
                stores.push(match found {
                    Ok(found) => Some(found),
                    Err(why) => {
                        if f.shape(ptr.index).len() == 2 {
                            missed.push(Missed::new(BLOCK_POINTER, why).at(*span));
                        }
                        None
                    }
                });
            }
            StmtKind::Store { .. } => stores.push(None),
            _ => {}
        }
    }
    let open = |side: &HashSet<Value>| side.iter().any(|v| loads.get(v).is_some_and(|found| found.chosen));
    if (0..2).any(|i| asked[i] && !open(&sides[i])) {
        return Err(Missed::new(
            "of transposed operands",
            why!("strides of no such operand leave open which dimension is contiguous"),
        ));
    }
    if loads.is_empty() && stores.iter().all(Option::is_none) {
        return Ok(Changed::No);
    }
    let all = || loads.values().chain(stores.iter().flatten());
    let guards: BTreeSet<Guard> = all().flat_map(|found| found.guards.iter().cloned()).collect();
    let wraps = all()
        .flat_map(|found| &found.at)
        .flat_map(Polynomial::factors)
        .filter_map(Factor::wrapped)
        .map(|v| (v, sums.wrap(v)))
        .collect();
    let mut out = Rewrite { f: f.clone(), loads, stores: stores.into_iter(), wraps, begins: HashMap::new() };
    out.f.guards.extend(guards);
    let body = std::mem::take(&mut out.f.body);
    out.f.body = out.block(body);
    *func = out.f;
    Ok(Changed::Yes)
}

/// Of a store to a matrix whose strides are all arguments: one of them must be 1.
fn with_contiguous_columns(f: &Func, found: &Found) -> Option<Missed> {
    let is_stride = |g: &&Guard| found.chosen && g.test == Test::Equal(1);
    let word = found.guards.iter().find(is_stride)?.of.as_word()?;
    let stride = &f.params.iter().find(|p| p.first_word == word)?.name;
    let why = why!(
        "its strides are arguments, and a call gets this code if `{stride}` is 1: of a result whose rows are 1 apart, \
         compute the transpose, the product of the transposed operands in the other order"
    );
    Some(Missed::new("stored by TMA where its columns are contiguous", why))
}

/// The loads that products take as left and as right operands.
fn operands(f: &Func) -> [HashSet<Value>; 2] {
    let mut sides = [HashSet::new(), HashSet::new()];
    for d in dots(f, &f.body) {
        let Op::Dot { a, b, .. } = *f.op(d) else { unreachable!("a dot") };
        sides[0].extend(loaded(f, a));
        sides[1].extend(loaded(f, b));
    }
    sides
}

/// Puts block pointers into a function, and computes their offsets.
struct Rewrite {
    f: Func,
    loads: HashMap<Value, Found>,
    /// The block pointers of stores, in the order of the function.
    stores: std::vec::IntoIter<Option<Found>>,
    wraps: HashMap<Value, Wrap>,
    /// The first indices of tiles that wrap around.
    begins: HashMap<Value, Value>,
}

impl Rewrite {
    fn block(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        for mut s in stmts {
            match &mut s.kind {
                StmtKind::Let(v) if let Some(w) = self.wraps.remove(v) => {
                    let (v, span) = (*v, self.f.values[v.0 as usize].span);
                    out.push(s);
                    let begin = self.number(&w.begin, span, &mut out);
                    let extent = self.scalar(Op::Word { word: w.extent }, span, &mut out);
                    let begin = self.scalar(Op::Binary(Binary::Rem, begin, extent), span, &mut out);
                    self.begins.insert(v, begin);
                    continue;
                }
                StmtKind::Let(v) if let Some(found) = self.loads.remove(v) => self.load(*v, found, &mut out),
                StmtKind::Store { block_pointer, span, .. } => {
                    if let Some(found) = self.stores.next().expect("as many as there are") {
                        *block_pointer = Some(self.block_pointer(found, *span, &mut out));
                    }
                }
                StmtKind::If { then, other, .. } => {
                    *then = self.block(std::mem::take(then));
                    *other = self.block(std::mem::take(other));
                }
                StmtKind::For { body, .. } | StmtKind::Loop { body } => *body = self.block(std::mem::take(body)),
                _ => {}
            }
            out.push(s);
        }
        out
    }

    /// Of an MN-major matrix the transposed tile is loaded.
    fn load(&mut self, v: Value, found: Found, out: &mut Vec<Stmt>) {
        let ValueInfo { ty, op, span } = self.f.values[v.0 as usize].clone();
        let Op::Load { ptr, mask, other, hint, .. } = op else { unreachable!("a load") };
        let across = found.across;
        let block_pointer = Some(self.block_pointer(found, span, out));
        if !across {
            self.f.values[v.0 as usize].op = Op::Load { ptr, mask, other, hint, block_pointer };
            return;
        }
        let mut transposed_tile = |v: Value| {
            let ty = self.f.ty(v);
            let ty = Type::tile(ty.dtype, [ty.shape[1], ty.shape[0]]);
            self.f.push(Op::Permute(v, vec![1, 0]), ty, span, out)
        };
        let index = transposed_tile(ptr.index);
        let mask = mask.map(&mut transposed_tile);
        let ptr = Address { base: ptr.base, index };
        let shape = [ty.shape[1], ty.shape[0]];
        // A block pointer loads zeros outside of the array in any case.
        let load = self.f.push(
            Op::Load { ptr, mask, other: None, hint, block_pointer },
            Type::tile(ty.dtype, shape),
            span,
            out,
        );
        self.f.values[v.0 as usize].op = Op::Permute(load, vec![1, 0]);
    }

    fn block_pointer(&mut self, found: Found, span: Span, out: &mut Vec<Stmt>) -> BlockPointer {
        let at = found.at.iter().map(|sum| self.number(sum, span, out)).collect();
        BlockPointer { dims: found.dims, at }
    }

    /// The statements that compute a sum.
    fn number(&mut self, sum: &Polynomial, span: Span, out: &mut Vec<Stmt>) -> Value {
        let mut total = None;
        // Positive terms come first, so that no partial sum is negative.
        let mut terms: Vec<_> = sum.0.iter().collect();
        terms.sort_by_key(|(_, n)| **n < 0);
        for (factors, &n) in terms {
            let mut factors: Vec<Value> = factors.iter().map(|&a| self.factor(a, span, out)).collect();
            if n.abs() != 1 || factors.is_empty() {
                factors.push(self.scalar(Op::Int(i128::from(n.unsigned_abs() as u64)), span, out));
            }
            let product = factors
                .into_iter()
                .reduce(|a, b| self.scalar(Op::Binary(Binary::Mul, a, b), span, out))
                .expect("a factor");
            let op = if n < 0 { Binary::Sub } else { Binary::Add };
            total = match (total, n < 0) {
                (None, false) => Some(product),
                (sum, _) => {
                    let sum = sum.unwrap_or_else(|| self.scalar(Op::Int(0), span, out));
                    Some(self.scalar(Op::Binary(op, sum, product), span, out))
                }
            };
        }
        total.unwrap_or_else(|| self.scalar(Op::Int(0), span, out))
    }

    fn factor(&mut self, a: Factor, span: Span, out: &mut Vec<Stmt>) -> Value {
        match a {
            Factor::Lane(_) => unreachable!("no part of where a tile begins"),
            Factor::Word(word) => self.scalar(Op::Word { word }, span, out),
            Factor::Program(axis) => self.scalar(Op::ProgramId(axis), span, out),
            Factor::Programs(axis) => self.scalar(Op::NumPrograms(axis), span, out),
            Factor::Scalar(v) => v,
            Factor::Wrapped(v) => self.begins[&v],
        }
    }

    fn scalar(&mut self, op: Op, span: Span, out: &mut Vec<Stmt>) -> Value {
        self.f.push(op, Type::scalar(DType::U64), span, out)
    }
}
