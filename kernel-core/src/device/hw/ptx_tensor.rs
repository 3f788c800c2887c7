//! Tensor cores, asynchronous copies and the barriers between them in PTX. `host_tensor` emulates these steps.

use core::arch::asm;

use super::Shared;
use crate::device::mem::{Repr, repr};
use crate::device::{Mem, hint};

/// The address of an offset in the shared window.
#[inline(always)]
pub(super) fn shared(off: u32) -> u32 {
    Shared::address(off) as u32
}

// --- barriers that count arrivals and bytes ---

#[inline(always)]
pub fn mbarrier_init(bar: u32, arrivals: u32, _site: u32) {
    // SAFETY: the contract of `hw`: the barrier's eight bytes are in the program's shared memory.
    unsafe {
        asm!("mbarrier.init.shared::cta.b64 [{}], {};", in(reg32) shared(bar), in(reg32) arrivals, options(nostack))
    }
}

#[inline(always)]
pub fn mbarriers_ready(_site: u32) {
    // SAFETY: it orders memory.
    unsafe { asm!("fence.mbarrier_init.release.cluster;", options(nostack)) }
}

#[inline(always)]
pub fn mbarrier_expect(bar: u32, bytes: u32, _site: u32) {
    // SAFETY: the contract of `hw`: the barrier was initialized.
    unsafe {
        asm!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};", in(reg32) shared(bar), in(reg32) bytes, options(nostack))
    }
}

/// Arrives where `ok`. Without a branch: steps of whole warps come next, which LLVM must not copy into its arms.
#[inline(always)]
pub fn mbarrier_arrive(bar: u32, ok: bool, _site: u32) {
    // SAFETY: the contract of `hw`: the barrier was initialized.
    unsafe {
        asm!("{{", ".reg .pred ok;", "setp.ne.u32 ok, {ok}, 0;", "@ok mbarrier.arrive.shared::cta.b64 _, [{bar}];", "}}", ok = in(reg32) ok as u32, bar = in(reg32) shared(bar), options(nostack))
    }
}

#[inline(always)]
pub fn mbarrier_wait(bar: u32, parity: u32, _site: u32) {
    let bar = shared(bar);
    // The loop is in PTX: LLVM could rotate, peel or merge a loop that it sees.
    // SAFETY: the contract of `hw`: the barrier was initialized.
    unsafe {
        asm!(
            "{{",
            ".reg .pred done;",
            "again:",
            "mbarrier.try_wait.parity.shared::cta.b64 done, [{bar}], {parity};",
            "@done bra over;",
            "bra again;",
            "over:",
            "}}",
            bar = in(reg32) bar, parity = in(reg32) parity, options(nostack)
        )
    }
}

unsafe extern "C" {
    // Known to LLVM as `convergent`: as `asm!` it was copied into both arms of a branch before it.
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.count"]
    fn barrier_of(id: u32, threads: u32);
}

#[inline(always)]
pub fn group_barrier(id: u32, threads: u32, _site: u32) {
    // SAFETY: the contract of `hw`: all of these threads reach it.
    unsafe { barrier_of(id, threads) }
}

/// `condition`, in a way that LLVM cannot see through: no branch on it is decided, nor code before it copied, ahead of
/// here.
#[inline(always)]
pub fn opaque(condition: bool) -> bool {
    opaque_word(condition as u32) != 0
}

/// The same for a word: values that depend on it are not computed earlier and kept in registers until here.
#[inline(always)]
pub fn opaque_word(mut word: u32) -> u32 {
    // SAFETY: there is no instruction, only a comment.
    unsafe { asm!("// {}", inout(reg32) word, options(nomem, nostack)) };
    word
}

/// A word without a defined value: the content of some register.
#[inline(always)]
pub fn any_word() -> u32 {
    let word;
    // Not `pure`: each call is a register of its own.
    // SAFETY: any bits are a word.
    unsafe { asm!("// {}", out(reg32) word, options(nomem, nostack)) };
    word
}

/// Stores of this thread before it are seen by asynchronous copies and tensor cores after it.
#[inline(always)]
pub fn proxy_fence(_site: u32) {
    // SAFETY: it orders memory.
    unsafe { asm!("fence.proxy.async.shared::cta;", options(nostack)) }
}

