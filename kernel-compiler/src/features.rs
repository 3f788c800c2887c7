//! Features of lowered code: which passes, device steps and element types an instance takes. Tests on the emulated SM
//! run a set of instances that [covers](cover) all features, not all instances.
//!
//! Features are read from the nodes of the lowered code itself, so that a new step or a new element type is a new
//! feature without an entry in a list.

use std::collections::{BTreeMap, BTreeSet};

use crate::dtype::{DType, rust_type};
use crate::ir::walk::{dots, walk};
use crate::ir::{Func, Op, ParamKind, StmtKind};
use crate::thread_ir::{Call, Device, Expr, Function, Generic, Lowered, Ty};
use crate::variant::{MmaPath, Variant, Width};

pub(crate) type Features = BTreeSet<String>;

/// The features of one variant of an instance. `f` is the instance's function as it is written.
///
/// `tma wgmma<f16,f32>` is a call of a device function with the element types it is called with, in a variant of that
/// kind; `tma: pipelined dots, f16` is a pass that changed a function of products of that type. `f16` stands for
/// `bf16`, too, and `f8e4m3` for `f8e5m2`: lowered code of one of them is that of the other one but for the name.
/// Kernels of the language's tests cover the parts of the device library for one of them alone.
pub(crate) fn features(f: &Func, v: Variant, lowered: &Lowered) -> Features {
    let way = match v.mma {
        MmaPath::MmaSync => "warps",
        MmaPath::WgmmaCpAsync => "wgmma_cp_async",
        MmaPath::WgmmaTma(_) => "tma",
    };
    let mut out: Features = calls(lowered).into_iter().map(|call| format!("{way} {call}")).collect();
    let types: BTreeSet<DType> = element_types(f).into_iter().map(representative).collect();
    let mut pass = |name: &str| out.extend(types.iter().map(|t| format!("{way}: {name}, {}", t.name())));
    lowered.passes.iter().for_each(|p| pass(p));
    match v.width {
        Width::Vectors => {}
        Width::DoubleWords => pass("aligned_8"),
        Width::Words => pass("aligned_4"),
        Width::Elements => pass("general"),
    }
    if f.ctas > 1 {
        pass("cluster");
    }
    if f.pdl.is_some() {
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
        let kind = if p.kind.words() > 2 { "view" } else { "pointer" };
        let t = representative(p.dtype).name();
        out.insert(format!("{way}: tensor map: {direction} a {kind}, swizzle {}, {t}", m.swizzle));
    }
    out
}

/// The type that stands for all of its size and kind.
fn representative(dtype: DType) -> DType {
    match dtype {
        DType::BF16 => DType::F16,
        DType::F8E5M2 => DType::F8E4M3,
        other => other,
    }
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

/// Calls of device functions in lowered code.
fn calls(lowered: &Lowered) -> Features {
    let mut out = Features::new();
    lowered.walk(&mut |e| {
        if let Expr::Call(call) = e
            && let Function::Device(device) = call.function
        {
            out.insert(feature(device, call));
        }
        if let Expr::Asm(_) = e {
            out.insert("asm".into());
        }
    });
    if lowered.has_barriers() {
        out.insert(Device::Barrier.name().into());
    }
    out
}

/// A call by those of its generic arguments that are element types or flags, and whether an access is wider than an
/// element.
fn feature(device: Device, call: &Call) -> String {
    let mut kept: Vec<String> = vec![];
    for g in &call.generics {
        match g {
            Generic::Type(ty) => element_types_of(ty, &mut kept),
            Generic::Flag(flag) => kept.push(flag.to_string()),
            Generic::Number(_) | Generic::Expr(_) | Generic::Inferred => {}
        }
    }
    match (device, call.generics.get(2)) {
        // The number of elements of one access.
        (
            Device::Load | Device::Store | Device::CopyAhead | Device::SharedLoad | Device::SharedStore,
            Some(Generic::Number(n)),
        ) => kept.push(if *n == 1 { "element" } else { "vector" }.into()),
        // The operation.
        (Device::Atomic, Some(Generic::Number(operation))) => kept.push(operation.to_string()),
        _ => {}
    }
    let name = device.name();
    if kept.is_empty() { name.to_string() } else { format!("{name}<{}>", kept.join(",")) }
}

fn element_types_of(ty: &Ty, out: &mut Vec<String>) {
    match ty {
        Ty::Scalar(t) | Ty::Tile(t) => out.push(rust_type(representative(*t)).trim_start_matches("s::").into()),
        Ty::Usize => {}
        Ty::Array(of, _) => element_types_of(of, out),
        Ty::Tuple(items) => items.iter().for_each(|t| element_types_of(t, out)),
    }
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
    use crate::thread_ir::{Local, ThreadIr, call, closure};

    #[test]
    fn a_call_is_known_by_its_types_its_flags_and_its_width() {
        let pair = Ty::Tuple(vec![DType::F32.into(), DType::U32.into()]);
        let cases = [
            (call!(Device::Load; [DType::F32, 4u32, 4u32, false, true]; 0), "load<f32,false,true,vector>"),
            (call!(Device::SharedLoad; [DType::F16, 2u32, 1u32]; 0), "shared_load<F16,element>"),
            (call!(Device::TmaStore; [1u32, Generic::Inferred]; 0), "tma_store"),
            (call!(Device::Fold; [pair, 2u32]; 0), "fold<f32,u32>"),
            (call!(Device::Atomic; [DType::U32, 1u32, 3u32]; 0), "atomic<u32,3>"),
            (call!(Device::Wgmma; [DType::F8E4M3, DType::F32, 64u32, true]; 0), "wgmma<F8E4M3,f32,true>"),
            (call!(Device::ShuffleXor; 0, 1, 0), "shuffle_xor"),
        ];
        for (e, expected) in cases {
            let Expr::Call(call) = e else { unreachable!("a call") };
            let Function::Device(device) = call.function else { unreachable!("of the device library") };
            assert_eq!(feature(device, &call), expected);
        }
    }

    #[test]
    fn calls_are_found_in_closures_conditions_and_blocks() {
        let in_closure = call!(Device::Each; closure([Local::R], call!(Device::Limit; Local::R, 1)));
        let then = vec![ThreadIr::Barrier { site: 0 }, in_closure.into()];
        let cond = call!(Device::Opaque; true);
        let body = vec![ThreadIr::Loop { body: vec![ThreadIr::If { cond, then, other: vec![] }] }];
        let found: Vec<String> = calls(&Lowered { body, ..Lowered::default() }).into_iter().collect();
        assert_eq!(found, ["barrier", "each", "limit", "opaque"]);
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
