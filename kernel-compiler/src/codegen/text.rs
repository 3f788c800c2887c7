//! Pieces of Rust text.

use crate::dtype::DType;
use crate::ir::{Atomic, Op, Value};

/// The name of a scalar, or of a tile's registers.
pub fn scalar(v: Value) -> String {
    format!("v{}", v.0)
}

/// All of these conditions: `operator` is `&` where they are cheap, `&&` where the later ones are worth skipping.
pub fn all_of(conditions: impl IntoIterator<Item = String>, operator: &str) -> String {
    let conditions: Vec<String> = conditions.into_iter().collect();
    if conditions.is_empty() { "true".into() } else { conditions.join(&format!(" {operator} ")) }
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

/// An elementwise operation on Rust operands: the same text for scalars, for tiles, and on the CPU.
pub fn op_text(op: &Op, to: DType, from: Option<DType>, args: &[String]) -> String {
    match op {
        Op::Unary(u, _) => format!("s::{}({})", u.name(), args[0]),
        Op::Binary(b, ..) => format!("s::{}({}, {})", b.name(), args[0], args[1]),
        Op::Fma(..) => format!("s::fma({}, {}, {})", args[0], args[1], args[2]),
        Op::Select(..) => format!("s::select({}, {}, {})", args[0], args[1], args[2]),
        Op::Cast(_) => format!("s::cast::<{}, {}>({})", from.expect("an operand").rust(), to.rust(), args[0]),
        Op::Bitcast(_) => format!("s::bitcast::<{}, {}>({})", from.expect("an operand").rust(), to.rust(), args[0]),
        op => unreachable!("{op:?} is not elementwise"),
    }
}