#[inline(always)]
pub fn set_registers<const INCREASE: bool, const N: u32>(_site: u32) {
    // SAFETY: the contract of `hw`: every warp of the warpgroup reaches it.
    unsafe {
        if INCREASE {
            asm!("setmaxnreg.inc.sync.aligned.u32 {};", const N, options(nostack))
        } else {
            asm!("setmaxnreg.dec.sync.aligned.u32 {};", const N, options(nostack))
        }
    }
}

// --- asynchronous copies ---

/// Fetches a tensor map before it is needed.
#[inline(always)]
pub fn prefetch_map(map: u64) {
    // SAFETY: a prefetch has no effect but on caches; of an address that is no map it is a fault of the launch, not an
    // access.
    unsafe { asm!("prefetch.tensormap [{}];", in(reg64) map, options(nostack)) }
}

/// The policy of the L2 cache for all lines, as of `createpolicy.fractional`; 0 for no policy.
pub(super) const fn policy(hint: u32) -> u64 {
    match hint {
        hint::EVICT_FIRST => 0x12F0_0000_0000_0000,
        hint::EVICT_LAST => 0x14F0_0000_0000_0000,
        _ => 0,
    }
}

/// A load of a box of any rank: `$kind` and `$mask`, with its operand, say to which thread blocks.
macro_rules! tma_load_asm {
    ($hint:expr, $at:ident, $kind:literal, $mask:literal, $($operands:tt)*) => {
        match RANK {
            1 => tma_load_asm!(of 1, "{0}", [0], $hint, $at, $kind, $mask, $($operands)*),
            2 => tma_load_asm!(of 2, "{0}, {1}", [0 1], $hint, $at, $kind, $mask, $($operands)*),
            3 => tma_load_asm!(of 3, "{0}, {1}, {2}", [0 1 2], $hint, $at, $kind, $mask, $($operands)*),
            4 => tma_load_asm!(of 4, "{0}, {1}, {2}, {3}", [0 1 2 3], $hint, $at, $kind, $mask, $($operands)*),
            _ => tma_load_asm!(of 5, "{0}, {1}, {2}, {3}, {4}", [0 1 2 3 4], $hint, $at, $kind, $mask, $($operands)*),
        }
    };
    (of $rank:literal, $list:literal, $i:tt, $hint:expr, $at:ident, $kind:literal, $mask:literal, $($operands:tt)*) => {
        match const { policy($hint) } {
            0 => tma_load_asm!(step $rank, $list, $i, $at, $kind, "", $mask, $($operands)*),
            policy => tma_load_asm!(step $rank, $list, $i, $at, $kind, ".L2::cache_hint", concat!($mask, ", {policy}"), policy = in(reg64) policy, $($operands)*),
        }
    };
    (step $rank:literal, $list:literal, [$($i:literal)*], $at:ident, $kind:literal, $cached:literal, $last:expr, $($operands:tt)*) => {
        asm!(
            concat!("cp.async.bulk.tensor.", $rank, "d.shared::cluster.global.mbarrier::complete_tx::bytes", $kind, $cached, " [{dst}], [{map}, {{", $list, "}}], [{bar}]", $last, ";"),
            $(in(reg32) $at[$i],)* $($operands)* options(nostack)
        )
    };
}
pub(super) use tma_load_asm;

/// Copies a box in; `HINT` is the eviction priority in the L2 cache.
///
/// # Safety
/// `map` is the address of a tensor map whose memory may be read; the box fits at `dst`.
#[inline(always)]
pub unsafe fn tma_load<const RANK: usize, const HINT: u32>(dst: u32, map: u64, at: [i32; RANK], bar: u32, _site: u32) {
    let (dst, bar) = (shared(dst), shared(bar));
    // SAFETY: the caller's contract.
    unsafe { tma_load_asm!(HINT, at, "", "", dst = in(reg32) dst, map = in(reg64) map, bar = in(reg32) bar,) }
}

