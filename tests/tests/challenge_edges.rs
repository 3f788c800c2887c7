//! Operations of public challenges on NaN, infinities, signed zeros, subnormals, and empty inputs: torch's results are
//! in a table that `tests/edge_values` makes.

use tilewright::{Buffer, DType, Result, Runtime};
use tilewright_challenges as ops;
use tilewright_conformance::edge_values::{EdgeRow, Table, compare, missing_classes};
use tilewright_conformance::{Output, Pattern};

const TABLE: &str = include_str!("../edge_values/challenges.json");
/// The output before a call: no result of a row has these bits.
const UNTOUCHED: u32 = 0x5a5a_5a5a;

/// A call of a row.
struct Case<'a> {
    rt: &'a Runtime,
    row: &'a EdgeRow,
    outputs: Vec<Output>,
}

impl Case<'_> {
    fn size<const N: usize>(&self) -> [usize; N] {
        let size: Vec<usize> = self.row.size.iter().map(|&n| n as usize).collect();
        size.try_into().unwrap_or_else(|s| panic!("{}: {s:?} are not {N} extents", self.row.name))
    }

    /// An input.
    fn array<T: Pattern>(&self, name: &str, extents: &[usize]) -> Result<Buffer<T>> {
        Buffer::from_slice(self.rt, &self.row.input::<T>(name, extents.iter().product())?)
    }

    fn f32(&self, name: &str, extents: &[usize]) -> Result<Buffer<f32>> {
        self.array(name, extents)
    }

    fn i32(&self, name: &str, extents: &[usize]) -> Result<Buffer<i32>> {
        self.array(name, extents)
    }

    fn number(&self, name: &str) -> Result<f32> {
        self.row.scalar(name)
    }

    /// Space for an output.
    fn space<T: Pattern>(&self, extents: &[usize]) -> Result<Buffer<T>> {
        Buffer::from_slice(self.rt, &vec![T::from_bits(UNTOUCHED); extents.iter().product()])
    }

    fn done<T: Pattern>(&mut self, name: &'static str, made: &Buffer<T>) -> Result<()> {
        self.outputs.push(Output::of(name, &made.to_vec()?));
        Ok(())
    }

    /// An output that a call makes.
    fn makes<T: Pattern>(
        &mut self,
        name: &'static str,
        extents: &[usize],
        call: impl FnOnce(&mut Buffer<T>) -> Result<()>,
    ) -> Result<()> {
        let mut y = self.space(extents)?;
        call(&mut y)?;
        self.done(name, &y)
    }
}

