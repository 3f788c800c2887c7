//! Coefficients of the model from measured times, by the logarithms of times: Cauchy's loss,
//! minimized by the method of Levenberg and Marquardt. Then they are changed so that better plans are chosen
//! ([`fit_choices`]).
//!
//! Every coefficient is positive, so its logarithm is fitted. A coefficient that the samples say little about stays
//! where it was. Plans that are much slower than the best one of their call count less: nobody takes them.

use super::cost::{self, Cost};
use super::device::DeviceModel;
use super::fit_choices;
use super::models;
use crate::{Sample, SampledCall};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use tilewright_runtime::Device;

/// How well a model chooses, over tested calls.
///
/// # Examples
/// ```
/// let q = tilewright::ops::Quality { calls: 2, loss: 1.03, median: 1.0, p90: 1.06, rank: 0.9 };
/// assert!(q.loss >= 1.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Quality {
    /// Tested calls.
    pub calls: usize,
    /// The time of the plan that the model predicts to be the fastest, by that of the fastest one: the geometric mean.
    pub loss: f64,
    /// The median of that.
    pub median: f64,
    /// Its 90th percentile.
    pub p90: f64,
    /// Spearman's correlation of predicted and measured times of the plans of a call, on average.
    pub rank: f64,
}

/// A call for which a model chooses a plan that is not the fastest. The example of [`SampledCall`] has none.
#[derive(Clone, Debug)]
pub struct Miss {
    /// The kind of the call and its arguments.
    pub call: String,
    /// The chosen plan, and the fastest one.
    pub plans: [String; 2],
    /// Predicted microseconds of both.
    pub predicted: [f32; 2],
    /// Measured microseconds of both.
    pub measured: [f32; 2],
}

/// A model of a device that was fitted to measured times.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// // Without samples the model stays as it is.
/// let fitted = ops::FittedModel::of(Runtime::cpu().device(), None, &[]);
/// assert!(fitted.qualities.is_empty() && fitted.text().contains("\"launch\""));
/// ```
#[derive(Clone, Debug)]
pub struct FittedModel {
    /// For each kind of calls, the quality of the model in use, which may have been fitted to them, and that of a model
    /// that was fitted without the tested calls.
    pub qualities: Vec<(String, [Quality; 2])>,
    /// Calls for which this model does not choose the fastest plan, the worst first.
    pub misses: Vec<Miss>,
    model: DeviceModel,
}

/// Of every so many calls one is kept for the test.
const TESTED: usize = 4;

/// A plan of a call with its measured time.
struct Timed<'a> {
    plan: &'a str,
    cost: Cost,
    micros: f32,
    /// The name of its configuration in the model.
    key: String,
}

/// The plans of a call that have a time.
struct Call<'a> {
    of: &'a SampledCall,
    plans: Vec<Timed<'a>>,
}

impl FittedModel {
    /// Fits the model of a device to sampled calls ([`ExecOptions::sampling`](crate::ExecOptions::sampling)).
    /// Every fourth call is kept for the qualities, and the model is fitted to all afterwards. It starts from the model
    /// that is shipped or derived; the one in use may be kept in `dir`.
    pub fn of(device: &Device, dir: Option<&Path>, calls: &[SampledCall]) -> FittedModel {
        let (num_sms, start) = (device.num_sms, models::unfitted(device));
        FittedModel::by(num_sms, &models::of(device, dir), calls, |calls| {
            let by_times = with_configurations(fitted(&start, num_sms, calls), num_sms, calls);
            fit_choices::descended(&by_times, |model| loss(model, num_sms, calls))
        })
    }

    /// The model in use with factors for the configurations that it does not know. Its coefficients, and the factors of
    /// known configurations, stay as they are. The example of [`SampledCall`] has none.
    pub fn extended(device: &Device, dir: Option<&Path>, calls: &[SampledCall]) -> FittedModel {
        let in_use = models::of(device, dir);
        FittedModel::by(device.num_sms, &in_use, calls, |calls| {
            let mut model = with_configurations(in_use.clone(), device.num_sms, calls);
            model.configurations.extend(in_use.configurations.clone());
            model
        })
    }

