//! Targets of code generation.

use std::fmt;

use tilewright_core::bundle::Arch;

/// A target such as `sm_80`, with the version of PTX its code is written in.
///
/// # Examples
/// ```
/// use tilewright_build::Target;
///
/// assert_eq!(Target::parse("sm_90a")?.name(), "sm_90a");
/// assert!(Target::parse("sm_70").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    arch: Arch,
}

/// The name of a target that is none, or that is older than sm_75.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no target: expected names like sm_80 or sm_90a, from sm_75 on")]
pub struct BadTarget(String);

impl BadTarget {
    pub(crate) fn none() -> BadTarget {
        BadTarget(String::new())
    }
}

impl Target {
    /// The target of a name such as `sm_80` or `sm_90a`. Errors: another name, and targets before sm_75.
    pub fn parse(name: &str) -> Result<Target, BadTarget> {
        match name.trim().parse::<Arch>() {
            Ok(arch) if (arch.major, arch.minor) >= (7, 5) => Ok(Target { arch }),
            _ => Err(BadTarget(name.trim().into())),
        }
    }

    /// The name.
    pub fn name(&self) -> String {
        self.arch.to_string()
    }

    /// Targets of one generation have one form of the device library and of the code that LLVM makes of it. Some
    /// functions have a form of their own from sm_90 on: the compiler says which units call them.
    pub(crate) fn generation(&self) -> u32 {
        if self.arch.major == 9 { 8 } else { self.arch.major }
    }

    /// The directives at the beginning of this PTX for this target. Additions of vectors are younger than the rest of
    /// the device library on its architecture, and few kernels have them.
    pub(crate) fn directives(&self, ptx: &str) -> [String; 2] {
        let adds_vectors = |l: &str| l.trim_start().starts_with("red.") && (l.contains(".v2.") || l.contains(".v4."));
        self.directives_of(if ptx.lines().any(adds_vectors) { self.newest_isa() } else { self.isa() })
    }

    fn newest_isa(&self) -> &'static str {
        if self.arch.major == 9 { "ptx81" } else { self.isa() }
    }

    fn directives_of(&self, isa: &str) -> [String; 2] {
        let isa = isa.trim_start_matches("ptx");
        let (major, minor) = isa.split_at(isa.len() - 1);
        [format!(".version {major}.{minor}"), format!(".target {self}")]
    }

    /// The oldest PTX version with the instructions of the device library on this architecture: the older the version,
    /// the more drivers load it.
    pub(crate) fn isa(&self) -> &'static str {
        match (self.arch.major, self.arch.minor) {
            (7, _) | (8, ..=8) => "ptx74",
            (8, _) => "ptx78",
            (9, _) => "ptx80",
            (10, ..=1) => "ptx86",
            (12, 0) => "ptx87",
            (10, _) | (12, _) => "ptx88",
            _ => "ptx90",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.arch.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(Target::parse(" sm_90a ").unwrap().name(), "sm_90a");
        assert_eq!(Target::parse("sm_75").unwrap().isa(), "ptx74");
        let of_sm90 = |ptx| Target::parse("sm_90a").unwrap().directives(ptx);
        assert_eq!(of_sm90("\tred.relaxed.gpu.global.add.f32 [%rd1], %r1;"), [".version 8.0", ".target sm_90a"]);
        assert_eq!(of_sm90("\tred.relaxed.gpu.global.add.v4.f32 [%rd1], {};"), [".version 8.1", ".target sm_90a"]);
        let of = |name| Target::parse(name).unwrap().generation();
        assert!(of("sm_80") == of("sm_90a") && of("sm_75") != of("sm_80") && of("sm_90a") != of("sm_100a"));
        for bad in ["", "sm_70", "sm_90x", "hopper"] {
            assert!(Target::parse(bad).unwrap_err().to_string().contains("sm_75"), "{bad}");
        }
    }
}