/// Calls an operation by its name.
fn call(case: &mut Case<'_>, operation: &str) -> Result<()> {
    let rt = case.rt;
    match operation {
        "sigmoid" | "silu" | "value_clipping" | "rms_normalization" | "prefix_sum" | "stream_compaction" => {
            let [n] = case.size();
            one_array(case, operation, n)
        }
        "matrix_addition" | "swiglu" | "geglu" | "interleave" | "mean_squared_error" | "dot_product" => {
            let [n] = case.size();
            two_arrays(case, operation, n)
        }
        "rgb_to_grayscale" => {
            let [n] = case.size();
            let rgb = case.f32("rgb", &[n, 3])?;
            case.makes("gray", &[n], |y| ops::rgb_to_grayscale(rt, &rgb, y))
        }
        "rope_embedding" => {
            let [rows, columns] = case.size();
            let [x, c, s] = ["x", "cosines", "sines"].map(|name| case.f32(name, &[rows, columns]));
            let (x, c, s) = (x?, c?, s?);
            case.makes("y", &[rows, columns], |y| ops::rope_embedding(rt, &x, &c, &s, y, columns))
        }
        "weight_dequantization" => {
            let [rows, columns, side] = case.size();
            let x = case.f32("x", &[rows, columns])?;
            let scales = case.f32("scales", &[rows.div_ceil(side), columns.div_ceil(side)])?;
            let extents = [rows, columns];
            case.makes("y", &extents, |y| ops::weight_dequantization(rt, &x, &scales, y, extents, side))
        }
        "softmax_cross_entropy" | "ppo_clipped_surrogate_loss" | "dpo_sequence_loss" | "grpo_surrogate_loss" => {
            loss(case, operation)
        }
        "batch_normalization" | "group_normalization" | "token_embedding_layer" => norm(case, operation),
        "nearest_neighbor" => {
            let [n] = case.size();
            let points = case.f32("points", &[n, 3])?;
            case.makes("nearest", &[n], |y| ops::nearest_neighbor(rt, &points, y))
        }
        "multi_agent_sim" => {
            let [n] = case.size();
            let agents = case.f32("agents", &[n, 4])?;
            case.makes("next", &[n, 4], |y| ops::multi_agent_sim(rt, &agents, y))
        }
        "matrix_vector_product" => {
            let [rows, columns] = case.size();
            let (a, x) = (case.f32("a", &[rows, columns])?, case.f32("x", &[columns])?);
            case.makes("y", &[rows], |y| ops::matrix_vector_product(rt, &a, &x, y))
        }
        "moe_topk_gating" => {
            let [rows, experts, k] = case.size();
            let logits = case.f32("logits", &[rows, experts])?;
            let (mut weights, mut indices) = (case.space::<f32>(&[rows, k])?, case.space::<i32>(&[rows, k])?);
            ops::moe_topk_gating(rt, &logits, &mut weights, &mut indices, experts, k)?;
            case.done("weights", &weights)?;
            case.done("indices", &indices)
        }
        "segmented_prefix_sum"
        | "linear_recurrence"
        | "gae_reverse_scan"
        | "ssm_selective_scan"
        | "max_subarray_sum" => scan(case, operation),
        "sorting" | "sorted" | "radix_sort" | "top_k_selection" | "parallel_merge" | "histogramming" => {
            sort(case, operation)
        }
        "convolution_2d"
        | "convolution_3d"
        | "gaussian_blur"
        | "jacobi_stencil_2d"
        | "max_pooling_2d"
        | "causal_depthwise_conv1d" => stencil(case, operation),
        "monte_carlo_integration" | "count_elements" | "subarray_sum" | "subarray_sum_3d" => sum(case, operation),
        "int8_kv_cache_attention" => {
            let [heads, positions, dim] = case.size();
            let q = case.f32("q", &[heads, dim])?;
            let [keys, values] = ["keys", "values"].map(|name| case.array::<i8>(name, &[heads, positions, dim]));
            let [k, v] = ["key_scales", "value_scales"].map(|name| case.f32(name, &[heads, positions]));
            let (keys, values, k, v) = (keys?, values?, k?, v?);
            let cache = ops::Int8Cache { keys: &keys, values: &values, key_scales: &k, value_scales: &v };
            case.makes("y", &[heads, dim], |y| ops::int8_kv_cache_attention(rt, &q, cache, y, [heads, positions, dim]))
        }
        other => panic!("no operation {other}"),
    }
}

fn one_array(case: &mut Case<'_>, operation: &str, n: usize) -> Result<()> {
    let (rt, x) = (case.rt, case.f32("x", &[n])?);
    match operation {
        "sigmoid" => case.makes("y", &[n], |y| ops::sigmoid(rt, &x, y)),
        "silu" => case.makes("y", &[n], |y| ops::silu(rt, &x, y)),
        "prefix_sum" => case.makes("y", &[n], |y| ops::prefix_sum(rt, &x, y)),
        "stream_compaction" => case.makes("y", &[n], |y| ops::stream_compaction(rt, &x, y)),
        "value_clipping" => {
            let (lo, hi) = (case.number("lo")?, case.number("hi")?);
            case.makes("y", &[n], |y| ops::value_clipping(rt, &x, y, lo, hi))
        }
        _ => {
            let (gamma, beta, eps) = (case.number("gamma")?, case.number("beta")?, case.number("eps")?);
            case.makes("y", &[n], |y| ops::rms_normalization(rt, &x, y, gamma, beta, eps))
        }
    }
}

fn two_arrays(case: &mut Case<'_>, operation: &str, n: usize) -> Result<()> {
    let rt = case.rt;
    let names = match operation {
        "swiglu" | "geglu" => ["gate", "value"],
        "mean_squared_error" => ["predictions", "targets"],
        _ => ["a", "b"],
    };
    let (a, b) = (case.f32(names[0], &[n])?, case.f32(names[1], &[n])?);
    match operation {
        "matrix_addition" => case.makes("c", &[n], |c| ops::matrix_addition(rt, &a, &b, c)),
        "swiglu" => case.makes("y", &[n], |y| ops::swiglu(rt, &a, &b, y)),
        "geglu" => case.makes("y", &[n], |y| ops::geglu(rt, &b, &a, y)),
        "interleave" => case.makes("y", &[2 * n], |y| ops::interleave(rt, &a, &b, y)),
        "mean_squared_error" => case.makes("loss", &[1], |y| ops::mean_squared_error(rt, &a, &b, y)),
        _ => case.makes("y", &[1], |y| ops::dot_product(rt, &a, &b, y)),
    }
}

