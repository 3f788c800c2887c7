//! Which configurations of a kernel get code for the GPU.

use crate::front::ast::Choice;
use crate::front::instance::Kernel;

/// Which configurations of a kernel get code for the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Configs {
    /// Every configuration.
    #[default]
    All,
    /// Enough for tests of what a launch does, not for speed: variants that launches on any GPU need, and variants
    /// that have every feature of a function's kernels between them ([`coverage`](super::coverage)). All of a
    /// `deterministic` kernel, whose first configuration that takes the arguments decides the result.
    ///
    /// A choice of types may differ from an earlier one in types of the same size alone, as bf16 does from f16. Such a
    /// choice repeats the earlier one: it has no features of its own.
    Few,
}

impl Configs {
    /// `TILE_CONFIGS`, from the environment or the build script.
    pub fn from_env() -> Configs {
        match std::env::var("TILE_CONFIGS").as_deref() {
            Ok("few") => Configs::Few,
            _ => Configs::All,
        }
    }

    /// Part of the names of files whose code differs: empty for all configurations.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Configs::All => "",
            Configs::Few => "-few",
        }
    }

    /// Whether each choice of types differs from an earlier one in types of the same size alone; none where every
    /// configuration is built, and none of a `deterministic` kernel, whose variants may differ in their results.
    pub(crate) fn repeats(self, k: &Kernel) -> Vec<bool> {
        let choices = k.choices();
        let sizes = |c: &Choice| c.types.iter().map(|(_, t)| (t.size(), t.is_float())).collect::<Vec<_>>();
        let same = |a: &Choice, b: &Choice| a.present == b.present && sizes(a) == sizes(b);
        let repeats = |at: usize| choices[..at].iter().any(|earlier| same(earlier, &choices[at]));
        (0..choices.len()).map(|at| self == Configs::Few && !k.ast.deterministic && repeats(at)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Diagnostics;
    use crate::front::library::Libraries;
    use crate::front::module;

    #[test]
    fn a_type_of_the_same_size_repeats() {
        let source = "#[tile_kernel(types(T = [f32, f16, bf16, u32]), grid = [1])]
            fn ones<T: Num>(x: &[T], y: &mut [T]) {
                store(y, arange(64), load(x, arange(64)));
            }";
        let d = Diagnostics::default();
        let found = module::file(source, &Libraries::default()).pop().expect("a kernel");
        let k = found.parse(&d).unwrap_or_else(|_| panic!("{:?}", d.take())).swap_remove(0);
        assert_eq!(Configs::Few.repeats(&k), [false, false, true, false]);
        assert_eq!(Configs::All.repeats(&k), [false; 4]);
    }
}
