//! The CUDA backend step by step, on a GPU: `cargo run --release -p tilewright-runtime --example gpu_smoke`. Reports
//! each step and panics at the first wrong result.

pub mod hand_made;

use hand_made::boxes::{self, add_boxes};
use hand_made::{add_one, add_pdl, add_pdl_but_old, broken, call, elsewhere, without_bundle};
use std::time::Duration;
use tilewright_runtime::tuning::{Autotune, Outcome, Source};
use tilewright_runtime::{
    Buffer, DeviceId, Error, Event, ExternalSlice, ExternalSliceMut, LaunchOptions, Pdl, Runtime, Stream,
};

/// In turn, of each kernel, of which one may.
pub const EARLY_LAUNCHES: usize = 20;

fn step(what: &str) {
    println!("-- {what}");
}

pub fn main() -> tilewright_runtime::Result<()> {
    let rt = Runtime::cuda(0)?;
    println!("{:#?}", rt.device());
    rt.set_cache_dir(None);
    rt.set_autotune(Autotune::Off);
    let k = add_one();
    let n = 1_000_003;
    let x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32).collect();
    let want: Vec<f32> = x.iter().map(|v| v + 1.0).collect();

    step("copies, zeros, a launch");
    let bx = Buffer::from_slice(&rt, &x)?;
    let mut by = Buffer::<f32>::zeros(&rt, n)?;
    assert_eq!(bx.to_vec()?, x);
    assert!(by.to_vec()?.iter().all(|v| *v == 0.0));
    rt.launch(call(k, &bx, &mut by))?;
    assert_eq!(by.to_vec()?, want);

    step("lengths from 0");
    for len in [0, 1, 63, 64, 65] {
        let mut out = Buffer::from_slice(&rt, &vec![-1.0f32; 65])?;
        rt.launch(call(k, bx.slice(..len)?, out.slice_mut(..len)?))?;
        let got = out.to_vec()?;
        assert_eq!(got[..len], want[..len]);
        assert!(got[len..].iter().all(|v| *v == -1.0));
    }

    step("a prepared launcher");
    by.fill_zero()?;
    let mut l = rt.prepare(call(k, &bx, &mut by))?;
    println!("   {:?} on {:?}", l.config(), l.grid());
    l.run()?;
    l.run()?;
    drop(l);
    assert_eq!(by.to_vec()?, want);

    step("errors, and the context usable after each");
    let errors: Vec<(&str, Error)> = vec![
        ("alias", {
            let p = bx.addr() as *mut f32;
            // SAFETY: parts of `bx`, which lives on; the launch is refused.
            let (a, mut b) = unsafe {
                (ExternalSlice::from_raw(&rt, p, 64)?, ExternalSliceMut::from_raw(&rt, p.wrapping_add(32), 64)?)
            };
            rt.launch(call(k, &a, &mut b)).unwrap_err()
        }),
        ("host memory", rt.launch(call(k, &x, &mut by)).unwrap_err()),
        ("no bundle", rt.launch(call(without_bundle(), &bx, &mut by)).unwrap_err()),
        ("no target", rt.launch(call(elsewhere(), &bx, &mut by)).unwrap_err()),
        ("PTX that does not compile", rt.launch(call(broken(), &bx, &mut by)).unwrap_err()),
        ("too many threads", pinned(&rt, k, &bx, &mut by, "THREADS=4096").unwrap_err()),
        ("too much shared memory", pinned(&rt, k, &bx, &mut by, "SHARED=1M").unwrap_err()),
        ("out of memory", Buffer::<u8>::alloc(&rt, 1 << 45).unwrap_err()),
        // SAFETY: it is refused.
        ("a host address", unsafe { ExternalSlice::from_raw(&rt, x.as_ptr(), 1) }.unwrap_err()),
        ("a device that is not there", Runtime::cuda(1000).unwrap_err()),
    ];
    for (what, e) in &errors {
        println!("   {what}: {e}");
        assert!(!e.is_fatal());
    }
    assert!(matches!(errors[0].1, Error::Alias { .. }) && matches!(errors[1].1, Error::DeviceMismatch { .. }));
    assert!(matches!(errors[2].1, Error::MissingBundle { .. }) && matches!(errors[3].1, Error::NoTarget { .. }));
    assert!(matches!(errors[4].1, Error::BadBundle { .. }) && matches!(errors[5].1, Error::CannotLaunch { .. }));
    assert!(matches!(errors[6].1, Error::CannotLaunch { .. }) && matches!(errors[7].1, Error::OutOfMemory { .. }));
    assert!(matches!(errors[8].1, Error::ExternalMemory { .. }) && matches!(errors[9].1, Error::NoDevice { .. }));
    by.fill_zero()?;
    rt.launch(call(k, &bx, &mut by))?;
    assert_eq!(by.to_vec()?, want);

    step("streams: memory freed while another stream uses it is not reused too early");
    let s = Stream::new(&rt)?;
    for _ in 0..200 {
        let mut out = rt.zeros::<f32>(n)?;
        s.wait_for(rt.stream())?;
        rt.launch_on(&s, call(k, &bx, &mut out))?;
        s.wait_for(rt.stream())?;
        rt.launch_on(&s, call(k, &out, &mut by))?;
        drop(out);
        let _reuses = Buffer::from_slice(&rt, &x)?;
    }
    assert!(by.to_vec_on(&s)?.iter().zip(&x).all(|(a, b)| *a == b + 2.0));

    step("graph capture and replay");
    let (mut a, mut b) = (rt.zeros::<f32>(n)?, rt.zeros::<f32>(n)?);
    s.wait_for(rt.stream())?;
    let graph = s.capture(|s| {
        rt.launch_on(s, call(k, &bx, &mut a))?;
        rt.launch_on(s, call(k, &a, &mut b))?;
        let mut scratch = s.scratch::<f32>(n)?;
        rt.launch_on(s, call(k, &b, &mut scratch))?;
        rt.launch_on(s, call(k, &scratch, &mut a))
    })?;
    assert!(b.to_vec()?.iter().all(|v| *v == 0.0), "a capture runs nothing");
    for _ in 0..3 {
        // SAFETY: the buffers live, and all work on them is on this stream.
        unsafe { graph.replay(&s)? };
    }
    assert!(a.to_vec_on(&s)?.iter().zip(&x).all(|(a, b)| *a == b + 4.0));
    let failed = s.capture(|s| rt.launch_on(s, call(without_bundle(), &bx, &mut a)));
    assert!(matches!(failed, Err(Error::MissingBundle { .. })));
    let failed = s.capture(|s| s.synchronize());
    println!("   a wait in a capture: {}", failed.err().expect("an error"));
    rt.launch_on(&s, call(k, &bx, &mut a))?;
    assert_eq!(a.to_vec_on(&s)?, want);

    step("events");
    let (t0, t1) = (Event::new(&rt)?, Event::new(&rt)?);
    t0.record(&s)?;
    rt.launch_on(&s, call(k, &bx, &mut a))?;
    t1.record(&s)?;
    let took = t1.since(&t0)?;
    println!("   {took:?}");
    assert!(took > Duration::ZERO && took < Duration::from_millis(100));

    step("scratch is reused without the driver");
    let first = s.scratch::<f32>(1000)?.raw().addr();
    assert_eq!(s.scratch::<f32>(1000)?.raw().addr(), first);
    // SAFETY: it is only read.
    let ticket = unsafe { s.zeroed_scratch::<f32>(100) }?;
    let mut one = rt.zeros::<f32>(100)?;
    rt.launch_on(&s, call(k, &ticket, &mut one))?;
    assert_eq!(one.to_vec_on(&s)?, [1.0; 100]);

    if rt.device().compute_capability == Some((9, 0)) {
        step("a tensor map");
        let boxes = add_boxes();
        let (rows, cols, pitch) = (101, 75, 80);
        let view = || Ok::<_, Error>(bx.slice(..)?.strided([rows, cols], [pitch, 1])?);
        let want: Vec<f32> = (0..rows * cols).map(|i| x[i / cols * pitch + i % cols] + 1.0).collect();
        let mut packed = rt.zeros::<f32>(rows * cols)?;
        rt.launch(boxes::call(boxes, view()?, &mut packed))?;
        assert_eq!(packed.to_vec()?, want);
        packed.fill_zero()?;
        let mut l = rt.prepare(boxes::call(boxes, view()?, &mut packed))?;
        l.run()?;
        l.run()?;
        drop(l);
        assert_eq!(packed.to_vec()?, want);
        packed.fill_zero()?;
        s.wait_for(rt.stream())?;
        let graph = s.capture(|s| rt.launch_on(s, boxes::call(boxes, view()?, &mut packed)))?;
        // SAFETY: the buffers live, and all work on them is on this stream.
        unsafe { graph.replay(&s)? };
        assert_eq!(packed.to_vec_on(&s)?, want);
        let odd = bx.slice(..)?.strided([8, 8], [81, 1])?;
        let e = rt.launch(boxes::call(boxes, odd, &mut packed)).unwrap_err();
        println!("   {e}");
        assert!(matches!(e, Error::CannotLaunch { .. }));
    }

    step("tuning");
    rt.set_autotune(Autotune::On);
    let small = 5000;
    let captured = s.capture(|s| rt.launch_on(s, call(k, bx.slice(..small)?, a.slice_mut(..small)?)))?;
    assert_eq!(
        rt.configuration(&call(k, bx.slice(..small)?, a.slice_mut(..small)?))?.1,
        Source::Default,
        "not while capturing"
    );
    drop(captured);
    rt.launch_on(&s, call(k, bx.slice(..small)?, a.slice_mut(..small)?))?;
    assert_eq!(rt.configuration(&call(k, bx.slice(..small)?, a.slice_mut(..small)?))?.1, Source::Tuned);
    s.synchronize()?;
    a.fill_zero()?;
    rt.launch(call(k, &bx, &mut a))?;
    assert_eq!(a.to_vec()?, want);
    println!("   a launch chose {:?}", rt.configuration(&call(k, &bx, &mut a))?);
    assert_eq!(rt.configuration(&call(k, &bx, &mut a))?.1, Source::Tuned);
    a.fill_zero()?;
    let report = rt.tune(rt.stream(), call(k, &bx, &mut a))?;
    println!("   {report:#?}");
    assert!(a.to_vec()?.iter().all(|v| *v == 0.0), "outputs are restored");
    assert!(
        matches!(report.candidates[2].outcome, Outcome::Pruned(_))
            && matches!(report.candidates[3].outcome, Outcome::Pruned(_))
    );
    assert!(matches!(report.candidates[4].outcome, Outcome::Wrong(_)));

    step("foreign memory and the current context");
    // SAFETY: both buffers have `n` elements and live on; nobody else uses them meanwhile.
    let (fx, mut fy) = unsafe {
        (
            ExternalSlice::from_raw(&rt, bx.addr() as *const f32, n)?,
            ExternalSliceMut::from_raw(&rt, a.addr() as *mut f32, n)?,
        )
    };
    rt.launch(call(k, &fx, &mut fy))?;
    assert_eq!(a.to_vec()?, want);
    let primary = Runtime::current()?;
    assert!(matches!(primary.device().id, DeviceId::Cuda { device: 0, .. }));
    primary.launch(call(k, &bx, &mut a))?;
    primary.synchronize()?;

    step("cudarc's memory on cudarc's stream");
    let context = cudarc::driver::CudaContext::new(0).expect("a context");
    let theirs = context.new_stream().expect("a stream");
    let cx = theirs.clone_htod(&x).expect("a copy");
    let mut cy = theirs.alloc_zeros::<f32>(n).expect("memory");
    let s = Stream::from_cudarc(&rt, &theirs)?;
    // SAFETY: the launch is on a stream made of theirs.
    let (fx, mut fy) = unsafe { (ExternalSlice::from_cudarc(&rt, &cx)?, ExternalSliceMut::from_cudarc(&rt, &mut cy)?) };
    rt.launch_on(&s, call(k, &fx, &mut fy))?;
    assert_eq!(theirs.clone_dtoh(&cy).expect("a copy"), want);

    step("launches that begin early");
    // SAFETY: the kernel waits before it reads.
    let pdl = LaunchOptions::new().pdl(unsafe { Pdl::allowed() });
    let mut bz = Buffer::<f32>::zeros(&rt, n)?;
    let kernels = if rt.device().compute_capability >= Some((9, 0)) {
        vec![add_pdl(), add_pdl_but_old()]
    } else {
        vec![add_pdl_but_old()]
    };
    for k in kernels {
        for _ in 0..EARLY_LAUNCHES {
            bz.fill_zero()?;
            rt.launch(call(k, &bx, &mut by))?;
            rt.launch_with(rt.stream(), call(k, &by, &mut bz), &pdl)?;
            assert!(bz.to_vec()?.iter().zip(&want).all(|(z, y)| *z == y + 1.0));
        }
        by.fill_zero()?;
        bz.fill_zero()?;
        s.wait_for(rt.stream())?;
        let graph = s.capture(|s| {
            rt.launch_on(s, call(k, &bx, &mut by))?;
            rt.launch_with(s, call(k, &by, &mut bz), &pdl)
        })?;
        // SAFETY: the buffers live, and all work on them is on this stream.
        unsafe { graph.replay(&s)? };
        assert!(bz.to_vec_on(&s)?.iter().zip(&want).all(|(z, y)| *z == y + 1.0));
    }

    step("several threads");
    std::thread::scope(|scope| {
        for t in 0..8usize {
            let (rt, x, want) = (&rt, &x, &want);
            scope.spawn(move || {
                let len = 1000 * (t + 1);
                for _ in 0..50 {
                    let bx = Buffer::from_slice(rt, &x[..len]).expect("memory");
                    let mut by = rt.zeros::<f32>(len).expect("memory");
                    rt.launch(call(k, &bx, &mut by)).expect("a launch");
                    assert_eq!(by.to_vec().expect("a copy"), want[..len]);
                }
            });
        }
    });

    println!("all is well");
    Ok(())
}

fn pinned(
    rt: &Runtime,
    k: &'static tilewright_runtime::KernelDesc,
    x: &Buffer<f32>,
    y: &mut Buffer<f32>,
    config: &str,
) -> tilewright_runtime::Result<()> {
    rt.launch_with(rt.stream(), call(k, x, y), &LaunchOptions::new().config(config))
}