fn loss(case: &mut Case<'_>, operation: &str) -> Result<()> {
    let rt = case.rt;
    match operation {
        "softmax_cross_entropy" => {
            let [rows, columns] = case.size();
            let (logits, labels) = (case.f32("logits", &[rows, columns])?, case.i32("labels", &[rows])?);
            case.makes("loss", &[1], |y| ops::softmax_cross_entropy(rt, &logits, &labels, y))
        }
        "ppo_clipped_surrogate_loss" => {
            let [n] = case.size();
            let [advantages, log_pi, old] = ["advantages", "log_pi", "log_pi_old"].map(|name| case.f32(name, &[n]));
            let (advantages, log_pi, old, clip) = (advantages?, log_pi?, old?, case.number("clip")?);
            case.makes("loss", &[1], |y| ops::ppo_clipped_surrogate_loss(rt, &advantages, &log_pi, &old, y, clip))
        }
        "dpo_sequence_loss" => {
            let [n] = case.size();
            let names = ["chosen", "rejected", "chosen_ref", "rejected_ref"];
            let [chosen, rejected, chosen_ref, rejected_ref] = names.map(|name| case.f32(name, &[n]));
            let (chosen, rejected, chosen_ref, rejected_ref) = (chosen?, rejected?, chosen_ref?, rejected_ref?);
            let beta = case.number("beta")?;
            case.makes("loss", &[1], |y| {
                ops::dpo_sequence_loss(rt, &chosen, &rejected, &chosen_ref, &rejected_ref, y, beta)
            })
        }
        _ => {
            let [groups, members, tokens] = case.size();
            let rewards = case.f32("rewards", &[groups, members])?;
            let names = ["log_pi", "log_pi_old", "log_ref"];
            let [log_pi, old, log_ref] = names.map(|name| case.f32(name, &[groups, members, tokens]));
            let (log_pi, old, log_ref) = (log_pi?, old?, log_ref?);
            let (clip, beta, extents) = (case.number("clip")?, case.number("beta")?, [groups, members, tokens]);
            case.makes("loss", &[1], |y| {
                ops::grpo_surrogate_loss(rt, &rewards, &log_pi, &old, &log_ref, y, extents, clip, beta)
            })
        }
    }
}

fn norm(case: &mut Case<'_>, operation: &str) -> Result<()> {
    let (rt, eps) = (case.rt, case.number("eps")?);
    match operation {
        "batch_normalization" => {
            let [rows, columns] = case.size();
            let x = case.f32("x", &[rows, columns])?;
            let (gamma, beta) = (case.f32("gamma", &[columns])?, case.f32("beta", &[columns])?);
            case.makes("y", &[rows, columns], |y| ops::batch_normalization(rt, &x, &gamma, &beta, y, eps))
        }
        "group_normalization" => {
            let [samples, channels, area, groups] = case.size();
            let x = case.f32("x", &[samples, channels, area])?;
            let (gamma, beta) = (case.f32("gamma", &[channels])?, case.f32("beta", &[channels])?);
            let extents = [samples, channels, area];
            case.makes("y", &extents, |y| ops::group_normalization(rt, &x, &gamma, &beta, y, extents, groups, eps))
        }
        _ => {
            let [rows, columns, vocabulary, places, sequence] = case.size();
            let (tokens, positions) =
                (case.f32("tokens", &[vocabulary, columns])?, case.f32("positions", &[places, columns])?);
            let (gamma, beta) = (case.f32("gamma", &[columns])?, case.f32("beta", &[columns])?);
            let (ids, at) = (case.i32("token_ids", &[rows])?, case.i32("position_ids", &[sequence])?);
            let tables = ops::EmbeddingTables { tokens: &tokens, positions: &positions, gamma: &gamma, beta: &beta };
            case.makes("y", &[rows, columns], |y| ops::token_embedding_layer(rt, &ids, &at, tables, y, eps))
        }
    }
}

