//! The driver's functions, by their symbols.

use crate::launch::{Asked, Loaded};
use crate::memory::Access;
use crate::report::Kind;
use crate::state::{State, Task, Work, is_default};
use crate::{Code, Model, ptx, tensor_map};
use core::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};

type Handle = usize;
type R = Result<(), Code>;

/// With the types and values of the arguments.
fn call(name: &'static str, arguments: &[(&str, usize)], f: impl FnOnce(&mut State) -> R) -> Code {
    let Some(model) = Model::of_thread(name) else { return 3 };
    model.hook(name);
    let mut state = model.state();
    *state.calls.entry(name).or_default() += 1;
    state.turn();
    if arguments.iter().any(|(t, value)| *t == "Handle" && state.ended.contains(value)) {
        state.report(Kind::Call, format!("{name}: of a handle whose context has ended"));
    }
    let mut fault = None;
    if let Some(plan) = &mut state.fault
        && plan.name.as_deref().is_none_or(|n| n == name)
    {
        match plan.skip.checked_sub(1) {
            Some(left) => plan.skip = left,
            None => fault = Some(plan.code),
        }
    }
    if let Some(code) = fault.or_else(|| state.refused.get(name).copied()) {
        if fault.is_some() {
            state.fault = None;
        }
        // A release that can do its work does it, and gives the code of an earlier failure.
        let is_release = ["Destroy", "Free", "Unload", "Release", "Exchange"].iter().any(|w| name.contains(w));
        return if is_release { f(&mut state).err().unwrap_or(code) } else { code };
    }
    f(&mut state).err().unwrap_or(0)
}

fn context(s: &mut State) -> R {
    let current = s.me().context;
    match current {
        0 => Err(201),
        _ if !s.contexts.contains_key(&current) => Err(709),
        _ => s.lost.map_or(Ok(()), Err),
    }
}

fn range(start: u64, bytes: usize, write: bool) -> Access {
    Access { start, end: start.saturating_add(bytes as u64), write }
}

/// Null, or `CU_STREAM_LEGACY`, is the default stream of the current context.
fn stream(s: &State, h: Handle) -> Handle {
    if h <= 1 { s.default_stream(s.current_context()) } else { h }
}

/// Writes a result. Callers pass pointers to room for it, as the driver's interface has it.
fn give<T>(out: *mut T, value: T) -> R {
    if out.is_null() {
        return Err(1);
    }
    // SAFETY: the caller of the driver's function gave room for a `T`.
    unsafe { out.write(value) };
    Ok(())
}

fn allocate(s: &mut State, out: *mut u64, bytes: usize, on: Option<Handle>, what: &'static str) -> R {
    context(s)?;
    if bytes == 0 {
        return Err(1);
    }
    let captured = match on {
        Some(h) => s.streams.get(&h).ok_or(400u32)?.capture,
        None => None,
    };
    match captured {
        Some(c) => s.valid(c)?,
        None => s.unsafe_call()?,
    }
    let base = s.new_block(bytes as u64, on.is_some(), captured.is_some(), what).ok_or(2u32)?;
    if let Some(h) = on {
        let put = s.put(h, Task::new(Work::Allocate { base }, Vec::new(), what));
        put.inspect_err(|_| s.forget_block(base))?;
    }
    give(out, base)
}

fn free_async(s: &mut State, base: u64, h: Handle) -> R {
    context(s)?;
    if s.streams.get(&h).ok_or(400u32)?.capture.is_none() {
        s.unsafe_call()?;
        if s.blocks.get(&base).is_none_or(|b| b.freed.is_some()) {
            s.report(Kind::Memory, format!("cuMemFreeAsync: {base:#x} is not allocated"));
            return Err(1);
        }
    }
    s.put(h, Task::new(Work::Free { base }, Vec::new(), "cuMemFreeAsync"))
}

