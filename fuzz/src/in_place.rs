//! Kernels that write an array over another argument of the same memory: each program reads the elements that it writes
//! and no others, as `alias(..)` asks.

use crate::driver::Kernel;
use crate::source::{Array, Kind, Source};
use crate::value::{Value, Whole};

pub fn kernel(name: &str, seed: u64) -> Kernel {
    let mut s = Source::new(seed);
    let (programs, block) = (s.rng.usize(1..4), *s.pick(&[32, 64, 100, 128, 256]));
    s.size("n", &[0, 37, 128]);
    let ty = s.ty();
    // The end is in a block, at its end, or behind the last one.
    let len = programs * block + 16 - *s.pick(&[0, 16, 16, 19, 29]);
    let kind = if s.once_in(3) { Kind::Pointer } else { Kind::Slice };
    let of = |name: &str| Array { kind: kind.clone(), ..Array::slice(name, ty, ty.input(), len) };
    s.inputs.push(Array { alias_of: Some("out".into()), ..of("before") });
    s.outputs.push(of("out"));
    s.line(format!("let i = program_id(0) * {block} + arange({block});"));
    let pointer = kind == Kind::Pointer;
    let (from, to) = match pointer {
        true => ("load(before.add(i))", "store(out.add(i), "),
        false => ("load(before, i)", "store(out, i, "),
    };
    let mask = match s.rng.u8(..3) {
        0 => format!(".mask(i < {})", len.saturating_sub(*s.pick(&[1, 5, 8]))),
        1 => format!(".mask((i < {len}) & (i > n))"),
        _ if pointer => format!(".mask(i < {len})"),
        _ => String::new(),
    };
    let before = s.hold(&Value::new(format!("{from}{mask}"), ty, &[block], ty.input()));
    let (other, depth) = (s.tile(ty, &[block], 2), s.rng.usize(..3));
    let other = s.at_most(other, ty.exact() / 4);
    let top = before.top as u128 + other.top as u128;
    let sum = Value::computed(format!("({} + {})", before.text, other.text), ty, &[block], top);
    let mut v = s.hold(&sum.unwrap_or(before));
    for _ in 0..depth {
        let w = s.tile(ty, &[block], 1);
        let f = *s.pick(&["maximum", "minimum"]);
        v = s.hold(&Value::new(format!("{f}({}, {})", v.text, w.text), ty, &[block], v.top.max(w.top)));
    }
    s.line(format!("{to}{}){mask};", v.text));
    let arch = if s.once_in(4) { ", arch = [75]" } else { "" };
    let attribute = format!("tune(warps = [1, 4]{arch}), grid = [{programs}], alias(before, out), emulate = all");
    Kernel::new(name, &attribute, s)
}
