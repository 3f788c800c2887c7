//! The defects that are planted in the compiler, but for its plans.

/// By file: names of defects, and the broken behavior.
pub const OF_COMPILER: &[(&str, &[(&str, &str)])] = &[
    (
        "layout/assign.rs",
        &[(
            "one-warp-loop-of-all-warps",
            "one warp runs a loop whose tiles all warps have, and its own elements alone are added",
        )],
    ),
    (
        "front/infer/loops.rs",
        &[
            ("step-that-wraps-to-zero", "a loop does not end whose step wraps around to 0"),
            (
                "step-of-zero-by-the-greater",
                "a loop whose step is a `min` with a constant does not end where the other number is 0",
            ),
        ],
    ),
    (
        "front/infer/ops.rs",
        &[("cdiv-of-a-negative-constant", "the quotient of constants below zero is cut off, not rounded up")],
    ),
    ("front/infer/expr.rs", &[("bf16-epsilon-is-half-of-it", "`bf16::EPSILON` is that of a number with one bit more")]),
    (
        "layout/linear/scan.rs",
        &[("scan-lanes-in-any-order", "lanes are scanned upwards although the axis does not follow them")],
    ),
    (
        "passes/induction.rs",
        &[
            ("induction-begins-at-one", "the number that a loop moves a tile by begins at 1"),
            ("induction-forgets-after-the-loop", "after the loop the tile is where it was before"),
            ("induction-forgets-in-an-outer-loop", "the tile is where it was before when the loop begins once more"),
        ],
    ),
    (
        "passes/adjoint/mod.rs",
        &[
            ("adjoint-of-the-last-use-alone", "a value with two uses has the adjoint of one of them"),
            ("adjoint-kept-by-an-assignment", "an assignment leaves the adjoint of the variable as it was"),
        ],
    ),
    (
        "passes/adjoint/control.rs",
        &[
            ("adjoint-of-a-loop-from-its-first", "the adjoint of a loop begins with the first iteration"),
            ("adjoint-without-earlier-iterations", "a carried variable has its content from before the loop"),
        ],
    ),
    (
        "passes/adjoint/memory.rs",
        &[
            ("adjoint-with-strides-of-the-input", "the gradient of a view is addressed by the strides of the view"),
            ("adjoint-of-a-store-unmasked", "a store that a mask leaves out hands on a gradient"),
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
            ("pipeline-dots-steps-beyond-its-type", "a loop that ends within a step of its type's end begins anew"),
            (
                "pipeline-dots-forgets-a-counter",
                "the second product of the iteration before has the right operand of this one, where a variable says which",
            ),
            ("pipeline-dots-drops-the-last-product", "the last iteration's second product is left out"),
            ("pipeline-dots-repeats-the-first", "the first iteration runs twice"),
            ("pipeline-dots-of-an-empty-loop", "the first iteration runs although the loop has none"),
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
            ("block-pointer-last-of-two-extents", "of two limits of a dimension only the last one counts"),
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
            ("axis-info-narrow-runs-never-wrap", "numbers of few bits are taken for a run where they wrap around"),
            (
                "axis-info-limit-of-each-element",
                "elements with limits of their own are loaded as a whole or not at all",
            ),
            ("axis-info-ignores-alignment", "a vector begins at any element"),
            ("axis-info-forgets-the-step", "a loop's variable is as divisible as where the loop begins"),
            ("axis-info-lowest-of-descending", "the highest element of a descending run is taken for the lowest"),
            ("axis-info-rem-of-shifted", "runs stay whole under `%` wherever they begin"),
            ("axis-info-first-assignment-only", "a variable is what its first assignment says"),
            ("axis-info-mask-of-any-limit", "a mask divides no vector, whatever its limit is a multiple of"),
            ("axis-info-shift-by-a-bit-less", "a shift to the left is taken for one by a bit less"),
            ("axis-info-one-round", "what a loop assigns is followed for one iteration"),
            (
                "axis-info-runs-wrap-in-wider-types",
                "a run of a narrow type is one of a wider type where it wraps around",
            ),
            ("axis-info-rem-by-zero", "what is divided by an argument is a run even if that is 0"),
            ("axis-info-rem-by-several", "numbers that are divided by several are a run"),
            ("undivided-beyond-the-slice", "the end of a slice divides no vector"),
            ("axis-info-keeps-the-first-remainder", "of two values of a variable only the first remainder is known"),
        ],
    ),
    (
        "analysis/launch_guards.rs",
        &[
            ("launch-guards-any-address", "vectors are loaded from unaligned arrays"),
            ("launch-guards-without-atomics", "vectors are added to unaligned arrays"),
        ],
    ),
    (
        "analysis/polynomial.rs",
        &[
            (
                "polynomial-counts-past-a-continue",
                "a variable counts the iterations that `continue` left out before it grew",
            ),
            ("polynomial-counter-of-two-loops", "in a second loop a variable counts from where the first one began"),
            (
                "polynomial-wraps-from-anywhere",
                "rows that wrap around (`%`) inside of a tile are copied as if they did so between two",
            ),
            ("polynomial-sub-adds", "a difference of indices is taken for their sum"),
            ("polynomial-counts-from-zero", "a loop that begins at `lo` is taken for one that begins at 0"),
            (
                "polynomial-divided-with-a-rest",
                "a variable that grows by a part of the loop's step is taken for one that grows by whole steps",
            ),
        ],
    ),
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
            ("argmax-padding-is-infinite", "where all elements are NaN the index of the greatest is that of padding"),
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
            ("atomic-copies-get-nothing", "threads with copies of an element do not learn the old value"),
            ("acquire-without-barrier", "a thread reads before the one that acquires has done so"),
            ("scalar-mask-dropped", "masks of scalars are ignored"),
        ],
    ),
    (
        "analysis/tma_box.rs",
        &[
            ("tma-of-any-column", "TMA copies tiles that begin between multiples of 16 bytes"),
            ("tma-store-before-the-array", "TMA stores tiles that begin before the array"),
        ],
    ),
    ("dtype.rs", &[("constants-of-many-digits", "numbers are computed from constants that are not rounded")]),
    (
        "codegen/staged_store.rs",
        &[
            ("release-without-barrier", "an atomic announces what other threads have not stored yet"),
            ("announced-before-tma-store-ends", "an atomic announces what a tensor map has not stored yet"),
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
        "analysis/no_wrap.rs",
        &[
            ("mask-of-wrapped-index", "an index below 0 is compared as if it counted up"),
            ("mask-of-signed-number", "an index that begins below 0 is compared as if it counted up"),
        ],
    ),
    (
        "codegen/predicates.rs",
        &[
            ("mask-less-or-equal-wraps", "`i <= n` with the greatest n allows nothing"),
            ("mask-joined-by-larger-limit", "of mask and bound the larger limit counts"),
            ("mask-of-rows-by-the-first-limit", "vectors of all rows go by the limit of the thread's first row"),
        ],
    ),
    ("codegen/indices.rs", &[("index-product-in-32-bits", "a product of indices wraps at 2^32")]),
    (
        "codegen/cp_async.rs",
        &[
            ("cp-async-mask-dropped", "copies ahead ignore their mask"),
            ("cp-async-beyond-the-loop", "copies go on for iterations that there are not"),
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
        "codegen/parts.rs",
        &[
            ("gather-index-in-32-bits", "whether a gather's index has an element is asked of its lower 32 bits"),
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
        &[
            (
                "one-warp-loop-begins-early",
                "a loop that one warp runs does not wait for what the others have done before it",
            ),
            ("one-warp-keeps-its-results", "warps that did not run a loop do not learn what it left"),
        ],
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
            ("histogram-index-in-32-bits", "whether an element is a bin is asked of its lower 32 bits"),
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
    (
        "codegen/scan.rs",
        &[(
            "scan-counts-warps-from-the-first-bit",
            "warps that differ in higher bits of their number are scanned as if in lower ones",
        )],
    ),
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
    (
        "emit/grid.rs",
        &[
            ("grid-difference-wraps", "a grid's difference below 0 is a great number of programs"),
            ("grid-rounds-down", "`cdiv` in a grid leaves the last program out"),
            ("grid-of-a-negative-number", "a negative argument is a great number of programs"),
        ],
    ),
    (
        "layout/linear/shape.rs",
        &[("permuted-layout-not-inverted", "a permutation of three dimensions is taken for its inverse")],
    ),
    ("mma/fragments.rs", &[("fma-vectors-of-columns-apart", "columns that are apart are loaded as one vector")]),
    (
        "codegen/pieces.rs",
        &[
            ("copies-of-other-warps-act", "warps with copies of an element all act for it"),
            ("number-of-words-without-its-factor", "a product of several arguments forgets its constant factor"),
        ],
    ),
    (
        "codegen/conversions.rs",
        &[("shuffle-without-first-exchange", "registers do not change places before shuffles that need it")],
    ),
    (
        "codegen/epilogue.rs",
        &[
            (
                "piece-of-cheap-tile-is-the-first",
                "each piece of a store takes the first registers of what is computed at its use",
            ),
            ("piece-by-the-mask-of-the-first", "each piece of an epilogue is loaded by the bounds of the first"),
        ],
    ),
    (
        "passes/cluster/dims.rs",
        &[
            ("cluster-gathers-from-its-part-alone", "a block of a cluster gathers elements of its own part alone"),
            ("cluster-scans-its-part-alone", "a block of a cluster scans its own part alone"),
            ("cluster-counts-its-part-alone", "a block of a cluster makes a histogram of its own part alone"),
        ],
    ),
    (
        "passes/dce.rs",
        &[
            ("atomic-stores-are-dead", "an atomic store is removed, since nobody takes its result"),
            ("branch-that-continues-is-dead", "a branch that does nothing but `continue` is removed"),
        ],
    ),
];
