//! The planted defects: a site `planted!("name")` for each, in the file that is named here. A test compares both.

/// Sources of the compiler.
const COMPILER: &str = "kernel-compiler/src";
/// Sources of the device library and of what chooses the code of a launch. Their defects are planted as kernels run:
/// nothing is compiled anew for them.
const AT_RUN_TIME: &str = "kernel-core/src";

pub struct Defect {
    pub name: &'static str,
    pub file: String,
    /// What it breaks.
    pub what: &'static str,
    pub at_run_time: bool,
}

/// By file: names, and what they break.
const OF_COMPILER: &[(&str, &[(&str, &str)])] = &[
    (
        "passes/induction.rs",
        &[
            ("induction-begins-at-one", "the number that a loop moves a tile by begins at 1"),
            ("induction-forgets-after-the-loop", "after the loop the tile is where it was before"),
        ],
    ),
    (
        "passes/copy_prop.rs",
        &[
            ("copy-prop-keeps-loop-carried", "an iteration reads what a variable held before the loop"),
            ("copy-prop-keeps-after-branch", "after a branch a variable is read as it was before"),
            ("copy-prop-drops-before-break", "an assignment goes although a `break` follows it"),
        ],
    ),
    (
        "passes/cluster/mod.rs",
        &[
            ("cluster-part-too-short", "a block's rows begin one row early for each block before it"),
            ("cluster-window-without-rank", "every block of a cluster copies and stores the first block's rows"),
            ("cluster-multicast-of-different-tiles", "operands that differ between blocks are multicast"),
            ("cluster-every-block-stores", "every CTA of a cluster stores what is not partitioned"),
            ("cluster-reduces-alone", "a block of a cluster reduces its own part alone"),
        ],
    ),
    (
        "passes/cluster/exchange.rs",
        &[("cluster-index-in-its-part", "the index of the greatest is counted from the begin of its block's part")],
    ),
    (
        "codegen/cluster.rs",
        &[
            ("cluster-begins-unawaited", "a block stores to another that may not have begun"),
            ("cluster-gather-of-other-elements", "the parts of a tile are stored in the places of other elements"),
            ("cluster-gather-without-barrier", "a block loads the others' parts before they have stored them"),
            ("cluster-gather-overwrites", "a block stores its next part while others load the last one"),
        ],
    ),
    (
        "passes/pipeline_dots.rs",
        &[
            ("pipeline-dots-drops-the-last-product", "the last iteration's second product is left out"),
            ("pipeline-dots-repeats-the-first", "the first iteration runs twice"),
        ],
    ),
    (
        "front/infer/view.rs",
        &[("view-tile-ignores-its-mask", "a tile of a view is copied as a whole although a mask leaves out elements")],
    ),
    ("front/infer/reduce.rs", &[("sum-rounds-each-half", "sums of 16-bit floats are rounded at each addition")]),
    ("front/infer/scan.rs", &[("scan-rounds-each-half", "scans of 16-bit floats are rounded at each step")]),
    ("front/infer/dot.rs", &[("bf16-parts-of-the-whole", "each bf16 part is rounded from the whole operand")]),
    (
        "front/infer/scaled.rs",
        &[
            ("e8m0-of-zero-is-zero", "the least scale of MX formats is 0"),
            ("e2m1-high-half-first", "the two numbers of a byte change places"),
        ],
    ),
    ("passes/wide_sums.rs", &[("f16-sums-rounded-by-each-product", "each product rounds a f16 accumulator")]),
    (
        "passes/swap_ab.rs",
        &[
            ("swap-ab-reduces-the-other-axis", "transposed sums are reduced along the axis of the sums"),
            ("swap-ab-broadcast-is-its-transpose", "rows that meet transposed sums are taken for columns"),
        ],
    ),
    (
        "passes/tf32x3.rs",
        &[
            ("tf32x3-without-low-parts", "the products of low parts are left out"),
            ("tf32x3-drops-a-small-product", "the product of the left high and the right low part is left out"),
            ("tf32x3-low-part-of-the-whole", "the low part is rounded from the whole operand"),
        ],
    ),
    (
        "passes/block_pointers/find.rs",
        &[
            (
                "block-pointer-slice-length-not-asked",
                "the launcher does not check that a masked matrix lies in its slice",
            ),
            (
                "block-pointer-ignores-a-condition",
                "a mask's conditions that are no comparisons with extents are left out",
            ),
            ("block-pointer-extents-swapped", "rows are limited by the columns' extent, and columns by the rows'"),
            ("block-pointer-begins-below-zero", "a block pointer may begin at a negative row or column"),
            ("block-pointer-mask-of-another-index", "a mask of any index gives the extent of a block pointer"),
        ],
    ),
    (
        "passes/block_pointers/origins.rs",
        &[
            ("block-pointer-wrap-not-asked", "an index wraps around at an extent that is no multiple of the tile"),
            ("block-pointer-sign-not-asked", "arguments with a sign may be negative"),
        ],
    ),
    (
        "analysis/axis_info.rs",
        &[
            ("axis-info-ignores-alignment", "a vector begins at any element"),
            ("axis-info-forgets-the-step", "a loop's variable is as divisible as where the loop begins"),
            ("axis-info-lowest-of-descending", "the highest element of a descending run is taken for the lowest"),
            ("axis-info-rem-of-shifted", "runs stay whole under `%` wherever they begin"),
            ("axis-info-first-assignment-only", "a variable is what its first assignment says"),
            ("axis-info-mask-of-any-limit", "a mask divides no vector, whatever its limit is a multiple of"),
            ("axis-info-shift-by-a-bit-less", "a shift to the left is taken for one by a bit less"),
        ],
    ),
    ("analysis/launch_guards.rs", &[("launch-guards-any-address", "vectors are loaded from unaligned arrays")]),
    (
        "plan/accesses.rs",
        &[
            ("undivided-beyond-the-slice", "the end of a slice divides no vector"),
            ("atomic-add-of-descending-vectors", "additions to neighbors whose addresses descend are one vector"),
        ],
    ),
    (
        "analysis/polynomial.rs",
        &[
            ("polynomial-sub-adds", "a difference of indices is taken for their sum"),
            ("polynomial-counts-from-zero", "a loop that begins at `lo` is taken for one that begins at 0"),
        ],
    ),
    (
        "plan/tma_pipeline.rs",
        &[
            ("tma-producer-reads-what-is-written", "the producer loads scalars that the kernel stores"),
            ("tma-buffers-shared-while-in-use", "operands that are in use together share a circular buffer"),
            ("tma-release-while-threads-read", "a buffer that threads read is given back by one that has read"),
            (
                "wgmma-chain-over-release",
                "a product goes on in the next one although its buffer is given back between them",
            ),
        ],
    ),
    (
        "plan/guards.rs",
        &[
            ("launch-guards-not-told", "the launcher checks nothing of what vectors assume"),
            ("tma-stride-not-asked", "tensor maps are made of rows that are no multiple of 16 bytes apart"),
            ("tma-store-extent-not-asked", "rows of any length are stored by tensor maps, which clip at 16 bytes"),
        ],
    ),
    (
        "plan/cp_async_pipeline.rs",
        &[
            ("cp-async-deferred-stage-overwritten", "a stage is filled while the product before still reads it"),
            ("cp-async-ignores-other", "masked elements that are copied ahead are 0 instead of `.other(..)`"),
            ("cp-async-of-written-array", "an array that the kernel writes is copied ahead"),
            ("cp-async-of-a-place-moved-now-and-then", "copies ahead leave out what a branch of the loop assigns"),
        ],
    ),
    (
        "plan/wgmma_waits.rs",
        &[
            ("wgmma-wait-for-one-too-few", "a wait lets one more product go on"),
            ("wgmma-release-before-wait", "a buffer is given back while its product goes on"),
        ],
    ),
    (
        "plan/written_operand.rs",
        &[
            ("written-operand-first-alone", "of the computed right operands the first alone is written"),
            ("written-operand-after-its-product", "a computed right operand is written behind its product"),
        ],
    ),
    (
        "plan/deferred_wait.rs",
        &[("deferred-wait-with-one-buffer", "the only buffer is given back in the next iteration")],
    ),
    ("plan/pdl.rs", &[("pdl-waits-one-statement-late", "what the launch before has written is read early")]),
    (
        "plan/epilogue.rs",
        &[
            ("epilogue-of-written-array", "a tile that the store overwrites is copied ahead"),
            ("epilogue-of-an-alias-elsewhere", "pieces of a store overwrite what a later piece loads from an alias"),
        ],
    ),
    ("plan/operands.rs", &[("tma-of-written-array", "an array that the kernel writes is copied by TMA")]),
    ("layout/swizzled_smem.rs", &[("swizzle-by-wrong-rows", "elements are written elsewhere than `wgmma` reads them")]),
    (
        "layout/linear/convert.rs",
        &[("shuffle-without-last-exchange", "registers stay in the order in which shuffles gave them")],
    ),
    (
        "layout/linear/swizzle.rs",
        &[("exchange-stored-by-all-copies", "threads with copies of an element all store it in an exchange")],
    ),
    (
        "codegen/pdl.rs",
        &[("pdl-roles-do-not-wait", "the roles of a specialized program do not wait for the launch before")],
    ),
    (
        "codegen/reduce.rs",
        &[
            ("reduce-skips-a-lane-bit", "half of a warp's lanes are left out"),
            ("reduce-padding-is-zero", "padding is 0 whatever the reduction"),
            ("reduce-counts-padding", "padding is reduced as if it were elements"),
            ("argmax-takes-the-last", "of equal elements the last one's index is given"),
        ],
    ),
    (
        "codegen/gmem.rs",
        &[
            ("scalar-store-by-all-threads", "every thread stores a scalar"),
            ("pointee-taken-for-aligned", "vectors are loaded from computed addresses of any alignment"),
            ("slice-bound-dropped", "accesses go beyond the end of a slice"),
            ("shared-array-bound-dropped", "accesses go beyond the end of a shared array"),
            ("mask-dropped", "masks of loads, stores and atomics are ignored"),
            ("all-copies-store", "threads with copies of an element all store it, and all make its atomic"),
            ("vector-bound-of-first", "a vector is allowed whose last element is outside"),
            ("access-key-ignores-copies", "what one thread stores others load without a barrier"),
            ("atomic-is-relaxed", "atomics neither acquire nor release"),
            ("atomic-copies-get-nothing", "threads with copies of an element do not learn the old value"),
            ("acquire-without-barrier", "a thread reads before the one that acquires has done so"),
            ("scalar-mask-dropped", "masks of scalars are ignored"),
        ],
    ),
    (
        "codegen/staged_store.rs",
        &[
            ("release-without-barrier", "an atomic announces what other threads have not stored yet"),
            ("announced-before-tma-store-ends", "an atomic announces what a tensor map has not stored yet"),
            ("tma-store-chunk-overwritten", "a chunk is overwritten while it is copied out"),
            ("tma-store-without-access", "barriers are placed as if a store by TMA were none"),
            ("tma-store-without-proxy-fence", "a chunk is copied out before the copy sees it"),
            ("tile-store-beyond-extent", "a tile is stored beyond its block pointer's extents"),
            (
                "tile-store-full-by-the-first-round",
                "rows beyond the extent are stored if those of the first round are inside",
            ),
        ],
    ),
    (
        "codegen/barriers.rs",
        &[
            ("exchange-overwrites-while-read", "an exchange stores where the one before is still being read"),
            (
                "exchange-of-one-step-is-a-barrier",
                "what threads have loaded is forgotten at a buffer without a barrier",
            ),
            ("exchange-without-barrier", "an exchange is read before all have stored"),
            ("accesses-without-barrier", "loads and stores of one array are in no order"),
            ("alias-without-barrier", "a load and a later store of an argument's alias are in no order"),
            ("barriers-forget-the-last-round", "what an iteration leaves behind is unknown to the next one"),
            ("barriers-forget-a-branch", "what `else` leaves behind is unknown after it"),
        ],
    ),
    (
        "analysis/no_wrap.rs",
        &[
            ("mask-of-wrapped-index", "an index below 0 is compared as if it counted up"),
            ("mask-of-signed-number", "an index that begins below 0 is compared as if it counted up"),
        ],
    ),
    (
        "codegen/predicates.rs",
        &[
            ("mask-less-or-equal-is-less", "`<=` is `<`"),
            ("mask-joined-by-larger-limit", "of mask and bound the larger limit counts"),
            ("mask-of-rows-by-the-first-limit", "vectors of all rows go by the limit of the thread's first row"),
        ],
    ),
    (
        "codegen/indices.rs",
        &[
            ("index-sub-adds-constants", "registers differ by the wrong sign in a difference of indices"),
            ("index-product-in-32-bits", "a product of indices wraps at 2^32"),
        ],
    ),
    (
        "codegen/cp_async.rs",
        &[
            ("cp-async-mask-dropped", "copies ahead ignore their mask"),
            ("cp-async-beyond-the-loop", "copies go on for iterations that there are not"),
            ("cp-async-wait-for-one-too-few", "a stage is read before its copies have arrived"),
            ("cp-async-without-proxy-fence", "`wgmma` does not see what was copied"),
            (
                "cp-async-without-barrier",
                "a stage is read before all threads' copies have arrived, and filled while it is read",
            ),
            ("cp-async-buffer-left-without-barrier", "what follows a loop overwrites stages that are still read"),
            ("cp-async-left-in-flight", "copies go on after the loop"),
            ("cp-async-deferred-wait-left-out", "a product's stage is filled while it reads"),
            ("cp-async-by-all-copies", "threads with copies of an element all copy it ahead"),
        ],
    ),
    (
        "codegen/unroll.rs",
        &[
            ("unroll-drops-the-rest", "iterations that fill no round are left out"),
            ("unroll-one-iteration-too-many", "a round begins with one iteration too few left"),
            ("unroll-goes-on-after-break", "the next copy of a body runs after `break`"),
            ("unroll-copies-share-keys", "accesses of two copies are taken for the same elements"),
            ("unroll-reach-wraps", "a round of large steps begins behind the end of the range"),
        ],
    ),
    (
        "codegen/dot.rs",
        &[
            ("wgmma-without-fence", "`wgmma` begins before its registers are written"),
            ("wgmma-without-wait", "sums are read while the product goes on"),
            ("written-operand-overwritten", "a computed operand is written while the product before reads"),
            ("written-operand-without-fence", "`wgmma` does not see the operand that threads have written"),
            ("wgmma-adds-to-unset", "a product adds to what was in the registers"),
            ("wgmma-descriptor-stride", "rows of an operand are taken as half as far apart"),
        ],
    ),
    (
        "codegen/warp_specialize.rs",
        &[
            ("mbarrier-arrivals-of-one-block", "a stage is free when one block of the cluster has read it"),
            ("mbarrier-expects-a-tile-less", "a stage is full before its first tile is there"),
            ("mbarrier-wrong-phase", "the producer waits for the phase before"),
            ("mbarrier-phase-not-flipped", "waits of the second round are those of the first"),
            ("release-without-proxy-fence", "a copy overwrites what loads have not read yet"),
            ("release-without-meeting", "a stage is given back while some of the warpgroup wait for it"),
            ("cluster-block-ends-early", "a block ends while others reach into its shared memory"),
            ("mbarriers-not-ready", "copies do not see the initialized barriers"),
            ("tma-store-source-ends-early", "a program ends while its chunks are copied out"),
            ("tma-operand-not-waited", "a tile is used before it has arrived"),
        ],
    ),
    (
        "plan/warp_specialized.rs",
        &[("setmaxnreg-without-room", "consumers ask for registers that the producer has not given back")],
    ),
    (
        "codegen/parts.rs",
        &[
            ("join-swaps", "the two tiles of a `join` change places"),
            (
                "gather-from-the-first-register",
                "a gather by shuffles takes the first register of a lane that has several",
            ),
            ("gather-wraps-around", "a gather at an index outside of the tile gives an element"),
        ],
    ),
    (
        "codegen/one_warp.rs",
        &[("one-warp-keeps-its-results", "warps that did not run a loop do not learn what it left")],
    ),
    (
        "codegen/cumcount.rs",
        &[
            ("cumcount-counts-what-is-outside", "an element that is in no bin is numbered in another one"),
            ("cumcount-of-one-warp", "equal elements of earlier warps do not count"),
        ],
    ),
    (
        "codegen/histogram.rs",
        &[
            ("histogram-counts-copies", "copies of an element, and padding, count as well"),
            ("histogram-counts-what-is-outside", "an element that is in no bin counts in another one"),
        ],
    ),
    (
        "codegen/shared.rs",
        &[
            ("shared-arrays-overlap", "all shared arrays begin at the same byte"),
            (
                "shared-scalar-without-other",
                "a scalar that is not loaded from a shared array is 0 whatever `.other(..)`",
            ),
        ],
    ),
    ("codegen/statements.rs", &[("padding-is-asserted", "an assertion asks the padding, too")]),
    ("codegen/scan.rs", &[("scan-counts-padding", "a scan in reverse begins with the padding")]),
    ("codegen/sort.rs", &[("topk-copies-differ", "copies of a key swap equal payloads, or leave them")]),
    (
        "codegen/elementwise.rs",
        &[
            ("padding-is-valid", "padding is stored, and takes part in reductions"),
            ("asm-operands-reversed", "inline assembly takes the second operand for the first one"),
        ],
    ),
    (
        "codegen/deferred_wait.rs",
        &[("deferred-release-of-current-stage", "the stage that is being read is given back")],
    ),
    ("emit/grid.rs", &[("grid-rounds-down", "`cdiv` in a grid leaves the last program out")]),
];

const PLANTED_AT_RUN_TIME: &[(&str, &[(&str, &str)])] = &[
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
        ],
    ),
    ("device/scan.rs", &[("device-scan-includes-itself", "an exclusive scan across lanes includes the lane itself")]),
    (
        "device/product.rs",
        &[
            ("device-tf32x3-is-tf32", "the parts that tf32 loses are not multiplied"),
            ("device-tf32-truncated", "f32 is cut off to tf32 instead of rounded"),
            ("device-e4m3-nan-is-480", "a NaN of 8 bits is multiplied as a number"),
        ],
    ),
    ("device/cumcount.rs", &[("device-cumcount-of-any-lane", "equal elements of later lanes count, too")]),
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
    of(COMPILER, OF_COMPILER).chain(of(AT_RUN_TIME, PLANTED_AT_RUN_TIME)).collect()
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
