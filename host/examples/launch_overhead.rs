//! The cost of a launch on the host, beside a bare `cuLaunchKernel` of the same kernel:
//! `cargo run --release -p tilewright-runtime --example launch_overhead`. The goal is within 1 µs.

mod hand_made;

use cudarc::driver::sys;
use hand_made::{add_one, call};
use std::time::Instant;
use tilewright_runtime::tilewright_core::bundle::Bundle;
use tilewright_runtime::tuning::Autotune;
use tilewright_runtime::{Buffer, LaunchOptions, Runtime, Stream};

const ROUNDS: usize = 41;
/// Fewer than the driver queues before it makes the caller wait.
const BATCH: usize = 512;

pub fn main() -> tilewright_runtime::Result<()> {
    let rt = Runtime::cuda(0)?;
    rt.set_cache_dir(None);
    rt.set_autotune(Autotune::Off);
    let k = add_one();
    let x = Buffer::from_slice(&rt, &[1.0f32; 64])?;
    let mut y = rt.zeros::<f32>(64)?;
    let own = Stream::new(&rt)?;
    let options = LaunchOptions::new().config("THREADS=64");

    for (name, stream) in [("default stream", rt.stream()), ("own stream", &own)] {
        let function = bare(k.bundle.expect("a bundle"), "add_64");
        let mut words = [x.addr(), 64, y.addr(), 64];
        let mut ways: Vec<(&str, Box<dyn FnMut() -> tilewright_runtime::Result<()> + '_>)> = Vec::new();
        let raw = stream.as_raw();
        ways.push((
            "bare cuLaunchKernel",
            Box::new(move || {
                let mut params = [core::ptr::null_mut(); 4];
                for (p, s) in params.iter_mut().zip(&mut words) {
                    *p = (s as *mut u64).cast();
                }
                // SAFETY: the kernel's parameters are the four argument words, of buffers that outlive the stream's
                // work.
                let code = unsafe {
                    sys::cuLaunchKernel(
                        function,
                        1,
                        1,
                        1,
                        64,
                        1,
                        1,
                        0,
                        raw.cast(),
                        params.as_mut_ptr(),
                        core::ptr::null_mut(),
                    )
                };
                assert_eq!(code, sys::CUresult::CUDA_SUCCESS);
                Ok(())
            }),
        ));
        // SAFETY: x and y outlive the launchers, and all launches are on one stream.
        let mut launcher = unsafe { rt.prepare_with(stream, call(k, &x, &mut y), &options)?.detach() };
        ways.push(("launcher.run", Box::new(move || launcher.run())));
        let (rt, x, y) = (&rt, &x, &mut y);
        ways.push(("rt.launch of a typed call", Box::new(move || rt.launch_on(stream, call(k, x, &mut *y)))));

        let mut ns = vec![Vec::new(); ways.len()];
        for round in 0..ROUNDS + 2 {
            for (w, (_, launch)) in ways.iter_mut().enumerate() {
                stream.synchronize()?;
                let start = Instant::now();
                for _ in 0..BATCH {
                    launch()?;
                }
                let each = start.elapsed().as_nanos() as f64 / BATCH as f64;
                if round >= 2 {
                    ns[w].push(each);
                }
            }
        }
        // The next stream writes the same array.
        stream.synchronize()?;
        println!("{name}:");
        let mut first = 0.0;
        for (w, (what, _)) in ways.iter().enumerate() {
            ns[w].sort_by(f64::total_cmp);
            let (median, best) = (ns[w][ROUNDS / 2], ns[w][0]);
            if w == 0 {
                first = median;
            }
            println!(
                "  {what:<28} {median:8.0} ns median, {best:8.0} ns best, {:+8.0} ns against bare",
                median - first
            );
        }
    }
    Ok(())
}

/// The kernel through the driver alone, in the context that the runtime has made.
fn bare(bundle: &[u8], entry: &str) -> sys::CUfunction {
    let bundle = Bundle::parse(bundle).expect("a bundle");
    let image = bundle.image_of(bundle.entry(entry).expect("an entry"), "sm_75").expect("an image");
    let (ptx, name) = (format!("{}\0", image.ptx().expect("PTX")), format!("{entry}\0"));
    let (mut module, mut function) = (core::ptr::null_mut(), core::ptr::null_mut());
    // SAFETY: room for each handle; an image and a name that end in zero.
    unsafe {
        let mut context = core::ptr::null_mut();
        sys::cuDevicePrimaryCtxRetain(&mut context, 0).result().expect("a context");
        sys::cuCtxSetCurrent(context).result().expect("a context");
        sys::cuModuleLoadData(&mut module, ptx.as_ptr().cast()).result().expect("a module");
        sys::cuModuleGetFunction(&mut function, module, name.as_ptr().cast()).result().expect("a function");
    }
    function
}
