//! Kernels of statements: loads, computations, variables across loops and branches, and stores.

use crate::driver::Kernel;
use crate::expr::MAX_ELEMENTS;
use crate::source::{Array, Kind, Len, Source};
use crate::value::{DType, Value, Whole};

/// Values of `n` that a kernel is run with.
const SIZES: [usize; 3] = [0, 37, 128];
/// Rounds of the longest loop.
const ROUNDS: usize = 6;

pub fn kernel(name: &str, seed: u64) -> Kernel {
    let mut s = Source::new(seed);
    let programs = s.rng.usize(1..4);
    s.size("n", &SIZES);
    for _ in 0..s.rng.usize(2..6) {
        statement(&mut s, programs, 2, None);
    }
    // Every computed value is stored.
    for v in s.variables.clone() {
        store(&mut s, programs, &v, None);
    }
    if s.outputs.is_empty() {
        let (ty, shape) = (s.ty(), s.shape());
        let v = s.tile(ty, &shape, 3);
        store(&mut s, programs, &v, None);
    }
    let warps = *s.pick(&[[1, 4], [2, 4], [1, 8], [2, 2], [4, 8]]);
    let warps = if warps[0] == warps[1] { vec![warps[0]] } else { warps.to_vec() };
    let arch = if s.once_in(5) { ", arch = [75]" } else { "" };
    let attribute = format!("tune(warps = {warps:?}{arch}), grid = [{programs}], emulate = all");
    Kernel::new(name, &attribute, s)
}

/// `round`: the variable that counts a loop's rounds, where this is in one.
fn statement(s: &mut Source, programs: usize, depth: usize, round: Option<&str>) {
    match s.rng.u8(..10) {
        0..2 => {
            let (ty, shape, deep) = (s.ty(), s.shape(), s.rng.usize(1..4));
            let v = s.tile(ty, &shape, deep);
            s.hold(&v);
        }
        2 => {
            let ty = s.ty();
            if let Some(v) = s.scalar(ty, 2) {
                s.hold(&v);
            }
        }
        3 => variable(s),
        4 | 5 if depth > 0 && round.is_none() => repeat(s, programs, depth - 1),
        6 if depth > 0 => branch(s, programs, depth - 1, round),
        7 => assign(s),
        8 => count(s),
        _ => {
            let (ty, shape, deep) = (s.ty(), s.shape(), s.rng.usize(1..4));
            let v = s.tile(ty, &shape, deep);
            store(s, programs, &v, round);
        }
    }
}

/// The bound of a variable's value.
fn kept(ty: DType) -> u64 {
    (ty.exact() / 4).min(500)
}

fn variable(s: &mut Source) {
    let (ty, shape) = (s.ty(), s.shape());
    let v = s.tile(ty, &shape, 1);
    let v = s.at_most(v, kept(ty));
    let name = s.name("kept");
    s.line(format!("let mut {name} = {};", v.text));
    s.variables.push(Value { text: name, top: kept(ty), ..v });
}

fn assign(s: &mut Source) {
    if s.variables.is_empty() {
        return variable(s);
    }
    let to = s.pick(&s.variables.clone()).clone();
    let v = s.tile(to.ty, &to.shape, 2);
    let v = match s.once_in(2) {
        true => Value::computed(format!("{} + {}", to.text, v.text), to.ty, &to.shape, to.top as u128 + v.top as u128)
            .unwrap_or(v),
        false => v,
    };
    let v = s.at_most(v, to.top);
    s.line(format!("{} = {};", to.text, v.text));
}

fn repeat(s: &mut Source, programs: usize, depth: usize) {
    if s.variables.is_empty() {
        variable(s);
    }
    let i = s.name("i");
    let body = |s: &mut Source| {
        s.seen.push(Value::new(&i, DType::U64, &[], ROUNDS as u64));
        if s.once_in(2) {
            statement(s, programs, depth, Some(&i));
        }
        assign(s);
        if s.once_in(3) {
            assign(s);
        }
        if s.once_in(4) {
            statement(s, programs, depth, Some(&i));
        }
    };
    let rounds = s.rng.usize(..=ROUNDS);
    let (begin, options) = (s.rng.usize(..2), *s.pick(&["", ".unroll(2)", ".unroll(3)", ".stages(2)"]));
    match s.rng.u8(..7) {
        0 => s.block(&format!("for {i} in 0..{rounds}"), body),
        1 => s.block(&format!("for {i} in 0..min(n, {rounds})"), body),
        2 => s.block(&format!("for {i} in range({begin}, min(n / 7, {ROUNDS}), 2){options}"), body),
        3 => s.block(&format!("for {i} in static_range(0..{})", rounds.min(3)), body),
        4 => s.block(&format!("for {i} in range(program_id(0), {ROUNDS}, num_programs(0)){options}"), body),
        5 => {
            s.line(format!("let mut {i} = 0usize;"));
            s.block(&format!("while {i} < min(n, {rounds})"), |s| {
                body(s);
                s.line(format!("{i} += 1;"));
            });
        }
        _ => {
            let end = s.rng.usize(1..ROUNDS);
            s.block(&format!("for {i} in range(0, {ROUNDS}, 1){options}"), |s| {
                if s.once_in(2) {
                    s.line(format!("if {i} == {end} {{ {} }}", if end % 2 == 0 { "break;" } else { "continue;" }));
                }
                body(s);
                s.line(format!("if {i} + n > {} {{ break; }}", end + 40));
            });
        }
    }
}