fn scan(case: &mut Case<'_>, operation: &str) -> Result<()> {
    let rt = case.rt;
    match operation {
        "segmented_prefix_sum" => {
            let [n] = case.size();
            let (x, flags) = (case.f32("x", &[n])?, case.i32("flags", &[n])?);
            case.makes("y", &[n], |y| ops::segmented_prefix_sum(rt, &x, &flags, y))
        }
        "linear_recurrence" => {
            let [rows, columns] = case.size();
            let (a, x) = (case.f32("a", &[rows, columns])?, case.f32("x", &[rows, columns])?);
            case.makes("h", &[rows, columns], |h| ops::linear_recurrence(rt, &a, &x, h, columns))
        }
        "gae_reverse_scan" => {
            let [rows, columns] = case.size();
            let (rewards, values) = (case.f32("rewards", &[rows, columns])?, case.f32("values", &[rows, columns])?);
            let (gamma, lambda) = (case.number("gamma")?, case.number("lambda")?);
            case.makes("advantages", &[rows, columns], |y| {
                ops::gae_reverse_scan(rt, &rewards, &values, y, gamma, lambda, columns)
            })
        }
        "ssm_selective_scan" => {
            let [batch, steps, channels, states] = case.size();
            let (u, delta) = (case.f32("u", &[batch, steps, channels])?, case.f32("delta", &[batch, steps, channels])?);
            let (b, c) = (case.f32("b", &[batch, steps, states])?, case.f32("c", &[batch, steps, states])?);
            let (a, skip) = (case.f32("a", &[channels, states])?, case.f32("skip", &[channels])?);
            let x = ops::SelectiveScan { u: &u, delta: &delta, a: &a, b: &b, c: &c, skip: &skip };
            let extents = [batch, steps, channels, states];
            case.makes("y", &[batch, steps, channels], |y| ops::ssm_selective_scan(rt, x, y, extents))
        }
        _ => {
            let [n, window] = case.size();
            let x = case.i32("x", &[n])?;
            case.makes("y", &[1], |y| ops::max_subarray_sum(rt, &x, y, window))
        }
    }
}

fn sort(case: &mut Case<'_>, operation: &str) -> Result<()> {
    let rt = case.rt;
    match operation {
        "sorting" => {
            let [n] = case.size();
            let mut y = case.f32("x", &[n])?;
            ops::sorting(rt, &mut y)?;
            case.done("y", &y)
        }
        "sorted" => {
            let [n] = case.size();
            let x = case.f32("x", &[n])?;
            case.makes("y", &[n], |y| ops::sorted(rt, &x, y))
        }
        "radix_sort" => {
            let [n] = case.size();
            let x = case.array::<u32>("x", &[n])?;
            case.makes("y", &[n], |y| ops::radix_sort(rt, &x, y))
        }
        "top_k_selection" => {
            let [n, k] = case.size();
            let x = case.f32("x", &[n])?;
            case.makes("y", &[k], |y| ops::top_k_selection(rt, &x, y))
        }
        "parallel_merge" => {
            let [m, n] = case.size();
            let (a, b) = (case.f32("a", &[m])?, case.f32("b", &[n])?);
            case.makes("y", &[m + n], |y| ops::parallel_merge(rt, &a, &b, y))
        }
        _ => {
            let [n, bins] = case.size();
            let x = case.i32("x", &[n])?;
            case.makes("counts", &[bins], |y| ops::histogramming(rt, &x, y))
        }
    }
}

fn stencil(case: &mut Case<'_>, operation: &str) -> Result<()> {
    let rt = case.rt;
    match operation {
        "convolution_2d" | "gaussian_blur" => {
            let [rows, columns, tap_rows, tap_columns] = case.size();
            let (x, taps) = (case.f32("x", &[rows, columns])?, case.f32("taps", &[tap_rows, tap_columns])?);
            let (extents, tap_extents) = ([rows, columns], [tap_rows, tap_columns]);
            match operation {
                "gaussian_blur" => {
                    case.makes("y", &extents, |y| ops::gaussian_blur(rt, &x, &taps, y, extents, tap_extents))
                }
                _ => case.makes("y", &[rows + 1 - tap_rows, columns + 1 - tap_columns], |y| {
                    ops::convolution_2d(rt, &x, &taps, y, extents, tap_extents)
                }),
            }
        }
        "convolution_3d" => {
            let [d, r, c, tap_d, tap_r, tap_c] = case.size();
            let (x, taps) = (case.f32("x", &[d, r, c])?, case.f32("taps", &[tap_d, tap_r, tap_c])?);
            case.makes("y", &[d + 1 - tap_d, r + 1 - tap_r, c + 1 - tap_c], |y| {
                ops::convolution_3d(rt, &x, &taps, y, [d, r, c], [tap_d, tap_r, tap_c])
            })
        }
        "jacobi_stencil_2d" => {
            let [rows, columns] = case.size();
            let x = case.f32("x", &[rows, columns])?;
            case.makes("y", &[rows, columns], |y| ops::jacobi_stencil_2d(rt, &x, y, [rows, columns]))
        }
        "max_pooling_2d" => {
            let [planes, rows, columns, side, stride, padding] = case.size();
            let x = case.f32("x", &[planes, rows, columns])?;
            let window = ops::Pooling { side, stride, padding };
            let [out_rows, out_columns] = [rows, columns].map(|n| window.outputs(n).expect("a window that fits"));
            case.makes("y", &[planes, out_rows, out_columns], |y| {
                ops::max_pooling_2d(rt, &x, y, [planes, rows, columns], window)
            })
        }
        _ => {
            let [batch, steps, channels, count] = case.size();
            let x = case.f32("x", &[batch, steps, channels])?;
            let (taps, bias) = (case.f32("taps", &[channels, count])?, case.f32("bias", &[channels])?);
            let extents = [batch, steps, channels];
            case.makes("y", &extents, |y| ops::causal_depthwise_conv1d(rt, &x, &taps, &bias, y, extents, count))
        }
    }
}