    fn by(
        num_sms: usize,
        in_use: &DeviceModel,
        calls: &[SampledCall],
        fit: impl Fn(&[&Call]) -> DeviceModel,
    ) -> FittedModel {
        let calls: Vec<Call> = calls.iter().map(Call::of).filter(|call| call.plans.len() > 1).collect();
        let tested = |of_test: bool| {
            let chosen = move |(i, _): &(usize, &Call)| (i % TESTED == TESTED - 1) == of_test;
            calls.iter().enumerate().filter(chosen).map(|(_, call)| call)
        };
        let partly = fit(&Vec::from_iter(tested(false)));
        let mut kinds: Vec<&str> = vec![];
        for call in &calls {
            if !kinds.contains(&call.of.kind.as_str()) {
                kinds.push(&call.of.kind);
            }
        }
        let of_kind = |kind: &str| {
            let of_kind = Vec::from_iter(tested(true).filter(|call| call.of.kind == kind));
            (kind.to_string(), [in_use, &partly].map(|model| quality(model, num_sms, &of_kind)))
        };
        let qualities = kinds.into_iter().map(of_kind).collect();
        let model = fit(&Vec::from_iter(&calls));
        let mut misses: Vec<Miss> = calls.iter().filter_map(|call| miss(&model, num_sms, call)).collect();
        let loss = |m: &Miss| m.measured[0] / m.measured[1];
        misses.sort_by(|a, b| loss(b).total_cmp(&loss(a)));
        FittedModel { qualities, misses, model }
    }

    /// The coefficients, as JSON.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(&self.model).expect("numbers")
    }

    /// Keeps the model in a cache folder: runtimes of the device that are made from now on predict by it. The path of
    /// the file.
    ///
    /// # Errors
    /// There are no samples to speak of, or the file cannot be written.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Runtime, ops};
    ///
    /// let rt = Runtime::cpu();
    /// let fitted = ops::FittedModel::of(rt.device(), None, &[]);
    /// // A model without samples is not kept.
    /// assert!(fitted.keep(rt.device(), &std::env::temp_dir()).is_err());
    /// ```
    pub fn keep(&self, device: &Device, dir: &Path) -> io::Result<PathBuf> {
        if self.qualities.iter().all(|(_, [q, _])| q.calls == 0) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a model is not fitted to so few samples"));
        }
        Ok(dir.join(models::keep(&self.model, device, dir)?))
    }
}

impl<'a> Call<'a> {
    fn of(call: &'a SampledCall) -> Call<'a> {
        let timed = |s: &'a Sample| {
            let mut words = s.plan.split_whitespace().rev();
            let config = words.next().unwrap_or_default();
            let kernel = words.find(|w| !w.starts_with("splits=")).unwrap_or_default();
            let key = cost::key(kernel, config, s.cost.kernel.loads());
            let micros = (s.measured.as_secs_f64() * 1e6) as f32;
            Timed { plan: &s.plan, cost: Cost { configuration: 1.0, ..s.cost }, micros, key }
        };
        Call { of: call, plans: call.samples.iter().map(timed).filter(|t| t.micros > 0.0).collect() }
    }

    /// The shortest measured time.
    fn best(&self) -> f32 {
        self.plans.iter().map(|t| t.micros).fold(f32::INFINITY, f32::min)
    }
}

/// The places of the plan with the shortest predicted time, and of the fastest one; the predicted times.
fn choice(model: &DeviceModel, num_sms: usize, call: &Call) -> (usize, usize, Vec<f32>) {
    let plans = &call.plans;
    let predict = |t: &Timed| Cost { configuration: model.of_configuration(&t.key), ..t.cost }.micros(model, num_sms);
    let predicted: Vec<f32> = plans.iter().map(predict).collect();
    let least = |of: &dyn Fn(usize) -> f32| (0..plans.len()).min_by(|&i, &j| of(i).total_cmp(&of(j))).expect("several");
    (least(&|i| predicted[i]), least(&|i| plans[i].micros), predicted)
}

fn miss(model: &DeviceModel, num_sms: usize, call: &Call) -> Option<Miss> {
    let (chosen, best, predicted) = choice(model, num_sms, call);
    (chosen != best).then(|| Miss {
        call: format!("{} {}", call.of.kind, call.of.shape),
        plans: [chosen, best].map(|i| call.plans[i].plan.into()),
        predicted: [chosen, best].map(|i| predicted[i]),
        measured: [chosen, best].map(|i| call.plans[i].micros),
    })
}

/// A sample with its weight.
struct Weighted<'a> {
    of: &'a Timed<'a>,
    weight: f64,
}

/// How far the logarithm of a coefficient strays from its start for the price of a sample that is off by `TYPICAL`.
const STRAY: f64 = 1.0;
/// The usual error of a prediction's logarithm; larger ones count less than their squares.
const TYPICAL: f64 = 0.15;
/// A step of the derivative by a logarithm.
const STEP: f32 = 0.01;
const MAX_ROUNDS: usize = 40;