fn branch(s: &mut Source, programs: usize, depth: usize, round: Option<&str>) {
    let which = s.rng.u8(..4);
    let scalar = if which == 0 { s.scalar(DType::I32, 1) } else { None };
    let condition = match (scalar, round) {
        (Some(v), _) => format!("{} > {}", v.text, s.rng.u8(..20)),
        (_, Some(i)) if which < 3 => format!("{i} % 2 == {}", s.rng.u8(..2)),
        _ if which == 1 => "program_id(0) == 0".into(),
        _ => format!("n > {}", s.rng.u8(..60)),
    };
    s.block(&format!("if {condition}"), |s| {
        assign_or(s, programs, depth, round);
    });
    if s.once_in(2) {
        s.block("else", |s| assign_or(s, programs, depth, round));
    }
}

/// Variables that are declared in a branch end there: those from before are assigned.
fn assign_or(s: &mut Source, programs: usize, depth: usize, round: Option<&str>) {
    if s.variables.is_empty() || s.once_in(3) { statement(s, programs, depth, round) } else { assign(s) }
}

/// Places of an output of its own for each store, and for each program and round that makes it; now and then read
/// again.
fn store(s: &mut Source, programs: usize, v: &Value, round: Option<&str>) {
    let v = if v.shape.is_empty() {
        Value { shape: vec![1], text: format!("full([1], {})", v.text), ..v.clone() }
    } else {
        v.clone()
    };
    let count: usize = v.shape.iter().product();
    if round.is_none() && s.outputs.len() < 4 && s.once_in(4) {
        // A view of its own, which now and then ends before the tiles do.
        let mut dims = v.shape.clone();
        dims[0] *= programs;
        dims[0] -= if s.once_in(2) { dims[0] / 3 } else { 0 };
        let (kind, name) = (s.contiguous(&dims), s.name("z"));
        let Kind::View { dims, .. } = &kind else { unreachable!("it is one") };
        let mut at = vec!["0".to_string(); dims.len()];
        at[0] = format!("program_id(0) * {}", v.shape[0]);
        s.line(format!("{name}.store([{}], {});", at.join(", "), v.text));
        let len = count * programs * 2 + 16 * MAX_ELEMENTS;
        s.outputs.push(Array { kind, ..Array::slice(name, v.ty, v.ty.input(), len) });
        return;
    }
    let at = reserve(s, v.ty, count * programs * if round.is_some() { ROUNDS + 2 } else { 1 });
    let out = s.outputs[at.0].name.clone();
    let begin = match round {
        Some(i) => format!("{} + ({i} * {programs} + program_id(0)) * {count}", at.1),
        None => format!("{} + program_id(0) * {count}", at.1),
    };
    let place = s.linear(&v.shape);
    let mask = if s.once_in(3) { format!(".mask({})", s.condition(&v.shape, 1)) } else { String::new() };
    s.line(format!("store({out}, {begin} + {place}, {}){mask};", v.text));
    if s.once_in(3) {
        // By other threads, as a rule.
        let back = s.linear(&[count]);
        let odd = s.rng.usize(..3) * 2 + 1;
        let top = if mask.is_empty() { v.top } else { v.top.max(s.outputs[at.0].top) };
        let read = Value::new(
            format!("load({out}, {begin} + ({back} * {odd} + {}) % {count})", s.rng.usize(..count)),
            v.ty,
            &[count],
            top,
        );
        s.hold(&read);
    }
}

/// So many elements at the end of the output of a type: which output, and from where on.
fn reserve(s: &mut Source, ty: DType, count: usize) -> (usize, usize) {
    let known = s.outputs.iter().position(|o| o.ty == ty && o.name.starts_with('y'));
    let at = known.unwrap_or_else(|| {
        let name = s.name("y");
        let len = s.rng.usize(..9);
        s.outputs.push(Array::slice(name, ty, ty.input(), len));
        s.outputs.len() - 1
    });
    let Len::Number(len) = &mut s.outputs[at].len else { unreachable!("no matrices here") };
    *len += count;
    (at, *len - count)
}

/// Atomics, whose order does not matter.
fn count(s: &mut Source) {
    let shape = s.shape();
    let i = s.tile(DType::I32, &shape, 1);
    let v = s.tile(DType::I32, &shape, 1);
    let f = *s.pick(&["add", "max", "xor"]);
    let name = format!("count_{f}");
    if !s.outputs.iter().any(|o| o.name == name) {
        s.outputs.push(Array::slice(name.clone(), DType::I32, 8, 50));
    }
    let mask = if s.once_in(3) { format!(".mask({})", s.condition(&shape, 1)) } else { String::new() };
    s.line(format!("atomic_{f}({name}, ({}).to::<usize>() % 57, {}){mask}.relaxed();", i.text, v.text));
}
