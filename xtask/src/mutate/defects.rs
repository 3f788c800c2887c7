//! The planted defects: a site `planted!("name")` for each, in the file that is named here. A test compares both.

mod compiler;
mod plan;

use compiler::OF_COMPILER;
use plan::OF_PLANS;

/// Sources of the compiler.
const COMPILER: &str = "kernel-compiler/src";
/// Sources of the device library and of the choice of a launch's code. Their defects are planted as kernels run:
/// nothing is compiled anew for them.
const AT_RUN_TIME: &str = "kernel-core/src";

pub struct Defect {
    pub name: &'static str,
    pub file: String,
    /// The broken behavior.
    pub what: &'static str,
    pub at_run_time: bool,
}

const PLANTED_AT_RUN_TIME: &[(&str, &[(&str, &str)])] = &[
    (
        "cpu/axes.rs",
        &[("cpu-rows-before-the-array", "of a row that begins before the first element the CPU loads nothing")],
    ),
    (
        "scalar/float8.rs",
        &[("e5m2-ties-away-from-zero", "a number between two of f8e5m2 becomes the greater one, not the even one")],
    ),
    (
        "scalar/cast.rs",
        &[(
            "longs-to-halves-rounded-twice",
            "an integer of more than 53 bits becomes an f64 before it becomes a half, and is rounded twice",
        )],
    ),
    (
        "scalar/half16.rs",
        &[
            ("bf16-of-a-nan-by-its-bits", "a NaN with few bits or with all becomes an infinity or a zero of bf16"),
            ("halves-of-f64-rounded-twice", "an f64 becomes an f32 before it becomes a half, and is rounded twice"),
        ],
    ),
    (
        "desc.rs",
        &[
            ("launch-guards-ignored", "a call takes the first variant, whatever its guards ask of the arguments"),
            ("launch-first-guard-alone", "of the guards of a variant the first one is looked at alone"),
            ("launch-requires-ignored", "a configuration is taken whose condition does not hold"),
        ],
    ),
    (
        "device/access.rs",
        &[
            ("device-load-group-unmasked", "vectors are loaded whether they are allowed or not"),
            ("device-store-group-unmasked", "vectors are stored whether they are allowed or not"),
            ("device-divided-group-as-whole", "a vector that is allowed in part goes by its first element"),
            ("device-descending-as-ascending", "a descending vector is not reversed"),
            ("device-cp-async-unmasked", "a copy of several bytes ignores its mask"),
            ("device-cp-async-mask-of-first", "a copy that is allowed in part goes by its first element"),
            ("device-descending-other-ascends", "what a descending vector has where it is not loaded is not reversed"),
            (
                "device-descending-store-ascends",
                "of descending vectors that a mask leaves out, the others are not reversed",
            ),
            (
                "device-shared-load-by-first",
                "a vector of a shared array is loaded as a whole if its first element is allowed",
            ),
            (
                "device-shared-store-by-first",
                "a vector of a shared array is stored as a whole if its first element is allowed",
            ),
        ],
    ),
    (
        "device/fold.rs",
        &[
            ("device-limit-one-more", "one index too many is inside of a limit"),
            ("device-limit-wraps", "limits beyond 2^32 wrap"),
        ],
    ),
    (
        "device/tensor.rs",
        &[
            ("device-coordinates-wrap", "coordinates of a tensor map beyond 2^31 wrap"),
            ("device-wgmma-without-fence", "`wgmma` begins before its registers are written"),
            ("device-wgmma-without-commit", "a wait does not cover the product"),
            ("device-wgmma-forgets-steps", "a product that begins with zeros has only its last step"),
            ("device-wgmma-batch-of-one-right-operand", "all products of a batch have the right operand of the first"),
        ],
    ),
    (
        "device/scan.rs",
        &[
            ("device-scan-includes-itself", "an exclusive scan across lanes includes the lane itself"),
            (
                "device-reverse-scan-total-of-the-first",
                "in reverse the total of a warp is what its first lane in the scan has",
            ),
        ],
    ),
    (
        "device/product.rs",
        &[
            ("device-tf32x3-is-tf32", "the parts that tf32 loses are not multiplied"),
            ("device-tf32-truncated", "f32 is cut off to tf32 instead of rounded"),
            ("device-e4m3-nan-is-480", "a NaN of 8 bits is multiplied as a number"),
            (
                "device-tf32-of-a-nan-by-its-bits",
                "a NaN with many bits becomes a zero of tf32, and one with few an infinity",
            ),
        ],
    ),
    (
        "device/cumcount.rs",
        &[
            ("device-cumcount-of-any-lane", "equal elements of later lanes count, too"),
            (
                "device-cumcount-of-the-first-bins",
                "of more bins than threads the later ones do not count the elements of earlier warps",
            ),
        ],
    ),
    (
        "device/atomics.rs",
        &[
            ("device-atomic-unmasked", "atomics ignore their mask"),
            ("device-atomic-is-relaxed", "atomics neither acquire nor release"),
            ("device-shared-atomic-unmasked", "additions to shared memory ignore their mask"),
            ("device-add-vector-by-its-first", "a vector is added as a whole if its first element is allowed"),
            ("device-add-vector-drops-the-rest", "a vector that is not allowed as a whole is not added"),
            ("device-shared-array-atomic-unmasked", "atomics on shared arrays ignore their mask"),
            ("device-atomic-cas-unmasked", "a compare-and-swap ignores its mask"),
            ("device-shared-atomic-cas-unmasked", "a compare-and-swap on a shared array ignores its mask"),
        ],
    ),
    (
        "device/mod.rs",
        &[
            ("device-shuffle-of-low-half", "a shuffle of 64 bits moves the low half twice"),
            ("device-cast-pair-swapped", "two neighbors change places in a conversion"),
        ],
    ),
    ("device/mem.rs", &[("device-atomic-max-keeps-a-nan", "`atomic_max` leaves a NaN in memory")]),
    (
        "scalar/num.rs",
        &[("bits-of-a-negative-number-extended", "a negative number in a word overwrites its neighbors with its sign")],
    ),
];

