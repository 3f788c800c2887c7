//! What the programs of a grid do together: prefixes by decoupled look-back, and reductions, in one launch.

#[tile_library]
pub mod grid {
    /// A word of a program has 32 bits of a value and, above them, its state: 0 before the program stores it, then
    /// TOTAL for the program's own value, then PREFIX for the value that is final.
    const MISSING: u64 = 0;
    const TOTAL: u64 = 1;
    const PREFIX: u64 = 2;
    /// Words that one step of a search, or of a reduction, loads.
    const WINDOW: usize = 128;
    const LANES: usize = 2048;

    fn programs() -> usize {
        num_programs(0) * num_programs(1) * num_programs(2)
    }

    /// The place of the program in the order in which programs begin. The program that begins last sets the counter to
    /// zero: no other program adds to it any more.
    pub fn begin_order(counter: &mut [u32]) -> usize {
        device_assert!(counter.len() > 0, "`begin_order` takes a counter");
        let order = atomic_add(counter, 0, 1).relaxed() as usize;
        if order == programs() - 1 {
            atomic_store(counter, 0, 0).relaxed();
        }
        order
    }

    /// Calls `done` with `first` combined with the totals of all programs that come before `order`.
    pub fn look_back<T>(
        words: &mut [u64],
        order: usize,
        total: T,
        first: T,
        combine: impl Fn(T, T) -> T,
        done: impl Fn(T),
    ) {
        static_assert!(T::BITS == 32 || T::BITS == 64, "`look_back` takes values of 32 or 64 bits: convert them");
        if T::BITS == 32 {
            let one = |v| (bitcast::<u32>(v), bitcast::<u32>(v));
            let combined = |(a, _), (b, _)| one(combine(bitcast::<T>(a), bitcast::<T>(b)));
            look_back_bits::<false>(words, order, one(total), one(first), combined, |(before, _)| {
                done(bitcast::<T>(before));
            });
        } else {
            let halves = |v| (bitcast::<u64>(v) as u32, (bitcast::<u64>(v) >> 32) as u32);
            let whole = |low, high| bitcast::<T>((high as u64) << 32 | low as u64);
            let combined = |(a, b), (c, d)| halves(combine(whole(a, b), whole(c, d)));
            look_back_bits::<true>(words, order, halves(total), halves(first), combined, |(low, high)| {
                done(whole(low, high));
            });
        }
    }

    /// The same of pairs of 32-bit values.
    pub fn look_back_pair<A, B>(
        words: &mut [u64],
        order: usize,
        total: (A, B),
        first: (A, B),
        combine: impl Fn((A, B), (A, B)) -> (A, B),
        done: impl Fn((A, B)),
    ) {
        static_assert!(A::BITS == 32 && B::BITS == 32, "`look_back_pair` takes values of 32 bits: convert them");
        let bits = |(a, b)| (bitcast::<u32>(a), bitcast::<u32>(b));
        let pair = |a, b| (bitcast::<A>(a), bitcast::<B>(b));
        let combined = |(a, b), (c, d)| bits(combine(pair(a, b), pair(c, d)));
        look_back_bits::<true>(words, order, bits(total), bits(first), combined, |(a, b)| {
            done(pair(a, b));
        });
    }

    /// A look-back of values that are one word of 32 bits; with PAIR they are two, which have two words of memory.
    fn look_back_bits<const PAIR: bool>(
        words: &mut [u64],
        order: usize,
        total: (u32, u32),
        first: (u32, u32),
        combine: impl Fn((u32, u32), (u32, u32)) -> (u32, u32),
        done: impl Fn((u32, u32)),
    ) {
        let used = if PAIR { 2 * programs() } else { programs() };
        device_assert!(words.len() >= used, "`look_back` takes a word for each program, two for 64 bits and pairs");
        publish::<PAIR>(words, order, TOTAL, total);
        let before = search::<PAIR>(words, order, total, first, combine);
        publish::<PAIR>(words, order, PREFIX, combine(before, total));
        done(before);
        if order == programs() - 1 {
            // A program searches as far back as it finds no prefix. So no word changes before all have their final
            // values: then every program has searched.
            for start in range(0, used, LANES) {
                wait(words, start + arange(LANES), used);
            }
            for start in range(0, used, LANES) {
                clear(words, start + arange(LANES), used);
            }
        }
    }

