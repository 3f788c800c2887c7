//! The variants of a function's kernels that get code for the emulated SM, and those that get code for the GPU: all, or
//! variants that have between them every feature of all.

use super::built::Configs;
use super::host::options::Emulate;
use super::instances::Instance;
use crate::features::cover;
use crate::front::ast::{Arch, Config, Const};
use crate::front::instance::Kernel;
use std::collections::{BTreeMap, BTreeSet};

/// Of each kernel, of each instance, whether each variant is chosen.
pub(crate) type Chosen = Vec<Vec<Vec<bool>>>;

/// The variants of a function's kernels that are emulated.
pub(crate) fn emulated(emulate: Emulate, kernels: &[Kernel], instances: &[Vec<Instance>]) -> Chosen {
    match emulate {
        Emulate::None => each(kernels, instances, |_| false),
        Emulate::All => each(kernels, instances, |_| true),
        Emulate::Chosen => covering(kernels, instances, each(kernels, instances, |k| k.ast.emulate_all)),
    }
}

/// The variants of a function's kernels that are compiled for the GPU.
pub(crate) fn built(configs: Configs, kernels: &[Kernel], instances: &[Vec<Instance>]) -> Chosen {
    match configs {
        Configs::All => each(kernels, instances, |_| true),
        Configs::Few => {
            let mut chosen = each(kernels, instances, |k| k.ast.deterministic);
            of_choices(kernels, instances, &mut chosen, choose_for_gpus);
            covering(kernels, instances, chosen)
        }
    }
}

fn each(kernels: &[Kernel], instances: &[Vec<Instance>], is: impl Fn(&Kernel) -> bool) -> Chosen {
    let of_kernel = |(k, of): (&Kernel, &Vec<Instance>)| of.iter().map(|i| vec![is(k); i.versions.len()]).collect();
    kernels.iter().zip(instances).map(of_kernel).collect()
}

/// The instances of each choice of types, and which of their variants are chosen.
fn of_choices(
    kernels: &[Kernel],
    instances: &[Vec<Instance>],
    chosen: &mut Chosen,
    choose: impl Fn(&Kernel, &[Instance], &mut [Vec<bool>]),
) {
    for ((k, instances), chosen) in kernels.iter().zip(instances).zip(chosen) {
        let n = k.ast.configs.len();
        instances.chunks(n).zip(chosen.chunks_mut(n)).for_each(|(of, chosen)| choose(k, of, chosen));
    }
}

/// `chosen`, with what any launch needs, and with variants that have all other features between them.
fn covering(kernels: &[Kernel], instances: &[Vec<Instance>], mut chosen: Chosen) -> Chosen {
    of_choices(kernels, instances, &mut chosen, |_, of, chosen| choose_usual(of, chosen));
    choose_features(instances, &mut chosen);
    chosen
}

/// Chooses what any launch of a choice of types needs: the fastest variant of its default configuration and the one
/// that asks for the least, and a variant that takes any arguments, if any does of a configuration without conditions.
/// Of a choice that repeats another one only the last of these.
fn choose_usual(of_choice: &[Instance], chosen: &mut [Vec<bool>]) {
    let unconditional = of_choice.iter().position(|i| i.takes_any_arguments() && !i.has_conditions);
    let any = unconditional.or_else(|| of_choice.iter().position(Instance::takes_any_arguments));
    if let Some(any) = any {
        let of_versions = of_choice[any].versions.iter().zip(&mut chosen[any]);
        of_versions.filter(|(v, _)| v.lowered.takes_any_arguments()).for_each(|(_, chosen)| *chosen = true);
    }
    let repeats = any.is_some() && of_choice.iter().all(|i| i.repeats);
    if let Some(default) = chosen.first_mut().filter(|_| !repeats) {
        default.first_mut().into_iter().for_each(|first| *first = true);
        default.last_mut().into_iter().for_each(|last| *last = true);
    }
}

/// Chooses what a launch on any GPU needs: of the first configuration for each architecture the fastest variant and the
/// most general ones. Of a kernel with conditions on its arguments also the most general variants of the configuration
/// with the largest numbers, as of a block that has to be as large as a row. Of a choice that repeats another one the
/// most general variants alone.
fn choose_for_gpus(k: &Kernel, of_choice: &[Instance], chosen: &mut [Vec<bool>]) {
    let configs = &k.ast.configs;
    let mut first: BTreeMap<Arch, usize> = BTreeMap::new();
    let mut largest: BTreeMap<(Arch, u32), usize> = BTreeMap::new();
    for (i, config) in configs.iter().enumerate().filter(|(_, c)| c.arch != Arch::Cpu) {
        first.entry(config.arch).or_insert(i);
        let of = largest.entry((config.arch, config.ctas)).or_insert(i);
        if size(config) > size(&configs[*of]) {
            *of = i;
        }
    }
    for &i in first.values().filter(|i| !of_choice[**i].repeats) {
        chosen[i].first_mut().into_iter().for_each(|fastest| *fastest = true);
    }
    for &i in first.values().chain(largest.values().filter(|_| !k.ast.requires.is_empty())) {
        let takes_any = of_choice[i].takes_any_arguments();
        for (version, chosen) in of_choice[i].versions.iter().zip(&mut chosen[i]) {
            *chosen |= !takes_any || version.lowered.takes_any_arguments();
        }
    }
}

/// The product of the constants that are numbers.
fn size(c: &Config) -> f64 {
    let number = |(_, v): &(String, Const)| if let Const::Int(n) = v { *n as f64 } else { 1.0 };
    c.consts.iter().map(number).product()
}