/// The model with coefficients that fit these calls.
fn fitted(start: &DeviceModel, num_sms: usize, calls: &[&Call]) -> DeviceModel {
    let mut samples = vec![];
    for call in calls {
        let best = call.best();
        let weight = |t: &Timed| f64::from(best / t.micros).powi(2);
        // A call counts for more where it has more good plans, but not in proportion.
        let scale = 1.0 / call.plans.iter().map(weight).sum::<f64>().sqrt();
        let weighted = |t| Weighted { of: t, weight: weight(t) * scale };
        samples.extend(call.plans.iter().map(weighted));
    }
    let origin = start.coefficients();
    let model = |x: &[f64]| {
        let all: Vec<f32> = origin.iter().zip(x).map(|(c, x)| (c * x.exp() as f32).clamp(1e-12, 1e12)).collect();
        start.with_coefficients(&all)
    };
    let logs = |m: &DeviceModel| -> Vec<f64> {
        samples.iter().map(|s| f64::from(s.of.cost.micros(m, num_sms)).max(1e-6).ln()).collect()
    };
    let errors = |logs: &[f64]| -> Vec<f64> {
        samples.iter().zip(logs).map(|(s, l)| (l - f64::from(s.of.micros).ln()) / TYPICAL).collect()
    };
    // Of Cauchy: a plan that the model cannot describe does not bend it.
    let loss = |errors: &[f64], x: &[f64]| -> f64 {
        let of_samples: f64 = samples.iter().zip(errors).map(|(s, e)| s.weight * (e * e).ln_1p()).sum();
        of_samples + x.iter().map(|x| (x / STRAY).powi(2)).sum::<f64>()
    };
    let n = origin.len();
    let mut x = vec![0.0; n];
    let mut now = logs(&model(&x));
    let (mut damping, mut best) = (1e-2, loss(&errors(&now), &x));
    for _ in 0..MAX_ROUNDS {
        let derivatives: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                let mut other = x.clone();
                other[i] += f64::from(STEP);
                logs(&model(&other)).iter().zip(&now).map(|(b, a)| (b - a) / f64::from(STEP) / TYPICAL).collect()
            })
            .collect();
        let e = errors(&now);
        let weights: Vec<f64> = samples.iter().zip(&e).map(|(s, e)| s.weight / (1.0 + e * e)).collect();
        let mut normal = vec![vec![0.0; n]; n];
        let mut right = vec![0.0; n];
        for i in 0..n {
            let weighted: Vec<f64> = derivatives[i].iter().zip(&weights).map(|(d, w)| d * w).collect();
            for j in 0..=i {
                let sum: f64 = weighted.iter().zip(&derivatives[j]).map(|(a, b)| a * b).sum();
                (normal[i][j], normal[j][i]) = (sum, sum);
            }
            normal[i][i] += 1.0 / (STRAY * STRAY);
            right[i] = -weighted.iter().zip(&e).map(|(d, e)| d * e).sum::<f64>() - x[i] / (STRAY * STRAY);
        }
        let before = best;
        // More damping until a step is one forward.
        for _ in 0..8 {
            let mut damped = normal.clone();
            (0..n).for_each(|i| damped[i][i] *= 1.0 + damping);
            let Some(step) = solved(damped, right.clone()) else { break };
            let other: Vec<f64> = x.iter().zip(&step).map(|(x, s)| x + s.clamp(-0.5, 0.5)).collect();
            let there = logs(&model(&other));
            let found = loss(&errors(&there), &other);
            if found < best {
                (x, now, best) = (other, there, found);
                damping = (damping * 0.3).max(1e-9);
                break;
            }
            damping *= 4.0;
        }
        if best > before * (1.0 - 1e-5) {
            break;
        }
    }
    model(&x)
}

