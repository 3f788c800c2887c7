//! Planted defects of the device library and of the choice of variants, as those of the compiler: `planted!("name")`
//! is the constant `false` without the feature `mutants`. With it, the environment variable `TILE_PLANT` names the
//! defect of the process.

/// Whether the defect of this name is planted.
#[cfg(not(feature = "mutants"))]
macro_rules! planted {
    ($name:literal) => {
        $crate::planted::NONE
    };
}

#[cfg(feature = "mutants")]
macro_rules! planted {
    ($name:literal) => {
        $crate::planted::is($name)
    };
}

#[cfg(not(feature = "mutants"))]
pub(crate) const NONE: bool = false;

#[cfg(feature = "mutants")]
pub fn is(name: &str) -> bool {
    static PLANTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    PLANTED.get_or_init(|| std::env::var("TILE_PLANT").ok()).as_deref() == Some(name)
}
