//! The tensor steps of a thread and the steps of asynchronous memory, which the device library calls on the host.

use super::cluster::SharedAddress;
use super::machine::{Machine, suspend, with};
use super::product::Operand;
use super::tensor::Operands;
pub use super::wgmma::Product;
use crate::device::Mem;

/// Takes a step after which the thread may have to wait or to stop. A thread that stops is not resumed.
fn take(step: impl FnOnce(&mut Machine) -> bool) {
    if with(step) {
        suspend();
    }
}

pub fn mbarrier_init(bar: u32, arrivals: u32, site: u32) {
    take(|m| !m.mbarrier_init(bar, arrivals, site));
}

pub fn mbarriers_ready() {
    with(|m| m.mbarriers_ready());
}

pub fn mbarrier_arrive(bar: u32, bytes: Option<u32>, site: u32) {
    take(|m| !m.mbarrier_arrive(m.here(bar), bytes, site));
}

pub fn mbarrier_arrive_at(bar: u32, rank: u32, site: u32) {
    take(|m| !m.is_cta(rank, site) || !m.mbarrier_arrive(SharedAddress { cta: rank, off: bar }, None, site));
}

pub fn mbarrier_wait(bar: u32, parity: u32, site: u32) {
    take(|m| m.mbarrier_wait(m.here(bar), parity, site));
}

/// # Safety
/// As [`Machine::tma_load`].
pub unsafe fn tma_load(dst: u32, map: u64, at: &[i32], bar: u32, site: u32) {
    // SAFETY: the caller's contract.
    take(|m| unsafe { !m.tma_load(dst, map, at, bar, 1 << m.rank, site) });
}

/// # Safety
/// As [`Machine::tma_load`].
pub unsafe fn tma_load_multicast(dst: u32, map: u64, at: &[i32], bar: u32, ctas: u16, site: u32) {
    // SAFETY: the caller's contract.
    take(|m| unsafe { !m.tma_load(dst, map, at, bar, ctas, site) });
}

/// # Safety
/// As [`Machine::tma_store`].
pub unsafe fn tma_store(src: u32, map: u64, at: &[i32], site: u32) {
    // SAFETY: the caller's contract.
    take(|m| unsafe { !m.tma_store(src, map, at, site) });
}

pub fn tma_store_commit() {
    with(|m| m.commit_stores());
}

pub fn tma_store_wait_read(pending: u32) {
    with(|m| m.wait_stores(pending));
}

/// Waits for all stores of the thread, and their writes.
pub fn tma_store_wait() {
    with(|m| m.wait_stores_written());
}

pub fn proxy_fence() {
    with(|m| m.order.proxy_fence(m.current));
}

pub fn group_barrier(id: u32, threads: u32, site: u32) {
    take(|m| m.arrive_in_group(id, threads, site));
}

pub fn wgmma_fence() {
    with(|m| m.wgmma_fence());
}

pub fn accumulators_accessed() {
    with(|m| m.accumulators_accessed());
}

/// How many fences the thread has made.
pub fn fences() -> u32 {
    with(|m| m.tensor.threads[m.current as usize].fences.made)
}

pub fn set_registers(increase: bool, n: u32, site: u32) {
    take(|m| m.set_registers(increase, n, site));
}

pub fn wgmma_commit() {
    with(|m| m.commit_products());
}

pub fn wgmma_wait(pending: u32, acc: &mut [u32], site: u32) {
    take(|m| m.wait_products(pending, acc, site));
}

/// # Safety
/// The `product.n / 2` accumulators can be read and written until the thread goes on.
pub unsafe fn wgmma(
    product: Product,
    acc: *mut u32,
    (a, a_written): ([u32; 4], u32),
    descriptors: [u64; 2],
    add: bool,
    site: u32,
) {
    take(|m| {
        m.tensor.operands[m.current as usize] =
            Operands { acc, n: product.n, a, a_written, descriptors, add, ..Operands::default() };
        // SAFETY: the accumulators are the caller's, for as long as the thread waits here.
        unsafe { m.wgmma(product, site) }
    });
}

pub fn mma<A: Mem>(d: [u32; 4], a: [u32; 4], b: [u32; 2], site: u32) -> [u32; 4] {
    take(|m| {
        m.tensor.operands[m.current as usize] = Operands { d, a, b, ..Operands::default() };
        m.mma(Operand::of::<A>(), site)
    });
    result()
}

pub fn ldmatrix(transposed: bool, off: u32, site: u32) -> [u32; 4] {
    take(|m| !m.read_row(off, site));
    take(|m| m.ldmatrix(transposed, site));
    result()
}

pub fn stmatrix(off: u32, words: [u32; 4], site: u32) {
    take(|m| {
        m.tensor.operands[m.current as usize] = Operands { d: words, ..Operands::default() };
        m.stmatrix(site)
    });
    let (row, call) = with(|m| (m.tensor.operands[m.current as usize].row, m.banks.begin(m.current, true, site)));
    super::step::shared_store(off, 16, row, call, 0);
}

fn result() -> [u32; 4] {
    with(|m| m.tensor.operands[m.current as usize].d)
}

/// # Safety
/// As [`global_load`](super::step::global_load), of a source.
pub unsafe fn cp_async(dst: u32, src: Option<u64>, bytes: usize, site: u32) {
    // SAFETY: the caller's contract.
    take(|m| unsafe { !m.copy_async(dst, src, bytes, site) });
}

pub fn cp_async_commit() {
    with(|m| m.commit_copies());
}

pub fn cp_async_wait(pending: u32) {
    with(|m| m.wait_copies(pending));
}

pub fn operand<A: Mem>() -> Operand {
    Operand::of::<A>()
}
