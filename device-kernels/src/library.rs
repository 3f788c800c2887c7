//! Operations on tiles that kernels of several modules share.

use tilewright_macros::tile_library;

/// Loads of operands, indices of matrices, and arithmetic of elements.
#[tile_library]
pub mod tiles {
    /// `[R, C]` of `v` at row `r` and column `c`, or of its transpose.
    fn operand<E, const TRANSPOSED: bool, const R: usize, const C: usize, const EVICT_FIRST: bool>(
        v: View<E, 2>,
        r: usize,
        c: usize,
    ) -> Tile<E> {
        if EVICT_FIRST {
            if TRANSPOSED { trans(v.tile([c, r], [C, R]).evict_first()) } else { v.tile([r, c], [R, C]).evict_first() }
        } else {
            if TRANSPOSED { trans(v.tile([c, r], [C, R])) } else { v.tile([r, c], [R, C]) }
        }
    }

    /// Indices of a matrix from `at`, row after row.
    fn matrix<const R: usize, const C: usize>(at: usize) -> Tile<usize> {
        at + (arange(R).expand(1) * C + arange(C).expand(0))
    }

    /// Sums that are not negative as they are, negative ones times the slope: 1 for a plain product, 0 for ReLU.
    fn activated(sums: Tile<f32>, negative_slope: f32) -> Tile<f32> {
        // Zero times an infinity is no zero.
        if negative_slope == 0.0 {
            where_(sums <= 0.0, 0.0, sums)
        } else if negative_slope != 1.0 {
            where_(sums < 0.0, negative_slope * sums, sums)
        } else {
            sums
        }
    }

    /// The same of integers, which have ReLU alone.
    fn activated_integers(sums: Tile<i32>, negative_slope: f32) -> Tile<i32> {
        if negative_slope == 0.0 { where_(sums < 0, 0, sums) } else { sums }
    }

    /// The nearest tf32; of the largest numbers the one below, which is finite.
    fn tf32(x: Tile<f32>) -> Tile<f32> {
        let bits = bitcast::<u32>(x);
        let up = where_((bits & 0x7FFFFFFF) < 0x7F7FF000, bits + 0x1000, bits);
        bitcast::<f32>(up & 0xFFFFE000)
    }

    /// The difference of `x` and `high`, its nearest tf32, as tf32. An infinity minus itself is NaN.
    fn low_part(x: Tile<f32>, high: Tile<f32>) -> Tile<f32> {
        where_(abs(x) == f32::INFINITY, 0.0, tf32(x - high))
    }
}

/// Partial sums across programs, in one launch. They are added in the order of the programs or of the partials, so a
/// result does not depend on the order in which programs end.
#[tile_library]
pub mod partials {
    /// A tile that a program waits for, in one step of the last program.
    const LANES: usize = 1024;

    /// The program's place in the order in which programs begin. A program calls it before it loads anything.
    fn begin_order(semaphore: &mut [u32]) -> u32 {
        atomic_add(semaphore, 0, 1).relaxed()
    }

    /// Hands `total` to `done` in the program that began last: the sum of `partial` over all programs.
    ///
    /// `workspace` has a zero for each program, `semaphore` one zero; both hold zeros again after the launch. A word
    /// of the workspace is a partial sum of 32 bits and a flag, so that it takes one trip to the L2 cache to publish
    /// and one to read it. A partial sum that the semaphore announced would take three.
    fn sum_of_programs<S>(workspace: &mut [u64], semaphore: &mut [u32], order: u32, partial: S, done: impl Fn(S)) {
        atomic_store(workspace, program_id(0), (1u64 << 32) | (bitcast::<u32>(partial) as u64)).relaxed();
        if order == num_programs(0) as u32 - 1 {
            let mut total = zeros::<S>([LANES]);
            let n = min(num_programs(0), workspace.len());
            for start in range(0, n, LANES) {
                let i = start + arange(LANES);
                // A program that began earlier runs, and ends without waiting for this program.
                let mut part = zeros::<u64>([LANES]);
                loop {
                    part = atomic_load(workspace, i).mask(i < n).relaxed();
                    if min(where_(i < n, (part >> 32).to::<u32>(), 1)) == 1 {
                        break;
                    }
                }
                total += bitcast::<S>(part.to::<u32>());
                atomic_store(workspace, i, 0).mask(i < n).relaxed();
            }
            done(sum(total));
            atomic_store(semaphore, 0, 0).relaxed();
        }
    }

