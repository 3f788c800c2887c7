//! Contexts that share a device, and contexts that end.

use super::{call, over};
use tilewright_model_driver::Model;
use tilewright_runtime::{Buffer, DeviceId, Error, ExternalSlice, Runtime, Stream};

fn context_of(device_id: DeviceId) -> u64 {
    let DeviceId::Cuda { device: 0, context } = device_id else { panic!("{device_id:?}") };
    context
}

#[test]
fn a_buffer_is_taken_in_another_context_of_its_device() {
    let (model, primary, k, _here) = over(1);
    let (x, mut y) = (primary.zeros::<f32>(9).unwrap(), primary.zeros::<f32>(9).unwrap());
    let own = model.new_context();
    let other = Runtime::current().unwrap();
    let mut there = other.zeros::<f32>(9).unwrap();
    let (a, b) = (context_of(x.device()), context_of(there.device()));
    assert_ne!(a, b);
    let launches = || model.calls().get("cuLaunchKernel").copied().unwrap_or(0);
    let before = launches();
    let e = other.launch(call(k, &x, &mut there)).unwrap_err();
    assert!(matches!(e, Error::DeviceMismatch { param: "x", .. }), "{e}");
    let said = e.to_string();
    assert!(said.contains(&format!("(context {a})")) && said.contains(&format!("(context {b})")), "{said}");
    assert!(matches!(primary.launch(call(k, &there, &mut y)), Err(Error::DeviceMismatch { .. })));
    // Scratch and streams, too.
    let s = Stream::new(&other).unwrap();
    let scratch = s.scratch::<f32>(9).unwrap();
    assert!(matches!(primary.launch(super::hand_made::call(k, &scratch, &mut y)), Err(Error::DeviceMismatch { .. })));
    assert!(matches!(primary.launch_on(&s, call(k, &x, &mut y)), Err(Error::StreamMismatch { what: "stream" })));
    assert!(matches!(y.copy_from_buffer(&there), Err(Error::StreamMismatch { what: "buffer" })));
    assert_eq!(launches(), before);
    // Of one context two runtimes take it.
    Runtime::cuda(0).unwrap().launch(call(k, &x, &mut y)).unwrap();
    // SAFETY: nine elements of a buffer.
    let foreign = unsafe { ExternalSlice::from_raw(&primary, x.addr() as *const f32, 9) }.unwrap();
    primary.launch(super::hand_made::call(k, &foreign, &mut y)).unwrap();
    assert_eq!(y.to_vec().unwrap(), [1.0; 9]);
    drop((scratch, s, there, other));
    model.destroy_context(own);
}

/// How many pools there are: one for each runtime's context.
#[test]
fn runtimes_of_destroyed_contexts_are_kept() {
    let (model, primary, _, _here) = over(2);
    for _ in 0..5 {
        let own = model.new_context();
        let rt = Runtime::current().unwrap();
        assert!(rt.zeros::<f32>(3).unwrap().to_vec().is_ok());
        drop(rt);
        model.destroy_context(own);
        assert!(matches!(Runtime::current(), Err(Error::ContextDestroyed { .. })));
        assert!(model.counts().pools <= 2, "{:?}", model.counts());
    }
    drop(primary);
    let _own = model.new_context();
    let rt = Runtime::current().unwrap();
    assert_eq!(model.counts().pools, 1, "that of the context that lives");
    drop(rt);
}

#[test]
fn work_in_a_destroyed_context_names_no_cause() {
    let (model, _primary, k, _here) = over(3);
    let own = model.new_context();
    let rt = Runtime::current().unwrap();
    let (x, mut y) = (rt.zeros::<f32>(3).unwrap(), rt.zeros::<f32>(3).unwrap());
    model.destroy_context(own);
    for e in [
        rt.launch(call(k, &x, &mut y)).unwrap_err(),
        x.to_vec().unwrap_err(),
        rt.zeros::<f32>(3).unwrap_err(),
        Stream::new(&rt).map(|_| ()).unwrap_err(),
        rt.synchronize().unwrap_err(),
    ] {
        assert!(matches!(e, Error::ContextDestroyed { .. }) && !e.is_fatal(), "{e}");
        assert!(e.to_string().contains("make a new runtime"), "{e}");
    }
}

#[test]
fn a_reset_primary_context_is_taken_for_the_new_one() {
    let (model, old, k, _here) = over(4);
    let x = old.zeros::<f32>(3).unwrap();
    model.reset_primary();
    let new = Runtime::cuda(0).unwrap();
    let mut y = new.zeros::<f32>(3).unwrap();
    assert_ne!(x.device(), y.device());
    assert!(matches!(new.launch(call(k, &x, &mut y)), Err(Error::DeviceMismatch { .. })));
    let x = Buffer::from_slice(&new, &[1.0f32; 3]).unwrap();
    new.launch(call(k, &x, &mut y)).unwrap();
    assert_eq!(y.to_vec().unwrap(), [2.0; 3]);
    // Without a current context, too, where the runtime was found before.
    drop((x, y, new));
    let set = Model::symbol("cuCtxSetCurrent").unwrap();
    // SAFETY: the signature is that of cuda.h.
    let set = unsafe { core::mem::transmute::<*const core::ffi::c_void, unsafe extern "C" fn(usize) -> u32>(set) };
    let current = || {
        // SAFETY: no context is a context.
        assert_eq!(unsafe { set(0) }, 0);
        Runtime::current().unwrap()
    };
    let first = context_of(current().device().id);
    assert_eq!(first, context_of(current().device().id));
    model.reset_primary();
    let second = current();
    assert_ne!(first, context_of(second.device().id));
    assert!(second.zeros::<f32>(3).unwrap().to_vec().is_ok());
}
