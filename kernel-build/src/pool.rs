//! As many jobs at a time as cargo allows.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

pub struct Pool {
    jobs: usize,
    server: Option<jobserver::Client>,
}

impl Pool {
    /// The limits of the build that runs us.
    ///
    /// # Safety
    /// As [`jobserver::Client::from_env`]: call it before anything else opens or closes files.
    pub unsafe fn from_env() -> Pool {
        let jobs = std::env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok());
        let jobs = jobs.or_else(|| thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
        // SAFETY: the caller's contract.
        Pool { jobs, server: unsafe { jobserver::Client::from_env() } }
    }

    /// Without Cargo, for one job.
    pub fn alone() -> Pool {
        Pool { jobs: 1, server: None }
    }

    #[cfg(test)]
    pub fn of(jobs: usize) -> Pool {
        Pool { jobs, server: None }
    }

    /// `f` of every item, in the order of the items. Jobs start in that order, so put the longest first.
    pub fn map<T: Sync, R: Send>(&self, items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
        let next = AtomicUsize::new(0);
        let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
        let one = || {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(i) else { return false };
            let r = f(item);
            *results[i].lock().unwrap_or_else(|e| e.into_inner()) = Some(r);
            true
        };
        thread::scope(|s| {
            for _ in 1..self.jobs.min(items.len()) {
                s.spawn(|| while next.load(Ordering::Relaxed) < items.len() && self.with_token(&one) {});
            }
            // The build script itself holds a token: this thread needs none.
            while one() {}
        });
        results.into_iter().map(|r| r.into_inner().unwrap_or_else(|e| e.into_inner()).expect("every job ran")).collect()
    }

    /// Runs a job under a token; asks again rather than wait, for the last job may start elsewhere meanwhile.
    fn with_token(&self, job: &impl Fn() -> bool) -> bool {
        match self.server.as_ref().map(jobserver::Client::try_acquire) {
            Some(Ok(None)) => {
                thread::sleep(Duration::from_millis(10));
                true
            }
            // Without a jobserver, or on a system where it cannot be asked, the number of threads is the limit.
            Some(Ok(Some(_token))) => job(),
            Some(Err(_)) | None => job(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order() {
        let items: Vec<u32> = (0..100).collect();
        for jobs in [1, 2, 7] {
            let p = Pool::of(jobs);
            assert_eq!(p.map(&items, |i| i * i), items.iter().map(|i| i * i).collect::<Vec<_>>());
        }
        assert!(Pool::of(4).map(&[] as &[u32], |i| *i).is_empty());
    }
}
