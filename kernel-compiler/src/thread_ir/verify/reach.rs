//! The elements that each thread reaches by an access, derived from the code: addresses and conditions by register, in
//! which temporaries are replaced by their definitions. What code generation says of an access counts for nothing here.

use super::regions::consumers;
use crate::dtype::DType;
use crate::ir::{Array, Binary};
use crate::plan::access_order::{Access, AccessKind};
use crate::thread_ir::expr::{BinaryOp, Call, Expr, Generic, Literal, Method, Stmt, Ty};
use crate::thread_ir::function::{Device, Effect, Function};
use crate::thread_ir::name::{Local, Name};
use crate::thread_ir::node::{ConstValue, Lowered, ThreadIr};
use crate::thread_ir::walk::walk;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// A number that a thread computes for a register. Equal hashes are equal numbers, at one time in one thread.
struct Term {
    hash: u64,
    kind: Kind,
    /// The longest way to a term that takes no other.
    depth: usize,
}

impl Term {
    fn new(hash: u64, kind: Kind) -> Term {
        let depth = 1 + match &kind {
            Kind::Element(_, x) | Kind::Word(x) => x.depth,
            Kind::Binary(_, a, b) | Kind::Min(a, b) => a.depth.max(b.depth),
            Kind::Tid | Kind::Register | Kind::Number(_) | Kind::Argument(_) | Kind::Unknown => 0,
        };
        if depth > MAX_DEPTH { Term { hash, kind: Kind::Unknown, depth: 1 } } else { Term { hash, kind, depth } }
    }

    /// Whether it is made of a number that this module knows nothing about.
    fn has_unknown(&self) -> bool {
        Steps::new(self).terms.iter().any(|t| matches!(t.kind, Kind::Unknown))
    }
}

/// Long chains of definitions are unknown numbers, so that no walk over a term takes much stack.
const MAX_DEPTH: usize = 500;

enum Kind {
    Tid,
    Register,
    Number(u64),
    /// One of the numbers of a table.
    Element(Rc<Vec<u64>>, Rc<Term>),
    Binary(BinaryOp, Rc<Term>, Rc<Term>),
    /// The low 32 bits.
    Word(Rc<Term>),
    /// The lower one of two numbers.
    Min(Rc<Term>, Rc<Term>),
    /// An argument word.
    Argument(usize),
    /// Any number, the same in all threads as far as this module knows.
    Unknown,
}

/// The elements that each thread reaches by an access, by register.
struct Reach {
    kind: AccessKind,
    address: Rc<Term>,
    registers: usize,
    bytes: usize,
    conditions: Conditions,
}

/// The conditions that an allowed register has.
#[derive(Default, PartialEq)]
struct Conditions {
    /// The hashes of all.
    all: BTreeSet<u64>,
    /// The hash of `tid == N`, if there is one: a single thread makes the access.
    thread: Option<u64>,
}

/// The reaches of all accesses of a program. An access of another form has none.
pub struct Reaches {
    of: HashMap<*const Access, Reach>,
    threads: u32,
    /// By the hash of an address.
    distinct: RefCell<HashMap<u64, bool>>,
}

impl Reach {
    /// The argument word that the address begins with.
    fn first_word(&self) -> Option<usize> {
        let mut at = &self.address;
        while let Kind::Binary(BinaryOp::Add, first, _) = &at.kind {
            at = first;
        }
        if let Kind::Argument(word) = at.kind { Some(word) } else { None }
    }
}

impl Reaches {
    pub fn new(lowered: &Lowered) -> Reaches {
        let apart = Reaches::with_equal_words(lowered, HashMap::new());
        // Arrays that may be one memory have the same start and the same size. The code is in order if it is for one.
        let mut equal = HashMap::new();
        let mut first_of = HashMap::<Array, usize>::new();
        walk(&lowered.body, &mut |n| {
            if let ThreadIr::Access { access, .. } = n
                && let Some(word) = apart.of.get(&std::ptr::from_ref(access)).and_then(Reach::first_word)
            {
                let first = *first_of.entry(access.memory).or_insert(word);
                equal.extend((0..2).map(|i| (word + i, first + i)).filter(|(word, first)| word != first));
            }
        });
        if equal.is_empty() { apart } else { Reaches::with_equal_words(lowered, equal) }
    }

