//! Shared arrays: loads, stores and atomics at any index. [`barriers`](super::barriers) keeps them in order.

use crate::codegen::context::{Codegen, Regs};
use crate::codegen::gmem::Accesses;
use crate::codegen::pieces::{any, of_r, offset};
use crate::dtype::DType;
use crate::ir::SharedArray;
use crate::layout::linear::Layout;
use crate::thread_ir::{Device, Expr, Local, Name, Stmt, ThreadIr, Ty, call};

impl Codegen<'_> {
    /// The offset of a shared array in the shared memory of the program.
    pub(super) fn shared_begin(&self, array: usize) -> usize {
        let begin = SharedArray::places(&self.f.shared).0[array];
        if planted!("shared-arrays-overlap") { 0 } else { begin }
    }

    /// Sets all elements to zero. The threads partition the array by units of 16 bytes.
    pub(super) fn clear(&mut self, array: usize, site: u32) {
        let (words, threads) = (self.f.shared[array].bytes() / 16, self.f.warps as usize * 32);
        let (rounds, begin) = (words.div_ceil(threads), self.shared_begin(array));
        // Register `r` of a thread: four words of 32 bits in each round.
        let r = || Expr::from(Local::R).cast(DType::U32).group();
        let word = || (r() / 4 * threads).group() + Name::Tid;
        let at = Expr::from(begin) + word().group() * 16 + r() % 4 * 4;
        let inside = if words.is_multiple_of(threads) { true.into() } else { word().less(words).group() };
        let store = call!(
            Device::SharedStore; [DType::U32, rounds * 4, 4usize];
            of_r(at), of_r(inside), any(Expr::zero(DType::U32)), site
        );
        self.node(ThreadIr::clear(vec![store.into()], array, site));
    }

    /// The registers of a load as planned, and the statements that load them.
    pub(super) fn shared_load(
        &mut self,
        p: Accesses,
        dtype: DType,
        layout: &Layout,
        other: Option<Expr>,
        site: u32,
    ) -> (Vec<Stmt>, Expr) {
        let (n, vec) = (layout.regs(), p.vec_in_shared);
        let load = call!(Device::SharedLoad; [dtype, n, vec]; of_r(offset(p.addr)), of_r(p.ok.clone()), site);
        let Some(other) = other else { return (vec![], load) };
        let loaded = self.fresh();
        let taken = Expr::when(p.ok, Expr::from(loaded).element(Local::R), other);
        (vec![Stmt::define(loaded, Ty::array(dtype, n), load)], call!(Device::Each; of_r(taken)))
    }

    pub(super) fn shared_store(p: Accesses, dtype: DType, layout: &Layout, regs: &Regs, site: u32) -> Expr {
        let (addr, ok, values) = (of_r(offset(p.addr.clone())), of_r(p.ok.clone()), of_r(regs.at(Local::R)));
        call!(Device::SharedStore; [dtype, layout.regs(), p.vec_in_shared]; addr, ok, values, site)
    }

    /// One element, the same for all threads.
    pub(super) fn shared_load_scalar(
        &mut self,
        dtype: DType,
        addr: Expr,
        ok: Expr,
        other: Option<Expr>,
        site: u32,
    ) -> (Vec<Stmt>, Expr) {
        let load = call!(Device::SharedLoad; [dtype, 1u32, 1u32]; any(offset(addr)), any(ok.clone()), site).element(0);
        let other = other.filter(|_| !planted!("shared-scalar-without-other"));
        let Some(other) = other else { return (vec![], load) };
        let loaded = self.fresh();
        (vec![Stmt::define(loaded, dtype.into(), load)], Expr::when(ok, loaded, other))
    }
}
