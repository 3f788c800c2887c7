//! The driver's types. With the feature `cuda` they are cudarc's, which also finds and keeps the library; without it no
//! driver is loaded, and nothing makes a value of them.

#[cfg(feature = "cuda")]
pub(crate) use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUjit_option, CUkernel,
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig, CUlibrary, CUlibraryOption,
    CUmemoryPool, CUstream,
};

#[cfg(not(feature = "cuda"))]
pub(crate) use without::*;

/// Driver handles may be used from any thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle<T>(pub T);
// SAFETY: a handle is the driver's pointer, which only the driver follows. Its functions may be called from any thread,
// and what the handle refers to is bound to none.
unsafe impl<T> Send for Handle<*mut T> {}
// SAFETY: as above; a shared handle is copied.
unsafe impl<T> Sync for Handle<*mut T> {}

/// The legacy default stream, to which a null handle refers.
pub(crate) const DEFAULT_STREAM: CUstream = core::ptr::null_mut();

/// `CUmemPoolProps`; its layout is fixed, its reserved tail is zero.
#[repr(C)]
pub(crate) struct PoolProps {
    pub alloc_type: i32,
    pub handle_types: i32,
    pub location_type: i32,
    pub location_id: i32,
    pub security_attributes: *mut core::ffi::c_void,
    pub max_size: usize,
    pub usage: u16,
    pub reserved: [u8; 54],
}

#[cfg(not(feature = "cuda"))]
#[allow(non_camel_case_types, non_snake_case, dead_code)]
mod without {
    use core::ffi::{c_int, c_uint, c_ulonglong, c_void};

    pub type CUcontext = *mut c_void;
    pub type CUdevice = c_int;
    pub type CUdeviceptr = c_ulonglong;
    pub type CUevent = *mut c_void;
    pub type CUfunction = *mut c_void;
    pub type CUgraph = *mut c_void;
    pub type CUgraphExec = *mut c_void;
    pub type CUkernel = *mut c_void;
    pub type CUlibrary = *mut c_void;
    pub type CUlibraryOption = c_uint;
    pub type CUmemoryPool = *mut c_void;
    pub type CUstream = *mut c_void;

    #[repr(u32)]
    pub enum CUjit_option {
        CU_JIT_ERROR_LOG_BUFFER = 5,
        CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    }

    #[repr(u32)]
    pub enum CUlaunchAttributeID {
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
    }

    #[repr(C)]
    pub union CUlaunchAttributeValue {
        pub pad: [u8; 64],
        pub programmaticStreamSerializationAllowed: c_int,
    }

    #[repr(C)]
    pub struct CUlaunchAttribute {
        pub id: CUlaunchAttributeID,
        pub pad: [u8; 4],
        pub value: CUlaunchAttributeValue,
    }

    #[repr(C)]
    pub struct CUlaunchConfig {
        pub gridDimX: c_uint,
        pub gridDimY: c_uint,
        pub gridDimZ: c_uint,
        pub blockDimX: c_uint,
        pub blockDimY: c_uint,
        pub blockDimZ: c_uint,
        pub sharedMemBytes: c_uint,
        pub hStream: CUstream,
        pub attrs: *mut CUlaunchAttribute,
        pub numAttrs: c_uint,
    }
}
