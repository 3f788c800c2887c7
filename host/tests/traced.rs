//! Traced code in the place of the build's own.

#[path = "../examples/hand_made/mod.rs"]
mod hand_made;

use hand_made::call;
use std::sync::{Arc, Mutex, PoisonError};
use tilewright_model_driver::Model;
use tilewright_runtime::private::{TracedLaunch, Tracer, set_tracer};
use tilewright_runtime::tilewright_core::TRACE_SYMBOL;
use tilewright_runtime::tilewright_core::bundle::{Bundle, BundleData, Compression, EntryData, ImageData};
use tilewright_runtime::tuning::Autotune;
use tilewright_runtime::{Buffer, Driver, KernelDesc, LaunchOptions, Runtime, Stream};

const BYTES: usize = 4096;

/// The first entry of a kernel, with an array for its marks.
fn traced_bundle(kernel: &KernelDesc, array: &str) -> &'static [u8] {
    let bundle = Bundle::parse(kernel.bundle.unwrap()).unwrap();
    let entry = bundle.entry("add_64").unwrap();
    let own = bundle.image_of(entry, "sm_75").unwrap().ptx().unwrap();
    let ptx = own.replace(".visible .entry", &format!("{array}\n.visible .entry"));
    let image = ImageData { target: "sm_75".into(), ptx, cubin: None, usage: None };
    let images = vec![image];
    let entry = EntryData { name: "add_64".into(), threads: 64, shared_bytes: 0, min_blocks: 1, ctas: 1, images };
    let data = BundleData { kernel: "add_one".into(), fingerprint: "traced".into(), entries: vec![entry] };
    data.to_bytes(Compression::Fast).leak()
}

struct Seen {
    bundle: &'static [u8],
    launches: Mutex<Vec<TracedLaunch>>,
}

impl Seen {
    fn new(bundle: &'static [u8]) -> Arc<Seen> {
        Arc::new(Seen { bundle, launches: Mutex::default() })
    }

    fn take(&self) -> Vec<TracedLaunch> {
        std::mem::take(&mut self.launches.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

// SAFETY: `traced_bundle` has the entry's own code with an array beside it.
unsafe impl Tracer for Seen {
    fn code(&self, entry: &str) -> Result<Option<&'static [u8]>, String> {
        Ok((entry == "add_64").then_some(self.bundle))
    }

    fn has(&self, _: &str) -> bool {
        false
    }

    fn launched(&self, launch: TracedLaunch) {
        self.launches.lock().unwrap_or_else(PoisonError::into_inner).push(launch);
    }
}

#[test]
fn a_launch_of_traced_code_is_read() {
    let array = format!(".visible .global .align 16 .b8 {TRACE_SYMBOL}[{BYTES}];");
    let model = Model::new(3);
    let _here = model.enter();
    // SAFETY: the model's functions keep to the driver's contract.
    let driver = unsafe { Driver::from_symbols(|name| Model::symbol(name).unwrap_or(core::ptr::null())) };
    let _driver = driver.unwrap().enter();
    let [k, other] = [hand_made::add_one(), hand_made::add_one()];
    model.register(k);
    let rt = Runtime::cuda(0).unwrap();
    rt.set_cache_dir(None);
    rt.set_autotune(Autotune::Off);
    let seen = Seen::new(traced_bundle(k, &array));
    set_tracer(Some(seen.clone()));
    let x = Buffer::from_slice(&rt, &[1.0f32; 100]).unwrap();
    let (mut y, mut z) = (rt.zeros::<f32>(100).unwrap(), rt.zeros::<f32>(100).unwrap());
    let first = LaunchOptions::new().config("THREADS=64");
    rt.launch_with(rt.stream(), call(k, &x, &mut y), &first).unwrap();
    assert_eq!(y.to_vec().unwrap(), [2.0; 100]);
    // It was cleared before the launch: the model's memory holds no zeros by itself.
    let launches = seen.take();
    let [launch] = &launches[..] else { panic!("{} launches", launches.len()) };
    assert_eq!((launch.kernel.as_str(), launch.config.as_str()), ("add_one", "THREADS=64"));
    assert_eq!((launch.entry.as_str(), launch.grid), ("add_64", [2, 1, 1]));
    assert_eq!((launch.array.len(), launch.array.iter().all(|b| *b == 0)), (BYTES, true));

    // On a stream, of a prepared launch, and of an entry without marks.
    let s = Stream::new(&rt).unwrap();
    s.wait_for(rt.stream()).unwrap();
    rt.launch_with(&s, call(k, &x, &mut y), &first).unwrap();
    rt.stream().wait_for(&s).unwrap();
    rt.prepare_with(rt.stream(), call(k, &x, &mut y), &first).unwrap().run().unwrap();
    assert_eq!(seen.take().len(), 2);
    rt.launch_with(rt.stream(), call(k, &x, &mut y), &LaunchOptions::new().config("THREADS=256")).unwrap();
    assert_eq!(seen.take().len(), 0);

    // The launches of a graph are not read, and run.
    s.wait_for(rt.stream()).unwrap();
    let graph = s.capture(|s| rt.launch_with(s, call(k, &x, &mut z), &first)).unwrap();
    // SAFETY: the buffers are alive.
    unsafe { graph.replay(&s) }.unwrap();
    assert_eq!((z.to_vec_on(&s).unwrap(), seen.take().len()), (vec![2.0; 100], 0));

    // A launch that fails leaves nothing, and another one can follow.
    model.fail(Some("cuLaunchKernel"), 0, 701);
    assert!(rt.launch_with(rt.stream(), call(k, &x, &mut y), &first).is_err());
    assert_eq!(seen.take().len(), 0);
    rt.launch_with(rt.stream(), call(k, &x, &mut y), &first).unwrap();
    assert_eq!(seen.take().len(), 1);

    // Code without the array is no traced code.
    set_tracer(Some(Seen::new(traced_bundle(other, ""))));
    let failed = rt.launch_with(rt.stream(), call(other, &x, &mut y), &first).unwrap_err();
    assert!(failed.to_string().contains("the array of a traced kernel"), "{failed}");

    // Without a tracer the build's own code is launched.
    set_tracer(None);
    rt.launch_with(rt.stream(), call(other, &x, &mut y), &first).unwrap();
    assert_eq!(seen.take().len(), 0);
    drop((graph, x, y, z, s, rt));
    assert_eq!(model.reports(), [""; 0]);
}
