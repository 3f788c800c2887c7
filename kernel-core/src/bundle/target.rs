//! Targets, and the devices that run their code.

use core::fmt;
use core::str::FromStr;

/// A code generation target such as `sm_80`, `sm_90a` or `sm_100f`.
///
/// # Examples
/// ```
/// use tilewright_core::bundle::{Arch, Suffix};
///
/// let [general, exact] = ["sm_80", "sm_90a"].map(|s| s.parse::<Arch>().unwrap());
/// assert_eq!(exact, Arch { major: 9, minor: 0, suffix: Suffix::Exact });
/// assert!(general.ptx_runs_on((9, 0)) && !general.cubin_runs_on((9, 0)));
/// assert!(exact.cubin_runs_on((9, 0)) && !exact.ptx_runs_on((10, 0)));
/// assert_eq!(exact.to_string(), "sm_90a");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arch {
    /// The major compute capability.
    pub major: u32,
    /// The minor compute capability.
    pub minor: u32,
    /// The devices beside that of this compute capability.
    pub suffix: Suffix,
}

/// The suffix of a target: the devices that run its code. [`Arch`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suffix {
    /// Later devices run its PTX too.
    None,
    /// `f`: devices of the same major version run it.
    Family,
    /// `a`: exactly this compute capability runs it.
    Exact,
}

impl Arch {
    /// Whether a device of this compute capability runs PTX made for the target.
    pub fn ptx_runs_on(self, sm: (u32, u32)) -> bool {
        match self.suffix {
            Suffix::Exact => (self.major, self.minor) == sm,
            Suffix::Family => self.major == sm.0 && self.minor <= sm.1,
            Suffix::None => (self.major, self.minor) <= sm,
        }
    }

    /// Whether a device of this compute capability runs machine code made for the target: it does so within one major
    /// version.
    pub fn cubin_runs_on(self, sm: (u32, u32)) -> bool {
        self.ptx_runs_on(sm) && self.major == sm.0
    }
}

impl FromStr for Arch {
    type Err = ();

    fn from_str(s: &str) -> Result<Self, ()> {
        let s = s.strip_prefix("sm_").ok_or(())?;
        let (digits, suffix) = match s.strip_suffix(['a', 'f']) {
            Some(d) if s.ends_with('a') => (d, Suffix::Exact),
            Some(d) => (d, Suffix::Family),
            None => (s, Suffix::None),
        };
        if !(2..=3).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(());
        }
        let n: u32 = digits.parse().map_err(|_| ())?;
        Ok(Arch { major: n / 10, minor: n % 10, suffix })
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.suffix {
            Suffix::None => "",
            Suffix::Family => "f",
            Suffix::Exact => "a",
        };
        write!(f, "sm_{}{}{suffix}", self.major, self.minor)
    }
}
