//! Random kernels. Each has a test that runs it on the CPU, on the emulated SM and, if there is one, on the GPU. All
//! numbers are whole and small, so that sums are exact in every order and results have to be the same to the last bit.
//! Floats of some kernels are now and then NaN or infinite; NaN is like NaN.
//!
//! A kernel is a matter of its seed and of its kind.

mod chains;
mod driver;
mod expr;
mod in_place;
mod products;
mod source;
mod tiles;
mod value;

pub use driver::{Kernel, Said};

/// Kinds of kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Expressions, loops, branches, stores, atomics, helpers.
    Tiles,
    /// Products of two matrices, with every kind of operand and epilogue.
    Products,
    /// Products of results of products.
    Chains,
    /// Products of batches.
    Batches,
    /// Arrays that are written over an argument.
    InPlace,
}

impl Kind {
    /// The kind of a seed where none is asked for.
    pub fn of(seed: u64) -> Kind {
        const KINDS: [Kind; 8] = [
            Kind::Tiles,
            Kind::Products,
            Kind::Tiles,
            Kind::Products,
            Kind::Chains,
            Kind::Batches,
            Kind::Products,
            Kind::InPlace,
        ];
        KINDS[seed as usize % KINDS.len()]
    }
}

/// The kernel `k<seed>`.
pub fn kernel(seed: u64, kind: Kind) -> Kernel {
    let name = format!("k{seed}");
    match kind {
        Kind::Tiles => tiles::kernel(&name, seed),
        Kind::Products => products::kernel(&name, seed),
        Kind::Chains => chains::chain(&name, seed),
        Kind::Batches => chains::batch(&name, seed),
        Kind::InPlace => in_place::kernel(&name, seed),
    }
}

/// A test file of these kernels, without its inner attributes.
pub fn test_file(kernels: &[Kernel]) -> String {
    let all: Vec<String> = kernels.iter().map(|k| format!("{}\n{}", k.text, k.test())).collect();
    format!("{HEAD}\n\n{}", all.join("\n"))
}

const HEAD: &str = "use tilewright_core::{AsSlice, AsSliceMut, SliceArg, bf16, f8e4m3, f8e5m2, f16};
use tilewright::{tile_kernel, tile_module};
use tilewright_fuzz_cases::*;";

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of kernels and tests that the compiler takes, of the first seeds.
    fn compiled() -> Vec<String> {
        let of = |seed| {
            let kernel = kernel(seed, Kind::of(seed));
            match kernel.check() {
                Said::Compiled => Some(format!("{}\n{}", kernel.text, kernel.test())),
                Said::Refused(why) => {
                    println!("seed {seed} is refused: {why}");
                    None
                }
                Said::Panicked(why) => panic!("seed {seed}: {why}\n{}", kernel.text),
            }
        };
        (1..=SEEDS).filter_map(of).collect()
    }

    const SEEDS: u64 = 320;

    /// The number of compiling kernels with each property is the stated one or more.
    #[test]
    fn kernels_of_every_kind_are_made_and_compile() {
        type Has = fn(&str) -> bool;
        let properties: [(&str, usize, Has); 15] = [
            ("data that is no number", 20, |t| t.contains("Special::Nan")),
            ("infinite data", 20, |t| t.contains("Special::All")),
            ("negative numbers as literals", 20, |t| t.contains("(-")),
            ("masks that end before a slice does", 10, |t| t.contains(".mask(i < ") || short_mask(t)),
            ("masks that end before a matrix does", 5, |t| t.contains("outer_a") || t.contains("outer_b")),
            ("helpers", 10, |t| t.contains("#[tile_module]")),
            ("helpers of helpers", 3, |t| t.contains("let twice = help")),
            ("helpers of closures", 3, |t| t.contains("f: impl Fn")),
            ("clusters of two thread blocks", 3, |t| t.contains("ctas = [2]")),
            ("clusters of four", 3, |t| t.contains("ctas = [4]")),
            ("clusters of eight", 1, |t| t.contains("ctas = [8]")),
            ("slices and pointers that alias", 10, |t| t.contains("out_arg") || t.contains("before: *const")),
            ("views that alias", 3, |t| t.contains("c_arg.aliased()")),
            ("block pointers that wrap around", 3, |t| t.contains(") % m)") || t.contains(") % n)")),
            ("code for sm_75", 20, |t| t.contains("arch = [75]")),
        ];
        let all = compiled();
        assert!(all.len() as u64 > SEEDS * 3 / 4, "{} of {SEEDS} kernels compile", all.len());
        let count = |has: Has| all.iter().filter(|t| has(t)).count();
        let counts: Vec<_> = properties.iter().map(|&(name, least, has)| (name, count(has), least)).collect();
        println!("{counts:#?}");
        let few: Vec<_> = counts.iter().filter(|(_, n, least)| n < least).collect();
        assert!(few.is_empty(), "kernels with a property, and the fewest there must be: {few:?}");
    }

    /// Whether a load of a slice is masked by a comparison of its whole index with a number.
    fn short_mask(text: &str) -> bool {
        text.lines().any(|l| {
            l.match_indices("load(").any(|(at, _)| {
                let rest = &l[at..];
                rest.find(".mask(").is_some_and(|m| {
                    let index = rest[..m].split_once(", ").map_or("", |(_, i)| i.trim_end_matches(')'));
                    index.len() > 3 && rest[m + 6..].starts_with(index)
                })
            })
        })
    }

    #[test]
    fn a_seed_gives_the_same_kernel_again() {
        for seed in 1..40 {
            let (a, b) = (kernel(seed, Kind::of(seed)), kernel(seed, Kind::of(seed)));
            assert_eq!((a.text.clone(), a.test()), (b.text.clone(), b.test()), "seed {seed}");
        }
    }
}
