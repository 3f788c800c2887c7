//! Features of lowered code: which passes, device steps and element types an instance takes. Tests on the emulated SM
//! run a set of instances that [covers](cover) all features, not all instances.
//!
//! Features are read from the lowered code itself, so that a new step or a new element type is a new feature without an
//! entry in a list.

use std::collections::{BTreeMap, BTreeSet};

use crate::dtype::DType;
use crate::ir::walk::{dots, walk};
use crate::ir::{Func, Op, ParamKind, StmtKind};
use crate::thread_ir::Lowered;
use crate::variant::{MmaPath, Variant};

pub type Features = BTreeSet<String>;

/// The features of one variant of an instance. `f` is the instance's function as it is written.
///
/// `tma wgmma<f16,f32>` is a call of a device function with the element types it is called with, in a variant of that
/// kind; `tma: pipelined dots, f16` is a pass that changed a function of products of that type.
pub fn features(f: &Func, v: Variant, lowered: &Lowered) -> Features {
    let way = match v.mma {
        MmaPath::MmaSync => "warps",
        MmaPath::WgmmaCpAsync => "groups",
        MmaPath::WgmmaTma(_) => "tma",
    };
    let mut out: Features = calls(&lowered.text()).into_iter().map(|call| format!("{way} {call}")).collect();
    let types = element_types(f);
    let mut pass = |name: &str| out.extend(types.iter().map(|t| format!("{way}: {name}, {}", t.name())));
    lowered.passes.iter().for_each(|p| pass(p));
    if !v.aligned {
        pass("general");
    }
    if f.ctas > 1 {
        pass("cluster");
    }
    if f.early.is_some() {
        pass("programmatic dependent launch");
    }
    if walk(&f.body).any(|s| matches!(&s.kind, StmtKind::For { options, .. } if options.unroll > 1)) {
        pass("unroll");
    }
    if lowered.threads > f.warps * 32 {
        pass("warp specialization");
    }
    for m in &lowered.maps {
        let p = &f.params[m.param];
        let direction = if m.stores { "store to" } else { "load from" };
        let kind = if p.kind.slots() > 2 { "view" } else { "pointer" };
        let t = p.dtype.name();
        out.insert(format!("{way}: tensor map: {direction} a {kind}, swizzle {}, {t}", m.swizzle));
    }
    out
}

/// The element types that a function's products multiply; of a function without products those of its arrays.
fn element_types(f: &Func) -> BTreeSet<DType> {
    let multiplied: BTreeSet<DType> = dots(f, &f.body)
        .filter_map(|d| match f.op(d) {
            Op::Dot { a, .. } => Some(f.ty(*a).dtype),
            _ => None,
        })
        .collect();
    if !multiplied.is_empty() {
        return multiplied;
    }
    f.params.iter().filter(|p| p.kind != ParamKind::Scalar).map(|p| p.dtype).collect()
}

/// Calls of device functions in lowered code, with those generic arguments that are element types or flags, and
/// whether accesses are wider than an element.
fn calls(text: &str) -> Features {
    let mut out = Features::new();
    for (at, _) in text.match_indices("d::") {
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let call = &text[at + 3..];
        let name_len = call.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(call.len());
        let (name, rest) = call.split_at(name_len);
        if name.starts_with(|c: char| c.is_uppercase()) {
            // A type.
            continue;
        }
        let arguments = rest.strip_prefix("::<").map_or("", generic_arguments);
        let mut kept: Vec<&str> = vec![];
        for word in arguments.split(|c: char| !c.is_alphanumeric() && c != '_') {
            let is_type = DType::ALL.iter().any(|t| t.rust().trim_start_matches("s::") == word);
            if is_type || matches!(word, "true" | "false") {
                kept.push(word);
            }
        }
        let third = arguments.split(',').nth(2).map_or("", str::trim);
        match name {
            // The number of elements of one access.
            "load" | "store" | "copy_ahead" | "shared_load" | "shared_store" => {
                kept.push(if third == "1" { "element" } else { "vector" });
            }
            // The operation.
            "atomic" => kept.push(third),
            _ => {}
        }
        out.insert(if kept.is_empty() { name.to_string() } else { format!("{name}<{}>", kept.join(",")) });
    }
    out
}

/// The text up to the bracket that closes the list.
fn generic_arguments(text: &str) -> &str {
    let mut open = 1;
    for (i, c) in text.char_indices() {
        match c {
            '<' => open += 1,
            '>' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return &text[..i];
        }
    }
    text
}

/// The candidates, by index in ascending order, that have every feature of all of them: greedily the one with the most
/// features that are still missing, of equals the one of the least cost, then the first.
pub fn cover<S: AsRef<str>>(candidates: &[(Vec<S>, u64)]) -> Vec<usize> {
    let mut missing: BTreeMap<&str, ()> =
        candidates.iter().flat_map(|(features, _)| features).map(|f| (f.as_ref(), ())).collect();
    let mut chosen = vec![];
    while !missing.is_empty() {
        let gain = |i: usize| {
            let features: BTreeSet<&str> = candidates[i].0.iter().map(S::as_ref).collect();
            features.iter().filter(|f| missing.contains_key(*f)).count()
        };
        let best = (0..candidates.len()).max_by_key(|&i| (gain(i), std::cmp::Reverse((candidates[i].1, i))));
        let Some(best) = best else { break };
        candidates[best].0.iter().for_each(|f| {
            missing.remove(f.as_ref());
        });
        chosen.push(best);
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_by_its_types_its_flags_and_its_width() {
        let text = "let v1: [f32; 4] = d::load::<f32, 4, 4, false>(|r| x1.wrapping_add(K2[r]), true);
            let x5: [(f32,); 1] = d::each(|r| d::fold::<(f32, u32), 2>(|k| v[k], |a, b| a));
            let y = (d::shuffle_xor(x5[r].0, 1, 0), d::shared_load::<F16, 2, 1>(|r| 0, |_| true, 0));
            let z = d::atomic::<u32, 1, 3>(|r| 0); core::mod::d::not_a_device_step(); field_d::nor_this(); d::Matrix(1);";
        let found: Vec<String> = calls(text).into_iter().collect();
        let wanted = [
            "atomic<u32,3>",
            "each",
            "fold<f32,u32>",
            "load<f32,false,vector>",
            "shared_load<F16,element>",
            "shuffle_xor",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_cover_has_every_feature_and_nothing_that_adds_none() {
        let candidates =
            [(vec!["a"], 1), (vec!["a", "b"], 9), (vec!["b", "a"], 5), (vec!["c"], 7), (vec!["c"], 3), (vec![], 0)];
        assert_eq!(cover(&candidates), [2, 4]);
        assert_eq!(cover::<&str>(&[]), [0usize; 0]);
    }

    #[test]
    fn three_times_the_kernels_need_no_more_instances() {
        let features = |i: usize| (vec![format!("step {}", i % 7), format!("type {}", i % 5)], i as u64 % 3);
        let kernels: Vec<_> = (0..40).map(features).collect();
        let tripled: Vec<_> = (0..120).map(features).collect();
        assert!(cover(&tripled).len() <= cover(&kernels).len(), "{:?}", cover(&tripled));
    }
}
