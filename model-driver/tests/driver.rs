//! The driver's functions as another owner of streams, memory and captures calls them.

use core::ffi::c_void;
use tilewright_model_driver::Model;

macro_rules! functions { ($($name:ident: $symbol:literal($($arg:ident: $t:ty),*);)*) => { $(
    /// # Safety
    /// As of the function of cuda.h. The handles are those of the model.
    #[allow(dead_code)]
    pub unsafe fn $name($($arg: $t),*) -> u32 {
        let f = Model::symbol($symbol).expect("a function of the model");
        // SAFETY: the signature is that of cuda.h.
        let f = unsafe { core::mem::transmute::<*const c_void, unsafe extern "C" fn($($t),*) -> u32>(f) };
        // SAFETY: the caller's contract.
        unsafe { f($($arg),*) }
    }
)* } }

functions! {
    begin_capture: "cuStreamBeginCapture_v2"(stream: *mut c_void, mode: i32);
    end_capture: "cuStreamEndCapture"(stream: *mut c_void, graph: &mut usize);
    instantiate: "cuGraphInstantiateWithFlags"(exec: &mut usize, graph: usize, flags: u64);
    launch_graph: "cuGraphLaunch"(exec: usize, stream: *mut c_void);
    destroy_executable: "cuGraphExecDestroy"(exec: usize);
    destroy_graph: "cuGraphDestroy"(graph: usize);
    create_stream: "cuStreamCreate"(stream: &mut *mut c_void, flags: u32);
    synchronize: "cuStreamSynchronize"(stream: *mut c_void);
    destroy_stream: "cuStreamDestroy_v2"(stream: *mut c_void);
    allocate: "cuMemAllocAsync"(addr: &mut u64, bytes: usize, stream: *mut c_void);
    free: "cuMemFreeAsync"(addr: u64, stream: *mut c_void);
    fill: "cuMemsetD8Async"(addr: u64, value: u8, bytes: usize, stream: *mut c_void);
    set_context: "cuCtxSetCurrent"(context: *mut c_void);
    retain_context: "cuDevicePrimaryCtxRetain"(context: &mut *mut c_void, device: i32);
    release_context: "cuDevicePrimaryCtxRelease_v2"(device: i32);
    launch: "cuLaunchKernel"(
        function: usize, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: *mut c_void,
        params: *mut *mut c_void, extra: *mut *mut c_void);
    load: "cuModuleLoadData"(module: &mut usize, data: *const c_void);
    function: "cuModuleGetFunction"(function: &mut usize, module: usize, name: *const core::ffi::c_char);
}
