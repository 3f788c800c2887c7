//! Products of tiles.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::pieces::{acts, any, done, of_r};
use crate::codegen::role::Role;
use crate::dtype::DType;
use crate::ir::{Op, Precision, Value, Var, matrices};
use crate::layout::linear::Layout;
use crate::layout::swizzled_smem::SwizzledSmemTile;
use crate::layout::table::LayoutId;
use crate::mma::fragments::{Side, chunk};
use crate::mma::instruction_k;
use crate::mma::mma_sync::Unit;
use crate::mma::wgmma::{GROUP_ROWS, WgmmaTiling};
use crate::plan::product::{Operand, Product};
use crate::plan::smem_operand::flat;
use crate::plan::tiles::StoredOperand;
use crate::plan::warp_specialized::{Pipeline, WrittenOperand};
use crate::plan::wgmma_order::{Accumulators, ProductWait};
use crate::thread_ir::{Body, BufferPart, Call, Device, Expr, Generic, Local, Name, Stmt, ThreadIr, Ty, call, closure};

impl Codegen<'_> {
    pub(super) fn dot(&mut self, v: Value) {
        let products = self.role.pipeline().map_or(&self.plan.cp_async.products, |p| &p.dots);
        match products.get(&v).copied() {
            Some(product) => self.wgmma(v, product),
            None => self.by_warps(v),
        }
    }

    /// Whether a variable is an accumulator whose zeros are not written to registers: [`Name::FreshVar`] is true while
    /// it is zero.
    pub(super) fn is_fresh(&self, var: Var) -> bool {
        matches!(self.role, Role::Consumer(p) if p.fresh.contains(&var))
    }

    /// The code before a read of such a variable. Products read it as it is; for other uses the zeros are written.
    pub(super) fn read_fresh(&mut self, v: Value, var: Var) {
        let (f, fresh) = (self.f, Expr::from(Name::FreshVar(var)));
        if self.role.pipeline().is_some_and(|p| p.zeroed.contains(&v)) {
            let zeros = call!(Device::Each; any(Expr::zero(f.ty(v).dtype)));
            let zero = vec![Stmt::assign(self.var(var), zeros), Stmt::assign(Name::FreshVar(var), false)];
            self.node(ThreadIr::If { cond: fresh.clone(), then: vec![ThreadIr::Line(zero)], other: vec![] });
        }
        self.line(Stmt::bind(Name::AddsTo(v), if planted!("wgmma-adds-to-unset") { true.into() } else { !fresh }));
    }

    /// The registers of the accumulator in an array.
    fn accumulator(&mut self, v: Value, layout: &Layout) -> Name {
        let Op::Dot { acc, .. } = *self.f.op(v) else { unreachable!("a dot") };
        self.array(acc, layout)
    }

    fn result(&mut self, v: Value, layout: Layout, call: Expr) {
        self.begun(v, &layout, call);
        self.landed(v, &layout);
    }

    fn begun(&mut self, v: Value, layout: &Layout, call: Expr) {
        self.line(Stmt::define(v, Ty::array(self.f.ty(v).dtype, layout.regs()), call));
    }

    /// The result of a product is in the array with its name.
    pub(super) fn landed(&mut self, v: Value, layout: &Layout) {
        self.defined(v, layout, Regs::of(v));
    }

    /// A product by `wgmma`, with operands in shared memory, or with A in registers.
    fn wgmma(&mut self, v: Value, p: Product) {
        let f = self.f;
        let Op::Dot { a, acc: before, .. } = *f.op(v) else { unreachable!("a dot") };
        let (dtype, site) = (f.ty(a).dtype, self.site(f.values[v.0 as usize].span));
        let g = p.tiling;
        let layout = g.accumulator(f.shape(v));
        let ([m, n], [_, k]) = (matrices(f.shape(v)).1, matrices(f.shape(a)).1);
        let steps = k / instruction_k(dtype);
        // The part of this warpgroup.
        let group = |of: usize, above: usize| match of {
            1 => 0.into(),
            of => (((Name::Tid >> 7).group() / above).group() & (of - 1)).group(),
        };
        let of_batch = (g.batch > 1).then(|| group(g.batch, g.rows * g.cols) * g.products);
        let part = |group: Expr, extent: usize, blocks: usize| OperandPart {
            first: group * extent,
            of_batch: of_batch.clone(),
            products: g.products,
            matrices: g.matrices(),
            blocks,
        };
        let rows = part(group(g.rows, 1), m / g.rows, g.row_blocks);
        let cols = part(group(g.cols, g.rows), n / g.cols, g.col_blocks);
        let words = match p.a {
            Operand::Registers => Some(self.held(a, &g)),
            _ if p.a.through_registers(dtype) => Some(self.fetched(p.a, dtype.size(), &rows, site)),
            _ => None,
        };
        let order = self.plan.wgmma.products[&v];
        let (acc, add): (Expr, Expr) = match order.accumulators {
            Accumulators::Unset => (call!(Device::Unset;), false.into()),
            Accumulators::Fresh => (self.accumulator(v, &layout).into(), Name::AddsTo(before).into()),
            Accumulators::Registers => (self.accumulator(v, &layout).into(), true.into()),
        };
        let (b_at, b_matrix) = self.placed(p.b, &cols, g.n, dtype.size());
        let chain = Expr::Chain {
            first: order.fence && !planted!("wgmma-without-fence"),
            last: order.commit,
            wait: order.wait == ProductWait::AtOnce && !planted!("wgmma-without-wait"),
        };
        let mut generics: Vec<Generic> = vec![dtype.into(), f.ty(v).dtype.into()];
        generics.extend([layout.regs(), g.n, g.row_blocks, g.col_blocks, steps].map(Generic::from));
        let is_batch = g.products > 1;
        generics.extend(is_batch.then(|| Generic::from(g.products)));
        let at = |block: Expr| closure([Local::M, Local::K], block);
        let (function, operands) = match words {
            Some(words) => {
                let function = if is_batch { Device::WgmmaRaBatch } else { Device::WgmmaRa };
                (function, vec![acc, at(words), at(b_at), b_matrix])
            }
            None => {
                let (a_at, a_matrix) = self.placed(p.a, &rows, GROUP_ROWS, dtype.size());
                generics.push(p.a.is_mn_major().into());
                let function = if is_batch { Device::WgmmaBatch } else { Device::Wgmma };
                (function, vec![acc, at(a_at), at(b_at), a_matrix, b_matrix])
            }
        };
        generics.push(p.b.is_mn_major().into());
        let args = operands.into_iter().chain([chain, add, site.into()]).collect();
        let call = Expr::Call(Call { function: function.into(), generics, args });
        self.begun(v, &layout, call);
        if order.wait == ProductWait::BehindLoads {
            self.threads_have_read();
            self.line(Stmt::bind(v, done(v, 0, g.n, site)));
        }
        if order.wait != ProductWait::Later {
            self.landed(v, &layout);
        }
    }

    /// The swizzled tile of an operand in shared memory, its address, and whether it is K-major.
    fn matrix(&self, o: Operand) -> (SwizzledSmemTile, Expr, bool) {
        let p = || self.role.pipeline().expect("a pipeline");
        match o {
            Operand::Buffer { operand_group, buffer, k_major } => (
                p().operand_groups[operand_group].buffers[buffer].tile,
                Name::Buffer { operand_group, buffer }.into(),
                k_major,
            ),
            Operand::Copied { load, k_major } => {
                let tile = &self.plan.cp_async.tiles[&load];
                let at = Name::CircularBuffer(BufferPart::Read, tile.buffer) + tile.offset;
                (tile.smem_tile.expect("a matrix of warpgroups"), at, k_major)
            }
            Operand::Written { matrix, k_major } => (p().written[matrix].tile, Name::Matrix(matrix).into(), k_major),
            Operand::Registers => unreachable!("it is not in shared memory"),
        }
    }

    /// The address of block `m`, step `k` in the warpgroup's part of an operand, and its matrix descriptor.
    fn placed(&self, o: Operand, part: &OperandPart, block: usize, size: usize) -> (Expr, Expr) {
        let (smem_tile, base, k_major) = self.matrix(o);
        let (row, per_box) = (smem_tile.row_bytes, smem_tile.box_bytes());
        let base = part.matrix(base, &smem_tile, Local::M.into());
        let first = (part.first.clone() + part.block(Local::M.into()) * block).group();
        let eight = if planted!("wgmma-descriptor-stride") { 4 } else { 8 };
        let matrix = |leading: usize| Expr::Matrix { leading, stride: eight * row, swizzle: row };
        if k_major {
            let per_row = row / 32;
            let along = Local::K / per_row * per_box;
            (base + first * row + along + Local::K % per_row * 32, matrix(16))
        } else {
            // Boxes follow each other along M or N; a step is as many rows of the box as it is deep.
            let step = depth_rows(size) * row;
            (base + first * size / row * per_box + Local::K * step, matrix(per_box))
        }
    }

    /// The four words of a computed left operand for block `m`, step `k`.
    fn held(&mut self, a: Value, g: &WgmmaTiling) -> Expr {
        let (t, shape) = (self.f.ty(a).dtype, self.f.shape(a));
        let (steps, words) = (matrices(shape).1[1] * t.size() / 32, 16 / t.size());
        let of = Expr::from(self.array(a, &g.left(shape, t.size())));
        let element = of.element((Local::M * steps + Local::K).group() * words + Local::E);
        call!(Device::Words; [t, 4u32]; closure([Local::E], element))
    }

    /// The four words of a left operand that is MN-major in shared memory, loaded one by one: word `i` of this thread's
    /// fragment.
    fn fetched(&mut self, o: Operand, size: usize, part: &OperandPart, site: u32) -> Expr {
        let (smem_tile, base, _) = self.matrix(o);
        let (row, per_box) = (smem_tile.row_bytes, smem_tile.box_bytes());
        let word = |l: Local| Expr::from(l).cast(Ty::U32);
        let (i, x, y) = (|| word(Local::I), || Expr::from(Local::X), || Expr::from(Local::Y));
        let base = part.matrix(base, &smem_tile, word(Local::M));
        let of_warp = part.first.clone() + part.block(word(Local::M)) * GROUP_ROWS + (Name::Tid >> 5 & 3).group() * 16;
        let across = (of_warp + (Name::Tid >> 2 & 7).group() + (i() & 1).group() * 8).group() * size;
        let along = (word(Local::K) * (32 / size) + (Name::Tid & 3).group() + (i() >> 1).group() * 4).group();
        let swizzled = ((x() % row) ^ (y() & 7).group() << 4).group();
        let at = base + x() / row * per_box + y() * row + swizzled;
        let at = Body::after(vec![Stmt::LetPair([Local::X.into(), Local::Y.into()], Box::new([across, along]))], at);
        call!(Device::SharedLoad; [DType::U32, 4u32, 1u32]; closure([Local::I], at), any(true), site)
    }

    /// Writes computed right operands to shared memory for all warpgroups, after all have used its previous contents.
    pub(super) fn write_matrices(&mut self, p: &Pipeline, matrices: &[usize]) {
        let f = self.f;
        let site = self.site(f.span(p.written[matrices[0]].operand));
        let mut stores: Vec<Stmt> = matrices.iter().map(|&m| self.matrix_store(p.written[m], m, site)).collect();
        if !planted!("written-operand-overwritten") {
            self.node(ThreadIr::Barrier { site });
        }
        if !planted!("written-operand-without-fence") {
            stores.push(call!(Device::ProxyFence; site).into());
        }
        self.lines(stores);
        self.node(ThreadIr::Barrier { site });
    }

    /// The store of this thread's elements of an operand. They are computed before it.
    fn matrix_store(&mut self, w: WrittenOperand, matrix: usize, site: u32) -> Stmt {
        let (f, b) = (self.f, w.operand);
        let (t, size) = (f.ty(b).dtype, f.ty(b).dtype.size());
        let StoredOperand { layout: l, vec } = self.plan.tiles.written[&matrix];
        let (regs, layout) = (self.tile(b, l), &self.plan.tiles.layouts[l]);
        let n = layout.regs();
        let slots: Vec<u32> = (0..n).map(|r| layout.reg_index(r)).collect();
        let (base, place) = (Name::Matrix(matrix).into(), w.tile.place(size));
        let at = self.shared_place(base, &place, &layout.thread_bases(), &slots, |x| flat(x, f.shape(b), w.k_major));
        let ok = acts(layout.free_mask().threads);
        let (at, regs) = (of_r(at.at(Local::R)), of_r(regs.at(Local::R)));
        call!(Device::SharedStore; [t, n, vec]; at, any(ok), regs, site).into()
    }

    /// The registers of a copied tile in a layout, loaded from its buffer.
    pub(super) fn take_copied(&mut self, v: Value, l: LayoutId, vec: usize) -> Regs {
        let (operand_group, buffer) = self.copied(v).expect("a copied tile");
        let l = &self.plan.tiles.layouts[l];
        let (t, size, site) =
            (self.f.ty(v).dtype, self.f.ty(v).dtype.size(), self.site(self.f.values[v.0 as usize].span));
        let smem_tile = self.role.pipeline().expect("a pipeline").operand_groups[operand_group].buffers[buffer].tile;
        let slots: Vec<u32> = (0..l.regs()).map(|r| l.reg_index(r)).collect();
        let at = self.shared_place(
            Name::Buffer { operand_group, buffer }.into(),
            &smem_tile.place(size),
            &l.thread_bases(),
            &slots,
            |x| x,
        );
        let at = of_r(at.at(Local::R));
        let loaded = call!(Device::SharedLoad; [t, l.regs(), vec]; at, any(true), site);
        Regs::of(self.bind(Ty::array(t, l.regs()), loaded))
    }

    /// A product by `mma.sync`, each warp on its own, or by multiply-adds of each thread.
    fn by_warps(&mut self, v: Value) {
        let f = self.f;
        let Op::Dot { a, precision, .. } = *f.op(v) else { unreachable!("a dot") };
        let product = &self.plan.warp_products[&v];
        let (unit, w) = (product.unit, product.warps.clone());
        let site = self.site(f.values[v.0 as usize].span);
        let (from, to, n) = (f.ty(a).dtype, f.ty(v).dtype, w.acc.regs() / w.products);
        let acc = Expr::from(self.accumulator(v, &w.acc));
        let ((a, a_deep), (b, b_deep)) = (self.fragments(v, Side::A, product), self.fragments(v, Side::B, product));
        let (rows, cols, steps) = (w.row_blocks, w.col_blocks, w.steps);
        // Each product of a batch has its own registers of the accumulator.
        let (all, acc) = if w.products == 1 { (None, acc) } else { (Some(acc), Local::Acc.into()) };
        let call = match unit {
            Unit::Fma => {
                let deep = chunk(&w);
                call!(
                    Device::FmaTile;
                    [from, to, rows * deep, cols * deep, n, rows, cols, deep, steps / deep, a_deep, b_deep];
                    acc, a, b
                )
            }
            _ => call!(
                Device::MmaTile;
                [from, to, n, rows, cols, cols.div_ceil(2), steps, precision == Precision::Tf32x3];
                acc, a, b, site
            ),
        };
        let call = match all {
            Some(all) => {
                let each_product = closure([Local::P, Local::Acc], call);
                call!(Device::Batch; [to, w.acc.regs(), n, w.products]; all, each_product)
            }
            None => call,
        };
        self.result(v, w.acc, call);
    }
}

/// The part of an operand that a warpgroup takes.
struct OperandPart {
    /// The first row or column.
    first: Expr,
    /// The first product of a batch, where the warpgroups partition the batch.
    of_batch: Option<Expr>,
    /// The number of its products, and of the products of all warpgroups.
    products: usize,
    matrices: usize,
    /// The number of blocks of a product.
    blocks: usize,
}

impl OperandPart {
    /// The position of a block in its product.
    fn block(&self, all: Expr) -> Expr {
        if self.products == 1 { all } else { (all % self.blocks).group() }
    }

    /// The address of the matrix of a block's product. The matrices are below each other.
    fn matrix(&self, base: Expr, smem_tile: &SwizzledSmemTile, block: Expr) -> Expr {
        let bytes = smem_tile.box_bytes() / self.matrices;
        let own = (self.products > 1).then(|| (block / self.blocks).group());
        match (self.of_batch.clone(), own) {
            (None, None) => base,
            (Some(number), None) | (None, Some(number)) => base + number * bytes,
            (Some(first), Some(own)) => base + (first + own).group() * bytes,
        }
    }
}

/// The rows of a step: K of one instruction for elements of this size.
fn depth_rows(size: usize) -> usize {
    32 / size
}