/// Copies a box out where `ok`, without a branch, and commits it as a group; `HINT` as of [`tma_load`].
///
/// # Safety
/// `map` is the address of a tensor map whose memory may be written.
#[inline(always)]
pub unsafe fn tma_store<const RANK: usize, const HINT: u32>(src: u32, map: u64, at: [i32; RANK], ok: bool, _site: u32) {
    let src = shared(src);
    macro_rules! copy {
        ($rank:literal, $list:literal, $hint:literal, $policy:literal, ($($more:tt)*), $($i:literal)*) => {
            asm!(
                "{{", ".reg .pred ok;", "setp.ne.u32 ok, {ok}, 0;",
                concat!("@ok cp.async.bulk.tensor.", $rank, "d.global.shared::cta.bulk_group", $hint, " [{map}, {{", $list, "}}], [{src}]", $policy, ";"),
                "@ok cp.async.bulk.commit_group;", "}}",
                $(in(reg32) at[$i],)*
                ok = in(reg32) ok as u32, src = in(reg32) src, map = in(reg64) map, $($more)* options(nostack)
            )
        };
        ($rank:literal, $list:literal, $($i:literal)*) => {
            match const { policy(HINT) } {
                0 => copy!($rank, $list, "", "", (), $($i)*),
                policy => copy!($rank, $list, ".L2::cache_hint", ", {policy}", (policy = in(reg64) policy,), $($i)*),
            }
        };
    }
    // SAFETY: the caller's contract.
    unsafe {
        match RANK {
            1 => copy!(1, "{0}", 0),
            2 => copy!(2, "{0}, {1}", 0 1),
            3 => copy!(3, "{0}, {1}, {2}", 0 1 2),
            4 => copy!(4, "{0}, {1}, {2}, {3}", 0 1 2 3),
            _ => copy!(5, "{0}, {1}, {2}, {3}, {4}", 0 1 2 3 4),
        }
    }
}

/// Waits until all but `PENDING` groups of this thread's stores have read shared memory. All threads may call it: in a
/// thread without stores it returns at once.
#[inline(always)]
pub fn tma_store_wait_read<const PENDING: u32>(_site: u32) {
    // SAFETY: it orders this thread's copies.
    unsafe { asm!("cp.async.bulk.wait_group.read {};", const PENDING, options(nostack)) }
}

/// As [`tma_store_wait_read`] for all stores, and until the array has their elements.
#[inline(always)]
pub fn tma_store_wait(_site: u32) {
    // SAFETY: it orders this thread's copies.
    unsafe { asm!("cp.async.bulk.wait_group 0;", options(nostack)) }
}

/// Starts to copy from global to shared memory; zeros if not `ok`.
///
/// # Safety
/// If `ok`, `src` is valid and aligned to the bytes.
#[cfg(target_feature = "sm_80")]
#[inline(always)]
pub unsafe fn cp_async<const BYTES: u32>(dst: u32, src: u64, ok: bool, _site: u32) {
    let (dst, taken) = (shared(dst), if ok { BYTES } else { 0 });
    // SAFETY: the caller allows the access where `ok`, and `taken` is 0 elsewhere; by the contract of `hw` the
    // destination is in the program's shared memory.
    unsafe {
        match BYTES {
            16 => {
                asm!("cp.async.cg.shared.global [{}], [{}], 16, {};", in(reg32) dst, in(reg64) src, in(reg32) taken, options(nostack))
            }
            8 => {
                asm!("cp.async.ca.shared.global [{}], [{}], 8, {};", in(reg32) dst, in(reg64) src, in(reg32) taken, options(nostack))
            }
            _ => {
                asm!("cp.async.ca.shared.global [{}], [{}], 4, {};", in(reg32) dst, in(reg64) src, in(reg32) taken, options(nostack))
            }
        }
    }
}

#[cfg(target_feature = "sm_80")]
#[inline(always)]
pub fn cp_async_commit(_site: u32) {
    // SAFETY: it orders this thread's copies.
    unsafe { asm!("cp.async.commit_group;", options(nostack)) }
}

#[cfg(target_feature = "sm_80")]
#[inline(always)]
pub fn cp_async_wait<const PENDING: u32>(_site: u32) {
    // SAFETY: it orders this thread's copies.
    unsafe { asm!("cp.async.wait_group {};", const PENDING, options(nostack)) }
}

// --- tensor cores, a warpgroup at a time ---

/// A fragment of A in registers.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Fragment([u32; 4]);

