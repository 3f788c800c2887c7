//! Special registers, synchronization and debugging in PTX.

use core::arch::asm;
use core::arch::nvptx;
use core::ffi::{CStr, c_char, c_void};

use crate::device::mem::Wide;

#[inline(always)]
pub fn thread() -> u32 {
    // SAFETY: it reads a special register.
    unsafe { nvptx::_thread_idx_x() as u32 }
}

#[inline(always)]
pub fn program_id(axis: u32) -> u32 {
    // SAFETY: it reads a special register.
    unsafe {
        (match axis {
            0 => nvptx::_block_idx_x(),
            1 => nvptx::_block_idx_y(),
            _ => nvptx::_block_idx_z(),
        }) as u32
    }
}

#[inline(always)]
pub fn num_programs(axis: u32) -> u32 {
    // SAFETY: it reads a special register.
    unsafe {
        (match axis {
            0 => nvptx::_grid_dim_x(),
            1 => nvptx::_grid_dim_y(),
            _ => nvptx::_grid_dim_z(),
        }) as u32
    }
}

#[inline(always)]
pub fn barrier(_site: u32) {
    // SAFETY: the contract of `hw`: every thread of the block reaches it. The intrinsic is `convergent`.
    unsafe { nvptx::_syncthreads() }
}

/// Earlier accesses to memory stay before it, and later ones after it. Nothing less keeps `ptxas` from moving them.
#[inline(always)]
pub fn in_order() {
    // SAFETY: it orders memory.
    unsafe { asm!("membar.cta;", options(nostack)) }
}

/// Before compute capability 9.0 no launch begins early.
#[inline(always)]
pub fn grid_dependency_wait() {
    // SAFETY: it waits; as it may touch memory for all that LLVM knows, no access is moved over it.
    #[cfg(target_feature = "sm_90")]
    unsafe {
        asm!("griddepcontrol.wait;", options(nostack))
    }
}

// Intrinsics rather than `asm!`: LLVM knows that they are `convergent`, so it does not copy them into the arms of a
// branch that lanes of one warp may take differently.
unsafe extern "C" {
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(lanes: u32);
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_bfly(lanes: u32, v: u32, mask: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_idx(lanes: u32, v: u32, lane: u32, clamp: u32) -> u32;
}
const ALL_LANES: u32 = !0;

#[inline(always)]
pub fn warp_barrier(_site: u32) {
    // SAFETY: the contract of `hw`: every lane of the warp reaches it.
    unsafe { bar_warp_sync(ALL_LANES) }
}

#[inline(always)]
pub fn fence() {
    // SAFETY: it orders memory.
    unsafe { asm!("fence.acq_rel.gpu;", options(nostack)) }
}

#[inline(always)]
pub fn shuffle_xor(v: u32, mask: u32, _site: u32) -> u32 {
    // SAFETY: the contract of `hw`: every lane of the warp reaches it.
    unsafe { shfl_bfly(ALL_LANES, v, mask, 31) }
}

#[inline(always)]
pub fn shuffle(v: u32, lane: u32, _site: u32) -> u32 {
    // SAFETY: the contract of `hw`: every lane of the warp reaches it.
    unsafe { shfl_idx(ALL_LANES, v, lane, 31) }
}

// Provided by the driver to any module that it loads.
unsafe extern "C" {
    fn vprintf(format: *const c_char, arguments: *const c_void) -> i32;
    fn __assertfail(
        message: *const c_char,
        file: *const c_char,
        line: u32,
        function: *const c_char,
        char_size: usize,
    ) -> !;
}

#[inline(always)]
pub fn assert_failed(msg: &'static CStr, site: u32) {
    // SAFETY: the driver's function, given strings that end in zero and outlive the launch.
    unsafe { __assertfail(msg.as_ptr(), c"kernel".as_ptr(), site, c"tile program".as_ptr(), 1) }
}

/// Arguments as C's `printf` would lay them out.
#[repr(C)]
struct Arguments {
    message: *const c_char,
    program: [u32; 3],
    thread: u32,
    line: u32,
    value: u64,
}

#[inline(always)]
pub fn print(msg: &'static CStr, v: Wide, site: u32) {
    let (format, value) = match v {
        Wide::Float(x) => (c"%s program (%u, %u, %u) thread %u line %u: %g\n", x.to_bits()),
        Wide::Signed(x) => (c"%s program (%u, %u, %u) thread %u line %u: %lld\n", x as u64),
        Wide::Unsigned(x) => (c"%s program (%u, %u, %u) thread %u line %u: %llu\n", x),
    };
    let program = [program_id(0), program_id(1), program_id(2)];
    let arguments = Arguments { message: msg.as_ptr(), program, thread: thread(), line: site, value };
    // SAFETY: the driver's function; the arguments match the format.
    unsafe { vprintf(format.as_ptr(), (&raw const arguments).cast()) };
}

/// Device code does not panic. A panic is a bug in the compiler that wrote it.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: it ends the launch with an error.
    unsafe { asm!("trap;", options(noreturn, nostack)) }
}
