//! The library of lowered, thread-level code: one thread of a program, its registers, and the hardware steps it takes.
//!
//! Two layers. [`hw`] holds the primitive steps, once as inline PTX and once as calls into the emulated SM; everything
//! above it is generic and the same on both, so that the emulator runs the code that goes to PTX.
//!
//! On the device every function is inlined and nothing panics. Registers are arrays whose loops must be unrolled
//! entirely (`-Cllvm-args=-unroll-threshold=20000`), else LLVM puts them in local memory.
//!
//! `site` is the line in the kernel's source that a step stands for, 0 if none: the emulator and assertions report it.

use core::mem::MaybeUninit;

mod access;
mod atomics;
mod cumcount;
mod debug;
mod fold;
pub(crate) mod hw;
mod mem;
mod product;
mod scan;
mod tensor;
mod trace;

pub use crate::asm_of_elements as asm;
use crate::scalar::Cast;
/// The types that registers and memory hold.
pub use crate::scalar::Scalar as Mem;
/// The operations of [`atomic()`].
pub use crate::scalar::atomic_op as atomic;
pub use access::{cluster_store, copy_ahead, load, shared_load, shared_store, store};
pub use atomics::{atomic, atomic_add_vectors, atomic_cas, shared_atomic, shared_atomic_add, shared_atomic_cas};
pub use cumcount::{cumcount_in_warp, cumcount_of_warps};
pub use debug::{assert, print};
pub use fold::{all, fold, limit};
#[cfg(test)]
pub(crate) use product::by_lanes;
pub use product::{batch, fma_tile, mma_tile, words};
pub use scan::{Maybe, WarpShuffle, scan_lanes, scan_prefixes, scan_then, scan_totals, scan_warps};
pub use tensor::*;
pub use trace::{trace, trace_begin, trace_end};

/// Cache hints of [`load`] and [`store`].
pub mod hint {
    /// No hint.
    pub const NONE: u32 = 0;
    /// Read or written once: evict first.
    pub const EVICT_FIRST: u32 = 1;
    /// Used again soon: evict last.
    pub const EVICT_LAST: u32 = 2;
    /// No line in L1.
    pub const NO_L1: u32 = 3;
}

/// Threads that run in step.
pub const WARP: u32 = 32;

/// The registers of a thread, one call of `f` each, in order.
#[inline(always)]
pub fn each<T: Copy, const R: usize>(mut f: impl FnMut(usize) -> T) -> [T; R] {
    let mut out = MaybeUninit::<[T; R]>::uninit();
    let mut r = 0;
    while r < R {
        // SAFETY: r < R. Indexing would leave a bounds check until the loop is unrolled.
        unsafe { out.as_mut_ptr().cast::<T>().add(r).write(f(r)) };
        r += 1;
    }
    // SAFETY: every element was written.
    unsafe { out.assume_init() }
}

/// The registers of a tile of `R` numbers, an even number of them, in another type.
///
/// An odd number does not compile:
/// ```compile_fail,E0080
/// let halves: [f32; 3] = tilewright_core::device::cast_each::<i32, f32, 3>(|r| r as i32);
/// ```
#[inline(always)]
pub fn cast_each<A: Mem + Cast<B>, B: Mem, const R: usize>(f: impl Fn(usize) -> A) -> [B; R] {
    const { assert!(R.is_multiple_of(2), "registers are converted in pairs") };
    let mut out = MaybeUninit::<[B; R]>::uninit();
    let mut r = 0;
    while r < R {
        let [low, high] =
            A::cast_pair(if planted!("device-cast-pair-swapped") { [f(r + 1), f(r)] } else { [f(r), f(r + 1)] });
        // SAFETY: r + 1 < R, as r and R are even.
        unsafe {
            out.as_mut_ptr().cast::<B>().add(r).write(low);
            out.as_mut_ptr().cast::<B>().add(r + 1).write(high);
        }
        r += 2;
    }
    // SAFETY: every element was written.
    unsafe { out.assume_init() }
}

/// This thread's number within its program.
#[inline(always)]
pub fn thread() -> u32 {
    hw::thread()
}

/// This program's number along an axis (0, 1, 2).
#[inline(always)]
pub fn program_id(axis: u32) -> u64 {
    hw::program_id(axis) as u64
}