#[inline(always)]
pub fn fragment(words: [u32; 4]) -> Fragment {
    Fragment(words)
}

/// For the emulated SM, which cannot see accesses to registers.
#[inline(always)]
pub fn accumulators_accessed() {}

#[inline(always)]
pub fn wgmma_fence(_site: u32) {
    // SAFETY: it orders registers; by the contract of `hw` every warp of the warpgroup reaches it.
    unsafe { asm!("wgmma.fence.sync.aligned;", options(nostack)) }
}

#[inline(always)]
pub fn wgmma_commit(_site: u32) {
    // SAFETY: it orders products; by the contract of `hw` every warp of the warpgroup reaches it.
    unsafe { asm!("wgmma.commit_group.sync.aligned;", options(nostack)) }
}

/// Instructions name their registers one by one: `$macro!([0 1 ..], rest)` with as many as the accumulators of `n`
/// columns.
macro_rules! columns {
    (8, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3], 8, $($rest)*) };
    (16, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7], 16, $($rest)*) };
    (24, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11], 24, $($rest)*) };
    (32, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15], 32, $($rest)*) };
    (40, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19], 40, $($rest)*) };
    (48, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23], 48, $($rest)*) };
    (56, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27], 56, $($rest)*) };
    (64, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31], 64, $($rest)*) };
    (80, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39], 80, $($rest)*) };
    (96, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47], 96, $($rest)*) };
    (112, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55], 112, $($rest)*) };
    (128, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63], 128, $($rest)*) };
    (160, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79], 160, $($rest)*) };
    (192, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95], 192, $($rest)*) };
    (224, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111], 224, $($rest)*) };
    (256, $then:ident, $($rest:tt)*) => { $then!([0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127], 256, $($rest)*) };
}

/// Waits for all products but those committed last, of which the accumulators stay as they are.
#[inline(always)]
pub fn wgmma_wait_previous(_site: u32) {
    // SAFETY: it orders products; by the contract of `hw` every warp of the warpgroup reaches it.
    unsafe { asm!("wgmma.wait_group.sync.aligned 1;", options(nostack)) }
}

/// The accumulators of products of N columns pass through it, so that nothing that reads them moves before it.
#[inline(always)]
pub fn wgmma_wait<D: Mem, const PENDING: u32, const R: usize, const N: usize>(acc: &mut [D; R], _site: u32) {
    const { assert!(D::BYTES == 4, "accumulators are f32 or i32") };
    const { assert!(N.is_power_of_two() || N / 2 <= R, "the registers are those of N columns") };
    let acc = acc.as_mut_ptr().cast::<u32>();
    macro_rules! wait {
        ([$($i:literal)*], $n:literal,) => {
            // SAFETY: at most R registers of 32 bits, of which all bit patterns are valid: half as many as the columns
            // that are chosen below.
            unsafe {
                asm!(concat!("wgmma.wait_group.sync.aligned {pending};", $("/*{", $i, "}*/",)*), $(inout(reg32) *acc.add($i),)* pending = const PENDING, options(nostack))
            }
        };
    }
    match const { if N.is_power_of_two() { 2 * R } else { N } } {
        8 => columns!(8, wait,),
        16 => columns!(16, wait,),
        24 => columns!(24, wait,),
        32 => columns!(32, wait,),
        40 => columns!(40, wait,),
        48 => columns!(48, wait,),
        56 => columns!(56, wait,),
        64 => columns!(64, wait,),
        80 => columns!(80, wait,),
        96 => columns!(96, wait,),
        112 => columns!(112, wait,),
        128 => columns!(128, wait,),
        160 => columns!(160, wait,),
        192 => columns!(192, wait,),
        224 => columns!(224, wait,),
        256 => columns!(256, wait,),
        _ => unreachable!(),
    }
}