    /// The second word of a pair stands for the first one.
    fn with_equal_words(lowered: &Lowered, equal: HashMap<usize, usize>) -> Reaches {
        let mut cx = Context { equal, ..Context::default() };
        for c in lowered.consts.iter().flatten() {
            let term = match &c.value {
                ConstValue::Word(n) => number(*n as u64),
                ConstValue::Table(_, numbers) => {
                    cx.tables.insert(c.name, Rc::new(numbers.clone()));
                    continue;
                }
            };
            cx.names.insert(c.name, term);
        }
        lowered.prologue.iter().for_each(|s| cx.stmt(s));
        cx.nodes(&lowered.body);
        Reaches { of: cx.reaches, threads: consumers(lowered), distinct: RefCell::default() }
    }

    /// Whether whichever thread reaches an element by one of two accesses also reaches it by the other one, both in one
    /// iteration of the loops around them.
    ///
    /// The language has no order for two stores of a program to one element. So an element is stored by one thread, and
    /// it is enough that a thread which reaches it otherwise stores it, too: under the conditions of the store. Where
    /// threads have no address in common, conditions do not matter.
    ///
    /// `None` where the code has a number in the address that this module knows nothing about.
    pub fn are_in_order(&self, a: *const Access, b: *const Access) -> Option<bool> {
        let (Some(a), Some(b)) = (self.of.get(&a), self.of.get(&b)) else { return Some(false) };
        if (a.address.hash, a.registers, a.bytes) != (b.address.hash, b.registers, b.bytes) {
            return Some(false);
        }
        let stores_too = match (a.kind, b.kind) {
            (AccessKind::Write, _) => a.conditions.all.is_subset(&b.conditions.all),
            (_, AccessKind::Write) => b.conditions.all.is_subset(&a.conditions.all),
            _ => false,
        };
        let same_thread = a.conditions.thread.is_some() && a.conditions.thread == b.conditions.thread;
        if stores_too || same_thread || self.have_distinct_addresses(a) {
            return Some(true);
        }
        if a.address.has_unknown() { None } else { Some(false) }
    }

    /// Whether no two threads have an address in common, whatever the numbers are that the module does not know.
    fn have_distinct_addresses(&self, of: &Reach) -> bool {
        let key = of.address.hash;
        if let Some(&known) = self.distinct.borrow().get(&key) {
            return known;
        }
        let steps = Steps::new(&of.address);
        let distinct = [Unknown::Zero, Unknown::One, Unknown::Any].into_iter().all(|unknown| {
            let mut thread_of = HashMap::new();
            (0..self.threads).all(|tid| {
                (0..of.registers).all(|r| {
                    let address = steps.value(tid.into(), r as u64, unknown);
                    *thread_of.entry(address).or_insert(tid) == tid
                })
            })
        });
        self.distinct.borrow_mut().insert(key, distinct);
        distinct
    }
}

/// The values that stand for unknown numbers.
#[derive(Clone, Copy)]
enum Unknown {
    Zero,
    One,
    Any,
}

/// A term as steps, each behind those that it takes.
struct Steps<'t> {
    terms: Vec<&'t Term>,
    at: HashMap<*const Term, usize>,
}

impl<'t> Steps<'t> {
    fn new(term: &'t Term) -> Steps<'t> {
        let mut out = Steps { terms: vec![], at: HashMap::new() };
        out.add(term);
        out
    }

    fn add(&mut self, t: &'t Term) {
        if self.at.contains_key(&std::ptr::from_ref(t)) {
            return;
        }
        match &t.kind {
            Kind::Element(_, x) | Kind::Word(x) => self.add(x),
            Kind::Binary(_, a, b) | Kind::Min(a, b) => {
                self.add(a);
                self.add(b);
            }
            Kind::Tid | Kind::Register | Kind::Number(_) | Kind::Argument(_) | Kind::Unknown => {}
        }
        self.at.insert(t, self.terms.len());
        self.terms.push(t);
    }

    fn value(&self, tid: u64, register: u64, unknown: Unknown) -> u64 {
        let mut values: Vec<u64> = Vec::with_capacity(self.terms.len());
        for t in &self.terms {
            let of = |t: &Rc<Term>| values[self.at[&Rc::as_ptr(t)]];
            values.push(match &t.kind {
                Kind::Tid => tid,
                Kind::Register => register,
                Kind::Number(n) => *n,
                Kind::Element(table, i) => table.get(of(i) as usize).copied().unwrap_or(0),
                Kind::Binary(op, a, b) => binary(*op, of(a), of(b)),
                Kind::Min(a, b) => of(a).min(of(b)),
                Kind::Word(x) => of(x) & u64::from(u32::MAX),
                Kind::Argument(_) | Kind::Unknown => match unknown {
                    Unknown::Zero => 0,
                    Unknown::One => 1,
                    Unknown::Any => t.hash,
                },
            });
        }
        values.pop().unwrap_or(0)
    }
}

fn binary(op: BinaryOp, a: u64, b: u64) -> u64 {
    match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => a.checked_div(b).unwrap_or(0),
        BinaryOp::Rem => a.checked_rem(b).unwrap_or(0),
        BinaryOp::Shl => a.checked_shl(b as u32).unwrap_or(0),
        BinaryOp::Shr => a.checked_shr(b as u32).unwrap_or(0),
        BinaryOp::And | BinaryOp::AndThen => a & b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Or | BinaryOp::OrElse => a | b,
        BinaryOp::Eq => (a == b).into(),
        BinaryOp::Lt => (a < b).into(),
        BinaryOp::Gt => (a > b).into(),
        BinaryOp::Ge => (a >= b).into(),
    }
}

