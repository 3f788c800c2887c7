//! Whether a problem fits, before its data is made: too little memory is an error then, not the end of the process.

use tilewright_core::{DType, DeviceId};
use tilewright_runtime::{Error, Result};

/// Errors: [`Error::OutOfMemory`] if the host has too little memory for the data of a problem, with its copies and its
/// reference.
pub(super) fn check(axes: &[&str], size: &[u64], dtype: DType) -> Result<()> {
    let bytes = elements(axes, size).saturating_mul(8 + 2 * dtype.size() as u64);
    let free = available();
    // If the free memory of the host is unknown, the allocator decides.
    let fits = free.is_none_or(|f| bytes <= f)
        && Vec::<u8>::new().try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX)).is_ok();
    if fits { Ok(()) } else { Err(Error::OutOfMemory { device: DeviceId::Host, bytes, free }) }
}

/// Of all arrays.
fn elements(axes: &[&str], size: &[u64]) -> u64 {
    let product = |n: &[u64]| n.iter().fold(1u64, |a, &n| a.saturating_mul(n));
    let parts: &[u64] = match (axes, size) {
        (["n", "taps"], &[n, taps]) => &[n, n, taps],
        (["n", "rounds"], &[n, _]) => &[n, n],
        (["m", "n", "k"], &[m, n, k]) => &[product(&[m, k]), product(&[k, n]), product(&[m, n])],
        (["tokens", "rows", "cols"], &[t, r, c]) => &[product(&[t, c]), product(&[r, c])],
        (["batch", ..], &[b, m, n, k]) => &[product(&[b, m, k]), product(&[b, k, n]), product(&[b, m, n])],
        (["heads", ..], &[h, q, k, d]) => {
            &[product(&[h, q, d]), product(&[h, q, d]), product(&[h, k, d]), product(&[h, k, d])]
        }
        (_, n) => &[product(n), product(n)],
    };
    parts.iter().fold(0, |a: u64, &n| a.saturating_add(n))
}

/// Bytes that the system can give without swapping, or that a container may have; `None` where it does not tell.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let system = line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.saturating_mul(1024);
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|t| t.trim().parse().ok());
    Some(container.map_or(system, |c: u64| c.min(system)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_all_arrays() {
        assert_eq!(elements(&["n"], &[5]), 10);
        assert_eq!(elements(&["rows", "cols"], &[3, 4]), 24);
        assert_eq!(elements(&["n", "rounds"], &[5, u64::MAX]), 10);
        assert_eq!(elements(&["n", "taps"], &[10, 3]), 23);
        assert_eq!(elements(&["m", "n", "k"], &[2, 3, 5]), 31);
        assert_eq!(elements(&["tokens", "rows", "cols"], &[2, 3, 5]), 25);
        assert_eq!(elements(&["batch", "m", "n", "k"], &[2, 2, 3, 5]), 62);
        assert_eq!(elements(&["heads", "queries", "keys", "d"], &[2, 3, 5, 7]), 224);
        assert_eq!(elements(&["n"], &[u64::MAX]), u64::MAX);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        check(&["n"], &[1000], DType::F32).unwrap();
        let e = check(&["n"], &[1 << 40], DType::F32).unwrap_err();
        assert!(matches!(e, Error::OutOfMemory { bytes, .. } if bytes == 1 << 45), "{e}");
        assert!(check(&["m", "n", "k"], &[1 << 40, 1 << 40, 1], DType::F16).is_err());
    }
}
