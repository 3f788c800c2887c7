//! Which variant of a configuration runs: the first that the device can run and that takes the arguments.

use crate::error::Error;
use crate::launched::all_run;
use crate::runtime::{Backend, Inner};
use crate::trace;
use crate::tuner::key::Kind;
use tilewright_core::bundle::Arch;
use tilewright_core::{ConfigDesc, GridCtx, Guard, KernelDesc, ParamKind, Test, VariantDesc};

/// Programs of a launch on the CPU for each thread, from which on fewer and larger ones are faster.
const PROGRAMS_PER_THREAD: u64 = 8;

impl Inner {
    /// The variant of a configuration that these arguments take; `None` where it cannot run them here.
    #[inline]
    pub(crate) fn variant(&self, config: &ConfigDesc, words: &[u64]) -> Option<usize> {
        if !config.satisfied_by(&self.grid_ctx(words)) {
            return None;
        }
        match self.backend {
            // Its one function takes all arguments; which variant a device would run still tells them apart.
            Backend::Cpu => Some(config.variant(words, |_| true).unwrap_or(0)),
            _ => config.variant(words, |v| self.runs(v)),
        }
    }

    /// The configuration that a launch takes where nothing measured may decide: the first that takes these arguments on
    /// a device like this one, whether or not it was built for the emulated SM. The first of all where none does.
    pub(crate) fn first_that_takes(&self, desc: &KernelDesc, words: &[u64]) -> usize {
        let takes = |c: &ConfigDesc| match self.backend {
            Backend::Emulator(_) => c.satisfied_by(&self.grid_ctx(words)) && c.variant(words, |_| true).is_some(),
            _ => self.variant(c, words).is_some(),
        };
        desc.configs.iter().position(takes).unwrap_or(0)
    }

    /// On the CPU, the configuration with the fewest programs, and so with the largest tiles, that gives each thread
    /// some of them; of a kernel with configurations for the CPU alone one of these.
    pub(crate) fn of_fewest_programs(&self, desc: &KernelDesc, words: &[u64]) -> Option<usize> {
        if !matches!(self.backend, Backend::Cpu) {
            return None;
        }
        let enough = PROGRAMS_PER_THREAD * self.device.num_sms as u64;
        let programs = |config: &ConfigDesc| {
            self.variant(config, words)?;
            let grid = (config.grid)(&self.grid_ctx(words));
            Some(grid.into_iter().fold(1, u64::saturating_mul))
        };
        let all = desc.configs.iter().enumerate().filter_map(|(i, config)| Some((programs(config)?, i, config)));
        let all: Vec<_> = all.collect();
        let is_for_cpu = |&(.., config): &(u64, usize, &ConfigDesc)| config.is_for_cpu();
        let own = all.iter().any(is_for_cpu);
        let candidates = || all.iter().filter(|of| !own || is_for_cpu(of));
        let fewest = candidates().filter(|(n, ..)| *n >= enough).min_by_key(|(n, i, _)| (*n, *i));
        fewest.or_else(|| candidates().next().filter(|_| own)).map(|&(_, i, _)| i)
    }

    /// Whether a configuration is for this backend. Those for the CPU alone are for no other one.
    pub(crate) fn may_run(&self, config: &ConfigDesc) -> bool {
        matches!(self.backend, Backend::Cpu) || !config.is_for_cpu()
    }

    /// How many configurations are for this backend.
    pub(crate) fn choices(&self, desc: &KernelDesc) -> usize {
        desc.configs.iter().filter(|c| self.may_run(c)).count()
    }

    /// Whether some arguments can run in a configuration here.
    pub(crate) fn has_code(&self, config: &ConfigDesc) -> bool {
        matches!(self.backend, Backend::Cpu) || config.variants.iter().any(|v| self.runs(v))
    }

