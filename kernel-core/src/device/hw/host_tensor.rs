//! Tensor steps and asynchronous copies on the emulated SM.
//!
//! Places in shared memory are byte offsets in the CTA's dynamic shared memory.

use crate::device::Mem;
use crate::device::mem::{Repr, repr};
use crate::emulator::step_tensor::{self as step, Product};

/// Makes an mbarrier of 8 bytes that takes `arrivals` a phase. One thread does it, then [`mbarriers_ready`], then a
/// barrier lets others use it.
pub fn mbarrier_init(bar: u32, arrivals: u32, site: u32) {
    step::mbarrier_init(bar, arrivals, site)
}

/// Prefetches a tensor map; nothing here.
pub fn prefetch_map(_map: u64) {}

/// Makes the mbarriers that this thread has initialized visible to the asynchronous proxy.
pub fn mbarriers_ready(_site: u32) {
    step::mbarriers_ready()
}

/// Arrives, and lets the phase wait for `bytes` more bytes.
pub fn mbarrier_expect(bar: u32, bytes: u32, site: u32) {
    step::mbarrier_arrive(bar, Some(bytes), site)
}

/// Arrives where `ok`.
pub fn mbarrier_arrive(bar: u32, ok: bool, site: u32) {
    if ok {
        step::mbarrier_arrive(bar, None, site)
    }
}

/// Arrives, where `ok`, at the mbarrier at the same place in another CTA of the cluster, or in this one.
pub fn mbarrier_arrive_at(bar: u32, rank: u32, ok: bool, site: u32) {
    if ok {
        step::mbarrier_arrive_at(bar, rank, site)
    }
}

/// Waits until the phase of that parity is complete, which it is when the current one has the other parity.
pub fn mbarrier_wait(bar: u32, parity: u32, site: u32) {
    step::mbarrier_wait(bar, parity, site)
}

/// Starts to load a box of a tensor; its bytes, with the zeros outside of the tensor, count at the mbarrier.
///
/// # Safety
/// As [`step::tma_load`].
pub unsafe fn tma_load<const RANK: usize, const HINT: u32>(dst: u32, map: u64, at: [i32; RANK], bar: u32, site: u32) {
    // SAFETY: the caller's contract.
    unsafe { step::tma_load(dst, map, &at, bar, site) }
}

/// As [`tma_load`], to the same place in every CTA of the cluster whose bit is in `ctas`; the bytes count at the
/// mbarrier at the same place in each of them.
///
/// # Safety
/// As [`step::tma_load`].
pub unsafe fn tma_load_multicast<const RANK: usize, const HINT: u32>(
    dst: u32,
    map: u64,
    at: [i32; RANK],
    bar: u32,
    ctas: u16,
    site: u32,
) {
    // SAFETY: the caller's contract.
    unsafe { step::tma_load_multicast(dst, map, &at, bar, ctas, site) }
}

/// Starts to store the part of a box that is inside of the tensor.
///
/// # Safety
/// If `ok`, as [`step::tma_store`].
pub unsafe fn tma_store<const RANK: usize, const HINT: u32>(src: u32, map: u64, at: [i32; RANK], ok: bool, site: u32) {
    if ok {
        // SAFETY: the caller's contract.
        unsafe { step::tma_store(src, map, &at, site) };
        step::tma_store_commit()
    }
}

/// The condition. On the device the compiler cannot see through it.
pub fn opaque(condition: bool) -> bool {
    condition
}

/// No number, for whoever takes it for one.
pub fn any_word() -> u32 {
    u32::MAX
}

/// The word. On the device the compiler cannot see through it.
pub fn opaque_word(word: u32) -> u32 {
    word
}

/// Waits until all but `PENDING` groups of this thread's stores have read shared memory.
pub fn tma_store_wait_read<const PENDING: u32>(_site: u32) {
    step::tma_store_wait_read(PENDING)
}

/// As [`tma_store_wait_read`] for all stores, and until the array has their elements.
pub fn tma_store_wait(_site: u32) {
    step::tma_store_wait()
}

/// Shows this thread's stores to shared memory to the asynchronous proxy.
pub fn proxy_fence(_site: u32) {
    step::proxy_fence()
}

/// Waits for `threads` threads, in whole warps, at barrier `id` (1 to 15).
pub fn group_barrier(id: u32, threads: u32, site: u32) {
    step::group_barrier(id, threads, site)
}

/// Sets the number of registers of each thread of the warpgroup. More registers come from those that other warpgroups
/// of the CTA have given back.
pub fn set_registers<const INCREASE: bool, const N: u32>(site: u32) {
    step::set_registers(INCREASE, N, site)
}

/// A fragment of A in registers, and when it was written.
#[derive(Clone, Copy)]
pub struct Fragment {
    words: [u32; 4],
    written: u32,
}

/// Writes a fragment of A to registers.
pub fn fragment(words: [u32; 4]) -> Fragment {
    Fragment { words, written: step::fences() }
}

/// Accumulators of products that begin next may have been written until here.
pub fn accumulators_accessed() {
    step::accumulators_accessed()
}

pub fn wgmma_fence(_site: u32) {
    step::wgmma_fence()
}

pub fn wgmma_commit(_site: u32) {
    step::wgmma_commit()
}