fn hash_of(x: impl Hash) -> u64 {
    let mut h = DefaultHasher::new();
    x.hash(&mut h);
    h.finish()
}

fn number(n: u64) -> Rc<Term> {
    Rc::new(Term::new(hash_of(("number", n)), Kind::Number(n)))
}

/// The values of names at a place of the program.
#[derive(Default)]
struct Context {
    /// Argument words, and others that they are equal to.
    equal: HashMap<usize, usize>,
    names: HashMap<Name, Rc<Term>>,
    tables: HashMap<Name, Rc<Vec<u64>>>,
    /// The values of names before a block, for its end.
    before: Vec<(Name, Option<Rc<Term>>)>,
    /// How many numbers were met that nothing is known of.
    unknown: u64,
    reaches: HashMap<*const Access, Reach>,
}

impl Context {
    fn nodes(&mut self, nodes: &[ThreadIr]) {
        for n in nodes {
            match n {
                ThreadIr::Line(stmts) => stmts.iter().for_each(|s| self.stmt(s)),
                ThreadIr::Access { stmts, access } => {
                    if let Some(reach) = self.access(stmts, access.kind) {
                        self.reaches.insert(access, reach);
                    }
                }
                ThreadIr::If { then, other, .. } => {
                    self.block(then);
                    self.block(other);
                    self.forget(then);
                    self.forget(other);
                }
                ThreadIr::Loop { body } => {
                    // An iteration begins with what the one before has left.
                    self.forget(body);
                    self.block(body);
                    self.forget(body);
                }
                ThreadIr::Block { body } => {
                    self.block(body);
                    self.forget(body);
                }
                ThreadIr::Scratch { .. }
                | ThreadIr::Barrier { .. }
                | ThreadIr::Break
                | ThreadIr::Continue
                | ThreadIr::Return => {}
            }
        }
    }

    /// Names of a block are unknown behind it.
    fn block(&mut self, nodes: &[ThreadIr]) {
        let first = self.before.len();
        self.nodes(nodes);
        self.end_of_block(first);
    }

    fn end_of_block(&mut self, first: usize) {
        while self.before.len() > first {
            let (name, before) = self.before.pop().expect("one more");
            match before {
                Some(before) => self.names.insert(name, before),
                None => self.names.remove(&name),
            };
        }
    }

    fn set(&mut self, name: Name, term: Rc<Term>) {
        let before = self.names.insert(name, term);
        self.before.push((name, before));
    }

    fn set_unknown(&mut self, name: Name) {
        self.unknown += 1;
        let hash = hash_of(("unknown", self.unknown));
        self.set(name, Rc::new(Term::new(hash, Kind::Unknown)));
    }

    /// The names that nodes may have assigned are unknown.
    fn forget(&mut self, nodes: &[ThreadIr]) {
        let mut names = HashSet::new();
        walk(nodes, &mut |n| {
            if let ThreadIr::Line(stmts) | ThreadIr::Access { stmts, .. } = n {
                assigned(stmts, &mut names);
            }
        });
        names.into_iter().for_each(|n| self.set_unknown(n));
    }