    /// The arguments that grids and conditions of configurations may depend on.
    #[inline]
    pub(crate) fn grid_ctx<'a>(&self, words: &'a [u64]) -> GridCtx<'a> {
        GridCtx { words, num_sms: self.device.num_sms as u64 }
    }

    #[inline]
    pub(crate) fn runs(&self, variant: &VariantDesc) -> bool {
        match &self.backend {
            Backend::Cpu => true,
            Backend::Emulator(_) => variant.emulated.is_some() || all_run(),
            // The comparison spares the launch path a parse.
            Backend::Cuda(cuda) => {
                let runs = |t: &str| t == cuda.target || t.parse::<Arch>().is_ok_and(|a| a.ptx_runs_on(cuda.compute));
                (variant.built || trace::has(variant.entry)) && variant.only.is_none_or(runs)
            }
        }
    }

    /// The facts beside sizes that a plan and a tuning result depend on. Cheap: it looks no further than the first
    /// configuration that can run. One of a later configuration's variants may still not take another call of the same
    /// kind.
    #[inline]
    pub(crate) fn kind(&self, desc: &KernelDesc, words: &[u64]) -> Kind {
        let with = |(c, config): (usize, &ConfigDesc)| Some(Kind::new(c, self.variant(config, words)?));
        desc.configs.iter().enumerate().find_map(with).unwrap_or(Kind::NONE)
    }

    /// Why a configuration has no variant for these arguments here. The launcher adds the configuration that has.
    #[cold]
    pub(crate) fn refusal(&self, desc: &KernelDesc, config: &'static ConfigDesc, words: &[u64]) -> Error {
        let refused =
            |why| Error::CannotLaunch { kernel: desc.name, config: config.id, device: self.device.name.clone(), why };
        if let Some(c) = config.requires.filter(|c| !(c.holds)(&self.grid_ctx(words))) {
            return refused(format!("it requires `{}`", c.text));
        }
        if config.is_for_cpu() && !matches!(self.backend, Backend::Cpu) {
            return refused("it is for the CPU alone".into());
        }
        // The last one asks for the least.
        let general = config.variants.iter().rfind(|v| self.runs(v));
        // The emulated SM has none, or not the one that takes them.
        let is_emulated = || general.is_some() && config.variant(words, |_| true).is_none();
        if matches!(self.backend, Backend::Emulator(_)) && !is_emulated() {
            return Error::NotEmulated { kernel: desc.name, config: config.id, emulated: None };
        }
        let why = match general.and_then(|v| v.guards.iter().find(|g| !g.satisfied_by(words))) {
            Some(r) => guard_text(desc, *r, words),
            None if config.variants.iter().any(|v| !v.built) => {
                "TILE_CONFIGS=few left it out of this build: build without this variable".into()
            }
            None => {
                let mut targets: Vec<_> = config.variants.iter().filter_map(|v| v.only).collect();
                targets.dedup();
                format!("it needs {}", targets.join(" or "))
            }
        };
        refused(why)
    }
}

/// ``stride 0 of `a` is 4099 and must be a multiple of 8``.
fn guard_text(desc: &KernelDesc, r: Guard, words: &[u64]) -> String {
    let must = match r.test {
        Test::Multiple(by) => format!("be a multiple of {by}"),
        Test::Equal(to) => format!("be {to}"),
        Test::Within(lo, hi) => format!("lie between {lo} and {hi}"),
        Test::AtMost(word) => format!("be at most {}, {}", word_name(desc, word), words[word]),
    };
    let constant = (r.of.times != 1).then(|| r.of.times.to_string());
    let name: Vec<String> = constant.into_iter().chain(r.of.words.iter().map(|&w| word_name(desc, w))).collect();
    format!("{} is {} and must {must}", name.join(" times "), r.of.of(words))
}

fn word_name(desc: &KernelDesc, word: usize) -> String {
    let Some(p) = desc.params.iter().rfind(|p| p.first_word <= word) else { return format!("argument word {word}") };
    let what = match (p.kind, word - p.first_word) {
        (ParamKind::Scalar, _) => return format!("`{}`", p.name),
        (_, 0) => "the address".into(),
        (ParamKind::View { rank } | ParamKind::ViewMut { rank }, i) if i <= rank => format!("extent {}", i - 1),
        (ParamKind::View { rank } | ParamKind::ViewMut { rank }, i) => format!("stride {}", i - 1 - rank),
        _ => "the length".into(),
    };
    format!("{what} of `{}`", p.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_core::{DType, KernelParts, Number, ParamDesc, Pointees};

    #[test]
    fn requirements_name_what_is_wrong() {
        const PARAMS: &[ParamDesc] = &[
            ParamDesc { name: "a", kind: ParamKind::View { rank: 2 }, dtype: DType::F16, first_word: 0 },
            ParamDesc { name: "x", kind: ParamKind::Slice, dtype: DType::F16, first_word: 5 },
            ParamDesc { name: "n", kind: ParamKind::Scalar, dtype: DType::U64, first_word: 7 },
        ];
        // SAFETY: it has no code.
        let desc = unsafe {
            KernelDesc::new(KernelParts {
                name: "k",
                file: "",
                line: 0,
                types: "",
                params: PARAMS,
                is_unsafe: false,
                pdl: false,
                aliases: &[],
                deterministic: false,
                tf32: false,
                pointees: Pointees::None,
                configs: &[],
                bundle: None,
            })
        };
        let names: Vec<_> = (0..8).map(|w| word_name(&desc, w)).collect();
        assert_eq!(
            names,
            [
                "the address of `a`",
                "extent 0 of `a`",
                "extent 1 of `a`",
                "stride 0 of `a`",
                "stride 1 of `a`",
                "the address of `x`",
                "the length of `x`",
                "`n`"
            ]
        );
        let words = [0, 20, 30, 4099, 2, 0, 50, 0];
        let text = |words_of, test| guard_text(&desc, Guard { of: Number::product(words_of), test }, &words);
        assert_eq!(text(&[3], Test::Multiple(8)), "stride 0 of `a` is 4099 and must be a multiple of 8");
        assert_eq!(text(&[4], Test::Equal(1)), "stride 1 of `a` is 2 and must be 1");
        assert_eq!(text(&[7], Test::Within(1, 9)), "`n` is 0 and must lie between 1 and 9");
        assert_eq!(
            text(&[1, 2], Test::AtMost(6)),
            "extent 0 of `a` times extent 1 of `a` is 600 and must be at most the length of `x`, 50"
        );
    }
}
