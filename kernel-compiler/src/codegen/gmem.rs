//! Loads, stores and atomics of a thread.

use crate::codegen::comparison::MaskTest;
use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{all_of, any, atomic, of_r, offset};
use crate::dtype::DType;
use crate::ir::{self, Address, Atomic, Base, Op, StmtKind, Value};
use crate::layout::linear::Layout;
use crate::plan::accesses::{AccessGuard, AccessId, TileAccess, Vector};
use crate::plan::atomic_results::{AtomicPlan, ResultAt};
use crate::plan::bounds::{Bounds, Tested};
use crate::plan::shared_memory::SCALAR_BYTES;
use crate::thread_ir::{
    BinaryOp, Call, Device, Expr, Function, Local, Name, Scratch, Stmt, ThreadIr, Ty, call, closure,
};

/// The accesses of a thread to memory, by register.
#[derive(Clone)]
pub(super) struct Accesses {
    /// The elements of one access.
    pub vec: usize,
    pub descending: bool,
    /// The elements of one access to shared memory.
    pub vec_in_shared: usize,
    /// Whether each access is allowed as a whole or not at all.
    pub undivided: bool,
    pub addr: Expr,
    /// Whether all accesses of the thread are allowed.
    pub full: Expr,
    /// Whether the access of register `r` is allowed.
    pub ok: Expr,
}