    fn stmt(&mut self, s: &Stmt) {
        match s {
            Stmt::Let { name, value: Some(e), .. } | Stmt::Assign(name, e) if is_pure(e) => {
                let term = self.term(e);
                self.set(*name, term);
            }
            Stmt::Let { name, .. } | Stmt::Assign(name, _) | Stmt::Update(_, name, _) => self.set_unknown(*name),
            Stmt::LetPair(names, values) => {
                let terms = [0, 1].map(|i| is_pure(&values[i]).then(|| self.term(&values[i])));
                for (name, term) in names.iter().zip(terms) {
                    match term {
                        Some(term) => self.set(*name, term),
                        None => self.set_unknown(*name),
                    }
                }
            }
            Stmt::Expr(_) => {}
            Stmt::If { then: body, .. } | Stmt::While { body, .. } => {
                let mut names = HashSet::new();
                assigned(body, &mut names);
                names.into_iter().for_each(|n| self.set_unknown(n));
            }
        }
    }

    /// The reach of an access with these statements. Several calls, of which one is made, have one reach.
    fn access(&mut self, stmts: &[Stmt], kind: AccessKind) -> Option<Reach> {
        let (mut found, mut agree) = (None::<Reach>, true);
        for s in stmts {
            s.walk(&mut |e| {
                let Expr::Call(c) = e else { return };
                if !reaches_memory(c.effect()) {
                    return;
                }
                match (self.call(c, kind), &found) {
                    (Some(new), None) => found = Some(new),
                    (Some(new), Some(known)) => {
                        agree &= new.address.hash == known.address.hash && new.conditions == known.conditions;
                    }
                    (None, _) => agree = false,
                }
            });
            self.stmt(s);
        }
        found.filter(|_| agree)
    }

    fn call(&self, c: &Call, kind: AccessKind) -> Option<Reach> {
        let Function::Device(device) = c.function else { return None };
        let condition = match device {
            Device::Load | Device::Store => 2,
            Device::SharedLoad | Device::SharedStore => 1,
            Device::Atomic | Device::AtomicCas | Device::SharedAtomic | Device::SharedAtomicCas => 1,
            Device::AtomicAddVectors => 1,
            _ => return None,
        };
        let [Generic::Type(Ty::Scalar(of)), Generic::Number(registers), ..] = c.generics[..] else { return None };
        let by_register = |e: &Expr| if let Expr::Closure(c) = e { Some((*c.body).clone()) } else { None };
        let address = self.term(&by_register(c.args.first()?)?);
        let mut conditions = Conditions::default();
        self.conjuncts(&by_register(c.args.get(condition)?)?, &mut conditions);
        Some(Reach { kind, address, registers, bytes: of.size(), conditions })
    }

    fn conjuncts(&self, e: &Expr, out: &mut Conditions) {
        match e {
            Expr::Group(e) => self.conjuncts(e, out),
            Expr::Binary(BinaryOp::And | BinaryOp::AndThen, a, b) => {
                self.conjuncts(a, out);
                self.conjuncts(b, out);
            }
            Expr::Literal(Literal::Bool(true)) => {}
            // A name stands for the conjunction that it is defined as.
            e => self.conjuncts_of(&self.term(e), out),
        }
    }

    fn conjuncts_of(&self, t: &Term, out: &mut Conditions) {
        match &t.kind {
            Kind::Binary(BinaryOp::And | BinaryOp::AndThen, a, b) => {
                self.conjuncts_of(a, out);
                self.conjuncts_of(b, out);
            }
            Kind::Binary(BinaryOp::Lt, x, limit) => below(x, limit, &mut out.all),
            Kind::Binary(BinaryOp::Eq, x, n)
                if matches!((&x.kind, &n.kind), (Kind::Tid, Kind::Number(_)) | (Kind::Number(_), Kind::Tid)) =>
            {
                out.all.insert(t.hash);
                out.thread = Some(t.hash);
            }
            _ => drop(out.all.insert(t.hash)),
        }
    }

