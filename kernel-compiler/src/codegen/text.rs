//! Pieces of Rust text.

use crate::dtype::DType;
use crate::ir::{Atomic, Number, Value};
use crate::layout::linear::terms;

/// The name of a scalar, or of a tile's registers.
pub fn scalar(v: Value) -> String {
    format!("v{}", v.0)
}

/// What the launcher knows, in a kernel.
pub fn number(n: &Number) -> String {
    let slots: Vec<String> = n.slots.iter().map(|s| format!("a{s}")).collect();
    match (n.times, &slots[..]) {
        (1, [first, others @ ..]) => others.iter().fold(first.clone(), |t, s| format!("{t}.wrapping_mul({s})")),
        (times, slots) => slots.iter().fold(format!("{times}u64"), |t, s| format!("{t}.wrapping_mul({s})")),
    }
}

pub fn each(body: &str) -> String {
    format!("d::each(|r| {body})")
}

/// All of these conditions: `operator` is `&` where they are cheap, `&&` where the later ones are worth skipping.
pub fn all_of(conditions: impl IntoIterator<Item = String>, operator: &str) -> String {
    let conditions: Vec<String> = conditions.into_iter().collect();
    if conditions.is_empty() { "true".into() } else { conditions.join(&format!(" {operator} ")) }
}

/// Whether a thread is the one that acts of those that hold the same elements: they differ in these bits of their number.
pub fn acts(copies: u32) -> String {
    if copies == 0 { "true".into() } else { format!("tid & {copies} == 0") }
}

/// A linear function of the thread's number.
pub fn thread_part(bases: &[u32]) -> String {
    let t = terms(bases);
    match t.is_empty() {
        true => "0".into(),
        false => t.iter().map(|t| t.rust("tid")).collect::<Vec<_>>().join(" ^ "),
    }
}

pub fn int_literal(v: i128, d: DType) -> String {
    if v < 0 { format!("({v}{})", d.name()) } else { format!("{v}{}", d.name()) }
}

pub fn float_literal(v: f64, d: DType) -> String {
    let special = |t: &str| match v {
        v if v.is_nan() => Some(format!("{t}::NAN")),
        v if v == f64::INFINITY => Some(format!("{t}::INFINITY")),
        v if v == f64::NEG_INFINITY => Some(format!("{t}::NEG_INFINITY")),
        _ => None,
    };
    match d {
        DType::F64 => special("f64").unwrap_or_else(|| format!("({v:?}f64)")),
        // A double that overflows a float must not become a literal that rustc refuses.
        DType::F32 => {
            special("f32").unwrap_or_else(|| format!("f32::from_bits({:#x}u32 /* {v:?} */)", (v as f32).to_bits()))
        }
        d => format!("s::cast::<f64, {}>({})", d.rust(), special("f64").unwrap_or_else(|| format!("({v:?}f64)"))),
    }
}

/// For an atomic: its function, on the CPU and on the device, what follows the type among the function's parameters, and closures for
/// its values.
pub fn atomic(op: Atomic, t: &str, values: &[String], i: &str) -> (&'static str, String, String) {
    let closures = |values: &[String]| values.iter().map(|v| format!("|{i}| {v}")).collect::<Vec<_>>().join(", ");
    match op {
        Atomic::Cas => ("atomic_cas", String::new(), closures(values)),
        Atomic::Load => ("atomic", format!(", {}", op as u32), format!("|_| <{t} as s::Scalar>::ZERO")),
        _ => ("atomic", format!(", {}", op as u32), closures(values)),
    }
}

/// A C string literal of a message.
pub fn cstr(message: &str) -> String {
    format!("c{:?}", message.replace('\0', ""))
}

pub fn buffer_name(operand_group: usize, buffer: usize) -> String {
    format!("b{operand_group}_{buffer}")
}

pub fn matrix_name(matrix: usize) -> String {
    format!("MATRIX{matrix}")
}
