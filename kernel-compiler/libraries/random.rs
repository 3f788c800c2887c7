//! Counter-based random numbers, as Triton's `tl.rand` and its like: Philox 4x32 of ten rounds.

#[tile_library]
pub mod random {
    /// Ten rounds of Philox. The key is the seed: its two halves for counters of 32 bits, itself and 0 for 64 bits.
    pub fn philox<T>(
        seed: u64,
        c0: Tile<T>,
        c1: Tile<T>,
        c2: Tile<T>,
        c3: Tile<T>,
    ) -> (Tile<T>, Tile<T>, Tile<T>, Tile<T>) {
        static_assert!(
            T::MIN == 0 && (T::BITS == 32 || T::BITS == 64),
            "offsets and counters are u32, or u64 and usize: convert with `.to::<u32>()`"
        );
        let (key_a, key_b) =
            if T::BITS == 32 { (0x9E3779B9, 0xBB67AE85) } else { (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B) };
        let (round_a, round_b) =
            if T::BITS == 32 { (0xD2511F53, 0xCD9E8D57) } else { (0xD2E7470EE14C6C93, 0xCA5A826395121157) };
        let mut k0 = seed.to::<T>();
        let mut k1 = if T::BITS == 32 { (seed >> 32).to::<T>() } else { zero::<T>() };
        let (mut a, mut b, mut c, mut d) = (c0, c1, c2, c3);
        for _ in static_range(0..10) {
            (a, b, c, d) = (mulhi(round_b, c) ^ b ^ k0, c * round_b, mulhi(round_a, a) ^ d ^ k1, a * round_a);
            k0 += key_a;
            k1 += key_b;
        }
        (a, b, c, d)
    }

    fn zero<T>() -> T {
        0
    }

    /// Four integers for each offset. The halves of an offset of 64 bits are two counters.
    pub fn randint4x<T>(seed: u64, offset: Tile<T>) -> (Tile<u32>, Tile<u32>, Tile<u32>, Tile<u32>) {
        let zero = (offset ^ offset).to::<u32>();
        static_assert!(
            T::MIN == 0 && (T::BITS == 32 || T::BITS == 64),
            "offsets and counters are u32, or u64 and usize: convert with `.to::<u32>()`"
        );
        let low = offset.to::<u32>();
        let high = if T::BITS == 64 { (offset >> 32).to::<u32>() } else { zero };
        philox(seed, low, high, zero, zero)
    }

    /// An integer for each offset: the first of `randint4x`.
    pub fn randint<T>(seed: u64, offset: Tile<T>) -> Tile<u32> {
        let (a, _, _, _) = randint4x(seed, offset);
        a
    }

    /// Integers as numbers from 0 to less than 1.
    pub fn uint_to_uniform_float<T>(x: Tile<T>) -> Tile<f32> {
        if T::BITS == 32 {
            let signed = bitcast::<i32>(x);
            where_(signed < 0, -signed - 1, signed).to::<f32>() * 4.6566127342e-10
        } else {
            let signed = bitcast::<i64>(x);
            where_(signed < 0, -signed - 1, signed).to::<f32>() * 1.0842020432385337e-19
        }
    }

    /// A number from 0 to less than 1 for each offset.
    pub fn rand<T>(seed: u64, offset: Tile<T>) -> Tile<f32> {
        uint_to_uniform_float(randint(seed, offset))
    }

    /// Four numbers from 0 to less than 1 for each offset.
    pub fn rand4x<T>(seed: u64, offset: Tile<T>) -> (Tile<f32>, Tile<f32>, Tile<f32>, Tile<f32>) {
        let (a, b, c, d) = randint4x(seed, offset);
        (uint_to_uniform_float(a), uint_to_uniform_float(b), uint_to_uniform_float(c), uint_to_uniform_float(d))
    }

    /// Two normal numbers of two uniform ones, by Box and Muller.
    pub fn pair_uniform_to_normal(u1: Tile<f32>, u2: Tile<f32>) -> (Tile<f32>, Tile<f32>) {
        // A number that is not 0 for `rsqrt`.
        let square = maximum(-2.0 * log_of_normal(maximum(u1, 1.0e-7)), 1.0e-30);
        let radius = square * rsqrt(square);
        let (cosine, sine) = cos_sin_of_turns(u2);
        (radius * cosine, radius * sine)
    }

    /// The logarithm of positive numbers that are not denormal, with relative errors of 2e-7. `log` takes all numbers.
    fn log_of_normal(x: Tile<f32>) -> Tile<f32> {
        // x is 2^exponent (1 + f), and 1 + f from the root of 1/2 to that of 2.
        let bits = bitcast::<i32>(x);
        let exponent = (bits - 0x3F35_04F3) >> 23;
        let f = bitcast::<f32>(bits - (exponent << 23)) - 1.0;
        let (square, exponent) = (f * f, small_integer(exponent));
        let a = 0.14249323 + f * (-0.12420141 + f * (0.116769984 + f * (-0.1151461 + f * 0.07037684)));
        let b = 0.3333333 + f * (-0.24999994 + f * (0.20000714 + f * (-0.16668058 + f * a)));
        f + (exponent * 0.6931472 + square * (f * b - 0.5))
    }

    /// An integer of less than 22 bits as a number. Slower units convert all integers.
    fn small_integer(n: Tile<i32>) -> Tile<f32> {
        bitcast::<f32>(n + 0x4B40_0000) - 12582912.0
    }

    /// The cosine and the sine of `2 pi u`, for `u` from 0 to 1: of the rest to the nearest quarter, then turned by as
    /// many quarters.
    fn cos_sin_of_turns(u: Tile<f32>) -> (Tile<f32>, Tile<f32>) {
        // In the sum the last bits are the nearest integer.
        let sum = 4.0 * u + 12582912.0;
        let q = bitcast::<i32>(sum);
        let rest = u - 0.25 * (sum - 12582912.0);
        let t = rest * rest;
        let sine = rest * (6.2831855 + t * (-41.3417 + t * (81.60525 + t * (-76.70586 + t * 42.058693))));
        let cosine = 1.0 + t * (-19.739208 + t * (64.939395 + t * (-85.45682 + t * 60.24464)));
        let is_odd = (q & 1) != 0;
        let (c, s) = (where_(is_odd, sine, cosine), where_(is_odd, cosine, sine));
        (where_(((q + 1) & 2) != 0, -c, c), where_((q & 2) != 0, -s, s))
    }

    /// A normal number for each offset.
    pub fn randn<T>(seed: u64, offset: Tile<T>) -> Tile<f32> {
        let (a, b, _, _) = randint4x(seed, offset);
        let (n, _) = pair_uniform_to_normal(uint_to_uniform_float(a), uint_to_uniform_float(b));
        n
    }

    /// Four normal numbers for each offset.
    pub fn randn4x<T>(seed: u64, offset: Tile<T>) -> (Tile<f32>, Tile<f32>, Tile<f32>, Tile<f32>) {
        let (a, b, c, d) = rand4x(seed, offset);
        let (n0, n1) = pair_uniform_to_normal(a, b);
        let (n2, n3) = pair_uniform_to_normal(c, d);
        (n0, n1, n2, n3)
    }
}