fn sum(case: &mut Case<'_>, operation: &str) -> Result<()> {
    let rt = case.rt;
    match operation {
        "monte_carlo_integration" => {
            let [n] = case.size();
            let (x, a, b) = (case.f32("samples", &[n])?, case.number("a")?, case.number("b")?);
            case.makes("y", &[1], |y| ops::monte_carlo_integration(rt, &x, y, a, b))
        }
        "count_elements" => {
            let [n] = case.size();
            let (x, k) = (case.i32("x", &[n])?, case.row.scalar::<i32>("k")?);
            case.makes("y", &[1], |y| ops::count_elements(rt, &x, y, k))
        }
        "subarray_sum" => {
            let [n, first, end] = case.size();
            let x = case.i32("x", &[n])?;
            case.makes("y", &[1], |y| ops::subarray_sum(rt, &x, y, first..end))
        }
        _ => {
            let [d, r, c, p, q, s, t, u, v] = case.size();
            let x = case.i32("x", &[d, r, c])?;
            let ranges = [p..q, s..t, u..v];
            case.makes("y", &[1], |y| ops::subarray_sum_3d(rt, &x, y, [d, r, c], ranges))
        }
    }
}

#[test]
fn challenges_agree_with_torch_at_the_edges() {
    let table = Table::parse(TABLE).expect("a table");
    let mut wrong = Vec::new();
    for rt in crate::backends(3) {
        for row in table.rows() {
            for operation in row.ops() {
                let mut case = Case { rt: &rt, row, outputs: vec![] };
                let what = format!("{operation} {:?}, {} {:?}", rt.kind(), row.name, row.size);
                match call(&mut case, operation).and_then(|()| compare(row, &case.outputs)) {
                    Ok((verdict, None)) if verdict.passed() => {}
                    Ok((_, note)) => wrong.push(format!("{what}: {}", note.unwrap_or_default())),
                    Err(e) => wrong.push(format!("{what}: {e}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), table.rows().len(), wrong.join("\n"));
}

/// Functions whose inputs have elements: the window of the taps is inside.
const REFUSE_NOTHING: [&str; 2] = ["convolution_2d", "convolution_3d"];

#[test]
fn every_operation_of_the_challenges_has_rows() {
    let table = Table::parse(TABLE).expect("a table");
    let text = crate::docs::read("challenges/src/lib.rs");
    let lists = text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()?.split_once("::{"));
    let names = lists.flat_map(|(_, list)| list.trim_end_matches('}').split(',').map(str::trim));
    let functions: Vec<&str> = names.filter(|n| n.starts_with(char::is_lowercase)).collect();
    assert!(functions.len() > 40, "{functions:?}");
    for f in functions {
        let of: Vec<_> = table.rows().iter().filter(|r| r.ops().iter().any(|o| o == f)).collect();
        assert!(of.len() > 2, "{f} has {} rows", of.len());
        let has_nothing = of.iter().any(|r| r.name.contains("nothing") || r.name.starts_with("no "));
        assert!(has_nothing || REFUSE_NOTHING.contains(&f), "{f}: nothing");
        assert!(of.iter().any(|r| r.name.contains("one element")), "{f}: one element");
        let missing = missing_classes(of.into_iter().filter(|r| r.is_of(f, DType::F32)));
        assert!(missing.is_empty(), "{f}: {missing:?}");
    }
}