/// The model with a factor for each configuration: how much longer its kernels take than the terms say, beyond their
/// launch, in the median. Few samples say little.
fn with_configurations(model: DeviceModel, num_sms: usize, calls: &[&Call]) -> DeviceModel {
    /// So many samples count for half of the median.
    const HALF: f64 = 12.0;
    /// Kernels that are a smaller share of the time say nothing.
    const SHARE: f32 = 0.3;
    /// Plans that take so many times as long as the best one say nothing.
    const WITHIN: f32 = 3.0;
    /// Bound of a logarithm. A larger deviation for some shapes is a defect of the terms.
    const FARTHEST: f64 = 0.25;
    let mut found: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for call in calls {
        let best = call.best();
        for Timed { cost, micros, key, .. } in call.plans.iter().filter(|t| t.micros < best * WITHIN) {
            let predicted = cost.micros(&model, num_sms);
            let kernel = cost.kernel_micros(&model, num_sms) - model.launch;
            if kernel > SHARE * predicted {
                let ratio = (kernel + micros - predicted) / kernel;
                found.entry(key).or_default().push(f64::from(ratio.clamp(0.3, 3.0)).ln());
            }
        }
    }
    let factor = |mut logs: Vec<f64>| {
        logs.sort_by(f64::total_cmp);
        let n = logs.len() as f64;
        (logs[logs.len() / 2] * n / (n + HALF)).clamp(-FARTHEST, FARTHEST).exp() as f32
    };
    let configurations = found.into_iter().map(|(key, logs)| (key.to_string(), factor(logs))).collect();
    DeviceModel { configurations, ..model }
}

/// The solution of a positive definite system, by Cholesky's decomposition.
fn solved(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let n = b.len();
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = a[i][j] - (0..j).map(|k| a[i][k] * a[j][k]).sum::<f64>();
            a[i][j] = if i == j { Some(sum.sqrt()).filter(|d| *d > 0.0)? } else { sum / a[j][j] };
        }
    }
    for i in 0..n {
        b[i] = (b[i] - (0..i).map(|k| a[i][k] * b[k]).sum::<f64>()) / a[i][i];
    }
    for i in (0..n).rev() {
        b[i] = (b[i] - (i + 1..n).map(|k| a[k][i] * b[k]).sum::<f64>()) / a[i][i];
    }
    Some(b)
}

/// The mean logarithm of the time of the chosen plan by that of the fastest one. All kinds of calls count alike.
fn loss(model: &DeviceModel, num_sms: usize, calls: &[&Call]) -> f64 {
    let mut kinds: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for call in calls {
        let (chosen, best, _) = choice(model, num_sms, call);
        let (sum, count) = kinds.entry(call.of.kind.as_str()).or_default();
        *sum += f64::from(call.plans[chosen].micros / call.plans[best].micros).ln();
        *count += 1.0;
    }
    kinds.values().map(|(sum, count)| sum / count).sum::<f64>() / kinds.len().max(1) as f64
}

/// How well a model chooses among the plans of each call.
fn quality(model: &DeviceModel, num_sms: usize, calls: &[&Call]) -> Quality {
    let (mut losses, mut ranks) = (vec![], 0.0);
    for call in calls {
        let (chosen, best, predicted) = choice(model, num_sms, call);
        let measured: Vec<f32> = call.plans.iter().map(|t| t.micros).collect();
        losses.push(f64::from(measured[chosen] / measured[best]));
        ranks += correlation(&order(&predicted), &order(&measured));
    }
    if losses.is_empty() {
        return Quality::default();
    }
    losses.sort_by(f64::total_cmp);
    let n = losses.len();
    Quality {
        calls: n,
        loss: (losses.iter().map(|l| l.ln()).sum::<f64>() / n as f64).exp(),
        median: losses[n / 2],
        p90: losses[n * 9 / 10],
        rank: ranks / n as f64,
    }
}

