//! What kernels of several modules do with tiles.

use kernel_macros::tile_library;

#[tile_library]
pub mod tiles {
    /// `[R, C]` of `v` at row `r` and column `c`; with T of 1, of its transpose. With ONCE of 1 nobody else reads it.
    fn operand<E, const T: usize, const R: usize, const C: usize, const ONCE: usize>(
        v: View<E, 2>,
        r: usize,
        c: usize,
    ) -> Tile<E> {
        if ONCE == 1 {
            if T == 1 { trans(v.tile([c, r], [C, R]).streaming()) } else { v.tile([r, c], [R, C]).streaming() }
        } else {
            if T == 1 { trans(v.tile([c, r], [C, R])) } else { v.tile([r, c], [R, C]) }
        }
    }

    /// Indices of a matrix from `at`, row after row.
    fn matrix<const R: usize, const C: usize>(at: usize) -> Tile<usize> {
        at + (arange(R).expand(1) * C + arange(C).expand(0))
    }

    /// Non-negative sums as they are, negative ones `below` times: 1 for a plain product, 0 for ReLU, any slope for a leaky one.
    fn activated(sums: Tile<f32>, below: f32) -> Tile<f32> {
        // Zero times an infinity is no zero.
        if below == 0.0 {
            where_(sums <= 0.0, 0.0, sums)
        } else if below != 1.0 {
            where_(sums < 0.0, below * sums, sums)
        } else {
            sums
        }
    }

    /// The same of integers, which have ReLU alone.
    fn activated_integers(sums: Tile<i32>, below: f32) -> Tile<i32> {
        if below == 0.0 { where_(sums < 0, 0, sums) } else { sums }
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

/// Sums across programs, in one launch: a partial sum of each program becomes one result. The partial sums are added in
/// the order of the programs, so the result does not depend on the order in which programs end.
#[tile_library]
pub mod partials {
    /// A tile that a program waits for, in one step of the last program.
    const LANES: usize = 1024;

    /// The program's place in the order in which programs begin. A program calls it before it loads anything.
    fn begin(semaphore: &mut [u32]) -> u32 {
        atomic_add(semaphore, 0, 1).relaxed()
    }

    /// Hands `total` to `done` in the program that began last: the sum of `partial` over all programs.
    ///
    /// `workspace` has a zero for each program, `semaphore` one zero; both hold zeros again after the launch. A word
    /// of the workspace is a partial sum of 32 bits and a flag, so that it takes one trip to the L2 cache to publish
    /// and one to read it. A partial sum that the semaphore announced would take three.
    fn sum_of_programs<S>(
        workspace: &mut [u64],
        semaphore: &mut [u32],
        order: u32,
        partial: S,
        done: impl Fn(S),
    ) {
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
}

/// How programs that have a part of a task each share what is left to do once all parts are there: adding up rows. Each adds up some,
/// always in the order of the parts: who comes when changes nothing. Only who sees that all others have begun waits for them; if it does
/// not, as where the device has no room for all programs at a time, it leaves its rows to the last to come.
///
/// A task has WORDS zeros from `word` on, which are zeros again afterwards: who has begun, who has left, as bits, who has come, whose rows are added up.
#[tile_library]
pub mod shares {
    /// Programs that share a task, at most: bits of a word.
    const MOST: u32 = 64;
    const WORDS: u32 = 4;

    /// As early as can be.
    fn enter(tickets: &mut [u64], word: u32) {
        atomic_add(tickets, word as usize, 1).relaxed();
    }

    /// When a part has been stored: `add_up`, once all parts are there, for each of those whose rows are this program's to add up.
    fn share(tickets: &mut [u64], word: u32, part: u32, parts: u32, add_up: impl Fn(u32)) {
        let (begun, left, come, done) = (word as usize, word as usize + 1, word as usize + 2, word as usize + 3);
        let stays = atomic_load(tickets, begun).relaxed() as u32 == parts;
        if !stays {
            atomic_or(tickets, left, 1u64 << part as u64).relaxed();
        }
        let last = atomic_add(tickets, come, 1) as u32 == parts - 1;
        if stays || last {
            let mut mine = 1u64 << part as u64;
            if last {
                mine = mine | atomic_load(tickets, left).relaxed();
            }
            loop {
                if last || atomic_load(tickets, come) as u32 == parts {
                    break;
                }
            }
            let mut count = 0u64;
            for p in range(0, parts, 1) {
                if (mine >> p as u64) & 1 == 1 {
                    count += 1;
                    add_up(p);
                }
            }
            if atomic_add(tickets, done, count).relaxed() + count == parts as u64 {
                for w in range(begun, begun + WORDS as usize, 1) {
                    atomic_store(tickets, w, 0).relaxed();
                }
            }
        }
    }
}
