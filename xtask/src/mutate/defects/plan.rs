//! The defects that are planted in the plans of the compiler.

/// By file: names of defects, and the broken behavior.
pub const OF_PLANS: &[(&str, &[(&str, &str)])] = &[
    (
        "plan/access_elements.rs",
        &[
            ("access-key-ignores-copies", "what one thread stores others load without a barrier"),
            ("atomics-of-one-element-without-barrier", "sums of several threads are loaded before all have added"),
            (
                "access-key-ignores-the-layout",
                "what other threads have stored in another layout is loaded without a barrier",
            ),
        ],
    ),
    (
        "plan/access_order.rs",
        &[("load-of-other-lanes-without-barrier", "what other threads have stored under a mask is loaded too early")],
    ),
    (
        "plan/barriers.rs",
        &[
            (
                "barriers-forget-a-continue",
                "an iteration does not wait for what one before it has stored before a `continue`",
            ),
            (
                "barriers-keep-the-last-break-alone",
                "what follows a loop waits for what precedes its last `break` alone",
            ),
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
        "plan/cpu/mod.rs",
        &[(
            "cpu-variable-read-late",
            "the CPU reads a variable where its old tile is taken, behind its next assignment",
        )],
    ),
    ("plan/atomic_results.rs", &[("atomic-is-relaxed", "atomics neither acquire nor release")]),
    (
        "plan/index_sums.rs",
        &[("index-sub-adds-constants", "registers differ by the wrong sign in a difference of indices")],
    ),
    (
        "plan/comparisons.rs",
        &[
            ("mask-by-limits-below-zero", "limits that differ from row to row are compared as if none were below 0"),
            ("mask-less-or-equal-is-less", "`<=` is `<`"),
        ],
    ),
    (
        "plan/collectives.rs",
        &[
            ("reduce-of-each-lane-alone", "lanes combine the elements of a closure each in its own order"),
            ("scan-counts-padding", "a scan in reverse begins with the padding"),
        ],
    ),
    (
        "plan/accesses.rs",
        &[("atomic-add-of-descending-vectors", "additions to neighbors whose addresses descend are one vector")],
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
            ("cp-async-wait-for-one-too-few", "a stage is read before its copies have arrived"),
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
    (
        "plan/warp_specialized.rs",
        &[("setmaxnreg-without-room", "consumers ask for registers that the producer has not given back")],
    ),
    (
        "plan/unroll.rs",
        &[(
            "unrolled-whole-without-a-short-step",
            "a loop that is unrolled as a whole ends before its last, shorter step",
        )],
    ),
    (
        "plan/shared_memory.rs",
        &[(
            "shared-memory-of-the-first-loop",
            "the stages of later loops have the shared memory of those of the first",
        )],
    ),
    (
        "plan/staged_store.rs",
        &[
            (
                "tma-store-in-front-of-an-atomic",
                "a tile is stored by TMA although the kernel makes atomics on the array",
            ),
            ("tma-store-chunk-overwritten", "a chunk is overwritten while it is copied out"),
            (
                "tma-store-overwrites-the-store-before",
                "the first chunk of a store overwrites a chunk of the store before while it is copied out",
            ),
            ("tile-store-ends-below-zero", "a tile that begins before the array is not stored beyond its first rows"),
        ],
    ),
    (
        "plan/bounds.rs",
        &[
            (
                "bounds-of-an-index-below-zero",
                "the end of an array is compared with an index that may begin below zero as if it counted up",
            ),
            (
                "bounds-joined-with-a-limit-of-rows",
                "a mask of rows and the end of an array are one comparison, of rows",
            ),
        ],
    ),
    (
        "plan/demands.rs",
        &[
            (
                "one-warp-atomic-by-one-copy-alone",
                "lanes of a loop of one warp that hold copies of an element do not learn the old value",
            ),
            ("atomic-copies-of-other-warps-get-nothing", "warps with copies of an element do not learn the old value"),
            (
                "written-operand-vectors-of-columns",
                "a computed operand is written in vectors along its rows, whichever way it is stored",
            ),
        ],
    ),
    (
        "plan/tiles.rs",
        &[(
            "bounds-joined-whatever-the-mask-compares",
            "a mask and the end of an array are one comparison although they compare other indices",
        )],
    ),
    (
        "plan/tile_forms.rs",
        &[
            ("mask-of-a-register-too-many", "a mask is taken to stay the same for twice as many elements as it does"),
            ("buffer-loads-along-rows", "threads load vectors of a tile that TMA copied along its rows' numbers"),
            (
                "buffer-loads-of-twice-the-run",
                "threads load vectors twice as wide as their runs of a tile that TMA copied",
            ),
        ],
    ),
    (
        "plan/conversions.rs",
        &[
            ("conversion-between-lanes-left-out", "layouts that differ between lanes alone are taken for one"),
            ("exchange-of-several-tiles-in-one", "the tiles of one exchange all have the same shared memory"),
        ],
    ),
    (
        "plan/one_warp.rs",
        &[
            ("one-warp-loop-that-returns", "a loop that may end the program is run by one warp"),
            (
                "one-warp-result-that-is-read-once",
                "warps that did not run a loop do not learn a result that is read once",
            ),
        ],
    ),
    (
        "plan/mma_sync.rs",
        &[
            ("staged-operand-by-rows", "the instructions take a stage for one whose rows are contiguous"),
            ("staged-operand-not-transposed", "a transposed operand is read from its stage as it was loaded"),
        ],
    ),
    (
        "plan/wgmma_cp_async.rs",
        &[
            ("wgmma-copied-operand-not-transposed", "`wgmma` takes a transposed copied tile as it was loaded"),
            (
                "wgmma-copied-operand-of-cut-rows",
                "an instruction begins within the swizzled rows of an MN-major copied tile",
            ),
            ("wgmma-copied-columns-as-rows", "a tile whose columns are contiguous is copied as if its rows were"),
        ],
    ),
];
