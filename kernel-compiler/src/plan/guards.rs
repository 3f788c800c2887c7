//! The guards of a variant: what a launch must keep for its code to be right.

use crate::analysis::axis_info::AxisAnalysis;
use crate::ir::{Dim, Func, Guard, Number, Test};
use crate::plan::warp_specialized::TensorMap;

/// The guards that the axis info stands on, and those of tensor maps. Dimensions of maps that are constants need none:
/// they were checked when the block pointer was found.
pub fn plan(f: &Func, axis_info: &AxisAnalysis, maps: &[TensorMap]) -> Vec<Guard> {
    let mut known = if planted!("launch-guards-not-told") { vec![] } else { axis_info.guards.clone() };
    for m in maps {
        let (param, size) = (&f.params[m.param], f.params[m.param].dtype.size() as u64);
        let mut add = |of: &Number, test: Test| {
            let r = Guard { of: of.clone(), test };
            if !of.words.is_empty() && !known.contains(&r) {
                known.push(r);
            }
        };
        add(&Number::word(param.first_word), Test::Multiple(16));
        m.dims.iter().for_each(|d| add(&d.extent, Test::Within(1, Dim::UNLIMITED)));
        let (last, others) = m.dims.split_last().expect("a dimension");
        others.iter().for_each(|d| {
            add(&d.stride, Test::Multiple(if planted!("tma-stride-not-asked") { 1 } else { 16 / size }));
            add(&d.stride, Test::Within(1, (1 << 39) / size));
        });
        add(&last.stride, Test::Equal(1));
        if m.stores && !planted!("tma-store-extent-not-asked") {
            // The hardware clips rows to 16 bytes, no finer.
            add(&last.extent, Test::Multiple(16 / size));
        }
    }
    known
}
