//! The key of a tuning result in files.

use std::iter;
use tilewright_core::KernelDesc;
use tilewright_core::bundle::Bundle;

/// The key of a result.
#[derive(Clone, Debug)]
pub struct File {
    /// The kernel or the operation, with its types.
    pub label: String,
    /// The code that was measured.
    pub version: Version,
    /// The rounded sizes, and all else that decides.
    pub signature: String,
}

/// A version of the code of a choice's candidates. Results of another version are not used.
///
/// # Examples
/// A version of [kernels](Version::of_kernels) changes with their code. One by a name changes with that name alone.
/// ```
/// use tilewright::tuning::Version;
///
/// assert_ne!(Version::from("2026-11-28"), Version::from("2026-11-29"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    hash: String,
    /// The build made all configurations of the kernels: the fastest of some may not be the fastest of all.
    is_whole: bool,
}

impl Version {
    /// The version of candidates that launch these kernels, of all types: it changes with any of them.
    ///
    /// # Examples
    /// ```
    /// use tilewright::tile_kernel;
    /// use tilewright::tuning::Version;
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn ones(y: &mut [f32]) {
    ///     store(y, arange(2), 1.0);
    /// }
    ///
    /// let version = Version::of_kernels(&[ones::DESCS]);
    /// assert_eq!(version, Version::of_kernels(&[ones::DESCS]));
    /// assert_ne!(version, Version::from("ones"));
    /// ```
    pub fn of_kernels(kernels: &[&'static [&'static KernelDesc]]) -> Version {
        Version::of(kernels.iter().flat_map(|d| d.iter().copied()))
    }

    pub(crate) fn of_kernel(desc: &KernelDesc) -> Version {
        Version::of(iter::once(desc))
    }

    fn of<'a>(kernels: impl Iterator<Item = &'a KernelDesc> + Clone) -> Version {
        Version {
            hash: kernels.clone().map(fingerprint).collect::<Vec<_>>().join("-"),
            is_whole: kernels.clone().all(KernelDesc::is_whole),
        }
    }

    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    /// Whether a result on a GPU holds for other builds, too.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    #[cfg(test)]
    pub(crate) fn of_few_configurations(hash: &str) -> Version {
        Version { hash: hash.into(), is_whole: false }
    }
}

/// The identity of the compiled kernel; `none` without a bundle.
fn fingerprint(desc: &KernelDesc) -> String {
    desc.bundle.and_then(|b| Bundle::parse(b).ok()).map_or("none".into(), |b| b.fingerprint().to_string())
}

impl From<&str> for Version {
    fn from(name: &str) -> Version {
        Version { hash: name.into(), is_whole: true }
    }
}
