//! Products of tiles.

use super::pipeline::{Buffer, Operand, Product};
use super::*;
use crate::layout::dot::{self, GROUP_ROWS, Unit, depth};
use crate::layout::fetch::{Side, chunk};

impl Lower<'_> {
    pub(super) fn dot(&mut self, v: Value) {
        match self.role.pipeline().and_then(|p| p.dots.get(&v).copied()) {
            Some(product) => self.wgmma(v, product),
            None => self.by_warps(v),
        }
    }

    /// Whether a variable is an accumulator whose zeros are never written: `fresh_m` says that it holds them.
    pub(super) fn is_fresh(&self, var: Var) -> bool {
        matches!(self.role, Role::Consumer(p) if p.fresh.contains(&var))
    }

    /// Before such a variable is read: by products as it is, for all else with its zeros.
    pub(super) fn read_fresh(&mut self, v: Value, var: Var) {
        let (f, name) = (self.f, self.var(var));
        let dots = self.role.pipeline().expect("it is specialised").dots.keys().filter(|&&d| matches!(f.op(d), Op::Dot { acc, .. } if *acc == v)).count();
        if self.uses[v.0 as usize] as usize != dots {
            let zero = format!("{name} = d::each(|_| <{} as s::Scalar>::ZERO); fresh_{name} = false;", f.ty(v).dtype.rust());
            self.node(Node::If { cond: format!("fresh_{name}"), then: vec![Node::Line(zero)], other: vec![] });
        }
        self.line(format!("let add_{} = !fresh_{name};", scalar(v)));
    }

    /// The accumulator's registers in an array of their own.
    fn accumulator(&mut self, v: Value, layout: &Layout) -> String {
        let Op::Dot { acc, .. } = *self.f.op(v) else { unreachable!("a dot") };
        let regs = self.demand(acc, layout);
        let name = self.fresh();
        self.line(format!("let {name}: [{}; {}] = {};", self.f.ty(v).dtype.rust(), layout.regs(), each(&regs.at("r"))));
        name
    }

    fn result(&mut self, v: Value, layout: Layout, call: String) {
        let name = scalar(v);
        self.line(format!("let {name}: [{}; {}] = {call};", self.f.ty(v).dtype.rust(), layout.regs()));
        let regs = Regs(format!("{name}[#]"));
        let home = self.homes.of(v).clone();
        let at_home = self.convert(&regs, self.f.ty(v).dtype, &layout, &home, self.site(self.f.values[v.0 as usize].span));
        self.at_hand(v, layout, regs);
        self.at_hand(v, home, at_home);
    }

    /// By warpgroups, from buffers in shared memory.
    fn wgmma(&mut self, v: Value, p: Product) {
        let f = self.f;
        let Op::Dot { a, acc: before, .. } = *f.op(v) else { unreachable!("a dot") };
        let (dtype, site) = (f.ty(a).dtype, self.site(f.values[v.0 as usize].span));
        let g = p.groups;
        let layout = g.accumulator(f.shape(v));
        let (acc, add) = match f.op(before) {
            _ if f.is_zeros(before) => ("d::unset()".to_string(), "false".to_string()),
            Op::ReadVar(var) if self.is_fresh(*var) => (self.accumulator(v, &layout), format!("add_{}", scalar(before))),
            _ => (self.accumulator(v, &layout), "true".to_string()),
        };
        let chained = |v: Value| self.role.pipeline().is_some_and(|p| p.chained.contains(&v));
        let (first, last) = (!chained(before), !chained(v));
        let steps = f.shape(a)[1] / depth(dtype);
        // Which part is this warpgroup's.
        let group = |of: usize, above: usize| if of == 1 { "0".to_string() } else { format!("(((tid >> 7) / {above}) & {})", of - 1) };
        let (row, col) = (group(g.rows, 1), group(g.cols, g.rows));
        let (rows, cols) = (f.shape(v)[0] / g.rows, f.shape(v)[1] / g.cols);
        let (b_at, b_matrix) = self.placed(p.b, &col, cols, g.n, dtype.size());
        let chain = format!("d::Chain {{ first: {first}, last: {last}, wait: {} }}, {add}, {site}", last && !self.is_late(v));
        let of = format!("{}, {}, {}, {}, {}, {}, {steps}", dtype.rust(), f.ty(v).dtype.rust(), layout.regs(), g.n, g.row_blocks, g.col_blocks);
        let call = if p.a.through_registers(dtype) {
            let a_at = self.fetched(p.a, &row, rows, dtype.size());
            format!("d::wgmma_fetched::<{of}, {}>({acc}, |m, k, i| {a_at}, |m, k| {b_at}, {b_matrix}, {chain})", !p.b.along_depth)
        } else {
            let (a_at, a_matrix) = self.placed(p.a, &row, rows, GROUP_ROWS, dtype.size());
            format!("d::wgmma::<{of}, {}, {}>({acc}, |m, k| {a_at}, |m, k| {b_at}, {a_matrix}, {b_matrix}, {chain})", !p.a.along_depth, !p.b.along_depth)
        };
        self.result(v, layout, call);
    }

    /// Where block `m`, step `k` of an operand lies, for the part of the warpgroup; and how.
    fn placed(&self, o: Operand, group: &str, part: usize, block: usize, size: usize) -> (String, String) {
        let b: &Buffer = &self.role.pipeline().expect("a pipeline").channels[o.channel].buffers[o.buffer];
        let base = buffer_name(o.channel, o.buffer);
        let (row, per_box) = (b.row_bytes, b.box_bytes());
        if o.along_depth {
            let per_row = row / 32;
            let at = format!("{base} + ({group} * {part} + m * {block}) * {row} + k / {per_row} * {per_box} + k % {per_row} * 32");
            (at, format!("d::Matrix {{ leading: 16, stride: {}, swizzle: {row} }}", 8 * row))
        } else {
            // Boxes follow each other along the rows or columns of the product; a step is as many rows of the box as it is deep.
            let step = depth_rows(size) * row;
            let at = format!("{base} + ({group} * {part} + m * {block}) * {size} / {row} * {per_box} + k * {step}");
            (at, format!("d::Matrix {{ leading: {per_box}, stride: {}, swizzle: {row} }}", 8 * row))
        }
    }

    /// Where word `i` of this thread's fragment lies, of block `m` and step `k` of an operand that lies across, in boxes of rows
    /// along the depth.
    fn fetched(&self, o: Operand, group: &str, part: usize, size: usize) -> String {
        let b: &Buffer = &self.role.pipeline().expect("a pipeline").channels[o.channel].buffers[o.buffer];
        let (base, row, per_box) = (buffer_name(o.channel, o.buffer), b.row_bytes, b.box_bytes());
        let across = format!("({group} * {part} + m * {GROUP_ROWS} + (tid >> 5 & 3) * 16 + (tid >> 2 & 7) + (i & 1) * 8) * {size}");
        let along = format!("(k * {} + (tid & 3) + (i >> 1) * 4)", 32 / size);
        format!("{{ let (x, y) = ({across}, {along}); {base} + x / {row} * {per_box} + y * {row} + (x % {row} ^ (y & 7) << 4) }}")
    }

    /// By each warp for itself, or each thread.
    fn by_warps(&mut self, v: Value) {
        let f = self.f;
        let Op::Dot { a, precision, .. } = *f.op(v) else { unreachable!("a dot") };
        let (unit, w) = dot::warps(f, v);
        let site = self.site(f.values[v.0 as usize].span);
        let (from, to, n) = (f.ty(a).dtype.rust(), f.ty(v).dtype.rust(), w.acc.regs() / w.products);
        let acc = self.accumulator(v, &w.acc);
        let ((a, a_deep), (b, b_deep)) = (self.fragments(v, Side::A, unit, &w), self.fragments(v, Side::B, unit, &w));
        let (rows, cols, steps) = (w.row_blocks, w.col_blocks, w.steps);
        // A batch's products take their part of the accumulator each.
        let (all, acc) = if w.products == 1 { (None, acc) } else { (Some(acc), "acc".to_string()) };
        let call = match unit {
            Unit::Fma => {
                let deep = chunk(&w);
                format!("d::fma_tile::<{from}, {to}, {}, {}, {n}, {rows}, {cols}, {deep}, {}, {a_deep}, {b_deep}>({acc}, {a}, {b})", rows * deep, cols * deep, steps / deep)
            }
            _ => format!("d::mma_tile::<{from}, {to}, {n}, {rows}, {cols}, {}, {steps}, {}>({acc}, {a}, {b}, {site})", cols.div_ceil(2), precision == Precision::Tf32x3),
        };
        let call = match all {
            Some(all) => format!("d::batch::<{to}, {}, {n}, {}>({all}, |p, acc| {call})", w.acc.regs(), w.products),
            None => call,
        };
        self.result(v, w.acc, call);
    }
}

/// Rows of a step: the depth of one instruction for elements of this size.
fn depth_rows(size: usize) -> usize {
    32 / size
}

pub fn buffer_name(channel: usize, buffer: usize) -> String {
    format!("b{channel}_{buffer}")
}
