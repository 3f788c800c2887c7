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
