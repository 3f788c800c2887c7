//! What the programs of a grid do together: prefixes by decoupled look-back, and reductions, in one launch.

#[tile_library]
pub mod grid {
    /// A word of a program is 32 bits of a value and, above them, what the value is.
    const TOTAL: u64 = 1 << 32;
    const PREFIX: u64 = 2 << 32;
    /// Programs that one step looks at.
    const WINDOW: usize = 32;
    const LANES: usize = 1024;

    /// The place of the program in the order in which programs begin. `counters` has two zeros, which `end_order` leaves
    /// again.
    fn begin_order(counters: &mut [u32]) -> usize {
        atomic_add(counters, 0, 1).relaxed() as usize
    }

    /// The last step. The program that began last waits until all others have come here, and sets `counters` and `words`
    /// to zero for the next launch. The others wait for nothing.
    fn end_order(counters: &mut [u32], words: &mut [u64], order: usize) {
        let others = num_programs(0) - 1;
        if order < others {
            // What a program found in the words has led it here: no zero comes before that.
            atomic_add(counters, 1, 1).relaxed();
        } else {
            loop {
                if atomic_load(counters, 1).relaxed() as usize == others {
                    break;
                }
            }
            for start in range(0, words.len(), LANES) {
                atomic_store(words, start + arange(LANES), 0).relaxed();
            }
            atomic_store(counters, arange(2), 0).relaxed();
        }
    }

    /// `first` combined with the totals of all programs that come before `order`.
    fn look_back<T>(words: &mut [u64], order: usize, total: T, first: T, combine: impl Fn(T, T) -> T) -> T {
        static_assert!(T::BITS == 32 || T::BITS == 64, "`look_back` takes values of 32 or 64 bits: convert them");
        if T::BITS == 32 {
            let one = |v| (bitcast::<u32>(v), bitcast::<u32>(v));
            let (before, _) = look_back_bits::<false>(words, order, one(total), one(first), |(a, _), (b, _)| {
                one(combine(bitcast::<T>(a), bitcast::<T>(b)))
            });
            bitcast::<T>(before)
        } else {
            let halves = |v| (bitcast::<u64>(v) as u32, (bitcast::<u64>(v) >> 32) as u32);
            let whole = |low, high| bitcast::<T>((high as u64) << 32 | low as u64);
            let (low, high) = look_back_bits::<true>(words, order, halves(total), halves(first), |(a, b), (c, d)| {
                halves(combine(whole(a, b), whole(c, d)))
            });
            whole(low, high)
        }
    }

    /// The same of pairs of 32-bit values.
    fn look_back_pair<A, B>(
        words: &mut [u64],
        order: usize,
        total: (A, B),
        first: (A, B),
        combine: impl Fn((A, B), (A, B)) -> (A, B),
    ) -> (A, B) {
        static_assert!(A::BITS == 32 && B::BITS == 32, "`look_back_pair` takes values of 32 bits: convert them");
        let bits = |(a, b)| (bitcast::<u32>(a), bitcast::<u32>(b));
        let (a, b) = look_back_bits::<true>(words, order, bits(total), bits(first), |(a, b), (c, d)| {
            bits(combine((bitcast::<A>(a), bitcast::<B>(b)), (bitcast::<A>(c), bitcast::<B>(d))))
        });
        (bitcast::<A>(a), bitcast::<B>(b))
    }

    /// The same of 32 bits, and of as many more with WIDE.
    fn look_back_bits<const WIDE: bool>(
        words: &mut [u64],
        order: usize,
        total: (u32, u32),
        first: (u32, u32),
        combine: impl Fn((u32, u32), (u32, u32)) -> (u32, u32),
    ) -> (u32, u32) {
        publish::<WIDE>(words, order, TOTAL, total);
        let lane = arange(WINDOW);
        // The programs from `end` on are combined in `after`.
        let (mut end, mut after, mut is_whole) = (order, total, false);
        while !is_whole {
            // What comes before all programs is a prefix.
            let is_program = end + lane >= WINDOW;
            let at = where_(is_program, end + lane - WINDOW, 0);
            let (mut low, mut high) = (lane.to::<u32>(), lane.to::<u32>());
            let mut kind = lane.to::<u32>();
            if WIDE {
                let a = atomic_load(words, 2 * at).mask(is_program).relaxed();
                let b = atomic_load(words, 2 * at + 1).mask(is_program).relaxed();
                // A pair that is stored meanwhile counts as not stored.
                kind = where_(a >> 32 == b >> 32, (a >> 32).to::<u32>(), 0);
                (low, high) = (a.to::<u32>(), b.to::<u32>());
            } else {
                let a = atomic_load(words, at).mask(is_program).relaxed();
                (kind, low) = ((a >> 32).to::<u32>(), a.to::<u32>());
            }
            kind = where_(is_program, kind, 2);
            low = where_(is_program, low, first.0);
            high = where_(is_program, high, first.1);
            // The last word that is not a total: a prefix ends the search, a missing word is asked for again.
            let last = max(where_(kind == 1, 0, 4 * (lane.to::<u32>() + 1) + kind));
            if last == 0 || last % 4 == 2 {
                // A prefix takes the place of all that comes before it.
                let (_, lows, highs) = scan((kind, low, high), 0, |(k, a, b), (l, c, d)| {
                    let (e, f) = combine((a, b), (c, d));
                    (where_(l == 2, l, k), where_(l == 2, c, e), where_(l == 2, d, f))
                });
                let window = (last_of(lows), last_of(highs));
                after = if end == order { window } else { combine(window, after) };
                is_whole = last > 0;
                end -= min(end, WINDOW);
            }
        }
        publish::<WIDE>(words, order, PREFIX, combine(after, total));
        after
    }

    fn last_of(t: Tile<u32>) -> u32 {
        sum(where_(arange(WINDOW) == WINDOW - 1, t, 0))
    }

    fn publish<const WIDE: bool>(words: &mut [u64], order: usize, kind: u64, (low, high): (u32, u32)) {
        if WIDE {
            atomic_store(words, 2 * order, kind | low as u64).relaxed();
            atomic_store(words, 2 * order + 1, kind | high as u64).relaxed();
        } else {
            atomic_store(words, order, kind | low as u64).relaxed();
        }
    }

    /// Hands `done` the combination of `total` over all programs, in the program that began last. `combine` is
    /// commutative, and combines `first` with a value to that value.
    fn reduce_programs<T>(
        words: &mut [u64],
        order: usize,
        total: T,
        first: T,
        combine: impl Fn(T, T) -> T,
        done: impl Fn(T),
    ) {
        static_assert!(T::BITS == 32, "`reduce_programs` takes values of 32 bits: convert them");
        atomic_store(words, program_id(0), TOTAL | bitcast::<u32>(total) as u64).relaxed();
        let n = num_programs(0);
        if order == n - 1 {
            let mut all = full([LANES], first);
            for start in range(0, n, LANES) {
                let i = start + arange(LANES);
                // A program that began earlier runs, and ends whatever this program waits for.
                let mut part = zeros::<u64>([LANES]);
                loop {
                    part = atomic_load(words, i).mask(i < n).relaxed();
                    if min(where_(i < n, (part >> 32).to::<u32>(), 1)) == 1 {
                        break;
                    }
                }
                all = combine(all, where_(i < n, bitcast::<T>(part.to::<u32>()), first));
            }
            done(reduce(all, 0, combine));
        }
    }
}