/// One product with both operands in shared memory, instead of the accumulators unless `add`.
///
/// # Safety
/// `acc` points to this thread's `N / 2` accumulators; `a` and `b` describe matrices in the program's shared memory.
#[inline(always)]
pub unsafe fn wgmma<A: Mem, D: Mem, const N: usize, const TA: bool, const TB: bool>(
    acc: *mut D,
    a: u64,
    b: u64,
    add: bool,
    _site: u32,
) {
    const { assert!(D::BYTES == 4, "accumulators are f32 or i32") };
    let acc = acc.cast::<u32>();
    macro_rules! product {
        ([$first:literal $($i:literal)*], $n:literal, $types:literal, $flags:literal $(, $name:ident = $flag:expr)*) => {
            asm!(
                "{{", ".reg .pred p;", "setp.ne.b32 p, {add}, 0;",
                concat!("wgmma.mma_async.sync.aligned.m64n", $n, $types, " {{{", $first, "}", $(", {", $i, "}",)* "}}, {a}, {b}, p", $flags, ";"),
                "}}",
                inout(reg32) *acc.add($first), $(inout(reg32) *acc.add($i),)*
                a = in(reg64) a, b = in(reg64) b, add = in(reg32) add as u32, $($name = const $flag as i32,)* options(nostack)
            )
        };
    }
    macro_rules! typed {
        ($n:tt) => {
            match const { repr::<A>() } {
                Repr::F16 => columns!($n, product, "k16.f32.f16.f16", ", 1, 1, {ta}, {tb}", ta = TA, tb = TB),
                Repr::BF16 => columns!($n, product, "k16.f32.bf16.bf16", ", 1, 1, {ta}, {tb}", ta = TA, tb = TB),
                Repr::F32 => columns!($n, product, "k8.f32.tf32.tf32", ", 1, 1"),
                Repr::Signed => columns!($n, product, "k32.s32.s8.s8", ""),
                Repr::E4M3 => columns!($n, product, "k32.f32.e4m3.e4m3", ", 1, 1"),
                Repr::E5M2 => columns!($n, product, "k32.f32.e5m2.e5m2", ", 1, 1"),
                _ => unreachable!(),
            }
        };
    }
    // SAFETY: the caller's contract; D has 4 bytes, by the assertion above.
    unsafe {
        match N {
            8 => typed!(8),
            16 => typed!(16),
            24 => typed!(24),
            32 => typed!(32),
            40 => typed!(40),
            48 => typed!(48),
            56 => typed!(56),
            64 => typed!(64),
            80 => typed!(80),
            96 => typed!(96),
            112 => typed!(112),
            128 => typed!(128),
            160 => typed!(160),
            192 => typed!(192),
            224 => typed!(224),
            256 => typed!(256),
            _ => unreachable!(),
        }
    }
}

/// As [`wgmma`], with this thread's part of A in registers.
///
/// # Safety
/// As [`wgmma`].
#[inline(always)]
pub unsafe fn wgmma_ra<A: Mem, D: Mem, const N: usize, const TB: bool>(
    acc: *mut D,
    Fragment(a): Fragment,
    b: u64,
    add: bool,
    _site: u32,
) {
    const { assert!(D::BYTES == 4, "accumulators are f32 or i32") };
    let acc = acc.cast::<u32>();
    let [a0, a1, a2, a3] = a;
    macro_rules! product {
        ([$first:literal $($i:literal)*], $n:literal, $types:literal, $flags:literal $(, $name:ident = $flag:expr)*) => {
            asm!(
                "{{", ".reg .pred p;", "setp.ne.b32 p, {add}, 0;",
                concat!("wgmma.mma_async.sync.aligned.m64n", $n, $types, " {{{", $first, "}", $(", {", $i, "}",)* "}}, {{{a0}, {a1}, {a2}, {a3}}}, {b}, p", $flags, ";"),
                "}}",
                inout(reg32) *acc.add($first), $(inout(reg32) *acc.add($i),)*
                a0 = in(reg32) a0, a1 = in(reg32) a1, a2 = in(reg32) a2, a3 = in(reg32) a3,
                b = in(reg64) b, add = in(reg32) add as u32, $($name = const $flag as i32,)* options(nostack)
            )
        };
    }
    macro_rules! typed {
        ($n:tt) => {
            match const { repr::<A>() } {
                Repr::F16 => columns!($n, product, "k16.f32.f16.f16", ", 1, 1, {tb}", tb = TB),
                Repr::BF16 => columns!($n, product, "k16.f32.bf16.bf16", ", 1, 1, {tb}", tb = TB),
                Repr::F32 => columns!($n, product, "k8.f32.tf32.tf32", ", 1, 1"),
                Repr::Signed => columns!($n, product, "k32.s32.s8.s8", ""),
                Repr::E4M3 => columns!($n, product, "k32.f32.e4m3.e4m3", ", 1, 1"),
                Repr::E5M2 => columns!($n, product, "k32.f32.e5m2.e5m2", ", 1, 1"),
                _ => unreachable!(),
            }
        };
    }
    // SAFETY: the caller's contract; D has 4 bytes, by the assertion above.
    unsafe {
        match N {
            8 => typed!(8),
            16 => typed!(16),
            24 => typed!(24),
            32 => typed!(32),
            40 => typed!(40),
            48 => typed!(48),
            56 => typed!(56),
            64 => typed!(64),
            80 => typed!(80),
            96 => typed!(96),
            112 => typed!(112),
            128 => typed!(128),
            160 => typed!(160),
            192 => typed!(192),
            224 => typed!(224),
            256 => typed!(256),
            _ => unreachable!(),
        }
    }
}

