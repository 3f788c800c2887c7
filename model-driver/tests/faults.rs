//! Host memory and files that fail, by way of the host's API.

use super::{call, hand_made, over};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use tilewright_runtime::tuning::Autotune;
use tilewright_runtime::{Buffer, DeviceId, Error, Runtime};

/// Fails one large allocation of the calling thread. Small ones, as of messages, end the process where they fail.
struct Failing;

/// Bytes from which an allocation is large: those of arrays.
const LARGE: usize = 1 << 20;

thread_local!(static LEFT: Cell<Option<u64>> = const { Cell::new(None) });

/// Whether this allocation is the one to fail.
fn fails(layout: Layout) -> bool {
    if layout.size() < LARGE {
        return false;
    }
    let left = LEFT.try_with(Cell::get).ok().flatten();
    let _ = LEFT.try_with(|l| l.set(left.and_then(|n| n.checked_sub(1))));
    left == Some(0)
}

// SAFETY: the system's allocator, or null, which is an answer that callers expect.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract.
        if fails(layout) { core::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract.
        if fails(layout) { core::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(p, layout) }
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let new = Layout::from_size_align(size, layout.align()).unwrap_or(layout);
        // SAFETY: the caller's contract.
        if fails(new) { core::ptr::null_mut() } else { unsafe { System.realloc(p, layout, size) } }
    }
}

#[global_allocator]
static FAILING: Failing = Failing;

/// Lets each large allocation of `work` fail in turn. It gives a typed error, and the same work succeeds behind it.
/// Returns how many failed.
pub fn each_large_allocation(what: &str, mut work: impl FnMut() -> tilewright_runtime::Result<()>) -> u64 {
    for n in 0.. {
        LEFT.set(Some(n));
        let done = work();
        let came = LEFT.take().is_none();
        match (&done, came) {
            (Ok(()), false) => return n,
            (Err(Error::OutOfMemory { device: DeviceId::Host, bytes, .. }), true) if *bytes >= LARGE as u64 / 2 => {}
            _ => panic!("{what}, allocation {n}, which {}: {done:?}", if came { "failed" } else { "did not come" }),
        }
        work().unwrap_or_else(|e| panic!("{what}, after allocation {n} failed: {e}"));
    }
    unreachable!()
}

const LEN: usize = LARGE / 4 + 7;

/// Buffers, copies, scratch and launches.
fn arrays(rt: &Runtime, k: &'static tilewright_runtime::KernelDesc, data: &[f32]) -> tilewright_runtime::Result<()> {
    let (x, mut y) = (Buffer::from_slice(rt, data)?, rt.zeros::<f32>(LEN)?);
    let mut z = rt.alloc::<f32>(LEN)?;
    rt.launch(call(k, &x, &mut y))?;
    let mut scratch = rt.stream().scratch::<f32>(LEN)?;
    rt.launch(hand_made::call(k, &y, &mut scratch))?;
    rt.launch(hand_made::call(k, &scratch, &mut z))?;
    drop(scratch);
    // SAFETY: it is not used.
    drop(unsafe { rt.stream().zeroed_scratch::<f32>(LEN) }?);
    y.copy_from_buffer(&z)?;
    let read = y.to_vec()?;
    assert!(read.iter().zip(data).all(|(y, x)| *y == x + 3.0));
    Ok(())
}

#[test]
fn host_memory_that_runs_out_is_an_error() {
    let data = vec![1.5f32; LEN];
    let k = hand_made::add_one();
    // Three buffers, two kinds of scratch, and the host memory of a read.
    assert_eq!(each_large_allocation("on the CPU", || arrays(&Runtime::cpu(), k, &data)), 6);
    // Scratch is kept: the second time there is less to allocate.
    let rt = Runtime::cpu();
    arrays(&rt, k, &data).unwrap();
    assert_eq!(each_large_allocation("on the CPU, warm", || arrays(&rt, k, &data)), 4);
}