/// The rank of each of these.
fn order(v: &[f32]) -> Vec<f64> {
    let mut by: Vec<usize> = (0..v.len()).collect();
    by.sort_by(|&i, &j| v[i].total_cmp(&v[j]));
    let mut out = vec![0.0; v.len()];
    by.into_iter().enumerate().for_each(|(rank, i)| out[i] = rank as f64);
    out
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = (a.len() - 1) as f64 / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    product(a, b) / product(a, a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::cost::{Moved, Work};
    use crate::planner::gemm::Loads;
    use crate::planner::models::base;
    use crate::planner::rows::RowsWork;

    /// Of no samples: the plans of a call are given.
    static SAMPLED: SampledCall = SampledCall { kind: String::new(), shape: String::new(), samples: vec![] };

    /// Calls of several plans each, with the times of a model.
    fn calls(truth: &DeviceModel) -> Vec<Call<'static>> {
        let of = |rows: usize, tile: usize, copied: usize| {
            let work = RowsWork {
                programs: rows,
                threads: 128,
                resident: 16,
                tiles: 3,
                tile,
                bytes: rows * tile * 8,
                size: 4,
                readings: 1,
                several_rows: false,
                exchanges: 5.0,
                loads: Loads::Vectors,
            };
            let cost = Cost {
                moved: Moved { copied: [copied, 0, 0], ..Moved::default() },
                kernel: Work::Rows(work),
                configuration: 1.0,
            };
            Timed { plan: "", cost, micros: cost.micros(truth, 132), key: format!("kernel {tile}") }
        };
        let call = |i: usize| {
            [256, 512, 1024, 4096]
                .into_iter()
                .flat_map(move |tile| [0, i << 21].into_iter().map(move |copied| of(1 << (4 + i % 12), tile, copied)))
        };
        (1..60).map(|i| Call { of: &SAMPLED, plans: call(i).collect() }).collect()
    }

    #[test]
    fn a_model_is_recovered_from_its_own_times() {
        let start = base();
        let mut truth = start.clone();
        let latency = 4.1 * start.rows.latency;
        (truth.copy, truth.copied, truth.rows.latency, truth.rows.memory) = (9.0, 1.2e6, latency, 1.3e6);
        let calls = calls(&truth);
        let calls: Vec<&Call> = calls.iter().collect();
        let found = fitted(&start, 132, &calls);
        for (found, truth) in [
            (found.copy, truth.copy),
            (found.copied, truth.copied),
            (found.rows.latency, truth.rows.latency),
            (found.rows.memory, truth.rows.memory),
        ] {
            // Coefficients are held near their start, by as much as this.
            assert!((found / truth - 1.0).abs() < 0.15, "{found} for {truth}");
        }
        // A coefficient that no sample depends on stays.
        assert_eq!(found.gemm.tf32.rate, start.gemm.tf32.rate);
        let of_found = quality(&found, 132, &calls);
        assert!(of_found.loss < 1.01 && of_found.rank > 0.98, "{of_found:?}");
    }

    #[test]
    fn a_slow_configuration_is_told() {
        let truth = base();
        let mut calls = calls(&truth);
        for t in calls.iter_mut().flat_map(|call| &mut call.plans).filter(|t| t.key == "kernel 512") {
            t.micros = Cost { configuration: 1.5, ..t.cost }.micros(&truth, 132);
        }
        let calls: Vec<&Call> = calls.iter().collect();
        let found = with_configurations(truth.clone(), 132, &calls);
        assert!((1.2..1.6).contains(&found.of_configuration("kernel 512")), "{:?}", found.configurations);
        assert!((found.of_configuration("kernel 256") - 1.0).abs() < 0.02 && found.of_configuration("none") == 1.0);
        assert!(quality(&found, 132, &calls).loss <= quality(&truth, 132, &calls).loss);
    }

    /// New kernels join a model without a fit of the others.
    #[test]
    fn an_extended_model_knows_more_configurations() {
        let device = tilewright_runtime::Runtime::cpu().device().clone();
        let start = models::unfitted(&device);
        let mut calls = calls(&start);
        for t in calls.iter_mut().flat_map(|call| &mut call.plans) {
            t.micros *= 1.2;
        }
        let known = start.configurations.iter().next().map(|(key, factor)| (key.clone(), *factor));
        let sampled = calls.iter().map(|call| {
            let of = |t: &Timed| Sample {
                op: "an operation".into(),
                plan: t.key.clone(),
                predicted: std::time::Duration::ZERO,
                measured: std::time::Duration::from_secs_f32(t.micros * 1e-6),
                cost: t.cost,
            };
            SampledCall { kind: "a kind".into(), shape: String::new(), samples: call.plans.iter().map(of).collect() }
        });
        let sampled: Vec<SampledCall> = sampled.collect();
        let FittedModel { model, .. } = FittedModel::extended(&device, None, &sampled);
        assert_eq!(model.coefficients(), start.coefficients());
        assert!(model.configurations.len() > start.configurations.len());
        assert!(known.is_none_or(|(key, factor)| model.of_configuration(&key) == factor));
        // A model that was fitted here is the one in use.
        let dir = std::env::temp_dir().join(format!("tilewright-extended-{}", std::process::id()));
        models::keep(&DeviceModel { launch: 77.0, ..start }, &device, &dir).unwrap();
        let FittedModel { model, .. } = FittedModel::extended(&device, Some(&dir), &sampled);
        assert_eq!(model.launch, 77.0);
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn systems_are_solved() {
        let a = vec![vec![4.0, 2.0, 0.0], vec![2.0, 5.0, 1.0], vec![0.0, 1.0, 3.0]];
        let x = solved(a, vec![8.0, 15.0, 11.0]).unwrap();
        assert!(x.iter().zip([1.0, 2.0, 3.0]).all(|(x, y)| (x - y).abs() < 1e-12), "{x:?}");
        assert_eq!(solved(vec![vec![-1.0]], vec![1.0]), None);
    }
}
