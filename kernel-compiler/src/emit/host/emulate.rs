//! The code of a variant for the emulated SM.

use crate::front::ast;
use crate::ir::Func;
use crate::thread_ir::Lowered;
use crate::variant::{MmaPath, Variant};

/// The names of scalar operations that functions use.
pub(super) const SCALARS: &str = "use __k::scalar::{self as s, BF16, F8E4M3, F8E5M2, F16};";

/// The function of one thread, over the argument words and the addresses of the tensor maps.
pub fn function(name: &str, func: &Func, lowered: &Lowered) -> String {
    let count: usize = func.params.iter().map(|p| p.kind.words()).sum();
    let words: String = (0..count)
        .map(|i| format!("    let a{i}: u64 = a[{i}];\n"))
        .chain((0..lowered.maps.len()).map(|m| format!("    let map{m}: u64 = a[{}];\n", count + m)))
        .collect();
    let body = lowered.text();
    format!(
        "unsafe fn {name}(a: &[u64]) {{
    use __k::device as d;
    {SCALARS}
{words}    let tid: u32 = d::thread();
{body}}}
"
    )
}

/// The registers of a multiprocessor for each thread, if as many programs are to fit as were asked for; 0 where threads
/// hand none to each other.
pub fn registers(variant: Variant, lowered: &Lowered, config: &ast::Config) -> u32 {
    match variant.mma {
        MmaPath::MmaSync => 0,
        _ => (65536 / (lowered.threads * config.blocks_per_sm.max(1)) / 8 * 8).min(255),
    }
}