    fn term(&self, e: &Expr) -> Rc<Term> {
        let combined = |op: BinaryOp, a: &Expr, b: &Expr| {
            let (a, b) = (self.term(a), self.term(b));
            Some(Term::new(hash_of((op, a.hash, b.hash)), Kind::Binary(op, a, b)))
        };
        let cast = |e: &Expr, to: &Ty| match to {
            Ty::Scalar(DType::U64 | DType::I64) | Ty::Usize => Err(self.term(e)),
            Ty::Scalar(DType::U32) => {
                let x = self.term(e);
                Ok(Some(Term::new(hash_of(("word", x.hash)), Kind::Word(x))))
            }
            _ => Ok(None),
        };
        let known = match e {
            Expr::Group(e) => return self.term(e),
            Expr::Name(Name::Tid) => Some(Term::new(hash_of("tid"), Kind::Tid)),
            Expr::Name(Name::Local(Local::R)) => Some(Term::new(hash_of("register"), Kind::Register)),
            Expr::Name(Name::Arg(word)) => {
                let word = *self.equal.get(word).unwrap_or(word);
                Some(Term::new(hash_of(("argument", word)), Kind::Argument(word)))
            }
            Expr::Name(name) if let Some(term) = self.names.get(name) => return term.clone(),
            Expr::Literal(Literal::Int { value, .. }) => return number(*value as u64),
            Expr::Binary(op, a, b) => combined(*op, a, b),
            Expr::Method(method, a, b) => match (method, &b[..]) {
                (Method::WrappingAdd, [b]) => combined(BinaryOp::Add, a, b),
                (Method::WrappingSub, [b]) => combined(BinaryOp::Sub, a, b),
                (Method::WrappingMul, [b]) => combined(BinaryOp::Mul, a, b),
                _ => None,
            },
            Expr::Call(Call { function: Function::Binary(op), args, .. }) => match (op, &args[..]) {
                (Binary::Add, [a, b]) => combined(BinaryOp::Add, a, b),
                (Binary::Sub, [a, b]) => combined(BinaryOp::Sub, a, b),
                (Binary::Mul, [a, b]) => combined(BinaryOp::Mul, a, b),
                (Binary::Min, [a, b]) => {
                    let (a, b) = (self.term(a), self.term(b));
                    Some(Term::new(hash_of(("min", a.hash, b.hash)), Kind::Min(a, b)))
                }
                _ => None,
            },
            Expr::Call(Call { function: Function::Cast, generics, args }) => match (&generics[..], &args[..]) {
                ([Generic::Type(Ty::Scalar(DType::U32 | DType::U64 | DType::I64)), Generic::Type(to)], [e]) => {
                    match cast(e, to) {
                        Ok(term) => term,
                        Err(same) => return same,
                    }
                }
                _ => None,
            },
            Expr::Cast(e, to) => match cast(e, to) {
                Ok(term) => term,
                Err(same) => return same,
            },
            Expr::Index(of, i) => match **of {
                Expr::Name(name) if let Some(table) = self.tables.get(&name) => {
                    let i = self.term(i);
                    Some(Term::new(hash_of((table, i.hash)), Kind::Element(table.clone(), i)))
                }
                _ => None,
            },
            _ => None,
        };
        let unknown = || Term::new(hash_of(self.resolved(e)), Kind::Unknown);
        Rc::new(known.unwrap_or_else(unknown))
    }

    /// The expression with the hashes of what its names stand for.
    fn resolved(&self, e: &Expr) -> Expr {
        e.mapped(&mut |e| {
            let Expr::Name(name) = e else { return None };
            if let Name::Arg(word) = name {
                return self.equal.get(word).map(|&word| Expr::Name(Name::Arg(word)));
            }
            let hash = match (self.names.get(name), self.tables.get(name)) {
                (Some(term), _) => term.hash,
                (None, Some(table)) => hash_of(table),
                (None, None) => return None,
            };
            Some(Expr::Literal(Literal::Int { value: hash.into(), dtype: Some(DType::Bool) }))
        })
    }
}

/// The conditions of `x < limit`: a number below the lower one of two limits is below both.
fn below(x: &Term, limit: &Term, out: &mut BTreeSet<u64>) {
    if let Kind::Min(a, b) = &limit.kind {
        below(x, a, out);
        below(x, b, out);
    } else {
        out.insert(hash_of((BinaryOp::Lt, x.hash, limit.hash)));
    }
}

/// The names that statements assign.
fn assigned(stmts: &[Stmt], out: &mut HashSet<Name>) {
    for s in stmts {
        match s {
            Stmt::Assign(name, _) | Stmt::Update(_, name, _) => drop(out.insert(*name)),
            Stmt::If { then: body, .. } | Stmt::While { body, .. } => assigned(body, out),
            Stmt::Let { .. } | Stmt::LetPair(..) | Stmt::Expr(_) => {}
        }
    }
}

/// Whether an expression is the same number wherever its names are.
fn is_pure(e: &Expr) -> bool {
    let mut pure = true;
    e.walk(&mut |e| {
        pure &= match e {
            Expr::Call(c) => c.effect() == Effect::None,
            Expr::Asm(_) => false,
            _ => true,
        }
    });
    pure
}

fn reaches_memory(effect: Effect) -> bool {
    matches!(
        effect,
        Effect::GlobalRead
            | Effect::GlobalWrite
            | Effect::GlobalUpdate
            | Effect::SharedRead
            | Effect::SharedWrite
            | Effect::SharedUpdate
    )
}
