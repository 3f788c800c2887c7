//! Products of tiles.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::role::Role;
use crate::codegen::text::{acts, buffer_name, matrix_name, scalar};
use crate::codegen::thread_ir::ThreadIr;
use crate::ir::{Op, Precision, Value, Var};
use crate::layout::linear::Layout;
use crate::layout::swizzled_smem::SwizzledSmemTile;
use crate::mma::fragments::{Side, chunk};
use crate::mma::mma_sync::Unit;
use crate::mma::wgmma::{GROUP_ROWS, WgmmaTiling};
use crate::mma::{depth, mma_sync};
use crate::plan::product::{Operand, Product};
use crate::plan::smem_operand::flat;

impl Codegen<'_> {
    pub(super) fn dot(&mut self, v: Value) {
        let products = self.role.pipeline().map_or(&self.ahead.products, |p| &p.dots);
        match products.get(&v).copied() {
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
        let dots = self
            .role
            .pipeline()
            .expect("it is specialised")
            .dots
            .keys()
            .filter(|&&d| matches!(f.op(d), Op::Dot { acc, .. } if *acc == v))
            .count();
        if self.uses[v.0 as usize] as usize != dots {
            let zero =
                format!("{name} = d::each(|_| <{} as s::Scalar>::ZERO); fresh_{name} = false;", f.ty(v).dtype.rust());
            self.node(ThreadIr::If { cond: format!("fresh_{name}"), then: vec![ThreadIr::Line(zero)], other: vec![] });
        }
        self.line(format!("let add_{} = !fresh_{name};", scalar(v)));
        if planted!("wgmma-adds-to-unset") {
            self.line(format!("let add_{} = true;", scalar(v)));
        }
    }

    /// The accumulator's registers in an array of their own.
    fn accumulator(&mut self, v: Value, layout: &Layout) -> String {
        let Op::Dot { acc, .. } = *self.f.op(v) else { unreachable!("a dot") };
        self.array(acc, layout)
    }

    fn result(&mut self, v: Value, layout: Layout, call: String) {
        self.begun(v, &layout, call);
        self.landed(v, layout);
    }

    fn begun(&mut self, v: Value, layout: &Layout, call: String) {
        self.line(format!("let {}: [{}; {}] = {call};", scalar(v), self.f.ty(v).dtype.rust(), layout.regs()));
    }

    /// A product's sums are in registers of its name.
    pub(super) fn landed(&mut self, v: Value, layout: Layout) {
        let regs = Regs(format!("{}[#]", scalar(v)));
        let home = self.layouts.of(v).clone();
        let at_home =
            self.convert(&regs, self.f.ty(v).dtype, &layout, &home, self.site(self.f.values[v.0 as usize].span));
        self.at_hand(v, layout, regs);
        self.at_hand(v, home, at_home);
    }

    /// By warpgroups, from shared memory, or with A in registers.
    fn wgmma(&mut self, v: Value, p: Product) {
        let f = self.f;
        let Op::Dot { a, b, acc: before, .. } = *f.op(v) else { unreachable!("a dot") };
        let (dtype, site) = (f.ty(a).dtype, self.site(f.values[v.0 as usize].span));
        let g = p.tiling;
        if let Operand::Written { matrix, k_major } = p.b {
            self.write_matrix(b, matrix, k_major, site);
        }
        let layout = g.accumulator(f.shape(v));
        let steps = f.shape(a)[1] / depth(dtype);
        // Which part is this warpgroup's.
        let group = |of: usize, above: usize| {
            if of == 1 { "0".to_string() } else { format!("(((tid >> 7) / {above}) & {})", of - 1) }
        };
        let (row, col) = (group(g.rows, 1), group(g.cols, g.rows));
        let (rows, cols) = (f.shape(v)[0] / g.rows, f.shape(v)[1] / g.cols);
        let words = match p.a {
            Operand::Registers => Some(self.held(a, &g)),
            _ if p.a.through_registers(dtype) => Some(self.fetched(p.a, dtype.size(), &row, rows, site)),
            _ => None,
        };
        let (acc, add) = match f.op(before) {
            _ if f.is_zeros(before) => ("d::unset()".to_string(), "false".to_string()),
            Op::ReadVar(var) if self.is_fresh(*var) => {
                (self.accumulator(v, &layout), format!("add_{}", scalar(before)))
            }
            _ => (self.accumulator(v, &layout), "true".to_string()),
        };
        // Registers of A are written before each product.
        let (first, last) = (!self.is_chained(before) || words.is_some(), !self.is_chained(v));
        let first = first && !planted!("wgmma-without-fence");
        let fetched = !matches!(p.a, Operand::Registers) && words.is_some();
        let (b_at, b_matrix) = self.placed(p.b, &col, cols, g.n, dtype.size());
        let chain = format!(
            "d::Chain {{ first: {first}, last: {last}, wait: {} }}, {add}, {site}",
            self.ends_at_once(v) && !fetched && !planted!("wgmma-without-wait")
        );
        let of = format!(
            "{}, {}, {}, {}, {}, {}, {steps}",
            dtype.rust(),
            f.ty(v).dtype.rust(),
            layout.regs(),
            g.n,
            g.row_blocks,
            g.col_blocks
        );
        let call = match words {
            Some(words) => format!(
                "d::wgmma_ra::<{of}, {}>({acc}, |m, k| {words}, |m, k| {b_at}, {b_matrix}, {chain})",
                p.b.is_mn_major()
            ),
            None => {
                let (a_at, a_matrix) = self.placed(p.a, &row, rows, GROUP_ROWS, dtype.size());
                format!(
                    "d::wgmma::<{of}, {}, {}>({acc}, |m, k| {a_at}, |m, k| {b_at}, {a_matrix}, {b_matrix}, {chain})",
                    p.a.is_mn_major(),
                    p.b.is_mn_major()
                )
            }
        };
        self.begun(v, &layout, call);
        if fetched && self.ends_at_once(v) {
            // Tensor cores are at it meanwhile.
            self.threads_have_read();
            self.line(format!("let {name} = d::wgmma_done::<_, _, 0, {}>({name}, {site});", g.n, name = scalar(v)));
        }
        if !self.is_deferred(v) {
            self.landed(v, layout);
        }
    }

    /// The matrix in shared memory that an operand is, where it begins, and whether along the depth.
    fn matrix(&self, o: Operand) -> (SwizzledSmemTile, String, bool) {
        let p = || self.role.pipeline().expect("a pipeline");
        match o {
            Operand::Buffer { operand_group, buffer, k_major } => {
                (p().operand_groups[operand_group].buffers[buffer].tile, buffer_name(operand_group, buffer), k_major)
            }
            Operand::Copied { load, k_major } => {
                let tile = &self.ahead.tiles[&load];
                (tile.boxes.expect("a matrix of warpgroups"), format!("read{} + {}", tile.ring, tile.offset), k_major)
            }
            Operand::Written { matrix, k_major } => (p().written[matrix], matrix_name(matrix), k_major),
            Operand::Registers => unreachable!("it is not in shared memory"),
        }
    }

    /// Where block `m`, step `k` of an operand lies, for the part of the warpgroup; and how.
    fn placed(&self, o: Operand, group: &str, part: usize, block: usize, size: usize) -> (String, String) {
        let (boxes, base, k_major) = self.matrix(o);
        let (row, per_box) = (boxes.row_bytes, boxes.box_bytes());
        if k_major {
            let per_row = row / 32;
            let eight = if planted!("wgmma-descriptor-stride") { 4 } else { 8 };
            let at = format!(
                "{base} + ({group} * {part} + m * {block}) * {row} + k / {per_row} * {per_box} + k % {per_row} * 32"
            );
            (at, format!("d::Matrix {{ leading: 16, stride: {}, swizzle: {row} }}", eight * row))
        } else {
            // SwizzledSmemTile follow each other along the rows or columns of the product; a step is as many rows of the box as it is deep.
            let step = depth_rows(size) * row;
            let at = format!("{base} + ({group} * {part} + m * {block}) * {size} / {row} * {per_box} + k * {step}");
            (at, format!("d::Matrix {{ leading: {per_box}, stride: {}, swizzle: {row} }}", 8 * row))
        }
    }

    /// The four words of a computed left operand for block `m`, step `k`.
    fn held(&mut self, a: Value, g: &WgmmaTiling) -> String {
        let (t, size, shape) = (self.f.ty(a).dtype.rust(), self.f.ty(a).dtype.size(), self.f.shape(a));
        let (steps, words) = (shape[1] * size / 32, 16 / size);
        let name = self.array(a, &g.left(shape, size));
        format!("d::words::<{t}, 4>(|e| {name}[(m * {steps} + k) * {words} + e])")
    }

    /// The same of one that lies across in shared memory: word `i` of this thread's fragment, one by one.
    fn fetched(&mut self, o: Operand, size: usize, group: &str, part: usize, site: u32) -> String {
        let (boxes, base, _) = self.matrix(o);
        let (row, per_box) = (boxes.row_bytes, boxes.box_bytes());
        let across = format!(
            "({group} * {part} + m as u32 * {GROUP_ROWS} + (tid >> 5 & 3) * 16 + (tid >> 2 & 7) + (i as u32 & 1) * 8) * {size}"
        );
        let along = format!("(k as u32 * {} + (tid & 3) + (i as u32 >> 1) * 4)", 32 / size);
        let at = format!(
            "{{ let (x, y) = ({across}, {along}); {base} + x / {row} * {per_box} + y * {row} + (x % {row} ^ (y & 7) << 4) }}"
        );
        format!("d::shared_load::<u32, 4, 1>(|i| {at}, |_| true, {site})")
    }

    /// A computed right operand goes to shared memory, for all warpgroups: once they are done with what was there.
    fn write_matrix(&mut self, b: Value, matrix: usize, k_major: bool, site: u32) {
        let f = self.f;
        let (boxes, t, size) =
            (self.role.pipeline().expect("a pipeline").written[matrix], f.ty(b).dtype.rust(), f.ty(b).dtype.size());
        let layout = self.any_layout(b);
        let regs = self.demand(b, &layout);
        let n = layout.regs();
        let slots: Vec<u32> = (0..n).map(|r| layout.reg_index(r)).collect();
        let vec = layout.contiguous(if k_major { 0 } else { 1 }).min(16 / size);
        let at = self.shared_place(&matrix_name(matrix), &boxes.place(size), &layout.thread_bases(), &slots, |x| {
            flat(x, f.shape(b), k_major)
        });
        let ok = acts(layout.free_mask().threads);
        if !planted!("written-operand-overwritten") {
            self.node(ThreadIr::Barrier { site });
        }
        let fence = if planted!("written-operand-without-fence") { "" } else { "d::proxy_fence" };
        self.line(format!(
            "d::shared_store::<{t}, {n}, {vec}>(|r| {}, |_| {ok}, |r| {}, {site}); {fence}({site});",
            at.at("r"),
            regs.at("r")
        ));
        self.node(ThreadIr::Barrier { site });
    }

    /// A tile that was copied, in a layout: from where it lies.
    pub(super) fn take_copied(&mut self, v: Value, (operand_group, buffer): (usize, usize), l: &Layout) -> Regs {
        let (t, size, site) =
            (self.f.ty(v).dtype.rust(), self.f.ty(v).dtype.size(), self.site(self.f.values[v.0 as usize].span));
        let boxes = self.role.pipeline().expect("a pipeline").operand_groups[operand_group].buffers[buffer].tile;
        let slots: Vec<u32> = (0..l.regs()).map(|r| l.reg_index(r)).collect();
        let vec = l.contiguous(l.rank() - 1).min(16 / size);
        let at = self.shared_place(
            &buffer_name(operand_group, buffer),
            &boxes.place(size),
            &l.thread_bases(),
            &slots,
            |x| x,
        );
        let name = self.fresh();
        self.line(format!(
            "let {name}: [{t}; {n}] = d::shared_load::<{t}, {n}, {vec}>(|r| {}, |_| true, {site});",
            at.at("r"),
            n = l.regs()
        ));
        Regs(format!("{name}[#]"))
    }

    /// By each warp for itself, or each thread.
    fn by_warps(&mut self, v: Value) {
        let f = self.f;
        let Op::Dot { a, precision, .. } = *f.op(v) else { unreachable!("a dot") };
        let (unit, w) = mma_sync::warps(f, v);
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
                format!(
                    "d::fma_tile::<{from}, {to}, {}, {}, {n}, {rows}, {cols}, {deep}, {}, {a_deep}, {b_deep}>({acc}, {a}, {b})",
                    rows * deep,
                    cols * deep,
                    steps / deep
                )
            }
            _ => format!(
                "d::mma_tile::<{from}, {to}, {n}, {rows}, {cols}, {}, {steps}, {}>({acc}, {a}, {b}, {site})",
                cols.div_ceil(2),
                precision == Precision::Tf32x3
            ),
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
