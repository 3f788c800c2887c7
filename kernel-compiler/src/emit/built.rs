//! Which configurations of a kernel get code for the GPU.

use crate::front::ast::{Arch, Choice, Config, Const};
use crate::front::instance::Kernel;
use crate::thread_ir::Lowered;
use std::collections::BTreeMap;

/// Which configurations of a kernel get code for the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Configs {
    /// Every configuration.
    #[default]
    All,
    /// Of configurations that differ in numbers alone the first: enough for tests of what a launch does, not for
    /// speed. A number and 0 are no equals, because 0 often turns a part of the code off. Of a kernel with conditions
    /// on its arguments also the configuration with the largest numbers, as of a block that has to be as large as a
    /// row. All of a `deterministic` kernel, whose first configuration that takes the arguments decides the result.
    ///
    /// A choice of types may differ from an earlier one in types of the same size alone, as bf16 does from f16. Such a
    /// choice repeats the earlier one: each configuration has only the variants that take any arguments, if there are
    /// some.
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

    /// Whether each variant of an instance is built, if its configuration is.
    pub(crate) fn built_variants<'a>(repeats: bool, of: impl Iterator<Item = &'a Lowered> + Clone) -> Vec<bool> {
        let fewer = repeats && of.clone().any(Lowered::takes_any_arguments);
        of.map(|lowered| !fewer || lowered.takes_any_arguments()).collect()
    }

    /// Whether each configuration of a kernel is built, in their order.
    pub(crate) fn built(self, k: &Kernel) -> Vec<bool> {
        let configs = &k.ast.configs;
        if self == Configs::All || k.ast.deterministic {
            return vec![true; configs.len()];
        }
        let mut kinds: Vec<Kind> = vec![];
        let is_new = |c: &Config| {
            let kind = kind(c);
            let new = !kinds.contains(&kind);
            kinds.extend(new.then_some(kind));
            new
        };
        let mut built: Vec<bool> = configs.iter().map(is_new).collect();
        if !k.ast.requires.is_empty() {
            let hardware = |i: &usize| (configs[*i].arch, configs[*i].ctas);
            let mut largest: BTreeMap<(Arch, u32), usize> = BTreeMap::new();
            for i in 0..configs.len() {
                let of = largest.entry(hardware(&i)).or_insert(i);
                if size(&configs[i]) > size(&configs[*of]) {
                    *of = i;
                }
            }
            largest.into_values().for_each(|i| built[i] = true);
        }
        built
    }
}

/// What a configuration differs in from another one beside numbers.
type Kind = (Arch, u32, Vec<(String, Const)>);

/// The architecture, the CTAs of a program, and the constants that are no numbers, or 0.
fn kind(c: &Config) -> Kind {
    let named = c.consts.iter().filter(|(_, v)| !matches!(v, Const::Int(1..)));
    (c.arch, c.ctas, named.cloned().collect())
}

/// The product of the constants that are numbers.
fn size(c: &Config) -> f64 {
    let number = |(_, v): &(String, Const)| if let Const::Int(n) = v { *n as f64 } else { 1.0 };
    c.consts.iter().map(number).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Diagnostics;
    use crate::front::library::Libraries;
    use crate::front::module;
    use crate::ir::{Guard, Test};

    fn built(attribute: &str) -> Vec<bool> {
        let source = format!(
            "#[tile_kernel({attribute}, grid = [cdiv(y.len(), BLOCK)])]
            fn ones<const BLOCK: usize, const TWICE: bool>(y: &mut [f32]) {{
                let v = if TWICE {{ 2.0 }} else {{ 1.0 }};
                store(y, program_id(0) * BLOCK + arange(BLOCK), v);
            }}"
        );
        built_of(&source)
    }

    fn kernel(source: &str) -> Kernel {
        let d = Diagnostics::default();
        let found = module::file(source, &Libraries::default()).pop().expect("a kernel");
        found.parse(&d).unwrap_or_else(|_| panic!("{:?}", d.take())).swap_remove(0)
    }

    fn built_of(source: &str) -> Vec<bool> {
        Configs::Few.built(&kernel(source))
    }

    #[test]
    fn a_type_of_the_same_size_repeats() {
        let k = kernel(
            "#[tile_kernel(types(T = [f32, f16, bf16, u32]), grid = [1])]
            fn ones<T: Num>(x: &[T], y: &mut [T]) {
                store(y, arange(64), load(x, arange(64)));
            }",
        );
        assert_eq!(Configs::Few.repeats(&k), [false, false, true, false]);
        assert_eq!(Configs::All.repeats(&k), [false; 4]);
    }

    #[test]
    fn of_a_choice_that_repeats_the_most_general_variant_is_built() {
        let guard = Guard::word(0, Test::Multiple(16));
        let aligned = Lowered { guards: vec![guard], ..Lowered::default() };
        let of = |repeats, of: &[&Lowered]| Configs::built_variants(repeats, of.iter().copied());
        assert_eq!(of(true, &[&aligned, &Lowered::default()]), [false, true]);
        assert_eq!(of(false, &[&aligned, &Lowered::default()]), [true, true]);
        assert_eq!(of(true, &[&aligned, &aligned]), [true, true]);
    }

    #[test]
    fn of_configurations_that_differ_in_numbers_the_first_is_built() {
        let tune = "tune(BLOCK = [64, 128, 256], TWICE = [false, true], warps = [1, 4])";
        let first_of_each = built(tune);
        assert_eq!(first_of_each.len(), 12);
        assert_eq!(first_of_each.iter().filter(|b| **b).count(), 2);
        assert!(first_of_each[0]);
    }

    #[test]
    fn every_architecture_is_built() {
        let tune = |arch| format!("tune(BLOCK = [64, 128], TWICE = [false], warps = [4], arch = [{arch}])");
        assert_eq!(built(&format!("{}, {}", tune(80), tune(90))), [true, false, true, false]);
    }

    #[test]
    fn a_condition_is_a_reason_to_build_the_largest() {
        let tune = "tune(BLOCK = [64, 256, 128], TWICE = [false], warps = [1])";
        assert_eq!(built(tune), [true, false, false]);
        assert_eq!(built(&format!("{tune}, requires = [y.len() <= BLOCK]")), [true, true, false]);
    }

    #[test]
    fn a_deterministic_kernel_is_built_as_a_whole() {
        let tune = "tune(BLOCK = [64, 128], TWICE = [false], warps = [1])";
        assert_eq!(built(&format!("{tune}, deterministic")), [true, true]);
    }

    #[test]
    fn a_number_is_no_substitute_for_zero() {
        let tune = "tune(BLOCK = [64, 128], TWICE = [false], AHEAD = [0, 1, 2], warps = [1])";
        let source = |tune: &str| {
            format!(
                "#[tile_kernel({tune}, grid = [1])]
                fn ones<const BLOCK: usize, const TWICE: bool, const AHEAD: usize>(y: &mut [f32]) {{
                    store(y, arange(BLOCK), if TWICE {{ 2.0 }} else {{ 1.0 }});
                }}"
            )
        };
        assert_eq!(built_of(&source(tune)), [true, true, false, false, false, false]);
    }
}
