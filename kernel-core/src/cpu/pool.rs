//! Buffers of tiles come from a pool per thread: a program makes and drops dozens, always of the same few sizes.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::ptr::NonNull;

/// The alignment of a cache line and of every vector.
const ALIGN: usize = 64;
/// The smallest class, as the logarithm of its bytes.
const MIN_CLASS: usize = 8;
/// Classes up to 128 MiB. Larger blocks are not kept.
const CLASSES: usize = 20;
/// Free blocks of one class that a thread keeps.
const MAX_FREE_BLOCKS: usize = 16;

/// The payload of the panic of a program whose tile does not fit into memory. `launch` unwinds with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The size of the allocation.
    pub bytes: u64,
}

struct Pool {
    free: [[*mut u8; MAX_FREE_BLOCKS]; CLASSES],
    count: [usize; CLASSES],
}

impl Pool {
    /// Frees all kept blocks.
    fn clear(&mut self) {
        for class in 0..CLASSES {
            for &p in &self.free[class][..std::mem::take(&mut self.count[class])] {
                // SAFETY: `release` put it there, from an allocation of this class. It is not in use.
                unsafe { dealloc(p, layout(class)) };
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.clear();
    }
}

thread_local! {
    static POOL: UnsafeCell<Pool> =
        const { UnsafeCell::new(Pool { free: [[std::ptr::null_mut(); MAX_FREE_BLOCKS]; CLASSES], count: [0; CLASSES] }) };
}

/// # Panics
/// There are no allocations of that size.
fn class_of(bytes: usize) -> usize {
    let size = bytes.max(1 << MIN_CLASS).checked_next_power_of_two().expect("tile too large");
    size.trailing_zeros() as usize - MIN_CLASS
}

/// Of a class as [`class_of`] gives it, so that the shift is of less than the bits of a `usize`.
fn layout(class: usize) -> Layout {
    Layout::from_size_align(1 << (class + MIN_CLASS), ALIGN).expect("tile too large")
}

#[inline(never)]
fn acquire(bytes: usize) -> NonNull<u8> {
    let class = class_of(bytes);
    let kept = POOL.try_with(|pool| {
        // SAFETY: no reference to the pool outlives this closure, which calls nothing that could make another.
        let pool = unsafe { &mut *pool.get() };
        let count = pool.count.get_mut(class).filter(|c| **c > 0)?;
        *count -= 1;
        NonNull::new(pool.free[class][*count])
    });
    kept.ok().flatten().unwrap_or_else(|| {
        // SAFETY: the size is not zero.
        NonNull::new(unsafe { alloc(layout(class)) }).unwrap_or_else(|| acquire_cleared(class))
    })
}

/// Allocates after all blocks that this thread keeps were freed. It fails without the panic hook, which may allocate.
#[cold]
fn acquire_cleared(class: usize) -> NonNull<u8> {
    // SAFETY: as in `acquire`.
    let _ = POOL.try_with(|pool| unsafe { (*pool.get()).clear() });
    // SAFETY: the size is not zero.
    NonNull::new(unsafe { alloc(layout(class)) })
        .unwrap_or_else(|| resume_unwind(Box::new(OutOfMemory { bytes: layout(class).size() as u64 })))
}

#[inline(never)]
fn release(p: NonNull<u8>, bytes: usize) {
    let class = class_of(bytes);
    let kept = POOL.try_with(|pool| {
        // SAFETY: no reference to the pool outlives this closure, which calls nothing that could make another.
        let pool = unsafe { &mut *pool.get() };
        match pool.count.get_mut(class) {
            Some(count) if *count < MAX_FREE_BLOCKS => {
                pool.free[class][*count] = p.as_ptr();
                *count += 1;
                true
            }
            _ => false,
        }
    });
    if !kept.unwrap_or(false) {
        // SAFETY: `acquire` allocated it with this layout.
        unsafe { dealloc(p.as_ptr(), layout(class)) };
    }
}

/// Memory for elements, which may be uninitialized and are never dropped.
pub struct Buffer<T> {
    start: NonNull<T>,
    len: usize,
    owns: PhantomData<T>,
}

// SAFETY: it owns its elements. Its memory may be given back to the pool of any thread.
unsafe impl<T: Send> Send for Buffer<T> {}
// SAFETY: shared access only reads them.
unsafe impl<T: Sync> Sync for Buffer<T> {}

impl<T: Copy> Buffer<T> {
    #[inline(always)]
    pub fn new(len: usize) -> Self {
        const { assert!(align_of::<T>() <= ALIGN) };
        let bytes = len.checked_mul(size_of::<T>()).expect("tile too large");
        Buffer { start: acquire(bytes).cast(), len, owns: PhantomData }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn as_ptr(&self) -> *const T {
        self.start.as_ptr()
    }

    #[inline(always)]
    pub fn uninit(&mut self) -> &mut [MaybeUninit<T>] {
        // SAFETY: room for `len` elements, uniquely borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.len) }
    }
}

impl<T> Drop for Buffer<T> {
    #[inline(always)]
    fn drop(&mut self) {
        release(self.start.cast(), self.len * size_of::<T>());
    }
}