    /// Whether this program stores the last of the `partials` partials of a task. The program has stored its part. The
    /// semaphore is zero before the launch and after it.
    fn is_last_partial(semaphores: &mut [u64], task: usize, partials: u64) -> bool {
        let last = atomic_add(semaphores, task, 1) == partials - 1;
        if last {
            atomic_store(semaphores, task, 0).relaxed();
        }
        last
    }

    /// Semaphores of a task. They are zeros before the launch and after it.
    const WORDS: u32 = 3;
    /// The first semaphore counts programs that have stored their part in its low half, and programs that have begun in
    /// its high half.
    const BEGUN: u64 = 0x100000000;

    /// The first step of a program that computes a part of the task whose semaphores begin at `word`. [`end_partial`]
    /// takes the result.
    fn begin_partial(semaphores: &mut [u64], word: u32) -> u64 {
        atomic_add(semaphores, word as usize, BEGUN).relaxed()
    }

    /// The last step, after the program has stored its part. Calls `reduce(p)` in one program for each `p` below
    /// `partials`, once all partials are stored: each program reduces a part of the rows.
    ///
    /// A program waits for the others only if all of them had begun when it stored its part. A program that stored its
    /// part earlier leaves its rows to the program that stores the last part, so that nothing depends on how many
    /// programs fit on the device at a time.
    fn end_partial(semaphores: &mut [u64], word: u32, partials: u32, began: u64, reduce: impl Fn(u32)) {
        let (counts, early, done) = (word as usize, word as usize + 1, word as usize + 2);
        let all = partials as u64;
        // The program that begins last knows how many have left early.
        if began >> 32 == all - 1 {
            atomic_store(semaphores, early, began & (BEGUN - 1)).relaxed();
        }
        let end = atomic_add(semaphores, counts, 1);
        let mine = end as u32;
        let last = mine == partials - 1;
        if last || end >> 32 == all {
            loop {
                if last || atomic_load(semaphores, counts) as u32 == partials {
                    break;
                }
            }
            let left = if last { atomic_load(semaphores, early).relaxed() as u32 } else { 0u32 };
            for p in range(if last { 0u32 } else { mine }, mine + 1, 1) {
                if p < left || p == mine {
                    reduce(p);
                }
            }
            let count = 1u64 + min(left, mine) as u64;
            if atomic_add(semaphores, done, count).relaxed() + count == all {
                for w in range(counts, counts + WORDS as usize, 1) {
                    atomic_store(semaphores, w, 0).relaxed();
                }
            }
        }
    }
}

/// Tile schedulers: which program computes which output tiles of a product, and which part of their K.
#[tile_library]
pub mod tile_scheduler {
    enum Scheduler {
        /// One output tile for each program of a grid of two dimensions.
        Grid,
        /// Each program computes every `num_programs(0)`-th output tile.
        Persistent,
        /// As many whole waves of output tiles as there are, as under `Persistent`. Programs share each tile of the
        /// last wave: each sums a part of K.
        StreamK,
    }

