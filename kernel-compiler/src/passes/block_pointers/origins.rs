//! The offsets of block pointers. They must not be negative numbers that have wrapped around: by element, an index
//! below 0 in one dimension is another element of memory, while a block pointer loads zero there.

use crate::analysis::polynomial::{Factor, Polynomial, Polynomials, Wrap};
use crate::dtype::DType;
use crate::ir::walk::{assigned, walk};
use crate::ir::{Binary, Func, Guard, Op, StmtKind, Test, Value};
use std::collections::HashSet;

/// The largest term of an offset, in rows or columns.
const MAX_TERM: u64 = 1 << 30;

/// The largest number of a signed type.
fn most(t: DType) -> u64 {
    (1 << (8 * t.size() - 1)) - 1
}

/// The guards of a launch that keep offsets of block pointers from being negative.
pub struct Origins<'a> {
    f: &'a Func,
    sums: &'a Polynomials<'a>,
    pub guards: Vec<Guard>,
}

impl<'a> Origins<'a> {
    pub fn new(f: &'a Func, sums: &'a Polynomials<'a>) -> Origins<'a> {
        Origins { f, sums, guards: vec![] }
    }

    fn ask(&mut self, word: usize, test: Test) {
        let r = Guard::word(word, test);
        if !self.guards.contains(&r) {
            self.guards.push(r);
        }
    }

    /// Asks that signed arguments are not negative: argument words have no sign.
    pub fn signs(&mut self, sums: &[&Polynomial]) {
        let mut todo: Vec<Polynomial> = sums.iter().map(|s| (*s).clone()).collect();
        while let Some(sum) = todo.pop() {
            for a in sum.factors() {
                match a {
                    Factor::Word(word) => {
                        let signed = self.f.params.iter().find(|p| {
                            p.first_word == word
                                && p.kind == crate::front::ast::ParamKind::Scalar
                                && p.dtype.is_signed()
                        });
                        if let Some(p) = signed.filter(|_| !planted!("block-pointer-sign-not-asked")) {
                            self.ask(word, Test::Within(0, most(p.dtype)));
                        }
                    }
                    Factor::Wrapped(tile) => todo.push(self.sums.wrap(tile).begin),
                    _ => {}
                }
            }
        }
    }

    /// How a tile with this offset wraps around, if it does, and whether the offset has no other term.
    pub fn wrap(&mut self, begin: &Polynomial) -> Option<(Wrap, bool)> {
        let tile = begin.factors().find_map(Factor::wrapped)?;
        let w = self.sums.wrap(tile);
        let length = if planted!("block-pointer-wrap-not-asked") { 1 } else { w.length };
        self.ask(w.extent, Test::Multiple(length as u64));
        self.ask(w.extent, Test::Within(1, i32::MAX as u64));
        Some((w, *begin == Polynomial::factor(Factor::Wrapped(tile))))
    }

    /// Whether an offset is not negative. The guards for argument words are noted.
    pub fn counts_up(&mut self, begin: &Polynomial) -> bool {
        begin.counts_up() && begin.0.iter().all(|(t, &n)| self.term(t, n))
    }

    fn term(&mut self, t: &[Factor], n: i128) -> bool {
        let words: Vec<usize> = t.iter().filter_map(|a| a.word()).collect();
        let largest = (MAX_TERM as i128 / n) as u64;
        match words[..] {
            [] if t.is_empty() && largest == 0 => return false,
            [] => {}
            [word] => self.ask(word, Test::Within(0, largest)),
            _ => return false,
        }
        t.iter().all(|a| match a {
            Factor::Scalar(v) => self.scalar(*v, &mut HashSet::new()),
            Factor::Word(_) | Factor::Program(_) | Factor::Programs(_) => true,
            Factor::Lane(_) | Factor::Wrapped(_) => false,
        })
    }

    /// Whether a number is computed without subtraction and signed numbers, or is at most such a number.
    fn scalar(&mut self, v: Value, seen: &mut HashSet<Value>) -> bool {
        let f = self.f;
        if !seen.insert(v) {
            // A variable that is computed from itself grows.
            return true;
        }
        match *f.op(v) {
            Op::Int(n) => (0..1 << 31).contains(&n),
            Op::Word { word } if f.ty(v).dtype.is_int() => {
                self.ask(
                    word,
                    Test::Within(0, if f.ty(v).dtype.is_signed() { most(f.ty(v).dtype) } else { i32::MAX as u64 }),
                );
                true
            }
            Op::ProgramId(_) | Op::NumPrograms(_) | Op::ClusterCtaRank => true,
            Op::LoopVar => self.sums.end(v).is_some_and(|end| self.scalar(end, seen)),
            Op::ReadVar(var) => assigned(&f.body, var).into_iter().all(|v| self.scalar(v, seen)),
            Op::Cast(x) => match f.ty(x).dtype {
                DType::Bool | DType::U8 | DType::U16 => true,
                // One that is loaded may be beyond 2^31.
                DType::U32 => !self.is_loaded(x, &mut HashSet::new()),
                DType::U64 => self.scalar(x, seen),
                t => t.is_int() && matches!(f.op(x), Op::Word { .. }) && self.scalar(x, seen),
            },
            Op::Binary(Binary::Add | Binary::Mul | Binary::Shl | Binary::Max, a, b) => {
                self.scalar(a, seen) && self.scalar(b, seen)
            }
            Op::Binary(Binary::Div | Binary::Shr, a, _) => self.scalar(a, seen),
            Op::Binary(Binary::Rem | Binary::Min | Binary::And, a, b) => self.scalar(a, seen) || self.scalar(b, seen),
            Op::Select(_, a, b) => self.scalar(a, seen) && self.scalar(b, seen),
            _ => false,
        }
    }

    /// Whether a scalar depends on one that the kernel loads.
    fn is_loaded(&self, v: Value, seen: &mut HashSet<Value>) -> bool {
        let f = self.f;
        seen.insert(v)
            && match f.op(v) {
                Op::Load { .. } => true,
                Op::ReadVar(var) => assigned(&f.body, *var).into_iter().any(|v| self.is_loaded(v, seen)),
                Op::LoopVar => walk(&f.body).any(|s| match &s.kind {
                    StmtKind::For { iv, lo, hi, .. } if *iv == v => {
                        [*lo, *hi].into_iter().any(|v| self.is_loaded(v, seen))
                    }
                    _ => false,
                }),
                op => op.operands().into_iter().any(|v| self.is_loaded(v, seen)),
            }
    }
}
