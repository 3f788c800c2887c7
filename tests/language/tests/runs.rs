//! Indices that look like a run and are none: the bounds of a vector are asked of one of its elements.

use tilewright::tile_kernel;
use tilewright_language_tests::run::backends;

/// A type of few bits wraps around between the first elements, which a wider type shows.
#[tile_kernel(types(T = [u8, u32]), tune(warps = [1]), grid = [1])]
fn widened<T: Int>(x: &[f32], y: &mut [f32], z: &mut [f32]) {
    let i = (arange(256).to::<T>() - 2).to::<usize>() + 2;
    store(y, i, load(x, arange(256)));
    store(z, arange(256), load(x, i));
}

#[test]
fn a_run_of_few_bits_ends_where_it_wraps_around() {
    let x: Vec<f32> = (0..256).map(|i| i as f32 + 1.0).collect();
    for rt in backends() {
        for of_bytes in [true, false] {
            let (mut y, mut z) = (vec![0.0f32; 256], vec![0.0f32; 256]);
            let call = match of_bytes {
                true => widened::<u8>(&x, &mut y, &mut z),
                false => widened::<u32>(&x, &mut y, &mut z),
            };
            rt.launch(call).unwrap_or_else(|e| panic!("bytes: {of_bytes}: {e}"));
            // The first two are beyond the end, and are as many as 256 or 2^32.
            let wanted = |i: usize| if i < 2 { 0.0 } else { x[i] };
            assert!((0..256).all(|i| y[i] == wanted(i) && z[i] == wanted(i)), "{} {of_bytes}: {y:?} {z:?}", rt.name());
        }
    }
}

/// Rows that repeat `n` elements, `4 * n` elements and as many as memory says.
#[tile_kernel(tune(warps = [1]), grid = [1])]
fn repeated(x: &[f32], lengths: &[usize], y: &mut [f32], n: usize) {
    let i = arange(256);
    store(y, i, load(x, i % n));
    store(y, 256 + i, load(x, i % (n * 4)));
    store(y, 512 + i, load(x, (i + (1 << 40)) % (load(lengths, i) * 4)));
}

#[test]
fn the_rest_of_a_division_by_0_is_0() {
    for rt in backends() {
        // An array that ends behind its first element shows whether more is loaded.
        for (n, len) in [(0usize, 1usize), (0, 256), (4, 16), (8, 32), (64, 256), (1 << 40, 256), (1 << 62, 256)] {
            let x: Vec<f32> = (0..len).map(|i| i as f32 + 1.0).collect();
            let lengths: Vec<u64> = (0..256).map(|i| if i % 8 < 3 { 1 << 38 } else { i % 3 }).collect();
            let mut y = vec![0.0f32; 768];
            rt.launch(repeated(&x, &lengths, &mut y, n)).unwrap_or_else(|e| panic!("{n}, {len}: {e}"));
            let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
            let rest = |i: usize, n: usize| i.checked_rem(n).unwrap_or(0);
            for i in 0..256 {
                let wanted =
                    [at(rest(i, n)), at(rest(i, n.wrapping_mul(4))), at(rest(i + (1 << 40), lengths[i] as usize * 4))];
                assert_eq!([y[i], y[256 + i], y[512 + i]], wanted, "{i} of {n}, {len} on {}", rt.name());
            }
        }
    }
}

/// Each of many variables takes the value of the next one: the last one counts.
#[tile_kernel(tune(warps = [1]), grid = [1])]
fn delayed(x: &[f32], y: &mut [f32], n: usize) {
    let mut d = [0usize; 70];
    let i = arange(64);
    for k in 0..n {
        store(y, k * 64 + i, load(x, d[0] + i));
        for s in static_range(0..69) {
            d[s] = d[s + 1];
        }
        d[69] = d[69] + 1;
    }
}

#[test]
fn what_a_loop_leads_to_is_followed_to_its_end() {
    let n = 80usize;
    let x: Vec<f32> = (0..128).map(|i| i as f32 + 1.0).collect();
    for rt in backends() {
        let mut y = vec![0.0f32; 64 * n];
        rt.launch(delayed(&x, &mut y, n)).unwrap_or_else(|e| panic!("{e}"));
        for (at, y) in y.iter().enumerate() {
            let (k, i) = (at / 64, at % 64);
            assert_eq!(*y, x[k.saturating_sub(69) + i], "iteration {k}, element {i} on {}", rt.name());
        }
    }
}
