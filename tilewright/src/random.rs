//! Random numbers in kernels: a library of the tile language, `#[tile_module(use tilewright::random)]`.
//!
//! The numbers of a seed and an offset are the same on every backend, for every configuration and order of programs.
//! They are Triton's: `rand(seed, offset)` is `tl.rand(seed, offset)`, and so on, but for the last bits of normal
//! numbers (compared with version 3.6). Offsets are `u32`, or `u64` and `usize`, whose halves are two of the counters
//! of Philox 4x32-10: an offset below 2^32 gives the same numbers in each of these types. A kernel takes the seed as an
//! argument, and gives each element an offset of its own. Kernels call these functions. Here they are for documentation
//! and for editors.
//!
//! # Examples
//! Dropout, whose mask can be made again from the seed:
//! ```standalone_crate
//! use tilewright::{Error, Runtime, tile_module};
//!
//! #[tile_module(use tilewright::random)]
//! pub mod kernels {
//!     /// Elements are kept with the probability `keep`, and divided by it.
//!     #[tile_kernel(tune(BLOCK = [256]), grid = [cdiv(x.len(), BLOCK)])]
//!     pub fn dropout<const BLOCK: usize>(x: &[f32], y: &mut [f32], keep: f32, seed: u64) {
//!         let i = program_id(0) * BLOCK + arange(BLOCK);
//!         let is_kept = rand(seed, i.to::<u32>()) < keep;
//!         store(y, i, where_(is_kept, load(x, i) / keep, 0.0));
//!     }
//! }
//!
//! fn main() -> Result<(), Error> {
//!     let (x, mut y) = (vec![1.0; 10_000], vec![0.0; 10_000]);
//!     Runtime::cpu().launch(kernels::dropout(&x, &mut y, 0.75, 42))?;
//!     let kept = y.iter().filter(|&&y| y != 0.0).count();
//!     assert!((7300..7700).contains(&kept));
//!     Ok(())
//! }
//! ```

use tilewright_lang::Value;

/// The result of a function of the library, which only a kernel has.
#[track_caller]
fn stub<T>() -> T {
    panic!("a function of the tile language: only a kernel in a #[tile_module(use tilewright::random)] can call it")
}

macro_rules! functions {
    ($( $(#[$doc:meta])* $name:ident($($a:ident: $t:ty),+) -> $result:ty; )+) => { $(
        $(#[$doc])*
        pub fn $name<V: Value>($($a: $t),+) -> $result {
            let _ = ($($a,)+);
            stub()
        }
    )+ };
}

functions! {
    /// A random integer for each offset: the first of [`randint4x`].
    randint(seed: u64, offset: V) -> V::With<u32>;
    /// Four random integers for each offset. This takes as long as one.
    randint4x(seed: u64, offset: V) -> (V::With<u32>, V::With<u32>, V::With<u32>, V::With<u32>);
    /// A random number from 0 to less than 1 for each offset.
    rand(seed: u64, offset: V) -> V::With<f32>;
    /// Four random numbers from 0 to less than 1 for each offset. This takes little longer than one.
    rand4x(seed: u64, offset: V) -> (V::With<f32>, V::With<f32>, V::With<f32>, V::With<f32>);
    /// A random number of the standard normal distribution for each offset.
    randn(seed: u64, offset: V) -> V::With<f32>;
    /// Four random numbers of the standard normal distribution for each offset.
    randn4x(seed: u64, offset: V) -> (V::With<f32>, V::With<f32>, V::With<f32>, V::With<f32>);
    /// Philox of ten rounds: four integers of four counters. The key is the seed: its halves for counters of 32 bits,
    /// itself and 0 for those of 64 bits.
    philox(seed: u64, c0: V, c1: V, c2: V, c3: V) -> (V, V, V, V);
    /// Random integers, `u32` or `u64`, as numbers from 0 to less than 1.
    uint_to_uniform_float(x: V) -> V::With<f32>;
}

/// Two numbers of the standard normal distribution, of two from 0 to less than 1, by Box and Muller. The [module](self)
/// has an example.
pub fn pair_uniform_to_normal<V: Value<Elem = f32>>(u1: V, u2: V) -> (V, V) {
    let _ = (u1, u2);
    stub()
}
