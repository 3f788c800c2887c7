//! Steps that sm_75 lacks, by instructions that it has: products of warps, and copies to shared memory.

use core::arch::asm;

use super::{Global, Shared, Space, composed};
use crate::device::Mem;
use crate::device::mem::{Repr, repr};

/// Neither bf16 nor tf32.
#[inline(always)]
pub const fn multiplies<A: Mem>() -> bool {
    matches!(repr::<A>(), Repr::F16 | Repr::Signed)
}

/// `a·b + d` of this thread's fragments: of f16 by two m16n8k8, of i8 by four m8n8k16.
#[inline(always)]
pub fn mma<A: Mem, D: Mem>(d: [D; 4], a: [u32; 4], b: [u32; 2], _site: u32) -> [D; 4] {
    let d = d.map(|x| x.to_bits64() as u32);
    let d = match const { repr::<A>() } {
        Repr::F16 => composed::by_depth(d, a, b, m16n8k8),
        Repr::Signed => composed::by_quarters(d, a, b, m8n8k16),
        _ => unreachable!(),
    };
    d.map(|x| D::from_bits64(x as u64))
}

/// Of f16.
#[inline(always)]
fn m16n8k8(mut d: [u32; 4], [a0, a1]: [u32; 2], b: u32) -> [u32; 4] {
    let [d0, d1, d2, d3] = &mut d;
    // SAFETY: it computes values from values; by the contract of `hw` every lane of the warp reaches it.
    unsafe {
        asm!(
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {{{0}, {1}, {2}, {3}}}, {{{4}, {5}}}, {{{6}}}, {{{0}, {1}, {2}, {3}}};",
            inout(reg32) *d0, inout(reg32) *d1, inout(reg32) *d2, inout(reg32) *d3, in(reg32) a0, in(reg32) a1, in(reg32) b,
            options(nomem, nostack)
        )
    }
    d
}

/// Of i8.
#[inline(always)]
fn m8n8k16(mut d: [u32; 2], a: u32, b: u32) -> [u32; 2] {
    let [d0, d1] = &mut d;
    // SAFETY: it computes values from values; by the contract of `hw` every lane of the warp reaches it.
    unsafe {
        asm!(
            "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {{{0}, {1}}}, {{{2}}}, {{{3}}}, {{{0}, {1}}};",
            inout(reg32) *d0, inout(reg32) *d1, in(reg32) a, in(reg32) b,
            options(nomem, nostack)
        )
    }
    d
}

/// Through registers, and complete when it returns.
///
/// # Safety
/// If `ok`, `src` is valid and aligned to the bytes.
#[inline(always)]
pub unsafe fn cp_async<const BYTES: u32>(dst: u32, src: u64, ok: bool, _site: u32) {
    // SAFETY: the caller allows the load where `ok`; by the contract of `hw` the destination is in shared memory.
    unsafe {
        let words = Global::load_words_if(src, ok, BYTES as usize, false, [0; 4], 0, (), 0);
        Shared::store(Shared::address(dst), BYTES as usize, false, words, 0, (), 0);
    }
}

/// Nothing is under way. LLVM moves no access to memory over it all the same.
#[inline(always)]
pub fn cp_async_commit(_site: u32) {
    // SAFETY: there is no instruction.
    unsafe { asm!("", options(nostack)) }
}

#[inline(always)]
pub fn cp_async_wait<const PENDING: u32>(_site: u32) {
    cp_async_commit(0)
}