    /// `first` combined with the totals of all programs that come before `order`, WINDOW programs at a time, back to
    /// the last one whose prefix is known.
    fn search<const PAIR: bool>(
        words: &mut [u64],
        order: usize,
        total: (u32, u32),
        first: (u32, u32),
        combine: impl Fn((u32, u32), (u32, u32)) -> (u32, u32),
    ) -> (u32, u32) {
        let lane = arange(WINDOW);
        // The programs from `end` on are combined in `after`.
        let (mut end, mut after, mut is_whole) = (order, total, false);
        while !is_whole {
            // The value before all programs is a prefix. A prefix, or a missing word, takes the place of all values
            // before it.
            let is_program = end + lane >= WINDOW;
            let at = where_(is_program, end + lane - WINDOW, 0);
            let mut found = MISSING as u32;
            let mut window = first;
            if PAIR {
                let a = atomic_load(words, 2 * at).mask(is_program).relaxed();
                let b = atomic_load(words, 2 * at + 1).mask(is_program).relaxed();
                // A pair that is stored meanwhile counts as not stored.
                let stored = where_(a >> 32 == b >> 32, a >> 32, MISSING).to::<u32>();
                let state = where_(is_program, stored, PREFIX as u32);
                let low = where_(is_program, a.to::<u32>(), first.0);
                let high = where_(is_program, b.to::<u32>(), first.1);
                let (states, lows, highs) = scan((state, low, high), 0, |(s, a, b), (t, c, d)| {
                    let ((e, f), goes_on) = (combine((a, b), (c, d)), t == TOTAL as u32);
                    (where_(goes_on, s, t), where_(goes_on, e, c), where_(goes_on, f, d))
                });
                (found, window) = (last_of(states), (last_of(lows), last_of(highs)));
            } else {
                let word = atomic_load(words, at).mask(is_program).relaxed();
                let state = where_(is_program, (word >> 32).to::<u32>(), PREFIX as u32);
                let value = where_(is_program, word.to::<u32>(), first.0);
                let (states, values) = scan((state, value), 0, |(s, a), (t, c)| {
                    let ((e, _), goes_on) = (combine((a, a), (c, c)), t == TOTAL as u32);
                    (where_(goes_on, s, t), where_(goes_on, e, c))
                });
                (found, window) = (last_of(states), (last_of(values), last_of(values)));
            }
            // A word that is missing is asked for again.
            if found != MISSING as u32 {
                after = if end == order { window } else { combine(window, after) };
                is_whole = found == PREFIX as u32;
                end -= min(end, WINDOW);
            }
        }
        after
    }

    fn last_of(t: Tile<u32>) -> u32 {
        sum(gather(t, arange(1) + (WINDOW - 1), 0))
    }

    fn publish<const PAIR: bool>(words: &mut [u64], order: usize, state: u64, (low, high): (u32, u32)) {
        if PAIR {
            atomic_store(words, 2 * order, state << 32 | low as u64).relaxed();
            atomic_store(words, 2 * order + 1, state << 32 | high as u64).relaxed();
        } else {
            atomic_store(words, order, state << 32 | low as u64).relaxed();
        }
    }

    /// The words at `i`, of the first `used` ones, once each has its final value. A program stores the final value
    /// after it has searched, and stores nothing after it.
    fn wait(words: &mut [u64], i: Tile<usize>, used: usize) -> Tile<u64> {
        let mut found = zeros::<u64>([LANES]);
        loop {
            // A program that began earlier runs, and ends without waiting for this program.
            found = atomic_load(words, i).mask(i < used).relaxed();
            if min(where_(i < used, found >> 32, PREFIX)) == PREFIX {
                break;
            }
        }
        found
    }

    /// Makes the words at `i` zero, for a later launch.
    fn clear(words: &mut [u64], i: Tile<usize>, used: usize) {
        atomic_store(words, i, 0).mask(i < used).relaxed();
    }

    /// Calls `done` with the combination of `total` over all programs, in the program that began last. `combine` is
    /// commutative, and gives the other value where one is `first`.
    pub fn reduce_programs<T>(
        words: &mut [u64],
        order: usize,
        total: T,
        first: T,
        combine: impl Fn(T, T) -> T,
        done: impl Fn(T),
    ) {
        static_assert!(T::BITS == 32, "`reduce_programs` takes values of 32 bits: convert them");
        let n = programs();
        device_assert!(words.len() >= n, "`reduce_programs` takes a word for each program");
        let me = (program_id(2) * num_programs(1) + program_id(1)) * num_programs(0) + program_id(0);
        atomic_store(words, me, PREFIX << 32 | bitcast::<u32>(total) as u64).relaxed();
        if order == n - 1 {
            let mut all = full([LANES], first);
            for start in range(0, n, LANES) {
                let i = start + arange(LANES);
                // The program alone reads the words.
                let part = wait(words, i, n);
                clear(words, i, n);
                all = combine(all, where_(i < n, bitcast::<T>(part.to::<u32>()), first));
            }
            done(reduce(all, 0, combine));
        }
    }
}