// --- tensor cores, a warp at a time ---

/// Whether [`mma`] takes operands of this type.
#[cfg(target_feature = "sm_80")]
#[inline(always)]
pub const fn multiplies<A: Mem>() -> bool {
    true
}

/// `a·b + d` of this thread's fragments: m16n8k16 of f16 and bf16, m16n8k8 of tf32, m16n8k32 of i8. Not `pure`: LLVM
/// may sink a pure instruction into a branch that some lanes take.
#[cfg(target_feature = "sm_80")]
#[inline(always)]
pub fn mma<A: Mem, D: Mem>(d: [D; 4], a: [u32; 4], b: [u32; 2], _site: u32) -> [D; 4] {
    const { assert!(D::BYTES == 4, "accumulators are f32 or i32") };
    let mut d = d;
    let p = d.as_mut_ptr().cast::<u32>();
    let ([a0, a1, a2, a3], [b0, b1]) = (a, b);
    macro_rules! product {
        ($types:literal) => {
            asm!(
                concat!("mma.sync.aligned.", $types, " {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};"),
                inout(reg32) *p, inout(reg32) *p.add(1), inout(reg32) *p.add(2), inout(reg32) *p.add(3),
                in(reg32) a0, in(reg32) a1, in(reg32) a2, in(reg32) a3, in(reg32) b0, in(reg32) b1,
                options(nomem, nostack)
            )
        };
    }
    // SAFETY: four registers of 32 bits, by the assertion above. By the contract of `hw` every lane of the warp reaches
    // it.
    unsafe {
        match const { repr::<A>() } {
            Repr::F16 => product!("m16n8k16.row.col.f32.f16.f16.f32"),
            Repr::BF16 => product!("m16n8k16.row.col.f32.bf16.bf16.f32"),
            Repr::F32 => product!("m16n8k8.row.col.f32.tf32.tf32.f32"),
            _ => product!("m16n8k32.row.col.s32.s8.s8.s32"),
        }
    }
    d
}

/// Four 8×8 matrices of 16-bit elements; lane `8·i + r` says where row `r` of matrix `i` lies.
#[inline(always)]
pub fn ldmatrix<const TRANS: bool>(off: u32, _site: u32) -> [u32; 4] {
    let at = shared(off);
    let (a, b, c, d): (u32, u32, u32, u32);
    // SAFETY: the contract of `hw`: rows in the program's shared memory, and every lane of the warp reaches it.
    unsafe {
        if TRANS {
            asm!("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{0}, {1}, {2}, {3}}}, [{4}];", out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) at, options(nostack))
        } else {
            asm!("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{0}, {1}, {2}, {3}}}, [{4}];", out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) at, options(nostack))
        }
    }
    [a, b, c, d]
}

/// Stores four such matrices.
#[inline(always)]
pub fn stmatrix(off: u32, words: [u32; 4], _site: u32) {
    let [a, b, c, d] = words;
    // SAFETY: the contract of `hw`: rows in the program's shared memory, and every lane of the warp reaches it.
    unsafe {
        asm!("stmatrix.sync.aligned.m8n8.x4.shared.b16 [{4}], {{{0}, {1}, {2}, {3}}};", in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d, in(reg32) shared(off), options(nostack))
    }
}
