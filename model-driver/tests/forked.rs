//! Runtimes in a process that was forked: the CPU works, CUDA is an error before the driver is called.

use super::{hand_made, over};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tilewright_runtime::{Buffer, Error, Event, Runtime, Stream, cuda_status};

/// Runs `f` in a child, which must be done within 20 seconds.
fn in_a_child(f: impl FnOnce() -> bool) {
    // SAFETY: the child calls `f` and leaves.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let done = catch_unwind(AssertUnwindSafe(f)).unwrap_or(false);
        // SAFETY: nothing of the test's process is run in the child after this.
        unsafe { libc::_exit(if done { 0 } else { 1 }) };
    }
    assert!(child > 0, "no child");
    let (start, mut status) = (Instant::now(), -1);
    // SAFETY: a child of this process, and room for its status.
    while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
        if start.elapsed() > Duration::from_secs(20) {
            // SAFETY: the child was not waited for yet.
            unsafe { (libc::kill(child, libc::SIGKILL), libc::waitpid(child, &mut status, 0)) };
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(status, 0, "the child's status");
}

fn add_one(rt: &Runtime, n: usize) -> bool {
    let x = Buffer::from_slice(rt, &vec![1.0f32; n]).unwrap();
    let mut y = rt.zeros::<f32>(n).unwrap();
    let mut scratch = rt.stream().scratch::<f32>(n).unwrap();
    rt.launch(hand_made::call(hand_made::add_one(), &x, &mut scratch)).unwrap();
    rt.launch(hand_made::call(hand_made::add_one(), &scratch, &mut y)).unwrap();
    y.to_vec().unwrap().iter().all(|v| *v == 3.0)
}

/// Other threads use the runtime meanwhile, and hold its locks.
#[test]
fn a_forked_child_hangs_in_its_parents_cpu_runtime() {
    let (rt, done) = (Runtime::cpu(), AtomicBool::new(false));
    rt.set_cache_dir(None);
    assert!(add_one(&rt, 1 << 20));
    std::thread::scope(|s| {
        for t in 0..3 {
            let (rt, done) = (&rt, &done);
            s.spawn(move || {
                for n in (1..).take_while(|_| !done.load(Relaxed)) {
                    rt.set_cache_dir(None);
                    assert!(add_one(rt, n % 1000 * t + 1));
                }
            });
        }
        let all = catch_unwind(AssertUnwindSafe(|| {
            for n in 0..40 {
                in_a_child(|| add_one(&rt, 5000 * n + 1));
            }
            in_a_child(|| add_one(&rt, 1 << 20) && add_one(&Runtime::cpu(), 1 << 20));
        }));
        done.store(true, Relaxed);
        assert!(all.is_ok());
    });
}

#[test]
fn a_forked_child_calls_the_driver_of_its_parent() {
    let (model, rt, k, _here) = over(7);
    let x = rt.zeros::<f32>(9).unwrap();
    let mut y = rt.zeros::<f32>(9).unwrap();
    let (s, event) = (Stream::new(&rt).unwrap(), Event::new(&rt).unwrap());
    drop(s.scratch::<f32>(9).unwrap());
    event.record(&s).unwrap();
    rt.launch_on(&s, hand_made::call(k, &x, &mut y)).unwrap();
    let graph = s.capture(|s| rt.launch_on(s, hand_made::call(k, &x, &mut y))).unwrap();
    let before = model.calls();
    in_a_child(|| {
        let forked = |e: tilewright_runtime::Result<()>| matches!(e, Err(Error::Forked));
        let all = [
            forked(rt.launch(hand_made::call(k, &x, &mut y))),
            forked(rt.launch_on(&s, hand_made::call(k, &x, &mut y))),
            forked(rt.prepare(hand_made::call(k, &x, &mut y)).map(drop)),
            // SAFETY: the buffers are alive.
            forked(unsafe { graph.replay(&s) }),
            forked(rt.zeros::<f32>(4).map(drop)),
            forked(y.fill_zero()),
            forked(y.copy_from(&[1.0; 9])),
            forked(x.to_vec().map(drop)),
            forked(x.to_vec_on(&s).map(drop)),
            forked(s.synchronize()),
            forked(s.is_done().map(drop)),
            forked(s.wait_for(rt.stream())),
            forked(s.wait(&event)),
            forked(s.scratch::<f32>(100).map(drop)),
            forked(s.capture(|_| Ok(())).map(drop)),
            forked(event.record(&s)),
            forked(event.synchronize()),
            forked(event.is_done().map(drop)),
            forked(Event::new(&rt).map(drop)),
            forked(Stream::new(&rt).map(drop)),
            forked(Runtime::cuda(0).map(drop)),
            forked(Runtime::current().map(drop)),
            forked(cuda_status().map(drop)),
        ];
        // The values dropped here belong to the parent, too.
        drop((graph, event, s, x, y, rt));
        all == [true; 23] && model.calls() == before && add_one(&Runtime::cpu(), 1 << 20)
    });
}
