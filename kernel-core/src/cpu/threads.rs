//! The threads that programs run on: a pool of this crate's own, so that a process can be forked and so that a limit on
//! threads is no panic.

use super::fork::{self, PerProcess};
use rayon::prelude::*;
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::io;
use std::num::NonZero;

/// The pool of this process. A child of a fork has none of its parent's threads.
static POOL: PerProcess<Option<ThreadPool>> = PerProcess::new();

/// How many threads programs are to run on: `RAYON_NUM_THREADS`, else as many as the process has processors. No thread
/// is started.
pub fn thread_count() -> usize {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|v| v.parse().ok()).filter(|n| *n > 0);
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, NonZero::get))
}

/// Whether the calling thread is one of a rayon pool: while it waits for work of its own, it may do other work of that
/// pool.
pub fn is_pool_thread() -> bool {
    rayon::current_thread_index().is_some()
}

/// Calls `f` on the threads that programs are to run on, whose number it gets: those of the rayon pool that the calling
/// thread belongs to, else those of this process's own pool. `None` where the calling thread is alone.
pub(super) fn with<R: Send>(f: impl FnOnce(Option<usize>) -> R + Send) -> R {
    if is_pool_thread() {
        // The other threads of its pool are not in a child that this thread has forked.
        return if fork::survived() { f(None) } else { f(Some(rayon::current_num_threads())) };
    }
    match POOL.get_or_init(|| start(thread_count(), spawn)) {
        Some(pool) => pool.install(|| f(Some(pool.current_num_threads()))),
        None => f(None),
    }
}

/// `f` of every number below `n`, in order. The threads that programs run on share the work.
pub fn parallel_map<R: Send>(n: usize, f: impl Fn(usize) -> R + Send + Sync) -> Vec<R> {
    with(|threads| match threads {
        None => (0..n).map(f).collect(),
        Some(_) => (0..n).into_par_iter().map(f).collect(),
    })
}

fn spawn(thread: ThreadBuilder) -> io::Result<()> {
    let name = format!("tile-{}", thread.index());
    std::thread::Builder::new().name(name).spawn(|| thread.run()).map(drop)
}

/// A pool of `wanted` threads, or of as many as can be started; `None` where that is not more than one.
fn start(wanted: usize, mut spawn: impl FnMut(ThreadBuilder) -> io::Result<()>) -> Option<ThreadPool> {
    let mut threads = wanted;
    let pool = loop {
        if threads <= 1 {
            break None;
        }
        let mut started = 0;
        let counting = |thread: ThreadBuilder| spawn(thread).inspect(|()| started += 1);
        match ThreadPoolBuilder::new().num_threads(threads).spawn_handler(counting).build() {
            Ok(pool) => break Some(pool),
            Err(e) => {
                // The threads that were started end.
                let left = started.min(threads - 1);
                tracing::debug!(error = %e, threads, left, "starting the threads of the CPU backend");
                threads = left;
            }
        }
    };
    if threads < wanted {
        tracing::warn!(
            wanted,
            threads = threads.max(1),
            "the process could not start more threads: the CPU backend runs on fewer (raise the limit, ulimit -u)"
        );
    }
    pool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_on_threads_leaves_fewer() {
        for (limit, left) in [(0, None), (1, None), (2, Some(2)), (5, Some(5)), (8, Some(8)), (99, Some(8))] {
            let mut alive = 0;
            let pool = start(8, |thread| {
                if thread.index() == 0 {
                    alive = 0;
                }
                if alive == limit {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                alive += 1;
                spawn(thread)
            });
            assert_eq!(pool.as_ref().map(ThreadPool::current_num_threads), left, "{limit}");
            if let Some(pool) = pool {
                assert_eq!(pool.install(|| (0..1000).into_par_iter().sum::<u32>()), 499_500);
            }
        }
    }

    #[test]
    fn a_map_keeps_the_order() {
        let squares: Vec<usize> = (0..1000).map(|i| i * i).collect();
        assert_eq!(parallel_map(1000, |i| i * i), squares);
        let alone = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(alone.install(|| parallel_map(1000, |i| i * i)), squares);
    }

    /// Threads of a pool that could not be completed may still count where the next attempt is made.
    #[test]
    fn a_limit_that_gets_tighter_ends() {
        let mut allowed = 7;
        let pool = start(8, |thread| {
            if thread.index() >= allowed {
                allowed -= 1;
                return Err(io::ErrorKind::WouldBlock.into());
            }
            spawn(thread)
        });
        assert!(pool.is_none());
    }
}
