//! Planted defects: small mistakes of the compiler that its tests have to catch. `cargo xtask mutate` plants one at a
//! time.
//!
//! A site asks `planted!("name")`, which is the constant `false` without the feature `mutants`. With it, one defect is
//! planted: that of the environment variable `TILE_PLANT`, or that of `active::with`.

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
        $crate::planted::active::is($name)
    };
}

#[cfg(not(feature = "mutants"))]
pub(crate) const NONE: bool = false;

/// Whether the verifiers check the output of passes and code generation, in debug builds. The tests of a planted defect
/// do without: they have to see it by the results of kernels.
pub(crate) fn is_verified() -> bool {
    #[cfg(feature = "mutants")]
    let verified = std::env::var_os("TILE_PLANT_KERNELS").is_none();
    #[cfg(not(feature = "mutants"))]
    let verified = true;
    cfg!(debug_assertions) && verified
}

/// Whether the tiles that code generation computes are compared with those of the plan, in debug builds. Not with a
/// planted defect: many leave out a tile, and a panic would hide the kernels that they change.
pub(crate) fn is_compared() -> bool {
    #[cfg(feature = "mutants")]
    let compared = !active::is_any();
    #[cfg(not(feature = "mutants"))]
    let compared = true;
    cfg!(debug_assertions) && compared
}

/// The planted defect of a thread, and the sites that it comes by.
#[cfg(feature = "mutants")]
pub mod active {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    thread_local! {
        static PLANTED: RefCell<Option<String>> = RefCell::new(std::env::var("TILE_PLANT").ok());
        static REACHED: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
    }

    /// Whether this defect is planted in the thread. The site counts as reached.
    pub(crate) fn is(name: &'static str) -> bool {
        REACHED.with_borrow_mut(|sites| sites.insert(name));
        PLANTED.with_borrow(|p| p.as_deref() == Some(name))
    }

    /// Whether any defect is planted in the thread.
    pub(crate) fn is_any() -> bool {
        PLANTED.with_borrow(Option::is_some)
    }

    /// The result of `f` with a defect, or with none, and the sites that it passed. A panic leaves no defect planted.
    pub fn with<R>(defect: Option<&str>, f: impl FnOnce() -> R) -> (R, BTreeSet<&'static str>) {
        PLANTED.set(defect.map(String::from));
        REACHED.take();
        let made = f();
        PLANTED.set(None);
        (made, REACHED.take())
    }

    /// Whether a kernel is compiled: `TILE_PLANT_KERNELS` names the compiled kernels, and is unset if all are compiled.
    pub(crate) fn is_compiled(kernel: &str) -> bool {
        std::env::var("TILE_PLANT_KERNELS").map_or(true, |all| all.split(' ').any(|k| k == kernel))
    }
}
