//! DLPack's structures: a tensor, and how it is freed.

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;
use tilewright_runtime::dlpack::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};

/// The newest version of DLPack that is understood.
pub(crate) const VERSION: (u32, u32) = (1, 1);

/// The function that frees a tensor and its structure.
type Deleter<M> = unsafe extern "C" fn(*mut M);

/// A structure of DLPack, by the version that a consumer understands.
pub(crate) trait Managed: Sized {
    /// The name of its capsules.
    const NAME: &CStr;
    /// The name of those that were consumed.
    const USED: &CStr;

    fn new(tensor: DLTensor, read_only: bool, owner: *mut c_void, deleter: Deleter<Self>) -> Self;
    fn owner(&self) -> *mut c_void;
    fn deleter(&self) -> Option<Deleter<Self>>;
}

impl Managed for DLManagedTensor {
    const NAME: &CStr = c"dltensor";
    const USED: &CStr = c"used_dltensor";

    /// It cannot say that a tensor is read-only.
    fn new(dl_tensor: DLTensor, _: bool, owner: *mut c_void, deleter: Deleter<Self>) -> Self {
        DLManagedTensor { dl_tensor, manager_ctx: owner, deleter: Some(deleter) }
    }

    fn owner(&self) -> *mut c_void {
        self.manager_ctx
    }

    fn deleter(&self) -> Option<Deleter<Self>> {
        self.deleter
    }
}

impl Managed for DLManagedTensorVersioned {
    const NAME: &CStr = c"dltensor_versioned";
    const USED: &CStr = c"used_dltensor_versioned";

    fn new(dl_tensor: DLTensor, read_only: bool, owner: *mut c_void, deleter: Deleter<Self>) -> Self {
        let ((major, minor), flags) = (VERSION, u64::from(read_only));
        DLManagedTensorVersioned { major, minor, manager_ctx: owner, deleter: Some(deleter), flags, dl_tensor }
    }

    fn owner(&self) -> *mut c_void {
        self.manager_ctx
    }

    fn deleter(&self) -> Option<Deleter<Self>> {
        self.deleter
    }
}

/// A structure that owns `owner`, which keeps the memory and the extents of the tensor.
pub(crate) fn owning<M: Managed, O>(tensor: DLTensor, read_only: bool, owner: Box<O>) -> NonNull<M> {
    unsafe extern "C" fn delete<M: Managed, O>(this: *mut M) {
        // SAFETY: both were boxes, and a deleter runs once.
        unsafe {
            drop(Box::from_raw((*this).owner().cast::<O>()));
            drop(Box::from_raw(this));
        }
    }
    let managed = M::new(tensor, read_only, Box::into_raw(owner).cast(), delete::<M, O>);
    NonNull::from(Box::leak(Box::new(managed)))
}

/// Frees the tensor and the structure.
///
/// # Safety
/// `this` is valid, and not used later.
pub(crate) unsafe fn release<M: Managed>(this: *mut M) {
    // SAFETY: the caller's contract.
    unsafe {
        if let Some(deleter) = (*this).deleter() {
            deleter(this);
        }
    }
}
