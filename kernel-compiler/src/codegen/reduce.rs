//! Reductions: within a thread, then by shuffles within a warp, then across warps through shared memory.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{each, nan};
use crate::dtype::DType;
use crate::ir::{Binary, Combine, Op, Value};
use crate::layout::linear::{Layout, Reduction};
use crate::plan::collectives::{Collective, Gathered};
use crate::plan::conversions::TileConversion;
use crate::thread_ir::{Body, Closure, Device, Expr, Function, Local, Name, Stmt, Ty, call, closure};

/// An item of a reduction: a value, or a value with its index.
pub(super) struct Items {
    pub(super) regs: Vec<Regs>,
    pub(super) types: Vec<DType>,
}

impl Codegen<'_> {
    pub(super) fn reduce(&mut self, v: Value) {
        let f = self.f;
        let site = self.site(f.values[v.0 as usize].span);
        let (values, axis) = f.op(v).reduced().expect("a reduction");
        let types: Vec<DType> = values.iter().map(|&x| f.ty(x).dtype).collect();
        let (value, dtype) = (values[0], types[0]);
        let collectives = &self.plan.collectives;
        let Collective::Reduce { given, converted, layout, reduction, gathered, from_first } = &collectives[&v] else {
            unreachable!("a reduction")
        };
        let mut regs = self.operands(values, &types, (given, converted), site);
        let padding = if f.shape(value)[axis].is_power_of_two() { None } else { self.valid(layout, f.shape(value)) };
        let padding = padding.filter(|_| !planted!("reduce-counts-padding"));
        let (items, combine) = match f.op(v) {
            Op::ArgReduce { largest, .. } => {
                let index = Regs(self.coordinate(layout, axis).cast(DType::I32).group());
                // Padding comes after all elements, with a value that loses every comparison: for floats NaN, which
                // loses to any number in either order.
                let worst = match (dtype.is_float(), *largest) {
                    (true, _) if !planted!("argmax-padding-is-infinite") => nan(dtype),
                    (_, true) => call!(Function::Lowest; [dtype];),
                    (_, false) => call!(Function::Highest; [dtype];),
                };
                let regs = self.with_identity(&regs[0], padding.as_ref(), worst, layout, dtype);
                let combined = better(*largest);
                (Items { regs: vec![regs, index], types: vec![dtype, DType::I32] }, combined)
            }
            Op::Reduce { combine, .. } => {
                // A closure has no known identity. `infer` refuses padding there.
                if let Combine::Binary(op) = combine {
                    let identity = match op {
                        _ if planted!("reduce-padding-is-zero") => Expr::zero(dtype),
                        // `max` and `min` return the number if one operand is NaN, so that padding by NaN is in no
                        // result.
                        Binary::Max | Binary::Min if dtype.is_float() => nan(dtype),
                        Binary::Max | Binary::MaxNan => call!(Function::Lowest; [dtype];),
                        Binary::Min | Binary::MinNan => call!(Function::Highest; [dtype];),
                        _ => Expr::zero(dtype),
                    };
                    regs = vec![self.with_identity(&regs[0], padding.as_ref(), identity, layout, dtype)];
                }
                (Items { regs, types }, self.combination(combine))
            }
            _ => unreachable!("a reduction"),
        };
        let is_index = matches!(f.op(v), Op::ArgReduce { .. });
        let mut out = self.steps(items, combine, (reduction, gathered.as_ref(), *from_first), site).regs;
        if is_index {
            out.remove(0);
        }
        self.define_results(v, &reduction.result, out);
    }

    /// The operands of an operation, all in one layout and then converted.
    pub(super) fn operands(
        &mut self,
        values: &[Value],
        types: &[DType],
        (given, converted): (&Layout, &[TileConversion]),
        site: u32,
    ) -> Vec<Regs> {
        let regs: Vec<Regs> = values.iter().map(|&x| self.demand(x, given)).collect();
        regs.iter().zip(types).zip(converted).map(|((r, &t), c)| self.convert(r, t, c, site)).collect()
    }

    /// The result of a closure for two tuples: the combined elements of all tiles.
    pub(super) fn combination(&self, combine: &Combine) -> Expr {
        match combine {
            Combine::Binary(op) => Expr::Tuple(vec![call!(*op; field(Local::A, 0), field(Local::B, 0))]),
            Combine::Closure { a, b, body, results } => {
                let bind = |of: Local| move |(i, &v): (usize, &Value)| Stmt::bind(v, field(of, i));
                let operands = a.iter().enumerate().map(bind(Local::A)).chain(b.iter().enumerate().map(bind(Local::B)));
                let inner = body.iter().map(|&v| Stmt::define(v, self.f.ty(v).dtype.into(), self.closure_op(v)));
                let stmts = operands.chain(inner).collect();
                Body::after(stmts, Expr::Tuple(results.iter().map(|&r| r.into()).collect())).into()
            }
        }
    }

    /// A closure that combines two tuples of elements.
    pub(super) fn fold(&self, types: &[DType], combined: Expr) -> Closure {
        let ty = Ty::Tuple(types.iter().map(|&t| t.into()).collect());
        Closure { params: vec![Local::A.into(), Local::B.into()], ty: Some(ty), body: Box::new(combined) }
    }

    pub(super) fn closure_op(&self, v: Value) -> Expr {
        let f = self.f;
        match f.op(v) {
            op if op.is_elementwise() => {
                let args = op.operands().into_iter().map(Expr::from).collect();
                self.element(v, args)
            }
            _ => self.scalar_op(v),
        }
    }

    fn with_identity(
        &mut self,
        regs: &Regs,
        valid: Option<&Regs>,
        identity: Expr,
        layout: &Layout,
        dtype: DType,
    ) -> Regs {
        let Some(valid) = valid else { return regs.clone() };
        let one = Expr::when(valid.at(Local::R), regs.at(Local::R), identity);
        Regs::of(self.bind(Ty::array(dtype, layout.regs()), each(one)))
    }

    /// Combines items.
    fn steps(
        &mut self,
        items: Items,
        combined: Expr,
        (red, gathered, from_first): (&Reduction, Option<&Gathered>, bool),
        site: u32,
    ) -> Items {
        let fold = self.fold(&items.types, combined);
        let ty = fold.ty.clone().expect("it is said");
        let tuple = |regs: &[Regs], r: &Expr| Expr::Tuple(regs.iter().map(|x| x.at(r)).collect());
        let (n, per) = (red.groups.len(), red.groups.first().map_or(1, Vec::len));
        let folded =
            |len: usize, item: Expr| each(call!(Device::Fold; [&ty, len]; closure([Local::K], item), fold.clone()));
        // Within the thread.
        let order: Vec<usize> = red.groups.iter().flatten().copied().collect();
        let register = self.table(&order).at((Local::R * per + Local::K).group());
        let first = folded(per, tuple(&items.regs, &register));
        let mut name = self.bind(Ty::array(ty.clone(), n), first);
        // Within the warp.
        for mask in red.lanes.iter().skip(usize::from(planted!("reduce-skips-a-lane-bit"))) {
            let own = Expr::from(name).element(Local::R);
            let other = (0..items.types.len()).map(|i| call!(Device::ShuffleXor; own.clone().field(i), *mask, site));
            let both = vec![own.clone(), Expr::Tuple(other.collect())];
            name = self.bind(Ty::array(ty.clone(), n), each(Expr::Apply(fold.clone(), both)));
        }
        if from_first {
            let first = (Name::Tid & (31 & !red.lanes.iter().sum::<u32>())).group();
            let own = Expr::from(name).element(Local::R);
            let of_first = |i: usize| call!(Device::Shuffle; own.clone().field(i), first.clone(), site);
            let all = Expr::Tuple((0..items.types.len()).map(of_first).collect());
            name = self.bind(Ty::array(ty.clone(), n), each(all));
        }
        let parts = |name: Name| (0..items.types.len()).map(move |i| Regs(Regs::of(name).0.field(i)));
        let partial: Vec<Regs> = parts(name).collect();
        let Some((across, gathered)) = red.across.as_ref().zip(gathered) else {
            return Items { regs: partial, types: items.types };
        };
        // Across warps: each result combines several registers.
        let gathered = self.gathered(&Items { regs: partial, types: items.types.clone() }, gathered, site);
        let all = self.fresh();
        let item = tuple(&gathered, &(Local::R + Local::K * n).group());
        self.line(Stmt::define(all, Ty::array(ty.clone(), n), folded(across.warps, item)));
        Items { regs: parts(all).collect(), types: items.types.clone() }
    }

    /// The items of all warps along the axis, in the registers of every thread.
    pub(super) fn gathered(&mut self, items: &Items, gathered: &Gathered, site: u32) -> Vec<Regs> {
        let tiles = items.regs.iter().zip(&items.types);
        match gathered {
            Gathered::Together(s, planned) => {
                let tiles: Vec<_> = tiles.map(|(r, &t)| (r.clone(), t)).collect();
                self.through_shared(&tiles, (s, *planned), site)
            }
            Gathered::Each(of_tiles) => tiles.zip(of_tiles).map(|((r, &t), c)| self.convert(r, t, c, site)).collect(),
        }
    }
}

fn field(of: Local, i: usize) -> Expr {
    Expr::from(of).field(i)
}

/// The first of two values with their indices, by value and then by index. For integers the test for NaN is false.
fn better(largest: bool) -> Expr {
    let (a, b, x, y) = (Local::A, Local::B, || Expr::from(Local::X), || Expr::from(Local::Y));
    let is_nan = |of: Local| call!(Binary::Ne; field(of, 0), field(of, 0));
    let better = call!(if largest { Binary::Gt } else { Binary::Lt }; field(b, 0), field(a, 0));
    let equal = call!(Binary::Eq; field(b, 0), field(a, 0)).or_else(x().and_then(y()).group()).group();
    let (index, other) = if planted!("argmax-takes-the-last") { (a, b) } else { (b, a) };
    let first = equal.and_then(field(index, 1).less(field(other, 1))).group();
    let takes = better.or_else(x().and_then(!y()).group()).or_else(first);
    let nans = Stmt::LetPair([Local::X.into(), Local::Y.into()], Box::new([is_nan(a), is_nan(b)]));
    Body::after(vec![nans], Expr::when(takes, b, a)).into()
}
