//! What kernels of several modules do with tiles.

use kernel_macros::tile_library;

#[tile_library]
pub mod tiles {
    /// `[R, C]` of `v` at row `r` and column `c`, or of its transpose.
    fn operand<E, const TRANSPOSED: bool, const R: usize, const C: usize, const EVICT_FIRST: bool>(
        v: View<E, 2>,
        r: usize,
        c: usize,
    ) -> Tile<E> {
        if EVICT_FIRST {
            if TRANSPOSED { trans(v.tile([c, r], [C, R]).streaming()) } else { v.tile([r, c], [R, C]).streaming() }
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

    /// What is left of `x` beside `high`, its nearest tf32, as one. An infinity less itself is no number.
    fn low_part(x: Tile<f32>, high: Tile<f32>) -> Tile<f32> {
        where_(abs(x) == f32::INFINITY, 0.0, tf32(x - high))
    }
}

/// Partial sums across programs, in one launch. They are added in the order of the programs or of the parts, so a result
/// does not depend on the order in which programs end.
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
                // A program that began earlier runs, and ends whatever this program waits for.
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
            store(semaphore, 0, 0);
        }
    }

    /// Programs that share a task, at most: the bits of a word.
    const MAX_PARTS: u32 = 64;
    /// Semaphores of a task: parts that have begun, parts whose program has left (a bit each), parts that are stored,
    /// parts whose rows are added. They are zeros before the launch and after it.
    const WORDS: u32 = 4;

    /// The first step of a program that computes a part of the task whose semaphores begin at `word`.
    fn begin_part(semaphores: &mut [u64], word: u32) {
        atomic_add(semaphores, word as usize, 1).relaxed();
    }

    /// The last step, after the program has stored its part. Calls `reduce(p)` in one program for each part `p`, once all
    /// parts are stored: each program reduces a part of the rows.
    ///
    /// A program waits for the others only if all of them have begun. If they have not, as on a device that has no room
    /// for all programs at a time, it leaves its rows to the program that stores the last part.
    fn end_part(semaphores: &mut [u64], word: u32, part: u32, parts: u32, reduce: impl Fn(u32)) {
        let (begun, left, stored, done) = (word as usize, word as usize + 1, word as usize + 2, word as usize + 3);
        let stays = atomic_load(semaphores, begun).relaxed() as u32 == parts;
        if !stays {
            atomic_or(semaphores, left, 1u64 << part as u64).relaxed();
        }
        let last = atomic_add(semaphores, stored, 1) as u32 == parts - 1;
        if stays || last {
            let mut mine = 1u64 << part as u64;
            if last {
                mine = mine | atomic_load(semaphores, left).relaxed();
            }
            loop {
                if last || atomic_load(semaphores, stored) as u32 == parts {
                    break;
                }
            }
            let mut count = 0u64;
            for p in range(0, parts, 1) {
                if (mine >> p as u64) & 1 == 1 {
                    count += 1;
                    reduce(p);
                }
            }
            if atomic_add(semaphores, done, count).relaxed() + count == parts as u64 {
                for w in range(begun, begun + WORDS as usize, 1) {
                    atomic_store(semaphores, w, 0).relaxed();
                }
            }
        }
    }
}

/// Tile schedulers: which program computes which output tiles of a product, and which part of their depth.
#[tile_library]
pub mod tile_scheduler {
    enum Scheduler {
        /// One output tile for each program of a grid of two dimensions.
        Grid,
        /// Each program computes every `num_programs(0)`-th output tile.
        Persistent,
        /// As many whole waves of output tiles as there are, as under `Persistent`. Programs share each tile of the last
        /// wave: each sums a part of the depth.
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

    /// The output tiles of this program under `StreamK`.
    ///
    /// `main_loop(i, j, from, to)` gives the sums `[BM, BN]` of tile `(i, j)` over the depth from `from` to `to`.
    /// `epilogue(sums, r, s)` stores sums at row `r` and column `s` of the result `[m, n]`: a whole tile, or REDUCE rows of a
    /// tile that programs share. With BY_COLUMNS these are columns: partial sums then lie column by column,
    /// as suits sums that are computed with swapped operands.
    ///
    /// `depth` is summed in steps of BK; a part of it has MIN_K_STEPS steps or more. The caller sees to it that the tiles
    /// and the steps are fewer than 2^32. `workspace` has room for BM x BN sums of each program. `semaphores` has WORDS
    /// zeros for each program and holds zeros again after the launch.
    fn stream_k<
        S,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const BY_COLUMNS: bool,
        const REDUCE: usize,
        const MIN_K_STEPS: usize,
    >(
        (m, n, depth): (usize, usize, usize),
        workspace: &mut [S],
        semaphores: &mut [u64],
        main_loop: impl Fn(usize, usize, usize, usize) -> Tile<S>,
        epilogue: impl Fn(Tile<S>, usize, usize),
    ) {
        let tiles = (cdiv(m, BM), cdiv(n, BN));
        // Arithmetic of 32 bits takes half the registers of 64.
        let (all, steps) = ((tiles.0 * tiles.1) as u32, max(cdiv(depth, BK), 1) as u32);
        let (me, programs) = (program_id(0) as u32, num_programs(0) as u32);
        let waves = all / programs;
        let rest = max(all - waves * programs, 1);
        let deep = cdiv(steps, clamp(min(programs / rest, steps / MIN_K_STEPS as u32), 1, MAX_PARTS));
        let parts = cdiv(steps, deep);
        let part = me / rest;
        let word = me % rest * WORDS;
        let more = if all > waves * programs && part < parts { 1u32 } else { 0u32 };
        if more == 1 && parts > 1 {
            begin_part(semaphores, word);
        }
        for item in range(0, waves + more, 1) {
            let whole = item < waves;
            let tile = item * programs + if whole { me } else { me % rest };
            let begin = if whole { 0u32 } else { part * deep };
            let end = if whole { steps } else { min(part * deep + deep, steps) };
            let (i, j) = swizzle2d(tile as usize, tiles, 8);
            let (r, s) = (i * BM, j * BN);
            let sums = main_loop(i, j, begin as usize * BK, min(end as usize * BK, depth));
            if end - begin == steps {
                epilogue(sums, r, s);
            } else {
                let slot = (me % rest * parts) as usize * (BM * BN);
                let own = slot + part as usize * (BM * BN);
                if BY_COLUMNS {
                    store(workspace, trans(matrix::<BN, BM>(own)), sums).unchecked();
                } else {
                    store(workspace, matrix::<BM, BN>(own), sums).unchecked();
                }
                end_part(semaphores, word, part, parts, |p| {
                    let count = if BY_COLUMNS { min(BN, n - s) } else { min(BM, m - r) };
                    for h in range(p as usize * REDUCE, count, parts as usize * REDUCE) {
                        let first = slot + h * if BY_COLUMNS { BM } else { BN };
                        let mut sum =
                            load(workspace, matrix::<REDUCE, { if BY_COLUMNS { BM } else { BN } }>(first)).unchecked();
                        for q in range(1, parts, 1).unroll(4) {
                            let at = first + q as usize * (BM * BN);
                            sum +=
                                load(workspace, matrix::<REDUCE, { if BY_COLUMNS { BM } else { BN } }>(at)).unchecked();
                        }
                        if BY_COLUMNS {
                            epilogue(trans(sum), r, s + h);
                        } else {
                            epilogue(sum, r + h, s);
                        }
                    }
                });
            }
        }
    }
}