/// Waits for everything, except of memory from a pool: the reference says that its users are not waited for.
fn free(s: &mut State, base: u64) -> R {
    context(s)?;
    s.unsafe_call()?;
    let Some(block) = s.blocks.get(&base).filter(|b| b.freed.is_none()) else {
        s.report(Kind::Memory, format!("cuMemFree: {base:#x} is not allocated"));
        return Err(1);
    };
    if !block.pooled {
        let all: Vec<_> = s.streams.keys().copied().collect();
        for h in all {
            let (clock, _) = s.stream_after(h);
            s.has_waited(&clock);
        }
        s.run_all();
    }
    let at = crate::clock::Epoch { lane: s.handle() as u64, index: 1 };
    s.me().clock.add(at);
    let clock = s.me().clock.clone();
    s.end_block(base, at, &clock, "cuMemFree");
    Ok(())
}

/// As in cuda.h.
#[repr(C)]
struct LaunchAttribute {
    id: c_uint,
    pad: [u8; 4],
    value: [c_int; 16],
}

/// Whether the attributes let a launch begin before the one in front has ended. Other attributes are not modeled.
fn programmatic(s: &mut State, config: &LaunchConfig) -> Result<bool, Code> {
    const PROGRAMMATIC_STREAM_SERIALIZATION: c_uint = 6;
    let mut allowed = false;
    for i in 0..config.count as usize {
        if config.attributes.is_null() {
            return Err(1);
        }
        // SAFETY: the caller gives as many attributes as it says.
        let attribute = unsafe { &*config.attributes.add(i) };
        match attribute.id {
            PROGRAMMATIC_STREAM_SERIALIZATION => allowed = attribute.value[0] != 0,
            other => {
                s.report(Kind::Call, format!("cuLaunchKernelEx: attribute {other} is not in the model"));
                return Err(1);
            }
        }
    }
    Ok(allowed)
}

/// As in cuda.h.
#[repr(C)]
struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: Handle,
    attributes: *const LaunchAttribute,
    count: c_uint,
}

macro_rules! functions { ($($name:ident($($arg:ident: $t:ty),*) $s:ident $body:block)*) => {
    $(#[allow(non_snake_case, unused_variables, clippy::missing_safety_doc)]
    #[unsafe(no_mangle)]
    unsafe extern "C" fn $name($($arg: $t),*) -> Code {
        call(stringify!($name), &[$((stringify!($t), $arg as usize)),*], |$s| $body)
    })*

    pub(crate) fn symbol(name: &str) -> Option<*const c_void> {
        match name {
            $(stringify!($name) => Some($name as *const c_void),)*
            _ => None,
        }
    }
} }

