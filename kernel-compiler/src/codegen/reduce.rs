//! Reductions: within a thread, then by shuffles within a warp, then across warps through shared memory.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::elementwise::op_text;
use crate::codegen::text::{each, scalar};
use crate::dtype::DType;
use crate::ir::{Binary, Combine, Op, Value};
use crate::layout::linear::{Conversion, Layout, Reduction, plan};

/// What is reduced together: a value, or a value with its index.
struct Items {
    regs: Vec<Regs>,
    types: Vec<DType>,
}

impl Codegen<'_> {
    pub(super) fn reduce(&mut self, v: Value) {
        let f = self.f;
        let site = self.site(f.values[v.0 as usize].span);
        let (value, axis) = match f.op(v) {
            Op::Reduce { value, axis, .. } | Op::ArgReduce { value, axis, .. } => (*value, *axis),
            _ => unreachable!("a reduction"),
        };
        let dtype = f.ty(value).dtype;
        let mut layout = self.any_layout(value);
        let mut regs = self.demand(value, &layout);
        let reduction = match layout.reduction(axis) {
            Ok(r) => r,
            Err(better) => {
                regs = self.convert(&regs, dtype, &layout, &better, site);
                layout = better;
                layout.reduction(axis).expect("a blocked layout reduces")
            }
        };
        let padding = if f.shape(value)[axis].is_power_of_two() { None } else { self.valid(&layout, f.shape(value)) };
        let padding = padding.filter(|_| !planted!("reduce-counts-padding"));
        let (items, combine) = match f.op(v).clone() {
            Op::ArgReduce { largest, .. } => {
                let index = self.coordinate(&layout, axis);
                let index = Regs(format!("({index} as i32)"));
                let (t, better) = (dtype.rust(), if largest { "gt" } else { "lt" });
                // Padding comes after all elements, with the worst value: of floats NaN, which loses to any number, whichever comes first.
                let worst = match (dtype.is_float(), largest) {
                    (true, _) => format!("s::cast::<f32, {t}>(f32::NAN)"),
                    (false, true) => format!("s::lowest::<{t}>()"),
                    (false, false) => format!("s::highest::<{t}>()"),
                };
                let regs = self.with_identity(&regs, padding.as_ref(), &worst, &layout, dtype);
                // No integer is unequal to itself.
                let text = format!(
                    "{{ let (x, y) = (s::ne(a.0, a.0), s::ne(b.0, b.0)); if s::{better}(b.0, a.0) || (x && !y) || ((s::eq(b.0, a.0) || (x && y)) && b.1 < a.1) {{ b }} else {{ a }} }}"
                );
                let text =
                    if planted!("argmax-takes-the-last") { text.replace("b.1 < a.1", "b.1 > a.1") } else { text };
                (Items { regs: vec![regs, index], types: vec![dtype, DType::I32] }, text)
            }
            Op::Reduce { combine, .. } => {
                let (regs, text) = match combine {
                    Combine::Binary(op) => {
                        let t = dtype.rust();
                        let identity = match op {
                            _ if planted!("reduce-padding-is-zero") => format!("<{t} as s::Scalar>::ZERO"),
                            // Either gives the number where the other is NaN: NaN alone is in no result.
                            Binary::Max | Binary::Min if dtype.is_float() => format!("s::cast::<f32, {t}>(f32::NAN)"),
                            Binary::Max => format!("s::lowest::<{t}>()"),
                            Binary::Min => format!("s::highest::<{t}>()"),
                            _ => format!("<{t} as s::Scalar>::ZERO"),
                        };
                        (
                            self.with_identity(&regs, padding.as_ref(), &identity, &layout, dtype),
                            format!("(s::{}(a.0, b.0),)", op.name()),
                        )
                    }
                    Combine::Closure { a, b, body, result } => {
                        // No identity is known: `infer` has made sure that there is no padding.
                        let mut text = format!("let {} = a.0; let {} = b.0; ", scalar(a), scalar(b));
                        for v in body {
                            text.push_str(&format!(
                                "let {}: {} = {}; ",
                                scalar(v),
                                f.ty(v).dtype.rust(),
                                self.closure_op(v)
                            ));
                        }
                        (regs, format!("{{ {text}({},) }}", scalar(result)))
                    }
                };
                (Items { regs: vec![regs], types: vec![dtype] }, text)
            }
            _ => unreachable!("a reduction"),
        };
        let out = self.steps(items, &combine, &reduction, site);
        let out = out.regs.last().expect("the value or its index").clone();
        if f.ty(v).is_scalar() {
            self.line(format!("let {}: {} = {};", scalar(v), f.ty(v).dtype.rust(), out.at("0")));
            return;
        }
        let home = self.layouts.of(v).clone();
        let t = f.ty(v).dtype;
        self.line(format!("let {}: [{}; {}] = {};", scalar(v), t.rust(), reduction.result.regs(), each(&out.at("r"))));
        let at_result = Regs(format!("{}[#]", scalar(v)));
        let at_home = if home == reduction.result {
            at_result.clone()
        } else {
            self.convert(&at_result, t, &reduction.result, &home, site)
        };
        self.at_hand(v, reduction.result, at_result);
        self.at_hand(v, home, at_home);
    }

    fn closure_op(&self, v: Value) -> String {
        let f = self.f;
        match f.op(v) {
            op if op.is_elementwise() => {
                let args: Vec<String> = op.operands().into_iter().map(scalar).collect();
                op_text(op, f.ty(v).dtype, op.operands().first().map(|&o| f.ty(o).dtype), &args)
            }
            _ => self.scalar_op(v),
        }
    }

    fn with_identity(
        &mut self,
        regs: &Regs,
        valid: Option<&Regs>,
        identity: &str,
        layout: &Layout,
        dtype: DType,
    ) -> Regs {
        let Some(valid) = valid else { return regs.clone() };
        let name = self.fresh();
        self.line(format!(
            "let {name}: [{}; {}] = d::each(|r| if {} {{ {} }} else {{ {identity} }});",
            dtype.rust(),
            layout.regs(),
            valid.at("r"),
            regs.at("r")
        ));
        Regs(format!("{name}[#]"))
    }

    fn steps(&mut self, items: Items, combine: &str, red: &Reduction, site: u32) -> Items {
        let tuple_type = format!("({},)", items.types.iter().map(|t| t.rust()).collect::<Vec<_>>().join(", "));
        let tuple =
            |regs: &[Regs], r: &str| format!("({},)", regs.iter().map(|x| x.at(r)).collect::<Vec<_>>().join(", "));
        let fold = format!("|a: {tuple_type}, b: {tuple_type}| -> {tuple_type} {{ {combine} }}");
        let (n, per) = (red.groups.len(), red.groups.first().map_or(1, Vec::len));
        // In the thread.
        let order: Vec<usize> = red.groups.iter().flatten().copied().collect();
        let table = self.table(&order);
        let mut name = self.fresh();
        let first = tuple(&items.regs, &table.replace('#', &format!("(r * {per} + k)")));
        self.line(format!(
            "let {name}: [{tuple_type}; {n}] = d::each(|r| d::fold::<{tuple_type}, {per}>(|k| {first}, {fold}));"
        ));
        // In the warp.
        for mask in red.lanes.iter().skip(usize::from(planted!("reduce-skips-a-lane-bit"))) {
            let next = self.fresh();
            let other: Vec<String> =
                (0..items.types.len()).map(|i| format!("d::shuffle_xor({name}[r].{i}, {mask}, {site})")).collect();
            self.line(format!(
                "let {next}: [{tuple_type}; {n}] = d::each(|r| ({fold})({name}[r], ({},)));",
                other.join(", ")
            ));
            name = next;
        }
        let parts: Vec<Regs> = (0..items.types.len()).map(|i| Regs(format!("{name}[#].{i}"))).collect();
        let Some(across) = &red.across else { return Items { regs: parts, types: items.types } };
        // Across warps: more registers, of which each result combines its own.
        let mut gathered = vec![];
        let same_size = items.types.iter().all(|t| t.size() == items.types[0].size());
        match plan(&across.partial, &across.gathered, items.types[0].size()) {
            Conversion::Shared(s) if same_size => {
                let tiles: Vec<_> = parts.iter().cloned().zip(items.types.iter().copied()).collect();
                gathered = self.through_shared(&tiles, &s, site);
            }
            _ => {
                for (p, t) in parts.iter().zip(&items.types) {
                    gathered.push(self.convert(p, *t, &across.partial, &across.gathered, site));
                }
            }
        }
        let all = self.fresh();
        let item = tuple(&gathered, &format!("(r + k * {n})"));
        self.line(format!(
            "let {all}: [{tuple_type}; {n}] = d::each(|r| d::fold::<{tuple_type}, {}>(|k| {item}, {fold}));",
            across.warps
        ));
        Items { regs: (0..items.types.len()).map(|i| Regs(format!("{all}[#].{i}"))).collect(), types: items.types }
    }
}