/// Defects that no test sees yet, and why.
pub const SURVIVES: &[(&str, &str)] = &[];

pub fn all() -> Vec<Defect> {
    let of = |folder: &'static str, files: &'static [(&str, &[(&'static str, &'static str)])]| {
        files.iter().flat_map(move |(file, defects)| {
            defects.iter().map(move |&(name, what)| Defect {
                name,
                file: format!("{folder}/{file}"),
                what,
                at_run_time: folder == AT_RUN_TIME,
            })
        })
    };
    of(COMPILER, OF_COMPILER).chain(of(COMPILER, OF_PLANS)).chain(of(AT_RUN_TIME, PLANTED_AT_RUN_TIME)).collect()
}

#[cfg(test)]
mod tests {
    use super::{AT_RUN_TIME, COMPILER, SURVIVES, all};
    use crate::command::root;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn sites(folder: &Path, out: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                sites(&path, out);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let file = path.strip_prefix(root()).expect("in the workspace").display().to_string();
            let names = text.split("planted!(\"").skip(1).filter_map(|t| t.split('"').next());
            out.extend(names.map(|n| (n.to_string(), file.clone())));
        }
    }

    #[test]
    fn every_defect_has_one_site_where_it_says() {
        let mut found = vec![];
        [COMPILER, AT_RUN_TIME].iter().for_each(|folder| sites(&root().join(folder), &mut found));
        found.retain(|(_, file)| !file.ends_with("planted.rs"));
        let names: BTreeSet<&String> = found.iter().map(|(n, _)| n).collect();
        assert_eq!(names.len(), found.len(), "a defect has two sites");
        let wanted: BTreeSet<(String, String)> = all().into_iter().map(|d| (d.name.into(), d.file)).collect();
        let found: BTreeSet<(String, String)> = found.into_iter().collect();
        let differ: Vec<_> = wanted.symmetric_difference(&found).collect();
        assert!(differ.is_empty(), "listed without a site, or a site that is not listed: {differ:#?}");
        assert!(wanted.len() >= 40);
    }

    #[test]
    fn those_that_survive_are_defects() {
        for (name, why) in SURVIVES {
            assert!(all().iter().any(|d| d.name == *name) && !why.is_empty(), "{name}");
        }
    }
}