impl Codegen<'_> {
    pub(super) fn load(&mut self, v: Value) {
        let f = self.f;
        let Op::Load { ptr, mask, other, hint, .. } = f.op(v).clone() else { unreachable!("a load") };
        let (t, site, hint) = (f.ty(v).dtype, self.site(f.values[v.0 as usize].span), hint as u32);
        if f.ty(v).is_scalar() {
            let ok = self.scalar_ok(&ptr, mask);
            let addr = self.address(&ptr, self.first(&ptr), ptr.index.into());
            let (mut stmts, loaded) = if let Base::Shared(_) = ptr.base {
                self.shared_load_scalar(t, addr, ok, other.map(Expr::from), site)
            } else {
                let other = any(other.map_or(Expr::zero(t), Expr::from));
                let load =
                    call!(Device::Load; [t, 1u32, 1u32, false, false]; any(addr), false, any(ok), other, hint, site);
                (vec![], load.element(0))
            };
            stmts.push(Stmt::define(v, t.into(), loaded));
            self.access(AccessId::Value(v), &ptr, site, stmts);
            return;
        }
        let access = self.plan.accesses.of_value(v);
        let (layout, accesses) = (access.layout.clone(), self.accesses(AccessId::Value(v), &ptr, mask, access));
        let other = other.map(|o| self.demand(o, &layout).at(Local::R));
        let n = layout.regs();
        let (mut stmts, loaded) = if let Base::Shared(_) = ptr.base {
            self.shared_load(accesses, t, &layout, other, site)
        } else {
            let other = other.unwrap_or(Expr::zero(t));
            let load = self.by_vectors(&ptr, access, accesses, |p| {
                call!(
                    Device::Load; [t, n, p.vec, p.descending, p.undivided];
                    of_r(p.addr), p.full, of_r(p.ok), of_r(other.clone()), hint, site
                )
            });
            (vec![], load)
        };
        stmts.push(Stmt::define(v, Ty::array(t, n), loaded));
        self.access(AccessId::Value(v), &ptr, site, stmts);
        self.make_available(v, self.plan.tiles.id(&layout), Regs::of(v));
    }

    pub(super) fn store(&mut self, s: &ir::Stmt) {
        let StmtKind::Store { ptr, value, mask, hint, span, .. } = &s.kind else { unreachable!("a store") };
        let (value, mask) = (*value, *mask);
        let f = self.f;
        let (t, site, hint) = (f.ty(value).dtype, self.site(*span), *hint as u32);
        if f.ty(value).is_scalar() {
            let ok = self.scalar_ok(ptr, mask);
            let of_one = Expr::from(Name::Tid).equals(0);
            let ok = if planted!("scalar-store-by-all-threads") { ok } else { of_one.and_then(ok) };
            let addr = self.address(ptr, self.first(ptr), ptr.index.into());
            let store = match ptr.base {
                Base::Shared(_) => {
                    call!(Device::SharedStore; [t, 1u32, 1u32]; any(offset(addr)), any(ok), any(value), site)
                }
                _ => {
                    call!(Device::Store; [t, 1u32, 1u32, false, false]; any(addr), false, any(ok), any(value), hint, site)
                }
            };
            self.access(AccessId::Store(s.id), ptr, site, vec![store.into()]);
            return;
        }
        let access = self.plan.accesses.of_store(s.id);
        let layout = &access.layout;
        let regs = self.demand(value, layout);
        let accesses = self.accesses(AccessId::Store(s.id), ptr, mask, access);
        let store = match ptr.base {
            Base::Shared(_) => Self::shared_store(accesses, t, layout, &regs, site),
            _ => self.by_vectors(ptr, access, accesses, |p| {
                call!(
                    Device::Store; [t, layout.regs(), p.vec, p.descending, p.undivided];
                    of_r(p.addr), p.full, of_r(p.ok), of_r(regs.at(Local::R)), hint, site
                )
            }),
        };
        self.access(AccessId::Store(s.id), ptr, site, vec![store.into()]);
    }

    /// The accesses as planned: where the plan tests the alignment of the address, of vectors or of single elements.
    fn by_vectors(
        &self,
        ptr: &Address,
        planned: &TileAccess,
        accesses: Accesses,
        access: impl Fn(Accesses) -> Expr,
    ) -> Expr {
        let bytes = accesses.vec * self.f.dtype_at(ptr).size();
        match ptr.base {
            Base::Pointer { address, .. } if planned.tests_alignment && !planted!("pointee-taken-for-aligned") => {
                let is_aligned = (Expr::from(address) % bytes).equals(0);
                let one_by_one =
                    Accesses { vec: 1, descending: false, undivided: false, full: false.into(), ..accesses.clone() };
                Expr::when(is_aligned, access(accesses), access(one_by_one))
            }
            _ => access(accesses),
        }
    }

    /// An access to an array, with the elements that each thread reaches by it as planned.
    pub(super) fn access(&mut self, id: AccessId, ptr: &Address, site: u32, stmts: Vec<Stmt>) {
        let (array, elements) = (ptr.array(), self.plan.elements.of(id));
        self.node(ThreadIr::access(stmts, [array, self.f.memory(array)], elements, site));
    }

    /// The address of the first element, where it is the same for all threads. For a shared array it is the offset.
    pub(super) fn first(&self, ptr: &Address) -> Expr {
        match ptr.base {
            Base::Slice(param) | Base::Raw(param) => Name::Arg(self.f.params[param].first_word).into(),
            Base::Shared(array) => Expr::typed(self.shared_begin(array) as i128, DType::U64),
            Base::Pointer { address, .. } => address.into(),
        }
    }

    /// The number of elements, if accesses beyond it are dropped.
    fn end(&self, ptr: &Address) -> Option<Expr> {
        match ptr.base {
            Base::Slice(param) => Some(Name::Arg(self.f.params[param].first_word + 1).into()),
            Base::Shared(array) => Some(Expr::typed(self.f.shared[array].len as i128, DType::U64)),
            Base::Raw(_) | Base::Pointer { .. } => None,
        }
    }

    /// The address of an element in bytes.
    fn address(&self, ptr: &Address, first: Expr, index: Expr) -> Expr {
        let index = self.as_u64(ptr.index, index);
        first.wrapping_add(index.group().wrapping_mul(self.f.dtype_at(ptr).size()))
    }

    fn as_u64(&self, v: Value, index: Expr) -> Expr {
        match self.f.ty(v).dtype {
            DType::U64 => index,
            // A negative index becomes a large one, beyond the end of every slice.
            d => call!(Function::Cast; [d, DType::U64]; index),
        }
    }

    fn scalar_ok(&self, ptr: &Address, mask: Option<Value>) -> Expr {
        let index = self.as_u64(ptr.index, ptr.index.into());
        let inside = self.end(ptr).filter(|_| keeps_end(ptr)).map(|end| index.less(end).group());
        let mask = mask.filter(|_| !planted!("scalar-mask-dropped"));
        all_of(inside.into_iter().chain(mask.map(Expr::from)), BinaryOp::AndThen)
    }

    pub(super) fn accesses(
        &mut self,
        id: AccessId,
        ptr: &Address,
        mask: Option<Value>,
        planned: &TileAccess,
    ) -> Accesses {
        let (f, plan) = (self.f, self.plan);
        let (index, layout) = (ptr.index, &planned.layout);
        let (l, Bounds { end, mask: of_mask, joined }) = (plan.tiles.id(layout), plan.tiles.bounds(id));
        self.carried_out.bounds.insert(id);
        let Vector { elements: vec, descending, undivided } = planned.vector;
        let regs = self.tile(index, l);
        let once = planned.once && !planted!("all-copies-store");
        let mask = planned_for("mask", mask, of_mask).filter(|_| !planted!("mask-dropped"));
        let end = planned_for("end", self.end(ptr), end).filter(|_| keeps_end(ptr) && !planted!("slice-bound-dropped"));
        let (everywhere, mask, limit) = match mask {
            Some((m, Tested::Constants)) => {
                let m = self.mask(m, l);
                (Some(m.all), Some(m.each), m.limit)
            }
            Some((m, Tested::Elements)) => (None, Some(self.tile(m, l)), None),
            None => (None, None, None),
        };
        let act = if once { self.once(layout, f.shape(index)) } else { self.valid(layout, f.shape(index)) };
        let (n, bytes) = (layout.regs(), f.dtype_at(ptr).size());
        let sum = plan.tiles.sum(index, l).map(|a| (self.base(index, l), a));
        let bound = match (end, sum) {
            (None, _) => None,
            (Some((end, Tested::Constants)), Some((base, a))) => {
                let consts: Vec<u32> = a.consts.iter().map(|&c| c as u32).collect();
                Some(self.less(base, &consts, end))
            }
            (Some((end, _)), _) => {
                let each = Regs(self.as_u64(index, regs.0.clone()).less(end).group());
                Some(MaskTest { all: false.into(), each, limit: None })
            }
        };
        let (bound, of_bound) = bound.map_or((None, None), |b| (Some(b.each), b.limit));
        let (bound, mask, everywhere) = match limit.zip(of_bound).filter(|_| joined) {
            Some((mask, bound)) => (Some(self.both(mask, bound)), None, None),
            None => (bound, mask, everywhere),
        };
        let addr = match (ptr.base, sum) {
            (Base::Pointer { address, .. }, _) if !f.ty(address).is_scalar() => {
                let addresses = self.tile(address, l);
                self.address(ptr, addresses.at(Local::R), regs.at(Local::R))
            }
            (_, Some((base, a))) => {
                let first = self.first(ptr).wrapping_add(Expr::from(base).wrapping_mul(bytes));
                let base = self.bind(Ty::U64, first);
                self.sum_regs(base, a, bytes).at(Local::R)
            }
            (_, None) => self.address(ptr, self.first(ptr), regs.at(Local::R)),
        };
        let inside = |r: Expr| bound.as_ref().map(|b| b.at(r));
        let tests = [bound.as_ref(), mask.as_ref(), act.as_ref()].into_iter().flatten();
        let ok = all_of(tests.map(|t| t.at(Local::R)), BinaryOp::And);
        let full = if planned.guard == AccessGuard::Each {
            false.into()
        } else {
            // The farthest element of an access is the last one, or the first one if addresses descend.
            let first = Local::G * vec;
            let far = if descending || planted!("vector-bound-of-first") { first } else { first + (vec - 1) };
            let mut tests = vec![];
            if let Some(t) = inside(far.group()) {
                tests.push(call!(Device::All; [n / vec]; closure([Local::G], t)));
            }
            let one_by_one = mask.as_ref().filter(|_| everywhere.is_none());
            tests.extend(everywhere);
            let each_one: Vec<Expr> =
                [one_by_one, act.as_ref()].into_iter().flatten().map(|t| t.at(Local::G)).collect();
            if !each_one.is_empty() {
                tests.push(call!(Device::All; [n]; closure([Local::G], all_of(each_one, BinaryOp::And))));
            }
            all_of(tests, BinaryOp::And)
        };
        Accesses { vec, descending, vec_in_shared: planned.vector.in_shared_memory(), undivided, addr, full, ok }
    }

    pub(super) fn atomic(&mut self, v: Value) {
        let f = self.f;
        let Op::Atomic { op, ptr, values, mask, relaxed } = f.op(v).clone() else { unreachable!("an atomic") };
        let (t, site) = (f.ty(v).dtype, self.site(f.values[v.0 as usize].span));
        let is_shared = matches!(ptr.base, Base::Shared(_));
        let call = |n: usize, addr: Expr, ok: Expr, args: Vec<Expr>| {
            let function = match (is_shared, op == Atomic::Cas) {
                (false, false) => Device::Atomic,
                (false, true) => Device::AtomicCas,
                (true, false) => Device::SharedAtomic,
                (true, true) => Device::SharedAtomicCas,
            };
            let (code, values) = atomic(op, t, args, Local::R);
            let generics = [t.into(), n.into()].into_iter().chain(code).collect();
            let addr = if is_shared { offset(addr) } else { addr };
            let order = (!is_shared).then(|| relaxed.into());
            let args = [of_r(addr), of_r(ok)].into_iter().chain(values).chain(order).chain([site.into()]).collect();
            Expr::Call(Call { function: function.into(), generics, args })
        };
        let AtomicPlan { releases, acquires, result } = self.plan.atomics[&v];
        if f.ty(v).is_scalar() {
            // One thread executes the atomic for the program. Earlier writes of all threads precede it, later reads of
            // all threads follow it.
            let addr = self.address(&ptr, self.first(&ptr), ptr.index.into());
            let ok = Expr::from(Name::Tid).equals(0).and_then(self.scalar_ok(&ptr, mask));
            let act = call(1, addr, ok, values.into_iter().map(Expr::from).collect());
            if releases {
                self.release_stores(site);
            }
            let Some(result) = result else {
                self.access(AccessId::Value(v), &ptr, site, vec![act.into()]);
                return;
            };
            self.access(AccessId::Value(v), &ptr, site, vec![Stmt::bind(Name::Old(v), act)]);
            let buffer = || any(Expr::Scratch(Scratch::Unplaced));
            let store = call!(
                Device::SharedStore; [t, 1u32, 1u32];
                buffer(), any(Expr::from(Name::Tid).equals(0)), any(Expr::from(Name::Old(v)).element(0)), site
            );
            let load = call!(Device::SharedLoad; [t, 1u32, 1u32]; buffer(), any(true), site).element(0);
            let scratch = ThreadIr::exchange(SCALAR_BYTES, store.into(), Stmt::define(v, t.into(), load), site);
            match result {
                ResultAt::Once => self.node(scratch),
                ResultAt::Use(s) => self.pending.push((s, scratch)),
            }
            return;
        }
        let access = self.plan.accesses.of_value(v);
        let layout = &access.layout;
        let accesses = self.accesses(AccessId::Value(v), &ptr, mask, access);
        let args: Vec<Expr> = values.iter().map(|&x| self.demand(x, layout).at(Local::R)).collect();
        if releases {
            self.release_stores(site);
        }
        if access.vector.elements > 1 {
            let Vector { elements, undivided, .. } = access.vector;
            let [values] = args.try_into().expect("a sum has one operand");
            let add = call!(
                Device::AtomicAddVectors; [t, layout.regs(), elements, undivided];
                of_r(accesses.addr), of_r(accesses.ok), of_r(values), site
            );
            return self.access(AccessId::Value(v), &ptr, site, vec![add.into()]);
        }
        let act = call(layout.regs(), accesses.addr, accesses.ok, args);
        let define = Stmt::define(v, Ty::array(t, layout.regs()), act);
        self.access(AccessId::Value(v), &ptr, site, vec![define]);
        let mut regs = Regs::of(v);
        let returned = self.plan.tiles.returned.get(&v).filter(|_| !planted!("atomic-copies-get-nothing"));
        if let Some(&scratch) = returned {
            self.carried_out.returned.insert(v);
            // One copy executed the atomic. It gives the old value to the others.
            regs = self.broadcast_copies(&regs, f.ty(v).dtype, (layout, scratch), site);
        }
        if acquires && !planted!("acquire-without-barrier") {
            self.barrier(site);
        }
        self.make_available(v, self.plan.tiles.id(layout), regs);
    }

    /// Gives the results of earlier atomics, which one thread has, to all threads before the statement that the plan
    /// says.
    pub(super) fn flush(&mut self, s: &ir::Stmt) {
        let (due, pending) = std::mem::take(&mut self.pending).into_iter().partition(|(at, _)| *at == s.id);
        self.pending = pending;
        for (_, scratch) in due {
            self.node(scratch);
        }
    }

    fn broadcast_copies(&mut self, regs: &Regs, dtype: DType, (layout, scratch): (&Layout, usize), site: u32) -> Regs {
        let (n, bytes) = (layout.regs(), dtype.size());
        let at = Expr::Scratch(Scratch::Unplaced) + self.flat_index(layout).at(Local::R) * bytes;
        let act = self.once(layout, &layout.shape()).map_or(true.into(), |r| r.at(Local::R));
        let name = self.fresh();
        let store = call!(
            Device::SharedStore; [dtype, n, 1u32];
            of_r(at.clone()), of_r(act), of_r(regs.at(Local::R)), site
        );
        let load = call!(Device::SharedLoad; [dtype, n, 1u32]; of_r(at), any(true), site);
        self.node(ThreadIr::exchange(scratch, store.into(), Stmt::bind(name, load), site));
        Regs::of(name)
    }
}

/// Whether the bound of an access stays in the code.
fn keeps_end(ptr: &Address) -> bool {
    !(matches!(ptr.base, Base::Shared(_)) && planted!("shared-array-bound-dropped"))
}

/// A condition of an access with its test in the plan. One without the other would be an access out of bounds.
fn planned_for<T>(condition: &str, of: Option<T>, planned: Option<Tested>) -> Option<(T, Tested)> {
    match (of, planned) {
        (Some(of), Some(tested)) => Some((of, tested)),
        (None, None) => None,
        (Some(_), None) => unreachable!("the {condition} of an access has no test in the plan"),
        (None, Some(_)) => unreachable!("the plan tests the {condition} of an access without one"),
    }
}