functions! {
    cuInit(flags: c_uint) s { Ok(()) }
    cuDriverGetVersion(v: *mut c_int) s { give(v, 13000) }
    cuGetErrorName(e: Code, out: *mut *const c_char) s { give(out, c"CUDA_ERROR_OF_THE_MODEL".as_ptr()) }
    cuGetErrorString(e: Code, out: *mut *const c_char) s { give(out, c"of the model".as_ptr()) }
    cuDeviceGet(d: *mut c_int, n: c_int) s { s.device(n)?; give(d, n) }
    cuDeviceGetCount(n: *mut c_int) s { give(n, s.devices.count() as c_int) }
    cuDeviceGetName(out: *mut c_char, room: c_int, d: c_int) s {
        let mut name = s.name.clone().into_bytes();
        name.truncate((room as usize).saturating_sub(1));
        name.push(0);
        // SAFETY: the caller gives this much room, which is enough for the name.
        if room > 0 { unsafe { core::ptr::copy_nonoverlapping(name.as_ptr(), out.cast(), name.len()) } }
        Ok(())
    }
    cuDeviceGetAttribute(v: *mut c_int, what: c_int, d: c_int) s {
        if let Some(&own) = s.attributes.get(&what) { return give(v, own) }
        give(v, match what { 1 => 1024, 12 => 65536, 16 => 8, 38 => 1 << 16, 75 => s.compute.0, 76 => s.compute.1, 97 => 232448, 115 => s.pools_supported.into(), _ => 0 })
    }
    cuDeviceGetUuid(out: *mut c_void, d: c_int) s { give(out.cast::<[u8; 16]>(), [7 + d as u8; 16]) }
    cuDeviceGetUuid_v2(out: *mut c_void, d: c_int) s { give(out.cast::<[u8; 16]>(), [7 + d as u8; 16]) }
    cuDeviceTotalMem_v2(n: *mut usize, d: c_int) s { give(n, s.capacity as usize) }
    cuDevicePrimaryCtxRetain(c: *mut Handle, d: c_int) s { let d = s.device(d)?; give(c, s.retain_primary(d)) }
    cuDevicePrimaryCtxRelease_v2(d: c_int) s { let d = s.device(d)?; s.release_primary(d) }
    cuCtxGetCurrent(c: *mut Handle) s { let now = s.me().context; give(c, now) }
    cuCtxSetCurrent(c: Handle) s { s.me().context = c; Ok(()) }
    cuCtxGetDevice(d: *mut c_int) s { context(s)?; give(d, s.current_device() as c_int) }
    cuCtxGetId(c: Handle, id: *mut c_ulonglong) s { let number = *s.contexts.get(&c).ok_or(709u32)?; give(id, number) }
    cuCtxSynchronize() s {
        context(s)?;
        s.never_while_capturing()?;
        let all: Vec<_> = s.streams.keys().copied().collect();
        all.into_iter().try_for_each(|h| s.wait_stream(h))
    }
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) s {
        give(free, (s.capacity - s.used.min(s.capacity)) as usize)?;
        give(total, s.capacity as usize)
    }
    cuMemAlloc_v2(out: *mut u64, bytes: usize) s { allocate(s, out, bytes, None, "cuMemAlloc") }
    cuMemAllocAsync(out: *mut u64, bytes: usize, on: Handle) s { allocate(s, out, bytes, Some(stream(s, on)), "cuMemAllocAsync") }
    cuMemFree_v2(base: u64) s { free(s, base) }
    cuMemAllocFromPoolAsync(out: *mut u64, bytes: usize, pool: Handle, on: Handle) s {
        s.check_pool(pool, stream(s, on))?;
        allocate(s, out, bytes, Some(stream(s, on)), "cuMemAllocFromPoolAsync")
    }
    cuMemFreeAsync(base: u64, on: Handle) s { free_async(s, base, stream(s, on)) }
    cuMemPoolCreate(out: *mut Handle, props: *const c_void) s {
        s.unsafe_call()?;
        let pool = s.handle();
        // The fourth number of `CUmemPoolProps` is that of the device.
        // SAFETY: the caller gives properties as cuda.h has them.
        let device = s.device(unsafe { *props.cast::<c_int>().add(3) })?;
        s.pools.insert(pool, device);
        give(out, pool)
    }
    cuMemPoolDestroy(pool: Handle) s { s.unsafe_call()?; s.pools.remove(&pool).map(|_| ()).ok_or(400) }
    cuMemPoolSetAttribute(pool: Handle, what: c_int, value: *mut c_void) s { s.unsafe_call() }
    cuMemPoolTrimTo(pool: Handle, keep: usize) s { s.unsafe_call() }
    cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, on: Handle) s {
        context(s)?;
        // SAFETY: the caller gives so many bytes, which pageable memory is staged from before the call returns.
        let data = unsafe { core::slice::from_raw_parts(from.cast::<u8>(), bytes) }.into();
        s.put(stream(s, on), Task::new(Work::Upload { to, data }, vec![range(to, bytes, true)], "cuMemcpyHtoDAsync"))
    }
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, on: Handle) s {
        context(s)?;
        let work = Work::Copy { to: to as u64, from, bytes };
        s.put(stream(s, on), Task::new(work, vec![range(from, bytes, false)], "cuMemcpyDtoHAsync"))?;
        // Pageable memory is written before the call returns; in a capture when the graph runs.
        if s.streams[&stream(s, on)].capture.is_none() { s.wait_stream(stream(s, on)) } else { Ok(()) }
    }
    cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, on: Handle) s {
        context(s)?;
        let both = vec![range(to, bytes, true), range(from, bytes, false)];
        s.put(stream(s, on), Task::new(Work::Copy { to, from, bytes }, both, "cuMemcpyDtoDAsync"))
    }
    cuMemsetD8Async(to: u64, value: u8, bytes: usize, on: Handle) s {
        context(s)?;
        s.put(stream(s, on), Task::new(Work::Fill { to, value, bytes }, vec![range(to, bytes, true)], "cuMemsetD8Async"))
    }
    cuPointerGetAttribute(out: *mut c_void, what: c_int, addr: u64) s {
        let device = s.block_at(addr).filter(|b| b.freed.is_none()).ok_or(1u32)?.device;
        give(out.cast::<c_int>(), device as c_int)
    }
    cuStreamCreate(out: *mut Handle, flags: c_uint) s {
        context(s)?;
        let mine = s.me().context;
        let new = s.new_stream(mine, flags & 1 == 0);
        give(out, new)
    }
    cuStreamDestroy_v2(h: Handle) s {
        if is_default(h) { return Err(400) }
        if let Some(capture) = s.streams.get(&h).ok_or(400u32)?.capture { s.invalidate(capture) }
        s.streams.remove(&h);
        Ok(())
    }
    cuStreamSynchronize(h: Handle) s { context(s)?; s.may_wait(stream(s, h))?; s.wait_stream(stream(s, h)) }
    cuStreamQuery(h: Handle) s {
        context(s)?;
        s.may_wait(stream(s, h))?;
        let (clock, after) = s.stream_after(stream(s, h));
        if !s.are_done(&after) { return Err(600) }
        s.has_waited(&clock);
        Ok(())
    }
    cuStreamWaitEvent(h: Handle, event: Handle, flags: c_uint) s { context(s)?; s.wait_event(stream(s, h), event) }
    cuStreamGetCtx(h: Handle, out: *mut Handle) s {
        let of = s.streams.get(&stream(s, h)).ok_or(400u32)?;
        let (context, capture) = (of.context, of.capture);
        if let Some(capture) = capture { s.valid(capture)? }
        give(out, context)
    }
    cuStreamIsCapturing(h: Handle, out: *mut c_int) s {
        if is_default(stream(s, h)) { context(s)? }
        let status = s.capture_status(stream(s, h))?;
        give(out, status)
    }
    cuStreamGetCaptureInfo_v2(h: Handle, status: *mut c_int, id: *mut c_ulonglong, graph: *mut c_void, nodes: *mut c_void, count: *mut c_void) s {
        let now = s.capture_status(stream(s, h))?;
        give(status, now)?;
        give(id, s.streams[&stream(s, h)].capture.unwrap_or(0))
    }
    cuStreamBeginCapture_v2(h: Handle, mode: c_int) s { s.begin_capture(stream(s, h), mode) }
    cuStreamEndCapture(h: Handle, out: *mut Handle) s {
        match s.end_capture(stream(s, h)) {
            Ok(graph) => give(out, graph),
            Err(e) => {
                if let Some(id) = s.streams.get(&stream(s, h)).and_then(|s| s.capture).filter(|_| e == 901) {
                    s.captures.remove(&id);
                    s.streams.values_mut().filter(|s| s.capture == Some(id)).for_each(|s| s.capture = None);
                }
                give(out, 0)?;
                Err(e)
            }
        }
    }
    cuThreadExchangeStreamCaptureMode(mode: *mut c_int) s {
        // SAFETY: the caller gives a mode, and room for the one before.
        let new = unsafe { *mode };
        let old = core::mem::replace(&mut s.me().mode, new);
        give(mode, old)
    }
    cuGraphInstantiateWithFlags(out: *mut Handle, graph: Handle, flags: c_ulonglong) s {
        let e = s.instantiate(graph)?;
        s.made_here(e);
        give(out, e)
    }
    cuGraphLaunch(e: Handle, h: Handle) s { context(s)?; s.launch_graph(e, stream(s, h)) }
    cuGraphExecDestroy(e: Handle) s { s.executables.remove(&e).map(|_| ()).ok_or(400) }
    cuGraphDestroy(graph: Handle) s { s.graphs.remove(&graph).map(|_| ()).ok_or(400) }
    cuEventCreate(out: *mut Handle, flags: c_uint) s {
        context(s)?;
        let event = s.handle();
        s.events.insert(event, Default::default());
        s.made_here(event);
        give(out, event)
    }
    cuEventRecord(event: Handle, h: Handle) s { context(s)?; s.record_event(event, stream(s, h)) }
    cuEventSynchronize(event: Handle) s { s.may_wait_for_event(event)?; s.wait_for_event(event) }
    cuEventQuery(event: Handle) s {
        s.may_wait_for_event(event)?;
        let (clock, after) = s.event_after(event);
        if !s.are_done(&after) { return Err(600) }
        s.has_waited(&clock);
        Ok(())
    }
    cuEventElapsedTime(out: *mut f32, a: Handle, b: Handle) s { let ms = s.seconds(b) - s.seconds(a); give(out, ms.max(1e-3)) }
    cuEventDestroy_v2(event: Handle) s { s.events.remove(&event).map(|_| ()).ok_or(400) }
    cuLibraryLoadData(out: *mut Handle, data: *const c_void, options: *const c_uint, values: *const *mut c_void, n: c_uint, lo: *mut c_void, lv: *mut c_void, ln: c_uint) s {
        // SAFETY: the caller gives PTX, which ends with a null, or assembled code, which the model does not take.
        let text = unsafe { CStr::from_ptr(data.cast()) }.to_string_lossy().into_owned();
        if let Some(line) = text.lines().position(|l| l.contains("ld.nowhere")) {
            // SAFETY: the caller gives as many options and values as it says.
            unsafe { say(options, values, n, &format!("line {}: unknown modifier .nowhere", line + 1)) };
            return Err(218);
        }
        if !text.contains(".entry") { return Err(218) }
        let library = s.handle();
        s.libraries.insert(library, text);
        give(out, library)
    }
    cuModuleLoadData(out: *mut Handle, data: *const c_void) s {
        context(s)?;
        // SAFETY: as of a library.
        let text = unsafe { CStr::from_ptr(data.cast()) }.to_string_lossy().into_owned();
        if !text.contains(".entry") { return Err(218) }
        let library = s.handle();
        s.libraries.insert(library, text);
        give(out, library)
    }
    cuModuleGetFunction(out: *mut Handle, module: Handle, name: *const c_char) s {
        let kernel = kernel(s, module, name)?;
        give(out, s.function_here(kernel))
    }
    cuLibraryUnload(library: Handle) s { s.unsafe_call()?; s.libraries.remove(&library).map(|_| ()).ok_or(400) }
    cuLibraryGetGlobal(out: *mut u64, bytes: *mut usize, library: Handle, name: *const c_char) s {
        context(s)?;
        let (address, size) = variable(s, library, name)?;
        give(bytes, size)?;
        give(out, address)
    }
    cuLibraryGetKernel(out: *mut Handle, library: Handle, name: *const c_char) s { give(out, kernel(s, library, name)?) }
    cuKernelGetFunction(out: *mut Handle, kernel: Handle) s { context(s)?; give(out, s.function_here(kernel)) }
    cuKernelGetAttribute(v: *mut c_int, what: c_int, kernel: Handle, d: c_int) s { give(v, match what { 0 => 1024, 4 => 16, _ => 0 }) }
    cuKernelSetAttribute(what: c_int, v: c_int, kernel: Handle, d: c_int) s {
        if what == 8 { s.kernels.get_mut(&kernel).ok_or(400u32)?.opted_in = v as u32 }
        Ok(())
    }
    cuLaunchKernel(f: Handle, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, h: Handle, params: *mut *mut c_void, extra: *mut *mut c_void) s {
        context(s)?;
        let asked = Asked {
            function: f, grid: [gx, gy, gz], block: [bx, by, bz], shared, stream: stream(s, h), programmatic: false,
        };
        // SAFETY: the caller gives a pointer to each parameter.
        unsafe { s.launch(&asked, params.cast_const().cast()) }
    }
    cuLaunchKernelEx(config: *const c_void, f: Handle, params: *mut *mut c_void, extra: *mut *mut c_void) s {
        context(s)?;
        // SAFETY: the caller gives a configuration as cuda.h has it.
        let c = unsafe { &*config.cast::<LaunchConfig>() };
        let programmatic = programmatic(s, c)?;
        let asked =
            Asked { function: f, grid: c.grid, block: c.block, shared: c.shared, stream: stream(s, c.stream), programmatic };
        // SAFETY: the caller gives a pointer to each parameter.
        unsafe { s.launch(&asked, params.cast_const().cast()) }
    }
    cuTensorMapEncodeTiled(map: *mut c_void, data_type: u32, rank: u32, base: *mut c_void, dims: *const u64, strides: *const u64, boxed: *const u32, steps: *const u32, interleave: u32, swizzle: u32, promotion: u32, fill: u32) s {
        if !(1..=5).contains(&rank) { return Err(1) }
        let rank = rank as usize;
        // SAFETY: the caller gives arrays as long as the rank says, and the strides of all dimensions but the first.
        let (dims, strides, boxed, steps) = unsafe {
            (slice(dims, rank)?, slice(strides, rank - 1)?, slice(boxed, rank)?, slice(steps, rank)?)
        };
        let asked = tensor_map::Asked {
            map: map as usize, data_type, base: base as u64, dims, strides, boxed, steps, interleave, swizzle, promotion, fill,
        };
        give(map.cast(), asked.encode()?)
    }
}