    /// Calls `tile` with the row and the column of each output tile of this program. Under `Persistent`, the tiles of
    /// GROUP rows of tiles follow each other, so that they share operands in the L2 cache.
    fn for_each_tile<const SCHEDULER: Scheduler, const GROUP: usize>(
        tiles: (usize, usize),
        tile: impl Fn(usize, usize),
    ) {
        if SCHEDULER == Scheduler::Grid {
            tile(program_id(0), program_id(1));
        } else {
            for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
                let (i, j) = swizzle2d(t, tiles, GROUP);
                tile(i, j);
            }
        }
    }

    /// Calls `tile(g, (r, end), j)` for each output tile of this program in groups of rows: of group `g`, at row `r`
    /// and column `j` of tiles. The group's rows end before `end`. Group `g` has the rows from the end of the group
    /// before to `ends[g]`, of `rows` at most. Ends that descend make groups without rows.
    ///
    /// The tiles of all groups are numbered one after another. As under `Persistent`, a program has every
    /// `num_programs(0)`-th one.
    fn for_each_tile_of_groups<const BM: usize, const GROUP: usize>(
        ends: &[i32],
        groups: usize,
        rows: usize,
        columns_of_tiles: usize,
        tile: impl Fn(usize, (usize, usize), usize),
    ) {
        let programs = num_programs(0);
        let mut begin = 0usize;
        let mut first = program_id(0);
        for g in range(0, groups) {
            let end = min(max(load(ends, g), begin as i32) as usize, rows);
            let tiles = (cdiv(end - begin, BM), columns_of_tiles);
            let all = tiles.0 * tiles.1;
            for t in range(first, all, programs) {
                let (i, j) = swizzle2d(t, tiles, GROUP);
                tile(g, (begin + i * BM, end), j);
            }
            // The first tile of this program in the next group.
            first = if first < all { (all - 1 - first) / programs * programs + first + programs } else { first } - all;
            begin = end;
        }
    }

    /// Stores the partial sums of an output tile from element `at` of the workspace on, column by column with
    /// BY_COLUMNS.
    fn store_partial<S, const BM: usize, const BN: usize, const BY_COLUMNS: bool>(
        workspace: &mut [S],
        at: usize,
        sums: Tile<S>,
    ) {
        if BY_COLUMNS {
            store(workspace, trans(matrix::<BN, BM>(at)), sums).unchecked();
        } else {
            store(workspace, matrix::<BM, BN>(at), sums).unchecked();
        }
    }

    /// The sum of a tile `[R, C]` of `partials` partial sums, which are SIZE elements apart. The first one begins at
    /// `first`.
    fn sum_of_partials<S, const R: usize, const C: usize, const SIZE: usize, const UNROLL: usize>(
        workspace: &mut [S],
        first: usize,
        partials: usize,
    ) -> Tile<S> {
        let mut sum = load(workspace, matrix::<R, C>(first)).unchecked();
        for q in range(1, partials, 1).unroll(UNROLL) {
            sum += load(workspace, matrix::<R, C>(first + q * SIZE)).unchecked();
        }
        sum
    }

    /// The output tile of this program in a grid of rows of tiles, columns of tiles and splits of K: split-K.
    /// The program that stores the last partial of a tile sums all of them.
    ///
    /// Parameters are those of [`stream_k`]. `workspace` has room for `BM x BN` sums of each program, and `semaphores`
    /// has one zero for each tile; both may be empty where K is one part.
    fn split_k<S, const BM: usize, const BN: usize, const BK: usize, const BY_COLUMNS: bool, const UNROLL: usize>(
        k: usize,
        workspace: &mut [S],
        semaphores: &mut [u64],
        main_loop: impl Fn(usize, usize, usize, usize) -> Tile<S>,
        epilogue: impl Fn(Tile<S>, usize, usize),
    ) {
        let (i, j, part, partials) = (program_id(0), program_id(1), program_id(2), num_programs(2));
        let (r, s) = (i * BM, j * BN);
        let deep = cdiv(cdiv(k, BK), partials) * BK;
        let sums = main_loop(i, j, part * deep, min(part * deep + deep, k));
        if partials == 1 {
            epilogue(sums, r, s);
        } else {
            let tile = i * num_programs(1) + j;
            let offset = tile * partials * (BM * BN);
            store_partial::<S, BM, BN, BY_COLUMNS>(workspace, offset + part * (BM * BN), sums);
            if is_last_partial(semaphores, tile, partials as u64) {
                if BY_COLUMNS {
                    epilogue(
                        trans(sum_of_partials::<S, BN, BM, { BM * BN }, UNROLL>(workspace, offset, partials)),
                        r,
                        s,
                    );
                } else {
                    epilogue(sum_of_partials::<S, BM, BN, { BM * BN }, UNROLL>(workspace, offset, partials), r, s);
                }
            }
        }
    }

    /// The output tiles of this program under any scheduler. Parameters are those of [`stream_k`] and
    /// [`for_each_tile`]; `workspace` and `semaphores` may be empty but under `StreamK`.
    fn output_tiles<
        S,
        const SCHEDULER: Scheduler,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const GROUP: usize,
        const BY_COLUMNS: bool,
        const REDUCE: usize,
        const MIN_K_STEPS: usize,
    >(
        (m, n, k): (usize, usize, usize),
        workspace: &mut [S],
        semaphores: &mut [u64],
        main_loop: impl Fn(usize, usize, usize, usize) -> Tile<S>,
        epilogue: impl Fn(Tile<S>, usize, usize),
    ) {
        if SCHEDULER == Scheduler::StreamK {
            stream_k::<S, BM, BN, BK, BY_COLUMNS, REDUCE, MIN_K_STEPS>(
                (m, n, k),
                workspace,
                semaphores,
                main_loop,
                epilogue,
            );
        } else {
            for_each_tile::<SCHEDULER, GROUP>((cdiv(m, BM), cdiv(n, BN)), |i, j| {
                epilogue(main_loop(i, j, 0usize, k), i * BM, j * BN);
            });
        }
    }

    /// The output tiles of this program under `StreamK`.
    ///
    /// `main_loop(i, j, from, to)` gives the sums `[BM, BN]` of tile `(i, j)` over K from `from` to `to`.
    /// `epilogue(sums, r, s)` stores sums at row `r` and column `s` of the result `[m, n]`: a whole tile, or REDUCE
    /// rows of a tile that programs share. With BY_COLUMNS these are columns: partial sums then lie column by column,
    /// as suits sums that are computed with swapped operands.
    ///
    /// `k` is summed in steps of BK; a part of it has MIN_K_STEPS steps or more. The caller sees to it that the
    /// tiles and the steps are fewer than 2^32. `workspace` has room for BM x BN sums of each program. `semaphores` has
    /// WORDS zeros for each program and holds zeros again after the launch.
    fn stream_k<
        S,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const BY_COLUMNS: bool,
        const REDUCE: usize,
        const MIN_K_STEPS: usize,
    >(
        (m, n, k): (usize, usize, usize),
        workspace: &mut [S],
        semaphores: &mut [u64],
        main_loop: impl Fn(usize, usize, usize, usize) -> Tile<S>,
        epilogue: impl Fn(Tile<S>, usize, usize),
    ) {
        let tiles = (cdiv(m, BM), cdiv(n, BN));
        // Arithmetic of 32 bits takes half the registers of 64.
        let (all, steps) = ((tiles.0 * tiles.1) as u32, max(cdiv(k, BK), 1) as u32);
        let (me, programs) = (program_id(0) as u32, num_programs(0) as u32);
        let waves = all / programs;
        let rest = max(all - waves * programs, 1);
        let deep = cdiv(steps, max(min(programs / rest, steps / MIN_K_STEPS as u32), 1));
        let partials = cdiv(steps, deep);
        let part = me / rest;
        let word = me % rest * WORDS;
        let more = if all > waves * programs && part < partials { 1u32 } else { 0u32 };
        let mut began = 0u64;
        if more == 1 && partials > 1 {
            began = begin_partial(semaphores, word);
        }
        for item in range(0, waves + more, 1) {
            let whole = item < waves;
            let tile = item * programs + if whole { me } else { me % rest };
            let begin = if whole { 0u32 } else { part * deep };
            let end = if whole { steps } else { min(part * deep + deep, steps) };
            let (i, j) = swizzle2d(tile as usize, tiles, 8);
            let (r, s) = (i * BM, j * BN);
            let sums = main_loop(i, j, begin as usize * BK, min(end as usize * BK, k));
            if end - begin == steps {
                epilogue(sums, r, s);
            } else {
                let offset = (me % rest * partials) as usize * (BM * BN);
                store_partial::<S, BM, BN, BY_COLUMNS>(workspace, offset + part as usize * (BM * BN), sums);
                end_partial(semaphores, word, partials, began, |p| {
                    let count = if BY_COLUMNS { min(BN, n - s) } else { min(BM, m - r) };
                    for h in range(p as usize * REDUCE, count, partials as usize * REDUCE) {
                        if BY_COLUMNS {
                            let first = offset + h * BM;
                            let sum =
                                sum_of_partials::<S, REDUCE, BM, { BM * BN }, 4>(workspace, first, partials as usize);
                            epilogue(trans(sum), r, s + h);
                        } else {
                            let first = offset + h * BN;
                            let sum =
                                sum_of_partials::<S, REDUCE, BN, { BM * BN }, 4>(workspace, first, partials as usize);
                            epilogue(sum, r + h, s);
                        }
                    }
                });
            }
        }
    }
}