/// Waits until all products but those committed last are complete, which are on the same accumulators.
pub fn wgmma_wait_previous(site: u32) {
    step::wgmma_wait(1, &mut [], site)
}

/// Waits until all but `PENDING` groups of products are complete; they change the accumulators until then. All that are
/// waited for are given.
pub fn wgmma_wait<D: Mem, const PENDING: u32, const R: usize, const N: usize>(acc: &mut [D; R], site: u32) {
    const { assert!(D::BYTES == 4, "accumulators are f32 or i32") };
    // SAFETY: D is a scalar of 4 bytes, of which all bit patterns are valid. Its R registers are R words, and borrowed.
    let registers = unsafe { core::slice::from_raw_parts_mut(acc.as_mut_ptr().cast(), R) };
    step::wgmma_wait(PENDING, registers, site)
}

/// Adds a product of 64 rows and `N` columns to the accumulators of a warpgroup. Operands are given by matrix
/// descriptors; `TA` and `TB` say that rows and columns lie side by side instead of `k`. Unless `add`, from zeros.
///
/// # Safety
/// The `N / 2` accumulators at `acc` can be read and written until this function returns.
pub unsafe fn wgmma<A: Mem, D: Mem, const N: usize, const TA: bool, const TB: bool>(
    acc: *mut D,
    a: u64,
    b: u64,
    add: bool,
    site: u32,
) {
    let shape = const { shape::<A, D, N>(TA || TB) };
    let product = Product { kind: step::operand::<A>(), n: shape, registers: false, transposed: [TA, TB] };
    // SAFETY: the caller's contract. D has 4 bytes, and all bit patterns are valid.
    unsafe { step::wgmma(product, acc.cast(), ([0; 4], 0), [a, b], add, site) }
}

/// As [`wgmma`], with the left operand in registers.
///
/// # Safety
/// As [`wgmma`].
pub unsafe fn wgmma_ra<A: Mem, D: Mem, const N: usize, const TB: bool>(
    acc: *mut D,
    a: Fragment,
    b: u64,
    add: bool,
    site: u32,
) {
    let shape = const { shape::<A, D, N>(TB) };
    let product = Product { kind: step::operand::<A>(), n: shape, registers: true, transposed: [false, TB] };
    // SAFETY: the caller's contract. D has 4 bytes, and all bit patterns are valid.
    unsafe { step::wgmma(product, acc.cast(), (a.words, a.written), [0, b], add, site) }
}

/// Columns that a warpgroup's product may have.
const fn shape<A: Mem, D: Mem, const N: usize>(transposed: bool) -> usize {
    assert!(N >= 8 && N <= 256 && N % 8 == 0, "8 to 256 columns, a multiple of 8");
    let of_integers = matches!(repr::<A>(), Repr::Signed | Repr::Unsigned);
    assert!(!of_integers || N == 8 || N == 24 || N % 16 == 0, "integers: 8, 24 or a multiple of 16 columns");
    assert!(!transposed || A::BYTES == 2, "only operands of 2 bytes may be transposed");
    assert!(D::BYTES == 4, "accumulators are f32 or i32");
    N
}

/// Whether [`mma`] takes operands of this type. Not all targets say the same of all types.
#[expect(clippy::extra_unused_type_parameters)]
pub const fn multiplies<A: Mem>() -> bool {
    true
}

/// The product of fragments of 16 rows and 8 columns, plus `d`.
pub fn mma<A: Mem, D: Mem>(d: [D; 4], a: [u32; 4], b: [u32; 2], site: u32) -> [D; 4] {
    const { assert!(D::BYTES == 4, "accumulators are f32 or i32") };
    step::mma::<A>(d.map(|x| x.to_bits64() as u32), a, b, site).map(|bits| D::from_bits64(bits as u64))
}

/// Loads four matrices of 8 by 8 elements of 2 bytes. Lane `8 i + r` tells where row `r` of matrix `i` lies.
pub fn ldmatrix<const TRANS: bool>(off: u32, site: u32) -> [u32; 4] {
    step::ldmatrix(TRANS, off, site)
}

/// Stores four matrices as [`ldmatrix`] loads them.
pub fn stmatrix(off: u32, words: [u32; 4], site: u32) {
    step::stmatrix(off, words, site)
}

/// Starts to copy from global to shared memory; zeros if not `ok`.
///
/// # Safety
/// If `ok`, the source lies in memory that the launch may read, and the destination in the program's shared memory.
pub unsafe fn cp_async<const BYTES: u32>(dst: u32, src: u64, ok: bool, site: u32) {
    const { assert!(BYTES == 4 || BYTES == 8 || BYTES == 16, "copies of 4, 8 or 16 bytes") };
    // SAFETY: the caller's contract.
    unsafe { step::cp_async(dst, ok.then_some(src), BYTES as usize, site) }
}

/// Ends a group of this thread's asynchronous copies, for [`cp_async_wait`].
pub fn cp_async_commit(_site: u32) {
    step::cp_async_commit()
}

/// Waits until all but `PENDING` groups of this thread's copies are complete.
pub fn cp_async_wait<const PENDING: u32>(_site: u32) {
    step::cp_async_wait(PENDING)
}