/// Programs along an axis (0, 1, 2).
#[inline(always)]
pub fn num_programs(axis: u32) -> u64 {
    hw::num_programs(axis) as u64
}

/// Waits for every thread of the program; orders their accesses to memory.
#[inline(always)]
pub fn barrier(site: u32) {
    hw::barrier(site)
}

/// Waits for every lane of the warp; orders their accesses to memory, which a shuffle does not.
#[inline(always)]
pub fn warp_barrier(site: u32) {
    hw::warp_barrier(site)
}

/// Waits until the launch before this one has ended and its writes are visible. Returns at once if this launch was not
/// early.
#[inline(always)]
pub fn grid_dependency_wait() {
    hw::grid_dependency_wait()
}

/// Orders this thread's accesses before it with those after it, as others on the device see them.
#[inline(always)]
pub fn fence() {
    hw::fence()
}

/// The value of the lane whose number differs from this one's by `mask` (below 32). Every lane of the warp takes part.
#[inline(always)]
pub fn shuffle_xor<T: Mem>(v: T, mask: u32, site: u32) -> T {
    exchange(v, |word| hw::shuffle_xor(word, mask, site))
}

/// The value of lane `lane % 32`. Every lane of the warp takes part.
#[inline(always)]
pub fn shuffle<T: Mem>(v: T, lane: u32, site: u32) -> T {
    exchange(v, |word| hw::shuffle(word, lane, site))
}

/// Shuffles move 32 bits: smaller values are widened, larger ones go in two steps.
#[inline(always)]
fn exchange<T: Mem>(v: T, step: impl Fn(u32) -> u32) -> T {
    let bits = v.to_bits64();
    if T::BYTES == 8 {
        let low = step(bits as u32);
        let high = step(if planted!("device-shuffle-of-low-half") { bits as u32 } else { (bits >> 32) as u32 });
        T::from_bits64(low as u64 | (high as u64) << 32)
    } else {
        T::from_bits64(step(bits as u32) as u64)
    }
}

/// Declares the dynamic shared memory of a crate's kernels; a generated crate invokes it once. `tilewright_core`
/// reaches such a crate as metadata only, so a `global_asm!` of its own would not.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! device_prelude {
    () => {
        core::arch::global_asm!(".extern .shared .align 1024 .b8 tile_shared[];");
    };
}

/// Address of the tensor map in the entry's parameter of this name, which `kernel-build` adds to the entry.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! tensor_map {
    ($name:literal) => {{
        let address: u64;
        core::arch::asm!(concat!("mov.b64 {0}, ", $name, ";"), "cvta.param.u64 {0}, {0};", out(reg64) address, options(pure, nomem, nostack));
        address
    }};
}

/// Inline assembly on numbers: `asm!("text"; o0: f32 as reg32 u32; o0; x: f32 as reg32 u32 = 1.0; { x })`. The parts
/// are the results, the result that is taken, the operands with their values, and an expression that replaces the text
/// where it does not run.
#[doc(hidden)]
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! asm_of_elements {
    (
        $text:literal;
        $($out:ident: $of:ty as $to:ident $word:ty),+;
        $taken:ident;
        $($x:ident: $t:ty as $from:ident $bits:ty = $value:expr),+;
        $meaning:block
    ) => {{
        $(let $x: $t = $value;)+
        $(let $out: $word;)+
        // SAFETY: whoever wrote the kernel vouches for the text: the kernel is unsafe.
        unsafe {
            core::arch::asm!(
                $text,
                $(out($to) $out,)+
                $(in($from) $crate::scalar::Scalar::to_bits64($x) as $bits,)+
                options(pure, nomem, nostack)
            );
        }
        $(let $out = <$of as $crate::scalar::Scalar>::from_bits64($out as u64);)+
        $taken
    }};
}

/// The same on the emulated SM: the meaning of the text.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
#[macro_export]
macro_rules! asm_of_elements {
    (
        $text:literal;
        $($out:ident: $of:ty as $to:ident $word:ty),+;
        $taken:ident;
        $($x:ident: $t:ty as $from:ident $bits:ty = $value:expr),+;
        $meaning:block
    ) => {{
        $(let $x: $t = $value;)+
        $meaning
    }};
}