/// Over the driver only the memory of reads is on the host.
#[test]
fn host_memory_that_runs_out_is_an_error_beside_a_device() {
    let (model, rt, k, _here) = over(30);
    let data = vec![1.5f32; LEN];
    let x = Buffer::from_slice(&rt, &data).unwrap();
    let mut y = rt.zeros::<f32>(LEN).unwrap();
    rt.launch(call(k, &x, &mut y)).unwrap();
    rt.synchronize().unwrap();
    let read = || y.to_vec().map(|v| assert!(v.iter().all(|v| *v == 2.5)));
    assert_eq!(each_large_allocation("reading", read), 1);
    drop((x, y, rt));
    assert_eq!((model.reports(), model.counts().blocks), (vec![], 0));
}

/// Every operation of the conformance suite on the CPU: its arrays, its results and its scratch fail in turn.
#[test]
fn host_memory_that_runs_out_in_an_operation_is_an_error() {
    use tilewright_conformance::{OPERATIONS, Scope, Setup};
    use tilewright_ops::ExecOptions;
    let rt = Runtime::cpu();
    rt.set_autotune(Autotune::Off);
    let mut failed = 0;
    for op in OPERATIONS {
        // The first size that is large enough for an array to be a large allocation, else the largest.
        let sizes = op.sizes(Scope::Few);
        let large = |s: &&Vec<u64>| s.iter().product::<u64>() >= LARGE as u64 / 4;
        let Some(size) = sizes.iter().find(large).or(sizes.last()) else { continue };
        let dtype = op.dtypes[0];
        let what = format!("{} {dtype:?} {size:?}", op.name);
        let mut problem = op.prepare(&rt, &Setup::plain(dtype, size, 1)).unwrap();
        failed += each_large_allocation(&what, || problem.launch(&ExecOptions::new(&rt)));
    }
    println!("{failed} allocations of operations failed");
}

/// A tuning result that cannot be written whole is not written, and the launch that tuned succeeds.
#[cfg(target_os = "linux")]
mod files {
    use super::*;
    use std::process::Command;

    #[test]
    fn results_that_cannot_be_written_are_not_half_written() {
        let out = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "faults::files::at_any_byte", "--ignored", "--nocapture"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success() && text.contains("1 passed"), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
    }

    /// The longest file that this process may write from here on; none for as long as it might before.
    fn limit_files(bytes: Option<u64>) {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let maximum = getrlimit(Resource::Fsize).maximum;
        setrlimit(Resource::Fsize, Rlimit { current: bytes.or(maximum), maximum }).unwrap();
    }

    fn file_of_results(dir: &std::path::Path) -> Option<Vec<u8>> {
        let devices = std::fs::read_dir(dir.join("tune")).ok()?;
        let files = devices.flat_map(|d| std::fs::read_dir(d.unwrap().path()).unwrap()).map(|f| f.unwrap().path());
        let (results, others): (Vec<_>, Vec<_>) = files.partition(|f| f.extension().is_some_and(|e| e == "json"));
        assert!(others.iter().all(|f| f.ends_with("lock")), "{others:?}");
        results.first().map(|f| std::fs::read(f).unwrap())
    }

    #[test]
    #[ignore = "limits its process"]
    fn at_any_byte() {
        // SAFETY: a write beyond the limit then gives an error, not a signal.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        let dir = std::env::temp_dir().join(format!("tile-host-faults-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let mut whole = 0;
        for bytes in (0..).step_by(37) {
            let (model, rt, k, _here) = over(bytes);
            rt.set_cache_dir(Some(dir.clone()));
            rt.set_autotune(Autotune::On);
            let (x, mut y) = (rt.zeros::<f32>(300).unwrap(), rt.zeros::<f32>(300).unwrap());
            limit_files(Some(bytes));
            let tuned = rt.tune(rt.stream(), call(k, &x, &mut y));
            limit_files(None);
            tuned.unwrap_or_else(|e| panic!("with {bytes} bytes: {e}"));
            assert_eq!(model.reports(), [""; 0]);
            match file_of_results(&dir) {
                None => assert!(bytes < 4096, "a file of {bytes} bytes is long enough"),
                Some(text) => {
                    serde_json::from_slice::<serde_json::Value>(&text).expect("a whole file");
                    whole = text.len() as u64;
                    assert!(whole <= bytes);
                    break;
                }
            }
        }
        assert!(whole > 100, "{whole} bytes");
        std::fs::remove_dir_all(dir).unwrap();
    }
}