/// Chooses variants that have between them all features that the chosen ones lack, and the most general variant of each
/// of their configurations.
fn choose_features(instances: &[Vec<Instance>], chosen: &mut [Vec<Vec<bool>>]) {
    let mut places = vec![];
    for (k, of_kernel) in instances.iter().enumerate() {
        for (i, instance) in of_kernel.iter().enumerate().filter(|(_, instance)| !instance.repeats) {
            places.extend(instance.versions.iter().enumerate().map(|(v, version)| ((k, i, v), version)));
        }
    }
    let (first, rest): (Vec<_>, Vec<_>) = places.into_iter().partition(|((k, i, v), _)| chosen[*k][*i][*v]);
    let known: BTreeSet<&String> = first.into_iter().flat_map(|(_, version)| &version.features).collect();
    let new = rest.iter().map(|&(_, version)| version.features.iter().filter(|f| !known.contains(f)).collect());
    let costs = rest.iter().map(|(_, version)| version.cost());
    let candidates: Vec<(Vec<&String>, u64)> = new.zip(costs).collect();
    for ((k, i, v), _) in cover(&candidates).into_iter().map(|c| rest[c]) {
        chosen[k][i][v] = true;
        // The configuration takes what it takes on a GPU.
        chosen[k][i].last_mut().into_iter().for_each(|general| *general = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Diagnostics;
    use crate::emit::host::options::HostOptions;
    use crate::front::library::Libraries;
    use crate::front::module;

    /// Of a function's kernels, of each instance, the variants that are built, by name.
    fn few(attribute: &str, signature: &str, body: &str) -> Vec<Vec<String>> {
        let source = format!("#[tile_kernel({attribute})]\nfn k{signature} {{ {body} }}");
        let d = Diagnostics::default();
        let found = module::file(source.as_str(), &Libraries::default()).pop().expect("a kernel");
        let kernels = found.parse(&d).unwrap_or_else(|_| panic!("{:?}", d.take()));
        let options = HostOptions { configs: Configs::Few, ..HostOptions::default() };
        let instances = |k| Instance::all(k, &options, &d).unwrap_or_else(|_| panic!("{:?}", d.take()));
        let instances: Vec<_> = kernels.iter().map(instances).collect();
        let chosen = built(Configs::Few, &kernels, &instances);
        let of_instance = |(i, chosen): (&Instance, Vec<bool>)| {
            let built = i.versions.iter().zip(chosen).filter(|(_, chosen)| *chosen);
            built.map(|(v, _)| v.variant.name()).collect()
        };
        instances.iter().flatten().zip(chosen.into_iter().flatten()).map(of_instance).collect()
    }

    const COPY: &str = "let i = program_id(0) * BLOCK + arange(BLOCK);
        let m = i < x.len();
        store(y, i, load(x, i).mask(m).other(0.0)).mask(m);";

    fn copies(attribute: &str) -> Vec<Vec<String>> {
        few(
            &format!("{attribute}, grid = [cdiv(y.len(), BLOCK)]"),
            "<const BLOCK: usize>(x: &[f32], y: &mut [f32])",
            COPY,
        )
    }

    const BOTH: [&str; 2] = ["aligned", "general"];

    #[test]
    fn of_configurations_that_differ_in_numbers_the_first_is_built() {
        let built = copies("tune(BLOCK = [1024, 2048, 4096], warps = [4])");
        assert_eq!(built[0], BOTH);
        assert!(built[1].is_empty() && built[2].is_empty(), "{built:?}");
    }

    #[test]
    fn every_architecture_is_built() {
        let tune = |arch| format!("tune(BLOCK = [1024, 2048], warps = [4], arch = [{arch}])");
        let built = copies(&format!("{}, {}", tune(80), tune(90)));
        assert!(built[0] == BOTH && built[2] == BOTH, "{built:?}");
        assert!(built[1].is_empty() && built[3].is_empty(), "{built:?}");
    }

    #[test]
    fn a_condition_is_a_reason_to_build_the_largest() {
        let built = copies("tune(BLOCK = [1024, 4096, 2048], warps = [4]), requires = [y.len() <= BLOCK]");
        assert!(built[1] == BOTH[1..] && built[2].is_empty(), "{built:?}");
    }

    #[test]
    fn a_deterministic_kernel_is_built_as_a_whole() {
        let built = copies("tune(BLOCK = [1024, 2048], warps = [4]), deterministic");
        assert!(built.iter().all(|of| *of == BOTH), "{built:?}");
    }

    #[test]
    fn of_a_choice_that_repeats_the_most_general_variant_is_built() {
        let built = few(
            "types(T = [f16, bf16]), tune(BLOCK = [1024], warps = [4]), grid = [cdiv(y.len(), BLOCK)]",
            "<T: Num, const BLOCK: usize>(x: &[T], y: &mut [T])",
            &COPY.replace("0.0", "0.0.to::<T>()"),
        );
        assert_eq!(built[0].first().map(String::as_str), Some(BOTH[0]));
        assert_eq!(built[1], BOTH[1..]);
    }

    #[test]
    fn a_feature_of_a_later_configuration_is_built() {
        let attribute = "tune(BLOCK = [1024], SUM = [false, true], warps = [4]), grid = [1]";
        let body = "let v = load(x, arange(BLOCK));
            let v = if SUM { cumsum(v, 0) } else { v };
            store(y, arange(BLOCK), v);";
        let signature = "<const BLOCK: usize, const SUM: bool>(x: &[f32], y: &mut [f32])";
        assert!(!few(attribute, signature, body)[1].is_empty());
        assert!(few(attribute, signature, &body.replace("cumsum(v, 0)", "v"))[1].is_empty());
    }
}