/// An array of a caller. `1` for a null pointer to some elements.
///
/// # Safety
/// `p` is null or points to `n` elements, which stay as they are for as long as the result is used.
unsafe fn slice<'a, T>(p: *const T, n: usize) -> Result<&'a [T], Code> {
    match (n, p.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(1),
        // SAFETY: the caller's contract.
        _ => Ok(unsafe { core::slice::from_raw_parts(p, n) }),
    }
}

/// A kernel of a library, where the library holds it and a program has made it known.
fn kernel(s: &mut State, library: Handle, name: *const c_char) -> Result<Handle, Code> {
    // SAFETY: a name ends with a null.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let signature = ptx::signature(s.libraries.get(&library).ok_or(400u32)?, &name).ok_or(500u32)?;
    let kernel = *s.known.get(name.as_str()).ok_or(500u32)?;
    let handle = s.handle();
    s.kernels.insert(handle, Loaded { kernel, signature, opted_in: 0 });
    Ok(handle)
}

/// The address and the bytes of a variable of a library in the current context. Initial values are not modeled.
fn variable(s: &mut State, library: Handle, name: *const c_char) -> Result<(u64, usize), Code> {
    // SAFETY: a name ends with a null.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let bytes = ptx::variable(s.libraries.get(&library).ok_or(400u32)?, &name).ok_or(500u32)?;
    let key = (s.current_context(), library, name);
    if let Some(&address) = s.variables.get(&key) {
        return Ok((address, bytes));
    }
    let address = s.new_block(bytes as u64, false, false, "a variable of a library").ok_or(2u32)?;
    s.variables.insert(key, address);
    Ok((address, bytes))
}

/// Writes a message of the compiler where the caller asks for it.
///
/// # Safety
/// `options` and `values` have `n` elements. A value of a log's buffer points to as many bytes as its size says.
unsafe fn say(options: *const c_uint, values: *const *mut c_void, n: c_uint, text: &str) {
    const ERROR_LOG: c_uint = 5;
    const ERROR_LOG_BYTES: c_uint = 6;
    let (mut log, mut room) = (core::ptr::null_mut::<u8>(), 0);
    for i in 0..n as usize {
        // SAFETY: the caller's contract.
        match unsafe { (*options.add(i), *values.add(i)) } {
            (ERROR_LOG, at) => log = at.cast(),
            (ERROR_LOG_BYTES, bytes) => room = bytes as usize,
            _ => {}
        }
    }
    if !log.is_null() && room > text.len() {
        // SAFETY: the log has room for the text and a null.
        unsafe {
            log.copy_from_nonoverlapping(text.as_ptr(), text.len());
            log.add(text.len()).write(0);
        }
    }
}
